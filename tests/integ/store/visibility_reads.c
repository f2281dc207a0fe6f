/*
 * The queries that the Web UI, the SDKs and the server ask most, over 9,000 runs: each first page
 * is served by an index, and the database reads at most three entries and rows for each run that it
 * answers, as EXPLAIN ANALYZE counts them. Run by visibility_queries.sh.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dsql/visibility.h"
#include "dsql/visibility_query.h"
#include "support/store.h"
#include "support/vis_expr.h"
#include "visibility/plan.h"

enum { PAGE = 50, BATCH = 1000, BATCHES = 9 };

static struct fixture fix;
static struct dsql_visibility *visibility;
static struct dsql_err err;
static struct vis_expr e;

/* A transaction of the service takes 10 MiB, entries of indexes included. Every tenth run is open,
 * every fiftieth a schedule. */
static const char runs_sql[] =
    "INSERT INTO executions_visibility (namespace_id, run_id, _version, bucket, division, status, "
    "close_inv, start_inv, execution_time, workflow_id, workflow_type_name, task_queue, "
    "root_workflow_id, root_run_id, encoding, count_keyword, memo, search_attributes) SELECT 'ns', "
    "'run-' || n, 1, n %% 4, CASE WHEN n %% 50 = 0 THEN 'TemporalScheduler' ELSE '' END, CASE WHEN "
    "n %% 10 = 0 THEN 1 ELSE 2 + n %% 3 END, CASE WHEN n %% 10 = 0 THEN '-9223372036854775808'::bigint "
    "ELSE -(1000000 * (n + 60)::bigint) END, -(1000000 * n::bigint), 0, 'order-' || n, 'type-' || "
    "n %% 7, 'queue-' || n %% 3, 'root', 'root', '', '', convert_to(repeat('memo', 200), 'UTF8'), jsonb_build_object('Keyword01', 'v' || n %% "
    "20) FROM generate_series(%d, %d) n";
static const char postings_sql[] =
    "INSERT INTO visibility_postings (namespace_id, run_id, attribute, value, bucket, close_inv, "
    "start_inv) SELECT namespace_id, run_id, 'Keyword01', search_attributes ->> 'Keyword01', bucket, "
    "close_inv, start_inv FROM executions_visibility WHERE start_inv BETWEEN %d * -1000000::bigint "
    "AND %d * -1000000::bigint";

static void fill(void)
{
    char sql[2048];
    for (int i = 0; i < BATCHES; i++) {
        int first = 1 + BATCH * i, last = BATCH * (i + 1);
        (void)snprintf(sql, sizeof(sql), runs_sql, first, last);
        (void)fixture_sql(&fix, sql);
        (void)snprintf(sql, sizeof(sql), postings_sql, last, first);
        (void)fixture_sql(&fix, sql);
    }
    (void)fixture_sql(&fix, "ANALYZE executions_visibility");
    (void)fixture_sql(&fix, "ANALYZE visibility_postings");
}

/* -- What EXPLAIN ANALYZE says. */

struct explain {
    struct dsql_vis_sql *sql;
    struct dsql_rows *rows;
};

static enum dsql_rc run_explain(struct dsql_tx *tx, void *arg, struct dsql_err *failure)
{
    struct explain *explain = arg;
    const struct dsql_stmt stmt = {.name = "explain",
                                   .sql = explain->sql->text.ptr,
                                   .types = explain->sql->types,
                                   .flags = DSQL_STMT_READ | DSQL_STMT_TEXT};
    return dsql_tx_query(tx, &stmt, explain->sql->params, explain->sql->count, &explain->rows,
                         failure);
}

static double number_behind(const char *line, const char *what)
{
    const char *at = strstr(line, what);
    return at ? strtod(at + strlen(what), NULL) : 0;
}

/* All that scans of tables and indexes took, those that a filter dropped included. */
static int64_t rows_read(const struct dsql_rows *rows, bool *whole_table)
{
    double all = 0, loops = 1;
    bool of_table = false;
    for (size_t i = 0; i < dsql_rows_count(rows); i++) {
        const char *line = dsql_rows_bytes(rows, i, 0, NULL);
        if (strstr(line, "(actual")) {
            of_table = strstr(line, "Index Scan") || strstr(line, "Index Only Scan") ||
                       strstr(line, "Seq Scan") || strstr(line, "Bitmap Heap Scan");
            *whole_table = *whole_table || strstr(line, "Seq Scan");
            loops = number_behind(line, "loops=");
            all += of_table ? number_behind(line, "rows=") * loops : 0;
        } else if (of_table) {
            all += number_behind(line, "Rows Removed by Filter: ") * loops;
        }
    }
    return (int64_t)all;
}

