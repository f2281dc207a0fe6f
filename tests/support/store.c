#include "support/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "temporal/ops.h"

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
    pool.sizing.max_open = pool.sizing.target_ready = pool.standard.warmup_target = connections;
    pool.mode = DSQL_POOL_RESERVOIR; /* what the endpoint closes is replaced at once */
    pool.sizing.low_watermark = connections;
    pool.budget.rate = pool.budget.burst = 1000;
    pool.budget.staggered_startup_ns = 0;
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

enum dsql_rc fixture_try(struct fixture *f, enum way way, enum dsql_op op,
                         const struct dsql_param *values, size_t rows, struct dsql_result *result,
                         struct dsql_err *err)
{
    const struct dsql_op_info *info = dsql_op_info(op);
    struct dsql_script_call call = {op, values, rows, NULL};
    struct dsql_store_tx *tx = NULL;
    if (way == SCRIPT) {
        if (info->fence.mode == DSQL_FENCE_CHECKS)
            call.expect = values + info->fence.keys; /* the token stays as it is */
        return dsql_store_run_script(f->store, "script", &call, 1, NULL, result, NULL, err);
    }
    enum dsql_rc rc = way == TX ? dsql_store_begin(f->store, "tx", NULL, &tx, err) : DSQL_OK;
    if (!rc)
        rc = dsql_store_call(f->store, tx, op, values, rows, NULL, result, err);
    if (!rc && tx)
        return dsql_store_commit(tx, err);
    if (tx)
        dsql_store_rollback(tx);
    return rc;
}

void fixture_call(struct fixture *f, enum way way, enum dsql_op op, const struct dsql_param *values,
                  size_t rows, struct dsql_result *result)
{
    struct dsql_err err = {0};
    enum dsql_rc rc = fixture_try(f, way, op, values, rows, result, &err);
    REQUIRE(rc == DSQL_OK, "%s, way %d: %s", dsql_op_name(op), (int)way, err.message);
}
