/*
 * How long to wait before trying again: doubling from a base to a cap, partly random so that
 * those that failed together do not come back together. Pure; randomness is passed in.
 */
#ifndef DSQL_CORE_BACKOFF_H
#define DSQL_CORE_BACKOFF_H

#include "base/rng.h"
#include "base/time.h"

struct dsql_backoff {
    int64_t base_ns; /* the first wait; >= 1 */
    int64_t cap_ns;  /* no wait is longer; >= base_ns */
    double jitter;   /* 0 to 1: the part of each wait that is random */
};

/* The longest wait after `failures` failures in a row (>= 1): base * 2^(failures - 1), at most the
 * cap. */
int64_t dsql_backoff_most_ns(const struct dsql_backoff *backoff, unsigned failures);

/* The wait: between (1 - jitter) of that and all of it. */
int64_t dsql_backoff_ns(const struct dsql_backoff *backoff, unsigned failures,
                        struct dsql_rng *rng);

#endif
