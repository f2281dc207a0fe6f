/* The handle: what the cluster can do, and transactions that remember tokens. */
#include "temporal/store.h"

#include <stdlib.h>

#include "base/rng.h"
#include "pool/pool.h"
#include "schema/schema.h"

void dsql_store_options_default(struct dsql_store_options *options)
{
    *options = (struct dsql_store_options){
        .shard_lock = DSQL_SHARD_LOCK_PROBE, .pipelined = true, .node = -1};
    dsql_tx_policy_default(&options->policy);
    /* A lost connection is LOST only if nothing can have been applied. */
    options->policy.retry.reconnects = 2;
}

/* -- Which lock. */

/*
 * FOR KEY SHARE conflicts with a change of a key column, and range_id is one only through a unique
 * index that is valid. Without the index the lock would be taken and protect nothing.
 */
static const struct dsql_stmt index_stmt = {
    .name = "store_probe_index",
    .sql = "SELECT to_regclass('shards') IS NOT NULL, EXISTS (SELECT 1 FROM pg_index i, "
           "pg_attribute a WHERE i.indrelid = to_regclass('shards') AND i.indisunique "
           "AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL "
           "AND a.attrelid = i.indrelid AND a.attname = 'range_id' "
           "AND a.attnum = ANY (i.indkey::int2[]))",
    .flags = DSQL_STMT_READ,
};
static const struct dsql_stmt lock_stmt = {
    .name = "store_probe_lock",
    .sql = "SELECT range_id FROM shards WHERE shard_id = -1 FOR KEY SHARE",
    .flags = DSQL_STMT_READ,
};

struct probe {
    bool has_table, has_index;
};

static enum dsql_rc probe_index(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct probe *probe = arg;
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_tx_query(tx, &index_stmt, NULL, 0, &rows, err);
    if (!rc && (!dsql_rows_bool(rows, 0, 0, &probe->has_table) ||
                !dsql_rows_bool(rows, 0, 1, &probe->has_index)))
        rc = dsql_err_set(err, DSQL_PROTOCOL, "the cluster does not say which indexes it has");
    dsql_rows_free(rows);
    return rc;
}

static enum dsql_rc probe_lock(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)arg;
    return dsql_tx_exec(tx, &lock_stmt, NULL, 0, NULL, err);
}

/* PROBE stays PROBE as long as there is no table. */
static enum dsql_rc probe(struct dsql_store *store, struct dsql_err *err)
{
    struct probe found = {false, false};
    struct dsql_tx_policy policy = store->options.policy;
    policy.single = true;
    enum dsql_rc rc = dsql_tx_run(store->pool, "ProbeShardLock", probe_index, &found, &policy, err);
    if (rc || !found.has_table)
        return rc;
    enum dsql_shard_lock lock = DSQL_SHARD_LOCK_FOR_UPDATE;
    if (found.has_index) {
        struct dsql_err refused;
        rc = dsql_tx_run(store->pool, "ProbeShardLock", probe_lock, NULL, &policy, &refused);
        if (!rc) {
            lock = DSQL_SHARD_LOCK_KEY_SHARE;
        } else if (rc != DSQL_UNSUPPORTED) {
            if (err)
                *err = refused;
            return rc;
        }
    }
    /* The first to find out decides, so that a store never mixes them. */
    enum dsql_shard_lock unknown = DSQL_SHARD_LOCK_PROBE;
    (void)atomic_compare_exchange_strong(&store->shard_lock, &unknown, lock);
    return DSQL_OK;
}

enum dsql_rc dsql_store_settle_lock(struct dsql_store *store, bool *key_share, struct dsql_err *err)
{
    enum dsql_shard_lock lock = atomic_load(&store->shard_lock);
    if (lock == DSQL_SHARD_LOCK_PROBE) {
        enum dsql_rc rc = probe(store, err);
        if (rc)
            return rc;
        lock = atomic_load(&store->shard_lock);
    }
    *key_share = lock == DSQL_SHARD_LOCK_KEY_SHARE;
    return DSQL_OK;
}

