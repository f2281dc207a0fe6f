/* What a simulation that begins with a recording says about it: that it is one, what it begins
 * with, what was fitted to what, what a recording can't tell, and what came next in reality. */
#include "base/duration.h"
#include "sim/origin.h"
#include "sim/report.h"

static const char *const assumptions[] = {
    "which connections callers had at that moment: all that were open begin as ready ones",
    "when callers come and how long each keeps a connection: those seen are spread evenly",
    "what happened to the pool from outside: connects that fail, servers that hang up and slow "
    "spells of the recording are not repeated",
    "what the rest of a fleet takes: the pool has this rate for itself, its burst is at least what "
    "was used, and no slot is denied",
    "the cluster's own limits: they are those of the scenario fields' defaults",
};

static void add_callers(struct dsql_strbuf *sb, const struct dsql_sim_fit *fit)
{
    dsql_strbuf_add_str(sb, "callers: ");
    if (fit->in_use < 0) {
        dsql_strbuf_addf(sb, "connections in use are not known (%llu looks are too few)",
                         (unsigned long long)fit->looks);
    } else {
        dsql_strbuf_addf(sb, "%.1f connections in use on average (%llu of %llu looks found one so)",
                         fit->in_use, (unsigned long long)fit->looks_in_use,
                         (unsigned long long)fit->looks);
    }
    dsql_strbuf_addf(sb, ", %.1f waiting", fit->waiting);
    if (fit->hold_ns >= 0)
        dsql_strbuf_addf(sb, "; one that was away came back after %s",
                         dsql_duration_shown(fit->hold_ns).text);
}

static void add_budget(struct dsql_strbuf *sb, const struct dsql_sim_fit *fit)
{
    dsql_strbuf_add_str(sb, "budget: ");
    dsql_strbuf_add_f64(sb, fit->rate);
    dsql_strbuf_addf(sb, " connects a second, %lld of them at once; %lld slots granted",
                     (long long)fit->burst, (long long)fit->granted);
}

static void add_connects(struct dsql_strbuf *sb, const struct dsql_sim_fit *fit)
{
    if (fit->connects == 0) {
        dsql_strbuf_add_str(sb, "connects: none succeeded; how long they take is not known");
        return;
    }
    dsql_strbuf_addf(sb, "connects: %llu took at least %s", (unsigned long long)fit->connects,
                     dsql_duration_shown(fit->shortest_ns).text);
    dsql_strbuf_addf(sb, ", on average %s", dsql_duration_shown(fit->mean_ns).text);
    dsql_strbuf_addf(sb, "; %llu failed, %llu connections were closed by the server",
                     (unsigned long long)fit->failures, (unsigned long long)fit->hang_ups);
}

enum { FITS = 3, FIT_SIZE = 300 };

static void describe_fit(const struct dsql_sim_fit *fit, char text[FITS][FIT_SIZE])
{
    static void (*const parts[FITS])(struct dsql_strbuf *, const struct dsql_sim_fit *) = {
        add_connects, add_budget, add_callers};
    for (size_t i = 0; i < FITS; i++) {
        struct dsql_strbuf sb;
        dsql_strbuf_init(&sb, text[i], FIT_SIZE);
        parts[i](&sb, fit);
    }
}

static void describe_moment(const struct dsql_sim_origin *origin, char *text, size_t size)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, text, size);
    dsql_strbuf_add_str(&sb, "recorded from ");
    dsql_wall_format(&sb, origin->began);
    dsql_strbuf_addf(&sb, " on by libdsql %s; the simulation begins ", origin->version);
    dsql_strbuf_addf(&sb, "%s after that, ", dsql_duration_shown(origin->at_ns).text);
    dsql_strbuf_addf(&sb, "with %u of %u open, %u coming", origin->keeper.slots.open,
                     origin->keeper.config.target, origin->keeper.slots.opening);
}

/* Recorded and simulated, where both are as long as each other. */
struct row {
    const char *name;
    uint64_t recorded, simulated;
};
enum { ROWS_MAX = 3 + DSQL_DISCARDS };

static size_t compare(const struct dsql_sim_world *world, struct row rows[ROWS_MAX])
{
    const struct dsql_sim_origin *origin = world->scenario->origin;
    struct dsql_sim_counts counts;
    size_t count = 3;
    uint64_t failed = 0;
    if (origin->rest_ns != world->scenario->duration_ns || world->process_count != 1)
        return 0;
    dsql_sim_world_counts(world, &counts);
    for (size_t i = 0; i < DSQL_SIM_VERDICTS; i++)
        failed += counts.failures[i];
    rows[0] = (struct row){"connects begun", origin->after.connects, counts.attempts};
    rows[1] = (struct row){"opened", origin->after.opens, counts.opens};
    rows[2] = (struct row){"failed", origin->after.failures, failed};
    for (size_t i = 0; i < DSQL_DISCARDS; i++) {
        if (origin->after.discards[i] + counts.discards[i] > 0)
            rows[count++] = (struct row){dsql_discard_name((enum dsql_discard)i),
                                         origin->after.discards[i], counts.discards[i]};
    }
    return count;
}

