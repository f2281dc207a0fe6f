/*
 * A token bucket: `burst` tokens to begin with, `rate` more each second, never above
 * `burst`. The level is kept in units of 1/DSQL_S token, so that no rate is lost to rounding.
 * A user that needs parts of a token counts in thousandths.
 *
 * Invariants: (B1) 0 <= level <= burst; (B2) in any stretch of t seconds at most burst + rate * t
 * tokens are taken; (B3) time that goes back adds nothing. Single-threaded.
 */
#ifndef DSQL_CORE_BUCKET_H
#define DSQL_CORE_BUCKET_H

#include "base/time.h"

enum {
    DSQL_BUCKET_RATE_MAX = 1000000000,
    DSQL_BUCKET_BURST_MAX = 1000000000,
};

struct dsql_bucket {
    int64_t rate;  /* tokens a second */
    int64_t burst; /* tokens it holds */
    int64_t level; /* in units of 1/DSQL_S token */
    struct dsql_mono at;
};

/* Full. 1 <= rate, burst <= their maxima. */
void dsql_bucket_init(struct dsql_bucket *bucket, int64_t rate, int64_t burst,
                      struct dsql_mono now);

/* Lets flow in what came since the last look at this rate, up to this burst; both may be 0, and
 * hold until the next call. What does not fit is lost. */
void dsql_bucket_fill(struct dsql_bucket *bucket, int64_t rate, int64_t burst,
                      struct dsql_mono now);

/* Takes n tokens if they are there, all or none. n >= 1. */
bool dsql_bucket_take(struct dsql_bucket *bucket, int64_t n, struct dsql_mono now);

/* How long until n tokens will be there, if none is taken; 0 if they are now, INT64_MAX if the
 * bucket never holds so many. */
int64_t dsql_bucket_wait_ns(struct dsql_bucket *bucket, int64_t n, struct dsql_mono now);

/* Whole tokens there now. */
int64_t dsql_bucket_level(struct dsql_bucket *bucket, struct dsql_mono now);

#endif
