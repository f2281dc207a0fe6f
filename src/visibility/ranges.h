/*
 * The source of a statement: the ranges of a path, merged in the fixed order, at most `limit` runs.
 *
 * Limits stand in the text. The database plans a prepared statement once for all its values, and a
 * limit that it does not know makes it plan for a tenth of the table.
 */
#ifndef DSQL_VISIBILITY_RANGES_H
#define DSQL_VISIBILITY_RANGES_H

#include "visibility/plan.h"

#define DSQL_VIS_ORDER "close_inv, start_inv, run_id"

/* What the ranges of a statement share: numbers of parameters, 0 for none. */
struct dsql_vis_plan {
    struct dsql_vis_sql *sql;
    const struct dsql_vis_ask *ask;
    const struct dsql_vis_path *path;
    const struct dsql_vis_position *position;
    size_t namespace_id, close_inv, start_inv, run_id;
    int64_t limit;
    bool ordered; /* each range has an order and a limit of its own */
    bool wide;    /* ranges are rows, not positions alone; the source's own */
    size_t ranges;
};

/*
 * Writes it: a SELECT whose columns are a position and, with `rows`, those of the run's row that
 * filters and pages need. Of a posting without a row they are NULL, `division` among them, which
 * no row has.
 *
 * narrow: " AND " and conditions on the position d, or nothing. A row of which they are not true
 * may be left out: it can't be a hit.
 */
void dsql_vis_add_source(struct dsql_vis_plan *plan, bool rows, struct dsql_span narrow);

#endif
