/*
 * A binary heap of nodes embedded in the caller's objects: the smallest is found at once, any node
 * is removed or moved in O(log n). The heap owns its array of pointers, never the objects.
 *
 * Invariants: (H1) no node is less than its parent; (H2) items[i]->at == i + 1, and a node that is
 * in no heap has at == 0. Single-threaded.
 */
#ifndef DSQL_BASE_HEAP_H
#define DSQL_BASE_HEAP_H

#include "base/defs.h"

struct dsql_heap_node {
    size_t at; /* zero before its first use */
};

typedef bool dsql_heap_less_fn(const struct dsql_heap_node *a, const struct dsql_heap_node *b);

struct dsql_heap {
    struct dsql_heap_node **items;
    size_t len, cap;
    dsql_heap_less_fn *less;
};

void dsql_heap_init(struct dsql_heap *heap, dsql_heap_less_fn *less);

/* Forgets the nodes still in it; they may not be reused in another heap without zeroing. */
void dsql_heap_fini(struct dsql_heap *heap);

/* Makes room for n nodes in all, so that no push up to there can fail. */
DSQL_MUST_USE enum dsql_rc dsql_heap_reserve(struct dsql_heap *heap, size_t n);

/* Fails only with DSQL_NO_MEMORY, and then nothing changed. */
DSQL_MUST_USE enum dsql_rc dsql_heap_push(struct dsql_heap *heap, struct dsql_heap_node *node);

/* The smallest, or NULL. */
struct dsql_heap_node *dsql_heap_peek(const struct dsql_heap *heap);

/* node is in the heap. */
void dsql_heap_remove(struct dsql_heap *heap, struct dsql_heap_node *node);

/* node is in the heap and its order has changed. */
void dsql_heap_update(struct dsql_heap *heap, struct dsql_heap_node *node);

/* Whether node is in a heap. */
static inline bool dsql_heap_node_is_in(const struct dsql_heap_node *node)
{
    return node->at != 0;
}

#endif
