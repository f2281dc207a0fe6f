/* PostgreSQL 16's grammar: what is made of it, and where its errors are. */
#include "local/rules/sql_number.h"
#include "local/rules/sql_pg16.h"
#include "local/rules/sql_stmt.h"
#include "support/test.h"

#define IS(operand)  "(NOT pg_catalog.dsql_not_json(" operand ", 'value', false))"
#define NOT(operand) "(NOT pg_catalog.dsql_not_json(" operand ", 'value', true))"

static struct dsql_sql_script *script_of(const char *text)
{
    struct dsql_sql_script *script;
    assert_int_equal(dsql_sql_script_new(dsql_span_of(text), &script), DSQL_OK);
    return script;
}

TEST(numbers_in_decimal)
{
    static const struct {
        const char *text, *decimal; /* NULL: as it stands, or no number */
        size_t len;
    } rows[] = {
        {"0x1F", "31", 4},
        {"0XfF,", "255", 4},
        {"0o17", "15", 4},
        {"0b1_0", "2", 5},
        {"0x_1", "1", 4},
        {"0x0", "0", 3},
        {"0x7FFFFFFFFFFFFFFF", "9223372036854775807", 18},
        {"0xFFFFFFFFFFFFFFFFFF", "4722366482869645213695", 20},
        {"0x3B9ACA00", "1000000000", 10},
        {"1_000", "1000", 5},
        {"1_000.5_0", "1000.50", 9},
        {"1_0e-1_0 ", "10e-10", 8},
        {"1_0E5", "10E5", 5},
        {"1_0..2", "10", 3},
        {"1_000.", "1000.", 6},
        {"1000", NULL, 0},
        {"1.5e3", NULL, 0},
        {"1__0", NULL, 0},
        {"1_", NULL, 0},
        {"1_000a", NULL, 0},
        {"1_000_", NULL, 0},
        {"0x", NULL, 0},
        {"0x1G", NULL, 0},
        {"0xF_", NULL, 0},
        {"0o8", NULL, 0},
        {"0b2", NULL, 0},
        {"0x1F.5", NULL, 0}, /* 31.5 it is not */
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        STRBUF(decimal, 64);
        size_t len = 0;
        bool is = dsql_sql_number(dsql_span_of(rows[i].text), &len, &decimal);
        if (is != (rows[i].decimal != NULL))
            fail_msg("%s", rows[i].text);
        if (is) {
            assert_string_equal(decimal.ptr, rows[i].decimal);
            assert_int_equal(len, rows[i].len);
        }
    }
}

TEST(long_numbers)
{
    char text[DSQL_SQL_DIGITS_MAX + 8] = "0x";
    memset(text + 2, 'f', DSQL_SQL_DIGITS_MAX + 1);
    struct dsql_strbuf decimal;
    size_t len;
    dsql_strbuf_init_heap(&decimal, 4096);
    assert_false(dsql_sql_number(dsql_span_of(text), &len, &decimal)); /* one too many */
    text[2 + DSQL_SQL_DIGITS_MAX] = '\0';
    assert_true(dsql_sql_number(dsql_span_of(text), &len, &decimal));
    assert_int_equal(decimal.len, 1234); /* 16^1024 - 1 */
    dsql_strbuf_fini(&decimal);
}

