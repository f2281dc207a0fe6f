/*
 * The embedded default of `dsql up`: a `dsql local` of its own, as a child process that goes when
 * this one goes, whatever ends it.
 */
#ifndef DSQL_CLI_UP_LOCAL_H
#define DSQL_CLI_UP_LOCAL_H

#include <signal.h>
#include <sys/types.h>

#include "base/defs.h"

struct dsql_up_local {
    pid_t pid;
    char folder[128]; /* for its log and its environment; empty if there is none */
};

/*
 * Starts it and puts what a client needs into this process's environment. The caller has blocked
 * `stop`; one of them ends the waiting with DSQL_CANCELLED. Call it before there are threads.
 */
DSQL_MUST_USE enum dsql_rc dsql_up_local_start(struct dsql_up_local *local, const sigset_t *stop,
                                               struct dsql_err *err);

/* Ends it and removes what it left. All zero is fine. */
void dsql_up_local_stop(struct dsql_up_local *local);

#endif
