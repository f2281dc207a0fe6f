/*
 * Transactions while the endpoint has faults: conflicts at every place, commits that are not
 * answered, deadlines and cancellation at COMMIT. Run by tx.sh with the endpoint's control at hand.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "support/tx_db.h"

static int before_each(void **state)
{
    (void)state;
    fault("clear");
    sql("UPDATE a SET v = 0");
    return 0;
}

static const struct dsql_stmt ADD = {
    .name = "add", .sql = "UPDATE a SET v = v + 1 WHERE id = $1", .flags = DSQL_STMT_PREPARE};
static const struct dsql_stmt LOCK = {
    .name = "lock", .sql = "SELECT v FROM a WHERE id = $1 FOR UPDATE", .flags = DSQL_STMT_PREPARE};

struct call {
    int runs;
    int settled;
    bool deferred;
    const char *then; /* a fault that begins when the statement is through */
};

static enum dsql_rc add_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct call *call = arg;
    call->runs++;
    if (call->deferred)
        return dsql_tx_defer(tx, &ADD, PARAMS(dsql_i32(1)), err);
    enum dsql_rc rc = dsql_tx_exec(tx, &ADD, PARAMS(dsql_i32(1)), NULL, err);
    if (rc == DSQL_OK && call->then)
        fault(call->then);
    return rc;
}

static enum dsql_rc settle_body(struct dsql_tx *tx, void *arg, bool *applied, struct dsql_err *err)
{
    struct call *call = arg;
    call->settled++;
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_tx_query(tx, &LOCK, PARAMS(dsql_i32(1)), &rows, err);
    int64_t v = -1;
    if (rc == DSQL_OK && !dsql_rows_i64(rows, 0, 0, &v))
        rc = DSQL_NOT_FOUND;
    dsql_rows_free(rows);
    *applied = v == 1;
    return rc;
}

TEST(conflicts_at_any_place_are_repeated)
{
    static const struct {
        const char *fault;
        bool deferred, single;
        int runs;
    } rows[] = {
        {"conflict=1x", false, false, 2},        {"conflict=2x", true, false, 3},
        {"conflict-commit=1x", false, false, 2}, {"conflict-commit=3x", true, false, 4},
        {"conflict=1x", false, true, 2},         {"conflict-commit=2x", false, true, 3},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_tx_policy policy = quick();
        policy.single = rows[i].single;
        struct call call = {.deferred = rows[i].deferred};
        struct dsql_err err = {0};
        sql("UPDATE a SET v = 0");
        fault(rows[i].fault);
        char name[16];
        snprintf(name, sizeof(name), "any%zu", i);
        if (dsql_tx_run_on(&db.source, name, add_body, &call, &policy, &err) != DSQL_OK)
            fail_msg("%s: %s", rows[i].fault, err.message);
        assert_int_equal(call.runs, rows[i].runs);
        assert_int_equal(number("SELECT v FROM a WHERE id = 1"), 1);
        assert_int_equal(count(DSQL_METRIC_tx_conflicts, name, 0), rows[i].runs - 1);
    }
}

TEST(an_unanswered_commit_is_unknown_and_not_repeated)
{
    static const struct {
        const char *fault;
        int v;
    } rows[] = {
        {"close-commit=1x", 0},
        {"close-applied=1x", 1},
        {"unavailable-commit=1x", 0},
        {"unavailable-applied=1x", 1},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        for (int shape = 0; shape < 3; shape++) { /* waited for, riding with COMMIT, by itself */
            struct dsql_tx_policy policy = quick();
            policy.retry.reconnects = 3;
            policy.single = shape == 2;
            struct call call = {.deferred = shape == 1};
            struct dsql_err err = {0};
            sql("UPDATE a SET v = 0");
            fault(rows[i].fault);
            enum dsql_rc rc = dsql_tx_run_on(&db.source, "unknown", add_body, &call, &policy, &err);
            if (rc != DSQL_COMMIT_UNKNOWN)
                fail_msg("%s, shape %d: %s %s", rows[i].fault, shape, dsql_rc_name(rc),
                         err.message);
            assert_int_equal(call.runs, 1);
            assert_int_equal(number("SELECT v FROM a WHERE id = 1"), rows[i].v);
        }
    }
    assert_int_equal(count(DSQL_METRIC_commit_unknown, "unknown", DSQL_SETTLED_AS_UNSETTLED), 12);
}

