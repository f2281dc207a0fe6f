/*
 * What programs on Aurora DSQL need, in one include. The stores for Temporal are apart:
 * dsql/temporal.h, dsql/visibility.h and dsql/visibility_query.h. Each header also compiles alone,
 * in C and in C++.
 */
#ifndef DSQL_DSQL_H
#define DSQL_DSQL_H

#include "dsql/credentials.h"
#include "dsql/duration.h"
#include "dsql/err.h"
#include "dsql/log.h"
#include "dsql/metrics.h"
#include "dsql/pool.h"
#include "dsql/retry.h"
#include "dsql/script.h"
#include "dsql/stmt.h"
#include "dsql/tx.h"
#include "dsql/version.h"

#endif
