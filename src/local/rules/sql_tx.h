/*
 * The rules that run across statements: one DDL in a transaction and never with DML, the limits on
 * rows, size and age, and what a failed transaction answers. A pure state machine: time, row counts
 * and sizes are told to it, and it says what to do; the caller talks to PostgreSQL.
 *
 * For each statement: dsql_sql_tx_admit(); if it passes, run it, then dsql_sql_tx_done() or
 * dsql_sql_tx_failed(). At the end of a simple Query and at Sync: dsql_sql_tx_sync(). Everything
 * between two of those that is outside BEGIN ... COMMIT is one implicit transaction, whichever
 * protocol it came by. Statements may be asked about before those in front of them are carried out:
 * dsql_sql_tx_settle() once PostgreSQL has caught up.
 *
 * Invariants: (T1) ddl and dml are never both set; (T2) counters are zero when IDLE; (T3) only
 * COMMIT and ROLLBACK leave FAILED, and what PostgreSQL says. Single-threaded, one per connection.
 */
#ifndef DSQL_LOCAL_SQL_TX_H
#define DSQL_LOCAL_SQL_TX_H

#include "base/time.h"
#include "local/rules/sql_stmt.h"

struct dsql_sql_limits {
    uint64_t rows;  /* changed in a transaction */
    uint64_t bytes; /* written in a transaction */
    int64_t age_ns; /* of a transaction */
};

/* The service's own: 3,000 rows, 10 MiB, 300 s. */
extern const struct dsql_sql_limits dsql_sql_limits_default;

enum dsql_sql_tx_state {
    DSQL_SQL_TX_IDLE,     /* between transactions */
    DSQL_SQL_TX_IMPLICIT, /* since the first statement after the last sync, outside a block */
    DSQL_SQL_TX_BLOCK,    /* since BEGIN */
    DSQL_SQL_TX_FAILED,   /* a block in which something failed */
};

struct dsql_sql_tx {
    const struct dsql_sql_limits *limits;
    enum dsql_sql_tx_state state;
    bool ddl, dml;
    bool changes; /* wrote, locked, or ran what may have: COMMIT can fail */
    uint64_t rows, bytes;
    struct dsql_mono since; /* when the transaction began */
};

/* limits must outlive tx. */
void dsql_sql_tx_init(struct dsql_sql_tx *tx, const struct dsql_sql_limits *limits);

/* The letter of ReadyForQuery: I, T or E. */
char dsql_sql_tx_letter(const struct dsql_sql_tx *tx);

enum dsql_sql_tx_verdict {
    DSQL_SQL_TX_PASS,
    DSQL_SQL_TX_REFUSE,   /* send the refusal; the transaction is FAILED or, for COMMIT, over: roll
                             PostgreSQL's back if it has one */
    DSQL_SQL_TX_ROLL_BACK /* COMMIT of a failed transaction: run ROLLBACK, whose tag is the answer
                           */
};

/*
 * May this statement run now? prepared is the PREPARE that an EXECUTE refers to (also one inside an
 * EXPLAIN that runs), or NULL. When it passes, the transaction is begun, marked or ended
 * accordingly: no second call is needed before the next statement of a pipeline. But a COMMIT must
 * be asked about only when everything before it is done(), since it is judged by what was counted.
 */
enum dsql_sql_tx_verdict dsql_sql_tx_admit(struct dsql_sql_tx *tx, const struct dsql_sql_stmt *stmt,
                                           const struct dsql_sql_stmt *prepared, bool sync_index,
                                           struct dsql_mono now, struct dsql_sql_refusal *refusal);

/* May this statement be parsed now: is it refused as such, or is the transaction aborted? Changes
 * nothing but that a refusal fails the transaction. Limits are left to Execute. */
enum dsql_sql_tx_verdict dsql_sql_tx_parse(struct dsql_sql_tx *tx, const struct dsql_sql_stmt *stmt,
                                           bool sync_index, struct dsql_sql_refusal *refusal);

/*
 * A statement that was admitted has ended well, having changed so many rows and written so many
 * bytes. REFUSE if that crosses the limit of rows: then it has failed after all.
 */
enum dsql_sql_tx_verdict dsql_sql_tx_done(struct dsql_sql_tx *tx, uint64_t rows, uint64_t bytes,
                                          struct dsql_sql_refusal *refusal);

/* Everything was answered, and PostgreSQL says what it is in: a letter as above. Where statements
 * were admitted that PostgreSQL skipped, this is another state than was foretold. */
void dsql_sql_tx_settle(struct dsql_sql_tx *tx, char letter, struct dsql_mono now);

/* A statement failed, at PostgreSQL or in the front. */
void dsql_sql_tx_failed(struct dsql_sql_tx *tx);

/* The end of an implicit transaction, to be called before its last CommandComplete goes out. REFUSE
 * if it is too large or too old to commit: send that instead, and roll it back. */
enum dsql_sql_tx_verdict dsql_sql_tx_sync(struct dsql_sql_tx *tx, struct dsql_mono now,
                                          struct dsql_sql_refusal *refusal);

#endif
