/* The proxy's parts without I/O: what is outstanding, shared statements, settings, words of SQL. */
#include <stdio.h>

#include "proxy/answers.h"
#include "proxy/proxy.h"
#include "proxy/settings.h"
#include "proxy/sql_names.h"
#include "proxy/sql_words.h"
#include "support/test.h"

static struct dsql_statement *statement(struct dsql_statements *all, const char *text)
{
    const struct dsql_pg_parse parse = {.query = dsql_span_of(text)};
    struct dsql_statement *made = dsql_statement_get(all, &parse);
    assert_non_null(made);
    return made;
}

TEST(equal_statements_are_one)
{
    static struct dsql_statements all;
    const struct dsql_pg_parse typed = {.query = DSQL_SPAN("select $1"),
                                        .types = {1, {"\0\0\0\x17", 4}}};
    struct dsql_statement *a = statement(&all, "select $1"), *b = statement(&all, "select $1");
    struct dsql_statement *c = dsql_statement_get(&all, &typed);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_string_not_equal(a->server_name, c->server_name);
    assert_int_equal(all.count, 2);
    dsql_statement_unref(a);
    dsql_statement_unref(b);
    dsql_statement_unref(c);
    assert_int_equal(all.count, 0);
}

TEST(what_was_used_least_recently_gives_way)
{
    static struct dsql_statements all;
    static struct dsql_statement_cache cache;
    struct dsql_statement *first = statement(&all, "select 0");
    assert_null(dsql_cache_add(&cache, first, 1));
    for (int i = 1; i < DSQL_CACHE_STATEMENTS; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "select %d", i);
        struct dsql_statement *s = statement(&all, text);
        assert_null(dsql_cache_add(&cache, s, 1));
        dsql_statement_unref(s);
    }
    assert_int_equal(dsql_cache_use(&cache, first)->context, 1);
    struct dsql_statement *last = statement(&all, "select 'last'");
    struct dsql_statement *gone = dsql_cache_add(&cache, last, 1);
    assert_non_null(gone);
    assert_memory_equal(gone->bytes, "select 1", 8);
    assert_int_equal(cache.count, DSQL_CACHE_STATEMENTS);
    dsql_statement_unref(gone);
    dsql_statement_unref(last);
    dsql_statement_unref(first);
    dsql_cache_clear(&cache);
    assert_int_equal(all.count, 0);
}

static void push(struct dsql_answers *answers, enum dsql_answer_kind kind)
{
    assert_true(dsql_answers_push(answers, (struct dsql_answer){.kind = kind}));
}

TEST(an_error_drops_what_is_before_its_sync)
{
    struct dsql_answers answers = {0};
    bool skips;
    push(&answers, DSQL_ANSWER_PARSE);
    push(&answers, DSQL_ANSWER_BIND);
    assert_int_equal(dsql_answers_dropped(&answers, &skips), 2);
    assert_true(skips);                /* no Sync yet */
    push(&answers, DSQL_ANSWER_QUERY); /* is skipped too */
    push(&answers, DSQL_ANSWER_SYNC);
    push(&answers, DSQL_ANSWER_PARSE);
    assert_int_equal(dsql_answers_dropped(&answers, &skips), 3);
    assert_false(skips);
    dsql_answers_fini(&answers);
    push(&answers, DSQL_ANSWER_QUERY);
    assert_int_equal(dsql_answers_dropped(&answers, &skips), 0);
    dsql_answers_fini(&answers);
}

