/*
 * Transactions on Aurora DSQL: retried as a whole where that is safe, fenced, and with as few round
 * trips as their statements allow.
 *
 *     static enum dsql_rc move(struct dsql_tx *tx, void *arg, struct dsql_err *err) { ... }
 *     rc = dsql_tx_run(pool, "move", move, &order, NULL, &err);
 *
 * Round trips: BEGIN rides with the first statement, deferred statements ride with the next one
 * that is waited for, the last ones ride with COMMIT. The exception is a deferred statement whose
 * row count is a fence: zero rows are no error to the server, and a COMMIT right behind it would
 * commit. It is answered before COMMIT is sent, unless it was built with DSQL_RAISING.
 *
 * A struct dsql_tx is used by one thread at a time. Deadlines and cancellation hold in every wait,
 * the one for a connection included. The service has no statement timeout and ignores cancel
 * requests: giving up closes the connection, and if COMMIT was sent the outcome is unknown.
 *
 * err may be NULL everywhere.
 */
#ifndef DSQL_TX_H
#define DSQL_TX_H

#include "dsql/err.h"
#include "dsql/retry.h"
#include "dsql/stmt.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dsql_pool;
struct dsql_tx;
struct dsql_operation;

/* Wakes a call from another thread. One handle may serve many transactions, and stays fired. */
struct dsql_cancel;

/* A handle that the caller destroys. DSQL_NO_MEMORY, or DSQL_IO without a descriptor for it. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_cancel_new(struct dsql_cancel **cancel,
                                                    struct dsql_err *err);

/* Ends the waits of every transaction whose policy names it, now and later. Safe from any thread.
 */
DSQL_API void dsql_cancel_fire(struct dsql_cancel *cancel);

/* Whether it was fired. Safe from any thread. */
DSQL_API bool dsql_cancel_fired(const struct dsql_cancel *cancel);

/* No call may be using it any more. NULL is fine. */
DSQL_API void dsql_cancel_destroy(struct dsql_cancel *cancel);

/*
 * What a transaction does. It may run several times: it must not change its inputs nor anything
 * outside the database. DSQL_OK commits; anything else rolls back and is the outcome, except that a
 * transaction which met a conflict is run again, and one whose answer was lost is
 * DSQL_COMMIT_UNKNOWN, whatever the body made of it (see policy.single for its own rule). A body
 * that calls dsql_tx_commit() or dsql_tx_rollback() ends the program with an assertion.
 */
typedef enum dsql_rc dsql_tx_fn(struct dsql_tx *tx, void *arg, struct dsql_err *err);

/*
 * Finds out, in a transaction of its own, whether the one whose COMMIT was not answered was
 * applied. It must lock FOR UPDATE a row that the other one wrote: the answer is believed once this
 * transaction has committed, because from then on the other one, should its COMMIT still be on its
 * way, loses by the database's own check. May run several times.
 */
typedef enum dsql_rc dsql_settle_fn(struct dsql_tx *tx, void *arg, bool *applied,
                                    struct dsql_err *err);

struct dsql_tx_policy {
    struct dsql_retry_policy retry;
    int64_t timeout_ns;         /* for all tries together; 0 for none */
    struct dsql_cancel *cancel; /* NULL for none */
    bool read_only;
    /* The one statement of the body is a transaction by itself: no BEGIN, no COMMIT. A second
     * statement is refused. Once the statement has been waited for it can't be taken back: when the
     * body, or a further call, fails after a statement that changed something, the outcome is
     * DSQL_APPLIED, and it is not run again. A statement whose fence the server does not raise
     * (see DSQL_RAISING) gets BEGIN and COMMIT all the same: its row count is looked at before
     * COMMIT. */
    bool single;
    /* Of dsql_tx_run: settles an unknown commit. Without it DSQL_COMMIT_UNKNOWN is the outcome. If
     * it was not applied, the transaction is run again as after a conflict. */
    dsql_settle_fn *settle;
    void *settle_arg;
    /* NULL, or the operation that the transaction is a part of: see dsql_operation_begin(). */
    struct dsql_operation *operation;
};

