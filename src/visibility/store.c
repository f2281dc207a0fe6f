/* The handle of visibility, and what all its writes have in common. */
#include <stdlib.h>

#include "pool/pool.h"
#include "schema/schema.h"
#include "visibility/visibility.h"

void dsql_visibility_options_default(struct dsql_visibility_options *options)
{
    *options = (struct dsql_visibility_options){.tombstone_ns = 24 * DSQL_H};
    dsql_tx_policy_default(&options->policy);
    /* A lost connection is LOST only if nothing can have been applied. */
    options->policy.retry.reconnects = 2;
}

enum dsql_rc dsql_visibility_open(struct dsql_pool *pool,
                                  const struct dsql_visibility_options *options,
                                  struct dsql_visibility **visibility, struct dsql_err *err)
{
    if (options && options->tombstone_ns < 0)
        return dsql_err_set(err, DSQL_INVALID, "a tombstone of %lld ns",
                            (long long)options->tombstone_ns);
    struct dsql_visibility *made = calloc(1, sizeof(*made));
    if (!made)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    dsql_vis_shapes_init(&made->shapes);
    made->bounds = (struct dsql_vis_bounds){100000, 1000000, 20000};
    made->pool = pool;
    made->clock = pool->clock;
    if (options)
        made->options = *options;
    else
        dsql_visibility_options_default(&made->options);
    *visibility = made;
    return DSQL_OK;
}

void dsql_visibility_close(struct dsql_visibility *visibility)
{
    if (visibility)
        dsql_vis_shapes_fini(&visibility->shapes);
    free(visibility);
}

enum dsql_rc dsql_visibility_verify_schema(struct dsql_visibility *visibility, int64_t wait_ns,
                                           struct dsql_err *err)
{
    return dsql_schema_verify_pool(&dsql_schema_visibility, visibility->pool, wait_ns, err);
}

/* A write of visibility that was applied changes nothing when it is made again, and one that is
 * still on its way loses against the second by the database's own check. So it need not be found
 * out whether it was applied. */
static enum dsql_rc make_it_again(struct dsql_tx *tx, void *arg, bool *applied,
                                  struct dsql_err *err)
{
    (void)tx;
    (void)arg;
    (void)err;
    *applied = false;
    return DSQL_OK;
}

struct dsql_tx_policy dsql_visibility_write_policy(const struct dsql_visibility *visibility,
                                                   const struct dsql_tx_policy *policy)
{
    struct dsql_tx_policy its = policy ? *policy : visibility->options.policy;
    its.single = true;
    its.read_only = false;
    its.settle = make_it_again;
    its.settle_arg = NULL;
    return its;
}

int64_t dsql_visibility_now_us(const struct dsql_visibility *visibility)
{
    return dsql_clock_wall(visibility->clock).ns / DSQL_US;
}
