/* Snowflakes: they only grow, whatever the clock does and whatever they are shown (S1, S2), and two
 * nodes never meet (SF3). */
#include "core/snowflake.h"
#include "support/prop.h"
#include "support/test.h"

enum { STEPS = 300 };

static struct dsql_wall draw_time(struct prop *p, struct dsql_wall now)
{
    switch (prop_below(p, 6)) {
    case 0:
        return (struct dsql_wall){now.ns + (int64_t)prop_below(p, 5) * DSQL_MS};
    case 1: /* a step back, far or near */
        return (struct dsql_wall){now.ns - (int64_t)prop_below(p, 1000) * DSQL_S};
    case 2:
        return (struct dsql_wall){now.ns + (int64_t)prop_below(p, 1000) * DSQL_S};
    default:
        return now;
    }
}

static bool only_grows(struct prop *p)
{
    struct dsql_snowflake a;
    struct dsql_wall now = {(int64_t)prop_below(p, 2) * INT64_C(1790000000) * DSQL_S};
    int64_t last = 0;
    dsql_snowflake_init(&a, (int64_t)prop_below(p, DSQL_SNOWFLAKE_NODES));
    for (int i = 0; i < STEPS; i++) {
        now = draw_time(p, now);
        if (prop_below(p, 10) == 0) { /* an id of somebody else's, a bit ahead or behind */
            int64_t seen = last + prop_between(p, -1000000, 1000000000);
            dsql_snowflake_see(&a, seen);
            last = seen > last ? seen : last;
        }
        int64_t id = dsql_snowflake_next(&a, now);
        if (!prop_that(p, id > last, "%lld after %lld", (long long)id, (long long)last))
            return false;
        last = id;
    }
    return true;
}

static bool nodes_never_meet(struct prop *p)
{
    struct dsql_snowflake a, b;
    int64_t ids[2][STEPS];
    int64_t node = (int64_t)prop_below(p, DSQL_SNOWFLAKE_NODES - 1);
    struct dsql_wall now = {INT64_C(1790000000) * DSQL_S};
    dsql_snowflake_init(&a, node);
    dsql_snowflake_init(&b, node + 1);
    for (int i = 0; i < STEPS; i++) {
        now = draw_time(p, now);
        ids[0][i] = dsql_snowflake_next(&a, now);
        ids[1][i] = dsql_snowflake_next(&b, draw_time(p, now));
    }
    size_t i = 0, k = 0; /* both are sorted */
    while (i < STEPS && k < STEPS) {
        if (ids[0][i] == ids[1][k])
            return prop_that(p, false, "both gave %lld", (long long)ids[0][i]);
        if (ids[0][i] < ids[1][k])
            i++;
        else
            k++;
    }
    return true;
}

TEST(ids_only_grow)
{
    prop_run("ids only grow", only_grows, 500);
}
TEST(ids_of_two_nodes_differ)
{
    prop_run("ids of two nodes differ", nodes_never_meet, 300);
}

TEST(many_in_one_millisecond)
{
    struct dsql_snowflake a;
    int64_t last = 0;
    struct dsql_wall now = {INT64_C(1790000000) * DSQL_S};
    dsql_snowflake_init(&a, 7);
    for (int i = 0; i < 10000; i++) {
        int64_t id = dsql_snowflake_next(&a, now);
        assert_true(id > last);
        assert_int_equal(id >> 12 & 1023, 7);
        last = id;
    }
}

TEST(the_end_of_time)
{
    struct dsql_snowflake a;
    dsql_snowflake_init(&a, 0);
    dsql_snowflake_see(&a, INT64_MAX);
    assert_int_equal(dsql_snowflake_next(&a, (struct dsql_wall){0}), 0);
    dsql_snowflake_init(&a, 0);
    dsql_snowflake_see(&a, -5);
    assert_true(dsql_snowflake_next(&a, (struct dsql_wall){-1}) >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_only_grow),
        cmocka_unit_test(ids_of_two_nodes_differ),
        cmocka_unit_test(many_in_one_millisecond),
        cmocka_unit_test(the_end_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
