#include "visibility/plan.h"

#include "visibility/ranges.h"
#include "visibility/visibility.h"

/* `large` gives what may be large, `goes_on` says when a memo may go on. The last column is what
 * follows the memo, of the few runs whose memo is as long as a column. */
#define COLUMNS(large, goes_on)                                                                                       \
    "r.run_id, r.workflow_id, r.workflow_type_name, r.start_inv, r.execution_time, r.close_inv, "                     \
    "r.status, r.history_length, r.history_size_bytes, r.execution_duration, "                                        \
    "r.state_transition_count, " large("r.memo") ", r.encoding, r.task_queue, " large(                                \
        "r.search_attributes::text") ", r.parent_workflow_id, r.parent_run_id, "                                      \
                                     "r.root_workflow_id, r.root_run_id, "                                            \
                                     "CASE WHEN " goes_on                                                             \
                                     "octet_length(r.memo) = " DSQL_VIS_MEMO_PART_SQL " THEN "                        \
                                     "(SELECT string_agg(m.data, ''::bytea ORDER BY m.part) FROM visibility_memos m " \
                                     "WHERE m.namespace_id = $1 AND m.run_id = r.run_id) END"
#define ALWAYS(column) column
#define IF_HIT(column) "CASE WHEN r.hit THEN " column " END"

const char dsql_vis_columns[] = COLUMNS(ALWAYS, "");
static const char columns_of_hits[] = COLUMNS(IF_HIT, "r.hit AND ");

static void add(const struct dsql_vis_plan *plan, const char *text)
{
    dsql_strbuf_add_str(&plan->sql->text, text);
}

static void add_ref(const struct dsql_vis_plan *plan, const char *before, size_t number)
{
    add(plan, before);
    dsql_vis_ref(&plan->sql->text, number);
}

static size_t number_param(const struct dsql_vis_plan *plan, int64_t value)
{
    return dsql_vis_param(plan->sql, DSQL_OID_INT8, dsql_i64(value));
}

/* -- What is left of the expression. */

struct rest {
    struct dsql_strbuf narrow; /* what a position decides, of d; begins with " AND ", or is empty */
    struct dsql_strbuf all;    /* of q, in parentheses */
    bool has_rows;             /* whether q has columns of rows */
};

static void add_behind(const struct dsql_vis_plan *plan, struct dsql_strbuf *text,
                       const char *alias)
{
    dsql_strbuf_addf(text, " AND (%s.close_inv, %s.start_inv, %s.run_id) > ($%zu, $%zu, $%zu)",
                     alias, alias, alias, plan->close_inv, plan->start_inv, plan->run_id);
}

static bool is_wide(const struct dsql_vis_plan *plan)
{
    const struct dsql_vis_path *path = plan->path;
    for (size_t i = 0; i < path->conjunct_count; i++)
        if (!path->covered[i] && !dsql_vis_is_narrow(plan->ask->expr, path->conjuncts[i]))
            return true;
    return false;
}

static void write_rest(const struct dsql_vis_plan *plan, bool rows, struct rest *rest)
{
    const struct dsql_vis_path *path = plan->path;
    dsql_strbuf_init_heap(&rest->narrow, DSQL_VIS_SQL_MAX);
    dsql_strbuf_init_heap(&rest->all, DSQL_VIS_SQL_MAX);
    rest->has_rows = rows;
    dsql_strbuf_add_str(&rest->all, rows ? "(q.division IS NOT NULL" : "(true");
    for (size_t i = 0; i < path->conjunct_count; i++) {
        size_t node = path->conjuncts[i];
        if (path->covered[i])
            continue;
        dsql_strbuf_add_str(&rest->all, " AND ");
        dsql_vis_filter(plan->sql, &rest->all, plan->ask->expr, node, "q");
        if (!rows || !dsql_vis_is_narrow(plan->ask->expr, node))
            continue;
        dsql_strbuf_add_str(&rest->narrow, " AND ");
        dsql_vis_filter(plan->sql, &rest->narrow, plan->ask->expr, node, "d");
    }
    dsql_strbuf_add_char(&rest->all, ')');
    if (path->collects && plan->position)
        add_behind(plan, &rest->narrow, "d");
}

/* A text that was cut is not the filter that was asked for. */
static void rest_fini(const struct dsql_vis_plan *plan, struct rest *rest)
{
    if (rest->narrow.cut || rest->all.cut)
        plan->sql->failed = true;
    dsql_strbuf_fini(&rest->narrow);
    dsql_strbuf_fini(&rest->all);
}

static void add_rest(const struct dsql_vis_plan *plan, const struct rest *rest)
{
    dsql_strbuf_add(&plan->sql->text, dsql_strbuf_span(&rest->all));
}

/* -- Statements. */

static bool begin(struct dsql_vis_plan *plan, const struct dsql_vis_ask *ask,
                  const struct dsql_vis_path *path, const struct dsql_vis_position *position,
                  int64_t limit, struct dsql_vis_sql *sql)
{
    dsql_vis_sql_init(sql, 4 * ask->expr->value_count + 8);
    *plan = (struct dsql_vis_plan){
        .sql = sql, .ask = ask, .path = path, .position = position, .limit = limit};
    plan->namespace_id = dsql_vis_text_param(sql, ask->namespace_id);
    if (position) {
        plan->close_inv = number_param(plan, position->close_inv);
        plan->start_inv = number_param(plan, position->start_inv);
        plan->run_id = dsql_vis_text_param(sql, position->run_id);
    }
    return ask->division_count <= DSQL_VIS_RANGES_MAX / DSQL_VISIBILITY_BUCKETS;
}

