/* What a session of `dsql local` has named: found, replaced and dropped, few and thousands alike.
 */
#include <stdio.h>

#include "local/front/names.h"
#include "support/test.h"

enum { MANY = 5000 };

static struct dsql_span name_of(int i)
{
    static char text[16];
    return (struct dsql_span){text, (size_t)snprintf(text, sizeof(text), "n%d", i)};
}

static struct dsql_sql_script *script(void)
{
    struct dsql_sql_script *out;
    assert_int_equal(dsql_sql_script_new(DSQL_SPAN("select 1"), &out), DSQL_OK);
    return out;
}

static void name(struct dsql_names *names, enum dsql_pg_object object, int i,
                 struct dsql_sql_script *meaning)
{
    assert_int_equal(dsql_names_set(names, object, name_of(i), dsql_sql_script_ref(meaning),
                                    DSQL_SPAN("P"), (uint64_t)i),
                     DSQL_OK);
}

static bool means(struct dsql_names *names, enum dsql_pg_object object, int i,
                  const struct dsql_sql_script *meaning)
{
    return dsql_names_get(names, object, name_of(i)) == meaning;
}

TEST(thousands_of_names_are_found_and_dropped)
{
    struct dsql_names names = {0};
    struct dsql_sql_script *one = script(), *other = script();
    for (int i = 0; i < MANY; i++)
        name(&names, DSQL_PG_STATEMENT, i, one);
    for (int i = 0; i < MANY; i += 2)
        name(&names, DSQL_PG_STATEMENT, i, other);
    for (int i = 0; i < MANY; i += 3)
        dsql_names_drop(&names, DSQL_PG_STATEMENT, name_of(i));
    int left = 0;
    for (int i = 0; i < MANY; i++) {
        const struct dsql_sql_script *meaning = i % 2 ? one : other;
        assert_true(means(&names, DSQL_PG_STATEMENT, i, i % 3 ? meaning : NULL));
        left += i % 3 != 0;
    }
    struct dsql_strbuf out;
    dsql_strbuf_init_heap(&out, 1 << 20);
    assert_int_equal(dsql_names_replay(&names, &out), left);
    dsql_strbuf_fini(&out);
    dsql_names_drop_all(&names, DSQL_PG_STATEMENT);
    assert_true(means(&names, DSQL_PG_STATEMENT, 1, NULL));
    name(&names, DSQL_PG_STATEMENT, 1, one);
    assert_true(means(&names, DSQL_PG_STATEMENT, 1, one));
    dsql_names_drop_all(&names, DSQL_PG_STATEMENT);
    dsql_sql_script_unref(one);
    dsql_sql_script_unref(other);
}

TEST(statements_and_portals_do_not_know_each_other)
{
    struct dsql_names names = {0};
    struct dsql_sql_script *one = script();
    name(&names, DSQL_PG_STATEMENT, 7, one);
    name(&names, DSQL_PG_PORTAL, 7, one);
    dsql_names_drop_all(&names, DSQL_PG_PORTAL);
    assert_true(means(&names, DSQL_PG_PORTAL, 7, NULL));
    assert_true(means(&names, DSQL_PG_STATEMENT, 7, one));
    dsql_names_drop(&names, DSQL_PG_STATEMENT, DSQL_SPAN("not there"));
    dsql_names_drop_all(&names, DSQL_PG_STATEMENT);
    dsql_sql_script_unref(one);
}

/* Each name has the number of its message: those of messages that were skipped are not there. */
TEST(what_was_skipped_has_no_name)
{
    struct dsql_names names = {0};
    struct dsql_sql_script *one = script();
    for (int i = 0; i < MANY; i++)
        name(&names, DSQL_PG_STATEMENT, i, one);
    dsql_names_undo(&names, 10, 10);
    dsql_names_undo(&names, MANY, MANY + 5);
    dsql_names_undo(&names, 10, 20);
    for (int i = 0; i < MANY; i++)
        assert_true(means(&names, DSQL_PG_STATEMENT, i, i < 10 || i >= 20 ? one : NULL));
    dsql_names_drop_all(&names, DSQL_PG_STATEMENT);
    dsql_sql_script_unref(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_names_are_found_and_dropped),
        cmocka_unit_test(statements_and_portals_do_not_know_each_other),
        cmocka_unit_test(what_was_skipped_has_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
