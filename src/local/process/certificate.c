#include "local/process/certificate.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

enum { PEM_MAX = 8 << 10 };

#define CA_FILE    "ca.pem"
#define KEY_FILE   "ca.key"
#define DAYS_VALID 3650
#define SOON_S     (30L * 86400)

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool ok = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return ok;
}

/* Number, name, dates and key; the issuer comes later. */
static X509 *begin(EVP_PKEY *key, const char *common_name)
{
    X509 *certificate = X509_new();
    unsigned char serial[16] = {0};
    BIGNUM *number = NULL;
    bool ok = certificate && RAND_bytes(serial, sizeof(serial)) == 1;
    serial[0] &= 0x7f; /* positive */
    ok = ok && (number = BN_bin2bn(serial, sizeof(serial), NULL)) &&
         BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) &&
         X509_set_version(certificate, X509_VERSION_3) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -86400L) &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), DAYS_VALID * 86400L) &&
         X509_set_pubkey(certificate, key) == 1 &&
         X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                    (const unsigned char *)common_name, -1, -1, 0) == 1;
    BN_free(number);
    if (ok)
        return certificate;
    X509_free(certificate);
    return NULL;
}

static X509 *make_authority(EVP_PKEY *key)
{
    X509 *authority = begin(key, "dsql local authority");
    bool ok = authority && X509_set_issuer_name(authority, X509_get_subject_name(authority)) == 1 &&
              add_extension(authority, authority, NID_basic_constraints, "critical,CA:TRUE") &&
              add_extension(authority, authority, NID_key_usage, "critical,keyCertSign,cRLSign") &&
              add_extension(authority, authority, NID_subject_key_identifier, "hash") &&
              X509_sign(authority, key, EVP_sha256()) > 0;
    if (ok)
        return authority;
    X509_free(authority);
    return NULL;
}

static X509 *make_server(EVP_PKEY *key, const char *host, X509 *authority, EVP_PKEY *authority_key)
{
    char names[512];
    (void)snprintf(names, sizeof(names), "DNS:%s,DNS:localhost,IP:127.0.0.1", host);
    /* A common name has at most 64 characters; clients look at the alternative names only. */
    X509 *server = begin(key, "dsql local endpoint");
    bool ok = server && X509_set_issuer_name(server, X509_get_subject_name(authority)) == 1 &&
              add_extension(server, authority, NID_basic_constraints, "critical,CA:FALSE") &&
              add_extension(server, authority, NID_ext_key_usage, "serverAuth") &&
              add_extension(server, authority, NID_subject_alt_name, names) &&
              X509_sign(server, authority_key, EVP_sha256()) > 0;
    if (ok)
        return server;
    X509_free(server);
    return NULL;
}

/* The authority and its key, made or read. */
struct authority {
    X509 *certificate;
    EVP_PKEY *key;
};

static void authority_fini(struct authority *authority)
{
    X509_free(authority->certificate);
    EVP_PKEY_free(authority->key);
    *authority = (struct authority){0};
}

/* A file of the folder for OpenSSL to read; NULL if there is none. */
static BIO *read_pem(const struct dsql_folder *folder, const char *name, char (*memory)[PEM_MAX])
{
    struct dsql_err err;
    size_t len = 0;
    if (dsql_folder_read(folder, name, *memory, sizeof(*memory), &len, &err))
        return NULL;
    return BIO_new_mem_buf(*memory, (int)len);
}

/* Both files, belonging together and not about to expire. */
static bool read_authority(const struct dsql_folder *folder, struct dsql_wall now,
                           struct authority *authority)
{
    char ca_memory[PEM_MAX], key_memory[PEM_MAX];
    BIO *ca = read_pem(folder, CA_FILE, &ca_memory), *key = read_pem(folder, KEY_FILE, &key_memory);
    time_t soon = (time_t)(now.ns / DSQL_S) + SOON_S;
    if (ca)
        authority->certificate = PEM_read_bio_X509(ca, NULL, NULL, NULL);
    if (key)
        authority->key = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);
    BIO_free(ca);
    BIO_free(key);
    explicit_bzero(key_memory, sizeof(key_memory));
    if (authority->certificate && authority->key &&
        X509_check_private_key(authority->certificate, authority->key) == 1 &&
        X509_cmp_time(X509_get0_notAfter(authority->certificate), &soon) > 0)
        return true;
    authority_fini(authority);
    ERR_clear_error();
    return false;
}

static struct dsql_span bytes_of(BIO *bio)
{
    char *bytes = NULL;
    long len = BIO_get_mem_data(bio, &bytes);
    return (struct dsql_span){bytes, len > 0 ? (size_t)len : 0};
}

static enum dsql_rc write_authority(const struct dsql_folder *folder,
                                    const struct authority *authority, struct dsql_err *err)
{
    BIO *ca = BIO_new(BIO_s_mem()), *key = BIO_new(BIO_s_secmem());
    enum dsql_rc rc = DSQL_OK;
    if (!ca || !key || PEM_write_bio_X509(ca, authority->certificate) != 1 ||
        PEM_write_bio_PrivateKey(key, authority->key, NULL, NULL, 0, NULL, NULL) != 1)
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (!rc)
        rc = dsql_folder_write(folder, KEY_FILE, 0600, bytes_of(key), err);
    if (!rc)
        rc = dsql_folder_write(folder, CA_FILE, 0644, bytes_of(ca), err);
    BIO_free(ca);
    BIO_free(key);
    return rc;
}

static enum dsql_rc cant_make(const char *host, struct dsql_err *err)
{
    return dsql_err_set(err, DSQL_IO, "can't make a certificate for %.100s: %s", host,
                        ERR_reason_error_string(ERR_peek_last_error()));
}

static enum dsql_rc obtain_authority(const char *host, const struct dsql_folder *folder,
                                     struct dsql_wall now, struct authority *authority,
                                     struct dsql_err *err)
{
    if (read_authority(folder, now, authority))
        return DSQL_OK;
    authority->key = EVP_EC_gen("P-256");
    authority->certificate = authority->key ? make_authority(authority->key) : NULL;
    enum dsql_rc rc =
        authority->certificate ? write_authority(folder, authority, err) : cant_make(host, err);
    if (rc)
        authority_fini(authority);
    return rc;
}

/* Direct TLS must name the protocol; the other kind may leave it out. */
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                       const unsigned char *in, unsigned in_len, void *arg)
{
    static const unsigned char ours[] = "\x0apostgresql";
    (void)ssl, (void)arg;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *make_context(X509 *server, EVP_PKEY *key)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_use_certificate(context, server) != 1 ||
        SSL_CTX_use_PrivateKey(context, key) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_alpn_select_cb(context, choose_alpn, NULL);
    /* Idle connections give their buffers back: there may be ten thousand of them. */
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    return context;
}

enum dsql_rc dsql_certificate_context(const char *host, const struct dsql_folder *folder,
                                      struct dsql_wall now, SSL_CTX **context, struct dsql_err *err)
{
    struct authority authority = {0};
    enum dsql_rc rc = obtain_authority(host, folder, now, &authority, err);
    if (rc)
        return rc;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *server = key ? make_server(key, host, authority.certificate, authority.key) : NULL;
    SSL_CTX *made = server ? make_context(server, key) : NULL;
    if (made)
        *context = made;
    else
        rc = cant_make(host, err);
    X509_free(server);
    EVP_PKEY_free(key);
    authority_fini(&authority);
    return rc;
}
