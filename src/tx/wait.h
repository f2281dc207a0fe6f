/* Waiting for a connection's socket, a deadline and a cancel handle at once. */
#ifndef DSQL_TX_WAIT_H
#define DSQL_TX_WAIT_H

#include "tx/wire.h"

/*
 * Flushes and reads until PQgetResult() would not block: an answer is there, or the connection is
 * broken. DSQL_TIMEOUT and DSQL_CANCELLED otherwise. The connection is in non-blocking mode.
 */
DSQL_MUST_USE enum dsql_rc dsql_wait_result(struct pg_conn *pg,
                                            const struct dsql_wire_limits *limits);

/* Sleeps for ns, or until the limits say otherwise. */
DSQL_MUST_USE enum dsql_rc dsql_wait_sleep(int64_t ns, const struct dsql_wire_limits *limits);

#endif
