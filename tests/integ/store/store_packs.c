/*
 * Tasks that share rows, in every table that has them, against a model: random ids with gaps,
 * random sizes and encodings, written by several transactions whose order is not that of their ids,
 * on the pool, in a transaction and in a script; then pages of random ranges, and deletes from
 * below, as Temporal's queues do. Run by store.sh.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dsql/log.h"
#include "support/prop.h"
#include "support/store.h"
#include "temporal/ops.h"
#include "temporal/pack.h"

enum { TASKS_MAX = 900, BLOCKS = 3, FIELDS_MAX = 5, SIZE_MAX_OF_TASK = DSQL_PACK_BYTES + 9 };

static struct fixture fix;
static struct dsql_err err;
static char *bytes; /* a task's value begins somewhere in it */

struct table {
    const char *name;
    enum dsql_op insert, read, remove;
    bool category, source, packs;
    uint64_t seen_packs;
};
#define TABLE(ops, name, ...)                                                                      \
    {                                                                                              \
        name, DSQL_OP_InsertInto##ops, DSQL_OP_RangeSelectFrom##ops, DSQL_OP_RangeDeleteFrom##ops, \
            __VA_ARGS__                                                                            \
    }
static struct table tables[] = {
    TABLE(TransferTasks, "transfer_tasks", .packs = true),
    TABLE(ReplicationTasks, "replication_tasks", .packs = true),
    TABLE(VisibilityTasks, "visibility_tasks", .packs = true),
    TABLE(HistoryImmediateTasks, "history_immediate_tasks", .category = true, .packs = true),
    TABLE(ReplicationDLQTasks, "replication_tasks_dlq", .source = true),
};

/* What should be there. */
struct model {
    const struct table *table;
    int32_t shard;
    size_t count;
    struct task {
        int64_t id;
        size_t from, len;
        const char *encoding;
    } tasks[TASKS_MAX]; /* by their ids */
    int64_t done;       /* what is below was deleted, and is never asked for again */
};

static size_t put_key(const struct model *m, struct dsql_param *out)
{
    size_t n = 0;
    if (m->table->source)
        out[n++] = dsql_text_n("source", 6);
    out[n++] = dsql_i32(m->shard);
    if (m->table->category)
        out[n++] = dsql_i32(7);
    return n;
}

static size_t draw_size(struct prop *p)
{
    switch (prop_below(p, 40)) {
    case 39:
        return SIZE_MAX_OF_TASK - prop_below(p, 20);
    case 38:
    case 37:
        return 20000;
    default:
        return prop_below(p, 60);
    }
}

/* Tasks of one transaction: most ids are consecutive. */
static void draw_block(struct prop *p, struct model *m, size_t count, int64_t *next, size_t *large)
{
    static const char *const encodings[] = {"Proto3", "Json", ""};
    static const uint64_t gap_each[] = {UINT64_MAX, 400, 60}; /* tasks, on average */
    uint64_t each = gap_each[prop_below(p, DSQL_COUNT_OF(gap_each))];
    for (size_t i = 0; i < count; i++) {
        struct task *task = &m->tasks[m->count++];
        *next += 1 + (prop_below(p, each) == each - 1 ? (int64_t)prop_below(p, 300) : 0);
        *task = (struct task){*next, prop_below(p, 100), draw_size(p),
                              encodings[prop_below(p, DSQL_COUNT_OF(encodings))]};
        if (task->len > 60 && ++*large > 12) /* so that it fits a transaction */
            task->len = 60;
    }
}

static void insert(const struct model *m, enum way way, size_t first, size_t count)
{
    static struct dsql_param values[TASKS_MAX * FIELDS_MAX];
    struct dsql_result result = {0};
    size_t n = 0;
    for (const struct task *task = m->tasks + first; task < m->tasks + first + count; task++) {
        REQUIRE(task->encoding != NULL);
        n += put_key(m, values + n);
        values[n++] = dsql_i64(task->id);
        values[n++] = dsql_bytes(bytes + task->from, task->len);
        values[n++] = dsql_text_n(task->encoding, strlen(task->encoding));
    }
    fixture_call(&fix, way, m->table->insert, values, count, &result);
    if (m->table->packs) /* the others do not count */
        REQUIRE(result.affected == (int64_t)count, "%lld of %zu", (long long)result.affected,
                count);
    dsql_result_fini(&result);
}

/* The next field of a row that was read: its length comes before it. */
static struct dsql_span next_field(const struct dsql_result *result, size_t *at)
{
    int32_t len;
    memcpy(&len, (const char *)result->data + *at, sizeof(len));
    *at += sizeof(len);
    struct dsql_span field = {(const char *)result->data + *at, len > 0 ? (size_t)len : 0};
    *at += field.len;
    return field;
}

static bool is_task(const struct dsql_result *result, size_t *at, const struct task *task)
{
    struct dsql_span id = next_field(result, at), value = next_field(result, at);
    struct dsql_span encoding = next_field(result, at);
    return id.len == sizeof(task->id) && memcmp(id.ptr, &task->id, id.len) == 0 &&
           value.len == task->len && memcmp(value.ptr, bytes + task->from, value.len) == 0 &&
           dsql_span_eq(encoding, dsql_span_of(task->encoding));
}

