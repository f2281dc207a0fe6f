/* The rules of `dsql local`, statement by statement: the tables are in sql_cases.def. */
#include "local/rules/sql_set.h"
#include "local/rules/sql_stmt.h"
#include "local/rules/sql_type.h"
#include "support/test.h"

static const struct {
    int line;
    const char *text;
    enum dsql_sql_kind kind;
    const char *sqlstate, *message; /* NULL: passes */
} cases[] = {
#define PASSES(kind, text)               {__LINE__, text, DSQL_SQL_##kind, NULL, NULL},
#define REFUSED(sqlstate, message, text) {__LINE__, text, DSQL_SQL_OTHER, sqlstate, message},
#include "unit/sql_cases.def"
#undef PASSES
#undef REFUSED
};

static struct dsql_sql_script *read_script(const char *text)
{
    struct dsql_sql_script *script;
    assert_int_equal(dsql_sql_script_new(dsql_span_of(text), &script), DSQL_OK);
    return script;
}

TEST(statements_are_judged)
{
    static const struct dsql_sql_session outside = {.in_block = false, .sync_index = false};
    size_t failed = 0;
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_sql_script *script = read_script(cases[i].text);
        const struct dsql_sql_refusal *why = script->refusal;
        if (script->count == 1)
            why = dsql_sql_stmt_refusal(&script->stmts[0], &outside);
        bool ok = script->count == 1 || (script->count == 0 && why);
        if (cases[i].message)
            ok = ok && why && strcmp(why->sqlstate, cases[i].sqlstate) == 0 &&
                 strcmp(why->message, cases[i].message) == 0;
        else
            ok = ok && !why && script->stmts[0].kind == cases[i].kind;
        if (!ok)
            print_error("sql_cases.def:%d: %s\n    count %zu, kind %s, %s %s\n", cases[i].line,
                        cases[i].text, script->count,
                        script->count ? dsql_sql_kind_name(script->stmts[0].kind) : "-",
                        why ? why->sqlstate : "passes", why ? why->message : "");
        failed += !ok;
        dsql_sql_script_unref(script);
    }
    assert_int_equal(failed, 0);
    assert_true(DSQL_COUNT_OF(cases) >= 200);
}

/* What a CREATE TABLE of n columns is told. */
static void check_columns(size_t n, const char *tail, const char *sqlstate, const char *message)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init_heap(&sb, 1 << 20);
    dsql_strbuf_add_str(&sb, "CREATE TABLE t (");
    for (size_t i = 0; i < n; i++)
        dsql_strbuf_addf(&sb, "%sc%zu int", i ? ", " : "", i);
    dsql_strbuf_addf(&sb, "%s)", tail);
    struct dsql_sql_script *script = read_script(sb.ptr);
    assert_int_equal(script->count, 1);
    const struct dsql_sql_refusal *why = script->stmts[0].refusals[0];
    if (message) {
        assert_non_null(why);
        assert_string_equal(why->message, message);
        assert_string_equal(why->sqlstate, sqlstate);
    } else {
        assert_null(why);
    }
    dsql_sql_script_unref(script);
    dsql_strbuf_fini(&sb);
}

TEST(tables_have_at_most_so_many_columns)
{
    check_columns(256, "", NULL, NULL);
    check_columns(257, "", "54011", "tables can have at most 255 columns");
    check_columns(256, ", PRIMARY KEY (c0)", NULL, NULL);
    check_columns(257, ", PRIMARY KEY (c0)", "54011",
                  "cannot use more than 256 columns in an index");
    check_columns(256, " PRIMARY KEY", NULL, NULL);
    check_columns(257, " PRIMARY KEY", "54011", "cannot use more than 256 columns in an index");
}

TEST(tables_have_at_most_so_many_indexes)
{
    STRBUF(tail, 1024);
    for (size_t i = 0; i < 23; i++)
        dsql_strbuf_addf(&tail, ", UNIQUE (c%zu)", i);
    dsql_strbuf_add_str(&tail, ", PRIMARY KEY (c0)");
    check_columns(30, tail.ptr, NULL, NULL);
    dsql_strbuf_add_str(&tail, ", UNIQUE (c24, c25)");
    check_columns(30, tail.ptr, "54000", "more than 24 indexes per table are not allowed");
}

