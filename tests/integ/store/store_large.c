/*
 * Values that do not fit a column, in every table that has one: written, read, replaced by another
 * large one and by a small one, deleted, on the pool, in a transaction and in a script. Nothing is
 * ever left in large_values, nor does a stale owner leave anything. And while a value is replaced
 * all the time, who reads it reads one that stood there. Run by store.sh.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/store.h"
#include "temporal/large.h"

enum { LARGE = 2 * DSQL_LARGE_PART + 7, BOTH = 2 * LARGE, PARTS = 3, SMALL = 5, VALUES_MAX = 16 };

static struct fixture fix;
static struct dsql_err err;
static int32_t shard;
static struct dsql_id some_id;
static unsigned char *bytes; /* LARGE of them, twice: two different values */
static char long_id[1000];   /* as long as Temporal allows, so every key is at its largest */

/* A table: how a row gets in, is changed (DSQL_OP_COUNT: the first does that, too), is read and is
 * deleted (DSQL_OP_COUNT: never). */
struct home {
    enum dsql_op insert, update, read, remove;
    int64_t kind; /* version of task queues, or archetype; 0 for NULL */
};
#define HOME(insert, update, read, remove, kind)                                                   \
    {                                                                                              \
        DSQL_OP_##insert, DSQL_OP_##update, DSQL_OP_##read, DSQL_OP_##remove, kind                 \
    }
