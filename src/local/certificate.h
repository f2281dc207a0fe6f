/*
 * TLS for the endpoint: a certificate authority made on the spot, a server certificate for the
 * endpoint's name, and the context that connections use. Clients trust it through its ca.pem.
 */
#ifndef DSQL_LOCAL_CERTIFICATE_H
#define DSQL_LOCAL_CERTIFICATE_H

#include <openssl/ssl.h>

#include "base/defs.h"

/*
 * Makes a fresh authority, server key and certificate for host (and localhost and 127.0.0.1),
 * writes the authority's certificate to ca_path, and gives a context that takes TLS 1.2 and later
 * and the ALPN name `postgresql`. The caller frees it with SSL_CTX_free().
 */
DSQL_MUST_USE enum dsql_rc dsql_certificate_context(const char *host, const char *ca_path,
                                                    SSL_CTX **context, struct dsql_err *err);

#endif
