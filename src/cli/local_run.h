/*
 * What the commands around `dsql local` share: their options, serving until the end, the control
 * socket to ask.
 */
#ifndef DSQL_CLI_LOCAL_RUN_H
#define DSQL_CLI_LOCAL_RUN_H

#include <sys/types.h>

#include "cli/command.h"
#include "cli/local_env.h"
#include "local/local.h"

/* The options that `dsql local` and `dsql local exec` share, for their tables. */
/* clang-format off */
#define DSQL_LOCAL_OPTIONS(port_doc)                                                                \
    {"port", 'p', "N", port_doc},                                                                   \
    {"endpoint", 0, "NAME", "its name in certificate and tokens, beside localhost (one like a cluster's, always the same with --data)"}, \
    {"region", 0, "REGION", "the region tokens are signed for (us-east-1)"},                        \
    {"arn", 0, "ARN", "whose the keys are: roles are mapped to it (arn:aws:iam::000000000000:user/local)"}, \
    {"aws-keys", 0, NULL,                                                                           \
     "sign with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, not with made-up keys"}, \
    {"rate", 0, "N", "new connections a second (100)"},                                             \
    {"burst", 0, "N", "new connections at once after a quiet time (1000)"},                         \
    {"max-connections", 0, "N", "open connections (10000)"},                                        \
    {"max-logins", 0, "N", "connections that have not logged in yet; at this number the oldest gives way (1000)"}, \
    {"login-time", 0, "DURATION", "how long a client may take to log in (1m)"},                \
    {"lifetime", 0, "DURATION", "a connection is closed at this age (1h)"},                         \
    {"transaction-age", 0, "DURATION", "the longest transaction (5m)"},                             \
    {"time-scale", 0, "N", "the endpoint's clock runs N times as fast: 60 makes an hour a minute"}, \
    {"fault", 0, "LIST", "faults from the start, such as message-latency=1ms,conflict-commit=0.1; see 'dsql help local fault'"}, \
    {"stale-catalogue", 0, "CHANCE", "how likely a session that used a table meets OC001 when another changes it (100%)"}, \
    {"stale-delay", 0, "DURATION", "the longest time until it does (0s)"},                         \
    {"stale-own", 0, "CHANCE", "how likely the session that made the change meets it too (0%)"},   \
    {"dialect", 0, "MONTH", "the service as it was, such as 2026-08 or 2026-08-25; see 'dsql help local'"}, \
    {"no-wall", 0, NULL,                                                                            \
     "do not have the kernel keep PostgreSQL from the machine's files and network: for systems where it can't start behind that"}, \
    {"metrics", 0, "HOST:PORT", "serve what it saw as Prometheus text at http://HOST:PORT/metrics"}
/* clang-format on */

DSQL_MUST_USE enum dsql_rc dsql_local_read_options(const struct dsql_args *args,
                                                   int64_t default_port,
                                                   struct dsql_local_options *options,
                                                   struct dsql_err *err);

/* Descriptors for ten thousand connections, and the signals that end or wake us. Before the
 * endpoint is started. */
void dsql_local_prepare(void);

/*
 * Serves until told to stop, the child (0: none) has ended, or PostgreSQL is gone, which is an
 * error. metrics is the address for those, or NULL; announce is called when all is there.
 */
DSQL_MUST_USE enum dsql_rc dsql_local_serve(struct dsql_local *local, const char *metrics,
                                            pid_t child, int *child_status, struct dsql_err *err);

/* Asks the endpoint that --data names, or the one in whose environment we run, and prints what it
 * answers; the status to end with. */
int dsql_local_ask(const struct dsql_args *args, struct dsql_span question,
                   void (*print)(struct dsql_span answer));

/* Asks as dsql_local_ask() does. The caller wipes and frees the answer. */
DSQL_MUST_USE enum dsql_rc dsql_local_ask_for(const struct dsql_args *args,
                                              struct dsql_span question, struct dsql_strbuf *answer,
                                              struct dsql_err *err);
#define DSQL_LOCAL_ASK_OPTIONS                                                                     \
    {                                                                                              \
        "data", 0, "DIR", "the endpoint's folder; without it, the one of DSQL_LOCAL_CONTROL"       \
    }

#endif
