/* Many threads: cancel handles that wake waits, and one retry budget for all. */
#include <pthread.h>
#include <stdatomic.h>

#include "core/retry.h"
#include "support/test.h"
#include "tx/cancel.h"
#include "tx/wait.h"

enum { THREADS = 8, ROUNDS = 200 };

struct round {
    struct dsql_cancel *cancel;
    _Atomic int woken;
};

/* Would wait an hour. */
static void *wait_for_cancel(void *arg)
{
    struct round *round = arg;
    struct dsql_wire_limits limits = {
        .clock = &dsql_clock_system, .deadline = {INT64_MAX}, .cancel = round->cancel};
    if (dsql_wait_sleep(DSQL_H, &limits) == DSQL_CANCELLED)
        atomic_fetch_add(&round->woken, 1);
    return NULL;
}

static void *fire(void *arg)
{
    dsql_cancel_fire(((struct round *)arg)->cancel);
    return NULL;
}

TEST(a_cancel_wakes_everybody_whenever_it_comes)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct round round = {.woken = 0};
        assert_int_equal(dsql_cancel_new(&round.cancel, NULL), DSQL_OK);
        pthread_t threads[THREADS];
        for (int t = 0; t < THREADS; t++)
            assert_int_equal(
                pthread_create(&threads[t], NULL, t % 4 == 3 ? fire : wait_for_cancel, &round), 0);
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        assert_int_equal(round.woken, THREADS - THREADS / 4);
        assert_true(dsql_cancel_fired(round.cancel));
        dsql_cancel_destroy(round.cancel);
    }
}

struct shared {
    struct dsql_retry_policy policy;
    _Atomic int64_t granted, began;
};

static void *spend(void *arg)
{
    struct shared *shared = arg;
    for (int i = 0; i < 2000; i++) {
        struct dsql_retry retry;
        dsql_retry_init(&retry, &shared->policy);
        atomic_fetch_add(&shared->began, 1);
        while (dsql_retry_next(&retry, &shared->policy, DSQL_CONFLICT, 0, -1).again)
            atomic_fetch_add(&shared->granted, 1);
    }
    return NULL;
}

TEST(one_budget_serves_all_threads)
{
    struct shared shared = {.granted = 0};
    dsql_retry_policy_default(&shared.policy);
    assert_int_equal(dsql_retry_budget_new(0.5, 1, 100, &shared.policy.budget), DSQL_OK);
    struct dsql_mono began = dsql_clock_mono(&dsql_clock_system);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, spend, &shared), 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    int64_t seconds = dsql_mono_since(dsql_clock_mono(&dsql_clock_system), began) / DSQL_S + 1;
    assert_true(shared.granted <= 100 + 1 + seconds + shared.began / 2);
    assert_true(shared.granted >= 100);
    dsql_retry_budget_destroy(shared.policy.budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancel_wakes_everybody_whenever_it_comes),
        cmocka_unit_test(one_budget_serves_all_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
