/* A source of plain connections for the tests of tx: what PG* in the environment says. */
#ifndef DSQL_TESTS_PG_SOURCE_H
#define DSQL_TESTS_PG_SOURCE_H

#include "tx/source.h"

struct pg_source {
    struct dsql_source source;
    struct pg_conn *idle; /* one is kept */
    unsigned opened, discarded, checkouts;
};

void pg_source_init(struct pg_source *ps, struct dsql_metrics *metrics);
void pg_source_fini(struct pg_source *ps);

#endif
