/*
 * Many tasks in one row. A transaction of the service changes 3,000 rows; 2,000 activities that a
 * workflow begins in one task are 2,000 rows of their map and 2,000 transfer tasks. So tasks of one
 * call share rows: a *pack* is a row with several.
 *
 * (PK1) The ids of a pack are consecutive. So no other task has an id between them, and rows in the
 *      order of their keys are tasks in the order of their ids.
 * (PK2) The key of a pack is its last id. So a range delete takes it when all its tasks are below
 * the range's end, and not before. A process that deletes a range has completed what is below it.
 * (PK3) A pack has at most DSQL_PACK_MAX tasks. So a task below an id is in a pack whose key is
 * less than id + DSQL_PACK_MAX - 1 (`END` of the catalogue). (PK4) Each row that a range read finds
 * has a task in the range, unless it is the last row. So a page that is not full is the last one.
 *
 * A single task is not deleted from a pack: only Temporal's admin tool asks for that.
 */
#ifndef DSQL_TEMPORAL_PACK_H
#define DSQL_TEMPORAL_PACK_H

#include "base/span.h"

enum {
    DSQL_PACK_MIN = 64,      /* fewer inputs keep rows of their own */
    DSQL_PACK_MAX = 200,     /* tasks in a pack; the catalogue's END uses the same number */
    DSQL_PACK_BYTES = 500000 /* of a pack; a value larger than that has a row of its own */
};

/* One task of a pack. */
struct dsql_packed {
    struct dsql_span value, encoding;
};

/* How much room a task takes, and its bytes there. The encoding has less than 256 bytes. */
size_t dsql_pack_size(const struct dsql_packed *task);
void dsql_pack_put(const struct dsql_packed *task, char *out);

/* Takes the next task off a pack. False at the end, and where the bytes are no pack. */
bool dsql_pack_next(struct dsql_span *pack, struct dsql_packed *task);
/* How many tasks it has; 0 if it is none. */
size_t dsql_pack_count(struct dsql_span pack);

/* Whether that is the encoding of a pack. */
bool dsql_pack_is(struct dsql_span encoding);

#endif
