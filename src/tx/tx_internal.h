/*
 * tx: transactions, and what became of each. Programs see dsql/tx.h, dsql/stmt.h, dsql/script.h and
 * dsql/retry.h.
 *
 *     run.c          a transaction, again as long as the policy says so
 *     tx.c           one transaction: a connection, a wire on it, what the caller may do
 *     script.c       all statements of a transaction in one message
 *     fence.c        fenced updates that are transactions of their own
 *     operation.c    an operation whose tries the caller drives
 *     pool_tx.c      all of these on the pool: source.h is where connections come from
 *     wire*.c        one transaction on one connection: what is queued, sent, answered
 *     prepared.c     which statements a connection has prepared
 *     params.c, rows.c, verb.c     parameters, answers, and what a statement is
 *     condition.c    what is said of a fence that did not hold; blame.h whose failure it is
 *     retry.c        core's policy of retries with a clock, randomness and a lock
 *     cancel.c, wait.c             ending a wait, and waiting
 *     observe.c      what the metrics and the log are told
 *
 * This header is between the files of this folder: a transaction, and running one on any source.
 */
#ifndef DSQL_TX_TX_INTERNAL_H
#define DSQL_TX_TX_INTERNAL_H

#include "tx/observe.h"
#include "tx/source.h"

struct dsql_tx {
    struct dsql_wire wire;
    struct dsql_source source;
    struct dsql_wire_limits limits;
    struct dsql_observer observer;
    bool read_only, single;
    int try_number;
    void *conn;    /* held; NULL before checkout and after the end */
    bool has_wire; /* the wire is open */
    bool by_hand;  /* the caller began the transaction by dsql_tx_begin(), and ends it */
};

/* dsql_retry_budget_new() with a clock of its own; NULL: the machine's. */
DSQL_MUST_USE enum dsql_rc dsql_retry_budget_make(double ratio, int64_t rate, int64_t burst,
                                                  const struct dsql_clock *clock,
                                                  struct dsql_retry_budget **budget);

/* The clock starts now. policy is not NULL. */
void dsql_tx_init(struct dsql_tx *tx, const struct dsql_source *source, const char *operation,
                  const struct dsql_tx_policy *policy);

/* Begins a try: on the connection that is held, or on a new one. */
DSQL_MUST_USE enum dsql_rc dsql_tx_start(struct dsql_tx *tx, struct dsql_err *err);

/* Tells metrics, log and pulse of a try. rc is its outcome; `said` is the database's own answer,
 * which differs if the body returned another code. */
void dsql_tx_note(struct dsql_tx *tx, enum dsql_rc rc, enum dsql_rc said,
                  const struct dsql_err *err);

/* Ends a try. A connection that is still good is kept if `keep`, and given back otherwise. */
void dsql_tx_stop(struct dsql_tx *tx, bool keep);

/* What a transaction does, for those who also look at how a try ended. */
struct dsql_work {
    dsql_tx_fn *body;
    /* Of each try that had a connection: rc is its outcome, the wire is still open, and what it
     * answers is the outcome from now on. It may not make a failure of a success. NULL for none. */
    enum dsql_rc (*ended)(struct dsql_tx *tx, void *arg, enum dsql_rc rc, struct dsql_err *err);
    void *arg;
};
DSQL_MUST_USE enum dsql_rc dsql_tx_run_work(const struct dsql_source *source, const char *operation,
                                            const struct dsql_work *work,
                                            const struct dsql_tx_policy *policy,
                                            struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_tx_run_on(const struct dsql_source *source, const char *operation,
                                          dsql_tx_fn *body, void *arg,
                                          const struct dsql_tx_policy *policy,
                                          struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_tx_begin_on(const struct dsql_source *source, const char *operation,
                                            const struct dsql_tx_policy *policy,
                                            struct dsql_tx **tx, struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc
dsql_fenced_update_on(const struct dsql_source *source, const char *operation,
                      const struct dsql_stmt *stmt, const struct dsql_param *params, size_t count,
                      const struct dsql_fence *fence, const struct dsql_tx_policy *policy,
                      struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_auto_fenced_update_on(const struct dsql_source *source,
                                                      const char *operation,
                                                      const struct dsql_auto_fence *update,
                                                      const struct dsql_tx_policy *policy,
                                                      struct dsql_err *err);

#endif
