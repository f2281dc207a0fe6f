#include "local/process/trust_files.h"

#include <stdio.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>

enum { AUTHORITY_MAX = 8 << 10, MAC_ROUNDS = 2048 };

/* Java takes a certificate of a PKCS12 file for trusted only if it has this attribute; its value
 * says for which uses, here for any. */
#define JAVA_TRUSTED_USE "2.16.840.1.113894.746875.1.1"
#define ANY_USE          "2.5.29.37.0"

/* Adds the certificates of a PEM file to the list. What is behind a broken one is left out. */
static bool add_certificates(STACK_OF(X509) * list, BIO *pem)
{
    X509 *certificate;
    while (pem && (certificate = PEM_read_bio_X509(pem, NULL, NULL, NULL)) != NULL) {
        if (sk_X509_push(list, certificate) <= 0) {
            X509_free(certificate);
            return false;
        }
    }
    ERR_clear_error();
    return true;
}

/* The endpoint's own authority first, then the system's. */
static STACK_OF(X509) * read_all(const struct dsql_folder *folder, const char *roots)
{
    char memory[AUTHORITY_MAX];
    size_t len = 0;
    struct dsql_err err;
    STACK_OF(X509) *list = sk_X509_new_null();
    BIO *own = NULL, *system = roots ? BIO_new_file(roots, "r") : NULL;
    if (!dsql_folder_read(folder, "ca.pem", memory, sizeof(memory), &len, &err))
        own = BIO_new_mem_buf(memory, (int)len);
    bool ok = list && own && add_certificates(list, own) && sk_X509_num(list) == 1 &&
              add_certificates(list, system);
    BIO_free(own);
    BIO_free(system);
    ERR_clear_error();
    if (ok)
        return list;
    sk_X509_pop_free(list, X509_free);
    return NULL;
}

static bool write_pem(STACK_OF(X509) * list, BIO *out)
{
    for (int i = 0; i < sk_X509_num(list); i++)
        if (PEM_write_bio_X509(out, sk_X509_value(list, i)) != 1)
            return false;
    return true;
}

/* One certificate as an entry that Java trusts. */
static bool add_trusted(STACK_OF(PKCS12_SAFEBAG) * *bags, X509 *certificate, int number)
{
    char alias[32];
    (void)snprintf(alias, sizeof(alias), number == 0 ? "dsql-local" : "system-%d", number);
    PKCS12_SAFEBAG *bag = PKCS12_add_cert(bags, certificate);
    ASN1_OBJECT *use = OBJ_txt2obj(ANY_USE, 1);
    /* With the length -1 OpenSSL takes the object itself for the attribute's value. */
    bool ok = bag && use && PKCS12_add_friendlyname_asc(bag, alias, -1) == 1 &&
              PKCS12_add1_attr_by_txt(bag, JAVA_TRUSTED_USE, V_ASN1_OBJECT,
                                      (const unsigned char *)use, -1) == 1;
    ASN1_OBJECT_free(use);
    return ok;
}

/* Nothing is encrypted: certificates are public, and old and new JVMs agree on no cipher. */
static bool write_store(STACK_OF(X509) * list, BIO *out)
{
    STACK_OF(PKCS12_SAFEBAG) *bags = NULL;
    STACK_OF(PKCS7) *safes = NULL;
    PKCS12 *store = NULL;
    bool ok = true;
    for (int i = 0; ok && i < sk_X509_num(list); i++)
        ok = add_trusted(&bags, sk_X509_value(list, i), i);
    ok = ok && PKCS12_add_safe(&safes, bags, -1, 0, NULL) == 1 &&
         (store = PKCS12_add_safes(safes, 0)) != NULL &&
         PKCS12_set_mac(store, DSQL_TRUST_STORE_PASSWORD, -1, NULL, 0, MAC_ROUNDS, EVP_sha256()) ==
             1 &&
         i2d_PKCS12_bio(out, store) == 1;
    PKCS12_free(store);
    sk_PKCS7_pop_free(safes, PKCS7_free);
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
    return ok;
}

static enum dsql_rc write_file(const struct dsql_folder *folder, const char *name,
                               STACK_OF(X509) * list, bool (*form)(STACK_OF(X509) * list, BIO *out),
                               struct dsql_err *err)
{
    char *bytes = NULL;
    BIO *out = BIO_new(BIO_s_mem());
    enum dsql_rc rc;
    if (out && form(list, out)) {
        long len = BIO_get_mem_data(out, &bytes);
        rc = dsql_folder_write(folder, name, 0644,
                               (struct dsql_span){bytes, len > 0 ? (size_t)len : 0}, err);
    } else {
        rc = dsql_err_set(err, DSQL_IO, "can't make %s: %s", name,
                          ERR_reason_error_string(ERR_peek_last_error()));
    }
    BIO_free(out);
    return rc;
}

enum dsql_rc dsql_trust_files_write(const struct dsql_folder *folder, const char *roots,
                                    struct dsql_err *err)
{
    STACK_OF(X509) *list = read_all(folder, roots);
    if (!list)
        return dsql_err_set(err, DSQL_IO, "can't read %.200s/ca.pem", folder->path);
    enum dsql_rc rc = write_file(folder, DSQL_TRUST_BUNDLE, list, write_pem, err);
    if (!rc)
        rc = write_file(folder, DSQL_TRUST_STORE, list, write_store, err);
    sk_X509_pop_free(list, X509_free);
    return rc;
}
