/* Scripts: what they cost, what they expect, and what becomes of them. Run by tx.sh with the
 * endpoint's control at hand. */
#include "tx/script.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/strict_relay.h"
#include "support/tx_db.h"
#include "support/wire_trips.h"

enum { STEPS_MAX = 64 };

static const struct dsql_stmt ADD = {
    .name = "script_add",
    .sql = "UPDATE t SET v = v + $2 WHERE id = $1",
    .flags = DSQL_STMT_PREPARE,
};
static const struct dsql_stmt INSERT = {
    .name = "script_insert",
    .sql = "INSERT INTO t VALUES ($1, $2, 'new')",
    .flags = DSQL_STMT_PREPARE,
};
static const struct dsql_stmt EXPECT_V = {
    .name = "script_expect",
    .sql = DSQL_EXPECTING("SELECT v = $2 FROM t WHERE id = $1 FOR UPDATE"),
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_RAISES,
};
static const struct dsql_fence V_20 = {.entity = "row", .key = "2", .token = "v 20"};

#define STEP(statement, fence, ...)                                                                \
    {                                                                                              \
        &(statement), PARAMS(__VA_ARGS__), (fence)                                                 \
    }

static int before_each(void **state)
{
    fault("clear");
    return tx_db_refill(state);
}

static enum dsql_rc run(const char *operation, const struct dsql_step *steps, size_t count,
                        const struct dsql_tx_policy *policy, struct dsql_step_result *results,
                        size_t *failed, struct dsql_err *err)
{
    struct dsql_script script = {.steps = steps, .count = count, .results = results};
    enum dsql_rc rc = dsql_script_run_on(&db.source, operation, &script, policy, err);
    if (failed)
        *failed = script.failed;
    return rc;
}

static void free_rows(struct dsql_step_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dsql_rows_free(results[i].rows);
}

/* Whatever its length, prepared or not: one message out, one back. */
TEST(a_script_is_one_round_trip_on_the_wire)
{
    const struct dsql_param one_more[] = {dsql_i32(1), dsql_i32(1)};
    dsql_tx_rollback(begin()); /* a connection is there */
    for (size_t n = 1; n <= STEPS_MAX; n *= 2) {
        struct dsql_step steps[STEPS_MAX];
        char name[32], sql_text[64];
        snprintf(name, sizeof(name), "fresh%zu", n); /* not prepared on this connection yet */
        snprintf(sql_text, sizeof(sql_text), "UPDATE t SET v = v + $2 WHERE id = $1 -- %zu", n);
        struct dsql_stmt fresh = {.name = name, .sql = sql_text, .flags = DSQL_STMT_PREPARE};
        for (size_t i = 0; i < n; i++)
            steps[i] = (struct dsql_step){&fresh, one_more, 2, NULL};
        for (int again = 0; again < 2; again++) {
            struct wire_trips trips;
            struct dsql_err err = {0};
            unsigned syncs;
            wire_trips_begin(&trips, db.idle);
            if (run("trips", steps, n, NULL, NULL, NULL, &err) != DSQL_OK)
                fail_msg("%s", err.message);
            assert_int_equal(wire_trips_end(&trips, &syncs), 1);
            assert_int_equal(syncs, 1);
        }
    }
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10 + 2 * (2 * STEPS_MAX - 1));
    assert_int_equal(round_trips("trips"), 2 * 7);
}

/* The measure itself: one statement after the other costs what it costs. */
TEST(the_wire_counts_what_is_waited_for)
{
    dsql_tx_rollback(begin());
    struct wire_trips trips;
    wire_trips_begin(&trips, db.idle);
    struct dsql_tx *tx = begin();
    ok(dsql_tx_exec(tx, &ADD, PARAMS(dsql_i32(1), dsql_i32(1)), NULL, NULL));
    ok(dsql_tx_exec(tx, &ADD, PARAMS(dsql_i32(1), dsql_i32(1)), NULL, NULL));
    ok(dsql_tx_commit(tx, NULL));
    assert_int_equal(wire_trips_end(&trips, NULL), 3);
}

