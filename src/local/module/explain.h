/*
 * What EXPLAIN ANALYZE VERBOSE says beyond PostgreSQL's plan: an identifier of the statement, and
 * what the service would charge for it. The lines are the service's; the figures are rough,
 * because how the service counts is not published.
 */
#ifndef DSQL_LOCAL_MODULE_EXPLAIN_H
#define DSQL_LOCAL_MODULE_EXPLAIN_H

#include "local/module/module.h"

/* While PostgreSQL loads the module. */
void dsql_explain_init(void);

#endif
