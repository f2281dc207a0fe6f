/*
 * A small service for symptoms_*.sh: `symptom_driver METRICS OPERATION` opens a pool as the
 * environment says, does one operation again and again until it is killed, and keeps its metrics in
 * a file.
 *
 *     fill          nothing: the pool is what is looked at
 *     fence         a fenced update whose token another owner has replaced
 *     unsupported   a statement that Aurora DSQL does not know
 *     lists         of Temporal's visibility, with a filter that looks at runs and finds none
 *     acquire       a shard of Temporal's, taken by the same process again and again
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "dsql/dsql.h"
#include "dsql/temporal.h"
#include "dsql/visibility.h"
#include "dsql/visibility_query.h"
#include "support/vis_expr.h"

static struct dsql_metrics *metrics;
static const char *metrics_file;

static void sleep_ms(int64_t ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * DSQL_MS};
    (void)nanosleep(&time, NULL);
}

static void must(enum dsql_rc rc, const char *what)
{
    if (rc == DSQL_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, dsql_rc_name(rc));
    exit(1);
}

/* Whole or not at all: it is read at any moment. */
static void *write_metrics(void *arg)
{
    char beside[512];
    (void)arg;
    (void)snprintf(beside, sizeof(beside), "%s.new", metrics_file);
    for (;; sleep_ms(100)) {
        char *text = NULL;
        size_t len = 0;
        must(dsql_metrics_text(metrics, &text, &len), "metrics");
        FILE *out = fopen(beside, "w");
        if (!out || fwrite(text, 1, len, out) != len || fclose(out) != 0 ||
            rename(beside, metrics_file) != 0) {
            perror(beside);
            exit(1);
        }
        free(text);
    }
    return NULL;
}

static enum dsql_rc run_sql(struct dsql_pool *pool, const char *sql)
{
    const struct dsql_stmt stmt = {.name = "sql", .sql = sql};
    struct dsql_tx_policy policy;
    struct dsql_tx *tx;
    dsql_tx_policy_default(&policy);
    policy.single = true;
    enum dsql_rc rc = dsql_tx_begin(pool, "sql", &policy, &tx, NULL);
    if (rc)
        return rc;
    rc = dsql_tx_exec(tx, &stmt, NULL, 0, NULL, NULL);
    enum dsql_rc ended = dsql_tx_commit(tx, NULL);
    return rc ? rc : ended;
}

static enum dsql_rc renew_lease(struct dsql_pool *pool)
{
    static const struct dsql_stmt renew = {
        .name = "renew", .sql = "UPDATE lease SET renewed = now() WHERE id = $1 AND owner = $2"};
    const struct dsql_fence fence = {.entity = "lease", .key = "1", .token = "owner 1"};
    const struct dsql_param params[] = {dsql_i64(1), dsql_i64(1)};
    return dsql_fenced_update(pool, "renew", &renew, params, 2, &fence, NULL, NULL);
}

static enum dsql_rc acquire_shard(struct dsql_pool *pool, struct dsql_store **store, int64_t range)
{
    const struct dsql_slice data = dsql_slice_str("data"), encoding = dsql_slice_str("Proto3");
    struct dsql_InsertIntoShards first = {1, 1, data, encoding};
    if (!*store) {
        enum dsql_rc rc = dsql_store_open(pool, NULL, store, NULL);
        return rc ? rc : dsql_call_InsertIntoShards(*store, NULL, &first, 1, NULL, NULL);
    }
    const struct dsql_param before = dsql_i64(range);
    const struct dsql_param fields[] = {dsql_i32(1), dsql_i64(range + 1),
                                        dsql_bytes(data.ptr, data.len),
                                        dsql_bytes(encoding.ptr, encoding.len)};
    const struct dsql_script_call call = {DSQL_OP_UpdateShards, fields, 1, &before};
    return dsql_store_run_script(*store, "UpdateShard", &call, 1, NULL, NULL, NULL, NULL);
}

/* One more run, and a list of those with a history of another length. */
static enum dsql_rc list_runs(struct dsql_pool *pool, struct dsql_visibility **visibility,
                              int64_t number)
{
    static struct vis_expr filter;
    struct dsql_visibility_page page = {0};
    char run[32];
    (void)snprintf(run, sizeof(run), "run %lld", (long long)number);
    const struct dsql_visibility_record record = {.namespace_id = dsql_slice_str("symptom"),
                                                  .run_id = dsql_slice_str(run),
                                                  .version = 1,
                                                  .status = 1,
                                                  .close_us = DSQL_VISIBILITY_OPEN,
                                                  .history_length = 4};
    enum dsql_rc rc = *visibility ? DSQL_OK : dsql_visibility_open(pool, NULL, visibility, NULL);
    if (!rc)
        rc =
            dsql_visibility_record(*visibility, DSQL_VISIBILITY_STARTED, &record, NULL, NULL, NULL);
    vis_begin(&filter);
    vis_and(&filter, 2);
    vis_no_division(&filter);
    vis_compare(&filter, DSQL_VIS_IN, DSQL_VIS_TYPE_INT, "HistoryLength", 1);
    vis_number(&filter, 5);
    const struct dsql_visibility_query query = {
        dsql_slice_str("symptom"), dsql_slice(vis_bytes(&filter).ptr, vis_bytes(&filter).len)};
    if (!rc)
        rc = dsql_visibility_list(*visibility, &query, 10, dsql_slice("", 0), NULL, &page, NULL);
    dsql_visibility_page_fini(&page);
    return rc;
}

int main(int argc, char **argv)
{
    struct dsql_pool_options options;
    struct dsql_pool *pool;
    pthread_t writer;
    if (argc != 3)
        return 2;
    metrics_file = argv[1];
    must(dsql_metrics_new("driver", &metrics), "metrics");
    if (pthread_create(&writer, NULL, write_metrics, NULL) != 0)
        return 1;
    must(dsql_pool_options_env(&options, NULL), "options");
    options.metrics = metrics;
    must(dsql_pool_open(&options, &pool, NULL), "open");
    bool fences = strcmp(argv[2], "fence") == 0;
    if (fences) {
        must(run_sql(pool, "CREATE TABLE lease (id bigint primary key, owner bigint, "
                           "renewed timestamptz)"),
             "table");
        must(run_sql(pool, "INSERT INTO lease VALUES (1, 2)"), "row");
    }
    struct dsql_store *store = NULL;
    struct dsql_visibility *visibility = NULL;
    for (int64_t range = 0;; range++, sleep_ms(100)) {
        if (strcmp(argv[2], "acquire") == 0)
            must(acquire_shard(pool, &store, range), "acquire");
        if (strcmp(argv[2], "lists") == 0)
            must(list_runs(pool, &visibility, range), "list");
        if (fences && renew_lease(pool) != DSQL_CONDITION_FAILED)
            return 1;
        if (strcmp(argv[2], "unsupported") == 0 &&
            run_sql(pool, "LISTEN somebody") != DSQL_UNSUPPORTED)
            return 1;
    }
}
