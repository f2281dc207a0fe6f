/*
 * A simulation that begins where a recorded pool was. The recording is made here, of a keeper whose
 * world is known to the digit: so what is fitted to it can be told, and what another setting does.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pool/trace.h"
#include "sim/origin.h"
#include "sim/report.h"
#include "support/test.h"

enum { SLOTS = 12, TARGET = 8, SECONDS = 200, STEP_MS = 50, AWAY_MS = 500 };

static const struct dsql_mono start = {DSQL_H};

struct day {
    struct dsql_keeper keeper;
    struct dsql_trace *trace;
    struct dsql_mono now;
    struct dsql_mono ends[SLOTS];  /* of a connect; 0: none is under way */
    struct dsql_mono backs[SLOTS]; /* its caller has it until then */
    bool looked[SLOTS];            /* since it was opened */
    unsigned connects, looks;
};

static char folder[64], path[128];

static struct dsql_keeper_reply tell(struct day *day, struct dsql_keeper_call call)
{
    struct dsql_keeper_reply reply;
    dsql_trace_call(day->trace, &day->keeper, &call, &reply);
    return reply;
}

/* Every second connection that is looked at for the first time is in use, and half a second later
 * it is back. */
static uint32_t look_at(struct day *day, uint32_t slot)
{
    if (slot == DSQL_SLOT_NONE)
        return DSQL_SLOT_NONE;
    if (!day->looked[slot] && day->looks++ % 2 == 0)
        day->backs[slot] = dsql_mono_add(day->now, AWAY_MS * DSQL_MS);
    day->looked[slot] = true;
    return dsql_mono_before(day->now, day->backs[slot]) ? DSQL_SLOT_NONE : slot;
}

static void carry_out(struct day *day, const struct dsql_keeper_step *step)
{
    switch (step->what) {
    case DSQL_KEEPER_SLOTS:
        (void)tell(day, (struct dsql_keeper_call){
                            .kind = DSQL_KEEPER_CALL_SLOTS, .count = SLOTS, .rate = 10});
        break;
    case DSQL_KEEPER_CLAIM:
    case DSQL_KEEPER_TAKE:
        (void)tell(day, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_CLAIMED,
                                                  .slot = look_at(day, step->slot)});
        break;
    case DSQL_KEEPER_PERMIT:
        (void)tell(day, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_PERMIT, .yes = true});
        break;
    case DSQL_KEEPER_PREPARE:
        (void)tell(day, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_PREPARED, .yes = true});
        break;
    case DSQL_KEEPER_OPEN: /* 20 to 60 ms */
        day->ends[step->slot] =
            dsql_mono_add(day->now, (20 + 10 * (int64_t)(day->connects++ % 5)) * DSQL_MS);
        break;
    case DSQL_KEEPER_CLOSE:
    case DSQL_KEEPER_OFFER:
    case DSQL_KEEPER_CUT:
    case DSQL_KEEPER_REPORT:
    case DSQL_KEEPER_SLEEP:
        break;
    }
}

/* Connects that end before the next turn, and connections that were told to be closed. */
static void end_connects(struct day *day, const struct dsql_keeper_step *closes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)tell(day, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_CLOSED,
                                                  .slot = closes[i].slot});
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        struct dsql_mono end = day->ends[slot];
        if (end.ns == 0 || !dsql_mono_before(end, dsql_mono_add(day->now, STEP_MS * DSQL_MS)))
            continue;
        day->ends[slot] = (struct dsql_mono){0};
        day->looked[slot] = false;
        (void)tell(day, (struct dsql_keeper_call){
                            .kind = DSQL_KEEPER_CALL_OPENED, .slot = slot, .now = end});
    }
}

static void take_turn(struct day *day, uint32_t waiting)
{
    struct dsql_keeper_step step, closes[SLOTS];
    size_t count = 0;
    (void)tell(day, (struct dsql_keeper_call){
                        .kind = DSQL_KEEPER_CALL_TURN, .now = day->now, .count = waiting});
    do {
        step = tell(day, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_NEXT}).step;
        if (step.what == DSQL_KEEPER_CLOSE)
            closes[count++] = step;
        carry_out(day, &step);
    } while (step.what != DSQL_KEEPER_SLEEP);
    end_connects(day, closes, count);
}

