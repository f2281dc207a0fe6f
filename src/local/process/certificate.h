/*
 * TLS for the endpoint: a certificate authority of its own, a server certificate for the endpoint's
 * name, and the context that connections use. Clients trust it through its ca.pem.
 */
#ifndef DSQL_LOCAL_CERTIFICATE_H
#define DSQL_LOCAL_CERTIFICATE_H

#include <openssl/ssl.h>

#include "base/time.h"
#include "local/process/folder.h"

/*
 * Takes the authority whose certificate and key are the folder's ca.pem and ca.key, so that clients
 * trust the endpoint after a restart too, or makes one and writes them; makes a server key and
 * certificate for host (and localhost and 127.0.0.1), and gives a context that takes TLS 1.2 and
 * later and the ALPN name `postgresql`. The caller frees it with SSL_CTX_free().
 */
DSQL_MUST_USE enum dsql_rc dsql_certificate_context(const char *host,
                                                    const struct dsql_folder *folder,
                                                    struct dsql_wall now, SSL_CTX **context,
                                                    struct dsql_err *err);

#endif
