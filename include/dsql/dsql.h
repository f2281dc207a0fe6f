/* Everything libdsql offers, in one include. Each header also compiles alone, in C and in C++. */
#ifndef DSQL_DSQL_H
#define DSQL_DSQL_H

#include "dsql/credentials.h"
#include "dsql/err.h"
#include "dsql/log.h"
#include "dsql/metrics.h"
#include "dsql/pool.h"
#include "dsql/retry.h"
#include "dsql/script.h"
#include "dsql/stmt.h"
#include "dsql/temporal.h"
#include "dsql/tx.h"
#include "dsql/version.h"
#include "dsql/visibility.h"
#include "dsql/visibility_query.h"

#endif
