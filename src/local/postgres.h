/*
 * The private PostgreSQL behind the endpoint: made by initdb in a folder, reachable only through a
 * Unix socket in that folder, run as an unprivileged user, and gone when we are: it is told by the
 * kernel when this process dies, however it dies.
 */
#ifndef DSQL_LOCAL_POSTGRES_H
#define DSQL_LOCAL_POSTGRES_H

#include <sys/types.h>

#include "base/defs.h"
#include "local/sql_tx.h"

enum { DSQL_LOCAL_PATH_MAX = 256 };

struct dsql_postgres {
    char bin[DSQL_LOCAL_PATH_MAX];    /* where initdb and postgres are */
    char data[DSQL_LOCAL_PATH_MAX];   /* PGDATA */
    char socket[DSQL_LOCAL_PATH_MAX]; /* the socket itself */
    char log[DSQL_LOCAL_PATH_MAX];
    pid_t pid; /* 0 when it does not run */
    uid_t uid; /* who it runs as */
    gid_t gid;
};

/*
 * Makes the cluster in folder/pg if it is not there and starts it; answers when it takes
 * connections. A cluster of an earlier version gets this version's first SQL before anybody
 * connects; older: its folder is of a layout that did not say which SQL ran. throwaway: nothing has
 * to survive a crash of the machine. limits: rows and size, which the module inside PostgreSQL
 * enforces. On failure nothing runs, and *err names the log to look at.
 */
DSQL_MUST_USE enum dsql_rc dsql_postgres_start(struct dsql_postgres *pg, const char *folder,
                                               bool throwaway, bool older,
                                               const struct dsql_sql_limits *limits,
                                               struct dsql_err *err);

/* A new connection to its socket, or -1. */
int dsql_postgres_connect(const struct dsql_postgres *pg, bool non_blocking);

/* Ends it, waiting until it has; kills it if it does not end by itself. */
void dsql_postgres_stop(struct dsql_postgres *pg);

/* The user PostgreSQL must run as: ourselves, or somebody unprivileged if we are root. */
DSQL_MUST_USE enum dsql_rc dsql_postgres_user(uid_t *uid, gid_t *gid, struct dsql_err *err);

#endif