#define MAP_HOME(name)                                                                             \
    HOME(ReplaceInto##name, COUNT, SelectAllFrom##name, DeleteFrom##name, 0),                      \
        HOME(ReplaceInto##name, COUNT, SelectAllFrom##name, DeleteAllFrom##name, 0),               \
        HOME(ReplaceInto##name, COUNT, SelectAllFrom##name, KeepIn##name, 0)
#define TASKS_HOME(name)                                                                           \
    HOME(InsertInto##name, COUNT, RangeSelectFrom##name, DeleteFrom##name, 0),                     \
        HOME(InsertInto##name, COUNT, RangeSelectFrom##name, RangeDeleteFrom##name, 0)
static const struct home homes[] = {
    HOME(InsertIntoShards, UpdateShards, SelectFromShards, COUNT, 0),
    HOME(InsertIntoExecutions, UpdateExecutions, SelectFromExecutions, DeleteFromExecutions, 0),
    HOME(InsertIntoCurrentExecutions, UpdateCurrentExecutions, SelectFromCurrentExecutions,
         DeleteFromCurrentExecutions, 0),
    HOME(InsertIntoCurrentExecutions, UpdateCurrentExecutions, SelectFromCurrentExecutions,
         DeleteFromCurrentExecutions, 7),
    HOME(InsertIntoHistoryNode, COUNT, RangeSelectFromHistoryNode, DeleteFromHistoryNode, 0),
    HOME(InsertIntoHistoryNode, COUNT, RangeSelectFromHistoryNode, RangeDeleteFromHistoryNode, 0),
    HOME(InsertIntoHistoryTree, COUNT, SelectFromHistoryTree, DeleteFromHistoryTree, 0),
    MAP_HOME(ActivityInfoMaps),
    MAP_HOME(TimerInfoMaps),
    MAP_HOME(ChildExecutionInfoMaps),
    MAP_HOME(RequestCancelInfoMaps),
    MAP_HOME(SignalInfoMaps),
    MAP_HOME(ChasmNodeMaps),
    HOME(InsertIntoBufferedEvents, COUNT, SelectFromBufferedEvents, DeleteFromBufferedEvents, 0),
    TASKS_HOME(HistoryImmediateTasks),
    TASKS_HOME(HistoryScheduledTasks),
    TASKS_HOME(TransferTasks),
    TASKS_HOME(TimerTasks),
    TASKS_HOME(ReplicationTasks),
    TASKS_HOME(VisibilityTasks),
    TASKS_HOME(ReplicationDLQTasks),
    HOME(InsertIntoTasks, COUNT, SelectFromTasks, DeleteFromTasks, 0),
    HOME(InsertIntoTasksV2, COUNT, SelectFromTasksV2, DeleteFromTasksV2, 0),
    HOME(InsertIntoTaskQueues, UpdateTaskQueues, SelectFromTaskQueues, DeleteFromTaskQueues, 1),
    HOME(InsertIntoTaskQueues, UpdateTaskQueues, SelectFromTaskQueues, DeleteFromTaskQueues, 2),
    HOME(UpdateTaskQueueUserData, UpdateTaskQueueUserData, GetTaskQueueUserData, COUNT, 0),
    HOME(InsertIntoNamespace, UpdateNamespace, SelectFromNamespace, DeleteFromNamespace, 0),
    HOME(SaveClusterMetadata, SaveClusterMetadata, GetClusterMetadata, DeleteClusterMetadata, 0),
    HOME(InsertIntoMessages, COUNT, SelectFromMessages, DeleteFromMessages, 0),
    HOME(InsertIntoMessages, COUNT, RangeSelectFromMessages, RangeDeleteFromMessages, 0),
    HOME(InsertIntoQueueMetadata, UpdateQueueMetadata, SelectFromQueueMetadata, COUNT, 0),
    HOME(InsertIntoQueueV2Metadata, UpdateQueueV2Metadata, SelectFromQueueV2Metadata, COUNT, 0),
    HOME(InsertIntoQueueV2Messages, COUNT, RangeSelectFromQueueV2Messages,
         RangeDeleteFromQueueV2Messages, 0),
    HOME(InsertIntoNexusEndpoints, UpdateNexusEndpoint, GetNexusEndpointByID,
         DeleteFromNexusEndpoints, 0),
};

/* Of the home that is looked at. */
static const struct home *home;
static int64_t version;

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
    size_t len = strlen(text), tail = strlen(with);
    return len >= tail && strcmp(text + len - tail, with) == 0;
}

/* A value for a field by its name, always the same one, so that all operations name one row. */
static struct dsql_param value_of(const struct dsql_op_info *op, size_t at, const void *data,
                                  size_t len)
{
    const struct dsql_op_field *field = &op->fields[at];
    const char *name = field->name;
    if (dsql_large_may_be(op->fields, op->field_count, at))
        return dsql_bytes(data, len);
    if (strcmp(name, "shard_id") == 0)
        return dsql_i64(shard);
    if (strcmp(name, "version") == 0)
        return dsql_i64(home->kind ? home->kind : version);
    if (strcmp(name, "archetype_id") == 0)
        return home->kind ? dsql_i64(home->kind) : dsql_null();
    if (starts(name, "max_") || ends(name, "_to") || strcmp(name, "limit") == 0 ||
        strcmp(name, "page_size") == 0)
        return dsql_i64(100);
    if (starts(name, "min_") || field->type == DSQL_COLUMN_BOOL)
        return dsql_i64(0);
    if (ends(name, "_after") && !field->nullable)
        return dsql_i64(0);
    bool is_key = strcmp(name, "id") == 0 && field->type == DSQL_COLUMN_UUID;
    if (field->nullable && !is_key && !ends(name, "_encoding") &&
        strcmp(name, "task_queue_id") != 0)
        return dsql_null();
    if (field->type == DSQL_COLUMN_UUID)
        return dsql_bytes(some_id.bytes, sizeof(some_id.bytes));
    bool another = op->flags & DSQL_FLAG_GATHERS && at == op->field_count - 1; /* which is kept */
    if (field->type == DSQL_COLUMN_ID || field->type == DSQL_COLUMN_KEY)
        return dsql_bytes(long_id, another ? sizeof(long_id) - 2 : sizeof(long_id));
    if (field->type == DSQL_COLUMN_TEXT)
        return dsql_bytes("Proto3", 6);
    return dsql_i64(another ? 2 : 1);
}

static void call(enum way way, enum dsql_op id, const void *data, size_t len,
                 struct dsql_result *result)
{
    const struct dsql_op_info *op = dsql_op_info(id);
    struct dsql_param values[VALUES_MAX];
    REQUIRE(op->given_count <= VALUES_MAX);
    for (size_t i = 0; i < op->given_count; i++)
        values[i] = value_of(op, i, data, len);
    bool in_portions_only = op->statement_count == 0;
    fixture_call(&fix, way == SCRIPT && in_portions_only ? POOL : way, id, values, 1, result);
}

/* How many values a row of the table has. */
static int64_t values_in(enum dsql_op read)
{
    const struct dsql_op_info *op = dsql_op_info(read);
    int64_t n = 0;
    for (size_t i = 0; i < op->column_count; i++)
        n += dsql_large_may_be(op->columns, op->column_count, i);
    return n;
}

static int64_t parts(void)
{
    return fixture_sql(&fix, "SELECT count(*) FROM large_values");
}

/* The only row holds this value, with its encoding. */
static void expect_value(enum way way, const void *data, size_t len)
{
    const struct dsql_op_info *op = dsql_op_info(home->read);
    struct dsql_result result = {0};
    call(way, home->read, NULL, 0, &result);
    REQUIRE(result.rows == 1, "%s: %zu rows", op->name, result.rows);
    size_t at = 0;
    for (size_t i = 0; i < op->column_count; i++) {
        int32_t got;
        memcpy(&got, result.data + at, sizeof(got));
        const unsigned char *value = result.data + at + sizeof(got);
        at += sizeof(got) + (got > 0 ? (size_t)got : 0);
        if (dsql_large_may_be(op->columns, op->column_count, i))
            REQUIRE(got == (int32_t)len && memcmp(value, data, len) == 0, "%s: %s: %d of %zu bytes",
                    op->name, op->columns[i].name, got, len);
        else if (ends(op->columns[i].name, "_encoding"))
            REQUIRE(got == 6 && memcmp(value, "Proto3", 6) == 0, "%s: %s", op->name,
                    op->columns[i].name);
    }
    REQUIRE(at == result.len, "%zu of %zu bytes", at, result.len);
    dsql_result_fini(&result);
}

static void change(enum way way, enum dsql_op op, const void *data, size_t len)
{
    call(way, op, data, len, NULL);
    version += op != DSQL_OP_InsertIntoQueueMetadata;
    expect_value(way, data, len);
    int64_t wanted = len == LARGE ? PARTS * values_in(home->read) : 0;
    REQUIRE(parts() == wanted, "%s: %lld parts", dsql_op_name(op), (long long)parts());
}

static bool replaces(enum dsql_op op)
{
    return dsql_op_info(op)->statements[0].clear.sql != NULL;
}

static void live(enum way way)
{
    enum dsql_op update = home->update;
    version = 0;
    change(way, home->insert, bytes, LARGE);
    if (update == DSQL_OP_COUNT && replaces(home->insert))
        update = home->insert;
    if (update != DSQL_OP_COUNT) {
        change(way, update, bytes + LARGE, LARGE);
        change(way, update, "small", SMALL);
        change(way, update, bytes, LARGE);
    }
    if (home->remove != DSQL_OP_COUNT)
        call(way, home->remove, NULL, 0, NULL);
    else
        change(way, update, "small", SMALL);
    REQUIRE(parts() == 0, "%s: %lld parts are left", dsql_op_name(home->insert),
            (long long)parts());
}

/* -- A stale owner leaves no parts behind: they are written in the transaction of their row. */

static struct dsql_param execution[11]; /* InsertIntoExecutions; the version is the sixth */

static void take_over(void)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "UPDATE shards SET range_id = range_id + 1 WHERE shard_id = %d",
             shard);
    fixture_sql(&fix, sql);
}

static void write_stale_script(enum dsql_op op, const struct dsql_param *expect)
{
    struct dsql_param range[] = {dsql_i64(shard), dsql_i64(1)}; /* where it no longer is */
    struct dsql_script_call calls[] = {{op, execution, 1, expect},
                                       {DSQL_OP_ExpectShard, range, 1, NULL}};
    REQUIRE(dsql_store_run_script(fix.store, "stale", calls, 2, NULL, NULL, NULL, &err) ==
            DSQL_CONDITION_FAILED);
}

static void write_stale_tx(enum dsql_op op)
{
    struct dsql_store_tx *tx;
    struct dsql_param key[] = {dsql_i64(shard)};
    REQUIRE_OK(dsql_store_begin(fix.store, "stale", NULL, &tx, &err));
    REQUIRE_OK(dsql_store_call(fix.store, tx, DSQL_OP_ReadLockShards, key, 1, NULL, NULL, &err));
    REQUIRE_OK(dsql_store_call(fix.store, tx, op, execution, 1, NULL, NULL, &err));
    take_over();
    REQUIRE(dsql_store_commit(tx, &err) == DSQL_CONFLICT);
}

static void leave_nothing(void)
{
    shard = fixture_shard(&fix);
    some_id = fixture_id(&fix);
    struct dsql_InsertIntoShards first = {shard, 2, dsql_slice_str("x"), dsql_slice_str("Proto3")};
    REQUIRE_OK(dsql_call_InsertIntoShards(fix.store, NULL, &first, 1, NULL, &err));
    const struct dsql_param values[] = {dsql_i64(shard),     dsql_bytes(&some_id, sizeof(some_id)),
                                        dsql_bytes("wf", 2), dsql_bytes(&some_id, sizeof(some_id)),
                                        dsql_i64(1),         dsql_i64(1),
                                        dsql_i64(1),         dsql_bytes(bytes, LARGE),
                                        dsql_bytes("P", 1),  dsql_bytes(bytes, SMALL),
                                        dsql_bytes("P", 1)};
    memcpy(execution, values, sizeof(values));
    write_stale_script(DSQL_OP_InsertIntoExecutions, NULL);
    write_stale_tx(DSQL_OP_InsertIntoExecutions);
    REQUIRE(parts() == 0);
    /* What stands there stays whole. */
    REQUIRE_OK(dsql_store_call(fix.store, NULL, DSQL_OP_InsertIntoExecutions, execution, 1, NULL,
                               NULL, &err));
    struct dsql_param before[] = {dsql_i64(1), dsql_null()};
    write_stale_script(DSQL_OP_UpdateExecutions, before);
    write_stale_tx(DSQL_OP_UpdateExecutions);
    execution[7] = dsql_bytes(bytes, SMALL);
    write_stale_script(DSQL_OP_UpdateExecutions, before);
    write_stale_tx(DSQL_OP_UpdateExecutions);
    REQUIRE(parts() == PARTS, "%lld parts", (long long)parts());
    REQUIRE_OK(dsql_store_call(fix.store, NULL, DSQL_OP_DeleteFromExecutions, execution, 1, NULL,
                               NULL, &err));
    REQUIRE(parts() == 0);
}

/* An update of a row that is not there changes nothing, and leaves no parts behind. */
static void update_nothing(void)
{
    some_id = fixture_id(&fix);
    const struct dsql_param values[] = {dsql_i64(1),
                                        dsql_bytes(&some_id, sizeof(some_id)),
                                        dsql_bytes("nowhere", 7),
                                        dsql_bool(false),
                                        dsql_bytes(bytes, LARGE),
                                        dsql_bytes("P", 1),
                                        dsql_i64(1)};
    for (enum way way = POOL; way <= TX; way++) {
        struct dsql_result result = {0};
        fixture_call(&fix, way, DSQL_OP_UpdateNamespace, values, 1, &result);
        REQUIRE(result.affected == 0, "%lld rows", (long long)result.affected);
        REQUIRE(parts() == 0, "%lld parts without a row", (long long)parts());
    }
}

/* -- Who reads while others write. */

static void *replace_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < 40; i++) {
        struct dsql_UpdateNexusEndpoint write = {some_id, 1 + i,
                                                 dsql_slice(i % 2 ? bytes + LARGE : bytes, LARGE),
                                                 dsql_slice_str("Proto3")};
        struct dsql_err why;
        enum dsql_rc rc = dsql_call_UpdateNexusEndpoint(fix.store, NULL, &write, 1, NULL, &why);
        REQUIRE(rc == DSQL_OK, "%s", why.message);
    }
    return NULL;
}

