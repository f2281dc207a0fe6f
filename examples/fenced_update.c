/*
 * A fenced update: a lease that only its owner may renew. Another owner takes it over, and the
 * first one, who does not know yet, loses by the predicate of its own UPDATE.
 *
 *     cc fenced_update.c $(pkg-config --cflags --libs libdsql libpq) -o fenced_update
 *     dsql local exec -- ./fenced_update
 */
#include <dsql/dsql.h>
#include <libpq-fe.h>
#include <stdio.h>

static const struct dsql_stmt RENEW = {
    .name = "renew_lease",
    .sql = "UPDATE lease SET renewed = now() WHERE id = $1 AND range_id = $2",
    .flags = DSQL_STMT_PREPARE,
};
static const struct dsql_stmt TAKE_OVER = {
    .name = "take_over_lease",
    .sql = "UPDATE lease SET range_id = $2 + 1, renewed = now() WHERE id = $1 AND range_id = $2",
    .flags = DSQL_STMT_PREPARE,
};

/* The token that the caller owns stands in the predicate: zero rows mean that somebody was faster.
 */
static enum dsql_rc fenced(struct dsql_pool *pool, const struct dsql_stmt *stmt, int64_t range_id)
{
    char token[32];
    struct dsql_err err = {0};
    (void)snprintf(token, sizeof(token), "range id %lld", (long long)range_id);
    const struct dsql_fence fence = {.entity = "lease", .key = "1", .token = token, .rows = 1};
    const struct dsql_param params[] = {dsql_i64(1), dsql_i64(range_id)};
    enum dsql_rc rc = dsql_fenced_update(pool, stmt->name, stmt, params, 2, &fence, NULL, &err);
    printf("%s with range id %lld: %s%s%s\n", stmt->name, (long long)range_id, dsql_rc_name(rc),
           rc == DSQL_OK ? "" : ": ", rc == DSQL_OK ? "" : err.message);
    return rc;
}

static int prepare(struct dsql_pool *pool)
{
    static const char *const statements[] = {
        "DROP TABLE IF EXISTS lease",
        "CREATE TABLE lease (id bigint PRIMARY KEY, range_id bigint NOT NULL, renewed timestamptz)",
        "INSERT INTO lease VALUES (1, 7)",
    };
    struct dsql_conn *conn;
    struct dsql_err err;
    int failed = 0;
    if (dsql_pool_checkout(pool, DSQL_SECONDS(5), &conn, &err) != DSQL_OK) {
        fprintf(stderr, "%s\n%s\n", err.message, err.hint);
        return 1;
    }
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && !failed; i++) {
        PGresult *result = PQexec(dsql_conn_pg(conn), statements[i]);
        failed = PQresultStatus(result) != PGRES_COMMAND_OK;
        if (failed)
            fprintf(stderr, "%s", PQresultErrorMessage(result));
        PQclear(result);
    }
    dsql_pool_return(conn);
    return failed;
}

int main(void)
{
    struct dsql_pool_options options;
    struct dsql_pool *pool;
    struct dsql_err err;
    if (dsql_pool_options_env(&options, &err) != DSQL_OK ||
        dsql_pool_open(&options, &pool, &err) != DSQL_OK) {
        fprintf(stderr, "%s\n%s\n", err.message, err.hint);
        return 1;
    }
    int failed = prepare(pool);
    if (!failed) {
        enum dsql_rc first = fenced(pool, &RENEW, 7);     /* ours */
        enum dsql_rc other = fenced(pool, &TAKE_OVER, 7); /* theirs, from now on */
        enum dsql_rc stale = fenced(pool, &RENEW, 7);     /* we did not know */
        failed = first != DSQL_OK || other != DSQL_OK || stale != DSQL_CONDITION_FAILED;
    }
    dsql_pool_close(pool);
    return failed;
}
