/* Who meets OC001, when, and once. */
#include <stdio.h>

#include "local/front/stale.h"
#include "support/test.h"

enum { SESSIONS = 1000 };

static struct dsql_stale_options options;
static struct dsql_stale stale;

static void begin(double chance, double own, int64_t delay_ns)
{
    options = (struct dsql_stale_options){.chance = chance, .own = own, .delay_ns = delay_ns};
    stale = (struct dsql_stale){.options = &options};
}

static struct dsql_mono at(int64_t ns)
{
    return (struct dsql_mono){ns};
}

/* A statement of those tables, NULL at the end. */
static struct dsql_sql_stmt naming(struct dsql_sql_table *tables, const char *const *names)
{
    struct dsql_sql_stmt stmt = {.tables = tables};
    for (; names[stmt.table_count]; stmt.table_count++)
        (void)snprintf(tables[stmt.table_count].name, sizeof(tables->name), "%s",
                       names[stmt.table_count]);
    return stmt;
}

static void use(struct dsql_stale_session *session, const char *name)
{
    struct dsql_sql_table tables[1];
    struct dsql_sql_stmt stmt = naming(tables, (const char *const[]){name, NULL});
    dsql_stale_use(session, &stmt);
}

static void change(struct dsql_stale_session *session, const char *name, enum dsql_stale_kind kind)
{
    struct dsql_sql_table tables[1];
    struct dsql_sql_stmt stmt = naming(tables, (const char *const[]){name, NULL});
    dsql_stale_ddl(session, &stmt, kind);
    dsql_stale_commit(&stale, session, at(0));
}

static struct dsql_stale_session session_of(uint64_t id)
{
    struct dsql_stale_session session;
    dsql_stale_session_init(&session, &stale, id);
    return session;
}

TEST(a_change_concerns_those_who_used_the_table)
{
    begin(1, 0, 0);
    struct dsql_stale_session maker = session_of(1), user = session_of(2), other = session_of(3);
    use(&user, "t");
    use(&other, "u");
    change(&maker, "t", DSQL_STALE_CHANGES);
    assert_false(dsql_stale_strikes(&stale, &maker, at(0)));
    assert_false(dsql_stale_strikes(&stale, &other, at(0)));
    assert_true(dsql_stale_strikes(&stale, &user, at(0)));
    assert_false(dsql_stale_strikes(&stale, &user, at(0))); /* the retry passes */
    use(&other, "t"); /* read after the change: it is no news */
    assert_false(dsql_stale_strikes(&stale, &other, at(0)));
}

/* Who drops a table and creates another of its name surprises nobody. */
TEST(what_is_gone_concerns_nobody)
{
    begin(1, 0, 0);
    struct dsql_stale_session maker = session_of(1), user = session_of(2);
    use(&user, "t");
    change(&maker, "t", DSQL_STALE_REMOVES);
    assert_false(dsql_stale_strikes(&stale, &user, at(0)));
    change(&maker, NULL, DSQL_STALE_REMOVES); /* DROP SEQUENCE */
    assert_false(dsql_stale_strikes(&stale, &user, at(0)));
    change(&maker, "t", DSQL_STALE_CREATES);
    assert_false(dsql_stale_strikes(&stale, &user, at(0)));
}

/* Few other names share a bit with one: 25 of 26 letters do not. */
TEST(names_are_told_apart)
{
    begin(1, 0, 0);
    int struck = 0;
    struct dsql_stale_session maker = session_of(1);
    for (char name[] = "a"; name[0] <= 'z'; name[0]++) {
        struct dsql_stale_session user = session_of(2);
        use(&user, name);
        change(&maker, "t", DSQL_STALE_CHANGES);
        struck += dsql_stale_strikes(&stale, &user, at(0));
    }
    assert_int_equal(struck, 1);
}

TEST(who_comes_later_knows_it)
{
    begin(1, 0, 0);
    struct dsql_stale_session maker = session_of(1);
    change(&maker, "t", DSQL_STALE_CHANGES);
    struct dsql_stale_session late = session_of(2);
    use(&late, "t");
    assert_false(dsql_stale_strikes(&stale, &late, at(0)));
}

