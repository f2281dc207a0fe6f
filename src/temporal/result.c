/* Rows as one piece of memory, and that memory as structs. */
#include <stdlib.h>

#include "base/flat.h"
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

static bool has_room(struct dsql_result *result, size_t more)
{
    return dsql_flat_reserve(&result->data, &result->cap, result->len + more);
}

/* Room is there. */
static void put(struct dsql_result *result, const void *bytes, size_t len)
{
    result->len += dsql_flat_put(result->data + result->len, bytes, len);
}

static bool read_number(enum dsql_op_type type, const struct dsql_rows *rows, size_t row,
                        size_t column, int64_t *number)
{
    bool truth;
    if (type == DSQL_COLUMN_TIME)
        return dsql_rows_time_us(rows, row, column, number);
    if (type != DSQL_COLUMN_BOOL)
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
    if (!has_room(result, dsql_flat_size(len > sizeof(number) ? len : sizeof(number))))
        return dsql_err_set(call->err, DSQL_NO_MEMORY, "out of memory");
    if (!bytes) {
        put(result, NULL, 0);
        return DSQL_OK;
    }
    bool ok = true;
    /* The encoding of a ticket. */
    if (type == DSQL_COLUMN_TEXT && column > 0 &&
        dsql_large_is_marked((struct dsql_span){bytes, len}) &&
        dsql_large_may_be(call->op->columns, call->op->column_count, column - 1))
        call->marked = true;
    if (type == DSQL_COLUMN_TEXT || type == DSQL_COLUMN_BYTES || type == DSQL_COLUMN_UUID) {
        put(result, bytes, len);
    } else if (type == DSQL_COLUMN_KEY) {
        size_t decoded = 0;
        char *at = (char *)result->data + result->len + dsql_flat_size(0);
        ok = dsql_key_decode((struct dsql_span){bytes, len}, at, &decoded);
        put(result, at, decoded);
    } else {
        ok = read_number(type, rows, row, column, &number);
        if (ok)
            put(result, &number, sizeof(number));
    }
    return ok ? DSQL_OK
              : dsql_err_set(call->err, DSQL_PROTOCOL, "%s: the column %s can't be read",
                             call->op->name, call->op->columns[column].name);
}

/* -- Packs. */

/* What a query that unpacks was asked for. */
struct wanted {
    int64_t min, max, rows;
};

static struct wanted wanted_of(const struct dsql_call *call)
{
    const struct dsql_param *end = call->params + call->op->field_count;
    return (struct wanted){end[-3].as.i64, end[-2].as.i64,
                           end[-1].kind == DSQL_PARAM_NULL ? INT64_MAX : end[-1].as.i64};
}

static enum dsql_rc add_packed(struct dsql_call *call, int64_t last, struct dsql_span pack,
                               const struct wanted *wanted)
{
    struct dsql_packed task;
    struct dsql_result *result = call->result;
    size_t count = dsql_pack_count(pack);
    if (count == 0)
        return dsql_err_set(call->err, DSQL_PROTOCOL, "%s: the pack at %lld can't be read",
                            call->op->name, (long long)last);
    for (int64_t id = last - (int64_t)count + 1; dsql_pack_next(&pack, &task); id++) {
        if (id < wanted->min || id >= wanted->max || (int64_t)result->rows >= wanted->rows)
            continue;
        if (!has_room(result, dsql_flat_size(sizeof(id)) + dsql_flat_size(task.value.len) +
                                  dsql_flat_size(task.encoding.len)))
            return dsql_err_set(call->err, DSQL_NO_MEMORY, "out of memory");
        put(result, &id, sizeof(id));
        put(result, task.value.ptr, task.value.len);
        put(result, task.encoding.ptr, task.encoding.len);
        result->rows++;
    }
    return DSQL_OK;
}

/* Rows of tasks: of packs what was asked for, and nothing beyond the end. */
static enum dsql_rc add_tasks(struct dsql_call *call, const struct dsql_rows *rows)
{
    enum { ID, VALUE, ENCODING };
    struct wanted wanted = wanted_of(call);
    enum dsql_rc rc = DSQL_OK;
    for (size_t row = 0; row < dsql_rows_count(rows) && !rc; row++) {
        size_t len = 0, value_len = 0;
        int64_t id = 0;
        const char *encoding = dsql_rows_bytes(rows, row, ENCODING, &len);
        const char *value = dsql_rows_bytes(rows, row, VALUE, &value_len);
        if (!dsql_rows_i64(rows, row, ID, &id) || !encoding || !value)
            return dsql_err_set(call->err, DSQL_PROTOCOL, "%s: a task can't be read",
                                call->op->name);
        if (dsql_pack_is((struct dsql_span){encoding, len})) {
            rc = add_packed(call, id, (struct dsql_span){value, value_len}, &wanted);
        } else if (id < wanted.max && (int64_t)call->result->rows < wanted.rows) {
            for (size_t column = ID; column <= ENCODING && !rc; column++)
                rc = add_value(call, rows, row, column);
            call->result->rows++;
        }
    }
    return rc;
}

enum dsql_rc dsql_result_add(struct dsql_call *call, const struct dsql_rows *rows)
{
    size_t n = dsql_rows_count(rows);
    if (n > 0 && dsql_rows_columns(rows) != call->op->column_count)
        return dsql_err_set(call->err, DSQL_PROTOCOL, "%s: %zu columns instead of %zu",
                            call->op->name, dsql_rows_columns(rows), call->op->column_count);
    if (call->op->flags & DSQL_FLAG_UNPACKS)
        return add_tasks(call, rows);
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
    struct dsql_slice old;
    size_t at = 0, size = dsql_flat_get(result->data, &old);
    for (; column > 0; column--) {
        at += size;
        size = dsql_flat_get(result->data + at, &old);
    }
    assert(old.len == sizeof(value));
    (void)dsql_flat_put(result->data + at, &value, sizeof(value));
}

/* One value into its place in a struct. */
static void read_value(const struct dsql_op_field *field, struct dsql_slice value, char *out)
{
    int64_t number = DSQL_NULL_I64;
    if (value.len == sizeof(number))
        memcpy(&number, value.ptr, sizeof(number));
    if (field->type == DSQL_COLUMN_I4) {
        int32_t narrow = (int32_t)number;
        memcpy(out, &narrow, sizeof(narrow));
    } else if (field->type == DSQL_COLUMN_BOOL) {
        bool truth = number != 0;
        memcpy(out, &truth, sizeof(truth));
    } else if (field->type == DSQL_COLUMN_I8 || field->type == DSQL_COLUMN_TIME) {
        memcpy(out, &number, sizeof(number));
    } else if (field->type == DSQL_COLUMN_UUID && !field->nullable) {
        memset(out, 0, sizeof(struct dsql_id));
        if (value.len == sizeof(struct dsql_id))
            memcpy(out, value.ptr, sizeof(struct dsql_id));
    } else {
        memcpy(out, &value, sizeof(value));
    }
}

bool dsql_result_next(struct dsql_result *result, enum dsql_op op, void *row)
{
    const struct dsql_op_info *info = dsql_op_info(op);
    if (result->row >= result->rows)
        return false;
    assert(result->columns == info->column_count);
    for (size_t column = 0; column < info->column_count; column++) {
        struct dsql_slice value;
        result->at += dsql_flat_get(result->data + result->at, &value);
        read_value(&info->columns[column], value, (char *)row + info->columns[column].offset);
    }
    result->row++;
    return true;
}
