/* Between the files of this folder: whether options make sense, and where they lead. */
#ifndef DSQL_POOL_OPTIONS_H
#define DSQL_POOL_OPTIONS_H

#include "base/defs.h"
#include "dsql/pool.h"

struct dsql_target {
    char host[256], region[64];
    int port;
};

/* DSQL_INVALID, with what is wrong, or fills *target and makes the sizes fit max_open. */
DSQL_MUST_USE enum dsql_rc dsql_options_check(struct dsql_pool_options *options,
                                              struct dsql_target *target, struct dsql_err *err);

#endif