/* What goes to PostgreSQL 15. */
TEST(texts_are_edited)
{
    static const struct {
        const char *text, *edited; /* NULL: not, because 15 accepts it as it is */
    } rows[] = {
        {"SELECT 0x1F + 1_000, '0x1F' \"0x1F\" /* 0x1F */ -- 0x1F",
         "SELECT 31 + 1000, '0x1F' \"0x1F\" /* 0x1F */ -- 0x1F"},
        {"SELECT $$0x1F$$, E'\\' 1_0', $a$ 1_0 $a$, U&'0b1', 0b1",
         "SELECT $$0x1F$$, E'\\' 1_0', $a$ 1_0 $a$, U&'0b1', 1"},
        {"SELECT a0x1F, x'1F', 1", NULL},
        {"SELECT 1; SELECT 0x10; SELECT 2", "SELECT 1; SELECT 16; SELECT 2"},
        {"CREATE INDEX ASYNC i ON t ((a + 0xA))", "CREATE INDEX       i ON t ((a + 10))"},

        {"SELECT * FROM (SELECT 1)", "SELECT * FROM (SELECT 1) unnamed_subquery "},
        {"SELECT * FROM (SELECT ')' FROM (VALUES (1))) WHERE a",
         "SELECT * FROM (SELECT ')' FROM (VALUES (1)) unnamed_subquery ) unnamed_subquery_1  WHERE a"},
        {"SELECT * FROM a, LATERAL (SELECT 1)JOIN (SELECT 2) x ON true",
         "SELECT * FROM a, LATERAL (SELECT 1) unnamed_subquery JOIN (SELECT 2) x ON true"},
        {"SELECT * FROM (SELECT 1) AS a", NULL},

        {"SELECT system_user, SYSTEM_USER AS system_user, a.system_user",
         "SELECT pg_catalog.system_user(), pg_catalog.system_user() AS system_user, a.system_user"},
        {"SELECT 'system_user', \"system_user\" FROM system_user()", NULL},
        {"SELECT d.daticurules AS x FROM pg_catalog.pg_database d WHERE daticurules IS NULL",
         "SELECT (SELECT NULL::text AS daticurules) AS x FROM pg_catalog.pg_database d "
         "WHERE (SELECT NULL::text AS daticurules) IS NULL"},
        {"SELECT collicurules, pg_collation.collicurules, e.collicurules FROM pg_collation",
         "SELECT (SELECT NULL::text AS collicurules), (SELECT NULL::text AS collicurules), "
         "e.collicurules FROM pg_collation"},
        {"SELECT M.inherit_option, m.set_option FROM pg_auth_members AS m",
         "SELECT (SELECT rolinherit AS inherit_option FROM pg_catalog.pg_roles WHERE oid = M.member), "
         "(SELECT true AS set_option) FROM pg_auth_members AS m"},
        {"SELECT inherit_option FROM pg_auth_members",
         "SELECT (SELECT rolinherit AS inherit_option FROM pg_catalog.pg_roles WHERE oid = member) "
         "FROM pg_auth_members"},
        {"SELECT m./**/set_option, m .set_option FROM pg_auth_members m", NULL},
        /* Columns of others, labels, functions, strings. */
        {"SELECT t.set_option, inherit_option FROM t", NULL},
        {"SELECT pg_catalog.pg_auth_members.set_option FROM pg_catalog.pg_auth_members", NULL},
        {"SELECT 1 AS set_option, set_option(1), 'm.set_option', \"set_option\" FROM pg_auth_members m",
         NULL},

        {"CREATE STATISTICS ON a, b FROM t", "CREATE STATISTICS dsql_unnamed ON a, b FROM t"},
        {"create statistics (mcv) ON a, b FROM t",
         "create statistics dsql_unnamed (mcv) ON a, b FROM t"},
        {"CREATE STATISTICS s ON a, b FROM t", NULL},

        {"GRANT a TO b WITH INHERIT TRUE", "GRANT a TO b "},
        {"GRANT a TO b WITH INHERIT OPTION, SET TRUE, ADMIN TRUE GRANTED BY c",
         "GRANT a TO b WITH ADMIN OPTION GRANTED BY c"},
        {"GRANT a TO b WITH ADMIN FALSE; SELECT 1", "GRANT a TO b ; SELECT 1"},
        {"GRANT a TO b WITH ADMIN OPTION", NULL},
        {"GRANT SELECT ON t TO b WITH GRANT OPTION; SELECT 1_0",
         "GRANT SELECT ON t TO b WITH GRANT OPTION; SELECT 10"},

        {"SELECT a IS JSON", "SELECT " IS("a ")},
        {"SELECT a IS NOT JSON, NULL IS JSON", "SELECT " NOT("a ") ", " IS("NULL ")},
        {"SELECT a || b = c IS JSON", "SELECT " IS("a || b = c ")},
        {"SELECT ((a)) IS JSON AND (b IS JSON VALUE OR NOT c IS JSON)",
         "SELECT " IS("((a)) ") " AND (" IS("b ") " OR NOT " IS("c ") ")"},
        {"SELECT f(a, (b)) IS JSON ARRAY",
         "SELECT (NOT pg_catalog.dsql_not_json(f(a, (b)) , 'array', false))"},
        {"SELECT ((1, 2) IS NULL) IS JSON SCALAR WITHOUT UNIQUE KEYS, a IS TRUE",
         "SELECT (NOT pg_catalog.dsql_not_json(((1, 2) IS NULL) , 'scalar', false)), a IS TRUE"},
        {"SELECT 0x1::text IS JSON OBJECT",
         "SELECT (NOT pg_catalog.dsql_not_json(1::text , 'object', false))"},
        {"SELECT (a IS JSON)::text IS JSON", "SELECT " IS("(" IS("a ") ")::text ")},
        {"SELECT CAST(a AS text) IS JSON, CASE WHEN b THEN c END IS JSON",
         "SELECT " IS("CAST(a AS text) ") ", " IS("CASE WHEN b THEN c END ")},
        {"SELECT interval '1 day' IS JSON, -a IS JSON, (SELECT a) IS JSON, a[1] IS JSON",
         "SELECT " IS("interval '1 day' ") ", " IS("-a ") ", " IS("(SELECT a) ") ", " IS("a[1] ")},
        {"CREATE TABLE t (a text CHECK (a IS JSON))",
         "CREATE TABLE t (a text CHECK (" IS("a ") "))"},
        {"UPDATE t SET a = b IS JSON", "UPDATE t SET a = " IS("b ")},

        {"SELECT JSON_OBJECT('a': 1)", "SELECT information_schema.json_object(false, 'a', 1)"},
        {"SELECT JSON_OBJECT('a'::text: b::int, 'c' VALUE value ABSENT ON NULL RETURNING jsonb)",
         "SELECT CAST(information_schema.json_object(true, 'a'::text, b::int, 'c' , value  ) AS jsonb)"},
        {"SELECT JSON_OBJECT('a': JSON_OBJECT('b': 0x1))",
         "SELECT information_schema.json_object(false, 'a', "
         "information_schema.json_object(false, 'b', 1))"},
        {"SELECT JSON_OBJECT('a': f(x, ARRAY[1, 2]), t.value: 2)",
         "SELECT information_schema.json_object(false, 'a', f(x, ARRAY[1, 2]), t.value, 2)"},
        {"SELECT JSON_ARRAY(1, NULL NULL ON NULL)",
         "SELECT information_schema.json_array(false, 1, NULL )"},
        {"SELECT JSON_ARRAY(NULL ON NULL RETURNING jsonb)",
         "SELECT CAST(information_schema.json_array(false ) AS jsonb)"},
        {"SELECT JSON_ARRAY(1, 2), json_object('{a,b}'), json_object('{a}', '{b}')", NULL},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_sql_script *script = script_of(rows[i].text);
        if (script->refusal)
            fail_msg("%s: %s", rows[i].text, script->refusal->message);
        if (rows[i].edited && !script->edited)
            fail_msg("%s: as it was", rows[i].text);
        assert_string_equal(script->text.ptr, rows[i].edited ? rows[i].edited : rows[i].text);
        assert_string_equal(script->sent, rows[i].text);
        dsql_sql_script_unref(script);
    }
}

