/* From the caller's values to a statement's parameters, and from structs to values. */
#include <stdlib.h>

#include "base/rng.h"
#include "temporal/call.h"
#include "temporal/key.h"

static bool is_number(enum dsql_op_type type)
{
    return type == DSQL_COLUMN_I4 || type == DSQL_COLUMN_I8 || type == DSQL_COLUMN_BOOL ||
           type == DSQL_COLUMN_TIME;
}

static enum dsql_rc bad(const struct dsql_call *call, const struct dsql_op_field *field,
                        enum dsql_rc rc, const char *why)
{
    return dsql_err_set(call->err, rc, "%s: %s %s", call->op->name, field->name, why);
}

static bool is_null(const struct dsql_op_field *field, const struct dsql_param *value)
{
    return value->kind == DSQL_PARAM_NULL ||
           (field->nullable && !is_number(field->type) && !value->as.ptr);
}

static enum dsql_rc convert_number(struct dsql_call *call, const struct dsql_op_field *field,
                                   const struct dsql_param *value, struct dsql_param *out)
{
    /* PostgreSQL's years end in 294276; its own clock starts in 2000. */
    static const int64_t time_min = INT64_C(-210866803200000000),
                         time_max = INT64_C(9223371331200000000);
    static const enum dsql_param_kind kinds[] = {[DSQL_COLUMN_I4] = DSQL_PARAM_I32,
                                                 [DSQL_COLUMN_I8] = DSQL_PARAM_I64,
                                                 [DSQL_COLUMN_BOOL] = DSQL_PARAM_BOOL,
                                                 [DSQL_COLUMN_TIME] = DSQL_PARAM_TIMESTAMP};
    int64_t number = value->as.i64;
    if (field->type == DSQL_COLUMN_I4 && (number < INT32_MIN || number > INT32_MAX))
        return bad(call, field, DSQL_INVALID, "does not fit into 32 bits");
    if (field->type == DSQL_COLUMN_TIME && (number < time_min || number >= time_max))
        return bad(call, field, DSQL_INVALID, "is no time PostgreSQL knows");
    *out = dsql_param_number(kinds[field->type],
                             field->type == DSQL_COLUMN_BOOL ? number != 0 : number);
    return DSQL_OK;
}

/* Where the parameters of a value go. */
struct place {
    struct dsql_param *out, *full; /* full: the whole id, where the statement has room; else NULL */
    char **text;                   /* memory of encoded keys and short forms */
};

static enum dsql_rc shorten(struct dsql_call *call, struct dsql_span id, const struct place *place)
{
    size_t size = dsql_key_shorten(id, *place->text);
    if (size == 0)
        return dsql_err_set(call->err, DSQL_NO_MEMORY, "out of memory");
    *place->out = dsql_raw(*place->text, size);
    if (place->full)
        *place->full = dsql_raw(id.ptr, id.len);
    *place->text += size;
    return DSQL_OK;
}

static enum dsql_rc convert_bytes(struct dsql_call *call, const struct dsql_op_field *field,
                                  const struct dsql_param *value, const struct place *place)
{
    struct dsql_span bytes = {value->as.ptr ? value->as.ptr : "",
                              value->as.ptr && value->len > 0 ? (size_t)value->len : 0};
    if (value->len < 0)
        return bad(call, field, DSQL_INVALID, "is too long");
    if (field->type == DSQL_COLUMN_UUID && bytes.len != sizeof(struct dsql_id))
        return bad(call, field, DSQL_INVALID, "is not 16 bytes long");
    if (field->type == DSQL_COLUMN_KEY) {
        size_t size = dsql_key_size(bytes);
        dsql_key_encode(bytes, *place->text);
        bytes = (struct dsql_span){*place->text, size};
        *place->text += size;
    }
    if ((field->type == DSQL_COLUMN_ID && dsql_id_is_long(bytes)) ||
        (field->type == DSQL_COLUMN_KEY && dsql_key_is_long(bytes)))
        return shorten(call, bytes, place);
    *place->out = dsql_raw(bytes.ptr, bytes.len);
    return DSQL_OK;
}

