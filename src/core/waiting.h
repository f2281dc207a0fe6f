/*
 * Those who wait for a connection, first come first served: a list of nodes embedded in the
 * waiters. Who left it (served, or tired of waiting) is in it no more; all else is the caller's.
 */
#ifndef DSQL_CORE_WAITING_H
#define DSQL_CORE_WAITING_H

#include "base/defs.h"

struct dsql_waiting_node {
    struct dsql_waiting_node *next, *prev;
    bool waits;
};

struct dsql_waiting {
    struct dsql_waiting_node *first, *last;
    size_t count;
};

/* At the end of the line. */
static inline void dsql_waiting_join(struct dsql_waiting *line, struct dsql_waiting_node *node)
{
    assert(!node->waits);
    *node = (struct dsql_waiting_node){.prev = line->last, .waits = true};
    if (line->last)
        line->last->next = node;
    else
        line->first = node;
    line->last = node;
    line->count++;
}

static inline void dsql_waiting_leave(struct dsql_waiting *line, struct dsql_waiting_node *node)
{
    assert(node->waits);
    if (node->prev)
        node->prev->next = node->next;
    else
        line->first = node->next;
    if (node->next)
        node->next->prev = node->prev;
    else
        line->last = node->prev;
    node->waits = false;
    line->count--;
}

/* Whose turn it is, or NULL. */
static inline struct dsql_waiting_node *dsql_waiting_first(const struct dsql_waiting *line)
{
    return line->first;
}

#endif
