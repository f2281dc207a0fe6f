/* Puts a world together, lets it run, and lets the scenario's events happen to it. */
#include "sim/world.h"

#include <stdlib.h>

static const char *what_name(const struct dsql_sim_happening *happening)
{
    static const char *const names[] = {
        [DSQL_SIM_DROP] = "drop",
        [DSQL_SIM_REFUSE] = "refuse",
        [DSQL_SIM_STALL] = "stall",
        [DSQL_SIM_THROTTLE] = "throttle",
        [DSQL_SIM_DDB_OUTAGE] = "dynamodb-outage",
        [DSQL_SIM_DDB_THROTTLE] = "dynamodb-throttle",
        [DSQL_SIM_TOKEN] = "token-failure",
        [DSQL_SIM_DENY] = "deny",
        [DSQL_SIM_CLOCK] = "clock-step",
        [DSQL_SIM_CRASH] = "crash",
        [DSQL_SIM_STOP] = "stop",
        [DSQL_SIM_PAUSE] = "pause",
        [DSQL_SIM_RESTART] = "restart",
        [DSQL_SIM_COPY] = "copy",
    };
    return names[happening->what];
}

/* -- Faults that last. */

static struct dsql_sim_fault *fault_of(struct dsql_sim_world *world,
                                       const struct dsql_sim_happening *happening)
{
    assert(world);
    switch ((enum dsql_sim_what)happening->what) {
    case DSQL_SIM_REFUSE:
        return &world->cluster.refuse;
    case DSQL_SIM_STALL:
        return &world->cluster.stall;
    case DSQL_SIM_THROTTLE:
        return &world->cluster.throttle;
    case DSQL_SIM_DENY:
        return &world->cluster.deny;
    case DSQL_SIM_TOKEN:
        return &world->token_failure;
    case DSQL_SIM_DDB_OUTAGE:
        return &world->dynamodb_outage;
    case DSQL_SIM_DDB_THROTTLE:
        return &world->dynamodb_throttle;
    case DSQL_SIM_DROP:
    case DSQL_SIM_CLOCK:
    case DSQL_SIM_CRASH:
    case DSQL_SIM_STOP:
    case DSQL_SIM_PAUSE:
    case DSQL_SIM_RESTART:
    case DSQL_SIM_COPY:
        break;
    }
    return NULL;
}

/* -- Things that happen to processes. */

static void come_back(struct dsql_sim_process *process, int64_t after_ns)
{
    dsql_sim_after(&process->world->kernel, &process->start, after_ns);
}

/* Another that runs, of the same service; NULL if there is none. */
static struct dsql_sim_process *twin_of(struct dsql_sim_process *process)
{
    struct dsql_sim_world *world = process->world;
    struct dsql_sim_process *found = NULL;
    uint64_t candidates = 0;
    for (size_t i = 0; i < world->process_count; i++) {
        struct dsql_sim_process *other = &world->processes[i];
        if (other == process || other->life != DSQL_SIM_RUNS || other->service != process->service)
            continue;
        if (dsql_rng_below(&world->kernel.rng, ++candidates) == 0)
            found = other;
    }
    return found;
}

static void strike(struct dsql_sim_occurrence *occurrence, struct dsql_sim_process *process)
{
    const struct dsql_sim_happening *happening = occurrence->happening;
    struct dsql_sim_kernel *kernel = &process->world->kernel;
    switch ((enum dsql_sim_what)happening->what) {
    case DSQL_SIM_CLOCK:
        process->wall_offset_ns += happening->step_ns;
        break;
    case DSQL_SIM_CRASH:
        dsql_sim_process_crash(process);
        come_back(process, happening->for_ns);
        break;
    case DSQL_SIM_STOP:
    case DSQL_SIM_RESTART:
        dsql_sim_process_drain(process);
        come_back(process, happening->for_ns);
        break;
    case DSQL_SIM_PAUSE:
        process->paused_until = dsql_mono_add(kernel->now, happening->for_ns);
        break;
    case DSQL_SIM_COPY:
        if (process->life == DSQL_SIM_RUNS)
            dsql_sim_process_copy(process, twin_of(process));
        break;
    case DSQL_SIM_DROP:
    case DSQL_SIM_REFUSE:
    case DSQL_SIM_STALL:
    case DSQL_SIM_THROTTLE:
    case DSQL_SIM_DDB_OUTAGE:
    case DSQL_SIM_DDB_THROTTLE:
    case DSQL_SIM_TOKEN:
    case DSQL_SIM_DENY:
        break;
    }
}

static bool concerns(const struct dsql_sim_happening *happening,
                     const struct dsql_sim_process *process)
{
    return !happening->service[0] || strcmp(happening->service, process->service->name) == 0;
}

