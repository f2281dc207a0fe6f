/* Between the files of the status page: what is remembered. */
#ifndef DSQL_CLI_STATUS_STATE_H
#define DSQL_CLI_STATUS_STATE_H

#include <pthread.h>

#include "cli/status.h"

/* The counters as they stand. */
struct dsql_status_counts {
    uint64_t checkouts, empties, opens, discards, commits, conflicts;
};

struct dsql_status {
    struct dsql_status_options options; /* without the texts */
    char title[DSQL_STATUS_TEXT_MAX], endpoint[DSQL_STATUS_TEXT_MAX], user[DSQL_STATUS_TEXT_MAX];
    unsigned operation;
    struct dsql_mono started;
    pthread_mutex_t lock; /* guards what follows; taken while holding nothing */
    struct dsql_status_counts last;
    struct dsql_hist last_latency, delta;
    struct dsql_status_sample history[DSQL_STATUS_HISTORY]; /* a ring */
    uint64_t samples;                                       /* ever taken */
    uint64_t opens_peak;
};

#endif