TEST(results_come_with_it)
{
    struct dsql_step steps[] = {
        STEP(EXPECT_V, &V_20, dsql_i32(2), dsql_i32(20)),
        STEP(ADD, NULL, dsql_i32(2), dsql_i32(5)),
        STEP(READ_V, NULL, dsql_i32(2)),
        STEP(ADD, NULL, dsql_i32(99), dsql_i32(5)),
    };
    struct dsql_step_result results[4];
    struct dsql_err err = {0};
    int64_t v = 0;
    if (run("results", steps, 4, NULL, results, NULL, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    assert_int_equal(results[0].affected, 1);
    assert_int_equal(results[1].affected, 1);
    assert_int_equal(results[2].affected, 1);
    assert_int_equal(results[3].affected, 0);
    assert_true(dsql_rows_i64(results[2].rows, 0, 0, &v));
    assert_int_equal(v, 25);
    assert_int_equal(number("SELECT v FROM t WHERE id = 2"), 25);
    free_rows(results, 4);
    ok(run("empty", NULL, 0, NULL, NULL, NULL, &err));
    assert_int_equal(round_trips("empty"), 0);
}

/* Which step failed, and why; whatever it was, nothing of the script is there. */
TEST(a_failure_names_its_step_and_nothing_is_applied)
{
    static const struct dsql_fence expected = {.entity = "row", .key = "x", .token = "v 20"};
    const struct {
        struct dsql_step step;
        enum dsql_rc rc;
        const char *sqlstate;
    } rows[] = {
        {STEP(EXPECT_V, &expected, dsql_i32(2), dsql_i32(21)), DSQL_CONDITION_FAILED, "22012"},
        {STEP(EXPECT_V, &expected, dsql_i32(99), dsql_i32(20)), DSQL_CONDITION_FAILED, "22012"},
        {STEP(EXPECT_V, &expected, dsql_i32(2), dsql_null()), DSQL_CONDITION_FAILED, "22012"},
        {STEP(CAS_V_RAISING, &expected, dsql_i32(2), dsql_i32(1), dsql_i32(21)),
         DSQL_CONDITION_FAILED, "22012"},
        {STEP(INSERT, NULL, dsql_i32(3), dsql_i32(1)), DSQL_DUPLICATE, "23505"},
        {{&WRONG, NULL, 0, NULL}, DSQL_DATABASE, "42703"},
        {STEP(ADD, NULL, dsql_i32(1)), DSQL_PROTOCOL, "08P01"},
    };
    const struct dsql_step good = STEP(ADD, NULL, dsql_i32(1), dsql_i32(1));
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        for (size_t place = 0; place < 3; place++) {
            struct dsql_step steps[] = {good, good, good};
            struct dsql_step_result results[3];
            struct dsql_err err = {0};
            size_t failed = 99;
            unsigned discarded = db.discarded;
            steps[place] = rows[i].step;
            enum dsql_rc rc = run("failing", steps, 3, NULL, results, &failed, &err);
            if (rc != rows[i].rc || failed != place)
                fail_msg("%zu: %s at %zu: %s", i, dsql_rc_name(rc), failed, err.message);
            assert_string_equal(err.sqlstate, rows[i].sqlstate);
            assert_memory_equal(err.message, steps[place].stmt->name,
                                strlen(steps[place].stmt->name));
            for (size_t k = 0; k < 3; k++)
                assert_true(results[k].affected == -1 && !results[k].rows);
            assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);
            assert_int_equal(number("SELECT v FROM t WHERE id = 2"), 20);
            assert_int_equal(db.discarded, discarded);
        }
    }
    struct dsql_err err = {0};
    const struct dsql_step alone = STEP(EXPECT_V, &V_20, dsql_i32(2), dsql_i32(21));
    assert_int_equal(run("failing", &alone, 1, NULL, NULL, NULL, &err), DSQL_CONDITION_FAILED);
    assert_string_equal(err.entity, "row");
    assert_string_equal(err.key, "2");
}

