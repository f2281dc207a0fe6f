/*
 * The Nth allocation fails, and the Nth call of libpq that can fail does: no slot, no connection
 * and no memory is lost, whatever N. After every run ready + in use + opening + closing + empty is
 * the capacity, and once the fault is over the pool is full again.
 */
#include <time.h>

#include "pool/pool.h"
#include "support/alloc_fault.h"
#include "support/fake_pq.h"
#include "support/test.h"

enum { CONNECTIONS = 3 };

static void sleep_ms(int64_t ms)
{
    const struct timespec time = {.tv_nsec = ms * DSQL_MS};
    (void)nanosleep(&time, NULL);
}

static struct dsql_pool_stats checked_stats(struct dsql_pool *pool)
{
    struct dsql_pool_stats s;
    pthread_mutex_lock(&pool->state_lock);
    dsql_slots_check(&pool->keeper.slots);
    pthread_mutex_unlock(&pool->state_lock);
    dsql_pool_stats(pool, &s);
    assert_int_equal(s.ready + s.in_use + s.opening + s.closing + s.empty, CONNECTIONS);
    return s;
}

static void make_options(struct dsql_pool_options *options)
{
    fake_pq_options(options, CONNECTIONS);
    options->sizing.low_watermark = 0;
}

/* Opens, uses and closes a pool. True if nothing went wrong. */
static bool life(void)
{
    struct dsql_pool_options options;
    struct dsql_pool *pool = NULL;
    struct dsql_conn *conn = NULL;
    struct dsql_err err;
    make_options(&options);
    if (dsql_pool_open(&options, &pool, &err) != DSQL_OK)
        return false;
    struct dsql_pool_stats stats = checked_stats(pool);
    while (stats.ready < CONNECTIONS && stats.open_failures == 0) {
        sleep_ms(1);
        stats = checked_stats(pool);
    }
    if (dsql_pool_checkout(pool, 0, &conn, NULL) == DSQL_OK)
        dsql_pool_return(conn);
    dsql_pool_close(pool);
    assert_int_equal(fake_pq_live(), 0);
    return stats.open_failures == 0;
}

TEST(allocations)
{
    fake_pq_reset();
    assert_true(life()); /* what the process allocates once */
    assert_true(alloc_fault_run("a pool's life", life, true) > 5);
}

/* One failure of libpq in a pool's life; then it has to recover. Answers whether it came. */
static bool life_with_failure(struct dsql_pool *pool, size_t n)
{
    struct dsql_pool_stats stats;
    uint64_t opens = checked_stats(pool).opens;
    (void)fake_pq_fail_at(n);
    for (int i = 0; i < 4; i++) {
        struct dsql_conn *conn = NULL;
        if (dsql_pool_checkout(pool, 60 * DSQL_S, &conn, NULL) != DSQL_OK)
            fail_msg("nothing for a minute after failure %zu", n);
        if (i % 2 == 0)
            dsql_pool_discard(conn);
        else
            dsql_pool_return(conn);
        checked_stats(pool);
    }
    for (int tries = 0; (stats = checked_stats(pool)).ready < CONNECTIONS; tries++) {
        if (tries > 60000)
            fail_msg("never full again after failure %zu", n);
        sleep_ms(1);
    }
    assert_true(stats.opens > opens);
    assert_int_equal(fake_pq_live(), CONNECTIONS);
    return fake_pq_fail_at(0);
}

TEST(libpq)
{
    struct dsql_pool_options options;
    struct dsql_pool *pool = NULL;
    fake_pq_reset();
    make_options(&options);
    assert_int_equal(dsql_pool_open(&options, &pool, NULL), DSQL_OK);
    size_t n = 1;
    while (life_with_failure(pool, n) && n < 40)
        n++;
    assert_true(n > 8); /* two discards: two starts and two sets of polls at least */
    dsql_pool_close(pool);
    assert_int_equal(fake_pq_live(), 0);
}

int main(void)
{
    dsql_log_set_level(DSQL_LOG_ERROR);
    const struct CMUnitTest tests[] = {cmocka_unit_test(allocations), cmocka_unit_test(libpq)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
