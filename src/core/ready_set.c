#include "core/ready_set.h"

#include <stdlib.h>

enum { SMALL = 512, SMALL_SHIFT = 3, LARGE_SHIFT = 6 };

enum dsql_rc dsql_ready_set_init(struct dsql_ready_set *set, uint32_t capacity)
{
    assert(capacity >= 1);
    uint32_t shift = capacity <= SMALL ? SMALL_SHIFT : LARGE_SHIFT;
    uint32_t count = (capacity + (1U << shift) - 1) >> shift;
    struct dsql_ready_line *lines = aligned_alloc(DSQL_CACHE_LINE, count * sizeof(*lines));
    if (!lines)
        return DSQL_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        atomic_init(&lines[i].bits, 0);
    *set = (struct dsql_ready_set){
        .lines = lines, .line_count = count, .line_shift = shift, .capacity = capacity};
    return DSQL_OK;
}

void dsql_ready_set_fini(struct dsql_ready_set *set)
{
    free(set->lines);
    *set = (struct dsql_ready_set){0};
}

static uint64_t bit_of(const struct dsql_ready_set *set, uint32_t slot)
{
    assert(slot < set->capacity);
    return UINT64_C(1) << (slot & ((1U << set->line_shift) - 1));
}

bool dsql_ready_set_claim(struct dsql_ready_set *set, uint32_t slot)
{
    uint64_t bit = bit_of(set, slot);
    uint64_t was = atomic_fetch_and_explicit(&set->lines[slot >> set->line_shift].bits, ~bit,
                                             memory_order_seq_cst);
    return (was & bit) != 0;
}

bool dsql_ready_set_has(const struct dsql_ready_set *set, uint32_t slot)
{
    return (atomic_load_explicit(&set->lines[slot >> set->line_shift].bits, memory_order_acquire) &
            bit_of(set, slot)) != 0;
}

uint32_t dsql_ready_set_count(const struct dsql_ready_set *set)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < set->line_count; i++)
        count += (uint32_t)__builtin_popcountll(
            atomic_load_explicit(&set->lines[i].bits, memory_order_relaxed));
    return count;
}
