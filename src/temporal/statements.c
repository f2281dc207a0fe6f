#include "temporal/statements.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/strbuf.h"

enum { EXTRA_MAX = 2, TEXT_MAX = 64 << 10, MEMORY_MAX = 4 << 20 };

static size_t statement_count(const struct dsql_op_info *op)
{
    size_t n = 0;
    while (n < DSQL_OP_STATEMENTS_MAX && op->statements[n])
        n++;
    return n;
}

/* The parameters that an operation's statement takes behind those of its fields. */
static size_t extra_types(const struct dsql_op_info *op, size_t statement, uint32_t *types)
{
    size_t n = 0;
    if (op->fence.mode == DSQL_FENCE_CHECK)
        for (; n < op->fence.tokens; n++)
            types[n] = dsql_op_oid(op->fields[op->fence.keys + n].type);
    bool in_portions =
        op->choice == DSQL_CHOICE_LIMITED || (op->choice == DSQL_CHOICE_PORTION && statement == 1);
    if (in_portions)
        types[n++] = dsql_op_oid(DSQL_OP_I8);
    /* The second step of a lock in two takes what the first has found, its first column. */
    bool is_second_step = op->kind != DSQL_KIND_EXEC && (op->flags & DSQL_OP_SPECIAL) &&
                          statement > 0 && statement + 1 == statement_count(op);
    if (is_second_step)
        types[n++] = dsql_op_oid(op->columns[0].type);
    return n;
}

static void add_numbered(struct dsql_strbuf *out, const char **text, size_t add)
{
    char *end;
    unsigned long number = strtoul(*text + 1, &end, 10);
    dsql_strbuf_addf(out, "$%zu", (size_t)number + add);
    *text = end;
}

void dsql_statements_expand(struct dsql_strbuf *out, const char *text, size_t fields, size_t inputs)
{
    while (*text) {
        if (*text != '{') {
            dsql_strbuf_add_char(out, *text++);
            continue;
        }
        const char *group = text + 1;
        for (size_t i = 0; i < inputs; i++) {
            if (i > 0)
                dsql_strbuf_add_str(out, ", ");
            for (text = group; *text != '}';) {
                if (*text == '$')
                    add_numbered(out, &text, i * fields);
                else
                    dsql_strbuf_add_char(out, *text++);
            }
        }
        text++;
    }
}

/* The fields that the text names outside the braces. */
static uint32_t shared_fields(const char *text)
{
    uint32_t shared = 0;
    bool repeated = false;
    for (; *text; text++) {
        repeated = *text == '{' || (repeated && *text != '}');
        if (*text == '$' && !repeated)
            shared |= UINT32_C(1) << (strtoul(text + 1, NULL, 10) - 1);
    }
    return shared;
}

/* A bump allocator over one piece of memory: first run counts, second run fills. */
struct room {
    char *memory;
    size_t used;
    bool cut; /* a text is not whole */
};

static void *take(struct room *room, const void *from, size_t size, size_t align)
{
    room->used = (room->used + align - 1) / align * align;
    void *at = room->memory ? room->memory + room->used : NULL;
    if (at)
        memcpy(at, from, size);
    room->used += size;
    return at;
}

static void fill_stmt(struct room *room, struct dsql_stmt *stmt, const char *name,
                      const struct dsql_strbuf *sql, const uint32_t *types, size_t type_count,
                      unsigned flags)
{
    room->cut = room->cut || sql->cut;
    stmt->flags = DSQL_STMT_PREPARE | flags;
    stmt->name = take(room, name, strlen(name) + 1, 1);
    stmt->sql = take(room, sql->ptr, sql->len + 1, 1);
    stmt->types = take(room, types, type_count * sizeof(*types), sizeof(*types));
}

static void fill_statement(struct room *room, struct dsql_statement *out,
                           const struct dsql_op_info *op, size_t which, struct dsql_strbuf *sql)
{
    uint32_t types[DSQL_OP_FIELDS_MAX * (1 << (DSQL_SIZES - 1)) + EXTRA_MAX];
    const char *text = op->statements[which];
    char name[64];
    size_t sizes = op->flags & DSQL_OP_MULTI ? DSQL_SIZES : 1;
    unsigned flags = op->kind == DSQL_KIND_EXEC ? 0 : DSQL_STMT_READ;
    if (op->flags & DSQL_OP_EXPECTS)
        flags = DSQL_STMT_READ | DSQL_STMT_RAISES;
    out->shared = op->flags & DSQL_OP_MULTI ? shared_fields(text) : 0;
    out->counts_inputs = strncmp(text, "INSERT", 6) == 0 && !strstr(text, "DO NOTHING");
    for (size_t size = 0; size < sizes; size++) {
        size_t inputs = (size_t)1 << size, n = 0;
        for (size_t i = 0; i < inputs; i++)
            for (size_t f = 0; f < op->field_count; f++)
                types[n++] = dsql_op_oid(op->fields[f].type);
        out->extra = extra_types(op, which, types + n);
        n += out->extra;
        (void)snprintf(name, sizeof(name), "%s_%zu_%zu", op->name, which, inputs);
        dsql_strbuf_clear(sql);
        dsql_statements_expand(sql, text, op->field_count, inputs);
        fill_stmt(room, &out->by_size[size], name, sql, types, n, flags);
        if (op->flags & DSQL_OP_GUARDED) {
            (void)snprintf(name, sizeof(name), "%s_%zu_guarded", op->name, which);
            dsql_strbuf_clear(sql);
            dsql_strbuf_addf(sql, DSQL_RAISING("%s"), text);
            fill_stmt(room, &out->guarded, name, sql, types, n, DSQL_STMT_RAISES);
        }
    }
}

static bool fill(struct dsql_statements *out, struct room *room)
{
    struct dsql_strbuf sql;
    dsql_strbuf_init_heap(&sql, TEXT_MAX);
    for (size_t id = 0; id < DSQL_OP_COUNT; id++) {
        const struct dsql_op_info *op = dsql_op_info((enum dsql_op)id);
        for (size_t i = 0; i < statement_count(op); i++)
            fill_statement(room, &out->of[id][i], op, i, &sql);
    }
    dsql_strbuf_fini(&sql);
    return !room->cut;
}

enum dsql_rc dsql_statements_init(struct dsql_statements *statements, struct dsql_err *err)
{
    struct room room = {0};
    *statements = (struct dsql_statements){.memory = NULL};
    if (fill(statements, &room)) {
        room = (struct room){.memory = malloc(room.used)};
        statements->memory = room.memory;
        if (room.memory && fill(statements, &room))
            return DSQL_OK;
    }
    free(statements->memory);
    statements->memory = NULL;
    return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
}

void dsql_statements_fini(struct dsql_statements *statements)
{
    free(statements->memory);
}