/* The first portion of the list, as list.c asks for it. */
static int64_t explain(bool *whole_table)
{
    struct dsql_vis_expr expr;
    struct dsql_vis_path path;
    struct dsql_vis_sql sql;
    struct dsql_tx_policy policy;
    REQUIRE_OK(dsql_vis_decode(vis_bytes(&e), &expr, &err));
    const struct dsql_vis_ask ask = {.expr = &expr, .namespace_id = DSQL_SPAN("ns")};
    dsql_vis_choose(&expr, true, &path);
    REQUIRE_OK(dsql_vis_plan_list(&ask, &path, NULL, path.collects ? 2001 : PAGE + 1, PAGE + 1,
                                  &sql, &err));
    struct dsql_strbuf text;
    dsql_strbuf_init_heap(&text, DSQL_VIS_SQL_MAX);
    dsql_strbuf_add_str(&text, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ");
    dsql_strbuf_add(&text, dsql_strbuf_span(&sql.text));
    struct dsql_strbuf plain = sql.text;
    sql.text = text;
    struct explain explain = {.sql = &sql};
    dsql_tx_policy_default(&policy);
    policy.single = true;
    REQUIRE_OK(dsql_tx_run(fix.pool, "explain", run_explain, &explain, &policy, &err));
    int64_t read = rows_read(explain.rows, whole_table);
    if (getenv("SHOW_PLANS"))
        for (size_t i = 0; i < dsql_rows_count(explain.rows); i++)
            fprintf(stderr, "%s\n", (const char *)dsql_rows_bytes(explain.rows, i, 0, NULL));
    dsql_rows_free(explain.rows);
    dsql_strbuf_fini(&plain);
    dsql_vis_sql_fini(&sql);
    dsql_vis_expr_fini(&expr);
    return read;
}

static void served(const char *name)
{
    const struct dsql_visibility_query query = {dsql_slice_str("ns"),
                                                dsql_slice(vis_bytes(&e).ptr, vis_bytes(&e).len)};
    struct dsql_visibility_page page = {0};
    bool whole_table = false;
    int64_t read = explain(&whole_table);
    REQUIRE_OK(
        dsql_visibility_list(visibility, &query, PAGE, dsql_slice(NULL, 0), NULL, &page, &err));
    double each = page.rows ? (double)read / (double)page.rows : 0;
    printf("%-40s %3zu runs, %.2f read for each\n", name, page.rows, each);
    REQUIRE(page.rows > 0, "%s: nothing", name);
    REQUIRE(!whole_table, "%s: the whole table is read", name);
    REQUIRE(each <= 3, "%s: %.2f", name, each);
    dsql_visibility_page_fini(&page);
}

static void begin_and(unsigned more)
{
    vis_begin(&e);
    vis_and(&e, 1 + more);
    vis_no_division(&e);
}

static void typical(void)
{
    begin_and(0);
    served("all");
    begin_and(1);
    vis_status(&e, 1);
    served("ExecutionStatus = 'Running'");
    begin_and(1);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_INT, "ExecutionStatus", 2);
    vis_number(&e, 2);
    vis_number(&e, 3);
    served("ExecutionStatus IN (...)");
    begin_and(1);
    vis_is(&e, "WorkflowType", "type-3");
    served("WorkflowType = ...");
    begin_and(2);
    vis_is(&e, "WorkflowType", "type-3");
    vis_status(&e, 1);
    served("WorkflowType = ... AND Running");
    begin_and(2);
    vis_is(&e, "WorkflowType", "type-3");
    vis_status(&e, 3);
    served("WorkflowType = ... AND Completed");
    begin_and(1);
    vis_is(&e, "WorkflowId", "order-77");
    served("WorkflowId = ...");
    begin_and(1);
    vis_compare(&e, DSQL_VIS_STARTS, DSQL_VIS_TYPE_KEYWORD, "WorkflowId", 1);
    vis_text(&e, DSQL_SPAN("order-612"));
    served("WorkflowId STARTS_WITH ...");
    begin_and(1);
    vis_is(&e, "Keyword01", "v7");
    served("Keyword01 = ...");
    vis_begin(&e);
    vis_and(&e, 2);
    vis_is(&e, "TemporalNamespaceDivision", "TemporalScheduler");
    vis_status(&e, 1);
    served("schedules");
}

static void times(void)
{
    begin_and(1);
    vis_compare(&e, DSQL_VIS_AT_LEAST, DSQL_VIS_TYPE_TIME, "StartTime", 1);
    vis_time(&e, 8500, 0);
    served("StartTime >= ...");
    begin_and(1);
    vis_compare(&e, DSQL_VIS_BETWEEN, DSQL_VIS_TYPE_TIME, "StartTime", 2);
    vis_time(&e, 8000, 0);
    vis_time(&e, 9000, 0);
    served("StartTime BETWEEN ...");
    begin_and(1);
    vis_compare(&e, DSQL_VIS_BETWEEN, DSQL_VIS_TYPE_TIME, "CloseTime", 2);
    vis_time(&e, 3000, 0);
    vis_time(&e, 4000, 0);
    served("CloseTime BETWEEN ...");
}

/* The counters alone answer: nothing is looked at. */
static void counters(void)
{
    struct dsql_visibility_counts counts = {0};
    (void)fixture_sql(
        &fix, "INSERT INTO visibility_counts (namespace_id, division, status, count_keyword, "
              "id, delta) SELECT 'ns', division, status, '', gen_random_uuid(), count(*) FROM "
              "executions_visibility GROUP BY division, status");
    begin_and(0);
    const struct dsql_visibility_query query = {dsql_slice_str("ns"),
                                                dsql_slice(vis_bytes(&e).ptr, vis_bytes(&e).len)};
    REQUIRE_OK(dsql_visibility_count(visibility, &query, dsql_slice_str("ExecutionStatus"), NULL,
                                     &counts, &err));
    REQUIRE(counts.scanned == 0 && counts.group_count == 4, "%zu groups", counts.group_count);
    REQUIRE(counts.total == 8820, "%lld", (long long)counts.total);
    dsql_visibility_counts_fini(&counts);
}

int main(void)
{
    fixture_open(&fix, 2, NULL);
    REQUIRE_OK(dsql_visibility_open(fix.pool, NULL, &visibility, &err));
    fill();
    typical();
    times();
    counters();
    printf("visibility: typical queries are served by indexes\n");
    dsql_visibility_close(visibility);
    fixture_close(&fix);
    return 0;
}
