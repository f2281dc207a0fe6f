/*
 * The budgets of a fleet: one thread for each endpoint and table of the process that carries a
 * protocol's requests to DynamoDB and its answers back. What is decided is decided in core; what is
 * here is the way there, the handles of several pools, and what a person is told.
 */
#ifndef DSQL_BUDGET_FLEET_H
#define DSQL_BUDGET_FLEET_H

#include "aws/dynamodb.h"
#include "budget/budget.h"

struct dsql_fleet_protocol;

/* A protocol: called with the fleet's lock held, never blocks. */
struct dsql_fleet_ops {
    void (*want)(struct dsql_fleet_protocol *p, int64_t n);
    void (*used)(struct dsql_fleet_protocol *p, int64_t n);
    int64_t (*slots)(struct dsql_fleet_protocol *p, struct dsql_mono now);
    /* As budget.h says: *wait_ns is when to ask again at the latest, if none is there. */
    bool (*permit)(struct dsql_fleet_protocol *p, struct dsql_mono now, int64_t *wait_ns);
    void (*throttled)(struct dsql_fleet_protocol *p, struct dsql_mono now);
    void (*refused_full)(struct dsql_fleet_protocol *p, struct dsql_mono now);
    /* Whether everything is to be given back; a pool that comes takes it back. */
    void (*drain)(struct dsql_fleet_protocol *p, bool draining);
    bool (*left)(const struct dsql_fleet_protocol *p); /* everything was given back */
    int64_t (*due_ns)(struct dsql_fleet_protocol *p, struct dsql_mono now);
    /* A request to send: the operation, and its body which becomes the caller's. */
    bool (*next)(struct dsql_fleet_protocol *p, struct dsql_mono now, const char **operation,
                 json_t **body);
    /* What became of it. A failure that a person should know of is put into *err. */
    enum dsql_rc (*answer)(struct dsql_fleet_protocol *p, struct dsql_mono now,
                           const struct dsql_ddb_reply *reply, struct dsql_err *err);
    void (*status)(struct dsql_fleet_protocol *p, struct dsql_mono now,
                   struct dsql_budget_status *status);
    void (*destroy)(struct dsql_fleet_protocol *p);
};

struct dsql_fleet_protocol {
    const struct dsql_fleet_ops *ops;
    int64_t timeout_ns; /* for one request */
};

/* Where a fleet with these options counts: lease_table, or limiter_table if only connects are
 * shared. */
bool dsql_fleet_connects_only(const struct dsql_budget_options *options);
const char *dsql_fleet_table(const struct dsql_budget_options *options);

/* endpoint is the fleet's name of the cluster: see dsql_fleet_endpoint(). */
DSQL_MUST_USE enum dsql_rc dsql_fleet_blocks(const struct dsql_budget_options *options,
                                             const char *endpoint,
                                             struct dsql_fleet_protocol **protocol,
                                             struct dsql_err *err);

DSQL_MUST_USE enum dsql_rc dsql_fleet_leases(const struct dsql_budget_options *options,
                                             const char *endpoint,
                                             struct dsql_fleet_protocol **protocol,
                                             struct dsql_err *err);

/* The host name alone for the usual port, so that it is the same as in other programs' items. */
void dsql_fleet_endpoint(const char *endpoint, char *name, size_t size);

/* In the child of a fork(). */
void dsql_fleet_after_fork(void);

DSQL_MUST_USE enum dsql_rc dsql_budget_fleet(const struct dsql_budget_options *options,
                                             struct dsql_budget **budget, struct dsql_err *err);

#endif
