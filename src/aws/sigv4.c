#include "aws/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "aws/amz_time.h"
#include "aws/uri.h"

enum {
    HASH_LEN = 32,
    ACCESS_KEY_ID_MAX = 128,
    SECRET_MAX = 256,
    NAME_MAX_LEN = 64, /* of a region or service */
    SCOPE_SIZE = DSQL_AMZ_DAY_LEN + 2 * NAME_MAX_LEN + sizeof("//" DSQL_SIGV4_TERMINATOR) + 1,
};

#define PARAM_SIGNATURE     "X-Amz-Signature"
#define PARAM_SESSION_TOKEN "X-Amz-Security-Token"

/* A request while it is being signed: its headers complete and in order, time and scope as text. */
struct signing {
    const struct dsql_sigv4_signer *signer;
    const struct dsql_sigv4_request *request;
    struct dsql_sigv4_header headers[DSQL_SIGV4_HEADERS_MAX]; /* by name, equal ones as they came */
    size_t header_count;
    char date[DSQL_AMZ_TIME_SIZE];
    char scope[SCOPE_SIZE];
};

static enum dsql_rc crypto_failed(struct dsql_err *err)
{
    return dsql_err_set(err, DSQL_NO_MEMORY, "OpenSSL could not compute a SHA-256");
}

static void to_hex(const unsigned char hash[HASH_LEN], char hex[DSQL_SIGV4_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HASH_LEN; i++) {
        hex[2 * i] = digits[hash[i] >> 4];
        hex[2 * i + 1] = digits[hash[i] & 15];
    }
    hex[DSQL_SIGV4_HEX_LEN] = '\0';
}

enum dsql_rc dsql_sigv4_hash(struct dsql_span payload, char hex[DSQL_SIGV4_HEX_SIZE],
                             struct dsql_err *err)
{
    unsigned char hash[HASH_LEN];
    if (EVP_Digest(payload.ptr, payload.len, hash, NULL, EVP_sha256(), NULL) != 1)
        return crypto_failed(err);
    to_hex(hash, hex);
    return DSQL_OK;
}

static bool hmac(struct dsql_span key, struct dsql_span data, unsigned char out[HASH_LEN])
{
    return HMAC(EVP_sha256(), key.ptr, (int)key.len, (const unsigned char *)data.ptr, data.len, out,
                NULL) != NULL;
}

static struct dsql_span hash_span(const unsigned char hash[HASH_LEN])
{
    return (struct dsql_span){(const char *)hash, HASH_LEN};
}

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

/* Whether s is 1 to max characters that are letters, digits or among `others`. */
static bool is_word(struct dsql_span s, size_t max, const char *others)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = lower(s.ptr[i]);
        bool known = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!known && (c == '\0' || !strchr(others, c)))
            return false;
    }
    return s.len >= 1 && s.len <= max;
}

static enum dsql_rc check_signer(const struct dsql_sigv4_signer *signer, struct dsql_err *err)
{
    const struct dsql_sigv4_keys *keys = &signer->keys;
    if (!is_word(keys->access_key_id, ACCESS_KEY_ID_MAX, "_-.+:@")) {
        (void)dsql_err_set(err, DSQL_INVALID, "the access key id is not 1 to %d letters and digits",
                           ACCESS_KEY_ID_MAX);
        dsql_err_hint(err, "Check AWS_ACCESS_KEY_ID or the profile it comes from.");
        return DSQL_INVALID;
    }
    if (dsql_secret_is_empty(keys->secret_access_key) ||
        dsql_secret_reveal(keys->secret_access_key).len > SECRET_MAX) {
        (void)dsql_err_set(err, DSQL_INVALID, "the secret access key is not 1 to %d bytes long",
                           SECRET_MAX);
        dsql_err_hint(err, "Check AWS_SECRET_ACCESS_KEY or the profile it comes from.");
        return DSQL_INVALID;
    }
    if (!is_word(signer->region, NAME_MAX_LEN, "-")) {
        (void)dsql_err_set(err, DSQL_INVALID, "'%.*s' is not the name of an AWS region",
                           DSQL_SPAN_ARG(signer->region));
        dsql_err_hint(err, "Name one such as us-east-1.");
        return DSQL_INVALID;
    }
    assert(is_word(signer->service, NAME_MAX_LEN, "-")); /* the program's own choice */
    return DSQL_OK;
}

