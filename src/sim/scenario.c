#include "sim/scenario.h"

#include <stdio.h>

#include "base/duration.h"
#include "base/least.h"
#include "sim/origin.h"

#define FIELD(name, kind, type, member, low, high, words, shape, doc)                              \
    {                                                                                              \
        name, DSQL_SHAPE_##kind, offsetof(struct type, member), low, high, words, shape, doc       \
    }
#define FIELD_BOOL(name, type, member, doc) FIELD(name, BOOL, type, member, 0, 0, NULL, NULL, doc)
#define FIELD_INT(name, type, member, low, high, doc)                                              \
    FIELD(name, INT, type, member, low, high, NULL, NULL, doc)
#define FIELD_TIME(name, type, member, low, high, doc)                                             \
    FIELD(name, DURATION, type, member, low, high, NULL, NULL, doc)
#define FIELD_FRACTION(name, type, member, doc)                                                    \
    FIELD(name, FRACTION, type, member, 0, 1, NULL, NULL, doc)
#define FIELD_TEXT(name, type, member, doc) FIELD(name, TEXT, type, member, 0, 0, NULL, NULL, doc)
#define FIELD_CHOICE(name, type, member, words, doc)                                               \
    FIELD(name, CHOICE, type, member, 0, 0, words, NULL, doc)
#define FIELD_MAP(name, type, member, shape, doc)                                                  \
    FIELD(name, MAP, type, member, 0, 0, NULL, shape, doc)
#define FIELD_LIST(name, type, member, shape, doc)                                                 \
    FIELD(name, LIST, type, member, 0, 0, NULL, shape, doc)
#define SHAPE(shape_name, fields, type, defaults, line)                                            \
    {                                                                                              \
        shape_name, fields, DSQL_COUNT_OF(fields), sizeof(struct type), defaults, line             \
    }

#define MAX_TIME (24 * DSQL_H)

/* clang-format off */
#define T dsql_sim_cluster
static const struct dsql_shape_field cluster_fields[] = {
    FIELD_INT("rate", T, rate, 1, 100000, "connects a second that it accepts"),
    FIELD_INT("burst", T, burst, 1, 100000, "connects at once after a quiet time"),
    FIELD_INT("connections", T, connections, 1, 1000000, "connections that it holds"),
    FIELD_TIME("lifetime", T, lifetime_ns, DSQL_S, MAX_TIME, "it closes a connection at this age"),
    FIELD_TIME("connectLatency", T, connect_latency_ns, 0, DSQL_M, "the shortest connect"),
    FIELD_TIME("connectLatencyTail", T, connect_tail_ns, 0, DSQL_M,
               "mean of what comes on top, exponentially distributed"),
};
#undef T
static const struct dsql_shape cluster_shape = SHAPE("the cluster", cluster_fields, dsql_sim_cluster,
    NULL, SIZE_MAX);

static const char *const budget_words[] = {"local", "leases", "blocks", NULL};
#define T dsql_sim_budget
static const struct dsql_shape_field budget_fields[] = {
    FIELD_CHOICE("kind", T, kind, budget_words, "who counts connects and connections"),
    FIELD_INT("rate", T, rate, 1, 1000, "connects a second of the fleet; with `local`, of each process"),
    FIELD_INT("burst", T, burst, 1, 1000, "connects at once after a quiet time"),
    FIELD_INT("connections", T, connections, 1, 1000000, "connections of the fleet"),
    FIELD_INT("headroom", T, headroom, 0, 1000000, "of these, kept back for owners that fell silent"),
    FIELD_TIME("ttl", T, ttl_ns, DSQL_S, DSQL_H, "an owner that is silent for so long is dead"),
};
#undef T
static const struct dsql_shape budget_shape = SHAPE("the budget", budget_fields, dsql_sim_budget,
    NULL, SIZE_MAX);

