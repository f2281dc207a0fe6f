#include "local/rules/sql_shorten.h"

#include "local/rules/sql_stmt.h"
#include "support/test.h"

/* A text with %s where `fill` bytes of x go; the caller frees it. */
static char *filled(const char *format, size_t fill)
{
    size_t len = strlen(format);
    char *text = malloc(len + 20 * fill + 1), *at = text;
    assert_non_null(text);
    for (const char *c = format; *c; c++) {
        if (*c == '@') {
            memset(at, 'x', fill);
            at += fill;
        } else {
            *at++ = *c;
        }
    }
    *at = '\0';
    return text;
}

TEST(long_literals_are_emptied)
{
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"insert into t values ('@', 1), ('a', '@')", "insert into t values ('', 1), ('a', '')"},
        {"select E'@\\'', U&'@', $$@$$, $a$@$$$a$, 'it''s @'",
         "select E'', U&'', $$$$, $a$$a$, ''"},
        {"select '@'\n   '@' as \"y\"", "select '' as \"y\""},
        {"select 1; select '@'; select 2", "select 1; select ''; select 2"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        char *text = filled(rows[i].text, DSQL_SQL_SHORTEN_FROM);
        struct dsql_sql_short made;
        assert_int_equal(dsql_sql_shorten(dsql_span_of(text), &made), DSQL_OK);
        assert_non_null(made.text);
        assert_string_equal(made.text, rows[i].wanted);
        assert_int_equal(made.len, strlen(rows[i].wanted));
        dsql_sql_short_fini(&made);
        free(text);
    }
}

TEST(what_is_short_or_broken_stays)
{
    static const char *const rows[] = {"select 'short', 1 + 1 --@", "select \"@\"", "select '@"};
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        char *text = filled(rows[i], DSQL_SQL_SHORTEN_FROM);
        struct dsql_sql_short made;
        assert_int_equal(dsql_sql_shorten(dsql_span_of(text), &made), DSQL_OK);
        assert_null(made.text);
        assert_int_equal(dsql_sql_short_place(&made, 7), 7);
        dsql_sql_short_fini(&made);
        free(text);
    }
    struct dsql_sql_short made;
    char *text = filled("select '@'", 1000); /* the whole is short */
    assert_int_equal(dsql_sql_shorten(dsql_span_of(text), &made), DSQL_OK);
    assert_null(made.text);
    free(text);
}

/* Each place of the short text that is no inside of a literal holds the same character. */
TEST(places_are_found_again)
{
    char *text = filled("select '@', 2; insert into t values ($q$@$q$, '@'); select E'@', 'end'",
                        DSQL_SQL_SHORTEN_FROM);
    struct dsql_sql_short made;
    assert_int_equal(dsql_sql_shorten(dsql_span_of(text), &made), DSQL_OK);
    assert_int_equal(made.count, 4);
    for (size_t i = 0; i < made.len; i++) {
        bool opening = i + 1 < made.len && (made.text[i] == '\'' || made.text[i] == '$');
        size_t place = dsql_sql_short_place(&made, i);
        assert_true(place < strlen(text));
        if (!opening)
            assert_int_equal(text[place], made.text[i]);
    }
    assert_int_equal(dsql_sql_short_place(&made, made.len), strlen(text));
    dsql_sql_short_fini(&made);
    free(text);
}

/* The statements of a script are where they are in what was sent. */
TEST(statements_are_found_in_the_long_text)
{
    char *text = filled(" insert into t values ('@') ;aws iam grant r to 'arn'; select '@', 3;"
                        " create index async i on t (v) ; truncate t",
                        DSQL_SQL_SHORTEN_FROM);
    static const char *const begins[] = {"insert into t", "aws iam grant r", "select 'xxx",
                                         "create index       i on", "truncate t"};
    static const char *const ends[] = {"x') ", "to 'arn'", "x', 3", "(v) ", " t"};
    struct dsql_sql_script *script;
    assert_int_equal(dsql_sql_script_new(dsql_span_of(text), &script), DSQL_OK);
    assert_int_equal(script->count, DSQL_COUNT_OF(begins));
    for (size_t i = 0; i < script->count; i++) {
        struct dsql_span stmt = dsql_sql_stmt_text(script, &script->stmts[i]);
        struct dsql_span sent = {text + script->stmts[i].offset, script->stmts[i].len};
        if (i == 1) /* blanked out for PostgreSQL */
            stmt = sent;
        assert_memory_equal(stmt.ptr, begins[i], strlen(begins[i]));
        assert_memory_equal(stmt.ptr + stmt.len - strlen(ends[i]), ends[i], strlen(ends[i]));
    }
    dsql_sql_script_unref(script);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_literals_are_emptied),
        cmocka_unit_test(what_is_short_or_broken_stays),
        cmocka_unit_test(places_are_found_again),
        cmocka_unit_test(statements_are_found_in_the_long_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
