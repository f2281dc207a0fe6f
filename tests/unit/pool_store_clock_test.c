/* The store waits by the pool's clock, which the test owns. */
#include <pthread.h>

#include "base/log.h"
#include "dsql/temporal.h"
#include "pool/pool.h"
#include "support/fake_pq.h"
#include "support/test_clock.h"
#include "tx/source.h"

static struct manual_clock manual;

struct job {
    struct dsql_store *store;
    struct dsql_err err;
    enum dsql_rc rc;
    _Atomic bool done;
};

static void *call(void *arg)
{
    struct job *job = arg;
    struct dsql_store_tx *tx;
    job->rc = dsql_store_begin(job->store, "test", NULL, &tx, &job->err);
    atomic_store(&job->done, true);
    return NULL;
}

/* A cluster that answers no connect: the store gives up when its policy says so, an hour later. */
TEST(an_operation_ends_with_its_deadline)
{
    struct dsql_pool_options options;
    struct dsql_store_options store;
    struct dsql_pool *pool = NULL;
    struct job job = {0};
    pthread_t thread;
    fake_pq_reset();
    fake_pq_stall(true);
    dsql_log_set_level(DSQL_LOG_ERROR);
    manual_clock_init(&manual, (struct dsql_wall){INT64_C(1794823200) * DSQL_S});
    fake_pq_options(&options, 1);
    options.sizing.low_watermark = 0;
    options.connection.connect_timeout_ns = 24 * DSQL_H;
    options.clock = &manual.clock;
    assert_int_equal(dsql_pool_open(&options, &pool, NULL), DSQL_OK);
    dsql_store_options_default(&store);
    store.shard_lock = DSQL_SHARD_LOCK_FOR_UPDATE;
    store.policy.timeout_ns = DSQL_H;
    assert_int_equal(dsql_store_open(pool, &store, &job.store, NULL), DSQL_OK);
    assert_ptr_equal(dsql_source_of_pool(pool).clock, &manual.clock); /* of its back-off, too */
    assert_int_equal(pthread_create(&thread, NULL, call, &job), 0);
    WAIT_UNTIL(dsql_waiters_count(pool) == 1);
    manual_clock_advance(&manual, DSQL_H - DSQL_S);
    for (int i = 0; i < 20; i++) {
        look_around();
        assert_false(atomic_load(&job.done));
    }
    manual_clock_advance(&manual, DSQL_S);
    WAIT_UNTIL(atomic_load(&job.done));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(job.rc, DSQL_EMPTY);
    dsql_store_close(job.store);
    dsql_pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_ends_with_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