/* The default retry policy; no deadline, nothing else set. */
DSQL_API void dsql_tx_policy_default(struct dsql_tx_policy *policy);

/*
 * Runs body(tx, arg, err) in a transaction, again as long as the policy (NULL: the default one)
 * says so. operation is the metrics' label, see dsql/metrics.h. Whatever the outcome, the
 * connection is the pool's again.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_tx_run(struct dsql_pool *pool, const char *operation,
                                                dsql_tx_fn *body, void *arg,
                                                const struct dsql_tx_policy *policy,
                                                struct dsql_err *err);

/* For callers that drive by themselves. Of the policy only deadline, cancel, read_only and single
 * count; it is copied. Ends with dsql_tx_commit() or dsql_tx_rollback(). */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_tx_begin(struct dsql_pool *pool, const char *operation,
                                                  const struct dsql_tx_policy *policy,
                                                  struct dsql_tx **tx, struct dsql_err *err);

/* Sends what is queued, and COMMIT. tx and its tickets are gone whatever the outcome. A failed
 * transaction can only be rolled back: then it is, and the answer is what made it fail.
 * DSQL_OK: it was applied. DSQL_COMMIT_UNKNOWN: it may have been. DSQL_APPLIED, with policy.single
 * only: the statement was, and something failed after it. Anything else: nothing was applied. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_tx_commit(struct dsql_tx *tx, struct dsql_err *err);

/* Ends the transaction; nothing of it stays, except, with policy.single, a statement that was
 * waited for. tx and its tickets are gone. */
DSQL_API void dsql_tx_rollback(struct dsql_tx *tx);

/*
 * An operation whose transactions the caller drives and runs again by itself. In the metrics it is
 * one operation, as dsql_tx_run()'s are: its transactions, those whose policy names it, count
 * conflicts, failures, retries and round trips for it, and have neither name nor duration of their
 * own. Of the policy (NULL: the default one) the retries and timeout_ns count.
 *
 *     for (;;) {
 *         ... a try: any number of transactions with policy.operation = operation ...
 *         if (rc == DSQL_OK || !(decision = dsql_operation_next(operation, rc)).again)
 *             break;
 *         ... wait for decision.wait_ns ...
 *     }
 *     dsql_operation_end(operation);
 *
 * An operation is used by one thread at a time; its transactions may be in several.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_operation_begin(struct dsql_pool *pool, const char *name,
                                                         const struct dsql_tx_policy *policy,
                                                         struct dsql_operation **operation,
                                                         struct dsql_err *err);

/* A try ended with rc: whether there is to be another one, as dsql_retry_next() says, and it is
 * counted. */
DSQL_API struct dsql_retry_decision dsql_operation_next(struct dsql_operation *operation,
                                                        enum dsql_rc rc);

/* Ends the operation, whatever its outcome, after all its transactions. NULL is fine. */
DSQL_API void dsql_operation_end(struct dsql_operation *operation);

/* Says what became of the commits of the operation that were not answered, when its caller has
 * found out: none was applied, or one of them was. In the metrics, dsql_commit_unknown_total, they
 * are unsettled if the operation ends before this is called. NULL is allowed. */
DSQL_API void dsql_operation_settled(struct dsql_operation *operation, bool applied);

/*
 * Statements. Statement, parameters and what they point to are needed during the call only. Once
 * one has failed the transaction has failed: every further call answers with the first error, whose
 * message names the statement it belongs to, however late it came to light. DSQL_INVALID is a
 * statement or a parameter that can't be sent: also COPY, and what begins or ends a transaction.
 * dsql/err.h has the database's errors.
 *
 * A statement that was dropped on the server (DEALLOCATE) is prepared anew. Where that comes
 * to light only by its error, the error is DSQL_SCHEMA_CHANGED, once.
 */

