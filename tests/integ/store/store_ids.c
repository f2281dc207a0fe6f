/*
 * Ids of every length that Temporal allows, in every place that has some: written together, told
 * apart, read whole, listed in pages, replaced and deleted, on the pool, in a transaction and in a
 * script. And two ids that have the same hash never mix. Run by store.sh.
 */
#include <stdio.h>

#include "support/store.h"
#include "temporal/key.h"

enum { IDS = 10, ID_MAX = 1000, LONGEST = 3, FORM = 7 };

static struct fixture fix;
static struct dsql_err err;
static enum way way;
static int32_t shard;
static struct dsql_id some_id;
static char memory[IDS][ID_MAX];
static struct dsql_slice ids[IDS];

/* Neighbours: of the lengths at which something changes, or the same but for the end. */
static void make_ids(void)
{
    static const struct {
        const char *unit;
        size_t count;
        char last; /* 0: as the unit has it */
    } shapes[IDS] = {{"a", 5, 0},
                     {"a", 255, 0},
                     {"a", 256, 0},
                     {"a", ID_MAX, 0},
                     {"a", ID_MAX, 'b'},
                     {"\xc3\xa9", ID_MAX / 2, 0},
                     {"\xe6\x97\xa5", 255, 0},
                     {"", 0, 0}, /* FORM: see below */
                     {"\xf0\x9f\x98\x80", 225, 0},
                     {"\xf0\x9f\x98\x80", 250, 0}};
    for (size_t i = 0; i < IDS; i++) {
        size_t unit = strlen(shapes[i].unit), len = unit * shapes[i].count;
        for (size_t k = 0; k < len; k++)
            memory[i][k] = shapes[i].unit[k % unit];
        if (shapes[i].last)
            memory[i][len - 1] = shapes[i].last;
        ids[i] = dsql_slice(memory[i], len);
    }
    /* An id that is the short form of another one. */
    struct dsql_span other = {memory[LONGEST], ID_MAX};
    ids[FORM].len = dsql_key_shorten(other, memory[FORM]);
    REQUIRE(ids[FORM].len == DSQL_SHORT_FORM_MAX);
}

static struct dsql_param id_of(size_t i)
{
    return dsql_bytes(ids[i].ptr, ids[i].len);
}

static enum dsql_rc attempt(enum dsql_op op, const struct dsql_param *values, size_t count,
                            struct dsql_result *result)
{
    return fixture_try(&fix, way, op, values, count, result, &err);
}

static void run(enum dsql_op op, const struct dsql_param *values, size_t count,
                struct dsql_result *result)
{
    fixture_call(&fix, way, op, values, count, result);
}

static size_t index_of(const void *ptr, size_t len)
{
    size_t i = 0;
    while (i < IDS && (ids[i].len != len || memcmp(ids[i].ptr, ptr, len) != 0))
        i++;
    return i;
}

/* Which of the ids stand in a column of a result, as bits. Each stands there once. */
static unsigned told(const struct dsql_result *result, size_t column)
{
    unsigned seen = 0;
    size_t at = 0;
    for (size_t cell = 0; cell < result->rows * result->columns; cell++) {
        int32_t len;
        memcpy(&len, result->data + at, sizeof(len));
        if (cell % result->columns == column) {
            size_t i = index_of(result->data + at + sizeof(len), (size_t)len);
            REQUIRE(i < IDS && !(seen & 1u << i), "an id of %d bytes", len);
            seen |= 1u << i;
        }
        at += sizeof(len) + (len > 0 ? (size_t)len : 0);
    }
    return seen;
}

static const unsigned all = (1u << IDS) - 1;

/* -- The maps of an execution, whose keys have two ids. */

struct map {
    enum dsql_op replace, read, remove, keep;
    size_t values; /* fields behind the id */
};

