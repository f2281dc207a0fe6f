/* A process: what core's keeper says is carried out here, in virtual time. */
#include <stdlib.h>

#include "base/least.h"
#include "sim/post.h"

enum { MILLION = 1000000 };

int64_t dsql_sim_process_target(const struct dsql_sim_process *process)
{
    int64_t own = process->service->target_ready;
    return own > 0 ? own : process->world->scenario->pool.target_ready;
}

static int64_t max_open_of(const struct dsql_sim_process *process)
{
    int64_t target = dsql_sim_process_target(process);
    return dsql_most(target, process->world->scenario->pool.max_open);
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

struct dsql_moment dsql_sim_process_moment(const struct dsql_sim_process *process)
{
    /* The world began at some moment of 2026. */
    return (struct dsql_moment){
        dsql_sim_process_now(process),
        {INT64_C(1790000000) * DSQL_S + process->wall_offset_ns + process->world->kernel.now.ns}};
}

int64_t dsql_sim_process_to_world(const struct dsql_sim_process *process, int64_t ns)
{
    if (ns > INT64_C(365) * 24 * DSQL_H)
        return ns;
    /* Rounded up: a process that wakes a moment early only has to sleep again. */
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

bool dsql_sim_process_may_serve(const struct dsql_sim_process *process,
                                const struct dsql_sim_conn *conn, enum dsql_discard expired,
                                enum dsql_discard *why)
{
    const struct dsql_lifespan *life = &process->keeper.slots.items[conn->slot].life;
    return dsql_handout_is_far(life->usable_until.ns, process->near.ns) ||
           dsql_handout_may(life->usable_until.ns, life->dies_at.ns,
                            dsql_sim_process_now(process).ns, expired, why);
}

void dsql_sim_process_discard(struct dsql_sim_process *process, struct dsql_sim_conn *conn,
                              enum dsql_discard why)
{
    dsql_keeper_discard(&process->keeper, conn->slot, why);
    dsql_sim_check_open(process);
    dsql_sim_process_wake(process);
}

/* -- Its budget: whatever is said may be worth a request. */

static void tell(struct dsql_sim_process *process, int64_t n,
                 void (*what)(struct dsql_allowance *allowance, int64_t n))
{
    what(process->sender->allowance, n);
    dsql_sim_sender_pump(process->sender);
}

static void note(struct dsql_sim_process *process,
                 void (*what)(struct dsql_allowance *allowance, struct dsql_moment now))
{
    what(process->sender->allowance, dsql_sim_process_moment(process));
    dsql_sim_sender_pump(process->sender);
}

/* -- Connects. */

static void tell_failure(struct dsql_sim_process *process,
                         const struct dsql_keeper_verdict *verdict)
{
    if (verdict->throttled)
        note(process, dsql_allowance_throttled);
    if (verdict->full)
        note(process, dsql_allowance_refused_full);
}

static void connect_failed(struct dsql_sim_process *process, struct dsql_sim_conn *conn,
                           enum dsql_sim_verdict how)
{
    struct dsql_connect_failure failure = dsql_sim_verdict_failure(how);
    enum dsql_rc rc;
    enum dsql_connect_class cls = dsql_connect_classify(&failure, &rc);
    process->counts.failures[how]++;
    struct dsql_keeper_verdict verdict =
        dsql_keeper_failed(&process->keeper, conn->slot, cls, dsql_sim_process_now(process));
    tell_failure(process, &verdict);
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
        connect_failed(process, conn, conn->verdict);
    } else {
        process->counts.opens++;
        dsql_keeper_opened(&process->keeper, conn->slot, now);
        note(process, dsql_allowance_opened);
        dsql_sim_check_birth(process, conn);
        dsql_sim_check_open(process);
        if (conn->hung_up)
            dsql_sim_process_discard(process, conn, DSQL_DISCARD_SERVER_CLOSED);
        else
            dsql_sim_workload_offer(process, conn);
    }
    dsql_sim_process_wake(process);
}

/* The cluster closes the connection: too old, or dropped. An idle socket is watched; a caller that
 * has the connection finds out. */
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
    if (dsql_ready_set_claim(&process->ready, conn->slot))
        dsql_sim_process_discard(process, conn, DSQL_DISCARD_SERVER_CLOSED);
}

static void connect_begin(struct dsql_sim_process *process, uint32_t slot)
{
    struct dsql_sim_world *world = process->world;
    struct dsql_sim_conn *conn = &process->conns[slot];
    int64_t latency_ns;
    process->counts.attempts++;
    dsql_sim_check_connect(world);
    conn->verdict = dsql_sim_cluster_connect(world, &latency_ns);
    conn->born = world->kernel.now;
    conn->hung_up = false;
    conn->at_cluster = conn->verdict == DSQL_SIM_OPENED;
    if (conn->at_cluster)
        dsql_sim_after(&world->kernel, &conn->fate, world->scenario->cluster.lifetime_ns);
    dsql_sim_after(&world->kernel, &conn->answer, latency_ns);
}

