#include "aws/token.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "aws/amz_time.h"
#include "aws/endpoint.h"
#include "aws/uri.h"
#include "base/utf8.h"

#define SERVICE "dsql"

const char *dsql_token_action_name(enum dsql_token_action action)
{
    return action == DSQL_TOKEN_CONNECT_ADMIN ? "DbConnectAdmin" : "DbConnect";
}

enum dsql_token_action dsql_token_action_of(struct dsql_span user)
{
    return dsql_span_eq(user, DSQL_SPAN("admin")) ? DSQL_TOKEN_CONNECT_ADMIN : DSQL_TOKEN_CONNECT;
}

/* The request that a token is the signature of. */
static struct dsql_sigv4_request token_request(const struct dsql_sigv4_header *host,
                                               struct dsql_span query)
{
    return (struct dsql_sigv4_request){
        .method = DSQL_SPAN("GET"),
        .path = DSQL_SPAN("/"),
        .query = query,
        .headers = host,
        .header_count = 1,
        .payload_hash = DSQL_SPAN(DSQL_SIGV4_EMPTY_PAYLOAD),
    };
}

enum dsql_rc dsql_token_mint(const struct dsql_token_order *order, struct dsql_secret *token,
                             struct dsql_err *err)
{
    if (!dsql_endpoint_is_host(order->host)) {
        (void)dsql_err_set(err, DSQL_INVALID, "a token cannot be made for the host '%.*s'",
                           DSQL_SPAN_ARG(order->host));
        dsql_err_hint(err, "Give the host name of the cluster, without a port.");
        return DSQL_INVALID;
    }
    char action[sizeof("Action=DbConnectAdmin")];
    (void)snprintf(action, sizeof(action), "Action=%s", dsql_token_action_name(order->action));
    struct dsql_sigv4_header host = {DSQL_SPAN("host"), order->host};
    struct dsql_sigv4_request request = token_request(&host, dsql_span_of(action));
    struct dsql_sigv4_signer signer = {
        .keys = order->keys,
        .region = order->region,
        .service = DSQL_SPAN(SERVICE),
        .at = order->at,
    };

    char text[DSQL_TOKEN_MAX + 1];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, text, sizeof(text));
    dsql_strbuf_add(&sb, order->host);
    dsql_strbuf_add_str(&sb, "/?");
    enum dsql_rc rc = dsql_sigv4_presign(&signer, &request, order->expires_s, &sb, err);
    if (!rc) {
        rc = dsql_secret_set(token, dsql_strbuf_span(&sb));
        if (rc)
            (void)dsql_err_set(err, rc, "no memory for a token of %zu bytes", sb.len);
    }
    explicit_bzero(text, sizeof(text));
    return rc;
}

/* The parameters of a token; all but the session token must be there. */
enum field {
    ACTION,
    ALGORITHM,
    CREDENTIAL,
    DATE,
    EXPIRES,
    SESSION_TOKEN,
    SIGNED_HEADERS,
    SIGNATURE,
    FIELD_COUNT,
};

static const char *const field_names[FIELD_COUNT] = {
    [ACTION] = "Action",
    [ALGORITHM] = "X-Amz-Algorithm",
    [CREDENTIAL] = "X-Amz-Credential",
    [DATE] = "X-Amz-Date",
    [EXPIRES] = "X-Amz-Expires",
    [SESSION_TOKEN] = "X-Amz-Security-Token",
    [SIGNED_HEADERS] = "X-Amz-SignedHeaders",
    [SIGNATURE] = "X-Amz-Signature",
};

/* What a token says, taken apart and not yet believed. */
struct claim {
    struct dsql_span host, query;         /* as received */
    struct dsql_span fields[FIELD_COUNT]; /* decoded; .ptr is NULL for one that is absent */
    struct dsql_span access_key_id, day, region, service, terminator;
    struct dsql_wall at;
    int64_t expires_s;
};

/* One verification on its way. */
struct check {
    const struct dsql_token_verifier *verifier;
    struct dsql_span user;
    struct dsql_wall now;
    struct claim claim;
    struct dsql_token_key key;
    enum dsql_token_refusal refusal; /* once one has been refused */
    struct dsql_err *err;
};

static DSQL_PRINTF(3, 4) enum dsql_rc
    refuse(struct check *check, enum dsql_token_refusal refusal, const char *hint, ...)
{
    check->refusal = refusal;
    (void)dsql_err_set(check->err, DSQL_DENIED, "unable to accept connection, access denied");
    if (check->err) {
        va_list args;
        (void)snprintf(check->err->sqlstate, sizeof(check->err->sqlstate), "08006");
        va_start(args, hint);
        (void)vsnprintf(check->err->hint, sizeof(check->err->hint), hint, args);
        va_end(args);
    }
    return DSQL_DENIED;
}

