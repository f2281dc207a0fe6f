#include "pgwire/cursor.h"

void dsql_pg_cursor_fail(struct dsql_pg_cursor *cursor, const char *fault)
{
    if (!cursor->fault)
        cursor->fault = fault;
    cursor->rest = DSQL_SPAN("");
}

struct dsql_span dsql_pg_take_bytes(struct dsql_pg_cursor *cursor, size_t len)
{
    if (len > cursor->rest.len) {
        dsql_pg_cursor_fail(cursor, "insufficient data left in message");
        return DSQL_SPAN("");
    }
    struct dsql_span taken = dsql_span_first(cursor->rest, len);
    cursor->rest = dsql_span_from(cursor->rest, len);
    return taken;
}

struct dsql_span dsql_pg_take_rest(struct dsql_pg_cursor *cursor)
{
    return dsql_pg_take_bytes(cursor, cursor->rest.len);
}

struct dsql_span dsql_pg_take_text(struct dsql_pg_cursor *cursor)
{
    struct dsql_span text, rest;
    if (!dsql_span_cut(cursor->rest, '\0', &text, &rest)) {
        dsql_pg_cursor_fail(cursor, "invalid string in message");
        return DSQL_SPAN("");
    }
    cursor->rest = rest;
    return text;
}

/* The next len bytes as a number; len <= 4. */
static uint32_t take_number(struct dsql_pg_cursor *cursor, size_t len)
{
    struct dsql_span bytes = dsql_pg_take_bytes(cursor, len);
    uint32_t number = 0;
    for (size_t i = 0; i < bytes.len; i++)
        number = number << 8 | (uint8_t)bytes.ptr[i];
    return number;
}

uint8_t dsql_pg_take_u8(struct dsql_pg_cursor *cursor)
{
    return (uint8_t)take_number(cursor, 1);
}

uint16_t dsql_pg_take_u16(struct dsql_pg_cursor *cursor)
{
    return (uint16_t)take_number(cursor, 2);
}

uint32_t dsql_pg_take_u32(struct dsql_pg_cursor *cursor)
{
    return take_number(cursor, 4);
}

int16_t dsql_pg_take_i16(struct dsql_pg_cursor *cursor)
{
    return (int16_t)take_number(cursor, 2);
}

int32_t dsql_pg_take_i32(struct dsql_pg_cursor *cursor)
{
    return (int32_t)take_number(cursor, 4);
}

enum dsql_rc dsql_pg_cursor_end(const struct dsql_pg_cursor *cursor, struct dsql_err *err)
{
    if (!cursor->fault && cursor->rest.len == 0)
        return DSQL_OK;
    (void)dsql_err_set(err, DSQL_PROTOCOL, "%s",
                       cursor->fault ? cursor->fault : "invalid message format");
    return dsql_pg_refuse(err, DSQL_PROTOCOL, DSQL_PG_PROTOCOL_VIOLATION);
}