static bool is_header_after(struct dsql_sigv4_header a, struct dsql_sigv4_header b)
{
    size_t both = a.name.len < b.name.len ? a.name.len : b.name.len;
    for (size_t i = 0; i < both; i++) {
        unsigned char x = (unsigned char)lower(a.name.ptr[i]);
        unsigned char y = (unsigned char)lower(b.name.ptr[i]);
        if (x != y)
            return x > y;
    }
    return a.name.len > b.name.len;
}

static enum dsql_rc insert_header(struct signing *signing, struct dsql_sigv4_header header,
                                  struct dsql_err *err)
{
    if (!is_word(header.name, SIZE_MAX, "-_"))
        return dsql_err_set(err, DSQL_INVALID, "'%.*s' is not the name of a header",
                            DSQL_SPAN_ARG(header.name));
    if (signing->header_count == DSQL_SIGV4_HEADERS_MAX)
        return dsql_err_set(err, DSQL_LIMIT, "more than %d headers to sign",
                            DSQL_SIGV4_HEADERS_MAX);
    size_t at = signing->header_count++;
    for (; at > 0 && is_header_after(signing->headers[at - 1], header); at--)
        signing->headers[at] = signing->headers[at - 1];
    signing->headers[at] = header;
    return DSQL_OK;
}

static bool has_header(const struct dsql_sigv4_request *request, struct dsql_span name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (dsql_span_eq_nocase(request->headers[i].name, name))
            return true;
    return false;
}

static enum dsql_rc check_request(const struct dsql_sigv4_request *request, struct dsql_err *err)
{
    if (!is_word(request->method, SIZE_MAX, ""))
        return dsql_err_set(err, DSQL_INVALID, "'%.*s' is not an HTTP method",
                            DSQL_SPAN_ARG(request->method));
    if (!dsql_span_starts(request->path, DSQL_SPAN("/")))
        return dsql_err_set(err, DSQL_INVALID, "the path '%.*s' does not begin with a slash",
                            DSQL_SPAN_ARG(request->path));
    if (!is_word(request->payload_hash, SIZE_MAX, "-"))
        return dsql_err_set(err, DSQL_INVALID, "'%.*s' is not the hash of a payload",
                            DSQL_SPAN_ARG(request->payload_hash));
    if (!has_header(request, DSQL_SPAN("host")))
        return dsql_err_set(err, DSQL_INVALID, "a request cannot be signed without a Host header");
    return DSQL_OK;
}

static enum dsql_rc signing_init(struct signing *signing, const struct dsql_sigv4_signer *signer,
                                 const struct dsql_sigv4_request *request, struct dsql_err *err)
{
    *signing = (struct signing){.signer = signer, .request = request};
    enum dsql_rc rc = check_signer(signer, err);
    if (!rc)
        rc = check_request(request, err);
    for (size_t i = 0; !rc && i < request->header_count; i++)
        rc = insert_header(signing, request->headers[i], err);
    if (rc)
        return rc;

    dsql_amz_time_format(signing->date, signer->at);
    struct dsql_strbuf scope;
    dsql_strbuf_init(&scope, signing->scope, sizeof(signing->scope));
    dsql_strbuf_addf(&scope, "%.*s/%.*s/%.*s/" DSQL_SIGV4_TERMINATOR, DSQL_AMZ_DAY_LEN,
                     signing->date, DSQL_SPAN_ARG(signer->region), DSQL_SPAN_ARG(signer->service));
    assert(!scope.cut);
    return DSQL_OK;
}

static bool has_session_token(const struct dsql_sigv4_signer *signer)
{
    return signer->keys.session_token && !dsql_secret_is_empty(signer->keys.session_token);
}

/* The value without the blanks around it, and each run of blanks and line ends inside as one. */
static void add_header_value(struct dsql_strbuf *sb, struct dsql_span value)
{
    value = dsql_span_trim(value);
    bool blank = false;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        bool was_blank = blank;
        blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (!blank)
            dsql_strbuf_add_char(sb, c);
        else if (!was_blank)
            dsql_strbuf_add_char(sb, ' ');
    }
}

static void add_lower(struct dsql_strbuf *sb, struct dsql_span s)
{
    for (size_t i = 0; i < s.len; i++)
        dsql_strbuf_add_char(sb, lower(s.ptr[i]));
}

static bool repeats(const struct dsql_sigv4_header *headers, size_t i)
{
    return i > 0 && dsql_span_eq_nocase(headers[i].name, headers[i - 1].name);
}

