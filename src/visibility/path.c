#include "visibility/path.h"

#include "visibility/narrow.h"
#include "visibility/sql.h"

enum { NO_RANK = 100, COLLECT_RANK = 60, DIVISIONS_MAX = 4 };

/* Less is better: how few runs one value usually has. */
static int rank_of(enum dsql_vis_index index, enum dsql_vis_type type)
{
    switch (index) {
    case DSQL_VIS_BY_RUN_ID:
        return 10;
    case DSQL_VIS_BY_WORKFLOW_ID:
        return 20;
    case DSQL_VIS_BY_PARENT:
        return 30;
    case DSQL_VIS_BY_ROOT:
        return 40;
    case DSQL_VIS_BY_VALUE:
        return type == DSQL_VIS_TYPE_BOOL ? 85 : 50;
    case DSQL_VIS_BY_TYPE:
    case DSQL_VIS_BY_TYPE_STATUS:
        return 70;
    case DSQL_VIS_BY_TASK_QUEUE:
        return 80;
    case DSQL_VIS_BY_STATUS:
        return 90;
    case DSQL_VIS_BY_NOTHING:
    case DSQL_VIS_BY_TIME:
        break;
    }
    return NO_RANK;
}

bool dsql_vis_has_division(enum dsql_vis_index index)
{
    return index == DSQL_VIS_BY_TIME || index == DSQL_VIS_BY_STATUS || index == DSQL_VIS_BY_TYPE ||
           index == DSQL_VIS_BY_TYPE_STATUS;
}

bool dsql_vis_has_bucket(enum dsql_vis_index index)
{
    return dsql_vis_has_division(index) || index == DSQL_VIS_BY_TASK_QUEUE ||
           index == DSQL_VIS_BY_VALUE;
}

static enum dsql_vis_index index_of(const struct dsql_vis_node *node)
{
    const struct dsql_vis_attribute *column = dsql_vis_attribute(node->name);
    return column ? column->index : DSQL_VIS_BY_VALUE;
}

/* -- What serves a node: some scans and their rank. */

struct choice {
    struct dsql_vis_scan scans[DSQL_VIS_SCANS_MAX];
    size_t count, ranges;
    int rank;
    bool collects, repeats;
};

static const struct choice nothing = {.rank = NO_RANK};

struct dsql_vis_scan dsql_vis_whole(enum dsql_vis_index index, const struct dsql_vis_node *compare)
{
    return (struct dsql_vis_scan){.index = index,
                                  .compare = compare,
                                  .first = DSQL_VIS_OPEN,
                                  .last = DSQL_VIS_CLOSE_MAX,
                                  .start_first = INT64_MIN,
                                  .start_last = INT64_MAX};
}

static struct choice one_scan(const struct dsql_vis_node *node, enum dsql_vis_index index, int rank)
{
    struct choice choice = {.count = 1, .rank = rank};
    choice.scans[0] = dsql_vis_whole(index, node);
    choice.ranges = node->count * (dsql_vis_has_bucket(index) ? DSQL_VISIBILITY_BUCKETS : 1);
    return choice;
}

/* Ranges of values, in indexes that have nothing but the namespace and the attribute before. */
static bool is_range(const struct dsql_vis_node *node, enum dsql_vis_index index)
{
    bool plain = node->type != DSQL_VIS_TYPE_LIST && node->type != DSQL_VIS_TYPE_TEXT;
    switch (node->op) {
    case DSQL_VIS_LESS:
    case DSQL_VIS_AT_MOST:
    case DSQL_VIS_MORE:
    case DSQL_VIS_AT_LEAST:
    case DSQL_VIS_BETWEEN:
    case DSQL_VIS_NOT_NULL:
        return plain && index == DSQL_VIS_BY_VALUE;
    case DSQL_VIS_STARTS:
        return node->values[0].text.len > 0 &&
               (index == DSQL_VIS_BY_VALUE || index == DSQL_VIS_BY_WORKFLOW_ID ||
                index == DSQL_VIS_BY_ROOT || index == DSQL_VIS_BY_PARENT);
    case DSQL_VIS_IN:
    case DSQL_VIS_NOT_IN:
    case DSQL_VIS_NOT_BETWEEN:
    case DSQL_VIS_IS_NULL:
    case DSQL_VIS_NOT_STARTS:
        break;
    }
    return false;
}

static bool is_same(const struct dsql_vis_value *a, const struct dsql_vis_value *b)
{
    return a->number == b->number && a->nanos == b->nanos && a->real == b->real &&
           dsql_span_eq(a->text, b->text);
}