TEST(syncs_inside_the_data_of_a_copy_are_not_answered)
{
    struct dsql_answers answers = {0};
    push(&answers, DSQL_ANSWER_EXECUTE);
    push(&answers, DSQL_ANSWER_SYNC);
    dsql_answers_copy_in(&answers);
    assert_int_equal(answers.count, 1);
    assert_true(answers.copying);
    dsql_answers_fini(&answers);
    push(&answers, DSQL_ANSWER_EXECUTE);
    push(&answers, DSQL_ANSWER_SYNC);
    push(&answers, DSQL_ANSWER_COPY_END);
    push(&answers, DSQL_ANSWER_SYNC);
    dsql_answers_copy_in(&answers);
    assert_int_equal(answers.count, 3);
    assert_false(answers.copying); /* its end is under way */
    assert_int_equal(dsql_answers_at(&answers, 2)->kind, DSQL_ANSWER_SYNC);
    dsql_answers_fini(&answers);
    push(&answers, DSQL_ANSWER_QUERY);
    push(&answers, DSQL_ANSWER_PARSE); /* no data: it ends COPY, and is not answered */
    dsql_answers_copy_in(&answers);
    assert_false(answers.copying);
    assert_int_equal(dsql_answers_at(&answers, 1)->kind, DSQL_ANSWER_COPY_END);
    dsql_answers_fini(&answers);
}

/* A change is uncertain for the segments behind it until it is answered, not for its own. */
TEST(changes_of_earlier_segments_are_uncertain)
{
    static struct dsql_statements all;
    struct dsql_answers answers = {0};
    struct dsql_answer parse = {.kind = DSQL_ANSWER_PARSE,
                                .statement = statement(&all, "select 1")};
    assert_true(dsql_answers_push(&answers, parse));
    assert_false(dsql_answers_are_uncertain(&answers));
    push(&answers, DSQL_ANSWER_SYNC);
    assert_true(dsql_answers_are_uncertain(&answers));
    struct dsql_answer first = dsql_answers_pop(&answers);
    dsql_answer_release(&first);
    assert_false(dsql_answers_are_uncertain(&answers));
    for (int i = 0; i < 1000; i++)
        push(&answers, DSQL_ANSWER_EXECUTE); /* the ring grows around its end */
    assert_int_equal(dsql_answers_head(&answers)->kind, DSQL_ANSWER_SYNC);
    dsql_answers_fini(&answers);
    assert_int_equal(all.count, 0);
}

static struct dsql_settings *settings(void)
{
    STRBUF(row, 1024);
    for (size_t i = 0; i < DSQL_PARAMETERS; i++)
        dsql_strbuf_add(&row, (struct dsql_span){"\0\0\0\1x", 5});
    return dsql_settings_of_row((struct dsql_pg_values){DSQL_PARAMETERS, dsql_strbuf_span(&row)});
}

TEST(only_settings_that_differ_are_set)
{
    STRBUF(sql, 4096);
    struct dsql_settings *a = settings();
    struct dsql_settings *b = dsql_settings_with(a, 6, DSQL_SPAN("\"it's\", public"));
    assert_int_equal(dsql_parameter_find(DSQL_SPAN("Search_Path")), 6);
    dsql_settings_put_change(&sql, a, a);
    assert_int_equal(sql.len, 0);
    dsql_settings_put_change(&sql, a, b);
    assert_string_equal(sql.ptr,
                        "select pg_catalog.set_config('search_path', '\"it''s\", public', false)");
    assert_false(dsql_settings_eq(a, b));
    assert_true(dsql_settings_eq(a, a));
    dsql_settings_unref(a);
    dsql_settings_unref(b);
    assert_null(dsql_settings_of_row((struct dsql_pg_values){0}));
}

static bool resets(const char *text, size_t which, bool local)
{
    struct dsql_settings_reset reset;
    return dsql_settings_are_reset(dsql_span_of(text), &reset) && reset.which == which &&
           reset.local == local;
}

