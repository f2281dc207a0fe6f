/*
 * A client's prepared statements on the connection that it has: prepared there under the names that
 * all clients share, and so found by Bind and Describe, and by the names in its SQL. PREPARE of SQL
 * is shared as Parse is: its text goes to the server with another name in the client's place.
 *
 * What a text means depends on the settings in force when it is prepared: literals keep the meaning
 * that they had then (encoding, dates, zones); names are looked up again where search_path has
 * changed. The *context* of a statement on a connection stands for these settings, and a statement
 * is used there only in the context that its client means. While a client's settings are not
 * known, behind a SET that is not read back, what it prepares is in a context of its own.
 *
 * Words: a *made* text is a client's with server names in it. A client *moves in* where a text
 * can't be made: everything that others have prepared on its connection goes, its own statements
 * are prepared there under its own names, and it keeps the connection until DEALLOCATE ALL. It is
 * *at home* then.
 */
#ifndef DSQL_PROXY_PREPARED_H
#define DSQL_PROXY_PREPARED_H

#include "pgwire/frontend.h"
#include "proxy/answers.h"
#include "proxy/portals.h"
#include "proxy/settings.h"
#include "proxy/sql_names.h"

struct dsql_client;

/* What a text means to do with names. */
enum dsql_names_plan_kind {
    DSQL_NAMES_NOTHING,
    DSQL_NAMES_PREPARE,    /* it is PREPARE */
    DSQL_NAMES_EXECUTE,    /* it executes some that the client has */
    DSQL_NAMES_DEALLOCATE, /* it is DEALLOCATE of one that the client has */
    DSQL_NAMES_HOME,       /* it needs the names to be the client's own */
};

struct dsql_names_plan {
    enum dsql_names_plan_kind kind;
    struct dsql_sql_name name;          /* of PREPARE */
    struct dsql_definition *definition; /* that it is about, if the client has it: not owned */
    size_t executes;                    /* how many are executed, */
    bool commits;                       /* of which one may end a transaction, */
    bool resets;                        /* or the only one takes settings back */
    struct dsql_settings_reset reset;   /* to their defaults */
};

struct dsql_names_plan dsql_prepared_plan(const struct dsql_client *client, struct dsql_span text);

/* Whether the message can be relayed: a client that has to move in does so when its answers are
 * there. False: it comes again. */
bool dsql_prepared_admits(struct dsql_client *client, const struct dsql_pg_fe *msg);

/* -- Statements of the protocol. */

/* Prepares what the client means by a name, if its connection has not got it. */
void dsql_prepared_need(struct dsql_client *client, struct dsql_definition *definition);
/* Prepares the client's unnamed statement, if its connection has not got it. */
void dsql_prepared_need_unnamed(struct dsql_client *client);
/* A statement of the client's own will be prepared on its connection by what is put next. The
 * settings that it means are kept with the definition. */
void dsql_prepared_define(struct dsql_client *client, struct dsql_definition *definition);
/* The same for its unnamed statement. */
void dsql_prepared_define_unnamed(struct dsql_client *client, struct dsql_statement *statement);
/* The message may change settings, which are not known until it is answered. */
void dsql_prepared_may_set(struct dsql_client *client, struct dsql_span text);
/* The name that the server knows it by. */
struct dsql_span dsql_prepared_name(const struct dsql_client *client,
                                    const struct dsql_definition *definition);
/* Once the entry is answered the name is gone; if it is not, the name comes back. */
void dsql_prepared_close(struct dsql_client *client, struct dsql_definition *definition,
                         struct dsql_answer *entry);
/* The client's unnamed statement is gone once the entry is answered. If the entry is skipped after
 * an error, the statement comes back. */
void dsql_prepared_drop_unnamed(struct dsql_client *client, struct dsql_answer *entry);
/* A hidden Close of a statement. */
void dsql_prepared_put_close(struct dsql_client *client, const char *name);

/* -- Names in SQL. */

/* Adds the made text for a query, and puts what it needs in front of it. */
void dsql_prepared_make_query(struct dsql_client *client, const struct dsql_names_plan *plan,
                              struct dsql_span text, struct dsql_strbuf *sql,
                              struct dsql_answer *entry);
/* The same for a portal, of a statement made for it. */
void dsql_prepared_bind(struct dsql_client *client, const struct dsql_names_plan *plan,
                        const struct dsql_statement *statement, const struct dsql_pg_bind *bind);
/* Describes a statement that executes another one, which its name meant when it was parsed. */
void dsql_prepared_describe(struct dsql_client *client, const struct dsql_statement *statement,
                            struct dsql_definition *executes);
/* What a statement of that text executes; NULL: nothing that the client has. Not owned. */
struct dsql_definition *dsql_prepared_executes(const struct dsql_client *client,
                                               const struct dsql_statement *statement);

/* -- Portals. */

/* What running the portal does beyond its answers; the entry is that of the Execute. */
enum dsql_bound_use dsql_prepared_execute(struct dsql_client *client, struct dsql_span portal,
                                          struct dsql_answer *entry,
                                          struct dsql_settings_reset *resets);

#endif
