#include "visibility/plan.h"

const char dsql_vis_columns[] =
    "r.run_id, r.workflow_id, r.workflow_type_name, r.start_inv, r.execution_time, r.close_inv, "
    "r.status, r.history_length, r.history_size_bytes, r.execution_duration, "
    "r.state_transition_count, r.memo, r.encoding, r.task_queue, r.search_attributes::text, "
    "r.parent_workflow_id, r.parent_run_id, r.root_workflow_id, r.root_run_id";

#define ORDER "close_inv, start_inv, run_id"

/* What the ranges of a statement share: numbers of parameters, 0 for none. */
struct plan {
    struct dsql_vis_sql *sql;
    const struct dsql_vis_ask *ask;
    const struct dsql_vis_path *path;
    const struct dsql_vis_position *position;
    size_t namespace_id, close_inv, start_inv, run_id, limit;
    bool ordered; /* each range has an order and a limit of its own */
    bool wide;    /* ranges are whole rows, not positions alone */
    size_t ranges;
};

static void add(const struct plan *plan, const char *text)
{
    dsql_strbuf_add_str(&plan->sql->text, text);
}

static void add_ref(const struct plan *plan, const char *before, size_t number)
{
    add(plan, before);
    dsql_vis_ref(&plan->sql->text, number);
}

static size_t number_param(const struct plan *plan, int64_t value)
{
    return dsql_vis_param(plan->sql, DSQL_VIS_OID_INT8, dsql_i64(value));
}

/* -- One range. */

struct range {
    const struct dsql_vis_scan *scan;
    size_t division, value; /* numbers of parameters, 0 for none */
    int bucket;             /* -1 for none */
};

static void add_fixed(const struct plan *plan, const struct range *range)
{
    static const char *const columns[] = {
        [DSQL_VIS_BY_RUN_ID] = "run_id",
        [DSQL_VIS_BY_WORKFLOW_ID] = "workflow_id",
        [DSQL_VIS_BY_PARENT] = "parent_workflow_id",
        [DSQL_VIS_BY_ROOT] = "root_workflow_id",
        [DSQL_VIS_BY_VALUE] = "value",
        [DSQL_VIS_BY_TYPE] = "workflow_type_name",
        [DSQL_VIS_BY_TASK_QUEUE] = "task_queue",
        [DSQL_VIS_BY_STATUS] = "status",
    };
    add_ref(plan, " WHERE namespace_id = ", plan->namespace_id);
    if (range->division)
        add_ref(plan, " AND division = ", range->division);
    if (range->value) {
        add(plan, " AND ");
        add(plan, columns[range->scan->index]);
        add_ref(plan, " = ", range->value);
    }
    if (range->bucket >= 0)
        dsql_strbuf_addf(&plan->sql->text, " AND bucket = '%d'", range->bucket);
    if (range->scan->index == DSQL_VIS_BY_RUN_ID)
        add(plan, " AND deleted_until IS NULL");
}

/* The comparison of close_inv alone says nothing new, and is one that every planner can use. */
static void add_order_bounds(const struct plan *plan, const struct dsql_vis_scan *scan)
{
    bool later = plan->position && plan->position->close_inv >= scan->first;
    if (!later && scan->first > DSQL_VIS_OPEN)
        add_ref(plan, " AND close_inv >= ", number_param(plan, scan->first));
    if (scan->last < DSQL_VIS_CLOSE_MAX)
        add_ref(plan, " AND close_inv <= ", number_param(plan, scan->last));
    if (scan->last == DSQL_VIS_OPEN && scan->start_first > INT64_MIN)
        add_ref(plan, " AND start_inv >= ", number_param(plan, scan->start_first));
    if (scan->last == DSQL_VIS_OPEN && scan->start_last < INT64_MAX)
        add_ref(plan, " AND start_inv <= ", number_param(plan, scan->start_last));
    if (!plan->position)
        return;
    if (later)
        add_ref(plan, " AND close_inv >= ", plan->close_inv);
    add_ref(plan, " AND (" ORDER ") > (", plan->close_inv);
    add_ref(plan, ", ", plan->start_inv);
    add_ref(plan, ", ", plan->run_id);
    add(plan, ")");
}

