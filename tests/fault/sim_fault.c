/* The Nth allocation of ours fails while a scenario is read, and while a world runs. */
#include "sim/report.h"
#include "support/alloc_fault.h"
#include "support/test.h"

static bool read_one(void)
{
    struct dsql_sim_scenario s;
    struct dsql_err err;
    if (dsql_sim_scenario_read(DSQL_SPAN("services: [{name: a}, {name: b}]\n"
                                         "events: [{at: 1s, what: drop}]\n"),
                               "s", &s, &err))
        return false;
    dsql_sim_scenario_fini(&s);
    return true;
}

TEST(reading_survives)
{
    assert_true(alloc_fault_run("scenario", read_one, false) >= 3);
}

/* A process crashes, one is drained, and there is more to do than connections for it. */
static const char *budget;
static bool run_one(void)
{
    char text[512];
    (void)snprintf(
        text, sizeof text,
        "duration: 20s\n"
        "budget: {kind: %s}\n"
        "services: [{name: a, count: 2, targetReady: 2, workload: {spawn: 1s, burst: 4, hold: 2s}}]\n"
        "events: [{at: 5s, what: crash, count: 1}, {at: 8s, what: stop, count: 1}]\n",
        budget);
    struct dsql_sim_scenario s;
    struct dsql_sim_world world;
    struct dsql_err err;
    if (dsql_sim_scenario_read(dsql_span_of(text), "s", &s, &err))
        return false;
    if (dsql_sim_world_init(&world, &s, 1, &err)) {
        dsql_sim_scenario_fini(&s);
        return false;
    }
    while (dsql_sim_world_advance(&world, DSQL_S))
        continue;
    bool whole = !world.kernel.no_memory;
    dsql_sim_world_fini(&world);
    dsql_sim_scenario_fini(&s);
    return whole;
}

TEST(running_survives)
{
    static const char *const budgets[] = {"local", "leases", "blocks"};
    for (size_t i = 0; i < DSQL_COUNT_OF(budgets); i++) {
        budget = budgets[i];
        assert_true(alloc_fault_run(budget, run_one, false) >= 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reading_survives),
                                       cmocka_unit_test(running_survives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
