/* Answers of DynamoDB, shares, and the requests for the registry. */
#include <stdlib.h>

#include "aws/amz_time.h"
#include "aws/dynamodb.h"
#include "budget/fleet.h"
#include "budget/lease_items.h"
#include "budget/registry_codec.h"
#include "support/http_server.h"
#include "support/test.h"

TEST(kinds)
{
    static const struct {
        int status;
        const char *body;
        enum dsql_ddb_kind kind;
    } rows[] = {
        {200, "{}", DSQL_DDB_OK},
        {200, "", DSQL_DDB_UNAVAILABLE},
        {200, "[]", DSQL_DDB_UNAVAILABLE},
        {400, "{\"__type\":\"a#ConditionalCheckFailedException\"}", DSQL_DDB_CONDITION},
        {400, "{\"__type\":\"ConditionalCheckFailedException\"}", DSQL_DDB_CONDITION},
        {400, "{\"__type\":\"a#ProvisionedThroughputExceededException\"}", DSQL_DDB_THROTTLED},
        {400, "{\"__type\":\"a#ThrottlingException\"}", DSQL_DDB_THROTTLED},
        {400, "{\"__type\":\"a#ResourceNotFoundException\"}", DSQL_DDB_NO_TABLE},
        {400, "{\"__type\":\"a#AccessDeniedException\"}", DSQL_DDB_DENIED},
        {400, "{\"__type\":\"a#ExpiredTokenException\"}", DSQL_DDB_EXPIRED},
        {400, "{\"__type\":\"a#ValidationException\"}", DSQL_DDB_INVALID},
        {403, "no", DSQL_DDB_INVALID},
        {500, "{\"__type\":\"a#InternalServerError\"}", DSQL_DDB_UNAVAILABLE},
        {503, "", DSQL_DDB_UNAVAILABLE},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_ddb_reply reply;
        struct dsql_err err = {0};
        dsql_ddb_reply_read(&reply, rows[i].status, dsql_span_of(rows[i].body));
        if (reply.kind != rows[i].kind)
            fail_msg("row %zu: %s", i, dsql_ddb_kind_name(reply.kind));
        enum dsql_rc rc = dsql_ddb_explain("eu-west-1", &reply, "fleet", &err);
        assert_true((rc == DSQL_OK) == (reply.kind == DSQL_DDB_OK));
        if (rc)
            assert_non_null(strstr(err.message, "table fleet in eu-west-1"));
        dsql_ddb_reply_fini(&reply);
    }
}

TEST(cancellation)
{
    struct dsql_ddb_reply reply;
    struct dsql_leases_answer answer;
    struct dsql_leases_op acquire = {.kind = DSQL_LEASES_ACQUIRE, .count = 2},
                          renew = {.kind = DSQL_LEASES_RENEW, .count = 3};
    static const struct {
        const char *codes[3];
        enum dsql_leases_outcome acquired, renewed;
    } rows[] = {
        {{"ConditionalCheckFailed", "None", "None"}, DSQL_LEASES_REFUSED, DSQL_LEASES_MISSING},
        {{"TransactionConflict", "None", "None"}, DSQL_LEASES_CONFLICT, DSQL_LEASES_CONFLICT},
        {{"None", "ThrottlingError", "None"}, DSQL_LEASES_CONFLICT, DSQL_LEASES_CONFLICT},
        {{"ConditionalCheckFailed", "ConditionalCheckFailed", "None"},
         DSQL_LEASES_MISSING,
         DSQL_LEASES_MISSING},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        STRBUF(body, 512);
        dsql_strbuf_addf(&body,
                         "{\"__type\":\"x#TransactionCanceledException\",\"CancellationReasons\":"
                         "[{\"Code\":\"%s\"},{\"Code\":\"%s\"},{\"Code\":\"%s\"}]}",
                         rows[i].codes[0], rows[i].codes[1], rows[i].codes[2]);
        dsql_ddb_reply_read(&reply, 400, dsql_strbuf_span(&body));
        assert_int_equal(reply.kind, DSQL_DDB_CANCELLED);
        dsql_lease_answer(&acquire, &reply, &answer);
        assert_int_equal(answer.outcome, rows[i].acquired);
        dsql_lease_answer(&renew, &reply, &answer);
        assert_int_equal(answer.outcome, rows[i].renewed);
        dsql_ddb_reply_fini(&reply);
    }
}

TEST(shares)
{
    static const struct {
        int64_t total, wants[4], shares[4];
    } rows[] = {
        {100, {10, 20, 30, 40}, {10, 20, 30, 40}}, {40, {10, 20, 30, 40}, {10, 10, 10, 10}},
        {41, {10, 20, 30, 40}, {10, 11, 10, 10}},  {10, {0, 50, 1, 50}, {0, 5, 1, 4}},
        {0, {1, 1, 1, 1}, {0, 0, 0, 0}},           {3, {9, 9, 9, 9}, {1, 1, 1, 0}},
    };
    for (size_t r = 0; r < DSQL_COUNT_OF(rows); r++) {
        struct dsql_block blocks[4] = {0};
        const struct dsql_registry registry = {.exists = true, .blocks = blocks, .count = 4};
        for (size_t i = 0; i < 4; i++)
            blocks[i].of[DSQL_SLOTS].wants = rows[r].wants[i];
        for (size_t i = 0; i < 4; i++)
            if (dsql_registry_share(&registry, DSQL_SLOTS, i, rows[r].total) != rows[r].shares[i])
                fail_msg("row %zu: block %zu gets %lld", r, i,
                         (long long)dsql_registry_share(&registry, DSQL_SLOTS, i, rows[r].total));
    }
}

