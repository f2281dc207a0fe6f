#include "net/tls.h"

#include <openssl/err.h>

enum dsql_rc dsql_tls_context(const char *certificate, const char *key, SSL_CTX **context,
                              struct dsql_err *err)
{
    const char *wrong = NULL;
    SSL_CTX *made = SSL_CTX_new(TLS_server_method());
    ERR_clear_error();
    if (!made || SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION) != 1)
        wrong = "TLS";
    else if (SSL_CTX_use_certificate_chain_file(made, certificate) != 1)
        wrong = certificate;
    else if (SSL_CTX_use_PrivateKey_file(made, key, SSL_FILETYPE_PEM) != 1 ||
             SSL_CTX_check_private_key(made) != 1)
        wrong = key;
    if (wrong) {
        const char *reason = ERR_reason_error_string(ERR_peek_error());
        SSL_CTX_free(made);
        ERR_clear_error();
        return dsql_err_set(err, DSQL_INVALID, "%.200s can't be used: %s", wrong,
                            reason ? reason : "it can't be read");
    }
    SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                               SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(made, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    *context = made;
    return DSQL_OK;
}
