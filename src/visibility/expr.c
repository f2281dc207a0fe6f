#include "visibility/expr.h"

#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"

struct reader {
    struct dsql_span rest;
    struct dsql_vis_expr *expr;
    const char *wrong; /* NULL as long as everything is right */
};

static bool fail(struct reader *in, const char *wrong)
{
    if (!in->wrong)
        in->wrong = wrong;
    return false;
}

static bool take(struct reader *in, size_t len, struct dsql_span *out)
{
    if (len > in->rest.len)
        return fail(in, "it ends too early");
    *out = dsql_span_first(in->rest, len);
    in->rest = dsql_span_from(in->rest, len);
    return true;
}

static bool take_number(struct reader *in, size_t width, uint64_t *out)
{
    struct dsql_span bytes = {NULL, 0};
    if (!take(in, width, &bytes))
        return false;
    uint64_t number = 0;
    assert(bytes.ptr);
    for (size_t i = 0; i < width; i++)
        number = number << 8 | (unsigned char)bytes.ptr[i];
    *out = number;
    return true;
}

/* -- Comparisons. */

static bool has_texts(enum dsql_vis_type type)
{
    return type == DSQL_VIS_TYPE_KEYWORD || type == DSQL_VIS_TYPE_LIST ||
           type == DSQL_VIS_TYPE_TEXT;
}

static bool is_allowed(enum dsql_vis_op op, enum dsql_vis_type type)
{
    switch (op) {
    case DSQL_VIS_IN:
    case DSQL_VIS_NOT_IN:
    case DSQL_VIS_IS_NULL:
    case DSQL_VIS_NOT_NULL:
        return true;
    case DSQL_VIS_LESS:
    case DSQL_VIS_AT_MOST:
    case DSQL_VIS_MORE:
    case DSQL_VIS_AT_LEAST:
    case DSQL_VIS_BETWEEN:
    case DSQL_VIS_NOT_BETWEEN:
        return type != DSQL_VIS_TYPE_LIST && type != DSQL_VIS_TYPE_TEXT;
    case DSQL_VIS_STARTS:
    case DSQL_VIS_NOT_STARTS:
        return type == DSQL_VIS_TYPE_KEYWORD;
    }
    return false;
}

static bool is_count_right(enum dsql_vis_op op, size_t count)
{
    switch (op) {
    case DSQL_VIS_IN:
    case DSQL_VIS_NOT_IN:
        return count >= 1;
    case DSQL_VIS_BETWEEN:
    case DSQL_VIS_NOT_BETWEEN:
        return count == 2;
    case DSQL_VIS_IS_NULL:
    case DSQL_VIS_NOT_NULL:
        return count == 0;
    case DSQL_VIS_LESS:
    case DSQL_VIS_AT_MOST:
    case DSQL_VIS_MORE:
    case DSQL_VIS_AT_LEAST:
    case DSQL_VIS_STARTS:
    case DSQL_VIS_NOT_STARTS:
        break;
    }
    return count == 1;
}

bool dsql_vis_is_text(struct dsql_span s)
{
    while (s.len > 0) {
        size_t len = dsql_utf8_len(s);
        if (len == 0 || s.ptr[0] == '\0')
            return false;
        s = dsql_span_from(s, len);
    }
    return true;
}

static bool take_text(struct reader *in, struct dsql_span *out)
{
    uint64_t len;
    return take_number(in, 4, &len) && take(in, (size_t)len, out) &&
           (dsql_vis_is_text(*out) || fail(in, "a text is not UTF-8, or has a zero in it"));
}

/* Years 0 to 9999: what Temporal's parser takes, and what fits a text of fixed width. */
static bool take_time(struct reader *in, struct dsql_vis_value *value)
{
    const int64_t first = INT64_C(-62167219200), last = INT64_C(253402300799);
    uint64_t seconds, nanos;
    if (!take_number(in, 8, &seconds) || !take_number(in, 4, &nanos))
        return false;
    value->number = (int64_t)seconds;
    value->nanos = (int32_t)nanos;
    return (nanos < 1000000000 && value->number >= first && value->number <= last) ||
           fail(in, "a time is outside of the years 0 to 9999");
}

static bool take_value(struct reader *in, enum dsql_vis_type type, struct dsql_vis_value *value)
{
    uint64_t bits;
    *value = (struct dsql_vis_value){0};
    if (has_texts(type))
        return take_text(in, &value->text);
    if (type == DSQL_VIS_TYPE_TIME)
        return take_time(in, value);
    if (!take_number(in, type == DSQL_VIS_TYPE_BOOL ? 1 : 8, &bits))
        return false;
    if (type == DSQL_VIS_TYPE_BOOL && bits > 1)
        return fail(in, "a truth value is neither 0 nor 1");
    value->number = (int64_t)bits;
    if (type != DSQL_VIS_TYPE_DOUBLE)
        return true;
    memcpy(&value->real, &bits, sizeof(bits));
    return isfinite(value->real) || fail(in, "a value is no number");
}

