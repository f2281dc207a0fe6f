/* What is run again, and when it ends. Run by tx.sh. */
#include "support/tx_db.h"
#include "tx/operation.h"

struct contest {
    int until; /* the try that nobody disturbs */
    int runs;
    bool own_error; /* the body makes its own error of a conflict */
};

static enum dsql_rc contest_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct contest *c = arg;
    c->runs++;
    assert_int_equal(dsql_tx_try(tx), c->runs);
    struct dsql_rows *rows = NULL;
    ok(dsql_tx_query(tx, &READ_V, PARAMS(dsql_i32(1)), &rows, err));
    int64_t v;
    assert_true(dsql_rows_i64(rows, 0, 0, &v));
    dsql_rows_free(rows);
    if (c->runs < c->until)
        sql("UPDATE t SET v = v + 100 WHERE id = 1");
    if (c->own_error)
        return dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i64(v + 1)), NULL, err) == DSQL_OK
                   ? DSQL_OK
                   : dsql_err_set(err, DSQL_INVALID, "something else");
    return dsql_tx_defer(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i64(v + 1)), err);
}

TEST(a_conflict_runs_the_whole_again)
{
    struct dsql_tx_policy policy = quick();
    struct dsql_err err = {0};
    unsigned discarded = db.discarded;
    for (int own_error = 0; own_error < 2; own_error++) {
        const char *op = own_error ? "contest-own" : "contest";
        sql("UPDATE t SET v = 10 WHERE id = 1");
        struct contest c = {.until = 3, .own_error = own_error};
        if (dsql_tx_run_on(&db.source, op, contest_body, &c, &policy, &err) != DSQL_OK)
            fail_msg("%s", err.message);
        assert_int_equal(c.runs, 3);
        assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 211);
        unsigned o = dsql_metrics_operation(metrics, op);
        assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(tx_conflicts, .operation = o)), 2);
        assert_int_equal(
            dsql_counter_value(metrics, DSQL_SERIES(tx_retries, .operation = o, .value = 0)), 1);
        assert_int_equal(
            dsql_counter_value(metrics, DSQL_SERIES(tx_retries, .operation = o, .value = 1)), 1);
        assert_int_equal(
            dsql_gauge_value(metrics, DSQL_SERIES(active_transactions, .operation = o)), 0);
        assert_int_equal(
            dsql_counter_value(
                metrics, DSQL_SERIES(errors, .operation = o, .value = DSQL_ERROR_TYPE_RETRYABLE)),
            2);
    }
    assert_int_equal(db.discarded, discarded);
}

struct told {
    int runs;
    enum dsql_rc rc; /* what the first two runs say */
};

static enum dsql_rc told_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct told *t = arg;
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(t->runs)), NULL, err));
    return ++t->runs <= 2 ? t->rc : DSQL_OK;
}

TEST(a_schema_change_is_tried_again_once_on_the_same_connection)
{
    struct dsql_tx_policy policy = quick();
    unsigned before = db.checkouts;
    struct told t = {.rc = DSQL_SCHEMA_CHANGED};
    ok(dsql_tx_run_on(&db.source, "told", told_body, &t, &policy, NULL));
    assert_int_equal(t.runs, 3);
    assert_int_equal(db.checkouts - before, 2);
    before = db.checkouts;
    t = (struct told){.rc = DSQL_CONFLICT};
    ok(dsql_tx_run_on(&db.source, "told", told_body, &t, &policy, NULL));
    assert_int_equal(db.checkouts - before, 3);
}

/* Another session changes the table: before the transaction, or in the midst of it. */
struct overtaken {
    int runs;
    bool amid;
};

static void change_catalogue(void)
{
    sql("COMMENT ON TABLE t IS 'changed'");
}

static enum dsql_rc overtaken_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct overtaken *o = arg;
    enum dsql_rc rc = dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(11)), NULL, err);
    if (o->runs++ == 0 && o->amid && rc == DSQL_OK)
        change_catalogue();
    return rc;
}