#define T dsql_sim_pool
static const struct dsql_shape_field pool_fields[] = {
    FIELD_INT("targetReady", T, target_ready, 1, 10000, "connections each process keeps"),
    FIELD_INT("maxOpen", T, max_open, 0, 10000, "and at most, while callers wait; 0: the same"),
    FIELD_INT("lowWatermark", T, low_watermark, 0, 10000, "start waits for so many; 0: for all"),
    FIELD_TIME("baseLifetime", T, base_lifetime_ns, DSQL_S, DSQL_H, "how long a connection lives"),
    FIELD_TIME("lifetimeJitter", T, lifetime_jitter_ns, 0, DSQL_H, "spread around that"),
    FIELD_TIME("guardWindow", T, guard_window_ns, 0, 30 * DSQL_M, "not handed out this close to its end"),
    FIELD_INT("inflightLimit", T, inflight_limit, 1, 1000, "connections being opened at once"),
    FIELD_TIME("staggeredStartup", T, staggered_startup_ns, 0, 10 * DSQL_M, "longest wait before the first"),
    FIELD_TIME("emptyWait", T, empty_wait_ns, 0, DSQL_M, "how long a checkout waits for a connection"),
    FIELD_TIME("connectTimeout", T, connect_timeout_ns, DSQL_MS, 10 * DSQL_M, "limit of one connect"),
    FIELD_TIME("permitWait", T, permit_wait_ns, 0, 10 * DSQL_M, "no permit for so long is a failure"),
    FIELD_TIME("permitBackoff", T, permit_backoff_ns, DSQL_MS, 10 * DSQL_S, "first wait after such a failure"),
};
#undef T
static const struct dsql_shape pool_shape = SHAPE("the pool", pool_fields, dsql_sim_pool, NULL, SIZE_MAX);

#define T dsql_sim_dynamodb
static const struct dsql_shape_field dynamodb_fields[] = {
    FIELD_TIME("latency", T, latency_ns, 0, DSQL_M, "the shortest answer"),
    FIELD_TIME("latencyTail", T, tail_ns, 0, DSQL_M, "mean of what comes on top"),
    FIELD_INT("writeUnits", T, write_units, 0, 1000000, "kilobytes a second that a partition writes; 0: no limit"),
    FIELD_FRACTION("conflict", T, conflict, "transactions that conflict for no reason of ours"),
    FIELD_FRACTION("throttle", T, throttle, "requests that are refused"),
    FIELD_FRACTION("loss", T, loss, "answers that never arrive, though the request was carried out"),
    FIELD_FRACTION("repeat", T, repeat, "requests that are delivered once more; what was lost, only then"),
    FIELD_TIME("late", T, late_ns, 0, DSQL_H, "and how much later, at most"),
};
#undef T
static const struct dsql_shape dynamodb_shape = SHAPE("DynamoDB", dynamodb_fields, dsql_sim_dynamodb,
    NULL, SIZE_MAX);

#define T dsql_sim_clocks
static const struct dsql_shape_field clocks_fields[] = {
    FIELD_TIME("offset", T, offset_ns, 0, MAX_TIME, "wall clocks differ by up to so much, either way"),
    FIELD_INT("driftPpm", T, drift_ppm, 0, 100000, "clocks run fast or slow by up to so many millionths"),
};
#undef T
static const struct dsql_shape clocks_shape = SHAPE("clocks", clocks_fields, dsql_sim_clocks, NULL,
    SIZE_MAX);

#define T dsql_sim_workload
static const struct dsql_shape_field workload_fields[] = {
    FIELD_TIME("spawn", T, interval_ns, 0, DSQL_H, "time between two arrivals; 0: no workload"),
    FIELD_INT("burst", T, burst, 1, 10000, "checkouts of one arrival"),
    FIELD_TIME("hold", T, hold_ns, 0, DSQL_H, "how long a connection is kept"),
    FIELD_TIME("holdJitter", T, hold_jitter_ns, 0, DSQL_H, "spread on top of that, even"),
    FIELD_INT("maxInUse", T, max_in_use, 1, 10000, "arrivals above this many in use are left out"),
    FIELD_TIME("maxWait", T, max_wait_ns, 0, DSQL_H, "how long a checkout waits; 0: the pool's emptyWait"),
};
#undef T
static const struct dsql_shape workload_shape = SHAPE("a workload", workload_fields, dsql_sim_workload,
    NULL, SIZE_MAX);

