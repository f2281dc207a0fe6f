#include "support/vis_expr.h"

static void put(struct vis_expr *e, uint64_t number, int width)
{
    for (int i = width - 1; i >= 0; i--)
        dsql_strbuf_add_char(&e->out, (char)(number >> 8 * i & 0xff));
}

void vis_begin(struct vis_expr *e)
{
    dsql_strbuf_init(&e->out, e->memory, sizeof(e->memory));
    put(e, DSQL_VIS_VERSION, 1);
}

void vis_and(struct vis_expr *e, unsigned children)
{
    put(e, 'A', 1);
    put(e, children, 2);
}

void vis_or(struct vis_expr *e, unsigned children)
{
    put(e, 'O', 1);
    put(e, children, 2);
}

void vis_not(struct vis_expr *e)
{
    put(e, 'N', 1);
}

void vis_compare(struct vis_expr *e, enum dsql_vis_op op, enum dsql_vis_type type, const char *name,
                 unsigned values)
{
    put(e, 'C', 1);
    put(e, op, 1);
    put(e, type, 1);
    put(e, strlen(name), 1);
    dsql_strbuf_add_str(&e->out, name);
    put(e, values, 2);
}

void vis_number(struct vis_expr *e, int64_t value)
{
    put(e, (uint64_t)value, 8);
}

void vis_real(struct vis_expr *e, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    put(e, bits, 8);
}

void vis_bool(struct vis_expr *e, bool value)
{
    put(e, value, 1);
}

void vis_time(struct vis_expr *e, int64_t seconds, uint32_t nanos)
{
    put(e, (uint64_t)seconds, 8);
    put(e, nanos, 4);
}

void vis_text(struct vis_expr *e, struct dsql_span text)
{
    put(e, text.len, 4);
    dsql_strbuf_add(&e->out, text);
}

void vis_is(struct vis_expr *e, const char *name, const char *text)
{
    vis_compare(e, DSQL_VIS_IN, DSQL_VIS_TYPE_KEYWORD, name, 1);
    vis_text(e, dsql_span_of(text));
}

void vis_status(struct vis_expr *e, int64_t status)
{
    vis_compare(e, DSQL_VIS_IN, DSQL_VIS_TYPE_INT, "ExecutionStatus", 1);
    vis_number(e, status);
}

void vis_no_division(struct vis_expr *e)
{
    vis_compare(e, DSQL_VIS_IS_NULL, DSQL_VIS_TYPE_KEYWORD, "TemporalNamespaceDivision", 0);
}

struct dsql_span vis_bytes(const struct vis_expr *e)
{
    assert(!e->out.cut);
    return dsql_strbuf_span(&e->out);
}
