/*
 * Lists and counts against a naive evaluator: random runs (all types, nulls, unicode, equal times,
 * values too long for a key) and random expressions over them. Pages of random sizes concatenate to
 * the list that the evaluator has, in its order, and counts are equal. Run by
 * visibility_queries.sh:
 *
 *     visibility_queries RUNS QUERIES [SEED]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dsql/visibility.h"
#include "dsql/visibility_query.h"
#include "support/store.h"
#include "support/vis_expr.h"
#include "visibility/attribute.h"
#include "visibility/visibility.h"

enum { LISTS_MAX = 3, LONG = 300, RUN_ID = 40 };

static struct fixture fix;
static struct dsql_visibility *visibility;
static struct dsql_err err;
static char long_a[LONG + 1], long_b[LONG + 1];

/* -- What values there are. The first ones are the likely ones. */

static const char *keywords[] = {"a",   "b", "ab", "abc", "B",    "\xc3\xa4",   "\xf0\x9f\x98\x80",
                                 "a'",  "",  "%",  "_",   "a\\b", "\"q\" \t x", long_a,
                                 long_b};
/* The last one has more words than a run has postings. */
static char many_words[16384];
static const char *texts[] = {"one two", "two\tthree",   "ONE",     "\xc3\xa4 one",
                              "",        " one  four\n", many_words};
static const char *words[] = {"one", "two", "three", "four", "ONE", "\xc3\xa4", "five", "w1499"};
static const int64_t ints[] = {0, 1, -1, 5, 1000, INT64_MAX, INT64_MIN};
static const double reals[] = {0, 1.5, -1.5, 1e10, -0.25, 3};
/* Some are ten minutes apart, others more or less. */
static const int64_t seconds[] = {1000, 1001, 1002, 1601, -5, 1500000000};

#define PICK(pool) pool[dsql_rng_below(&fix.rng, sizeof(pool) / sizeof((pool)[0]))]

static bool chance(uint64_t of)
{
    return dsql_rng_below(&fix.rng, of) == 0;
}

/* -- Runs. NULL and DSQL_NULL_I64 for what a run does not have. */

struct run {
    char run_id[RUN_ID];
    const char *workflow_id, *type, *queue, *parent, *root, *division;
    int64_t status, start_us, close_us, execution_us, duration, history;
    const char *keyword, *text;
    const char *list[LISTS_MAX];
    size_t list_count;
    int64_t number, moment, moment_ns, truth;
    double real;
    bool has_real, has_list;
};

static struct run *runs;
static size_t run_count;

static int64_t some_time(void)
{
    return PICK(seconds) * 1000000 + (int64_t)dsql_rng_below(&fix.rng, 3);
}

static void draw_run(struct run *run, size_t number)
{
    static const char *const divisions[] = {"TemporalScheduler", "TemporalBatcher"};
    *run = (struct run){.moment = DSQL_NULL_I64,
                        .truth = -1,
                        .duration = DSQL_NULL_I64,
                        .history = DSQL_NULL_I64,
                        .close_us = DSQL_NULL_I64};
    (void)snprintf(run->run_id, sizeof(run->run_id), "%016llx-%zu",
                   (unsigned long long)dsql_rng_next(&fix.rng), number);
    run->workflow_id = PICK(keywords);
    run->type = PICK(keywords);
    run->queue = PICK(keywords);
    run->root = PICK(keywords);
    run->parent = chance(2) ? PICK(keywords) : NULL;
    run->division = chance(4) ? PICK(divisions) : NULL;
    run->start_us = some_time();
    run->execution_us = some_time();
    run->status = 1 + (int64_t)dsql_rng_below(&fix.rng, 4);
    if (run->status != 1 || chance(20)) {
        run->close_us = some_time(); /* at times before its start, at times of a running one */
        run->duration = PICK(ints);
        run->history = PICK(ints);
    }
    run->keyword = chance(2) ? PICK(keywords) : NULL;
    run->text = chance(2) ? PICK(texts) : NULL;
    run->has_list = chance(2);
    run->list_count = run->has_list ? dsql_rng_below(&fix.rng, LISTS_MAX + 1) : 0;
    for (size_t i = 0; i < run->list_count; i++)
        run->list[i] = PICK(keywords);
    run->number = chance(2) ? PICK(ints) : 7;
    if (chance(2)) {
        run->moment = PICK(seconds);
        run->moment_ns = (int64_t)dsql_rng_below(&fix.rng, 2);
    }
    run->truth = chance(2) ? (int64_t)dsql_rng_below(&fix.rng, 2) : -1;
    run->has_real = chance(2);
    run->real = PICK(reals);
}

