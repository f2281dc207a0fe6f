/* Options that are changed after the environment has been read. */
#include "pool/options.h"
#include "support/test.h"

#define MINUTE_NS (60 * INT64_C(1000000000))

TEST(a_larger_pool_is_larger_in_every_way)
{
    struct dsql_pool_options o;
    dsql_pool_options_default(&o);
    assert_int_equal(o.sizing.max_open, 100);
    assert_int_equal(o.standard.keeper_max_per_tick, 1);
    dsql_pool_options_resize(&o, 500);
    assert_int_equal(o.sizing.max_open, 500);
    assert_int_equal(o.sizing.target_ready, 500);
    assert_int_equal(o.sizing.low_watermark, 500);
    assert_int_equal(o.standard.warmup_target, 500);
    assert_int_equal(o.standard.keeper_max_per_tick, 5);
    dsql_pool_options_resize(&o, 7);
    assert_int_equal(o.sizing.target_ready, 7);
    assert_int_equal(o.sizing.low_watermark, 7);
    assert_int_equal(o.standard.warmup_target, 7);
    assert_int_equal(o.standard.keeper_max_per_tick, 1);
}

TEST(what_was_chosen_stays)
{
    struct dsql_pool_options o;
    dsql_pool_options_default(&o);
    o.sizing.target_ready = 30;
    o.sizing.low_watermark = 20;
    o.standard.warmup_target = 10;
    o.standard.keeper_max_per_tick = 3;
    dsql_pool_options_resize(&o, 500);
    assert_int_equal(o.sizing.target_ready, 30);
    assert_int_equal(o.sizing.low_watermark, 20);
    assert_int_equal(o.standard.warmup_target, 10);
    assert_int_equal(o.standard.keeper_max_per_tick, 3);
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
        assert_true(o.lifetime.base_ns + o.lifetime.jitter_ns / 2 <= ages_ns[i]);
        assert_true(o.lifetime.jitter_ns <= before.lifetime.jitter_ns);
        assert_true(o.lifetime.guard_window_ns <= before.lifetime.guard_window_ns);
        /* There is a life before the guard window. */
        assert_true(o.lifetime.base_ns - o.lifetime.jitter_ns / 2 >=
                    2 * o.lifetime.guard_window_ns);
        if (before.lifetime.base_ns + before.lifetime.jitter_ns / 2 <= ages_ns[i])
            assert_int_equal(o.lifetime.base_ns, before.lifetime.base_ns);
        else
            assert_true(o.lifetime.base_ns >= ages_ns[i] * 7 / 8);
    }
}

/* A program that was built with fewer or more options than this library has. */
TEST(a_program_of_another_version)
{
    struct {
        struct dsql_pool_options o;
        unsigned char later[64];
    } program;
    struct dsql_pool_options taken;
    struct dsql_err err;
    memset(&program, 0xff, sizeof(program));
    size_t older = offsetof(struct dsql_pool_options, standard);
    dsql_pool_options_default_sized(&program.o, older);
    assert_int_equal(program.o.size, older);
    assert_int_equal(((unsigned char *)&program)[older], 0xff);
    program.o.sizing.max_open = 7;
    assert_int_equal(dsql_options_take(&program.o, &taken, &err), DSQL_OK);
    assert_int_equal(taken.sizing.max_open, 7);
    assert_int_equal(taken.standard.keeper_max_per_tick, 1);
    assert_null(taken.metrics);

    dsql_pool_options_default_sized(&program.o, sizeof(program));
    assert_int_equal(dsql_options_take(&program.o, &taken, &err), DSQL_OK);
    program.later[63] = 1;
    assert_int_equal(dsql_options_take(&program.o, &taken, &err), DSQL_INVALID);
    memset(&program, 0, sizeof(program));
    assert_int_equal(dsql_options_take(&program.o, &taken, &err), DSQL_INVALID);
    assert_non_null(strstr(err.hint, "dsql_pool_options_default"));
}

#define AT(member)     offsetof(struct dsql_pool_options, member)
#define END_OF(member) (AT(member) + sizeof(((struct dsql_pool_options *)NULL)->member))
#define LAST_OF(text)                                                                              \
    {                                                                                              \
        END_OF(text) - 1, END_OF(text)                                                             \
    }

/* Each byte of the options makes a difference, but for the key of a pool, the size, `share`, the
 * end of a text and the padding. */
TEST(every_option_makes_a_difference)
{
    static const struct {
        size_t from, to;
    } others[] = {
        {AT(size), AT(mode)},
        {AT(connection.endpoint), AT(connection.hostaddr)},
        {AT(connection.user), AT(connection.ca_file)},
        {AT(share), END_OF(share)},
        {END_OF(mode), AT(connection)},
        {END_OF(connection.ca_file), AT(connection.token_duration_ns)},
        {END_OF(budget.kind), AT(budget.rate)},
        {END_OF(trace), AT(metrics)},
        LAST_OF(connection.hostaddr),
        LAST_OF(connection.region),
        LAST_OF(connection.ca_file),
        LAST_OF(budget.lease_table),
        LAST_OF(budget.limiter_table),
        LAST_OF(budget.service),
        LAST_OF(trace),
    };
    unsigned char open[sizeof(struct dsql_pool_options)], asked[sizeof(open)];
    bool compared[sizeof(open)];
    char difference[256];
    memset(open, 'x', sizeof(open));
    memset(compared, true, sizeof(compared));
    for (size_t i = 0; i < DSQL_COUNT_OF(others); i++) {
        memset(open + others[i].from, 0, others[i].to - others[i].from);
        memset(compared + others[i].from, false, others[i].to - others[i].from);
    }
    for (size_t i = 0; i < sizeof(open); i++) {
        struct dsql_pool_options a, b;
        memcpy(asked, open, sizeof(open));
        asked[i] ^= compared[i] ? 1 : 0;
        memcpy(&a, open, sizeof(a));
        memcpy(&b, asked, sizeof(b));
        bool differ = dsql_options_differ(&a, &b, difference, sizeof(difference));
        if (differ != compared[i])
            fail_msg("byte %zu: %s", i, differ ? difference : "no difference");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_larger_pool_is_larger_in_every_way),
        cmocka_unit_test(what_was_chosen_stays),
        cmocka_unit_test(no_connection_gets_older_than_it_may),
        cmocka_unit_test(a_program_of_another_version),
        cmocka_unit_test(every_option_makes_a_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