/* What 16 does not understand, or nobody can do with 15: the first error is where it is. */
TEST(errors_are_where_the_client_wrote_them)
{
    static const struct {
        const char *text, *message;
        int position;
    } rows[] = {
        {"SELECT 0xZZ", "trailing junk after numeric literal at or near \"0x\"", 8},
        {"SELECT 1_000 1_000", "syntax error at or near \"1_000\"", 14},
        {"SELECT 'é', 0x7FFFFFFFFFFFFFFF; SELEC", "syntax error at or near \"SELEC\"", 33},
        {"SELECT * FROM (SELECT 1) WHERE SELEC SELEC", "syntax error at or near \"SELEC\"", 38},
        {"SELECT system_user x y", "syntax error at or near \"y\"", 22},
        {"CREATE TABLE t (SYSTEM_USER text)", "syntax error at or near \"SYSTEM_USER\"", 17},
        {"GRANT a TO b WITH INHERIT FALSE", "syntax error at or near \"INHERIT\"", 19},
        {"GRANT a TO b WITH SET FALSE, ADMIN TRUE", "syntax error at or near \"SET\"", 19},
        {"SELECT a IS JSON WITH UNIQUE KEYS", "syntax error at or near \"WITH\"", 18},
        {"SELECT JSON_OBJECT('a': 1 FORMAT JSON)", "syntax error at or near \":\"", 23},
        {"SELECT JSON_OBJECT('a': 1, 'b')  FROM FROM", "syntax error at or near \"FROM\"", 39},
        {"SELECT IS JSON", "syntax error at or near \"IS JSON\"", 8},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_sql_script *script = script_of(rows[i].text);
        assert_non_null(script->refusal);
        if (strcmp(script->refusal->message, rows[i].message) != 0 ||
            script->refusal->position != rows[i].position)
            fail_msg("%s: %s, %d", rows[i].text, script->refusal->message,
                     script->refusal->position);
        dsql_sql_script_unref(script);
    }
}

