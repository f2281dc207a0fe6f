/*
 * Which statements of lists and counts are worth preparing. Their texts follow from the query, and
 * clients decide how many different ones there are; a connection keeps every statement that
 * it has prepared. A text that comes a second time is prepared from then on, up to
 * DSQL_VIS_SHAPES_MAX texts. Safe from any thread.
 */
#ifndef DSQL_VISIBILITY_SHAPES_H
#define DSQL_VISIBILITY_SHAPES_H

#include <pthread.h>

#include "visibility/sql.h"

enum {
    DSQL_VIS_SHAPES_MAX = 128,
    DSQL_VIS_SHAPES_SEEN = 512, /* texts that are remembered to have come once */
};

struct dsql_vis_shapes {
    pthread_mutex_t lock;
    uint64_t kept[DSQL_VIS_SHAPES_MAX]; /* 0 for none yet */
    size_t count;
    uint64_t seen[DSQL_VIS_SHAPES_SEEN]; /* by the text's hash; a later one takes the place */
};

void dsql_vis_shapes_init(struct dsql_vis_shapes *shapes);
void dsql_vis_shapes_fini(struct dsql_vis_shapes *shapes);

/* The hash of a statement's text and types, never 0. */
uint64_t dsql_vis_shape(const struct dsql_vis_sql *sql);

/* Whether the statement of that hash is to be prepared. Remembers that it came. */
bool dsql_vis_is_common(struct dsql_vis_shapes *shapes, uint64_t shape);

#endif
