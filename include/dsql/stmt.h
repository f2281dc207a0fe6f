/*
 * What goes into a statement and what comes out: its text, its parameters, its rows. Parameters and
 * rows travel in PostgreSQL's binary form: numbers are neither quoted nor parsed.
 */
#ifndef DSQL_STMT_H
#define DSQL_STMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dsql/defs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum dsql_stmt_flag {
    DSQL_STMT_PREPARE = 1, /* prepared as "dsql." and its name at its first use on each connection,
                            * at no round trip of its own */
    DSQL_STMT_READ = 2,    /* changes nothing: run alone, its outcome is never unknown nor
                            * DSQL_APPLIED */
    DSQL_STMT_RAISES = 4, /* built with DSQL_RAISING, DSQL_EXPECTING or DSQL_REFUSING: what does not
                           * hold is an error of the server's, a division by zero */
    DSQL_STMT_TEXT = 8,   /* rows come as text, for types without a binary getter below */
};

/* A statement. Usually a constant; used only during the call it is passed to. */
struct dsql_stmt {
    const char *name; /* 1 to 50 characters; messages show it */
    const char *sql;  /* parameters are $1, $2, ... */
    /* PostgreSQL's type OIDs, one per parameter; NULL: what the parameters of the first call say.
     * With DSQL_STMT_PREPARE that first call decides for all, so a parameter that may be NULL
     * should be given its type here. */
    const uint32_t *types;
    unsigned flags; /* enum dsql_stmt_flag */
};

/*
 * Turns an UPDATE or DELETE literal (without RETURNING and without a division of its own) into one
 * that fails when it hits no row, so that a COMMIT sent right behind it can't commit. The row count
 * is the true one.
 */
#define DSQL_RAISING(sql) "WITH hit AS (" sql " RETURNING 1) SELECT count(*), 1/count(*) FROM hit"

/*
 * Turns a SELECT literal that yields one boolean, usually of a locked row,
 *
 *     DSQL_EXPECTING("SELECT version = $2 FROM account WHERE id = $1 FOR UPDATE")
 *
 * into a statement that fails when it is not true: when the row holds another value, and when there
 * is no row. Nothing behind it in the same batch is carried out, COMMIT included.
 *
 * Two forms look alike and are wrong. A lock in a WITH that nothing refers to is never executed.
 * An ELSE with 1/0 is computed while the statement is planned, and always fails.
 */
#define DSQL_EXPECTING(select) "SELECT 1/(CASE WHEN (" select ") THEN 1 ELSE 0 END)"

/* The contrary: the statement fails when the boolean is true, and passes when there is no row. */
#define DSQL_REFUSING(select) "SELECT 1/(CASE WHEN (" select ") THEN 0 ELSE 1 END)"

enum dsql_param_kind {
    DSQL_PARAM_NULL,
    DSQL_PARAM_BOOL,
    DSQL_PARAM_I16,
    DSQL_PARAM_I32,
    DSQL_PARAM_I64,
    DSQL_PARAM_F64,
    DSQL_PARAM_TEXT,   /* terminated, in text form: also for types that have no kind of their own */
    DSQL_PARAM_TEXT_N, /* text of len bytes, without a terminator */
    DSQL_PARAM_BYTES,  /* bytea */
    DSQL_PARAM_UUID,   /* 16 bytes */
    DSQL_PARAM_TIME,   /* timestamptz, in microseconds since 1970 */
    DSQL_PARAM_TIMESTAMP, /* timestamp without time zone, in microseconds since 1970, UTC */
    DSQL_PARAM_RAW,       /* bytes already in the binary form of the type the statement declares */
};

/* What pointers point to must stay until the call that gets the parameter returns. */
struct dsql_param {
    enum dsql_param_kind kind;
    int32_t len; /* of what as.ptr points to */
    union {
        int64_t i64;
        double f64;
        const void *ptr;
    } as;
};

/* For the functions below. */
static inline struct dsql_param dsql_param_number(enum dsql_param_kind kind, int64_t value)
{
    struct dsql_param p;
    p.kind = kind;
    p.len = 0;
    p.as.i64 = value;
    return p;
}

/* For the functions below. */
static inline struct dsql_param dsql_param_pointer(enum dsql_param_kind kind, const void *ptr,
                                                   size_t len)
{
    struct dsql_param p;
    p.kind = ptr ? kind : DSQL_PARAM_NULL;
    p.len = len <= INT32_MAX ? (int32_t)len : -1; /* refused when sent */
    p.as.ptr = ptr;
    return p;
}