/* What the server does not raise would be found out after COMMIT. */
TEST(an_expectation_that_the_server_does_not_raise_is_refused)
{
    static const struct dsql_fence two = {.entity = "row", .key = "2", .token = "v", .rows = 2};
    const struct dsql_step steps[] = {
        STEP(CAS_V, &V_20, dsql_i32(2), dsql_i32(1), dsql_i32(20)),
        STEP(CAS_V_RAISING, &two, dsql_i32(2), dsql_i32(1), dsql_i32(20)),
    };
    for (size_t i = 0; i < 2; i++) {
        struct dsql_err err = {0};
        size_t failed = 99;
        assert_int_equal(run("unraised", &steps[i], 1, NULL, NULL, &failed, &err), DSQL_INVALID);
        assert_int_equal(failed, 0);
        assert_non_null(strstr(err.message, "DSQL_RAISING"));
    }
    assert_int_equal(number("SELECT v FROM t WHERE id = 2"), 20);
}

struct sight {
    int looks, judged;
    int64_t seen;
    bool changes; /* what is expected comes true before it is looked at */
};

static bool look_at(void *arg, size_t step, struct dsql_step *read)
{
    static const struct dsql_param row_2[] = {{.kind = DSQL_PARAM_I32, .as = {.i64 = 2}}};
    struct sight *sight = arg;
    assert_int_equal(step, 1);
    sight->looks++;
    if (sight->changes)
        sql("UPDATE t SET v = 21 WHERE id = 2");
    *read = (struct dsql_step){&READ_V, row_2, 1, NULL};
    return true;
}

static enum dsql_rc judge_sight(void *arg, size_t step, const struct dsql_rows *seen,
                                enum dsql_rc rc, struct dsql_err *err)
{
    struct sight *sight = arg;
    assert_int_equal(step, 1);
    assert_int_equal(rc, DSQL_CONDITION_FAILED);
    assert_true(dsql_rows_i64(seen, 0, 0, &sight->seen));
    sight->judged++;
    return sight->seen == 21 ? dsql_err_set(err, DSQL_CONFLICT, "it holds by now") : rc;
}

/* What is read behind ROLLBACK is a later snapshot; if it holds there, the script is run again. */
TEST(what_did_not_hold_is_looked_at_behind_rollback)
{
    const struct dsql_step steps[] = {
        STEP(ADD, NULL, dsql_i32(1), dsql_i32(1)),
        STEP(EXPECT_V, &V_20, dsql_i32(2), dsql_i32(21)),
    };
    for (int changes = 0; changes < 2; changes++) {
        struct sight sight = {.changes = changes};
        struct dsql_script script = {
            .steps = steps, .count = 2, .look = look_at, .judge = judge_sight, .arg = &sight};
        struct dsql_tx_policy policy;
        struct dsql_err err = {0};
        const char *name = changes ? "look-changes" : "look";
        policy = quick();
        assert_int_equal(dsql_script_run_on(&db.source, name, &script, &policy, &err),
                         changes ? DSQL_OK : DSQL_CONDITION_FAILED);
        assert_true(sight.looks == 1 && sight.judged == 1);
        assert_int_equal(sight.seen, 20 + changes);
        assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10 + changes);
        assert_int_equal(round_trips(name), 2 + changes); /* ROLLBACK and the read are one */
    }
}

/* The two forms that look like a guard: the first is never executed, the second always fails. */
TEST(the_traps_are_refused)
{
    static const struct dsql_stmt unread = {
        .name = "trap_cte",
        .sql = "WITH held AS (SELECT 1/(CASE WHEN v = $2 THEN 1 ELSE 0 END) FROM t WHERE id = $1 "
               "FOR UPDATE) SELECT 1",
        .flags = DSQL_STMT_RAISES,
    };
    static const struct dsql_stmt folded = {
        .name = "trap_folded",
        .sql = "SELECT CASE WHEN (SELECT v = $2 FROM t WHERE id = $1 FOR UPDATE) THEN 1 "
               "ELSE 1/0 END",
        .flags = DSQL_STMT_RAISES,
    };
    struct dsql_err err = {0};
    const struct dsql_step stale = STEP(unread, &V_20, dsql_i32(2), dsql_i32(77));
    assert_int_equal(run("trap", &stale, 1, NULL, NULL, NULL, &err), DSQL_INVALID);
    const struct dsql_step right = STEP(folded, &V_20, dsql_i32(2), dsql_i32(20));
    assert_int_equal(run("trap", &right, 1, NULL, NULL, NULL, &err), DSQL_INVALID);
}

