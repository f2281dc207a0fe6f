#include "visibility/eval.h"

/* In this order: AND is the least of its operands, OR the greatest. */
enum truth { NO, UNKNOWN, YES };

bool dsql_vis_is_counted(const struct dsql_vis_expr *expr, bool *keyword)
{
    *keyword = false;
    for (size_t i = 0; i < expr->node_count; i++) {
        const struct dsql_vis_node *node = &expr->nodes[i];
        if (node->kind != DSQL_VIS_COMPARE || dsql_vis_is(node, "ExecutionStatus") ||
            dsql_vis_is(node, DSQL_VISIBILITY_DIVISION))
            continue;
        if (!dsql_vis_is(node, DSQL_VISIBILITY_COUNT_KEYWORD) ||
            node->type != DSQL_VIS_TYPE_KEYWORD)
            return false;
        *keyword = true;
    }
    return true;
}

static int order_text(struct dsql_span a, struct dsql_span b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common > 0 ? memcmp(a.ptr, b.ptr, common) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

struct subject {
    struct dsql_span text;
    int64_t number;
    bool is_null;
};

static int order(const struct dsql_vis_node *node, const struct subject *subject, size_t i)
{
    const struct dsql_vis_value *value = &node->values[i];
    if (node->type == DSQL_VIS_TYPE_KEYWORD)
        return order_text(subject->text, value->text);
    return (subject->number > value->number) - (subject->number < value->number);
}

static bool is_in(const struct dsql_vis_node *node, const struct subject *subject)
{
    for (size_t i = 0; i < node->count; i++)
        if (order(node, subject, i) == 0)
            return true;
    return false;
}

static bool is_between(const struct dsql_vis_node *node, const struct subject *subject)
{
    return order(node, subject, 0) >= 0 && order(node, subject, 1) <= 0;
}

static bool holds(const struct dsql_vis_node *node, const struct subject *subject)
{
    switch (node->op) {
    case DSQL_VIS_IN:
        return is_in(node, subject);
    case DSQL_VIS_NOT_IN:
        return !is_in(node, subject);
    case DSQL_VIS_LESS:
        return order(node, subject, 0) < 0;
    case DSQL_VIS_AT_MOST:
        return order(node, subject, 0) <= 0;
    case DSQL_VIS_MORE:
        return order(node, subject, 0) > 0;
    case DSQL_VIS_AT_LEAST:
        return order(node, subject, 0) >= 0;
    case DSQL_VIS_BETWEEN:
        return is_between(node, subject);
    case DSQL_VIS_NOT_BETWEEN:
        return !is_between(node, subject);
    case DSQL_VIS_STARTS:
        return dsql_span_starts(subject->text, node->values[0].text);
    case DSQL_VIS_NOT_STARTS:
        return !dsql_span_starts(subject->text, node->values[0].text);
    case DSQL_VIS_IS_NULL:
        return subject->is_null;
    case DSQL_VIS_NOT_NULL:
        return !subject->is_null;
    }
    return false;
}

static enum truth compare(const struct dsql_vis_node *node, const struct dsql_vis_counted *runs)
{
    struct subject subject = {.number = runs->status};
    if (dsql_vis_is(node, DSQL_VISIBILITY_DIVISION))
        subject.text = runs->division;
    else if (dsql_vis_is(node, DSQL_VISIBILITY_COUNT_KEYWORD))
        subject.text = runs->keyword;
    subject.is_null = !dsql_vis_is(node, "ExecutionStatus") && subject.text.len == 0;
    bool asks_null = node->op == DSQL_VIS_IS_NULL || node->op == DSQL_VIS_NOT_NULL;
    if (subject.is_null && !asks_null)
        return UNKNOWN;
    return holds(node, &subject) ? YES : NO;
}

/* As deep as the expression. */
static enum truth eval(const struct dsql_vis_expr *expr, size_t at,
                       const struct dsql_vis_counted *runs)
{
    const struct dsql_vis_node *node = &expr->nodes[at];
    if (node->kind == DSQL_VIS_COMPARE)
        return compare(node, runs);
    if (node->kind == DSQL_VIS_NOT)
        return YES - eval(expr, dsql_vis_first(expr, at), runs);
    enum truth all = node->kind == DSQL_VIS_AND ? YES : NO;
    for (size_t child = dsql_vis_first(expr, at); child; child = dsql_vis_next(expr, at, child)) {
        enum truth one = eval(expr, child, runs);
        if (node->kind == DSQL_VIS_AND ? one < all : one > all)
            all = one;
    }
    return all;
}

bool dsql_vis_selects(const struct dsql_vis_expr *expr, const struct dsql_vis_counted *runs)
{
    return eval(expr, 0, runs) == YES;
}
