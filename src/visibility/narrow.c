#include "visibility/narrow.h"

#include "base/least.h"
#include "visibility/sql.h"

enum { RUNNING = 1 };

/* -- Postings that stand for other things than values. */

static const struct dsql_vis_value marked = {.text = {"1", 1}};

#define MARK(attribute)                                                                            \
    {                                                                                              \
        .kind = DSQL_VIS_COMPARE, .op = DSQL_VIS_IN, .type = DSQL_VIS_TYPE_KEYWORD,                \
        .name = {attribute, sizeof(attribute) - 1}, .values = &marked, .count = 1                  \
    }
static const struct dsql_vis_node skew_mark = MARK(DSQL_VISIBILITY_SKEW);
static const struct dsql_vis_node long_mark = MARK(DSQL_VISIBILITY_LONG);
static const struct dsql_vis_node many_mark = MARK(DSQL_VISIBILITY_MANY);

bool dsql_vis_add_many(struct dsql_vis_path *path)
{
    bool posted = false;
    for (size_t i = 0; i < path->scan_count; i++)
        posted = posted || path->scans[i].index == DSQL_VIS_BY_VALUE;
    if (!posted)
        return true;
    if (path->scan_count == DSQL_VIS_SCANS_MAX)
        return false;
    path->scans[path->scan_count++] = dsql_vis_whole(DSQL_VIS_BY_VALUE, &many_mark);
    return true;
}

bool dsql_vis_is_many(const struct dsql_vis_scan *scan)
{
    return scan->compare == &many_mark;
}

/* -- (N1) */

static const struct dsql_vis_node *find_running(const struct dsql_vis_expr *expr,
                                                const struct dsql_vis_path *path)
{
    for (size_t i = 0; i < path->conjunct_count; i++) {
        const struct dsql_vis_node *node = dsql_vis_conjunct(expr, path, i);
        if (dsql_vis_is(node, "ExecutionStatus") && node->op == DSQL_VIS_IN && node->count == 1 &&
            node->values[0].number == RUNNING)
            return node;
    }
    return NULL;
}

/*
 * A query for what is running does not go through all that is closed: the scans read open runs
 * only. In case that a run is closed and yet said to be running, those are found by their status;
 * usually there is none.
 */
void dsql_vis_keep_to_open(const struct dsql_vis_expr *expr, struct dsql_vis_path *path)
{
    const struct dsql_vis_node *running = find_running(expr, path);
    bool knows_division = path->no_division || path->divisions;
    if (!running || !knows_division || path->collects || path->scan_count == DSQL_VIS_SCANS_MAX)
        return;
    for (size_t i = 0; i < path->scan_count; i++)
        if (path->scans[i].index == DSQL_VIS_BY_STATUS ||
            path->scans[i].index == DSQL_VIS_BY_TYPE_STATUS)
            return;
    for (size_t i = 0; i < path->scan_count; i++)
        path->scans[i].last = DSQL_VIS_OPEN;
    struct dsql_vis_scan closed = dsql_vis_whole(DSQL_VIS_BY_STATUS, running);
    closed.first = DSQL_VIS_OPEN + 1;
    path->scans[path->scan_count++] = closed;
}

/* -- Close time bounds every scan. */

struct bounds {
    int64_t first, last;
};

static void raise_first(struct bounds *bounds, int64_t first)
{
    bounds->first = dsql_most(first, bounds->first);
}

static void lower_last(struct bounds *bounds, int64_t last)
{
    bounds->last = dsql_least(last, bounds->last);
}

/* Of a time t, close_inv and start_inv are -t. Whether the bounds say all that the comparison does.
 */
static bool bound_by(const struct dsql_vis_node *node, struct bounds *bounds)
{
    int64_t low = node->count > 0 ? dsql_vis_micros(&node->values[0]) : 0;
    int64_t high = node->count > 1 ? dsql_vis_micros(&node->values[1]) : low;
    switch (node->op) {
    case DSQL_VIS_LESS:
        raise_first(bounds, -low + 1);
        return true;
    case DSQL_VIS_AT_MOST:
        raise_first(bounds, -low);
        return true;
    case DSQL_VIS_MORE:
        lower_last(bounds, -low - 1);
        return true;
    case DSQL_VIS_AT_LEAST:
        lower_last(bounds, -low);
        return true;
    case DSQL_VIS_BETWEEN:
    case DSQL_VIS_IN:
        if (node->op == DSQL_VIS_IN && node->count > 1)
            return false;
        raise_first(bounds, -high);
        lower_last(bounds, -low);
        return true;
    case DSQL_VIS_NOT_NULL:
        return true;
    case DSQL_VIS_NOT_IN:
    case DSQL_VIS_NOT_BETWEEN:
    case DSQL_VIS_IS_NULL:
    case DSQL_VIS_STARTS:
    case DSQL_VIS_NOT_STARTS:
        break;
    }
    return false;
}

