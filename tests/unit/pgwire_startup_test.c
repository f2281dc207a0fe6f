/* The packets before the first message, byte by byte as the protocol's manual gives them. */
#include "pgwire/frame.h"
#include "pgwire/startup.h"
#include "support/test.h"

static struct dsql_pg_startup parse_ok(struct dsql_span body)
{
    struct dsql_pg_startup startup;
    assert_int_equal(dsql_pg_startup_parse(body, &startup, NULL), DSQL_OK);
    return startup;
}

TEST(requests_are_told_apart)
{
    assert_int_equal(parse_ok(DSQL_SPAN("\4\322\026\057")).kind,
                     DSQL_PG_SSL_REQUEST); /* 80877103 */
    assert_int_equal(parse_ok(DSQL_SPAN("\4\322\026\060")).kind, DSQL_PG_GSSENC_REQUEST);
    struct dsql_pg_startup cancel =
        parse_ok(DSQL_SPAN("\4\322\026\056\0\0\4\322\336\255\276\357")); /* 80877102 */
    assert_int_equal(cancel.kind, DSQL_PG_CANCEL_REQUEST);
    assert_int_equal(cancel.pid, 1234);
    assert_span(cancel.key, DSQL_SPAN("\336\255\276\357"));
}

TEST(parameters_are_read_in_order)
{
    struct dsql_pg_startup startup =
        parse_ok(DSQL_SPAN("\0\3\0\0user\0admin\0database\0postgres\0options\0\0\0"));
    assert_int_equal(startup.kind, DSQL_PG_STARTUP_MESSAGE);
    assert_int_equal(startup.minor, 0);
    struct dsql_pg_params rest = startup.params;
    struct dsql_pg_param param;
    assert_true(dsql_pg_params_next(&rest, &param));
    assert_span(param.name, DSQL_SPAN("user"));
    assert_span(param.value, DSQL_SPAN("admin"));
    assert_true(dsql_pg_params_next(&rest, &param));
    assert_span(param.name, DSQL_SPAN("database"));
    assert_true(dsql_pg_params_next(&rest, &param));
    assert_span(param.name, DSQL_SPAN("options"));
    assert_span(param.value, DSQL_SPAN(""));
    assert_false(dsql_pg_params_next(&rest, &param));
}

TEST(the_last_of_two_equal_names_counts)
{
    struct dsql_pg_startup startup =
        parse_ok(DSQL_SPAN("\0\3\0\0user\0one\0users\0x\0user\0two\0\0"));
    struct dsql_span value;
    assert_true(dsql_pg_params_get(startup.params, DSQL_SPAN("user"), &value));
    assert_span(value, DSQL_SPAN("two"));
    assert_false(dsql_pg_params_get(startup.params, DSQL_SPAN("use"), &value));
    assert_false(dsql_pg_params_get(startup.params, DSQL_SPAN("two"), &value));
}

TEST(options_are_settings)
{
    struct dsql_span rest =
        DSQL_SPAN(" -c a=1  -cb=2 --c=x=y -c\td --e-f=g-h -c i=j\\ \\\\k\\\tl --m=\\"
                  " n=o -p \\-c q= -c =r -- -c");
    struct dsql_pg_param setting;
    static const struct {
        const char *name, *value; /* NULL: none */
    } expected[] = {{"a", "1"},     {"b", "2"},        {"c", "x=y"},  {"d", NULL},
                    {"e_f", "g-h"}, {"i", "j \\k\tl"}, {"m", " n=o"}, {"-p", NULL},
                    {"q", ""},      {"", "r"},         {"", NULL},    {"", NULL}};
    char memory[DSQL_PG_STARTUP_MOST];
    struct dsql_strbuf word;
    dsql_strbuf_init(&word, memory, sizeof(memory));
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_true(dsql_pg_options_next(&rest, &word, &setting));
        assert_span(setting.name, dsql_span_of(expected[i].name));
        assert_int_equal(setting.value.ptr == NULL, expected[i].value == NULL);
        if (expected[i].value)
            assert_span(setting.value, dsql_span_of(expected[i].value));
    }
    assert_false(dsql_pg_options_next(&rest, &word, &setting));
}

TEST(no_parameters_is_a_list_too)
{
    struct dsql_pg_startup startup = parse_ok(DSQL_SPAN("\0\3\0\0\0"));
    struct dsql_pg_param param;
    assert_false(dsql_pg_params_next(&startup.params, &param));
}

