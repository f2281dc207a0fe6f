#include "core/snowflake.h"

enum { SEQUENCE_BITS = 12, NODE_BITS = 10, MS_BITS = 41 };

#define EPOCH_MS INT64_C(1577836800000) /* 2020-01-01T00:00:00Z */

static_assert(DSQL_SNOWFLAKE_NODES == 1 << NODE_BITS, "the nodes fill their bits");
static_assert(MS_BITS + NODE_BITS + SEQUENCE_BITS == 63, "ids are positive");

void dsql_snowflake_init(struct dsql_snowflake *snowflake, int64_t node)
{
    assert(node >= 0 && node < DSQL_SNOWFLAKE_NODES);
    *snowflake = (struct dsql_snowflake){.node = node, .ms = -1};
}

int64_t dsql_snowflake_next(struct dsql_snowflake *snowflake, struct dsql_wall now)
{
    int64_t ms = now.ns / DSQL_MS - EPOCH_MS, sequence = 0;
    if (ms <= snowflake->ms) {
        ms = snowflake->ms;
        sequence = snowflake->sequence + 1;
        if (sequence >> SEQUENCE_BITS) { /* the future lends us a millisecond */
            ms++;
            sequence = 0;
        }
    }
    if (ms < 0)
        ms = 0; /* a clock before 2020 */
    if (ms >> MS_BITS)
        return 0;
    snowflake->ms = ms;
    snowflake->sequence = sequence;
    return ms << (NODE_BITS + SEQUENCE_BITS) | snowflake->node << SEQUENCE_BITS | sequence;
}

void dsql_snowflake_see(struct dsql_snowflake *snowflake, int64_t id)
{
    int64_t ms = id >> (NODE_BITS + SEQUENCE_BITS);
    if (id <= 0 || ms < snowflake->ms)
        return;
    /* As if its whole millisecond were used up: the next id has a later one, whatever its node. */
    snowflake->ms = ms;
    snowflake->sequence = (1 << SEQUENCE_BITS) - 1;
}
