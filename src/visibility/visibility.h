/*
 * visibility: Temporal's visibility in the cluster. docs/visibility.md has the tables.
 *
 * Words: a run is a row. A *posting* is a row for one value of a search attribute of a run.
 * *Counters* are rows whose sum is how many runs of a status a namespace has. A *tombstone* is the
 * row of a run that was deleted.
 *
 *     store.c       the handle, and what all writes have in common
 *     record.c      the writes; attributes.c, attributes_json.c and keys.c make their values
 *     list.c, count.c, read.c, page.c, token.c    the reads: pages, counts, where a list goes on
 *     expr.c        a query's condition; filter.c makes SQL of it, eval.c asks the counters
 *     path.c, narrow.c, ranges.c                  which indexes a query reads, from where to where
 *     plan.c, sql.c, shapes.c, attribute.c        its statements
 *     compact.c, measure.c                        counters summed up, and their gauges
 *     check.c, check_run.c, check_counts.c        rows, postings and counters compared and mended
 *
 * This header is the handle, between the files of this folder.
 */
#ifndef DSQL_VISIBILITY_VISIBILITY_H
#define DSQL_VISIBILITY_VISIBILITY_H

#include "base/clock.h"
#include "dsql/visibility.h"
#include "pgwire/oid.h"
#include "visibility/shapes.h"

/* How much a read looks at. Tests lower them. */
struct dsql_vis_bounds {
    int64_t counted;  /* runs of a count that the counters do not answer */
    int64_t counters; /* of a namespace; a few thousand where the compactor runs */
    int64_t scanned;  /* runs of a page that has one */
};

struct dsql_visibility {
    struct dsql_pool *pool;
    const struct dsql_clock *clock; /* the pool's */
    struct dsql_visibility_options options;
    struct dsql_vis_bounds bounds;
    struct dsql_vis_shapes shapes; /* of the statements of reads */
};

/* A column holds 1 MiB. A longer memo goes on in visibility_memos: a memo of that length may. */
#define DSQL_VIS_MEMO_PART     1048576
#define DSQL_VIS_MEMO_PART_SQL "1048576"

/* The policy of a write: the caller's or the handle's, alone and repeated after an unknown commit.
 */
struct dsql_tx_policy dsql_visibility_write_policy(const struct dsql_visibility *visibility,
                                                   const struct dsql_tx_policy *policy);

/* Sets the gauges of runs by namespace and status from the counters. The pool has metrics. */
DSQL_MUST_USE enum dsql_rc dsql_visibility_measure(struct dsql_visibility *visibility,
                                                   const struct dsql_tx_policy *policy,
                                                   struct dsql_err *err);

/* Wall time in microseconds since 1970. */
int64_t dsql_visibility_now_us(const struct dsql_visibility *visibility);

#endif