static const struct map maps[] = {
    {DSQL_OP_ReplaceIntoTimerInfoMaps, DSQL_OP_SelectAllFromTimerInfoMaps,
     DSQL_OP_DeleteFromTimerInfoMaps, DSQL_OP_KeepInTimerInfoMaps, 2},
    {DSQL_OP_ReplaceIntoSignalsRequestedSets, DSQL_OP_SelectAllFromSignalsRequestedSets,
     DSQL_OP_DeleteFromSignalsRequestedSets, DSQL_OP_KeepInSignalsRequestedSets, 0},
    {DSQL_OP_ReplaceIntoChasmNodeMaps, DSQL_OP_SelectAllFromChasmNodeMaps,
     DSQL_OP_DeleteFromChasmNodeMaps, DSQL_OP_KeepInChasmNodeMaps, 4},
};

enum { KEY = 5, ROW_MAX = 9 };

static size_t map_rows(const struct map *map, size_t workflow, size_t from, size_t count,
                       struct dsql_param *out)
{
    size_t n = 0;
    for (size_t i = from; i < from + count; i++) {
        out[n++] = dsql_i64(shard);
        out[n++] = dsql_bytes(some_id.bytes, sizeof(some_id.bytes));
        out[n++] = id_of(workflow);
        out[n++] = dsql_bytes(some_id.bytes, sizeof(some_id.bytes));
        out[n++] = id_of(i);
        for (size_t value = 0; value < map->values; value++)
            out[n++] = dsql_bytes("Proto3", 6);
    }
    return n;
}

static unsigned in_map(const struct map *map, size_t workflow)
{
    struct dsql_param key[ROW_MAX];
    struct dsql_result result = {0};
    (void)map_rows(map, workflow, 0, 1, key);
    run(map->read, key, 1, &result);
    unsigned seen = told(&result, 0);
    dsql_result_fini(&result);
    return seen;
}

static void fill_map(const struct map *map, size_t workflow)
{
    struct dsql_param rows[IDS * ROW_MAX];
    (void)map_rows(map, workflow, 0, IDS, rows);
    run(map->replace, rows, IDS, NULL);
    run(map->replace, rows, IDS, NULL); /* and again */
    REQUIRE(in_map(map, workflow) == all, "%x", in_map(map, workflow));
}

static void empty_map(const struct map *map, size_t workflow)
{
    static const struct map bare = {.values = 0};
    struct dsql_param rows[IDS * ROW_MAX];
    unsigned left = all;
    for (size_t i = 0; i < IDS / 2; i++) {
        (void)map_rows(&bare, workflow, i, 1, rows);
        run(map->remove, rows, 1, NULL);
        left &= ~(1u << i);
        REQUIRE(in_map(map, workflow) == left, "%x, not %x", in_map(map, workflow), left);
    }
    (void)map_rows(&bare, workflow, IDS / 2, IDS - IDS / 2, rows);
    run(map->remove, rows, IDS - IDS / 2, NULL);
    REQUIRE(in_map(map, workflow) == 0);
}

/* A snapshot: what it does not name goes, two neighbours stay. */
static void keep_in_map(const struct map *map, size_t workflow)
{
    static const struct map bare = {.values = 0};
    struct dsql_param rows[2 * ROW_MAX];
    (void)map_rows(&bare, workflow, LONGEST, 2, rows);
    run(map->keep, rows, 2, NULL);
    REQUIRE(in_map(map, workflow) == 3u << LONGEST, "%x", in_map(map, workflow));
}

static void live_in_maps(void)
{
    for (const struct map *map = maps; map < maps + DSQL_COUNT_OF(maps); map++) {
        for (size_t workflow = 0; workflow < IDS; workflow++)
            fill_map(map, workflow);
        keep_in_map(map, LONGEST);
        fill_map(map, LONGEST);
        for (size_t workflow = 0; workflow < IDS; workflow++)
            empty_map(map, workflow);
    }
}

