/*
 * Every method of the catalogue against a real database: on the pool, inside a transaction that
 * pipelines, inside one that does not. Row counts are exact, values come back as they went in, and
 * at the end no operation is left that was not called in each of the three ways.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/store.h"

static struct fixture fix;
static struct dsql_store *store;
static struct dsql_store_tx *tx;
static struct dsql_result result;
static struct dsql_err err;
static bool called[3][DSQL_OP_COUNT];
static int mode; /* 0 pool, 1 pipelined, 2 one by one */

#define STR(text) dsql_slice_str(text)

/* Changes rows: so many, or it is not known yet. */
#define EXEC_N(name, n, inputs, count)                                                             \
    do {                                                                                           \
        called[mode][DSQL_OP_##name] = true;                                                       \
        REQUIRE_OK(dsql_call_##name(store, tx, inputs, count, &result, &err));                     \
        REQUIRE(result.affected == (n) || (mode == 1 && result.affected == -1), "%lld rows",       \
                (long long)result.affected);                                                       \
    } while (0)
#define EXEC(name, n, ...)                                                                         \
    do {                                                                                           \
        struct dsql_##name input_ = {__VA_ARGS__};                                                 \
        EXEC_N(name, n, &input_, 1);                                                               \
    } while (0)
/* Returns rows; `row` is the first. */
#define QUERY(name, n, row, ...)                                                                   \
    do {                                                                                           \
        struct dsql_##name input_ = {__VA_ARGS__};                                                 \
        called[mode][DSQL_OP_##name] = true;                                                       \
        REQUIRE_OK(dsql_call_##name(store, tx, &input_, &result, &err));                           \
        REQUIRE(result.rows == (size_t)(n), "%zu rows", result.rows);                              \
        (void)dsql_next_##name(&result, row);                                                      \
    } while (0)
#define QUERY_RC(name, wanted, ...)                                                                \
    do {                                                                                           \
        struct dsql_##name input_ = {__VA_ARGS__};                                                 \
        enum dsql_rc got_ = dsql_call_##name(store, tx, &input_, &result, &err);                   \
        called[mode][DSQL_OP_##name] = true;                                                       \
        REQUIRE(got_ == (wanted), "%s: %s", dsql_rc_name(got_), err.message);                      \
    } while (0)
/* A duplicate ends a transaction: only on the pool. */
#define EXEC_RC(name, wanted, ...)                                                                 \
    do {                                                                                           \
        struct dsql_##name input_ = {__VA_ARGS__};                                                 \
        enum dsql_rc got_ = dsql_call_##name(store, tx, &input_, 1, &result, &err);                \
        REQUIRE(got_ == (wanted), "%s: %s", dsql_rc_name(got_), err.message);                      \
    } while (0)
/* Its own token does not hold, and the error says of what. */
#define LOSES(name, what, ...)                                                                     \
    do {                                                                                           \
        EXEC_RC(name, DSQL_CONDITION_FAILED, __VA_ARGS__);                                         \
        REQUIRE(result.affected == 0);                                                             \
        REQUIRE(strcmp(err.entity, what) == 0 && *err.key, "%s, %s", err.entity, err.key);         \
    } while (0)
#define SAME(slice, text)                                                                          \
    REQUIRE((slice).len == strlen(text) && memcmp((slice).ptr, text, strlen(text)) == 0)
#define SAME_ID(a, b) REQUIRE(memcmp(&(a), &(b), sizeof(struct dsql_id)) == 0)

static int32_t shard;
static struct dsql_id ns, run, tree, branch;

static void shards(void)
{
    struct dsql_SelectFromShards_row row;
    struct dsql_ReadLockShards_row read;
    struct dsql_WriteLockShards_row write;
    QUERY_RC(SelectFromShards, DSQL_NOT_FOUND, shard);
    QUERY_RC(ReadLockShards, DSQL_NOT_FOUND, shard);
    EXEC(InsertIntoShards, 1, shard, 7, STR("data"), STR("enc"));
    if (!tx)
        EXEC_RC(InsertIntoShards, DSQL_DUPLICATE, shard, 8, STR("x"), STR("y"));
    QUERY(SelectFromShards, 1, &row, shard);
    REQUIRE(row.range_id == 7);
    SAME(row.data, "data");
    SAME(row.data_encoding, "enc");
    QUERY(ReadLockShards, 1, &read, shard);
    QUERY(WriteLockShards, 1, &write, shard);
    EXEC(ExpectShard, 1, shard, 7);
    if (!tx) {
        LOSES(ExpectShard, "shard", shard, 8);
        LOSES(ExpectShard, "shard", fixture_shard(&fix), 7);
    }
    REQUIRE(read.range_id == 7 && write.range_id == 7);
    EXEC(UpdateShards, 1, shard, 8, STR("more"), STR("e2"));
    EXEC(UpdateShards, 1, shard, 9, STR(""), STR("")); /* its own token is the new one */
    QUERY(SelectFromShards, 1, &row, shard);
    REQUIRE(row.range_id == 9 && row.data.ptr && row.data.len == 0);
    if (!tx)
        EXEC(UpdateShards, 0, fixture_shard(&fix), 1, STR("x"), STR("y"));
}

static void executions(void)
{
    struct dsql_SelectFromExecutions_row row;
    struct dsql_WriteLockExecutions_row lock;
    struct dsql_ReadLockExecutions_row read;
    QUERY_RC(SelectFromExecutions, DSQL_NOT_FOUND, shard, ns, STR("wf"), run);
    QUERY_RC(WriteLockExecutions, DSQL_NOT_FOUND, shard, ns, STR("wf"), run);
    EXEC(InsertIntoExecutions, 1, shard, ns, STR("wf"), run, 1, 2, 3, STR("d"), STR("e"), STR("s"),
         STR("se"));
    QUERY(SelectFromExecutions, 1, &row, shard, ns, STR("wf"), run);
    REQUIRE(row.db_record_version == 1 && row.next_event_id == 2 && row.last_write_version == 3);
    SAME(row.state, "s");
    SAME(row.state_encoding, "se");
    QUERY(WriteLockExecutions, 1, &lock, shard, ns, STR("wf"), run);
    REQUIRE(lock.db_record_version == 1 && lock.next_event_id == 2);
    QUERY(ReadLockExecutions, 1, &read, shard, ns, STR("wf"), run);
    EXEC(ExpectLastWriteVersion, 1, shard, ns, STR("wf"), run, 3);
    if (!tx)
        LOSES(ExpectLastWriteVersion, "execution", shard, ns, STR("wf"), run, 4);
    EXEC(UpdateExecutions, 1, shard, ns, STR("wf"), run, 2, 5, 6, STR("d2"), STR("e2"), STR("s2"),
         STR("se2"));
    QUERY(SelectFromExecutions, 1, &row, shard, ns, STR("wf"), run);
    REQUIRE(row.db_record_version == 2 && row.next_event_id == 5 && row.last_write_version == 6);
}

/* archetype NULL: current_executions; otherwise current_chasm_executions. */
static void current(int64_t archetype)
{
    struct dsql_SelectFromCurrentExecutions_row row;
    struct dsql_LockCurrentExecutions_row lock;
    struct dsql_LockCurrentExecutionsJoinExecutions_row join;
    struct dsql_id other = fixture_id(&fix);
    struct dsql_slice none = {NULL, 0};
    QUERY(LockCurrentExecutionsJoinExecutions, 0, &join, shard, ns, STR("wf"), archetype);
    QUERY_RC(LockCurrentExecutions, DSQL_NOT_FOUND, shard, ns, STR("wf"), archetype);
    EXEC(InsertIntoCurrentExecutions, 1, shard, ns, STR("wf"), archetype, run, STR("req"), 1, 2,
         DSQL_NULL_I64, 30, none, none);
    QUERY(SelectFromCurrentExecutions, 1, &row, shard, ns, STR("wf"), archetype);
    SAME_ID(row.run_id, run);
    REQUIRE(row.start_time == DSQL_NULL_I64 && !row.data.ptr && !row.data_encoding.ptr);
    REQUIRE(row.state == 1 && row.status == 2 && row.last_write_version == 30);
    QUERY(LockCurrentExecutionsJoinExecutions, 1, &join, shard, ns, STR("wf"), archetype);
    SAME_ID(join.run_id, run);
    REQUIRE(join.last_write_version == 6, "%lld", (long long)join.last_write_version);
    QUERY(LockCurrentExecutions, 1, &lock, shard, ns, STR("wf"), archetype);
    EXEC(ExpectCurrentExecution, 1, shard, ns, STR("wf"), archetype, run, 1);
    EXEC(ExpectCurrentExecution, 1, shard, ns, STR("wf"), archetype, run, DSQL_NULL_I64);
    EXEC(ExpectOtherCurrentExecution, 1, shard, ns, STR("wf"), archetype, other);
    EXEC(ExpectOtherCurrentExecution, 1, shard, ns, STR("none"), archetype, run);
    if (!tx) {
        LOSES(ExpectCurrentExecution, "current execution", shard, ns, STR("wf"), archetype, run, 2);
        LOSES(ExpectCurrentExecution, "current execution", shard, ns, STR("wf"), archetype, other,
              1);
        LOSES(ExpectOtherCurrentExecution, "current execution", shard, ns, STR("wf"), archetype,
              run);
    }
    EXEC(UpdateCurrentExecutions, 1, shard, ns, STR("wf"), archetype, other, STR("req2"), 3, 4,
         INT64_C(1234567890123456), 31, STR("d"), STR("e"));
    QUERY(SelectFromCurrentExecutions, 1, &row, shard, ns, STR("wf"), archetype);
    SAME_ID(row.run_id, other);
    REQUIRE(row.start_time == INT64_C(1234567890123456));
    /* Its run has no execution: the JOIN would not see it. */
    QUERY(LockCurrentExecutionsJoinExecutions, 0, &join, shard, ns, STR("wf"), archetype);
    EXEC(DeleteFromCurrentExecutions, 0, shard, ns, STR("wf"), archetype, run);
    EXEC(DeleteFromCurrentExecutions, 1, shard, ns, STR("wf"), archetype, other);
    QUERY_RC(SelectFromCurrentExecutions, DSQL_NOT_FOUND, shard, ns, STR("wf"), archetype);
    QUERY_RC(SelectFromCurrentExecutions, DSQL_INVALID, shard, ns, STR("wf"), 0);
}

#define MAP(Name, key_a, key_b, compare)                                                           \
    do {                                                                                           \
        struct dsql_SelectAllFrom##Name##_row row_;                                                \
        struct dsql_ReplaceInto##Name rows_[] = {                                                  \
            {shard, ns, STR("wf"), run, key_a, STR("a"), STR("e")},                                \
            {shard, ns, STR("wf"), run, key_b, STR("b"), {NULL, 0}}};                              \
        struct dsql_DeleteFrom##Name keys_[] = {{shard, ns, STR("wf"), run, key_a},                \
                                                {shard, ns, STR("wf"), run, key_b}};               \
        EXEC_N(ReplaceInto##Name, 2, rows_, 2);                                                    \
        rows_[0].data = STR("changed");                                                            \
        EXEC_N(ReplaceInto##Name, 1, rows_, 1);                                                    \
        QUERY(SelectAllFrom##Name, 2, &row_, shard, ns, STR("wf"), run);                           \
        do {                                                                                       \
            bool first_ = compare(row_, key_a);                                                    \
            SAME(row_.data, first_ ? "changed" : "b");                                             \
            REQUIRE(first_ == (row_.data_encoding.ptr != NULL));                                   \
        } while (dsql_next_SelectAllFrom##Name(&result, &row_));                                   \
        EXEC_N(DeleteFrom##Name, 2, keys_, 2);                                                     \
        QUERY(SelectAllFrom##Name, 0, &row_, shard, ns, STR("wf"), run);                           \
        /* Inputs of different executions: each deletes what it names, and nothing else. */        \
        struct dsql_id other_ = fixture_id(&fix);                                                  \
        EXEC_N(ReplaceInto##Name, 2, rows_, 2);                                                    \
        rows_[0].run_id = rows_[1].run_id = other_;                                                \
        EXEC_N(ReplaceInto##Name, 2, rows_, 2);                                                    \
        rows_[0].run_id = rows_[1].run_id = run;                                                   \
        keys_[1].run_id = other_;                                                                  \
        EXEC_N(DeleteFrom##Name, 2, keys_, 2);                                                     \
        QUERY(SelectAllFrom##Name, 1, &row_, shard, ns, STR("wf"), run);                           \
        REQUIRE(!compare(row_, key_a));                                                            \
        QUERY(SelectAllFrom##Name, 1, &row_, shard, ns, STR("wf"), other_);                        \
        REQUIRE(compare(row_, key_a));                                                             \
        EXEC(DeleteAllFrom##Name, 1, shard, ns, STR("wf"), run);                                   \
        EXEC(DeleteAllFrom##Name, 1, shard, ns, STR("wf"), other_);                                \
        EXEC_N(ReplaceInto##Name, 2, rows_, 2);                                                    \
        /* All but these stay, of one execution. */                                                \
        struct dsql_KeepIn##Name keep_[] = {{shard, ns, STR("wf"), run, key_a},                    \
                                            {shard, ns, STR("wf"), run, key_b}};                   \
        EXEC_N(KeepIn##Name, 0, keep_, 2);                                                         \
        QUERY(SelectAllFrom##Name, 2, &row_, shard, ns, STR("wf"), run);                           \
        EXEC_N(KeepIn##Name, 1, keep_ + 1, 1);                                                     \
        QUERY(SelectAllFrom##Name, 1, &row_, shard, ns, STR("wf"), run);                           \
        REQUIRE(!compare(row_, key_a));                                                            \
        keep_[1].run_id = other_;                                                                  \
        REQUIRE(dsql_call_KeepIn##Name(fix.store, tx, keep_, 2, NULL, &err) == DSQL_INVALID);      \
        REQUIRE(dsql_call_KeepIn##Name(fix.store, tx, keep_, 0, NULL, &err) == DSQL_INVALID);      \
        EXEC_N(ReplaceInto##Name, 2, rows_, 2);                                                    \
        EXEC(DeleteAllFrom##Name, 2, shard, ns, STR("wf"), run);                                   \
        QUERY(SelectAllFrom##Name, 0, &row_, shard, ns, STR("wf"), run);                           \
    } while (0)
#define BY_SCHEDULE(row, key)  ((row).schedule_id == (key))
#define BY_INITIATED(row, key) ((row).initiated_id == (key))
#define BY_TIMER(row, key)     ((row).timer_id.len == (key).len)

static void maps(void)
{
    MAP(ActivityInfoMaps, 5, -6, BY_SCHEDULE);
    MAP(ChildExecutionInfoMaps, 5, 6, BY_INITIATED);
    MAP(RequestCancelInfoMaps, 5, 6, BY_INITIATED);
    MAP(SignalInfoMaps, 5, 6, BY_INITIATED);
    MAP(TimerInfoMaps, STR("one"), STR("other"), BY_TIMER);

    struct dsql_ReplaceIntoSignalsRequestedSets sets[] = {{shard, ns, STR("wf"), run, STR("s1")},
                                                          {shard, ns, STR("wf"), run, STR("s2")}};
    struct dsql_SelectAllFromSignalsRequestedSets_row set;
    EXEC_N(ReplaceIntoSignalsRequestedSets, 2, sets, 2);
    EXEC_N(ReplaceIntoSignalsRequestedSets, 0, sets, 2);
    QUERY(SelectAllFromSignalsRequestedSets, 2, &set, shard, ns, STR("wf"), run);
    EXEC(KeepInSignalsRequestedSets, 1, shard, ns, STR("wf"), run, STR("s2"));
    QUERY(SelectAllFromSignalsRequestedSets, 1, &set, shard, ns, STR("wf"), run);
    SAME(set.signal_id, "s2");
    EXEC_N(ReplaceIntoSignalsRequestedSets, 1, sets, 2);
    EXEC(DeleteFromSignalsRequestedSets, 1, shard, ns, STR("wf"), run, STR("s1"));
    EXEC(DeleteAllFromSignalsRequestedSets, 1, shard, ns, STR("wf"), run);

    static const char path[] = "a\0\x01\xff/b";
    struct dsql_slice key = {path, sizeof(path) - 1}, none = {NULL, 0};
    struct dsql_SelectAllFromChasmNodeMaps_row node;
    EXEC(ReplaceIntoChasmNodeMaps, 1, shard, ns, STR("wf"), run, key, STR("m"), STR("me"), none,
         none);
    EXEC(ReplaceIntoChasmNodeMaps, 1, shard, ns, STR("wf"), run, key, STR("m2"), none, STR("d"),
         STR("e"));
    QUERY(SelectAllFromChasmNodeMaps, 1, &node, shard, ns, STR("wf"), run);
    REQUIRE(node.chasm_path.len == key.len && memcmp(node.chasm_path.ptr, path, key.len) == 0);
    SAME(node.metadata, "m2");
    REQUIRE(!node.metadata_encoding.ptr);
    EXEC(KeepInChasmNodeMaps, 0, shard, ns, STR("wf"), run, key);
    EXEC(ReplaceIntoChasmNodeMaps, 1, shard, ns, STR("wf"), run, STR("a"), STR("m"), none, none,
         none);
    EXEC(KeepInChasmNodeMaps, 1, shard, ns, STR("wf"), run, key);
    EXEC(DeleteFromChasmNodeMaps, 1, shard, ns, STR("wf"), run, key);
    EXEC(DeleteAllFromChasmNodeMaps, 0, shard, ns, STR("wf"), run);
}

static void events(void)
{
    struct dsql_InsertIntoBufferedEvents rows[7];
    struct dsql_SelectFromBufferedEvents_row row;
    char digits[7][2];
    for (int i = 0; i < 7; i++) {
        digits[i][0] = (char)('0' + i);
        digits[i][1] = 0;
        rows[i] = (struct dsql_InsertIntoBufferedEvents){
            shard, ns, STR("wf"), run, STR(digits[i]), STR("e"), DSQL_NULL_I64};
    }
    EXEC_N(InsertIntoBufferedEvents, 3, rows, 3);
    EXEC_N(InsertIntoBufferedEvents, 4, rows + 3, 4);
    QUERY(SelectFromBufferedEvents, 7, &row, shard, ns, STR("wf"), run);
    for (int i = 0; i < 7; i++) {
        SAME(row.data, digits[i]); /* in the order they were put in */
        (void)dsql_next_SelectFromBufferedEvents(&result, &row);
    }
    EXEC(DeleteFromBufferedEvents, 7, shard, ns, STR("wf"), run);
}

static void history(void)
{
    struct dsql_RangeSelectFromHistoryNode_row node;
    struct dsql_SelectFromHistoryTree_row leaf;
    struct dsql_PaginateBranchesFromHistoryTree_row page;
    struct dsql_InsertIntoHistoryNode in = {shard, tree, branch, 1, 100, 0, STR("n1"), STR("e")};
    const struct dsql_InsertIntoHistoryNode before = in;
    enum { FIRST = 0 };
    int64_t none_min = INT64_MAX, none_max = INT64_MIN + 1;
    EXEC_N(InsertIntoHistoryNode, 1, &in, 1);
    EXEC_N(InsertIntoHistoryNode, 1, &in, 1); /* the same again is the same row */
    REQUIRE(in.txn_id == before.txn_id && in.node_id == before.node_id &&
            in.prev_txn_id == before.prev_txn_id && in.data.ptr == before.data.ptr);
    EXEC(InsertIntoHistoryNode, 1, shard, tree, branch, 1, 200, 100, STR("n1b"), STR("e"));
    EXEC(InsertIntoHistoryNode, 1, shard, tree, branch, 3, 300, 200, STR("n3"), STR("e"));
    QUERY(RangeSelectFromHistoryNode, 3, &node, shard, tree, branch, 1, none_min, 10, none_max, 100,
          false, false);
    REQUIRE(node.node_id == 1 && node.txn_id == 200 && node.prev_txn_id == 100);
    SAME(node.data, "n1b");
    QUERY(RangeSelectFromHistoryNode, 2, &node, shard, tree, branch, 1, 200, 10, none_max, 100,
          false, false);
    REQUIRE(node.txn_id == 100);
    QUERY(RangeSelectFromHistoryNode, 2, &node, shard, tree, branch, 1, none_min, 3, none_max, 100,
          true, false);
    REQUIRE(node.node_id == 1 && node.txn_id == 100);
    QUERY(RangeSelectFromHistoryNode, 1, &node, shard, tree, branch, 1, none_min, 10, none_max, 1,
          true, true);
    REQUIRE(node.node_id == 1 && !node.data.ptr && !node.data_encoding.ptr);
    EXEC(DeleteFromHistoryNode, 1, shard, tree, branch, 1, 100);
    EXEC(RangeDeleteFromHistoryNode, 1, shard, tree, branch, 3);
    EXEC(RangeDeleteFromHistoryNode, 1, shard, tree, branch, 0);

    EXEC(InsertIntoHistoryTree, 1, shard, tree, branch, STR("t"), STR("e"));
    EXEC(InsertIntoHistoryTree, 1, shard, tree, branch, STR("t2"), STR("e"));
    QUERY(SelectFromHistoryTree, 1, &leaf, shard, tree);
    SAME_ID(leaf.branch_id, branch);
    SAME(leaf.data, "t2");
    struct dsql_id zero = {{0}};
    QUERY(PaginateBranchesFromHistoryTree, 1, &page, shard, zero, zero, 1);
    SAME_ID(page.tree_id, tree);
    EXEC(DeleteFromHistoryTree, 1, shard, tree, branch);
}

#define TASKS(Name, ...)                                                                           \
    do {                                                                                           \
        struct dsql_InsertInto##Name rows_[40];                                                    \
        struct dsql_RangeSelectFrom##Name##_row row_;                                              \
        for (int i_ = 0; i_ < 40; i_++) {                                                          \
            struct dsql_InsertInto##Name one_ = {__VA_ARGS__, 100 + i_, STR("t"), STR("e")};       \
            rows_[i_] = one_;                                                                      \
        }                                                                                          \
        EXEC_N(InsertInto##Name, 40, rows_, 40);                                                   \
        QUERY(RangeSelectFrom##Name, 3, &row_, __VA_ARGS__, 101, 120, 3);                          \
        REQUIRE(row_.task_id == 101);                                                              \
        QUERY(RangeSelectFrom##Name, 2, &row_, __VA_ARGS__, 101, 103, DSQL_NULL_I64);              \
        EXEC(DeleteFrom##Name, 1, __VA_ARGS__, 101);                                               \
        EXEC(RangeDeleteFrom##Name, 9, __VA_ARGS__, 100, 110);                                     \
        EXEC(RangeDeleteFrom##Name, 30, __VA_ARGS__, 0, INT64_MAX);                                \
    } while (0)

static const int64_t noon = INT64_C(1790000000123456);

#define TIMED_TASKS(Name, ...)                                                                     \
    do {                                                                                           \
        struct dsql_InsertInto##Name rows_[] = {{__VA_ARGS__, noon, 1, STR("a"), STR("e")},        \
                                                {__VA_ARGS__, noon, 2, STR("b"), STR("e")},        \
                                                {__VA_ARGS__, noon + 1, 1, STR("c"), STR("e")}};   \
        struct dsql_RangeSelectFrom##Name##_row row_;                                              \
        EXEC_N(InsertInto##Name, 3, rows_, 3);                                                     \
        QUERY(RangeSelectFrom##Name, 2, &row_, __VA_ARGS__, noon, 2, noon + 5, 10);                \
        REQUIRE(row_.task_id == 2 && row_.visibility_timestamp == noon);                           \
        SAME(row_.data, "b");                                                                      \
        EXEC(DeleteFrom##Name, 1, __VA_ARGS__, noon, 1);                                           \
        EXEC(RangeDeleteFrom##Name, 1, __VA_ARGS__, noon, noon + 1);                               \
        EXEC(RangeDeleteFrom##Name, 1, __VA_ARGS__, noon - 5, noon + 5);                           \
    } while (0)

static void history_tasks(void)
{
    TASKS(HistoryImmediateTasks, shard, 5);
    TIMED_TASKS(HistoryScheduledTasks, shard, 6);
    TASKS(TransferTasks, shard);
    TIMED_TASKS(TimerTasks, shard);
    TASKS(ReplicationTasks, shard);
    TASKS(VisibilityTasks, shard);
    TASKS(ReplicationDLQTasks, STR("cluster"), shard);
}

static void matching(void)
{
    int64_t hash = shard;
    struct dsql_slice id = {&run, 16}, none = {NULL, 0};
    struct dsql_InsertIntoTasks rows[5];
    struct dsql_InsertIntoTasksV2 fair[5];
    struct dsql_SelectFromTasks_row row;
    struct dsql_SelectFromTasksV2_row fair_row;
    for (int i = 0; i < 5; i++) {
        rows[i] = (struct dsql_InsertIntoTasks){hash, id, i, STR("t"), STR("e")};
        fair[i] = (struct dsql_InsertIntoTasksV2){hash, id, i / 2, i, STR("t"), STR("e")};
    }
    EXEC_N(InsertIntoTasks, 5, rows, 5);
    QUERY(SelectFromTasks, 4, &row, hash, id, 1, DSQL_NULL_I64, DSQL_NULL_I64);
    REQUIRE(row.task_id == 1);
    QUERY(SelectFromTasks, 2, &row, hash, id, 1, 3, 10);
    EXEC(DeleteFromTasks, 2, hash, id, 4, 2);
    EXEC(DeleteFromTasks, 3, hash, id, 100, 2500);
    EXEC_N(InsertIntoTasksV2, 5, fair, 5);
    QUERY(SelectFromTasksV2, 4, &fair_row, hash, id, 0, 1, 100);
    REQUIRE(fair_row.pass == 0 && fair_row.task_id == 1);
    EXEC(DeleteFromTasksV2, 3, hash, id, 1, 3, 100);
    EXEC(DeleteFromTasksV2, 2, hash, id, 9, 0, 100);

    for (int32_t version = 1; version <= 2; version++) {
        struct dsql_SelectFromTaskQueues_row queue;
        struct dsql_LockTaskQueues_row lock;
        struct dsql_slice other = {&tree, 16};
        EXEC(InsertIntoTaskQueues, 1, version, hash, id, 5, STR("q"), STR("e"));
        EXEC(InsertIntoTaskQueues, 1, version, hash, other, 5, STR("q"), STR("e"));
        QUERY(SelectFromTaskQueues, 1, &queue, version, hash, id, DSQL_NULL_I64, DSQL_NULL_I64,
              none, DSQL_NULL_I64);
        REQUIRE(queue.task_queue_id.len == 16 && memcmp(queue.task_queue_id.ptr, &run, 16) == 0);
        QUERY(SelectFromTaskQueues, 2, &queue, version, 0, none, hash, hash, none, 10);
        struct dsql_slice after = memcmp(&run, &tree, 16) < 0 ? id : other;
        struct dsql_slice last = memcmp(&run, &tree, 16) < 0 ? other : id;
        QUERY(SelectFromTaskQueues, 1, &queue, version, 0, none, hash, hash, after, 10);
        REQUIRE(memcmp(queue.task_queue_id.ptr, last.ptr, 16) == 0);
        QUERY(SelectFromTaskQueues, 1, &queue, version, hash, none, DSQL_NULL_I64, DSQL_NULL_I64,
              after, 10);
        QUERY(LockTaskQueues, 1, &lock, version, hash, id);
        EXEC(ExpectTaskQueue, 1, version, hash, id, lock.range_id);
        if (!tx)
            LOSES(ExpectTaskQueue, "task queue", version, hash, id, lock.range_id + 1);
        REQUIRE(lock.range_id == 5);
        EXEC(UpdateTaskQueues, 1, version, hash, id, 6, STR("q2"), STR("e"));
        called[mode][DSQL_OP_DeleteFromTaskQueues] = true;
        LOSES(DeleteFromTaskQueues, "task queue", version, hash, id, 5);
        EXEC(DeleteFromTaskQueues, 1, version, hash, id, 6);
        EXEC(DeleteFromTaskQueues, 1, version, hash, other, 5);
        QUERY_RC(SelectFromTaskQueues, DSQL_NOT_FOUND, version, hash, id, DSQL_NULL_I64,
                 DSQL_NULL_I64, none, DSQL_NULL_I64);
    }
    EXEC_RC(InsertIntoTaskQueues, DSQL_INVALID, 3, hash, id, 5, STR("q"), STR("e"));
}

static void user_data(void)
{
    struct dsql_GetTaskQueueUserData_row row;
    struct dsql_ListTaskQueueUserDataEntries_row entry;
    struct dsql_GetTaskQueuesByBuildId_row name;
    struct dsql_CountTaskQueuesByBuildId_row count;
    EXEC(UpdateTaskQueueUserData, 1, ns, STR("q"), 0, STR("u"), STR("e"));
    LOSES(UpdateTaskQueueUserData, "task queue user data", ns, STR("q"), 7, STR("u"), STR("e"));
    EXEC(UpdateTaskQueueUserData, 1, ns, STR("q"), 1, STR("u2"), STR("e"));
    if (!tx)
        EXEC_RC(UpdateTaskQueueUserData, DSQL_DUPLICATE, ns, STR("q"), 0, STR("u"), STR("e"));
    QUERY(GetTaskQueueUserData, 1, &row, ns, STR("q"));
    REQUIRE(row.version == 2);
    QUERY(ListTaskQueueUserDataEntries, 1, &entry, ns, STR(""), 10);
    SAME(entry.task_queue_name, "q");
    struct dsql_AddToBuildIdToTaskQueueMapping add[] = {{ns, STR("q"), STR("b1")},
                                                        {ns, STR("q"), STR("b2")}};
    struct dsql_RemoveFromBuildIdToTaskQueueMapping drop[] = {{ns, STR("q"), STR("b1")},
                                                              {ns, STR("q"), STR("b2")}};
    EXEC_N(AddToBuildIdToTaskQueueMapping, 2, add, 2);
    QUERY(GetTaskQueuesByBuildId, 1, &name, ns, STR("b1"));
    QUERY(CountTaskQueuesByBuildId, 1, &count, ns, STR("b2"));
    REQUIRE(count.count == 1);
    EXEC_N(RemoveFromBuildIdToTaskQueueMapping, 2, drop, 2);
    /* Inputs of different queues. */
    EXEC_N(AddToBuildIdToTaskQueueMapping, 2, add, 2);
    drop[0].task_queue_name = STR("r");
    EXEC_N(RemoveFromBuildIdToTaskQueueMapping, 1, drop, 2);
    QUERY(GetTaskQueuesByBuildId, 1, &name, ns, STR("b1"));
    QUERY(GetTaskQueuesByBuildId, 0, &name, ns, STR("b2"));
}

static void namespaces(void)
{
    struct dsql_SelectFromNamespace_row row;
    struct dsql_SelectFromNamespaceMetadata_row meta;
    struct dsql_LockNamespaceMetadata_row lock;
    struct dsql_slice none = {NULL, 0}, id = {&ns, 16};
    char name[40];
    (void)snprintf(name, sizeof(name), "ns-%d-%d", shard, mode);
    EXEC(InsertIntoNamespace, 1, 54321, ns, STR(name), true, STR("d"), STR("e"), 3);
    EXEC(UpdateNamespace, 1, 54321, ns, STR(name), false, STR("d2"), STR("e"), 4);
    QUERY(SelectFromNamespace, 1, &row, 54321, id, none, none, DSQL_NULL_I64);
    SAME(row.name, name);
    REQUIRE(!row.is_global && row.notification_version == 4);
    QUERY(SelectFromNamespace, 1, &row, 54321, none, STR(name), none, DSQL_NULL_I64);
    SAME_ID(row.id, ns);
    QUERY(SelectFromNamespace, 1, &row, 54321, none, none, none, 1);
    QUERY_RC(SelectFromNamespace, DSQL_INVALID, 54321, id, STR(name), none, DSQL_NULL_I64);
    QUERY_RC(SelectFromNamespace, DSQL_INVALID, 54321, none, none, none, DSQL_NULL_I64);
    EXEC(DeleteFromNamespace, 1, 54321, id, none);
    EXEC(DeleteFromNamespace, 0, 54321, none, STR(name));
    QUERY(LockNamespaceMetadata, 1, &lock, 54321);
    QUERY(SelectFromNamespaceMetadata, 1, &meta, 54321);
    REQUIRE(lock.notification_version == meta.notification_version);
    EXEC(UpdateNamespaceMetadata, 1, 54321, meta.notification_version);
    LOSES(UpdateNamespaceMetadata, "namespace metadata", 54321, meta.notification_version);
    REQUIRE(strcmp(err.key, "54321") == 0, "%s", err.key);
}

static void cluster(void)
{
    struct dsql_GetClusterMetadata_row row;
    struct dsql_ListClusterMetadata_row item;
    struct dsql_WriteLockGetClusterMetadata_row lock;
    struct dsql_GetClusterMembers_row member;
    struct dsql_slice none = {NULL, 0}, host = {&run, 16}, before;
    char name[40];
    (void)snprintf(name, sizeof(name), "c-%d-%d", shard, mode);
    EXEC(SaveClusterMetadata, 1, 0, STR(name), 0, STR("d"), STR("e"));
    EXEC(SaveClusterMetadata, 1, 0, STR(name), 1, STR("d2"), STR("e"));
    LOSES(SaveClusterMetadata, "cluster metadata", 0, STR(name), 1, STR("d3"), STR("e"));
    QUERY(GetClusterMetadata, 1, &row, 0, STR(name));
    REQUIRE(row.version == 2);
    QUERY(WriteLockGetClusterMetadata, 1, &lock, 0, STR(name));
    before = dsql_slice(name, strlen(name) - 1);
    QUERY(ListClusterMetadata, 1, &item, 0, before, 1);
    SAME(item.cluster_name, name);
    EXEC(DeleteClusterMetadata, 1, 0, STR(name));

    EXEC(UpsertClusterMembership, 1, 0, run, STR("10.0.0.1"), 65535, 3, noon, noon, noon + 1000);
    EXEC(UpsertClusterMembership, 1, 0, run, STR("10.0.0.2"), 65535, 3, noon, noon + 7,
         noon + 1000);
    QUERY(GetClusterMembers, 1, &member, 0, host, none, DSQL_NULL_I64, DSQL_NULL_I64, DSQL_NULL_I64,
          DSQL_NULL_I64, none, DSQL_NULL_I64);
    REQUIRE(member.rpc_port == 65535 && member.last_heartbeat == noon + 7);
    QUERY(GetClusterMembers, 1, &member, 0, host, STR("10.0.0.2"), 3, noon, noon, noon, none, 5);
    QUERY(GetClusterMembers, 0, &member, 0, host, none, 4, DSQL_NULL_I64, DSQL_NULL_I64,
          DSQL_NULL_I64, none, DSQL_NULL_I64);
    QUERY(GetClusterMembers, 0, &member, 0, host, none, DSQL_NULL_I64, DSQL_NULL_I64, DSQL_NULL_I64,
          DSQL_NULL_I64, host, DSQL_NULL_I64);
    EXEC(PruneClusterMembership, 1, 0, noon + 1001);
}

static void queues(void)
{
    struct dsql_GetLastEnqueuedMessageIDForUpdate_row last;
    struct dsql_GetLastEnqueuedMessageIDForUpdateV2_row last_v2;
    struct dsql_SelectFromMessages_row message;
    struct dsql_RangeSelectFromMessages_row ranged;
    struct dsql_RangeSelectFromQueueV2Messages_row ranged_v2;
    struct dsql_SelectFromQueueMetadata_row meta;
    struct dsql_LockQueueMetadata_row lock;
    struct dsql_SelectFromQueueV2Metadata_row meta_v2;
    struct dsql_SelectFromQueueV2MetadataForUpdate_row lock_v2;
    struct dsql_SelectNameFromQueueV2Metadata_row name;
    struct dsql_InsertIntoMessages rows[6];
    struct dsql_InsertIntoQueueV2Messages rows_v2[6];
    for (int i = 0; i < 6; i++) {
        rows[i] = (struct dsql_InsertIntoMessages){shard, i, STR("m"), STR("e")};
        rows_v2[i] =
            (struct dsql_InsertIntoQueueV2Messages){shard, STR("q"), 1, i, STR("m"), STR("e")};
    }
    QUERY_RC(GetLastEnqueuedMessageIDForUpdate, DSQL_NOT_FOUND, shard);
    EXEC_N(InsertIntoMessages, 6, rows, 6);
    QUERY(GetLastEnqueuedMessageIDForUpdate, 1, &last, shard);
    REQUIRE(last.message_id == 5);
    QUERY(SelectFromMessages, 1, &message, shard, 3);
    QUERY(RangeSelectFromMessages, 2, &ranged, shard, 1, 3, 10);
    REQUIRE(ranged.message_id == 2);
    EXEC(DeleteFromMessages, 1, shard, 0);
    EXEC(RangeDeleteFromMessages, 4, shard, 0, 4);
    EXEC(RangeDeleteFromMessages, 1, shard, 0, 100);
    EXEC(InsertIntoQueueMetadata, 1, shard, STR("d"), STR("e"), 0);
    EXEC(UpdateQueueMetadata, 1, shard, 0, STR("d2"), STR("e"));
    LOSES(UpdateQueueMetadata, "queue metadata", shard, 0, STR("d3"), STR("e"));
    QUERY(SelectFromQueueMetadata, 1, &meta, shard);
    QUERY(LockQueueMetadata, 1, &lock, shard);
    REQUIRE(meta.version == 1 && lock.version == 1);

    QUERY_RC(GetLastEnqueuedMessageIDForUpdateV2, DSQL_NOT_FOUND, shard, STR("q"), 1);
    EXEC_N(InsertIntoQueueV2Messages, 6, rows_v2, 6);
    QUERY(GetLastEnqueuedMessageIDForUpdateV2, 1, &last_v2, shard, STR("q"), 1);
    REQUIRE(last_v2.message_id == 5);
    QUERY(RangeSelectFromQueueV2Messages, 2, &ranged_v2, shard, STR("q"), 1, 2, 2);
    EXEC(RangeDeleteFromQueueV2Messages, 6, shard, STR("q"), 1, 0, 5);
    EXEC(InsertIntoQueueV2Metadata, 1, shard, STR("q"), STR("p"), STR("e"));
    EXEC(UpdateQueueV2Metadata, 1, shard, STR("q"), STR("p2"), STR("e"));
    QUERY(SelectFromQueueV2Metadata, 1, &meta_v2, shard, STR("q"));
    QUERY(SelectFromQueueV2MetadataForUpdate, 1, &lock_v2, shard, STR("q"));
    SAME(lock_v2.metadata_payload, "p2");
    QUERY(SelectNameFromQueueV2Metadata, 1, &name, shard, 10, 0);
    SAME(name.queue_name, "q");
}

static void nexus(void)
{
    struct dsql_GetNexusEndpointsTableVersion_row version;
    struct dsql_GetNexusEndpointByID_row row;
    struct dsql_ListNexusEndpoints_row item;
    struct dsql_slice none = {NULL, 0}, id = {&tree, 16};
    QUERY(GetNexusEndpointsTableVersion, 1, &version, shard);
    REQUIRE(version.version == 0);
    EXEC(InitializeNexusEndpointsTableVersion, 1, shard);
    EXEC(IncrementNexusEndpointsTableVersion, 1, shard, 1);
    LOSES(IncrementNexusEndpointsTableVersion, "nexus endpoints", shard, 1);
    EXEC(InsertIntoNexusEndpoints, 1, tree, STR("d"), STR("e"));
    EXEC(UpdateNexusEndpoint, 1, tree, 1, STR("d2"), STR("e"));
    LOSES(UpdateNexusEndpoint, "nexus endpoint", tree, 1, STR("d2"), STR("e"));
    QUERY(GetNexusEndpointByID, 1, &row, tree);
    REQUIRE(row.version == 2);
    QUERY(ListNexusEndpoints, 1, &item, none, 1);
    QUERY_RC(ListNexusEndpoints, DSQL_OK, id, 100);
    EXEC(DeleteFromNexusEndpoints, 1, tree);
    EXEC(DeleteFromNexusEndpoints, 0, tree);
}

static void admin(void)
{
    struct dsql_ReadSchemaVersion_row version;
    struct dsql_ListTables_row table;
    char name[40];
    (void)snprintf(name, sizeof(name), "db-%d-%d", shard, mode);
    EXEC(UpdateSchemaVersion, 1, STR(name), noon, STR("1.0"), STR("1.0"));
    EXEC(UpdateSchemaVersion, 1, STR(name), noon, STR("1.1"), STR("1.0"));
    QUERY(ReadSchemaVersion, 1, &version, STR(name));
    SAME(version.curr_version, "1.1");
    EXEC(WriteSchemaUpdateLog, 1, shard, mode, noon, STR("1.0"), STR("1.1"), STR("md5"),
         STR("why"));
    QUERY_RC(ListTables, DSQL_OK, STR("public"));
    REQUIRE(result.rows >= 39 && dsql_next_ListTables(&result, &table));
}

/* A value of the greatest size there is, and what is above it. */
static void sizes(void)
{
    struct dsql_SelectFromShards_row row;
    struct dsql_SelectFromTaskQueues_row queue;
    struct dsql_slice none = {NULL, 0};
    enum { MIB = 1 << 20, NAME = 983 };
    char *big = malloc(MIB), id[NAME + 17];
    int32_t other = fixture_shard(&fix);
    REQUIRE(big);
    for (size_t i = 0; i < MIB; i++)
        big[i] = (char)dsql_rng_next(&fix.rng);
    EXEC(InsertIntoShards, 1, other, 1, dsql_slice(big, MIB), STR("e"));
    QUERY(SelectFromShards, 1, &row, other);
    REQUIRE(row.data.len == MIB && memcmp(row.data.ptr, big, MIB) == 0);
    free(big);

    memset(id, 'q', sizeof(id)); /* namespace, a name of 983 characters, type */
    memcpy(id, &ns, 16);
    id[sizeof(id) - 1] = 0;
    struct dsql_slice key = {id, sizeof(id)};
    EXEC(InsertIntoTaskQueues, 1, 2, 1, key, 5, STR("q"), STR("e"));
    QUERY(SelectFromTaskQueues, 1, &queue, 2, 1, key, DSQL_NULL_I64, DSQL_NULL_I64, none,
          DSQL_NULL_I64);
    REQUIRE(queue.task_queue_id.len == sizeof(id));
    REQUIRE(memcmp(queue.task_queue_id.ptr, id, sizeof(id)) == 0);
    memset(id + 16, 0xff, sizeof(id) - 16);
    EXEC(InsertIntoTaskQueues, 1, 2, 1, key, 5, STR("q"), STR("e"));
    QUERY(SelectFromTaskQueues, 1, &queue, 2, 1, key, DSQL_NULL_I64, DSQL_NULL_I64, none,
          DSQL_NULL_I64);
    REQUIRE(queue.task_queue_id.len == sizeof(id));
    REQUIRE(memcmp(queue.task_queue_id.ptr, id, sizeof(id)) == 0);
    EXEC_RC(UpdateShards, DSQL_OK, other, INT64_MIN + 1, STR(""), STR(""));
}

static void everything(void)
{
    shard = fixture_shard(&fix);
    ns = fixture_id(&fix);
    run = fixture_id(&fix);
    tree = fixture_id(&fix);
    branch = fixture_id(&fix);
    shards();
    executions();
    current(DSQL_NULL_I64);
    current(77);
    EXEC(DeleteFromExecutions, 1, shard, ns, STR("wf"), run);
    maps();
    events();
    history();
    history_tasks();
    matching();
    user_data();
    namespaces();
    cluster();
    queues();
    nexus();
    admin();
    sizes();
}

/* More rows than a transaction takes are deleted in portions. */
static void many_rows(void)
{
    enum { ROWS = 2500 };
    struct dsql_InsertIntoTransferTasks *rows = calloc(ROWS, sizeof(*rows));
    int32_t other = fixture_shard(&fix);
    REQUIRE(rows);
    for (int64_t turn = 0; turn < 2; turn++) {
        for (int64_t i = 0; i < ROWS; i++)
            /* Ids with gaps between them: such tasks do not share rows. */
            rows[i] = (struct dsql_InsertIntoTransferTasks){other, 2 * (turn * ROWS + i), STR("t"),
                                                            STR("e")};
        EXEC_N(InsertIntoTransferTasks, ROWS, rows, ROWS);
    }
    EXEC(RangeDeleteFromTransferTasks, (int64_t)2 * ROWS, other, 0, INT64_MAX);
    free(rows);
}

int main(void)
{
    struct dsql_store_options plain;
    dsql_store_options_default(&plain);
    plain.pipelined = false;
    fixture_open(&fix, 4, NULL);
    struct dsql_store *stores[] = {fix.store, fix.store, fixture_store(&fix, &plain)};
    for (mode = 0; mode < 3; mode++) {
        store = stores[mode];
        if (mode > 0)
            REQUIRE_OK(dsql_store_begin(store, "everything", NULL, &tx, &err));
        everything();
        if (mode > 0)
            REQUIRE_OK(dsql_store_commit(tx, &err));
        tx = NULL;
        for (unsigned op = 0; op < DSQL_OP_COUNT; op++)
            REQUIRE(called[mode][op], "%s was not called", dsql_op_name((enum dsql_op)op));
    }
    mode = 0;
    store = fix.store;
    many_rows();
    EXEC_RC(InsertIntoShards, DSQL_OK, fixture_shard(&fix), 1, STR("a"), STR("e"));
    REQUIRE_OK(dsql_call_InsertIntoTransferTasks(store, NULL, NULL, 0, &result, &err));
    dsql_result_fini(&result);
    dsql_store_close(stores[2]);
    printf("%d operations, three ways; shard lock %d\n", DSQL_OP_COUNT,
           (int)dsql_store_shard_lock(fix.store));
    fixture_close(&fix);
    return 0;
}
