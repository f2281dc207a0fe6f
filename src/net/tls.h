/* TLS for a server, from a certificate and a key in files. */
#ifndef DSQL_NET_TLS_H
#define DSQL_NET_TLS_H

#include <openssl/ssl.h>

#include "base/defs.h"
#include "dsql/err.h"

/* A context that takes TLS 1.2 and later, with little memory for a connection that is idle. The
 * files are PEM; that of the certificate has the chain behind it. The caller frees the context with
 * SSL_CTX_free(); connections that use it keep it alive. */
DSQL_MUST_USE enum dsql_rc dsql_tls_context(const char *certificate, const char *key,
                                            SSL_CTX **context, struct dsql_err *err);

#endif
