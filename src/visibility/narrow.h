/*
 * Which part of its indexes a path reads: times bound them, and so does a status that only open
 * runs have.
 *
 * Three facts, each with a posting for the runs that it is not true of (attributes.h), so that no
 * run is lost:
 *
 * (N1) A run that is running is open. Those that are not are found by their status.
 * (N2) A run that started at t or later is open, or has closed at t or later. Others have `!skew`.
 * (N3) A run that started at t or earlier is open, or has closed within ten minutes after t. Others
 *      have `!long`.
 */
#ifndef DSQL_VISIBILITY_NARROW_H
#define DSQL_VISIBILITY_NARROW_H

#include "visibility/path.h"

/* Adds runs of which no value is posted, since they have too many of them, to a path that reads
 * postings. False if there is no room. */
DSQL_MUST_USE bool dsql_vis_add_many(struct dsql_vis_path *path);

/* Whether the scan is of those: all are in bucket 0. */
bool dsql_vis_is_many(const struct dsql_vis_scan *scan);

/* Narrows by (N1). Called before the filter asks what the path covers. */
void dsql_vis_keep_to_open(const struct dsql_vis_expr *expr, struct dsql_vis_path *path);

/* Narrows by CloseTime and StartTime, and by (N2) and (N3). Where the postings of these are read,
 * the filter looks at every condition again: the postings may be of any division and value. */
void dsql_vis_bound(const struct dsql_vis_expr *expr, struct dsql_vis_path *path);

#endif