static void read_while_replaced(void)
{
    pthread_t writer;
    struct dsql_GetNexusEndpointByID key = {some_id};
    struct dsql_GetNexusEndpointByID_row row = {.version = 0};
    struct dsql_result result = {0};
    struct dsql_InsertIntoNexusEndpoints first = {some_id, dsql_slice(bytes + LARGE, LARGE),
                                                  dsql_slice_str("Proto3")};
    REQUIRE_OK(dsql_call_InsertIntoNexusEndpoints(fix.store, NULL, &first, 1, NULL, &err));
    REQUIRE(pthread_create(&writer, NULL, replace_often, NULL) == 0);
    while (row.version < 41) {
        REQUIRE_OK(dsql_call_GetNexusEndpointByID(fix.store, NULL, &key, &result, &err));
        REQUIRE(dsql_next_GetNexusEndpointByID(&result, &row));
        const unsigned char *stood = bytes + (row.version % 2 ? LARGE : 0);
        REQUIRE(row.data.len == LARGE && memcmp(row.data.ptr, stood, LARGE) == 0,
                "version %lld: %zu bytes", (long long)row.version, row.data.len);
    }
    REQUIRE(pthread_join(writer, NULL) == 0);
    struct dsql_DeleteFromNexusEndpoints gone = {some_id};
    REQUIRE_OK(dsql_call_DeleteFromNexusEndpoints(fix.store, NULL, &gone, 1, NULL, &err));
    REQUIRE(parts() == 0);
    dsql_result_fini(&result);
}