TEST(the_callers_check_settles_it)
{
    static const struct {
        const char *fault;
        int runs, outcome;
    } rows[] = {
        {"close-commit=1x", 2, DSQL_SETTLED_AS_NOT_APPLIED},
        {"close-applied=1x", 1, DSQL_SETTLED_AS_APPLIED},
        {"unavailable-commit=1x", 2, DSQL_SETTLED_AS_NOT_APPLIED},
        {"unavailable-applied=1x", 1, DSQL_SETTLED_AS_APPLIED},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_tx_policy policy = quick();
        struct call call = {.deferred = i % 2};
        policy.settle = settle_body;
        policy.settle_arg = &call;
        struct dsql_err err = {0};
        sql("UPDATE a SET v = 0");
        fault(rows[i].fault);
        uint64_t before = count(DSQL_METRIC_commit_unknown, "settled", rows[i].outcome);
        if (dsql_tx_run_on(&db.source, "settled", add_body, &call, &policy, &err) != DSQL_OK)
            fail_msg("%s: %s", rows[i].fault, err.message);
        assert_int_equal(call.runs, rows[i].runs);
        assert_int_equal(call.settled, 1);
        assert_int_equal(number("SELECT v FROM a WHERE id = 1"), 1);
        assert_int_equal(count(DSQL_METRIC_commit_unknown, "settled", rows[i].outcome), before + 1);
    }
}

TEST(what_was_not_applied_and_not_repeated_is_lost)
{
    struct dsql_tx_policy policy = quick();
    struct call call = {.runs = 0};
    policy.settle = settle_body;
    policy.settle_arg = &call;
    policy.retry.max_retries = 0;
    struct dsql_err err = {0};
    fault("close-commit=1x");
    assert_int_equal(dsql_tx_run_on(&db.source, "gone", add_body, &call, &policy, &err), DSQL_LOST);
    assert_int_equal(number("SELECT v FROM a WHERE id = 1"), 0);
}

TEST(a_server_that_is_not_there_is_busy_before_commit)
{
    struct dsql_tx_policy policy = quick();
    struct call call = {.runs = 0};
    struct dsql_err err = {0};
    fault("unavailable=1x");
    assert_int_equal(dsql_tx_run_on(&db.source, "away", add_body, &call, &policy, &err),
                     DSQL_UNAVAILABLE);
    policy.retry.reconnects = 1;
    fault("unavailable=1x");
    ok(dsql_tx_run_on(&db.source, "away", add_body, &call, &policy, &err));
    assert_int_equal(call.runs, 3);
    assert_int_equal(number("SELECT v FROM a WHERE id = 1"), 1);
}

TEST(a_deadline_at_commit_leaves_the_outcome_unknown)
{
    struct dsql_tx_policy policy = quick();
    policy.timeout_ns = 2 * DSQL_S;
    struct call call = {.then = "stall=60s"};
    struct dsql_err err = {0};
    enum dsql_rc rc = dsql_tx_run_on(&db.source, "late", add_body, &call, &policy, &err);
    fault("stall=0s");
    /* On a machine that took two seconds to get there, the deadline came before COMMIT. */
    if (rc != DSQL_TIMEOUT)
        assert_int_equal(rc, DSQL_COMMIT_UNKNOWN);
    assert_non_null(strstr(err.message, "deadline"));
    assert_in_range(call.runs, 0, 1);
}

struct canceller {
    struct dsql_cancel *cancel;
    pthread_t thread;
    bool started;
};

static void *fire_soon(void *arg)
{
    struct timespec moment = {.tv_nsec = 200L * 1000 * 1000};
    nanosleep(&moment, NULL);
    dsql_cancel_fire(arg);
    return NULL;
}

static enum dsql_rc cancel_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct canceller *c = arg;
    enum dsql_rc rc = dsql_tx_exec(tx, &ADD, PARAMS(dsql_i32(1)), NULL, err);
    if (rc != DSQL_OK)
        return rc;
    fault("stall=60s");
    c->started = pthread_create(&c->thread, NULL, fire_soon, c->cancel) == 0;
    return c->started ? DSQL_OK : dsql_err_set(err, DSQL_NO_MEMORY, "no thread");
}

TEST(a_cancel_at_commit_leaves_the_outcome_unknown)
{
    struct dsql_tx_policy policy = quick();
    struct canceller c = {.started = false};
    ok(dsql_cancel_new(&c.cancel, NULL));
    policy.cancel = c.cancel;
    struct dsql_err err = {0};
    enum dsql_rc rc = dsql_tx_run_on(&db.source, "cancel", cancel_body, &c, &policy, &err);
    fault("stall=0s");
    if (c.started)
        pthread_join(c.thread, NULL);
    if (rc != DSQL_CANCELLED) /* fired before COMMIT was sent */
        assert_int_equal(rc, DSQL_COMMIT_UNKNOWN);
    assert_non_null(strstr(err.message, "cancelled"));
    dsql_cancel_destroy(c.cancel);
}

/* The retry is counted before its wait begins. */
static void *fire_after_conflict(void *arg)
{
    struct timespec moment = {.tv_nsec = 1000L * 1000};
    while (count(DSQL_METRIC_tx_retries, "wait", 0) == 0 && !dsql_cancel_fired(arg))
        nanosleep(&moment, NULL);
    dsql_cancel_fire(arg);
    return NULL;
}