struct attributes {
    struct dsql_visibility_attribute all[8];
    struct dsql_slice values[8], members[LISTS_MAX];
    char numbers[8][64];
    size_t count;
};

static void add_attribute(struct attributes *to, const char *name, enum dsql_visibility_type type,
                          const char *value)
{
    to->values[to->count] = dsql_slice_str(value);
    to->all[to->count] =
        (struct dsql_visibility_attribute){dsql_slice_str(name), type, &to->values[to->count], 1};
    to->count++;
}

static const char *moment_text(char *out, size_t size, int64_t at, int64_t nanos)
{
    time_t t = (time_t)at;
    struct tm tm;
    char date[32];
    (void)gmtime_r(&t, &tm);
    (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(out, size, "%s.%09lldZ", date, (long long)nanos);
    return out;
}

static void add_attributes(struct attributes *to, const struct run *run)
{
    if (run->keyword)
        add_attribute(to, "Keyword01", DSQL_VISIBILITY_KEYWORD, run->keyword);
    if (run->text)
        add_attribute(to, "Text01", DSQL_VISIBILITY_TEXT, run->text);
    if (run->division)
        add_attribute(to, DSQL_VISIBILITY_DIVISION, DSQL_VISIBILITY_KEYWORD, run->division);
    if (run->truth >= 0)
        add_attribute(to, "Bool01", DSQL_VISIBILITY_BOOL, run->truth ? "true" : "false");
    char(*numbers)[64] = to->numbers;
    if (run->number != 7) {
        (void)snprintf(numbers[0], sizeof(numbers[0]), "%lld", (long long)run->number);
        add_attribute(to, "Int01", DSQL_VISIBILITY_INT, numbers[0]);
    }
    if (run->has_real) {
        (void)snprintf(numbers[1], sizeof(numbers[1]), "%.17g", run->real);
        add_attribute(to, "Double01", DSQL_VISIBILITY_DOUBLE, numbers[1]);
    }
    if (run->moment != DSQL_NULL_I64)
        add_attribute(to, "Datetime01", DSQL_VISIBILITY_DATETIME,
                      moment_text(numbers[2], sizeof(numbers[2]), run->moment, run->moment_ns));
    for (size_t i = 0; i < run->list_count; i++)
        to->members[i] = dsql_slice_str(run->list[i]);
    if (run->has_list)
        to->all[to->count++] = (struct dsql_visibility_attribute){dsql_slice_str("KeywordList01"),
                                                                  DSQL_VISIBILITY_KEYWORD_LIST,
                                                                  to->members, run->list_count};
}

static void write_run(const struct run *run)
{
    struct attributes attributes = {.count = 0};
    add_attributes(&attributes, run);
    const struct dsql_visibility_record record = {
        .namespace_id = dsql_slice_str("ns"),
        .run_id = dsql_slice_str(run->run_id),
        .version = 1,
        .status = (int32_t)run->status,
        .start_us = run->start_us,
        .execution_us = run->execution_us,
        .close_us = run->close_us == DSQL_NULL_I64 ? DSQL_VISIBILITY_OPEN : run->close_us,
        .workflow_id = dsql_slice_str(run->workflow_id),
        .workflow_type = dsql_slice_str(run->type),
        .task_queue = dsql_slice_str(run->queue),
        .root_workflow_id = dsql_slice_str(run->root),
        .root_run_id = dsql_slice_str("root"),
        .parent_workflow_id = dsql_slice_str(run->parent),
        .memo = dsql_slice_str("memo"),
        .encoding = dsql_slice_str("Proto3"),
        .execution_duration_ns = run->duration,
        .history_length = run->history,
        .history_size_bytes = DSQL_NULL_I64,
        .state_transition_count = DSQL_NULL_I64,
        .attributes = attributes.all,
        .attribute_count = attributes.count,
    };
    REQUIRE_OK(
        dsql_visibility_record(visibility, DSQL_VISIBILITY_UPSERT, &record, NULL, NULL, &err));
}

/* -- The evaluator: by the decoded expression, over a run of the list above. */

enum truth { NO, UNKNOWN, YES };

struct subject {
    bool is_null;
    const char *text;
    int64_t number, nanos;
    double real;
};

static struct subject text_of(const char *text)
{
    return (struct subject){.is_null = !text, .text = text};
}

static struct subject number_of(int64_t number)
{
    return (struct subject){.is_null = number == DSQL_NULL_I64, .number = number};
}

/* Microseconds as seconds and nanoseconds. */
static struct subject time_of(int64_t us)
{
    int64_t second = us / 1000000 - (us % 1000000 < 0);
    struct subject subject = number_of(us);
    subject.number = second;
    subject.nanos = subject.is_null ? 0 : (us - second * 1000000) * 1000;
    return subject;
}

static struct subject subject_of(const struct run *run, struct dsql_span name)
{
#define IS(wanted) dsql_span_eq(name, DSQL_SPAN(wanted))
    if (IS("RunId"))
        return text_of(run->run_id);
    if (IS("WorkflowId"))
        return text_of(run->workflow_id);
    if (IS("WorkflowType"))
        return text_of(run->type);
    if (IS("TaskQueue"))
        return text_of(run->queue);
    if (IS("ParentWorkflowId"))
        return text_of(run->parent);
    if (IS("RootWorkflowId"))
        return text_of(run->root);
    if (IS(DSQL_VISIBILITY_DIVISION))
        return text_of(run->division);
    if (IS("Keyword01"))
        return text_of(run->keyword);
    if (IS("ExecutionStatus"))
        return number_of(run->status);
    if (IS("ExecutionDuration"))
        return number_of(run->duration);
    if (IS("HistoryLength"))
        return number_of(run->history);
    if (IS("StartTime"))
        return time_of(run->start_us);
    if (IS("CloseTime"))
        return time_of(run->close_us);
    if (IS("ExecutionTime"))
        return time_of(run->execution_us);
    if (IS("Int01"))
        return (struct subject){.is_null = run->number == 7, .number = run->number};
    if (IS("Bool01"))
        return (struct subject){.is_null = run->truth < 0, .number = run->truth};
    if (IS("Double01"))
        return (struct subject){.is_null = !run->has_real, .real = run->real};
    if (IS("Datetime01"))
        return (struct subject){.is_null = run->moment == DSQL_NULL_I64,
                                .number = run->moment,
                                .nanos = run->moment_ns};
    return (struct subject){.is_null = IS("Text01") ? !run->text : !run->has_list};
#undef IS
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int order(const struct dsql_vis_node *node, const struct subject *subject, size_t i)
{
    const struct dsql_vis_value *value = &node->values[i];
    bool column = dsql_vis_attribute(node->name) != NULL;
    int64_t nanos = column ? value->nanos / 1000 * 1000 : value->nanos;
    if (node->type == DSQL_VIS_TYPE_DOUBLE)
        return ORDER(subject->real, value->real);
    if (node->type == DSQL_VIS_TYPE_TIME && subject->number == value->number)
        return ORDER(subject->nanos, nanos);
    if (node->type != DSQL_VIS_TYPE_KEYWORD)
        return ORDER(subject->number, value->number);
    assert(subject->text);
    size_t len = strlen(subject->text), least = len < value->text.len ? len : value->text.len;
    int by_bytes = least ? memcmp(subject->text, value->text.ptr, least) : 0;
    return by_bytes ? by_bytes : ORDER(len, value->text.len);
}

static bool has_word(const char *text, struct dsql_span word)
{
    static const char space[] = " \t\n\v\f\r";
    for (text += strspn(text, space); *text; text += strspn(text, space)) {
        size_t len = strcspn(text, space);
        if (dsql_span_eq((struct dsql_span){text, len}, word))
            return true;
        text += len;
    }
    return false;
}

static bool is_in(const struct run *run, const struct dsql_vis_node *node,
                  const struct subject *subject)
{
    for (size_t i = 0; i < node->count; i++) {
        if (node->type == DSQL_VIS_TYPE_TEXT
                ? has_word(run->text, node->values[i].text)
                : node->type != DSQL_VIS_TYPE_LIST && order(node, subject, i) == 0)
            return true;
        for (size_t m = 0; node->type == DSQL_VIS_TYPE_LIST && m < run->list_count; m++)
            if (dsql_span_eq(dsql_span_of(run->list[m]), node->values[i].text))
                return true;
    }
    return false;
}

static bool compares(const struct run *run, const struct dsql_vis_node *node,
                     const struct subject *subject)
{
    switch (node->op) {
    case DSQL_VIS_IN:
    case DSQL_VIS_NOT_IN:
        return is_in(run, node, subject) == (node->op == DSQL_VIS_IN);
    case DSQL_VIS_LESS:
        return order(node, subject, 0) < 0;
    case DSQL_VIS_AT_MOST:
        return order(node, subject, 0) <= 0;
    case DSQL_VIS_MORE:
        return order(node, subject, 0) > 0;
    case DSQL_VIS_AT_LEAST:
        return order(node, subject, 0) >= 0;
    case DSQL_VIS_BETWEEN:
    case DSQL_VIS_NOT_BETWEEN:
        return (order(node, subject, 0) >= 0 && order(node, subject, 1) <= 0) ==
               (node->op == DSQL_VIS_BETWEEN);
    case DSQL_VIS_STARTS:
    case DSQL_VIS_NOT_STARTS:
        assert(subject->text);
        return dsql_span_starts(dsql_span_of(subject->text), node->values[0].text) ==
               (node->op == DSQL_VIS_STARTS);
    case DSQL_VIS_IS_NULL:
    case DSQL_VIS_NOT_NULL:
        break;
    }
    return subject->is_null == (node->op == DSQL_VIS_IS_NULL);
}

static enum truth eval(const struct run *run, const struct dsql_vis_expr *expr, size_t at)
{
    const struct dsql_vis_node *node = &expr->nodes[at];
    if (node->kind == DSQL_VIS_NOT)
        return YES - eval(run, expr, dsql_vis_first(expr, at));
    if (node->kind == DSQL_VIS_COMPARE) {
        struct subject subject = subject_of(run, node->name);
        bool asks_null = node->op == DSQL_VIS_IS_NULL || node->op == DSQL_VIS_NOT_NULL;
        return subject.is_null && !asks_null ? UNKNOWN : compares(run, node, &subject) ? YES : NO;
    }
    enum truth all = node->kind == DSQL_VIS_AND ? YES : NO;
    for (size_t child = dsql_vis_first(expr, at); child; child = dsql_vis_next(expr, at, child)) {
        enum truth one = eval(run, expr, child);
        all = node->kind == DSQL_VIS_AND ? (one < all ? one : all) : (one > all ? one : all);
    }
    return all;
}

static int by_order(const void *left, const void *right)
{
    const struct run *a = left, *b = right;
    bool a_open = a->close_us == DSQL_NULL_I64, b_open = b->close_us == DSQL_NULL_I64;
    if (a_open != b_open)
        return a_open ? -1 : 1;
    if (a->close_us != b->close_us)
        return ORDER(b->close_us, a->close_us);
    if (a->start_us != b->start_us)
        return ORDER(b->start_us, a->start_us);
    return strcmp(a->run_id, b->run_id);
}

/* -- Random expressions. */

static const struct {
    const char *name;
    enum dsql_vis_type type;
} names[] = {
    {"WorkflowId", DSQL_VIS_TYPE_KEYWORD},
    {"WorkflowType", DSQL_VIS_TYPE_KEYWORD},
    {"ExecutionStatus", DSQL_VIS_TYPE_INT},
    {"Keyword01", DSQL_VIS_TYPE_KEYWORD},
    {"KeywordList01", DSQL_VIS_TYPE_LIST},
    {"Text01", DSQL_VIS_TYPE_TEXT},
    {"Int01", DSQL_VIS_TYPE_INT},
    {"Double01", DSQL_VIS_TYPE_DOUBLE},
    {"Bool01", DSQL_VIS_TYPE_BOOL},
    {"Datetime01", DSQL_VIS_TYPE_TIME},
    {"StartTime", DSQL_VIS_TYPE_TIME},
    {"CloseTime", DSQL_VIS_TYPE_TIME},
    {"ExecutionTime", DSQL_VIS_TYPE_TIME},
    {"TaskQueue", DSQL_VIS_TYPE_KEYWORD},
    {"ParentWorkflowId", DSQL_VIS_TYPE_KEYWORD},
    {"RootWorkflowId", DSQL_VIS_TYPE_KEYWORD},
    {"RunId", DSQL_VIS_TYPE_KEYWORD},
    {"ExecutionDuration", DSQL_VIS_TYPE_INT},
    {"HistoryLength", DSQL_VIS_TYPE_INT},
    {DSQL_VISIBILITY_DIVISION, DSQL_VIS_TYPE_KEYWORD},
};

static void draw_value(struct vis_expr *e, const char *name, enum dsql_vis_type type)
{
    if (type == DSQL_VIS_TYPE_TEXT)
        vis_text(e, dsql_span_of(PICK(words)));
    else if (strcmp(name, "RunId") == 0)
        vis_text(e, dsql_span_of(runs[dsql_rng_below(&fix.rng, run_count)].run_id));
    else if (strcmp(name, DSQL_VISIBILITY_DIVISION) == 0)
        vis_text(e, dsql_span_of(chance(2) ? "TemporalScheduler" : "TemporalBatcher"));
    else if (type == DSQL_VIS_TYPE_KEYWORD || type == DSQL_VIS_TYPE_LIST)
        vis_text(e, dsql_span_of(PICK(keywords)));
    else if (strcmp(name, "ExecutionStatus") == 0)
        vis_number(e, 1 + (int64_t)dsql_rng_below(&fix.rng, 4));
    else if (type == DSQL_VIS_TYPE_INT)
        vis_number(e, PICK(ints));
    else if (type == DSQL_VIS_TYPE_DOUBLE)
        vis_real(e, PICK(reals));
    else if (type == DSQL_VIS_TYPE_BOOL)
        vis_bool(e, chance(2));
    else
        vis_time(e, PICK(seconds),
                 chance(2) ? (uint32_t)dsql_rng_below(&fix.rng, 3) * 1000
                           : (uint32_t)dsql_rng_below(&fix.rng, 2));
}

/* At times only what the counters know: status and division, which stand last. */
static bool counted_only;

static void draw_compare(struct vis_expr *e)
{
    size_t i = dsql_rng_below(&fix.rng, DSQL_COUNT_OF(names));
    if (counted_only)
        i = DSQL_COUNT_OF(names) - 1 - dsql_rng_below(&fix.rng, 2);
    enum dsql_vis_type type = names[i].type;
    static const enum dsql_vis_op set_ops[] = {DSQL_VIS_IN, DSQL_VIS_IN, DSQL_VIS_NOT_IN,
                                               DSQL_VIS_IS_NULL, DSQL_VIS_NOT_NULL};
    enum dsql_vis_op op = PICK(set_ops);
    if (type != DSQL_VIS_TYPE_LIST && type != DSQL_VIS_TYPE_TEXT && chance(2))
        op = (enum dsql_vis_op)dsql_rng_between(&fix.rng, DSQL_VIS_LESS,
                                                type == DSQL_VIS_TYPE_KEYWORD ? DSQL_VIS_NOT_STARTS
                                                                              : DSQL_VIS_NOT_NULL);
    unsigned count = op == DSQL_VIS_IS_NULL || op == DSQL_VIS_NOT_NULL      ? 0
                     : op == DSQL_VIS_BETWEEN || op == DSQL_VIS_NOT_BETWEEN ? 2
                     : (op == DSQL_VIS_IN || op == DSQL_VIS_NOT_IN) && chance(3)
                         ? 1 + (unsigned)dsql_rng_below(&fix.rng, 3)
                         : 1;
    vis_compare(e, op, type, names[i].name, count);
    for (unsigned v = 0; v < count; v++)
        draw_value(e, names[i].name, type);
}

static void draw_node(struct vis_expr *e, int depth)
{
    uint64_t kind = depth == 0 ? 0 : dsql_rng_below(&fix.rng, 8);
    unsigned children = 2 + (unsigned)dsql_rng_below(&fix.rng, 2);
    if (kind < 4) {
        draw_compare(e);
        return;
    }
    if (kind == 7) {
        vis_not(e);
        draw_node(e, depth - 1);
        return;
    }
    if (kind < 6)
        vis_and(e, children);
    else
        vis_or(e, children);
    for (unsigned i = 0; i < children; i++)
        draw_node(e, depth - 1);
}

/* Bounds of the two times that bound what is read: they need more cases than chance gives them. */
static void draw_bound(struct vis_expr *e)
{
    const char *name = chance(2) ? "StartTime" : "CloseTime";
    enum dsql_vis_op op =
        (enum dsql_vis_op)dsql_rng_between(&fix.rng, DSQL_VIS_LESS, DSQL_VIS_BETWEEN);
    unsigned count = op == DSQL_VIS_BETWEEN ? 2 : 1;
    vis_compare(e, op, DSQL_VIS_TYPE_TIME, name, count);
    for (unsigned i = 0; i < count; i++)
        draw_value(e, name, DSQL_VIS_TYPE_TIME);
}

/* A type and a status, which have an index together, and sometimes a bound. */
static void draw_type_and_status(struct vis_expr *e)
{
    bool bounded = chance(3);
    unsigned types = chance(2) ? 1 : 2, statuses = chance(2) ? 1 : 2;
    vis_and(e, bounded ? 4 : 3);
    vis_no_division(e);
    vis_compare(e, DSQL_VIS_IN, DSQL_VIS_TYPE_KEYWORD, "WorkflowType", types);
    for (unsigned i = 0; i < types; i++)
        vis_text(e, dsql_span_of(PICK(keywords)));
    vis_compare(e, DSQL_VIS_IN, DSQL_VIS_TYPE_INT, "ExecutionStatus", statuses);
    for (unsigned i = 0; i < statuses; i++)
        vis_number(e, 1 + (int64_t)dsql_rng_below(&fix.rng, 4));
    if (bounded)
        draw_bound(e);
}

/* Most of them with the division that Temporal adds. */
static void draw_expr(struct vis_expr *e)
{
    counted_only = chance(5);
    vis_begin(e);
    if (chance(10)) {
        draw_type_and_status(e);
        return;
    }
    if (chance(4)) {
        draw_node(e, 3);
        return;
    }
    bool bounded = chance(2);
    vis_and(e, bounded ? 3 : 2);
    if (chance(4))
        vis_is(e, DSQL_VISIBILITY_DIVISION, "TemporalScheduler");
    else
        vis_no_division(e);
    if (bounded)
        draw_bound(e);
    draw_node(e, bounded ? 1 : 3);
}

/* -- The comparison. */

static struct vis_expr text;

static void show(void)
{
    struct dsql_span bytes = vis_bytes(&text);
    for (size_t i = 0; i < bytes.len; i++)
        fprintf(stderr, bytes.ptr[i] >= ' ' && bytes.ptr[i] < 127 ? "%c" : "\\x%02x",
                (unsigned char)bytes.ptr[i]);
    fprintf(stderr, "\n");
}

/* A list with pages of random sizes. */
static size_t list_all(const struct run **wanted, size_t count)
{
    const struct dsql_visibility_query query = {
        dsql_slice_str("ns"), dsql_slice(vis_bytes(&text).ptr, vis_bytes(&text).len)};
    struct dsql_visibility_page page = {0};
    struct dsql_visibility_run run;
    size_t at = 0;
    do {
        int64_t size = 1 + (int64_t)dsql_rng_below(&fix.rng, chance(4) ? 3 : 200);
        REQUIRE_OK(dsql_visibility_list(visibility, &query, size, page.token, NULL, &page, &err));
        if (page.rows > (size_t)size || (page.rows == 0 && page.token.len > 0))
            show();
        REQUIRE(page.rows <= (size_t)size, "%zu rows", page.rows);
        REQUIRE(page.rows > 0 || page.token.len == 0, "an empty page with a token");
        for (; dsql_visibility_next(&page, &run); at++) {
            struct dsql_span id = {run.run_id.ptr, run.run_id.len};
            if (at < count && dsql_span_eq(id, dsql_span_of(wanted[at]->run_id)))
                continue;
            show();
            REQUIRE(false, "run %zu of %zu is %.*s, not %s", at, count, DSQL_SPAN_ARG(id),
                    at < count ? wanted[at]->run_id : "the end");
        }
    } while (page.token.len > 0);
    dsql_visibility_page_fini(&page);
    return at;
}

/* How many of the wanted runs have this value of the group. */
static int64_t count_value(const struct run **wanted, size_t count, const char *group,
                           struct dsql_slice value)
{
    int64_t found = 0;
    char number[16];
    for (size_t i = 0; i < count; i++) {
        const char *its = wanted[i]->division;
        if (strcmp(group, "ExecutionStatus") == 0) {
            (void)snprintf(number, sizeof(number), "%d", (int)wanted[i]->status);
            its = number;
        } else if (strcmp(group, "Keyword01") == 0) {
            its = wanted[i]->keyword;
        }
        found += value.ptr ? its && dsql_span_eq(dsql_span_of(its),
                                                 (struct dsql_span){value.ptr, value.len})
                           : !its;
    }
    return found;
}

static void count_all(const struct run **wanted, size_t count)
{
    static const char *const groups[] = {"", "", "ExecutionStatus", DSQL_VISIBILITY_DIVISION,
                                         "Keyword01"};
    const struct dsql_visibility_query query = {
        dsql_slice_str("ns"), dsql_slice(vis_bytes(&text).ptr, vis_bytes(&text).len)};
    const char *group = PICK(groups);
    struct dsql_visibility_counts counts = {0};
    REQUIRE_OK(
        dsql_visibility_count(visibility, &query, dsql_slice_str(group), NULL, &counts, &err));
    if (counts.total != (int64_t)count)
        show();
    REQUIRE(counts.total == (int64_t)count, "%lld instead of %zu (%s)", (long long)counts.total,
            count, group);
    int64_t sum = 0;
    for (size_t i = 0; i < counts.group_count; i++) {
        const struct dsql_visibility_group *its = &counts.groups[i];
        int64_t found = count_value(wanted, count, group, its->value);
        if (its->count != found)
            show();
        REQUIRE(its->count == found && found > 0, "%s %.*s: %lld, not %lld", group,
                (int)its->value.len, its->value.ptr ? (const char *)its->value.ptr : "NULL",
                (long long)its->count, (long long)found);
        sum += found;
    }
    REQUIRE(sum == (group[0] ? counts.total : 0), "the groups are not all");
    dsql_visibility_counts_fini(&counts);
}

static size_t compare_one(void)
{
    struct dsql_vis_expr expr;
    const struct run **wanted = calloc(run_count + 1, sizeof(const struct run *));
    size_t count = 0;
    REQUIRE(wanted);
    draw_expr(&text);
    REQUIRE_OK(dsql_vis_decode(vis_bytes(&text), &expr, &err));
    for (size_t i = 0; i < run_count; i++)
        if (eval(&runs[i], &expr, 0) == YES)
            wanted[count++] = &runs[i];
    dsql_vis_expr_fini(&expr);
    size_t got = list_all(wanted, count);
    if (got != count)
        show();
    REQUIRE(got == count, "%zu runs instead of %zu", got, count);
    count_all(wanted, count);
    free(wanted);
    return count;
}

/* -- One run, and what is refused. */

static void one_by_one(void)
{
    struct dsql_visibility_page page = {0};
    struct dsql_visibility_run run;
    for (size_t i = 0; i < run_count && i < 20; i++) {
        REQUIRE_OK(dsql_visibility_get(visibility, dsql_slice_str("ns"),
                                       dsql_slice_str(runs[i].run_id), NULL, &page, &err));
        REQUIRE(dsql_visibility_next(&page, &run) && page.rows == 1);
        REQUIRE(run.start_us == runs[i].start_us && run.close_us == runs[i].close_us &&
                run.status == runs[i].status && run.history_length == runs[i].history);
        REQUIRE(run.workflow_id.len == strlen(runs[i].workflow_id) && run.memo.len == 4);
        REQUIRE(!run.parent_workflow_id.ptr == !runs[i].parent && !run.parent_run_id.ptr);
    }
    REQUIRE(dsql_visibility_get(visibility, dsql_slice_str("ns"), dsql_slice_str("none"), NULL,
                                &page, &err) == DSQL_NOT_FOUND);
    dsql_visibility_page_fini(&page);
}

static void refusals(void)
{
    struct dsql_visibility_page page = {0};
    struct vis_expr other;
    vis_begin(&text);
    vis_and(&text, 0);
    vis_begin(&other);
    vis_and(&other, 1);
    vis_no_division(&other);
    struct dsql_visibility_query all = {dsql_slice_str("ns"),
                                        dsql_slice(vis_bytes(&text).ptr, vis_bytes(&text).len)};
    struct dsql_visibility_query some = {dsql_slice_str("ns"),
                                         dsql_slice(vis_bytes(&other).ptr, vis_bytes(&other).len)};
    REQUIRE_OK(dsql_visibility_list(visibility, &all, 1, dsql_slice(NULL, 0), NULL, &page, &err));
    REQUIRE(page.token.len > 0);
    REQUIRE(dsql_visibility_list(visibility, &some, 1, page.token, NULL, &page, &err) ==
            DSQL_INVALID);
    REQUIRE(strstr(err.message, "another query"));
    REQUIRE(dsql_visibility_list(visibility, &all, 1, dsql_slice_str("x"), NULL, &page, &err) ==
            DSQL_INVALID);
    REQUIRE(dsql_visibility_list(visibility, &all, 0, dsql_slice(NULL, 0), NULL, &page, &err) ==
            DSQL_INVALID);
    dsql_visibility_page_fini(&page);
}

/* -- What a read looks at has an end. */

static struct dsql_visibility_query query_of_text(void)
{
    return (struct dsql_visibility_query){dsql_slice_str("ns"),
                                          dsql_slice(vis_bytes(&text).ptr, vis_bytes(&text).len)};
}

static void a_count_is_refused(const char *message, const char *hint)
{
    const struct dsql_visibility_query query = query_of_text();
    struct dsql_visibility_counts counts = {0};
    REQUIRE(dsql_visibility_count(visibility, &query, dsql_slice(NULL, 0), NULL, &counts, &err) ==
            DSQL_LIMIT);
    REQUIRE(strstr(err.message, message), "%s", err.message);
    REQUIRE(strstr(err.hint, hint), "%s", err.hint);
    REQUIRE(counts.total == 0);
    dsql_visibility_counts_fini(&counts);
}

/* A filter that takes one run in seven, in pages of 30 that end with the first portion that has
 * one. */
static void pages_are_short(void)
{
    const struct dsql_visibility_query query = query_of_text();
    struct dsql_visibility_page page = {0};
    size_t wanted = 0, got = 0, short_pages = 0;
    for (size_t i = 0; i < run_count; i++)
        wanted += runs[i].history == 5;
    visibility->bounds.scanned = 1;
    do {
        REQUIRE_OK(dsql_visibility_list(visibility, &query, 30, page.token, NULL, &page, &err));
        REQUIRE(page.rows > 0 || page.token.len == 0);
        short_pages += page.token.len > 0 && page.rows < 30;
        got += page.rows;
    } while (page.token.len > 0);
    REQUIRE(got == wanted, "%zu of %zu", got, wanted);
    REQUIRE(short_pages > 0);
    dsql_visibility_page_fini(&page);
}

static void reads_are_bounded(void)
{
    struct dsql_vis_bounds bounds = visibility->bounds;
    REQUIRE(bounds.counted == 100000 && bounds.counters == 1000000 && bounds.scanned == 20000);
    vis_begin(&text);
    vis_compare(&text, DSQL_VIS_IN, DSQL_VIS_TYPE_INT, "HistoryLength", 1);
    vis_number(&text, 5);
    pages_are_short();
    visibility->bounds.counted = (int64_t)run_count - 1;
    a_count_is_refused("runs would have to be looked at", "narrow the query");
    visibility->bounds.counted = (int64_t)run_count;
    const struct dsql_visibility_query query = query_of_text();
    struct dsql_visibility_counts counts = {0};
    REQUIRE_OK(dsql_visibility_count(visibility, &query, dsql_slice(NULL, 0), NULL, &counts, &err));
    dsql_visibility_counts_fini(&counts);
    vis_begin(&text);
    vis_status(&text, 1);
    visibility->bounds.counters = 3;
    a_count_is_refused("3 counters or more", "dsql visibility compact");
    visibility->bounds = bounds;
}

int main(int argc, char **argv)
{
    size_t queries = argc > 2 ? strtoul(argv[2], NULL, 10) : 100, found = 0, some = 0;
    run_count = argc > 1 ? strtoul(argv[1], NULL, 10) : 500;
    fixture_open(&fix, 2, NULL);
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : dsql_rng_next(&fix.rng);
    fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    fix.rng = dsql_rng_seeded(seed);
    memset(long_a, 'x', LONG);
    memset(long_b, 'x', LONG);
    long_b[LONG - 1] = 'y';
    for (size_t i = 0, len = 0; i < 1500; i++)
        len += (size_t)snprintf(many_words + len, sizeof(many_words) - len, "w%zu ", i);
    REQUIRE_OK(dsql_visibility_open(fix.pool, NULL, &visibility, &err));
    runs = calloc(run_count, sizeof(*runs));
    REQUIRE(runs);
    for (size_t i = 0; i < run_count; i++) {
        draw_run(&runs[i], i);
        write_run(&runs[i]);
    }
    qsort(runs, run_count, sizeof(*runs), by_order);
    for (size_t i = 0; i < queries; i++) {
        size_t count = compare_one();
        found += count;
        some += count > 0;
    }
    one_by_one();
    refusals();
    reads_are_bounded();
    REQUIRE(some > queries / 4, "only %zu of %zu queries found something", some, queries);
    printf("visibility: %zu queries over %zu runs, %zu found\n", queries, run_count, found);
    free(runs);
    dsql_visibility_close(visibility);
    fixture_close(&fix);
    return 0;
}
