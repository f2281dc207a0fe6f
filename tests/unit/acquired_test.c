/* Shards that are acquired, by how often. */
#include "temporal/acquired.h"

#include "support/test.h"

static struct dsql_acquired acquired;

static struct dsql_mono at(int64_t seconds)
{
    return (struct dsql_mono){.ns = seconds * 1000 * 1000 * 1000};
}

TEST(a_shard_that_comes_again_is_told_from_many_that_come_once)
{
    dsql_acquired_init(&acquired);
    for (int32_t shard = 1; shard <= 2000; shard++)
        assert_int_equal(dsql_acquired_note(&acquired, shard, at(1)), DSQL_ACQUIRED_FIRST);
    for (int times = 2; times < DSQL_ACQUIRED_MANY; times++)
        assert_int_equal(dsql_acquired_note(&acquired, 7, at(times)), DSQL_ACQUIRED_FEW);
    assert_int_equal(dsql_acquired_note(&acquired, 7, at(100)), DSQL_ACQUIRED_OFTEN);
    assert_int_equal(dsql_acquired_note(&acquired, 7, at(600)), DSQL_ACQUIRED_OFTEN);
    assert_int_equal(dsql_acquired_note(&acquired, 8, at(600)), DSQL_ACQUIRED_FEW);
    dsql_acquired_fini(&acquired);
}

TEST(what_was_long_ago_is_forgotten)
{
    dsql_acquired_init(&acquired);
    for (int64_t hour = 0; hour < 20; hour++)
        assert_int_equal(dsql_acquired_note(&acquired, 0, at(hour * 3600)), DSQL_ACQUIRED_FIRST);
    dsql_acquired_fini(&acquired);
}

TEST(two_shards_at_one_place_forget_each_other)
{
    dsql_acquired_init(&acquired);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(dsql_acquired_note(&acquired, 5, at(1)), DSQL_ACQUIRED_FIRST);
        assert_int_equal(dsql_acquired_note(&acquired, 5 + DSQL_ACQUIRED_PLACES, at(1)),
                         DSQL_ACQUIRED_FIRST);
    }
    dsql_acquired_fini(&acquired);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_that_comes_again_is_told_from_many_that_come_once),
        cmocka_unit_test(what_was_long_ago_is_forgotten),
        cmocka_unit_test(two_shards_at_one_place_forget_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
