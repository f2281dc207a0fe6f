/*
 * How long a connection lives, decided at its birth: base +/- jitter/2, so that connections opened
 * together do not end together, and never past what the service allows minus the guard window.
 *
 *     born ....................... replace ........ usable_until ... dies
 *          handed out                handed out       not any more
 *                                    a successor is opened
 *
 * The guard window is the stretch from usable_until to dies: longer than the longest transaction.
 */
#ifndef DSQL_CORE_LIFETIME_H
#define DSQL_CORE_LIFETIME_H

#include "base/rng.h"
#include "base/time.h"

#define DSQL_SERVICE_LIFETIME_NS (60 * DSQL_M)

struct dsql_lifetime {
    int64_t base_ns;   /* >= 1 */
    int64_t jitter_ns; /* 0 to 2 * base */
    int64_t guard_ns;  /* >= 0 */
};

struct dsql_lifespan {
    struct dsql_mono born, replace_at, usable_until, dies_at;
};

/*
 * Invariants: (L1) born <= replace_at <= usable_until <= dies_at; (L2) dies_at - born is within
 * base +/- jitter/2 and at most an hour minus the guard; (L3) usable_until is dies_at - guard, but
 * not before birth.
 */
struct dsql_lifespan dsql_lifetime_draw(const struct dsql_lifetime *lifetime, struct dsql_mono born,
                                        struct dsql_rng *rng);

#endif
