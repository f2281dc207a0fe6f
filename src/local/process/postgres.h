/*
 * The private PostgreSQL behind the endpoint: made by initdb in a folder, reachable only through a
 * Unix socket in that folder, run as an unprivileged user, and gone when we are: it is told by the
 * kernel when this process dies, however it dies.
 */
#ifndef DSQL_LOCAL_POSTGRES_H
#define DSQL_LOCAL_POSTGRES_H

#include "base/clock.h"
#include "local/process/program.h"
#include "local/process/secrets.h"
#include "local/rules/sql_tx.h"

struct dsql_postgres {
    const struct dsql_clock *clock;
    struct dsql_programs programs;
    char data[DSQL_LOCAL_PATH_MAX];    /* PGDATA */
    char socket[DSQL_LOCAL_PATH_MAX];  /* the socket itself */
    struct dsql_local_secrets secrets; /* of this run */
    pid_t pid;                         /* 0 when it does not run */
};

/*
 * Makes the cluster in the folder if it is not there and starts it; answers when it takes
 * connections. A cluster of an earlier version gets this version's first SQL before anybody
 * connects. In a throwaway folder nothing has to survive a crash of the machine. no_wall: without
 * wall.h's. limits: rows and size, which the module inside PostgreSQL enforces. On failure nothing
 * runs, and *err names the log to look at. The folder must stay while PostgreSQL runs.
 */
DSQL_MUST_USE enum dsql_rc dsql_postgres_start(struct dsql_postgres *pg,
                                               const struct dsql_folder *folder, bool no_wall,
                                               const struct dsql_sql_limits *limits,
                                               const struct dsql_clock *clock,
                                               struct dsql_err *err);

/* A new connection to its socket, or -1: the other end is that PostgreSQL and no other program. */
int dsql_postgres_connect(const struct dsql_postgres *pg, bool non_blocking);

/* The startup packet of a session of the endpoint's own: the superuser's, which looks up nothing by
 * name that clients have made. */
void dsql_postgres_put_hello(const struct dsql_postgres *pg, struct dsql_strbuf *out);

/* Ends it, waiting until it has; kills it if it does not end by itself. */
void dsql_postgres_stop(struct dsql_postgres *pg);

#endif
