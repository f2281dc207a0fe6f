/*
 * Large fleets on one item of DynamoDB, with the code of pool and budget, in virtual time: DynamoDB
 * is too busy for part of the requests, and the fleet fills all the same. What is asserted depends
 * on seeds only, not on the machine's speed.
 */
#include "sim/plan.h"
#include "support/test.h"

/* 8,000 connections, for which the rate alone takes 79 s. throttled: the part of the requests that
 * DynamoDB may be too busy for. */
static void expect_full_after(int64_t processes, int64_t burst, int64_t full_s, double throttled)
{
    struct dsql_sim_question question = {
        .processes = processes,
        .connections_each = 8000 / processes,
        .lifetime_ns = 11 * DSQL_M,
        .jitter_ns = 2 * DSQL_M,
        .guard_ns = 45 * DSQL_S,
        .rate = 100,
        .burst = burst,
        .cap = 10000,
        .latency_ns = 60 * DSQL_MS,
        .stagger_ns = 5 * DSQL_S,
        .runs = 1,
        .seed = 42,
    };
    struct dsql_sim_answer answer;
    struct dsql_err err;
    assert_int_equal(dsql_sim_plan(&question, NULL, &answer, &err), DSQL_OK);
    print_message("%lld x %lld, burst %lld: full after %lld s, %.0f %% throttled\n",
                  (long long)processes, (long long)question.connections_each, (long long)burst,
                  (long long)(answer.full_ns / DSQL_S), 100 * answer.throttled);
    assert_true(dsql_sim_plan_fits(&answer));
    assert_true(answer.full_ns <= full_s * DSQL_S);
    assert_true(answer.throttled <= throttled);
    assert_int_equal(answer.peak_connections, 8000);
}

TEST(a_fleet_of_80_fills_nearly_unthrottled)
{
    expect_full_after(80, 100, 120, 0.05);
}

TEST(a_fleet_of_100_fills_nearly_as_fast_as_the_rate_lets_it)
{
    expect_full_after(100, 100, 120, 0.15);
}

TEST(a_fleet_of_160_fills_though_the_burst_is_too_small_for_it)
{
    expect_full_after(160, 100, 300, 0.60);
}

TEST(a_fleet_of_160_fills_sooner_with_the_burst_it_needs)
{
    expect_full_after(160, 320, 240, 0.30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fleet_of_80_fills_nearly_unthrottled),
        cmocka_unit_test(a_fleet_of_100_fills_nearly_as_fast_as_the_rate_lets_it),
        cmocka_unit_test(a_fleet_of_160_fills_though_the_burst_is_too_small_for_it),
        cmocka_unit_test(a_fleet_of_160_fills_sooner_with_the_burst_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
