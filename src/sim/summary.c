#include "base/duration.h"
#include "sim/report.h"

void dsql_sim_service_add_up(const struct dsql_sim_world *world, size_t service,
                             struct dsql_sim_service_sum *sum)
{
    *sum = (struct dsql_sim_service_sum){0};
    for (size_t i = 0; i < world->process_count; i++) {
        const struct dsql_sim_process *process = &world->processes[i];
        if (process->service_index != service)
            continue;
        sum->processes++;
        sum->target += dsql_sim_process_target(process);
        sum->opens += process->counts.opens;
        sum->checkouts += process->counts.checkouts;
        sum->empties += process->counts.empties;
        sum->late_empties += process->counts.late_empties;
        if (process->life == DSQL_SIM_OFF)
            continue;
        sum->running++;
        sum->open += process->keeper.slots.open;
        int64_t took_ns = dsql_mono_since(process->converged, process->started);
        if (process->converged.ns < 0)
            sum->slowest_ns = -1;
        else if (sum->slowest_ns >= 0 && took_ns > sum->slowest_ns)
            sum->slowest_ns = took_ns;
    }
}

static uint64_t failures(const struct dsql_sim_counts *counts)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < DSQL_SIM_VERDICTS; i++)
        sum += counts->failures[i];
    return sum;
}

/* The counts that are not 0, each behind its name: "timeout 2, refused 1"; "none" if all are. */
static const char *list(const uint64_t *counts, size_t count, const char *(*name)(size_t),
                        char *text, size_t cap)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, text, cap);
    for (size_t i = 0; i < count; i++) {
        if (counts[i] > 0)
            dsql_strbuf_addf(&sb, "%s%s %llu", sb.len > 0 ? ", " : "", name(i),
                             (unsigned long long)counts[i]);
    }
    return sb.len > 0 ? text : "none";
}

static const char *verdict_name(size_t verdict)
{
    return dsql_sim_verdict_name((enum dsql_sim_verdict)verdict);
}

static const char *discard_name(size_t reason)
{
    return dsql_discard_name((enum dsql_discard)reason);
}