static bool take_compare(struct reader *in, struct dsql_vis_node *node)
{
    uint64_t op, type, len, count;
    if (!take_number(in, 1, &op) || !take_number(in, 1, &type) || !take_number(in, 1, &len) ||
        !take(in, (size_t)len, &node->name) || !take_number(in, 2, &count))
        return false;
    node->op = (enum dsql_vis_op)op;
    node->type = (enum dsql_vis_type)type;
    node->count = (size_t)count;
    if (type < DSQL_VIS_TYPE_TEXT || type > DSQL_VIS_TYPE_LIST || !is_allowed(node->op, node->type))
        return fail(in, "there is no such comparison");
    if (len == 0 || !dsql_vis_is_text(node->name))
        return fail(in, "an attribute has no name");
    if (!is_count_right(node->op, node->count))
        return fail(in, "a comparison has another number of values");
    if (node->count > DSQL_VIS_VALUES_MAX - in->expr->value_count)
        return fail(in, "it has too many values");
    node->values = in->expr->values + in->expr->value_count;
    for (size_t i = 0; i < node->count; i++)
        if (!take_value(in, node->type, &in->expr->values[in->expr->value_count++]))
            return false;
    return true;
}

/* -- Trees. */

static bool take_node(struct reader *in, unsigned depth);

static bool take_children(struct reader *in, uint64_t count, unsigned depth)
{
    for (uint64_t i = 0; i < count; i++)
        if (!take_node(in, depth + 1))
            return false;
    return true;
}

/* Recursion ends at DSQL_VIS_DEPTH_MAX. */
static bool take_node(struct reader *in, unsigned depth)
{
    uint64_t kind, count = 1;
    bool ok;
    if (depth >= DSQL_VIS_DEPTH_MAX)
        return fail(in, "it is nested too deep");
    if (in->expr->node_count == DSQL_VIS_NODES_MAX)
        return fail(in, "it has too many conditions");
    struct dsql_vis_node *node = &in->expr->nodes[in->expr->node_count++];
    *node = (struct dsql_vis_node){0};
    if (!take_number(in, 1, &kind))
        return false;
    switch (kind) {
    case 'A':
    case 'O':
        node->kind = kind == 'A' ? DSQL_VIS_AND : DSQL_VIS_OR;
        ok = take_number(in, 2, &count) &&
             (kind == 'A' || count > 0 || fail(in, "an OR of nothing")) &&
             take_children(in, count, depth);
        break;
    case 'N':
        node->kind = DSQL_VIS_NOT;
        ok = take_children(in, 1, depth);
        break;
    case 'C':
        node->kind = DSQL_VIS_COMPARE;
        ok = take_compare(in, node);
        break;
    default:
        return fail(in, "there is no such condition");
    }
    node->end = in->expr->node_count;
    return ok;
}

enum dsql_rc dsql_vis_decode(struct dsql_span bytes, struct dsql_vis_expr *expr,
                             struct dsql_err *err)
{
    struct dsql_vis_expr made = {0};
    struct reader in = {.rest = bytes, .expr = &made};
    uint64_t version;
    if (bytes.len > DSQL_VIS_BYTES_MAX)
        return dsql_err_set(err, DSQL_INVALID, "the query has %zu bytes; %d are the most it may",
                            bytes.len, DSQL_VIS_BYTES_MAX);
    /* No node and no value is shorter than a byte. */
    size_t nodes = bytes.len < DSQL_VIS_NODES_MAX ? bytes.len : DSQL_VIS_NODES_MAX;
    size_t values = bytes.len < DSQL_VIS_VALUES_MAX ? bytes.len : DSQL_VIS_VALUES_MAX;
    made.nodes = calloc(nodes + 1, sizeof(*made.nodes));
    made.values = calloc(values + 1, sizeof(*made.values));
    if (!made.nodes || !made.values) {
        dsql_vis_expr_fini(&made);
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    bool ok = take_number(&in, 1, &version) &&
              (version == DSQL_VIS_VERSION || fail(&in, "it is of another version")) &&
              take_node(&in, 0) && (in.rest.len == 0 || fail(&in, "there is something behind it"));
    if (!ok) {
        dsql_vis_expr_fini(&made);
        return dsql_err_set(err, DSQL_INVALID, "the query can't be read: %s", in.wrong);
    }
    *expr = made;
    return DSQL_OK;
}

void dsql_vis_expr_fini(struct dsql_vis_expr *expr)
{
    free(expr->nodes);
    free(expr->values);
    *expr = (struct dsql_vis_expr){0};
}