enum dsql_shard_lock dsql_store_shard_lock(const struct dsql_store *store)
{
    return atomic_load(&store->shard_lock);
}

/* -- Open and close. */

enum dsql_rc dsql_store_open(struct dsql_pool *pool, const struct dsql_store_options *options,
                             struct dsql_store **store, struct dsql_err *err)
{
    struct dsql_store *made = calloc(1, sizeof(*made));
    uint16_t random;
    if (!made)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    made->pool = pool;
    made->clock = pool->clock;
    if (options)
        made->options = *options;
    else
        dsql_store_options_default(&made->options);
    dsql_random_bytes(&random, sizeof(random));
    int node = made->options.node >= 0 ? made->options.node : random % DSQL_SNOWFLAKE_NODES;
    if (node >= DSQL_SNOWFLAKE_NODES) {
        free(made);
        return dsql_err_set(err, DSQL_INVALID, "node %d is not below %d", node,
                            DSQL_SNOWFLAKE_NODES);
    }
    dsql_snowflake_init(&made->ids, node);
    atomic_init(&made->shard_lock, made->options.shard_lock);
    enum dsql_rc rc = DSQL_OK;
    if (made->options.shard_lock == DSQL_SHARD_LOCK_PROBE)
        rc = probe(made, err);
    if (rc) {
        free(made);
        return rc;
    }
    (void)pthread_mutex_init(&made->ids_lock, NULL);
    dsql_acquired_init(&made->acquired);
    *store = made;
    return DSQL_OK;
}

void dsql_store_close(struct dsql_store *store)
{
    if (!store)
        return;
    (void)pthread_mutex_destroy(&store->ids_lock);
    dsql_acquired_fini(&store->acquired);
    free(store);
}

/* -- Transactions. */

struct run {
    struct dsql_store *store;
    dsql_store_fn *body;
    void *arg;
};

static enum dsql_rc run_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    const struct run *run = arg;
    struct dsql_store_tx own = {.store = run->store, .tx = tx};
    enum dsql_rc rc = run->body(&own, run->arg, err);
    dsql_row_tokens_fini(&own.tokens);
    return rc;
}

enum dsql_rc dsql_store_run(struct dsql_store *store, const char *operation, dsql_store_fn *body,
                            void *arg, const struct dsql_tx_policy *policy, struct dsql_err *err)
{
    struct run run = {store, body, arg};
    return dsql_tx_run(store->pool, operation, run_body, &run,
                       policy ? policy : &store->options.policy, err);
}

enum dsql_rc dsql_store_begin(struct dsql_store *store, const char *operation,
                              const struct dsql_tx_policy *policy, struct dsql_store_tx **tx,
                              struct dsql_err *err)
{
    struct dsql_store_tx *made = calloc(1, sizeof(*made));
    if (!made)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    made->store = store;
    enum dsql_rc rc = dsql_tx_begin(store->pool, operation,
                                    policy ? policy : &store->options.policy, &made->tx, err);
    if (rc)
        free(made);
    else
        *tx = made;
    return rc;
}

static void destroy(struct dsql_store_tx *tx)
{
    dsql_row_tokens_fini(&tx->tokens);
    free(tx);
}

enum dsql_rc dsql_store_commit(struct dsql_store_tx *tx, struct dsql_err *err)
{
    enum dsql_rc rc = dsql_tx_commit(tx->tx, err);
    destroy(tx);
    return rc;
}

void dsql_store_rollback(struct dsql_store_tx *tx)
{
    dsql_tx_rollback(tx->tx);
    destroy(tx);
}

struct dsql_tx *dsql_store_tx_of(struct dsql_store_tx *tx)
{
    return tx->tx;
}

enum dsql_rc dsql_store_verify_schema(struct dsql_store *store, int64_t wait_ns,
                                      struct dsql_err *err)
{
    return dsql_schema_verify_pool(&dsql_schema_store, store->pool, wait_ns, err);
}