/* -- Tasks that share rows. */

enum { TASKS = 900, GAP = 333 }; /* one id is left out */

static int64_t task_id(int64_t n)
{
    return 1000 + n + (n >= GAP);
}

static void insert_tasks(enum way way)
{
    static struct dsql_param values[TASKS * 4];
    static char names[TASKS][8];
    struct dsql_result result = {0};
    for (int64_t i = 0; i < TASKS; i++) {
        int len = snprintf(names[i], sizeof(names[i]), "%lld", (long long)task_id(i));
        struct dsql_param one[] = {dsql_i64(shard), dsql_i64(task_id(i)),
                                   dsql_bytes(names[i], (size_t)len), dsql_bytes("Proto3", 6)};
        memcpy(values + i * 4, one, sizeof(one));
    }
    fixture_call(&fix, way, DSQL_OP_InsertIntoTransferTasks, values, TASKS, &result);
    REQUIRE(result.affected == TASKS, "%lld of %d", (long long)result.affected, TASKS);
    dsql_result_fini(&result);
}

/* The tasks in [from, to) that were not deleted, by pages of that size. */
static void expect_tasks(int64_t deleted, int64_t from, int64_t to, int64_t page)
{
    struct dsql_result result = {0};
    int64_t at = from;
    int64_t next = 0;
    size_t rows;
    do {
        struct dsql_RangeSelectFromTransferTasks range = {shard, at, to, page};
        struct dsql_RangeSelectFromTransferTasks_row row;
        REQUIRE_OK(dsql_call_RangeSelectFromTransferTasks(fix.store, NULL, &range, &result, &err));
        rows = result.rows;
        while (dsql_next_RangeSelectFromTransferTasks(&result, &row)) {
            while (next < TASKS && (task_id(next) < from || task_id(next) < deleted))
                next++;
            REQUIRE(next < TASKS && row.task_id == task_id(next) && row.task_id < to,
                    "%lld in [%lld, %lld), not %lld", (long long)row.task_id, (long long)from,
                    (long long)to, (long long)task_id(next));
            char name[8];
            int len = snprintf(name, sizeof(name), "%lld", (long long)row.task_id);
            REQUIRE(row.data.len == (size_t)len && memcmp(row.data.ptr, name, (size_t)len) == 0);
            at = row.task_id + 1;
            next++;
        }
        REQUIRE((int64_t)rows <= page);
    } while ((int64_t)rows == page);
    while (next < TASKS && (task_id(next) < from || task_id(next) < deleted))
        next++;
    REQUIRE(next == TASKS || task_id(next) >= to, "%lld is missing in [%lld, %lld)",
            (long long)task_id(next), (long long)from, (long long)to);
    dsql_result_fini(&result);
}