TEST(ddl_of_another_session_costs_one_more_try_on_the_same_connection)
{
    struct dsql_tx_policy policy = quick();
    struct dsql_err err = {0};
    ok(dsql_tx_run_on(&db.source, "warm", overtaken_body, &(struct overtaken){0}, &policy, &err));
    for (int amid = 0; amid < 2; amid++) {
        unsigned checkouts = db.checkouts, opened = db.opened;
        const char *op = amid ? "overtaken-amid" : "overtaken";
        struct overtaken o = {.amid = amid};
        sql("UPDATE t SET v = 10 WHERE id = 1");
        if (!amid)
            change_catalogue();
        if (dsql_tx_run_on(&db.source, op, overtaken_body, &o, &policy, &err) != DSQL_OK)
            fail_msg("%s", err.message);
        assert_int_equal(o.runs, 2);
        assert_int_equal(db.checkouts - checkouts, 1);
        assert_int_equal(db.opened, opened);
        assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 11);
        unsigned label = dsql_metrics_operation(metrics, op);
        assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(tx_conflicts, .operation = label)),
                         1);
        /* Once is all: a caller that allows no retry is told what it was. */
        policy.retry.max_retries = 0;
        o = (struct overtaken){.amid = amid};
        if (!amid)
            change_catalogue();
        assert_int_equal(dsql_tx_run_on(&db.source, op, overtaken_body, &o, &policy, &err),
                         DSQL_SCHEMA_CHANGED);
        assert_string_equal(err.sqlstate, "40001");
        assert_non_null(strstr(err.message, "OC001"));
        assert_memory_equal(err.message, amid ? "COMMIT: " : "set_v: ", amid ? 8 : 7);
        policy = quick();
    }
}

TEST(the_last_try_is_the_last)
{
    struct dsql_tx_policy policy = quick();
    policy.retry.max_retries = 2;
    struct dsql_err err = {0};
    struct contest c = {.until = 100};
    assert_int_equal(dsql_tx_run_on(&db.source, "last", contest_body, &c, &policy, &err),
                     DSQL_CONFLICT);
    assert_int_equal(c.runs, 3);
    assert_string_equal(err.sqlstate, "40001");
    assert_non_null(strstr(err.hint, "exhausted"));
    unsigned o = dsql_metrics_operation(metrics, "last");
    assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(tx_exhausted, .operation = o)), 1);
}

TEST(a_budget_that_is_used_up_ends_it)
{
    struct dsql_tx_policy policy = quick();
    ok(dsql_retry_budget_new(0, 1, 1, &policy.retry.budget));
    struct dsql_err err = {0};
    struct contest c = {.until = 100};
    assert_int_equal(dsql_tx_run_on(&db.source, "budget", contest_body, &c, &policy, &err),
                     DSQL_CONFLICT);
    assert_in_range(c.runs, 2, 6); /* one saved, one a second */
    dsql_retry_budget_destroy(policy.retry.budget);
}

static enum dsql_rc count_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    ++*(int *)arg;
    return dsql_cas(tx, &CAS_V, PARAMS(dsql_i32(1), dsql_i32(1), dsql_i32(99)),
                    &(struct dsql_fence){"row", "1", "v 99", 0}, err);
}

TEST(a_condition_that_failed_is_not_tried_again)
{
    int runs = 0;
    struct dsql_err err = {0};
    assert_int_equal(dsql_tx_run_on(&db.source, "condition", count_body, &runs, NULL, &err),
                     DSQL_CONDITION_FAILED);
    assert_int_equal(runs, 1);
}

static enum dsql_rc say_no(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)arg;
    (void)err;
    ok(dsql_tx_defer(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(5)), NULL));
    return DSQL_NOT_FOUND;
}

TEST(what_the_body_says_is_the_outcome)
{
    struct dsql_err err = {0};
    assert_int_equal(dsql_tx_run_on(&db.source, "no", say_no, NULL, NULL, &err), DSQL_NOT_FOUND);
    assert_int_equal(err.rc, DSQL_NOT_FOUND);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);
}

/* One try of an operation that is driven by hand: a transaction that somebody else overtakes, if
 * `disturbed`. */
