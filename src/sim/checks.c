/*
 * What must hold, looked at while the world runs. These are written from the outside: they measure
 * what the cluster and the callers see and never ask core whether core was right.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/duration.h"
#include "sim/world.h"

/* How long who was silent may take to hear of it and to close what is not its own any more. */
#define RECOVERY_NS (10 * DSQL_S)

void dsql_sim_fail(struct dsql_sim_world *world, const char *check, const char *fmt, ...)
{
    struct dsql_sim_checks *checks = &world->checks;
    /* Each check is told once: what follows is mostly its consequence. */
    for (size_t i = 0; i < checks->failure_count && i < DSQL_SIM_FAILURES_MAX; i++) {
        if (checks->failures[i].check == check)
            return;
    }
    if (checks->failure_count < DSQL_SIM_FAILURES_MAX) {
        struct dsql_sim_failure *failure = &checks->failures[checks->failure_count];
        va_list args;
        failure->at = world->kernel.now;
        failure->check = check;
        va_start(args, fmt);
        (void)vsnprintf(failure->text, sizeof(failure->text), fmt, args);
        va_end(args);
    }
    checks->failure_count++;
}

/* A leaking bucket, the mirror image of core's: what comes in leaks out at the permitted rate, and
 * may never stand higher than the burst. */
void dsql_sim_check_connect(struct dsql_sim_world *world)
{
    struct dsql_sim_checks *checks = &world->checks;
    int64_t limit = world->scenario->asserts.max_connects_per_sec;
    int64_t burst = world->scenario->budget.burst;
    if (limit == 0)
        return;
    double leaked = (double)dsql_mono_since(world->kernel.now, checks->connect_at) /
                    (double)DSQL_S * (double)limit *
                    (1 + (double)world->scenario->clocks.drift_ppm / 1e6);
    checks->connect_level = leaked < checks->connect_level ? checks->connect_level - leaked : 0;
    checks->connect_at = world->kernel.now;
    checks->connect_level += 1;
    if (checks->connect_level > (double)burst && checks->copied >= 1) {
        checks->connect_level -= 1;
        checks->copied -= 1;
    }
    if (checks->connect_level > (double)burst + 1e-3) {
        dsql_sim_fail(world, "assertMaxConnectsPerSec",
                      "more connects than %lld a second and a burst of %lld allow",
                      (long long)limit, (long long)burst);
    }
}

/* Whether other processes may take this one for dead: the table has taken nothing from it for a
 * TTL. A clock that is fast sees that a moment early. */
static bool is_silent(const struct dsql_sim_process *process)
{
    const struct dsql_sim_scenario *scenario = process->world->scenario;
    int64_t ttl_ns = scenario->budget.ttl_ns;
    ttl_ns -= ttl_ns / 1000000 * 2 * scenario->clocks.drift_ppm;
    return dsql_mono_since(process->world->kernel.now, process->beat_at) >= ttl_ns;
}

void dsql_sim_check_beat(struct dsql_sim_process *process)
{
    struct dsql_mono now = process->world->kernel.now;
    if (is_silent(process))
        process->silent_until = dsql_mono_add(now, RECOVERY_NS);
    process->beat_at = now;
}

void dsql_sim_check_copied(struct dsql_sim_process *process, struct dsql_sim_process *of,
                           double permits)
{
    struct dsql_sim_world *world = process->world;
    struct dsql_mono until =
        dsql_mono_add(world->kernel.now, world->scenario->budget.ttl_ns + RECOVERY_NS);
    world->checks.copied += permits;
    process->silent_until = of->silent_until = until;
}

void dsql_sim_check_taken(struct dsql_sim_world *world, const char *owner_id)
{
    struct dsql_sim_process *process = dsql_sim_owner_process(world, owner_id);
    if (!process)
        return;
    if (!is_silent(process)) {
        dsql_sim_fail(world, "always", "%s #%zu: its block was taken away while it was alive",
                      process->service->name, process->number);
    }
}

/* What those hold who were silent for longer than the TTL: the protocol allows this much above the
 * cap, and headroom is there for it. */
static int64_t held_by_silent(const struct dsql_sim_world *world)
{
    int64_t held = 0;
    for (size_t i = 0; i < world->process_count; i++) {
        const struct dsql_sim_process *process = &world->processes[i];
        if (process->life == DSQL_SIM_OFF ||
            (!is_silent(process) && !dsql_mono_before(world->kernel.now, process->silent_until)))
            continue;
        for (uint32_t slot = 0; slot < process->keeper.slots.capacity; slot++)
            held += process->conns[slot].at_cluster;
    }
    return held;
}

