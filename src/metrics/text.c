/*
 * The Prometheus text format. Fixed series are always shown, so that a rate starts at zero. Of the
 * series of an operation, those with a further label and histograms appear with their first event:
 * a server has some 150 operations, and most never retry.
 *
 * A bucket `le` counts the values that are certainly at most that large; see
 * dsql_hist_count_upto().
 */
#include <stdlib.h>

#include "base/lock.h"
#include "base/time.h"
#include "metrics/registry.h"

enum { TEXT_MAX = 64 << 20, BOUNDS_MAX = 16 };

static const struct {
    double per_shown;            /* recorded units in one shown unit */
    uint64_t bounds[BOUNDS_MAX]; /* in recorded units, rising; 0 ends */
} units[] = {
    [DSQL_UNIT_SECONDS] = {(double)DSQL_S,
                           {1 * DSQL_MS, 2500 * DSQL_US, 5 * DSQL_MS, 10 * DSQL_MS, 25 * DSQL_MS,
                            50 * DSQL_MS, 100 * DSQL_MS, 250 * DSQL_MS, 500 * DSQL_MS, 1 * DSQL_S,
                            2500 * DSQL_MS, 5 * DSQL_S, 10 * DSQL_S, 30 * DSQL_S}},
    [DSQL_UNIT_CHECKOUT_MS] = {(double)DSQL_MS,
                               {100, 250, 500, 1 * DSQL_US, 10 * DSQL_US, 100 * DSQL_US,
                                250 * DSQL_US, 500 * DSQL_US, 1 * DSQL_MS, 2500 * DSQL_US,
                                5 * DSQL_MS, 10 * DSQL_MS, 50 * DSQL_MS, 100 * DSQL_MS}},
    [DSQL_UNIT_TRIES] = {1, {1, 2, 3, 4, 5, 6, 8, 11}},
};

static void add_escaped(struct dsql_strbuf *sb, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            dsql_strbuf_add_char(sb, '\\');
        if (*text == '\n')
            dsql_strbuf_add_str(sb, "\\n");
        else
            dsql_strbuf_add_char(sb, *text);
    }
}

/* name_suffix{service="...",operation="...",reason="..."  -- left open for le */
static void add_head(const struct dsql_metrics *m, struct dsql_strbuf *sb, struct dsql_series s,
                     const char *suffix)
{
    const struct dsql_metric_info *info = &dsql_metric_infos[s.metric];
    dsql_strbuf_addf(sb, "%s%s{service=\"", info->name, suffix);
    add_escaped(sb, m->service);
    dsql_strbuf_add_char(sb, '"');
    if (info->by_operation)
        dsql_strbuf_addf(sb, ",operation=\"%s\"", m->operations[s.operation].name);
    if (info->label == DSQL_LABEL_NONE)
        return;
    struct dsql_span names = dsql_span_of(dsql_label_names(info->label)), name;
    struct dsql_span values = dsql_span_of(dsql_label_value(info->label, (size_t)s.value)), value;
    bool more;
    do {
        more = dsql_span_cut(names, ',', &name, &names);
        dsql_span_cut(values, ',', &value, &values);
        dsql_strbuf_addf(sb, ",%.*s=\"%.*s\"", DSQL_SPAN_ARG(name), DSQL_SPAN_ARG(value));
    } while (more);
}

