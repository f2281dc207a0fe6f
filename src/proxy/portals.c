#include "proxy/portals.h"

#include <stdlib.h>

#include "base/grow.h"

void dsql_bound_release(struct dsql_bound *bound)
{
    dsql_definition_unref(bound->definition);
    dsql_renames_unref(bound->renames);
    *bound = (struct dsql_bound){0};
}

void dsql_portals_fini(struct dsql_portals *portals)
{
    for (size_t i = 0; i < portals->count; i++)
        dsql_bound_release(&portals->of[i]);
    free(portals->of);
    *portals = (struct dsql_portals){0};
}

static struct dsql_bound *find_portal(struct dsql_portals *portals, struct dsql_span name)
{
    uint64_t hash = portals->count > 0 ? dsql_name_hash(name) : 0;
    for (size_t i = 0; i < portals->count; i++)
        if (portals->of[i].portal == hash)
            return &portals->of[i];
    return NULL;
}

static void remove_portal(struct dsql_portals *portals, struct dsql_bound *bound)
{
    *bound = portals->of[--portals->count];
}

void dsql_portals_forget(struct dsql_portals *portals, struct dsql_span name)
{
    struct dsql_bound *bound = find_portal(portals, name);
    if (!bound)
        return;
    dsql_bound_release(bound);
    remove_portal(portals, bound);
}

bool dsql_portals_add(struct dsql_portals *portals, struct dsql_span name, struct dsql_bound bound)
{
    dsql_portals_forget(portals, name);
    if (!DSQL_GROW(portals->of, portals->cap, portals->count + 1)) {
        dsql_bound_release(&bound);
        return false;
    }
    bound.portal = dsql_name_hash(name);
    portals->of[portals->count++] = bound;
    return true;
}

/* A portal that is run in parts means the same each time; the others are run once. */
bool dsql_portals_take(struct dsql_portals *portals, struct dsql_span name,
                       struct dsql_bound *bound)
{
    struct dsql_bound *found = find_portal(portals, name);
    if (!found)
        return false;
    *bound = *found;
    if (bound->use == DSQL_BOUND_RUNS)
        bound->renames = dsql_renames_ref(bound->renames);
    else
        remove_portal(portals, found);
    return true;
}
