/*
 * budget: who may hold how many connections, and who may make one now. One interface, asked by a
 * pool's opener thread; implementations: local.c (this process alone), the fleet's, and split.c
 * (the two things counted in different places).
 *
 * Words: *slots* are the connections a process may hold, *permits* the connects it may make. The
 * order of an open is token, slot, permit, connect; a permit that was taken is used at once.
 *
 * Calls on one handle never overlap; they come from the pool's opener, status() and destroy() from
 * any thread. Nothing here blocks for longer than a short mutex. An implementation with a thread of
 * its own calls wake(arg), from any thread and holding no lock that the calls below take, whenever
 * an answer would be a better one than before: more slots, fewer slots, a permit sooner.
 *
 * A budget belongs to the process and the endpoint. Each pool has its own handle; handles of one
 * endpoint share what is behind it.
 */
#ifndef DSQL_BUDGET_BUDGET_H
#define DSQL_BUDGET_BUDGET_H

#include "base/clock.h"
#include "dsql/pool.h"

struct dsql_budget;

struct dsql_budget_status {
    enum dsql_budget_kind kind;
    int64_t slots;           /* may be held by this handle */
    int64_t used;            /* held by it */
    double rate, rate_limit; /* connects a second: in effect, and at best */
    int64_t burst, permits;  /* permits: connects possible right now */
    int64_t fleet_used;      /* connections of the whole fleet; -1: unknown, or there is none */
    int64_t fleet_limit;     /* -1: none */
    uint64_t throttled;      /* how often SQLSTATE 53400 was reported */
    int64_t clock_ahead_s;   /* of this machine, before DynamoDB's; 0 also where nobody knows */
    char problem[256];       /* what stands in the way, for a person; empty: nothing */
};

struct dsql_budget_ops {
    /* How many connections the pool would like to hold. */
    void (*want)(struct dsql_budget *budget, int64_t n);
    /* How many it may hold now. May fall below what it holds: then it closes its surplus. */
    int64_t (*slots)(struct dsql_budget *budget);
    /* Takes one connect permit. If none is there, *wait_ns says when to ask again, at the latest.
     */
    bool (*permit)(struct dsql_budget *budget, struct dsql_mono now, int64_t *wait_ns);
    /* How many connections it holds, those being opened included; told after each change. */
    void (*used)(struct dsql_budget *budget, int64_t n);
    /* A connect ended well; SQLSTATE 53400: everybody slows down; 53300: the cap is re-read. */
    void (*opened)(struct dsql_budget *budget, struct dsql_mono now);
    void (*throttled)(struct dsql_budget *budget, struct dsql_mono now);
    void (*refused_full)(struct dsql_budget *budget, struct dsql_mono now);
    void (*status)(struct dsql_budget *budget, struct dsql_mono now,
                   struct dsql_budget_status *status);
    /* Nothing will be opened any more: unused permits and slots go back now, the rest as used()
     * falls. */
    void (*drain)(struct dsql_budget *budget);
    void (*destroy)(struct dsql_budget *budget);
};

/* The first member of whatever an implementation keeps. */
struct dsql_budget {
    const struct dsql_budget_ops *ops;
};

struct dsql_budget_options {
    enum dsql_budget_kind kind;
    const char *endpoint; /* the cluster: host:port; copied */
    const char *region;
    const char *service; /* the owner's name */
    int64_t rate, burst; /* of this process */
    /* Where a fleet counts. `leases`: its connections, and its connects; an empty one is not
     * shared. `blocks`: everything is in lease_table. */
    const char *lease_table, *limiter_table;
    int64_t cluster_rate, cluster_burst, cluster_connections;
    int64_t cluster_headroom;   /* of the connections, kept free */
    int64_t ttl_ns;             /* how long an owner may be silent */
    int64_t fallback_after_ns;  /* the table is away for so long: a share of it; 0: never */
    int64_t fallback_processes; /* that share */
    struct dsql_credentials *credentials; /* NULL: found as AWS users expect; else held */
    struct dsql_metrics *metrics;         /* may be NULL */
    struct dsql_log *log;
    const struct dsql_clock *clock;
    void (*wake)(void *arg);
    void *wake_arg;
};

/* Opens the kind that is asked for. Fails with DSQL_INVALID or DSQL_NO_MEMORY; a fleet that cannot
 * be reached is no failure but a status with a problem. */
DSQL_MUST_USE enum dsql_rc dsql_budget_open(const struct dsql_budget_options *options,
                                            struct dsql_budget **budget, struct dsql_err *err);

/* In the child of a fork(): forgets what belongs to the parent. */
void dsql_budget_after_fork(void);
void dsql_budget_local_after_fork(void);

/* local.c: one bucket for each endpoint of the process; slots are what is wanted. */
DSQL_MUST_USE enum dsql_rc dsql_budget_local(const struct dsql_budget_options *options,
                                             struct dsql_budget **budget, struct dsql_err *err);

/* split.c: `leases` whose two tables differ, or of which one is empty. */
DSQL_MUST_USE enum dsql_rc dsql_budget_split(const struct dsql_budget_options *options,
                                             struct dsql_budget **budget, struct dsql_err *err);

#endif
