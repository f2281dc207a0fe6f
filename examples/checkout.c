/*
 * A connection from the pool, and a query on it with libpq.
 *
 *     cc checkout.c $(pkg-config --cflags --libs libdsql libpq) -o checkout
 *     dsql local exec -- ./checkout
 *
 * The cluster, the credentials and the pool's size come from the environment: `dsql help config`.
 */
#include <dsql/dsql.h>
#include <libpq-fe.h>
#include <stdio.h>

static int complain(const struct dsql_err *err)
{
    fprintf(stderr, "%s\n%s\n", err->message, err->hint);
    return 1;
}

/* The connection is ours until we return it. It was opened long before. */
static int print_time(struct dsql_pool *pool)
{
    struct dsql_conn *conn;
    struct dsql_err err;
    if (dsql_pool_checkout(pool, DSQL_SECONDS(5), &conn, &err) != DSQL_OK)
        return complain(&err);
    PGresult *result = PQexec(dsql_conn_pg(conn), "SELECT now()");
    int failed = PQresultStatus(result) != PGRES_TUPLES_OK;
    if (failed)
        fprintf(stderr, "%s", PQresultErrorMessage(result));
    else
        printf("the cluster's time is %s\n", PQgetvalue(result, 0, 0));
    PQclear(result);
    dsql_pool_return(conn); /* a broken one is closed, and replaced */
    return failed;
}

int main(void)
{
    struct dsql_pool_options options;
    struct dsql_pool *pool;
    struct dsql_err err;
    if (dsql_pool_options_env(&options, &err) != DSQL_OK)
        return complain(&err);
    options.sizing.max_open = 4; /* this program needs few, whatever the environment says */
    if (dsql_pool_open(&options, &pool, &err) != DSQL_OK)
        return complain(&err);
    int status = print_time(pool);
    dsql_pool_close(pool);
    return status;
}
