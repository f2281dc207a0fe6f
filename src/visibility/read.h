/* What lists, counts and gets share: one statement as a transaction of its own, rows into memory.
 */
#ifndef DSQL_VISIBILITY_READ_H
#define DSQL_VISIBILITY_READ_H

#include "dsql/visibility_query.h"
#include "visibility/plan.h"

struct dsql_visibility;

enum {
    DSQL_VIS_RUN_COLUMNS = 19, /* one for each member of struct dsql_visibility_run */
    DSQL_VIS_MEMO_REST,        /* as many dsql_vis_columns has: the last one is the memo's rest */
};

/* A read of a caller, with what is left of its time. */
struct dsql_vis_call {
    struct dsql_visibility *visibility;
    const char *operation;
    struct dsql_tx_policy policy;
    int64_t until_ns; /* by the handle's clock; INT64_MAX without an end */
    struct dsql_err *err;
};

void dsql_vis_call_begin(struct dsql_vis_call *call, struct dsql_visibility *visibility,
                         const char *operation, const struct dsql_tx_policy *policy,
                         struct dsql_err *err);

/* What is left of its time, in ns; INT64_MAX without an end. */
int64_t dsql_vis_left(const struct dsql_vis_call *call);

/* Runs the statement. The caller frees *rows. */
DSQL_MUST_USE enum dsql_rc dsql_vis_query(struct dsql_vis_call *call, const char *name,
                                          const struct dsql_vis_sql *sql, struct dsql_rows **rows);

/* The divisions of a namespace; the spans point into *rows, which the caller frees, as the array.
 */
DSQL_MUST_USE enum dsql_rc dsql_vis_find_divisions(struct dsql_vis_call *call,
                                                   struct dsql_span namespace_id,
                                                   struct dsql_rows **rows,
                                                   struct dsql_span **divisions, size_t *count);

/* The runs and the token go; memory stays. */
void dsql_vis_page_clear(struct dsql_visibility_page *page);

/* Adds a run whose columns begin at `column`. */
DSQL_MUST_USE enum dsql_rc dsql_vis_page_add(struct dsql_visibility_page *page,
                                             const struct dsql_rows *rows, size_t row,
                                             size_t column, struct dsql_err *err);

static inline struct dsql_span dsql_vis_span(struct dsql_slice slice)
{
    return (struct dsql_span){slice.ptr ? slice.ptr : "", slice.len};
}

#endif
