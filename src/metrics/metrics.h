/*
 * metrics: the one table of metrics and the registry behind dsql/metrics.h. Recording takes no
 * lock, allocates nothing and is safe from any thread; registering an operation and reading the
 * text may allocate. metrics.def has the rows, table.c makes the table of them, registry.c counts,
 * text.c prints.
 *
 *     dsql_counter_add(m, DSQL_SERIES(reservoir_discards, .value = DSQL_DISCARD_REASON_BROKEN), 1);
 */
#ifndef DSQL_METRICS_METRICS_H
#define DSQL_METRICS_METRICS_H

#include "base/hist.h"
#include "base/strbuf.h"
#include "dsql/metrics.h"

enum dsql_metric {
#define DSQL_COUNTER(name, metric, first, second, help)     DSQL_METRIC_##name,
#define DSQL_COUNTER_HOT(name, metric, first, second, help) DSQL_METRIC_##name,
#define DSQL_GAUGE(name, metric, first, second, help)       DSQL_METRIC_##name,
#define DSQL_HISTOGRAM(name, metric, first, unit, help)     DSQL_METRIC_##name,
#include "metrics/metrics.def"
#undef DSQL_COUNTER
#undef DSQL_COUNTER_HOT
#undef DSQL_GAUGE
#undef DSQL_HISTOGRAM
    DSQL_METRIC_COUNT
};

/* The label sets, and the values of each: DSQL_DISCARD_REASON_BROKEN, DSQL_REFILL_CONNECT, ... */
enum dsql_label {
    DSQL_LABEL_NONE,
    DSQL_LABEL_NAMESPACE_STATUS, /* no fixed values: see dsql_metrics_set_runs() */
    DSQL_LABEL_OPERATION,
#define DSQL_LABEL(set, names) DSQL_LABEL_##set,
#define DSQL_VALUE(set, name, text)
#include "metrics/labels.def"
#undef DSQL_LABEL
#undef DSQL_VALUE
    DSQL_LABEL_COUNT
};

/* Each set's values count from 0: the opener of a set steps back to -1. */
enum dsql_label_value {
#define DSQL_LABEL(set, names)      DSQL_##set##_BEFORE = -1,
#define DSQL_VALUE(set, name, text) DSQL_##set##_##name,
#include "metrics/labels.def"
#undef DSQL_LABEL
#undef DSQL_VALUE
};

enum dsql_metric_type { DSQL_TYPE_COUNTER, DSQL_TYPE_GAUGE, DSQL_TYPE_HISTOGRAM };
const char *dsql_metric_type_name(enum dsql_metric_type type);

/* What a histogram records, and how it is shown. */
enum dsql_unit {
    DSQL_UNIT_NONE,
    DSQL_UNIT_SECONDS,     /* nanoseconds in, seconds out */
    DSQL_UNIT_CHECKOUT_MS, /* nanoseconds in, milliseconds out, from 100 ns */
    DSQL_UNIT_TRIES,       /* a count */
};

struct dsql_metric_info {
    enum dsql_metric_type type;
    const char *name;
    bool by_operation;
    bool hot;
    enum dsql_label label; /* NONE or a fixed set */
    enum dsql_unit unit;
    const char *help;
};
extern const struct dsql_metric_info dsql_metric_infos[DSQL_METRIC_COUNT];

/* "reason", or "sqlstate,attempt"; "" for NONE. */
const char *dsql_label_names(enum dsql_label label);
size_t dsql_label_value_count(enum dsql_label label);
const char *dsql_label_value(enum dsql_label label, size_t value);

/* One series. Members that do not apply are left out. */
struct dsql_series {
    enum dsql_metric metric;
    unsigned operation; /* from dsql_metrics_operation() */
    int value;          /* of the metric's label set */
};
#define DSQL_SERIES(name, ...) ((struct dsql_series){.metric = DSQL_METRIC_##name, __VA_ARGS__})

enum {
    DSQL_OPERATIONS_MAX = 512,
    DSQL_OPERATION_NAME_MAX = 63, /* longer names are cut */
    DSQL_OPERATION_OTHER = 0,     /* what has no place of its own is counted here */
};

/*
 * The number of an operation name, made on first use. Anything that is no letter, digit or
 * underscore becomes an underscore, and a long name is cut; names that are then equal share one
 * number. An empty name is DSQL_OPERATION_OTHER. So is one for which there is no room or no memory,
 * and the log says which of the two.
 */
unsigned dsql_metrics_operation(struct dsql_metrics *metrics, const char *name);

/*
 * Recording. The inline fronts take a series apart, because passing it whole costs a stalled load,
 * three times the increment itself.
 */
void dsql_counter_add_at(struct dsql_metrics *metrics, enum dsql_metric metric, unsigned operation,
                         int value, uint64_t n);
void dsql_gauge_add_at(struct dsql_metrics *metrics, enum dsql_metric metric, unsigned operation,
                       int value, int64_t n);
void dsql_gauge_set_at(struct dsql_metrics *metrics, enum dsql_metric metric, unsigned operation,
                       int value, int64_t to);
void dsql_histogram_record_at(struct dsql_metrics *metrics, enum dsql_metric metric,
                              unsigned operation, uint64_t what);

/* Records a value n times. */
void dsql_histogram_record_n(struct dsql_metrics *metrics, enum dsql_metric metric, uint64_t what,
                             uint64_t n);

static inline void dsql_counter_add(struct dsql_metrics *m, struct dsql_series s, uint64_t n)
{
    dsql_counter_add_at(m, s.metric, s.operation, s.value, n);
}

static inline void dsql_gauge_add(struct dsql_metrics *m, struct dsql_series s, int64_t n)
{
    dsql_gauge_add_at(m, s.metric, s.operation, s.value, n);
}

static inline void dsql_gauge_set(struct dsql_metrics *m, struct dsql_series s, int64_t to)
{
    dsql_gauge_set_at(m, s.metric, s.operation, s.value, to);
}

static inline void dsql_histogram_record(struct dsql_metrics *m, struct dsql_series s,
                                         uint64_t what)
{
    dsql_histogram_record_at(m, s.metric, s.operation, what);
}

/* One series of dsql_visibility_runs. */
struct dsql_metric_runs {
    char name_space[256]; /* UTF-8 */
    char status[24];
    int64_t runs;
};

/* Replaces all series of dsql_visibility_runs. runs is from malloc(), and belongs to the registry
 * afterwards; no two of it have the same namespace and status. */
void dsql_metrics_set_runs(struct dsql_metrics *metrics, struct dsql_metric_runs *runs,
                           size_t count);

uint64_t dsql_counter_value(const struct dsql_metrics *metrics, struct dsql_series series);
int64_t dsql_gauge_value(const struct dsql_metrics *metrics, struct dsql_series series);
const struct dsql_hist *dsql_histogram_of(const struct dsql_metrics *metrics,
                                          struct dsql_series series);

#endif
