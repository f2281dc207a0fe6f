/*
 * The store of a Temporal server on Aurora DSQL: every method of Temporal's SQL persistence
 * (without visibility), on the pool or inside a transaction. dsql/temporal_ops.h has its
 * enumeration and its structs: it is made from the catalogue, src/temporal/catalog.txt.
 *
 *     struct dsql_SelectFromShards in = {.shard_id = 12};
 *     struct dsql_SelectFromShards_row row;
 *     struct dsql_result result = {0};
 *     if (dsql_call_SelectFromShards(store, NULL, &in, &result, &err) == DSQL_OK)
 *         while (dsql_next_SelectFromShards(&result, &row))
 *             ...;
 *     dsql_result_fini(&result);
 *
 * Results tell apart: DSQL_DUPLICATE (the key exists), DSQL_NOT_FOUND (no row),
 * DSQL_CONDITION_FAILED (a token did not hold), DSQL_CONFLICT and DSQL_SCHEMA_CHANGED (run the
 * transaction again), DSQL_COMMIT_UNKNOWN, DSQL_LOST.
 *
 * Beside DSQL_CONDITION_FAILED err.entity says what has another owner: "shard", "execution",
 * "current execution", "task queue", "task queue user data", "namespace metadata", "cluster
 * metadata", "queue metadata", "nexus endpoints", "nexus endpoint". err.key says which one: the
 * fields of its key with '/' between them.
 *
 * These are the methods of Temporal's tables. An operation of Temporal's stores, such as
 * UpdateWorkflowExecution, is a script of them: dsql_store_run_script(). In the Temporal server the
 * Go adapter composes it (integrations/temporal/dsql/plan.go).
 *
 * Names after dsql_, dsql_call_ and dsql_next_ are Temporal's own.
 */
#ifndef DSQL_TEMPORAL_H
#define DSQL_TEMPORAL_H

#include "dsql/script.h"
#include "dsql/temporal_ops.h"
#include "dsql/tx.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dsql_store;
struct dsql_store_tx;

/* How ReadLockShards holds a shard. Never mixed within a store. */
enum dsql_shard_lock {
    DSQL_SHARD_LOCK_PROBE,      /* FOR KEY SHARE if the cluster takes it and the index that makes it
                                 * a fence is there; otherwise FOR UPDATE */
    DSQL_SHARD_LOCK_KEY_SHARE,  /* writers of one shard do not conflict with each other */
    DSQL_SHARD_LOCK_FOR_UPDATE, /* the later committer of two fails */
};

struct dsql_store_options {
    enum dsql_shard_lock shard_lock;
    /* Inside a transaction, statements whose answer is not needed ride with the next one or with
     * COMMIT. Their errors come to light there, and name the statement. */
    bool pipelined;
    int node; /* 0 to 1023, of the ids of buffered events; -1 for a random one */
    /* Of calls on the pool, and of transactions that bring none of their own. */
    struct dsql_tx_policy policy;
};

/* PROBE, pipelined, a random node, the default policy with two reconnects. */
DSQL_API void dsql_store_options_default(struct dsql_store_options *options);

/* Asks the cluster once which lock it knows. The pool must outlive the store. options may be NULL.
 * The store is safe from any thread. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_store_open(struct dsql_pool *pool,
                                                    const struct dsql_store_options *options,
                                                    struct dsql_store **store,
                                                    struct dsql_err *err);

/* Frees it; the pool stays open. No call or transaction may be under way. NULL is fine. */
DSQL_API void dsql_store_close(struct dsql_store *store);

/* Compares every table, column, key and index in the cluster with what the store's statements were
 * written for; a version number alone says nothing of shapes. DSQL_CONDITION_FAILED names the first
 * differences, the hint says what to do. Takes a connection of the pool for some 80 small queries,
 * waiting for it at most wait_ns (as dsql_pool_checkout() does): for a program's start. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_store_verify_schema(struct dsql_store *store,
                                                             int64_t wait_ns, struct dsql_err *err);

/* The lock in use: KEY_SHARE or FOR_UPDATE; PROBE as long as there are no tables to ask about. */
DSQL_API enum dsql_shard_lock dsql_store_shard_lock(const struct dsql_store *store);

/* -- Transactions of the store: dsql/tx.h's, which also remember the tokens that locks have read
 * and put them into the predicates of the writes that follow. */

