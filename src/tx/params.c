#include "tx/params.h"

#include <stdlib.h>
#include <string.h>

#include "pgwire/oid.h"

/* No message of the service's protocol is longer than 10 MiB; PostgreSQL's own limit is 1 GiB. */
enum { VALUE_MAX = 1 << 30 };

static const struct {
    uint32_t oid;
    int width; /* in binary form; 0 for what has a length of its own */
} kinds[] = {
    [DSQL_PARAM_NULL] = {DSQL_OID_UNKNOWN, 0},     [DSQL_PARAM_BOOL] = {DSQL_OID_BOOL, 1},
    [DSQL_PARAM_I16] = {DSQL_OID_INT2, 2},         [DSQL_PARAM_I32] = {DSQL_OID_INT4, 4},
    [DSQL_PARAM_I64] = {DSQL_OID_INT8, 8},         [DSQL_PARAM_F64] = {DSQL_OID_FLOAT8, 8},
    [DSQL_PARAM_TEXT] = {DSQL_OID_UNKNOWN, 0},     [DSQL_PARAM_TEXT_N] = {DSQL_OID_UNKNOWN, 0},
    [DSQL_PARAM_BYTES] = {DSQL_OID_BYTEA, 0},      [DSQL_PARAM_UUID] = {DSQL_OID_UUID, 0},
    [DSQL_PARAM_TIME] = {DSQL_OID_TIMESTAMPTZ, 8}, [DSQL_PARAM_TIMESTAMP] = {DSQL_OID_TIMESTAMP, 8},
    [DSQL_PARAM_RAW] = {DSQL_OID_UNKNOWN, 0},
};

static void put(unsigned char *out, int width, uint64_t value)
{
    for (int i = width - 1; i >= 0; i--, value >>= 8)
        out[i] = (unsigned char)value;
}

static uint64_t number_of(const struct dsql_param *param)
{
    if (param->kind == DSQL_PARAM_TIME || param->kind == DSQL_PARAM_TIMESTAMP)
        return (uint64_t)param->as.i64 - (uint64_t)DSQL_PG_EPOCH_US;
    uint64_t bits = (uint64_t)param->as.i64;
    if (param->kind == DSQL_PARAM_F64)
        memcpy(&bits, &param->as.f64, sizeof(bits));
    return bits;
}

/* One allocation for all arrays, the widest members first. */
static bool make_room(struct dsql_params *out, size_t count, unsigned char (**numbers)[8])
{
    if (count <= DSQL_PARAMS_INLINE) {
        out->values = out->own.values;
        out->types = out->own.types;
        out->lens = out->own.lens;
        out->formats = out->own.formats;
        *numbers = out->own.numbers;
        return true;
    }
    size_t each = sizeof(char *) + sizeof(**numbers) + sizeof(uint32_t) + 2 * sizeof(int);
    out->heap = malloc(count * each);
    if (!out->heap)
        return false;
    out->values = out->heap;
    *numbers = (void *)(out->values + count);
    out->types = (void *)(*numbers + count);
    out->lens = (void *)(out->types + count);
    out->formats = out->lens + count;
    return true;
}

/* Text and binary form of these are the same bytes, and the binary one needs no terminator. */
static bool is_text_type(uint32_t oid)
{
    return oid == DSQL_OID_TEXT || oid == DSQL_OID_VARCHAR || oid == DSQL_OID_BPCHAR;
}

static bool needs_copy(const struct dsql_param *param, const uint32_t *types, size_t i)
{
    return param->kind == DSQL_PARAM_TEXT_N && !(types && is_text_type(types[i]));
}

static enum dsql_rc check(const struct dsql_param *params, size_t count, struct dsql_err *err)
{
    if (count > DSQL_PARAMS_MAX)
        return dsql_err_set(err, DSQL_INVALID, "%zu parameters; a statement has at most %d", count,
                            DSQL_PARAMS_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct dsql_param *p = &params[i];
        if ((size_t)p->kind >= DSQL_COUNT_OF(kinds))
            return dsql_err_set(err, DSQL_INVALID, "parameter %zu is of no known kind", i + 1);
        if (p->kind == DSQL_PARAM_NULL || kinds[p->kind].width)
            continue;
        if (p->len < 0 || p->len > VALUE_MAX)
            return dsql_err_set(err, DSQL_INVALID, "parameter %zu is too long", i + 1);
        if (p->kind == DSQL_PARAM_TEXT_N && memchr(p->as.ptr, 0, (size_t)p->len))
            return dsql_err_set(err, DSQL_INVALID, "parameter %zu: a text with a zero byte", i + 1);
    }
    return DSQL_OK;
}

/* Terminated copies of the texts that have no terminator. */
static bool copy_texts(struct dsql_params *out, const uint32_t *types,
                       const struct dsql_param *params)
{
    size_t room = 0;
    for (int i = 0; i < out->count; i++)
        if (needs_copy(&params[i], types, (size_t)i))
            room += (size_t)params[i].len + 1;
    if (room == 0)
        return true;
    char *at = out->copies = malloc(room);
    if (!at)
        return false;
    for (int i = 0; i < out->count; i++) {
        if (!needs_copy(&params[i], types, (size_t)i))
            continue;
        size_t len = (size_t)params[i].len;
        memcpy(at, params[i].as.ptr, len);
        at[len] = '\0';
        out->values[i] = at;
        at += len + 1;
    }
    return true;
}

enum dsql_rc dsql_params_init(struct dsql_params *out, const uint32_t *types,
                              const struct dsql_param *params, size_t count, struct dsql_err *err)
{
    *out = (struct dsql_params){0};
    enum dsql_rc rc = check(params, count, err);
    if (rc)
        return rc;
    unsigned char(*numbers)[8];
    if (!make_room(out, count, &numbers))
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for %zu parameters", count);
    out->count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const struct dsql_param *p = &params[i];
        int width = kinds[p->kind].width;
        bool as_text =
            p->kind == DSQL_PARAM_TEXT || p->kind == DSQL_PARAM_NULL || needs_copy(p, types, i);
        out->types[i] = types ? types[i] : kinds[p->kind].oid;
        out->formats[i] = !as_text;
        out->lens[i] = width ? width : p->len;
        out->values[i] = p->kind == DSQL_PARAM_NULL ? NULL : p->as.ptr;
        if (width) {
            put(numbers[i], width, number_of(p));
            out->values[i] = (const char *)numbers[i];
        }
    }
    if (copy_texts(out, types, params))
        return DSQL_OK;
    dsql_params_fini(out);
    return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for the text of a parameter");
}

void dsql_params_fini(struct dsql_params *params)
{
    free(params->heap);
    free(params->copies);
    params->heap = NULL;
    params->copies = NULL;
}