void dsql_sim_check_held(struct dsql_sim_world *world)
{
    int64_t cap = world->scenario->budget.connections;
    if (world->scenario->asserts.cap_never_exceeded && world->cluster.open > cap &&
        world->cluster.open - held_by_silent(world) > cap) {
        dsql_sim_fail(world, "assertCapNeverExceeded", "%lld connections, %lld are allowed",
                      (long long)world->cluster.open, (long long)cap);
    }
}

void dsql_sim_check_open(struct dsql_sim_process *process)
{
    struct dsql_sim_world *world = process->world;
    const struct dsql_sim_asserts *asserts = &world->scenario->asserts;
    int64_t target = dsql_sim_process_target(process);
    int64_t open = process->keeper.slots.open;
    bool was_full = process->full;
    dsql_sim_record_held(process);
    process->full = open >= target;
    if (process->full || was_full) /* full now, or until now */
        process->last_full = world->kernel.now;
    if (process->full) {
        if (process->converged.ns < 0)
            process->converged = world->kernel.now;
        return;
    }
    if (process->converged.ns < 0 || process->life != DSQL_SIM_RUNS)
        return;
    int64_t since_ns = dsql_mono_since(world->kernel.now, process->converged);
    if (since_ns < asserts->stable_for_ns && (double)open < 0.9 * (double)target) {
        dsql_sim_fail(world, "assertStableFor", "%s #%zu: %lld of %lld open",
                      process->service->name, process->number, (long long)open, (long long)target);
    }
    if ((double)open < asserts->ready_never_below * (double)target) {
        dsql_sim_fail(world, "assertReadyNeverBelow", "%s #%zu: %lld of %lld open",
                      process->service->name, process->number, (long long)open, (long long)target);
    }
}

void dsql_sim_check_birth(struct dsql_sim_process *process, const struct dsql_sim_conn *conn)
{
    struct dsql_sim_checks *checks = &process->world->checks;
    const struct dsql_lifespan *life = &process->keeper.slots.items[conn->slot].life;
    int64_t lives_ns = dsql_mono_since(life->dies_at, life->born);
    if (checks->lives == 0 || lives_ns < checks->shortest_life_ns)
        checks->shortest_life_ns = lives_ns;
    if (checks->lives == 0 || lives_ns > checks->longest_life_ns)
        checks->longest_life_ns = lives_ns;
    checks->lives++;
}

/* A process that stood still for so long that what it published as near is past, and that has not
 * taken a turn since: it does not know yet how old its connections are. */
static bool has_just_woken(const struct dsql_sim_process *process)
{
    return process->paused_until.ns > 0 &&
           dsql_mono_before(process->near, dsql_sim_process_now(process));
}

void dsql_sim_check_checkout(struct dsql_sim_process *process, const struct dsql_sim_conn *conn)
{
    struct dsql_sim_world *world = process->world;
    const struct dsql_sim_pool *pool = &world->scenario->pool;
    if (!world->scenario->asserts.guard_never_violated)
        return;
    /* The longest a life can be, less the guard; a clock that is slow by so much sees less of it.
     */
    int64_t longest_ns = pool->base_lifetime_ns + pool->lifetime_jitter_ns / 2;
    int64_t service_ns = world->scenario->cluster.lifetime_ns - pool->guard_window_ns;
    if (longest_ns > service_ns)
        longest_ns = service_ns;
    int64_t drift_ns = longest_ns / 1000000 * world->scenario->clocks.drift_ppm;
    int64_t latency_ns = dsql_mono_since(process->keeper.slots.items[conn->slot].life.born,
                                         process->keeper.slots.items[conn->slot].began);
    int64_t age_ns = dsql_mono_since(world->kernel.now, conn->born) - latency_ns;
    int64_t left_ns = dsql_mono_since(process->keeper.slots.items[conn->slot].life.dies_at,
                                      dsql_sim_process_now(process));
    if (!has_just_woken(process) &&
        (age_ns > longest_ns - pool->guard_window_ns + drift_ns + DSQL_MS ||
         left_ns < pool->guard_window_ns)) {
        dsql_sim_fail(world, "assertGuardNeverViolated",
                      "%s #%zu: a connection %s old was handed out", process->service->name,
                      process->number, dsql_duration_shown(age_ns).text);
    }
    if (conn->hung_up && !dsql_mono_before(world->kernel.now, process->paused_until) &&
        !dsql_sim_event_is_due(&conn->fate)) {
        dsql_sim_fail(world, "assertGuardNeverViolated",
                      "%s #%zu: a connection was handed out whose socket showed closed",
                      process->service->name, process->number);
    }
}

