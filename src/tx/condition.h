/* What is said of a fence that did not hold. */
#ifndef DSQL_TX_CONDITION_H
#define DSQL_TX_CONDITION_H

#include "dsql/tx.h"

/* Fills *err (may be NULL) and answers DSQL_CONDITION_FAILED. name is the statement's, rows what it
 * hit. */
enum dsql_rc dsql_err_condition(struct dsql_err *err, const char *name,
                                const struct dsql_fence *fence, int64_t rows);

#endif
