/*
 * Lists and counts of Temporal's visibility (see dsql/visibility.h). A query is an encoded
 * expression: src/visibility/expr.h has the encoding, the Temporal adapter makes it from a query's
 * text with Temporal's own parser.
 *
 *     struct dsql_visibility_page page = {0};
 *     struct dsql_visibility_run run;
 *     do {
 *         rc = dsql_visibility_list(visibility, &query, 100, page.token, NULL, &page, &err);
 *         while (rc == DSQL_OK && dsql_visibility_next(&page, &run))
 *             ...;
 *     } while (rc == DSQL_OK && page.token.len > 0);
 *     dsql_visibility_page_fini(&page);
 *
 * The order is fixed: open runs first, then by close time, descending; by start time, descending;
 * by run id. A handle is safe from any thread. err may be NULL everywhere, and so may a policy: the
 * handle's. The policy's timeout_ns bounds a call; a list ends before it with a short page.
 */
#ifndef DSQL_VISIBILITY_QUERY_H
#define DSQL_VISIBILITY_QUERY_H

#include "dsql/slice.h"
#include "dsql/tx.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dsql_visibility;

struct dsql_visibility_query {
    struct dsql_slice namespace_id;
    struct dsql_slice expression;
};

/* A run. Pointers live as long as its page. Times are microseconds since 1970; DSQL_NULL_I64 for a
 * number that the run does not have, close_us of an open one included. */
struct dsql_visibility_run {
    struct dsql_slice run_id, workflow_id, workflow_type;
    int64_t start_us, execution_us, close_us, status;
    int64_t history_length, history_size_bytes, execution_duration_ns, state_transition_count;
    struct dsql_slice memo, encoding, task_queue;
    struct dsql_slice search_attributes; /* a JSON object; a pointer of NULL for none */
    struct dsql_slice parent_workflow_id, parent_run_id; /* a pointer of NULL for none */
    struct dsql_slice root_workflow_id, root_run_id;
};

/*
 * Runs. Zero it before its first use; one may serve many calls; fini frees it.
 *
 * data is one piece of memory: run after run, member after member of struct dsql_visibility_run,
 * each an int32_t length in the machine's order (-1 for NULL) and so many bytes; numbers are an
 * int64_t of 8 bytes.
 */
struct dsql_visibility_page {
    size_t rows;
    unsigned char *data;
    size_t len;
    struct dsql_slice token;   /* where the next page goes on; empty at the end of the list */
    int64_t scanned;           /* how many runs were looked at for it */
    unsigned char *token_data; /* the token's memory */
    size_t cap, at, row;       /* room; where dsql_visibility_next() has got to */
};

/* Frees what it holds and zeroes it. */
DSQL_API void dsql_visibility_page_fini(struct dsql_visibility_page *page);

/* The next run of a page; false behind the last one. */
DSQL_API bool dsql_visibility_next(struct dsql_visibility_page *page,
                                   struct dsql_visibility_run *run);

/*
 * A page of at most page_size runs, from the token on; an empty token is the beginning. A call
 * reads a bounded number of rows: a page may be short and yet have a token. A page without runs has
 * a token only if the time is nearly up, a page without a token is the last one. A full page always
 * has a token.
 *
 * token may be that of the page itself. DSQL_INVALID for an expression or a token that can't be
 * read, and for the token of another query; DSQL_TOO_LARGE for an expression with too many values.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_visibility_list(struct dsql_visibility *visibility,
                                                         const struct dsql_visibility_query *query,
                                                         int64_t page_size, struct dsql_slice token,
                                                         const struct dsql_tx_policy *policy,
                                                         struct dsql_visibility_page *page,
                                                         struct dsql_err *err);

/* One run. DSQL_NOT_FOUND if there is none. */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_visibility_get(struct dsql_visibility *visibility, struct dsql_slice namespace_id,
                    struct dsql_slice run_id, const struct dsql_tx_policy *policy,
                    struct dsql_visibility_page *page, struct dsql_err *err);

/* -- Counts. */

struct dsql_visibility_group {
    struct dsql_slice value; /* a pointer of NULL for runs without the attribute; of ExecutionStatus
                              * Temporal's number in decimal */
    int64_t count;           /* never 0 */
};

/* Zero it before its first use; one may serve many calls; fini frees it. */
struct dsql_visibility_counts {
    int64_t total;
    struct dsql_visibility_group *groups; /* none without a group */
    size_t group_count;
    int64_t scanned; /* how many runs were looked at; 0: the counters knew */
    size_t cap;      /* room */
};

/* Frees what it holds and zeroes it. */
DSQL_API void dsql_visibility_counts_fini(struct dsql_visibility_counts *counts);

/*
 * How many runs a query selects, and how many of each value of the attribute `group` (len 0 for
 * none). The number is exact. By namespace, division, status and TemporalLowCardinalityKeyword01
 * alone it comes from the counters, whatever the number of runs; otherwise runs are counted one by
 * one, and above a bound, of 100,000 runs that have to be looked at, the answer is DSQL_LIMIT with
 * a hint. Besides as dsql_visibility_list().
 */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_visibility_count(struct dsql_visibility *visibility, const struct dsql_visibility_query *query,
                      struct dsql_slice group, const struct dsql_tx_policy *policy,
                      struct dsql_visibility_counts *counts, struct dsql_err *err);

#ifdef __cplusplus
}
#endif
#endif
