/* What clients say: bodies with literal bytes, and every way they can be wrong. */
#include "pgwire/frontend.h"
#include "support/test.h"

static struct dsql_pg_fe parse_ok(char type, struct dsql_span body)
{
    struct dsql_pg_fe msg;
    struct dsql_err err = {.message = ""};
    enum dsql_rc rc = dsql_pg_fe_parse((uint8_t)type, body, &msg, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, DSQL_OK);
    assert_int_equal(msg.type, type);
    return msg;
}

TEST(texts_are_read)
{
    assert_span(parse_ok('Q', DSQL_SPAN("select 1\0")).query, DSQL_SPAN("select 1"));
    assert_span(parse_ok('Q', DSQL_SPAN("\0")).query, DSQL_SPAN(""));
    assert_span(parse_ok('p', DSQL_SPAN("host/?Action=DbConnect\0")).password,
                DSQL_SPAN("host/?Action=DbConnect"));
    assert_span(parse_ok('f', DSQL_SPAN("no more\0")).reason, DSQL_SPAN("no more"));
    assert_span(parse_ok('d', DSQL_SPAN("1\t\0two\n")).data, DSQL_SPAN("1\t\0two\n"));
    assert_span(parse_ok('d', DSQL_SPAN("")).data, DSQL_SPAN(""));
}

TEST(parse_is_read)
{
    struct dsql_pg_parse parse =
        parse_ok('P', DSQL_SPAN("s1\0select $1, $2\0\0\2\0\0\0\27\0\0\0\0")).parse;
    assert_span(parse.name, DSQL_SPAN("s1"));
    assert_span(parse.query, DSQL_SPAN("select $1, $2"));
    assert_int_equal(parse.types.count, 2);
    assert_span(parse.types.raw, DSQL_SPAN("\0\0\0\27\0\0\0\0"));
}

TEST(bind_is_read)
{
    struct dsql_pg_bind bind = parse_ok('B', DSQL_SPAN("p\0s1\0"
                                                       "\0\3\0\0\0\1\0\0"
                                                       "\0\3\0\0\0\2a\0\377\377\377\377\0\0\0\0"
                                                       "\0\1\0\1"))
                                   .bind;
    assert_span(bind.portal, DSQL_SPAN("p"));
    assert_span(bind.statement, DSQL_SPAN("s1"));
    assert_int_equal(bind.formats.count, 3);
    assert_span(bind.formats.raw, DSQL_SPAN("\0\0\0\1\0\0"));
    struct dsql_pg_values rest = bind.values;
    struct dsql_pg_value value;
    assert_true(dsql_pg_values_next(&rest, &value));
    assert_false(value.is_null);
    assert_span(value.bytes, DSQL_SPAN("a\0"));
    assert_true(dsql_pg_values_next(&rest, &value));
    assert_true(value.is_null);
    assert_true(dsql_pg_values_next(&rest, &value));
    assert_false(value.is_null);
    assert_span(value.bytes, DSQL_SPAN(""));
    assert_false(dsql_pg_values_next(&rest, &value));
    assert_int_equal(bind.values.count, 3);
    assert_span(bind.results.raw, DSQL_SPAN("\0\1"));
}

TEST(bind_without_anything_is_read)
{
    struct dsql_pg_bind bind = parse_ok('B', DSQL_SPAN("\0\0\0\0\0\0\0\0")).bind;
    assert_int_equal(bind.values.count, 0);
    assert_int_equal(bind.formats.count, 0);
}

TEST(the_other_messages_are_read)
{
    struct dsql_pg_fe msg = parse_ok('D', DSQL_SPAN("Ss1\0"));
    assert_int_equal(msg.target.object, DSQL_PG_STATEMENT);
    assert_span(msg.target.name, DSQL_SPAN("s1"));
    msg = parse_ok('C', DSQL_SPAN("P\0"));
    assert_int_equal(msg.target.object, DSQL_PG_PORTAL);
    assert_span(msg.target.name, DSQL_SPAN(""));
    msg = parse_ok('E', DSQL_SPAN("p1\0\0\0\1\0"));
    assert_span(msg.execute.portal, DSQL_SPAN("p1"));
    assert_int_equal(msg.execute.max_rows, 256);
    assert_int_equal(parse_ok('E', DSQL_SPAN("\0\377\377\377\377")).execute.max_rows, -1);
    for (const char *type = "SHXc"; *type; type++)
        (void)parse_ok(*type, DSQL_SPAN(""));
    msg = parse_ok('F', DSQL_SPAN("\0\0\3\272\0\1\0\1\0\2\0\0\0\1x\377\377\377\377\0\1"));
    assert_int_equal(msg.call.function, 954);
    assert_int_equal(msg.call.arguments.count, 2);
    assert_span(msg.call.formats.raw, DSQL_SPAN("\0\1"));
    assert_int_equal(msg.call.result, DSQL_PG_BINARY);
}

