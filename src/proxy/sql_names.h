/*
 * Names of prepared statements in SQL: where a text says PREPARE, EXECUTE or DEALLOCATE, and reads
 * pg_prepared_statements. Quotes, dollar quotes and comments are skipped; nothing else is parsed.
 */
#ifndef DSQL_PROXY_SQL_NAMES_H
#define DSQL_PROXY_SQL_NAMES_H

#include "base/span.h"

enum { DSQL_PREPARED_NAME_MAX = 64 }; /* PostgreSQL cuts longer names off, and says so */

enum dsql_sql_name_use {
    DSQL_SQL_NAMES_END,
    DSQL_SQL_PREPARES,    /* a statement begins so */
    DSQL_SQL_EXECUTES,    /* a statement is that, maybe behind EXPLAIN */
    DSQL_SQL_MAY_EXECUTE, /* EXECUTE and a name elsewhere */
    DSQL_SQL_DEALLOCATES, /* a statement is that */
    DSQL_SQL_DEALLOCATES_ALL,
    DSQL_SQL_LISTS, /* pg_prepared_statements, or the function behind it */
};

struct dsql_sql_name {
    enum dsql_sql_name_use use;
    bool clear;     /* the name is understood; if not, it is folded or cut off by other rules */
    size_t at, len; /* where the name stands, with its quotes */
    char name[DSQL_PREPARED_NAME_MAX];
};

/* Begins with the text. */
struct dsql_sql_names {
    struct dsql_span text;
    size_t at;
    bool begun;        /* a statement has, */
    bool explains;     /* with EXPLAIN and its options; no others yet */
    size_t statements; /* that have begun */
};

/* Whether a text may have such a name: false for most, and cheap. */
bool dsql_sql_has_names(struct dsql_span text);

/* The next one. A text with quotes that do not end has none behind them. */
struct dsql_sql_name dsql_sql_names_next(struct dsql_sql_names *names);

/* How many characters of UTF-8 the text has. */
size_t dsql_sql_chars(struct dsql_span text);

#endif