TEST(flags_tell_what_the_front_must_do)
{
    static const struct {
        const char *text;
        unsigned flags;
    } rows[] = {
        {"SELECT 1", 0},
        {"SELECT 1 FROM t FOR UPDATE", DSQL_SQL_FOR_UPDATE},
        {"SELECT 1 FROM t FOR KEY SHARE OF t FOR UPDATE",
         DSQL_SQL_FOR_UPDATE | DSQL_SQL_FOR_KEY_SHARE},
        {"INSERT INTO t VALUES (1)", DSQL_SQL_WRITES},
        {"WITH x AS (UPDATE t SET a = 1 RETURNING *) TABLE x", DSQL_SQL_WRITES},
        {"COPY t FROM STDIN", DSQL_SQL_WRITES},
        {"COPY (DELETE FROM t RETURNING *) TO STDOUT", DSQL_SQL_WRITES},
        {"EXPLAIN DELETE FROM t", 0},
        {"EXPLAIN (ANALYZE) DELETE FROM t", DSQL_SQL_WRITES | DSQL_SQL_EXPLAIN_RUNS},
        {"EXPLAIN (ANALYZE 0) DELETE FROM t", 0},
        {"EXPLAIN (ANALYZE on) DELETE FROM t", DSQL_SQL_WRITES | DSQL_SQL_EXPLAIN_RUNS},
        {"EXPLAIN ANALYZE EXECUTE p", DSQL_SQL_EXPLAIN_RUNS},
        {"PREPARE p AS DELETE FROM t", DSQL_SQL_INNER_WRITES},
        {"PREPARE p AS SELECT 1", 0},
        {"BEGIN READ ONLY", DSQL_SQL_READ_ONLY},
        {"BEGIN READ WRITE", 0},
        {"CREATE TABLE t (a int)", DSQL_SQL_IS_DDL},
        {"GRANT a TO b", DSQL_SQL_IS_DDL},
        {"CREATE INDEX ASYNC i ON t (a)", DSQL_SQL_IS_DDL | DSQL_SQL_JOB},
        {"CREATE UNIQUE INDEX ASYNC i ON t (a)", DSQL_SQL_IS_DDL | DSQL_SQL_JOB | DSQL_SQL_UNIQUE},
        {"ALTER TABLE ASYNC t VALIDATE CONSTRAINT c", DSQL_SQL_IS_DDL | DSQL_SQL_JOB},
        {"AWS IAM GRANT r TO 'a'", DSQL_SQL_IS_DDL},
        {"CALL sys.wait_for_job($1)", DSQL_SQL_WAIT_FOR_JOB},
        {"CALL p()", 0},
        {"SET LOCAL search_path = x", DSQL_SQL_LOCAL},
        {"RESET ALL", DSQL_SQL_RESET},
        {"SET timezone TO DEFAULT", DSQL_SQL_RESET},
        {"SET disable_sync_create_index = off", DSQL_SQL_FRONT_SETTING},
        {"SHOW disable_sync_create_index", DSQL_SQL_FRONT_SETTING},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_sql_script *script = read_script(rows[i].text);
        assert_int_equal(script->count, 1);
        if (script->stmts[0].flags != rows[i].flags)
            fail_msg("%s: flags %x, not %x", rows[i].text, script->stmts[0].flags, rows[i].flags);
        dsql_sql_script_unref(script);
    }
}