static void add_headers(struct dsql_strbuf *sb, const struct signing *signing)
{
    for (size_t i = 0; i < signing->header_count; i++) {
        if (repeats(signing->headers, i)) {
            dsql_strbuf_add_char(sb, ',');
        } else {
            dsql_strbuf_add_str(sb, i > 0 ? "\n" : "");
            add_lower(sb, signing->headers[i].name);
            dsql_strbuf_add_char(sb, ':');
        }
        add_header_value(sb, signing->headers[i].value);
    }
    dsql_strbuf_add_char(sb, '\n');
}

static void add_header_names(struct dsql_strbuf *sb, const struct signing *signing,
                             const char *separator)
{
    for (size_t i = 0; i < signing->header_count; i++) {
        if (repeats(signing->headers, i))
            continue;
        dsql_strbuf_add_str(sb, i > 0 ? separator : "");
        add_lower(sb, signing->headers[i].name);
    }
}

/* No canonical request is longer: a byte of path or query becomes at most "%XX=", a header's name
 * stands there twice. */
static size_t canonical_bound(const struct signing *signing, struct dsql_span query)
{
    const struct dsql_sigv4_request *request = signing->request;
    size_t bound = request->method.len + 4 * (request->path.len + query.len + 1) +
                   request->payload_hash.len + 8;
    for (size_t i = 0; i < signing->header_count; i++)
        bound += 2 * signing->headers[i].name.len + signing->headers[i].value.len + 4;
    return bound;
}

static enum dsql_rc add_canonical_request(struct dsql_strbuf *sb, const struct signing *signing,
                                          struct dsql_span query, struct dsql_err *err)
{
    static const struct dsql_span skip[] = {{PARAM_SIGNATURE, sizeof(PARAM_SIGNATURE) - 1},
                                            {PARAM_SESSION_TOKEN, sizeof(PARAM_SESSION_TOKEN) - 1}};
    const struct dsql_sigv4_request *request = signing->request;
    dsql_strbuf_add(sb, request->method);
    dsql_strbuf_add_char(sb, '\n');
    dsql_uri_add_canonical_path(sb, request->path, !signing->signer->keep_path);
    dsql_strbuf_add_char(sb, '\n');
    enum dsql_rc rc = dsql_uri_add_canonical_query(
        sb, query, skip, signing->signer->late_session_token ? 2 : 1, err);
    dsql_strbuf_add_char(sb, '\n');
    add_headers(sb, signing);
    dsql_strbuf_add_char(sb, '\n');
    add_header_names(sb, signing, ";");
    dsql_strbuf_add_char(sb, '\n');
    dsql_strbuf_add(sb, request->payload_hash);
    return rc;
}

static enum dsql_rc hash_canonical_request(const struct signing *signing, struct dsql_span query,
                                           char hex[DSQL_SIGV4_HEX_SIZE], struct dsql_err *err)
{
    size_t size = canonical_bound(signing, query);
    char *memory = malloc(size);
    if (!memory)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory to sign a request of %zu bytes", size);
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, memory, size);
    enum dsql_rc rc = add_canonical_request(&sb, signing, query, err);
    assert(!sb.cut);
    if (!rc)
        rc = dsql_sigv4_hash(dsql_strbuf_span(&sb), hex, err);
    if (!rc && signing->signer->trace)
        dsql_strbuf_add(signing->signer->trace->canonical_request, dsql_strbuf_span(&sb));
    explicit_bzero(memory, size);
    free(memory);
    return rc;
}

/* The key for one day, region and service. */
static bool derive_key(const struct signing *signing, unsigned char key[HASH_LEN])
{
    const struct dsql_sigv4_signer *signer = signing->signer;
    char first[4 + SECRET_MAX + 1];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, first, sizeof(first));
    dsql_strbuf_add_str(&sb, "AWS4");
    dsql_strbuf_add(&sb, dsql_revealed_span(dsql_secret_reveal(signer->keys.secret_access_key)));
    bool ok =
        hmac(dsql_strbuf_span(&sb), (struct dsql_span){signing->date, DSQL_AMZ_DAY_LEN}, key) &&
        hmac(hash_span(key), signer->region, key) && hmac(hash_span(key), signer->service, key) &&
        hmac(hash_span(key), DSQL_SPAN(DSQL_SIGV4_TERMINATOR), key);
    explicit_bzero(first, sizeof(first));
    return ok;
}

