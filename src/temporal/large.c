#include "temporal/large.h"

#include <stdlib.h>

#include "base/grow.h"
#include "pgwire/oid.h"
enum { MARK = '+', MARK_SOME = ':' }; /* "+" for no encoding, "+:Proto3" for Proto3 */

bool dsql_large_may_be(const struct dsql_op_field *fields, size_t count, size_t at)
{
    static const char suffix[] = "_encoding";
    if (at + 1 >= count || fields[at].type != DSQL_COLUMN_BYTES ||
        fields[at + 1].type != DSQL_COLUMN_TEXT)
        return false;
    size_t len = strlen(fields[at + 1].name);
    return len >= sizeof(suffix) &&
           strcmp(fields[at + 1].name + len - sizeof(suffix) + 1, suffix) == 0;
}

bool dsql_large_is_marked(struct dsql_span encoding)
{
    return encoding.len > 0 && encoding.ptr[0] == MARK;
}

bool dsql_large_describe(struct dsql_large *large, struct dsql_span encoding)
{
    uint64_t len = large->value.len;
    memcpy(large->ticket, large->id.bytes, sizeof(large->id.bytes));
    for (size_t i = 0; i < sizeof(len); i++)
        large->ticket[sizeof(large->id.bytes) + i] = (char)(len >> (56 - 8 * i) & 0xff);
    large->mark[0] = MARK;
    large->mark_len = 1;
    if (!encoding.ptr)
        return true;
    if (encoding.len + 2 > sizeof(large->mark))
        return false;
    large->mark[1] = MARK_SOME;
    memcpy(large->mark + 2, encoding.ptr, encoding.len);
    large->mark_len = encoding.len + 2;
    return true;
}

size_t dsql_large_parts(const struct dsql_large *large)
{
    return (large->value.len + DSQL_LARGE_PART - 1) / DSQL_LARGE_PART;
}

struct dsql_span dsql_large_part(const struct dsql_large *large, size_t number)
{
    struct dsql_span rest = dsql_span_from(large->value, number * DSQL_LARGE_PART);
    return dsql_span_first(rest, rest.len < DSQL_LARGE_PART ? rest.len : DSQL_LARGE_PART);
}

const struct dsql_stmt dsql_large_insert = {
    .name = "large_insert",
    .sql = "INSERT INTO large_values (id, part, data) VALUES ($1, $2, $3)",
    .types = (const uint32_t[]){DSQL_OID_UUID, DSQL_OID_INT4, DSQL_OID_BYTEA},
    .flags = DSQL_STMT_PREPARE,
};

const struct dsql_stmt dsql_large_delete = {
    .name = "large_delete",
    .sql = "DELETE FROM large_values WHERE id = $1",
    .types = (const uint32_t[]){DSQL_OID_UUID},
    .flags = DSQL_STMT_PREPARE,
};

void dsql_large_part_params(const struct dsql_large *large, size_t number,
                            struct dsql_param params[DSQL_LARGE_PART_PARAMS])
{
    struct dsql_span part = dsql_large_part(large, number);
    params[0] = dsql_raw(large->id.bytes, sizeof(large->id.bytes));
    params[1] = dsql_i32((int32_t)number);
    params[2] = dsql_raw(part.ptr, part.len);
}

/* -- Reading. */

void dsql_large_set_fini(struct dsql_large_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->refs[i].bytes);
    free(set->refs);
    *set = (struct dsql_large_set){0};
}

static enum dsql_rc no_memory(struct dsql_err *err)
{
    return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
}

/* A result's memory, value by value. */
struct cursor {
    const unsigned char *at;
    size_t column, columns;
};

/* The next value; ptr is NULL for NULL. */
static struct dsql_span next_value(struct cursor *cursor)
{
    int32_t len;
    memcpy(&len, cursor->at, sizeof(len));
    struct dsql_span value = {(const char *)cursor->at + sizeof(len), len > 0 ? (size_t)len : 0};
    cursor->at += sizeof(len) + value.len;
    cursor->column = (cursor->column + 1) % cursor->columns;
    if (len < 0)
        value.ptr = NULL;
    return value;
}

/* Whether the value that was read last is a ticket: a mark comes next. */
static bool is_ticket(const struct dsql_op_info *op, struct cursor cursor, struct dsql_span value)
{
    size_t column = (cursor.column + cursor.columns - 1) % cursor.columns;
    return value.ptr && dsql_large_may_be(op->columns, op->column_count, column) &&
           dsql_large_is_marked(next_value(&cursor));
}

