/* The condition of a query as SQL over a row. SQL's own logic of three values does the rest. */
#include "base/shown.h"
#include "visibility/sql.h"

struct writer {
    struct dsql_vis_sql *sql;
    struct dsql_strbuf *text;
    const struct dsql_vis_expr *expr;
    const char *alias; /* of what the columns are of */
};

/* What a comparison is made with. */
struct operand {
    const struct dsql_vis_attribute *column; /* NULL: it stands in search_attributes */
    size_t name;                             /* the number of the parameter that names it there */
};

static void add(const struct writer *out, const char *text)
{
    dsql_strbuf_add_str(out->text, text);
}

/* Microseconds in a column, but a text of fixed width in search_attributes. */
static size_t value_param(const struct writer *out, const struct dsql_vis_node *node,
                          const struct operand *operand, const struct dsql_vis_value *value)
{
    const struct dsql_vis_attribute *column = operand->column;
    switch (node->type) {
    case DSQL_VIS_TYPE_BOOL:
        return dsql_vis_param(out->sql, DSQL_OID_BOOL, dsql_bool(value->number != 0));
    case DSQL_VIS_TYPE_INT:
        if (column && column->oid == DSQL_OID_INT2)
            return dsql_vis_param(out->sql, column->oid, dsql_i16((int16_t)value->number));
        return dsql_vis_param(out->sql, DSQL_OID_INT8, dsql_i64(value->number));
    case DSQL_VIS_TYPE_DOUBLE:
        return dsql_vis_param(out->sql, DSQL_OID_FLOAT8, dsql_f64(value->real));
    case DSQL_VIS_TYPE_TIME:
        if (column)
            return dsql_vis_param(out->sql, column->oid, dsql_i64(dsql_vis_micros(value)));
        return dsql_vis_text_param(out->sql, dsql_vis_posted(out->sql, node->type, value));
    case DSQL_VIS_TYPE_KEYWORD:
    case DSQL_VIS_TYPE_LIST:
    case DSQL_VIS_TYPE_TEXT:
        break;
    }
    return dsql_vis_text_param(out->sql, value->text);
}

static void add_value(const struct writer *out, const struct dsql_vis_node *node,
                      const struct operand *operand, size_t at)
{
    dsql_vis_ref(out->text, value_param(out, node, operand, &node->values[at]));
}

static void add_operand(const struct writer *out, const struct dsql_vis_node *node,
                        const struct operand *operand)
{
    static const char *const casts[] = {[DSQL_VIS_TYPE_INT] = "::bigint",
                                        [DSQL_VIS_TYPE_DOUBLE] = "::float8",
                                        [DSQL_VIS_TYPE_BOOL] = "::boolean",
                                        [DSQL_VIS_TYPE_LIST] = NULL}; /* the others are texts */
    if (operand->column) {
        dsql_vis_add_column(out->text, operand->column, out->alias);
        return;
    }
    dsql_strbuf_addf(out->text, "(%s.search_attributes %s ", out->alias,
                     node->type == DSQL_VIS_TYPE_LIST ? "->" : "->>");
    dsql_vis_ref(out->text, operand->name);
    add(out, ")");
    if (casts[node->type])
        add(out, casts[node->type]);
}

/* Of a list, or of a text: whether a member, a token, is one of the values. */
static void add_members(const struct writer *out, const struct dsql_vis_node *node,
                        const struct operand *operand)
{
    add(out, node->op == DSQL_VIS_NOT_IN ? "NOT (" : "(");
    for (size_t i = 0; i < node->count; i++) {
        add(out, i ? " OR " : "");
        if (node->type == DSQL_VIS_TYPE_LIST) {
            add_operand(out, node, operand);
            add(out, " @> jsonb_build_array(");
            add_value(out, node, operand, i);
            add(out, ")");
        } else {
            add_value(out, node, operand, i);
            add(out, " = ANY (string_to_array(translate(");
            add_operand(out, node, operand);
            add(out, ", E'\\t\\n\\013\\f\\r', '     '), ' '))");
        }
    }
    add(out, ")");
}

static void add_in(const struct writer *out, const struct dsql_vis_node *node,
                   const struct operand *operand)
{
    bool negated = node->op == DSQL_VIS_NOT_IN;
    if (node->type == DSQL_VIS_TYPE_LIST || node->type == DSQL_VIS_TYPE_TEXT) {
        add_members(out, node, operand);
        return;
    }
    add_operand(out, node, operand);
    if (node->count == 1) {
        add(out, negated ? " <> " : " = ");
        add_value(out, node, operand, 0);
        return;
    }
    add(out, negated ? " NOT IN (" : " IN (");
    for (size_t i = 0; i < node->count; i++) {
        add(out, i ? ", " : "");
        add_value(out, node, operand, i);
    }
    add(out, ")");
}

