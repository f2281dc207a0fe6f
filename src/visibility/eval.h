/* The expression over what the counters know of runs, by SQL's logic of three values. */
#ifndef DSQL_VISIBILITY_EVAL_H
#define DSQL_VISIBILITY_EVAL_H

#include "visibility/attribute.h"

/* What runs are counted by. '' is none, of division and keyword. */
struct dsql_vis_counted {
    struct dsql_span division, keyword;
    int64_t status;
};

/* Whether nothing else is in the expression. *keyword: whether it names the keyword. */
bool dsql_vis_is_counted(const struct dsql_vis_expr *expr, bool *keyword);

/* Whether such runs are selected. */
bool dsql_vis_selects(const struct dsql_vis_expr *expr, const struct dsql_vis_counted *runs);

#endif
