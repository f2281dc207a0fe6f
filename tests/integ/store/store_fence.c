/*
 * The fences. A stale owner, paused between its lock and its commit, loses by the database's own
 * check; two workers of one shard do not disturb each other; a token that has changed is noticed.
 */
#include <stdio.h>

#include "support/store.h"
#include "temporal/store.h"

enum { ROUNDS = 25 };

static struct fixture fix;
static struct dsql_err err;

#define STR(text) dsql_slice_str(text)

static const uint32_t int4[] = {23};
static const struct dsql_stmt plain_read = {
    .name = "plain_read",
    .sql = "SELECT range_id FROM shards WHERE shard_id = $1",
    .types = int4,
};

static struct dsql_store_tx *begin(struct dsql_store *store)
{
    struct dsql_store_tx *tx;
    REQUIRE_OK(dsql_store_begin(store, "fence", NULL, &tx, &err));
    return tx;
}

static int32_t new_shard(struct dsql_store *store)
{
    struct dsql_InsertIntoShards in = {fixture_shard(&fix), 1, STR("d"), STR("e")};
    REQUIRE_OK(dsql_call_InsertIntoShards(store, NULL, &in, 1, NULL, &err));
    return in.shard_id;
}

static void read_lock(struct dsql_store *store, struct dsql_store_tx *tx, int32_t shard)
{
    struct dsql_ReadLockShards in = {shard};
    REQUIRE_OK(dsql_call_ReadLockShards(store, tx, &in, NULL, &err));
}

static void read_plainly(struct dsql_store_tx *tx, int32_t shard)
{
    struct dsql_param param = dsql_i32(shard);
    REQUIRE_OK(dsql_tx_exec(dsql_store_tx_of(tx), &plain_read, &param, 1, NULL, &err));
}

static void write_task(struct dsql_store *store, struct dsql_store_tx *tx, int32_t shard,
                       int64_t id)
{
    struct dsql_InsertIntoTransferTasks in = {shard, id, STR("t"), STR("e")};
    REQUIRE_OK(dsql_call_InsertIntoTransferTasks(store, tx, &in, 1, NULL, &err));
}

/* As Temporal's UpdateShard: the new owner raises range_id. */
static void take_over(struct dsql_store *store, int32_t shard, int64_t range_id)
{
    struct dsql_store_tx *tx = begin(store);
    struct dsql_WriteLockShards lock = {shard};
    struct dsql_UpdateShards update = {shard, range_id, STR("d"), STR("e")};
    REQUIRE_OK(dsql_call_WriteLockShards(store, tx, &lock, NULL, &err));
    REQUIRE_OK(dsql_call_UpdateShards(store, tx, &update, 1, NULL, &err));
    REQUIRE_OK(dsql_store_commit(tx, &err));
}

/* When the stale owner writes: before it is overtaken, after, or both. */
static void stale_owner(struct dsql_store *store, const char *name)
{
    for (int round = 0; round < ROUNDS; round++) {
        int32_t shard = new_shard(store);
        struct dsql_store_tx *a = begin(store);
        read_lock(store, a, shard);
        if (round % 3 != 0) {
            write_task(store, a, shard, 1);
            if (round % 2)
                REQUIRE_OK(dsql_tx_flush(dsql_store_tx_of(a), &err));
        }
        take_over(store, shard, 2);
        if (round % 3 != 1)
            write_task(store, a, shard, 2);
        enum dsql_rc rc = dsql_store_commit(a, &err);
        REQUIRE(rc == DSQL_CONFLICT, "%s, round %d: the stale owner got %s", name, round,
                dsql_rc_name(rc));
        struct dsql_RangeSelectFromTransferTasks range = {shard, 0, 100, 10};
        struct dsql_result result = {0};
        REQUIRE_OK(dsql_call_RangeSelectFromTransferTasks(store, NULL, &range, &result, &err));
        REQUIRE(result.rows == 0, "%s, round %d: a task of the stale owner is there", name, round);
        dsql_result_fini(&result);
    }
    printf("stale owner refused %d times of %d: %s\n", ROUNDS, ROUNDS, name);
}