/* Whether a run may be found by several of the values: a list and a text have many, and a query
 * may name a value twice, or two that are cut to the same. */
static bool may_repeat(const struct dsql_vis_node *node)
{
    bool many = node->type == DSQL_VIS_TYPE_LIST || node->type == DSQL_VIS_TYPE_TEXT;
    for (size_t i = 1; i < node->count; i++)
        for (size_t k = 0; k < i; k++)
            if (many || dsql_vis_is_cut(node->type, &node->values[i]) ||
                is_same(&node->values[i], &node->values[k]))
                return true;
    return false;
}

static struct choice of_compare(const struct dsql_vis_node *node, bool may_collect)
{
    enum dsql_vis_index index = index_of(node);
    if (index == DSQL_VIS_BY_NOTHING)
        return nothing;
    if (node->op == DSQL_VIS_IN) {
        struct choice choice = one_scan(node, index, rank_of(index, node->type));
        choice.repeats = may_repeat(node);
        return choice.ranges <= DSQL_VIS_RANGES_MAX ? choice : nothing;
    }
    if (!may_collect || !is_range(node, index))
        return nothing;
    struct choice choice = one_scan(node, index, COLLECT_RANK);
    choice.collects = true;
    choice.repeats = node->type == DSQL_VIS_TYPE_LIST || node->type == DSQL_VIS_TYPE_TEXT;
    choice.ranges = 1;
    return choice;
}

static struct choice choose(const struct dsql_vis_expr *expr, size_t at, bool may_collect);

/* One of them is enough for all. */
static struct choice of_and(const struct dsql_vis_expr *expr, size_t at, bool may_collect)
{
    struct choice best = nothing;
    for (size_t child = dsql_vis_first(expr, at); child; child = dsql_vis_next(expr, at, child)) {
        struct choice choice = choose(expr, child, may_collect);
        if (choice.rank < best.rank)
            best = choice;
    }
    return best;
}

/* All of them together. */
static struct choice of_or(const struct dsql_vis_expr *expr, size_t at)
{
    struct choice all = {.repeats = true};
    for (size_t child = dsql_vis_first(expr, at); child; child = dsql_vis_next(expr, at, child)) {
        struct choice choice = choose(expr, child, false);
        if (choice.rank == NO_RANK || all.count + choice.count > DSQL_VIS_SCANS_MAX ||
            all.ranges + choice.ranges > DSQL_VIS_RANGES_MAX)
            return nothing;
        memcpy(all.scans + all.count, choice.scans, choice.count * sizeof(choice.scans[0]));
        all.count += choice.count;
        all.ranges += choice.ranges;
        all.rank = choice.rank > all.rank ? choice.rank : all.rank;
    }
    return all;
}

/* As deep as the expression. */
static struct choice choose(const struct dsql_vis_expr *expr, size_t at, bool may_collect)
{
    switch (expr->nodes[at].kind) {
    case DSQL_VIS_COMPARE:
        return of_compare(&expr->nodes[at], may_collect);
    case DSQL_VIS_AND:
        return of_and(expr, at, may_collect);
    case DSQL_VIS_OR:
        return of_or(expr, at);
    case DSQL_VIS_NOT:
        break;
    }
    return nothing;
}

/* -- The conjuncts. */

/* False if they are too many. As deep as the expression. */
static bool add_conjuncts(const struct dsql_vis_expr *expr, size_t at, struct dsql_vis_path *path)
{
    if (expr->nodes[at].kind == DSQL_VIS_AND) {
        for (size_t child = dsql_vis_first(expr, at); child; child = dsql_vis_next(expr, at, child))
            if (!add_conjuncts(expr, child, path))
                return false;
        return true;
    }
    if (path->conjunct_count == DSQL_VIS_CONJUNCTS_MAX)
        return false;
    path->conjuncts[path->conjunct_count++] = at;
    return true;
}

static void find_conjuncts(const struct dsql_vis_expr *expr, struct dsql_vis_path *path)
{
    if (add_conjuncts(expr, 0, path))
        return;
    path->conjuncts[0] = 0;
    path->conjunct_count = 1;
}

/* '' stands for none in the tables, and no run is of a division of that name. */
static bool names_divisions(const struct dsql_vis_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        if (node->values[i].text.len == 0)
            return false;
    return node->op == DSQL_VIS_IN && node->count <= DIVISIONS_MAX;
}

