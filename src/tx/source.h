/*
 * Where transactions get their connections from. In the library that is the pool; tests of the wire
 * use a plain connection.
 */
#ifndef DSQL_TX_SOURCE_H
#define DSQL_TX_SOURCE_H

#include "tx/wire.h"

struct dsql_metrics;
struct dsql_pulse;

struct dsql_source {
    void *self;
    struct dsql_metrics *metrics; /* NULL: not recorded */
    const struct dsql_clock *clock;
    struct dsql_pulse *pulse; /* learns what is answered; may be NULL */
    /* Waits as long as the limits allow. */
    enum dsql_rc (*checkout)(void *self, const struct dsql_wire_limits *limits, void **conn,
                             struct dsql_err *err);
    struct pg_conn *(*pg)(void *conn);
    void (*give_back)(void *conn);
    void (*discard)(void *conn);
};

struct dsql_source dsql_source_of_pool(struct dsql_pool *pool);

#endif
