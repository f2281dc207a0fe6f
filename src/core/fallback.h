/*
 * What a process does while the table of its fleet is away for long: it acts as one of so many that
 * share the cluster evenly. Off unless asked for, because the whole is not counted then: processes
 * that held more than their share keep it, and there may be more processes than was said.
 *
 * Time is passed in. Single-threaded.
 */
#ifndef DSQL_CORE_FALLBACK_H
#define DSQL_CORE_FALLBACK_H

#include "core/permits.h"

struct dsql_fallback_config {
    int64_t after_ns;          /* away for so long; 0: never */
    int64_t processes;         /* that share */
    int64_t connections, rate; /* the cluster's, which all processes share */
};

struct dsql_fallback {
    int64_t after_ns, share;
    struct dsql_permits permits;
    bool away;
    struct dsql_mono since; /* since when the table is away */
};

void dsql_fallback_init(struct dsql_fallback *fallback, const struct dsql_fallback_config *config,
                        struct dsql_mono now);

/* Tells whether the table answered (false) or not (true). */
void dsql_fallback_tell(struct dsql_fallback *fallback, bool away, struct dsql_mono now);

bool dsql_fallback_holds(const struct dsql_fallback *fallback, struct dsql_mono now);

/* The slots, of which the table granted so many. */
int64_t dsql_fallback_slots(const struct dsql_fallback *fallback, int64_t granted,
                            struct dsql_mono now);

/* A permit, after the table's were used up. *wait_ns becomes shorter if one comes earlier. */
bool dsql_fallback_permit(struct dsql_fallback *fallback, struct dsql_mono now, int64_t *wait_ns);

#endif