static void record(bool drained)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const struct dsql_keeper_config config = {
        .max_open = SLOTS,
        .target = TARGET,
        .lifetime = {60 * DSQL_S, 20 * DSQL_S, 5 * DSQL_S},
        .inflight_limit = 8,
        .connect_timeout_ns = 10 * DSQL_S,
        .empty_wait_ns = 100 * DSQL_MS,
        .permit_wait_ns = 30 * DSQL_S,
        .permit_backoff_ns = 25 * DSQL_MS,
    };
    struct day day = {.now = start};
    struct dsql_err err = {0};
    assert_int_equal(dsql_keeper_init(&day.keeper, &config, dsql_rng_seeded(7), start), DSQL_OK);
    if (dsql_trace_open(path, SLOTS, &dsql_clock_system, &lock, &day.trace, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    pthread_mutex_lock(&lock);
    for (int64_t i = 0; i < (int64_t)SECONDS * 1000 / STEP_MS; i++) {
        day.now = dsql_mono_add(start, i * STEP_MS * DSQL_MS);
        take_turn(&day, 0);
    }
    if (drained) {
        (void)tell(&day, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_DRAIN});
        day.now = dsql_mono_add(start, SECONDS * DSQL_S);
        take_turn(&day, 0);
    }
    pthread_mutex_unlock(&lock);
    dsql_trace_close(day.trace, &day.keeper);
    dsql_keeper_fini(&day.keeper);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/dsql-origin-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/pool", folder);
    record(true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static struct dsql_span read_recording(void)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t len = (size_t)ftell(file);
    char *bytes = malloc(len + 1);
    rewind(file);
    assert_int_equal(fread(bytes, 1, len, file), len);
    (void)fclose(file);
    return (struct dsql_span){bytes, len};
}

/* What comes of the recording with one setting changed; NULL: with none. */
struct outcome {
    struct dsql_sim_counts counts;
    int64_t open_at_start, open;
    struct dsql_sim_origin origin; /* its keeper is finished */
    struct dsql_sim_workload workload;
};

static void simulate(int64_t at_ns, const char *const *settings, struct outcome *outcome)
{
    struct dsql_span file = read_recording();
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    struct dsql_err err = {0};
    if (dsql_sim_origin_read(file, "pool", at_ns, &outcome->origin, &scenario, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    free((char *)(uintptr_t)file.ptr);
    outcome->workload = ((struct dsql_sim_service *)scenario.services.items)->workload;
    for (; *settings; settings++)
        if (dsql_sim_scenario_set(&scenario, *settings, &err) != DSQL_OK)
            fail_msg("%s", err.message);
    assert_int_equal(dsql_sim_scenario_check(&scenario, "pool", &err), DSQL_OK);
    assert_int_equal(dsql_sim_world_init(&world, &scenario, 1, &err), DSQL_OK);
    (void)dsql_sim_world_advance(&world, 1);
    outcome->open_at_start = world.processes[0].keeper.slots.open;
    while (dsql_sim_world_advance(&world, DSQL_S))
        ;
    assert_int_equal(world.checks.failure_count, 0);
    dsql_sim_world_counts(&world, &outcome->counts);
    outcome->open = world.processes[0].keeper.slots.open;
    dsql_sim_world_fini(&world);
    dsql_sim_scenario_fini(&scenario);
    dsql_sim_origin_fini(&outcome->origin);
}

static const char *const as_recorded[] = {NULL};

TEST(what_a_recording_tells_is_fitted)
{
    struct outcome o;
    simulate(100 * DSQL_S, as_recorded, &o);
    const struct dsql_sim_fit *fit = &o.origin.fit;
    assert_int_equal(fit->shortest_ns, 20 * DSQL_MS);
    assert_in_range(fit->mean_ns, 35 * DSQL_MS, 45 * DSQL_MS);
    assert_true(fit->rate == 10 && fit->failures == 0 && fit->hang_ups == 0);
    assert_in_range(fit->burst, TARGET, SLOTS); /* all of them at the start */
    assert_true(fit->looks >= 10 && fit->looks_in_use * 2 >= fit->looks - 1 &&
                fit->looks_in_use * 2 <= fit->looks + 1);
    assert_true(fit->in_use > 0.4 * TARGET && fit->in_use < 0.75 * TARGET);
    /* As exact as the turns at which it was looked for. */
    assert_in_range(fit->hold_ns, AWAY_MS * DSQL_MS, (AWAY_MS + 1100) * DSQL_MS);
    assert_true(o.workload.interval_ns > 0);
    double callers = ((double)o.workload.hold_ns + (double)o.workload.hold_jitter_ns / 2) /
                     (double)o.workload.interval_ns;
    assert_true(callers > 0.9 * fit->in_use && callers < 1.1 * fit->in_use);
    assert_in_range(o.origin.at_ns, 99900 * DSQL_MS, 100 * DSQL_S);
    assert_in_range(o.origin.rest_ns, 99 * DSQL_S, 101 * DSQL_S);
}

TEST(it_begins_with_the_connections_of_that_moment)
{
    struct outcome middle, first;
    simulate(100 * DSQL_S, as_recorded, &middle);
    assert_in_range(middle.open_at_start, TARGET, SLOTS);
    /* About as many connects as in reality: each life is drawn anew. */
    uint64_t recorded = middle.origin.after.connects;
    assert_true(recorded > 5);
    assert_in_range(middle.counts.attempts, recorded / 2, recorded * 2);
    /* Without a moment it begins at the last snapshot: here the first, with nothing open. */
    simulate(-1, as_recorded, &first);
    assert_int_equal(first.open_at_start, 0);
    assert_int_equal(first.origin.at_ns, 0);
    assert_true(first.counts.attempts > middle.counts.attempts);
}

TEST(another_setting_has_another_outcome)
{
    static const char *const many[] = {"pool.targetReady=30", "pool.maxOpen=32", NULL};
    static const char *const brief[] = {"pool.baseLifetime=20s", "pool.lifetimeJitter=5s", NULL};
    static const char *const few[] = {"pool.targetReady=2", NULL};
    static const char *const busy[] = {"services.workload.hold=5s", "services.workload.spawn=100ms",
                                       "services.workload.maxInUse=100", NULL};
    struct outcome as_it_was, more, shorter, fewer, busier;
    simulate(100 * DSQL_S, as_recorded, &as_it_was);
    assert_in_range(as_it_was.open, TARGET, SLOTS);
    simulate(100 * DSQL_S, many, &more);
    assert_in_range(more.open, 30, 32);
    assert_true(more.counts.attempts > as_it_was.counts.attempts + 20);
    simulate(100 * DSQL_S, brief, &shorter);
    assert_true(shorter.counts.attempts > 2 * as_it_was.counts.attempts);
    simulate(100 * DSQL_S, few, &fewer);
    assert_true(fewer.counts.attempts < as_it_was.counts.attempts);
    simulate(100 * DSQL_S, busy, &busier);
    assert_int_equal(as_it_was.counts.late_empties, 0);
    assert_true(busier.counts.late_empties > 100);
}

static void refused(struct dsql_span file, int64_t at_ns, const char *setting, const char *text)
{
    struct dsql_sim_origin origin;
    struct dsql_sim_scenario scenario;
    struct dsql_err err = {0};
    enum dsql_rc rc = dsql_sim_origin_read(file, "pool", at_ns, &origin, &scenario, &err);
    if (rc == DSQL_OK) {
        rc = dsql_sim_scenario_set(&scenario, setting, &err);
        if (rc == DSQL_OK)
            rc = dsql_sim_scenario_check(&scenario, "pool", &err);
        dsql_sim_scenario_fini(&scenario);
        dsql_sim_origin_fini(&origin);
    }
    if (rc != DSQL_INVALID || !strstr(err.message, text))
        fail_msg("expected '%s', not %d '%s'", text, (int)rc, err.message);
}

TEST(what_can_not_be_simulated_is_refused)
{
    struct dsql_span file = read_recording();
    refused((struct dsql_span){file.ptr, 0}, -1, "seed=1", "nothing is recorded here");
    refused((struct dsql_span){file.ptr, DSQL_TRACE_HEADER + 10}, -1, "seed=1", "cut off");
    refused((struct dsql_span){"no recording", 12}, -1, "seed=1", "no recording of a pool");
    refused(file, 201 * DSQL_S, "seed=1", "the recording lasts for ");
    refused(file, 100 * DSQL_S, "pool.maxOpen", "expected FIELD=VALUE");
    refused(file, 100 * DSQL_S, "pool.targetready=3", "the pool has no field 'targetready'");
    refused(file, 100 * DSQL_S, "pool.targetReady=0", "a whole number from 1 to 10000");
    refused(file, 100 * DSQL_S, "pool=3", "pool is no single value");
    refused(file, 100 * DSQL_S, "seed.x=3", "seed has no fields of its own");
    refused(file, 100 * DSQL_S, "pool.guardWindow=29m", "guardWindow must be shorter");
    /* Too few slots for what is open. */
    struct dsql_sim_origin origin;
    struct dsql_sim_scenario scenario;
    struct dsql_err err = {0};
    assert_int_equal(dsql_sim_origin_read(file, "pool", 100 * DSQL_S, &origin, &scenario, &err),
                     DSQL_OK);
    assert_int_equal(dsql_sim_scenario_set(&scenario, "pool.maxOpen=4", &err), DSQL_OK);
    assert_int_equal(dsql_sim_scenario_set(&scenario, "pool.targetReady=4", &err), DSQL_OK);
    assert_int_equal(dsql_sim_scenario_check(&scenario, "pool", &err), DSQL_INVALID);
    assert_non_null(strstr(err.message, "pool.maxOpen can't be smaller"));
    dsql_sim_scenario_fini(&scenario);
    dsql_sim_origin_fini(&origin);
    /* A byte of its only part that is not what was written. */
    ((char *)(uintptr_t)file.ptr)[1000] ^= 1;
    refused(file, -1, "seed=1", "cut off");
    free((char *)(uintptr_t)file.ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_recording_tells_is_fitted),
        cmocka_unit_test(it_begins_with_the_connections_of_that_moment),
        cmocka_unit_test(another_setting_has_another_outcome),
        cmocka_unit_test(what_can_not_be_simulated_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
