/* Between the files of this folder: the registry's shape. */
#ifndef DSQL_METRICS_REGISTRY_H
#define DSQL_METRICS_REGISTRY_H

#include <pthread.h>

#include "metrics/metrics.h"

struct dsql_metrics {
    char service[64];
    /* What recording needs to know of a metric, side by side. */
    struct dsql_metric_place {
        uint32_t at;          /* in its kind of block, in cells */
        uint16_t value_count; /* of its label set */
        uint16_t stride;      /* from one value to the next, in cells */
        bool by_operation, hot;
        uint8_t type;
    } place[DSQL_METRIC_COUNT];
    size_t process_cells, operation_cells;
    void *process_block;  /* of _Atomic uint64_t, or whole histograms */
    pthread_mutex_t lock; /* for adding operations, and for runs */
    struct dsql_metric_runs *runs;
    size_t run_count;
    _Atomic unsigned operation_count;
    struct {
        char name[DSQL_OPERATION_NAME_MAX + 1];
        void *block;
    } operations[DSQL_OPERATIONS_MAX];
};

#endif
