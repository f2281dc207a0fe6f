#include "sim/draw.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/least.h"
#include "base/rng.h"

enum { SERVICES_MAX = 3, PROCESSES_MAX = 6, TROUBLES_MAX = 8, CONNECTIONS_MAX = 30 };

static bool chance(struct dsql_rng *rng, int64_t percent)
{
    return dsql_rng_between(rng, 1, 100) <= percent;
}

/* Small ones more often than large ones: each doubling is as likely as the next. */
static int64_t between_log(struct dsql_rng *rng, int64_t low, int64_t high)
{
    int64_t doublings = 0;
    while (low << (doublings + 1) <= high)
        doublings++;
    int64_t from = low << dsql_rng_between(rng, 0, doublings);
    return dsql_rng_between(rng, from, 2 * from < high ? 2 * from : high);
}

static double hundredths(struct dsql_rng *rng, int64_t most)
{
    return (double)dsql_rng_between(rng, 1, most) / 100;
}

/* In steps that read well when the world is shown. */
static int64_t time_between(struct dsql_rng *rng, int64_t low_ns, int64_t high_ns)
{
    int64_t ns = between_log(rng, low_ns, high_ns);
    return ns > DSQL_S ? ns - ns % (100 * DSQL_MS) : ns - ns % DSQL_MS;
}

static void draw_services(struct dsql_rng *rng, struct dsql_sim_scenario *s)
{
    struct dsql_sim_service *services = s->services.items;
    for (size_t i = 0; i < s->services.count; i++) {
        struct dsql_sim_service *service = &services[i];
        (void)snprintf(service->name, sizeof(service->name), "%c", (char)('a' + i));
        service->count = dsql_rng_between(rng, 1, PROCESSES_MAX);
        service->target_ready = between_log(rng, 1, CONNECTIONS_MAX);
        service->start_ns = chance(rng, 50) ? 0 : time_between(rng, DSQL_MS, 20 * DSQL_S);
        service->start_step_ns = chance(rng, 50) ? 0 : time_between(rng, DSQL_MS, 5 * DSQL_S);
        service->workload = (struct dsql_sim_workload){.burst = 1, .max_in_use = 10000};
        if (chance(rng, 30))
            continue;
        /* From idle to more than its connections can carry, so that callers wait in line. */
        service->workload = (struct dsql_sim_workload){
            .interval_ns = time_between(rng, 100 * DSQL_MS, 2 * DSQL_S),
            .burst = between_log(rng, 1, 2 * service->target_ready),
            .hold_ns = time_between(rng, DSQL_MS, 2 * DSQL_S),
            .hold_jitter_ns = time_between(rng, DSQL_MS, DSQL_S),
            .max_in_use = dsql_rng_between(rng, 1, 3 * service->target_ready),
            .max_wait_ns = chance(rng, 50) ? 0 : time_between(rng, 10 * DSQL_MS, 5 * DSQL_S),
        };
    }
}