static void share_rows(enum way way)
{
    char sql[120];
    shard = fixture_shard(&fix);
    insert_tasks(way);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM transfer_tasks WHERE shard_id = %d", shard);
    REQUIRE(fixture_sql(&fix, sql) == 5, "%lld rows", (long long)fixture_sql(&fix, sql));
    expect_tasks(0, 0, INT64_MAX, 100);
    expect_tasks(0, 0, INT64_MAX, 7);
    struct dsql_DeleteFromTransferTasks last = {shard,
                                                task_id(GAP - 1)}; /* of a pack, which stays */
    REQUIRE_OK(dsql_call_DeleteFromTransferTasks(fix.store, NULL, &last, 1, NULL, &err));
    expect_tasks(0, 0, INT64_MAX, 100);
    int64_t deleted = 0;
    for (int round = 0; round < 25; round++) {
        int64_t from = dsql_rng_between(&fix.rng, deleted, 1950);
        int64_t to = dsql_rng_between(&fix.rng, from, 2000);
        expect_tasks(deleted, from, to, dsql_rng_between(&fix.rng, 1, 300));
        /* Tasks are completed from below; what a pack still holds of them is never read again. */
        int64_t end = dsql_rng_between(&fix.rng, deleted, deleted + 90);
        struct dsql_RangeDeleteFromTransferTasks range = {shard, deleted, end};
        REQUIRE_OK(dsql_call_RangeDeleteFromTransferTasks(fix.store, NULL, &range, 1, NULL, &err));
        deleted = end;
        expect_tasks(deleted, deleted, INT64_MAX, 50);
    }
    struct dsql_RangeDeleteFromTransferTasks all = {shard, deleted, 3000};
    REQUIRE_OK(dsql_call_RangeDeleteFromTransferTasks(fix.store, NULL, &all, 1, NULL, &err));
    REQUIRE(fixture_sql(&fix, sql) == 0);
}

