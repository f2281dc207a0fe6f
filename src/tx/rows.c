/* The rows of an answer: libpq's result under another name, and its binary values read. */
#include <libpq-fe.h>
#include <string.h>

#include "base/defs.h"
#include "base/span.h"
#include "dsql/stmt.h"
#include "pgwire/oid.h"
#include "tx/params.h"

/* struct dsql_rows has no members anywhere: a pointer to it is a PGresult's. */
static const PGresult *result_of(const struct dsql_rows *rows)
{
    return (const PGresult *)rows;
}

void dsql_rows_free(struct dsql_rows *rows)
{
    PQclear((PGresult *)rows);
}

size_t dsql_rows_count(const struct dsql_rows *rows)
{
    return rows ? (size_t)PQntuples(result_of(rows)) : 0;
}

size_t dsql_rows_columns(const struct dsql_rows *rows)
{
    return rows ? (size_t)PQnfields(result_of(rows)) : 0;
}

const char *dsql_rows_name(const struct dsql_rows *rows, size_t column)
{
    return column < dsql_rows_columns(rows) ? PQfname(result_of(rows), (int)column) : NULL;
}

bool dsql_rows_is_null(const struct dsql_rows *rows, size_t row, size_t column)
{
    return row >= dsql_rows_count(rows) || column >= dsql_rows_columns(rows) ||
           PQgetisnull(result_of(rows), (int)row, (int)column);
}

const void *dsql_rows_bytes(const struct dsql_rows *rows, size_t row, size_t column, size_t *len)
{
    if (dsql_rows_is_null(rows, row, column))
        return NULL;
    if (len)
        *len = (size_t)PQgetlength(result_of(rows), (int)row, (int)column);
    return PQgetvalue(result_of(rows), (int)row, (int)column);
}

/* A value that is there, and what kind it is. */
struct value {
    const char *bytes;
    size_t len;
    Oid type;
    bool binary;
};

static bool value_at(const struct dsql_rows *rows, size_t row, size_t column, struct value *out)
{
    out->bytes = dsql_rows_bytes(rows, row, column, &out->len);
    if (!out->bytes)
        return false;
    out->type = PQftype(result_of(rows), (int)column);
    out->binary = PQfformat(result_of(rows), (int)column) == 1;
    return true;
}

static uint64_t big_endian(const char *bytes, size_t len)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++)
        value = value << 8 | (unsigned char)bytes[i];
    return value;
}

bool dsql_rows_i64(const struct dsql_rows *rows, size_t row, size_t column, int64_t *out)
{
    struct value v;
    if (!value_at(rows, row, column, &v))
        return false;
    if (!v.binary)
        return dsql_span_to_i64((struct dsql_span){v.bytes, v.len}, out);
    if (v.type == DSQL_OID_INT8 && v.len == 8)
        *out = (int64_t)big_endian(v.bytes, 8);
    else if (v.type == DSQL_OID_INT4 && v.len == 4)
        *out = (int32_t)big_endian(v.bytes, 4);
    else if (v.type == DSQL_OID_INT2 && v.len == 2)
        *out = (int16_t)big_endian(v.bytes, 2);
    else if (v.type == DSQL_OID_OID && v.len == 4)
        *out = (int64_t)big_endian(v.bytes, 4);
    else
        return false;
    return true;
}

bool dsql_rows_f64(const struct dsql_rows *rows, size_t row, size_t column, double *out)
{
    struct value v;
    if (!value_at(rows, row, column, &v))
        return false;
    if (!v.binary)
        return dsql_span_to_f64((struct dsql_span){v.bytes, v.len}, out);
    if (v.type == DSQL_OID_FLOAT8 && v.len == 8) {
        uint64_t bits = big_endian(v.bytes, 8);
        memcpy(out, &bits, sizeof(*out));
    } else if (v.type == DSQL_OID_FLOAT4 && v.len == 4) {
        uint32_t bits = (uint32_t)big_endian(v.bytes, 4);
        float narrow;
        memcpy(&narrow, &bits, sizeof(narrow));
        *out = (double)narrow;
    } else {
        return false;
    }
    return true;
}

bool dsql_rows_bool(const struct dsql_rows *rows, size_t row, size_t column, bool *out)
{
    struct value v;
    if (!value_at(rows, row, column, &v) || v.type != DSQL_OID_BOOL || v.len != 1)
        return false;
    *out = v.binary ? v.bytes[0] != 0 : v.bytes[0] == 't';
    return true;
}

bool dsql_rows_time_us(const struct dsql_rows *rows, size_t row, size_t column, int64_t *unix_us)
{
    struct value v;
    if (!value_at(rows, row, column, &v) || !v.binary || v.len != 8 ||
        (v.type != DSQL_OID_TIMESTAMPTZ && v.type != DSQL_OID_TIMESTAMP))
        return false;
    int64_t us;
    /* What lies at the ends of time, infinity included, does not fit. */
    if (__builtin_add_overflow((int64_t)big_endian(v.bytes, 8), DSQL_PG_EPOCH_US, &us))
        return false;
    *unix_us = us;
    return true;
}
