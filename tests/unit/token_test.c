/* The DSQL token: recorded ones, what mint refuses, what verify accepts and each reason to refuse.
 */
#include <stdio.h>

#include "aws/amz_time.h"
#include "aws/token.h"
#include "aws/uri.h"
#include "support/test.h"

#define HOST "peccy.dsql.us-east-1.on.aws"

/* Two keys: akid is long-term and may do everything; ASIA is of a session and may not be admin. */
struct ring {
    struct dsql_token_keyring keyring;
    struct dsql_secret secret, session_secret, session_token;
    struct dsql_wall session_end;
};

static struct ring ring;
static struct dsql_token_verifier verifier;
static struct dsql_token_order order;
static struct dsql_secret token;
static struct dsql_err err;
static enum dsql_token_refusal why;

static bool find_key(const struct dsql_token_keyring *self, struct dsql_span access_key_id,
                     struct dsql_token_key *key)
{
    const struct ring *known = (const struct ring *)(const void *)self; /* its first member */
    if (dsql_span_eq(access_key_id, DSQL_SPAN("akid"))) {
        *key = (struct dsql_token_key){.secret_access_key = &known->secret,
                                       .arn = DSQL_SPAN("arn:aws:iam::1:user/a"),
                                       .may_connect = true,
                                       .may_connect_admin = true};
        return true;
    }
    if (dsql_span_eq(access_key_id, DSQL_SPAN("ASIA"))) {
        *key = (struct dsql_token_key){.secret_access_key = &known->session_secret,
                                       .session_token = &known->session_token,
                                       .valid_until = known->session_end,
                                       .arn = DSQL_SPAN("arn:aws:sts::1:assumed-role/r/s"),
                                       .may_connect = true};
        return true;
    }
    return false;
}

static struct dsql_wall at(const char *text)
{
    struct dsql_wall t = {0};
    assert_true(dsql_amz_time_parse(dsql_span_of(text), &t));
    return t;
}

static int set_up(void **state)
{
    (void)state;
    ring = (struct ring){.keyring = {find_key}};
    token = (struct dsql_secret){0};
    memset(&err, 0, sizeof(err));
    why = DSQL_TOKEN_REFUSAL_COUNT;
    verifier = (struct dsql_token_verifier){.keyring = &ring.keyring,
                                            .host = DSQL_SPAN(HOST),
                                            .region = DSQL_SPAN("us-east-1"),
                                            .skew_ns = DSQL_TOKEN_SKEW_DEFAULT_NS};
    order = (struct dsql_token_order){.keys = {DSQL_SPAN("akid"), &ring.secret, NULL},
                                      .host = DSQL_SPAN(HOST),
                                      .region = DSQL_SPAN("us-east-1"),
                                      .action = DSQL_TOKEN_CONNECT,
                                      .at = at("20240827T000000Z"),
                                      .expires_s = DSQL_TOKEN_EXPIRES_DEFAULT_S};
    return dsql_secret_set(&ring.secret, DSQL_SPAN("secret")) ||
                   dsql_secret_set(&ring.session_secret, DSQL_SPAN("session/secret")) ||
                   dsql_secret_set(&ring.session_token, DSQL_SPAN("IQoJb3JpZ2lu//+abc=="))
               ? -1
               : 0;
}

static int tear_down(void **state)
{
    (void)state;
    dsql_secret_fini(&ring.secret);
    dsql_secret_fini(&ring.session_secret);
    dsql_secret_fini(&ring.session_token);
    dsql_secret_fini(&token);
    return 0;
}

static void use_session(void)
{
    order.keys =
        (struct dsql_sigv4_keys){DSQL_SPAN("ASIA"), &ring.session_secret, &ring.session_token};
}

static struct dsql_span mint(void)
{
    if (dsql_token_mint(&order, &token, &err))
        fail_msg("%s", err.message);
    return dsql_revealed_span(dsql_secret_reveal(&token));
}

