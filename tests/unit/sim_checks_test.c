/* Every assertion fails in a world made for it, and holds in the same world without the trouble. */
#include "sim/world.h"

#include "support/test.h"

#define FLEET                                                                                      \
    "duration: 3m\n"                                                                               \
    "services:\n"                                                                                  \
    "  - {name: a, count: 2, targetReady: 10, workload: {spawn: 100ms, hold: 10ms}}\n"

static void load(const char *text, struct dsql_sim_scenario *scenario)
{
    struct dsql_err err = {0};
    if (dsql_sim_scenario_read(dsql_span_of(text), "s.yaml", scenario, &err))
        fail_msg("%s", err.message);
}

static void begin(const struct dsql_sim_scenario *scenario, struct dsql_sim_world *world)
{
    struct dsql_err err = {0};
    if (dsql_sim_world_init(world, scenario, 1, &err))
        fail_msg("%s", err.message);
}

/* The names of the checks that failed, "" for none. */
static void judge(const char *text, struct dsql_strbuf *failed)
{
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    load(text, &scenario);
    begin(&scenario, &world);
    while (dsql_sim_world_advance(&world, DSQL_M))
        continue;
    for (size_t i = 0; i < world.checks.failure_count; i++)
        dsql_strbuf_addf(failed, "%s%s", i > 0 ? " " : "", world.checks.failures[i].check);
    dsql_sim_world_fini(&world);
    dsql_sim_scenario_fini(&scenario);
}

static const struct {
    const char *check, *assertion, *trouble;
} rows[] = {
    {"assertMaxConnectsPerSec", "assertMaxConnectsPerSec: 10\n", "budget: {rate: 20, burst: 5}\n"},
    {"assertConvergeWithin", "assertConvergeWithin: 30s\n",
     "events: [{at: 0s, what: refuse, for: 2m}]\n"},
    {"assertStableFor", "assertStableFor: 1m\n", "events: [{at: 20s, what: drop, fraction: 1}]\n"},
    {"assertZeroEmptyEvents", "assertZeroEmptyEvents: true\n",
     "events: [{at: 20s, what: drop, fraction: 1}, {at: 20s, what: refuse, for: 10s}]\n"},
    {"assertCapNeverExceeded", "assertCapNeverExceeded: true\n",
     "budget: {kind: local, connections: 19}\n"},
    {"assertNoWaiterStarved", "assertNoWaiterStarved: 4s\npool: {emptyWait: 10s}\n",
     "events: [{at: 20s, what: drop, fraction: 1}, {at: 20s, what: refuse, for: 10s}]\n"},
    {"assertRecoverWithin", "assertRecoverWithin: 20s\n",
     "events: [{at: 20s, what: crash, for: 0s}]\nbudget: {connections: 20}\n"},
    {"assertReadyNeverBelow", "assertReadyNeverBelow: 0.5\n",
     "events: [{at: 2m, what: drop, fraction: 0.9}]\n"},
};

TEST(each_assertion_fails_with_its_trouble_and_only_then)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        char text[1024], failed[256];
        struct dsql_strbuf sb;
        (void)snprintf(text, sizeof text, FLEET "%s%s", rows[i].assertion, rows[i].trouble);
        dsql_strbuf_init(&sb, failed, sizeof failed);
        judge(text, &sb);
        assert_string_equal(failed, rows[i].check);
        /* The default budget is above the 10 a second that are asserted. */
        (void)snprintf(text, sizeof text, FLEET "%s%s", rows[i].assertion,
                       i == 0 ? "budget: {rate: 10, burst: 5}\n" : "");
        dsql_strbuf_init(&sb, failed, sizeof failed);
        judge(text, &sb);
        assert_string_equal(failed, "");
        (void)snprintf(text, sizeof text, FLEET "%s%s", "", rows[i].trouble);
        dsql_strbuf_init(&sb, failed, sizeof failed);
        judge(text, &sb);
        assert_string_equal(failed, "");
    }
}

/* What correct code never does is done to it by hand. */

static void run_half(struct dsql_sim_scenario *scenario, struct dsql_sim_world *world)
{
    load(FLEET "assertGuardNeverViolated: true\nassertNoWaiterStarved: 1m\n", scenario);
    begin(scenario, world);
    assert_true(dsql_sim_world_advance(world, DSQL_M));
    assert_int_equal(world->checks.failure_count, 0);
}

static void expect_failure(struct dsql_sim_scenario *scenario, struct dsql_sim_world *world,
                           const char *check, const char *text)
{
    assert_int_equal(world->checks.failure_count, 1);
    assert_string_equal(world->checks.failures[0].check, check);
    assert_string_equal(world->checks.failures[0].text, text);
    dsql_sim_world_fini(world);
    dsql_sim_scenario_fini(scenario);
}