/* A peer's text in a form that may be printed: short, valid UTF-8, no control characters. */
struct printable {
    char text[64];
};

static struct printable printable(struct dsql_span s)
{
    struct printable out = {0};
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, out.text, sizeof(out.text));
    while (s.len > 0) {
        size_t len = dsql_utf8_len(s);
        bool plain = len > 0 && (unsigned char)s.ptr[0] >= ' ' && s.ptr[0] != 0x7f;
        struct dsql_span next = plain ? dsql_span_first(s, len) : DSQL_SPAN("?");
        if (sb.len + next.len >= sizeof(out.text))
            break;
        dsql_strbuf_add(&sb, next);
        s = dsql_span_from(s, plain ? len : 1);
    }
    return out;
}

static size_t field_of(struct dsql_span name)
{
    size_t field = 0;
    while (field < FIELD_COUNT && !dsql_span_eq(name, dsql_span_of(field_names[field])))
        field++;
    return field;
}

/* Finds the fields among the parameters, in any order. Others are the signature's business only. */
static enum dsql_rc parse_fields(struct check *check, struct dsql_strbuf *scratch)
{
    struct claim *claim = &check->claim;
    struct dsql_span rest = claim->query, name, value;
    while (dsql_uri_next_param(&rest, &name, &value)) {
        size_t field = field_of(name), start = scratch->len;
        if (field == FIELD_COUNT)
            continue;
        if (claim->fields[field].ptr)
            return refuse(check, DSQL_TOKEN_MALFORMED, "Malformed token: %s appears twice",
                          field_names[field]);
        if (!dsql_uri_add_decoded(scratch, value))
            return refuse(check, DSQL_TOKEN_MALFORMED, "Malformed token: %s has a broken %% escape",
                          field_names[field]);
        claim->fields[field] = dsql_span_from(dsql_strbuf_span(scratch), start);
    }
    assert(!scratch->cut); /* decoding makes nothing longer */
    for (size_t field = 0; field < FIELD_COUNT; field++)
        if (!claim->fields[field].ptr && field != SESSION_TOKEN)
            return refuse(check, DSQL_TOKEN_MALFORMED, "Malformed token: %s is missing",
                          field_names[field]);
    return DSQL_OK;
}

static bool parse_expires(struct dsql_span text, int64_t *expires_s)
{
    return text.len > 0 && text.ptr[0] >= '0' && text.ptr[0] <= '9' &&
           dsql_span_to_i64(text, expires_s) && *expires_s >= 1;
}

static bool parse_credential(struct claim *claim)
{
    struct dsql_span rest = claim->fields[CREDENTIAL];
    return dsql_span_cut(rest, '/', &claim->access_key_id, &rest) &&
           dsql_span_cut(rest, '/', &claim->day, &rest) &&
           dsql_span_cut(rest, '/', &claim->region, &rest) &&
           dsql_span_cut(rest, '/', &claim->service, &claim->terminator);
}

/* host/?query, or host?query as the SDK for Go writes it: an empty path is signed as "/". */
static bool cut_url(struct dsql_span token, struct dsql_span *host, struct dsql_span *query)
{
    struct dsql_span path;
    if (!dsql_span_cut(token, '?', host, query))
        return false;
    return !dsql_span_cut(*host, '/', host, &path) || path.len == 0;
}

static enum dsql_rc parse_claim(struct check *check, struct dsql_span token,
                                struct dsql_strbuf *scratch)
{
    struct claim *claim = &check->claim;
    if (!cut_url(token, &claim->host, &claim->query))
        return refuse(check, DSQL_TOKEN_MALFORMED,
                      "Malformed token: it is not a presigned URL without its scheme");
    enum dsql_rc rc = parse_fields(check, scratch);
    if (rc)
        return rc;
    if (!dsql_amz_time_parse(claim->fields[DATE], &claim->at))
        return refuse(check, DSQL_TOKEN_MALFORMED,
                      "Malformed token: X-Amz-Date is not like 20240827T000000Z");
    if (!parse_expires(claim->fields[EXPIRES], &claim->expires_s))
        return refuse(check, DSQL_TOKEN_MALFORMED,
                      "Malformed token: X-Amz-Expires is not within 1 to %d",
                      DSQL_TOKEN_EXPIRES_MAX_S);
    if (claim->expires_s > DSQL_TOKEN_EXPIRES_MAX_S)
        return refuse(check, DSQL_TOKEN_MALFORMED,
                      "X-Amz-Expires must be less than a week (in seconds)");
    if (!parse_credential(claim))
        return refuse(check, DSQL_TOKEN_MALFORMED,
                      "Malformed token: X-Amz-Credential does not have five parts");
    return DSQL_OK;
}

