/*
 * The lists inside messages: values (parameters, columns), format codes and type oids. A list is a
 * view of wire bytes that were checked when it was taken, so reading it cannot fail; copied into
 * another message it needs no conversion. All zero is an empty list.
 */
#ifndef DSQL_PGWIRE_LISTS_H
#define DSQL_PGWIRE_LISTS_H

#include "pgwire/cursor.h"

enum { DSQL_PG_TEXT = 0, DSQL_PG_BINARY = 1 };

struct dsql_pg_value {
    bool is_null;
    struct dsql_span bytes;
};

struct dsql_pg_values {
    uint16_t count;
    struct dsql_span raw;
};

struct dsql_pg_formats {
    uint16_t count;
    struct dsql_span raw;
};

struct dsql_pg_oids {
    uint16_t count;
    struct dsql_span raw;
};

/* Takes the first value off the list; false if the list is empty. Iterate over a copy. */
bool dsql_pg_values_next(struct dsql_pg_values *rest, struct dsql_pg_value *value);

/* From a message: one value. */
struct dsql_pg_value dsql_pg_take_value(struct dsql_pg_cursor *cursor);

/* From a message: a 16-bit count and as many elements. */
struct dsql_pg_values dsql_pg_take_values(struct dsql_pg_cursor *cursor);
struct dsql_pg_formats dsql_pg_take_formats(struct dsql_pg_cursor *cursor);
struct dsql_pg_oids dsql_pg_take_oids(struct dsql_pg_cursor *cursor);

/* DSQL_INVALID if a code is neither text nor binary. */
DSQL_MUST_USE enum dsql_rc dsql_pg_formats_check(struct dsql_pg_formats formats,
                                                 struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_pg_format_check(int format, struct dsql_err *err);

#endif
