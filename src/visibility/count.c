/* How many: from the counters where they know, one by one where they don't. */
#include <stdlib.h>

#include "base/grow.h"
#include "visibility/eval.h"
#include "visibility/read.h"
#include "visibility/visibility.h"

struct count {
    struct dsql_vis_call call;
    struct dsql_vis_expr expr;
    struct dsql_vis_ask ask;
    struct dsql_vis_path path;
    struct dsql_span group;
    struct dsql_visibility_counts *counts;
    struct dsql_rows *division_rows;
    struct dsql_span *divisions;
};

/* -- Groups. Their values have memory of their own. */

static void clear(struct dsql_visibility_counts *counts)
{
    for (size_t i = 0; i < counts->group_count; i++)
        free((void *)(uintptr_t)counts->groups[i].value.ptr);
    *counts = (struct dsql_visibility_counts){.groups = counts->groups, .cap = counts->cap};
}

void dsql_visibility_counts_fini(struct dsql_visibility_counts *counts)
{
    clear(counts);
    free(counts->groups);
    *counts = (struct dsql_visibility_counts){0};
}

static struct dsql_visibility_group *find_group(const struct dsql_visibility_counts *counts,
                                                struct dsql_span value)
{
    for (size_t i = 0; i < counts->group_count; i++) {
        struct dsql_visibility_group *group = &counts->groups[i];
        bool same_null = !group->value.ptr == !value.ptr;
        if (same_null && (!value.ptr || dsql_span_eq(dsql_vis_span(group->value), value)))
            return group;
    }
    return NULL;
}

static struct dsql_visibility_group *new_group(struct dsql_visibility_counts *counts,
                                               struct dsql_span value)
{
    if (!DSQL_GROW(counts->groups, counts->cap, counts->group_count + 1))
        return NULL;
    char *text = value.ptr ? malloc(value.len + 1) : NULL;
    if (value.ptr && !text)
        return NULL;
    if (text && value.len > 0)
        memcpy(text, value.ptr, value.len);
    struct dsql_visibility_group *group = &counts->groups[counts->group_count++];
    *group = (struct dsql_visibility_group){.value = dsql_slice(text, value.len)};
    return group;
}

static enum dsql_rc add(struct count *count, struct dsql_span value, int64_t number)
{
    count->counts->total += number;
    if (count->group.len == 0 || number == 0)
        return DSQL_OK;
    struct dsql_visibility_group *group = find_group(count->counts, value);
    if (!group)
        group = new_group(count->counts, value);
    if (!group)
        return dsql_err_set(count->call.err, DSQL_NO_MEMORY, "out of memory");
    group->count += number;
    return DSQL_OK;
}

/* -- One by one. */

static enum dsql_rc add_counted(struct count *count, const struct dsql_rows *rows)
{
    enum { GROUP, HIT, NUMBER };
    for (size_t row = 0; row < dsql_rows_count(rows); row++) {
        struct dsql_span value = {0};
        int64_t number;
        bool hit;
        value.ptr = dsql_rows_bytes(rows, row, GROUP, &value.len);
        if (!dsql_rows_bool(rows, row, HIT, &hit) || !dsql_rows_i64(rows, row, NUMBER, &number))
            return dsql_err_set(count->call.err, DSQL_PROTOCOL, "a count can't be read");
        count->counts->scanned += number;
        enum dsql_rc rc = hit ? add(count, value, number) : DSQL_OK;
        if (rc)
            return rc;
    }
    int64_t most = count->call.visibility->bounds.counted;
    if (count->counts->scanned <= most)
        return DSQL_OK;
    enum dsql_rc rc = dsql_err_set(count->call.err, DSQL_LIMIT,
                                   "more than %lld runs would have to be looked at to count this",
                                   (long long)most);
    dsql_err_hint(count->call.err,
                  "count by ExecutionStatus and TemporalNamespaceDivision alone, or narrow the "
                  "query by an id, a type, a search attribute's value or a range of CloseTime");
    return rc;
}

static enum dsql_rc count_runs(struct count *count)
{
    struct dsql_vis_sql sql;
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = DSQL_OK;
    dsql_vis_choose(&count->expr, true, &count->path);
    if (dsql_vis_lacks_divisions(&count->path)) {
        rc = dsql_vis_find_divisions(&count->call, count->ask.namespace_id, &count->division_rows,
                                     &count->divisions, &count->ask.division_count);
        count->ask.divisions = count->divisions;
    }
    if (rc)
        return rc;
    rc = dsql_vis_plan_count(&count->ask, &count->path, count->group,
                             count->call.visibility->bounds.counted + 1, &sql, count->call.err);
    if (!rc)
        rc = dsql_vis_query(&count->call, "visibility_count", &sql, &rows);
    if (!rc)
        rc = add_counted(count, rows);
    dsql_rows_free(rows);
    dsql_vis_sql_fini(&sql);
    return rc;
}

/* -- From the counters. */

static const char counters_sql[] =
    "SELECT division, status, count_keyword, sum(delta)::bigint, count(*) FROM (SELECT division, "
    "status, count_keyword, delta FROM visibility_counts WHERE namespace_id = $1 LIMIT $2) c "
    "GROUP BY 1, 2, 3";

static struct dsql_span group_of(const struct count *count, const struct dsql_vis_counted *runs,
                                 struct dsql_strbuf *memory)
{
    if (dsql_span_eq(count->group, DSQL_SPAN("ExecutionStatus"))) {
        dsql_strbuf_clear(memory);
        dsql_strbuf_add_i64(memory, runs->status);
        return dsql_strbuf_span(memory);
    }
    struct dsql_span value = dsql_span_eq(count->group, DSQL_SPAN(DSQL_VISIBILITY_DIVISION))
                                 ? runs->division
                                 : runs->keyword;
    return value.len > 0 ? value : (struct dsql_span){0};
}