/* What the client's startup packet said is its default, not what the pool's did. */
TEST(defaults_are_the_clients)
{
    STRBUF(sql, 4096);
    size_t zone = dsql_parameter_find(DSQL_SPAN("timezone"));
    struct dsql_settings_reset reset;
    struct dsql_settings *base = settings();
    struct dsql_settings *mine = dsql_settings_with(base, zone, DSQL_SPAN("Asia/Tokyo"));
    assert_true(resets("reset all", DSQL_PARAMETERS, false));
    assert_true(resets("RESET /* a */ TimeZone ; ", zone, false));
    assert_true(resets("reset time zone", zone, false));
    assert_true(resets("set \"timezone\" to default", zone, false));
    assert_true(resets("set session timezone = default;", zone, false));
    assert_true(resets("set local timezone=default", zone, true));
    assert_true(resets("set time zone local", zone, false));
    assert_true(resets("set time zone default", zone, false));
    assert_false(dsql_settings_are_reset(DSQL_SPAN("set timezone to utc"), &reset));
    assert_false(dsql_settings_are_reset(DSQL_SPAN("reset timezone; select 1"), &reset));
    assert_false(dsql_settings_are_reset(DSQL_SPAN("reset work_mem"), &reset));
    assert_false(dsql_settings_are_reset(DSQL_SPAN("set timezone default"), &reset));

    reset = (struct dsql_settings_reset){.which = zone, .local = true};
    dsql_settings_put_reset(&sql, base, mine, reset);
    assert_string_equal(sql.ptr, "select pg_catalog.set_config('timezone', 'Asia/Tokyo', true)");
    dsql_strbuf_clear(&sql);
    dsql_settings_put_reset(&sql, base, base, reset);
    assert_int_equal(sql.len, 0);
    reset = (struct dsql_settings_reset){.which = DSQL_PARAMETERS};
    dsql_settings_put_reset(&sql, base, base, reset);
    assert_string_equal(sql.ptr, "select pg_catalog.set_config('application_name', 'x', false)");
    dsql_settings_unref(base);
    dsql_settings_unref(mine);
}

/* What a text does with names, as "use place name" for each. */
TEST(names_of_sql)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"prepare a as select 1", "P8 a;"},
        {"PREPARE \"A \"\"b\" (int) AS select $1;", "P8 A \"b;"},
        {"-- prepare x\n prepare /* prepare y */ Foo as select 1", "P38 foo;"},
        {"execute a; select 'execute b'; EXECUTE c(1)", "E8 a;E39 c;"},
        {"select $$execute a$$, $x$ ; execute b; $x$, E'\\'; execute c', \"execute d\"", ""},
        {"explain (analyze, costs off) execute a", "E37 a;"},
        {"explain analyze verbose execute a", "E32 a;"},
        {"create table t as execute a", "M26 a;"},
        {"select execute a from t", "M15 a;"},
        {"grant execute on function f() to r", ""},
        {"execute select", ""},
        {"prepare \"select\" as select 1", "P8 select;"},
        {"deallocate a", "D11 a;"},
        {"deallocate prepare a; select 1", "D19 a;"},
        {"deallocate prepare", "D11 prepare;"},
        {"deallocate prepare all", "A;"},
        {"select * from pg_catalog.PG_PREPARED_STATEMENTS", "L;"},
        {"select * from \"pg_prepared_statements\"", "L;"},
        {"execute \303\244", "E8?;"}, /* folded by the rules of a language, which are not known */
        {"execute U&\"a\"", "E8?;"},
        {"execute aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "E8?;"},
        {"select 'execute a", ""},
        {"execute", ""},
    };
    static const char uses[] = {[DSQL_SQL_PREPARES] = 'P',        [DSQL_SQL_EXECUTES] = 'E',
                                [DSQL_SQL_MAY_EXECUTE] = 'M',     [DSQL_SQL_DEALLOCATES] = 'D',
                                [DSQL_SQL_DEALLOCATES_ALL] = 'A', [DSQL_SQL_LISTS] = 'L'};
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_sql_names names = {.text = dsql_span_of(cases[i].text)};
        struct dsql_sql_name at;
        STRBUF(found, 256);
        while ((at = dsql_sql_names_next(&names)).use != DSQL_SQL_NAMES_END) {
            dsql_strbuf_add_char(&found, uses[at.use]);
            if (at.use != DSQL_SQL_LISTS && at.use != DSQL_SQL_DEALLOCATES_ALL)
                dsql_strbuf_addf(&found, "%zu%s%s", at.at, at.clear ? " " : "?",
                                 at.clear ? at.name : "");
            dsql_strbuf_add_char(&found, ';');
        }
        assert_string_equal(found.len ? found.ptr : "", cases[i].wanted);
        assert_true(found.len == 0 || dsql_sql_has_names(names.text));
    }
}

