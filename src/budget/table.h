/*
 * The budget's table as an operator sees it: made, looked at, mended. For `dsql budget`; nothing of
 * it runs in a pool.
 */
#ifndef DSQL_BUDGET_TABLE_H
#define DSQL_BUDGET_TABLE_H

#include "aws/dynamodb.h"
#include "budget/lease_items.h"
#include "core/registry.h"

struct dsql_budget_table {
    struct dsql_ddb *ddb;
    const char *region, *table;
    const char *endpoint; /* the fleet's name of the cluster */
};

/* Makes the table and its TTL; what is there already stays. Waits until it can be used. *created
 * says whether it was missing. */
DSQL_MUST_USE enum dsql_rc dsql_budget_setup(const struct dsql_budget_table *t, bool *created,
                                             struct dsql_err *err);

/* Whether DynamoDB deletes items that are past their ttl_epoch. */
DSQL_MUST_USE enum dsql_rc dsql_budget_ttl(const struct dsql_budget_table *t, bool *on,
                                           struct dsql_err *err);

/* The registry of `blocks`; it may not exist. */
DSQL_MUST_USE enum dsql_rc dsql_budget_registry(const struct dsql_budget_table *t,
                                                struct dsql_registry *registry,
                                                struct dsql_err *err);

/* Takes an owner's block away, as if it had died. DSQL_NOT_FOUND if there is none. */
DSQL_MUST_USE enum dsql_rc dsql_budget_release(const struct dsql_budget_table *t, const char *owner,
                                               struct dsql_err *err);

/* What `leases` left in the table: the counter, and the leases themselves. */
struct dsql_lease_survey {
    bool exists;
    struct dsql_lease_counter counter;
    int64_t leases, renewed; /* items; those of them that are renewed by this library */
    int64_t expired;         /* by ttl_epoch and this machine's clock */
};

/* Connections that the counter has for other programs: the Go plugin. DynamoDB deletes their items
 * while they live, so that they cannot be counted. */
int64_t dsql_lease_others(const struct dsql_lease_survey *survey);

DSQL_MUST_USE enum dsql_rc dsql_budget_leases(const struct dsql_budget_table *t,
                                              struct dsql_wall now,
                                              struct dsql_lease_survey *survey,
                                              struct dsql_err *err);

/* Sets our part of the counter to what was counted and that of other programs to `others`, if
 * the counter has not changed since. */
DSQL_MUST_USE enum dsql_rc dsql_budget_recount(const struct dsql_budget_table *t,
                                               const struct dsql_lease_survey *survey,
                                               int64_t others, struct dsql_wall now,
                                               struct dsql_err *err);

#endif
