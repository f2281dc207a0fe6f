#include "sim/plan.h"

#include <stdio.h>

/* What a fleet of this kind looks like as a scenario: started at once, watched until every
 * connection has been replaced once and a half. */
static struct dsql_sim_scenario make_scenario(const struct dsql_sim_question *question,
                                              struct dsql_sim_service *service)
{
    struct dsql_sim_scenario scenario;
    memcpy(&scenario, dsql_sim_scenario_shape.defaults, sizeof(scenario));
    int64_t wanted = question->processes * question->connections_each;
    *service = (struct dsql_sim_service){
        .name = "fleet", .count = question->processes, .target_ready = question->connections_each};
    (void)snprintf(scenario.name, sizeof(scenario.name), "plan");
    scenario.services = (struct dsql_shape_list){service, 1};
    scenario.duration_ns =
        wanted / question->rate * DSQL_S + 5 * question->lifetime_ns / 2 + DSQL_M;
    scenario.budget.rate = question->rate;
    scenario.budget.burst = question->burst;
    scenario.budget.connections = question->cap;
    if (scenario.cluster.connections < question->cap)
        scenario.cluster.connections = question->cap;
    scenario.cluster.connect_latency_ns = question->latency_ns;
    scenario.cluster.connect_tail_ns = question->latency_ns / 3;
    scenario.pool.target_ready = question->connections_each;
    scenario.pool.base_lifetime_ns = question->lifetime_ns;
    scenario.pool.lifetime_jitter_ns = question->jitter_ns;
    scenario.pool.guard_window_ns = question->guard_ns;
    scenario.pool.staggered_startup_ns = question->stagger_ns;
    return scenario;
}

static double per_second(const struct dsql_sim_world *world, size_t from, size_t to)
{
    const struct dsql_sim_sample *samples = world->record.samples;
    int64_t ns = dsql_mono_since(samples[to].at, samples[from].at);
    return (double)(samples[to].attempts - samples[from].attempts) * (double)DSQL_S / (double)ns;
}

/* One run into the answer: the worst of all runs, but for the average. */
static void take_in(const struct dsql_sim_world *world, int64_t runs,
                    struct dsql_sim_answer *answer)
{
    const struct dsql_sim_record *record = &world->record;
    struct dsql_sim_counts counts;
    int64_t full_ns = 0;
    for (size_t i = 0; i < world->process_count; i++) {
        int64_t at_ns = world->processes[i].converged.ns;
        if (at_ns < 0)
            full_ns = -1;
        else if (full_ns >= 0 && at_ns > full_ns)
            full_ns = at_ns;
    }
    if (full_ns < 0 || answer->full_ns < 0)
        answer->full_ns = -1;
    else if (full_ns > answer->full_ns)
        answer->full_ns = full_ns;
    size_t steady = 0; /* the first sample after the fill */
    while (steady + 1 < record->sample_count && full_ns >= 0 &&
           record->samples[steady].at.ns <= full_ns)
        steady++;
    for (size_t row = 1; row < record->sample_count; row++) {
        double rate = per_second(world, row - 1, row);
        double *peak = row <= steady || full_ns < 0 ? &answer->start_peak : &answer->steady_peak;
        if (rate > *peak)
            *peak = rate;
    }
    if (full_ns >= 0 && steady + 1 < record->sample_count)
        answer->steady += per_second(world, steady, record->sample_count - 1) / (double)runs;
    if (world->cluster.peak > answer->peak_connections)
        answer->peak_connections = world->cluster.peak;
    const struct dsql_sim_table *table = &world->table;
    double throttled =
        (double)table->throttled / (double)(table->requests > 0 ? table->requests : 1);
    if (throttled > answer->throttled)
        answer->throttled = throttled;
    dsql_sim_world_counts(world, &counts);
    if (counts.failures[DSQL_SIM_THROTTLED] > 0)
        answer->refused += 1.0 / (double)runs;
}

static void advise(struct dsql_sim_answer *answer, const char *fmt, ...) DSQL_PRINTF(2, 3);
static void advise(struct dsql_sim_answer *answer, const char *fmt, ...)
{
    struct dsql_strbuf sb;
    va_list args;
    if (answer->advice_count == DSQL_SIM_ADVICE_MAX)
        return;
    dsql_strbuf_init(&sb, answer->advice[answer->advice_count++], sizeof(answer->advice[0]));
    va_start(args, fmt);
    dsql_strbuf_vaddf(&sb, fmt, args);
    va_end(args);
}