/* PostgreSQL's own errors have places in the edited text. */
TEST(positions_lead_back)
{
    struct dsql_sql_script *script =
        script_of("SELECT 'é', 0x7F, nope FROM (SELECT 1), \"né\" WHERE b IS JSON AND late");
    const char *nope = strstr(script->text.ptr, "nope"), *late = strstr(script->text.ptr, "late");
    assert_string_equal(script->text.ptr,
                        "SELECT 'é', 127, nope FROM (SELECT 1) unnamed_subquery , \"né\" WHERE " IS(
                            "b ") " AND late");
    size_t place = (size_t)(nope - script->text.ptr); /* one of two bytes stands before it */
    assert_int_equal(dsql_sql_script_position(script, place), 19);
    place = (size_t)(late - script->text.ptr) - 1; /* and here two of them */
    assert_int_equal(dsql_sql_script_position(script, place), 66);
    assert_int_equal(dsql_sql_script_position(script, 0), 0);
    assert_int_equal(dsql_sql_script_position(script, 100000), 70);
    dsql_sql_script_unref(script);
    script = script_of("SELECT 1");
    assert_int_equal(dsql_sql_script_position(script, 8), 8);
    dsql_sql_script_unref(script);
}

/* In a text so long that the parser sees another one. */
TEST(long_texts_are_edited)
{
    struct dsql_strbuf text, edited;
    dsql_strbuf_init_heap(&text, 1 << 20);
    dsql_strbuf_init_heap(&edited, 1 << 20);
    struct dsql_strbuf *const both[] = {&text, &edited};
    for (size_t i = 0; i < 2; i++) {
        dsql_strbuf_add_str(both[i], "INSERT INTO t SELECT 'é");
        for (int k = 0; k < 20000; k++)
            dsql_strbuf_add_char(both[i], 'x');
    }
    dsql_strbuf_add_str(&text, "', 0x10 FROM (SELECT 1) WHERE a IS JSON");
    dsql_strbuf_add_str(&edited, "', 16 FROM (SELECT 1) unnamed_subquery  WHERE " IS("a "));
    struct dsql_sql_script *script = script_of(text.ptr);
    assert_null(script->refusal);
    assert_string_equal(script->text.ptr, edited.ptr);
    dsql_sql_script_unref(script);
    dsql_strbuf_add_str(&text, " SELEC");
    script = script_of(text.ptr);
    assert_non_null(script->refusal);
    assert_int_equal(script->refusal->position, (int)text.len - 5); /* é is two bytes */
    dsql_sql_script_unref(script);
    dsql_strbuf_fini(&text);
    dsql_strbuf_fini(&edited);
}

