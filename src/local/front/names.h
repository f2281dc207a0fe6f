/*
 * The statements and portals a session has named, and the script behind each: an Execute names a
 * portal only, and the rules want to know what it runs. Most sessions have a few; one that names
 * thousands waits no longer for each.
 */
#ifndef DSQL_LOCAL_NAMES_H
#define DSQL_LOCAL_NAMES_H

#include "base/strbuf.h"
#include "local/rules/sql_stmt.h"
#include "pgwire/proto.h"

/* Names of one kind, in lists by a hash of the name. */
struct dsql_named_set {
    struct dsql_named *few[8]; /* the lists, until there are more names than lists */
    struct dsql_named **many;  /* the lists from then on; NULL before */
    size_t lists;              /* how many of them there are; a power of two */
    size_t count;
};

/* All zero at first, and again when both kinds are dropped. */
struct dsql_names {
    struct dsql_named_set statements, portals;
    uint64_t newest; /* the number of the message that named something last */
};

/* Takes over the reference to script; an older meaning of the name ends. The same on failure. parse
 * is the message that prepares a statement again; empty for a portal. number is the message's in
 * the pipeline (pipeline.h). */
DSQL_MUST_USE enum dsql_rc dsql_names_set(struct dsql_names *names, enum dsql_pg_object object,
                                          struct dsql_span name, struct dsql_sql_script *script,
                                          struct dsql_span parse, uint64_t number);

/* Messages with the numbers from `first` to below `end` were not carried out: the statements that
 * they named are not there. */
void dsql_names_undo(struct dsql_names *names, uint64_t first, uint64_t end);

/* Adds what prepares the statements in another session, each with a Sync; says how many. */
uint32_t dsql_names_replay(const struct dsql_names *names, struct dsql_strbuf *out);

/* The script, without a reference; NULL if there is no such name. */
struct dsql_sql_script *dsql_names_get(struct dsql_names *names, enum dsql_pg_object object,
                                       struct dsql_span name);
void dsql_names_drop(struct dsql_names *names, enum dsql_pg_object object, struct dsql_span name);
void dsql_names_drop_all(struct dsql_names *names, enum dsql_pg_object object);

#endif