static enum dsql_rc verify(struct dsql_span text, const char *user, const char *now)
{
    return dsql_token_verify(&verifier, text, dsql_span_of(user), at(now), &why, &err);
}

TEST(recorded)
{
    static const struct {
        const char *key, *secret, *host, *at;
        int64_t expires_s;
        enum dsql_token_action action;
        const char *signature;
    } recorded[] = {
        {"akid", "secret", HOST, "20240827T000000Z", 450, DSQL_TOKEN_CONNECT,
         "f5f2ad764ca5df44045d4ab6ccecba0eef941b0007e5765885a0b6ed3702a3f8"},
        {"akid", "secret", HOST, "20240827T000000Z", 450, DSQL_TOKEN_CONNECT_ADMIN,
         "267cf8d04d84444f7a62d5bdb40c44bfc6cb13dd6c64fa7f772df6bbaa90fff1"},
        {"access_key", "secret_key", "test.dsql.us-east-1.on.aws", "20241107T173933Z", 900,
         DSQL_TOKEN_CONNECT, "e319d85380261f643d78a558f76257f05aacea758a6ccd42a2510e2ae0854a47"},
        {"access_key", "secret_key", "test.dsql.us-east-1.on.aws", "20241107T173933Z", 900,
         DSQL_TOKEN_CONNECT_ADMIN,
         "a08adc4c84a490014ce374b90c98ba9ed015b77b451c0d9f9fb3f8ca8c6f9c36"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(recorded); i++) {
        char wanted[512];
        assert_int_equal(dsql_secret_set(&ring.secret, dsql_span_of(recorded[i].secret)), DSQL_OK);
        order.keys.access_key_id = dsql_span_of(recorded[i].key);
        order.host = dsql_span_of(recorded[i].host);
        order.at = at(recorded[i].at);
        order.expires_s = recorded[i].expires_s;
        order.action = recorded[i].action;
        (void)snprintf(wanted, sizeof(wanted),
                       "%s/?Action=%s&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=%s%%2F%.8s"
                       "%%2Fus-east-1%%2Fdsql%%2Faws4_request&X-Amz-Date=%s&X-Amz-Expires=%lld&"
                       "X-Amz-SignedHeaders=host&X-Amz-Signature=%s",
                       recorded[i].host, dsql_token_action_name(recorded[i].action),
                       recorded[i].key, recorded[i].at, recorded[i].at,
                       (long long)recorded[i].expires_s, recorded[i].signature);
        assert_string_equal(mint().ptr, wanted);
    }
}

TEST(action_of_user)
{
    assert_int_equal(dsql_token_action_of(DSQL_SPAN("admin")), DSQL_TOKEN_CONNECT_ADMIN);
    assert_int_equal(dsql_token_action_of(DSQL_SPAN("Admin")), DSQL_TOKEN_CONNECT);
    assert_int_equal(dsql_token_action_of(DSQL_SPAN("admin2")), DSQL_TOKEN_CONNECT);
    assert_int_equal(dsql_token_action_of(DSQL_SPAN("")), DSQL_TOKEN_CONNECT);
}

static void expect_no_token(enum dsql_rc rc, const char *message)
{
    assert_int_equal(dsql_token_mint(&order, &token, &err), rc);
    assert_string_equal(err.message, message);
    assert_true(dsql_span_eq(dsql_revealed_span(dsql_secret_reveal(&token)), DSQL_SPAN("old")));
}

TEST(mint_refuses)
{
    assert_int_equal(dsql_secret_set(&token, DSQL_SPAN("old")), DSQL_OK);
    order.expires_s = 0;
    expect_no_token(DSQL_INVALID, "an expiry of 0 s is not within 1 to 604800 s");
    order.expires_s = 604801;
    expect_no_token(DSQL_INVALID, "an expiry of 604801 s is not within 1 to 604800 s");
    order.expires_s = 604800;
    order.host = DSQL_SPAN(HOST ":5432");
    expect_no_token(DSQL_INVALID, "a token cannot be made for the host '" HOST ":5432'");
    assert_string_equal(err.hint, "Give the host name of the cluster, without a port.");
    order.host = DSQL_SPAN("a\nb");
    expect_no_token(DSQL_INVALID, "a token cannot be made for the host 'a\nb'");
    order.host = DSQL_SPAN(HOST);
    order.region = DSQL_SPAN("");
    expect_no_token(DSQL_INVALID, "'' is not the name of an AWS region");

    static char long_token[DSQL_TOKEN_MAX];
    order.region = DSQL_SPAN("us-east-1");
    use_session();
    memset(long_token, 'x', sizeof(long_token));
    assert_int_equal(dsql_secret_set(&ring.session_token, (struct dsql_span){long_token, 16000}),
                     DSQL_OK);
    assert_true(mint().len <= DSQL_TOKEN_MAX);
    assert_int_equal(dsql_secret_set(&token, DSQL_SPAN("old")), DSQL_OK);
    assert_int_equal(
        dsql_secret_set(&ring.session_token, (struct dsql_span){long_token, sizeof(long_token)}),
        DSQL_OK);
    expect_no_token(DSQL_LIMIT, "the presigned query does not fit");
}

static void expect_accepted(struct dsql_span text, const char *user, const char *now)
{
    if (verify(text, user, now))
        fail_msg("refused (%d): %s", (int)why, err.hint);
}

TEST(accepts)
{
    expect_accepted(mint(), "app", "20240827T000000Z");
    expect_accepted(mint(), "app", "20240827T001500Z"); /* the last second */
    expect_accepted(mint(), "app", "20240826T235500Z"); /* their clock is five minutes ahead */
    order.action = DSQL_TOKEN_CONNECT_ADMIN;
    expect_accepted(mint(), "admin", "20240827T000100Z");
    order.expires_s = DSQL_TOKEN_EXPIRES_MAX_S;
    expect_accepted(mint(), "admin", "20240903T000000Z");
    order.host = DSQL_SPAN("PECCY.dsql.us-east-1.on.aws");
    expect_accepted(mint(), "admin", "20240903T000000Z");
    verifier.also = DSQL_SPAN("localhost");
    expect_accepted(mint(), "admin", "20240903T000000Z");
    order.host = DSQL_SPAN("LOCALHOST");
    expect_accepted(mint(), "admin", "20240903T000000Z");
    use_session();
    order.action = DSQL_TOKEN_CONNECT;
    ring.session_end = at("20240827T000010Z");
    expect_accepted(mint(), "app", "20240827T000010Z");
}

/* Whether the caller wants to know why or not. */
TEST(details_are_optional)
{
    struct dsql_wall now = at("20240827T000000Z");
    struct dsql_span text = mint();
    assert_int_equal(dsql_token_verify(&verifier, text, DSQL_SPAN("app"), now, NULL, NULL),
                     DSQL_OK);
    assert_int_equal(dsql_token_verify(&verifier, text, DSQL_SPAN("admin"), now, NULL, NULL),
                     DSQL_DENIED);
}

/* Writes the parameters of a token in the order that `shift` and `step` say. */
static void reorder(struct dsql_span text, size_t shift, size_t step, struct dsql_strbuf *out)
{
    struct dsql_span host, query, names[16], values[16];
    size_t count = 0;
    (void)dsql_span_cut(text, '?', &host, &query);
    while (dsql_uri_next_param(&query, &names[count], &values[count]))
        count++;
    dsql_strbuf_add(out, host);
    for (size_t i = 0; i < count; i++) {
        size_t from = (shift + i * step) % count;
        dsql_strbuf_addf(out, "%c%.*s=%.*s", i ? '&' : '?', DSQL_SPAN_ARG(names[from]),
                         DSQL_SPAN_ARG(values[from]));
    }
}

TEST(any_order)
{
    static const size_t steps[] = {1, 3, 5, 7}; /* prime to the eight parameters */
    use_session();
    struct dsql_span text = mint();
    for (size_t shift = 0; shift < 8; shift++) {
        for (size_t i = 0; i < DSQL_COUNT_OF(steps); i++) {
            char memory[1024];
            struct dsql_strbuf mixed;
            dsql_strbuf_init(&mixed, memory, sizeof(memory));
            reorder(text, shift, steps[i], &mixed);
            assert_int_equal(mixed.len, text.len);
            expect_accepted(dsql_strbuf_span(&mixed), "app", "20240827T000000Z");
        }
    }
}

static bool is_hex_letter(char c)
{
    return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* %2F and %2f are the same to every reader of URLs, so this is no change of the token. */
static bool is_same_escape(struct dsql_span text, size_t i, char c)
{
    bool in_escape = (i >= 1 && text.ptr[i - 1] == '%') || (i >= 2 && text.ptr[i - 2] == '%');
    return in_escape && is_hex_letter(c) && (c ^ text.ptr[i]) == ('a' ^ 'A');
}

static size_t check_mutations(struct dsql_span text)
{
    char copy[1024];
    size_t same = 0;
    assert_true(text.len <= sizeof(copy));
    memcpy(copy, text.ptr, text.len);
    for (size_t i = 0; i < text.len; i++) {
        for (int c = 0; c < 256; c++) {
            if ((char)c == text.ptr[i])
                continue;
            copy[i] = (char)c;
            bool accepted =
                verify((struct dsql_span){copy, text.len}, "app", "20240827T000000Z") == 0;
            if (accepted != is_same_escape(text, i, (char)c))
                fail_msg("byte %zu as %d: %s", i, c, accepted ? "accepted" : "refused");
            same += accepted ? 1 : 0;
        }
        copy[i] = text.ptr[i];
    }
    return same;
}

TEST(no_byte_can_change)
{
    assert_int_equal(check_mutations(mint()), 4); /* the four slashes of the credential */
    use_session();
    assert_int_equal(check_mutations(mint()), 4 + 2 + 1 + 2); /* and "//+=="  */
}

TEST(no_byte_can_go)
{
    struct dsql_span text = mint();
    char copy[1024];
    for (size_t i = 0; i < text.len; i++) {
        memcpy(copy, text.ptr, i);
        memcpy(copy + i, text.ptr + i + 1, text.len - i - 1);
        /* The slash may: an empty path is signed as one. */
        assert_int_equal(verify((struct dsql_span){copy, text.len - 1}, "app", "20240827T000000Z"),
                         text.ptr[i] == '/' ? DSQL_OK : DSQL_DENIED);
        assert_int_equal(verify((struct dsql_span){text.ptr, i}, "app", "20240827T000000Z"),
                         DSQL_DENIED);
    }
}

/* A token whose owner signs what he likes, so that only the check in question can refuse it. */
static struct dsql_span forge(const char *query, const char *service)
{
    static char memory[2048];
    struct dsql_strbuf sb;
    struct dsql_sigv4_header host = {DSQL_SPAN("host"), order.host};
    struct dsql_sigv4_request request = {.method = DSQL_SPAN("GET"),
                                         .path = DSQL_SPAN("/"),
                                         .query = dsql_span_of(query),
                                         .headers = &host,
                                         .header_count = 1,
                                         .payload_hash = DSQL_SPAN(DSQL_SIGV4_EMPTY_PAYLOAD)};
    struct dsql_sigv4_signer signer = {.keys = order.keys,
                                       .region = order.region,
                                       .service = dsql_span_of(service),
                                       .at = order.at};
    dsql_strbuf_init(&sb, memory, sizeof(memory));
    dsql_strbuf_add(&sb, order.host);
    dsql_strbuf_add_str(&sb, "/?");
    assert_int_equal(dsql_sigv4_presign(&signer, &request, order.expires_s, &sb, NULL), DSQL_OK);
    return dsql_strbuf_span(&sb);
}

/* A minted token with the first `from` replaced by `to`. */
static struct dsql_span edit(const char *from, const char *to)
{
    static char memory[4096];
    struct dsql_span text = mint();
    const char *found = memmem(text.ptr, text.len, from, strlen(from));
    assert_non_null(found);
    size_t before = (size_t)(found - text.ptr);
    (void)snprintf(memory, sizeof(memory), "%.*s%s%s", (int)before, text.ptr, to,
                   found + strlen(from));
    return dsql_span_of(memory);
}

static void expect_refused_at(struct dsql_span text, const char *user, const char *now,
                              enum dsql_token_refusal refusal, const char *hint)
{
    assert_int_equal(verify(text, user, now), DSQL_DENIED);
    assert_int_equal(why, refusal);
    assert_string_equal(err.hint, hint);
    assert_string_equal(err.sqlstate, "08006");
    assert_string_equal(err.message, "unable to accept connection, access denied");
    assert_int_equal(err.rc, DSQL_DENIED);
}

static void expect_refused(struct dsql_span text, enum dsql_token_refusal refusal, const char *hint)
{
    expect_refused_at(text, "app", "20240827T000000Z", refusal, hint);
}

TEST(malformed)
{
    static const struct {
        const char *from, *to, *hint;
    } cases[] = {
        {HOST "/?", "", "it is not a presigned URL without its scheme"},
        {"/?", "/x?", "it is not a presigned URL without its scheme"},
        {"/?", "//?", "it is not a presigned URL without its scheme"},
        {HOST, "https://" HOST, "it is not a presigned URL without its scheme"},
        {"Action=DbConnect&", "", "Action is missing"},
        {"X-Amz-Algorithm=AWS4-HMAC-SHA256&", "", "X-Amz-Algorithm is missing"},
        {"X-Amz-Credential", "X-Amz-Credentials", "X-Amz-Credential is missing"},
        {"X-Amz-Date=20240827T000000Z&", "", "X-Amz-Date is missing"},
        {"X-Amz-Expires=900&", "", "X-Amz-Expires is missing"},
        {"X-Amz-SignedHeaders=host&", "", "X-Amz-SignedHeaders is missing"},
        {"X-Amz-Signature", "x-amz-signature", "X-Amz-Signature is missing"},
        {"&X-Amz-Expires", "&Action=DbConnect&X-Amz-Expires", "Action appears twice"},
        {"us-east-1%2F", "us-east-1%", "X-Amz-Credential has a broken % escape"},
        {"&X-Amz-Expires", "&x=%&X-Amz-Expires", "a query parameter has a broken % escape"},
        {"Date=20240827T000000Z", "Date=20240230T000000Z",
         "X-Amz-Date is not like 20240827T000000Z"},
        {"Expires=900", "Expires=0", "X-Amz-Expires is not within 1 to 604800"},
        {"Expires=900", "Expires=%2B900", "X-Amz-Expires is not within 1 to 604800"},
        {"Expires=900", "Expires=-900", "X-Amz-Expires is not within 1 to 604800"},
        {"Expires=900", "Expires=", "X-Amz-Expires is not within 1 to 604800"},
        {"Expires=900", "Expires=9223372036854775808", "X-Amz-Expires is not within 1 to 604800"},
        {"%2Faws4_request", "", "X-Amz-Credential does not have five parts"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        char hint[256];
        (void)snprintf(hint, sizeof(hint), "Malformed token: %s", cases[i].hint);
        expect_refused(edit(cases[i].from, cases[i].to), DSQL_TOKEN_MALFORMED, hint);
    }
    expect_refused(edit("Expires=900", "Expires=604801"), DSQL_TOKEN_MALFORMED,
                   "X-Amz-Expires must be less than a week (in seconds)");
    expect_refused(DSQL_SPAN(""), DSQL_TOKEN_MALFORMED,
                   "Malformed token: it is not a presigned URL without its scheme");
}

TEST(malformed_by_size)
{
    static char text[DSQL_TOKEN_MAX + 1];
    struct dsql_span small = mint();
    memset(text, '&', sizeof(text)); /* empty parameters, which change nothing */
    memcpy(text, small.ptr, small.len);
    expect_accepted((struct dsql_span){text, DSQL_TOKEN_MAX}, "app", "20240827T000000Z");
    expect_refused((struct dsql_span){text, sizeof(text)}, DSQL_TOKEN_MALFORMED,
                   "Malformed token: it is longer than 16384 bytes");

    struct dsql_strbuf many;
    dsql_strbuf_init(&many, text, sizeof(text));
    dsql_strbuf_add(&many, small);
    for (int i = 0; i < DSQL_URI_PARAMS_MAX; i++)
        dsql_strbuf_add_str(&many, "&x");
    expect_refused(dsql_strbuf_span(&many), DSQL_TOKEN_MALFORMED,
                   "Malformed token: more than 64 query parameters");
}

TEST(wrong_form)
{
    expect_refused(
        edit("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"), DSQL_TOKEN_ALGORITHM,
        "Unsupported algorithm 'AWS4-HMAC-SHA1': tokens are signed with AWS4-HMAC-SHA256");
    expect_refused(edit("SignedHeaders=host", "SignedHeaders=host%3Bx"), DSQL_TOKEN_SIGNED_HEADERS,
                   "Signed headers 'host;x': tokens are signed over the host and nothing else");
    order.host = DSQL_SPAN("other.dsql.us-east-1.on.aws");
    expect_refused(mint(), DSQL_TOKEN_HOST,
                   "The token is for the host 'other.dsql.us-east-1.on.aws', not for this one");
    verifier.also = DSQL_SPAN("localhost");
    expect_refused(mint(), DSQL_TOKEN_HOST,
                   "The token is for the host 'other.dsql.us-east-1.on.aws', not for this one");
}

TEST(wrong_scope)
{
    expect_refused(edit("%2F20240827%2F", "%2F20240826%2F"), DSQL_TOKEN_SCOPE,
                   "Date in Credential scope does not match X-Amz-Date: '20240826' != '20240827'");
    expect_refused(edit("aws4_request", "aws5_request"), DSQL_TOKEN_SCOPE,
                   "Credential should be scoped with a valid terminator: 'aws4_request', not "
                   "'aws5_request'.");
    expect_refused(edit("aws4_request", "aws4_request%2F"), DSQL_TOKEN_SCOPE,
                   "Credential should be scoped with a valid terminator: 'aws4_request', not "
                   "'aws4_request/'.");
    expect_refused(forge("Action=DbConnect", "rds-db"), DSQL_TOKEN_SCOPE,
                   "Credential should be scoped to correct service: 'dsql'.");
    order.region = DSQL_SPAN("us-west-2");
    expect_refused(mint(), DSQL_TOKEN_SCOPE,
                   "Credential should be scoped to a valid region, not 'us-west-2'.");
}

TEST(wrong_key)
{
    static const char invalid[] = "The security token included in the request is invalid.";
    static const char mismatch[] =
        "The request signature we calculated does not match the signature you provided. Check your "
        "AWS Secret Access Key and signing method.";
    order.keys.access_key_id = DSQL_SPAN("AKIA");
    expect_refused(mint(), DSQL_TOKEN_UNKNOWN_KEY, invalid);
    /* A long-term key with a session token, and a session's key without or with another's. */
    order.keys = (struct dsql_sigv4_keys){DSQL_SPAN("akid"), &ring.secret, &ring.session_token};
    expect_refused(mint(), DSQL_TOKEN_SESSION_TOKEN, invalid);
    order.keys = (struct dsql_sigv4_keys){DSQL_SPAN("ASIA"), &ring.session_secret, NULL};
    expect_refused(mint(), DSQL_TOKEN_SESSION_TOKEN, invalid);
    order.keys.session_token = &ring.secret;
    expect_refused(mint(), DSQL_TOKEN_SESSION_TOKEN, invalid);
    order.keys = (struct dsql_sigv4_keys){DSQL_SPAN("akid"), &ring.session_secret, NULL};
    expect_refused(mint(), DSQL_TOKEN_SIGNATURE, mismatch);
}

TEST(wrong_time)
{
    expect_refused_at(mint(), "app", "20240827T001501Z", DSQL_TOKEN_EXPIRED,
                      "Signature expired: 20240827T000000Z is now earlier than 20240827T000001Z "
                      "(20240827T001501Z - 15 min.)");
    order.expires_s = 1;
    expect_refused_at(mint(), "app", "20240827T000002Z", DSQL_TOKEN_EXPIRED,
                      "Signature expired: 20240827T000000Z is now earlier than 20240827T000001Z "
                      "(20240827T000002Z - 1 sec.)");
    expect_refused_at(mint(), "app", "20240826T235459Z", DSQL_TOKEN_NOT_YET,
                      "Signature not yet current: 20240827T000000Z is still later than "
                      "20240826T235959Z (20240826T235459Z + 5 min.)");
    verifier.skew_ns = 0;
    expect_refused_at(mint(), "app", "20240826T235959Z", DSQL_TOKEN_NOT_YET,
                      "Signature not yet current: 20240827T000000Z is still later than "
                      "20240826T235959Z (20240826T235959Z + 0 min.)");
    use_session();
    ring.session_end = at("20240827T000000Z");
    expect_refused_at(mint(), "app", "20240827T000001Z", DSQL_TOKEN_KEY_EXPIRED,
                      "The security token included in the request is expired");
}

TEST(wrong_action)
{
    expect_refused_at(mint(), "admin", "20240827T000000Z", DSQL_TOKEN_WRONG_ACTION,
                      "Wrong user to action mapping. user: admin, action: DbConnect");
    expect_refused(forge("Action=Db%0AConnect", "dsql"), DSQL_TOKEN_WRONG_ACTION,
                   "Wrong user to action mapping. user: app, action: Db?Connect");
    order.action = DSQL_TOKEN_CONNECT_ADMIN;
    expect_refused(mint(), DSQL_TOKEN_WRONG_ACTION,
                   "Wrong user to action mapping. user: app, action: DbConnectAdmin");
    expect_refused_at(mint(), "b\xc3\xb6se\xff\x7f\n", "20240827T000000Z", DSQL_TOKEN_WRONG_ACTION,
                      "Wrong user to action mapping. user: b\xc3\xb6se???, action: DbConnectAdmin");
    char long_user[200];
    memset(long_user, 'u', sizeof(long_user) - 1);
    long_user[sizeof(long_user) - 1] = '\0';
    assert_int_equal(verify(mint(), long_user, "20240827T000000Z"), DSQL_DENIED);
    assert_int_equal(strlen(err.hint),
                     strlen("Wrong user to action mapping. user: , action: DbConnectAdmin") + 63);
}

TEST(not_authorized)
{
    use_session();
    order.action = DSQL_TOKEN_CONNECT_ADMIN;
    expect_refused_at(mint(), "admin", "20240827T000000Z", DSQL_TOKEN_NOT_AUTHORIZED,
                      "User: arn:aws:sts::1:assumed-role/r/s is not authorized to perform: "
                      "dsql:DbConnectAdmin because no identity-based policy allows the "
                      "dsql:DbConnectAdmin action");
}

/* Only who can sign learns about time and permissions. */
TEST(signature_comes_first)
{
    assert_int_equal(verify(edit("Expires=900", "Expires=901"), "admin", "20240901T000000Z"),
                     DSQL_DENIED);
    assert_int_equal(why, DSQL_TOKEN_SIGNATURE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(recorded),
        CASE(action_of_user),
        CASE(mint_refuses),
        CASE(accepts),
        CASE(details_are_optional),
        CASE(any_order),
        CASE(no_byte_can_change),
        CASE(no_byte_can_go),
        CASE(malformed),
        CASE(malformed_by_size),
        CASE(wrong_form),
        CASE(wrong_scope),
        CASE(wrong_key),
        CASE(wrong_time),
        CASE(wrong_action),
        CASE(not_authorized),
        CASE(signature_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