/* All it concerns, or `count` of them drawn at random; restart takes them in order. */
static void strike_processes(struct dsql_sim_occurrence *occurrence)
{
    struct dsql_sim_world *world = occurrence->world;
    const struct dsql_sim_happening *happening = occurrence->happening;
    bool in_order = happening->what == DSQL_SIM_RESTART;
    int64_t left = happening->count, candidates = 0;
    if (left == 0)
        left = in_order ? 1 : INT64_MAX;
    for (size_t i = 0; i < world->process_count; i++)
        candidates += concerns(happening, &world->processes[i]);
    for (size_t i = 0; i < world->process_count && left > 0; i++) {
        struct dsql_sim_process *process = &world->processes[i];
        if (!concerns(happening, process))
            continue;
        if (in_order) {
            if (i < occurrence->next)
                continue;
            occurrence->next = i + 1;
        } else if ((int64_t)dsql_rng_below(&world->kernel.rng, (uint64_t)candidates--) >= left) {
            continue;
        }
        left--;
        strike(occurrence, process);
    }
}

static void occurrence_begin(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_occurrence *occurrence = arg;
    struct dsql_sim_world *world = occurrence->world;
    const struct dsql_sim_happening *happening = occurrence->happening;
    struct dsql_sim_fault *fault = fault_of(world, happening);
    struct dsql_mono over = dsql_mono_add(kernel->now, happening->for_ns);
    if (dsql_mono_before(world->quiet_from, over))
        world->quiet_from = over;
    dsql_sim_record_mark(world, what_name(happening), happening->service);
    if (fault) {
        /* One that begins again before it ended goes on. */
        fault->active += !dsql_sim_event_is_due(&occurrence->end);
        fault->fraction = happening->fraction;
    } else if (happening->what == DSQL_SIM_DROP) {
        dsql_sim_cluster_drop(world, happening->fraction);
    } else {
        strike_processes(occurrence);
    }
    dsql_sim_after(kernel, &occurrence->end, happening->for_ns);
    if (--occurrence->times_left > 0)
        dsql_sim_after(kernel, &occurrence->begin, happening->every_ns);
}

static void occurrence_end(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_occurrence *occurrence = arg;
    struct dsql_sim_world *world = occurrence->world;
    struct dsql_sim_fault *fault = fault_of(world, occurrence->happening);
    if (fault)
        fault->active--;
    occurrence->over = kernel->now;
    if (occurrence->times_left == 0 && world->scenario->asserts.recover_within_ns > 0)
        dsql_sim_after(kernel, &occurrence->deadline, world->scenario->asserts.recover_within_ns);
}

static void occurrence_deadline(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_occurrence *occurrence = arg;
    struct dsql_sim_world *world = occurrence->world;
    (void)kernel;
    if (dsql_mono_before(occurrence->over, world->quiet_from))
        return; /* the later one has a deadline of its own */
    for (size_t i = 0; i < world->process_count; i++) {
        const struct dsql_sim_process *process = &world->processes[i];
        int64_t target = dsql_sim_process_target(process);
        if (process->life != DSQL_SIM_RUNS || (int64_t)process->keeper.slots.open >= target ||
            (process->converged.ns >= 0 && !dsql_mono_before(process->last_full, occurrence->over)))
            continue;
        dsql_sim_fail(world, "assertRecoverWithin",
                      "%s #%zu: %u of %lld open, and never all since '%s' ended",
                      process->service->name, process->number, process->keeper.slots.open,
                      (long long)target, what_name(occurrence->happening));
    }
}

/* A process that was drained and is not gone when it has to be back is killed, as an orchestrator
 * does. */
static void start_again(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_process *process = arg;
    (void)kernel;
    dsql_sim_process_crash(process);
    dsql_sim_process_start(process);
}

/* -- All of it. */

static void take_sample(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_world *world = arg;
    dsql_sim_check_sample(world);
    dsql_sim_record_sample(world);
    dsql_sim_after(kernel, &world->sample, world->scenario->sample_ns);
}

static size_t count_processes(const struct dsql_sim_scenario *scenario)
{
    const struct dsql_sim_service *services = scenario->services.items;
    size_t count = 0;
    for (size_t i = 0; i < scenario->services.count; i++)
        count += (size_t)services[i].count;
    return count;
}

static enum dsql_rc people(struct dsql_sim_world *world)
{
    const struct dsql_sim_scenario *scenario = world->scenario;
    const struct dsql_sim_service *services = scenario->services.items;
    size_t count = count_processes(scenario);
    assert(count > 0); /* a scenario has a service, and that a process */
    world->processes = calloc(count, sizeof(*world->processes));
    if (!world->processes)
        return DSQL_NO_MEMORY;
    for (size_t i = 0; i < scenario->services.count; i++) {
        for (int64_t k = 0; k < services[i].count; k++) {
            struct dsql_sim_process *process = &world->processes[world->process_count];
            if (dsql_sim_process_init(process, world, i, (size_t)k) != DSQL_OK)
                return DSQL_NO_MEMORY;
            world->process_count++;
            dsql_sim_event_init(&process->start, start_again, process);
            dsql_sim_after(&world->kernel, &process->start,
                           services[i].start_ns + k * services[i].start_step_ns);
        }
    }
    return DSQL_OK;
}

