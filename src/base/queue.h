/*
 * The queue: first come, first served. Its nodes are embedded in the items, and know the queue that
 * they are in; an item may leave from the middle. A queue does not move while an item is in it.
 */
#ifndef DSQL_BASE_QUEUE_H
#define DSQL_BASE_QUEUE_H

#include "base/defs.h"

struct dsql_queue_node {
    struct dsql_queue_node *next, *prev;
    struct dsql_queue *queue; /* the one that the node is in; NULL: none */
};

struct dsql_queue {
    struct dsql_queue_node *first, *last;
    size_t count;
};

/* At the end of the queue. */
static inline void dsql_queue_join(struct dsql_queue *queue, struct dsql_queue_node *node)
{
    assert(!node->queue);
    *node = (struct dsql_queue_node){.prev = queue->last, .queue = queue};
    *(queue->last ? &queue->last->next : &queue->first) = node;
    queue->last = node;
    queue->count++;
}

/* No effect on a node that is in no queue. */
static inline void dsql_queue_leave(struct dsql_queue_node *node)
{
    struct dsql_queue *queue = node->queue;
    if (!queue)
        return;
    *(node->prev ? &node->prev->next : &queue->first) = node->next;
    *(node->next ? &node->next->prev : &queue->last) = node->prev;
    *node = (struct dsql_queue_node){0};
    queue->count--;
}

/* The node that joined first, or NULL. */
static inline struct dsql_queue_node *dsql_queue_first(const struct dsql_queue *queue)
{
    return queue->first;
}

#endif
