#include "budget/budget.h"

#include <string.h>

#include "budget/fleet.h"

void dsql_budget_after_fork(void)
{
    dsql_budget_local_after_fork();
    dsql_fleet_after_fork();
}

enum dsql_rc dsql_budget_open(const struct dsql_budget_options *options,
                              struct dsql_budget **budget, struct dsql_err *err)
{
    switch (options->kind) {
    case DSQL_BUDGET_LOCAL:
        return dsql_budget_local(options, budget, err);
    case DSQL_BUDGET_LEASES:
        if (options->lease_table && options->limiter_table &&
            strcmp(options->lease_table, options->limiter_table) != 0)
            return dsql_budget_split(options, budget, err);
        return dsql_budget_fleet(options, budget, err);
    case DSQL_BUDGET_BLOCKS:
        return dsql_budget_fleet(options, budget, err);
    }
    return dsql_err_set(err, DSQL_INVALID, "no such budget: %d", (int)options->kind);
}