/* A fleet that no pool could make fit needs no run to be told so. */
static bool arithmetic_refuses(const struct dsql_sim_scenario *scenario,
                               struct dsql_sim_answer *answer)
{
    struct dsql_strbuf sb;
    char misfit[sizeof(answer->advice[0])];
    dsql_strbuf_init(&sb, misfit, sizeof(misfit));
    dsql_sim_misfit(scenario, &sb);
    if (sb.len == 0)
        return false;
    answer->full_ns = -1;
    answer->by_arithmetic = true;
    advise(answer, "%s", misfit);
    return true;
}

static void draw_conclusions(const struct dsql_sim_question *question,
                             struct dsql_sim_answer *answer)
{
    if (answer->wanted * 10 > question->cap * 9)
        advise(answer,
               "more than 90 %% of the cap is in use: a rolling deployment has no room for old and "
               "new processes at once");
    if (question->lifetime_ns < 30 * DSQL_M && answer->share > 0.05) {
        int64_t minutes = (DSQL_H - 2 * question->guard_ns - question->jitter_ns / 2) / DSQL_M;
        advise(answer,
               "connections outlive their tokens: DSQL_RESERVOIR_BASE_LIFETIME=%lldm takes about "
               "%lld %% of today's connects",
               (long long)minutes, (long long)(100 * question->lifetime_ns / (minutes * DSQL_M)));
    }
    if (answer->share > 0.5)
        advise(answer,
               "renewal alone takes more than half of the rate: after a mass drop the fleet "
               "recovers slowly");
    if (question->jitter_ns * 10 < question->lifetime_ns)
        advise(answer,
               "a jitter below a tenth of the lifetime lets connections opened together end "
               "together: DSQL_RESERVOIR_LIFETIME_JITTER=%lldm",
               (long long)(question->lifetime_ns / 5 / DSQL_M));
    if ((answer->full_ns < 0 || answer->full_ns > DSQL_M) && question->burst < 1000)
        advise(answer,
               "the fill takes longer than a minute, or never ends: the service allows a burst of "
               "1,000, a larger share of it makes the start shorter");
    if (answer->throttled > 0.01)
        advise(answer,
               "DynamoDB refuses %.0f %% of the requests: %lld processes share one item, which one "
               "partition writes; fewer and larger processes ask less often",
               answer->throttled * 100, (long long)question->processes);
    if (question->processes > 800)
        advise(answer, "each process of a fleet needs a permit in hand, and the service allows a "
                       "burst of 1,000: let several pools share a process");
    else if (question->processes * 5 > question->burst * 4)
        advise(answer,
               "each process of a fleet needs a permit in hand: with fewer than %lld in the burst "
               "some ask for every connection they open; DSQL_BUDGET_BURST=%lld",
               (long long)(question->processes * 5 + 3) / 4,
               (long long)(question->processes * 2 < 1000 ? question->processes * 2 : 1000));
    if (answer->refused > 0)
        advise(answer, "the cluster refused connects (53400): lower the rate or the burst");
}

enum dsql_rc dsql_sim_plan(const struct dsql_sim_question *question,
                           void (*told)(int64_t done, int64_t of), struct dsql_sim_answer *answer,
                           struct dsql_err *err)
{
    struct dsql_sim_service service;
    struct dsql_sim_scenario scenario = make_scenario(question, &service);
    *answer = (struct dsql_sim_answer){.wanted = question->processes * question->connections_each};
    if (arithmetic_refuses(&scenario, answer))
        return DSQL_OK;
    for (int64_t run = 0; run < question->runs; run++) {
        struct dsql_sim_world world;
        enum dsql_rc rc =
            dsql_sim_world_init(&world, &scenario, question->seed + (uint64_t)run, err);
        if (rc)
            return rc;
        while (dsql_sim_world_advance(&world, DSQL_H))
            continue;
        if (world.kernel.no_memory)
            rc = dsql_err_set(err, DSQL_NO_MEMORY, "no memory for a fleet of this size");
        else
            take_in(&world, question->runs, answer);
        dsql_sim_world_fini(&world);
        if (rc)
            return rc;
        if (told)
            told(run + 1, question->runs);
    }
    answer->share = answer->steady / (double)question->rate;
    draw_conclusions(question, answer);
    return DSQL_OK;
}
