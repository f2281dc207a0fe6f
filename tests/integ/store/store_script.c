/*
 * Scripts of the catalogue against a real database: every expectation with the right token, a wrong
 * one and no row at all; what they cost on the wire; what they refuse. Run by store.sh, with FOR
 * KEY SHARE and without.
 */
#include <stdio.h>
#include <stdlib.h>

#include "metrics/metrics.h"
#include "support/store.h"
#include "support/wire_trips.h"

static struct fixture fix;
static struct dsql_err err;
static int32_t shard;
static struct dsql_id ns, run_id, other_run;

static struct dsql_param text(const char *value)
{
    return dsql_bytes(value, strlen(value));
}

static struct dsql_param id(const struct dsql_id *value)
{
    return dsql_bytes(value->bytes, sizeof(value->bytes));
}

enum { VALUES_MAX = 16 };

/* A call and the memory of its values. */
struct line {
    enum dsql_op op;
    struct dsql_param values[VALUES_MAX];
    bool expects;
    struct dsql_param expect[2];
};

#define CALL(name, ...)                                                                            \
    {                                                                                              \
        .op = DSQL_OP_##name, .values = { __VA_ARGS__ }                                            \
    }
#define TOKENS(...)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define WRITE(name, tokens, ...)                                                                   \
    {                                                                                              \
        .op = DSQL_OP_##name, .values = {__VA_ARGS__}, .expects = true, .expect = tokens           \
    }

static enum dsql_rc run(const char *name, const struct line *lines, size_t count,
                        struct dsql_result *results, struct dsql_script_failure *failure)
{
    struct dsql_script_call calls[32];
    REQUIRE(count <= 32);
    for (size_t i = 0; i < count; i++)
        calls[i] = (struct dsql_script_call){lines[i].op, lines[i].values, 1,
                                             lines[i].expects ? lines[i].expect : NULL};
    err = (struct dsql_err){.rc = DSQL_OK};
    return dsql_store_run_script(fix.store, name, calls, count, NULL, results, failure, &err);
}

static int64_t count_of(const char *table)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s WHERE shard_id = %d", table, shard);
    return fixture_sql(&fix, sql);
}

#define EX4     dsql_i64(shard), id(&ns), text("wf"), id(&run_id)
#define CURRENT dsql_i64(shard), id(&ns), text("wf"), dsql_null()
#define CHASM   dsql_i64(shard), id(&ns), text("wf"), dsql_i64(7)
#define QUEUE   dsql_i64(1), dsql_i64(shard), text("queue")
#define QUEUE2  dsql_i64(2), dsql_i64(shard), text("queue")
#define REST                                                                                       \
    text("req"), dsql_i64(3), dsql_i64(2), dsql_null(), dsql_i64(30), dsql_null(), dsql_null()
#define DATA text("d"), text("e")

/* One row of everything that has a token. */
static void fill(void)
{
    const struct line lines[] = {
        CALL(InsertIntoShards, dsql_i64(shard), dsql_i64(7), DATA),
        CALL(InsertIntoExecutions, EX4, dsql_i64(8), dsql_i64(30), dsql_i64(5), DATA, text("s"),
             text("e")),
        CALL(InsertIntoCurrentExecutions, CURRENT, id(&run_id), REST),
        CALL(InsertIntoCurrentExecutions, CHASM, id(&run_id), REST),
        CALL(InsertIntoTaskQueues, QUEUE, dsql_i64(3), DATA),
        CALL(InsertIntoTaskQueues, QUEUE2, dsql_i64(3), DATA),
        CALL(UpdateTaskQueueUserData, id(&ns), text("tq"), dsql_i64(0), DATA),
    };
    REQUIRE_OK(run("fill", lines, DSQL_COUNT_OF(lines), NULL, NULL));
}

/* An expectation: as it holds, with another token, and of a row that is not there. Between a write
 * before it and one behind it, of which nothing may be left. */
struct expectation {
    struct line right, wrong, missing;
    const char *entity;
    bool missing_is_fine;
};

static struct line task(int64_t number)
{
    return (struct line)CALL(InsertIntoTransferTasks, dsql_i64(shard), dsql_i64(number), DATA);
}