void dsql_sim_origin_summary(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_origin *origin = world->scenario->origin;
    char text[300], fits[FITS][FIT_SIZE];
    struct row rows[ROWS_MAX];
    describe_moment(origin, text, sizeof(text));
    describe_fit(&origin->fit, fits);
    fprintf(out, "  %s\n", text);
    for (size_t i = 0; i < FITS; i++)
        fprintf(out, "  %s\n", fits[i]);
    fputs("  from here on this is a simulation. A recording does not tell\n", out);
    for (size_t i = 0; i < DSQL_COUNT_OF(assumptions); i++)
        fprintf(out, "    - %s\n", assumptions[i]);
    size_t count = compare(world, rows);
    if (count > 0)
        fprintf(out, "  %-33s %9s %10s\n", dsql_duration_shown(origin->rest_ns).text, "recorded",
                "simulated");
    for (size_t i = 0; i < count; i++)
        fprintf(out, "    %-31s %9llu %10llu\n", rows[i].name, (unsigned long long)rows[i].recorded,
                (unsigned long long)rows[i].simulated);
}

void dsql_sim_origin_json(const struct dsql_sim_world *world, struct dsql_strbuf *sb)
{
    const struct dsql_sim_origin *origin = world->scenario->origin;
    const struct dsql_sim_fit *fit = &origin->fit;
    struct row rows[ROWS_MAX];
    dsql_strbuf_add_str(sb, ",\"simulated\":true,\"from_trace\":{\"began\":\"");
    dsql_wall_format(sb, origin->began);
    dsql_strbuf_addf(sb, "\",\"at_ns\":%lld,\"open\":%u,\"opening\":%u", (long long)origin->at_ns,
                     origin->keeper.slots.open, origin->keeper.slots.opening);
    dsql_strbuf_addf(sb, ",\"connects\":%llu,\"connect_shortest_ns\":%lld,\"connect_mean_ns\":%lld",
                     (unsigned long long)fit->connects, (long long)fit->shortest_ns,
                     (long long)fit->mean_ns);
    dsql_strbuf_add_str(sb, ",\"rate\":");
    dsql_strbuf_add_f64(sb, fit->rate);
    dsql_strbuf_addf(sb, ",\"burst\":%lld,\"in_use\":", (long long)fit->burst);
    if (fit->in_use < 0)
        dsql_strbuf_add_str(sb, "null");
    else
        dsql_strbuf_add_f64(sb, fit->in_use);
    dsql_strbuf_add_str(sb, ",\"waiting\":");
    dsql_strbuf_add_f64(sb, fit->waiting);
    dsql_strbuf_add_str(sb, ",\"unknown\":[");
    for (size_t i = 0; i < DSQL_COUNT_OF(assumptions); i++) {
        dsql_strbuf_add_str(sb, i > 0 ? "," : "");
        dsql_strbuf_add_json(sb, dsql_span_of(assumptions[i]));
    }
    dsql_strbuf_add_str(sb, "],\"compared\":{");
    size_t count = compare(world, rows);
    for (size_t i = 0; i < count; i++)
        dsql_strbuf_addf(sb, "%s\"%s\":[%llu,%llu]", i > 0 ? "," : "", rows[i].name,
                         (unsigned long long)rows[i].recorded,
                         (unsigned long long)rows[i].simulated);
    dsql_strbuf_add_str(sb, "}}");
}

void dsql_sim_origin_html(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_origin *origin = world->scenario->origin;
    char text[300], fits[FITS][FIT_SIZE];
    struct row rows[ROWS_MAX];
    describe_moment(origin, text, sizeof(text));
    describe_fit(&origin->fit, fits);
    fputs("<p class=\"bad\"><b>This is a simulation</b> that begins where a recorded pool was. "
          "What that pool decided itself: <code>dsql sim replay</code>.</p>\n",
          out);
    fprintf(out, "<p class=\"soft\">%s</p><ul>", text);
    for (size_t i = 0; i < FITS; i++)
        fprintf(out, "<li>%s</li>", fits[i]);
    fputs("</ul><details><summary>What a recording does not tell</summary><ul>", out);
    for (size_t i = 0; i < DSQL_COUNT_OF(assumptions); i++)
        fprintf(out, "<li>%s</li>", assumptions[i]);
    fputs("</ul></details>\n", out);
    size_t count = compare(world, rows);
    if (count == 0)
        return;
    fputs("<div class=\"wide\"><table><tr><th></th><th>recorded</th><th>simulated</th></tr>\n",
          out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "<tr><td>%s</td><td>%llu</td><td>%llu</td></tr>\n", rows[i].name,
                (unsigned long long)rows[i].recorded, (unsigned long long)rows[i].simulated);
    fputs("</table></div>\n", out);
}
