#include "visibility/ranges.h"

#include "visibility/narrow.h"

static void add(const struct dsql_vis_plan *plan, const char *text)
{
    dsql_strbuf_add_str(&plan->sql->text, text);
}

static void add_ref(const struct dsql_vis_plan *plan, const char *before, size_t number)
{
    add(plan, before);
    dsql_vis_ref(&plan->sql->text, number);
}

static void add_limit(const struct dsql_vis_plan *plan)
{
    dsql_strbuf_addf(&plan->sql->text, " LIMIT %lld", (long long)plan->limit);
}

static size_t number_param(const struct dsql_vis_plan *plan, int64_t value)
{
    return dsql_vis_param(plan->sql, DSQL_OID_INT8, dsql_i64(value));
}

/* -- One range. */

struct range {
    const struct dsql_vis_scan *scan;
    size_t division, value, status; /* numbers of parameters, 0 for none */
    int bucket;                     /* -1 for none */
};

static void add_fixed(const struct dsql_vis_plan *plan, const struct range *range)
{
    static const char *const columns[] = {
        [DSQL_VIS_BY_RUN_ID] = "run_id",
        [DSQL_VIS_BY_WORKFLOW_ID] = "workflow_id",
        [DSQL_VIS_BY_PARENT] = "parent_workflow_id",
        [DSQL_VIS_BY_ROOT] = "root_workflow_id",
        [DSQL_VIS_BY_VALUE] = "value",
        [DSQL_VIS_BY_TYPE] = "workflow_type_name",
        [DSQL_VIS_BY_TYPE_STATUS] = "workflow_type_name",
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
    if (range->status)
        add_ref(plan, " AND status = ", range->status);
    if (range->bucket >= 0)
        dsql_strbuf_addf(&plan->sql->text, " AND bucket = '%d'", range->bucket);
    if (range->scan->index == DSQL_VIS_BY_RUN_ID)
        add(plan, " AND deleted_until IS NULL");
}

/* The comparison of close_inv alone says nothing new, and is one that every planner can use. */
static void add_order_bounds(const struct dsql_vis_plan *plan, const struct dsql_vis_scan *scan)
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
    add_ref(plan, " AND (" DSQL_VIS_ORDER ") > (", plan->close_inv);
    add_ref(plan, ", ", plan->start_inv);
    add_ref(plan, ", ", plan->run_id);
    add(plan, ")");
}

static bool is_empty(const struct dsql_vis_plan *plan, const struct dsql_vis_scan *scan)
{
    return scan->first > scan->last || (plan->position && plan->position->close_inv > scan->last);
}

/* The columns that a source has. Of a posting they are those of its run's row, if that is there. */
static void add_columns(const struct dsql_vis_plan *plan, const char *position, const char *row)
{
    static const char *const fields[] = {"workflow_id",
                                         "workflow_type_name",
                                         "task_queue",
                                         "parent_workflow_id",
                                         "parent_run_id",
                                         "root_workflow_id",
                                         "root_run_id",
                                         "division",
                                         "status",
                                         "execution_time",
                                         "execution_duration",
                                         "history_length",
                                         "history_size_bytes",
                                         "state_transition_count",
                                         "memo",
                                         "encoding",
                                         "search_attributes"};
    struct dsql_strbuf *text = &plan->sql->text;
    dsql_strbuf_addf(text, "%sclose_inv, %sstart_inv, %srun_id", position, position, position);
    for (size_t i = 0; plan->wide && i < DSQL_COUNT_OF(fields); i++)
        dsql_strbuf_addf(text, ", %s%s", row, fields[i]);
}

static void add_row_of(const struct dsql_vis_plan *plan, const char *position)
{
    add_ref(plan, " LEFT JOIN executions_visibility r ON r.namespace_id = ", plan->namespace_id);
    dsql_strbuf_addf(&plan->sql->text, " AND r.run_id = %s.run_id", position);
}

/* Whether the range has to look for rows by itself. */
static bool is_posted(const struct dsql_vis_plan *plan, const struct dsql_vis_scan *scan)
{
    return scan->index == DSQL_VIS_BY_VALUE && plan->wide;
}

static void begin_range(struct dsql_vis_plan *plan, const struct dsql_vis_scan *scan)
{
    add(plan, plan->ranges++ ? " UNION ALL (" : "(");
    if (is_posted(plan, scan)) {
        add(plan, "SELECT ");
        add_columns(plan, "p.", "r.");
        add(plan, " FROM (SELECT " DSQL_VIS_ORDER);
    } else {
        add(plan, "SELECT ");
        add_columns(plan, "", "");
    }
    add(plan, scan->index == DSQL_VIS_BY_VALUE ? " FROM visibility_postings"
                                               : " FROM executions_visibility");
}

static void end_range(const struct dsql_vis_plan *plan, const struct dsql_vis_scan *scan)
{
    add_limit(plan);
    if (is_posted(plan, scan)) {
        add(plan, ") p");
        add_row_of(plan, "p");
        add(plan, plan->ordered ? " ORDER BY p.close_inv, p.start_inv, p.run_id" : "");
    }
    add(plan, ")");
}

static void add_range(struct dsql_vis_plan *plan, const struct range *range, size_t attribute)
{
    begin_range(plan, range->scan);
    add_fixed(plan, range);
    if (attribute)
        add_ref(plan, " AND attribute = ", attribute);
    add_order_bounds(plan, range->scan);
    if (plan->ordered)
        add(plan, " ORDER BY " DSQL_VIS_ORDER);
    end_range(plan, range->scan);
}