TEST(versions_and_options_are_negotiated)
{
    struct dsql_pg_startup plain = parse_ok(DSQL_SPAN("\0\3\0\0user\0a\0\0"));
    assert_false(dsql_pg_startup_must_negotiate(&plain, 0));
    struct dsql_pg_startup newer = parse_ok(DSQL_SPAN("\0\3\0\2user\0a\0\0"));
    assert_int_equal(newer.minor, 2);
    assert_true(dsql_pg_startup_must_negotiate(&newer, 0));
    assert_true(dsql_pg_startup_must_negotiate(&newer, 1));
    assert_false(dsql_pg_startup_must_negotiate(&newer, 2));
    struct dsql_pg_startup option = parse_ok(DSQL_SPAN("\0\3\0\0user\0a\0_pq_.x\0on\0\0"));
    assert_true(dsql_pg_startup_must_negotiate(&option, 0));
}

TEST(malformed_packets_are_refused)
{
    static const char layout[] = "invalid startup packet layout: expected terminator as last byte";
    static const struct {
        struct dsql_span body;
        enum dsql_rc rc;
        const char *sqlstate, *message;
    } rows[] = {
        {DSQL_SPAN(""), DSQL_PROTOCOL, "08P01", "insufficient data left in message"},
        {DSQL_SPAN("\0\3\0"), DSQL_PROTOCOL, "08P01", "insufficient data left in message"},
        {DSQL_SPAN("\4\322\026\057x"), DSQL_PROTOCOL, "08P01", "invalid message format"},
        {DSQL_SPAN("\4\322\026\056\0\0\4"), DSQL_PROTOCOL, "08P01",
         "insufficient data left in message"},
        {DSQL_SPAN("\4\322\026\056\0\0\4\322abc"), DSQL_PROTOCOL, "08P01",
         "invalid length of startup packet"},
        {DSQL_SPAN("\0\2\0\0user"), DSQL_UNSUPPORTED, "0A000",
         "unsupported frontend protocol 2.0: server supports 3.0 to 3.0"},
        {DSQL_SPAN("\4\322\026\061"), DSQL_UNSUPPORTED, "0A000",
         "unsupported frontend protocol 1234.5681: server supports 3.0 to 3.0"},
        {DSQL_SPAN("\0\3\0\0"), DSQL_PROTOCOL, "08P01", layout},
        {DSQL_SPAN("\0\3\0\0user\0"), DSQL_PROTOCOL, "08P01", layout},
        {DSQL_SPAN("\0\3\0\0user\0a"), DSQL_PROTOCOL, "08P01", layout},
        {DSQL_SPAN("\0\3\0\0user\0a\0"), DSQL_PROTOCOL, "08P01", layout},
        {DSQL_SPAN("\0\3\0\0user\0a\0\0\0"), DSQL_PROTOCOL, "08P01", layout},
        {DSQL_SPAN("\0\3\0\0\0user\0a\0"), DSQL_PROTOCOL, "08P01", layout},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_pg_startup startup = {.pid = 77};
        struct dsql_err err = {.message = ""};
        assert_int_equal(dsql_pg_startup_parse(rows[i].body, &startup, &err), rows[i].rc);
        assert_string_equal(err.message, rows[i].message);
        assert_string_equal(err.sqlstate, rows[i].sqlstate);
        assert_int_equal(startup.pid, 77); /* untouched */
    }
}

TEST(cancel_keys_have_4_to_256_bytes)
{
    char body[8 + 257] = "\4\322\026\056";
    struct dsql_pg_startup startup;
    for (size_t len = 0; len <= 257; len++) {
        enum dsql_rc rc = dsql_pg_startup_parse((struct dsql_span){body, 8 + len}, &startup, NULL);
        assert_int_equal(rc, len >= 4 && len <= 256 ? DSQL_OK : DSQL_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_told_apart),
        cmocka_unit_test(parameters_are_read_in_order),
        cmocka_unit_test(the_last_of_two_equal_names_counts),
        cmocka_unit_test(options_are_settings),
        cmocka_unit_test(no_parameters_is_a_list_too),
        cmocka_unit_test(versions_and_options_are_negotiated),
        cmocka_unit_test(malformed_packets_are_refused),
        cmocka_unit_test(cancel_keys_have_4_to_256_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
