/*
 * One transaction on one connection: what is queued, sent, answered. libpq's pipeline mode carries
 * it; nothing here knows of pools, retries or metrics.
 *
 * Words: an *entry* is one thing that was queued (BEGIN, a Parse, a statement, COMMIT, ROLLBACK, a
 * Sync); a *batch* is what stands between two Syncs and costs one round trip.
 *
 * Invariants: (W1) entries are answered in the order they were queued; (W2) after the first failure
 * only Sync, ROLLBACK and the read of dsql_wire_look() are queued; (W3) COMMIT is queued
 * only when no unanswered entry holds a fence that the server would not raise, and a statement with
 * such a fence is never sent without BEGIN; (W4) the outcome is unknown only if COMMIT was queued,
 * no error was received for an entry before it, and no answer to it came; (W5) only this file's
 * code begins and ends transactions, so that what it knows of them is true; (W6) once something was
 * applied the outcome is DSQL_OK, DSQL_APPLIED or DSQL_COMMIT_UNKNOWN.
 */
#ifndef DSQL_TX_WIRE_H
#define DSQL_TX_WIRE_H

#include "base/clock.h"
#include "core/classify.h"
#include "dsql/tx.h"
#include "tx/prepared.h"

struct pg_conn;
struct pg_result;
struct dsql_wire_entry;

/* How long a call may wait. */
struct dsql_wire_limits {
    const struct dsql_clock *clock;
    struct dsql_mono deadline; /* INT64_MAX for none */
    struct dsql_cancel *cancel;
};

struct dsql_wire {
    struct pg_conn *pg;
    struct dsql_wire_limits limits;
    bool read_only;
    bool one;    /* the caller wants one statement only */
    bool single; /* that statement is a transaction by itself: no BEGIN, no COMMIT */
    struct dsql_wire_entry *entries;
    size_t len, cap;
    size_t answered; /* entries before this one are */
    bool committed;  /* COMMIT was answered */
    bool applied;    /* a single statement has changed something, and that can't be undone */
    bool dead;       /* the connection must be closed */
    bool stale_plan;
    struct dsql_err failed; /* the first failure; rc DSQL_OK while there is none */
    size_t failed_at;       /* the entry that it belongs to; SIZE_MAX if it belongs to none */
    unsigned round_trips;
};

/* Puts the connection into pipeline mode. Whatever happens, dsql_wire_close() must follow. */
void dsql_wire_open(struct dsql_wire *wire, struct pg_conn *pg,
                    const struct dsql_wire_limits *limits, bool read_only, bool single);

/* Queues a statement, BEGIN before the first one. fence may be NULL. wanted: its result is kept. */
DSQL_MUST_USE enum dsql_rc dsql_wire_send(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                          const struct dsql_param *params, size_t count,
                                          const struct dsql_fence *fence, bool wanted, size_t *at);

/* Waits until everything queued is answered. */
DSQL_MUST_USE enum dsql_rc dsql_wire_flush(struct dsql_wire *wire);

/* The answer of an entry, if need be after a flush. The result, if it is asked for, is the
 * caller's. */
DSQL_MUST_USE enum dsql_rc dsql_wire_take(struct dsql_wire *wire, size_t at, int64_t *affected,
                                          struct pg_result **result);

DSQL_MUST_USE enum dsql_rc dsql_wire_commit(struct dsql_wire *wire);

/* An error (NULL for none) that came after something was committed: adds that to it. DSQL_APPLIED.
 */
DSQL_MUST_USE enum dsql_rc dsql_wire_fail_applied(struct dsql_err *err);

/* Does nothing if no transaction is open. Waits at most a moment; the connection is dead if that
 * was not enough. */
void dsql_wire_rollback(struct dsql_wire *wire);

/* After a failure: ROLLBACK, if a transaction is open, and a statement behind it in the same
 * message, which sees what is there now. Its rows are the caller's; NULL if that failed, too. */
struct pg_result *dsql_wire_look(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                 const struct dsql_param *params, size_t count);

/* Frees everything; answers whether the connection may be used again. */
DSQL_MUST_USE bool dsql_wire_close(struct dsql_wire *wire);

/* Why a wait may not begin or go on: DSQL_CANCELLED, DSQL_TIMEOUT, or DSQL_OK. */
DSQL_MUST_USE enum dsql_rc dsql_wire_limits_check(const struct dsql_wire_limits *limits);

#endif