static enum dsql_rc check_form(struct check *check)
{
    const struct claim *claim = &check->claim;
    if (!dsql_span_eq(claim->fields[ALGORITHM], DSQL_SPAN(DSQL_SIGV4_ALGORITHM)))
        return refuse(check, DSQL_TOKEN_ALGORITHM,
                      "Unsupported algorithm '%s': tokens are signed with " DSQL_SIGV4_ALGORITHM,
                      printable(claim->fields[ALGORITHM]).text);
    if (!dsql_span_eq(claim->fields[SIGNED_HEADERS], DSQL_SPAN("host")))
        return refuse(check, DSQL_TOKEN_SIGNED_HEADERS,
                      "Signed headers '%s': tokens are signed over the host and nothing else",
                      printable(claim->fields[SIGNED_HEADERS]).text);
    bool also =
        check->verifier->also.len > 0 && dsql_span_eq_nocase(claim->host, check->verifier->also);
    if (!also && !dsql_span_eq_nocase(claim->host, check->verifier->host))
        return refuse(check, DSQL_TOKEN_HOST, "The token is for the host '%s', not for this one",
                      printable(claim->host).text);
    return DSQL_OK;
}

static enum dsql_rc check_scope(struct check *check)
{
    const struct claim *claim = &check->claim;
    struct dsql_span day = dsql_span_first(claim->fields[DATE], DSQL_AMZ_DAY_LEN);
    if (!dsql_span_eq(claim->day, day))
        return refuse(check, DSQL_TOKEN_SCOPE,
                      "Date in Credential scope does not match X-Amz-Date: '%s' != '%.*s'",
                      printable(claim->day).text, DSQL_SPAN_ARG(day));
    if (!dsql_span_eq(claim->region, check->verifier->region))
        return refuse(check, DSQL_TOKEN_SCOPE,
                      "Credential should be scoped to a valid region, not '%s'.",
                      printable(claim->region).text);
    if (!dsql_span_eq(claim->service, DSQL_SPAN(SERVICE)))
        return refuse(check, DSQL_TOKEN_SCOPE,
                      "Credential should be scoped to correct service: '" SERVICE "'.");
    if (!dsql_span_eq(claim->terminator, DSQL_SPAN(DSQL_SIGV4_TERMINATOR)))
        return refuse(check, DSQL_TOKEN_SCOPE,
                      "Credential should be scoped with a valid terminator: "
                      "'" DSQL_SIGV4_TERMINATOR "', not '%s'.",
                      printable(claim->terminator).text);
    return DSQL_OK;
}

static enum dsql_rc check_key(struct check *check)
{
    static const char invalid[] = "The security token included in the request is invalid.";
    const struct claim *claim = &check->claim;
    const struct dsql_token_keyring *keyring = check->verifier->keyring;
    if (!keyring->find(keyring, claim->access_key_id, &check->key))
        return refuse(check, DSQL_TOKEN_UNKNOWN_KEY, "%s", invalid);

    const struct dsql_secret *expected = check->key.session_token;
    struct dsql_span received = claim->fields[SESSION_TOKEN];
    if (!dsql_span_eq_secretly(received, expected ? dsql_revealed_span(dsql_secret_reveal(expected))
                                                  : DSQL_SPAN("")))
        return refuse(check, DSQL_TOKEN_SESSION_TOKEN, "%s", invalid);
    return DSQL_OK;
}

static enum dsql_rc check_signature(struct check *check)
{
    const struct claim *claim = &check->claim;
    struct dsql_sigv4_header host = {DSQL_SPAN("host"), claim->host};
    struct dsql_sigv4_request request = token_request(&host, claim->query);
    struct dsql_sigv4_signer signer = {
        .keys = {.access_key_id = claim->access_key_id,
                 .secret_access_key = check->key.secret_access_key},
        .region = claim->region,
        .service = DSQL_SPAN(SERVICE),
        .at = claim->at,
    };
    struct dsql_err detail;
    enum dsql_rc rc = dsql_sigv4_verify_presigned(&signer, &request, &detail);
    if (rc == DSQL_DENIED)
        return refuse(check, DSQL_TOKEN_SIGNATURE,
                      "The request signature we calculated does not match the signature you "
                      "provided. Check your AWS Secret Access Key and signing method.");
    if (rc == DSQL_INVALID || rc == DSQL_LIMIT)
        return refuse(check, DSQL_TOKEN_MALFORMED, "Malformed token: %.128s", detail.message);
    return rc ? dsql_err_set(check->err, rc, "%s", detail.message) : DSQL_OK;
}

