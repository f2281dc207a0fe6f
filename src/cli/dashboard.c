/* The rows of dashboard.def as Grafana's JSON. Panels stand side by side until a line is full. */
#include <jansson.h>
#include <stdlib.h>

#include "cli/monitoring.h"
#include "cli/promql.h"

enum { WIDTH = 24, STAT_HEIGHT = 4, GRAPH_HEIGHT = 8, SCHEMA_VERSION = 38 };
#define DATASOURCE "type", "prometheus", "uid", "${datasource}"

#define RATE(selector) "rate(" selector "[$__rate_interval])"
#define QUANTILE(q, labels, selector)                                                              \
    "histogram_quantile(" q ", sum by (" labels ") (" RATE(selector) "))"

static const struct entry {
    enum { ROW, STAT, LINES, STACK, QUERY } kind;
    int width;
    const char *title; /* of a query: the legend */
    const char *unit, *thresholds;
    const char *text; /* a panel's description, a query's expression */
} entries[] = {
#define DSQL_ROW(title) {ROW, 0, title, NULL, NULL, NULL},
#define DSQL_PANEL(kind, width, title, unit, thresholds, text)                                     \
    {kind, width, title, unit, thresholds, text},
#define DSQL_QUERY(legend, query) {QUERY, 0, legend, NULL, NULL, query},
#include "cli/dashboard.def"
#undef DSQL_ROW
#undef DSQL_PANEL
#undef DSQL_QUERY
};

static const struct dsql_promql_scope scope = {
    .all = "service=~\"$service\",instance=~\"$instance\"",
    .by_operation = "operation=~\"$operation\"",
};

struct layout {
    int id, x, y, height; /* of the line that is being filled */
};

static void next_line(struct layout *layout)
{
    layout->y += layout->height;
    layout->x = layout->height = 0;
}

static json_t *grid(struct layout *layout, int width, int height)
{
    if (layout->x + width > WIDTH)
        next_line(layout);
    json_t *pos =
        json_pack("{si si si si}", "h", height, "w", width, "x", layout->x, "y", layout->y);
    layout->x += width;
    layout->height = height > layout->height ? height : layout->height;
    return pos;
}

/* "red;0.5:orange;0.9:green": the first colour holds below all values. */
static json_t *thresholds(const char *text)
{
    json_t *steps = json_array();
    struct dsql_span rest = dsql_span_of(text), step, value, colour;
    bool more = rest.len > 0;
    while (more) {
        double from = 0;
        more = dsql_span_cut(rest, ';', &step, &rest);
        bool first = !dsql_span_cut(step, ':', &value, &colour);
        bool is_number = first || dsql_span_to_f64(value, &from);
        assert(is_number);
        if (first)
            colour = step;
        json_array_append_new(steps, json_pack("{ss% so}", "color", colour.ptr, colour.len, "value",
                                               first ? json_null() : json_real(from)));
    }
    return json_pack("{ss so}", "mode", "absolute", "steps", steps);
}

static json_t *panel(const struct entry *e, struct layout *layout)
{
    bool stat = e->kind == STAT;
    json_t *defaults = json_pack("{ss sf}", "unit", e->unit, "min", 0.0);
    if (stat) {
        json_object_set_new(defaults, "thresholds", thresholds(e->thresholds));
        json_object_set_new(defaults, "noValue", json_string("none"));
    } else {
        json_object_set_new(defaults, "custom",
                            json_pack("{ss si si ss s{ss ss}}", "drawStyle", "line", "lineWidth", 1,
                                      "fillOpacity", e->kind == STACK ? 30 : 5, "showPoints",
                                      "never", "stacking", "mode",
                                      e->kind == STACK ? "normal" : "none", "group", "A"));
    }
    json_t *options =
        stat ? json_pack("{s{s[s] ss sb} ss ss}", "reduceOptions", "calcs", "lastNotNull", "fields",
                         "", "values", 0, "colorMode", "background", "graphMode", "area")
             : json_pack("{s{ss ss s[ss]} s{ss ss}}", "legend", "displayMode", "table", "placement",
                         "bottom", "calcs", "lastNotNull", "max", "tooltip", "mode", "multi",
                         "sort", "desc");
    return json_pack("{si ss ss ss s{ss ss} so s{so s[]} so s[]}", "id", ++layout->id, "type",
                     stat ? "stat" : "timeseries", "title", e->title, "description", e->text,
                     "datasource", DATASOURCE, "gridPos",
                     grid(layout, e->width, stat ? STAT_HEIGHT : GRAPH_HEIGHT), "fieldConfig",
                     "defaults", defaults, "overrides", "options", options, "targets");
}

