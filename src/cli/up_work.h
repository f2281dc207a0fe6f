/*
 * The workload of `dsql up`: threads that move money between accounts, each transfer a transaction
 * that reads two balances and writes two new ones. A lost update would change the sum of all
 * balances, which every audit adds up.
 */
#ifndef DSQL_CLI_UP_WORK_H
#define DSQL_CLI_UP_WORK_H

#include "dsql/pool.h"

/* The operation's name in the metrics. */
#define DSQL_UP_OPERATION "transfer"

enum { DSQL_UP_THREADS_MAX = 256, DSQL_UP_ACCOUNTS_MAX = 3000 /* rows of one transaction */ };

struct dsql_up_work;

struct dsql_up_work_options {
    struct dsql_pool *pool;
    int64_t threads, accounts;
    int64_t pause_ns; /* of a thread, between two transactions */
};

/* Makes the table, under a name of its own. */
DSQL_MUST_USE enum dsql_rc dsql_up_work_new(const struct dsql_up_work_options *options,
                                            struct dsql_up_work **work, struct dsql_err *err);

DSQL_MUST_USE enum dsql_rc dsql_up_work_start(struct dsql_up_work *work, struct dsql_err *err);

/* Stops the threads, wherever they are, and waits for them. */
void dsql_up_work_stop(struct dsql_up_work *work);

struct dsql_up_outcome {
    uint64_t transfers, audits; /* committed */
    uint64_t gave_up;           /* still in conflict after the last permitted try */
    uint64_t empty;             /* found no connection */
    uint64_t lost;              /* the connection, and with it perhaps the answer to COMMIT */
    uint64_t failed;            /* anything else: should not be */
    struct dsql_err first;      /* of those; rc is DSQL_OK if there is none */
    int64_t sum, expected_sum;  /* sum: the last one that was wrong, or the expected one */
    uint64_t sums_wrong;
};
void dsql_up_work_outcome(struct dsql_up_work *work, struct dsql_up_outcome *outcome);

/* Adds up all balances once more. */
DSQL_MUST_USE enum dsql_rc dsql_up_work_audit(struct dsql_up_work *work, struct dsql_err *err);

const char *dsql_up_work_table(const struct dsql_up_work *work);

/* Drops the table and frees everything; the threads have been stopped. On failure the table is
 * still there, and everything is freed. */
enum dsql_rc dsql_up_work_destroy(struct dsql_up_work *work, struct dsql_err *err);

#endif
