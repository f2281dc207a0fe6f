/*
 * The HTTP endpoint of a process with an engine: metrics, health, readiness and the status page, as
 * 'dsql up' has them.
 */
#ifndef DSQL_TEMPORAL_WATCH_H
#define DSQL_TEMPORAL_WATCH_H

#include "bridge.h"

struct bridge_watch;

/*
 * Serves the engine's pages at `address`, or at DSQL_METRICS_ADDRESS if it is empty; a port that
 * nobody chose and that is taken gives way to the next free one. *watch is NULL if the address is
 * "off". The engine must outlive it.
 */
int bridge_watch_start(struct bridge_engine *engine, const char *address,
                       struct bridge_watch **watch, struct dsql_err *err);
void bridge_watch_sample(struct bridge_watch *watch);        /* once a second */
int64_t bridge_watch_answer_age(struct bridge_watch *watch); /* ns; -1: no answer yet */
const char *bridge_watch_url(const struct bridge_watch *watch);
void bridge_watch_stop(struct bridge_watch *watch); /* NULL is fine */

#endif