/* What would look like a ticket is refused, and so is an encoding that leaves no room for the mark.
 */
static void refuse_marks(void)
{
    struct dsql_slice large = dsql_slice(bytes, LARGE), small = dsql_slice_str("x");
    const struct dsql_InsertIntoShards bad[] = {
        {shard, 1, small, dsql_slice_str("+Proto3")},
        {shard, 1, small, dsql_slice_str("*")},
        {shard, 1, large, dsql_slice_str("an encoding of 15")},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(bad); i++)
        REQUIRE(dsql_call_InsertIntoShards(fix.store, NULL, &bad[i], 1, NULL, &err) ==
                DSQL_INVALID);
}

int main(void)
{
    bytes = malloc(BOTH);
    REQUIRE(bytes != NULL);
    fixture_open(&fix, 4, NULL);
    dsql_random_bytes(bytes, BOTH);
    for (size_t i = 0; i < sizeof(long_id); i++)
        long_id[i] = i % 2 ? '\xa9' : '\xc3';
    REQUIRE(parts() == 0);
    for (enum way way = POOL; way < WAYS; way++)
        for (home = homes; home < homes + DSQL_COUNT_OF(homes); home++) {
            shard = fixture_shard(&fix);
            some_id = fixture_id(&fix);
            fixture_sql(&fix, "DELETE FROM queue_metadata");
            fixture_sql(&fix, "DELETE FROM queues");
            live(way);
        }
    refuse_marks();
    leave_nothing();
    update_nothing();
    read_while_replaced();
    for (enum way way = POOL; way < WAYS; way++)
        share_rows(way);
    printf("large values: %zu homes, three ways; shard lock %d\n", DSQL_COUNT_OF(homes),
           (int)dsql_store_shard_lock(fix.store));
    fixture_close(&fix);
    free(bytes);
    return 0;
}
