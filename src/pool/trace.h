/*
 * The flight recorder: what the keeper was told and what it said, in a ring in a file
 * (core/keeper_trace.h). A thread that tells the keeper something adds to a buffer in memory, under
 * the lock that it holds anyway and without a system call; a thread of the recorder writes the
 * buffer out a few times a second. When the disk is too slow the recording has a gap, and never the
 * pool a delay.
 */
#ifndef DSQL_POOL_TRACE_H
#define DSQL_POOL_TRACE_H

#include <pthread.h>

#include "base/clock.h"
#include "core/keeper_trace.h"

struct dsql_trace;

/*
 * Begins a recording in a new file that only this user may read. What was there becomes PATH.old; a
 * link, or anything else that is no file of this user's, is refused, and so is a file that
 * another process records to at this moment. `lock` guards the keeper and outlives the recorder.
 * DSQL_IO, DSQL_NO_MEMORY.
 */
DSQL_MUST_USE enum dsql_rc dsql_trace_open(const char *path, uint32_t max_open,
                                           const struct dsql_clock *clock, pthread_mutex_t *lock,
                                           struct dsql_trace **trace, struct dsql_err *err);

/* With the lock held: makes the call, and records it if there is a recorder. */
void dsql_trace_call(struct dsql_trace *trace, struct dsql_keeper *keeper,
                     const struct dsql_keeper_call *call, struct dsql_keeper_reply *reply);

/* Called without the lock, after the last other call: writes what is left, and what the keeper
 * knows. NULL is fine. */
void dsql_trace_close(struct dsql_trace *trace, const struct dsql_keeper *keeper);

#endif