static bool is_empty(const struct plan *plan, const struct dsql_vis_scan *scan)
{
    return scan->first > scan->last || (plan->position && plan->position->close_inv > scan->last);
}

static void add_from(struct plan *plan, const struct dsql_vis_scan *scan)
{
    add(plan, plan->ranges++ ? " UNION ALL (" : "(");
    add(plan, plan->wide ? "SELECT *" : "SELECT " ORDER);
    add(plan, scan->index == DSQL_VIS_BY_VALUE ? " FROM visibility_postings"
                                               : " FROM executions_visibility");
}

static void add_range(struct plan *plan, const struct range *range, size_t attribute)
{
    add_from(plan, range->scan);
    add_fixed(plan, range);
    if (attribute)
        add_ref(plan, " AND attribute = ", attribute);
    add_order_bounds(plan, range->scan);
    if (plan->ordered)
        add(plan, " ORDER BY " ORDER);
    add_ref(plan, " LIMIT ", plan->limit);
    add(plan, ")");
}

/* -- The ranges of a scan: every division, every value, every bucket. */

static size_t fixed_value(const struct plan *plan, const struct dsql_vis_scan *scan, size_t i)
{
    const struct dsql_vis_value *value = &scan->compare->values[i];
    if (scan->index == DSQL_VIS_BY_STATUS)
        return dsql_vis_param(plan->sql, DSQL_VIS_OID_INT2, dsql_i16((int16_t)value->number));
    if (scan->index == DSQL_VIS_BY_VALUE)
        return dsql_vis_text_param(plan->sql,
                                   dsql_vis_posted(plan->sql, scan->compare->type, value));
    return dsql_vis_text_param(plan->sql, value->text);
}

static struct dsql_span division(const struct plan *plan, size_t i)
{
    if (plan->path->no_division)
        return DSQL_SPAN("");
    return plan->path->divisions ? plan->path->divisions->values[i].text : plan->ask->divisions[i];
}

static size_t division_count(const struct plan *plan, const struct dsql_vis_scan *scan)
{
    if (!dsql_vis_has_division(scan->index) || plan->path->no_division)
        return 1;
    return plan->path->divisions ? plan->path->divisions->count : plan->ask->division_count;
}

static void add_scan(struct plan *plan, const struct dsql_vis_scan *scan)
{
    size_t divisions = division_count(plan, scan),
           values = scan->compare ? scan->compare->count : 1;
    assert(scan->compare || scan->index == DSQL_VIS_BY_TIME);
    size_t attribute =
        scan->index == DSQL_VIS_BY_VALUE ? dsql_vis_text_param(plan->sql, scan->compare->name) : 0;
    struct range range = {.scan = scan};
    for (size_t d = 0; d < divisions; d++) {
        if (dsql_vis_has_division(scan->index))
            range.division = dsql_vis_text_param(plan->sql, division(plan, d));
        for (size_t v = 0; v < values; v++) {
            range.value = scan->compare ? fixed_value(plan, scan, v) : 0;
            range.bucket = dsql_vis_has_bucket(scan->index) ? 0 : -1;
            for (; range.bucket < DSQL_VISIBILITY_BUCKETS; range.bucket++) {
                add_range(plan, &range, attribute);
                if (range.bucket < 0)
                    break;
            }
        }
    }
}

/* -- A range of values. */

/* Postings are cut. */
static struct dsql_span prefix_of(const struct plan *plan, const struct dsql_vis_scan *scan)
{
    const struct dsql_vis_node *node = scan->compare;
    if (scan->index != DSQL_VIS_BY_VALUE)
        return node->values[0].text;
    return dsql_vis_posted(plan->sql, node->type, &node->values[0]);
}

