/* A run as one page with charts. */
#include "base/duration.h"
#include "dsql/version.h"
#include "sim/chart.h"
#include "sim/report.h"

/* -- The lines. */

static struct dsql_chart_value level(const struct dsql_sim_level *level)
{
    return (struct dsql_chart_value){(double)level->now, (double)level->low, (double)level->high};
}

static struct dsql_chart_value flat(double number)
{
    return (struct dsql_chart_value){number, number, number};
}

static struct dsql_chart_value open_of(const void *of, size_t row, size_t service)
{
    const struct dsql_sim_world *world = of;
    return level(&world->record.open[row * world->record.services + service]);
}

static struct dsql_chart_value in_use_of(const void *of, size_t row, size_t service)
{
    const struct dsql_sim_world *world = of;
    return level(&world->record.in_use[row * world->record.services + service]);
}

static double per_second(const struct dsql_sim_world *world, uint64_t now, uint64_t before)
{
    return (double)(now - before) * (double)DSQL_S / (double)world->scenario->sample_ns;
}

static struct dsql_chart_value connects_of(const void *of, size_t row, size_t which)
{
    const struct dsql_sim_world *world = of;
    const struct dsql_sim_sample *samples = world->record.samples;
    (void)which;
    return flat(row == 0 ? 0 : per_second(world, samples[row].attempts, samples[row - 1].attempts));
}

static struct dsql_chart_value connections_of(const void *of, size_t row, size_t which)
{
    const struct dsql_sim_world *world = of;
    (void)which;
    return level(&world->record.samples[row].connections);
}

static struct dsql_chart_value empties_of(const void *of, size_t row, size_t which)
{
    const struct dsql_sim_world *world = of;
    const struct dsql_sim_sample *samples = world->record.samples;
    (void)which;
    return flat(row == 0 ? 0 : per_second(world, samples[row].empties, samples[row - 1].empties));
}

static struct dsql_chart_value discards_of(const void *of, size_t row, size_t reason)
{
    const struct dsql_sim_world *world = of;
    return flat((double)world->record.samples[row].discards[reason]);
}

/* -- The page. */

static void put_assertions(const struct dsql_sim_world *world, FILE *out)
{
    struct dsql_sim_assertion assertions[DSQL_SIM_ASSERTIONS_MAX];
    size_t count = dsql_sim_assertions(world, assertions);
    if (count == 0)
        return;
    fputs("<details><summary>What is asserted</summary><ul>", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "<li><b class=\"%s\">%s</b> ", assertions[i].held ? "good" : "bad",
                assertions[i].held ? "held" : "failed");
        dsql_chart_text(out, assertions[i].text);
        fputs("</li>", out);
    }
    fputs("</ul></details>\n", out);
}

static void put_head(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_checks *checks = &world->checks;
    const struct dsql_sim_scenario *scenario = world->scenario;
    dsql_chart_page(out, "dsql sim", scenario->name);
    fputs("<p>", out);
    dsql_chart_text(out, scenario->about);
    fprintf(out, "</p><p class=\"soft\">%zu processes for ", world->process_count);
    fputs(dsql_duration_shown(scenario->duration_ns).text, out);
    fprintf(out, ", seed %llu, libdsql %s</p>\n", (unsigned long long)world->seed, dsql_version());
    if (scenario->changes[0]) {
        fputs("<p>changed: <code>", out);
        dsql_chart_text(out, scenario->changes);
        fputs("</code></p>\n", out);
    }
    if (scenario->origin)
        dsql_sim_origin_html(world, out);
    char misfit[512];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, misfit, sizeof(misfit));
    dsql_sim_misfit(scenario, &sb);
    if (sb.len > 0) {
        fputs("<p class=\"bad\">", out);
        dsql_chart_text(out, misfit);
        fputs("</p>\n", out);
    }
    if (checks->failure_count == 0)
        fputs("<p class=\"good\"><b>All assertions held.</b></p>\n", out);
    put_assertions(world, out);
    for (size_t i = 0; i < checks->failure_count && i < DSQL_SIM_FAILURES_MAX; i++) {
        fputs("<p class=\"bad\"><b>", out);
        dsql_chart_text(out, checks->failures[i].check);
        fputs("</b> failed at ", out);
        fputs(dsql_duration_shown(checks->failures[i].at.ns).text, out);
        fputs(": ", out);
        dsql_chart_text(out, checks->failures[i].text);
        fputs("</p>\n", out);
    }
}