static void add_histogram(const struct dsql_metrics *m, struct dsql_strbuf *sb,
                          struct dsql_series s)
{
    const struct dsql_hist *hist = dsql_histogram_of(m, s);
    enum dsql_unit unit = dsql_metric_infos[s.metric].unit;
    uint64_t count = dsql_hist_count(hist);
    if (count == 0 && dsql_metric_infos[s.metric].by_operation)
        return;
    for (size_t i = 0; i < BOUNDS_MAX && units[unit].bounds[i]; i++) {
        uint64_t bound = units[unit].bounds[i], upto = dsql_hist_count_upto(hist, bound);
        add_head(m, sb, s, "_bucket");
        /* Others may have recorded since: a bucket must not exceed the total. */
        dsql_strbuf_add_str(sb, ",le=\"");
        dsql_strbuf_add_f64(sb, (double)bound / units[unit].per_shown);
        dsql_strbuf_addf(sb, "\"} %llu\n", (unsigned long long)(upto < count ? upto : count));
    }
    add_head(m, sb, s, "_bucket");
    dsql_strbuf_addf(sb, ",le=\"+Inf\"} %llu\n", (unsigned long long)count);
    add_head(m, sb, s, "_sum");
    dsql_strbuf_add_str(sb, "} ");
    dsql_strbuf_add_f64(sb, (double)dsql_hist_sum(hist) / units[unit].per_shown);
    dsql_strbuf_add_char(sb, '\n');
    add_head(m, sb, s, "_count");
    dsql_strbuf_addf(sb, "} %llu\n", (unsigned long long)count);
}

static void add_counters(const struct dsql_metrics *m, struct dsql_strbuf *sb, struct dsql_series s)
{
    const struct dsql_metric_info *info = &dsql_metric_infos[s.metric];
    for (s.value = 0; (unsigned)s.value < m->place[s.metric].value_count; s.value++) {
        bool counter = info->type == DSQL_TYPE_COUNTER;
        uint64_t count = counter ? dsql_counter_value(m, s) : 0;
        if (count == 0 && counter && info->by_operation && info->label != DSQL_LABEL_NONE)
            continue;
        add_head(m, sb, s, "");
        dsql_strbuf_add_str(sb, "} ");
        if (counter)
            dsql_strbuf_add_u64(sb, count);
        else
            dsql_strbuf_add_i64(sb, dsql_gauge_value(m, s));
        dsql_strbuf_add_char(sb, '\n');
    }
}

static void add_runs(struct dsql_metrics *m, struct dsql_strbuf *sb)
{
    dsql_lock(&m->lock);
    for (size_t i = 0; i < m->run_count; i++) {
        dsql_strbuf_addf(sb, "%s{service=\"", dsql_metric_infos[DSQL_METRIC_visibility_runs].name);
        add_escaped(sb, m->service);
        dsql_strbuf_add_str(sb, "\",namespace=\"");
        add_escaped(sb, m->runs[i].name_space);
        dsql_strbuf_add_str(sb, "\",status=\"");
        add_escaped(sb, m->runs[i].status);
        dsql_strbuf_add_str(sb, "\"} ");
        dsql_strbuf_add_i64(sb, m->runs[i].runs);
        dsql_strbuf_add_char(sb, '\n');
    }
    dsql_unlock(&m->lock);
}

enum dsql_rc dsql_metrics_text(struct dsql_metrics *m, char **text, size_t *len)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init_heap(&sb, TEXT_MAX);
    unsigned operations = atomic_load_explicit(&m->operation_count, memory_order_acquire);
    for (size_t i = 0; i < DSQL_METRIC_COUNT; i++) {
        const struct dsql_metric_info *info = &dsql_metric_infos[i];
        dsql_strbuf_addf(&sb, "# HELP %s %s\n# TYPE %s %s\n", info->name, info->help, info->name,
                         dsql_metric_type_name(info->type));
        if (i == DSQL_METRIC_visibility_runs)
            add_runs(m, &sb);
        for (unsigned op = 0; op < (info->by_operation ? operations : 1); op++) {
            struct dsql_series s = {.metric = (enum dsql_metric)i, .operation = op};
            if (info->type == DSQL_TYPE_HISTOGRAM)
                add_histogram(m, &sb, s);
            else
                add_counters(m, &sb, s);
        }
    }
    size_t length = sb.len;
    char *taken = dsql_strbuf_take(&sb);
    if (!taken)
        return DSQL_NO_MEMORY;
    *text = taken;
    *len = length;
    return DSQL_OK;
}
