/* The connection of `dsql schema`. */
#ifndef DSQL_CLI_SCHEMA_CONNECT_H
#define DSQL_CLI_SCHEMA_CONNECT_H

#include "base/defs.h"

typedef struct pg_conn PGconn; /* as libpq declares it */

/* NULL for what the settings or libpq say. The caller closes *conn with PQfinish(). */
DSQL_MUST_USE enum dsql_rc dsql_schema_connect(const char *endpoint, const char *region,
                                               const char *user, PGconn **conn,
                                               struct dsql_err *err);

#endif
