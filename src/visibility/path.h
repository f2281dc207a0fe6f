/*
 * How the runs of a query are found: which indexes are read, and from where to where. Every index
 * gives runs in the fixed order (close time, open ones first, descending; start time descending;
 * run id) once its leading columns are fixed, so a path is a set of ranges that are merged.
 *
 * (PA1) The ranges of a path hold every run that the expression selects.
 * (PA2) What a path does not promise by itself is left to the filter: `covered` says of each
 *      conjunct whether every run of the ranges fulfils it.
 *
 * A path that *collects* reads a range of values: its runs come in the order of these, and are
 * sorted when all are there. It is for few runs; a query that meets too many takes a path that does
 * not.
 */
#ifndef DSQL_VISIBILITY_PATH_H
#define DSQL_VISIBILITY_PATH_H

#include "visibility/attribute.h"
#include "visibility/keys.h"

enum {
    DSQL_VIS_SCANS_MAX = 16,
    DSQL_VIS_RANGES_MAX = 256,
    DSQL_VIS_CONJUNCTS_MAX = 64 /* of more, none is looked at: all are the filter's */
};

/* close_inv of an open run, and the last of a closed one. */
#define DSQL_VIS_OPEN      INT64_MIN
#define DSQL_VIS_CLOSE_MAX INT64_MAX

/* One index, with every value of a comparison. */
struct dsql_vis_scan {
    enum dsql_vis_index index;
    const struct dsql_vis_node *compare; /* NULL of BY_TIME */
    const struct dsql_vis_node *status;  /* of BY_TYPE_STATUS, beside the type */
    int64_t first, last;                 /* close_inv, both included; none if first > last */
    /* start_inv, both included, where `last` is that of open runs. */
    int64_t start_first, start_last;
};

struct dsql_vis_path {
    struct dsql_vis_scan scans[DSQL_VIS_SCANS_MAX];
    size_t scan_count;
    bool collects;
    bool repeats;        /* a run may be in several ranges */
    bool needs_division; /* the ranges are of certain divisions */
    /* Of which divisions; NULL: of all that there are, which a query has to find out. */
    const struct dsql_vis_node *divisions;
    bool no_division;                         /* IS NULL */
    size_t conjuncts[DSQL_VIS_CONJUNCTS_MAX]; /* nodes whose AND is the expression */
    bool covered[DSQL_VIS_CONJUNCTS_MAX];
    size_t conjunct_count;
};

/* A whole index, or all that it has of the values of a comparison. */
struct dsql_vis_scan dsql_vis_whole(enum dsql_vis_index index, const struct dsql_vis_node *compare);

static inline const struct dsql_vis_node *
dsql_vis_conjunct(const struct dsql_vis_expr *expr, const struct dsql_vis_path *path, size_t i)
{
    return &expr->nodes[path->conjuncts[i]];
}

/* May the path collect? */
void dsql_vis_choose(const struct dsql_vis_expr *expr, bool may_collect,
                     struct dsql_vis_path *path);

/* Whether the index has the division, the bucket in its key. */
bool dsql_vis_has_division(enum dsql_vis_index index);
bool dsql_vis_has_bucket(enum dsql_vis_index index);

/* Whether anything is left to the filter. */
bool dsql_vis_is_filtered(const struct dsql_vis_path *path);

#endif