static enum dsql_rc try_by_hand(const struct dsql_tx_policy *policy, bool disturbed)
{
    struct dsql_tx *tx = NULL;
    struct dsql_err err;
    ok(dsql_tx_begin_on(&db.source, "ignored", policy, &tx, &err));
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i64(1)), NULL, &err));
    if (disturbed)
        sql("UPDATE t SET v = v + 100 WHERE id = 1");
    return dsql_tx_commit(tx, &err);
}

static const struct dsql_hist *recorded(enum dsql_metric metric, unsigned operation)
{
    return dsql_histogram_of(metrics,
                             (struct dsql_series){.metric = metric, .operation = operation});
}

static uint64_t count_of(enum dsql_metric metric, unsigned operation)
{
    return dsql_hist_count(recorded(metric, operation));
}

TEST(an_operation_driven_by_hand_is_one_operation)
{
    struct dsql_tx_policy policy = quick();
    policy.retry.max_retries = 2;
    struct dsql_err err;
    unsigned o = dsql_metrics_operation(metrics, "by-hand");
    for (int gives_up = 0; gives_up < 2; gives_up++) {
        ok(dsql_operation_begin_on(&db.source, "by-hand", &policy, &policy.operation, &err));
        assert_int_equal(
            dsql_gauge_value(metrics, DSQL_SERIES(active_transactions, .operation = o)), 1);
        struct dsql_retry_decision decision;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(try_by_hand(&policy, true), DSQL_CONFLICT);
            decision = dsql_operation_next(policy.operation, DSQL_CONFLICT);
            assert_true(decision.again && decision.wait_ns > 0);
        }
        /* A transaction that libdsql runs again by itself is a part of it all the same. */
        struct contest c = {.until = 3};
        ok(dsql_tx_run_on(&db.source, "ignored", contest_body, &c, &policy, &err));
        assert_int_equal(try_by_hand(&policy, gives_up), gives_up ? DSQL_CONFLICT : DSQL_OK);
        if (gives_up) {
            decision = dsql_operation_next(policy.operation, DSQL_CONFLICT);
            assert_int_equal(decision.why, DSQL_RETRY_EXHAUSTED);
        }
        assert_int_equal(count_of(DSQL_METRIC_operation_duration, o), gives_up);
        dsql_operation_end(policy.operation);
        policy.operation = NULL;
    }
    assert_int_equal(count_of(DSQL_METRIC_operation_duration, o), 2);
    assert_int_equal(count_of(DSQL_METRIC_retry_attempts, o), 2);
    assert_int_equal(dsql_hist_sum(recorded(DSQL_METRIC_retry_attempts, o)), 2 * 5); /* tries */
    assert_int_equal(count_of(DSQL_METRIC_tx_backoff, o), 8);
    assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(tx_conflicts, .operation = o)), 9);
    for (int attempt = 0; attempt < 2; attempt++)
        assert_int_equal(
            dsql_counter_value(metrics, DSQL_SERIES(tx_retries, .operation = o, .value = attempt)),
            4);
    assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(tx_exhausted, .operation = o)), 1);
    assert_int_equal(dsql_gauge_value(metrics, DSQL_SERIES(active_transactions, .operation = o)),
                     0);
    o = dsql_metrics_operation(metrics, "ignored");
    assert_int_equal(count_of(DSQL_METRIC_operation_duration, o), 0);
    assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(tx_conflicts, .operation = o)), 0);
}

int main(void)
{
    tx_db_open();
    const struct CMUnitTest tests[] = {
        EACH(a_conflict_runs_the_whole_again),
        EACH(a_schema_change_is_tried_again_once_on_the_same_connection),
        EACH(ddl_of_another_session_costs_one_more_try_on_the_same_connection),
        EACH(the_last_try_is_the_last),
        EACH(a_budget_that_is_used_up_ends_it),
        EACH(a_condition_that_failed_is_not_tried_again),
        EACH(what_the_body_says_is_the_outcome),
        EACH(an_operation_driven_by_hand_is_one_operation),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tx_db_close();
    return failed;
}