static void draw_surroundings(struct dsql_rng *rng, struct dsql_sim_scenario *s, int64_t wanted)
{
    s->budget.kind = chance(rng, 80)   ? DSQL_SIM_BLOCKS
                     : chance(rng, 50) ? DSQL_SIM_LEASES
                                       : DSQL_SIM_LOCAL;
    s->budget.rate = between_log(rng, 5, 200);
    s->budget.burst = between_log(rng, 1, 200);
    s->budget.ttl_ns = time_between(rng, 3 * DSQL_S, DSQL_M);
    /* Mostly it fits, often only just. */
    s->budget.headroom = chance(rng, 70) ? 0 : dsql_rng_between(rng, 1, wanted);
    int64_t room = chance(rng, 25) ? dsql_rng_between(rng, (wanted + 1) / 2, wanted)
                                   : wanted + between_log(rng, 1, 2 * wanted) - 1;
    s->budget.connections = s->budget.headroom + room;
    s->cluster.rate = chance(rng, 80) ? 1000 : between_log(rng, 5, 200);
    s->cluster.burst = chance(rng, 80) ? 1000 : between_log(rng, 1, 200);
    s->cluster.connect_latency_ns = time_between(rng, DSQL_MS, DSQL_S);
    s->cluster.connect_tail_ns = time_between(rng, DSQL_MS, DSQL_S);
    s->pool.guard_window_ns = time_between(rng, DSQL_MS, 30 * DSQL_S);
    s->pool.lifetime_jitter_ns = time_between(rng, 10 * DSQL_S, 2 * DSQL_M);
    s->pool.base_lifetime_ns = s->pool.guard_window_ns + s->pool.lifetime_jitter_ns / 2 +
                               time_between(rng, 30 * DSQL_S, 10 * DSQL_M);
    s->pool.inflight_limit = between_log(rng, 1, 32);
    s->pool.staggered_startup_ns = chance(rng, 50) ? 0 : time_between(rng, DSQL_MS, 5 * DSQL_S);
    s->pool.connect_timeout_ns = time_between(rng, DSQL_S, 10 * DSQL_S);
    s->dynamodb.latency_ns = time_between(rng, DSQL_MS, 100 * DSQL_MS);
    s->dynamodb.tail_ns = time_between(rng, DSQL_MS, 300 * DSQL_MS);
    s->dynamodb.conflict = chance(rng, 50) ? 0 : hundredths(rng, 10);
    s->dynamodb.throttle = chance(rng, 50) ? 0 : hundredths(rng, 10);
    s->dynamodb.loss = chance(rng, 50) ? 0 : hundredths(rng, 10);
    s->dynamodb.repeat = chance(rng, 30) ? 0 : hundredths(rng, 30);
    s->dynamodb.late_ns = time_between(rng, 10 * DSQL_MS, 3 * DSQL_M);
    s->clocks.offset_ns = chance(rng, 50) ? 0 : time_between(rng, DSQL_S, 12 * DSQL_H);
    s->clocks.drift_ppm = chance(rng, 50) ? 0 : between_log(rng, 1, 1000);
    s->pool.permit_wait_ns =
        chance(rng, 50) ? s->pool.permit_wait_ns : time_between(rng, DSQL_MS, 30 * DSQL_S);
}

/* The trouble of a world; answers when the last of it is over. */
static int64_t draw_troubles(struct dsql_rng *rng, struct dsql_sim_scenario *s)
{
    const struct dsql_sim_service *services = s->services.items;
    struct dsql_sim_happening *troubles = s->happenings.items;
    int64_t over_ns = DSQL_M;
    for (size_t i = 0; i < s->happenings.count; i++) {
        struct dsql_sim_happening *trouble = &troubles[i];
        *trouble = (struct dsql_sim_happening){
            .what = (int)dsql_rng_between(rng, DSQL_SIM_DROP, DSQL_SIM_COPY),
            .at_ns = time_between(rng, DSQL_S, 5 * DSQL_M),
            .for_ns = time_between(rng, 100 * DSQL_MS, 2 * DSQL_M),
            .times = chance(rng, 70) ? 1 : dsql_rng_between(rng, 2, 10),
            .fraction = hundredths(rng, 100),
        };
        if (trouble->times > 1)
            trouble->every_ns = time_between(rng, 100 * DSQL_MS, 20 * DSQL_S);
        if (trouble->what == DSQL_SIM_DROP)
            trouble->for_ns = 0;
        if (trouble->what == DSQL_SIM_CLOCK) {
            trouble->step_ns = time_between(rng, DSQL_S, 12 * DSQL_H);
            if (chance(rng, 50))
                trouble->step_ns = -trouble->step_ns;
        }
        if (chance(rng, 50)) {
            size_t which = (size_t)dsql_rng_below(rng, s->services.count);
            memcpy(trouble->service, services[which].name, sizeof(trouble->service));
        }
        trouble->count = chance(rng, 50) ? 0 : dsql_rng_between(rng, 1, 3);
        int64_t end_ns =
            trouble->at_ns + trouble->for_ns + (trouble->times - 1) * trouble->every_ns;
        if (end_ns > over_ns)
            over_ns = end_ns;
    }
    return over_ns;
}

