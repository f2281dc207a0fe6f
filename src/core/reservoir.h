/*
 * The reservoir: the state of all slots of a process, and every decision about them: when to open,
 * whom to replace, whom to evict. It does nothing itself. The pool's opener thread asks it with
 * real time and carries the answers out with real sockets; the simulator does the same with virtual
 * ones.
 *
 *     EMPTY -> OPENING -> READY <-> IN_USE -> CLOSING -> EMPTY
 *
 * READY and IN_USE together are *open*. Which of the two an open slot is, the ready set knows: many
 * threads change it. Everything else here belongs to one thread, the *keeper* of the reservoir.
 *
 * A turn of the keeper:
 *   1. dsql_reservoir_evict() until it has none: each is a slot to close, then _closed()
 *   2. while dsql_reservoir_wants() and a permit is there: dsql_reservoir_begin(), connect
 *   3. sleep for dsql_reservoir_wait_ns() or until a connect ends: _opened() or _failed()
 *
 * An open connection whose replace_at has passed is *aging*. It is still handed out, but does not
 * count towards the target any more: its successor is opened first. If every slot is taken, an
 * aging one makes room the moment its successor's permit is there. It is closed when the
 * target is met without it, and at usable_until in any case; if it is in use then, when it comes
 * back.
 *
 * Invariants: (R1) empty + opening + open + closing = capacity; (R2) opening never makes opening +
 * open + closing exceed the slots owned; (R3) a slot in the ready set is open; (R4) aging slots are
 * open; (R5) no decision allocates, each costs at most O(log capacity) but for looking at aging
 * slots, of which one decision looks at DSQL_RESERVOIR_LOOK at most.
 */
#ifndef DSQL_CORE_RESERVOIR_H
#define DSQL_CORE_RESERVOIR_H

#include "base/heap.h"
#include "core/lifetime.h"
#include "core/ready_set.h"
#include "dsql/pool.h"

enum { DSQL_RESERVOIR_LOOK = 8, DSQL_RESERVOIR_CAPACITY_MAX = 10000 };

struct dsql_reservoir_config {
    uint32_t capacity; /* 1 to DSQL_RESERVOIR_CAPACITY_MAX */
    uint32_t target;   /* 0 to capacity: kept; more are opened while callers wait */
    struct dsql_lifetime lifetime;
    /* Standard mode: a warm-up of so many, one after the other, then at most keeper_max opens in
     * each tick. keeper_tick_ns 0: reservoir mode, as fast as permits come. */
    int64_t keeper_tick_ns;
    uint32_t keeper_max;
    uint32_t warmup;
    uint32_t warmup_tries; /* for each connection of the warm-up; >= 1 */
};

struct dsql_slot {
    enum dsql_conn_state state; /* READY stands for open: the ready set knows more */
    bool aging;
    uint32_t next, prev; /* in the list of empty, or of aging slots */
    struct dsql_lifespan life;
    struct dsql_mono event; /* when it has to be looked at */
    struct dsql_heap_node node;
};

struct dsql_reservoir {
    struct dsql_reservoir_config config;
    struct dsql_slot *slots;
    struct dsql_ready_set ready;
    struct dsql_heap events;
    uint32_t first_empty, first_aging, last_aging;
    uint32_t opening, open, closing, aging;
    struct dsql_mono tick_at; /* the keeper's next */
    uint32_t tick_left;       /* opens left in this tick */
    uint32_t warmup_left, warmup_failures;
};

DSQL_MUST_USE enum dsql_rc dsql_reservoir_init(struct dsql_reservoir *reservoir,
                                               const struct dsql_reservoir_config *config,
                                               struct dsql_mono now);
void dsql_reservoir_fini(struct dsql_reservoir *reservoir);

/* Closes the next connection that has to go, if any: it is the caller's, CLOSING. `slots` is what
 * the budget lets the process hold. */
bool dsql_reservoir_evict(struct dsql_reservoir *reservoir, int64_t slots, struct dsql_mono now,
                          uint32_t *slot, enum dsql_discard *why);

/* Whether a connection should be opened now, given a permit: because there are fewer than the
 * target, or because `waiting` callers wait, more than connections are on their way, and the
 * capacity has room. What was opened for callers stays until it is old. */
bool dsql_reservoir_wants(struct dsql_reservoir *reservoir, int64_t slots, uint32_t waiting,
                          struct dsql_mono now);

/*
 * Begins to open one that it wants: *slot is OPENING. If it held an aging connection that makes
 * room, *evicted is true, and that connection has to be closed first (reason
 * EXPIRING_SOON_ON_SCAN). False if nothing can be opened any more, because that connection has been
 * checked out meanwhile.
 */
bool dsql_reservoir_begin(struct dsql_reservoir *reservoir, int64_t slots, uint32_t *slot,
                          bool *evicted);

/* OPENING ends well: the slot is open, in use by the caller, who puts it into the ready set or
 * hands it to somebody. */
void dsql_reservoir_opened(struct dsql_reservoir *reservoir, uint32_t slot, struct dsql_mono now,
                           struct dsql_rng *rng);

/* OPENING ends badly: EMPTY. `hopeless` ends a warm-up, and so does a first connection that failed
 * at its every try. */
void dsql_reservoir_failed(struct dsql_reservoir *reservoir, uint32_t slot, bool hopeless);

/* An open slot that the caller owns (it is not in the ready set) has to be closed: CLOSING. */
void dsql_reservoir_discard(struct dsql_reservoir *reservoir, uint32_t slot);

/* CLOSING ends: EMPTY. */
void dsql_reservoir_closed(struct dsql_reservoir *reservoir, uint32_t slot);

/* Until something has to be looked at again by itself; INT64_MAX: never. */
int64_t dsql_reservoir_wait_ns(const struct dsql_reservoir *reservoir, struct dsql_mono now);

/* Whether the warm-up has done what it could; always in reservoir mode. */
static inline bool dsql_reservoir_is_warm(const struct dsql_reservoir *reservoir)
{
    return reservoir->warmup_left == 0;
}

/* Connections held, those coming and going included. */
static inline uint32_t dsql_reservoir_held(const struct dsql_reservoir *reservoir)
{
    return reservoir->opening + reservoir->open + reservoir->closing;
}

/*
 * For a world with one thread: takes a connection that may be handed out, or DSQL_READY_NONE; those
 * inside their guard window stay for dsql_reservoir_evict(). The pool's checkout does the same
 * without the reservoir.
 */
uint32_t dsql_reservoir_checkout(struct dsql_reservoir *reservoir, struct dsql_mono now,
                                 uint32_t *hint);

/* Its counterpart: false if it must be closed instead; the caller owns it still. */
DSQL_MUST_USE bool dsql_reservoir_return(struct dsql_reservoir *reservoir, uint32_t slot,
                                         struct dsql_mono now);

/* Aborts if an invariant does not hold; for tests. */
void dsql_reservoir_check(const struct dsql_reservoir *reservoir);

#endif