static enum dsql_rc compute_signature(const struct signing *signing, struct dsql_span query,
                                      char hex[DSQL_SIGV4_HEX_SIZE], struct dsql_err *err)
{
    char request_hash[DSQL_SIGV4_HEX_SIZE];
    enum dsql_rc rc = hash_canonical_request(signing, query, request_hash, err);
    if (rc)
        return rc;

    char text[sizeof(DSQL_SIGV4_ALGORITHM) + DSQL_AMZ_TIME_SIZE + SCOPE_SIZE + DSQL_SIGV4_HEX_SIZE];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, text, sizeof(text));
    dsql_strbuf_addf(&sb, DSQL_SIGV4_ALGORITHM "\n%s\n%s\n%s", signing->date, signing->scope,
                     request_hash);
    assert(!sb.cut);
    if (signing->signer->trace)
        dsql_strbuf_add(signing->signer->trace->string_to_sign, dsql_strbuf_span(&sb));

    unsigned char key[HASH_LEN], signature[HASH_LEN];
    if (derive_key(signing, key) && hmac(hash_span(key), dsql_strbuf_span(&sb), signature))
        to_hex(signature, hex);
    else
        rc = crypto_failed(err);
    explicit_bzero(key, sizeof(key));
    return rc;
}

/* The headers this form adds, all but Authorization; the date's value is set later. */
static enum dsql_rc add_own_headers(struct signing *signing, struct dsql_sigv4_added *added,
                                    struct dsql_err *err)
{
    const struct dsql_sigv4_signer *signer = signing->signer;
    *added = (struct dsql_sigv4_added){0};
    added->headers[added->count++] =
        (struct dsql_sigv4_header){DSQL_SPAN("x-amz-date"), dsql_span_of(signing->date)};
    if (signer->send_payload_hash)
        added->headers[added->count++] = (struct dsql_sigv4_header){
            DSQL_SPAN("x-amz-content-sha256"), signing->request->payload_hash};
    size_t signed_count = added->count;
    if (has_session_token(signer)) {
        added->headers[added->count++] = (struct dsql_sigv4_header){
            DSQL_SPAN("x-amz-security-token"),
            dsql_revealed_span(dsql_secret_reveal(signer->keys.session_token))};
        signed_count += signer->late_session_token ? 0 : 1;
    }
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; !rc && i < added->count; i++) {
        if (has_header(signing->request, added->headers[i].name))
            rc = dsql_err_set(err, DSQL_INVALID, "the request already has the header %.*s",
                              DSQL_SPAN_ARG(added->headers[i].name));
        else if (i < signed_count)
            rc = insert_header(signing, added->headers[i], err);
    }
    return rc;
}

enum dsql_rc dsql_sigv4_sign(const struct dsql_sigv4_signer *signer,
                             const struct dsql_sigv4_request *request, struct dsql_strbuf *text,
                             struct dsql_sigv4_added *added, struct dsql_err *err)
{
    struct signing signing;
    struct dsql_sigv4_added result;
    char signature[DSQL_SIGV4_HEX_SIZE];
    enum dsql_rc rc = signing_init(&signing, signer, request, err);
    if (!rc)
        rc = add_own_headers(&signing, &result, err);
    if (!rc)
        rc = compute_signature(&signing, request->query, signature, err);
    if (rc)
        return rc;

    size_t date_at = text->len;
    dsql_strbuf_add_str(text, signing.date);
    size_t authorization_at = text->len;
    dsql_strbuf_addf(text, DSQL_SIGV4_ALGORITHM " Credential=%.*s/%s, SignedHeaders=",
                     DSQL_SPAN_ARG(signer->keys.access_key_id), signing.scope);
    add_header_names(text, &signing, ";");
    dsql_strbuf_addf(text, ", Signature=%s", signature);
    if (text->cut)
        return dsql_err_set(err, DSQL_LIMIT, "the Authorization header does not fit");

    /* Only now does the text stay where it is. */
    struct dsql_span all = dsql_strbuf_span(text);
    result.headers[0].value = (struct dsql_span){all.ptr + date_at, DSQL_AMZ_TIME_LEN};
    result.headers[result.count++] = (struct dsql_sigv4_header){
        DSQL_SPAN("authorization"), dsql_span_from(all, authorization_at)};
    *added = result;
    return DSQL_OK;
}