static void expect(size_t number, const struct expectation *e)
{
    const struct line *cases[] = {&e->right, &e->wrong, &e->missing};
    for (size_t i = 0; i < 3; i++) {
        static int64_t tasks;
        int64_t before = count_of("transfer_tasks");
        const struct line lines[] = {task(tasks), *cases[i], task(tasks + 1)};
        struct dsql_script_failure failure = {.call = 99};
        bool holds = i == 0 || (i == 2 && e->missing_is_fine);
        enum dsql_rc rc = run("expect", lines, 3, NULL, &failure);
        tasks += 2;
        REQUIRE(rc == (holds ? DSQL_OK : DSQL_CONDITION_FAILED), "%zu, %zu: %s %s", number, i,
                dsql_rc_name(rc), err.message);
        REQUIRE(count_of("transfer_tasks") == before + (holds ? 2 : 0), "%zu, %zu", number, i);
        if (holds)
            continue;
        REQUIRE(failure.call == 1, "%zu, %zu: %zu", number, i, failure.call);
        /* What is read behind ROLLBACK tells a row that is there from one that is not. */
        REQUIRE(failure.why == (i == 1 ? DSQL_SCRIPT_WRONG : DSQL_SCRIPT_MISSING), "%zu, %zu: %d",
                number, i, (int)failure.why);
        REQUIRE(failure.read != DSQL_OP_COUNT &&
                failure.found.rows == (failure.why == DSQL_SCRIPT_WRONG));
        dsql_result_fini(&failure.found);
        REQUIRE(strcmp(err.entity, e->entity) == 0 && *err.key, "%zu, %zu: %s", number, i,
                err.entity);
    }
}

#define EXECUTION(run, version, next)                                                              \
    dsql_i64(shard), id(&ns), text("wf"), id(run), dsql_i64(version), dsql_i64(next), dsql_i64(5), \
        DATA, text("s"), text("e")