/* -- What the keeper says. */

static void close_conn(struct dsql_sim_process *process, const struct dsql_keeper_step *step)
{
    process->counts.discards[step->discard]++;
    hang_up(&process->conns[step->slot]);
    dsql_keeper_closed(&process->keeper, step->slot);
    dsql_sim_check_open(process);
}

static void cut_connect(struct dsql_sim_process *process, const struct dsql_keeper_step *step)
{
    struct dsql_sim_conn *conn = &process->conns[step->slot];
    hang_up(conn);
    if (step->why == DSQL_WHY_TIMEOUT)
        connect_failed(process, conn, DSQL_SIM_TIMED_OUT);
    else
        dsql_keeper_abandoned(&process->keeper, step->slot);
}

/* Addresses are always known here; a token is missing when its maker does not answer. */
static void prepare(struct dsql_sim_process *process)
{
    if (process->world->token_failure.active > 0) {
        process->counts.token_failures++;
        struct dsql_keeper_verdict verdict =
            dsql_keeper_unprepared(&process->keeper, DSQL_CONNECT_NETWORK);
        tell_failure(process, &verdict);
    } else {
        dsql_keeper_prepared(&process->keeper, true);
    }
}

static void ask_budget(struct dsql_sim_process *process, const struct dsql_keeper_step *step)
{
    struct dsql_allowance *allowance = process->sender->allowance;
    struct dsql_moment now = dsql_sim_process_moment(process);
    if (step->what == DSQL_KEEPER_SLOTS) {
        if (step->count != process->needed)
            tell(process, step->count, dsql_allowance_want);
        process->needed = step->count;
        dsql_keeper_slots(&process->keeper, dsql_allowance_slots(allowance, now),
                          dsql_allowance_rate(allowance, now));
    } else {
        int64_t wait_ns = 0;
        bool given = dsql_allowance_permit(allowance, now, &wait_ns);
        dsql_sim_sender_pump(process->sender);
        dsql_keeper_permit(&process->keeper, given, wait_ns);
    }
}

static void carry_out(struct dsql_sim_process *process, const struct dsql_keeper_step *step)
{
    struct dsql_ready_set *ready = &process->ready;
    uint32_t hint = 0;
    switch (step->what) {
    case DSQL_KEEPER_SLOTS:
    case DSQL_KEEPER_PERMIT:
        ask_budget(process, step);
        break;
    case DSQL_KEEPER_CLAIM:
        dsql_keeper_claimed(&process->keeper,
                            dsql_ready_set_claim(ready, step->slot) ? step->slot : DSQL_SLOT_NONE);
        break;
    case DSQL_KEEPER_TAKE:
        dsql_keeper_claimed(&process->keeper, dsql_ready_set_take(ready, &hint));
        break;
    case DSQL_KEEPER_OFFER:
        dsql_sim_workload_offer(process, &process->conns[step->slot]);
        break;
    case DSQL_KEEPER_PREPARE:
        prepare(process);
        break;
    case DSQL_KEEPER_CLOSE:
        close_conn(process, step);
        break;
    case DSQL_KEEPER_OPEN:
        connect_begin(process, step->slot);
        break;
    case DSQL_KEEPER_CUT:
        cut_connect(process, step);
        break;
    case DSQL_KEEPER_REPORT:
        process->counts.permit_failures += step->why == DSQL_WHY_PERMIT;
        process->counts.slot_failures += step->why == DSQL_WHY_SLOTS;
        break;
    case DSQL_KEEPER_SLEEP:
        process->recall = step->count;
        dsql_sim_after(&process->world->kernel, &process->turn,
                       dsql_sim_process_to_world(process, step->ns));
        break;
    }
}

static void take_turn(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_process *process = arg;
    struct dsql_keeper_step step;
    (void)kernel;
    if (process->life == DSQL_SIM_OFF || dsql_sim_process_is_paused(process, &process->turn))
        return;
    dsql_keeper_turn(&process->keeper, dsql_sim_process_now(process),
                     (uint32_t)process->waiting.count);
    process->near = dsql_keeper_near(&process->keeper);
    do {
        dsql_keeper_next(&process->keeper, &step);
        carry_out(process, &step);
    } while (step.what != DSQL_KEEPER_SLEEP);
    int64_t held = dsql_slots_held(&process->keeper.slots);
    if (held != process->held)
        tell(process, held, dsql_allowance_used);
    process->held = held;
}