/* Without the lock it would have committed: this is what the lock is for. */
static void without_lock(struct dsql_store *store)
{
    int32_t shard = new_shard(store);
    struct dsql_store_tx *a = begin(store);
    read_plainly(a, shard);
    take_over(store, shard, 2);
    write_task(store, a, shard, 1);
    REQUIRE_OK(dsql_store_commit(a, &err));
    printf("a plain SELECT lets the stale owner commit\n");
}

/* Two workflows of one shard, open at the same time. */
static void two_workers(struct dsql_store *store, enum dsql_rc second, const char *name)
{
    for (int round = 0; round < ROUNDS; round++) {
        int32_t shard = new_shard(store);
        struct dsql_store_tx *a = begin(store), *b = begin(store);
        read_lock(store, a, shard);
        read_lock(store, b, shard);
        write_task(store, a, shard, 1);
        write_task(store, b, shard, 2);
        REQUIRE_OK(dsql_store_commit(round % 2 ? a : b, &err));
        enum dsql_rc rc = dsql_store_commit(round % 2 ? b : a, &err);
        REQUIRE(rc == second, "%s: the second of two workers got %s", name, dsql_rc_name(rc));
    }
    printf("two workers of one shard, %d rounds: %s, the second gets %s\n", ROUNDS, name,
           dsql_rc_name(second));
}

/* The token of a lock is in the predicate of the write: something that changes the row behind the
 * store's back, even in the same transaction, is noticed, and the error says of what. */
static void loses_token(struct dsql_store *store, struct dsql_store_tx *tx, int32_t shard,
                        const char *sneak, enum dsql_op op, const void *write, const char *entity,
                        const char *key, const char *token)
{
    struct dsql_stmt behind = {.name = "behind", .sql = sneak, .types = int4};
    struct dsql_param param = dsql_i32(shard);
    REQUIRE_OK(dsql_tx_exec(dsql_store_tx_of(tx), &behind, &param, 1, NULL, &err));
    enum dsql_rc rc = dsql_store_call_typed(store, tx, op, write, 1, NULL, &err);
    if (rc == DSQL_OK) /* queued: it comes to light at COMMIT */
        rc = dsql_store_commit(tx, &err);
    else
        dsql_store_rollback(tx);
    char whose[32];
    int len = snprintf(whose, sizeof(whose), "%s%d", key, shard);
    REQUIRE(rc == DSQL_CONDITION_FAILED, "%s: %s", entity, dsql_rc_name(rc));
    REQUIRE(strcmp(err.entity, entity) == 0, "%s, not %s", err.entity, entity);
    REQUIRE(strncmp(err.key, whose, (size_t)len) == 0, "%s: %s", entity, err.key);
    REQUIRE(strstr(err.message, token), "%s", err.message);
    printf("a changed token is noticed: %s\n", err.message);
}

