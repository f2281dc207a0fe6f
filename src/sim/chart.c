/*
 * A line shows where a number stood at its rows; the band around it reaches from the lowest to the
 * highest value between them, so that no dip and no peak is lost, however short.
 */
#include "sim/chart.h"

#include "base/duration.h"

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
void dsql_chart_text(FILE *out, const char *text)
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

struct chart {
    const struct dsql_chart_data *data;
    FILE *out;
    double highest; /* of the value axis */
};

static double x_of(const struct chart *chart, struct dsql_mono at)
{
    return LEFT + (double)at.ns / (double)chart->data->duration_ns * (WIDTH - LEFT - RIGHT);
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
    put_number(chart->out, x_of(chart, chart->data->at(chart->data->of, row)));
    fputc(',', chart->out);
    put_number(chart->out, y_of(chart, value));
    fputc(' ', chart->out);
}

/* The extremes of `step` rows from `row` on. */
static struct dsql_chart_value stretch(const struct dsql_chart_data *data, dsql_chart_fn *fn,
                                       size_t which, size_t row, size_t step)
{
    struct dsql_chart_value all = fn(data->of, row, which);
    for (size_t k = row + 1; k < row + step && k < data->rows; k++) {
        struct dsql_chart_value value = fn(data->of, k, which);
        if (value.low < all.low)
            all.low = value.low;
        if (value.high > all.high)
            all.high = value.high;
    }
    return all;
}

static void put_line(const struct chart *chart, dsql_chart_fn *fn, size_t which, size_t colour)
{
    size_t rows = chart->data->rows;
    size_t step = rows / STRETCHES + 1;
    assert(step > 0);
    fprintf(chart->out, "<polygon style=\"fill:var(--c%zu);stroke:var(--c%zu)\" points=\"",
            colour % 10, colour % 10);
    for (size_t row = 0; row < rows; row += step)
        put_point(chart, row, stretch(chart->data, fn, which, row, step).high);
    for (size_t i = (rows + step - 1) / step; i-- > 0;)
        put_point(chart, i * step, stretch(chart->data, fn, which, i * step, step).low);
    fprintf(chart->out, "\"/><polyline style=\"stroke:var(--c%zu)\" points=\"", colour % 10);
    for (size_t row = 0; row < rows; row += step)
        put_point(chart, row, fn(chart->data->of, row, which).now);
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
    const struct dsql_chart_data *data = chart->data;
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
    int64_t every_ns = nice_time(data->duration_ns);
    for (int64_t at = 0; at <= data->duration_ns; at += every_ns) {
        fputs("<text text-anchor=\"middle\" x=\"", out);
        put_number(out, x_of(chart, (struct dsql_mono){at}));
        fprintf(out, "\" y=\"%d\">", HEIGHT - 8);
        fputs(dsql_duration_shown(at).text, out);
        fputs("</text>", out);
    }
    for (size_t i = 0; i < data->mark_count && i < 200; i++) {
        double x = x_of(chart, data->marks[i].at);
        fputs("<line class=\"mark\" x1=\"", out);
        put_number(out, x);
        fputs("\" x2=\"", out);
        put_number(out, x);
        fprintf(out, "\" y1=\"%d\" y2=\"%d\"><title>", TOP, HEIGHT - BOTTOM);
        dsql_chart_text(out, data->marks[i].text);
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

void dsql_chart_put(const struct dsql_chart_data *data, FILE *out, const char *title,
                    const char *note, const struct dsql_chart_line *lines, size_t count,
                    double limit)
{
    struct chart chart = {data, out, 1};
    for (size_t i = 0; i < count; i++) {
        for (size_t row = 0; row < data->rows; row++) {
            double value = lines[i].fn(data->of, row, lines[i].which).high;
            if (value * 1.05 > chart.highest)
                chart.highest = value * 1.05;
        }
    }
    /* A limit far above all values would press them flat: it is then told, not drawn. */
    bool limit_drawn = limit > 0 && limit <= 4 * chart.highest;
    if (limit_drawn && limit * 1.05 > chart.highest)
        chart.highest = limit * 1.05;
    fputs("<section><h2>", out);
    dsql_chart_text(out, title);
    fputs("</h2><p class=\"soft\">", out);
    dsql_chart_text(out, note);
    fprintf(out, "</p><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    dsql_chart_text(out, title);
    fputs("\">", out);
    put_axes(&chart, limit_drawn ? limit : 0);
    for (size_t i = 0; i < count; i++)
        put_line(&chart, lines[i].fn, lines[i].which, i);
    fputs("</svg><div class=\"key\">", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "<span><i style=\"background:var(--c%zu)\"></i>", i % 10);
        dsql_chart_text(out, lines[i].name);
        fputs("</span>", out);
    }
    if (limit_drawn)
        fputs("<span><i style=\"background:var(--bad)\"></i>limit</span>", out);
    else if (limit > 0)
        fprintf(out, "<span>limit %lld, above this chart</span>", (long long)limit);
    fputs("</div></section>\n", out);
}

void dsql_chart_page(FILE *out, const char *what, const char *title)
{
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>",
          out);
    fprintf(out, "%s: ", what);
    dsql_chart_text(out, title);
    fprintf(out, "</title><style>%s</style></head><body>\n<h1>", style);
    dsql_chart_text(out, title);
    fputs("</h1>", out);
}
