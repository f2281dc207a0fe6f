/*
 * A log-linear histogram of non-negative integers (usually nanoseconds): values below 64 are
 * counted exactly; above, each power of two is cut into 32 equal parts. A quantile is therefore at
 * most DSQL_HIST_ERROR (1/64, 1.6 %) away from the true one. Values above DSQL_HIST_MAX (2^42 - 1,
 * 73 minutes in nanoseconds) are counted in the last part; the exact maximum is kept beside.
 *
 * Memory is fixed (about 10 KiB). Recording takes no lock, allocates nothing and is safe from any
 * thread. So is reading, but count, sum and maximum are then not one state: each holds every value
 * whose recording ended before it was read, and of those being recorded meanwhile any part, so that
 * the count may hold a value that the maximum does not know yet. A quantile is never below the part
 * that it was found in.
 */
#ifndef DSQL_BASE_HIST_H
#define DSQL_BASE_HIST_H

#include <stdatomic.h>

#include "base/defs.h"

#define DSQL_HIST_SUB_BITS 5
#define DSQL_HIST_MAX_BITS 42
#define DSQL_HIST_MAX      ((UINT64_C(1) << DSQL_HIST_MAX_BITS) - 1)
#define DSQL_HIST_ERROR    (1.0 / (2 << DSQL_HIST_SUB_BITS))

enum {
    DSQL_HIST_BUCKETS = (DSQL_HIST_MAX_BITS - DSQL_HIST_SUB_BITS + 1) << DSQL_HIST_SUB_BITS,
};

/* All zero is an empty histogram. */
struct dsql_hist {
    _Atomic uint64_t counts[DSQL_HIST_BUCKETS];
    _Atomic uint64_t sum;
    _Atomic uint64_t max;
};

void dsql_hist_record(struct dsql_hist *hist, uint64_t value);

/* Records a value n times: one sample that stands for n. */
void dsql_hist_record_n(struct dsql_hist *hist, uint64_t value, uint64_t n);

uint64_t dsql_hist_count(const struct dsql_hist *hist);
uint64_t dsql_hist_sum(const struct dsql_hist *hist);
uint64_t dsql_hist_max(const struct dsql_hist *hist);

/* The value that the fraction q (0 to 1) of the recorded ones do not exceed; 0 when empty. q = 0.5,
 * 0.99, 0.9999 and so on; q = 1 gives the exact maximum. Any other q is a programmer's error. */
uint64_t dsql_hist_quantile(const struct dsql_hist *hist, double q);

/* How many recorded values are certainly at most `value`: those of the parts that end there or
 * below. Exact for values up to 63 and for the ends of parts. */
uint64_t dsql_hist_count_upto(const struct dsql_hist *hist, uint64_t value);

/* The part a value is counted in, and the values it holds; for tests and reports. */
size_t dsql_hist_bucket(uint64_t value);
uint64_t dsql_hist_bucket_low(size_t bucket);
uint64_t dsql_hist_bucket_high(size_t bucket);

#endif
