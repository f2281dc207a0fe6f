/* Built messages, byte by byte, and what is left of those that do not fit. */
#include "pgwire/put_backend.h"
#include "pgwire/put_frontend.h"
#include "support/test.h"

static struct dsql_strbuf out;

static int begin(void **state)
{
    (void)state;
    dsql_strbuf_init_heap(&out, 1 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    dsql_strbuf_fini(&out);
    return 0;
}

/* Compares what was built with the literal and empties the buffer. */
#define ASSERT_BUILT(literal)                                                                      \
    do {                                                                                           \
        assert_false(out.cut);                                                                     \
        assert_span(dsql_strbuf_span(&out), DSQL_SPAN(literal));                                   \
        dsql_strbuf_clear(&out);                                                                   \
    } while (0)

TEST(a_server_greets)
{
    dsql_pg_put_auth_cleartext(&out);
    ASSERT_BUILT("R\0\0\0\10\0\0\0\3");
    dsql_pg_put_auth_ok(&out);
    ASSERT_BUILT("R\0\0\0\10\0\0\0\0");
    dsql_pg_put_parameter_status(&out, DSQL_SPAN("TimeZone"), DSQL_SPAN("UTC"));
    ASSERT_BUILT("S\0\0\0\21TimeZone\0UTC\0");
    dsql_pg_put_key_data(&out, 1234, 0xdeadbeef);
    ASSERT_BUILT("K\0\0\0\14\0\0\4\322\336\255\276\357");
    dsql_pg_put_ready(&out, DSQL_PG_IDLE);
    dsql_pg_put_ready(&out, DSQL_PG_FAILED_TX);
    ASSERT_BUILT("Z\0\0\0\5IZ\0\0\0\5E");
}

TEST(a_server_negotiates)
{
    struct dsql_pg_startup startup;
    assert_int_equal(dsql_pg_startup_parse(
                         DSQL_SPAN("\0\3\047\017user\0a\0_pq_.x\0on\0database\0b\0_pq_.yz\0\0\0"),
                         &startup, NULL),
                     DSQL_OK);
    assert_int_equal(startup.minor, 9999);
    dsql_pg_put_negotiate_version(&out, 0, &startup);
    ASSERT_BUILT("v\0\0\0\033\0\3\0\0\0\0\0\2_pq_.x\0_pq_.yz\0");
}

TEST(a_server_reports)
{
    struct dsql_pg_report report = {
        .severity = DSQL_SPAN("FATAL"),
        .sqlstate = DSQL_SPAN("08006"),
        .message = DSQL_SPAN("no"),
        .detail = DSQL_SPAN("id"),
        .hint = DSQL_SPAN("try"),
    };
    dsql_pg_put_error(&out, &report);
    ASSERT_BUILT("E\0\0\0\047SFATAL\0VFATAL\0C08006\0Mno\0Did\0Htry\0\0");
    report = (struct dsql_pg_report){
        .severity = DSQL_SPAN("FEHLER"),
        .severity_plain = DSQL_SPAN("ERROR"),
        .sqlstate = DSQL_SPAN("00000"),
        .message = DSQL_SPAN("m"),
    };
    dsql_pg_put_error(&out, &report);
    ASSERT_BUILT("E\0\0\0\036SFEHLER\0VERROR\0C00000\0Mm\0\0");
}

TEST(a_server_answers)
{
    const struct dsql_pg_column columns[] = {
        {.name = DSQL_SPAN("job_id"), .type = 25, .type_len = -1, .type_mod = -1},
    };
    dsql_pg_put_row_description(&out, columns, 1);
    ASSERT_BUILT("T\0\0\0\037\0\1job_id\0\0\0\0\0\0\0\0\0\0\31\377\377\377\377\377\377\0\0");
    const struct dsql_pg_value values[] = {
        {.bytes = DSQL_SPAN("a\0b")}, {.is_null = true}, {.bytes = DSQL_SPAN("")}};
    dsql_pg_put_data_row(&out, values, 3);
    ASSERT_BUILT("D\0\0\0\025\0\3\0\0\0\3a\0b\377\377\377\377\0\0\0\0");
    dsql_pg_put_command_complete(&out, DSQL_SPAN("SELECT 1"));
    ASSERT_BUILT("C\0\0\0\15SELECT 1\0");
    dsql_pg_put_empty_query(&out);
    ASSERT_BUILT("I\0\0\0\4");
}

TEST(a_client_speaks)
{
    const struct dsql_pg_param params[] = {
        {DSQL_SPAN("user"), DSQL_SPAN("admin")},
        {DSQL_SPAN("database"), DSQL_SPAN("postgres")},
    };
    dsql_pg_put_startup(&out, params, 2);
    ASSERT_BUILT("\0\0\0\046\0\3\0\0user\0admin\0database\0postgres\0\0");
    dsql_pg_put_query(&out, DSQL_SPAN("select 1"));
    ASSERT_BUILT("Q\0\0\0\15select 1\0");
    dsql_pg_put_parse(&out, &(struct dsql_pg_parse){.name = DSQL_SPAN("s"),
                                                    .query = DSQL_SPAN("q"),
                                                    .types = {1, DSQL_SPAN("\0\0\0\27")}});
    ASSERT_BUILT("P\0\0\0\16s\0q\0\0\1\0\0\0\27");
    dsql_pg_put_describe(&out, DSQL_PG_STATEMENT, DSQL_SPAN("s"));
    dsql_pg_put_close(&out, DSQL_PG_PORTAL, DSQL_SPAN(""));
    ASSERT_BUILT("D\0\0\0\7Ss\0C\0\0\0\6P\0");
    dsql_pg_put_execute(&out, DSQL_SPAN("p"), 100);
    ASSERT_BUILT("E\0\0\0\12p\0\0\0\0\144");
    dsql_pg_put_flush(&out);
    dsql_pg_put_sync(&out);
    ASSERT_BUILT("H\0\0\0\4S\0\0\0\4");
}

TEST(a_bind_is_passed_on_under_another_name)
{
    struct dsql_pg_fe msg;
    assert_int_equal(
        dsql_pg_fe_parse('B', DSQL_SPAN("\0mine\0\0\1\0\1\0\1\0\0\0\2\0\7\0\1\0\1"), &msg, NULL),
        DSQL_OK);
    msg.bind.statement = DSQL_SPAN("d1");
    dsql_pg_put_bind(&out, &msg.bind);
    ASSERT_BUILT("B\0\0\0\030\0d1\0\0\1\0\1\0\1\0\0\0\2\0\7\0\1\0\1");
}

TEST(what_does_not_fit_leaves_whole_messages)
{
    const struct dsql_span sync = DSQL_SPAN("S\0\0\0\4");
    const struct dsql_span both = DSQL_SPAN("S\0\0\0\4Q\0\0\0\6x\0");
    for (size_t cap = 1; cap <= both.len + 1; cap++) {
        char memory[32];
        struct dsql_strbuf small;
        dsql_strbuf_init(&small, memory, cap);
        dsql_pg_put_sync(&small);
        dsql_pg_put_query(&small, DSQL_SPAN("x"));
        size_t whole = cap > both.len ? both.len : cap > sync.len ? sync.len : 0;
        assert_span(dsql_strbuf_span(&small), dsql_span_first(both, whole));
        assert_int_equal(small.cut, whole < both.len);
        assert_int_equal(small.ptr[small.len], '\0');
        dsql_pg_put_sync(&small); /* nothing follows a missing message */
        assert_int_equal(small.len, whole);
    }
}

TEST(what_cannot_be_said_is_not_said)
{
    dsql_pg_put_query(&out, DSQL_SPAN("delete from t\0 where id = 1"));
    assert_true(out.cut);
    assert_int_equal(out.len, 0);
    dsql_strbuf_clear(&out);

    struct dsql_pg_value *nulls = calloc(65536, sizeof(*nulls));
    for (size_t i = 0; i < 65536; i++)
        nulls[i].is_null = true;
    dsql_pg_put_data_row(&out, nulls, 65535);
    assert_false(out.cut);
    dsql_strbuf_clear(&out);
    dsql_pg_put_data_row(&out, nulls, 65536);
    assert_true(out.cut);
    assert_int_equal(out.len, 0);
    free(nulls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_server_greets, begin, end),
        cmocka_unit_test_setup_teardown(a_server_negotiates, begin, end),
        cmocka_unit_test_setup_teardown(a_server_reports, begin, end),
        cmocka_unit_test_setup_teardown(a_server_answers, begin, end),
        cmocka_unit_test_setup_teardown(a_client_speaks, begin, end),
        cmocka_unit_test_setup_teardown(a_bind_is_passed_on_under_another_name, begin, end),
        cmocka_unit_test_setup_teardown(what_does_not_fit_leaves_whole_messages, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_said_is_not_said, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
