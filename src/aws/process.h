/* Runs a command for what it prints: a profile's credential_process. */
#ifndef DSQL_AWS_PROCESS_H
#define DSQL_AWS_PROCESS_H

#include "base/clock.h"
#include "base/strbuf.h"

/*
 * `sh -c command` with nothing to read, its standard error where ours is, and what it prints
 * appended to *out, whose limit is the limit of the answer. It runs in a process group of its own,
 * which is killed when the time is over, too much was printed, or cancel_fd (-1 for none) is
 * readable.
 *
 * DSQL_TIMEOUT, DSQL_LIMIT, DSQL_CANCELLED, DSQL_IO if it can't be started, DSQL_DENIED if it ends
 * with another status than 0. *out may then hold a part.
 */
DSQL_MUST_USE enum dsql_rc dsql_process_run(const char *command, const struct dsql_clock *clock,
                                            int64_t timeout_ns, int cancel_fd,
                                            struct dsql_strbuf *out, struct dsql_err *err);

#endif
