/*
 * A client's portals that are bound and not run yet, as far as running one does more than its
 * answers say. Sans I/O.
 */
#ifndef DSQL_PROXY_PORTALS_H
#define DSQL_PROXY_PORTALS_H

#include "proxy/settings.h"
#include "proxy/statements.h"

/* What running a portal does beyond its answers. */
enum dsql_bound_use {
    DSQL_BOUND_RUNS, /* a made text: its errors carry the client's names */
    DSQL_BOUND_RESETS,
    DSQL_BOUND_PREPARES,
    DSQL_BOUND_DEALLOCATES,
    DSQL_BOUND_DEALLOCATES_ALL,
};

/* A portal that is not run yet. */
struct dsql_bound {
    uint64_t portal; /* the hash of its name */
    enum dsql_bound_use use;
    struct dsql_definition *definition; /* that it prepares or deallocates; owned */
    struct dsql_renames *renames;       /* owned, or NULL */
    struct dsql_settings_reset resets;
};

/* All zero is empty. */
struct dsql_portals {
    struct dsql_bound *of;
    size_t count, cap;
};

void dsql_portals_fini(struct dsql_portals *portals);
/* A Bind or a Close of that name. */
void dsql_portals_forget(struct dsql_portals *portals, struct dsql_span name);
/* Takes over what it refers to. False: memory is short. */
DSQL_MUST_USE bool dsql_portals_add(struct dsql_portals *portals, struct dsql_span name,
                                    struct dsql_bound bound);
/* A copy of the portal's entry, whose references are the caller's; one that only runs stays, others
 * are gone. False: there is none. */
DSQL_MUST_USE bool dsql_portals_take(struct dsql_portals *portals, struct dsql_span name,
                                     struct dsql_bound *bound);
void dsql_bound_release(struct dsql_bound *bound);

#endif
