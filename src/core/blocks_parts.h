/*
 * What blocks.c, which holds an owner's state and makes its requests, and blocks_answer.c, which
 * takes the answers, share.
 */
#ifndef DSQL_CORE_BLOCKS_PARTS_H
#define DSQL_CORE_BLOCKS_PARTS_H

#include "core/blocks.h"
#include "core/permit_plan.h"

#define DSQL_BLOCKS_ONE   (DSQL_PERMIT * DSQL_S) /* a permit, in the purse's level */
#define DSQL_BLOCKS_MILLE 1000 /* jitter and opens a beat are counted in thousandths */

struct dsql_blocks_slot_plan {
    int64_t slots; /* to have */
    bool urgent;   /* at once; otherwise with the next beat */
    bool starving; /* would take more, but there is nothing */
};

/* The slots of the cluster that no block holds. */
int64_t dsql_blocks_free_slots(const struct dsql_blocks *b);

/* Makes the plan of the shares anew, from the view and from what the owner wants now. */
void dsql_blocks_replan(struct dsql_blocks *b);
struct dsql_blocks_slot_plan dsql_blocks_plan_slots(const struct dsql_blocks *b);

/* Brings the purse up to now: called before anything changes that flow or purse depend on. */
void dsql_blocks_fill_purse(struct dsql_blocks *b, struct dsql_mono now);

/* n < 0: takes them out. More than the purse holds are lost when it is filled next. */
void dsql_blocks_put_in_purse(struct dsql_blocks *b, int64_t n);

/* Takes a new identity. Copies of what the old one wrote may still be under way: none of them may
 * meet a block of this owner again. */
void dsql_blocks_forget_identity(struct dsql_blocks *b);

#endif
