/* The scanner: tokens, statements and what it blanks out. */
#include "local/rules/sql_lex.h"
#include "local/rules/sql_scan.h"
#include "local/rules/sql_stmt.h"
#include "support/test.h"

/* Tokens, as letters: W word, Q quoted name, S string, N number, P parameter, O operator, B broken;
 * other characters stand for themselves. */
static void tokens_of(const char *text, struct dsql_strbuf *out)
{
    static const char letters[] = {
        [DSQL_SQL_TOKEN_WORD] = 'W',   [DSQL_SQL_TOKEN_QUOTED] = 'Q', [DSQL_SQL_TOKEN_STRING] = 'S',
        [DSQL_SQL_TOKEN_NUMBER] = 'N', [DSQL_SQL_TOKEN_PARAM] = 'P',  [DSQL_SQL_TOKEN_OP] = 'O',
        [DSQL_SQL_TOKEN_BROKEN] = 'B',
    };
    struct dsql_sql_lexer lexer = {dsql_span_of(text), 0};
    for (;;) {
        struct dsql_sql_token token = dsql_sql_lex(&lexer);
        if (token.kind == DSQL_SQL_TOKEN_END)
            break;
        bool punct = token.kind == DSQL_SQL_TOKEN_PUNCT;
        dsql_strbuf_add_char(out, punct ? token.text.ptr[0] : letters[token.kind]);
    }
    assert_int_equal(lexer.at, strlen(text));
}