static enum dsql_rc convert(struct dsql_call *call, const struct dsql_op_field *field,
                            const struct dsql_param *value, const struct place *place)
{
    if (place->full)
        *place->full = dsql_null();
    if (is_null(field, value)) {
        *place->out = dsql_null();
        return DSQL_OK;
    }
    return is_number(field->type) ? convert_number(call, field, value, place->out)
                                  : convert_bytes(call, field, value, place);
}

static size_t text_needed(const struct dsql_call *call, const struct dsql_param *values)
{
    size_t need = 0, given = call->op->given_count;
    for (size_t i = 0; i < call->count * given; i++) {
        enum dsql_op_type type = call->op->fields[i % given].type;
        if ((type != DSQL_COLUMN_KEY && type != DSQL_COLUMN_ID) ||
            values[i].kind == DSQL_PARAM_NULL || values[i].len <= 0 || !values[i].as.ptr)
            continue;
        size_t len = (size_t)values[i].len;
        if (type == DSQL_COLUMN_KEY)
            need += 2 * len + DSQL_SHORT_FORM_MAX;
        else if (dsql_id_is_long((struct dsql_span){values[i].as.ptr, len}))
            need += DSQL_SHORT_FORM_MAX;
    }
    return need;
}

/* -- Large values. */

static bool is_large(const struct dsql_call *call, const struct dsql_param *values, size_t at)
{
    return values[at].len > DSQL_LARGE_PART &&
           dsql_large_may_be(call->op->fields, call->op->field_count, at % call->op->field_count);
}

/* An encoding that looks like a mark would make a ticket or a pack of the value before it. */
static bool is_mark(const struct dsql_call *call, const struct dsql_param *params, size_t at)
{
    size_t field = at % call->op->field_count;
    if (params[at].kind != DSQL_PARAM_RAW || params[at].len == 0 || field == 0)
        return false;
    struct dsql_span encoding = {params[at].as.ptr, (size_t)params[at].len};
    return (dsql_large_is_marked(encoding) || dsql_pack_is(encoding)) &&
           dsql_large_may_be(call->op->fields, call->op->field_count, field - 1);
}

/* Puts tickets in the place of large values, and marks into their encodings. */
static enum dsql_rc stub_large(struct dsql_call *call, size_t count)
{
    size_t fields = call->op->field_count;
    call->larges = calloc(count, sizeof(*call->larges));
    if (!call->larges)
        return dsql_err_set(call->err, DSQL_NO_MEMORY, "out of memory");
    for (size_t i = 0; call->large_count < count; i++) {
        if (!is_large(call, call->params, i))
            continue;
        struct dsql_large *large = &call->larges[call->large_count++];
        const struct dsql_param *encoding = &call->params[i + 1];
        dsql_random_bytes(&large->id, sizeof(large->id));
        large->input = i / fields;
        large->value = (struct dsql_span){call->params[i].as.ptr, (size_t)call->params[i].len};
        struct dsql_span name = {encoding->as.ptr, (size_t)encoding->len};
        if (encoding->kind == DSQL_PARAM_NULL)
            name = (struct dsql_span){0};
        if (!dsql_large_describe(large, name))
            return bad(call, &call->op->fields[i % fields + 1], DSQL_INVALID, "is too long");
        call->params[i] = dsql_raw(large->ticket, sizeof(large->ticket));
        call->params[i + 1] = dsql_raw(large->mark, large->mark_len);
        i++;
    }
    return DSQL_OK;
}

