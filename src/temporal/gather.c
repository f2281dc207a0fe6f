/* Many inputs of a call as one array, in the binary form that PostgreSQL takes. */
#include <stdlib.h>

#include "pgwire/oid.h"
#include "temporal/call.h"

enum { DIMENSIONS = 1, LOWER_BOUND = 1, HEAD = 5, NUMBER_SIZE = 8 };

/* An element of the array is of the type of the field. */
static uint32_t oid_of(enum dsql_op_type type)
{
    switch ((int)type) { /* those that the catalogue has arrays of */
    case DSQL_COLUMN_I8:
        return DSQL_OID_INT8;
    case DSQL_COLUMN_UUID:
        return DSQL_OID_UUID;
    default:
        return DSQL_OID_TEXT;
    }
}

static char *put_number(char *out, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *out++ = (char)(number >> (8 * (size - 1 - i)) & 0xff);
    return out;
}

static size_t size_of(const struct dsql_param *value)
{
    return value->kind == DSQL_PARAM_RAW ? (size_t)value->len : NUMBER_SIZE;
}

static char *put_element(char *out, const struct dsql_param *value)
{
    size_t size = size_of(value);
    out = put_number(out, size, sizeof(int32_t));
    if (value->kind != DSQL_PARAM_RAW)
        return put_number(out, (uint64_t)value->as.i64, NUMBER_SIZE);
    memcpy(out, value->as.ptr, size);
    return out + size;
}

/* Whether all inputs differ in their last field only. */
static bool are_of_one(const struct dsql_call *call)
{
    size_t fields = call->op->field_count;
    for (size_t i = fields; i < call->count * fields; i++)
        if (i % fields != fields - 1 &&
            !dsql_call_same(&call->params[i], &call->params[i % fields]))
            return false;
    return true;
}

enum dsql_rc dsql_call_gather(struct dsql_call *call)
{
    size_t fields = call->op->field_count, size = HEAD * sizeof(int32_t);
    const struct dsql_param *last = call->params + fields - 1;
    if (call->count == 0 || !are_of_one(call))
        return dsql_err_set(call->err, DSQL_INVALID, "%s takes the keys of one map, one at least",
                            call->op->name);
    for (size_t i = 0; i < call->count; i++)
        size += sizeof(int32_t) + size_of(&last[i * fields]);
    call->packs = malloc(size);
    if (!call->packs)
        return dsql_err_set(call->err, DSQL_NO_MEMORY, "out of memory");
    uint32_t head[HEAD] = {DIMENSIONS, 0 /* no NULL */, oid_of(call->op->fields[fields - 1].type),
                           (uint32_t)call->count, LOWER_BOUND};
    char *out = call->packs;
    for (size_t i = 0; i < HEAD; i++)
        out = put_number(out, head[i], sizeof(head[i]));
    for (size_t i = 0; i < call->count; i++)
        out = put_element(out, &last[i * fields]);
    call->params[fields - 1] = dsql_raw(call->packs, size);
    call->count = 1;
    return DSQL_OK;
}