#define T dsql_sim_service
static const struct dsql_shape_field service_fields[] = {
    FIELD_TEXT("name", T, name, "what it is called; required"),
    FIELD_INT("count", T, count, 1, 10000, "processes of it"),
    FIELD_INT("targetReady", T, target_ready, 0, 10000, "connections each keeps; 0: the pool's"),
    FIELD_TIME("start", T, start_ns, 0, MAX_TIME, "when the first process starts"),
    FIELD_TIME("startStep", T, start_step_ns, 0, MAX_TIME, "and how much later each further one"),
    FIELD_MAP("workload", T, workload, &workload_shape, "what it does with its connections"),
};
#undef T
static const struct dsql_sim_service service_defaults = {
    .count = 1, .workload = {.burst = 1, .hold_ns = 10 * DSQL_MS, .max_in_use = 10000}};
static const struct dsql_shape service_shape = SHAPE("a service", service_fields, dsql_sim_service,
    &service_defaults, offsetof(struct dsql_sim_service, line));

static const char *const what_words[] = {
    "drop", "refuse", "stall", "throttle", "dynamodb-outage", "dynamodb-throttle", "token-failure",
    "deny", "clock-step", "crash", "stop", "pause", "restart", "copy", NULL};
#define T dsql_sim_happening
static const struct dsql_shape_field happening_fields[] = {
    FIELD_TIME("at", T, at_ns, 0, MAX_TIME, "when; required"),
    FIELD_CHOICE("what", T, what, what_words, "what happens; required"),
    FIELD_TIME("for", T, for_ns, 0, MAX_TIME, "how long it lasts; processes are away so long"),
    FIELD_TIME("every", T, every_ns, 0, MAX_TIME, "it happens again after so long; restart: the next process"),
    FIELD_INT("times", T, times, 1, 100000, "and so often in all"),
    FIELD_TEXT("service", T, service, "only to this service; empty: to all"),
    FIELD_INT("count", T, count, 0, 10000, "to so many processes at once, drawn at random; 0: to all"),
    FIELD_FRACTION("fraction", T, fraction, "drop, throttle, dynamodb-throttle: of how many"),
    FIELD_TIME("step", T, step_ns, -MAX_TIME, MAX_TIME, "clock-step: by how much, either way"),
};
#undef T
static const struct dsql_sim_happening happening_defaults = {
    .at_ns = -1, .what = -1, .times = 1, .fraction = 1};
static const struct dsql_shape happening_shape = SHAPE("an event", happening_fields, dsql_sim_happening,
    &happening_defaults, offsetof(struct dsql_sim_happening, line));

