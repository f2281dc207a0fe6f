/*
 * A cursor walks over the body of a message and takes its fields, never past the end. The first
 * field that is not there leaves a fault; from then on everything taken is empty or zero, so that a
 * parser takes all fields in a row and asks once at the end.
 */
#ifndef DSQL_PGWIRE_CURSOR_H
#define DSQL_PGWIRE_CURSOR_H

#include "base/span.h"
#include "pgwire/proto.h"

struct dsql_pg_cursor {
    struct dsql_span rest;
    const char *fault; /* PostgreSQL's words for what is wrong, or NULL */
};

static inline struct dsql_pg_cursor dsql_pg_cursor_over(struct dsql_span body)
{
    return (struct dsql_pg_cursor){.rest = body.len ? body : DSQL_SPAN("")};
}

/* Numbers are big-endian on the wire. */
uint8_t dsql_pg_take_u8(struct dsql_pg_cursor *cursor);
uint16_t dsql_pg_take_u16(struct dsql_pg_cursor *cursor);
uint32_t dsql_pg_take_u32(struct dsql_pg_cursor *cursor);
int16_t dsql_pg_take_i16(struct dsql_pg_cursor *cursor);
int32_t dsql_pg_take_i32(struct dsql_pg_cursor *cursor);
struct dsql_span dsql_pg_take_bytes(struct dsql_pg_cursor *cursor, size_t len);

/* A terminated string, without its terminator. */
struct dsql_span dsql_pg_take_text(struct dsql_pg_cursor *cursor);

/* All that is left. */
struct dsql_span dsql_pg_take_rest(struct dsql_pg_cursor *cursor);

/* Remembers a fault unless there is one already. */
void dsql_pg_cursor_fail(struct dsql_pg_cursor *cursor, const char *fault);

/* The end of a parser: DSQL_PROTOCOL if there was a fault or if bytes are left. */
DSQL_MUST_USE enum dsql_rc dsql_pg_cursor_end(const struct dsql_pg_cursor *cursor,
                                              struct dsql_err *err);

#endif
