/* Growing arrays: a pointer to the items, and how many there is room for. */
#ifndef DSQL_BASE_GROW_H
#define DSQL_BASE_GROW_H

#include "base/defs.h"

/*
 * Makes room for `need` items, and for twice as many as before if that is more. false without
 * memory: the array stays as it was. `items` may move.
 * NOLINTNEXTLINE(bugprone-sizeof-expression): an item may be a pointer. */
#define DSQL_GROW(items, room, need) dsql_grow(&(items), &(room), (need), sizeof(*(items)))

/* What DSQL_GROW() calls: `items` is the address of a pointer to items of `size` bytes each. */
DSQL_MUST_USE bool dsql_grow(void *items, size_t *room, size_t need, size_t size);

#endif
