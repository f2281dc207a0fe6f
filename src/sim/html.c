/*
 * A run as one page: charts in SVG, no script, nothing from outside, fit for a phone, a dark room
 * and paper. A line shows where a number stood at its samples; the band around it reaches from the
 * lowest to the highest value between them, so that no dip and no peak is lost, however short.
 */
#include "base/duration.h"
#include "dsql/version.h"
#include "sim/report.h"

enum { WIDTH = 800, HEIGHT = 220, LEFT = 62, RIGHT = 12, TOP = 12, BOTTOM = 26, STRETCHES = 360 };

static const char style[] =
    ":root{--bg:#fff;--fg:#1b1f24;--soft:#667;--line:#d9dde3;--card:#f6f7f9;--bad:#c22;--good:#1a7f37;"
    "--c0:#2563eb;--c1:#d97706;--c2:#059669;--c3:#9333ea;--c4:#dc2626;--c5:#0891b2;--c6:#65a30d;"
    "--c7:#be185d;--c8:#4b5563;--c9:#7c2d12}"
    "@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e8eb;--soft:#9aa3ad;--line:#343a42;"
    "--card:#1d2126;--bad:#ff6b6b;--good:#4cc38a;--c0:#6ea8fe;--c1:#f0b04a;--c2:#4fd1a1;--c3:#c792ea;"
    "--c4:#ff8080;--c5:#56cfe1;--c6:#a3d65c;--c7:#f472b6;--c8:#aab2bd;--c9:#e0a080}}"
    "*{box-sizing:border-box}body{font:15px/1.45 system-ui,sans-serif;color:var(--fg);"
    "background:var(--bg);margin:0 auto;max-width:860px;padding:16px}"
    "h1{font-size:1.5em;margin:.2em 0}h2{font-size:1.05em;margin:0 0 .3em}p{margin:.3em 0}"
    ".soft{color:var(--soft)}.bad{color:var(--bad)}.good{color:var(--good)}"
    "section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px;"
    "margin:14px 0;break-inside:avoid}svg{width:100%;height:auto;display:block}"
    "text{font:11px system-ui,sans-serif;fill:var(--soft)}.grid{stroke:var(--line)}"
    ".limit{stroke:var(--bad);stroke-dasharray:5 4;stroke-width:1.4}"
    ".mark{stroke:var(--soft);stroke-dasharray:2 4}polyline{fill:none;stroke-width:1.6;"
    "stroke-linejoin:round}polygon{fill-opacity:.25;stroke-opacity:.45;stroke-width:.7}.key{display:flex;flex-wrap:wrap;gap:4px 14px;font-size:.85em}"
    ".key i{display:inline-block;width:12px;height:3px;margin-right:5px;vertical-align:middle}"
    "table{border-collapse:collapse;width:100%;font-size:.9em}th,td{padding:3px 8px;text-align:right;"
    "border-bottom:1px solid var(--line)}th:first-child,td:first-child{text-align:left}"
    ".wide{overflow-x:auto}@media print{body{max-width:none}section{border-color:#bbb}}";

/* Escaped for HTML, one character after the other. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

static void put_duration(FILE *out, int64_t ns)
{
    fputs(dsql_duration_shown(ns).text, out);
}

struct chart {
    const struct dsql_sim_world *world;
    FILE *out;
    double highest; /* of the value axis */
};

/* A line at a row of the record: where it stands, and its extremes since the row before. */
struct value {
    double now, low, high;
};
typedef struct value line_fn(const struct dsql_sim_world *world, size_t row, size_t which);

static double x_of(const struct chart *chart, struct dsql_mono at)
{
    return LEFT +
           (double)at.ns / (double)chart->world->scenario->duration_ns * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct chart *chart, double value)
{
    return HEIGHT - BOTTOM - value / chart->highest * (HEIGHT - TOP - BOTTOM);
}

