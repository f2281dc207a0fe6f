#include "temporal/pack.h"

#include <stdlib.h>

#include "temporal/call.h"

#define PACK_ENCODING "*"

enum { LEN_SIZE = 4, ENCODING_MAX = 255 };

size_t dsql_pack_size(const struct dsql_packed *task)
{
    return LEN_SIZE + task->value.len + 1 + task->encoding.len;
}

void dsql_pack_put(const struct dsql_packed *task, char *out)
{
    for (size_t i = 0; i < LEN_SIZE; i++)
        *out++ = (char)(task->value.len >> (24 - 8 * i) & 0xff);
    memcpy(out, task->value.ptr, task->value.len);
    out += task->value.len;
    *out++ = (char)task->encoding.len;
    memcpy(out, task->encoding.ptr, task->encoding.len);
}

bool dsql_pack_next(struct dsql_span *pack, struct dsql_packed *task)
{
    size_t len = 0;
    if (pack->len < LEN_SIZE + 1)
        return false;
    for (size_t i = 0; i < LEN_SIZE; i++)
        len = len << 8 | (unsigned char)pack->ptr[i];
    struct dsql_span rest = dsql_span_from(*pack, LEN_SIZE);
    if (len >= rest.len)
        return false;
    task->value = dsql_span_first(rest, len);
    rest = dsql_span_from(rest, len);
    len = (unsigned char)rest.ptr[0];
    rest = dsql_span_from(rest, 1);
    if (len > rest.len)
        return false;
    task->encoding = dsql_span_first(rest, len);
    *pack = dsql_span_from(rest, len);
    return true;
}

size_t dsql_pack_count(struct dsql_span pack)
{
    struct dsql_packed task;
    size_t count = 0;
    while (dsql_pack_next(&pack, &task))
        count++;
    return pack.len == 0 && count <= DSQL_PACK_MAX ? count : 0;
}

bool dsql_pack_is(struct dsql_span encoding)
{
    return dsql_span_eq(encoding, DSQL_SPAN(PACK_ENCODING));
}

/* -- The inputs of a call. Their last fields are id, value and encoding. */

enum { ID = 3, VALUE = 2, ENCODING = 1 }; /* from the end */

static struct dsql_param *field_of(const struct dsql_call *call, size_t input, size_t from_end)
{
    return &call->params[(input + 1) * call->op->field_count - from_end];
}

static struct dsql_span bytes_of(const struct dsql_param *param)
{
    return (struct dsql_span){param->as.ptr,
                              param->kind == DSQL_PARAM_RAW ? (size_t)param->len : 0};
}

static struct dsql_packed task_of(const struct dsql_call *call, size_t input)
{
    return (struct dsql_packed){bytes_of(field_of(call, input, VALUE)),
                                bytes_of(field_of(call, input, ENCODING))};
}

/* Whether an input goes on where the one before it ends. */
static bool follows(const struct dsql_call *call, size_t input)
{
    size_t fields = call->op->field_count;
    const struct dsql_param *one = &call->params[(input - 1) * fields], *next = one + fields;
    if (next[fields - ID].as.i64 != one[fields - ID].as.i64 + 1)
        return false;
    for (size_t i = 0; i < fields - ID; i++)
        if (one[i].kind == DSQL_PARAM_RAW || next[i].kind != one[i].kind ||
            next[i].as.i64 != one[i].as.i64)
            return false;
    return true;
}

/* How many inputs from this one on share a row, and the size of their pack. */
static size_t run_of(const struct dsql_call *call, size_t from, size_t *size)
{
    size_t end = from;
    for (*size = 0; end < call->count && end - from < DSQL_PACK_MAX; end++) {
        struct dsql_packed task = task_of(call, end);
        size_t more = dsql_pack_size(&task);
        if (task.encoding.len > ENCODING_MAX || *size + more > DSQL_PACK_BYTES ||
            (end > from && !follows(call, end)))
            break;
        *size += more;
    }
    return end > from ? end - from : 1;
}

enum dsql_rc dsql_call_pack(struct dsql_call *call)
{
    size_t fields = call->op->field_count, total = 1, rows = 0, size;
    for (size_t i = 0; i < call->count; i += run_of(call, i, &size)) {
        (void)run_of(call, i, &size);
        total += size;
    }
    call->packs = malloc(total);
    if (!call->packs)
        return dsql_err_set(call->err, DSQL_NO_MEMORY, "out of memory");
    char *at = call->packs;
    for (size_t i = 0, run; i < call->count; i += run, rows++) {
        run = run_of(call, i, &size);
        const char *pack = at;
        for (size_t task = i; run > 1 && task < i + run; task++) {
            struct dsql_packed one = task_of(call, task);
            dsql_pack_put(&one, at);
            at += dsql_pack_size(&one);
        }
        /* The row of the last one, which stands no earlier than where it goes. */
        memmove(&call->params[rows * fields], &call->params[(i + run - 1) * fields],
                fields * sizeof(*call->params));
        if (run > 1) {
            *field_of(call, rows, VALUE) = dsql_raw(pack, size);
            *field_of(call, rows, ENCODING) = dsql_raw(PACK_ENCODING, 1);
        }
    }
    call->spared = call->count - rows;
    call->count = rows;
    return DSQL_OK;
}
