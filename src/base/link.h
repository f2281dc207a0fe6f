/*
 * Lists whose items carry typed `next` and `prev` pointers; `first` is the pointer to the first
 * item or NULL. The order is that of a stack: the newest item comes first. A line with a last item,
 * where the first to come is the first to go, is base/queue.h.
 */
#ifndef DSQL_BASE_LINK_H
#define DSQL_BASE_LINK_H

/* Puts the item before all others. */
#define DSQL_LINK(first, item)                                                                     \
    do {                                                                                           \
        (item)->prev = NULL;                                                                       \
        (item)->next = (first);                                                                    \
        if (first)                                                                                 \
            (first)->prev = (item);                                                                \
        (first) = (item);                                                                          \
    } while (0)

/* Takes the item out; its own pointers stay as they are. */
#define DSQL_UNLINK(first, item)                                                                   \
    do {                                                                                           \
        *((item)->prev ? &(item)->prev->next : &(first)) = (item)->next;                           \
        if ((item)->next)                                                                          \
            (item)->next->prev = (item)->prev;                                                     \
    } while (0)

#endif