/* One decimal, and never the host's locale. */
static void put_number(FILE *out, double value)
{
    int64_t tenths = (int64_t)(value * 10 + 0.5);
    fprintf(out, "%lld.%lld", (long long)(tenths / 10), (long long)(tenths % 10));
}

static void put_point(const struct chart *chart, size_t row, double value)
{
    put_number(chart->out, x_of(chart, chart->world->record.samples[row].at));
    fputc(',', chart->out);
    put_number(chart->out, y_of(chart, value));
    fputc(' ', chart->out);
}

/* The extremes of `step` rows from `row` on. */
static struct value stretch(const struct dsql_sim_world *world, line_fn *fn, size_t which,
                            size_t row, size_t step)
{
    struct value all = fn(world, row, which);
    for (size_t k = row + 1; k < row + step && k < world->record.sample_count; k++) {
        struct value value = fn(world, k, which);
        if (value.low < all.low)
            all.low = value.low;
        if (value.high > all.high)
            all.high = value.high;
    }
    return all;
}

static void put_line(const struct chart *chart, line_fn *fn, size_t which, size_t colour)
{
    size_t rows = chart->world->record.sample_count;
    size_t step = rows / STRETCHES + 1;
    assert(step > 0);
    fprintf(chart->out, "<polygon style=\"fill:var(--c%zu);stroke:var(--c%zu)\" points=\"",
            colour % 10, colour % 10);
    for (size_t row = 0; row < rows; row += step)
        put_point(chart, row, stretch(chart->world, fn, which, row, step).high);
    for (size_t i = (rows + step - 1) / step; i-- > 0;)
        put_point(chart, i * step, stretch(chart->world, fn, which, i * step, step).low);
    fprintf(chart->out, "\"/><polyline style=\"stroke:var(--c%zu)\" points=\"", colour % 10);
    for (size_t row = 0; row < rows; row += step)
        put_point(chart, row, fn(chart->world, row, which).now);
    fputs("\"/>", chart->out);
}

/* 1, 2 or 5 times a power of ten, so that about four such steps reach the top. */
static double nice_step(double highest)
{
    double step = 1;
    while (step * 40 < highest)
        step *= 10;
    if (step * 20 < highest)
        return step * 5;
    return step * 10 < highest ? step * 2.5 : step * 4 < highest ? step * 2 : step;
}

static int64_t nice_time(int64_t duration_ns)
{
    static const int64_t steps[] = {DSQL_S,     5 * DSQL_S, 15 * DSQL_S, 30 * DSQL_S, DSQL_M,
                                    2 * DSQL_M, 5 * DSQL_M, 10 * DSQL_M, 30 * DSQL_M, DSQL_H,
                                    3 * DSQL_H, 6 * DSQL_H, 12 * DSQL_H, 24 * DSQL_H};
    for (size_t i = 0; i < DSQL_COUNT_OF(steps); i++) {
        if (duration_ns / steps[i] <= 8)
            return steps[i];
    }
    return 48 * DSQL_H;
}

static void put_axes(const struct chart *chart, double limit)
{
    const struct dsql_sim_world *world = chart->world;
    FILE *out = chart->out;
    double step = nice_step(chart->highest);
    for (int i = 0; i * step <= chart->highest; i++) {
        double value = i * step, y = y_of(chart, value);
        fprintf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"", LEFT, WIDTH - RIGHT);
        put_number(out, y);
        fputs("\" y2=\"", out);
        put_number(out, y);
        fprintf(out, "\"/><text text-anchor=\"end\" x=\"%d\" y=\"", LEFT - 6);
        put_number(out, y + 4);
        if (value == (double)(int64_t)value)
            fprintf(out, "\">%lld</text>", (long long)value);
        else {
            fputs("\">", out);
            put_number(out, value);
            fputs("</text>", out);
        }
    }
    int64_t every_ns = nice_time(world->scenario->duration_ns);
    for (int64_t at = 0; at <= world->scenario->duration_ns; at += every_ns) {
        fputs("<text text-anchor=\"middle\" x=\"", out);
        put_number(out, x_of(chart, (struct dsql_mono){at}));
        fprintf(out, "\" y=\"%d\">", HEIGHT - 8);
        put_duration(out, at);
        fputs("</text>", out);
    }
    for (size_t i = 0; i < world->record.mark_count && i < 200; i++) {
        double x = x_of(chart, world->record.marks[i].at);
        fputs("<line class=\"mark\" x1=\"", out);
        put_number(out, x);
        fputs("\" x2=\"", out);
        put_number(out, x);
        fprintf(out, "\" y1=\"%d\" y2=\"%d\"><title>", TOP, HEIGHT - BOTTOM);
        put_text(out, world->record.marks[i].text);
        fputs("</title></line>", out);
    }
    if (limit > 0) {
        fprintf(out, "<line class=\"limit\" x1=\"%d\" x2=\"%d\" y1=\"", LEFT, WIDTH - RIGHT);
        put_number(out, y_of(chart, limit));
        fputs("\" y2=\"", out);
        put_number(out, y_of(chart, limit));
        fputs("\"/>", out);
    }
}