/* "15 min", or "450 sec" for what is not whole minutes. */
struct span_text {
    char text[32];
};

static struct span_text span_text(int64_t seconds)
{
    struct span_text out = {0};
    bool whole = seconds % 60 == 0;
    (void)snprintf(out.text, sizeof(out.text), "%lld %s",
                   (long long)(whole ? seconds / 60 : seconds), whole ? "min" : "sec");
    return out;
}

static enum dsql_rc check_time(struct check *check)
{
    const struct claim *claim = &check->claim;
    int64_t skew_ns = check->verifier->skew_ns, until_ns = check->key.valid_until.ns;
    struct dsql_wall latest = dsql_wall_add(check->now, skew_ns);
    struct dsql_wall earliest = dsql_wall_add(check->now, -claim->expires_s * DSQL_S);
    char now[DSQL_AMZ_TIME_SIZE], at[DSQL_AMZ_TIME_SIZE], bound[DSQL_AMZ_TIME_SIZE];
    dsql_amz_time_format(now, check->now);
    dsql_amz_time_format(at, claim->at);
    if (until_ns != 0 && check->now.ns > until_ns)
        return refuse(check, DSQL_TOKEN_KEY_EXPIRED,
                      "The security token included in the request is expired");
    if (claim->at.ns > latest.ns) {
        dsql_amz_time_format(bound, latest);
        return refuse(check, DSQL_TOKEN_NOT_YET,
                      "Signature not yet current: %s is still later than %s (%s + %s.)", at, bound,
                      now, span_text(skew_ns / DSQL_S).text);
    }
    if (claim->at.ns < earliest.ns) {
        dsql_amz_time_format(bound, earliest);
        return refuse(check, DSQL_TOKEN_EXPIRED,
                      "Signature expired: %s is now earlier than %s (%s - %s.)", at, bound, now,
                      span_text(claim->expires_s).text);
    }
    return DSQL_OK;
}

static enum dsql_rc check_permission(struct check *check)
{
    const struct dsql_token_key *key = &check->key;
    struct dsql_span given = check->claim.fields[ACTION];
    enum dsql_token_action action = dsql_token_action_of(check->user);
    const char *name = dsql_token_action_name(action);
    if (!dsql_span_eq(given, dsql_span_of(name)))
        return refuse(check, DSQL_TOKEN_WRONG_ACTION,
                      "Wrong user to action mapping. user: %s, action: %s",
                      printable(check->user).text, printable(given).text);
    if (!(action == DSQL_TOKEN_CONNECT_ADMIN ? key->may_connect_admin : key->may_connect))
        return refuse(check, DSQL_TOKEN_NOT_AUTHORIZED,
                      "User: %.*s is not authorized to perform: dsql:%s because no identity-based "
                      "policy allows the dsql:%s action",
                      DSQL_SPAN_ARG(key->arn), name, name);
    return DSQL_OK;
}

/* All checks in their order; the first that fails is the answer. */
static enum dsql_rc judge(struct check *check, struct dsql_span token)
{
    if (token.len > DSQL_TOKEN_MAX)
        return refuse(check, DSQL_TOKEN_MALFORMED, "Malformed token: it is longer than %d bytes",
                      DSQL_TOKEN_MAX);
    char memory[DSQL_TOKEN_MAX + 1]; /* the decoded fields, the session token among them */
    struct dsql_strbuf scratch;
    dsql_strbuf_init(&scratch, memory, sizeof(memory));
    enum dsql_rc rc = parse_claim(check, token, &scratch);
    if (!rc)
        rc = check_form(check);
    if (!rc)
        rc = check_scope(check);
    if (!rc)
        rc = check_key(check);
    if (!rc)
        rc = check_signature(check);
    if (!rc)
        rc = check_time(check);
    if (!rc)
        rc = check_permission(check);
    explicit_bzero(memory, sizeof(memory));
    return rc;
}

enum dsql_rc dsql_token_verify(const struct dsql_token_verifier *verifier, struct dsql_span token,
                               struct dsql_span user, struct dsql_wall now,
                               enum dsql_token_refusal *why, struct dsql_err *err)
{
    struct check check = {.verifier = verifier, .user = user, .now = now, .err = err};
    enum dsql_rc rc = judge(&check, token);
    if (rc == DSQL_DENIED && why)
        *why = check.refusal;
    return rc;
}