static json_t *row(const struct entry *e, struct layout *layout)
{
    next_line(layout);
    return json_pack("{si ss ss sb so s[]}", "id", ++layout->id, "type", "row", "title", e->title,
                     "collapsed", 0, "gridPos", grid(layout, WIDTH, 1), "panels");
}

static enum dsql_rc add_query(json_t *of, const struct entry *e, struct dsql_err *err)
{
    struct dsql_strbuf expr;
    json_t *targets = json_object_get(of, "targets");
    const char ref[] = {(char)('A' + json_array_size(targets)), '\0'};
    dsql_strbuf_init_heap(&expr, 1 << 16);
    enum dsql_rc rc = dsql_promql_add(&expr, e->text, &scope, err);
    if (!rc && json_array_append_new(targets, json_pack("{ss s{ss ss} ss ss sb}", "refId", ref,
                                                        "datasource", DATASOURCE, "expr", expr.ptr,
                                                        "legendFormat", e->title, "range", 1)))
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    dsql_strbuf_fini(&expr);
    return rc;
}

/* What stands above the panels: where the numbers come from, and of which services. */
static enum dsql_rc add_variable(json_t *list, const char *name, const char *label,
                                 const char *query, const char *matcher, struct dsql_err *err)
{
    struct dsql_strbuf values;
    const struct dsql_promql_scope narrow = {.all = matcher, .by_operation = ""};
    dsql_strbuf_init_heap(&values, 1 << 10);
    enum dsql_rc rc = dsql_promql_add(&values, query, &narrow, err);
    if (!rc &&
        json_array_append_new(
            list, json_pack("{ss ss ss s{ss ss} ss s{ss ss} sb sb ss si si s{ss ss}}", "name", name,
                            "label", label, "type", "query", "datasource", DATASOURCE, "definition",
                            values.ptr, "query", "query", values.ptr, "refId", name, "multi", 1,
                            "includeAll", 1, "allValue", ".*", "refresh", 2, "sort", 1, "current",
                            "text", "All", "value", "$__all")))
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    dsql_strbuf_fini(&values);
    return rc;
}

static enum dsql_rc add_variables(json_t *list, struct dsql_err *err)
{
    static const char of_service[] = "service=~\"$service\"";
    if (json_array_append_new(list,
                              json_pack("{ss ss ss ss}", "name", "datasource", "label",
                                        "Prometheus", "type", "datasource", "query", "prometheus")))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    enum dsql_rc rc = add_variable(list, "service", "service",
                                   "label_values(@reservoir_target, service)", "", err);
    if (!rc)
        rc = add_variable(list, "instance", "process", "label_values(@reservoir_target, instance)",
                          of_service, err);
    if (!rc)
        rc = add_variable(list, "operation", "operation", "label_values(@tx_conflicts, operation)",
                          of_service, err);
    return rc;
}

static enum dsql_rc add_panels(json_t *panels, struct dsql_err *err)
{
    struct layout layout = {0};
    json_t *last = NULL;
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; !rc && i < DSQL_COUNT_OF(entries); i++) {
        const struct entry *e = &entries[i];
        if (e->kind == QUERY) {
            rc = add_query(last, e, err);
            continue;
        }
        last = e->kind == ROW ? row(e, &layout) : panel(e, &layout);
        if (json_array_append_new(panels, last))
            rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    return rc;
}

enum dsql_rc dsql_dashboard_print(FILE *out, struct dsql_err *err)
{
    json_t *panels = json_array(), *list = json_array();
    json_t *dashboard = json_pack(
        "{ss ss ss s[ss] si si ss ss s{ss ss} so so}", "uid", "dsql", "title",
        "Aurora DSQL connections and transactions", "description",
        "Printed by 'dsql monitoring dashboard'. Begin at the top; each panel says what is "
        "healthy.",
        "tags", "dsql", "aurora-dsql", "schemaVersion", SCHEMA_VERSION, "graphTooltip", 1,
        "refresh", "30s", "timezone", "browser", "time", "from", "now-3h", "to", "now",
        "templating", json_pack("{so}", "list", list), "panels", panels);
    enum dsql_rc rc = dashboard ? DSQL_OK : dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (!rc)
        rc = add_variables(list, err);
    if (!rc)
        rc = add_panels(panels, err);
    char *text = rc ? NULL : json_dumps(dashboard, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    if (text)
        fprintf(out, "%s\n", text);
    else if (!rc)
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    free(text);
    json_decref(dashboard);
    return rc;
}
