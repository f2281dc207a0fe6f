/*
 * The slots of a process, one for each connection it may hold: what state each is in, how old its
 * connection is, and when the clock has something to say about it. This is the book; core/keeper.h
 * decides.
 *
 *     EMPTY -> OPENING -> OPEN -> CLOSING -> EMPTY
 *
 * Whether an open slot is ready or in use is not in the book: the ready set knows, which many
 * threads change. A slot that is taken out of the ready set belongs to the thread that took it.
 *
 * An open connection whose replace_at has passed is *aging*: it is still handed out, but does not
 * count towards what is wanted any more, so that its successor is opened first. Those that count
 * are *fresh*.
 *
 * Invariants: (SL1) empty + opening + open + closing = capacity; (SL2) aging slots are open; (SL3)
 * a slot waits for the clock if it is open, or opening and not given up; (SL4) nothing here
 * allocates after init; each call costs at most O(log capacity). Slots that are due at one moment
 * are due in the order of their numbers, so that the book follows from its contents alone.
 * Single-threaded.
 */
#ifndef DSQL_CORE_SLOTS_H
#define DSQL_CORE_SLOTS_H

#include "base/heap.h"
#include "core/lifetime.h"
#include "dsql/pool.h"

enum { DSQL_SLOTS_MAX = 10000 };

#define DSQL_SLOT_NONE UINT32_MAX

enum dsql_slot_state { DSQL_SLOT_EMPTY, DSQL_SLOT_OPENING, DSQL_SLOT_OPEN, DSQL_SLOT_CLOSING };

struct dsql_slot {
    enum dsql_slot_state state;
    enum dsql_discard discard; /* CLOSING: why */
    bool aging;
    bool given_up;             /* OPENING: the driver was told to end the connect */
    uint32_t next, prev;       /* in the list of empty, of aging or of discarded slots */
    struct dsql_mono began;    /* the connect */
    struct dsql_lifespan life; /* of what is open */
    struct dsql_mono event;    /* when the clock has something to say */
    struct dsql_heap_node node;
};

struct dsql_slots {
    uint32_t capacity;
    struct dsql_slot *items;
    struct dsql_heap events;
    uint32_t first_empty, first_aging, last_aging;
    uint32_t first_discarded,
        last_discarded; /* CLOSING, and the driver was not told to close it yet */
    uint32_t opening, open, closing, aging;
};

/* All EMPTY. 1 <= capacity <= DSQL_SLOTS_MAX. DSQL_NO_MEMORY. */
DSQL_MUST_USE enum dsql_rc dsql_slots_init(struct dsql_slots *slots, uint32_t capacity);
void dsql_slots_fini(struct dsql_slots *slots);
/* *to, which is not initialized, becomes equal to *from, but for its capacity, which is at least
 * dsql_slots_span(from). DSQL_NO_MEMORY. */
DSQL_MUST_USE enum dsql_rc dsql_slots_copy(struct dsql_slots *to, const struct dsql_slots *from,
                                           uint32_t capacity);
/* The number of the last slot that is not EMPTY, and one; 0: all are. */
uint32_t dsql_slots_span(const struct dsql_slots *slots);

/* EMPTY -> OPENING; there is an empty one. At `deadline` the connect is due. */
uint32_t dsql_slots_begin(struct dsql_slots *slots, struct dsql_mono now,
                          struct dsql_mono deadline);
/* OPENING -> OPEN, with a life of its own; the slot is the caller's. */
void dsql_slots_opened(struct dsql_slots *slots, uint32_t slot, struct dsql_lifespan life);
/* OPENING -> EMPTY. */
void dsql_slots_failed(struct dsql_slots *slots, uint32_t slot);
/* OPEN -> CLOSING, at the end of the list of those to be closed; the slot is the caller's. */
void dsql_slots_discard(struct dsql_slots *slots, uint32_t slot, enum dsql_discard why);
/* The first of that list, which leaves it; false if there is none. */
bool dsql_slots_next_discarded(struct dsql_slots *slots, uint32_t *slot);
/* CLOSING -> EMPTY. */
void dsql_slots_closed(struct dsql_slots *slots, uint32_t slot);

enum dsql_slots_due {
    DSQL_DUE_NOTHING,
    DSQL_DUE_CONNECT, /* a connect has reached its deadline; it is given up, and not due again */
    DSQL_DUE_END,     /* an open one has reached its guard window; due until it is dealt with */
};
/* What the clock says, one at a time. Those whose replace_at has come begin to age. */
enum dsql_slots_due dsql_slots_due(struct dsql_slots *slots, struct dsql_mono now, uint32_t *slot);
/* The connect of an OPENING slot is ended before its time. */
void dsql_slots_give_up(struct dsql_slots *slots, uint32_t slot);
/* The slot that is due, which a caller uses, is due again at `at`. */
void dsql_slots_due_again(struct dsql_slots *slots, uint32_t slot, struct dsql_mono at);
/* The aging one at the head of its list goes to its end. */
void dsql_slots_pass_aging(struct dsql_slots *slots);

/* When the clock has something to say; INT64_MAX: never. */
struct dsql_mono dsql_slots_next_event(const struct dsql_slots *slots);

/* Connections held, those coming and going included. */
static inline uint32_t dsql_slots_held(const struct dsql_slots *slots)
{
    return slots->opening + slots->open + slots->closing;
}

static inline uint32_t dsql_slots_fresh(const struct dsql_slots *slots)
{
    return slots->open - slots->aging;
}

/* For a reader of recordings, which fills in the book by itself. are_sound() tells whether lists
 * and counts agree with the states of the slots (S1, S2). If so, look_again() makes the timers
 * (SL3). */
bool dsql_slots_are_sound(const struct dsql_slots *slots);
void dsql_slots_look_again(struct dsql_slots *slots);

/* Aborts if an invariant does not hold; for tests. */
void dsql_slots_check(const struct dsql_slots *slots);

#endif
