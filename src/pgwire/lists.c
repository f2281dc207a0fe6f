#include "pgwire/lists.h"

/* A length of -1 is NULL; PostgreSQL takes any other negative one for data that is not there. */
struct dsql_pg_value dsql_pg_take_value(struct dsql_pg_cursor *cursor)
{
    uint32_t len = dsql_pg_take_u32(cursor);
    if (len == UINT32_MAX)
        return (struct dsql_pg_value){.is_null = true, .bytes = DSQL_SPAN("")};
    return (struct dsql_pg_value){.bytes = dsql_pg_take_bytes(cursor, len)};
}

bool dsql_pg_values_next(struct dsql_pg_values *rest, struct dsql_pg_value *value)
{
    if (rest->count == 0)
        return false;
    struct dsql_pg_cursor at = dsql_pg_cursor_over(rest->raw);
    *value = dsql_pg_take_value(&at);
    assert(!at.fault);
    rest->raw = at.rest;
    rest->count--;
    return true;
}

struct dsql_pg_values dsql_pg_take_values(struct dsql_pg_cursor *cursor)
{
    uint16_t count = dsql_pg_take_u16(cursor);
    struct dsql_span all = cursor->rest;
    for (uint16_t i = 0; i < count && !cursor->fault; i++)
        (void)dsql_pg_take_value(cursor);
    if (cursor->fault)
        return (struct dsql_pg_values){.raw = DSQL_SPAN("")};
    return (struct dsql_pg_values){count, dsql_span_first(all, all.len - cursor->rest.len)};
}

/* A 16-bit count and as many numbers of `size` bytes. */
static struct dsql_span take_numbers(struct dsql_pg_cursor *cursor, size_t size, uint16_t *count)
{
    uint16_t announced = dsql_pg_take_u16(cursor);
    struct dsql_span raw = dsql_pg_take_bytes(cursor, announced * size);
    *count = cursor->fault ? 0 : announced;
    return raw;
}

struct dsql_pg_formats dsql_pg_take_formats(struct dsql_pg_cursor *cursor)
{
    struct dsql_pg_formats formats;
    formats.raw = take_numbers(cursor, 2, &formats.count);
    return formats;
}

struct dsql_pg_oids dsql_pg_take_oids(struct dsql_pg_cursor *cursor)
{
    struct dsql_pg_oids oids;
    oids.raw = take_numbers(cursor, 4, &oids.count);
    return oids;
}

enum dsql_rc dsql_pg_format_check(int format, struct dsql_err *err)
{
    if (format == DSQL_PG_TEXT || format == DSQL_PG_BINARY)
        return DSQL_OK;
    (void)dsql_err_set(err, DSQL_INVALID, "unsupported format code: %d", format);
    return dsql_pg_refuse(err, DSQL_INVALID, DSQL_PG_INVALID_PARAMETER);
}

enum dsql_rc dsql_pg_formats_check(struct dsql_pg_formats formats, struct dsql_err *err)
{
    struct dsql_pg_cursor at = dsql_pg_cursor_over(formats.raw);
    enum dsql_rc rc = DSQL_OK;
    while (at.rest.len > 0 && !rc)
        rc = dsql_pg_format_check(dsql_pg_take_i16(&at), err);
    return rc;
}
