#include "core/retry.h"

#include "support/test.h"

static const struct dsql_retry_policy plain = {
    .max_retries = 5, .base_delay_ns = 100 * DSQL_MS, .max_delay_ns = 5 * DSQL_S, .jitter = 0};

static struct dsql_retry_decision decide(struct dsql_retry *retry,
                                         const struct dsql_retry_policy *policy, enum dsql_rc rc,
                                         int64_t elapsed_ns, int64_t deadline_ns)
{
    struct dsql_rng rng = dsql_rng_seeded(1);
    return dsql_retry_decide(retry, policy, rc, elapsed_ns, deadline_ns, &rng, NULL,
                             (struct dsql_mono){0});
}

TEST(waits_double_up_to_the_cap)
{
    struct dsql_retry_policy policy = plain;
    policy.max_retries = 8;
    static const int64_t waits_ms[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
    struct dsql_retry retry = {0};
    for (size_t i = 0; i < DSQL_COUNT_OF(waits_ms); i++) {
        struct dsql_retry_decision d = decide(&retry, &policy, DSQL_CONFLICT, 0, -1);
        assert_true(d.again);
        assert_false(d.same_connection);
        assert_int_equal(d.wait_ns, waits_ms[i] * DSQL_MS);
    }
    struct dsql_retry_decision d = decide(&retry, &policy, DSQL_CONFLICT, 0, -1);
    assert_false(d.again);
    assert_int_equal(d.why, DSQL_RETRY_EXHAUSTED);
}

TEST(the_first_schema_change_is_tried_again_at_once_and_there)
{
    struct dsql_retry retry = {0};
    struct dsql_retry_decision d = decide(&retry, &plain, DSQL_SCHEMA_CHANGED, 0, -1);
    assert_true(d.again && d.same_connection);
    assert_int_equal(d.wait_ns, 0);
    d = decide(&retry, &plain, DSQL_SCHEMA_CHANGED, 0, -1);
    assert_true(d.again && !d.same_connection);
    assert_int_equal(d.wait_ns, 200 * DSQL_MS); /* the second retry's wait */
    assert_int_equal(retry.retries, 2);
}

TEST(only_conflicts_are_repeated)
{
    for (int rc = 0; rc < DSQL_RC_COUNT; rc++) {
        struct dsql_retry retry = {0};
        struct dsql_retry_decision d = decide(&retry, &plain, (enum dsql_rc)rc, 0, -1);
        assert_int_equal(d.again, rc == DSQL_CONFLICT || rc == DSQL_SCHEMA_CHANGED);
        assert_int_equal(retry.retries, d.again);
        if (!d.again)
            assert_int_equal(d.why, DSQL_RETRY_NOT_RETRYABLE);
    }
}

TEST(lost_connections_are_replaced_on_request)
{
    struct dsql_retry_policy policy = plain;
    policy.reconnects = 2;
    struct dsql_retry retry = {0};
    assert_true(decide(&retry, &policy, DSQL_LOST, 0, -1).again);
    assert_true(decide(&retry, &policy, DSQL_UNAVAILABLE, 0, -1).again);
    assert_int_equal(decide(&retry, &policy, DSQL_LOST, 0, -1).why, DSQL_RETRY_NOT_RETRYABLE);
    assert_true(decide(&retry, &policy, DSQL_CONFLICT, 0, -1).again);
    assert_int_equal(decide(&retry, &policy, DSQL_COMMIT_UNKNOWN, 0, -1).why,
                     DSQL_RETRY_NOT_RETRYABLE);
}

TEST(no_wait_reaches_the_deadline)
{
    static const struct {
        int64_t elapsed_ms, deadline_ms;
        bool again;
    } rows[] = {
        {0, 101, true},  {0, 100, false},  {0, 0, false},
        {50, 151, true}, {50, 150, false}, {500, 100, false},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_retry retry = {0};
        struct dsql_retry_decision d =
            decide(&retry, &plain, DSQL_CONFLICT, rows[i].elapsed_ms * DSQL_MS,
                   rows[i].deadline_ms * DSQL_MS);
        assert_int_equal(d.again, rows[i].again);
        assert_int_equal(d.why, rows[i].again ? DSQL_RETRY_NOT_OVER : DSQL_RETRY_NO_TIME);
    }
}

TEST(the_allowance_is_earned_and_spent)
{
    struct dsql_mono now = {0};
    struct dsql_retry_allowance a;
    dsql_retry_allowance_init(&a, 0.5, 2, 3, now);
    for (int i = 0; i < 3 + 2; i++) /* what is saved, and a second's worth */
        assert_true(dsql_retry_allowance_spend(&a, now));
    assert_false(dsql_retry_allowance_spend(&a, now));
    dsql_retry_allowance_earn(&a);
    assert_false(dsql_retry_allowance_spend(&a, now));
    dsql_retry_allowance_earn(&a);
    assert_true(dsql_retry_allowance_spend(&a, now));
    now.ns += DSQL_S / 2;
    assert_true(dsql_retry_allowance_spend(&a, now));
    assert_false(dsql_retry_allowance_spend(&a, now));
    for (int i = 0; i < 100; i++)
        dsql_retry_allowance_earn(&a);
    for (int i = 0; i < 3; i++)
        assert_true(dsql_retry_allowance_spend(&a, now));
    assert_false(dsql_retry_allowance_spend(&a, now));
}

TEST(a_refusal_costs_nothing_and_a_grant_is_paid)
{
    struct dsql_retry_policy policy = plain;
    struct dsql_mono now = {0};
    struct dsql_rng rng = dsql_rng_seeded(1);
    struct dsql_retry_allowance a;
    dsql_retry_allowance_init(&a, 0, 1, 1, now); /* two in all */
    struct dsql_retry retry = {0};
    /* Refused for other reasons: not paid. */
    (void)dsql_retry_decide(&retry, &policy, DSQL_CONDITION_FAILED, 0, -1, &rng, &a, now);
    (void)dsql_retry_decide(&retry, &policy, DSQL_CONFLICT, 0, 1, &rng, &a, now);
    assert_true(dsql_retry_decide(&retry, &policy, DSQL_CONFLICT, 0, -1, &rng, &a, now).again);
    assert_true(dsql_retry_decide(&retry, &policy, DSQL_CONFLICT, 0, -1, &rng, &a, now).again);
    struct dsql_retry_decision d =
        dsql_retry_decide(&retry, &policy, DSQL_CONFLICT, 0, -1, &rng, &a, now);
    assert_int_equal(d.why, DSQL_RETRY_NO_BUDGET);
    assert_int_equal(retry.retries, 2);
}

TEST(a_policy_without_sense_is_bent)
{
    struct dsql_retry_policy policy = {
        .max_retries = 3, .base_delay_ns = 7, .max_delay_ns = -5, .jitter = 12};
    struct dsql_retry retry = {0};
    struct dsql_retry_decision d = decide(&retry, &policy, DSQL_CONFLICT, 0, -1);
    assert_true(d.again);
    assert_in_range(d.wait_ns, 0, 7);
    policy.base_delay_ns = -1;
    d = decide(&retry, &policy, DSQL_CONFLICT, 0, -1);
    assert_int_equal(d.wait_ns, 0);
    policy.max_retries = -1;
    assert_int_equal(decide(&retry, &policy, DSQL_CONFLICT, 0, -1).why, DSQL_RETRY_EXHAUSTED);
}

/* The public front: defaults, and a budget of its own. */
TEST(the_public_policy_has_the_documented_values)
{
    struct dsql_retry_policy policy;
    dsql_retry_policy_default(&policy);
    assert_int_equal(policy.max_retries, 5);
    assert_int_equal(policy.base_delay_ns, 100 * DSQL_MS);
    assert_int_equal(policy.max_delay_ns, 5 * DSQL_S);
    assert_true(policy.jitter == 0.25);
    assert_int_equal(policy.reconnects, 0);
    assert_int_equal(policy.conflict_alert, 100);
    assert_ptr_equal(policy.budget, dsql_retry_budget_process());
    struct dsql_retry retry;
    dsql_retry_init(&retry, &policy);
    struct dsql_retry_decision d = dsql_retry_next(&retry, &policy, DSQL_CONFLICT, 0, -1);
    assert_true(d.again);
    assert_in_range(d.wait_ns, 75 * DSQL_MS, 100 * DSQL_MS);
    assert_string_equal(dsql_retry_end_name(DSQL_RETRY_NO_BUDGET), "no budget");
    assert_string_equal(dsql_retry_end_name((enum dsql_retry_end)99), "?");

    struct dsql_retry_budget *budget = NULL;
    assert_int_equal(dsql_retry_budget_new(-1, 1, 1, &budget), DSQL_INVALID);
    assert_int_equal(dsql_retry_budget_new(1, 0, 1, &budget), DSQL_INVALID);
    assert_int_equal(dsql_retry_budget_new(1, 1, 0, &budget), DSQL_INVALID);
    assert_int_equal(dsql_retry_budget_new(0, 1, 1, &budget), DSQL_OK);
    policy.budget = budget;
    policy.max_retries = 1000;
    int granted = 0;
    while (dsql_retry_next(&retry, &policy, DSQL_CONFLICT, 0, -1).again)
        granted++;
    assert_in_range(granted, 1, 999);
    dsql_retry_budget_destroy(budget);
    dsql_retry_budget_destroy(NULL);
}

TEST(the_environment_changes_the_policy)
{
    assert_int_equal(setenv("DSQL_RETRY_MAX_RETRIES", "3", 1), 0);
    assert_int_equal(setenv("DSQL_RETRY_BASE_DELAY", "20ms", 1), 0);
    assert_int_equal(setenv("DSQL_RETRY_MAX_DELAY", "1s", 1), 0);
    assert_int_equal(setenv("DSQL_RETRY_JITTER_FACTOR", "0.5", 1), 0);
    assert_int_equal(setenv("DSQL_ALERT_THRESHOLD_CONFLICTS_PER_MINUTE", "7", 1), 0);
    struct dsql_retry_policy policy;
    struct dsql_err err;
    assert_int_equal(dsql_retry_policy_env(&policy, &err), DSQL_OK);
    assert_int_equal(policy.max_retries, 3);
    assert_int_equal(policy.base_delay_ns, 20 * DSQL_MS);
    assert_int_equal(policy.max_delay_ns, DSQL_S);
    assert_true(policy.jitter == 0.5);
    assert_int_equal(policy.conflict_alert, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_double_up_to_the_cap),
        cmocka_unit_test(the_first_schema_change_is_tried_again_at_once_and_there),
        cmocka_unit_test(only_conflicts_are_repeated),
        cmocka_unit_test(lost_connections_are_replaced_on_request),
        cmocka_unit_test(no_wait_reaches_the_deadline),
        cmocka_unit_test(the_allowance_is_earned_and_spent),
        cmocka_unit_test(a_refusal_costs_nothing_and_a_grant_is_paid),
        cmocka_unit_test(a_policy_without_sense_is_bent),
        cmocka_unit_test(the_public_policy_has_the_documented_values),
        cmocka_unit_test(the_environment_changes_the_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