static enum dsql_rc arrange(struct dsql_sim_world *world)
{
    const struct dsql_shape_list *list = &world->scenario->happenings;
    const struct dsql_sim_happening *happenings = list->items;
    if (list->count == 0)
        return DSQL_OK;
    world->occurrences = calloc(list->count, sizeof(*world->occurrences));
    if (!world->occurrences)
        return DSQL_NO_MEMORY;
    for (size_t i = 0; i < list->count; i++) {
        struct dsql_sim_occurrence *occurrence = &world->occurrences[i];
        occurrence->world = world;
        occurrence->happening = &happenings[i];
        occurrence->times_left = happenings[i].times;
        dsql_sim_event_init(&occurrence->begin, occurrence_begin, occurrence);
        dsql_sim_event_init(&occurrence->end, occurrence_end, occurrence);
        dsql_sim_event_init(&occurrence->deadline, occurrence_deadline, occurrence);
        dsql_sim_after(&world->kernel, &occurrence->begin, happenings[i].at_ns);
    }
    return DSQL_OK;
}

enum dsql_rc dsql_sim_world_init(struct dsql_sim_world *world,
                                 const struct dsql_sim_scenario *scenario, uint64_t seed,
                                 struct dsql_err *err)
{
    *world = (struct dsql_sim_world){.scenario = scenario, .seed = seed};
    dsql_sim_kernel_init(&world->kernel, seed);
    world->cluster.rng = dsql_rng_split(&world->kernel.rng);
    world->table.rng = dsql_rng_split(&world->kernel.rng);
    world->table.nonces = dsql_rng_seeded(seed ^ UINT64_C(0x6e6f6e6365));
    dsql_bucket_init(&world->cluster.bucket, scenario->cluster.rate, scenario->cluster.burst,
                     world->kernel.now);
    if (scenario->dynamodb.write_units > 0) {
        dsql_bucket_init(&world->table.units, scenario->dynamodb.write_units,
                         scenario->dynamodb.write_units, world->kernel.now);
    }
    enum dsql_rc rc = dsql_sim_record_init(&world->record, scenario);
    if (!rc)
        rc = people(world);
    if (!rc)
        rc = arrange(world);
    if (rc) {
        dsql_sim_world_fini(world);
        return dsql_err_set(err, rc, "no memory for the world of '%s'", scenario->name);
    }
    dsql_sim_event_init(&world->sample, take_sample, world);
    dsql_sim_after(&world->kernel, &world->sample, 0);
    return DSQL_OK;
}

void dsql_sim_world_fini(struct dsql_sim_world *world)
{
    /* Whatever is cancelled moves other events: all of them are there until none is cancelled any
     * more. */
    for (size_t i = 0; i < world->process_count; i++)
        dsql_sim_process_crash(&world->processes[i]);
    dsql_sim_table_fini(&world->table);
    for (size_t i = 0; i < world->process_count; i++)
        dsql_sim_process_fini(&world->processes[i]);
    free(world->processes);
    free(world->occurrences);
    dsql_sim_record_fini(&world->record);
    dsql_sim_kernel_fini(&world->kernel);
}

bool dsql_sim_world_advance(struct dsql_sim_world *world, int64_t ns)
{
    struct dsql_mono end = {world->scenario->duration_ns};
    struct dsql_mono until = dsql_mono_add(world->kernel.now, ns);
    if (dsql_mono_before(until, end)) {
        dsql_sim_run(&world->kernel, until);
        return true;
    }
    dsql_sim_run(&world->kernel, end);
    dsql_sim_check_end(world);
    return false;
}

void dsql_sim_world_counts(const struct dsql_sim_world *world, struct dsql_sim_counts *counts)
{
    *counts = (struct dsql_sim_counts){0};
    for (size_t i = 0; i < world->process_count; i++) {
        const struct dsql_sim_counts *one = &world->processes[i].counts;
        counts->attempts += one->attempts;
        counts->opens += one->opens;
        counts->token_failures += one->token_failures;
        counts->permit_failures += one->permit_failures;
        counts->slot_failures += one->slot_failures;
        counts->checkouts += one->checkouts;
        counts->empties += one->empties;
        counts->late_empties += one->late_empties;
        counts->waits += one->waits;
        if (one->longest_wait_ns > counts->longest_wait_ns)
            counts->longest_wait_ns = one->longest_wait_ns;
        for (size_t k = 0; k < DSQL_SIM_VERDICTS; k++)
            counts->failures[k] += one->failures[k];
        for (size_t k = 0; k < DSQL_DISCARDS; k++)
            counts->discards[k] += one->discards[k];
    }
}