/* Whether the counters were enough: a keyword that may have been cut is not. */
static enum dsql_rc add_counters(struct count *count, const struct dsql_rows *rows, bool keyword,
                                 bool *enough)
{
    enum { DIVISION, STATUS, KEYWORD, SUM, ENTRIES };
    char memory[32];
    struct dsql_strbuf text;
    int64_t entries = 0;
    dsql_strbuf_init(&text, memory, sizeof(memory));
    for (size_t row = 0; row < dsql_rows_count(rows); row++) {
        struct dsql_vis_counted runs = {0};
        int64_t sum, some;
        runs.division.ptr = dsql_rows_bytes(rows, row, DIVISION, &runs.division.len);
        runs.keyword.ptr = dsql_rows_bytes(rows, row, KEYWORD, &runs.keyword.len);
        if (!runs.division.ptr || !runs.keyword.ptr ||
            !dsql_rows_i64(rows, row, STATUS, &runs.status) ||
            !dsql_rows_i64(rows, row, SUM, &sum) || !dsql_rows_i64(rows, row, ENTRIES, &some))
            return dsql_err_set(count->call.err, DSQL_PROTOCOL, "a counter can't be read");
        entries += some;
        if (keyword && runs.keyword.len >= DSQL_VISIBILITY_VALUE_WHOLE) {
            *enough = false;
            return DSQL_OK;
        }
        enum dsql_rc rc = DSQL_OK;
        if (dsql_vis_selects(&count->expr, &runs))
            rc = add(count, group_of(count, &runs, &text), sum);
        if (rc)
            return rc;
    }
    int64_t most = count->call.visibility->bounds.counters;
    if (entries < most)
        return DSQL_OK;
    enum dsql_rc rc = dsql_err_set(count->call.err, DSQL_LIMIT,
                                   "the namespace has %lld counters or more", (long long)most);
    dsql_err_hint(count->call.err, "they are not compacted: run `dsql visibility compact`");
    return rc;
}

static enum dsql_rc count_by_counters(struct count *count, bool keyword, bool *enough)
{
    struct dsql_vis_sql sql;
    struct dsql_rows *rows = NULL;
    dsql_vis_sql_init(&sql, 0);
    (void)dsql_vis_text_param(&sql, count->ask.namespace_id);
    (void)dsql_vis_param(&sql, DSQL_OID_INT8, dsql_i64(count->call.visibility->bounds.counters));
    dsql_strbuf_add_str(&sql.text, counters_sql);
    enum dsql_rc rc = sql.failed || sql.text.cut
                          ? dsql_err_set(count->call.err, DSQL_NO_MEMORY, "out of memory")
                          : dsql_vis_query(&count->call, "visibility_counters", &sql, &rows);
    if (!rc)
        rc = add_counters(count, rows, keyword, enough);
    dsql_rows_free(rows);
    dsql_vis_sql_fini(&sql);
    return rc;
}

/* -- A call. */

static void drop_empty(struct dsql_visibility_counts *counts)
{
    size_t kept = 0;
    for (size_t i = 0; i < counts->group_count; i++) {
        if (counts->groups[i].count == 0)
            free((void *)(uintptr_t)counts->groups[i].value.ptr);
        else
            counts->groups[kept++] = counts->groups[i];
    }
    counts->group_count = kept;
}

static bool is_counted_by(struct dsql_span group)
{
    return group.len == 0 || dsql_span_eq(group, DSQL_SPAN("ExecutionStatus")) ||
           dsql_span_eq(group, DSQL_SPAN(DSQL_VISIBILITY_DIVISION)) ||
           dsql_span_eq(group, DSQL_SPAN(DSQL_VISIBILITY_COUNT_KEYWORD));
}

static enum dsql_rc run_count(struct count *count)
{
    bool keyword, enough = true;
    enum dsql_rc rc = dsql_vis_check(&count->expr, count->call.err);
    if (rc)
        return rc;
    if (is_counted_by(count->group) && dsql_vis_is_counted(&count->expr, &keyword)) {
        keyword = keyword || dsql_span_eq(count->group, DSQL_SPAN(DSQL_VISIBILITY_COUNT_KEYWORD));
        rc = count_by_counters(count, keyword, &enough);
        if (rc || enough)
            return rc;
        clear(count->counts);
    }
    return count_runs(count);
}

enum dsql_rc dsql_visibility_count(struct dsql_visibility *visibility,
                                   const struct dsql_visibility_query *query,
                                   struct dsql_slice group, const struct dsql_tx_policy *policy,
                                   struct dsql_visibility_counts *counts, struct dsql_err *err)
{
    struct count count = {.group = dsql_vis_span(group), .counts = counts};
    count.ask = (struct dsql_vis_ask){.expr = &count.expr,
                                      .namespace_id = dsql_vis_span(query->namespace_id)};
    clear(counts);
    dsql_vis_call_begin(&count.call, visibility, "CountVisibility", policy, err);
    enum dsql_rc rc = dsql_vis_decode(dsql_vis_span(query->expression), &count.expr, err);
    if (rc)
        return rc;
    rc = run_count(&count);
    if (rc)
        clear(counts);
    else
        drop_empty(counts);
    dsql_vis_expr_fini(&count.expr);
    dsql_rows_free(count.division_rows);
    free(count.divisions);
    return rc;
}