/* The lock inside an expectation is one: another's change makes the script's COMMIT fail. Two
 * scripts that expect the same row run side by side only in a plain transaction, so one is. */
TEST(an_expectation_holds_its_row)
{
    struct dsql_tx *tx = begin();
    ok(dsql_cas(tx, &EXPECT_V, PARAMS(dsql_i32(2), dsql_i32(20)), &V_20, NULL));
    ok(dsql_tx_defer(tx, &ADD, PARAMS(dsql_i32(1), dsql_i32(1)), NULL));
    sql("UPDATE t SET v = 21 WHERE id = 2");
    assert_int_equal(dsql_tx_commit(tx, NULL), DSQL_CONFLICT);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);
}

TEST(a_conflict_runs_the_whole_again_by_the_policy)
{
    static const struct {
        const char *fault;
        uint64_t conflicts, trips; /* a failed statement leaves a transaction to roll back */
    } rows[] = {{"conflict=1x", 1, 3}, {"conflict-commit=3x", 3, 4}};
    const struct dsql_step steps[] = {
        STEP(EXPECT_V, &V_20, dsql_i32(2), dsql_i32(20)),
        STEP(ADD, NULL, dsql_i32(1), dsql_i32(1)),
    };
    struct dsql_tx_policy policy = quick();
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_step_result results[2];
        struct dsql_err err = {0};
        char name[32];
        snprintf(name, sizeof(name), "script-conflict%zu", i);
        fault(rows[i].fault);
        if (run(name, steps, 2, &policy, results, NULL, &err) != DSQL_OK)
            fail_msg("%s: %s", rows[i].fault, err.message);
        assert_int_equal(results[1].affected, 1);
        free_rows(results, 2);
        assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 11 + (int64_t)i);
        assert_int_equal(count(DSQL_METRIC_tx_conflicts, name, 0), rows[i].conflicts);
        assert_int_equal(count(DSQL_METRIC_tx_retries, name, 0), 1);
        assert_int_equal(round_trips(name), rows[i].trips);
    }
    size_t failed = 99;
    struct dsql_err err = {0};
    policy.retry.max_retries = 1;
    fault("conflict-commit=2x");
    assert_int_equal(run("used-up", steps, 2, &policy, NULL, &failed, &err), DSQL_CONFLICT);
    assert_int_equal(failed, 2); /* COMMIT's, and no step's */
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 12);
}