static enum dsql_rc check_own_query(struct dsql_span query, struct dsql_err *err)
{
    struct dsql_span name, value;
    while (dsql_uri_next_param(&query, &name, &value))
        if (name.len >= 6 && dsql_span_eq_nocase(dsql_span_first(name, 6), DSQL_SPAN("X-Amz-")))
            return dsql_err_set(err, DSQL_INVALID, "the query already has the parameter %.*s",
                                DSQL_SPAN_ARG(name));
    return DSQL_OK;
}

static void add_own_params(struct dsql_strbuf *sb, const struct signing *signing, int64_t expires_s)
{
    const struct dsql_sigv4_signer *signer = signing->signer;
    dsql_strbuf_add_str(sb, "X-Amz-Algorithm=" DSQL_SIGV4_ALGORITHM "&X-Amz-Credential=");
    dsql_uri_add_encoded(sb, signer->keys.access_key_id);
    dsql_strbuf_add_str(sb, "%2F");
    dsql_uri_add_encoded(sb, dsql_span_of(signing->scope));
    dsql_strbuf_addf(sb, "&X-Amz-Date=%s&X-Amz-Expires=%lld", signing->date, (long long)expires_s);
    if (has_session_token(signer)) {
        dsql_strbuf_add_str(sb, "&" PARAM_SESSION_TOKEN "=");
        dsql_uri_add_encoded(sb,
                             dsql_revealed_span(dsql_secret_reveal(signer->keys.session_token)));
    }
    dsql_strbuf_add_str(sb, "&X-Amz-SignedHeaders=");
    add_header_names(sb, signing, "%3B");
}

static enum dsql_rc query_does_not_fit(struct dsql_err *err)
{
    return dsql_err_set(err, DSQL_LIMIT, "the presigned query does not fit");
}

enum dsql_rc dsql_sigv4_presign(const struct dsql_sigv4_signer *signer,
                                const struct dsql_sigv4_request *request, int64_t expires_s,
                                struct dsql_strbuf *query, struct dsql_err *err)
{
    struct signing signing;
    size_t start = query->len;
    if (expires_s < 1 || expires_s > DSQL_SIGV4_EXPIRES_MAX_S)
        return dsql_err_set(err, DSQL_INVALID, "an expiry of %lld s is not within 1 to %d s",
                            (long long)expires_s, DSQL_SIGV4_EXPIRES_MAX_S);
    enum dsql_rc rc = check_own_query(request->query, err);
    if (!rc)
        rc = signing_init(&signing, signer, request, err);
    if (rc)
        return rc;

    dsql_strbuf_add(query, request->query);
    dsql_strbuf_add_str(query, request->query.len > 0 ? "&" : "");
    add_own_params(query, &signing, expires_s);
    if (query->cut)
        return query_does_not_fit(err);

    char signature[DSQL_SIGV4_HEX_SIZE];
    struct dsql_span to_sign = dsql_span_from(dsql_strbuf_span(query), start);
    rc = compute_signature(&signing, to_sign, signature, err);
    if (rc)
        return rc;
    dsql_strbuf_addf(query, "&" PARAM_SIGNATURE "=%s", signature);
    return query->cut ? query_does_not_fit(err) : DSQL_OK;
}

enum dsql_rc dsql_sigv4_verify_presigned(const struct dsql_sigv4_signer *signer,
                                         const struct dsql_sigv4_request *request,
                                         struct dsql_err *err)
{
    struct signing signing;
    struct dsql_span rest = request->query, name, value, received = DSQL_SPAN("");
    size_t found = 0;
    while (dsql_uri_next_param(&rest, &name, &value)) {
        if (dsql_span_eq(name, DSQL_SPAN(PARAM_SIGNATURE))) {
            received = value;
            found++;
        }
    }
    if (found != 1)
        return dsql_err_set(err, DSQL_DENIED, "the query has %zu signatures instead of one", found);

    char expected[DSQL_SIGV4_HEX_SIZE];
    enum dsql_rc rc = signing_init(&signing, signer, request, err);
    if (!rc)
        rc = compute_signature(&signing, request->query, expected, err);
    if (!rc && !dsql_span_eq_secretly(received, dsql_span_of(expected)))
        rc = dsql_err_set(err, DSQL_DENIED, "the signature does not match");
    explicit_bzero(expected, sizeof(expected));
    return rc;
}