/* An open run has no close time. */
static bool bound_by_close(const struct dsql_vis_node *node, struct bounds *bounds)
{
    if (node->op == DSQL_VIS_IS_NULL) {
        lower_last(bounds, DSQL_VIS_OPEN);
        return true;
    }
    if (!bound_by(node, bounds))
        return false;
    raise_first(bounds, DSQL_VIS_OPEN + 1);
    return true;
}

static void bound_by_close_times(const struct dsql_vis_expr *expr, struct dsql_vis_path *path)
{
    struct bounds bounds = {DSQL_VIS_OPEN, DSQL_VIS_CLOSE_MAX};
    for (size_t i = 0; i < path->conjunct_count; i++) {
        const struct dsql_vis_node *node = dsql_vis_conjunct(expr, path, i);
        if (dsql_vis_is(node, "CloseTime"))
            path->covered[i] = bound_by_close(node, &bounds);
    }
    for (size_t i = 0; i < path->scan_count; i++) {
        struct dsql_vis_scan *scan = &path->scans[i];
        scan->first = dsql_most(bounds.first, scan->first);
        scan->last = dsql_least(bounds.last, scan->last);
    }
}

/* -- (N2), (N3): start time bounds open runs by itself, and closed ones by their close time. */

static void split_at_open(struct dsql_vis_path *path, size_t i, const struct bounds *start)
{
    struct dsql_vis_scan *scan = &path->scans[i];
    if (scan->first > DSQL_VIS_OPEN)
        return;
    if (scan->last > DSQL_VIS_OPEN) {
        struct dsql_vis_scan closed = *scan;
        if (path->scan_count == DSQL_VIS_SCANS_MAX)
            return;
        closed.first = DSQL_VIS_OPEN + 1;
        path->scans[path->scan_count++] = closed;
        scan->last = DSQL_VIS_OPEN;
    }
    scan->start_first = start->first;
    scan->start_last = start->last;
}

/* Adds the runs of a mark that closed from `first` to `last`, which no other scan reads any more.
 */
static void add_marked(struct dsql_vis_path *path, const struct dsql_vis_node *mark, int64_t first,
                       int64_t last)
{
    if (first > last)
        return;
    struct dsql_vis_scan *scan = &path->scans[path->scan_count++];
    *scan = dsql_vis_whole(DSQL_VIS_BY_VALUE, mark);
    scan->first = first;
    scan->last = last;
    memset(path->covered, 0, sizeof(path->covered));
}

/* (N2): runs that closed before `last`, which is that of a start, are read by their mark. */
static void stop_at_start(struct dsql_vis_path *path, int64_t last)
{
    int64_t behind = DSQL_VIS_OPEN;
    if (path->scan_count == DSQL_VIS_SCANS_MAX || last == DSQL_VIS_CLOSE_MAX)
        return;
    for (size_t i = 0; i < path->scan_count; i++) {
        struct dsql_vis_scan *scan = &path->scans[i];
        if (scan->first == DSQL_VIS_OPEN || scan->last <= last)
            continue;
        behind = dsql_most(scan->last, behind);
        scan->last = last;
    }
    add_marked(path, &skew_mark, last + 1, behind);
}

/* (N3): runs that closed ten minutes after `first`, that of a start, are read by theirs. */
static void begin_at_start(struct dsql_vis_path *path, int64_t first)
{
    int64_t before = DSQL_VIS_CLOSE_MAX;
    if (path->scan_count == DSQL_VIS_SCANS_MAX ||
        first < DSQL_VIS_OPEN + 2 + DSQL_VISIBILITY_LONG_US)
        return;
    first -= DSQL_VISIBILITY_LONG_US;
    for (size_t i = 0; i < path->scan_count; i++) {
        struct dsql_vis_scan *scan = &path->scans[i];
        if (scan->first == DSQL_VIS_OPEN || scan->first >= first)
            continue;
        before = dsql_least(scan->first, before);
        scan->first = first;
    }
    add_marked(path, &long_mark, before, first - 1);
}

static void bound_by_start(const struct dsql_vis_expr *expr, struct dsql_vis_path *path)
{
    struct bounds start = {INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < path->conjunct_count; i++) {
        const struct dsql_vis_node *node = dsql_vis_conjunct(expr, path, i);
        if (dsql_vis_is(node, "StartTime"))
            (void)bound_by(node, &start);
    }
    if (start.first == INT64_MIN && start.last == INT64_MAX)
        return;
    size_t scans = path->scan_count;
    for (size_t i = 0; i < scans; i++)
        split_at_open(path, i, &start);
    stop_at_start(path, start.last);
    begin_at_start(path, start.first);
}

/* A path that collects is bounded by values alone. */
void dsql_vis_bound(const struct dsql_vis_expr *expr, struct dsql_vis_path *path)
{
    if (path->collects)
        return;
    bound_by_close_times(expr, path);
    bound_by_start(expr, path);
}
