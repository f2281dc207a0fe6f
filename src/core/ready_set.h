/*
 * Which slots are ready to be checked out: one bit for each. The thread that clears a bit owns the
 * slot until it sets the bit again; no thread waits for another. This is the pool's fast path and
 * the one part of core that many threads may use at once.
 *
 * The bits are spread over cache lines (eight slots a line in small sets, 64 in large ones), and a
 * taker starts at a slot of its choice, so that threads seldom meet.
 *
 * Memory order. Setting a bit releases what the owner wrote, clearing one acquires it; that is all
 * the slots need. Beyond that, setting a bit is sequentially consistent and so are the loads of a
 * scan: a thread that announces itself as waiting (a sequentially consistent write) and then scans
 * in vain, and a thread that sets a bit and then looks for waiting ones (a sequentially consistent
 * read), cannot both miss each other. A scan is no snapshot: it may find nothing although at every
 * moment some bit was set.
 */
#ifndef DSQL_CORE_READY_SET_H
#define DSQL_CORE_READY_SET_H

#include <stdatomic.h>

#include "base/defs.h"

#define DSQL_READY_NONE UINT32_MAX

struct dsql_ready_line {
    _Alignas(DSQL_CACHE_LINE) _Atomic uint64_t bits;
};

struct dsql_ready_set {
    struct dsql_ready_line *lines;
    uint32_t line_count;
    uint32_t line_shift; /* slots of a line: 1 << line_shift */
    uint32_t capacity;
};

/* Empty, for slots 0 to capacity - 1. DSQL_NO_MEMORY. */
DSQL_MUST_USE enum dsql_rc dsql_ready_set_init(struct dsql_ready_set *set, uint32_t capacity);
void dsql_ready_set_fini(struct dsql_ready_set *set);

/* The caller owns the slot. */
static inline void dsql_ready_set_put(struct dsql_ready_set *set, uint32_t slot)
{
    uint32_t in_line = slot & ((1U << set->line_shift) - 1);
    atomic_fetch_or_explicit(&set->lines[slot >> set->line_shift].bits, UINT64_C(1) << in_line,
                             memory_order_seq_cst);
}

/* Takes any; DSQL_READY_NONE if the scan found none. *hint, any number at first, is the slot to try
 * first and becomes the one that was found: a thread that asks again is likely to get the same. */
static inline uint32_t dsql_ready_set_take(struct dsql_ready_set *set, uint32_t *hint)
{
    uint32_t line = *hint >> set->line_shift;
    if (*hint < set->capacity) {
        _Atomic uint64_t *at = &set->lines[line].bits;
        uint64_t bit = UINT64_C(1) << (*hint & ((1U << set->line_shift) - 1));
        if ((atomic_load_explicit(at, memory_order_seq_cst) & bit) != 0 &&
            (atomic_fetch_and_explicit(at, ~bit, memory_order_seq_cst) & bit) != 0)
            return *hint;
    } else {
        line %= set->line_count;
    }
    for (uint32_t n = set->line_count; n > 0; n--) {
        _Atomic uint64_t *at = &set->lines[line].bits;
        uint64_t bits = atomic_load_explicit(at, memory_order_seq_cst);
        while (bits != 0) {
            if (atomic_compare_exchange_weak_explicit(at, &bits, bits & (bits - 1),
                                                      memory_order_seq_cst, memory_order_seq_cst)) {
                *hint = (line << set->line_shift) + (uint32_t)__builtin_ctzll(bits);
                return *hint;
            }
        }
        line = line + 1 < set->line_count ? line + 1 : 0;
    }
    return DSQL_READY_NONE;
}

/* Takes this one, if it is there. */
bool dsql_ready_set_claim(struct dsql_ready_set *set, uint32_t slot);

bool dsql_ready_set_has(const struct dsql_ready_set *set, uint32_t slot);

/* How many there are; while others work, a number that was true of each line at some moment. */
uint32_t dsql_ready_set_count(const struct dsql_ready_set *set);

#endif
