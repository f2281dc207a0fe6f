/*
 * Ids that grow with time and need no server: 41 bits of milliseconds since 2020, 10 bits of node,
 * 12 bits of sequence.
 *
 * Invariants: (SF1) every id is greater than all ids given before, whatever the clock does; (SF2)
 * and greater than every id it was shown, so that a process with a slower clock still goes on
 * behind what it has read; (SF3) two generators with different nodes never give the same id. Two
 * with the same node may: the process that inserts such an id finds a duplicate key and draws
 * again.
 *
 * Single-threaded.
 */
#ifndef DSQL_CORE_SNOWFLAKE_H
#define DSQL_CORE_SNOWFLAKE_H

#include "base/time.h"

enum { DSQL_SNOWFLAKE_NODES = 1024 };

struct dsql_snowflake {
    int64_t node;
    int64_t ms;       /* of the last id, since 2020 */
    int64_t sequence; /* of the last id */
};

/* 0 <= node < DSQL_SNOWFLAKE_NODES. */
void dsql_snowflake_init(struct dsql_snowflake *snowflake, int64_t node);

/* The next id; 0 when the 41 bits are used up (in 2089, or when it was shown an id of that time).
 */
int64_t dsql_snowflake_next(struct dsql_snowflake *snowflake, struct dsql_wall now);

/* Every later id is above this one. */
void dsql_snowflake_see(struct dsql_snowflake *snowflake, int64_t id);

#endif
