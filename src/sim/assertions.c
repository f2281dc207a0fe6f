/*
 * The assertions of a scenario in a person's words. Each sentence says what is demanded, exceptions
 * included, and what the run showed, so that "held" never stands beside a number that seems to
 * contradict it.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/duration.h"
#include "sim/report.h"

struct telling {
    const struct dsql_sim_world *world;
    struct dsql_sim_assertion *list;
    size_t count;
};

static bool has_held(const struct dsql_sim_world *world, const char *check)
{
    const struct dsql_sim_checks *checks = &world->checks;
    for (size_t i = 0; i < checks->failure_count && i < DSQL_SIM_FAILURES_MAX; i++) {
        if (strcmp(checks->failures[i].check, check) == 0)
            return false;
    }
    return true;
}

static void tell(struct telling *telling, const char *check, const char *fmt, ...)
    DSQL_PRINTF(3, 4);
static void tell(struct telling *telling, const char *check, const char *fmt, ...)
{
    assert(telling->count < DSQL_SIM_ASSERTIONS_MAX);
    struct dsql_sim_assertion *assertion = &telling->list[telling->count++];
    va_list args;
    assertion->check = check;
    assertion->held = has_held(telling->world, check);
    va_start(args, fmt);
    (void)vsnprintf(assertion->text, sizeof(assertion->text), fmt, args);
    va_end(args);
}

static void tell_connects(struct telling *telling)
{
    const struct dsql_sim_world *world = telling->world;
    const struct dsql_sim_scenario *scenario = world->scenario;
    int64_t rate = scenario->asserts.max_connects_per_sec, burst = scenario->budget.burst;
    int64_t at_once = burst + rate;
    if (rate == 0)
        return;
    tell(telling, "assertMaxConnectsPerSec",
         "in any t seconds at most %lld + %lld x t connects, so at most %lld in one second: the "
         "burst of %lld may come on top of the rate. Seen: %llu in %s",
         (long long)burst, (long long)rate, (long long)at_once, (long long)burst,
         (unsigned long long)world->record.peak_sample,
         scenario->sample_ns == DSQL_S ? "a second"
                                       : dsql_duration_shown(scenario->sample_ns).text);
}

static void tell_filling(struct telling *telling)
{
    const struct dsql_sim_asserts *asserts = &telling->world->scenario->asserts;
    if (asserts->converge_within_ns > 0)
        tell(telling, "assertConvergeWithin",
             "every process reaches its target within %s of its start",
             dsql_duration_shown(asserts->converge_within_ns).text);
    if (asserts->stable_for_ns > 0)
        tell(telling, "assertStableFor",
             "a process that has reached its target keeps at least nine tenths of it for %s",
             dsql_duration_shown(asserts->stable_for_ns).text);
    if (asserts->ready_never_below > 0)
        tell(telling, "assertReadyNeverBelow",
             "a process that has reached its target never again holds less than %.0f %% of it",
             asserts->ready_never_below * 100);
    if (asserts->recover_within_ns > 0)
        tell(telling, "assertRecoverWithin",
             "every process is back at its target within %s of the end of a trouble, unless "
             "another begins before",
             dsql_duration_shown(asserts->recover_within_ns).text);
}

static void tell_callers(struct telling *telling)
{
    const struct dsql_sim_asserts *asserts = &telling->world->scenario->asserts;
    struct dsql_sim_counts counts;
    dsql_sim_world_counts(telling->world, &counts);
    uint64_t callers = counts.checkouts + counts.empties;
    uint64_t early = counts.empties - counts.late_empties;
    if (asserts->zero_empty_events)
        tell(telling, "assertZeroEmptyEvents",
             "no caller goes away empty-handed once its process has reached its target. Seen: %llu "
             "of %llu checkouts; before the first filling, which is not asserted: %llu",
             (unsigned long long)counts.late_empties, (unsigned long long)callers,
             (unsigned long long)early);
    if (asserts->no_waiter_starved_ns > 0)
        tell(telling, "assertNoWaiterStarved",
             "callers are served in the order in which they came, none after more than %s. Seen: "
             "%llu waits, the longest %s",
             dsql_duration_shown(asserts->no_waiter_starved_ns).text,
             (unsigned long long)counts.waits, dsql_duration_shown(counts.longest_wait_ns).text);
    if (asserts->guard_never_violated)
        tell(
            telling, "assertGuardNeverViolated",
            "no connection is handed out inside its guard window, none that the cluster has closed");
}

size_t dsql_sim_assertions(const struct dsql_sim_world *world,
                           struct dsql_sim_assertion list[DSQL_SIM_ASSERTIONS_MAX])
{
    struct telling telling = {.world = world, .list = list};
    tell_connects(&telling);
    if (world->scenario->asserts.cap_never_exceeded)
        tell(&telling, "assertCapNeverExceeded",
             "the cluster never counts more than %lld connections, those of processes that were "
             "silent for longer than a TTL apart. Seen: %lld",
             (long long)world->scenario->budget.connections, (long long)world->cluster.peak);
    tell_filling(&telling);
    tell_callers(&telling);
    return telling.count;
}