/* The catalogue says whether there is a setter; until it does, what was created may be one. */
TEST(what_was_created_may_be_a_setter_until_the_catalogue_is_asked)
{
    static struct dsql_proxy proxy;
    struct dsql_client client = {.proxy = &proxy};
    struct dsql_pg_piece row = {.last = true, .body = DSQL_SPAN("\0\1\0\0\0\1f")};
    dsql_setters_ended(&client);
    assert_false(client.settings_dirty);
    client.creates = true;
    dsql_setters_ended(&client);
    assert_true(client.settings_dirty && proxy.setters.there && !client.creates);
    dsql_setters_answer(&proxy.setters, &row); /* was asked before that */
    assert_true(proxy.setters.there);
    proxy.setters.asked = proxy.setters.made;
    dsql_setters_answer(&proxy.setters, &row);
    assert_false(proxy.setters.there);
    row.body = DSQL_SPAN("\0\1\0\0\0\1t");
    dsql_setters_answer(&proxy.setters, &row);
    assert_true(proxy.setters.there);
}

TEST(places_in_a_made_text_are_told_in_the_clients)
{
    struct dsql_renames *renames = dsql_renames_new(2);
    assert_non_null(renames);
    /* execute "dsql proxy 1"; execute "dsql proxy 2" (x): of  execute a; execute "a name" (x) */
    dsql_renames_add(renames, &(struct dsql_renamed){.end = 22, .len = 14, .was = 1});
    dsql_renames_add(renames, &(struct dsql_renamed){.end = 46, .len = 14, .was = 8});
    assert_int_equal(dsql_renames_place(renames, 1), 1);
    assert_int_equal(dsql_renames_place(renames, 25), 12);
    assert_int_equal(dsql_renames_place(renames, 49), 30);
    dsql_renames_unref(renames);
}

TEST(words_of_sql)
{
    struct dsql_span rest;
    assert_true(dsql_sql_begins(DSQL_SPAN(" /* a /* b */ */ -- c\n BEGIN"), "begin", &rest));
    assert_false(dsql_sql_begins(DSQL_SPAN("beginning"), "begin", &rest));
    assert_true(dsql_sql_is_deallocate_all(DSQL_SPAN("deallocate PREPARE ALL ;")));
    assert_false(dsql_sql_is_deallocate_all(DSQL_SPAN("deallocate \"all\"")));
    assert_false(dsql_sql_is_deallocate_all(DSQL_SPAN("deallocate all; select 1")));
    assert_true(dsql_sql_is_reset_all(DSQL_SPAN("reset ALL;")));
    assert_false(dsql_sql_is_reset_all(DSQL_SPAN("reset all; select 1")));
    assert_false(dsql_sql_may_commit(DSQL_SPAN("begin")));
    assert_true(dsql_sql_may_commit(DSQL_SPAN("begin; commit")));
    assert_true(dsql_sql_may_commit(DSQL_SPAN("insert into t values (1)")));
    assert_true(dsql_sql_ends(DSQL_SPAN("COMMIT")));
    assert_false(dsql_sql_ends(DSQL_SPAN("select 1")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_statements_are_one),
        cmocka_unit_test(what_was_used_least_recently_gives_way),
        cmocka_unit_test(an_error_drops_what_is_before_its_sync),
        cmocka_unit_test(syncs_inside_the_data_of_a_copy_are_not_answered),
        cmocka_unit_test(changes_of_earlier_segments_are_uncertain),
        cmocka_unit_test(only_settings_that_differ_are_set),
        cmocka_unit_test(defaults_are_the_clients),
        cmocka_unit_test(names_of_sql),
        cmocka_unit_test(what_was_created_may_be_a_setter_until_the_catalogue_is_asked),
        cmocka_unit_test(places_in_a_made_text_are_told_in_the_clients),
        cmocka_unit_test(words_of_sql),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