TEST(names_and_values_are_kept)
{
    static const struct {
        const char *text, *name, *value;
    } rows[] = {
        {"SET application_name = 'a \"b\" <c>'", "application_name", "a \"b\" <c>"},
        {"SET extra_float_digits = 3", "extra_float_digits", "3"},
        {"SET disable_sync_create_index TO off", "disable_sync_create_index", "off"},
        {"RESET ALL", NULL, NULL},
        {"SHOW Server_Version", "server_version", NULL},
        {"PREPARE \"P 1\" AS SELECT 1", "P 1", NULL},
        {"EXECUTE p(1)", "p", NULL},
        {"EXPLAIN ANALYZE EXECUTE p", "p", NULL},
        {"DEALLOCATE ALL", NULL, NULL},
        {"CALL sys.wait_for_job('qfzv5uemkrg2lbczil2fim3o2q')", "wait_for_job",
         "qfzv5uemkrg2lbczil2fim3o2q"},
        {"AWS IAM GRANT App TO 'arn:x''y'", "app", "arn:x'y"},
        {"AWS IAM REVOKE \"A\"\"b\" FROM 'arn'", "A\"b", "arn"},
        {"CREATE INDEX ASYNC idx ON t (a)", "idx", NULL},
        {"CREATE INDEX ASYNC ON t (a)", NULL, NULL},
        {"ALTER TABLE ASYNC t VALIDATE CONSTRAINT con", "con", NULL},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_sql_script *script = read_script(rows[i].text);
        assert_int_equal(script->count, 1);
        const struct dsql_sql_stmt *stmt = &script->stmts[0];
        if (rows[i].name)
            assert_string_equal(stmt->name, rows[i].name);
        else
            assert_null(stmt->name);
        if (rows[i].value)
            assert_string_equal(stmt->value, rows[i].value);
        else
            assert_null(stmt->value);
        dsql_sql_script_unref(script);
    }
}

/* In a query string that is not shortened before it is parsed. */
TEST(long_values_are_kept_whole)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init_heap(&sb, 1 << 20);
    dsql_strbuf_add_str(&sb, "SET application_name = '");
    for (int i = 0; i < 7000; i++)
        dsql_strbuf_add_char(&sb, '<'); /* six characters in JSON */
    dsql_strbuf_add_char(&sb, '\'');
    struct dsql_sql_script *script = read_script(sb.ptr);
    assert_int_equal(strlen(script->stmts[0].value), 7000);
    dsql_sql_script_unref(script);
    dsql_strbuf_fini(&sb);
}

TEST(tables_are_named)
{
    static const struct {
        const char *text, *tables; /* schema.name, in order */
    } rows[] = {
        {"SELECT 1", ""},
        {"SELECT * FROM a JOIN s.b USING (id), a AS again", ".a s.b"},
        {"CREATE TABLE s.t (a int REFERENCES p)", "s.t .p"},
        {"ALTER TABLE \"T\" DROP COLUMN a", ".T"},
        {"DROP TABLE a, s.b", ".a s.b"},
        {"DROP FUNCTION f", ""},
        {"CREATE INDEX ASYNC i ON s.t (a)", "s.t"},
        {"INSERT INTO t SELECT * FROM u", ".t .u"},
        {"GRANT SELECT ON a, b TO c", ".a .b"},
        {"CREATE SCHEMA s CREATE TABLE t (a int)", ".t"},
        {"COPY s.t FROM STDIN", "s.t"},
        {"SELECT '\"{[', '\\' FROM t", ".t"}, /* what JSON must escape */
        {"SELECT '\"relname\":\"x\"' FROM t", ".t"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_sql_script *script = read_script(rows[i].text);
        STRBUF(sb, 256);
        for (size_t j = 0; j < script->stmts[0].table_count; j++)
            dsql_strbuf_addf(&sb, "%s%s.%s", j ? " " : "", script->stmts[0].tables[j].schema,
                             script->stmts[0].tables[j].name);
        assert_string_equal(sb.ptr, rows[i].tables);
        dsql_sql_script_unref(script);
    }
}

TEST(a_parse_message_holds_one_statement)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", NULL},
        {"SELECT 1;", NULL},
        {"SELECT 1; SELECT 2", "cannot insert multiple commands into a prepared statement"},
        {"SELEC", "syntax error at or near \"SELEC\""},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_sql_script *script = read_script(rows[i].text);
        const struct dsql_sql_refusal *why = dsql_sql_script_parse_refusal(script);
        if (rows[i].message) {
            assert_non_null(why);
            assert_string_equal(why->sqlstate, "42601");
            assert_string_equal(why->message, rows[i].message);
        } else {
            assert_null(why);
        }
        dsql_sql_script_unref(script);
    }
}