static void add_binary(const struct writer *out, const struct dsql_vis_node *node,
                       const struct operand *operand, const char *op)
{
    add_operand(out, node, operand);
    add(out, op);
    add_value(out, node, operand, 0);
}

static void add_between(const struct writer *out, const struct dsql_vis_node *node,
                        const struct operand *operand)
{
    add_binary(out, node, operand, node->op == DSQL_VIS_BETWEEN ? " BETWEEN " : " NOT BETWEEN ");
    add(out, " AND ");
    add_value(out, node, operand, 1);
}

static void add_starts(const struct writer *out, const struct dsql_vis_node *node,
                       const struct operand *operand)
{
    add(out, node->op == DSQL_VIS_STARTS ? "starts_with(" : "NOT starts_with(");
    add_binary(out, node, operand, ", ");
    add(out, ")");
}

static void add_compare(const struct writer *out, const struct dsql_vis_node *node)
{
    struct operand operand = {.column = dsql_vis_attribute(node->name)};
    if (!operand.column)
        operand.name = dsql_vis_text_param(out->sql, node->name);
    switch (node->op) {
    case DSQL_VIS_IN:
    case DSQL_VIS_NOT_IN:
        add_in(out, node, &operand);
        break;
    case DSQL_VIS_LESS:
        add_binary(out, node, &operand, " < ");
        break;
    case DSQL_VIS_AT_MOST:
        add_binary(out, node, &operand, " <= ");
        break;
    case DSQL_VIS_MORE:
        add_binary(out, node, &operand, " > ");
        break;
    case DSQL_VIS_AT_LEAST:
        add_binary(out, node, &operand, " >= ");
        break;
    case DSQL_VIS_BETWEEN:
    case DSQL_VIS_NOT_BETWEEN:
        add_between(out, node, &operand);
        break;
    case DSQL_VIS_IS_NULL:
        add_operand(out, node, &operand);
        add(out, " IS NULL");
        break;
    case DSQL_VIS_NOT_NULL:
        add_operand(out, node, &operand);
        add(out, " IS NOT NULL");
        break;
    case DSQL_VIS_STARTS:
    case DSQL_VIS_NOT_STARTS:
        add_starts(out, node, &operand);
        break;
    }
}

/* As deep as the expression, which is not deeper than DSQL_VIS_DEPTH_MAX. */
static void add_node(const struct writer *out, size_t at)
{
    const struct dsql_vis_node *node = &out->expr->nodes[at];
    size_t child = dsql_vis_first(out->expr, at);
    add(out, node->kind == DSQL_VIS_NOT ? "(NOT " : "(");
    if (node->kind == DSQL_VIS_COMPARE)
        add_compare(out, node);
    else if (!child)
        add(out, "true");
    for (size_t n = 0; child; n++, child = dsql_vis_next(out->expr, at, child)) {
        add(out, n == 0 ? "" : node->kind == DSQL_VIS_AND ? " AND " : " OR ");
        add_node(out, child);
    }
    add(out, ")");
}

void dsql_vis_filter(struct dsql_vis_sql *sql, struct dsql_strbuf *text,
                     const struct dsql_vis_expr *expr, size_t node, const char *alias)
{
    const struct writer out = {sql, text, expr, alias};
    add_node(&out, node);
}

bool dsql_vis_is_narrow(const struct dsql_vis_expr *expr, size_t node)
{
    for (size_t i = node; i < expr->nodes[node].end; i++) {
        if (expr->nodes[i].kind != DSQL_VIS_COMPARE)
            continue;
        const struct dsql_vis_attribute *column = dsql_vis_attribute(expr->nodes[i].name);
        if (!column || !column->narrow)
            return false;
    }
    return true;
}

static bool fits(const struct dsql_vis_attribute *column, const struct dsql_vis_node *node)
{
    if (column->type != node->type)
        return false;
    for (size_t i = 0; i < node->count; i++)
        if (column->oid == DSQL_OID_INT2 &&
            (node->values[i].number < INT16_MIN || node->values[i].number > INT16_MAX))
            return false;
    return true;
}

enum dsql_rc dsql_vis_check(const struct dsql_vis_expr *expr, struct dsql_err *err)
{
    for (size_t i = 0; i < expr->node_count; i++) {
        const struct dsql_vis_node *node = &expr->nodes[i];
        if (node->kind != DSQL_VIS_COMPARE)
            continue;
        const struct dsql_vis_attribute *column = dsql_vis_attribute(node->name);
        if (column && !fits(column, node))
            return dsql_err_set(err, DSQL_INVALID,
                                "the query compares %s with a value of another type",
                                dsql_shown(node->name).text);
    }
    return DSQL_OK;
}
