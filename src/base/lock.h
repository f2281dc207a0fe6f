/*
 * The one way to take and to release a lock. Either fails only by a mistake in this code, such as a
 * lock that was destroyed or is another thread's; the process ends then.
 */
#ifndef DSQL_BASE_LOCK_H
#define DSQL_BASE_LOCK_H

#include <pthread.h>

#include "base/defs.h"

static inline void dsql_lock(pthread_mutex_t *mutex)
{
    int failed = pthread_mutex_lock(mutex);
    assert(!failed);
}

static inline void dsql_unlock(pthread_mutex_t *mutex)
{
    int failed = pthread_mutex_unlock(mutex);
    assert(!failed);
}

#endif
