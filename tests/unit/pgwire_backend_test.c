/* What servers say: bodies with literal bytes, and the ways they can be wrong. */
#include "pgwire/backend.h"
#include "support/test.h"

static struct dsql_pg_be parse_ok(char type, struct dsql_span body)
{
    struct dsql_pg_be msg;
    struct dsql_err err = {.message = ""};
    enum dsql_rc rc = dsql_pg_be_parse((uint8_t)type, body, &msg, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, DSQL_OK);
    assert_int_equal(msg.type, type);
    return msg;
}

TEST(the_start_of_a_session_is_read)
{
    struct dsql_pg_be msg = parse_ok('S', DSQL_SPAN("server_version\00016.15\0"));
    assert_span(msg.setting.name, DSQL_SPAN("server_version"));
    assert_span(msg.setting.value, DSQL_SPAN("16.15"));
    msg = parse_ok('K', DSQL_SPAN("\0\0\4\322\336\255\276\357"));
    assert_int_equal(msg.key.pid, 1234);
    assert_span(msg.key.key, DSQL_SPAN("\336\255\276\357"));
    assert_int_equal(parse_ok('Z', DSQL_SPAN("I")).status, DSQL_PG_IDLE);
    assert_int_equal(parse_ok('Z', DSQL_SPAN("T")).status, DSQL_PG_IN_TX);
    assert_int_equal(parse_ok('Z', DSQL_SPAN("E")).status, DSQL_PG_FAILED_TX);
}

TEST(reports_are_read_by_code)
{
    struct dsql_pg_report report =
        parse_ok('E', DSQL_SPAN("SFEHLER\0VERROR\0C40001\0Mconflict\0Dwho\0Hretry\0P15\0Fx.c\0\0"))
            .report;
    assert_span(report.severity, DSQL_SPAN("FEHLER"));
    assert_span(report.severity_plain, DSQL_SPAN("ERROR"));
    assert_span(report.sqlstate, DSQL_SPAN("40001"));
    assert_span(report.message, DSQL_SPAN("conflict"));
    assert_span(report.detail, DSQL_SPAN("who"));
    assert_span(report.hint, DSQL_SPAN("retry"));
    struct dsql_span value = DSQL_SPAN("untouched");
    assert_false(dsql_pg_report_get(&report, 'W', &value));
    assert_span(value, DSQL_SPAN("untouched"));
    assert_true(dsql_pg_report_get(&report, 'P', &value));
    assert_span(value, DSQL_SPAN("15"));
    assert_true(dsql_pg_report_get(&report, 'M', &value));
    assert_span(value, DSQL_SPAN("conflict"));
    assert_span(parse_ok('N', DSQL_SPAN("\0")).report.message, DSQL_SPAN(""));
}

TEST(rows_and_tags_are_read)
{
    assert_span(parse_ok('C', DSQL_SPAN("SELECT 3\0")).tag, DSQL_SPAN("SELECT 3"));
    struct dsql_pg_values row = parse_ok('D', DSQL_SPAN("\0\2\0\0\0\00242\377\377\377\377")).row;
    struct dsql_pg_value value;
    assert_true(dsql_pg_values_next(&row, &value));
    assert_span(value.bytes, DSQL_SPAN("42"));
    assert_true(dsql_pg_values_next(&row, &value));
    assert_true(value.is_null);
    assert_false(dsql_pg_values_next(&row, &value));
}

TEST(malformed_messages_are_refused)
{
    static const char end[] = "insufficient data left in message";
    static const char string[] = "invalid string in message";
    static const char more[] = "invalid message format";
    static const struct {
        char type;
        struct dsql_span body;
        const char *message;
    } rows[] = {
        {'S', DSQL_SPAN("name\0value"), string},
        {'K', DSQL_SPAN("\0\0\0\1abc"), "invalid cancel key from server"},
        {'Z', DSQL_SPAN(""), end},
        {'Z', DSQL_SPAN("X"), "invalid transaction status from server"},
        {'Z', DSQL_SPAN("II"), more},
        {'E', DSQL_SPAN(""), end},
        {'E', DSQL_SPAN("Mtext"), string},
        {'E', DSQL_SPAN("Mtext\0"), end},
        {'E', DSQL_SPAN("Mtext\0\0x"), more},
        {'C', DSQL_SPAN("SELECT 1"), string},
        {'D', DSQL_SPAN("\0\1\0\0\0\3ab"), end},
        {'D', DSQL_SPAN("\0\2\0\0\0\2ab"), end},
        {'D', DSQL_SPAN("\0\1\377\377\377\376"), end},
        {'T', DSQL_SPAN("\0\0"), "backend messages of type 84 are not read"},
        {'Q', DSQL_SPAN("x\0"), "backend messages of type 81 are not read"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_pg_be msg = {.type = DSQL_PG_BE_NO_DATA};
        struct dsql_err err = {.message = ""};
        assert_int_not_equal(dsql_pg_be_parse((uint8_t)rows[i].type, rows[i].body, &msg, &err),
                             DSQL_OK);
        assert_string_equal(err.message, rows[i].message);
        assert_int_equal(msg.type, DSQL_PG_BE_NO_DATA); /* untouched */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_start_of_a_session_is_read),
        cmocka_unit_test(reports_are_read_by_code),
        cmocka_unit_test(rows_and_tags_are_read),
        cmocka_unit_test(malformed_messages_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
