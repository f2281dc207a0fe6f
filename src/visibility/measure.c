/*
 * The gauges of runs by namespace and status. They come from the counters, right after a
 * compaction, when there are few of these; no run is read. Runs of a division (schedules, batch
 * operations) are Temporal's own and left out.
 *
 * A gauge is exact or not there: with more counters than may be read, or without memory, there is
 * none. The number of series is bounded: the namespaces with most runs have series of their own,
 * the others are added up.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/utf8.h"
#include "metrics/metrics.h"
#include "pool/pool.h"
#include "visibility/check.h"

enum { NAMESPACES_MAX = 100, RUNNING = 1 };

/* The namespaces with most runs come first, those of one namespace stand together. $1: how many
 * counters are read at most; the last column is how many were. */
static const uint32_t sums_types[] = {DSQL_OID_INT8};
static const struct dsql_stmt sums_stmt = {
    .name = "visibility_measure",
    .sql = "SELECT s.namespace_id, s.status, s.runs, coalesce(n.name_full, n.name), s.counters "
           "FROM (SELECT namespace_id, status, CAST(sum(delta) AS BIGINT) AS runs, "
           "sum(sum(delta)) OVER (PARTITION BY namespace_id) AS all_runs, "
           "CAST(sum(count(*)) OVER () AS BIGINT) AS counters "
           "FROM (SELECT namespace_id, status, "
           "CASE WHEN division = '' THEN delta ELSE 0 END AS delta "
           "FROM visibility_counts LIMIT $1) c GROUP BY namespace_id, status) s "
           "LEFT JOIN namespaces n ON CAST(n.id AS TEXT) = s.namespace_id "
           "ORDER BY s.all_runs DESC, s.namespace_id, s.status",
    .types = sums_types,
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
};

/* By Temporal's numbers. */
static const char *const statuses[] = {"Unspecified",    "Running",  "Completed",
                                       "Failed",         "Canceled", "Terminated",
                                       "ContinuedAsNew", "TimedOut", "Paused"};

struct gauges {
    struct dsql_metric_runs *runs;
    size_t count, room;
};

/* As much of a name as fits, in whole characters. */
static void set_name(char to[256], struct dsql_span name)
{
    size_t len = 0, next;
    while (len < name.len && (next = dsql_utf8_len(dsql_span_from(name, len))) > 0 &&
           len + next < 256)
        len += next;
    memcpy(to, name.ptr, len);
    to[len] = '\0';
}

/* Names that were cut may have become equal: a series of that namespace and status is added to. */
static bool add(struct gauges *gauges, struct dsql_span name_space, int64_t status, int64_t runs)
{
    struct dsql_metric_runs made = {.runs = runs};
    set_name(made.name_space, name_space);
    if (status >= 0 && status < (int64_t)DSQL_COUNT_OF(statuses))
        (void)snprintf(made.status, sizeof(made.status), "%s", statuses[status]);
    else
        (void)snprintf(made.status, sizeof(made.status), "%lld", (long long)status);
    for (size_t i = 0; i < gauges->count; i++) {
        struct dsql_metric_runs *other = &gauges->runs[i];
        if (!strcmp(other->name_space, made.name_space) && !strcmp(other->status, made.status)) {
            other->runs += runs;
            return true;
        }
    }
    if (!DSQL_GROW(gauges->runs, gauges->room, gauges->count + 1))
        return false;
    gauges->runs[gauges->count++] = made;
    return true;
}

/* Every namespace has a series of running runs, also of none: an alert may wait for 0. */
static bool fill(struct gauges *gauges, const struct dsql_rows *rows)
{
    size_t namespaces = 0;
    struct dsql_span before = {NULL, 0};
    for (size_t i = 0; i < dsql_rows_count(rows); i++) {
        struct dsql_span id = dsql_vis_cell(rows, i, 0), name = dsql_vis_cell(rows, i, 3);
        int64_t status = 0, runs = 0;
        bool first = !before.ptr || !dsql_span_eq(before, id);
        namespaces += first;
        before = id;
        if (namespaces > NAMESPACES_MAX)
            name = DSQL_SPAN("other namespaces");
        else if (!name.ptr)
            name = id;
        (void)dsql_rows_i64(rows, i, 1, &status);
        (void)dsql_rows_i64(rows, i, 2, &runs);
        if ((first && !add(gauges, name, RUNNING, 0)) ||
            ((runs != 0 || status == RUNNING) && !add(gauges, name, status, runs)))
            return false;
    }
    return true;
}

struct measure {
    int64_t limit;
    struct dsql_rows *rows;
};

static enum dsql_rc run_sums(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct measure *measure = arg;
    const struct dsql_param params[] = {dsql_i64(measure->limit)};
    dsql_rows_free(measure->rows);
    measure->rows = NULL;
    return dsql_tx_query(tx, &sums_stmt, params, 1, &measure->rows, err);
}

enum dsql_rc dsql_visibility_measure(struct dsql_visibility *visibility,
                                     const struct dsql_tx_policy *policy, struct dsql_err *err)
{
    struct measure measure = {.limit = visibility->bounds.counters};
    struct gauges gauges = {0};
    int64_t counters = 0;
    enum dsql_rc rc =
        dsql_tx_run(visibility->pool, "MeasureVisibility", run_sums, &measure, policy, err);
    if (!rc)
        (void)dsql_rows_i64(measure.rows, 0, 4, &counters);
    if (rc || counters >= measure.limit || !fill(&gauges, measure.rows))
        gauges.count = 0;
    dsql_metrics_set_runs(visibility->pool->metrics, gauges.runs, gauges.count);
    dsql_rows_free(measure.rows);
    return rc;
}