static void add_values_of(struct plan *plan, const struct dsql_vis_scan *scan)
{
    const struct dsql_vis_node *node = scan->compare;
    static const char *const columns[] = {[DSQL_VIS_BY_WORKFLOW_ID] = "workflow_id",
                                          [DSQL_VIS_BY_PARENT] = "parent_workflow_id",
                                          [DSQL_VIS_BY_ROOT] = "root_workflow_id",
                                          [DSQL_VIS_BY_VALUE] = "value"};
    struct dsql_strbuf *text = &plan->sql->text;
    const char *column = columns[scan->index];
    bool has_low = node->op == DSQL_VIS_MORE || node->op == DSQL_VIS_AT_LEAST ||
                   node->op == DSQL_VIS_BETWEEN || node->op == DSQL_VIS_STARTS;
    bool has_high =
        node->op == DSQL_VIS_LESS || node->op == DSQL_VIS_AT_MOST || node->op == DSQL_VIS_BETWEEN;
    if (has_low)
        dsql_strbuf_addf(text, " AND %s >= $%zu", column, fixed_value(plan, scan, 0));
    if (has_high)
        dsql_strbuf_addf(text, " AND %s <= $%zu", column,
                         fixed_value(plan, scan, node->op == DSQL_VIS_BETWEEN ? 1 : 0));
    struct dsql_span behind;
    if (node->op == DSQL_VIS_STARTS && dsql_vis_behind(plan->sql, prefix_of(plan, scan), &behind))
        dsql_strbuf_addf(text, " AND %s < $%zu", column, dsql_vis_text_param(plan->sql, behind));
}

static void add_collected(struct plan *plan, const struct dsql_vis_scan *scan)
{
    add_from(plan, scan);
    add_ref(plan, " WHERE namespace_id = ", plan->namespace_id);
    if (scan->index == DSQL_VIS_BY_VALUE)
        add_ref(plan, " AND attribute = ", dsql_vis_text_param(plan->sql, scan->compare->name));
    add_values_of(plan, scan);
    add_ref(plan, " LIMIT ", plan->limit);
    add(plan, ")");
}

/* -- The source: positions of the path, at most `limit` of them. */

static void add_ranges(struct plan *plan)
{
    for (size_t i = 0; i < plan->path->scan_count; i++) {
        const struct dsql_vis_scan *scan = &plan->path->scans[i];
        if (plan->path->collects)
            add_collected(plan, scan);
        else if (!is_empty(plan, scan))
            add_scan(plan, scan);
    }
    if (plan->ranges > 0)
        return;
    add(plan, plan->wide ? "SELECT *" : "SELECT " ORDER);
    add(plan, " FROM executions_visibility WHERE false");
}

static void add_source(struct plan *plan)
{
    add(plan, plan->path->repeats ? "SELECT DISTINCT " ORDER " FROM (" : "SELECT " ORDER " FROM (");
    add_ranges(plan);
    add(plan, ") u");
    if (plan->ordered)
        add(plan, " ORDER BY " ORDER);
    add_ref(plan, " LIMIT ", plan->limit);
}

/* What is left of the expression: the part that a position has, and the part that a row has. */
struct rest {
    struct dsql_strbuf narrow, wide;
    bool has_wide, has_rows; /* whether it needs rows, and whether they are there */
};

static void write_rest(const struct plan *plan, struct rest *rest)
{
    const struct dsql_vis_path *path = plan->path;
    dsql_strbuf_init_heap(&rest->narrow, DSQL_VIS_SQL_MAX);
    dsql_strbuf_init_heap(&rest->wide, DSQL_VIS_SQL_MAX);
    dsql_strbuf_add_str(&rest->narrow, "true");
    dsql_strbuf_add_str(&rest->wide, "true");
    rest->has_wide = false;
    rest->has_rows = true;
    for (size_t i = 0; i < path->conjunct_count; i++) {
        if (path->covered[i])
            continue;
        bool narrow = dsql_vis_is_narrow(plan->ask->expr, path->conjuncts[i]);
        struct dsql_strbuf *text = narrow ? &rest->narrow : &rest->wide;
        rest->has_wide = rest->has_wide || !narrow;
        dsql_strbuf_add_str(text, " AND ");
        dsql_vis_filter(plan->sql, text, plan->ask->expr, path->conjuncts[i]);
    }
}

/* A text that was cut is not the filter that was asked for. */
static void rest_fini(const struct plan *plan, struct rest *rest)
{
    if (rest->narrow.cut || rest->wide.cut)
        plan->sql->failed = true;
    dsql_strbuf_fini(&rest->narrow);
    dsql_strbuf_fini(&rest->wide);
}