static void put_services(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_service *services = world->scenario->services.items;
    fputs("<section><h2>Services</h2><div class=\"wide\"><table><tr><th>service</th>"
          "<th>processes</th><th>target</th><th>open</th><th>full in</th><th>opens</th>"
          "<th>checkouts</th><th>empties</th><th>after filling</th></tr>\n",
          out);
    for (size_t i = 0; i < world->scenario->services.count; i++) {
        struct dsql_sim_service_sum sum;
        dsql_sim_service_add_up(world, i, &sum);
        fputs("<tr><td>", out);
        dsql_chart_text(out, services[i].name);
        fprintf(out, "</td><td>%lld</td><td>%lld</td><td>%lld</td><td>", (long long)sum.processes,
                (long long)sum.target, (long long)sum.open);
        if (sum.slowest_ns < 0)
            fputs("not yet", out);
        else
            fputs(dsql_duration_shown(sum.slowest_ns).text, out);
        fprintf(out, "</td><td>%llu</td><td>%llu</td><td>%llu</td><td>%llu</td></tr>\n",
                (unsigned long long)sum.opens, (unsigned long long)sum.checkouts,
                (unsigned long long)sum.empties, (unsigned long long)sum.late_empties);
    }
    fputs("</table></div></section>\n", out);
}

static void put_marks(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_record *record = &world->record;
    if (record->mark_count == 0)
        return;
    fputs("<section><h2>What happened</h2><div class=\"key\">", out);
    for (size_t i = 0; i < record->mark_count && i < 200; i++) {
        fputs("<span><b>", out);
        fputs(dsql_duration_shown(record->marks[i].at.ns).text, out);
        fputs("</b> ", out);
        dsql_chart_text(out, record->marks[i].text);
        fputc(' ', out);
        dsql_chart_text(out, record->marks[i].where);
        fputs("</span>", out);
    }
    fputs("</div></section>\n", out);
}

static struct dsql_mono at_of(const void *of, size_t row)
{
    return ((const struct dsql_sim_world *)of)->record.samples[row].at;
}

static void put_chart(const struct dsql_sim_world *world, FILE *out, const char *title,
                      const char *note, const struct dsql_chart_line *lines, size_t count,
                      double limit)
{
    const struct dsql_chart_data data = {
        .of = world,
        .duration_ns = world->scenario->duration_ns,
        .rows = world->record.sample_count,
        .at = at_of,
        .marks = world->record.marks,
        .mark_count = world->record.mark_count,
    };
    dsql_chart_put(&data, out, title, note, lines, count, limit);
}

static void put_by_service(const struct dsql_sim_world *world, FILE *out, const char *title,
                           const char *note, dsql_chart_fn *fn)
{
    const struct dsql_sim_service *services = world->scenario->services.items;
    struct dsql_chart_line lines[10];
    size_t count = world->scenario->services.count;
    if (count > DSQL_COUNT_OF(lines))
        count = DSQL_COUNT_OF(lines);
    for (size_t i = 0; i < count; i++)
        lines[i] = (struct dsql_chart_line){services[i].name, fn, i};
    put_chart(world, out, title, note, lines, count, 0);
}

void dsql_sim_html(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_scenario *scenario = world->scenario;
    const struct dsql_chart_line connects = {"connects a second", connects_of, 0};
    const struct dsql_chart_line connections = {"connections", connections_of, 0};
    const struct dsql_chart_line empties = {"empties a second", empties_of, 0};
    struct dsql_chart_line discards[DSQL_DISCARDS];
    struct dsql_sim_counts counts;
    size_t reasons = 0;
    dsql_sim_world_counts(world, &counts);
    for (size_t i = 0; i < DSQL_DISCARDS; i++) {
        if (counts.discards[i] > 0) {
            discards[reasons++] =
                (struct dsql_chart_line){dsql_discard_name((enum dsql_discard)i), discards_of, i};
        }
    }
    put_head(world, out);
    put_marks(world, out);
    put_by_service(
        world, out, "Open connections",
        "ready and in use, each service as a whole; the band is the lowest and highest of each interval",
        open_of);
    if (counts.checkouts > 0)
        put_by_service(
            world, out, "In use",
            "checked out, each service as a whole; the band is the lowest and highest of each interval",
            in_use_of);
    put_chart(world, out, "Connects a second",
              "attempts of the whole fleet, against the rate of its "
              "budget; a burst may stand above it",
              &connects, 1, (double)scenario->budget.rate);
    put_chart(world, out, "Connections", "as the cluster counts them, against the cap",
              &connections, 1, (double)scenario->budget.connections);
    if (counts.empties > 0)
        put_chart(world, out, "Empty checkouts", "callers that got nothing in time", &empties, 1,
                  0);
    if (reasons > 0)
        put_chart(world, out, "Discards", "connections closed so far, by reason", discards, reasons,
                  0);
    put_services(world, out);
    fputs("</body></html>\n", out);
}
