/*
 * The allowance of a process on its own: permits from its own bucket, and as many
 * slots as it wants. Single-threaded.
 */
#ifndef DSQL_CORE_SOLO_H
#define DSQL_CORE_SOLO_H

#include "core/allowance.h"
#include "core/permits.h"

struct dsql_solo {
    struct dsql_allowance allowance;
    struct dsql_permits permits;
    int64_t want, used, burst;
    bool draining;
};

/* rate and burst as core/permits.h has them. */
void dsql_solo_init(struct dsql_solo *solo, int64_t rate, int64_t burst, struct dsql_mono now);

/* Other limits from now on; what was used up stays so. */
void dsql_solo_resize(struct dsql_solo *solo, int64_t rate, int64_t burst, struct dsql_mono now);

/* Whether it has all its permits and its whole rate: a new one would be the same. */
bool dsql_solo_is_rested(struct dsql_solo *solo, struct dsql_mono now);

#endif