/* A row with the hash of an id that is another id's: never read, replaced or deleted as its own. */
static void meet_the_same_hash(void)
{
#define PLANT(table, column)                                                                       \
    "WITH hit AS (UPDATE " table " SET " column " = 'aaaaa' WHERE " column " IS NOT NULL "         \
    "RETURNING 1) SELECT count(*) FROM hit"
    static const char *const plant[] = {PLANT("timer_info_maps", "timer_id_full"),
                                        PLANT("signals_requested_sets", "signal_id_full"),
                                        PLANT("chasm_node_maps", "chasm_path_full")};
    static const struct map bare = {.values = 0};
    fixture_sql(&fix, "DELETE FROM timer_info_maps");
    fixture_sql(&fix, "DELETE FROM signals_requested_sets");
    fixture_sql(&fix, "DELETE FROM chasm_node_maps");
    for (size_t m = 0; m < DSQL_COUNT_OF(maps); m++) {
        struct dsql_param row[ROW_MAX];
        char long_key[2 * ID_MAX];
        memset(long_key, 'k', sizeof(long_key));
        (void)map_rows(&maps[m], 1, LONGEST, 1, row);
        if (m == 2) /* what takes more than 1,000 bytes */
            row[KEY - 1] = dsql_bytes(long_key, sizeof(long_key));
        run(maps[m].replace, row, 1, NULL);
        int64_t planted = fixture_sql(&fix, plant[m]);
        REQUIRE(planted == 1, "%lld rows in map %zu", (long long)planted, m);
        REQUIRE(in_map(&maps[m], 1) == 1, "the row tells the id that it was written for");
        enum dsql_rc rc = attempt(maps[m].replace, row, 1, NULL);
        REQUIRE(rc == DSQL_DATABASE && strstr(err.message, "two ids have the same hash: "),
                "%s: %s", dsql_rc_name(rc), err.message);
        struct dsql_param gone[ROW_MAX];
        (void)map_rows(&bare, 1, LONGEST, 1, gone);
        gone[KEY - 1] = row[KEY - 1];
        run(maps[m].remove, gone, 1, NULL);
        REQUIRE(in_map(&maps[m], 1) == 1, "it was deleted as another's");
    }
    fixture_sql(&fix, "DELETE FROM timer_info_maps");
    fixture_sql(&fix, "DELETE FROM signals_requested_sets");
    fixture_sql(&fix, "DELETE FROM chasm_node_maps");
}

/* -- Task queues, listed in pages; as keys. */

static void live_in_task_queues(int64_t version)
{
    enum { PAGE = 3, HASH = 77 };
    for (size_t i = 0; i < IDS; i++) {
        struct dsql_param row[] = {dsql_i64(version), dsql_i64(HASH),     id_of(i),
                                   dsql_i64(1),       dsql_bytes("d", 1), dsql_bytes("Proto3", 6)};
        run(DSQL_OP_InsertIntoTaskQueues, row, 1, NULL);
    }
    unsigned seen = 0;
    struct dsql_param after = dsql_null();
    struct dsql_result page = {0};
    char last[2 * ID_MAX];
    do {
        struct dsql_param ask[] = {dsql_i64(version), dsql_i64(HASH), dsql_null(),   dsql_i64(HASH),
                                   dsql_i64(HASH),    after,          dsql_i64(PAGE)};
        struct dsql_SelectFromTaskQueues_row row;
        run(DSQL_OP_SelectFromTaskQueues, ask, 1, &page);
        unsigned here = told(&page, 1);
        REQUIRE((seen & here) == 0, "a page shows again what another has shown");
        seen |= here;
        while (dsql_next_SelectFromTaskQueues(&page, &row)) {
            memcpy(last, row.task_queue_id.ptr, row.task_queue_id.len);
            after = dsql_bytes(last, row.task_queue_id.len);
        }
    } while (page.rows == PAGE);
    dsql_result_fini(&page);
    REQUIRE(seen == all, "%x", seen);
    for (size_t i = 0; i < IDS; i++) {
        struct dsql_param row[] = {dsql_i64(version), dsql_i64(HASH), id_of(i), dsql_i64(1)};
        run(DSQL_OP_DeleteFromTaskQueues, row, 1, NULL);
    }
    REQUIRE(fixture_sql(&fix, "SELECT count(*) FROM task_queues WHERE range_hash = 77") == 0);
}

