/*
 * Which connection may be handed out, and which is closed when it comes back. The pool asks this
 * from many threads at once and without a lock, the simulator from one: so these are functions of
 * plain values.
 *
 * A connection whose usable_until lies after *near* is far from its end: it is handed out and taken
 * back without a look at the clock. The keeper publishes near, NEAR ahead of the time, in each
 * turn; turns are never that far apart unless the whole process stands still. Closer to its end the
 * clock decides.
 *
 * What comes back is looked at in this order: unclean, hung up, too old, called back.
 */
#ifndef DSQL_CORE_HANDOUT_H
#define DSQL_CORE_HANDOUT_H

#include "base/time.h"
#include "dsql/pool.h"

/* usable_until of a connection whose server has closed it. */
#define DSQL_HANDOUT_HUNG_UP INT64_MIN

#define DSQL_HANDOUT_NEAR_NS DSQL_M

static inline bool dsql_handout_is_far(int64_t usable_until_ns, int64_t near_ns)
{
    return usable_until_ns > near_ns;
}

/* By the clock: true if it may be handed out, or taken back; else *why not. `expired` is the word
 * for one that has reached its very end. */
static inline bool dsql_handout_may(int64_t usable_until_ns, int64_t dies_at_ns, int64_t now_ns,
                                    enum dsql_discard expired, enum dsql_discard *why)
{
    if (usable_until_ns == DSQL_HANDOUT_HUNG_UP)
        *why = DSQL_DISCARD_SERVER_CLOSED;
    else if (now_ns >= dies_at_ns)
        *why = expired;
    else if (now_ns >= usable_until_ns)
        *why = DSQL_DISCARD_INSUFFICIENT_LIFETIME;
    else
        return true;
    return false;
}

/* Whether one that comes back, clean and young enough, is closed nevertheless: because the pool
 * drains, or because more are held than the budget has slots for. */
static inline bool dsql_handout_is_called_back(bool draining, bool surplus, enum dsql_discard *why)
{
    *why = draining ? DSQL_DISCARD_DRAIN : DSQL_DISCARD_RESERVOIR_FULL;
    return draining || surplus;
}

#endif