TEST(endpoints)
{
    char name[64];
    dsql_fleet_endpoint("a.dsql.us-east-1.on.aws:5432", name, sizeof(name));
    assert_string_equal(name, "a.dsql.us-east-1.on.aws");
    dsql_fleet_endpoint("localhost:15432", name, sizeof(name));
    assert_string_equal(name, "localhost:15432");
}

TEST(address)
{
    const char *const both[] = {"AWS_ENDPOINT_URL=http://b", "AWS_ENDPOINT_URL_DYNAMODB=http://a",
                                NULL};
    const char *const one[] = {"AWS_ENDPOINT_URL=http://b", "AWS_ENDPOINT_URL_DYNAMODB=", NULL};
    const char *const none[] = {NULL};
    assert_string_equal(dsql_ddb_url(both), "http://a");
    assert_string_equal(dsql_ddb_url(one), "http://b");
    assert_null(dsql_ddb_url(none));
}

/* Signs what arrived, as DynamoDB does, and tells whether the signature is the one that came. */
static void check_signature(void *arg, const struct http_asked *asked, struct http_told *told)
{
    static const char *const names[] = {"Host", "X-Amz-Target", "Content-Type"};
    struct dsql_secret secret = {0};
    struct dsql_sigv4_header headers[3];
    struct dsql_sigv4_added added = {.count = 0};
    struct dsql_wall at = {0};
    char hash[DSQL_SIGV4_HEX_SIZE];
    STRBUF(text, 4096);
    (void)arg;
    for (size_t i = 0; i < DSQL_COUNT_OF(names); i++)
        headers[i] =
            (struct dsql_sigv4_header){dsql_span_of(names[i]), http_asked_header(asked, names[i])};
    bool same = dsql_amz_time_parse(http_asked_header(asked, "X-Amz-Date"), &at) &&
                dsql_secret_set(&secret, DSQL_SPAN("secret")) == DSQL_OK &&
                dsql_sigv4_hash(asked->body, hash, NULL) == DSQL_OK;
    const struct dsql_sigv4_signer signer = {
        .keys = {.access_key_id = DSQL_SPAN("AKIAEXAMPLE"), .secret_access_key = &secret},
        .region = DSQL_SPAN("us-east-1"),
        .service = DSQL_SPAN("dynamodb"),
        .at = at,
    };
    const struct dsql_sigv4_request request = {.method = DSQL_SPAN("POST"),
                                               .path = DSQL_SPAN("/"),
                                               .headers = headers,
                                               .header_count = 3,
                                               .payload_hash = dsql_span_of(hash)};
    same = same && dsql_sigv4_sign(&signer, &request, &text, &added, NULL) == DSQL_OK;
    bool agrees = false;
    for (size_t i = 0; same && i < added.count; i++)
        agrees = agrees ||
                 (dsql_span_eq_nocase(added.headers[i].name, DSQL_SPAN("authorization")) &&
                  dsql_span_eq(added.headers[i].value, http_asked_header(asked, "Authorization")));
    told->status = agrees ? 200 : 403;
    dsql_strbuf_add_str(&told->body,
                        agrees ? "{}" : "{\"__type\":\"a#InvalidSignatureException\"}");
    dsql_secret_fini(&secret);
}

/* The Host that is signed is the one that is sent, also where the address names the scheme's own
 * port. The server stands in as a proxy, so that it hears of any address. */
TEST(the_host_that_is_sent_is_signed)
{
    static const char *const urls[] = {"http://table.test/", "http://table.test:80",
                                       "http://table.test:8000/", "http://Table.test:80/",
                                       "http://[::1]:80/"};
    struct http_server server;
    struct dsql_credentials *credentials;
    http_server_start(&server, check_signature, NULL);
    assert_int_equal(setenv("http_proxy", server.url, 1), 0);
    assert_int_equal(setenv("no_proxy", "", 1), 0);
    assert_int_equal(setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE", 1), 0);
    assert_int_equal(setenv("AWS_SECRET_ACCESS_KEY", "secret", 1), 0);
    const struct dsql_credentials_options options = {.region = "us-east-1"};
    assert_int_equal(dsql_credentials_new(&options, &credentials, NULL), DSQL_OK);
    for (size_t i = 0; i < DSQL_COUNT_OF(urls); i++) {
        const struct dsql_ddb_options ddb_options = {
            .region = "us-east-1",
            .url = urls[i],
            .credentials = credentials,
            .clock = &dsql_clock_system,
            .timeout_ns = 10 * DSQL_M,
            .attempts = 1,
            .cancel_fd = -1,
        };
        struct dsql_ddb *ddb;
        struct dsql_ddb_reply reply;
        json_t *body = json_object();
        assert_int_equal(dsql_ddb_new(&ddb_options, &ddb, NULL), DSQL_OK);
        assert_int_equal(dsql_ddb_call(ddb, "ListTables", body, &reply, NULL), DSQL_OK);
        if (reply.kind != DSQL_DDB_OK)
            fail_msg("%s: %s", urls[i], reply.message);
        dsql_ddb_reply_fini(&reply);
        dsql_ddb_destroy(ddb);
        json_decref(body);
    }
    assert_int_equal(atomic_load(&server.served), DSQL_COUNT_OF(urls));
    dsql_credentials_destroy(credentials);
    assert_int_equal(unsetenv("http_proxy"), 0);
    http_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),   cmocka_unit_test(cancellation),
        cmocka_unit_test(shares),  cmocka_unit_test(endpoints),
        cmocka_unit_test(address), cmocka_unit_test(the_host_that_is_sent_is_signed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