enum dsql_rc dsql_call_convert(struct dsql_call *call, const struct dsql_param *values)
{
    size_t large = 0, given = call->op->given_count;
    size_t fields = call->op->field_count, n = call->count * fields;
    size_t text_size = text_needed(call, values);
    char *text = call->own_text;
    call->params = call->own_params;
    if (n > DSQL_CALL_PARAMS_INLINE || text_size > DSQL_CALL_TEXT_INLINE) {
        size_t params_size = (n + DSQL_CALL_EXTRA_MAX) * sizeof(struct dsql_param);
        call->heap = malloc(params_size + text_size);
        if (!call->heap)
            return dsql_err_set(call->err, DSQL_NO_MEMORY, "out of memory");
        call->params = call->heap;
        text = (char *)call->heap + params_size;
    }
    for (size_t i = 0; i < call->count * given; i++) {
        const struct dsql_op_field *field = &call->op->fields[i % given];
        size_t input = i / given * fields, at = input + i % given;
        struct place place = {.out = &call->params[at], .text = &text};
        if (field->full > 0)
            place.full = &call->params[input + field->full];
        enum dsql_rc rc = convert(call, field, &values[i], &place);
        if (!rc && is_mark(call, call->params, at))
            rc = bad(call, field, DSQL_INVALID, "begins with '+', or is '*'");
        if (rc)
            return rc;
        large += is_large(call, call->params, at);
    }
    enum dsql_rc rc = large > 0 ? stub_large(call, large) : DSQL_OK;
    if (!rc && call->op->flags & DSQL_FLAG_PACKS && call->count >= DSQL_PACK_MIN && large == 0)
        rc = dsql_call_pack(call);
    if (!rc && call->op->flags & DSQL_FLAG_GATHERS)
        rc = dsql_call_gather(call);
    return rc;
}

enum dsql_rc dsql_call_convert_tokens(struct dsql_call *call, const struct dsql_param *tokens)
{
    char none[1], *text = none;
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < call->op->fence.tokens && !rc; i++) {
        const struct dsql_op_field *field = &call->op->fields[call->op->fence.keys + i];
        struct place place = {.out = &call->params[call->op->field_count + i], .text = &text};
        assert(field->type != DSQL_COLUMN_KEY &&
               field->type != DSQL_COLUMN_ID); /* which would need room */
        rc = convert(call, field, &tokens[i], &place);
    }
    return rc;
}

void dsql_call_fini(struct dsql_call *call)
{
    free(call->heap);
    free(call->larges);
    free(call->packs);
}

/* One field of a struct as a value. */
static struct dsql_param value_of(const struct dsql_op_field *field, const char *at)
{
    struct dsql_slice slice;
    int64_t wide;
    int32_t narrow;
    bool truth;
    switch (field->type) {
    case DSQL_COLUMN_I4:
        memcpy(&narrow, at, sizeof(narrow));
        return dsql_i32(narrow);
    case DSQL_COLUMN_BOOL:
        memcpy(&truth, at, sizeof(truth));
        return dsql_bool(truth);
    case DSQL_COLUMN_I8:
    case DSQL_COLUMN_TIME:
        memcpy(&wide, at, sizeof(wide));
        return field->nullable && wide == DSQL_NULL_I64 ? dsql_null() : dsql_i64(wide);
    case DSQL_COLUMN_UUID:
        if (!field->nullable)
            return dsql_uuid(at);
        break;
    case DSQL_COLUMN_TEXT:
    case DSQL_COLUMN_BYTES:
    case DSQL_COLUMN_KEY:
    case DSQL_COLUMN_ID:
        break;
    }
    memcpy(&slice, at, sizeof(slice));
    struct dsql_param value = dsql_param_pointer(DSQL_PARAM_BYTES, slice.ptr, slice.len);
    value.kind = DSQL_PARAM_BYTES; /* no pointer means what the field says it means */
    return value;
}

enum dsql_rc dsql_store_call_typed(struct dsql_store *store, struct dsql_store_tx *tx,
                                   enum dsql_op op, const void *inputs, size_t count,
                                   struct dsql_result *result, struct dsql_err *err)
{
    struct dsql_param inline_values[DSQL_CALL_PARAMS_INLINE], *values = inline_values;
    const struct dsql_op_info *info = dsql_op_info(op);
    assert((unsigned)op < DSQL_OP_COUNT);
    if (count * info->given_count > DSQL_CALL_PARAMS_INLINE) {
        values = reallocarray(NULL, count * info->given_count, sizeof(*values));
        if (!values)
            return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    struct dsql_param *value = values;
    for (size_t i = 0; i < count; i++) {
        const char *input = (const char *)inputs + i * info->input_size;
        for (size_t f = 0; f < info->given_count; f++)
            *value++ = value_of(&info->fields[f], input + info->fields[f].offset);
    }
    enum dsql_rc rc = dsql_store_call(store, tx, op, values, count, NULL, result, err);
    if (values != inline_values)
        free(values);
    return rc;
}
