/*
 * Shards that this process acquires: a change of a shard's range id. Temporal acquires a shard anew
 * whenever it does not know what became of a write. Once is what fences are for; over and over
 * means that the same write fails each time, and everything on the shard waits.
 *
 * A series for each of thousands of shards would be too many, so acquisitions are counted by how
 * often that shard was acquired within the last minutes: the first time, a few times, or often.
 * Remembered is one shard for each place of a table; of two that share a place each forgets the
 * other, which can only make `first` of what was more.
 */
#ifndef DSQL_TEMPORAL_ACQUIRED_H
#define DSQL_TEMPORAL_ACQUIRED_H

#include <pthread.h>

#include "base/time.h"
#include "metrics/metrics.h"

enum {
    DSQL_ACQUIRED_PLACES = 4096,
    DSQL_ACQUIRED_MANY = 5 /* times within the window are often */
};
#define DSQL_ACQUIRED_WINDOW_NS (INT64_C(600) * 1000 * 1000 * 1000)

struct dsql_acquired {
    pthread_mutex_t lock; /* guards places; nothing else is taken while it is held */
    struct {
        int32_t shard, times; /* times 0: the place is empty */
        struct dsql_mono since;
    } places[DSQL_ACQUIRED_PLACES];
};

void dsql_acquired_init(struct dsql_acquired *acquired);
void dsql_acquired_fini(struct dsql_acquired *acquired);

/* A shard was acquired: how it is counted. */
enum dsql_label_value dsql_acquired_note(struct dsql_acquired *acquired, int32_t shard,
                                         struct dsql_mono now);

#endif