static enum dsql_rc finish(const struct dsql_vis_plan *plan, bool fits, struct dsql_err *err)
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

/* Every run of the source is a hit, if it has a row. */
static void write_plain(struct dsql_vis_plan *plan)
{
    add(plan, "SELECT r.close_inv, r.start_inv, r.run_id, r.division IS NOT NULL, '0'::bigint, ");
    add(plan, dsql_vis_columns);
    add(plan, " FROM (");
    dsql_vis_add_source(plan, true, DSQL_SPAN(""));
    add(plan, ") r ORDER BY r.close_inv, r.start_inv, r.run_id");
}

/* The runs of the source with what the filter says of each. */
static void add_judged(struct dsql_vis_plan *plan, const struct rest *rest)
{
    add(plan, "SELECT q.close_inv, q.start_inv, q.run_id, ");
    add_rest(plan, rest);
    add(plan, " IS TRUE AS hit, row_number() OVER (ORDER BY q.close_inv, q.start_inv, q.run_id) "
              "AS place, count(*) OVER () AS scanned FROM (");
    dsql_vis_add_source(plan, rest->has_rows, dsql_strbuf_span(&rest->narrow));
    add(plan, ") q");
}

/* The source is not longer than the page: all its runs are the answer's, and those that are no hits
 * say how far it went. OFFSET 0: the filter is asked once for each run. */
static void write_filtered(struct dsql_vis_plan *plan, const struct rest *rest)
{
    add(plan, "SELECT r.close_inv, r.start_inv, r.run_id, r.hit, '0'::bigint, ");
    add(plan, columns_of_hits);
    add(plan, " FROM (SELECT q.*, ");
    add_rest(plan, rest);
    add(plan, " IS TRUE AS hit FROM (");
    dsql_vis_add_source(plan, true, dsql_strbuf_span(&rest->narrow));
    add(plan, ") q ORDER BY q.close_inv, q.start_inv, q.run_id OFFSET 0) r "
              "ORDER BY r.close_inv, r.start_inv, r.run_id");
}

/* The source is longer than the page: only what the filter needs of its rows is kept until the page
 * is known, and the rows of the page are read then. A path that collects is read whole each time,
 * and the position is a part of the filter. */
static void write_searched(struct dsql_vis_plan *plan, const struct rest *rest, int64_t page)
{
    add(plan, "SELECT s.close_inv, s.start_inv, s.run_id, s.hit, s.scanned, ");
    add(plan, dsql_vis_columns);
    add(plan, " FROM (SELECT j.* FROM (");
    add_judged(plan, rest);
    if (plan->path->collects) {
        add(plan, ") j WHERE (j.hit");
        if (plan->position)
            add_behind(plan, &plan->sql->text, "j");
        dsql_strbuf_addf(&plan->sql->text, ") OR j.scanned >= %lld", (long long)plan->limit);
    } else {
        add(plan, ") j WHERE j.hit OR j.place = j.scanned");
    }
    add(plan, " ORDER BY j.close_inv, j.start_inv, j.run_id");
    add_ref(plan, " LIMIT ", number_param(plan, page));
    add_ref(plan, ") s LEFT JOIN executions_visibility r ON s.hit AND r.namespace_id = ",
            plan->namespace_id);
    add(plan, " AND r.run_id = s.run_id ORDER BY s.close_inv, s.start_inv, s.run_id");
}

enum dsql_rc dsql_vis_plan_list(const struct dsql_vis_ask *ask, const struct dsql_vis_path *path,
                                const struct dsql_vis_position *position, int64_t limit,
                                int64_t page, struct dsql_vis_sql *sql, struct dsql_err *err)
{
    struct dsql_vis_plan plan;
    struct rest rest;
    bool fits = begin(&plan, ask, path, position, limit, sql);
    plan.ordered = !path->collects;
    if (plan.ordered && !dsql_vis_is_filtered(path)) {
        write_plain(&plan);
        return finish(&plan, fits, err);
    }
    bool wide = is_wide(&plan);
    bool searched = path->collects || limit > page;
    write_rest(&plan, wide || !searched, &rest);
    if (searched)
        write_searched(&plan, &rest, page);
    else
        write_filtered(&plan, &rest);
    rest_fini(&plan, &rest);
    return finish(&plan, fits, err);
}

static void add_group(const struct dsql_vis_plan *plan, struct dsql_span group)
{
    const struct dsql_vis_attribute *column = dsql_vis_attribute(group);
    if (group.len == 0) {
        add(plan, "NULL::text");
    } else if (column) {
        add(plan, "(");
        dsql_vis_add_column(&plan->sql->text, column, "q");
        add(plan, ")::text");
    } else {
        add_ref(plan, "(q.search_attributes ->> ", dsql_vis_text_param(plan->sql, group));
        add(plan, ")");
    }
}

enum dsql_rc dsql_vis_plan_count(const struct dsql_vis_ask *ask, const struct dsql_vis_path *path,
                                 struct dsql_span group, int64_t limit, struct dsql_vis_sql *sql,
                                 struct dsql_err *err)
{
    struct dsql_vis_plan plan;
    struct rest rest;
    bool fits = begin(&plan, ask, path, NULL, limit, sql);
    write_rest(&plan, is_wide(&plan) || group.len > 0, &rest);
    add(&plan, "SELECT ");
    add_group(&plan, group);
    add(&plan, ", ");
    add_rest(&plan, &rest);
    add(&plan, " IS TRUE, count(*) FROM (");
    dsql_vis_add_source(&plan, rest.has_rows, dsql_strbuf_span(&rest.narrow));
    add(&plan, ") q GROUP BY 1, 2");
    rest_fini(&plan, &rest);
    return finish(&plan, fits, err);
}
