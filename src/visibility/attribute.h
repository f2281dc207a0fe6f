/* Temporal's own attributes, which are columns; all others stand in search_attributes. */
#ifndef DSQL_VISIBILITY_ATTRIBUTE_H
#define DSQL_VISIBILITY_ATTRIBUTE_H

#include "pgwire/oid.h"
#include "visibility/attributes.h"
#include "visibility/expr.h"

/* What finds runs by an attribute's value, in the fixed order. */
enum dsql_vis_index {
    DSQL_VIS_BY_NOTHING,
    DSQL_VIS_BY_RUN_ID, /* the primary key */
    DSQL_VIS_BY_WORKFLOW_ID,
    DSQL_VIS_BY_PARENT,
    DSQL_VIS_BY_ROOT,
    DSQL_VIS_BY_VALUE, /* the postings */
    DSQL_VIS_BY_TYPE,
    DSQL_VIS_BY_TYPE_STATUS,
    DSQL_VIS_BY_TASK_QUEUE,
    DSQL_VIS_BY_STATUS,
    DSQL_VIS_BY_TIME
};

struct dsql_vis_attribute {
    const char *name;
    const char *before, *column,
        *after; /* the value is before + column + after, as SQL; a TIME is in microseconds */
    enum dsql_vis_type type;
    uint32_t oid; /* of that value */
    enum dsql_vis_index index;
    bool narrow; /* every index has it in its key: the row need not be read for it */
};

/* NULL for what is not a column. */
const struct dsql_vis_attribute *dsql_vis_attribute(struct dsql_span name);

/* Writes the value, of a row or, if it is narrow, of a position with that alias. */
void dsql_vis_add_column(struct dsql_strbuf *text, const struct dsql_vis_attribute *column,
                         const char *alias);

static inline bool dsql_vis_is(const struct dsql_vis_node *node, const char *name)
{
    return node->kind == DSQL_VIS_COMPARE && dsql_span_eq(node->name, dsql_span_of(name));
}

#endif