/* OC001: at once, on the connection whose catalogue it has refreshed. */
TEST(a_change_of_the_schema_is_met_on_the_same_connection)
{
    const struct dsql_step steps[] = {
        STEP(ADD, NULL, dsql_i32(1), dsql_i32(1)),
        STEP(READ_V, NULL, dsql_i32(1)),
    };
    struct dsql_tx_policy policy;
    struct dsql_err err = {0};
    policy = quick();
    policy.retry.base_delay_ns = policy.retry.max_delay_ns = 3600 * DSQL_S; /* never waited for */
    ok(run("warm", steps, 2, &policy, NULL, NULL, &err));
    unsigned checkouts = db.checkouts, opened = db.opened;
    sql("COMMENT ON TABLE t IS 'changed'");
    if (run("script-oc001", steps, 2, &policy, NULL, NULL, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    assert_int_equal(count(DSQL_METRIC_tx_conflicts, "script-oc001", 0), 1);
    assert_int_equal(db.checkouts - checkouts, 1);
    assert_int_equal(db.opened, opened);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 12);
}

static enum dsql_rc settle(struct dsql_tx *tx, void *arg, bool *applied, struct dsql_err *err)
{
    static const struct dsql_stmt lock = {.name = "script_settle",
                                          .sql = "SELECT v FROM t WHERE id = $1 FOR UPDATE"};
    struct dsql_rows *rows = NULL;
    int64_t v = 0;
    ++*(int *)arg;
    enum dsql_rc rc = dsql_tx_query(tx, &lock, PARAMS(dsql_i32(1)), &rows, err);
    (void)dsql_rows_i64(rows, 0, 0, &v);
    dsql_rows_free(rows);
    *applied = v == 11;
    return rc;
}

TEST(an_unknown_commit_is_reported_or_settled)
{
    static const struct {
        const char *fault;
        int64_t v;
    } rows[] = {{"close-commit=1x", 10}, {"close-applied=1x", 11}};
    const struct dsql_step steps[] = {
        STEP(ADD, NULL, dsql_i32(1), dsql_i32(1)),
        STEP(READ_V, NULL, dsql_i32(1)),
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_tx_policy policy;
        struct dsql_step_result results[2];
        struct dsql_err err = {0};
        size_t failed = 99;
        int settled = 0;
        policy = quick();
        sql("UPDATE t SET v = 10 WHERE id = 1");
        fault(rows[i].fault);
        assert_int_equal(run("script-unknown", steps, 2, &policy, NULL, &failed, &err),
                         DSQL_COMMIT_UNKNOWN);
        assert_int_equal(failed, 2);
        assert_int_equal(number("SELECT v FROM t WHERE id = 1"), rows[i].v);
        assert_int_equal(count(DSQL_METRIC_tx_retries, "script-unknown", 0), 0);

        policy.settle = settle;
        policy.settle_arg = &settled;
        sql("UPDATE t SET v = 10 WHERE id = 1");
        fault(rows[i].fault);
        if (run("script-settled", steps, 2, &policy, results, NULL, &err) != DSQL_OK)
            fail_msg("%s", err.message);
        assert_int_equal(settled, 1);
        assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 11);
        /* Settled as applied, its answers are gone; otherwise it was run again. */
        assert_int_equal(results[0].affected, rows[i].v == 11 ? -1 : 1);
        free_rows(results, 2);
    }
}

/* What only reads has nothing to commit: that its COMMIT is not answered leaves no doubt. */
TEST(an_unanswered_commit_of_a_read_is_no_unknown_one)
{
    const struct dsql_step steps[] = {
        STEP(READ_V, NULL, dsql_i32(1)),
        STEP(READ_V, NULL, dsql_i32(2)),
    };
    struct dsql_tx_policy policy;
    struct dsql_err err = {0};
    dsql_tx_rollback(begin()); /* a connection is there */
    policy = quick();
    policy.timeout_ns = 100 * DSQL_MS;
    for (int read_only = 0; read_only < 2; read_only++) {
        policy.read_only = read_only;
        fault("message-latency=5s");
        assert_int_equal(run("read", steps, 2, &policy, NULL, NULL, &err),
                         read_only ? DSQL_TIMEOUT : DSQL_COMMIT_UNKNOWN);
        fault("clear");
        dsql_tx_rollback(begin());
    }
}

/* Neither side can take all of it before it has given some: whoever only writes, or only reads,
 * waits for ever. More than the buffers of a socket hold, in both directions. */