TEST(a_change_without_names_concerns_everybody_unless_it_creates)
{
    begin(1, 0, 0);
    struct dsql_stale_session maker = session_of(1), idle = session_of(2);
    change(&maker, NULL, DSQL_STALE_CREATES); /* CREATE SCHEMA */
    assert_false(dsql_stale_strikes(&stale, &idle, at(0)));
    change(&maker, NULL, DSQL_STALE_CHANGES); /* DROP SCHEMA */
    assert_true(dsql_stale_strikes(&stale, &idle, at(0)));
    dsql_stale_commit(&stale, NULL, at(0)); /* the end of an index build */
    assert_true(dsql_stale_strikes(&stale, &idle, at(0)));
    assert_true(dsql_stale_strikes(&stale, &maker, at(0)));
}

TEST(a_change_of_many_tables_concerns_everybody)
{
    struct dsql_sql_table tables[DSQL_STALE_NAMES + 1];
    begin(1, 0, 0);
    struct dsql_stale_session maker = session_of(1), idle = session_of(2);
    struct dsql_sql_stmt stmt =
        naming(tables, (const char *const[]){"a", "b", "c", "d", "e", "f", "g", "h", "i", NULL});
    dsql_stale_ddl(&maker, &stmt, DSQL_STALE_CREATES);
    dsql_stale_commit(&stale, &maker, at(0));
    assert_true(dsql_stale_strikes(&stale, &idle, at(0)));
}

TEST(what_is_no_longer_remembered_concerns_everybody)
{
    begin(1, 0, 0);
    struct dsql_stale_session maker = session_of(1), idle = session_of(2), near = session_of(3);
    for (int i = 0; i < DSQL_STALE_KEPT; i++)
        change(&maker, "t", DSQL_STALE_CHANGES);
    near = session_of(3);
    assert_false(dsql_stale_strikes(&stale, &idle, at(0)));
    idle = session_of(2);
    idle.known = 0;
    change(&maker, "t", DSQL_STALE_CHANGES);
    assert_true(dsql_stale_strikes(&stale, &idle, at(0)));
    assert_false(dsql_stale_strikes(&stale, &near, at(0)));
}

TEST(lost_is_told_once)
{
    begin(1, 0, 0);
    struct dsql_stale_session session = session_of(1);
    session.lost = true;
    assert_true(dsql_stale_strikes(&stale, &session, at(0)));
    assert_false(dsql_stale_strikes(&stale, &session, at(0)));
}

/* How many of many sessions that used the table meet its change by that time. */
static int meet(int64_t now_ns)
{
    int count = 0;
    struct dsql_stale_session maker = session_of(1);
    static struct dsql_stale_session sessions[SESSIONS];
    for (uint64_t i = 0; i < SESSIONS; i++) {
        sessions[i] = session_of(i + 100);
        use(&sessions[i], "t");
    }
    change(&maker, "t", DSQL_STALE_CHANGES);
    for (int i = 0; i < SESSIONS; i++)
        count += dsql_stale_strikes(&stale, &sessions[i], at(now_ns));
    return count;
}

TEST(a_part_meets_it)
{
    begin(0, 0, 0);
    assert_int_equal(meet(0), 0);
    begin(0.3, 0, 0);
    int met = meet(0);
    assert_in_range(met, 250, 350);
    begin(1, 0, 0);
    assert_int_equal(meet(0), SESSIONS);
}

TEST(some_meet_it_late)
{
    begin(1, 0, 1000);
    assert_in_range(meet(0), 0, 5);
    begin(1, 0, 1000);
    assert_in_range(meet(500), 430, 570);
    begin(1, 0, 1000);
    assert_int_equal(meet(1000), SESSIONS);
}

TEST(who_made_the_change_may_meet_it_too)
{
    int met = 0;
    begin(1, 0.5, 0);
    for (uint64_t i = 0; i < SESSIONS; i++) {
        struct dsql_stale_session maker = session_of(i);
        change(&maker, "t", DSQL_STALE_CREATES);
        met += dsql_stale_strikes(&stale, &maker, at(0));
        assert_false(dsql_stale_strikes(&stale, &maker, at(0)));
    }
    assert_in_range(met, 430, 570);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_concerns_those_who_used_the_table),
        cmocka_unit_test(what_is_gone_concerns_nobody),
        cmocka_unit_test(names_are_told_apart),
        cmocka_unit_test(who_comes_later_knows_it),
        cmocka_unit_test(a_change_without_names_concerns_everybody_unless_it_creates),
        cmocka_unit_test(a_change_of_many_tables_concerns_everybody),
        cmocka_unit_test(what_is_no_longer_remembered_concerns_everybody),
        cmocka_unit_test(lost_is_told_once),
        cmocka_unit_test(a_part_meets_it),
        cmocka_unit_test(some_meet_it_late),
        cmocka_unit_test(who_made_the_change_may_meet_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
