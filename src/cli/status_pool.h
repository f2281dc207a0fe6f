/* What the status page sees of a real pool. */
#ifndef DSQL_CLI_STATUS_POOL_H
#define DSQL_CLI_STATUS_POOL_H

#include "cli/status.h"

struct dsql_status_pool {
    struct dsql_pool *pool;
    int64_t lifetime_ns, guard_ns; /* the longest life it gives, and its guard window */
};

/* For dsql_status_options.look; arg is a struct dsql_status_pool *. */
void dsql_status_look_at_pool(void *arg, struct dsql_status_view *view);

/* Adds what another pool of the process holds and has done. Limits of the process, errors and what
 * the database answers stay those of the first pool. */
void dsql_status_add(struct dsql_status_view *view, const struct dsql_status_view *other);

#endif
