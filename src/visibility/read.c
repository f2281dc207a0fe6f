#include "visibility/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "visibility/visibility.h"

void dsql_vis_call_begin(struct dsql_vis_call *call, struct dsql_visibility *visibility,
                         const char *operation, const struct dsql_tx_policy *policy,
                         struct dsql_err *err)
{
    *call = (struct dsql_vis_call){.visibility = visibility,
                                   .operation = operation,
                                   .policy = policy ? *policy : visibility->options.policy,
                                   .until_ns = INT64_MAX,
                                   .err = err};
    call->policy.single = true;
    call->policy.read_only = false; /* a statement that is alone needs no BEGIN that says so */
    call->policy.settle = NULL;
    if (call->policy.timeout_ns > 0)
        call->until_ns =
            dsql_mono_add(dsql_clock_mono(visibility->clock), call->policy.timeout_ns).ns;
}

int64_t dsql_vis_left(const struct dsql_vis_call *call)
{
    if (call->until_ns == INT64_MAX)
        return INT64_MAX;
    return call->until_ns - dsql_clock_mono(call->visibility->clock).ns;
}

struct query {
    struct dsql_stmt stmt;
    const struct dsql_vis_sql *sql;
    struct dsql_rows **rows;
};

static enum dsql_rc run(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    const struct query *query = arg;
    return dsql_tx_query(tx, &query->stmt, query->sql->params, query->sql->count, query->rows, err);
}

enum dsql_rc dsql_vis_query(struct dsql_vis_call *call, const char *name,
                            const struct dsql_vis_sql *sql, struct dsql_rows **rows)
{
    struct dsql_rows *found = NULL;
    struct query query = {
        .stmt = {.name = name, .sql = sql->text.ptr, .types = sql->types, .flags = DSQL_STMT_READ},
        .sql = sql,
        .rows = &found};
    uint64_t shape = dsql_vis_shape(sql);
    char its_name[64];
    if (dsql_vis_is_common(&call->visibility->shapes, shape)) {
        (void)snprintf(its_name, sizeof(its_name), "%s.%016" PRIx64, name, shape);
        query.stmt.name = its_name;
        query.stmt.flags |= DSQL_STMT_PREPARE;
    }
    int64_t left = dsql_vis_left(call);
    if (left != INT64_MAX)
        call->policy.timeout_ns = left > 0 ? left : 1;
    enum dsql_rc rc =
        dsql_tx_run(call->visibility->pool, call->operation, run, &query, &call->policy, call->err);
    if (rc)
        dsql_rows_free(found);
    else
        *rows = found;
    return rc;
}

/* -- Divisions: one step of the index for each of them. */

enum { DIVISIONS_MAX = DSQL_VIS_RANGES_MAX / DSQL_VISIBILITY_BUCKETS };

static const char divisions_sql[] =
    "WITH RECURSIVE d(division) AS ((SELECT division FROM executions_visibility "
    "WHERE namespace_id = $1 AND division IS NOT NULL ORDER BY division LIMIT 1) UNION ALL "
    "SELECT (SELECT v.division FROM executions_visibility v WHERE v.namespace_id = $1 "
    "AND v.division > d.division ORDER BY v.division LIMIT 1) FROM d WHERE d.division IS NOT NULL) "
    "SELECT division FROM d WHERE division IS NOT NULL LIMIT $2";

enum dsql_rc dsql_vis_find_divisions(struct dsql_vis_call *call, struct dsql_span namespace_id,
                                     struct dsql_rows **rows, struct dsql_span **divisions,
                                     size_t *count)
{
    struct dsql_vis_sql sql;
    dsql_vis_sql_init(&sql, 0);
    (void)dsql_vis_text_param(&sql, namespace_id);
    (void)dsql_vis_param(&sql, DSQL_OID_INT8, dsql_i64(DIVISIONS_MAX + 1));
    dsql_strbuf_add_str(&sql.text, divisions_sql);
    enum dsql_rc rc = sql.failed || sql.text.cut
                          ? dsql_err_set(call->err, DSQL_NO_MEMORY, "out of memory")
                          : dsql_vis_query(call, "visibility_divisions", &sql, rows);
    dsql_vis_sql_fini(&sql);
    if (rc)
        return rc;
    size_t n = dsql_rows_count(*rows);
    struct dsql_span *found = calloc(n + 1, sizeof(*found));
    if (!found)
        return dsql_err_set(call->err, DSQL_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++)
        found[i].ptr = dsql_rows_bytes(*rows, i, 0, &found[i].len);
    *divisions = found;
    *count = n;
    return DSQL_OK;
}
