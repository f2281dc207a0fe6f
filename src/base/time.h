/*
 * Two kinds of time that must never be mixed up, so they are two types. A dsql_mono says how long
 * things take and never goes back; a dsql_wall is what the world's clocks say, and may jump either
 * way. Durations are plain int64_t nanoseconds whose names end in _ns.
 */
#ifndef DSQL_BASE_TIME_H
#define DSQL_BASE_TIME_H

#include "base/strbuf.h"

#define DSQL_US INT64_C(1000)
#define DSQL_MS (1000 * DSQL_US)
#define DSQL_S  (1000 * DSQL_MS)
#define DSQL_M  (60 * DSQL_S)
#define DSQL_H  (60 * DSQL_M)

struct dsql_mono {
    int64_t ns; /* since some fixed moment of this machine */
};

struct dsql_wall {
    int64_t ns; /* since 1970-01-01T00:00:00Z */
};

/* One moment on both clocks. */
struct dsql_moment {
    struct dsql_mono mono;
    struct dsql_wall wall;
};

/* Sums that would overflow stop at the end of time instead of wrapping. */
int64_t dsql_ns_add(int64_t a_ns, int64_t b_ns);
struct dsql_mono dsql_mono_add(struct dsql_mono t, int64_t ns);
struct dsql_wall dsql_wall_add(struct dsql_wall t, int64_t ns);

/* How much time passed from `from` to `to`; negative if `to` is earlier. */
static inline int64_t dsql_mono_since(struct dsql_mono to, struct dsql_mono from)
{
    return to.ns - from.ns;
}

static inline bool dsql_mono_before(struct dsql_mono a, struct dsql_mono b)
{
    return a.ns < b.ns;
}

/* Appends 2026-11-16T09:00:00.123Z. */
void dsql_wall_format(struct dsql_strbuf *sb, struct dsql_wall t);

#endif
