/*
 * When something that expires is fetched anew, and what callers get meanwhile: the policy behind
 * credentials. Pure: time comes in, decisions go out. Single-threaded; its owner has a lock.
 *
 * Invariants:
 *   R1  at most one fetch is under way: a decision to fetch comes only while none is
 *   R2  what is served is never past its expiry
 *   R3  after the nth failure in a row no fetch begins before the back-off's time, at most
 *       DSQL_REFRESH_BACKOFF_MAX_NS
 *   R4  a fetch is asked for as soon as a quarter of the lifetime is left, at most
 *       DSQL_REFRESH_AHEAD_NS before the end
 *   R5  the first failure in a row is loud, and so is the success that ends the row; no other
 */
#ifndef DSQL_CORE_REFRESH_H
#define DSQL_CORE_REFRESH_H

#include "base/rng.h"
#include "base/time.h"

#define DSQL_REFRESH_AHEAD_NS       (15 * DSQL_M)
#define DSQL_REFRESH_BACKOFF_NS     DSQL_S
#define DSQL_REFRESH_BACKOFF_MAX_NS (60 * DSQL_S)

struct dsql_refresh {
    bool held;            /* there is a value */
    bool unwanted;        /* a service refused the value: it is served until a new one is fetched */
    bool fetching;        /* a fetch is under way */
    struct dsql_wall got; /* when the value came */
    struct dsql_wall expires; /* 0 for never */
    unsigned failures;        /* in a row */
    struct dsql_mono next;    /* no fetch before this */
};

/* What to do for a caller that needs the value now. */
struct dsql_refresh_need {
    bool serve; /* the value held may be used */
    bool fetch; /* begin a fetch: the owner calls dsql_refresh_begin() */
    bool wait;  /* nothing to serve, a fetch is or will be under way: wait for it */
    /* none of the three: the last failure stands */
};

struct dsql_refresh_need dsql_refresh_need(const struct dsql_refresh *refresh,
                                           struct dsql_mono mono, struct dsql_wall wall);

void dsql_refresh_begin(struct dsql_refresh *refresh);

/* A fetch has ended well. expires is 0 for never. True if it ends a row of failures. */
bool dsql_refresh_succeeded(struct dsql_refresh *refresh, struct dsql_mono mono,
                            struct dsql_wall wall, struct dsql_wall expires);

/* A fetch has failed; the value held, if any, stays. True if it is the first in a row. */
bool dsql_refresh_failed(struct dsql_refresh *refresh, struct dsql_mono mono, struct dsql_rng *rng);

/* A server refused the value. */
void dsql_refresh_refused(struct dsql_refresh *refresh);

/* Whether a value that expires then may be used now; 0 for never. */
static inline bool dsql_refresh_is_valid(struct dsql_wall expires, struct dsql_wall now)
{
    return expires.ns == 0 || now.ns < expires.ns;
}

#endif
