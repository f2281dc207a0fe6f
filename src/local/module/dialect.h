/*
 * Where PostgreSQL alone would answer otherwise than the service: the version it says it is, the id
 * of a session, a primary key and its columns that may not be dropped, the size of NUMERIC,
 * triggers that are switched off although there are none, a column's storage by default.
 */
#ifndef DSQL_LOCAL_MODULE_DIALECT_H
#define DSQL_LOCAL_MODULE_DIALECT_H

#include "local/module/module.h"

#include <nodes/plannodes.h>

/* While PostgreSQL loads the module. */
void dsql_dialect_init(void);

/* The statement as the service means it: itself, or a changed copy. */
PlannedStmt *dsql_dialect_statement(PlannedStmt *statement);

#endif