TEST(tokens)
{
    static const struct {
        const char *text, *tokens;
    } rows[] = {
        {"", ""},
        {"  -- only a comment", ""},
        {"/* nested /* comment */ ; */", ""},
        {"/* open /* */", "B"},
        {"select 1;", "WN;"},
        {"a.b, c", "W.W,W"},
        {"'a;b'", "S"},
        {"'it''s'", "S"},
        {"'open", "B"},
        {"'back\\';", "S;"}, /* a backslash is a character like any other */
        {"E'back\\';'", "S"},
        {"e'\\\\';", "S;"},
        {"E'a'\n'b\\';'", "S"}, /* goes on in the next line, still with escapes */
        {"E'a' -- c\n '\\';'", "S"},
        {"E'a' 'b\\';", "SS;"}, /* no line end between: not a continuation */
        {"'a'\n'b'", "S"},
        {"B'01' X'ff' N'n' U&'\\0441'", "SSSS"},
        {"U&\"d\\0061t\" \"a\"\"b;\"", "QQ"},
        {"u & v", "WOW"},
        {"\"open", "B"},
        {"$$a;b$$", "S"},
        {"$tag$ $$ ; $tag2$ $tag$;", "S;"},
        {"$tag$ open", "B"},
        {"$1 + $23", "POP"},
        {"a$b$c", "W"}, /* a dollar inside a name begins nothing */
        {"1$a$;$a$", "NS"},
        {"$ 1", "$N"},
        {"1.5e3 .5 1..2", "N.NN"},
        {"a::int", "WOW"},
        {"a -- c ;\n; b", "W;W"},
        {"a +-- c\n b", "WOW"},
        {"a */* c */ b", "WOW"},
        {"a->>'b' #> c", "WOSOW"},
        {"f(a[1])", "W(W[N])"},
        {"\xc3\xa9t\xc3\xa9 = 1", "WON"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        STRBUF(seen, 64);
        tokens_of(rows[i].text, &seen);
        if (strcmp(seen.ptr, rows[i].tokens) != 0)
            fail_msg("%s: %s, not %s", rows[i].text, seen.ptr, rows[i].tokens);
    }
}

TEST(words_are_blanked_out)
{
    static const struct {
        const char *text, *changed; /* NULL: as it was */
    } rows[] = {
        {"CREATE INDEX ASYNC i ON t (a)", "CREATE INDEX       i ON t (a)"},
        {"create unique index /* c */ async on t (a)",
         "create unique index /* c */       on t (a)"},
        {"CREATE INDEX \"async\" ON t (a)", NULL},
        {"CREATE TABLE async (a int)", NULL},
        {"SELECT 'CREATE INDEX ASYNC i'; SELECT 1", NULL},
        {"SELECT 1; CREATE INDEX ASYNC i ON t (a)", "SELECT 1; CREATE INDEX       i ON t (a)"},
        {"ALTER TABLE ASYNC t VALIDATE CONSTRAINT c", "ALTER TABLE       t VALIDATE CONSTRAINT c"},
        {"ALTER TABLE ASYNC validate VALIDATE CONSTRAINT c",
         "ALTER TABLE       validate VALIDATE CONSTRAINT c"},
        {"ALTER TABLE async VALIDATE CONSTRAINT c", NULL},
        {"ALTER TABLE async ADD COLUMN b int", NULL},
        {"AWS IAM GRANT r TO 'a'; SELECT 1", "                      ; SELECT 1"},
        {"AWS IAM GRANT r TO 'a' 'b'", NULL},
        {"AWS IAM GRANT r TO E'a'", NULL},
        {"AWS IAM GRANT U&\"r\" TO 'a'", NULL},
        {"AWS IAM GRANT", NULL},
        {"CREATE TABLE t (a text STORAGE MAIN, b int)",
         "CREATE TABLE t (a text             , b int)"},
        {"CREATE TABLE t (a text STORAGE external NOT NULL)",
         "CREATE TABLE t (a text                  NOT NULL)"},
        {"CREATE TABLE t (storage main, b int)", NULL},
        {"CREATE TABLE t (a int, storage main)", NULL},
        {"CREATE TABLE t (a int CHECK (a storage main))", NULL},
        {"CREATE TABLE t (LIKE u INCLUDING STORAGE)", NULL},
        {"ALTER TABLE t ADD COLUMN d text STORAGE PLAIN",
         "ALTER TABLE t ADD COLUMN d text              "},
        {"ALTER TABLE t ALTER COLUMN d SET STORAGE PLAIN", NULL},
        {"ALTER TABLE t ALTER d SET STORAGE DEFAULT", "ALTER TABLE t ALTER d SET STORAGE dsqldef"},
        {"ALTER TABLE t ADD COLUMN storage main", NULL},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_sql_scan scan;
        assert_int_equal(dsql_sql_scan(dsql_span_of(rows[i].text), &scan), DSQL_OK);
        if (rows[i].changed && !scan.text)
            fail_msg("%s: unchanged", rows[i].text);
        if (rows[i].changed)
            assert_string_equal(scan.text, rows[i].changed);
        else
            assert_null(scan.text);
        dsql_sql_scan_fini(&scan);
    }
}

/* Statements, in the order of the text, each with its exact extent. */
TEST(scripts_are_split)
{
    static const struct {
        const char *text;
        const char *stmts[4];
    } rows[] = {
        {"", {NULL}},
        {" ; ;; -- nothing\n", {NULL}},
        {"SELECT 1", {"SELECT 1"}},
        {"SELECT 1;", {"SELECT 1"}},
        {" SELECT 1 ; /* c */ SELECT 2 -- tail", {"SELECT 1 ", "SELECT 2 -- tail"}},
        {"SELECT ';'; SELECT $$;$$; SELECT \";\" FROM t",
         {"SELECT ';'", "SELECT $$;$$", "SELECT \";\" FROM t"}},
        {"SELECT E'\\';'; SELECT 2", {"SELECT E'\\';'", "SELECT 2"}},
        {"CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; "
         "SELECT 2; END; SELECT 3",
         {"CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT CASE WHEN true THEN 1 "
          "END; SELECT 2; END",
          "SELECT 3"}},
        {"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1 AS end, t.case FROM t; SELECT 2; END; "
         "AWS IAM GRANT r TO 'a'",
         {"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1 AS end, t.case FROM t; SELECT 2; END",
          "                      "}},
        {"CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); SELECT 3",
         {"CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)", "SELECT 3"}},
        {"BEGIN; CREATE INDEX ASYNC i ON t (a); COMMIT",
         {"BEGIN", "CREATE INDEX       i ON t (a)", "COMMIT"}},
        {"SELECT 1; AWS IAM GRANT r TO 'a'; SELECT 2;AWS IAM REVOKE r FROM 'a'",
         {"SELECT 1", "                      ", "SELECT 2", "                         "}},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_sql_script *script;
        struct dsql_sql_scan scan;
        assert_int_equal(dsql_sql_script_new(dsql_span_of(rows[i].text), &script), DSQL_OK);
        assert_int_equal(dsql_sql_scan(dsql_span_of(rows[i].text), &scan), DSQL_OK);
        assert_int_equal(scan.statements, script->count); /* scanner and parser agree */
        dsql_sql_scan_fini(&scan);
        size_t n = 0;
        for (; n < 4 && rows[i].stmts[n]; n++) {
            assert_true(n < script->count);
            struct dsql_span seen = dsql_sql_stmt_text(script, &script->stmts[n]);
            if (!dsql_span_eq(seen, dsql_span_of(rows[i].stmts[n])))
                fail_msg("%s: statement %zu is %.*s", rows[i].text, n, DSQL_SPAN_ARG(seen));
        }
        assert_int_equal(script->count, n);
        assert_null(script->refusal);
        dsql_sql_script_unref(script);
    }
}

/* Marks belong to the statement they stand in. */
TEST(marks_stay_with_their_statement)
{
    struct dsql_sql_script *script;
    assert_int_equal(dsql_sql_script_new(DSQL_SPAN("CREATE INDEX ASYNC a ON t (a); "
                                                   "CREATE INDEX b ON t (a); "
                                                   "AWS IAM GRANT r TO 'x'; "
                                                   "CREATE INDEX ASYNC c ON t USING btree (a)"),
                                         &script),
                     DSQL_OK);
    assert_int_equal(script->count, 4);
    assert_null(script->stmts[0].refusals[0]);
    assert_string_equal(script->stmts[1].refusals[0]->message,
                        "unsupported mode. please use CREATE INDEX ASYNC.");
    assert_int_equal(script->stmts[2].kind, DSQL_SQL_IAM_GRANT);
    assert_string_equal(script->stmts[3].refusals[0]->message,
                        "USING not supported for CREATE INDEX");
    dsql_sql_script_unref(script);
}

/* The position counts characters of the text as it was sent. */
TEST(error_positions_survive_blanking)
{
    static const struct {
        const char *text;
        int position;
    } rows[] = {
        {"SELEC 1", 1},
        {"SELECT 1; SELEC 2", 11},
        {"CREATE INDEX ASYNC i ON t (a); SELEC 2", 32},
        {"SELECT '\xc3\xa9\xc3\xa9'; SELEC 2", 14},
        {"AWS IAM GRANT r TO 'a'; SELEC", 25},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_sql_script *script;
        assert_int_equal(dsql_sql_script_new(dsql_span_of(rows[i].text), &script), DSQL_OK);
        assert_non_null(script->refusal);
        assert_int_equal(script->count, 0);
        assert_string_equal(script->refusal->message, "syntax error at or near \"SELEC\"");
        assert_int_equal(script->refusal->position, rows[i].position);
        dsql_sql_script_unref(script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),
        cmocka_unit_test(words_are_blanked_out),
        cmocka_unit_test(scripts_are_split),
        cmocka_unit_test(marks_stay_with_their_statement),
        cmocka_unit_test(error_positions_survive_blanking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