/* -- The ranges of a scan: every division, every value, every bucket. */

static size_t status_param(const struct dsql_vis_plan *plan, const struct dsql_vis_value *value)
{
    return dsql_vis_param(plan->sql, DSQL_OID_INT2, dsql_i16((int16_t)value->number));
}

static size_t fixed_value(const struct dsql_vis_plan *plan, const struct dsql_vis_scan *scan,
                          size_t i)
{
    const struct dsql_vis_value *value = &scan->compare->values[i];
    if (scan->index == DSQL_VIS_BY_STATUS)
        return status_param(plan, value);
    if (scan->index == DSQL_VIS_BY_VALUE)
        return dsql_vis_text_param(plan->sql,
                                   dsql_vis_posted(plan->sql, scan->compare->type, value));
    return dsql_vis_text_param(plan->sql, value->text);
}

static struct dsql_span division(const struct dsql_vis_plan *plan, size_t i)
{
    if (plan->path->no_division)
        return DSQL_SPAN("");
    return plan->path->divisions ? plan->path->divisions->values[i].text : plan->ask->divisions[i];
}

static size_t division_count(const struct dsql_vis_plan *plan, const struct dsql_vis_scan *scan)
{
    if (!dsql_vis_has_division(scan->index) || plan->path->no_division)
        return 1;
    return plan->path->divisions ? plan->path->divisions->count : plan->ask->division_count;
}

static void add_buckets(struct dsql_vis_plan *plan, struct range *range, size_t attribute)
{
    int buckets = dsql_vis_is_many(range->scan) ? 1 : DSQL_VISIBILITY_BUCKETS;
    range->bucket = dsql_vis_has_bucket(range->scan->index) ? 0 : -1;
    for (; range->bucket < buckets; range->bucket++) {
        add_range(plan, range, attribute);
        if (range->bucket < 0)
            break;
    }
}

static void add_scan(struct dsql_vis_plan *plan, const struct dsql_vis_scan *scan)
{
    size_t divisions = division_count(plan, scan),
           values = scan->compare ? scan->compare->count : 1,
           statuses = scan->status ? scan->status->count : 1;
    assert(scan->compare || scan->index == DSQL_VIS_BY_TIME);
    size_t attribute =
        scan->index == DSQL_VIS_BY_VALUE ? dsql_vis_text_param(plan->sql, scan->compare->name) : 0;
    struct range range = {.scan = scan};
    for (size_t d = 0; d < divisions; d++) {
        if (dsql_vis_has_division(scan->index))
            range.division = dsql_vis_text_param(plan->sql, division(plan, d));
        for (size_t v = 0; v < values; v++) {
            range.value = scan->compare ? fixed_value(plan, scan, v) : 0;
            for (size_t s = 0; s < statuses; s++) {
                range.status = scan->status ? status_param(plan, &scan->status->values[s]) : 0;
                add_buckets(plan, &range, attribute);
            }
        }
    }
}

/* -- A range of values. */

/* Postings are cut. */
static struct dsql_span prefix_of(const struct dsql_vis_plan *plan,
                                  const struct dsql_vis_scan *scan)
{
    const struct dsql_vis_node *node = scan->compare;
    if (scan->index != DSQL_VIS_BY_VALUE)
        return node->values[0].text;
    return dsql_vis_posted(plan->sql, node->type, &node->values[0]);
}

static void add_values_of(struct dsql_vis_plan *plan, const struct dsql_vis_scan *scan)
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

static void add_collected(struct dsql_vis_plan *plan, const struct dsql_vis_scan *scan)
{
    begin_range(plan, scan);
    add_ref(plan, " WHERE namespace_id = ", plan->namespace_id);
    if (scan->index == DSQL_VIS_BY_VALUE)
        add_ref(plan, " AND attribute = ", dsql_vis_text_param(plan->sql, scan->compare->name));
    add_values_of(plan, scan);
    end_range(plan, scan);
}

/* -- The source. */

static void add_ranges(struct dsql_vis_plan *plan)
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
    add(plan, "SELECT ");
    add_columns(plan, "", "");
    add(plan, " FROM executions_visibility WHERE false");
}

static void add_merged(struct dsql_vis_plan *plan)
{
    add(plan, plan->path->repeats ? "SELECT DISTINCT " : "SELECT ");
    add_columns(plan, "", "");
    add(plan, " FROM (");
    add_ranges(plan);
    add(plan, ") u");
    if (plan->ordered)
        add(plan, " ORDER BY " DSQL_VIS_ORDER);
    add_limit(plan);
}

/* Ranges of postings alone, and ranges that may have a run twice, are merged before rows are looked
 * for: of what is merged away no row is read. */
static bool has_late_rows(const struct dsql_vis_path *path)
{
    for (size_t i = 0; !path->repeats && i < path->scan_count; i++)
        if (path->scans[i].index != DSQL_VIS_BY_VALUE)
            return false;
    return true;
}

void dsql_vis_add_source(struct dsql_vis_plan *plan, bool rows, struct dsql_span narrow)
{
    bool late = rows && has_late_rows(plan->path);
    plan->wide = rows;
    if (late) {
        add(plan, "SELECT ");
        add_columns(plan, "d.", "r.");
        add(plan, " FROM (");
        plan->wide = false;
    }
    add_merged(plan);
    if (!late)
        return;
    add(plan, ") d");
    add_row_of(plan, "d");
    dsql_strbuf_add(&plan->sql->text, narrow);
}
