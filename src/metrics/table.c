/* The rows of metrics.def and labels.def as data. */
#include "metrics/metrics.h"

const struct dsql_metric_info dsql_metric_infos[DSQL_METRIC_COUNT] = {
#define IS_OPERATION(label)  (DSQL_LABEL_##label == DSQL_LABEL_OPERATION)
#define FIXED(first, second) (IS_OPERATION(first) ? DSQL_LABEL_##second : DSQL_LABEL_##first)
#define DSQL_COUNTER(id, metric, first, second, help_)                                             \
    {DSQL_TYPE_COUNTER, metric, IS_OPERATION(first), false, FIXED(first, second),                  \
     DSQL_UNIT_NONE,    help_},
#define DSQL_COUNTER_HOT(id, metric, first, second, help_)                                         \
    {DSQL_TYPE_COUNTER, metric, IS_OPERATION(first), true, FIXED(first, second),                   \
     DSQL_UNIT_NONE,    help_},
#define DSQL_GAUGE(id, metric, first, second, help_)                                               \
    {DSQL_TYPE_GAUGE, metric, IS_OPERATION(first), false, FIXED(first, second),                    \
     DSQL_UNIT_NONE,  help_},
#define DSQL_HISTOGRAM(id, metric, first, unit_, help_)                                            \
    {DSQL_TYPE_HISTOGRAM, metric, IS_OPERATION(first), false, DSQL_LABEL_NONE,                     \
     DSQL_UNIT_##unit_,   help_},
#include "metrics/metrics.def"
#undef DSQL_COUNTER
#undef DSQL_COUNTER_HOT
#undef DSQL_GAUGE
#undef DSQL_HISTOGRAM
};

static const char *const label_names[DSQL_LABEL_COUNT] = {
    [DSQL_LABEL_NONE] = "",
    [DSQL_LABEL_NAMESPACE_STATUS] = "namespace,status",
    [DSQL_LABEL_OPERATION] = "operation",
#define DSQL_LABEL(set, names) [DSQL_LABEL_##set] = names,
#define DSQL_VALUE(set, name, text)
#include "metrics/labels.def"
#undef DSQL_LABEL
#undef DSQL_VALUE
};

static const struct {
    enum dsql_label label;
    const char *text;
} label_values[] = {
#define DSQL_LABEL(set, names)
#define DSQL_VALUE(set, name, text) {DSQL_LABEL_##set, text},
#include "metrics/labels.def"
#undef DSQL_LABEL
#undef DSQL_VALUE
};

const char *dsql_metric_type_name(enum dsql_metric_type type)
{
    static const char *const names[] = {"counter", "gauge", "histogram"};
    assert((unsigned)type < DSQL_COUNT_OF(names));
    return names[type];
}

const char *dsql_label_names(enum dsql_label label)
{
    return label_names[label];
}

size_t dsql_label_value_count(enum dsql_label label)
{
    if (label == DSQL_LABEL_NONE)
        return 1; /* one series without that label */
    size_t count = 0;
    for (size_t i = 0; i < DSQL_COUNT_OF(label_values); i++)
        count += label_values[i].label == label;
    return count;
}

const char *dsql_label_value(enum dsql_label label, size_t value)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(label_values); i++)
        if (label_values[i].label == label && value-- == 0)
            return label_values[i].text;
    return "";
}