static void expectations(void)
{
    const struct expectation all[] = {
        {.right = CALL(ExpectShard, dsql_i64(shard), dsql_i64(7)),
         .wrong = CALL(ExpectShard, dsql_i64(shard), dsql_i64(6)),
         .missing = CALL(ExpectShard, dsql_i64(-5), dsql_i64(7)),
         .entity = "shard"},
        {.right = WRITE(UpdateShards, TOKENS(dsql_i64(7)), dsql_i64(shard), dsql_i64(8), DATA),
         .wrong = WRITE(UpdateShards, TOKENS(dsql_i64(7)), dsql_i64(shard), dsql_i64(8), DATA),
         .missing = WRITE(UpdateShards, TOKENS(dsql_i64(7)), dsql_i64(-5), dsql_i64(8), DATA),
         .entity = "shard"},
        {.right =
             WRITE(UpdateExecutions, TOKENS(dsql_i64(8), dsql_null()), EXECUTION(&run_id, 9, 31)),
         .wrong =
             WRITE(UpdateExecutions, TOKENS(dsql_i64(8), dsql_null()), EXECUTION(&run_id, 9, 31)),
         .missing = WRITE(UpdateExecutions, TOKENS(dsql_i64(9), dsql_null()),
                          EXECUTION(&other_run, 9, 31)),
         .entity = "execution"},
        {.right =
             WRITE(UpdateExecutions, TOKENS(dsql_null(), dsql_i64(31)), EXECUTION(&run_id, 0, 32)),
         .wrong =
             WRITE(UpdateExecutions, TOKENS(dsql_null(), dsql_i64(31)), EXECUTION(&run_id, 0, 33)),
         .missing = WRITE(UpdateExecutions, TOKENS(dsql_null(), dsql_i64(32)),
                          EXECUTION(&other_run, 0, 33)),
         .entity = "execution"},
        {.right = CALL(ExpectLastWriteVersion, EX4, dsql_i64(5)),
         .wrong = CALL(ExpectLastWriteVersion, EX4, dsql_i64(4)),
         .missing = CALL(ExpectLastWriteVersion, dsql_i64(shard), id(&ns), text("wf"),
                         id(&other_run), dsql_i64(5)),
         .entity = "execution"},
        {.right = CALL(ExpectCurrentExecution, CURRENT, id(&run_id), dsql_i64(3)),
         .wrong = CALL(ExpectCurrentExecution, CURRENT, id(&run_id), dsql_i64(2)),
         .missing = CALL(ExpectCurrentExecution, dsql_i64(shard), id(&ns), text("none"),
                         dsql_null(), id(&run_id), dsql_null()),
         .entity = "current execution"},
        {.right = CALL(ExpectOtherCurrentExecution, CURRENT, id(&other_run)),
         .wrong = CALL(ExpectOtherCurrentExecution, CURRENT, id(&run_id)),
         .missing = CALL(ExpectOtherCurrentExecution, dsql_i64(shard), id(&ns), text("none"),
                         dsql_null(), id(&run_id)),
         .entity = "current execution",
         .missing_is_fine = true},
        {.right =
             WRITE(UpdateCurrentExecutions, TOKENS(id(&run_id)), CURRENT, id(&other_run), REST),
         .wrong =
             WRITE(UpdateCurrentExecutions, TOKENS(id(&run_id)), CURRENT, id(&other_run), REST),
         .missing = WRITE(UpdateCurrentExecutions, TOKENS(id(&run_id)), dsql_i64(shard), id(&ns),
                          text("none"), dsql_null(), id(&other_run), REST),
         .entity = "current execution"},
        {.right = WRITE(UpdateCurrentExecutions, TOKENS(id(&run_id)), CHASM, id(&other_run), REST),
         .wrong = WRITE(UpdateCurrentExecutions, TOKENS(id(&run_id)), CHASM, id(&other_run), REST),
         .missing = WRITE(UpdateCurrentExecutions, TOKENS(id(&run_id)), dsql_i64(shard), id(&ns),
                          text("wf"), dsql_i64(8), id(&other_run), REST),
         .entity = "current execution"},
        {.right = CALL(ExpectTaskQueue, QUEUE, dsql_i64(3)),
         .wrong = CALL(ExpectTaskQueue, QUEUE, dsql_i64(4)),
         .missing = CALL(ExpectTaskQueue, dsql_i64(1), dsql_i64(shard), text("none"), dsql_i64(3)),
         .entity = "task queue"},
        {.right = WRITE(UpdateTaskQueues, TOKENS(dsql_i64(3)), QUEUE2, dsql_i64(4), DATA),
         .wrong = WRITE(UpdateTaskQueues, TOKENS(dsql_i64(3)), QUEUE2, dsql_i64(4), DATA),
         .missing = WRITE(UpdateTaskQueues, TOKENS(dsql_i64(3)), dsql_i64(2), dsql_i64(shard),
                          text("none"), dsql_i64(4), DATA),
         .entity = "task queue"},
        {.right = CALL(UpdateTaskQueueUserData, id(&ns), text("tq"), dsql_i64(1), DATA),
         .wrong = CALL(UpdateTaskQueueUserData, id(&ns), text("tq"), dsql_i64(1), DATA),
         .missing = CALL(UpdateTaskQueueUserData, id(&ns), text("none"), dsql_i64(1), DATA),
         .entity = "task queue user data"},
        {.right = CALL(DeleteFromTaskQueues, QUEUE, dsql_i64(3)),
         .wrong = CALL(DeleteFromTaskQueues, QUEUE2, dsql_i64(3)),
         .missing = CALL(DeleteFromTaskQueues, QUEUE, dsql_i64(3)),
         .entity = "task queue"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(all); i++)
        expect(i, &all[i]);
}

/* Every lock is one: what changes between the expectation and COMMIT makes COMMIT fail. A script
 * leaves no time for that, so the expectation stands in a transaction driven by hand. */
static void expectations_hold_their_rows(void)
{
    struct dsql_store_tx *tx = NULL;
    char sql[128];
    const struct line line = task(-1);
    struct dsql_param values[] = {dsql_i64(shard), dsql_i64(8)};
    REQUIRE_OK(dsql_store_begin(fix.store, "held", NULL, &tx, &err));
    REQUIRE_OK(dsql_store_call(fix.store, tx, DSQL_OP_ExpectShard, values, 1, NULL, NULL, &err));
    REQUIRE_OK(dsql_store_call(fix.store, tx, line.op, line.values, 1, NULL, NULL, &err));
    snprintf(sql, sizeof(sql), "UPDATE shards SET range_id = 9 WHERE shard_id = %d", shard);
    fixture_sql(&fix, sql);
    int64_t before = count_of("transfer_tasks");
    REQUIRE(dsql_store_commit(tx, &err) == DSQL_CONFLICT);
    REQUIRE(count_of("transfer_tasks") == before);
}

/* A script of everything that an update writes, and one of everything that a read reads: each one
 * message out and one back, whatever was prepared before. */
static void trips(void)
{
    struct dsql_conn *conn = NULL;
    struct dsql_result results[9] = {{0}};
    const struct line update[] = {
        CALL(ExpectShard, dsql_i64(shard), dsql_i64(9)),
        CALL(InsertIntoHistoryNode, dsql_i64(shard), id(&ns), id(&run_id), dsql_i64(1), dsql_i64(2),
             dsql_i64(0), DATA),
        WRITE(UpdateExecutions, TOKENS(dsql_i64(0), dsql_null()), EXECUTION(&run_id, 1, 33)),
        CALL(ReplaceIntoActivityInfoMaps, EX4, dsql_i64(4), DATA),
        CALL(ReplaceIntoTimerInfoMaps, EX4, text("t"), DATA),
        CALL(ReplaceIntoSignalsRequestedSets, EX4, text("s")),
        CALL(InsertIntoBufferedEvents, EX4, DATA, dsql_null()),
        task(1000),
    };
    static const enum dsql_op reads[9] = {
        DSQL_OP_SelectFromExecutions,
        DSQL_OP_SelectAllFromActivityInfoMaps,
        DSQL_OP_SelectAllFromTimerInfoMaps,
        DSQL_OP_SelectAllFromChildExecutionInfoMaps,
        DSQL_OP_SelectAllFromRequestCancelInfoMaps,
        DSQL_OP_SelectAllFromSignalInfoMaps,
        DSQL_OP_SelectFromBufferedEvents,
        DSQL_OP_SelectAllFromChasmNodeMaps,
        DSQL_OP_SelectAllFromSignalsRequestedSets,
    };
    static const size_t rows[9] = {1, 1, 1, 0, 0, 0, 1, 0, 1};
    struct line state[9];
    for (size_t i = 0; i < 9; i++)
        state[i] = (struct line){.op = reads[i], .values = {EX4}};
    REQUIRE_OK(dsql_pool_checkout(fix.pool, -1, &conn, &err));
    struct pg_conn *pg = dsql_conn_pg(conn);
    dsql_pool_return(conn);
    for (int again = 0; again < 2; again++) {
        struct wire_trips wire;
        wire_trips_begin(&wire, pg);
        REQUIRE_OK(run("GetWorkflowExecution", state, 9, results, NULL));
        REQUIRE(wire_trips_end(&wire, NULL) == 1);
        if (again)
            break;
        wire_trips_begin(&wire, pg);
        REQUIRE_OK(run("UpdateWorkflowExecution", update, DSQL_COUNT_OF(update), NULL, NULL));
        REQUIRE(wire_trips_end(&wire, NULL) == 1);
    }
    for (size_t i = 0; i < 9; i++) {
        REQUIRE(results[i].rows == rows[i], "%zu: %zu rows", i, results[i].rows);
        dsql_result_fini(&results[i]);
    }
    unsigned op = dsql_metrics_operation(fix.metrics, "UpdateWorkflowExecution");
    REQUIRE(dsql_counter_value(fix.metrics, DSQL_SERIES(tx_round_trips, .operation = op)) == 1);
}

/* The row that stands where another was expected comes with the failure, in the message of
 * ROLLBACK: a failed script is two round trips, and no more. */
static void failures_show_the_row(void)
{
    struct dsql_conn *conn = NULL;
    struct dsql_script_failure failure = {.call = 99};
    struct dsql_SelectFromShards_row row;
    struct wire_trips wire;
    const struct line lines[] = {CALL(ExpectShard, dsql_i64(shard), dsql_i64(4)), task(6000)};
    REQUIRE_OK(dsql_pool_checkout(fix.pool, -1, &conn, &err));
    struct pg_conn *pg = dsql_conn_pg(conn);
    dsql_pool_return(conn);
    wire_trips_begin(&wire, pg);
    REQUIRE(run("seen", lines, 2, NULL, &failure) == DSQL_CONDITION_FAILED);
    REQUIRE(wire_trips_end(&wire, NULL) == 2);
    REQUIRE(failure.call == 0 && failure.why == DSQL_SCRIPT_WRONG);
    REQUIRE(failure.read == DSQL_OP_SelectFromShards);
    REQUIRE(dsql_next_SelectFromShards(&failure.found, &row) && row.range_id == 9);
    REQUIRE(run("seen", lines, 1, NULL, &failure) == DSQL_CONDITION_FAILED); /* alone */
    REQUIRE(dsql_next_SelectFromShards(&failure.found, &row) && row.range_id == 9);
    dsql_result_fini(&failure.found);
}

/* Many inputs are many rows, and the failing one is found among the statements they take. */
static void many_inputs(void)
{
    enum { MANY = 75 };
    struct dsql_param values[4 * MANY];
    struct dsql_result results[3] = {{0}};
    struct dsql_param guard[] = {dsql_i64(shard), dsql_i64(9)};
    struct dsql_script_failure failure = {.call = 99};
    for (size_t i = 0; i < MANY; i++) {
        values[4 * i] = dsql_i64(shard);
        values[4 * i + 1] = dsql_i64(5000 + (int64_t)i);
        values[4 * i + 2] = text("d");
        values[4 * i + 3] = text("e");
    }
    const struct dsql_script_call calls[] = {
        {DSQL_OP_InsertIntoTransferTasks, values, MANY, NULL},
        {DSQL_OP_InsertIntoTransferTasks, NULL, 0, NULL},
        {DSQL_OP_ExpectShard, guard, 1, NULL},
    };
    REQUIRE_OK(dsql_store_run_script(fix.store, "many", calls, 3, NULL, results, NULL, &err));
    REQUIRE(results[0].affected == MANY && results[1].affected == 0 && results[2].affected == 1);
    values[1] = dsql_i64(4999); /* the others are there already */
    const struct dsql_script_call again[] = {calls[2], calls[1], calls[0]};
    REQUIRE(dsql_store_run_script(fix.store, "many", again, 3, NULL, NULL, &failure, &err) ==
            DSQL_DUPLICATE);
    REQUIRE(failure.call == 2 && failure.why == DSQL_SCRIPT_DUPLICATE, "%zu", failure.call);
    guard[1] = dsql_i64(1);
    const struct dsql_script_call last[] = {calls[1], calls[1], calls[2]};
    REQUIRE(dsql_store_run_script(fix.store, "many", last, 3, NULL, NULL, &failure, &err) ==
            DSQL_CONDITION_FAILED);
    REQUIRE(failure.call == 2 && failure.why == DSQL_SCRIPT_WRONG, "%zu", failure.call);
    dsql_result_fini(&failure.found);
    for (size_t i = 0; i < 3; i++)
        dsql_result_fini(&results[i]);
}

/* What one portion takes is one statement, and says how many rows it was. */
static void limited_deletes(void)
{
    struct dsql_result results[3] = {{0}};
    const struct line fill_queue[] = {
        CALL(InsertIntoTasks, dsql_i64(shard), text("full"), dsql_i64(1), DATA),
        CALL(InsertIntoTasks, dsql_i64(shard), text("full"), dsql_i64(2), DATA),
        CALL(InsertIntoTasks, dsql_i64(shard), text("full"), dsql_i64(3), DATA),
    };
    const struct line lines[] = {
        CALL(ExpectShard, dsql_i64(shard), dsql_i64(9)),
        CALL(DeleteFromTasks, dsql_i64(shard), text("full"), dsql_i64(9), dsql_i64(2)),
        CALL(DeleteFromTasks, dsql_i64(shard), text("full"), dsql_i64(9), dsql_i64(1000)),
    };
    REQUIRE_OK(run("fill", fill_queue, 3, NULL, NULL));
    REQUIRE_OK(run("limited", lines, 3, results, NULL));
    REQUIRE(results[1].affected == 2 && results[2].affected == 1);
}

/* A statement that waited for the next one's answer and met a key that is there: the call that gets
 * to hear of it was not refused for a key of its own. Otherwise Temporal's store takes one insert's
 * duplicate for another's, and buffered events get new ids again and again for nothing. */
static void a_duplicate_is_its_own_statements(void)
{
    const struct line waiting = task(8000);
    const struct line heard[] = {
        CALL(InsertIntoBufferedEvents, EX4, DATA, dsql_null()),
        CALL(InsertIntoExecutions, dsql_i64(shard), id(&ns), text("wf"), id(&ns), dsql_i64(8),
             dsql_i64(30), dsql_i64(5), DATA, text("s"), text("e")),
        CALL(SelectFromShards, dsql_i64(shard)),
    };
    REQUIRE_OK(run("waiting", &waiting, 1, NULL, NULL));
    for (size_t i = 0; i < DSQL_COUNT_OF(heard); i++) {
        struct dsql_store_tx *tx = NULL;
        REQUIRE_OK(dsql_store_begin(fix.store, "waiting", NULL, &tx, &err));
        REQUIRE_OK(dsql_store_call(fix.store, tx, waiting.op, waiting.values, 1, NULL, NULL, &err));
        enum dsql_rc rc =
            dsql_store_call(fix.store, tx, heard[i].op, heard[i].values, 1, NULL, NULL, &err);
        REQUIRE(rc == DSQL_DATABASE && err.rc == rc, "%zu: %s", i, dsql_rc_name(rc));
        REQUIRE(strstr(err.message, "InsertIntoTransferTasks") && !strcmp(err.sqlstate, "23505"),
                "%zu: %s", i, err.message);
        dsql_store_rollback(tx);
        REQUIRE_OK(dsql_store_begin(fix.store, "waiting", NULL, &tx, &err));
        REQUIRE_OK(dsql_store_call(fix.store, tx, waiting.op, waiting.values, 1, NULL, NULL, &err));
        REQUIRE(dsql_store_commit(tx, &err) == DSQL_DUPLICATE);
    }
}

/* No calls, and ten thousand. */
static void any_number_of_calls(void)
{
    enum { MANY = 10000 };
    struct dsql_script_call *calls = calloc(MANY, sizeof(*calls));
    struct dsql_result *results = calloc(MANY, sizeof(*results));
    struct dsql_param values[] = {dsql_i64(shard)};
    REQUIRE(calls && results);
    REQUIRE_OK(dsql_store_run_script(fix.store, "none", NULL, 0, NULL, NULL, NULL, &err));
    for (size_t i = 0; i < MANY; i++)
        calls[i] = (struct dsql_script_call){DSQL_OP_SelectFromShards, values, 1, NULL};
    REQUIRE_OK(dsql_store_run_script(fix.store, "many", calls, MANY, NULL, results, NULL, &err));
    for (size_t i = 0; i < MANY; i++) {
        REQUIRE(results[i].rows == 1);
        dsql_result_fini(&results[i]);
    }
    free(calls);
    free(results);
}

static void refusals(void)
{
    const struct line refused[] = {
        CALL(ReadLockShards, dsql_i64(shard)),
        CALL(LockCurrentExecutionsJoinExecutions, CURRENT),
        CALL(GetLastEnqueuedMessageIDForUpdate, dsql_i64(1)),
        CALL(DeleteFromTasks, dsql_i64(1), text("q"), dsql_i64(1), dsql_i64(1001)),
        CALL(UpdateShards, dsql_i64(shard), dsql_i64(9), DATA),
        WRITE(UpdateShards, TOKENS(dsql_null()), dsql_i64(shard), dsql_i64(9), DATA),
        WRITE(ExpectShard, TOKENS(dsql_i64(9)), dsql_i64(shard), dsql_i64(9)),
        CALL(SelectFromExecutions, dsql_i64(shard), text("short"), text("wf"), id(&run_id)),
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(refused); i++) {
        const struct line lines[] = {task(7000), refused[i]};
        struct dsql_script_failure failure = {.call = 99};
        enum dsql_rc rc = run("refused", lines, 2, NULL, &failure);
        REQUIRE(rc == DSQL_INVALID && failure.call == 1 && failure.why == DSQL_SCRIPT_OTHER,
                "%zu: %s at %zu", i, dsql_rc_name(rc), failure.call);
        REQUIRE(strstr(err.message, dsql_op_name(refused[i].op)), "%s", err.message);
    }
}

int main(void)
{
    fixture_open(&fix, 1, NULL);
    shard = fixture_shard(&fix);
    ns = fixture_id(&fix);
    run_id = fixture_id(&fix);
    other_run = fixture_id(&fix);
    fill();
    expectations();
    fixture_close(&fix);
    fixture_open(&fix, 2, NULL);
    expectations_hold_their_rows();
    fixture_close(&fix);
    fixture_open(&fix, 1, NULL);
    trips();
    failures_show_the_row();
    many_inputs();
    limited_deletes();
    any_number_of_calls();
    a_duplicate_is_its_own_statements();
    refusals();
    printf("scripts; shard lock %d\n", (int)dsql_store_shard_lock(fix.store));
    fixture_close(&fix);
    return 0;
}