void dsql_sim_check_served(struct dsql_sim_process *process, const struct dsql_sim_caller *caller)
{
    struct dsql_sim_world *world = process->world;
    int64_t limit_ns = world->scenario->asserts.no_waiter_starved_ns;
    if (limit_ns == 0)
        return;
    for (const struct dsql_queue_node *node = process->waiting.first; node; node = node->next) {
        const struct dsql_sim_caller *other =
            DSQL_CONTAINER_OF(node, const struct dsql_sim_caller, node);
        if (other->ticket < caller->ticket) {
            dsql_sim_fail(world, "assertNoWaiterStarved",
                          "%s #%zu: a caller was served before one that came earlier",
                          process->service->name, process->number);
            return;
        }
        if (node == process->waiting.first && other == caller)
            break; /* the usual case: the eldest */
    }
    int64_t waited_ns = dsql_mono_since(world->kernel.now, caller->since);
    if (waited_ns > limit_ns) {
        dsql_sim_fail(world, "assertNoWaiterStarved", "%s #%zu: a caller waited for %s",
                      process->service->name, process->number, dsql_duration_shown(waited_ns).text);
    }
}

void dsql_sim_check_empty(struct dsql_sim_process *process)
{
    struct dsql_sim_world *world = process->world;
    if (process->converged.ns < 0)
        return;
    process->counts.late_empties++;
    if (world->scenario->asserts.zero_empty_events) {
        dsql_sim_fail(world, "assertZeroEmptyEvents",
                      "%s #%zu: a checkout found nothing in time, %lld of %lld open",
                      process->service->name, process->number,
                      (long long)process->keeper.slots.open,
                      (long long)dsql_sim_process_target(process));
    }
}

static void check_converged(struct dsql_sim_world *world, const struct dsql_sim_process *process)
{
    int64_t limit_ns = world->scenario->asserts.converge_within_ns;
    if (limit_ns == 0 || process->life != DSQL_SIM_RUNS)
        return;
    struct dsql_mono end = process->converged.ns >= 0 ? process->converged : world->kernel.now;
    if (dsql_mono_since(end, process->started) > limit_ns) {
        dsql_sim_fail(world, "assertConvergeWithin", "%s #%zu: %lld of %lld open after %s",
                      process->service->name, process->number,
                      (long long)process->keeper.slots.open,
                      (long long)dsql_sim_process_target(process),
                      dsql_duration_shown(dsql_mono_since(end, process->started)).text);
    }
}

/* No slot is lost: what the process holds is what the cluster counts for it and what is under way.
 */
static void check_slots(struct dsql_sim_world *world, const struct dsql_sim_process *process)
{
    uint32_t ends = 0;
    if (process->life == DSQL_SIM_OFF)
        return;
    for (uint32_t slot = 0; slot < process->keeper.slots.capacity; slot++) {
        const struct dsql_sim_conn *conn = &process->conns[slot];
        ends += conn->at_cluster || conn->hung_up || dsql_sim_event_is_due(&conn->answer);
    }
    uint32_t held = dsql_slots_held(&process->keeper.slots);
    if (ends != held) {
        dsql_sim_fail(world, "always", "%s #%zu: it counts %u connections and has %u",
                      process->service->name, process->number, held, ends);
    }
}

void dsql_sim_check_sample(struct dsql_sim_world *world)
{
    for (size_t i = 0; i < world->process_count; i++) {
        check_converged(world, &world->processes[i]);
        check_slots(world, &world->processes[i]);
    }
}

void dsql_sim_check_end(struct dsql_sim_world *world)
{
    const struct dsql_sim_checks *checks = &world->checks;
    const struct dsql_sim_pool *pool = &world->scenario->pool;
    dsql_sim_check_sample(world);
    int64_t spread_ns = pool->lifetime_jitter_ns;
    if (pool->base_lifetime_ns + spread_ns / 2 >
        world->scenario->cluster.lifetime_ns - pool->guard_window_ns)
        return; /* cut at the service's own limit: no spread is left to see */
    if (checks->lives >= 100 &&
        checks->longest_life_ns - checks->shortest_life_ns < spread_ns / 2) {
        dsql_sim_fail(world, "always", "lifetimes are not spread: all between %s and %s",
                      dsql_duration_shown(checks->shortest_life_ns).text,
                      dsql_duration_shown(checks->longest_life_ns).text);
    }
}