/* Pages of the range hold the tasks in it, in their order; the one that is not full is the last. */
static bool read_pages(struct prop *p, const struct model *m, int64_t from, int64_t to,
                       int64_t page)
{
    struct dsql_result result = {0};
    size_t next = 0;
    bool holds = true, full = true;
    while (next < m->count && m->tasks[next].id < from)
        next++;
    while (holds && full) {
        struct dsql_param values[FIELDS_MAX + 1];
        size_t n = put_key(m, values), at = 0;
        values[n++] = dsql_i64(from);
        values[n++] = dsql_i64(to);
        values[n++] = dsql_i64(page);
        REQUIRE_OK(
            dsql_store_call(fix.store, NULL, m->table->read, values, 1, NULL, &result, &err));
        full = (int64_t)result.rows == page;
        holds = prop_that(p, (int64_t)result.rows <= page, "%zu rows in a page of %lld",
                          result.rows, (long long)page);
        for (size_t i = 0; holds && i < result.rows; i++, next++) {
            bool expected = next < m->count && m->tasks[next].id < to;
            holds = prop_that(p, expected && is_task(&result, &at, &m->tasks[next]),
                              "%s: row %zu of [%lld, %lld) is not task %zu", m->table->name, i,
                              (long long)from, (long long)to, next);
            from = expected ? m->tasks[next].id + 1 : from;
        }
    }
    dsql_result_fini(&result);
    return holds &&
           prop_that(p, next == m->count || m->tasks[next].id >= to,
                     "%s: task %zu is missing before %lld", m->table->name, next, (long long)to);
}

static void delete_below(struct model *m, int64_t end)
{
    struct dsql_param values[FIELDS_MAX];
    size_t n = put_key(m, values);
    values[n++] = dsql_i64(m->done);
    values[n] = dsql_i64(end);
    REQUIRE_OK(dsql_store_call(fix.store, NULL, m->table->remove, values, 1, NULL, NULL, &err));
    m->done = end;
}

static int64_t rows_of(const struct model *m, const char *where)
{
    char sql[160];
    (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s WHERE shard_id = %d%s",
                   m->table->name, m->shard, where);
    return fixture_sql(&fix, sql);
}

static size_t draw_count(struct prop *p)
{
    static const size_t around[] = {1, 10, DSQL_PACK_MIN - 2, DSQL_PACK_MAX - 2};
    return around[prop_below(p, DSQL_COUNT_OF(around))] + prop_below(p, 80);
}

static bool as_if_alone(struct prop *p)
{
    static struct model m;
    struct table *table = &tables[prop_below(p, DSQL_COUNT_OF(tables))];
    int64_t next = (int64_t)prop_below(p, 1000);
    size_t first[BLOCKS + 1] = {0}, large = 0;
    m = (struct model){.table = table, .shard = fixture_shard(&fix)};
    for (size_t i = 0; i < BLOCKS; i++) {
        draw_block(p, &m, draw_count(p), &next, &large);
        first[i + 1] = m.count;
    }
    for (size_t i = 0, turn = prop_below(p, BLOCKS); i < BLOCKS; i++, turn = (turn + 2) % BLOCKS)
        insert(&m, (enum way)prop_below(p, WAYS), first[turn], first[turn + 1] - first[turn]);
    table->seen_packs += (uint64_t)rows_of(&m, " AND data_encoding = '*'");
    bool holds = read_pages(p, &m, 0, INT64_MAX, 1 + (int64_t)prop_below(p, 300));
    for (int round = 0; holds && round < 6; round++) {
        for (int ranges = 0; holds && ranges < 3; ranges++) {
            int64_t from = prop_between(p, m.done, next + 2), to = prop_between(p, from, next + 9);
            holds = read_pages(p, &m, from, to, 1 + (int64_t)prop_below(p, 300));
        }
        delete_below(&m, m.done + (int64_t)prop_below(p, 150));
        holds = holds && read_pages(p, &m, m.done, INT64_MAX, 50 + (int64_t)prop_below(p, 300));
    }
    delete_below(&m, next + 1);
    return holds && prop_that(p, rows_of(&m, "") == 0, "%s: %lld rows are left", table->name,
                              (long long)rows_of(&m, ""));
}

int main(void)
{
    char why[512];
    bytes = malloc(SIZE_MAX_OF_TASK + 100);
    REQUIRE(bytes != NULL);
    dsql_log_set_level(DSQL_LOG_ERROR);
    (void)setenv("PROP_SHRINK", "20",
                 0); /* each smaller input is a second of the database's time */
    fixture_open(&fix, 4, NULL);
    dsql_random_bytes(bytes, SIZE_MAX_OF_TASK + 100);
    if (!prop_holds("tasks that share rows are as if alone", as_if_alone, 60, why, sizeof(why))) {
        fprintf(stderr, "packs: %s\n", why);
        return 1;
    }
    for (const struct table *t = tables; t < tables + DSQL_COUNT_OF(tables); t++)
        REQUIRE((t->seen_packs > 0) == t->packs, "%s: %llu packs", t->name,
                (unsigned long long)t->seen_packs);
    /* A table that packs and is not tried here would be news. */
    size_t packing = 0;
    for (enum dsql_op op = 0; op < DSQL_OP_COUNT; op = (enum dsql_op)(op + 1))
        packing += (dsql_op_info(op)->flags & (DSQL_FLAG_PACKS | DSQL_FLAG_UNPACKS)) != 0;
    REQUIRE(packing == 4 + DSQL_COUNT_OF(tables), "%zu operations pack", packing);
    printf("packs: %zu tables\n", DSQL_COUNT_OF(tables));
    fixture_close(&fix);
    free(bytes);
    return 0;
}
