/*
 * The statements and portals a session has named, and the script behind each: an Execute names a
 * portal only, and the rules want to know what it runs. Few at a time, so it is a list.
 */
#ifndef DSQL_LOCAL_NAMES_H
#define DSQL_LOCAL_NAMES_H

#include "base/strbuf.h"
#include "local/rules/sql_stmt.h"
#include "pgwire/proto.h"

struct dsql_names {
    struct dsql_named *first;
};

/* Takes over the reference to script; an older meaning of the name ends. The same on failure. parse
 * is the message that prepares a statement again; empty for a portal. */
DSQL_MUST_USE enum dsql_rc dsql_names_set(struct dsql_names *names, enum dsql_pg_object object,
                                          struct dsql_span name, struct dsql_sql_script *script,
                                          struct dsql_span parse);

/* Adds what prepares the statements in another session, each with a Sync; says how many. */
uint32_t dsql_names_replay(const struct dsql_names *names, struct dsql_strbuf *out);

/* The script, without a reference; NULL if there is no such name. */
struct dsql_sql_script *dsql_names_get(const struct dsql_names *names, enum dsql_pg_object object,
                                       struct dsql_span name);
void dsql_names_drop(struct dsql_names *names, enum dsql_pg_object object, struct dsql_span name);
void dsql_names_drop_all(struct dsql_names *names, enum dsql_pg_object object);

#endif