/* A run of an index without a row is none, and yet a place to go on from. */
static void add_join(const struct plan *plan, const struct rest *rest)
{
    add_ref(plan, " LEFT JOIN executions_visibility r ON r.namespace_id = ", plan->namespace_id);
    add(plan, " AND r.run_id = s.run_id");
    if (!rest)
        return;
    add(plan, " AND ");
    dsql_strbuf_add(&plan->sql->text, dsql_strbuf_span(&rest->narrow));
}

static void add_condition(const struct plan *plan, const struct rest *rest)
{
    add(plan, "(");
    dsql_strbuf_add(&plan->sql->text, dsql_strbuf_span(&rest->narrow));
    add(plan, rest->has_rows ? " AND r.run_id IS NOT NULL AND " : " AND ");
    dsql_strbuf_add(&plan->sql->text, dsql_strbuf_span(&rest->wide));
    add(plan, ")");
}

/* -- Statements. */

static bool begin(struct plan *plan, const struct dsql_vis_ask *ask,
                  const struct dsql_vis_path *path, const struct dsql_vis_position *position,
                  int64_t limit, struct dsql_vis_sql *sql)
{
    dsql_vis_sql_init(sql, 3 * ask->expr->value_count + 8);
    *plan = (struct plan){.sql = sql, .ask = ask, .path = path, .position = position};
    plan->namespace_id = dsql_vis_text_param(sql, ask->namespace_id);
    plan->limit = number_param(plan, limit);
    if (position) {
        plan->close_inv = number_param(plan, position->close_inv);
        plan->start_inv = number_param(plan, position->start_inv);
        plan->run_id = dsql_vis_text_param(sql, position->run_id);
    }
    return ask->division_count <= DSQL_VIS_RANGES_MAX / DSQL_VISIBILITY_BUCKETS;
}

static enum dsql_rc finish(const struct plan *plan, bool fits, struct dsql_err *err)
{
    if (!fits)
        return dsql_err_set(err, DSQL_TOO_LARGE,
                            "the namespace has more than %d divisions: name the ones that are "
                            "meant (" DSQL_VISIBILITY_DIVISION " = '...')",
                            DSQL_VIS_RANGES_MAX / DSQL_VISIBILITY_BUCKETS);
    if (plan->sql->failed || plan->sql->text.cut)
        return dsql_err_set(err, DSQL_TOO_LARGE,
                            "the query has too many values for one statement: ask for fewer");
    return DSQL_OK;
}

bool dsql_vis_lacks_divisions(const struct dsql_vis_path *path)
{
    return path->needs_division && !path->no_division && !path->divisions;
}

/* Whether the ranges are of rows, and have each of them once. */
static bool has_rows(const struct dsql_vis_path *path)
{
    for (size_t i = 0; i < path->scan_count; i++)
        if (path->scans[i].index == DSQL_VIS_BY_VALUE)
            return false;
    return !path->repeats;
}

/* Every run is a hit, and the ranges have its row. */
static void write_rows(struct plan *plan)
{
    plan->wide = true;
    add(plan, "SELECT r.close_inv, r.start_inv, r.run_id, true, '0'::bigint, ");
    add(plan, dsql_vis_columns);
    add(plan, " FROM (");
    add_ranges(plan);
    add_ref(plan, ") r ORDER BY r.close_inv, r.start_inv, r.run_id LIMIT ", plan->limit);
}

/* Every run of the source is a hit, if it has a row. */
static void write_plain(struct plan *plan)
{
    add(plan, "SELECT s.close_inv, s.start_inv, s.run_id, r.run_id IS NOT NULL, '0'::bigint, ");
    add(plan, dsql_vis_columns);
    add(plan, " FROM (");
    add_source(plan);
    add(plan, ") s");
    add_join(plan, NULL);
    add(plan, " ORDER BY s.close_inv, s.start_inv, s.run_id");
}