void dsql_sim_summary(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_scenario *scenario = world->scenario;
    const struct dsql_sim_service *services = scenario->services.items;
    struct dsql_sim_counts counts;
    char text[512];
    fprintf(out, "%s: %s\n", scenario->name, scenario->about);
    if (scenario->changes[0])
        fprintf(out, "  changed: %s\n", scenario->changes);
    if (scenario->origin)
        dsql_sim_origin_summary(world, out);
    fprintf(out, "  %-12s %9s %7s %7s %9s %9s %11s %8s\n", "service", "processes", "target", "open",
            "full in", "opens", "checkouts", "empties");
    for (size_t i = 0; i < scenario->services.count; i++) {
        struct dsql_sim_service_sum sum;
        dsql_sim_service_add_up(world, i, &sum);
        fprintf(out, "  %-12s %9lld %7lld %7lld %9s %9llu %11llu %8llu\n", services[i].name,
                (long long)sum.processes, (long long)sum.target, (long long)sum.open,
                sum.slowest_ns < 0 ? "not yet" : dsql_duration_shown(sum.slowest_ns).text,
                (unsigned long long)sum.opens, (unsigned long long)sum.checkouts,
                (unsigned long long)sum.empties);
    }
    dsql_sim_world_counts(world, &counts);
    fprintf(out, "  budget: %lld/s + burst %lld%s\n", (long long)scenario->budget.rate,
            (long long)scenario->budget.burst,
            scenario->budget.kind == DSQL_SIM_LOCAL ? " for each process" : "");
    fprintf(out, "  connects: %llu in %s, at most %llu in %s; failed: %s\n",
            (unsigned long long)counts.attempts, dsql_duration_shown(world->kernel.now.ns).text,
            (unsigned long long)world->record.peak_sample,
            scenario->sample_ns == DSQL_S ? "a second" : "a sample",
            list(counts.failures, DSQL_SIM_VERDICTS, verdict_name, text, sizeof(text)));
    if (counts.permit_failures + counts.slot_failures + counts.token_failures > 0) {
        fprintf(
            out, "  refill failures: rate_limit %llu, lease_acquire %llu, token_provider %llu\n",
            (unsigned long long)counts.permit_failures, (unsigned long long)counts.slot_failures,
            (unsigned long long)counts.token_failures);
    }
    if (counts.empties > 0) {
        fprintf(out, "  empties: %llu before the first filling, %llu after it\n",
                (unsigned long long)(counts.empties - counts.late_empties),
                (unsigned long long)counts.late_empties);
    }
    fprintf(out, "  connections: at most %lld of %lld; discards: %s\n",
            (long long)world->cluster.peak, (long long)scenario->budget.connections,
            list(counts.discards, DSQL_DISCARDS, discard_name, text, sizeof(text)));
    if (world->table.requests > 0) {
        fprintf(out, "  DynamoDB: %llu requests, at most %llu in %s; throttled: %llu\n",
                (unsigned long long)world->table.requests,
                (unsigned long long)world->record.peak_requests,
                scenario->sample_ns == DSQL_S ? "a second" : "a sample",
                (unsigned long long)world->table.throttled);
    }
    if (counts.waits > 0) {
        fprintf(out, "  waits: %llu, the longest %s\n", (unsigned long long)counts.waits,
                dsql_duration_shown(counts.longest_wait_ns).text);
    }
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, text, sizeof(text));
    dsql_sim_misfit(scenario, &sb);
    if (sb.len > 0)
        fprintf(out, "  %s\n", text);
    const struct dsql_sim_checks *checks = &world->checks;
    struct dsql_sim_assertion assertions[DSQL_SIM_ASSERTIONS_MAX];
    size_t count = dsql_sim_assertions(world, assertions);
    for (size_t i = 0; i < count; i++) {
        if (assertions[i].held)
            fprintf(out, "  held: %s\n", assertions[i].text);
    }
    for (size_t i = 0; i < checks->failure_count && i < DSQL_SIM_FAILURES_MAX; i++) {
        const struct dsql_sim_failure *failure = &checks->failures[i];
        fprintf(out, "  FAILED %s at %s: %s\n", failure->check,
                dsql_duration_shown(failure->at.ns).text, failure->text);
    }
    if (checks->failure_count > 0)
        fprintf(out, "  again: dsql sim run %s%s%s%s --seed %llu\n",
                scenario->origin ? "--from-trace " : "", scenario->name,
                scenario->changes[0] ? " " : "", scenario->changes,
                (unsigned long long)world->seed);
    else
        fprintf(out, "  all assertions held (seed %llu)\n", (unsigned long long)world->seed);
}

void dsql_sim_misfit(const struct dsql_sim_scenario *scenario, struct dsql_strbuf *sb)
{
    const struct dsql_sim_service *services = scenario->services.items;
    int64_t wanted = 0, processes = 0;
    int64_t cap = scenario->budget.connections - scenario->budget.headroom;
    int64_t needed = scenario->budget.headroom;
    if (scenario->budget.kind == DSQL_SIM_LOCAL || cap > scenario->cluster.connections)
        cap = scenario->cluster.connections;
    for (size_t i = 0; i < scenario->services.count; i++) {
        int64_t each =
            services[i].target_ready > 0 ? services[i].target_ready : scenario->pool.target_ready;
        wanted += services[i].count * each;
        processes += services[i].count;
    }
    needed += wanted;
    assert(processes > 0);
    if (wanted > cap) {
        dsql_strbuf_addf(sb,
                         "this fleet wants %lld connections and may hold %lld: it cannot fit. "
                         "What fits: %lld a process for these %lld processes, or a quota raised to "
                         "%lld",
                         (long long)wanted, (long long)cap, (long long)(cap / processes),
                         (long long)processes, (long long)needed);
    }
    double churn = (double)wanted * (double)DSQL_S /
                   (double)(scenario->pool.base_lifetime_ns - scenario->pool.guard_window_ns);
    double rate = (double)scenario->budget.rate *
                  (scenario->budget.kind == DSQL_SIM_LOCAL ? (double)processes : 1);
    if (churn > rate) {
        dsql_strbuf_addf(
            sb,
            "%skeeping %lld connections that live for %lld minutes takes %.0f connects a "
            "second and %.0f are allowed: let them live longer",
            sb->len > 0 ? "; " : "", (long long)wanted,
            (long long)(scenario->pool.base_lifetime_ns / DSQL_M), churn, rate);
    }
}

