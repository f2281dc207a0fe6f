/*
 * What Go calls of libdsql. Go hands over flat memory without pointers in it, one call for each
 * method of the store; nothing here decides anything.
 */
#ifndef DSQL_TEMPORAL_BRIDGE_H
#define DSQL_TEMPORAL_BRIDGE_H

#include "dsql/log.h"
#include "dsql/metrics.h"
#include "dsql/pool.h"
#include "dsql/retry.h"
#include "dsql/temporal.h"
#include "dsql/tx.h"
#include "dsql/visibility.h"

struct bridge_engine {
    struct dsql_metrics *metrics;
    struct dsql_pool *pool;
    struct dsql_store *store;
    struct dsql_visibility *visibility;
    struct dsql_tx_policy policy;
    struct dsql_pool_options options;
};

/* Empty strings and 0 leave what the environment says. */
int bridge_open(const char *endpoint, const char *user, const char *database, int64_t max_open,
                int64_t max_age_ns, struct bridge_engine **engine, struct dsql_err *err);
void bridge_close(struct bridge_engine *engine);

/* How many connections the pool has open. */
int64_t bridge_connections(struct bridge_engine *engine);

enum bridge_kind { BRIDGE_NULL, BRIDGE_NUMBER, BRIDGE_BYTES, BRIDGE_NO_BYTES };

struct bridge_value {
    int32_t kind; /* enum bridge_kind */
    int32_t len;
    int64_t number; /* of BRIDGE_BYTES: where they start */
};

/* An operation of the metrics, under `name`; what happens in it names it. NULL elsewhere: no
 * operation. The caller ends it with dsql_operation_end(). */
int bridge_operation(struct bridge_engine *engine, const char *name, int64_t timeout_ns,
                     struct dsql_operation **operation, struct dsql_err *err);

struct bridge_answer {
    struct dsql_result result;
    struct dsql_err err;
};

/* values: count x fields of them; bytes: what they point into. timeout_ns: 0 for none. */
int bridge_call(struct bridge_engine *engine, struct dsql_store_tx *tx,
                struct dsql_operation *operation, int op, const struct bridge_value *values,
                size_t fields, size_t count, const void *bytes, struct dsql_cancel *cancel,
                int64_t timeout_ns, struct bridge_answer *answer);

/* One call of a script. */
struct bridge_step {
    int32_t op;
    int32_t expects; /* whether a token is expected: its values stand behind those of the input */
    int64_t first;   /* of its values among those of the script */
    int64_t fields, count;
};

/* results: NULL, or `count` of them, which the caller ends with dsql_result_fini(). */
int bridge_script(struct bridge_engine *engine, const char *name, struct dsql_operation *operation,
                  const struct bridge_step *steps, size_t count, const struct bridge_value *values,
                  size_t value_count, const void *bytes, int read_only, struct dsql_cancel *cancel,
                  int64_t timeout_ns, struct dsql_result *results, struct dsql_err *err);

int bridge_begin(struct bridge_engine *engine, struct dsql_operation *operation,
                 struct dsql_cancel *cancel, int64_t timeout_ns, struct dsql_store_tx **tx,
                 struct dsql_err *err);

#endif
