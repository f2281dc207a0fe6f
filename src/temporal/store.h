/* The handle, between the files of this folder. */
#ifndef DSQL_TEMPORAL_STORE_H
#define DSQL_TEMPORAL_STORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/snowflake.h"
#include "temporal/acquired.h"
#include "temporal/tokens.h"

struct dsql_store {
    struct dsql_pool *pool;
    const struct dsql_clock *clock; /* the pool's */
    struct dsql_store_options options;
    _Atomic(enum dsql_shard_lock) shard_lock; /* PROBE until it is known; then it never changes */
    pthread_mutex_t ids_lock; /* guards ids; nothing else is taken while it is held */
    struct dsql_snowflake ids;
    struct dsql_acquired acquired;
};

struct dsql_store_tx {
    struct dsql_store *store;
    struct dsql_tx *tx;
    struct dsql_row_tokens tokens;
};

/* FOR KEY SHARE or FOR UPDATE; asks the cluster if that is not yet known. */
DSQL_MUST_USE enum dsql_rc dsql_store_settle_lock(struct dsql_store *store, bool *key_share,
                                                  struct dsql_err *err);

#endif
