/*
 * A process: what the pool's opener thread does, in virtual time. Every decision is core's; here
 * are only the hands that carry it out.
 */
#include <stdlib.h>

#include "sim/world.h"

enum { MILLION = 1000000 };

int64_t dsql_sim_process_target(const struct dsql_sim_process *process)
{
    int64_t own = process->service->target_ready;
    return own > 0 ? own : process->world->scenario->pool.target_ready;
}

/* t * factor / a million, without overflow. */
static int64_t millionths(int64_t t, int64_t factor)
{
    return t / MILLION * factor + t % MILLION * factor / MILLION;
}

struct dsql_mono dsql_sim_process_now(const struct dsql_sim_process *process)
{
    int64_t now = process->world->kernel.now.ns;
    return (struct dsql_mono){process->mono_base_ns + now + millionths(now, process->drift_ppm)};
}

struct dsql_wall dsql_sim_process_wall(const struct dsql_sim_process *process)
{
    /* The world began at some moment of 2026. */
    return (struct dsql_wall){INT64_C(1790000000) * DSQL_S + process->wall_offset_ns +
                              process->world->kernel.now.ns};
}

int64_t dsql_sim_process_to_world(const struct dsql_sim_process *process, int64_t ns)
{
    if (ns > INT64_C(365) * 24 * DSQL_H)
        return ns;
    /* Rounded up: who wakes a moment early would only have to sleep again. */
    return (int64_t)((double)ns * MILLION / (double)(MILLION + process->drift_ppm)) + 1;
}

bool dsql_sim_process_is_paused(struct dsql_sim_process *process, struct dsql_sim_event *event)
{
    struct dsql_sim_kernel *kernel = &process->world->kernel;
    if (!dsql_mono_before(kernel->now, process->paused_until))
        return false;
    dsql_sim_at(kernel, event, process->paused_until);
    return true;
}

void dsql_sim_process_wake(struct dsql_sim_process *process)
{
    if (process->life != DSQL_SIM_OFF)
        dsql_sim_after(&process->world->kernel, &process->turn, 0);
}

static void tell_budget(struct dsql_sim_process *process)
{
    process->allowance->ops->used(process->allowance, dsql_reservoir_held(&process->reservoir));
}

/* The process's end of the connection is closed: the cluster's follows. */
static void hang_up(struct dsql_sim_conn *conn)
{
    struct dsql_sim_world *world = conn->process->world;
    dsql_sim_cancel(&world->kernel, &conn->answer);
    dsql_sim_cancel(&world->kernel, &conn->fate);
    dsql_sim_cancel(&world->kernel, &conn->hold);
    if (conn->at_cluster)
        dsql_sim_cluster_close(world);
    conn->at_cluster = false;
    conn->hung_up = false;
}

/* The slot is CLOSING. */
static void close_conn(struct dsql_sim_process *process, struct dsql_sim_conn *conn,
                       enum dsql_discard why)
{
    process->counts.discards[why]++;
    hang_up(conn);
    dsql_reservoir_closed(&process->reservoir, conn->slot);
    tell_budget(process);
    dsql_sim_check_open(process);
}

void dsql_sim_process_discard(struct dsql_sim_process *process, struct dsql_sim_conn *conn,
                              enum dsql_discard why)
{
    dsql_reservoir_discard(&process->reservoir, conn->slot);
    close_conn(process, conn, why);
    dsql_sim_process_wake(process);
}

/* ---- connects ---- */

static void connect_failed(struct dsql_sim_process *process, struct dsql_sim_conn *conn)
{
    struct dsql_connect_failure failure = dsql_sim_verdict_failure(conn->verdict);
    struct dsql_mono now = dsql_sim_process_now(process);
    enum dsql_rc rc;
    enum dsql_connect_class cls = dsql_connect_classify(&failure, &rc);
    process->counts.failures[conn->verdict]++;
    (void)dsql_refill_failed(&process->refill, cls, conn->began, now, &process->rng);
    dsql_reservoir_failed(&process->reservoir, conn->slot, process->refill.hopeless);
    if (cls == DSQL_CONNECT_THROTTLED)
        process->allowance->ops->throttled(process->allowance, now);
    if (cls == DSQL_CONNECT_FULL)
        process->allowance->ops->full(process->allowance, now);
    tell_budget(process);
}

static void connect_answered(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_conn *conn = arg;
    struct dsql_sim_process *process = conn->process;
    struct dsql_mono now = dsql_sim_process_now(process);
    (void)kernel;
    if (dsql_sim_process_is_paused(process, &conn->answer))
        return;
    if (conn->verdict != DSQL_SIM_OPENED) {
        connect_failed(process, conn);
    } else {
        int64_t took_ns = dsql_mono_since(now, conn->began);
        process->handshake_ns = process->handshake_ns == 0
                                    ? took_ns
                                    : process->handshake_ns + (took_ns - process->handshake_ns) / 8;
        process->counts.opens++;
        dsql_refill_opened(&process->refill);
        process->allowance->ops->opened(process->allowance, now);
        dsql_reservoir_opened(&process->reservoir, conn->slot, now, &process->rng);
        dsql_sim_check_birth(process, conn);
        dsql_sim_check_open(process);
        if (process->life == DSQL_SIM_DRAINS)
            dsql_sim_process_discard(process, conn, DSQL_CLOSE_DRAIN);
        else if (conn->hung_up)
            dsql_sim_process_discard(process, conn, DSQL_CLOSE_SERVER_CLOSED);
        else
            dsql_sim_workload_offer(process, conn);
    }
    dsql_sim_process_wake(process);
}

