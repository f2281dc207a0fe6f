/*
 * A statement may change settings without saying so: it calls a function, or reads a view, whose
 * body calls set_config(). Whether the database has such a *setter* is asked of its catalogue at
 * the start, after each CREATE and ALTER that goes through the proxy, and at most every
 * DSQL_SETTERS_NS: by a client whose transaction has ended, before its connection goes back. While
 * there is one, the settings are read back after every transaction.
 */
#ifndef DSQL_PROXY_SETTERS_H
#define DSQL_PROXY_SETTERS_H

#include "base/clock.h"
#include "pgwire/frame.h"

#define DSQL_SETTERS_NS (10 * DSQL_S)

struct dsql_client;

struct dsql_setters {
    bool there;     /* there is one, or there may be one and the catalogue is not asked yet */
    bool asking;    /* an answer is outstanding, or was an error */
    uint64_t made;  /* transactions that may have made one, */
    uint64_t asked; /* those that the answer to come has seen, */
    uint64_t known; /* those that the last answer had seen */
    struct dsql_mono asked_at;
};

/* The statement: one row with one value, true or false. */
extern const char dsql_setters_sql[];

/* A transaction of the client's has ended: what it created may be a setter. */
void dsql_setters_ended(struct dsql_client *client);
/* Asks on the client's connection if it is time; false: nothing was put. */
bool dsql_setters_ask(struct dsql_client *client, struct dsql_mono now);
/* A piece of the row that answers. */
void dsql_setters_answer(struct dsql_setters *setters, const struct dsql_pg_piece *piece);

#endif
