#include "cli/promql.h"

#include "metrics/metrics.h"

static const struct {
    const char *symbol;
} symbols[DSQL_METRIC_COUNT] = {
#define DSQL_COUNTER(name, metric, first, second, help)     {#name},
#define DSQL_COUNTER_HOT(name, metric, first, second, help) {#name},
#define DSQL_GAUGE(name, metric, first, second, help)       {#name},
#define DSQL_HISTOGRAM(name, metric, first, unit, help)     {#name},
#include "metrics/metrics.def"
#undef DSQL_COUNTER
#undef DSQL_COUNTER_HOT
#undef DSQL_GAUGE
#undef DSQL_HISTOGRAM
};

static bool is_symbol_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static struct dsql_span take_symbol(struct dsql_span *rest)
{
    size_t n = 0;
    while (n < rest->len && is_symbol_char(rest->ptr[n]))
        n++;
    struct dsql_span symbol = dsql_span_first(*rest, n);
    *rest = dsql_span_from(*rest, n);
    return symbol;
}

static const struct dsql_metric_info *find_metric(struct dsql_span symbol)
{
    for (size_t i = 0; i < DSQL_METRIC_COUNT; i++)
        if (dsql_span_eq(symbol, dsql_span_of(symbols[i].symbol)))
            return &dsql_metric_infos[i];
    return NULL;
}

/* A histogram is three metrics, of which one must be chosen; anything else is one. */
static enum dsql_rc add_name(struct dsql_strbuf *out, const struct dsql_metric_info *info,
                             struct dsql_span *rest, struct dsql_err *err)
{
    struct dsql_span part = {"", 0};
    if (rest->len > 0 && *rest->ptr == ':') {
        *rest = dsql_span_from(*rest, 1);
        part = take_symbol(rest);
    }
    bool known = dsql_span_eq(part, DSQL_SPAN("bucket")) || dsql_span_eq(part, DSQL_SPAN("sum")) ||
                 dsql_span_eq(part, DSQL_SPAN("count"));
    if (info->type == DSQL_TYPE_HISTOGRAM ? !known : part.len > 0)
        return dsql_err_set(err, DSQL_INVALID, "'%.*s' is no part of %s, a %s", DSQL_SPAN_ARG(part),
                            info->name, dsql_metric_type_name(info->type));
    dsql_strbuf_addf(out, "%s%s%.*s", info->name, known ? "_" : "", DSQL_SPAN_ARG(part));
    return DSQL_OK;
}

/* The nth of the words between commas; empty if there are fewer. */
static struct dsql_span nth_word(const char *words, size_t n)
{
    struct dsql_span rest = dsql_span_of(words), word;
    bool more = true;
    for (size_t i = 0; more; i++) {
        more = dsql_span_cut(rest, ',', &word, &rest);
        if (i == n)
            return word;
    }
    return (struct dsql_span){"", 0};
}

/* Whether the metric's label can have that value. */
static bool is_value(const struct dsql_metric_info *info, struct dsql_span label,
                     struct dsql_span value)
{
    for (size_t place = 0; nth_word(dsql_label_names(info->label), place).len > 0; place++) {
        if (!dsql_span_eq(label, nth_word(dsql_label_names(info->label), place)))
            continue;
        for (size_t v = 0; v < dsql_label_value_count(info->label); v++)
            if (dsql_span_eq(value, nth_word(dsql_label_value(info->label, v), place)))
                return true;
    }
    return false;
}

/* reason=broken|drain or reason!=drain */
static enum dsql_rc add_matcher(struct dsql_strbuf *out, const struct dsql_metric_info *info,
                                struct dsql_span matcher, struct dsql_err *err)
{
    struct dsql_span label, values, value, rest;
    dsql_span_cut(matcher, '=', &label, &values);
    bool not = label.len > 0 && label.ptr[label.len - 1] == '!';
    if (not )
        label = dsql_span_first(label, label.len - 1);
    bool several = dsql_span_cut(values, '|', &value, &rest), more;
    rest = values;
    do {
        more = dsql_span_cut(rest, '|', &value, &rest);
        if (!is_value(info, label, value))
            return dsql_err_set(err, DSQL_INVALID, "%s has no %.*s=%.*s", info->name,
                                DSQL_SPAN_ARG(label), DSQL_SPAN_ARG(value));
    } while (more);
    dsql_strbuf_addf(out, "%.*s%s\"%.*s\"", DSQL_SPAN_ARG(label),
                     not       ? several ? "!~" : "!="
                     : several ? "=~"
                               : "=",
                     DSQL_SPAN_ARG(values));
    return DSQL_OK;
}

/* {...}, if there is anything to stand in it. */
static enum dsql_rc add_matchers(struct dsql_strbuf *out, const struct dsql_metric_info *info,
                                 const struct dsql_promql_scope *scope, struct dsql_span *rest,
                                 struct dsql_err *err)
{
    const char *between = "{";
    if (rest->len > 0 && *rest->ptr == '{') {
        struct dsql_span own;
        if (!dsql_span_cut(dsql_span_from(*rest, 1), '}', &own, rest))
            return dsql_err_set(err, DSQL_INVALID, "'{' without '}' after %s", info->name);
        dsql_strbuf_add_str(out, between);
        enum dsql_rc rc = add_matcher(out, info, own, err);
        if (rc)
            return rc;
        between = ",";
    }
    const char *more[] = {scope->all, info->by_operation ? scope->by_operation : ""};
    for (size_t i = 0; i < DSQL_COUNT_OF(more); i++) {
        if (more[i][0] == '\0')
            continue;
        dsql_strbuf_addf(out, "%s%s", between, more[i]);
        between = ",";
    }
    if (*between == ',')
        dsql_strbuf_add_char(out, '}');
    return DSQL_OK;
}

enum dsql_rc dsql_promql_add(struct dsql_strbuf *out, const char *query,
                             const struct dsql_promql_scope *scope, struct dsql_err *err)
{
    struct dsql_span rest = dsql_span_of(query), plain;
    enum dsql_rc rc = DSQL_OK;
    while (!rc) {
        bool more = dsql_span_cut(rest, '@', &plain, &rest);
        dsql_strbuf_add(out, plain);
        if (!more)
            break;
        struct dsql_span symbol = take_symbol(&rest);
        const struct dsql_metric_info *info = find_metric(symbol);
        if (!info)
            return dsql_err_set(err, DSQL_INVALID, "'%.*s' is no metric of metrics.def",
                                DSQL_SPAN_ARG(symbol));
        rc = add_name(out, info, &rest, err);
        if (!rc)
            rc = add_matchers(out, info, scope, &rest, err);
    }
    return rc;
}