/* Runs a statement and waits. *affected (may be NULL): rows changed, or returned. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_tx_exec(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                                                 const struct dsql_param *params, size_t count,
                                                 int64_t *affected, struct dsql_err *err);

/* Runs a statement and waits for its rows, which the caller frees. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_tx_query(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                                                  const struct dsql_param *params, size_t count,
                                                  struct dsql_rows **rows, struct dsql_err *err);

/* Queues a statement whose answer is not needed. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_tx_defer(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                                                  const struct dsql_param *params, size_t count,
                                                  struct dsql_err *err);

/* A statement that was sent, and whose answer is taken later. */
struct dsql_ticket {
    size_t at;
};

/* Queues a statement and gives a ticket for its answer: several reads in one round trip. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_tx_send(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                                                 const struct dsql_param *params, size_t count,
                                                 struct dsql_ticket *ticket, struct dsql_err *err);

/* Waits for its answer, once for each ticket. affected and rows may be NULL. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_tx_take(struct dsql_tx *tx, struct dsql_ticket ticket,
                                                 int64_t *affected, struct dsql_rows **rows,
                                                 struct dsql_err *err);

/* Waits for everything queued. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_tx_flush(struct dsql_tx *tx, struct dsql_err *err);

/*
 * Compare and swap: a conditional statement whose predicate holds the token that the caller
 * expects. When it does not hit the rows it should, the transaction has failed with
 * DSQL_CONDITION_FAILED; the error names the entity, its key and the expected token.
 */
struct dsql_fence {
    const char *entity; /* what kind of thing: "shard". The strings are copied, cut to what an error
                         * holds. */
    const char *key;    /* which one: "12"; NULL if there is but one */
    const char *token;  /* "range_id 7" */
    int64_t rows;       /* how many it must hit; 0 for one or more */
};

/* Runs it and waits. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_cas(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                                             const struct dsql_param *params, size_t count,
                                             const struct dsql_fence *fence, struct dsql_err *err);

/* Queues the fenced statement. The fence is checked before the transaction commits. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_cas_defer(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                                                   const struct dsql_param *params, size_t count,
                                                   const struct dsql_fence *fence,
                                                   struct dsql_err *err);

/* One fenced update as a transaction of its own: one round trip if the server raises the fence (a
 * statement built with DSQL_RAISING, rows 0), two otherwise. */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_fenced_update(struct dsql_pool *pool, const char *operation, const struct dsql_stmt *stmt,
                   const struct dsql_param *params, size_t count, const struct dsql_fence *fence,
                   const struct dsql_tx_policy *policy, struct dsql_err *err);

/*
 * One update fenced by the token that stands in the row now: the token is read, put into the
 * update's predicate, and no other update comes in between. For callers that own no token. A caller
 * that owns one must not use this: it does not notice that the caller was overtaken.
 */
struct dsql_auto_fence {
    const struct dsql_stmt *read; /* selects the token as the first column of one row */
    const struct dsql_param *read_params;
    size_t read_count;
    const struct dsql_stmt *update;
    const struct dsql_param *params; /* of the update; the token's own place is ignored */
    size_t count;
    size_t token_param;       /* which of them is the token, from 0 */
    const char *entity, *key; /* as in struct dsql_fence */
};

/* DSQL_NOT_FOUND if there is no row to read. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_auto_fenced_update(struct dsql_pool *pool,
                                                            const char *operation,
                                                            const struct dsql_auto_fence *update,
                                                            const struct dsql_tx_policy *policy,
                                                            struct dsql_err *err);

/* Which try this is, from 1. */
DSQL_API int dsql_tx_try(const struct dsql_tx *tx);

/* How often this try has waited for the database. */
DSQL_API unsigned dsql_tx_round_trips(const struct dsql_tx *tx);

#ifdef __cplusplus
}
#endif
#endif
