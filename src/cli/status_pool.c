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

void dsql_status_add(struct dsql_status_view *view, const struct dsql_status_view *other)
{
    struct dsql_pool_stats *sum = &view->pool;
    const struct dsql_pool_stats *more = &other->pool;
    sum->max_open += more->max_open;
    sum->target += more->target;
    sum->slots += more->slots;
    sum->ready += more->ready;
    sum->in_use += more->in_use;
    sum->opening += more->opening;
    sum->closing += more->closing;
    sum->empty += more->empty;
    sum->waiting += more->waiting;
    sum->checkouts += more->checkouts;
    sum->empties += more->empties;
    sum->waits += more->waits;
    sum->opens += more->opens;
    sum->open_failures += more->open_failures;
    sum->attempts += more->attempts;
    sum->rate += more->rate;
    sum->rate_limit += more->rate_limit;
    sum->burst += more->burst;
    sum->permits += more->permits;
    for (size_t i = 0; i < DSQL_DISCARDS; i++)
        sum->discards[i] += more->discards[i];
    for (size_t i = 0; i < DSQL_POOL_SECONDS; i++)
        sum->opens_per_second[i] += more->opens_per_second[i];
    for (size_t i = 0; i < DSQL_STATUS_AGE_BINS; i++)
        view->ages[i] += other->ages[i];
}
