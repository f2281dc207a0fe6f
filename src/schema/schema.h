/*
 * schema: the schemas under schema/dsql/v12, which are part of the program: Temporal's store and
 * its visibility (text.c), brought into a cluster (db.c, columns.c) and compared with it (verify.c;
 * pool.c on a connection of the pool). Each is taken apart into steps and brought into a cluster,
 * and has a version of its own.
 *
 * One step is one transaction (the service takes one DDL at a time), every step may be repeated,
 * and the version is written last: a process that was killed at any point starts again and ends in
 * the same place. Blocking, on a connection of the caller's; not for the hot path.
 */
#ifndef DSQL_SCHEMA_SCHEMA_H
#define DSQL_SCHEMA_SCHEMA_H

#include "base/span.h"
#include "base/strbuf.h"

typedef struct pg_conn PGconn; /* as libpq declares them */
typedef struct pg_result PGresult;

struct dsql_schema {
    const char *name;    /* for people: "store" */
    const char *version; /* that the text stands for */
    const char
        *version_table; /* holds the cluster's version, and history_table what became of it */
    const char *history_table;
    struct dsql_span (*text)(void);
};

/* The version is that of Temporal's main schema for PostgreSQL. */
extern const struct dsql_schema dsql_schema_store;
/* A schema of this project's own, with its own versions. */
extern const struct dsql_schema dsql_schema_visibility;

enum dsql_schema_kind { DSQL_SCHEMA_TABLE, DSQL_SCHEMA_INDEX, DSQL_SCHEMA_ROW };

struct dsql_schema_step {
    enum dsql_schema_kind kind;
    struct dsql_span name;  /* of the table or index; of the table a row goes to */
    struct dsql_span table; /* of an index; otherwise as name */
    bool unique;            /* index */
    struct dsql_span body;  /* table: its lines; index: its columns */
    struct dsql_span where; /* index: the predicate of a partial one; otherwise empty */
    struct dsql_span text;  /* the statement, without the semicolon */
};

/* Takes the next step off *rest. False at the end. */
bool dsql_schema_next(struct dsql_span *rest, struct dsql_schema_step *step);

struct dsql_schema_column {
    struct dsql_span name;
    char type[40]; /* as format_type() words it */
    bool not_null;
};

/* Takes the next column off the body of a table. False at the end, when *key holds the columns of
 * the primary key as they are written. */
bool dsql_schema_next_column(struct dsql_span *body, struct dsql_schema_column *column,
                             struct dsql_span *key);

/* How many steps there are in all. */
size_t dsql_schema_steps(const struct dsql_schema *schema);

/* Compares two versions such as 1.9 and 1.19, number by number: below, equal to or above 0. */
int dsql_schema_version_compare(struct dsql_span a, struct dsql_span b);

/* Told about each thing that happens; may be NULL. `state` is a word: "exists", "created",
 * "waiting", "rebuilt", "added" (a column), "dropped", "missing", "differs", "invalid",
 * "incomplete", "orphaned". */
struct dsql_schema_watch {
    void (*see)(void *arg, const char *state, const char *what, struct dsql_span name,
                const char *detail);
    void *arg;
    const struct dsql_clock *clock; /* NULL: the machine's */
};

enum { DSQL_SCHEMA_VERSION_MAX = 64 };

/* The version in the cluster; empty if there is none. */
DSQL_MUST_USE enum dsql_rc dsql_schema_read_version(const struct dsql_schema *schema, PGconn *conn,
                                                    char version[DSQL_SCHEMA_VERSION_MAX],
                                                    struct dsql_err *err);

/* Brings the schema in, or an older one up to it: adds what is missing, tables, indexes, and
 * columns that may be NULL. Refuses with DSQL_CONDITION_FAILED, and changes nothing, where a newer
 * version is, and where a table, column, key or index of its names has another shape: `watch` is
 * told of each. */
DSQL_MUST_USE enum dsql_rc dsql_schema_apply(const struct dsql_schema *schema, PGconn *conn,
                                             const struct dsql_schema_watch *watch,
                                             struct dsql_err *err);

/* What `watch` was told, counted. */
struct dsql_schema_findings {
    size_t mendable; /* missing or not valid: dsql_schema_apply() mends it */
    size_t shapes;   /* there, and of another shape: dsql_schema_apply() refuses it */
};

/* What to do about findings of another shape; a hint for people. */
#define DSQL_SCHEMA_SHAPES_HINT                                                                    \
    "what is there is never changed. Tables of the Go plugin have this shape: their data must be " \
    "copied or given up. If nothing in them is needed, 'dsql schema drop' and "                    \
    "then 'dsql schema apply'; else use a cluster of its own"

/* Compares the cluster with the text. */
DSQL_MUST_USE enum dsql_rc dsql_schema_verify(const struct dsql_schema *schema, PGconn *conn,
                                              const struct dsql_schema_watch *watch,
                                              struct dsql_schema_findings *findings,
                                              struct dsql_err *err);
/* Compares only what is there: things that have another shape are findings, missing ones are not.
 */
DSQL_MUST_USE enum dsql_rc dsql_schema_verify_shapes(const struct dsql_schema *schema, PGconn *conn,
                                                     const struct dsql_schema_watch *watch,
                                                     struct dsql_schema_findings *findings,
                                                     struct dsql_err *err);

struct dsql_pool;
/* Compares the cluster with the text on a connection of the pool, and waits for the connection at
 * most wait_ns: DSQL_CONDITION_FAILED names the first findings, and the hint says what to do. */
DSQL_MUST_USE enum dsql_rc dsql_schema_verify_pool(const struct dsql_schema *schema,
                                                   struct dsql_pool *pool, int64_t wait_ns,
                                                   struct dsql_err *err);

/* Drops every table of the schema, with what is in it, the version tables last. */
DSQL_MUST_USE enum dsql_rc dsql_schema_drop(const struct dsql_schema *schema, PGconn *conn,
                                            const struct dsql_schema_watch *watch,
                                            struct dsql_err *err);

/* For those above: adds the columns that a table of an older schema lacks. */
DSQL_MUST_USE enum dsql_rc dsql_schema_add_columns(PGconn *conn,
                                                   const struct dsql_schema_step *step,
                                                   const struct dsql_schema_watch *watch,
                                                   struct dsql_err *err);

/* For those above: runs one statement, again on 40001 (another DDL was faster). The caller
 * clears *result, which may be NULL. */
DSQL_MUST_USE enum dsql_rc dsql_schema_exec(PGconn *conn, struct dsql_span sql, size_t count,
                                            const char *const *values, PGresult **result,
                                            struct dsql_err *err);
#endif