void dsql_sim_summary_json(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_scenario *scenario = world->scenario;
    const struct dsql_sim_service *services = scenario->services.items;
    const struct dsql_sim_checks *checks = &world->checks;
    struct dsql_sim_counts counts;
    struct dsql_strbuf sb;
    dsql_strbuf_init_heap(&sb, 1 << 20);
    dsql_sim_world_counts(world, &counts);
    dsql_strbuf_add_str(&sb, "{\"scenario\":");
    dsql_strbuf_add_json(&sb, dsql_span_of(scenario->name));
    if (scenario->changes[0]) {
        dsql_strbuf_add_str(&sb, ",\"changed\":");
        dsql_strbuf_add_json(&sb, dsql_span_of(scenario->changes));
    }
    if (scenario->origin)
        dsql_sim_origin_json(world, &sb);
    dsql_strbuf_addf(&sb,
                     ",\"seed\":%llu,\"passed\":%s,\"seconds\":", (unsigned long long)world->seed,
                     checks->failure_count > 0 ? "false" : "true");
    dsql_strbuf_add_f64(&sb, (double)world->kernel.now.ns / (double)DSQL_S);
    dsql_strbuf_addf(
        &sb,
        ",\"events\":%llu,\"connects\":%llu,\"connect_failures\":%llu,"
        "\"peak_connections\":%lld,\"checkouts\":%llu,\"empties\":%llu,\"late_empties\":%llu,\"requests\":%llu,"
        "\"peak_requests\":%llu,\"services\":[",
        (unsigned long long)world->kernel.happened, (unsigned long long)counts.attempts,
        (unsigned long long)failures(&counts), (long long)world->cluster.peak,
        (unsigned long long)counts.checkouts, (unsigned long long)counts.empties,
        (unsigned long long)counts.late_empties, (unsigned long long)world->table.requests,
        (unsigned long long)world->record.peak_requests);
    for (size_t i = 0; i < scenario->services.count; i++) {
        struct dsql_sim_service_sum sum;
        dsql_sim_service_add_up(world, i, &sum);
        dsql_strbuf_addf(&sb, "%s{\"name\":", i > 0 ? "," : "");
        dsql_strbuf_add_json(&sb, dsql_span_of(services[i].name));
        dsql_strbuf_addf(&sb,
                         ",\"processes\":%lld,\"target\":%lld,\"open\":%lld,\"opens\":%llu,"
                         "\"checkouts\":%llu,\"empties\":%llu,\"late_empties\":%llu,"
                         "\"full_in_seconds\":",
                         (long long)sum.processes, (long long)sum.target, (long long)sum.open,
                         (unsigned long long)sum.opens, (unsigned long long)sum.checkouts,
                         (unsigned long long)sum.empties, (unsigned long long)sum.late_empties);
        if (sum.slowest_ns < 0)
            dsql_strbuf_add_str(&sb, "null}");
        else {
            dsql_strbuf_add_f64(&sb, (double)sum.slowest_ns / (double)DSQL_S);
            dsql_strbuf_add_str(&sb, "}");
        }
    }
    char misfit[512];
    struct dsql_strbuf why;
    dsql_strbuf_init(&why, misfit, sizeof(misfit));
    dsql_sim_misfit(scenario, &why);
    if (why.len > 0) {
        dsql_strbuf_add_str(&sb, "],\"misfit\":");
        dsql_strbuf_add_json(&sb, dsql_span_of(misfit));
        dsql_strbuf_add_str(&sb, ",\"failures\":[");
    } else {
        dsql_strbuf_add_str(&sb, "],\"failures\":[");
    }
    for (size_t i = 0; i < checks->failure_count && i < DSQL_SIM_FAILURES_MAX; i++) {
        dsql_strbuf_addf(&sb, "%s{\"check\":\"%s\",\"seconds\":", i > 0 ? "," : "",
                         checks->failures[i].check);
        dsql_strbuf_add_f64(&sb, (double)checks->failures[i].at.ns / (double)DSQL_S);
        dsql_strbuf_add_str(&sb, ",\"text\":");
        dsql_strbuf_add_json(&sb, dsql_span_of(checks->failures[i].text));
        dsql_strbuf_add_str(&sb, "}");
    }
    dsql_strbuf_add_str(&sb, "],\"assertions\":[");
    struct dsql_sim_assertion assertions[DSQL_SIM_ASSERTIONS_MAX];
    size_t count = dsql_sim_assertions(world, assertions);
    for (size_t i = 0; i < count; i++) {
        dsql_strbuf_addf(&sb, "%s{\"check\":\"%s\",\"held\":%s,\"text\":", i > 0 ? "," : "",
                         assertions[i].check, assertions[i].held ? "true" : "false");
        dsql_strbuf_add_json(&sb, dsql_span_of(assertions[i].text));
        dsql_strbuf_add_str(&sb, "}");
    }
    dsql_strbuf_add_str(&sb, "]}\n");
    fputs(sb.ptr, out);
    dsql_strbuf_fini(&sb);
}

