/*
 * A connection of the front's own to PostgreSQL, beside those of the clients: one query at a time,
 * whose rows are handed over as they come. Opened when it is first needed; lost, it is opened anew
 * for the next query. Part of the front's loop.
 */
#ifndef DSQL_LOCAL_ASIDE_H
#define DSQL_LOCAL_ASIDE_H

#include "local/process/postgres.h"
#include "net/loop.h"
#include "net/outbox.h"
#include "pgwire/backend.h"
#include "pgwire/frame.h"

struct dsql_aside {
    struct dsql_loop *loop;
    const struct dsql_postgres *pg;
    struct dsql_watch watch;
    struct dsql_outbox out;
    struct dsql_pg_framer in;
    struct dsql_pg_limits limits;
    bool busy;       /* a query is under way */
    uint32_t hidden; /* ReadyForQuery messages before that of the query */
    void (*row)(struct dsql_aside *aside, struct dsql_pg_values values);
    void (*done)(struct dsql_aside *aside); /* also when it failed */
};

/* The two functions are set by the caller. */
void dsql_aside_init(struct dsql_aside *aside, struct dsql_loop *loop,
                     const struct dsql_postgres *pg);
void dsql_aside_fini(struct dsql_aside *aside);

/* False if it can't be asked now; then done is not called. */
bool dsql_aside_ask(struct dsql_aside *aside, struct dsql_span sql);

#endif
