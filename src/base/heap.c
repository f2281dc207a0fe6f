#include "base/heap.h"

#include <stdlib.h>

enum { FIRST_CAP = 16 };

void dsql_heap_init(struct dsql_heap *heap, dsql_heap_less_fn *less)
{
    *heap = (struct dsql_heap){.less = less};
}

void dsql_heap_fini(struct dsql_heap *heap)
{
    free(heap->items);
    *heap = (struct dsql_heap){.less = heap->less};
}

enum dsql_rc dsql_heap_reserve(struct dsql_heap *heap, size_t n)
{
    if (n <= heap->cap)
        return DSQL_OK;
    struct dsql_heap_node **grown = reallocarray(heap->items, n, sizeof(struct dsql_heap_node *));
    if (!grown)
        return DSQL_NO_MEMORY;
    heap->items = grown;
    heap->cap = n;
    return DSQL_OK;
}

static void put(struct dsql_heap *heap, size_t i, struct dsql_heap_node *node)
{
    heap->items[i] = node;
    node->at = i + 1;
}

/* Moves the node at i towards the root until its parent is not greater. */
static void sift_up(struct dsql_heap *heap, size_t i)
{
    struct dsql_heap_node *node = heap->items[i];
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (!heap->less(node, heap->items[parent]))
            break;
        put(heap, i, heap->items[parent]);
        i = parent;
    }
    put(heap, i, node);
}

/* Moves the node at i towards the leaves until no child is smaller. */
static void sift_down(struct dsql_heap *heap, size_t i)
{
    struct dsql_heap_node *node = heap->items[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap->len)
            break;
        if (child + 1 < heap->len && heap->less(heap->items[child + 1], heap->items[child]))
            child++;
        if (!heap->less(heap->items[child], node))
            break;
        put(heap, i, heap->items[child]);
        i = child;
    }
    put(heap, i, node);
}

enum dsql_rc dsql_heap_push(struct dsql_heap *heap, struct dsql_heap_node *node)
{
    assert(node->at == 0);
    if (heap->len == heap->cap) {
        enum dsql_rc rc = dsql_heap_reserve(heap, heap->cap ? heap->cap * 2 : FIRST_CAP);
        if (rc)
            return rc;
    }
    heap->items[heap->len] = node;
    sift_up(heap, heap->len++);
    return DSQL_OK;
}

struct dsql_heap_node *dsql_heap_peek(const struct dsql_heap *heap)
{
    return heap->len ? heap->items[0] : NULL;
}

void dsql_heap_remove(struct dsql_heap *heap, struct dsql_heap_node *node)
{
    assert(node->at >= 1 && node->at <= heap->len && heap->items[node->at - 1] == node);
    size_t i = node->at - 1;
    struct dsql_heap_node *last = heap->items[--heap->len];
    node->at = 0;
    if (last == node)
        return;
    put(heap, i, last);
    dsql_heap_update(heap, last);
}

void dsql_heap_update(struct dsql_heap *heap, struct dsql_heap_node *node)
{
    assert(node->at >= 1 && node->at <= heap->len && heap->items[node->at - 1] == node);
    sift_up(heap, node->at - 1);
    sift_down(heap, node->at - 1);
}
