/*
 * A query's condition, as Temporal's parser leaves it: comparisons of attributes with values, AND,
 * OR and NOT over them. Go encodes it, here it is decoded; nothing here knows of tables or SQL.
 *
 * The encoding. Numbers are in the network's order. A byte for the version, 1, then one node:
 *
 *     'A' count:u16 node...        AND; of none: true
 *     'O' count:u16 node...        OR, of at least one
 *     'N' node                     NOT
 *     'C' op:u8 type:u8 len:u8 name count:u16 value...
 *
 * and nothing behind it. A value is 1 byte (BOOL), 8 bytes (INT, DOUBLE), 12 bytes (TIME: seconds
 * since 1970 and nanoseconds), or a length:u32 and UTF-8 without zeros (KEYWORD, LIST, TEXT).
 * Values have the type of their attribute: a member of a LIST and a token of a TEXT are such texts.
 *
 * What it means is SQL's logic of three values: a comparison with an attribute that a run does not
 * have is neither true nor false, NOT of it neither, and only what is true selects a run.
 */
#ifndef DSQL_VISIBILITY_EXPR_H
#define DSQL_VISIBILITY_EXPR_H

#include "base/span.h"

enum {
    DSQL_VIS_VERSION = 1,
    DSQL_VIS_NODES_MAX = 1024,
    DSQL_VIS_VALUES_MAX = 4096,
    DSQL_VIS_DEPTH_MAX = 64,
    DSQL_VIS_BYTES_MAX = 256 * 1024
};

/* Temporal's types of attributes; its own numbers. */
enum dsql_vis_type {
    DSQL_VIS_TYPE_TEXT = 1,
    DSQL_VIS_TYPE_KEYWORD,
    DSQL_VIS_TYPE_INT,
    DSQL_VIS_TYPE_DOUBLE,
    DSQL_VIS_TYPE_BOOL,
    DSQL_VIS_TYPE_TIME,
    DSQL_VIS_TYPE_LIST
};

/* = is IN with one value, != is NOT IN with one. Of a LIST, IN is "has one of them as a member"; of
 * a TEXT, "has one of them as a token". */
enum dsql_vis_op {
    DSQL_VIS_IN = 1,
    DSQL_VIS_NOT_IN,
    DSQL_VIS_LESS,
    DSQL_VIS_AT_MOST,
    DSQL_VIS_MORE,
    DSQL_VIS_AT_LEAST,
    DSQL_VIS_BETWEEN, /* both ends included */
    DSQL_VIS_NOT_BETWEEN,
    DSQL_VIS_IS_NULL,
    DSQL_VIS_NOT_NULL,
    DSQL_VIS_STARTS,
    DSQL_VIS_NOT_STARTS
};

enum dsql_vis_kind { DSQL_VIS_AND, DSQL_VIS_OR, DSQL_VIS_NOT, DSQL_VIS_COMPARE };

/* Of BOOL and INT the number, of TIME that of seconds and the nanoseconds beside it, of DOUBLE
 * real, of the others text. */
struct dsql_vis_value {
    int64_t number;
    int32_t nanos;
    double real;
    struct dsql_span text;
};

struct dsql_vis_node {
    enum dsql_vis_kind kind;
    size_t end; /* the children of this node stand behind it, up to the node before `end` */
    /* Of COMPARE. */
    enum dsql_vis_op op;
    enum dsql_vis_type type;
    struct dsql_span name;
    const struct dsql_vis_value *values;
    size_t count;
};

/* Texts point into what was decoded. Node 0 is the root, each node's children follow it. */
struct dsql_vis_expr {
    struct dsql_vis_node *nodes;
    struct dsql_vis_value *values;
    size_t node_count, value_count;
};

/* DSQL_INVALID for what is no encoding, *expr untouched. fini frees it. */
DSQL_MUST_USE enum dsql_rc dsql_vis_decode(struct dsql_span bytes, struct dsql_vis_expr *expr,
                                           struct dsql_err *err);
void dsql_vis_expr_fini(struct dsql_vis_expr *expr);

/* UTF-8 without zeros: what the database takes for a text. */
bool dsql_vis_is_text(struct dsql_span s);

/* Goes over the children of a node: at = dsql_vis_first(n) ... dsql_vis_next(). 0 at the end. */
static inline size_t dsql_vis_first(const struct dsql_vis_expr *expr, size_t node)
{
    return node + 1 < expr->nodes[node].end ? node + 1 : 0;
}
static inline size_t dsql_vis_next(const struct dsql_vis_expr *expr, size_t node, size_t child)
{
    return expr->nodes[child].end < expr->nodes[node].end ? expr->nodes[child].end : 0;
}

#endif
