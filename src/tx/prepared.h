/*
 * Which statements a connection has prepared. The list hangs on the PGconn itself and goes away
 * with it, so that the code which opens and closes connections need not know of it. It sees every
 * result of the connection, also of those who use libpq directly: after DEALLOCATE ALL and DISCARD
 * ALL it is empty.
 */
#ifndef DSQL_TX_PREPARED_H
#define DSQL_TX_PREPARED_H

#include "base/defs.h"
#include "dsql/err.h"
#include "dsql/stmt.h"

struct pg_conn;
struct dsql_tx_prepared;

/* Names of prepared statements begin with it, so that they differ from the program's own. */
#define DSQL_TX_PREPARED_PREFIX "dsql."

enum { DSQL_STMT_NAME_MAX = 50, DSQL_TX_PREPARED_NAME_MAX = 63 };

/* The connection's list, made on first use; NULL if there is no memory. */
struct dsql_tx_prepared *dsql_tx_prepared_of(struct pg_conn *pg);

struct dsql_tx_prepared_key {
    uint64_t name, sql;
};

/*
 * Looks a statement up and fills in its name on the server. DSQL_OK: it is prepared, or on its way.
 * DSQL_NOT_FOUND: it has to be sent first, then added. DSQL_INVALID: another text has that name.
 */
DSQL_MUST_USE enum dsql_rc dsql_tx_prepared_find(const struct dsql_tx_prepared *list,
                                                 const struct dsql_stmt *stmt,
                                                 struct dsql_tx_prepared_key *key,
                                                 char name[DSQL_TX_PREPARED_NAME_MAX + 1]);
DSQL_MUST_USE enum dsql_rc dsql_tx_prepared_add(struct dsql_tx_prepared *list,
                                                struct dsql_tx_prepared_key key);

/* The server refused it, or never saw it. */
void dsql_tx_prepared_drop(struct dsql_tx_prepared *list, struct dsql_tx_prepared_key key);

/* The plans are stale: forget all, and never use these names on the server again. */
void dsql_tx_prepared_renew(struct dsql_tx_prepared *list);

#endif