/* -- User data and build ids. */

static void live_in_user_data(void)
{
    struct dsql_param ns = dsql_bytes(some_id.bytes, sizeof(some_id.bytes));
    for (int64_t version = 0; version < 2; version++)
        for (size_t i = 0; i < IDS; i++) {
            struct dsql_param row[] = {ns, id_of(i), dsql_i64(version), dsql_bytes("d", 1),
                                       dsql_bytes("Proto3", 6)};
            run(DSQL_OP_UpdateTaskQueueUserData, row, 1, NULL);
        }
    unsigned seen = 0;
    char last[ID_MAX] = "";
    size_t last_len = 0;
    struct dsql_result page = {0};
    do {
        struct dsql_param ask[] = {ns, dsql_bytes(last, last_len), dsql_i64(4)};
        struct dsql_ListTaskQueueUserDataEntries_row row;
        run(DSQL_OP_ListTaskQueueUserDataEntries, ask, 1, &page);
        unsigned here = told(&page, 0);
        REQUIRE((seen & here) == 0);
        seen |= here;
        while (dsql_next_ListTaskQueueUserDataEntries(&page, &row)) {
            last_len = row.task_queue_name.len;
            memcpy(last, row.task_queue_name.ptr, last_len);
        }
    } while (page.rows == 4);
    dsql_result_fini(&page);
    REQUIRE(seen == all, "%x", seen);
}

/* Another version than was expected: the row is found by the whole name. */
static void find_what_was_there(void)
{
    struct dsql_param row[] = {dsql_bytes(some_id.bytes, sizeof(some_id.bytes)), id_of(LONGEST),
                               dsql_i64(9), dsql_bytes("d", 1), dsql_bytes("Proto3", 6)};
    struct dsql_script_call call = {DSQL_OP_UpdateTaskQueueUserData, row, 1, NULL};
    struct dsql_script_failure failure = {0};
    enum dsql_rc rc = dsql_store_run_script(fix.store, "ids", &call, 1, NULL, NULL, &failure, &err);
    REQUIRE(rc == DSQL_CONDITION_FAILED && failure.why == DSQL_SCRIPT_WRONG, "%s, why %d",
            dsql_rc_name(rc), (int)failure.why);
    dsql_result_fini(&failure.found);
}

static void live_in_build_ids(void)
{
    struct dsql_param ns = dsql_bytes(some_id.bytes, sizeof(some_id.bytes));
    struct dsql_param rows[IDS * 3];
    struct dsql_result result = {0};
    fixture_sql(&fix, "DELETE FROM build_id_to_task_queue");
    for (size_t queue = 0; queue < IDS; queue++) {
        for (size_t i = 0; i < IDS; i++) {
            struct dsql_param row[] = {ns, id_of(queue), id_of(i)};
            memcpy(rows + 3 * i, row, sizeof(row));
        }
        run(DSQL_OP_AddToBuildIdToTaskQueueMapping, rows, IDS, NULL);
    }
    for (size_t i = 0; i < IDS; i++) {
        struct dsql_param ask[] = {ns, id_of(i)};
        run(DSQL_OP_GetTaskQueuesByBuildId, ask, 1, &result);
        REQUIRE(told(&result, 0) == all);
    }
    for (size_t queue = 0; queue < IDS; queue++) {
        for (size_t i = 0; i < IDS; i++)
            rows[3 * i + 1] = id_of(queue);
        run(DSQL_OP_RemoveFromBuildIdToTaskQueueMapping, rows, queue == 0 ? IDS : IDS - 1, NULL);
        struct dsql_param ask[] = {ns, id_of(IDS - 1)};
        run(DSQL_OP_GetTaskQueuesByBuildId, ask, 1, &result);
        REQUIRE(told(&result, 0) == (all & ~1u)); /* the first queue lost them all */
    }
    dsql_result_fini(&result);
    REQUIRE(fixture_sql(&fix, "SELECT count(*) FROM build_id_to_task_queue") == IDS - 1);
    fixture_sql(&fix, "DELETE FROM build_id_to_task_queue");
}