/* More than are looked for: the parser has the last word. */
TEST(there_are_limits)
{
    struct dsql_strbuf text;
    dsql_strbuf_init_heap(&text, 1 << 20);
    dsql_strbuf_add_str(&text, "SELECT * FROM (SELECT 1)");
    for (int i = 0; i < DSQL_SQL_ALIASES_MAX - 1; i++)
        dsql_strbuf_add_str(&text, ", (SELECT 1)");
    struct dsql_sql_script *script = script_of(text.ptr);
    assert_null(script->refusal);
    assert_int_equal(script->count, 1);
    dsql_sql_script_unref(script);
    dsql_strbuf_add_str(&text, ", (SELECT 1)");
    script = script_of(text.ptr);
    assert_string_equal(script->refusal->message, "subquery in FROM must have an alias");
    assert_int_equal(script->refusal->position, (int)text.len - 9);
    dsql_sql_script_unref(script);
    dsql_strbuf_clear(&text);
    dsql_strbuf_add_str(&text, "SELECT a");
    for (int i = 0; i <= DSQL_SQL_IS_JSON_MAX; i++)
        dsql_strbuf_add_str(&text, " IS JSON, a");
    script = script_of(text.ptr);
    assert_string_equal(script->refusal->message, "syntax error at or near \"JSON\"");
    dsql_sql_script_unref(script);
    dsql_strbuf_fini(&text);
}

TEST(edits_keep_their_order)
{
    struct dsql_sql_edits edits = {.list = NULL};
    const struct dsql_sql_edit *inside;
    size_t len;
    assert_int_equal(dsql_sql_edits_add(&edits, 4, 2, "EEE"), DSQL_OK);
    assert_int_equal(dsql_sql_edits_add(&edits, 4, 0, "<"), DSQL_OK); /* in front of it */
    assert_int_equal(dsql_sql_edits_add(&edits, 1, 1, ""), DSQL_OK);
    assert_int_equal(dsql_sql_edits_add(&edits, 5, 0, "x"), DSQL_INVALID);
    assert_int_equal(dsql_sql_edits_add(&edits, 3, 2, "x"), DSQL_INVALID);
    assert_int_equal(dsql_sql_edits_add(&edits, 4, 1, "x"), DSQL_INVALID);
    assert_int_equal(dsql_sql_edits_add(&edits, 6, 0, ">"), DSQL_OK);
    char *made = dsql_sql_edits_apply(&edits, DSQL_SPAN("abcdefgh"), &len);
    assert_string_equal(made, "acd<EEE>gh");
    assert_int_equal(len, 10);
    static const size_t places[] = {0, 2, 3, 4, 4, 4, 4, 6, 6, 7, 8};
    for (size_t i = 0; i < DSQL_COUNT_OF(places); i++)
        assert_int_equal(dsql_sql_edits_place(&edits, i, &inside), places[i]);
    assert_int_equal(dsql_sql_edits_place(&edits, 4, &inside), 4);
    assert_string_equal(inside->put, "EEE");
    assert_string_equal(dsql_sql_edits_find(&edits, 4)->put, "EEE");
    assert_null(dsql_sql_edits_find(&edits, 6)); /* takes nothing out */
    free(made);
    dsql_sql_edits_fini(&edits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_in_decimal),
        cmocka_unit_test(long_numbers),
        cmocka_unit_test(texts_are_edited),
        cmocka_unit_test(errors_are_where_the_client_wrote_them),
        cmocka_unit_test(positions_lead_back),
        cmocka_unit_test(long_texts_are_edited),
        cmocka_unit_test(there_are_limits),
        cmocka_unit_test(edits_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
