/* Threads of the library's own. They take no signals: those are the program's. */
#ifndef DSQL_BASE_THREAD_H
#define DSQL_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

#include "base/defs.h"

/* Starts a thread that runs run(arg) with all signals blocked. stack is its size in bytes, 0 for
 * the system's. 0, or the number of an error. */
DSQL_MUST_USE int dsql_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *),
                                    void *arg);

/* Blocks all signals in this thread until they are released, for code that starts threads itself.
 */
void dsql_signals_hold(sigset_t *before);
void dsql_signals_release(const sigset_t *before);

#endif