/* Like dsql_tx_fn, it ends by returning, not by dsql_store_commit() or dsql_store_rollback(). */
typedef enum dsql_rc dsql_store_fn(struct dsql_store_tx *tx, void *arg, struct dsql_err *err);

/* As dsql_tx_run(). */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_store_run(struct dsql_store *store, const char *operation,
                                                   dsql_store_fn *body, void *arg,
                                                   const struct dsql_tx_policy *policy,
                                                   struct dsql_err *err);

/* As dsql_tx_begin(). Used by one thread at a time, until it is committed or rolled back. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_store_begin(struct dsql_store *store,
                                                     const char *operation,
                                                     const struct dsql_tx_policy *policy,
                                                     struct dsql_store_tx **tx,
                                                     struct dsql_err *err);

/* As dsql_tx_commit(): tx is gone whatever the outcome. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_store_commit(struct dsql_store_tx *tx,
                                                      struct dsql_err *err);

/* As dsql_tx_rollback(): tx is gone. */
DSQL_API void dsql_store_rollback(struct dsql_store_tx *tx);

/* The transaction underneath, for statements of the caller's own. It stays the store's: it is ended
 * by dsql_store_commit() or dsql_store_rollback(). */
DSQL_API struct dsql_tx *dsql_store_tx_of(struct dsql_store_tx *tx);

/* -- Calls. */

/* "SelectFromShards"; "?" for a number that is no operation. Static storage. */
DSQL_API const char *dsql_op_name(enum dsql_op op);

/* The operation of that name; DSQL_OP_COUNT if there is none. */
DSQL_API enum dsql_op dsql_op_find(const char *name);

/* How many values one row of its input has; 0 for a number that is no operation. */
DSQL_API size_t dsql_op_fields(enum dsql_op op);

/* How many columns it returns; 0 for what returns no rows, and for no operation. */
DSQL_API size_t dsql_op_columns(enum dsql_op op);

/*
 * What a call brings back. Zero it before its first use; one may serve many calls; fini frees it.
 *
 * data is one piece of memory: row after row, column after column, each an int32_t length in the
 * machine's order (-1 for NULL) and so many bytes. I4, I8 and BOOL are an int64_t of 8 bytes, TIME
 * one of microseconds since 1970; the others are the bytes themselves, UUID 16 of them.
 */
struct dsql_result {
    int64_t affected; /* rows changed, also beside DSQL_CONDITION_FAILED; -1: not known yet, since
                       * the statement waits for company */
    size_t rows, columns;
    unsigned char *data;
    size_t len;
    size_t cap, at, row; /* room; where dsql_next_* has got to */
};

/* Frees what it holds and zeroes it: it may be used again. */
DSQL_API void dsql_result_fini(struct dsql_result *result);

/*
 * One method. params holds count x dsql_op_fields(op) values; count is 1, or any number for the
 * methods that take many rows (none is a call that does nothing). Whatever the kind of a value: a
 * number is taken from i64, everything else from ptr and len; NULL is NULL. A pointer of NULL with
 * a length of 0 is the empty value, or NULL where the field may be.
 *
 * Inputs of one call need not belong together: each changes the rows that it names. On the pool a
 * method that deletes a range, or up to a limit, does so in portions that are transactions of their
 * own: when a later one fails, what the earlier ones deleted is gone, result->affected counts it,
 * and the same call goes on with the rest.
 *
 * tx is NULL for a transaction of its own, with the policy (NULL: the store's) for its limits and
 * retries; inside a transaction the policy must be NULL. Nothing of the caller's is changed or
 * kept. result may be NULL.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_store_call(struct dsql_store *store, struct dsql_store_tx *tx, enum dsql_op op,
                const struct dsql_param *params, size_t count, const struct dsql_tx_policy *policy,
                struct dsql_result *result, struct dsql_err *err);

/* -- Scripts: an operation of Temporal's persistence in one round trip (see dsql/script.h). */

struct dsql_script_call {
    enum dsql_op op;
    const struct dsql_param *params; /* as in dsql_store_call() */
    size_t count;
    /* Of a write that takes the token of a lock (UpdateShards, UpdateExecutions,
     * UpdateCurrentExecutions, UpdateTaskQueues): the token that must stand there before it, in
     * the order of its fields; a NULL among them is any, but not all of them are. NULL for all
     * other operations, whose expectations are among their fields. */
    const struct dsql_param *expect;
};