/* SQL's NULL, of the type the statement declares. */
static inline struct dsql_param dsql_null(void)
{
    return dsql_param_number(DSQL_PARAM_NULL, 0);
}

/* boolean */
static inline struct dsql_param dsql_bool(bool value)
{
    return dsql_param_number(DSQL_PARAM_BOOL, value);
}

/* smallint */
static inline struct dsql_param dsql_i16(int16_t value)
{
    return dsql_param_number(DSQL_PARAM_I16, value);
}

/* integer */
static inline struct dsql_param dsql_i32(int32_t value)
{
    return dsql_param_number(DSQL_PARAM_I32, value);
}

/* bigint */
static inline struct dsql_param dsql_i64(int64_t value)
{
    return dsql_param_number(DSQL_PARAM_I64, value);
}

/* double precision */
static inline struct dsql_param dsql_f64(double value)
{
    struct dsql_param p = dsql_param_number(DSQL_PARAM_F64, 0);
    p.as.f64 = value;
    return p;
}

/* Text, or a value of any type in text form; terminated. A pointer of NULL is SQL's NULL, here and
 * below. */
static inline struct dsql_param dsql_text(const char *text)
{
    return dsql_param_pointer(DSQL_PARAM_TEXT, text, text ? strlen(text) : 0);
}

/* A text of len bytes, without a terminator. */
static inline struct dsql_param dsql_text_n(const char *text, size_t len)
{
    return dsql_param_pointer(DSQL_PARAM_TEXT_N, text, len);
}

/* bytea */
static inline struct dsql_param dsql_bytes(const void *bytes, size_t len)
{
    return dsql_param_pointer(DSQL_PARAM_BYTES, bytes, len);
}

/* uuid, as 16 bytes */
static inline struct dsql_param dsql_uuid(const void *sixteen_bytes)
{
    return dsql_param_pointer(DSQL_PARAM_UUID, sixteen_bytes, 16);
}

/* timestamp with time zone, in microseconds since 1970 */
static inline struct dsql_param dsql_time_us(int64_t unix_us)
{
    return dsql_param_number(DSQL_PARAM_TIME, unix_us);
}

/* timestamp without time zone, in microseconds since 1970, UTC */
static inline struct dsql_param dsql_timestamp_us(int64_t unix_us)
{
    return dsql_param_number(DSQL_PARAM_TIMESTAMP, unix_us);
}

/* Bytes already in the binary form of the type that the statement declares. */
static inline struct dsql_param dsql_raw(const void *bytes, size_t len)
{
    return dsql_param_pointer(DSQL_PARAM_RAW, bytes, len);
}

/* The rows of an answer. They belong to the caller, who frees them; pointers into them live until
 * then. Rows and columns count from 0; outside of them everything is NULL. Several threads may read
 * them at once. */
struct dsql_rows;

/* Frees them. NULL is fine, here and below: it has no rows. */
DSQL_API void dsql_rows_free(struct dsql_rows *rows);

/* How many rows there are. */
DSQL_API size_t dsql_rows_count(const struct dsql_rows *rows);

/* How many columns each of them has. */
DSQL_API size_t dsql_rows_columns(const struct dsql_rows *rows);

/* The name of a column; NULL if there is none. Lives as long as the rows. */
DSQL_API const char *dsql_rows_name(const struct dsql_rows *rows, size_t column);

/* Whether the value is NULL, or there is none. */
DSQL_API bool dsql_rows_is_null(const struct dsql_rows *rows, size_t row, size_t column);

/* The value as it came, and a terminator behind it that *len (may be NULL) does not count. NULL for
 * SQL's NULL. For text, bytea and uuid this is the value. */
DSQL_API const void *dsql_rows_bytes(const struct dsql_rows *rows, size_t row, size_t column,
                                     size_t *len);

/* An integer of any width. False, and *out untouched, if the value is NULL or of another type, here
 * and below. */
DSQL_API bool dsql_rows_i64(const struct dsql_rows *rows, size_t row, size_t column, int64_t *out);

/* real or double precision */
DSQL_API bool dsql_rows_f64(const struct dsql_rows *rows, size_t row, size_t column, double *out);

/* boolean */
DSQL_API bool dsql_rows_bool(const struct dsql_rows *rows, size_t row, size_t column, bool *out);

/* A timestamp with or without time zone, in microseconds since 1970. */
DSQL_API bool dsql_rows_time_us(const struct dsql_rows *rows, size_t row, size_t column,
                                int64_t *unix_us);

#ifdef __cplusplus
}
#endif
#endif