TEST(a_connection_inside_its_guard_window_is_noticed)
{
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    run_half(&scenario, &world);
    struct dsql_sim_process *process = &world.processes[1];
    struct dsql_lifespan *life = &process->keeper.slots.items[3].life;
    dsql_sim_check_checkout(process, &process->conns[3]);
    assert_int_equal(world.checks.failure_count, 0);
    life->dies_at = dsql_mono_add(dsql_sim_process_now(process), 45 * DSQL_S - 1);
    dsql_sim_check_checkout(process, &process->conns[3]);
    assert_int_equal(world.checks.failure_count, 1);
    assert_string_equal(world.checks.failures[0].check, "assertGuardNeverViolated");
    dsql_sim_world_fini(&world);
    dsql_sim_scenario_fini(&scenario);
}

TEST(a_connection_that_is_closed_is_noticed)
{
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    run_half(&scenario, &world);
    struct dsql_sim_process *process = &world.processes[0];
    process->conns[2].hung_up = true;
    dsql_sim_cancel(&world.kernel, &process->conns[2].fate);
    dsql_sim_check_checkout(process, &process->conns[2]);
    expect_failure(&scenario, &world, "assertGuardNeverViolated",
                   "a #0: a connection was handed out whose socket showed closed");
}

TEST(a_caller_that_is_overtaken_is_noticed)
{
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    struct dsql_sim_caller first = {.ticket = 7}, second = {.ticket = 8};
    run_half(&scenario, &world);
    struct dsql_sim_process *process = &world.processes[0];
    first.since = second.since = world.kernel.now;
    dsql_queue_join(&process->waiting, &first.node);
    dsql_queue_join(&process->waiting, &second.node);
    dsql_sim_check_served(process, &first);
    assert_int_equal(world.checks.failure_count, 0);
    dsql_sim_check_served(process, &second);
    dsql_queue_leave(&first.node);
    dsql_queue_leave(&second.node);
    expect_failure(&scenario, &world, "assertNoWaiterStarved",
                   "a #0: a caller was served before one that came earlier");
}

TEST(a_slot_that_is_lost_is_noticed)
{
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    run_half(&scenario, &world);
    world.processes[1].keeper.slots.closing++;
    dsql_sim_check_sample(&world);
    world.processes[1].keeper.slots.closing--;
    expect_failure(&scenario, &world, "always", "a #1: it counts 11 connections and has 10");
}

TEST(a_block_taken_from_the_living_is_noticed)
{
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    run_half(&scenario, &world);
    dsql_sim_check_taken(&world, "0000000100000002"); /* a life that is yet to come */
    assert_int_equal(world.checks.failure_count, 0);
    world.processes[0].beat_at = dsql_mono_add(world.kernel.now, -30 * DSQL_S);
    dsql_sim_check_taken(&world, "0000000000000001"); /* silent for a TTL */
    assert_int_equal(world.checks.failure_count, 0);
    dsql_sim_check_taken(&world, "0000000100000001");
    expect_failure(&scenario, &world, "always",
                   "a #1: its block was taken away while it was alive");
}

TEST(the_cap_gives_way_to_what_the_silent_hold_and_no_more)
{
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    load(FLEET "assertCapNeverExceeded: true\n", &scenario);
    begin(&scenario, &world);
    assert_true(dsql_sim_world_advance(&world, DSQL_M));
    scenario.budget.connections = 10;
    world.processes[0].beat_at = dsql_mono_add(world.kernel.now, -31 * DSQL_S);
    dsql_sim_check_held(&world);
    assert_int_equal(world.checks.failure_count, 0);
    dsql_sim_check_beat(&world.processes[0]); /* it is back, and has a while to give way */
    dsql_sim_check_held(&world);
    assert_int_equal(world.checks.failure_count, 0);
    scenario.budget.connections = 9;
    dsql_sim_check_held(&world);
    expect_failure(&scenario, &world, "assertCapNeverExceeded", "20 connections, 9 are allowed");
}

TEST(lifetimes_that_are_not_spread_are_noticed)
{
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    run_half(&scenario, &world);
    world.checks.lives = 100;
    world.checks.shortest_life_ns = 11 * DSQL_M;
    world.checks.longest_life_ns = 12 * DSQL_M;
    dsql_sim_check_end(&world);
    assert_int_equal(world.checks.failure_count, 0);
    world.checks.longest_life_ns = 12 * DSQL_M - 1;
    dsql_sim_check_end(&world);
    expect_failure(&scenario, &world, "always",
                   "lifetimes are not spread: all between 11m and 12m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_assertion_fails_with_its_trouble_and_only_then),
        cmocka_unit_test(a_connection_inside_its_guard_window_is_noticed),
        cmocka_unit_test(a_connection_that_is_closed_is_noticed),
        cmocka_unit_test(a_caller_that_is_overtaken_is_noticed),
        cmocka_unit_test(a_slot_that_is_lost_is_noticed),
        cmocka_unit_test(a_block_taken_from_the_living_is_noticed),
        cmocka_unit_test(the_cap_gives_way_to_what_the_silent_hold_and_no_more),
        cmocka_unit_test(lifetimes_that_are_not_spread_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
