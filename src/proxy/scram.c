#include "proxy/scram.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/rng.h"
#include "base/secret.h"

enum { SALT = 16, ITERATIONS_MAX = 1000000, SAID_MAX = 4096, ENCODED_MAX = 128 };

static bool hmac(const unsigned char key[DSQL_SCRAM_KEY], struct dsql_span text,
                 unsigned char to[DSQL_SCRAM_KEY])
{
    unsigned len = 0;
    return HMAC(EVP_sha256(), key, DSQL_SCRAM_KEY, (const unsigned char *)text.ptr, text.len, to,
                &len) != NULL &&
           len == DSQL_SCRAM_KEY;
}

static bool sha256(const unsigned char from[DSQL_SCRAM_KEY], unsigned char to[DSQL_SCRAM_KEY])
{
    unsigned len = 0;
    return EVP_Digest(from, DSQL_SCRAM_KEY, to, &len, EVP_sha256(), NULL) == 1;
}

static void put_base64(struct dsql_strbuf *out, const unsigned char *bytes, size_t len)
{
    unsigned char text[ENCODED_MAX];
    assert(len <= DSQL_SCRAM_SALT_MAX);
    (void)EVP_EncodeBlock(text, bytes, (int)len);
    dsql_strbuf_add_str(out, (const char *)text);
}

/* False if the text is no base64, or of more than max bytes. */
static bool take_base64(struct dsql_span text, unsigned char *to, size_t max, size_t *len)
{
    unsigned char bytes[ENCODED_MAX];
    size_t padding = 0;
    if (text.len == 0 || text.len % 4 != 0 || text.len / 4 * 3 > sizeof(bytes))
        return false;
    while (padding < 2 && text.ptr[text.len - 1 - padding] == '=')
        padding++;
    int got = EVP_DecodeBlock(bytes, (const unsigned char *)text.ptr, (int)text.len);
    if (got < 0 || (size_t)got < padding || (size_t)got - padding > max)
        return false;
    *len = (size_t)got - padding;
    memcpy(to, bytes, *len);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return true;
}

static bool take_key(struct dsql_span text, unsigned char to[DSQL_SCRAM_KEY])
{
    size_t len;
    return take_base64(text, to, DSQL_SCRAM_KEY, &len) && len == DSQL_SCRAM_KEY;
}

/* -- Verifiers. */

bool dsql_scram_verifier_parse(struct dsql_span text, struct dsql_scram_verifier *verifier)
{
    const struct dsql_span prefix = DSQL_SPAN("SCRAM-SHA-256$");
    struct dsql_scram_verifier made = {0};
    struct dsql_span how, keys, iterations, salt, stored, server;
    int64_t count;
    if (!dsql_span_starts(text, prefix) ||
        !dsql_span_cut(dsql_span_from(text, prefix.len), '$', &how, &keys) ||
        !dsql_span_cut(how, ':', &iterations, &salt) ||
        !dsql_span_cut(keys, ':', &stored, &server) || !dsql_span_to_i64(iterations, &count) ||
        count < 1 || count > ITERATIONS_MAX ||
        !take_base64(salt, made.salt, sizeof(made.salt), &made.salt_len) ||
        !take_key(stored, made.stored_key) || !take_key(server, made.server_key))
        return false;
    made.iterations = (int)count;
    *verifier = made;
    OPENSSL_cleanse(&made, sizeof(made));
    return true;
}

bool dsql_scram_verifier_of(struct dsql_span password, struct dsql_scram_verifier *verifier)
{
    unsigned char salted[DSQL_SCRAM_KEY], client_key[DSQL_SCRAM_KEY];
    *verifier = (struct dsql_scram_verifier){.iterations = DSQL_SCRAM_ITERATIONS, .salt_len = SALT};
    dsql_random_bytes(verifier->salt, SALT);
    bool ok = password.len <= INT32_MAX &&
              PKCS5_PBKDF2_HMAC(password.ptr, (int)password.len, verifier->salt, SALT,
                                DSQL_SCRAM_ITERATIONS, EVP_sha256(), DSQL_SCRAM_KEY, salted) == 1 &&
              hmac(salted, DSQL_SPAN("Client Key"), client_key) &&
              sha256(client_key, verifier->stored_key) &&
              hmac(salted, DSQL_SPAN("Server Key"), verifier->server_key);
    OPENSSL_cleanse(salted, sizeof(salted));
    OPENSSL_cleanse(client_key, sizeof(client_key));
    return ok;
}

void dsql_scram_verifier_mock(struct dsql_span name, struct dsql_span secret,
                              struct dsql_scram_verifier *verifier)
{
    unsigned char digest[DSQL_SCRAM_KEY] = {0};
    unsigned len;
    *verifier = (struct dsql_scram_verifier){.iterations = DSQL_SCRAM_ITERATIONS, .salt_len = SALT};
    (void)HMAC(EVP_sha256(), secret.ptr, (int)secret.len, (const unsigned char *)name.ptr, name.len,
               digest, &len);
    memcpy(verifier->salt, digest, SALT);
    dsql_random_bytes(verifier->stored_key, sizeof(verifier->stored_key));
    dsql_random_bytes(verifier->server_key, sizeof(verifier->server_key));
}

/* -- The exchange. */