/* The cluster closes it: too old, or dropped. An idle socket is watched; who uses it finds out. */
static void cluster_hangs_up(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_conn *conn = arg;
    struct dsql_sim_process *process = conn->process;
    (void)kernel;
    if (conn->at_cluster)
        dsql_sim_cluster_close(process->world);
    conn->at_cluster = false;
    conn->hung_up = true;
    if (dsql_sim_process_is_paused(process, &conn->fate))
        return;
    if (dsql_ready_set_claim(&process->reservoir.ready, conn->slot))
        dsql_sim_process_discard(process, conn, DSQL_CLOSE_SERVER_CLOSED);
}

static void connect_begin(struct dsql_sim_process *process, uint32_t slot)
{
    struct dsql_sim_world *world = process->world;
    struct dsql_sim_conn *conn = &process->conns[slot];
    int64_t latency_ns;
    process->counts.attempts++;
    dsql_sim_check_connect(world);
    conn->verdict = dsql_sim_cluster_connect(world, &latency_ns);
    conn->began = dsql_sim_process_now(process);
    conn->born = world->kernel.now;
    conn->hung_up = false;
    conn->at_cluster = conn->verdict == DSQL_SIM_OPENED;
    if (conn->at_cluster)
        dsql_sim_after(&world->kernel, &conn->fate, world->scenario->cluster.lifetime_ns);
    dsql_sim_after(&world->kernel, &conn->answer, latency_ns);
}

/* ---- the opener's turn ---- */

/* As many connects under way as the permits of a handshake's time, at least the setting. */
static int64_t inflight_limit(struct dsql_sim_process *process)
{
    const struct dsql_sim_scenario *scenario = process->world->scenario;
    int64_t needed = scenario->budget.rate * process->handshake_ns * 3 / 2 / DSQL_S + 1;
    int64_t limit = scenario->pool.inflight_limit;
    return dsql_refill_limit(&process->refill, needed > limit ? needed : limit);
}

static int64_t open_what_is_wanted(struct dsql_sim_process *process, struct dsql_mono now)
{
    struct dsql_reservoir *reservoir = &process->reservoir;
    struct dsql_sim_allowance *allowance = process->allowance;
    for (;;) {
        int64_t slots = allowance->ops->slots(allowance);
        int64_t wait_ns = dsql_refill_wait_ns(&process->refill, now);
        uint32_t slot;
        bool evicted;
        if (!dsql_reservoir_wants(reservoir, slots, (uint32_t)process->waiting.count, now) ||
            reservoir->opening >= inflight_limit(process))
            return INT64_MAX;
        if (wait_ns > 0)
            return wait_ns;
        if (process->world->token_failure.active > 0) {
            process->counts.token_failures++;
            return DSQL_S;
        }
        if (!allowance->ops->permit(allowance, now, &wait_ns))
            return wait_ns;
        if (!dsql_reservoir_begin(reservoir, slots, &slot, &evicted))
            return 0;
        if (evicted) {
            process->counts.discards[DSQL_CLOSE_EXPIRING_SOON_ON_SCAN]++;
            hang_up(&process->conns[slot]);
            dsql_sim_check_open(process);
        }
        tell_budget(process);
        connect_begin(process, slot);
    }
}

static void take_turn(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_process *process = arg;
    struct dsql_mono now = dsql_sim_process_now(process);
    struct dsql_reservoir *reservoir = &process->reservoir;
    struct dsql_sim_allowance *allowance = process->allowance;
    uint32_t slot;
    enum dsql_discard why;
    if (process->life == DSQL_SIM_OFF || dsql_sim_process_is_paused(process, &process->turn))
        return;
    int64_t wait_ns;
    do {
        while (dsql_reservoir_evict(reservoir, allowance->ops->slots(allowance), now, &slot, &why))
            close_conn(process, &process->conns[slot], why);
        if (process->life == DSQL_SIM_DRAINS)
            return;
        wait_ns = dsql_mono_before(now, process->connect_from)
                      ? dsql_mono_since(process->connect_from, now)
                      : open_what_is_wanted(process, now);
    } while (wait_ns == 0);
    int64_t reservoir_ns = dsql_reservoir_wait_ns(reservoir, now);
    if (reservoir_ns < wait_ns)
        wait_ns = reservoir_ns;
    if (wait_ns != INT64_MAX)
        dsql_sim_after(kernel, &process->turn, dsql_sim_process_to_world(process, wait_ns));
}

/* ---- its life ---- */

static void start_now(struct dsql_sim_kernel *kernel, void *arg)
{
    (void)kernel;
    dsql_sim_process_start(arg);
}