#define T dsql_sim_scenario
static const struct dsql_shape_field scenario_fields[] = {
    FIELD_TEXT("name", T, name, "what it is called"),
    FIELD_TEXT("about", T, about, "what it shows, in a line"),
    FIELD_TIME("duration", T, duration_ns, DSQL_S, 7 * MAX_TIME, "how long it runs"),
    FIELD_TIME("sample", T, sample_ns, DSQL_MS, DSQL_H, "how often the charts get a point"),
    FIELD_INT("seed", T, seed, 0, INT64_MAX, "where randomness begins"),
    FIELD_MAP("cluster", T, cluster, &cluster_shape, "the Aurora DSQL cluster"),
    FIELD_MAP("budget", T, budget, &budget_shape, "what the fleet allows itself"),
    FIELD_MAP("pool", T, pool, &pool_shape, "the pool of each process"),
    FIELD_MAP("dynamodb", T, dynamodb, &dynamodb_shape, "where a fleet's budget is kept"),
    FIELD_MAP("clocks", T, clocks, &clocks_shape, "how wrong the clocks are"),
    FIELD_LIST("services", T, services, &service_shape, "the processes; required"),
    FIELD_LIST("events", T, happenings, &happening_shape, "what happens to them"),
    FIELD_INT("assertMaxConnectsPerSec", T, asserts.max_connects_per_sec, 0, 100000,
              "in any t seconds at most so many connects times t, plus the budget's burst; 0: not asserted"),
    FIELD_TIME("assertConvergeWithin", T, asserts.converge_within_ns, 0, MAX_TIME,
               "every process reaches its target so soon after its start; 0: not asserted"),
    FIELD_TIME("assertStableFor", T, asserts.stable_for_ns, 0, MAX_TIME,
               "and keeps it for so long; 0: not asserted"),
    FIELD_BOOL("assertZeroEmptyEvents", T, asserts.zero_empty_events,
               "no checkout ends without a connection, once its process has converged"),
    FIELD_BOOL("assertCapNeverExceeded", T, asserts.cap_never_exceeded,
               "the fleet never holds more than the budget allows, but for what those held who were silent longer than the ttl"),
    FIELD_BOOL("assertGuardNeverViolated", T, asserts.guard_never_violated,
               "no connection is handed out inside its guard window or after its end"),
    FIELD_TIME("assertNoWaiterStarved", T, asserts.no_waiter_starved_ns, 0, MAX_TIME,
               "no caller is served before one that came earlier, and no wait is longer; 0: not asserted"),
    FIELD_TIME("assertRecoverWithin", T, asserts.recover_within_ns, 0, MAX_TIME,
               "after an event every process is back at its target so soon, unless another one begins before; 0: not asserted"),
    FIELD_FRACTION("assertReadyNeverBelow", T, asserts.ready_never_below,
                   "once converged, a process never holds less than this part of its target open; 0: not asserted"),
};
#undef T
/* clang-format on */

static const struct dsql_sim_scenario scenario_defaults = {
    .duration_ns = 10 * DSQL_M,
    .sample_ns = DSQL_S,
    .seed = 42,
    .cluster = {.rate = 100,
                .burst = 1000,
                .connections = 10000,
                .lifetime_ns = DSQL_H,
                .connect_latency_ns = 60 * DSQL_MS,
                .connect_tail_ns = 20 * DSQL_MS},
    .budget = {.kind = DSQL_SIM_BLOCKS,
               .rate = 100,
               .burst = 100,
               .connections = 10000,
               .ttl_ns = 30 * DSQL_S},
    .pool = {.target_ready = 50,
             .base_lifetime_ns = 11 * DSQL_M,
             .lifetime_jitter_ns = 2 * DSQL_M,
             .guard_window_ns = 45 * DSQL_S,
             .inflight_limit = 8,
             .empty_wait_ns = 100 * DSQL_MS,
             .connect_timeout_ns = 10 * DSQL_S,
             .permit_wait_ns = 30 * DSQL_S,
             .permit_backoff_ns = 25 * DSQL_MS},
    .dynamodb = {.latency_ns = 3 * DSQL_MS, .tail_ns = 3 * DSQL_MS, .write_units = 1000},
};

const struct dsql_shape dsql_sim_scenario_shape =
    SHAPE("a scenario", scenario_fields, dsql_sim_scenario, &scenario_defaults, SIZE_MAX);

static const struct dsql_sim_service *service_named(const struct dsql_sim_scenario *scenario,
                                                    const char *name)
{
    const struct dsql_sim_service *services = scenario->services.items;
    for (size_t i = 0; i < scenario->services.count; i++) {
        if (strcmp(services[i].name, name) == 0)
            return &services[i];
    }
    return NULL;
}

/* A pool that held so many slots can't go on with fewer. */
static enum dsql_rc check_origin(const struct dsql_sim_scenario *scenario, const char *file,
                                 struct dsql_err *err)
{
    const struct dsql_sim_service *services = scenario->services.items;
    uint32_t span = scenario->origin ? dsql_slots_span(&scenario->origin->keeper.slots) : 0;
    for (size_t i = 0; i < scenario->services.count; i++) {
        int64_t target =
            services[i].target_ready > 0 ? services[i].target_ready : scenario->pool.target_ready;
        if (span > dsql_most(target, scenario->pool.max_open))
            return dsql_err_set(
                err, DSQL_INVALID,
                "%s: the pool has connections in its slots up to %u at that moment: "
                "pool.maxOpen can't be smaller",
                file, span);
    }
    return DSQL_OK;
}