void dsql_scram_init(struct dsql_scram *scram, const struct dsql_scram_verifier *verifier)
{
    unsigned char bytes[DSQL_SCRAM_NONCE / 4 * 3];
    *scram = (struct dsql_scram){.verifier = *verifier};
    dsql_random_bytes(bytes, sizeof(bytes));
    (void)EVP_EncodeBlock((unsigned char *)scram->nonce, bytes, sizeof(bytes));
    dsql_strbuf_init_heap(&scram->said, SAID_MAX);
    dsql_strbuf_init_heap(&scram->full_nonce, SAID_MAX);
}

void dsql_scram_fini(struct dsql_scram *scram)
{
    dsql_strbuf_fini(&scram->said);
    dsql_strbuf_fini(&scram->full_nonce);
    OPENSSL_cleanse(scram, sizeof(*scram));
}

/* One attribute, "r=...": false if it is not that one. */
static bool take(struct dsql_span *rest, char name, struct dsql_span *value)
{
    struct dsql_span head;
    (void)dsql_span_cut(*rest, ',', &head, rest);
    if (head.len < 2 || head.ptr[0] != name || head.ptr[1] != '=')
        return false;
    *value = dsql_span_from(head, 2);
    return true;
}

static bool is_printable(struct dsql_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '!' || text.ptr[i] > '~' || text.ptr[i] == ',')
            return false;
    return text.len > 0;
}

bool dsql_scram_first(struct dsql_scram *scram, struct dsql_span message, struct dsql_strbuf *reply)
{
    struct dsql_span flag, authzid, bare, rest, name, nonce;
    struct dsql_strbuf first;
    char memory[512];
    if (message.len > DSQL_SCRAM_MESSAGE_MAX || !dsql_span_cut(message, ',', &flag, &rest) ||
        !dsql_span_cut(rest, ',', &authzid, &bare) || flag.len != 1 ||
        (flag.ptr[0] != 'n' && flag.ptr[0] != 'y') || authzid.len != 0)
        return false;
    rest = bare;
    if (!take(&rest, 'n', &name) || !take(&rest, 'r', &nonce) || !is_printable(nonce) ||
        nonce.len > 256)
        return false;
    scram->gs2 = flag.ptr[0];
    dsql_strbuf_add(&scram->full_nonce, nonce);
    dsql_strbuf_add_str(&scram->full_nonce, scram->nonce);
    dsql_strbuf_init(&first, memory, sizeof(memory));
    dsql_strbuf_add(&first, DSQL_SPAN("r="));
    dsql_strbuf_add(&first, dsql_strbuf_span(&scram->full_nonce));
    dsql_strbuf_add(&first, DSQL_SPAN(",s="));
    put_base64(&first, scram->verifier.salt, scram->verifier.salt_len);
    dsql_strbuf_addf(&first, ",i=%d", scram->verifier.iterations);
    dsql_strbuf_add(&scram->said, bare);
    dsql_strbuf_add_char(&scram->said, ',');
    dsql_strbuf_add(&scram->said, dsql_strbuf_span(&first));
    dsql_strbuf_add(reply, dsql_strbuf_span(&first));
    return !first.cut && !scram->said.cut && !scram->full_nonce.cut;
}

static bool is_proof(const struct dsql_scram *scram, struct dsql_span said,
                     unsigned char proof[DSQL_SCRAM_KEY])
{
    unsigned char signature[DSQL_SCRAM_KEY], stored[DSQL_SCRAM_KEY];
    if (!hmac(scram->verifier.stored_key, said, signature))
        return false;
    for (size_t i = 0; i < DSQL_SCRAM_KEY; i++)
        proof[i] ^= signature[i]; /* the client's key, if the proof is right */
    return sha256(proof, stored) &&
           CRYPTO_memcmp(stored, scram->verifier.stored_key, DSQL_SCRAM_KEY) == 0;
}

bool dsql_scram_final(struct dsql_scram *scram, struct dsql_span message, struct dsql_strbuf *reply)
{
    struct dsql_span rest = message, binding, nonce, encoded;
    unsigned char proof[DSQL_SCRAM_KEY], signature[DSQL_SCRAM_KEY];
    if (message.len > DSQL_SCRAM_MESSAGE_MAX || scram->full_nonce.len == 0 ||
        !take(&rest, 'c', &binding) || !take(&rest, 'r', &nonce) || !take(&rest, 'p', &encoded) ||
        rest.len > 0 || !take_key(encoded, proof))
        return false;
    /* base64 of "n,," or "y,,": what the client said in its first message */
    if (!dsql_span_eq(binding, scram->gs2 == 'n' ? DSQL_SPAN("biws") : DSQL_SPAN("eSws")) ||
        !dsql_span_eq(nonce, dsql_strbuf_span(&scram->full_nonce)))
        return false;
    dsql_strbuf_add_char(&scram->said, ',');
    dsql_strbuf_add(&scram->said, dsql_span_first(message, message.len - encoded.len - 3));
    struct dsql_span said = dsql_strbuf_span(&scram->said);
    bool ok = !scram->said.cut && is_proof(scram, said, proof) &&
              hmac(scram->verifier.server_key, said, signature);
    OPENSSL_cleanse(proof, sizeof(proof));
    if (!ok)
        return false;
    dsql_strbuf_add(reply, DSQL_SPAN("v="));
    put_base64(reply, signature, sizeof(signature));
    return true;
}
