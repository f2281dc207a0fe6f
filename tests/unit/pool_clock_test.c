/* The pool's time-outs and lifetimes by a clock that the test owns: hours pass in milliseconds. */
#include <pthread.h>

#include "base/log.h"
#include "pool/pool.h"
#include "support/fake_pq.h"
#include "support/test_clock.h"

static struct manual_clock manual;

static int set_up(void **state)
{
    (void)state;
    fake_pq_reset();
    dsql_log_set_level(DSQL_LOG_ERROR);
    manual_clock_init(&manual, (struct dsql_wall){INT64_C(1794823200) * DSQL_S});
    return 0;
}

static struct dsql_pool *open_pool(struct dsql_pool_options *options)
{
    struct dsql_pool *pool = NULL;
    struct dsql_err err = {0};
    options->clock = &manual.clock;
    if (dsql_pool_open(options, &pool, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    return pool;
}

struct caller {
    struct dsql_pool *pool;
    int64_t wait_ns;
    enum dsql_rc rc;
    struct dsql_err err;
    _Atomic bool done;
};

static void *check_out(void *arg)
{
    struct caller *caller = arg;
    struct dsql_conn *conn;
    caller->rc = dsql_pool_checkout(caller->pool, caller->wait_ns, &conn, &caller->err);
    atomic_store(&caller->done, true);
    return NULL;
}

TEST(a_caller_waits_as_long_as_he_said)
{
    struct dsql_pool_options options;
    pthread_t thread;
    fake_pq_options(&options, 2);
    options.sizing.low_watermark = 0;
    options.connection.connect_timeout_ns = 24 * DSQL_H;
    fake_pq_stall(true);
    struct caller caller = {.pool = open_pool(&options), .wait_ns = DSQL_H};
    assert_int_equal(pthread_create(&thread, NULL, check_out, &caller), 0);
    WAIT_UNTIL(dsql_waiters_count(caller.pool) == 1);
    manual_clock_advance(&manual, DSQL_H - 1);
    for (int i = 0; i < 20; i++) {
        look_around();
        assert_false(atomic_load(&caller.done));
    }
    manual_clock_advance(&manual, 1);
    WAIT_UNTIL(atomic_load(&caller.done));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(caller.rc, DSQL_EMPTY);
    assert_non_null(strstr(caller.err.message, "in 3600000 ms"));
    dsql_pool_close(caller.pool);
}

TEST(a_connect_is_cut_off_in_time)
{
    struct dsql_pool_options options;
    struct dsql_pool_stats stats;
    fake_pq_options(&options, 1);
    options.sizing.low_watermark = 0;
    options.connection.connect_timeout_ns = DSQL_H;
    fake_pq_stall(true);
    struct dsql_pool *pool = open_pool(&options);
    WAIT_UNTIL(fake_pq_begun() == 1);
    manual_clock_advance(&manual, DSQL_H - DSQL_S);
    for (int i = 0; i < 20; i++)
        look_around();
    dsql_pool_stats(pool, &stats);
    assert_int_equal(stats.open_failures, 0);
    manual_clock_advance(&manual, DSQL_S);
    WAIT_UNTIL((dsql_pool_stats(pool, &stats), stats.open_failures == 1));
    /* The next comes after a back-off, and not before somebody lets that pass. */
    PASS_TIME_UNTIL(&manual, 100 * DSQL_MS, fake_pq_begun() == 2);
    dsql_pool_close(pool);
}

TEST(connections_come_of_age)
{
    struct dsql_pool_options options;
    struct dsql_pool_stats stats;
    fake_pq_options(&options, 3);
    struct dsql_pool *pool = open_pool(&options);
    dsql_pool_stats(pool, &stats);
    assert_int_equal(stats.ready, 3);
    assert_int_equal(fake_pq_begun(), 3);
    manual_clock_advance(&manual, options.lifetime.base_ns + options.lifetime.jitter_ns + DSQL_S);
    WAIT_UNTIL(fake_pq_begun() >= 6);
    WAIT_UNTIL((dsql_pool_stats(pool, &stats), stats.ready == 3));
    dsql_pool_close(pool);
    assert_int_equal(fake_pq_live(), 0);
}

static void *close_pool(void *arg)
{
    struct caller *caller = arg;
    dsql_pool_close(caller->pool);
    atomic_store(&caller->done, true);
    return NULL;
}

TEST(a_close_waits_for_callers_and_then_no_longer)
{
    struct dsql_pool_options options;
    struct dsql_conn *conn;
    pthread_t thread;
    fake_pq_options(&options, 1);
    options.drain_timeout_ns = DSQL_H;
    struct caller closer = {.pool = open_pool(&options)};
    assert_int_equal(dsql_pool_checkout(closer.pool, 0, &conn, NULL), DSQL_OK);
    assert_int_equal(pthread_create(&thread, NULL, close_pool, &closer), 0);
    manual_clock_advance(&manual, DSQL_H / 2);
    for (int i = 0; i < 20; i++) {
        look_around();
        assert_false(atomic_load(&closer.done));
    }
    PASS_TIME_UNTIL(&manual, DSQL_M, atomic_load(&closer.done));
    assert_true(dsql_clock_mono(&manual.clock).ns >= DSQL_H);
    assert_int_equal(pthread_join(thread, NULL), 0);
    dsql_pool_return(conn); /* the last one frees the pool */
    assert_int_equal(fake_pq_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_caller_waits_as_long_as_he_said, set_up),
        cmocka_unit_test_setup(a_connect_is_cut_off_in_time, set_up),
        cmocka_unit_test_setup(connections_come_of_age, set_up),
        cmocka_unit_test_setup(a_close_waits_for_callers_and_then_no_longer, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
