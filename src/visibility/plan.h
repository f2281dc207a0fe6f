/*
 * Statements of a query: expression in, text and parameters out. Nothing here knows of connections.
 *
 * A list is read in portions. A portion takes `limit` runs of its path from a position on, reads
 * the rows of those that the position alone does not rule out, and answers those which the filter
 * takes. Columns of the answer, and then those of dsql_vis_columns:
 *
 *     close_inv, start_inv, run_id   the position
 *     hit                            whether the query selects it
 *     scanned                        how many runs the portion took
 *
 * An answer has at most `page` rows. Where there is a filter the last run of the portion follows
 * the hits, as far as there is room, whether it is a hit or not: it says from where to go on.
 * Without a filter every run is a hit, and `scanned` is 0. Of a path that collects, `scanned` that
 * is not below `limit` says that there are too many runs, and nothing else in that answer means
 * anything.
 *
 * A count's columns: group (text, NULL without a group or for none), hit, how many.
 */
#ifndef DSQL_VISIBILITY_PLAN_H
#define DSQL_VISIBILITY_PLAN_H

#include "visibility/path.h"
#include "visibility/sql.h"

struct dsql_vis_position {
    int64_t close_inv, start_inv;
    struct dsql_span run_id;
};

struct dsql_vis_ask {
    const struct dsql_vis_expr *expr;
    struct dsql_span namespace_id;
    const struct dsql_span *divisions; /* of the namespace; for a path that names none */
    size_t division_count;
};

/* Columns of a portion. */
enum dsql_vis_portion {
    DSQL_VIS_AT_CLOSE,
    DSQL_VIS_AT_START,
    DSQL_VIS_AT_RUN,
    DSQL_VIS_HIT,
    DSQL_VIS_SCANNED, /* 0: as many as the answer has rows */
    DSQL_VIS_COLUMNS
};

/* Of the row r, with commas between them, in the order of the page's (dsql/visibility_query.h), and
 * behind them what does not fit the memo's column. $1 is the namespace. */
extern const char dsql_vis_columns[];

/* Whether a query must find out which divisions there are before a statement can be written. */
bool dsql_vis_lacks_divisions(const struct dsql_vis_path *path);

/* The statement is in sql, which is initialized here and the caller ends. position: NULL for the
 * beginning. DSQL_TOO_LARGE if it
 * has too many values or divisions. */
DSQL_MUST_USE enum dsql_rc dsql_vis_plan_list(const struct dsql_vis_ask *ask,
                                              const struct dsql_vis_path *path,
                                              const struct dsql_vis_position *position,
                                              int64_t limit, int64_t page, struct dsql_vis_sql *sql,
                                              struct dsql_err *err);

/* group: the attribute's name; len 0 for none. At most `limit` runs are looked at. */
DSQL_MUST_USE enum dsql_rc dsql_vis_plan_count(const struct dsql_vis_ask *ask,
                                               const struct dsql_vis_path *path,
                                               struct dsql_span group, int64_t limit,
                                               struct dsql_vis_sql *sql, struct dsql_err *err);

#endif
