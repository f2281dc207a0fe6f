/*
 * Data types as Aurora DSQL sees them: which may be a column, which may be part of a key, which
 * exist in expressions only.
 */
#ifndef DSQL_LOCAL_SQL_TYPE_H
#define DSQL_LOCAL_SQL_TYPE_H

#include "local/rules/sql_stmt.h"
#include "local/rules/sql_tree.h"

/* A declared type, read from a TypeName of the tree. */
struct dsql_sql_type {
    char name[DSQL_SQL_NAME_MAX];      /* PostgreSQL's own: int4 */
    char shown[DSQL_SQL_NAME_MAX + 2]; /* in messages: integer, text[] */
    enum dsql_sql_type_use {
        DSQL_SQL_TYPE_KEY,     /* columns and keys */
        DSQL_SQL_TYPE_COLUMN,  /* columns, not in a key */
        DSQL_SQL_TYPE_REFUSED, /* expressions only */
        DSQL_SQL_TYPE_MISSING, /* serial: does not exist */
        DSQL_SQL_TYPE_UNKNOWN, /* none of PostgreSQL's: a domain, or an error PostgreSQL will find
                                */
    } use;
    int64_t length; /* the first number in parentheses; -1 if there is none */
    int64_t bytes;  /* how many it takes in a key at most, 0 if the declaration does not say */
};

void dsql_sql_type_read(struct dsql_tree type_name, struct dsql_sql_type *type);

/* Whether a column may have it; fills *refusal if not. */
bool dsql_sql_type_check_column(const struct dsql_sql_type *type, struct dsql_sql_refusal *refusal);

/* Whether it may be part of a key. */
bool dsql_sql_type_check_key(const struct dsql_sql_type *type, struct dsql_sql_refusal *refusal);

/* Whether a column of a table that exists may be part of a key, for CREATE INDEX: name is
 * pg_type.typname. */
bool dsql_sql_type_check_key_name(struct dsql_span name, struct dsql_sql_refusal *refusal);

#endif