struct line {
    const char *name;
    line_fn *fn;
    size_t which;
};

static void put_chart(const struct dsql_sim_world *world, FILE *out, const char *title,
                      const char *note, const struct line *lines, size_t count, double limit)
{
    struct chart chart = {world, out, 1};
    for (size_t i = 0; i < count; i++) {
        for (size_t row = 0; row < world->record.sample_count; row++) {
            double value = lines[i].fn(world, row, lines[i].which).high;
            if (value * 1.05 > chart.highest)
                chart.highest = value * 1.05;
        }
    }
    /* A limit far above all values would press them flat: it is then told, not drawn. */
    bool limit_drawn = limit > 0 && limit <= 4 * chart.highest;
    if (limit_drawn && limit * 1.05 > chart.highest)
        chart.highest = limit * 1.05;
    fputs("<section><h2>", out);
    put_text(out, title);
    fputs("</h2><p class=\"soft\">", out);
    put_text(out, note);
    fprintf(out, "</p><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    put_text(out, title);
    fputs("\">", out);
    put_axes(&chart, limit_drawn ? limit : 0);
    for (size_t i = 0; i < count; i++)
        put_line(&chart, lines[i].fn, lines[i].which, i);
    fputs("</svg><div class=\"key\">", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "<span><i style=\"background:var(--c%zu)\"></i>", i % 10);
        put_text(out, lines[i].name);
        fputs("</span>", out);
    }
    if (limit_drawn)
        fputs("<span><i style=\"background:var(--bad)\"></i>limit</span>", out);
    else if (limit > 0)
        fprintf(out, "<span>limit %lld, above this chart</span>", (long long)limit);
    fputs("</div></section>\n", out);
}

/* ---- the lines ---- */

static struct value level(const struct dsql_sim_level *level)
{
    return (struct value){(double)level->now, (double)level->low, (double)level->high};
}

static struct value flat(double number)
{
    return (struct value){number, number, number};
}

static struct value open_of(const struct dsql_sim_world *world, size_t row, size_t service)
{
    return level(&world->record.open[row * world->record.services + service]);
}

static struct value in_use_of(const struct dsql_sim_world *world, size_t row, size_t service)
{
    return level(&world->record.in_use[row * world->record.services + service]);
}

static double per_second(const struct dsql_sim_world *world, uint64_t now, uint64_t before)
{
    return (double)(now - before) * (double)DSQL_S / (double)world->scenario->sample_ns;
}

static struct value connects_of(const struct dsql_sim_world *world, size_t row, size_t which)
{
    const struct dsql_sim_sample *samples = world->record.samples;
    (void)which;
    return flat(row == 0 ? 0 : per_second(world, samples[row].attempts, samples[row - 1].attempts));
}

static struct value connections_of(const struct dsql_sim_world *world, size_t row, size_t which)
{
    (void)which;
    return level(&world->record.samples[row].connections);
}