static void find_divisions(const struct dsql_vis_expr *expr, struct dsql_vis_path *path)
{
    for (size_t i = 0; i < path->conjunct_count; i++) {
        const struct dsql_vis_node *node = dsql_vis_conjunct(expr, path, i);
        if (!dsql_vis_is(node, DSQL_VISIBILITY_DIVISION) || path->no_division || path->divisions)
            continue;
        path->no_division = node->op == DSQL_VIS_IS_NULL;
        path->divisions = names_divisions(node) ? node : NULL;
        path->repeats = path->repeats || may_repeat(node);
    }
}

/* -- Two conjuncts at once. */

/* Runs of a type and a status have an index of their own, with both in its key. */
static void add_status(const struct dsql_vis_expr *expr, struct dsql_vis_path *path)
{
    struct dsql_vis_scan *scan = &path->scans[0];
    if (path->scan_count != 1 || scan->index != DSQL_VIS_BY_TYPE)
        return;
    for (size_t i = 0; i < path->conjunct_count; i++) {
        const struct dsql_vis_node *node = dsql_vis_conjunct(expr, path, i);
        if (!dsql_vis_is(node, "ExecutionStatus") || node->op != DSQL_VIS_IN ||
            scan->compare->count * node->count * DSQL_VISIBILITY_BUCKETS > DSQL_VIS_RANGES_MAX)
            continue;
        scan->index = DSQL_VIS_BY_TYPE_STATUS;
        scan->status = node;
        path->repeats = path->repeats || may_repeat(node);
        return;
    }
}

/* -- All together. */

/* Whether the ranges have no run that the comparison does not take. Of a range of values a prefix
 * is the only one whose ends are those of the comparison. */
static bool is_exact(const struct dsql_vis_path *path, const struct dsql_vis_node *node)
{
    bool posted = path->scans[0].index == DSQL_VIS_BY_VALUE;
    for (size_t i = 0; posted && i < node->count; i++)
        if (dsql_vis_is_cut(node->type, &node->values[i]))
            return false;
    return !path->collects || node->op == DSQL_VIS_STARTS;
}

/* A single comparison that is a conjunct itself needs no filter, unless several scans share the
 * work. */
static void cover(const struct dsql_vis_expr *expr, struct dsql_vis_path *path)
{
    const struct dsql_vis_scan *scan = &path->scans[0];
    for (size_t i = 0; i < path->conjunct_count; i++) {
        const struct dsql_vis_node *node = dsql_vis_conjunct(expr, path, i);
        bool is_its = node == scan->compare || node == scan->status;
        if (path->scan_count == 1 && is_its && is_exact(path, node))
            path->covered[i] = true;
    }
}

static bool all_have_division(const struct dsql_vis_path *path)
{
    for (size_t i = 0; i < path->scan_count; i++)
        if (!dsql_vis_has_division(path->scans[i].index))
            return false;
    return true;
}

static bool some_have_division(const struct dsql_vis_path *path)
{
    for (size_t i = 0; i < path->scan_count; i++)
        if (dsql_vis_has_division(path->scans[i].index))
            return true;
    return false;
}

static void take(struct dsql_vis_path *path, const struct choice *choice)
{
    memcpy(path->scans, choice->scans, choice->count * sizeof(choice->scans[0]));
    path->scan_count = choice->count;
    path->collects = choice->collects;
    path->repeats = choice->repeats;
}

void dsql_vis_choose(const struct dsql_vis_expr *expr, bool may_collect, struct dsql_vis_path *path)
{
    *path = (struct dsql_vis_path){0};
    find_conjuncts(expr, path);
    struct choice choice = choose(expr, 0, may_collect);
    take(path, &choice);
    if (choice.rank == NO_RANK || !dsql_vis_add_many(path)) {
        choice = (struct choice){.count = 1};
        choice.scans[0] = dsql_vis_whole(DSQL_VIS_BY_TIME, NULL);
        take(path, &choice);
    }
    find_divisions(expr, path);
    add_status(expr, path);
    dsql_vis_keep_to_open(expr, path);
    path->needs_division = some_have_division(path);
    for (size_t i = 0; i < path->conjunct_count; i++) {
        const struct dsql_vis_node *node = dsql_vis_conjunct(expr, path, i);
        bool is_it = node == path->divisions ||
                     (path->no_division && dsql_vis_is(node, DSQL_VISIBILITY_DIVISION) &&
                      node->op == DSQL_VIS_IS_NULL);
        path->covered[i] = is_it && all_have_division(path);
    }
    cover(expr, path);
    dsql_vis_bound(expr, path);
}

bool dsql_vis_is_filtered(const struct dsql_vis_path *path)
{
    for (size_t i = 0; i < path->conjunct_count; i++)
        if (!path->covered[i])
            return true;
    return false;
}
