#include "temporal/ops.h"

#include <pthread.h>

/* A list of fields must pass through macros whole, so it is a text without commas, read once. */
#define DSQL_F(type, name) #type " " #name ";"
#define DSQL_FENCE(mode, what, keys, tokens)                                                       \
    {                                                                                              \
        DSQL_FENCE_##mode, DSQL_FENCED_##what, keys, tokens                                        \
    }
#define DSQL_EXEC(op_name, op_flags, op_fence, op_choice, op_fields, ...)                          \
    [DSQL_OP_##op_name] = {.name = #op_name,                                                       \
                           .kind = DSQL_KIND_EXEC,                                                 \
                           .flags = op_flags,                                                      \
                           .fence = op_fence,                                                      \
                           .choice = DSQL_CHOICE_##op_choice,                                      \
                           .fields_text = op_fields,                                               \
                           .columns_text = "",                                                     \
                           .statements = {__VA_ARGS__},                                            \
                           .input_size = sizeof(struct dsql_##op_name)},
#define DSQL_QUERY(op_name, op_kind, op_flags, op_fence, op_choice, op_fields, op_columns, ...)    \
    [DSQL_OP_##op_name] = {.name = #op_name,                                                       \
                           .kind = DSQL_KIND_##op_kind,                                            \
                           .flags = op_flags,                                                      \
                           .fence = op_fence,                                                      \
                           .choice = DSQL_CHOICE_##op_choice,                                      \
                           .fields_text = op_fields,                                               \
                           .columns_text = op_columns,                                             \
                           .statements = {__VA_ARGS__},                                            \
                           .input_size = sizeof(struct dsql_##op_name),                            \
                           .row_size = sizeof(struct dsql_##op_name##_row)},
static struct dsql_op_info ops[DSQL_OP_COUNT] = {
#include "dsql/temporal_ops.def"
};

enum { LISTS_MAX = 2 * DSQL_OP_COUNT * 8 };
static struct dsql_op_field fields[LISTS_MAX];
static size_t fields_used;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;

static void read_type(struct dsql_span type, struct dsql_op_field *field)
{
    static const char *const names[DSQL_OP_TYPES] = {
        [DSQL_OP_I4] = "I4",     [DSQL_OP_I8] = "I8",     [DSQL_OP_BOOL] = "BOOL",
        [DSQL_OP_TIME] = "TIME", [DSQL_OP_TEXT] = "TEXT", [DSQL_OP_BYTES] = "BYTES",
        [DSQL_OP_KEY] = "KEY",   [DSQL_OP_UUID] = "UUID",
    };
    field->nullable = type.ptr[type.len - 1] == 'N';
    if (field->nullable)
        type.len--;
    unsigned i = 0;
    while (i < DSQL_OP_TYPES && !dsql_span_eq(type, dsql_span_of(names[i])))
        i++;
    assert(i < DSQL_OP_TYPES);
    field->type = (enum dsql_op_type)i;
}

static const struct dsql_op_field *read_list(const char *text, size_t *count)
{
    struct dsql_span rest = dsql_span_of(text), item, type;
    const struct dsql_op_field *first = &fields[fields_used];
    for (*count = 0; rest.len > 0; ++*count) {
        assert(fields_used < LISTS_MAX && *count < DSQL_OP_FIELDS_MAX);
        struct dsql_op_field *field = &fields[fields_used++];
        dsql_span_cut(rest, ';', &item, &rest);
        dsql_span_cut(item, ' ', &type, &field->name);
        read_type(type, field);
    }
    return first;
}

static void read_lists(void)
{
    for (size_t i = 0; i < DSQL_OP_COUNT; i++) {
        ops[i].fields = read_list(ops[i].fields_text, &ops[i].field_count);
        ops[i].columns = read_list(ops[i].columns_text, &ops[i].column_count);
    }
}

const struct dsql_op_info *dsql_op_info(enum dsql_op op)
{
    assert((unsigned)op < DSQL_OP_COUNT);
    (void)pthread_once(&read_once, read_lists);
    return &ops[op];
}

const char *dsql_op_name(enum dsql_op op)
{
    return (unsigned)op < DSQL_OP_COUNT ? ops[op].name : "?";
}

enum dsql_op dsql_op_find(const char *name)
{
    unsigned op = 0;
    while (op < DSQL_OP_COUNT && strcmp(ops[op].name, name) != 0)
        op++;
    return (enum dsql_op)op;
}

size_t dsql_op_fields(enum dsql_op op)
{
    return (unsigned)op < DSQL_OP_COUNT ? dsql_op_info(op)->field_count : 0;
}

size_t dsql_op_columns(enum dsql_op op)
{
    return (unsigned)op < DSQL_OP_COUNT ? dsql_op_info(op)->column_count : 0;
}

uint32_t dsql_op_oid(enum dsql_op_type type)
{
    static const uint32_t oids[DSQL_OP_TYPES] = {
        [DSQL_OP_I4] = 23,   [DSQL_OP_I8] = 20,    [DSQL_OP_BOOL] = 16, [DSQL_OP_TIME] = 1114,
        [DSQL_OP_TEXT] = 25, [DSQL_OP_BYTES] = 17, [DSQL_OP_KEY] = 25,  [DSQL_OP_UUID] = 2950,
    };
    return oids[type];
}

size_t dsql_op_place(const struct dsql_op_field *field, size_t *end)
{
    size_t size = sizeof(struct dsql_slice), align = _Alignof(struct dsql_slice);
    if (field->type == DSQL_OP_I4) {
        size = align = sizeof(int32_t);
    } else if (field->type == DSQL_OP_BOOL) {
        size = align = sizeof(bool);
    } else if (field->type == DSQL_OP_I8 || field->type == DSQL_OP_TIME) {
        size = align = sizeof(int64_t);
    } else if (field->type == DSQL_OP_UUID && !field->nullable) {
        size = sizeof(struct dsql_id);
        align = _Alignof(struct dsql_id);
    }
    size_t place = (*end + align - 1) / align * align;
    *end = place + size;
    return place;
}
