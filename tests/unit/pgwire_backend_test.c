/* What servers say: bodies with literal bytes, and the ways they can be wrong. */
#include "pgwire/backend.h"
#include "support/test.h"

static void assert_span(struct dsql_span got, struct dsql_span want)
{
    assert_int_equal(got.len, want.len);
    assert_memory_equal(got.ptr, want.ptr, want.len);
}

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

TEST(authentication_is_read)
{
    assert_int_equal(parse_ok('R', DSQL_SPAN("\0\0\0\0")).auth.kind, DSQL_PG_AUTH_OK);
    assert_int_equal(parse_ok('R', DSQL_SPAN("\0\0\0\3")).auth.kind, DSQL_PG_AUTH_CLEARTEXT);
    struct dsql_pg_be md5 = parse_ok('R', DSQL_SPAN("\0\0\0\5\1\2\3\4"));
    assert_int_equal(md5.auth.kind, DSQL_PG_AUTH_MD5);
    assert_span(md5.auth.data, DSQL_SPAN("\1\2\3\4"));
    struct dsql_pg_be sasl = parse_ok('R', DSQL_SPAN("\0\0\0\12SCRAM-SHA-256\0\0"));
    assert_int_equal(sasl.auth.kind, DSQL_PG_AUTH_SASL);
    assert_span(sasl.auth.data, DSQL_SPAN("SCRAM-SHA-256\0\0"));
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
    msg = parse_ok('v', DSQL_SPAN("\0\3\0\0\0\0\0\2_pq_.a\0_pq_.b\0"));
    assert_int_equal(msg.negotiated.version, 196608);
    assert_int_equal(msg.negotiated.count, 2);
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

TEST(tags_are_taken_apart)
{
    static const struct {
        struct dsql_span tag, verb;
        int64_t rows; /* -1: none */
    } rows[] = {
        {DSQL_SPAN("SELECT 3"), DSQL_SPAN("SELECT"), 3},
        {DSQL_SPAN("INSERT 0 5"), DSQL_SPAN("INSERT"), 5},
        {DSQL_SPAN("INSERT 16384 1"), DSQL_SPAN("INSERT"), 1},
        {DSQL_SPAN("UPDATE 0"), DSQL_SPAN("UPDATE"), 0},
        {DSQL_SPAN("DELETE 4294967296"), DSQL_SPAN("DELETE"), 4294967296},
        {DSQL_SPAN("COPY 7"), DSQL_SPAN("COPY"), 7},
        {DSQL_SPAN("COPY"), DSQL_SPAN("COPY"), -1},
        {DSQL_SPAN("CREATE TABLE"), DSQL_SPAN("CREATE TABLE"), -1},
        {DSQL_SPAN("BEGIN"), DSQL_SPAN("BEGIN"), -1},
        {DSQL_SPAN(""), DSQL_SPAN(""), -1},
        {DSQL_SPAN("5"), DSQL_SPAN("5"), -1},
        {DSQL_SPAN("SELECT "), DSQL_SPAN("SELECT "), -1},
        {DSQL_SPAN("SELECT 99999999999999999999"), DSQL_SPAN("SELECT 99999999999999999999"), -1},
        {DSQL_SPAN("SELECT -1"), DSQL_SPAN("SELECT -1"), -1},
        {DSQL_SPAN("INSERT 5"), DSQL_SPAN("INSERT"), 5},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_pg_command command = dsql_pg_command_of(rows[i].tag);
        assert_span(command.tag, rows[i].tag);
        assert_span(command.verb, rows[i].verb);
        assert_int_equal(command.has_rows ? (int64_t)command.rows : -1, rows[i].rows);
    }
    assert_int_equal(parse_ok('C', DSQL_SPAN("SELECT 3\0")).command.rows, 3);
}

TEST(rows_are_read)
{
    struct dsql_pg_columns columns =
        parse_ok('T', DSQL_SPAN("\0\2"
                                "id\0\0\0\100\0\0\1\0\0\0\27\0\4\377\377\377\377\0\0"
                                "name\0\0\0\0\0\0\0\0\0\4\23\377\377\0\0\0\44\0\1"))
            .columns;
    assert_int_equal(columns.count, 2);
    struct dsql_pg_column column;
    assert_true(dsql_pg_columns_next(&columns, &column));
    assert_span(column.name, DSQL_SPAN("id"));
    assert_int_equal(column.table, 16384);
    assert_int_equal(column.number, 1);
    assert_int_equal(column.type, 23);
    assert_int_equal(column.type_len, 4);
    assert_int_equal(column.type_mod, -1);
    assert_int_equal(column.format, DSQL_PG_TEXT);
    assert_true(dsql_pg_columns_next(&columns, &column));
    assert_span(column.name, DSQL_SPAN("name"));
    assert_int_equal(column.type, 1043);
    assert_int_equal(column.type_len, -1);
    assert_int_equal(column.type_mod, 36);
    assert_int_equal(column.format, DSQL_PG_BINARY);
    assert_false(dsql_pg_columns_next(&columns, &column));

    struct dsql_pg_values row = parse_ok('D', DSQL_SPAN("\0\2\0\0\0\00242\377\377\377\377")).row;
    struct dsql_pg_value value;
    assert_true(dsql_pg_values_next(&row, &value));
    assert_span(value.bytes, DSQL_SPAN("42"));
    assert_true(dsql_pg_values_next(&row, &value));
    assert_true(value.is_null);
    assert_false(dsql_pg_values_next(&row, &value));
}

TEST(the_other_messages_are_read)
{
    struct dsql_pg_be msg = parse_ok('t', DSQL_SPAN("\0\1\0\0\0\31"));
    assert_int_equal(dsql_pg_oids_at(msg.parameters, 0), 25);
    for (const char *type = "GHW"; *type; type++) {
        msg = parse_ok(*type, DSQL_SPAN("\1\0\2\0\1\0\0"));
        assert_int_equal(msg.copy.format, DSQL_PG_BINARY);
        assert_int_equal(msg.copy.columns.count, 2);
        assert_int_equal(dsql_pg_formats_at(msg.copy.columns, 0), DSQL_PG_BINARY);
    }
    msg = parse_ok('A', DSQL_SPAN("\0\0\0\7news\0hello\0"));
    assert_int_equal(msg.notification.pid, 7);
    assert_span(msg.notification.channel, DSQL_SPAN("news"));
    assert_span(msg.notification.payload, DSQL_SPAN("hello"));
    assert_span(parse_ok('V', DSQL_SPAN("\0\0\0\2ok")).result.bytes, DSQL_SPAN("ok"));
    assert_span(parse_ok('d', DSQL_SPAN("1\tx\n")).data, DSQL_SPAN("1\tx\n"));
    for (const char *type = "123Icns"; *type; type++)
        (void)parse_ok(*type, DSQL_SPAN(""));
}

TEST(malformed_messages_are_refused)
{
    static const char end[] = "insufficient data left in message";
    static const char string[] = "invalid string in message";
    static const char more[] = "invalid message format";
    static const char auth[] = "invalid authentication request from server";
    static const struct {
        char type;
        struct dsql_span body;
        const char *message;
    } rows[] = {
        {'R', DSQL_SPAN("\0\0\0"), end},
        {'R', DSQL_SPAN("\0\0\0\0x"), auth},
        {'R', DSQL_SPAN("\0\0\0\5\1\2\3"), auth},
        {'R', DSQL_SPAN("\0\0\0\15"), auth},
        {'R', DSQL_SPAN("\377\377\377\377"), auth},
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
        {'T', DSQL_SPAN("\0\1id\0\0\0\0\0\0\0\0\0\0\27\0\4\377\377\377\377\0"), end},
        {'T', DSQL_SPAN("\0\2id\0\0\0\0\0\0\0\0\0\0\27\0\4\377\377\377\377\0\0"), string},
        {'T', DSQL_SPAN("\0\0x"), more},
        {'D', DSQL_SPAN("\0\1\0\0\0\3ab"), end},
        {'D', DSQL_SPAN("\0\2\0\0\0\2ab"), end},
        {'D', DSQL_SPAN("\0\1\377\377\377\376"), end},
        {'t', DSQL_SPAN("\0\2\0\0\0\31"), end},
        {'G', DSQL_SPAN("\0\0\1\0"), end},
        {'G', DSQL_SPAN("\2\0\0"), "unsupported format code: 2"},
        {'H', DSQL_SPAN("\0\0\1\0\2"), "unsupported format code: 2"},
        {'V', DSQL_SPAN("\0\0\0\1"), end},
        {'A', DSQL_SPAN("\0\0\0\1a\0b"), string},
        {'v', DSQL_SPAN("\0\3\0\0\377\377\377\377a\0"), string},
        {'1', DSQL_SPAN("x"), more},
        {'n', DSQL_SPAN("x"), more},
        {'Q', DSQL_SPAN("x\0"), "invalid backend message type 81"},
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
        cmocka_unit_test(authentication_is_read),
        cmocka_unit_test(the_start_of_a_session_is_read),
        cmocka_unit_test(reports_are_read_by_code),
        cmocka_unit_test(tags_are_taken_apart),
        cmocka_unit_test(rows_are_read),
        cmocka_unit_test(the_other_messages_are_read),
        cmocka_unit_test(malformed_messages_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