TEST(malformed_messages_are_refused)
{
    static const char end[] = "insufficient data left in message";
    static const char string[] = "invalid string in message";
    static const char more[] = "invalid message format";
    static const struct {
        char type;
        struct dsql_span body;
        const char *sqlstate, *message;
    } rows[] = {
        {'Q', DSQL_SPAN(""), "08P01", string},
        {'Q', DSQL_SPAN("select"), "08P01", string},
        {'Q', DSQL_SPAN("select\0; drop"), "08P01", more},
        {'p', DSQL_SPAN("tok\0en\0"), "08P01", more},
        {'P', DSQL_SPAN("s\0select"), "08P01", string},
        {'P', DSQL_SPAN("s\0q\0\0\1\0\0\0"), "08P01", end},
        {'P', DSQL_SPAN("s\0q\0\377\377\0\0\0\27"), "08P01", end},
        {'P', DSQL_SPAN("s\0q\0\0\0\0"), "08P01", more},
        {'B', DSQL_SPAN("p\0s\0\0\1\0"), "08P01", end},
        {'B', DSQL_SPAN("\0\0\0\0\0\1\0\0\0\2x\0\0"), "08P01", end}, /* value runs into the end */
        {'B', DSQL_SPAN("\0\0\0\0\0\1\177\377\377\377xx\0\0"), "08P01", end},
        {'B', DSQL_SPAN("\0\0\0\0\0\1\377\377\377\376\0\0"), "08P01", end}, /* length -2 */
        {'B', DSQL_SPAN("\0\0\0\0\377\377\0\0"), "08P01", end},
        {'B', DSQL_SPAN("\0\0\0\0\0\0\0\0\0"), "08P01", more},
        {'B', DSQL_SPAN("\0\0\0\2\0\0\0\0\0\1\377\377\377\377\0\0"), "08P01",
         "bind message has 2 parameter formats but 1 parameters"},
        {'B', DSQL_SPAN("\0\0\0\1\0\2\0\1\377\377\377\377\0\0"), "22023",
         "unsupported format code: 2"},
        {'B', DSQL_SPAN("\0\0\0\0\0\0\0\2\0\0\377\377"), "22023", "unsupported format code: -1"},
        {'D', DSQL_SPAN(""), "08P01", end},
        {'D', DSQL_SPAN("S"), "08P01", string},
        {'D', DSQL_SPAN("xname\0"), "08P01", "invalid DESCRIBE message subtype 120"},
        {'C', DSQL_SPAN("\0name\0"), "08P01", "invalid CLOSE message subtype 0"},
        {'E', DSQL_SPAN("p\0\0\0\0"), "08P01", end},
        {'E', DSQL_SPAN("p\0\0\0\0\0\0"), "08P01", more},
        {'S', DSQL_SPAN("x"), "08P01", more},
        {'H', DSQL_SPAN("\0"), "08P01", more},
        {'f', DSQL_SPAN("why"), "08P01", string},
        {'F', DSQL_SPAN("\0\0\0\1\0\0\0\0\0"), "08P01", end},
        {'F', DSQL_SPAN("\0\0\0\1\0\2\0\0\0\1\0\0\0\0"), "08P01",
         "function call message contains 2 argument formats but 0 arguments"},
        {'F', DSQL_SPAN("\0\0\0\1\0\0\0\0\0\7"), "22023", "unsupported format code: 7"},
        {'x', DSQL_SPAN(""), "08P01", "invalid frontend message type 120"},
        {'\377', DSQL_SPAN(""), "08P01", "invalid frontend message type 255"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_pg_fe msg = {.type = DSQL_PG_FE_SYNC};
        struct dsql_err err = {.message = ""};
        enum dsql_rc rc = dsql_pg_fe_parse((uint8_t)rows[i].type, rows[i].body, &msg, &err);
        assert_string_equal(err.message, rows[i].message);
        assert_string_equal(err.sqlstate, rows[i].sqlstate);
        assert_int_equal(rc, err.sqlstate[0] == '2' ? DSQL_INVALID : DSQL_PROTOCOL);
        assert_int_equal(msg.type, DSQL_PG_FE_SYNC); /* untouched */
    }
}

TEST(as_many_parameters_as_the_count_can_say)
{
    size_t len = 4 + 2 + 65535 * 4 + 2; /* names, formats; count; NULLs; results */
    char *body = calloc(1, len);
    memset(body + 4, 0xff, 2 + 65535 * 4);
    struct dsql_pg_bind bind = parse_ok('B', (struct dsql_span){body, len}).bind;
    assert_int_equal(bind.values.count, 65535);
    struct dsql_pg_value value;
    size_t seen = 0;
    while (dsql_pg_values_next(&bind.values, &value))
        seen += value.is_null;
    assert_int_equal(seen, 65535);
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(parse_is_read),
        cmocka_unit_test(bind_is_read),
        cmocka_unit_test(bind_without_anything_is_read),
        cmocka_unit_test(the_other_messages_are_read),
        cmocka_unit_test(malformed_messages_are_refused),
        cmocka_unit_test(as_many_parameters_as_the_count_can_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