/* Why a call of a script failed. */
enum dsql_script_why {
    DSQL_SCRIPT_OTHER,     /* err says what it was */
    DSQL_SCRIPT_WRONG,     /* the row does not hold what was expected */
    DSQL_SCRIPT_MISSING,   /* there is no such row */
    DSQL_SCRIPT_DUPLICATE, /* a row with this key exists */
};

/* Zero it before its first use; dsql_result_fini(&found) at the end. */
struct dsql_script_failure {
    size_t call; /* which one, from 0; the number of calls if the failure belongs to none of them */
    enum dsql_script_why why;
    /* Beside DSQL_CONDITION_FAILED: what was read behind ROLLBACK, in the same message, and the row
     * that stood there by then, if there was one. DSQL_OP_COUNT: nothing was read. Of a value that
     * does not fit a column only the ticket is there, with an encoding that begins with '+'. */
    enum dsql_op read;
    struct dsql_result found;
};

/*
 * Runs calls as one transaction: BEGIN, all of them and COMMIT in one message. name is the metrics'
 * operation. policy: NULL for the store's; read_only for scripts that only read. Nothing of the
 * caller's is changed or kept.
 *
 * Fenced writes and the operations whose names begin with Expect are raised by the server: when one
 * does not hold, nothing is applied and the outcome is DSQL_CONDITION_FAILED. Ids of buffered
 * events are drawn anew at each try. That a query found no row is no failure here: look at its
 * result.
 *
 * DSQL_INVALID for what no script can hold: operations that need an answer before they go on
 * (LockCurrentExecutionsJoinExecutions, GetLastEnqueuedMessageIDForUpdate and its V2), deletes up
 * to a limit of more than 1,000 rows (DeleteFromTasks, DeleteFromTasksV2), and locks that hand
 * their token to the caller (ReadLockShards and the like: use the one that expects it).
 *
 * When an expectation fails, its row is read behind ROLLBACK. That is a later snapshot: should the
 * expectation hold there, the script is run again as after a conflict.
 *
 * results: NULL, or `count` of them, in the order of the calls; see struct dsql_result. *failure
 * (may be NULL) is filled beside a failure.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_store_run_script(struct dsql_store *store, const char *name,
                      const struct dsql_script_call *calls, size_t count,
                      const struct dsql_tx_policy *policy, struct dsql_result *results,
                      struct dsql_script_failure *failure, struct dsql_err *err);

/* -- The same with types. */

/* What the wrappers below call. inputs is an array of the operation's struct. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_store_call_typed(struct dsql_store *store,
                                                          struct dsql_store_tx *tx, enum dsql_op op,
                                                          const void *inputs, size_t count,
                                                          struct dsql_result *result,
                                                          struct dsql_err *err);
/* The next row of the result of that operation, false at the end. Pointers in it live as long as
 * the result. */
DSQL_API bool dsql_result_next(struct dsql_result *result, enum dsql_op op, void *row);

/*
 * dsql_call_NAME(store, tx or NULL, inputs, count, result or NULL, err) for what changes rows,
 * dsql_call_NAME(store, tx or NULL, input, result, err) for what returns them, and
 * dsql_next_NAME(result, row).
 */
#define DSQL_CALL_EXEC(name)                                                                       \
    static inline DSQL_MUST_USE enum dsql_rc dsql_call_##name(                                     \
        struct dsql_store *store, struct dsql_store_tx *tx, const struct dsql_##name *inputs,      \
        size_t count, struct dsql_result *result, struct dsql_err *err)                            \
    {                                                                                              \
        return dsql_store_call_typed(store, tx, DSQL_OP_##name, inputs, count, result, err);       \
    }
#define DSQL_CALL_QUERY(name)                                                                      \
    static inline DSQL_MUST_USE enum dsql_rc dsql_call_##name(                                     \
        struct dsql_store *store, struct dsql_store_tx *tx, const struct dsql_##name *input,       \
        struct dsql_result *result, struct dsql_err *err)                                          \
    {                                                                                              \
        return dsql_store_call_typed(store, tx, DSQL_OP_##name, input, 1, result, err);            \
    }                                                                                              \
    static inline bool dsql_next_##name(struct dsql_result *result, struct dsql_##name##_row *row) \
    {                                                                                              \
        return dsql_result_next(result, DSQL_OP_##name, row);                                      \
    }
DSQL_EACH_EXEC(DSQL_CALL_EXEC)
DSQL_EACH_QUERY(DSQL_CALL_QUERY)
#undef DSQL_CALL_EXEC
#undef DSQL_CALL_QUERY

#ifdef __cplusplus
}
#endif
#endif