/* -- Namespaces, and requests that create executions. */

static void live_in_namespaces(void)
{
    struct dsql_result result = {0};
    struct dsql_id own[IDS];
    for (size_t i = 0; i < IDS; i++) {
        own[i] = fixture_id(&fix);
        struct dsql_param row[] = {
            dsql_i64(shard),    dsql_bytes(own[i].bytes, 16), id_of(i),   dsql_bool(false),
            dsql_bytes("d", 1), dsql_bytes("Proto3", 6),      dsql_i64(1)};
        run(DSQL_OP_InsertIntoNamespace, row, 1, NULL);
        row[2] = dsql_bytes("renamed", 7); /* and back */
        run(DSQL_OP_UpdateNamespace, row, 1, NULL);
        row[2] = id_of(i);
        run(DSQL_OP_UpdateNamespace, row, 1, NULL);
    }
    for (size_t i = 0; i < IDS; i++) {
        struct dsql_param ask[] = {dsql_i64(shard), dsql_null(), id_of(i), dsql_null(),
                                   dsql_null()};
        run(DSQL_OP_SelectFromNamespace, ask, 1, &result);
        REQUIRE(told(&result, 1) == 1u << i);
        REQUIRE(memcmp(result.data + sizeof(int32_t), own[i].bytes, 16) == 0);
        run(DSQL_OP_DeleteFromNamespace, ask, 1, NULL);
        REQUIRE(attempt(DSQL_OP_SelectFromNamespace, ask, 1, &result) != DSQL_OK ||
                result.rows == 0);
    }
    dsql_result_fini(&result);
}

static void live_in_current_executions(int64_t archetype)
{
    struct dsql_result result = {0};
    struct dsql_param ns = dsql_bytes(some_id.bytes, sizeof(some_id.bytes));
    struct dsql_param kind = archetype ? dsql_i64(archetype) : dsql_null();
    for (size_t i = 0; i < IDS; i++) {
        struct dsql_param row[] = {
            dsql_i64(shard), ns,          id_of(i),    kind,        ns,          id_of(i),
            dsql_i64(1),     dsql_i64(1), dsql_null(), dsql_i64(0), dsql_null(), dsql_null()};
        run(DSQL_OP_InsertIntoCurrentExecutions, row, 1, NULL);
    }
    for (size_t i = 0; i < IDS; i++) {
        struct dsql_param key[] = {dsql_i64(shard), ns, id_of(i), kind, ns};
        run(DSQL_OP_SelectFromCurrentExecutions, key, 1, &result);
        REQUIRE(told(&result, 1) == 1u << i);
        run(DSQL_OP_DeleteFromCurrentExecutions, key, 1, NULL);
    }
    dsql_result_fini(&result);
}

int main(void)
{
    fixture_open(&fix, 4, NULL);
    make_ids();
    for (way = POOL; way < WAYS; way++) {
        shard = fixture_shard(&fix);
        some_id = fixture_id(&fix);
        live_in_maps();
        meet_the_same_hash();
        live_in_task_queues(1);
        live_in_task_queues(2);
        live_in_user_data();
        find_what_was_there();
        live_in_build_ids();
        live_in_namespaces();
        live_in_current_executions(0);
        live_in_current_executions(7);
    }
    printf("ids: %d lengths, three ways\n", IDS);
    fixture_close(&fix);
    return 0;
}