static struct value empties_of(const struct dsql_sim_world *world, size_t row, size_t which)
{
    const struct dsql_sim_sample *samples = world->record.samples;
    (void)which;
    return flat(row == 0 ? 0 : per_second(world, samples[row].empties, samples[row - 1].empties));
}

static struct value discards_of(const struct dsql_sim_world *world, size_t row, size_t reason)
{
    return flat((double)world->record.samples[row].discards[reason]);
}

/* ---- the page ---- */

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
        put_text(out, assertions[i].text);
        fputs("</li>", out);
    }
    fputs("</ul></details>\n", out);
}

static void put_head(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_checks *checks = &world->checks;
    const struct dsql_sim_scenario *scenario = world->scenario;
    fputs(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>dsql sim: ",
        out);
    put_text(out, scenario->name);
    fprintf(out, "</title><style>%s</style></head><body>\n<h1>", style);
    put_text(out, scenario->name);
    fputs("</h1><p>", out);
    put_text(out, scenario->about);
    fprintf(out, "</p><p class=\"soft\">%zu processes for ", world->process_count);
    put_duration(out, scenario->duration_ns);
    fprintf(out, ", seed %llu, libdsql %s</p>\n", (unsigned long long)world->seed, dsql_version());
    char misfit[512];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, misfit, sizeof misfit);
    dsql_sim_misfit(scenario, &sb);
    if (sb.len > 0) {
        fputs("<p class=\"bad\">", out);
        put_text(out, misfit);
        fputs("</p>\n", out);
    }
    if (checks->failure_count == 0)
        fputs("<p class=\"good\"><b>All assertions held.</b></p>\n", out);
    put_assertions(world, out);
    for (size_t i = 0; i < checks->failure_count && i < DSQL_SIM_FAILURES_MAX; i++) {
        fputs("<p class=\"bad\"><b>", out);
        put_text(out, checks->failures[i].check);
        fputs("</b> failed at ", out);
        put_duration(out, checks->failures[i].at.ns);
        fputs(": ", out);
        put_text(out, checks->failures[i].text);
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
        put_text(out, services[i].name);
        fprintf(out, "</td><td>%lld</td><td>%lld</td><td>%lld</td><td>", (long long)sum.processes,
                (long long)sum.target, (long long)sum.open);
        if (sum.slowest_ns < 0)
            fputs("not yet", out);
        else
            put_duration(out, sum.slowest_ns);
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
        put_duration(out, record->marks[i].at.ns);
        fputs("</b> ", out);
        put_text(out, record->marks[i].text);
        fputc(' ', out);
        put_text(out, record->marks[i].where);
        fputs("</span>", out);
    }
    fputs("</div></section>\n", out);
}

static void put_by_service(const struct dsql_sim_world *world, FILE *out, const char *title,
                           const char *note, line_fn *fn)
{
    const struct dsql_sim_service *services = world->scenario->services.items;
    struct line lines[10];
    size_t count = world->scenario->services.count;
    if (count > DSQL_COUNT_OF(lines))
        count = DSQL_COUNT_OF(lines);
    for (size_t i = 0; i < count; i++)
        lines[i] = (struct line){services[i].name, fn, i};
    put_chart(world, out, title, note, lines, count, 0);
}

void dsql_sim_html(const struct dsql_sim_world *world, FILE *out)
{
    const struct dsql_sim_scenario *scenario = world->scenario;
    const struct line connects = {"connects a second", connects_of, 0};
    const struct line connections = {"connections", connections_of, 0};
    const struct line empties = {"empties a second", empties_of, 0};
    struct line discards[DSQL_DISCARDS];
    struct dsql_sim_counts counts;
    size_t reasons = 0;
    dsql_sim_world_counts(world, &counts);
    for (size_t i = 0; i < DSQL_DISCARDS; i++) {
        if (counts.discards[i] > 0) {
            discards[reasons++] =
                (struct line){dsql_discard_name((enum dsql_discard)i), discards_of, i};
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
