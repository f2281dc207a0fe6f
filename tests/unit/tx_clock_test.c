/* Back-off, deadlines and the retry budget of transactions, by a clock that the test owns. No
 * database is needed: the source of connections has none. */
#include <pthread.h>

#include "base/log.h"
#include "support/test_clock.h"
#include "tx/tx_internal.h"
#include "tx/wait.h"

static struct manual_clock manual;

static enum dsql_rc checkout(void *self, const struct dsql_wire_limits *limits, void **conn,
                             struct dsql_err *err)
{
    _Atomic int *tries = self;
    (void)limits;
    (void)conn;
    atomic_fetch_add(tries, 1);
    return dsql_err_set(err, DSQL_CONFLICT, "somebody else was faster");
}

static enum dsql_rc body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)tx;
    (void)arg;
    return dsql_err_set(err, DSQL_INVALID, "there is no connection to run on");
}

struct job {
    struct dsql_source source;
    struct dsql_tx_policy policy;
    struct dsql_err err;
    enum dsql_rc rc;
    _Atomic int tries;
    _Atomic bool done;
};

static void *run(void *arg)
{
    struct job *job = arg;
    job->rc = dsql_tx_run_on(&job->source, "test", body, NULL, &job->policy, &job->err);
    atomic_store(&job->done, true);
    return NULL;
}

static pthread_t start(struct job *job)
{
    pthread_t thread;
    dsql_log_set_level(DSQL_LOG_ERROR);
    manual_clock_init(&manual, (struct dsql_wall){0});
    dsql_tx_policy_default(&job->policy);
    job->source =
        (struct dsql_source){.self = &job->tries, .clock = &manual.clock, .checkout = checkout};
    job->policy.retry.base_delay_ns = DSQL_H;
    job->policy.retry.max_delay_ns = 4 * DSQL_H;
    job->policy.retry.jitter = 0;
    job->policy.retry.max_retries = 2;
    assert_int_equal(pthread_create(&thread, NULL, run, job), 0);
    return thread;
}

TEST(tries_are_as_far_apart_as_the_policy_says)
{
    struct job job = {0};
    pthread_t thread = start(&job);
    WAIT_UNTIL(atomic_load(&job.tries) == 1);
    manual_clock_advance(&manual, DSQL_H - 1);
    for (int i = 0; i < 20; i++)
        look_around();
    assert_int_equal(atomic_load(&job.tries), 1);
    PASS_TIME_UNTIL(&manual, DSQL_S, atomic_load(&job.tries) == 2);
    int64_t second = dsql_clock_mono(&manual.clock).ns;
    PASS_TIME_UNTIL(&manual, DSQL_M, atomic_load(&job.done));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(second >= DSQL_H);
    assert_true(dsql_clock_mono(&manual.clock).ns >= second + 2 * DSQL_H - DSQL_S);
    assert_int_equal(atomic_load(&job.tries), 3);
    assert_int_equal(job.rc, DSQL_CONFLICT);
}

TEST(a_wait_ends_with_the_deadline)
{
    struct dsql_wire_limits limits = {.clock = &manual.clock};
    manual_clock_init(&manual, (struct dsql_wall){0});
    limits.deadline = dsql_mono_add(dsql_clock_mono(&manual.clock), DSQL_M);
    assert_int_equal(dsql_wire_limits_check(&limits), DSQL_OK);
    assert_int_equal(dsql_wait_sleep(0, &limits), DSQL_OK);
    manual_clock_advance(&manual, DSQL_M);
    assert_int_equal(dsql_wait_sleep(DSQL_H, &limits), DSQL_TIMEOUT);
}

TEST(a_retry_budget_fills_with_its_clock)
{
    struct dsql_retry_policy policy;
    struct dsql_retry_budget *budget;
    struct dsql_retry retry;
    manual_clock_init(&manual, (struct dsql_wall){0});
    dsql_retry_policy_default(&policy);
    policy.max_retries = 100;
    assert_int_equal(dsql_retry_budget_make(0, 1, 1, &manual.clock, &budget), DSQL_OK);
    policy.budget = budget;
    dsql_retry_init(&retry, &policy);
    int granted = 0;
    while (dsql_retry_next(&retry, &policy, DSQL_CONFLICT, 0, -1).again)
        granted++;
    assert_int_equal(granted, 2); /* a burst of one, and one of the second */
    assert_false(dsql_retry_next(&retry, &policy, DSQL_CONFLICT, 0, -1).again);
    manual_clock_advance(&manual, DSQL_S);
    assert_true(dsql_retry_next(&retry, &policy, DSQL_CONFLICT, 0, -1).again);
    dsql_retry_budget_destroy(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_are_as_far_apart_as_the_policy_says),
        cmocka_unit_test(a_wait_ends_with_the_deadline),
        cmocka_unit_test(a_retry_budget_fills_with_its_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