static void draw_asserts(struct dsql_sim_scenario *s, int64_t wanted, int64_t over_ns)
{
    int64_t usable_ns =
        s->pool.base_lifetime_ns - s->pool.lifetime_jitter_ns / 2 - s->pool.guard_window_ns;
    bool shared = s->budget.kind == DSQL_SIM_BLOCKS;
    /* No more flows than the burst for each time the table is asked and answers. */
    int64_t turn_ns = 4 * (s->dynamodb.latency_ns + s->dynamodb.tail_ns);
    int64_t rate = s->budget.burst * DSQL_S / turn_ns + 1;
    if (rate > s->budget.rate)
        rate = s->budget.rate;
    /* All that is wanted can be held, renewing it takes a quarter of the rate at most, and few
     * connects take too long. A process that wants more than its target, because callers wait, is
     * in a hurry all the time, and a small pot of permits serves few of those. */
    bool fits = shared && s->budget.rate <= s->cluster.rate &&
                s->cluster.connect_latency_ns + 5 * s->cluster.connect_tail_ns <=
                    s->pool.connect_timeout_ns &&
                s->budget.burst <= s->cluster.burst &&
                wanted <= s->budget.connections - s->budget.headroom &&
                (s->pool.max_open == 0 || wanted <= s->budget.burst) &&
                wanted * 4 * DSQL_S <= rate * usable_ns;
    /* `leases` counts connects by the wall clocks' seconds: what that allows depends on them. */
    s->asserts = (struct dsql_sim_asserts){
        .max_connects_per_sec = shared ? s->budget.rate : 0,
        .cap_never_exceeded = s->budget.kind != DSQL_SIM_LOCAL,
        .guard_never_violated = true,
        .no_waiter_starved_ns = DSQL_H,
    };
    /* Slots of the dead come back after two TTLs; the longest back-off is five minutes; then it
     * fills. */
    int64_t calm_ns =
        6 * DSQL_M + 4 * s->budget.ttl_ns + s->dynamodb.late_ns + (wanted * 4 / rate + 1) * DSQL_S;
    if (fits)
        s->asserts.recover_within_ns = calm_ns;
    s->duration_ns = over_ns + (fits ? calm_ns + DSQL_S : 3 * DSQL_M);
}

enum dsql_rc dsql_sim_draw(uint64_t seed, struct dsql_sim_scenario *scenario, struct dsql_err *err)
{
    struct dsql_rng rng = dsql_rng_seeded(seed);
    struct dsql_sim_scenario s;
    memcpy(&s, dsql_sim_scenario_shape.defaults, sizeof(s));
    s.services.count = (size_t)dsql_rng_between(&rng, 1, SERVICES_MAX);
    s.happenings.count = (size_t)dsql_rng_between(&rng, 1, TROUBLES_MAX);
    s.services.items = calloc(s.services.count, sizeof(struct dsql_sim_service));
    s.happenings.items = calloc(s.happenings.count, sizeof(struct dsql_sim_happening));
    if (!s.services.items || !s.happenings.items) {
        free(s.services.items);
        free(s.happenings.items);
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for a world");
    }
    (void)snprintf(s.name, sizeof(s.name), "fuzz %llu", (unsigned long long)seed);
    s.seed = (int64_t)(seed >> 1);
    draw_services(&rng, &s);
    s.pool.max_open = chance(&rng, 50) ? 0 : between_log(&rng, 1, CONNECTIONS_MAX);
    int64_t wanted = 0;
    const struct dsql_sim_service *services = s.services.items;
    for (size_t i = 0; i < s.services.count; i++)
        wanted += services[i].count * dsql_most(services[i].target_ready, s.pool.max_open);
    draw_surroundings(&rng, &s, wanted);
    draw_asserts(&s, wanted, draw_troubles(&rng, &s));
    *scenario = s;
    return DSQL_OK;
}
