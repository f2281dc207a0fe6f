/*
 * The permits an owner has in hand: they flow in with time, never above the most it may hold. Both
 * the flow and the most are the caller's and may change at any time, after it has let flow in what
 * the old ones brought. Single-threaded.
 *
 * Invariants: (U1) time that goes back adds nothing; (U2) what did not fit is lost.
 */
#ifndef DSQL_CORE_PURSE_H
#define DSQL_CORE_PURSE_H

#include "base/time.h"

#define DSQL_PURSE_ONE INT64_C(1000000000) /* a permit */

struct dsql_purse {
    int64_t amount; /* in units of 1 / DSQL_PURSE_ONE */
    struct dsql_mono at;
};

/* The amount at that time. flow: thousandths of a permit a second, at most 1e9; most: permits. */
int64_t dsql_purse_by(const struct dsql_purse *purse, int64_t flow, int64_t most,
                      struct dsql_mono now);

/* Lets it flow in. */
void dsql_purse_fill(struct dsql_purse *purse, int64_t flow, int64_t most, struct dsql_mono now);

/* How long until there is a whole one; 0 if there is, INT64_MAX if there never will be. */
int64_t dsql_purse_wait_ns(const struct dsql_purse *purse, int64_t flow, int64_t most,
                           struct dsql_mono now);

#endif
