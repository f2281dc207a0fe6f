/* Rows as one piece of memory, and that memory as structs. */
#include <stdlib.h>

#include "temporal/call.h"
#include "temporal/key.h"

void dsql_result_fini(struct dsql_result *result)
{
    free(result->data);
    *result = (struct dsql_result){0};
}

void dsql_result_clear(struct dsql_result *result, size_t columns)
{
    *result = (struct dsql_result){.columns = columns, .data = result->data, .cap = result->cap};
}

static enum dsql_rc make_room(struct dsql_result *result, size_t more)
{
    size_t need = result->len + more;
    if (need <= result->cap)
        return DSQL_OK;
    size_t cap = result->cap ? result->cap : 256;
    while (cap < need)
        cap *= 2;
    unsigned char *grown = realloc(result->data, cap);
    if (!grown)
        return DSQL_NO_MEMORY;
    result->data = grown;
    result->cap = cap;
    return DSQL_OK;
}

/* Room is there. A NULL has a length of -1 and no bytes. */
static void put(struct dsql_result *result, const void *bytes, int32_t len)
{
    memcpy(result->data + result->len, &len, sizeof(len));
    result->len += sizeof(len);
    if (len > 0)
        memcpy(result->data + result->len, bytes, (size_t)len);
    result->len += len > 0 ? (size_t)len : 0;
}

static bool read_number(enum dsql_op_type type, const struct dsql_rows *rows, size_t row,
                        size_t column, int64_t *number)
{
    bool truth;
    if (type == DSQL_OP_TIME)
        return dsql_rows_time_us(rows, row, column, number);
    if (type != DSQL_OP_BOOL)
        return dsql_rows_i64(rows, row, column, number);
    if (!dsql_rows_bool(rows, row, column, &truth))
        return false;
    *number = truth;
    return true;
}

static enum dsql_rc add_value(struct dsql_call *call, const struct dsql_rows *rows, size_t row,
                              size_t column)
{
    enum dsql_op_type type = call->op->columns[column].type;
    struct dsql_result *result = call->result;
    size_t len = 0;
    int64_t number;
    const void *bytes = dsql_rows_bytes(rows, row, column, &len);
    if (make_room(result, sizeof(int32_t) + (len > sizeof(number) ? len : sizeof(number))))
        return dsql_err_set(call->err, DSQL_NO_MEMORY, "out of memory");
    if (!bytes) {
        put(result, NULL, -1);
        return DSQL_OK;
    }
    bool ok = true;
    /* The encoding of a stub. */
    if (type == DSQL_OP_TEXT && column > 0 &&
        dsql_large_is_marked((struct dsql_span){bytes, len}) &&
        dsql_large_may_be(call->op->columns, call->op->column_count, column - 1))
        call->marked = true;
    if (type == DSQL_OP_TEXT || type == DSQL_OP_BYTES || type == DSQL_OP_UUID) {
        put(result, bytes, (int32_t)len);
    } else if (type == DSQL_OP_KEY) {
        size_t decoded = 0;
        char *at = (char *)result->data + result->len + sizeof(int32_t);
        ok = dsql_key_decode((struct dsql_span){bytes, len}, at, &decoded);
        int32_t short_len = (int32_t)decoded;
        memcpy(result->data + result->len, &short_len, sizeof(short_len));
        result->len += sizeof(short_len) + decoded;
    } else {
        ok = read_number(type, rows, row, column, &number);
        if (ok)
            put(result, &number, sizeof(number));
    }
    return ok ? DSQL_OK
              : dsql_err_set(call->err, DSQL_PROTOCOL, "%s: the column %s can't be read",
                             call->op->name, call->op->columns[column].name);
}

enum dsql_rc dsql_result_add(struct dsql_call *call, const struct dsql_rows *rows)
{
    size_t n = dsql_rows_count(rows);
    if (n > 0 && dsql_rows_columns(rows) != call->op->column_count)
        return dsql_err_set(call->err, DSQL_PROTOCOL, "%s: %zu columns instead of %zu",
                            call->op->name, dsql_rows_columns(rows), call->op->column_count);
    for (size_t row = 0; row < n; row++) {
        for (size_t column = 0; column < call->op->column_count; column++) {
            enum dsql_rc rc = add_value(call, rows, row, column);
            if (rc)
                return rc;
        }
        call->result->rows++;
    }
    return DSQL_OK;
}

void dsql_result_patch(struct dsql_result *result, size_t column, int64_t value)
{
    size_t at = 0;
    int32_t len;
    for (;; column--) {
        memcpy(&len, result->data + at, sizeof(len));
        at += sizeof(len);
        if (column == 0)
            break;
        at += len > 0 ? (size_t)len : 0;
    }
    assert(len == sizeof(value));
    memcpy(result->data + at, &value, sizeof(value));
}

/* One value into its place in a struct. */
static void read_value(const struct dsql_op_field *field, const unsigned char *bytes, int32_t len,
                       char *out)
{
    int64_t number = DSQL_NULL_I64;
    struct dsql_slice slice = {len >= 0 ? bytes : NULL, len > 0 ? (size_t)len : 0};
    if (len == sizeof(number))
        memcpy(&number, bytes, sizeof(number));
    if (field->type == DSQL_OP_I4) {
        int32_t narrow = (int32_t)number;
        memcpy(out, &narrow, sizeof(narrow));
    } else if (field->type == DSQL_OP_BOOL) {
        bool truth = number != 0;
        memcpy(out, &truth, sizeof(truth));
    } else if (field->type == DSQL_OP_I8 || field->type == DSQL_OP_TIME) {
        memcpy(out, &number, sizeof(number));
    } else if (field->type == DSQL_OP_UUID && !field->nullable) {
        memset(out, 0, sizeof(struct dsql_id));
        if (len == sizeof(struct dsql_id))
            memcpy(out, bytes, sizeof(struct dsql_id));
    } else {
        memcpy(out, &slice, sizeof(slice));
    }
}

bool dsql_result_next(struct dsql_result *result, enum dsql_op op, void *row)
{
    const struct dsql_op_info *info = dsql_op_info(op);
    if (result->row >= result->rows)
        return false;
    assert(result->columns == info->column_count);
    for (size_t column = 0; column < info->column_count; column++) {
        int32_t len;
        memcpy(&len, result->data + result->at, sizeof(len));
        result->at += sizeof(len);
        read_value(&info->columns[column], result->data + result->at, len,
                   (char *)row + info->columns[column].offset);
        result->at += len > 0 ? (size_t)len : 0;
    }
    result->row++;
    return true;
}
