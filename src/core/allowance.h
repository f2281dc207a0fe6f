/*
 * What a process may do about its connections: how many it may hold (*slots*), and whether it may
 * make one now (a *permit*). One interface; core/solo.h is for a process on its own, core/leases.h
 * and core/blocks.h share with a fleet through a table. The budget's threads and the simulator ask
 * the same functions; how requests of the latter two reach the table is theirs.
 *
 * Time is passed in. Single-threaded.
 */
#ifndef DSQL_CORE_ALLOWANCE_H
#define DSQL_CORE_ALLOWANCE_H

#include "base/time.h"

struct dsql_allowance;

struct dsql_allowance_status {
    int64_t slots;           /* may be held */
    int64_t used;            /* are held */
    double rate, rate_limit; /* connects a second: in effect, and at best */
    int64_t burst, permits;  /* permits: connects possible right now */
    int64_t fleet_used;      /* connections of the whole fleet; -1: unknown, or there is none */
    int64_t fleet_limit;     /* -1: none */
    uint64_t throttled;      /* how often SQLSTATE 53400 was reported */
    /* Of the table; filled in by the carrier of the requests, as far as it knows. */
    int64_t
        clock_ahead_s; /* this machine's clock, before the table's; 0 also where it is unknown */
    char problem[256]; /* what stands in the way, for a person; empty: nothing */
};

/* A NULL says that the event, or the question, does not concern this kind. */
struct dsql_allowance_ops {
    void (*want)(struct dsql_allowance *allowance, int64_t n);
    void (*used)(struct dsql_allowance *allowance, int64_t n);
    int64_t (*slots)(const struct dsql_allowance *allowance, struct dsql_moment now);
    bool (*permit)(struct dsql_allowance *allowance, struct dsql_moment now, int64_t *wait_ns);
    double (*rate)(struct dsql_allowance *allowance, struct dsql_moment now);
    void (*opened)(struct dsql_allowance *allowance, struct dsql_moment now);
    void (*throttled)(struct dsql_allowance *allowance, struct dsql_moment now);
    void (*refused_full)(struct dsql_allowance *allowance, struct dsql_moment now);
    void (*drain)(struct dsql_allowance *allowance, bool draining);
    bool (*left)(const struct dsql_allowance *allowance);
    int64_t (*due_ns)(const struct dsql_allowance *allowance, struct dsql_moment now);
    void (*status)(struct dsql_allowance *allowance, struct dsql_moment now,
                   struct dsql_allowance_status *status);
    void (*fini)(struct dsql_allowance *allowance);
};

/* The first member of each kind. */
struct dsql_allowance {
    const struct dsql_allowance_ops *ops;
};

/* The process wants n connections. */
static inline void dsql_allowance_want(struct dsql_allowance *a, int64_t n)
{
    a->ops->want(a, n);
}

/* The process holds n connections, those being opened included; called after each change. */
static inline void dsql_allowance_used(struct dsql_allowance *a, int64_t n)
{
    a->ops->used(a, n);
}

/* How many may be held now. May fall below what is held: then the surplus is to be closed. */
static inline int64_t dsql_allowance_slots(const struct dsql_allowance *a, struct dsql_moment now)
{
    return a->ops->slots(a, now);
}

/* Takes one permit. If none is there, *wait_ns says when to ask again, at the latest. */
static inline bool dsql_allowance_permit(struct dsql_allowance *a, struct dsql_moment now,
                                         int64_t *wait_ns)
{
    return a->ops->permit(a, now, wait_ns);
}

/* Connects a second, in effect. */
static inline double dsql_allowance_rate(struct dsql_allowance *a, struct dsql_moment now)
{
    return a->ops->rate(a, now);
}

/* A connect ended well; with SQLSTATE 53400: slow down; with 53300: the cluster is full. */
static inline void dsql_allowance_opened(struct dsql_allowance *a, struct dsql_moment now)
{
    if (a->ops->opened)
        a->ops->opened(a, now);
}

static inline void dsql_allowance_throttled(struct dsql_allowance *a, struct dsql_moment now)
{
    a->ops->throttled(a, now);
}

static inline void dsql_allowance_refused_full(struct dsql_allowance *a, struct dsql_moment now)
{
    if (a->ops->refused_full)
        a->ops->refused_full(a, now);
}

/* true: give all permits back now, and slots as used() falls. false: no longer. */
static inline void dsql_allowance_drain(struct dsql_allowance *a, bool draining)
{
    a->ops->drain(a, draining);
}

/* Everything was given back. */
static inline bool dsql_allowance_left(const struct dsql_allowance *a)
{
    return !a->ops->left || a->ops->left(a);
}

/* How long until there is a request for the table, if nothing happens before; INT64_MAX: not by
 * itself. */
static inline int64_t dsql_allowance_due_ns(const struct dsql_allowance *a, struct dsql_moment now)
{
    return a->ops->due_ns ? a->ops->due_ns(a, now) : INT64_MAX;
}

static inline void dsql_allowance_status(struct dsql_allowance *a, struct dsql_moment now,
                                         struct dsql_allowance_status *status)
{
    *status = (struct dsql_allowance_status){.fleet_used = -1, .fleet_limit = -1};
    a->ops->status(a, now, status);
}

static inline void dsql_allowance_fini(struct dsql_allowance *a)
{
    if (a->ops->fini)
        a->ops->fini(a);
}

#endif
