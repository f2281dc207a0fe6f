#include "support/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void fixture_fail(const char *file, int line, const char *what, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "%s:%d: %s: ", file, line, what);
    (void)vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

void fixture_open(struct fixture *f, int connections, const struct dsql_store_options *options)
{
    struct dsql_pool_options pool;
    struct dsql_err err = {0};
    f->rng = dsql_rng_from_os();
    REQUIRE_OK(dsql_metrics_new("test", &f->metrics));
    REQUIRE_OK(dsql_pool_options_env(&pool, &err));
    pool.max_open = pool.target_ready = pool.warmup_target = connections;
    pool.mode = DSQL_POOL_RESERVOIR; /* what the endpoint closes is replaced at once */
    pool.low_watermark = connections;
    pool.rate = pool.burst = 1000;
    pool.staggered_startup_ns = 0;
    pool.empty_wait_ns = INT64_C(30000000000); /* a loaded machine is no failure */
    pool.metrics = f->metrics;
    REQUIRE_OK(dsql_pool_open(&pool, &f->pool, &err));
    f->store = fixture_store(f, options);
}

struct dsql_store *fixture_store(struct fixture *f, const struct dsql_store_options *options)
{
    struct dsql_store *store;
    struct dsql_err err = {0};
    REQUIRE_OK(dsql_store_open(f->pool, options, &store, &err));
    return store;
}

void fixture_close(struct fixture *f)
{
    dsql_store_close(f->store);
    dsql_pool_close(f->pool);
    dsql_metrics_destroy(f->metrics);
}

struct dsql_id fixture_id(struct fixture *f)
{
    struct dsql_id id;
    for (size_t i = 0; i < sizeof(id.bytes); i++)
        id.bytes[i] = (unsigned char)dsql_rng_next(&f->rng);
    return id;
}

int32_t fixture_shard(struct fixture *f)
{
    return (int32_t)dsql_rng_between(&f->rng, 1, INT32_MAX);
}

struct own {
    const struct dsql_stmt *stmt;
    int64_t number;
};

static enum dsql_rc run_own(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct own *own = arg;
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_tx_query(tx, own->stmt, NULL, 0, &rows, err);
    own->number = (int64_t)dsql_rows_count(rows);
    (void)dsql_rows_i64(rows, 0, 0, &own->number);
    dsql_rows_free(rows);
    return rc;
}

int64_t fixture_sql(struct fixture *f, const char *sql)
{
    struct dsql_stmt stmt = {.name = "own", .sql = sql, .flags = DSQL_STMT_READ};
    struct own own = {&stmt, 0};
    struct dsql_tx_policy policy;
    struct dsql_err err = {0};
    dsql_tx_policy_default(&policy);
    policy.single = true;
    policy.retry.reconnects = 5;
    REQUIRE_OK(dsql_tx_run(f->pool, "own", run_own, &own, &policy, &err));
    return own.number;
}