TEST(startup_parameters_are_checked)
{
    static const struct {
        const char *name;
        bool accepted;
    } rows[] = {
        {"application_name", true},   {"TimeZone", true},        {"DateStyle", true},
        {"client_encoding", true},    {"search_path", true},     {"extra_float_digits", true},
        {"statement_timeout", false}, {"role", false},           {"client_min_messages", false},
        {"lock_timeout", false},      {"enable_nestloop", true}, {"", false},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_sql_refusal why;
        bool ok = dsql_sql_setting_check_startup(dsql_span_of(rows[i].name), &why);
        assert_int_equal(ok, rows[i].accepted);
        if (!ok) {
            STRBUF(message, 128);
            dsql_strbuf_addf(&message, "setting configuration parameter \"%s\" not supported",
                             rows[i].name);
            assert_string_equal(why.message, message.ptr);
            assert_string_equal(why.sqlstate, "0A000");
        }
    }
}

TEST(key_types_are_known_by_name)
{
    struct dsql_sql_refusal why;
    assert_true(dsql_sql_type_check_key_name(DSQL_SPAN("int4"), &why));
    assert_true(dsql_sql_type_check_key_name(DSQL_SPAN("my_domain"), &why));
    assert_false(dsql_sql_type_check_key_name(DSQL_SPAN("bytea"), &why));
    assert_string_equal(why.message, "datatype bytea is not supported in a key");
    assert_false(dsql_sql_type_check_key_name(DSQL_SPAN("timetz"), &why));
    assert_string_equal(why.message, "datatype time with time zone is not supported in a key");
}

TEST(deep_nesting_is_refused)
{
    static const struct {
        const char *head, *part, *tail;
    } rows[] = {
        {"SELECT ", "1+", "1"},
        {"SELECT ", "(", "1"},
        {"SELECT 1", "::int", ""},
        {"SELECT 1", " UNION SELECT 1, 2", ""},
        {"SELECT 1 FROM a", " JOIN b ON x AND y", ""},
        {"SELECT f(1, ", "f(1, 2) + ", "1)"},
        {"SELECT a", " COLLATE \"C\"", ""},
        {"SELECT ", "f(1)+", "1"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_strbuf sb;
        dsql_strbuf_init_heap(&sb, 16 << 20);
        dsql_strbuf_add_str(&sb, rows[i].head);
        for (size_t n = 0; n < 200000; n++)
            dsql_strbuf_add_str(&sb, rows[i].part);
        dsql_strbuf_add_str(&sb, rows[i].tail);
        struct dsql_sql_script *script = read_script(sb.ptr);
        assert_non_null(script->refusal);
        assert_string_equal(script->refusal->sqlstate, "54001");
        assert_string_equal(script->refusal->message, "stack depth limit exceeded");
        dsql_sql_script_unref(script);
        dsql_strbuf_fini(&sb);
    }
}

/* Long is not deep. */
TEST(long_statements_pass)
{
    static const struct {
        const char *head, *part, *tail;
    } rows[] = {
        {"INSERT INTO t VALUES (1, 'a' || 'b')", ", (2, $1 + 1)", ""},
        {"SELECT * FROM t WHERE x = 0", " OR x = 1", ""},
        {"SELECT CASE x", " WHEN a = 1 THEN b + 2", " END"},
        {"SELECT 1 + 1", "; SELECT 1 + 1", ""},
        {"SELECT * FROM t WHERE x IN (0", ", 1 + 2", ")"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_strbuf sb;
        dsql_strbuf_init_heap(&sb, 16 << 20);
        dsql_strbuf_add_str(&sb, rows[i].head);
        for (size_t n = 0; n < 6000; n++)
            dsql_strbuf_add_str(&sb, rows[i].part);
        dsql_strbuf_add_str(&sb, rows[i].tail);
        struct dsql_sql_script *script = read_script(sb.ptr);
        assert_null(script->refusal);
        dsql_sql_script_unref(script);
        dsql_strbuf_fini(&sb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_judged),
        cmocka_unit_test(tables_have_at_most_so_many_columns),
        cmocka_unit_test(tables_have_at_most_so_many_indexes),
        cmocka_unit_test(flags_tell_what_the_front_must_do),
        cmocka_unit_test(names_and_values_are_kept),
        cmocka_unit_test(long_values_are_kept_whole),
        cmocka_unit_test(tables_are_named),
        cmocka_unit_test(a_parse_message_holds_one_statement),
        cmocka_unit_test(startup_parameters_are_checked),
        cmocka_unit_test(key_types_are_known_by_name),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(long_statements_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