/* -- Its life. */

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
    dsql_sim_resume_clock(process);
    dsql_sim_event_init(&process->turn, take_turn, process);
    dsql_sim_event_init(&process->start, start_now, process);
    size_t capacity = (size_t)max_open_of(process);
    process->conns = calloc(capacity, sizeof(*process->conns));
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
    dsql_sim_sender_destroy(process->sender);
    process->sender = NULL;
    dsql_keeper_fini(&process->keeper);
    dsql_ready_set_fini(&process->ready);
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

static struct dsql_keeper_config keeper_config(const struct dsql_sim_process *process)
{
    const struct dsql_sim_pool *pool = &process->world->scenario->pool;
    return (struct dsql_keeper_config){
        .max_open = (uint32_t)max_open_of(process),
        .target = (uint32_t)dsql_sim_process_target(process),
        .lifetime = {pool->base_lifetime_ns, pool->lifetime_jitter_ns, pool->guard_window_ns},
        .start_delay_ns = pool->staggered_startup_ns,
        .inflight_limit = pool->inflight_limit,
        .connect_timeout_ns = pool->connect_timeout_ns,
        .empty_wait_ns = pool->empty_wait_ns,
        .permit_wait_ns = pool->permit_wait_ns,
        .permit_backoff_ns = pool->permit_backoff_ns,
    };
}

static enum dsql_rc remember(struct dsql_sim_process *process)
{
    struct dsql_mono now = dsql_sim_process_now(process);
    struct dsql_keeper_config config = keeper_config(process);
    int kind = process->world->scenario->budget.kind;
    process->ready = (struct dsql_ready_set){0};
    enum dsql_rc rc =
        dsql_sim_resume_is_due(process)
            ? dsql_sim_resume_keeper(process, &config)
            : dsql_keeper_init(&process->keeper, &config, dsql_rng_split(&process->rng), now);
    if (rc || dsql_ready_set_init(&process->ready, config.max_open))
        return DSQL_NO_MEMORY;
    process->sender = kind == DSQL_SIM_BLOCKS   ? dsql_sim_budget_blocks(process)
                      : kind == DSQL_SIM_LEASES ? dsql_sim_budget_leases(process)
                                                : dsql_sim_budget_local(process);
    return process->sender ? DSQL_OK : DSQL_NO_MEMORY;
}

void dsql_sim_process_start(struct dsql_sim_process *process)
{
    struct dsql_sim_world *world = process->world;
    if (process->life != DSQL_SIM_OFF)
        return;
    process->lives++;
    if (remember(process)) {
        dsql_keeper_fini(&process->keeper);
        dsql_ready_set_fini(&process->ready);
        world->kernel.no_memory = true;
        return;
    }
    process->life = DSQL_SIM_RUNS;
    process->near = (struct dsql_mono){INT64_MAX};
    process->recall = process->needed = process->held = 0;
    process->in_use = 0;
    process->started = process->last_full = process->beat_at = process->silent_until =
        world->kernel.now;
    process->converged = (struct dsql_mono){-1};
    process->full = false;
    if (dsql_sim_resume_is_due(process))
        dsql_sim_resume_conns(process);
    dsql_sim_workload_start(process);
    dsql_sim_process_wake(process);
}

void dsql_sim_process_copy(struct dsql_sim_process *process, struct dsql_sim_process *of)
{
    if (!of || !of->sender->ops) /* alone, there is nothing to remember */
        return;
    dsql_sim_process_crash(process);
    process->drift_ppm = of->drift_ppm;
    process->mono_base_ns = of->mono_base_ns;
    process->wall_offset_ns = of->wall_offset_ns;
    dsql_sim_process_start(process);
    if (process->life == DSQL_SIM_RUNS)
        process->sender->ops->remember(process->sender, of->sender);
}

void dsql_sim_process_crash(struct dsql_sim_process *process)
{
    if (process->life == DSQL_SIM_OFF)
        return;
    dsql_sim_workload_stop(process);
    for (uint32_t slot = 0; slot < process->keeper.slots.capacity; slot++)
        hang_up(&process->conns[slot]);
    dsql_sim_cancel(&process->world->kernel, &process->turn);
    process->paused_until = process->world->kernel.now;
    forget(process);
}

void dsql_sim_process_drain(struct dsql_sim_process *process)
{
    if (process->life != DSQL_SIM_RUNS)
        return;
    process->life = DSQL_SIM_DRAINS;
    dsql_sim_workload_stop(process);
    dsql_allowance_drain(process->sender->allowance, true);
    dsql_sim_sender_pump(process->sender);
    dsql_keeper_drain(&process->keeper);
    dsql_sim_process_wake(process);
}