static void exchange_megabytes(int pause_us)
{
    enum { PIECES = 64, PIECE = 1 << 19 };
    static const struct dsql_stmt echo = {.name = "script_echo", .sql = "SELECT $1::bytea"};
    static unsigned char bytes[PIECE];
    struct dsql_step steps[PIECES];
    struct dsql_step_result results[PIECES];
    struct dsql_param piece = dsql_bytes(bytes, sizeof(bytes));
    struct dsql_tx_policy policy;
    struct dsql_err err = {0};
    struct strict_relay relay = {.pause_us = pause_us};
    struct pg_source through;
    char port[16], name[32];
    const char *direct = getenv("PGPORT");
    if (!direct)
        direct = "5432";
    strict_relay_start(&relay, (int)strtol(direct, NULL, 10));
    snprintf(port, sizeof(port), "%d", relay.port);
    snprintf(name, sizeof(name), "megabytes%d", pause_us);
    char *saved = strdup(direct);
    assert_int_equal(setenv("PGPORT", port, 1), 0);
    pg_source_init(&through, metrics);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 31);
    for (size_t i = 0; i < PIECES; i++)
        steps[i] = (struct dsql_step){&echo, &piece, 1, NULL};
    dsql_tx_policy_default(&policy);
    policy.timeout_ns = 300 * DSQL_S;
    struct dsql_script script = {.steps = steps, .count = PIECES, .results = results};
    if (dsql_script_run_on(&through.source, name, &script, &policy, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    assert_int_equal(round_trips(name), 1);
    for (size_t i = 0; i < PIECES; i++) {
        size_t len = 0;
        const void *back = dsql_rows_bytes(results[i].rows, 0, 0, &len);
        assert_int_equal(len, sizeof(bytes));
        assert_memory_equal(back, bytes, sizeof(bytes));
    }
    free_rows(results, PIECES);
    pg_source_fini(&through);
    strict_relay_join(&relay);
    assert_int_equal(setenv("PGPORT", saved, 1), 0);
    free(saved);
}

TEST(megabytes_in_both_directions_do_not_wait_for_each_other)
{
    exchange_megabytes(0);
    exchange_megabytes(300); /* a slow peer, in both directions */
}

/* As long as anybody likes: ten thousand reads are one round trip. As many rows are more than a
 * transaction of the service takes, so that nothing of them is there. */
TEST(a_script_may_have_ten_thousand_steps)
{
    enum { MANY = 10000 };
    struct dsql_step *steps = calloc(MANY, sizeof(*steps));
    struct dsql_param *rows = calloc(MANY, 2 * sizeof(*rows));
    struct dsql_step_result *results = calloc(MANY, sizeof(*results));
    struct dsql_param one = dsql_i32(1);
    struct dsql_err err = {0};
    int64_t v = 0;
    assert_true(steps && rows && results);
    for (size_t i = 0; i < MANY; i++)
        steps[i] = (struct dsql_step){&READ_V, &one, 1, NULL};
    if (run("ten-thousand", steps, MANY, NULL, results, NULL, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    assert_true(dsql_rows_i64(results[MANY - 1].rows, 0, 0, &v));
    assert_int_equal(v, 10);
    assert_int_equal(round_trips("ten-thousand"), 1);
    free_rows(results, MANY);
    for (size_t i = 0; i < MANY; i++) {
        rows[2 * i] = dsql_i32((int32_t)(100 + i));
        rows[2 * i + 1] = dsql_i32(1);
        steps[i] = (struct dsql_step){&INSERT, &rows[2 * i], 2, NULL};
    }
    size_t failed = 0;
    enum dsql_rc rc = run("too-many", steps, MANY, NULL, NULL, &failed, &err);
    if (rc != DSQL_TOO_LARGE || failed < 2500 || failed > 3000)
        fail_msg("%s at %zu: %s", dsql_rc_name(rc), failed, err.message);
    assert_int_equal(number("SELECT count(*) FROM t WHERE id >= 100"), 0);
    free(steps);
    free(rows);
    free(results);
}

int main(void)
{
    tx_db_open();
    const struct CMUnitTest tests[] = {
#define TEST_OF(name) cmocka_unit_test_setup(name, before_each)
        TEST_OF(a_script_is_one_round_trip_on_the_wire),
        TEST_OF(the_wire_counts_what_is_waited_for),
        TEST_OF(results_come_with_it),
        TEST_OF(a_failure_names_its_step_and_nothing_is_applied),
        TEST_OF(an_expectation_that_the_server_does_not_raise_is_refused),
        TEST_OF(what_did_not_hold_is_looked_at_behind_rollback),
        TEST_OF(the_traps_are_refused),
        TEST_OF(an_expectation_holds_its_row),
        TEST_OF(a_conflict_runs_the_whole_again_by_the_policy),
        TEST_OF(a_change_of_the_schema_is_met_on_the_same_connection),
        TEST_OF(an_unknown_commit_is_reported_or_settled),
        TEST_OF(an_unanswered_commit_of_a_read_is_no_unknown_one),
        TEST_OF(megabytes_in_both_directions_do_not_wait_for_each_other),
        TEST_OF(a_script_may_have_ten_thousand_steps),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fault("clear");
    tx_db_close();
    return failed;
}