void dsql_sim_csv(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_record *record = &world->record;
    const struct dsql_sim_service *services = world->scenario->services.items;
    fputs("seconds,connections,connections_low,connections_high,connects,opens,empties,requests",
          out);
    for (size_t i = 0; i < DSQL_DISCARDS; i++)
        fprintf(out, ",discards_%s", dsql_discard_name((enum dsql_discard)i));
    for (size_t i = 0; i < record->services; i++)
        fprintf(out, ",%s_ready,%s_in_use,%s_open_low,%s_open_high,%s_in_use_low,%s_in_use_high",
                services[i].name, services[i].name, services[i].name, services[i].name,
                services[i].name, services[i].name);
    fputc('\n', out);
    for (size_t row = 0; row < record->sample_count; row++) {
        const struct dsql_sim_sample *sample = &record->samples[row];
        fprintf(out, "%lld.%03lld,%lld,%lld,%lld,%llu,%llu,%llu,%llu",
                (long long)(sample->at.ns / DSQL_S), (long long)(sample->at.ns % DSQL_S / DSQL_MS),
                (long long)sample->connections.now, (long long)sample->connections.low,
                (long long)sample->connections.high, (unsigned long long)sample->attempts,
                (unsigned long long)sample->opens, (unsigned long long)sample->empties,
                (unsigned long long)sample->requests);
        for (size_t i = 0; i < DSQL_DISCARDS; i++)
            fprintf(out, ",%llu", (unsigned long long)sample->discards[i]);
        for (size_t i = 0; i < record->services; i++) {
            size_t cell = row * record->services + i;
            const struct dsql_sim_level *open = &record->open[cell],
                                        *in_use = &record->in_use[cell];
            fprintf(out, ",%lld,%lld,%lld,%lld,%lld,%lld", (long long)(open->now - in_use->now),
                    (long long)in_use->now, (long long)open->low, (long long)open->high,
                    (long long)in_use->low, (long long)in_use->high);
        }
        fputc('\n', out);
    }
}