static void token_in_predicate(struct dsql_store *store)
{
    struct dsql_id ns = fixture_id(&fix), run = fixture_id(&fix), other = fixture_id(&fix);
    int32_t shard = new_shard(store);

    struct dsql_store_tx *tx = begin(store);
    struct dsql_UpdateShards shard_write = {shard, 3, STR("d"), STR("e")};
    read_lock(store, tx, shard);
    loses_token(store, tx, shard, "UPDATE shards SET range_id = 2 WHERE shard_id = $1",
                DSQL_OP_UpdateShards, &shard_write, "shard", "", "range_id 1");

    struct dsql_InsertIntoExecutions in = {shard, ns,       STR("wf"), run,      1,        2,
                                           3,     STR("d"), STR("e"),  STR("s"), STR("se")};
    struct dsql_UpdateExecutions write = {shard, ns,       STR("wf"), run,      2,        3,
                                          3,     STR("d"), STR("e"),  STR("s"), STR("se")};
    struct dsql_WriteLockExecutions lock = {shard, ns, STR("wf"), run};
    REQUIRE_OK(dsql_call_InsertIntoExecutions(store, NULL, &in, 1, NULL, &err));
    tx = begin(store);
    REQUIRE_OK(dsql_call_WriteLockExecutions(store, tx, &lock, NULL, &err));
    loses_token(store, tx, shard,
                "UPDATE executions SET db_record_version = 99 WHERE shard_id = $1",
                DSQL_OP_UpdateExecutions, &write, "execution", "", "db_record_version 1");

    struct dsql_InsertIntoCurrentExecutions current = {
        shard,         ns, STR("wf"), DSQL_NULL_I64, run, STR("r"), 1, 1,
        DSQL_NULL_I64, 1,  STR("d"),  STR("e")};
    struct dsql_UpdateCurrentExecutions current_write = {
        shard,         ns, STR("wf"), DSQL_NULL_I64, other, STR("r"), 1, 1,
        DSQL_NULL_I64, 1,  STR("d"),  STR("e")};
    struct dsql_LockCurrentExecutions current_lock = {shard, ns, STR("wf"), DSQL_NULL_I64};
    REQUIRE_OK(dsql_call_InsertIntoCurrentExecutions(store, NULL, &current, 1, NULL, &err));
    tx = begin(store);
    REQUIRE_OK(dsql_call_LockCurrentExecutions(store, tx, &current_lock, NULL, &err));
    loses_token(store, tx, shard,
                "UPDATE current_executions SET run_id = gen_random_uuid() WHERE shard_id = $1",
                DSQL_OP_UpdateCurrentExecutions, &current_write, "current execution", "",
                "run_id ");

    struct dsql_InsertIntoTaskQueues queue = {2, shard, STR("q"), 4, STR("d"), STR("e")};
    struct dsql_UpdateTaskQueues queue_write = {2, shard, STR("q"), 5, STR("d"), STR("e")};
    struct dsql_LockTaskQueues queue_lock = {2, shard, STR("q")};
    REQUIRE_OK(dsql_call_InsertIntoTaskQueues(store, NULL, &queue, 1, NULL, &err));
    tx = begin(store);
    REQUIRE_OK(dsql_call_LockTaskQueues(store, tx, &queue_lock, NULL, &err));
    loses_token(store, tx, shard, "UPDATE task_queues_v2 SET range_id = 9 WHERE range_hash = $1",
                DSQL_OP_UpdateTaskQueues, &queue_write, "task queue", "2/", "range_id 4");
    REQUIRE(strstr(err.key, "/q"), "%s", err.key);

    char sql[100];
    (void)snprintf(sql, sizeof(sql), "SELECT db_record_version FROM executions WHERE shard_id = %d",
                   shard);
    int64_t version = fixture_sql(&fix, sql);
    REQUIRE(version == 1, "the transaction left %lld behind", (long long)version);
    struct dsql_DeleteFromExecutions gone = {shard, ns, STR("wf"), run};
    REQUIRE_OK(dsql_call_DeleteFromExecutions(store, NULL, &gone, 1, NULL, &err));
}

/* A body that is run again sees its inputs as they were: the negated txn_id of a history node is
 * negated once. */
struct retried {
    struct dsql_InsertIntoHistoryNode node;
    int32_t shard;
    int runs;
};

static enum dsql_rc write_node(struct dsql_store_tx *tx, void *arg, struct dsql_err *e)
{
    struct retried *r = arg;
    struct dsql_WriteLockShards lock = {r->shard};
    struct dsql_UpdateShards update = {r->shard, 2 + r->runs, STR("d"), STR("e")};
    enum dsql_rc rc = dsql_call_WriteLockShards(fix.store, tx, &lock, NULL, e);
    if (!rc)
        rc = dsql_call_InsertIntoHistoryNode(fix.store, tx, &r->node, 1, NULL, e);
    if (!rc && r->runs++ < 2) /* overtaken twice */
        rc = dsql_call_UpdateShards(fix.store, NULL, &update, 1, NULL, e);
    return rc;
}

static void retried_inputs(struct dsql_store *store)
{
    struct dsql_id tree = fixture_id(&fix);
    struct retried r = {.shard = new_shard(store)};
    struct dsql_tx_policy policy;
    r.node =
        (struct dsql_InsertIntoHistoryNode){r.shard, tree, tree, 1, 77, 66, STR("n"), STR("e")};
    dsql_tx_policy_default(&policy);
    policy.retry.base_delay_ns = 1000000;
    REQUIRE_OK(dsql_store_run(store, "retried", write_node, &r, &policy, &err));
    REQUIRE(r.runs == 3 && r.node.txn_id == 77, "%d runs", r.runs);
    struct dsql_RangeSelectFromHistoryNode range = {r.shard, tree,          tree, 0,     INT64_MAX,
                                                    10,      INT64_MIN + 1, 10,   false, false};
    struct dsql_RangeSelectFromHistoryNode_row row;
    struct dsql_result result = {0};
    REQUIRE_OK(dsql_call_RangeSelectFromHistoryNode(store, NULL, &range, &result, &err));
    REQUIRE(result.rows == 1 && dsql_next_RangeSelectFromHistoryNode(&result, &row));
    REQUIRE(row.txn_id == 77 && row.prev_txn_id == 66);
    dsql_result_fini(&result);
    printf("inputs are as they were after %d runs\n", r.runs);
}