static enum dsql_rc add_ref(struct dsql_large_set *set, struct dsql_span ticket,
                            struct dsql_err *err)
{
    uint64_t len = 0;
    if (ticket.len != DSQL_LARGE_STUB_SIZE)
        return dsql_err_set(err, DSQL_PROTOCOL, "the ticket of a large value has %zu bytes",
                            ticket.len);
    for (size_t i = sizeof(struct dsql_id); i < DSQL_LARGE_STUB_SIZE; i++)
        len = len << 8 | (unsigned char)ticket.ptr[i];
    if (len == 0 || len > INT32_MAX)
        return dsql_err_set(err, DSQL_PROTOCOL, "the ticket of a large value names %llu bytes",
                            (unsigned long long)len);
    if (!DSQL_GROW(set->refs, set->cap, set->count + 1))
        return no_memory(err);
    struct dsql_large_ref *ref = &set->refs[set->count];
    *ref = (struct dsql_large_ref){.len = len, .bytes = malloc(len)};
    memcpy(ref->id.bytes, ticket.ptr, sizeof(ref->id.bytes));
    if (!ref->bytes)
        return no_memory(err);
    set->count++;
    return DSQL_OK;
}

enum dsql_rc dsql_large_find(const struct dsql_op_info *op, const struct dsql_result *result,
                             struct dsql_large_set *set, struct dsql_err *err)
{
    struct cursor cursor = {result->data, 0, result->columns};
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < result->rows * result->columns && !rc; i++) {
        struct dsql_span value = next_value(&cursor);
        if (is_ticket(op, cursor, value))
            rc = add_ref(set, value, err);
    }
    return rc;
}

void dsql_large_take(struct dsql_large_set *set, const struct dsql_id *id, int64_t number,
                     struct dsql_span bytes)
{
    for (size_t i = 0; i < set->count; i++) {
        struct dsql_large_ref *ref = &set->refs[i];
        if (memcmp(&ref->id, id, sizeof(*id)) != 0 || ref->next != number ||
            bytes.len > ref->len - ref->have)
            continue;
        memcpy(ref->bytes + ref->have, bytes.ptr, bytes.len);
        ref->have += bytes.len;
        ref->next++;
    }
}

bool dsql_large_is_whole(const struct dsql_large_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->refs[i].have != set->refs[i].len)
            return false;
    return true;
}

static const struct dsql_large_ref *ref_of(const struct dsql_large_set *set,
                                           struct dsql_span ticket)
{
    for (size_t i = 0; i < set->count; i++)
        if (memcmp(&set->refs[i].id, ticket.ptr, sizeof(struct dsql_id)) == 0)
            return &set->refs[i];
    return NULL;
}

/* Room is there. */
static unsigned char *put(unsigned char *out, const void *bytes, size_t len, bool null)
{
    int32_t prefix = null ? -1 : (int32_t)len;
    memcpy(out, &prefix, sizeof(prefix));
    if (len > 0)
        memcpy(out + sizeof(prefix), bytes, len);
    return out + sizeof(prefix) + len;
}

enum dsql_rc dsql_large_join(const struct dsql_op_info *op, struct dsql_result *result,
                             const struct dsql_large_set *set, struct dsql_err *err)
{
    struct cursor cursor = {result->data, 0, result->columns};
    size_t room = result->len;
    for (size_t i = 0; i < set->count; i++)
        room += set->refs[i].len;
    unsigned char *joined = malloc(room), *out = joined;
    if (!joined)
        return no_memory(err);
    bool was_stub = false;
    for (size_t i = 0; i < result->rows * result->columns; i++) {
        struct dsql_span value = next_value(&cursor);
        bool ticket = is_ticket(op, cursor, value);
        const struct dsql_large_ref *ref = ticket ? ref_of(set, value) : NULL;
        if (ref)
            out = put(out, ref->bytes, ref->len, false);
        else if (was_stub) /* the mark: what stands behind it is the encoding */
            out = put(out, value.ptr + 2, value.len > 1 ? value.len - 2 : 0, value.len == 1);
        else
            out = put(out, value.ptr, value.len, !value.ptr);
        was_stub = ref != NULL;
    }
    free(result->data);
    result->data = joined;
    result->cap = room;
    result->len = (size_t)(out - joined);
    return DSQL_OK;
}
