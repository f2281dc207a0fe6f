/* Options that are changed after the environment has been read. */
#include "dsql/pool.h"

#include "support/test.h"

#define MINUTE_NS (60 * INT64_C(1000000000))

TEST(a_larger_pool_is_larger_in_every_way)
{
    struct dsql_pool_options o;
    dsql_pool_options_default(&o);
    assert_int_equal(o.max_open, 100);
    assert_int_equal(o.keeper_max_per_tick, 1);
    dsql_pool_options_resize(&o, 500);
    assert_int_equal(o.max_open, 500);
    assert_int_equal(o.target_ready, 500);
    assert_int_equal(o.low_watermark, 500);
    assert_int_equal(o.warmup_target, 500);
    assert_int_equal(o.keeper_max_per_tick, 5);
    dsql_pool_options_resize(&o, 7);
    assert_int_equal(o.target_ready, 7);
    assert_int_equal(o.low_watermark, 7);
    assert_int_equal(o.warmup_target, 7);
    assert_int_equal(o.keeper_max_per_tick, 1);
}

TEST(what_was_chosen_stays)
{
    struct dsql_pool_options o;
    dsql_pool_options_default(&o);
    o.target_ready = 30;
    o.low_watermark = 20;
    o.warmup_target = 10;
    o.keeper_max_per_tick = 3;
    dsql_pool_options_resize(&o, 500);
    assert_int_equal(o.target_ready, 30);
    assert_int_equal(o.low_watermark, 20);
    assert_int_equal(o.warmup_target, 10);
    assert_int_equal(o.keeper_max_per_tick, 3);
}

TEST(no_connection_gets_older_than_it_may)
{
    static const int64_t ages_ns[] = {MINUTE_NS, 5 * MINUTE_NS, 11 * MINUTE_NS, 30 * MINUTE_NS,
                                      59 * MINUTE_NS};
    for (size_t i = 0; i < DSQL_COUNT_OF(ages_ns); i++) {
        struct dsql_pool_options o, before;
        dsql_pool_options_default(&o);
        before = o;
        dsql_pool_options_limit_age(&o, ages_ns[i]);
        assert_true(o.base_lifetime_ns + o.lifetime_jitter_ns / 2 <= ages_ns[i]);
        assert_true(o.lifetime_jitter_ns <= before.lifetime_jitter_ns);
        assert_true(o.guard_window_ns <= before.guard_window_ns);
        /* There is a life before the guard window. */
        assert_true(o.base_lifetime_ns - o.lifetime_jitter_ns / 2 >= 2 * o.guard_window_ns);
        if (before.base_lifetime_ns + before.lifetime_jitter_ns / 2 <= ages_ns[i])
            assert_int_equal(o.base_lifetime_ns, before.base_lifetime_ns);
        else
            assert_true(o.base_lifetime_ns >= ages_ns[i] * 7 / 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_larger_pool_is_larger_in_every_way),
        cmocka_unit_test(what_was_chosen_stays),
        cmocka_unit_test(no_connection_gets_older_than_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
