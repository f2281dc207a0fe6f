/*
 * budget: who may hold how many connections, and who may make one now. A pool's opener asks; the
 * answers are core's (core/allowance.h), shared among the pools of this process (ledger.h) and, if
 * they are a fleet's, brought from a table (fleet.h).
 *
 *     budget.c          a pool's handle
 *     ledger.c          one allowance for a cluster, shared among the pools of this process
 *     fleet.c           the thread that carries a fleet's requests to DynamoDB; fleet_blocks.c and
 *                       fleet_leases.c the two protocols
 *     registry_codec.c, lease_items.c    the items of either protocol
 *     table.c           the table as an operator sees it, for `dsql budget`
 *
 * Words: *slots* are the connections a process may hold, *permits* the connects it may make. An
 * opener asks for slots at the beginning of a turn, and once more if connections have begun to age
 * in it. An open then takes address, token, permit and connect, in this
 * order; a permit that can't be used any more stays in hand for the next open.
 *
 * Calls on one handle never overlap; they come from the pool's opener, status() and destroy() from
 * any thread. Nothing here blocks for longer than a short mutex. wake(arg) is called from any
 * thread and without a lock that the calls below take, whenever an answer would be a better one
 * than before: more slots, fewer slots, a permit sooner.
 *
 * A budget belongs to the process and the endpoint. Each pool has its own handle; handles of one
 * endpoint share what is behind it.
 */
#ifndef DSQL_BUDGET_BUDGET_H
#define DSQL_BUDGET_BUDGET_H

#include "base/clock.h"
#include "core/allowance.h"
#include "dsql/pool.h"

struct dsql_budget;

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

/* What core/allowance.h says of each. */
void dsql_budget_want(struct dsql_budget *budget, int64_t n);
void dsql_budget_used(struct dsql_budget *budget, int64_t n);
int64_t dsql_budget_slots(struct dsql_budget *budget, struct dsql_mono now);
bool dsql_budget_permit(struct dsql_budget *budget, struct dsql_mono now, int64_t *wait_ns);
void dsql_budget_opened(struct dsql_budget *budget, struct dsql_mono now);
void dsql_budget_throttled(struct dsql_budget *budget, struct dsql_mono now);
void dsql_budget_refused_full(struct dsql_budget *budget, struct dsql_mono now);
void dsql_budget_status(struct dsql_budget *budget, struct dsql_mono now,
                        struct dsql_allowance_status *status);
/* Nothing will be opened any more: unused permits and slots go back now, the rest as used() falls.
 */
void dsql_budget_drain(struct dsql_budget *budget);
/* NULL is fine. */
void dsql_budget_destroy(struct dsql_budget *budget);

/* In the child of a fork(): forgets what belongs to the parent. */
void dsql_budget_after_fork(void);

#endif
