/*
 * Charts in SVG for pages that need no script and nothing from outside, fit for a phone, a dark
 * room and paper.
 */
#ifndef DSQL_SIM_CHART_H
#define DSQL_SIM_CHART_H

#include "sim/world.h"

#include <stdio.h>

/* Where a number stands at a row, and its extremes since the row before. */
struct dsql_chart_value {
    double now, low, high;
};
/* Of the line `which` of the numbers `of`. */
typedef struct dsql_chart_value dsql_chart_fn(const void *of, size_t row, size_t which);

struct dsql_chart_line {
    const char *name;
    dsql_chart_fn *fn;
    size_t which;
};

struct dsql_chart_data {
    const void *of;
    int64_t duration_ns; /* of the time axis; > 0 */
    size_t rows;
    struct dsql_mono (*at)(const void *of, size_t row);
    const struct dsql_sim_mark *marks;
    size_t mark_count;
};

/* The beginning of a page, up to its heading; "</body></html>" ends it. */
void dsql_chart_page(FILE *out, const char *what, const char *title);
/* One chart; a limit of 0 is none. */
void dsql_chart_put(const struct dsql_chart_data *data, FILE *out, const char *title,
                    const char *note, const struct dsql_chart_line *lines, size_t count,
                    double limit);
/* Escaped for HTML. */
void dsql_chart_text(FILE *out, const char *text);

#endif