TEST(a_cancel_ends_the_wait_between_two_tries)
{
    struct dsql_tx_policy policy = quick();
    policy.retry.base_delay_ns = policy.retry.max_delay_ns = DSQL_H;
    ok(dsql_cancel_new(&policy.cancel, NULL));
    pthread_t thread;
    struct call call = {.runs = 0};
    struct dsql_err err = {0};
    fault("conflict-commit=1x");
    assert_int_equal(pthread_create(&thread, NULL, fire_after_conflict, policy.cancel), 0);
    enum dsql_rc rc = dsql_tx_run_on(&db.source, "wait", add_body, &call, &policy, &err);
    dsql_cancel_fire(policy.cancel); /* ends the thread, whatever came */
    pthread_join(thread, NULL);
    assert_int_equal(rc, DSQL_CANCELLED);
    assert_int_equal(call.runs, 1);
    dsql_cancel_destroy(policy.cancel);
}

/* Many increments at once, under every fault that a commit can have: none is lost, none counted
 * twice. Each worker leaves the number of its last one in a row of its own, which settles it. */

enum { WORKERS = 4, INCREMENTS = 20 };

struct worker {
    int32_t id;
    int64_t increment;
    struct pg_source db;
    int failures;
    char why[256];
};

static const struct dsql_stmt MARK = {
    .name = "mark", .sql = "UPDATE w SET n = $2 WHERE id = $1", .flags = DSQL_STMT_PREPARE};
static const struct dsql_stmt MARKED = {.name = "marked",
                                        .sql = "SELECT n FROM w WHERE id = $1 FOR UPDATE",
                                        .flags = DSQL_STMT_PREPARE};

static enum dsql_rc increment_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct worker *w = arg;
    enum dsql_rc rc = dsql_tx_defer(tx, &ADD, PARAMS(dsql_i32(1)), err);
    return rc == DSQL_OK
               ? dsql_tx_defer(tx, &MARK, PARAMS(dsql_i32(w->id), dsql_i64(w->increment)), err)
               : rc;
}

static enum dsql_rc increment_settle(struct dsql_tx *tx, void *arg, bool *applied,
                                     struct dsql_err *err)
{
    struct worker *w = arg;
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_tx_query(tx, &MARKED, PARAMS(dsql_i32(w->id)), &rows, err);
    int64_t n = -1;
    if (rc == DSQL_OK && !dsql_rows_i64(rows, 0, 0, &n))
        rc = DSQL_NOT_FOUND;
    dsql_rows_free(rows);
    *applied = n == w->increment;
    return rc;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct dsql_tx_policy policy = quick();
    policy.retry.max_retries = 1000;
    policy.retry.reconnects = 1000;
    policy.retry.max_delay_ns = 20 * DSQL_MS;
    policy.retry.budget = NULL;
    policy.retry.conflict_alert = 0;
    policy.settle = increment_settle;
    policy.settle_arg = w;
    for (w->increment = 1; w->increment <= INCREMENTS; w->increment++) {
        struct dsql_err err = {0};
        enum dsql_rc rc =
            dsql_tx_run_on(&w->db.source, "increment", increment_body, w, &policy, &err);
        if (rc != DSQL_OK && w->failures++ == 0)
            snprintf(w->why, sizeof(w->why), "%s: %.200s", dsql_rc_name(rc), err.message);
    }
    return NULL;
}

TEST(no_update_is_lost_and_none_applied_twice)
{
    static struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    sql("DELETE FROM w");
    sql("INSERT INTO w SELECT i, 0 FROM generate_series(0, 3) i");
    fault("conflict=5% conflict-commit=10% close-commit=5% close-applied=5% unavailable-commit=5% "
          "unavailable-applied=5% unavailable=3% seed=7");
    for (int i = 0; i < WORKERS; i++) {
        workers[i].id = i;
        pg_source_init(&workers[i].db, metrics);
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        pg_source_fini(&workers[i].db);
    }
    fault("clear");
    for (int i = 0; i < WORKERS; i++)
        if (workers[i].failures)
            fail_msg("worker %d: %d failed, first %s", i, workers[i].failures, workers[i].why);
    assert_int_equal(number("SELECT v FROM a WHERE id = 1"), WORKERS * INCREMENTS);
}

int main(void)
{
    tx_db_open();
    sql("CREATE TABLE a (id int primary key, v bigint)");
    sql("CREATE TABLE w (id int primary key, n bigint)");
    sql("INSERT INTO a VALUES (1, 0)");
#define CALM(name) cmocka_unit_test_setup(name, before_each)
    const struct CMUnitTest tests[] = {
        CALM(conflicts_at_any_place_are_repeated),
        CALM(an_unanswered_commit_is_unknown_and_not_repeated),
        CALM(the_callers_check_settles_it),
        CALM(what_was_not_applied_and_not_repeated_is_lost),
        CALM(a_server_that_is_not_there_is_busy_before_commit),
        CALM(a_deadline_at_commit_leaves_the_outcome_unknown),
        CALM(a_cancel_at_commit_leaves_the_outcome_unknown),
        CALM(a_cancel_ends_the_wait_between_two_tries),
        CALM(no_update_is_lost_and_none_applied_twice),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tx_db_close();
    return failed;
}
