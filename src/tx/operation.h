/* Between the files of this folder: an operation whose tries its caller drives. */
#ifndef DSQL_TX_OPERATION_H
#define DSQL_TX_OPERATION_H

#include <stdatomic.h>

#include "dsql/tx.h"
#include "tx/observe.h"
#include "tx/source.h"

struct dsql_operation {
    struct dsql_observer observer;
    struct dsql_retry_policy policy;
    struct dsql_retry retry;
    int64_t timeout_ns;
    atomic_int retries; /* the caller's, and those inside of its tries */
    atomic_int unknown; /* commits without an answer that are not settled yet */
};

DSQL_MUST_USE enum dsql_rc dsql_operation_begin_on(const struct dsql_source *source,
                                                   const char *name,
                                                   const struct dsql_tx_policy *policy,
                                                   struct dsql_operation **operation,
                                                   struct dsql_err *err);

#endif
