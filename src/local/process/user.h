/* The user that PostgreSQL runs as: our own, or an unprivileged one if we are root. */
#ifndef DSQL_LOCAL_USER_H
#define DSQL_LOCAL_USER_H

#include <sys/types.h>

#include "base/defs.h"

struct dsql_local_user {
    uid_t uid;
    gid_t gid;
};

DSQL_MUST_USE enum dsql_rc dsql_local_user_find(struct dsql_local_user *user, struct dsql_err *err);

/* In a child process: becomes that user for good, without the groups of the one before. */
DSQL_MUST_USE bool dsql_local_user_become(const struct dsql_local_user *user);

#endif