static void write_filtered(struct plan *plan, int64_t page)
{
    struct rest rest;
    write_rest(plan, &rest);
    add(plan, "SELECT s.close_inv, s.start_inv, s.run_id, ");
    add_condition(plan, &rest);
    add(plan, " IS TRUE, s.scanned, ");
    add(plan, dsql_vis_columns);
    add(plan, " FROM (SELECT q.*, row_number() OVER (ORDER BY " ORDER ") AS place, "
              "count(*) OVER () AS scanned FROM (");
    add_source(plan);
    add(plan, ") q) s");
    add_join(plan, &rest);
    add(plan, " WHERE ");
    add_condition(plan, &rest);
    add(plan, " OR s.place = s.scanned ORDER BY s.close_inv, s.start_inv, s.run_id");
    add_ref(plan, " LIMIT ", number_param(plan, page));
    rest_fini(plan, &rest);
}

/* The source is read whole each time; the position is a part of the filter. */
static void write_collected(struct plan *plan, int64_t page)
{
    struct rest rest;
    write_rest(plan, &rest);
    struct dsql_strbuf *narrow = &rest.narrow;
    if (plan->position)
        dsql_strbuf_addf(narrow, " AND (s.close_inv, s.start_inv, s.run_id) > ($%zu, $%zu, $%zu)",
                         plan->close_inv, plan->start_inv, plan->run_id);
    dsql_strbuf_addf(narrow, " AND s.scanned < $%zu", plan->limit);
    add(plan, "SELECT s.close_inv, s.start_inv, s.run_id, ");
    add_condition(plan, &rest);
    add(plan, " IS TRUE, s.scanned, ");
    add(plan, dsql_vis_columns);
    add(plan, " FROM (SELECT q.*, count(*) OVER () AS scanned FROM (");
    add_source(plan);
    add(plan, ") q) s");
    add_join(plan, &rest);
    add(plan, " WHERE ");
    add_condition(plan, &rest);
    add_ref(plan, " OR s.scanned >= ", plan->limit);
    add_ref(plan, " ORDER BY s.close_inv, s.start_inv, s.run_id LIMIT ", number_param(plan, page));
    rest_fini(plan, &rest);
}

enum dsql_rc dsql_vis_plan_list(const struct dsql_vis_ask *ask, const struct dsql_vis_path *path,
                                const struct dsql_vis_position *position, int64_t limit,
                                int64_t page, struct dsql_vis_sql *sql, struct dsql_err *err)
{
    struct plan plan;
    bool fits = begin(&plan, ask, path, position, limit, sql);
    plan.ordered = !path->collects;
    if (path->collects)
        write_collected(&plan, page);
    else if (dsql_vis_is_filtered(path))
        write_filtered(&plan, page);
    else if (has_rows(path))
        write_rows(&plan);
    else
        write_plain(&plan);
    return finish(&plan, fits, err);
}

static void add_group(const struct plan *plan, struct dsql_span group)
{
    const struct dsql_vis_attribute *column = dsql_vis_attribute(group);
    if (group.len == 0) {
        add(plan, "NULL::text");
    } else if (column) {
        add(plan, "(");
        add(plan, column->sql);
        add(plan, ")::text");
    } else {
        add_ref(plan, "(r.search_attributes ->> ", dsql_vis_text_param(plan->sql, group));
        add(plan, ")");
    }
}

enum dsql_rc dsql_vis_plan_count(const struct dsql_vis_ask *ask, const struct dsql_vis_path *path,
                                 struct dsql_span group, int64_t limit, struct dsql_vis_sql *sql,
                                 struct dsql_err *err)
{
    struct plan plan;
    struct rest rest;
    bool fits = begin(&plan, ask, path, NULL, limit, sql);
    write_rest(&plan, &rest);
    rest.has_rows = rest.has_wide || group.len > 0;
    add(&plan, "SELECT ");
    add_group(&plan, group);
    add(&plan, ", ");
    add_condition(&plan, &rest);
    add(&plan, " IS TRUE, count(*) FROM (");
    add_source(&plan);
    add(&plan, ") s");
    if (rest.has_rows)
        add_join(&plan, &rest);
    add(&plan, " GROUP BY 1, 2");
    rest_fini(&plan, &rest);
    return finish(&plan, fits, err);
}
