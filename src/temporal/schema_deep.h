/* Large values against their parts, in a cluster. */
#ifndef DSQL_TEMPORAL_SCHEMA_DEEP_H
#define DSQL_TEMPORAL_SCHEMA_DEEP_H

#include "schema/schema.h"

/* Compares large values with their parts: `watch` is told of tables whose values lack some
 * ("incomplete") and of parts that belong to no value ("orphaned"), with their number. Reads every
 * row of the store. */
DSQL_MUST_USE enum dsql_rc dsql_schema_verify_values(PGconn *conn,
                                                     const struct dsql_schema_watch *watch,
                                                     size_t *problems, struct dsql_err *err);

#endif
