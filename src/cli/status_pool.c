#include "cli/status_pool.h"

#include <stdlib.h>

/* Without memory for the list, the page has no ages for a moment. */
static void count_ages(const struct dsql_status_pool *source, struct dsql_status_view *view)
{
    size_t cap = (size_t)view->pool.max_open;
    struct dsql_conn_info *infos = calloc(cap, sizeof(*infos));
    if (!infos)
        return;
    size_t n = dsql_pool_connections(source->pool, infos, cap);
    for (size_t i = 0; i < n && i < cap; i++)
        if (infos[i].state == DSQL_CONN_READY || infos[i].state == DSQL_CONN_IN_USE)
            view->ages[dsql_status_age_bin(infos[i].age_ns, view->lifetime_ns)]++;
    free(infos);
}

void dsql_status_look_at_pool(void *arg, struct dsql_status_view *view)
{
    const struct dsql_status_pool *source = arg;
    *view =
        (struct dsql_status_view){.lifetime_ns = source->lifetime_ns, .guard_ns = source->guard_ns};
    dsql_pool_stats(source->pool, &view->pool);
    count_ages(source, view);
}