enum dsql_rc dsql_sim_process_init(struct dsql_sim_process *process, struct dsql_sim_world *world,
                                   size_t service_index, size_t number)
{
    const struct dsql_sim_clocks *clocks = &world->scenario->clocks;
    const struct dsql_sim_service *services = world->scenario->services.items;
    *process = (struct dsql_sim_process){
        .world = world,
        .service = &services[service_index],
        .service_index = service_index,
        .number = number,
        .rng = dsql_rng_split(&world->kernel.rng),
        .converged = {-1},
    };
    process->drift_ppm = dsql_rng_between(&process->rng, -clocks->drift_ppm, clocks->drift_ppm);
    process->wall_offset_ns =
        dsql_rng_between(&process->rng, -clocks->offset_ns, clocks->offset_ns);
    process->mono_base_ns = dsql_rng_between(&process->rng, 0, 1000 * DSQL_H);
    dsql_sim_event_init(&process->turn, take_turn, process);
    dsql_sim_event_init(&process->start, start_now, process);
    size_t capacity = (size_t)dsql_sim_process_target(process);
    process->conns = calloc(capacity, sizeof *process->conns);
    if (!process->conns)
        return DSQL_NO_MEMORY;
    for (uint32_t slot = 0; slot < capacity; slot++) {
        struct dsql_sim_conn *conn = &process->conns[slot];
        conn->process = process;
        conn->slot = slot;
        dsql_sim_event_init(&conn->answer, connect_answered, conn);
        dsql_sim_event_init(&conn->fate, cluster_hangs_up, conn);
    }
    return DSQL_OK;
}

/* Forgets what a process keeps in memory. */
static void forget(struct dsql_sim_process *process)
{
    if (process->life == DSQL_SIM_OFF)
        return;
    process->allowance->ops->destroy(process->allowance);
    process->allowance = NULL;
    dsql_reservoir_fini(&process->reservoir);
    process->life = DSQL_SIM_OFF;
    dsql_sim_record_held(process);
}

void dsql_sim_process_fini(struct dsql_sim_process *process)
{
    forget(process);
    while (process->callers) {
        struct dsql_sim_caller *caller = process->callers;
        process->callers = caller->next_made;
        free(caller);
    }
    free(process->conns);
}

void dsql_sim_process_start(struct dsql_sim_process *process)
{
    struct dsql_sim_world *world = process->world;
    const struct dsql_sim_pool *pool = &world->scenario->pool;
    if (process->life != DSQL_SIM_OFF)
        return;
    struct dsql_mono now = dsql_sim_process_now(process);
    uint32_t target = (uint32_t)dsql_sim_process_target(process);
    const struct dsql_reservoir_config config = {
        .capacity = target,
        .target = target,
        .lifetime = {pool->base_lifetime_ns, pool->lifetime_jitter_ns, pool->guard_window_ns},
    };
    if (dsql_reservoir_init(&process->reservoir, &config, now) != DSQL_OK) {
        world->kernel.no_memory = true;
        return;
    }
    process->lives++;
    int kind = world->scenario->budget.kind;
    process->allowance = kind == DSQL_SIM_BLOCKS   ? dsql_sim_allowance_blocks(process)
                         : kind == DSQL_SIM_LEASES ? dsql_sim_allowance_leases(process)
                                                   : dsql_sim_allowance_local(process);
    if (!process->allowance) {
        dsql_reservoir_fini(&process->reservoir);
        world->kernel.no_memory = true;
        return;
    }
    process->life = DSQL_SIM_RUNS;
    dsql_refill_init(&process->refill, NULL, now);
    process->handshake_ns = 0;
    process->in_use = 0;
    process->started = process->last_full = process->beat_at = process->silent_until =
        world->kernel.now;
    process->converged = (struct dsql_mono){-1};
    process->full = false;
    process->connect_from =
        dsql_mono_add(now, dsql_rng_between(&process->rng, 0, pool->staggered_startup_ns));
    dsql_sim_workload_start(process);
    dsql_sim_process_wake(process);
}

void dsql_sim_process_crash(struct dsql_sim_process *process)
{
    if (process->life == DSQL_SIM_OFF)
        return;
    dsql_sim_workload_stop(process);
    for (uint32_t slot = 0; slot < process->reservoir.config.capacity; slot++)
        hang_up(&process->conns[slot]);
    dsql_sim_cancel(&process->world->kernel, &process->turn);
    process->paused_until = process->world->kernel.now;
    forget(process);
}

void dsql_sim_process_drain(struct dsql_sim_process *process)
{
    uint32_t hint = 0, slot;
    if (process->life != DSQL_SIM_RUNS)
        return;
    process->life = DSQL_SIM_DRAINS;
    dsql_sim_workload_stop(process);
    process->allowance->ops->drain(process->allowance);
    while ((slot = dsql_ready_set_take(&process->reservoir.ready, &hint)) != DSQL_READY_NONE)
        dsql_sim_process_discard(process, &process->conns[slot], DSQL_CLOSE_DRAIN);
}
