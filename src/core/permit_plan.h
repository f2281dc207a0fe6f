/*
 * Which flow and purse an owner of the protocol `blocks` should have, what it takes from the pot or
 * puts there, and whether that is worth a request of its own. Part of core/blocks.c, which makes
 * the requests and alone includes this. A plan follows from the owner and the time; making one
 * changes nothing, so that asked twice the answer is the same.
 */
#ifndef DSQL_CORE_PERMIT_PLAN_H
#define DSQL_CORE_PERMIT_PLAN_H

#include "core/blocks.h"

struct dsql_permit_plan {
    int64_t flow, purse;  /* to have */
    int64_t wants;        /* flow it would like to have, for others to know */
    int64_t draw, give;   /* from and to the pot */
    bool hurried, urgent; /* urgent: worth a request now */
    bool fills_pot;       /* for the fleet, while no owner lacks anything */
    bool surplus;         /* holds much that it does not need */
};

/* The owner has joined. */
struct dsql_permit_plan dsql_permit_plan_now(const struct dsql_blocks *blocks,
                                             struct dsql_mono now);

/* Whether what it has is not enough soon. */
bool dsql_permit_plan_hurried(const struct dsql_blocks *blocks, struct dsql_mono now);

/* How often a hurried owner looks. */
int64_t dsql_permit_plan_brisk_ns(const struct dsql_blocks *blocks);

/* What a plan goes by; blocks.c knows it. The owner's block, or NULL; the rate without throttling,
 * in thousandths; flow and purse that it has whatever became of requests in doubt. */
struct dsql_block *dsql_blocks_own(const struct dsql_blocks *blocks);
int64_t dsql_blocks_full_rate(const struct dsql_blocks *blocks);
int64_t dsql_blocks_flow_in_effect(const struct dsql_blocks *blocks);
int64_t dsql_blocks_sure_purse(const struct dsql_blocks *blocks);

#endif
