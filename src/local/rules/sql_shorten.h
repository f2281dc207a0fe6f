/*
 * A long query string is mostly data: the insides of string literals, which the parser would copy
 * into its tree and no rule looks at. This makes the same query string with long literals emptied,
 * and remembers where, so that a place in the short one is a place in the long one.
 */
#ifndef DSQL_LOCAL_SQL_SHORTEN_H
#define DSQL_LOCAL_SQL_SHORTEN_H

#include "base/span.h"

enum {
    DSQL_SQL_SHORTEN_FROM = 8 << 10, /* shorter query strings stay as they are */
    DSQL_SQL_LITERAL_KEPT = 64,      /* shorter literals stay as they are */
};

struct dsql_sql_short {
    char *text; /* terminated; NULL if there was nothing to shorten */
    size_t len;
    struct dsql_sql_cut {
        size_t at;      /* in the short text: here something is missing */
        size_t removed; /* in all up to here */
    } * cuts;
    size_t count, cap;
};

/* Fails with DSQL_NO_MEMORY only. */
DSQL_MUST_USE enum dsql_rc dsql_sql_shorten(struct dsql_span text, struct dsql_sql_short *out);
void dsql_sql_short_fini(struct dsql_sql_short *shortened);

/* Where a place in the short text is in the long one. A literal's own place is its beginning. */
size_t dsql_sql_short_place(const struct dsql_sql_short *shortened, size_t at);

#endif