/* Another process has given the id that comes next to the same execution: it costs a new id. */
static void id_collision(struct dsql_store *store)
{
    struct dsql_id ns = fixture_id(&fix), run = fixture_id(&fix);
    int32_t shard = new_shard(store);
    struct dsql_wall never = {0};
    store->ids.ms += INT64_C(100000000); /* far ahead, so that the next ids are known */
    struct dsql_snowflake next = store->ids;
    struct dsql_InsertIntoBufferedEvents taken = {
        shard, ns, STR("wf"), run, STR("theirs"), STR("e"), dsql_snowflake_next(&next, never)};
    struct dsql_InsertIntoBufferedEvents ours[] = {
        {shard, ns, STR("wf"), run, STR("a"), STR("e"), DSQL_NULL_I64},
        {shard, ns, STR("wf"), run, STR("b"), STR("e"), DSQL_NULL_I64}};
    struct dsql_SelectFromBufferedEvents all = {shard, ns, STR("wf"), run};
    struct dsql_SelectFromBufferedEvents_row row[3];
    struct dsql_result result = {0};
    REQUIRE_OK(dsql_call_InsertIntoBufferedEvents(store, NULL, &taken, 1, NULL, &err));
    REQUIRE_OK(dsql_call_InsertIntoBufferedEvents(store, NULL, ours, 2, &result, &err));
    REQUIRE(result.affected == 2);
    REQUIRE_OK(dsql_call_SelectFromBufferedEvents(store, NULL, &all, &result, &err));
    REQUIRE(result.rows == 3);
    for (int i = 0; i < 3; i++)
        REQUIRE(dsql_next_SelectFromBufferedEvents(&result, &row[i]));
    REQUIRE(row[0].id == taken.id && row[1].id > taken.id && row[2].id > row[1].id);
    REQUIRE(*(const char *)row[1].data.ptr == 'a' && *(const char *)row[2].data.ptr == 'b');
    dsql_result_fini(&result);
    printf("a collision of ids costs a new one\n");
}

/* With the lock that the store chose by itself. */
static int with_the_lock_found(void)
{
    fixture_open(&fix, 4, NULL);
    bool shared = dsql_store_shard_lock(fix.store) == DSQL_SHARD_LOCK_KEY_SHARE;
    const char *name = shared ? "FOR KEY SHARE, found" : "FOR UPDATE, found";
    stale_owner(fix.store, name);
    two_workers(fix.store, shared ? DSQL_OK : DSQL_CONFLICT, name);
    fixture_close(&fix);
    return 0;
}

int main(int argc, char **argv)
{
    struct dsql_store_options key_share, for_update;
    if (argc > 1 && strcmp(argv[1], "probe") == 0)
        return with_the_lock_found();
    dsql_store_options_default(&key_share);
    key_share.shard_lock = DSQL_SHARD_LOCK_KEY_SHARE;
    dsql_store_options_default(&for_update);
    for_update.shard_lock = DSQL_SHARD_LOCK_FOR_UPDATE;
    for_update.pipelined = false;
    fixture_open(&fix, 4, &key_share);
    struct dsql_store *fallback = fixture_store(&fix, &for_update);
    stale_owner(fix.store, "FOR KEY SHARE");
    stale_owner(fallback, "FOR UPDATE");
    without_lock(fix.store);
    two_workers(fix.store, DSQL_OK, "FOR KEY SHARE");
    two_workers(fallback, DSQL_CONFLICT, "FOR UPDATE");
    token_in_predicate(fix.store);
    token_in_predicate(fallback);
    retried_inputs(fix.store);
    id_collision(fix.store);
    dsql_store_close(fallback);
    fixture_close(&fix);
    return 0;
}