enum dsql_rc dsql_sim_scenario_check(const struct dsql_sim_scenario *scenario, const char *file,
                                     struct dsql_err *err)
{
    const struct dsql_sim_service *services = scenario->services.items;
    if (scenario->services.count == 0)
        return dsql_err_set(err, DSQL_INVALID, "%s: services: expected at least one", file);
    for (size_t i = 0; i < scenario->services.count; i++) {
        if (!services[i].name[0]) {
            return dsql_err_set(err, DSQL_INVALID, "%s:%zu: a service needs a name", file,
                                services[i].line);
        }
        if (service_named(scenario, services[i].name) != &services[i]) {
            return dsql_err_set(err, DSQL_INVALID, "%s:%zu: there are two services named '%s'",
                                file, services[i].line, services[i].name);
        }
    }
    const struct dsql_sim_happening *happenings = scenario->happenings.items;
    for (size_t i = 0; i < scenario->happenings.count; i++) {
        const struct dsql_sim_happening *event = &happenings[i];
        if (event->what < 0 || event->at_ns < 0) {
            return dsql_err_set(err, DSQL_INVALID, "%s:%zu: an event needs '%s'", file, event->line,
                                event->what < 0 ? "what" : "at");
        }
        if (event->at_ns >= scenario->duration_ns) {
            return dsql_err_set(err, DSQL_INVALID,
                                "%s:%zu: at: %s is not before the end, %s: it would never happen",
                                file, event->line, dsql_duration_shown(event->at_ns).text,
                                dsql_duration_shown(scenario->duration_ns).text);
        }
        if (event->service[0] && !service_named(scenario, event->service)) {
            return dsql_err_set(err, DSQL_INVALID, "%s:%zu: service: there is no service '%s'",
                                file, event->line, event->service);
        }
        if (event->times > 1 && event->every_ns == 0) {
            return dsql_err_set(err, DSQL_INVALID,
                                "%s:%zu: times: expected 'every' with it, to say how far apart",
                                file, event->line);
        }
    }
    const struct dsql_sim_pool *pool = &scenario->pool;
    if (pool->base_lifetime_ns - pool->lifetime_jitter_ns / 2 <= pool->guard_window_ns) {
        return dsql_err_set(err, DSQL_INVALID,
                            "%s: pool: guardWindow must be shorter than baseLifetime - "
                            "lifetimeJitter/2: such connections would never be handed out",
                            file);
    }
    if (scenario->budget.headroom >= scenario->budget.connections) {
        return dsql_err_set(err, DSQL_INVALID,
                            "%s: budget: headroom must be smaller than connections", file);
    }
    return check_origin(scenario, file, err);
}

enum dsql_rc dsql_sim_scenario_read(struct dsql_span text, const char *file,
                                    struct dsql_sim_scenario *scenario, struct dsql_err *err)
{
    struct dsql_sim_scenario read;
    enum dsql_rc rc = dsql_shape_read(&dsql_sim_scenario_shape, text, file, &read, err);
    if (rc)
        return rc;
    rc = dsql_sim_scenario_check(&read, file, err);
    if (rc)
        dsql_sim_scenario_fini(&read);
    else
        *scenario = read;
    return rc;
}

enum dsql_rc dsql_sim_scenario_set(struct dsql_sim_scenario *scenario, const char *setting,
                                   struct dsql_err *err)
{
    enum dsql_rc rc =
        dsql_shape_set(&dsql_sim_scenario_shape, scenario, dsql_span_of(setting), err);
    size_t len = strlen(scenario->changes);
    if (!rc)
        (void)snprintf(scenario->changes + len, sizeof(scenario->changes) - len, "%s%s",
                       len > 0 ? " " : "", setting);
    return rc;
}

void dsql_sim_scenario_fini(struct dsql_sim_scenario *scenario)
{
    dsql_shape_free(&dsql_sim_scenario_shape, scenario);
}
