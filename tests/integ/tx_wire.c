/*
 * Transactions on plain connections to the endpoint that PG* names: how many round trips they cost,
 * whom errors are blamed on, what fences do, what parameters and rows hold. Run by tx.sh.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dsql/metrics.h"
#include "metrics/metrics.h"
#include "support/pg_source.h"
#include "support/test.h"
#include "tx/tx_internal.h"

static struct pg_source db;    /* the one under test */
static struct pg_source other; /* somebody else */
static struct dsql_metrics *metrics;

static void sql(const char *text)
{
    PGresult *r = PQexec(other.idle, text);
    ExecStatusType status = PQresultStatus(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQresultErrorMessage(r));
    PQclear(r);
}

static int64_t number(const char *query)
{
    PGresult *r = PQexec(other.idle, query);
    if (PQresultStatus(r) != PGRES_TUPLES_OK || PQntuples(r) != 1)
        fail_msg("%s: %s", query, PQresultErrorMessage(r));
    int64_t n = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return n;
}

static int before_each(void **state)
{
    (void)state;
    sql("DELETE FROM t");
    sql("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, NULL)");
    return 0;
}

static const struct dsql_stmt READ_V = {
    .name = "read_v", .sql = "SELECT v FROM t WHERE id = $1", .flags = DSQL_STMT_READ};
static const struct dsql_stmt SET_V = {.name = "set_v", .sql = "UPDATE t SET v = $2 WHERE id = $1"};
static const struct dsql_stmt SET_V_PREPARED = {
    .name = "set_v_prepared",
    .sql = "UPDATE t SET v = $2 WHERE id = $1",
    .flags = DSQL_STMT_PREPARE,
};
static const struct dsql_stmt CAS_V = {.name = "cas_v",
                                       .sql = "UPDATE t SET v = $2 WHERE id = $1 AND v = $3"};
static const struct dsql_stmt CAS_V_RAISING = {
    .name = "cas_v_raising",
    .sql = DSQL_RAISING("UPDATE t SET v = $2 WHERE id = $1 AND v = $3"),
    .flags = DSQL_STMT_RAISES,
};
static const struct dsql_stmt INSERT = {.name = "insert", .sql = "INSERT INTO t VALUES ($1, $2)"};
static const struct dsql_stmt WRONG = {.name = "wrong", .sql = "SELECT nonsense"};

#define PARAMS(...)                                                                                \
    (const struct dsql_param[]){__VA_ARGS__},                                                      \
        sizeof((const struct dsql_param[]){__VA_ARGS__}) / sizeof(struct dsql_param)
#define ok(call) assert_int_equal((call), DSQL_OK)

static struct dsql_tx *begin(void)
{
    struct dsql_tx *tx = NULL;
    struct dsql_err err = {0};
    if (dsql_tx_begin_on(&db.source, "manual", NULL, &tx, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    return tx;
}

/* Round trips. */

TEST(begin_rides_with_the_first_statement)
{
    struct dsql_tx *tx = begin();
    assert_int_equal(dsql_tx_round_trips(tx), 0);
    int64_t n;
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(11)), &n, NULL));
    assert_int_equal(n, 1);
    assert_int_equal(dsql_tx_round_trips(tx), 1);
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(9), dsql_i32(11)), &n, NULL));
    assert_int_equal(n, 0);
    assert_int_equal(dsql_tx_round_trips(tx), 2);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);
    ok(dsql_tx_commit(tx, NULL));
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 11);
}

static uint64_t round_trips(const char *operation)
{
    unsigned op = dsql_metrics_operation(metrics, operation);
    return dsql_counter_value(metrics, DSQL_SERIES(tx_round_trips, .operation = op));
}

struct shape {
    int deferred, waited, sent; /* statements: queued, waited for, sent first and taken later */
    const struct dsql_stmt *fenced;
    int fence_rows;
    unsigned trips; /* for all of it, BEGIN and COMMIT included */
};

static enum dsql_rc shape_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    const struct shape *s = arg;
    for (int i = 0; i < s->waited; i++)
        ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(i)), NULL, err));
    struct dsql_ticket tickets[8];
    for (int i = 0; i < s->sent; i++)
        ok(dsql_tx_send(tx, &READ_V, PARAMS(dsql_i32(1)), &tickets[i], err));
    for (int i = 0; i < s->sent; i++)
        ok(dsql_tx_take(tx, tickets[i], NULL, NULL, err));
    for (int i = 0; i < s->deferred; i++)
        ok(dsql_tx_defer(tx, &SET_V_PREPARED, PARAMS(dsql_i32(2), dsql_i32(i)), err));
    if (s->fenced) {
        struct dsql_fence fence = {"row", "3", "v 30", s->fence_rows};
        ok(dsql_cas_defer(tx, s->fenced, PARAMS(dsql_i32(3), dsql_i32(30), dsql_i32(30)), &fence,
                          err));
    }
    return DSQL_OK;
}

TEST(a_shape_costs_exactly_its_round_trips)
{
    static const struct shape shapes[] = {
        {.trips = 0},
        {.deferred = 1, .trips = 1},
        {.deferred = 40, .trips = 1},
        {.waited = 1, .trips = 2},
        {.waited = 3, .trips = 4},
        {.sent = 8, .trips = 2},
        {.sent = 2, .deferred = 5, .trips = 2},
        {.waited = 1, .sent = 3, .deferred = 5, .trips = 3},
        {.fenced = &CAS_V_RAISING, .trips = 1},
        {.fenced = &CAS_V_RAISING, .deferred = 3, .trips = 1},
        {.fenced = &CAS_V_RAISING, .fence_rows = 1, .trips = 2},
        {.fenced = &CAS_V, .trips = 2},
        {.fenced = &CAS_V, .deferred = 3, .trips = 2},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(shapes); i++) {
        struct shape s = shapes[i];
        char name[16];
        snprintf(name, sizeof(name), "shape%zu", i);
        struct dsql_err err = {0};
        if (dsql_tx_run_on(&db.source, name, shape_body, &s, NULL, &err) != DSQL_OK)
            fail_msg("%zu: %s", i, err.message);
        if (round_trips(name) != s.trips)
            fail_msg("shape %zu: %llu round trips, not %u", i,
                     (unsigned long long)round_trips(name), s.trips);
    }
    assert_int_equal(db.opened, 1);
    assert_int_equal(db.discarded, 0);
}

TEST(a_single_statement_needs_neither_begin_nor_commit)
{
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.single = true;
    struct dsql_tx *tx;
    struct dsql_err err = {0};
    int64_t n;
    ok(dsql_tx_begin_on(&db.source, "single", &policy, &tx, &err));
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(12)), &n, &err));
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 12);
    ok(dsql_tx_commit(tx, &err));
    assert_int_equal(round_trips("single"), 1);

    ok(dsql_tx_begin_on(&db.source, "single2", &policy, &tx, &err));
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(13)), &n, &err));
    assert_int_equal(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(14)), &n, &err),
                     DSQL_INVALID);
    dsql_tx_rollback(tx);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 13);

    /* Queued and not waited for, it is not sent on its way by a rollback. */
    ok(dsql_tx_begin_on(&db.source, "single3", &policy, &tx, &err));
    ok(dsql_tx_defer(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(15)), &err));
    dsql_tx_rollback(tx);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 13);
}

TEST(a_rollback_without_statements_costs_nothing)
{
    dsql_tx_rollback(begin());
    struct dsql_tx *tx = begin();
    ok(dsql_tx_defer(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(1)), NULL));
    dsql_tx_rollback(tx);
    tx = begin();
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(1)), NULL, NULL));
    dsql_tx_rollback(tx);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);
    /* What is still queued may be wrong: the ROLLBACK gets through, and the connection stays. */
    unsigned discarded = db.discarded;
    tx = begin();
    ok(dsql_tx_defer(tx, &WRONG, NULL, 0, NULL));
    dsql_tx_rollback(tx);
    assert_int_equal(db.discarded, discarded);
}

/* Whom errors are blamed on. */

TEST(an_error_names_its_own_statement)
{
    struct dsql_err err = {0};
    for (int bad = 0; bad < 5; bad++) {
        struct dsql_tx *tx = begin();
        for (int i = 0; i < 5; i++) {
            if (i == bad)
                ok(dsql_tx_defer(tx, &INSERT, PARAMS(dsql_i32(1), dsql_i32(1)), &err));
            else
                ok(dsql_tx_defer(tx, &SET_V_PREPARED, PARAMS(dsql_i32(2), dsql_i32(i)), &err));
        }
        assert_int_equal(dsql_tx_commit(tx, &err), DSQL_DUPLICATE);
        assert_string_equal(err.sqlstate, "23505");
        assert_memory_equal(err.message, "insert: duplicate key", strlen("insert: duplicate key"));
        assert_int_equal(number("SELECT v FROM t WHERE id = 2"), 20);
    }
}

TEST(the_first_error_stays)
{
    struct dsql_err err = {0};
    unsigned discarded = db.discarded;
    struct dsql_tx *tx = begin();
    ok(dsql_tx_defer(tx, &WRONG, NULL, 0, &err));
    assert_int_equal(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(1)), NULL, &err),
                     DSQL_DATABASE);
    assert_string_equal(err.sqlstate, "42703");
    for (int i = 0; i < 3; i++) {
        err = (struct dsql_err){0};
        assert_int_equal(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(1)), NULL, &err),
                         DSQL_DATABASE);
        assert_memory_equal(err.message, "wrong: ", 7);
    }
    err = (struct dsql_err){0};
    assert_int_equal(dsql_tx_commit(tx, &err), DSQL_DATABASE);
    assert_memory_equal(err.message, "wrong: ", 7);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);
    assert_int_equal(db.discarded, discarded);
}

TEST(what_the_service_does_not_support_is_a_bug)
{
    static const struct dsql_stmt share = {.name = "share",
                                           .sql = "SELECT v FROM t WHERE id = 1 FOR SHARE"};
    struct dsql_err err = {0};
    struct dsql_tx *tx = begin();
    assert_int_equal(dsql_tx_exec(tx, &share, NULL, 0, NULL, &err), DSQL_UNSUPPORTED);
    assert_string_equal(err.sqlstate, "0A000");
    dsql_tx_rollback(tx);
    unsigned op = dsql_metrics_operation(metrics, "manual");
    assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(unsupported_feature, .operation = op,
                                                             .value = DSQL_FEATURE_LOCKING_CLAUSE)),
                     1);
}

TEST(copy_is_refused_and_costs_the_connection)
{
    static const struct dsql_stmt copy = {.name = "copy", .sql = "COPY t FROM STDIN"};
    struct dsql_err err = {0};
    unsigned before = db.discarded;
    struct dsql_tx *tx = begin();
    assert_int_not_equal(dsql_tx_exec(tx, &copy, NULL, 0, NULL, &err), DSQL_OK);
    dsql_tx_rollback(tx);
    assert_in_range(db.discarded - before, 0, 1);
    tx = begin();
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(1)), NULL, NULL));
    dsql_tx_rollback(tx);
}

/* Fences. */

TEST(a_fence_that_does_not_hold_is_condition_failed)
{
    static const struct dsql_stmt *const stmts[] = {&CAS_V, &CAS_V_RAISING};
    for (size_t i = 0; i < 2; i++) {
        for (int deferred = 0; deferred < 2; deferred++) {
            struct dsql_err err = {0};
            struct dsql_tx *tx = begin();
            struct dsql_fence fence = {.entity = "row", .key = "1", .token = "v 99"};
            ok(dsql_tx_defer(tx, &SET_V, PARAMS(dsql_i32(2), dsql_i32(21)), &err));
            enum dsql_rc rc;
            if (deferred) {
                ok(dsql_cas_defer(tx, stmts[i], PARAMS(dsql_i32(1), dsql_i32(11), dsql_i32(99)),
                                  &fence, &err));
                ok(dsql_tx_defer(tx, &SET_V, PARAMS(dsql_i32(3), dsql_i32(31)), &err));
            } else {
                rc = dsql_cas(tx, stmts[i], PARAMS(dsql_i32(1), dsql_i32(11), dsql_i32(99)), &fence,
                              &err);
                assert_int_equal(rc, DSQL_CONDITION_FAILED);
            }
            rc = dsql_tx_commit(tx, &err);
            assert_int_equal(rc, DSQL_CONDITION_FAILED);
            assert_non_null(strstr(err.message, "row 1 is not at the expected v 99"));
            assert_string_equal(err.entity, "row");
            assert_string_equal(err.key, "1");
            assert_non_null(strstr(err.message, "v 99"));
            assert_non_null(strstr(err.message, stmts[i]->name));
            /* Nothing of the transaction is there. */
            assert_int_equal(number("SELECT sum(v) FROM t"), 60);
        }
    }
}

TEST(a_fence_that_holds_passes_with_the_true_count)
{
    struct dsql_tx *tx = begin();
    struct dsql_ticket ticket;
    int64_t n = 0;
    struct dsql_err err = {0};
    ok(dsql_cas(tx, &CAS_V, PARAMS(dsql_i32(1), dsql_i32(11), dsql_i32(10)),
                &(struct dsql_fence){"row", "1", "v 10", 1}, &err));
    ok(dsql_tx_send(tx, &CAS_V_RAISING, PARAMS(dsql_i32(2), dsql_i32(21), dsql_i32(20)), &ticket,
                    &err));
    ok(dsql_tx_take(tx, ticket, &n, NULL, &err));
    assert_int_equal(n, 1);
    ok(dsql_tx_commit(tx, &err));
    assert_int_equal(number("SELECT sum(v) FROM t"), 11 + 21 + 30);
}

TEST(an_exact_count_is_checked_before_commit)
{
    static const struct dsql_stmt all = {.name = "all", .sql = "UPDATE t SET v = 0"};
    struct dsql_err err = {0};
    struct dsql_tx *tx = begin();
    ok(dsql_cas_defer(tx, &all, NULL, 0, &(struct dsql_fence){"one row", NULL, "it", 1}, &err));
    assert_int_equal(dsql_tx_commit(tx, &err), DSQL_CONDITION_FAILED);
    assert_int_equal(number("SELECT sum(v) FROM t"), 60);
}

TEST(fenced_updates_are_one_call)
{
    struct dsql_err err = {0};
    struct dsql_fence fence = {.entity = "row", .key = "1", .token = "v 10"};
    ok(dsql_fenced_update_on(&db.source, "fenced", &CAS_V,
                             PARAMS(dsql_i32(1), dsql_i32(11), dsql_i32(10)), &fence, NULL, &err));
    assert_int_equal(round_trips("fenced"), 1);
    assert_int_equal(dsql_fenced_update_on(&db.source, "fenced", &CAS_V,
                                           PARAMS(dsql_i32(1), dsql_i32(12), dsql_i32(10)), &fence,
                                           NULL, &err),
                     DSQL_CONDITION_FAILED);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 11);
    unsigned op = dsql_metrics_operation(metrics, "fenced");
    assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(condition_failed, .operation = op)),
                     1);

    struct dsql_param read[] = {dsql_i32(2)};
    struct dsql_param params[] = {dsql_i32(2), dsql_i32(22), dsql_null()};
    struct dsql_auto_fence update = {&READ_V, read, 1, &CAS_V, params, 3, 2, "row", "2"};
    ok(dsql_auto_fenced_update_on(&db.source, "auto", &update, NULL, &err));
    assert_int_equal(number("SELECT v FROM t WHERE id = 2"), 22);
    read[0] = dsql_i32(77);
    assert_int_equal(dsql_auto_fenced_update_on(&db.source, "auto", &update, NULL, &err),
                     DSQL_NOT_FOUND);
}

/* Retry. */

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

static void quick(struct dsql_tx_policy *policy)
{
    dsql_tx_policy_default(policy);
    policy->retry.base_delay_ns = DSQL_MS;
    policy->retry.max_delay_ns = 4 * DSQL_MS;
}

TEST(a_conflict_runs_the_whole_again)
{
    struct dsql_tx_policy policy;
    quick(&policy);
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
    struct dsql_tx_policy policy;
    quick(&policy);
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

TEST(the_last_try_is_the_last)
{
    struct dsql_tx_policy policy;
    quick(&policy);
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
    struct dsql_tx_policy policy;
    quick(&policy);
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

/* Deadlines, cancellation, death. */

static const struct dsql_stmt SLEEP = {.name = "sleep", .sql = "SELECT pg_sleep(30)"};

static enum dsql_rc sleep_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)arg;
    enum dsql_rc rc = dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(5)), NULL, err);
    return rc == DSQL_OK ? dsql_tx_exec(tx, &SLEEP, NULL, 0, NULL, err) : rc;
}

TEST(a_deadline_ends_the_wait_and_the_connection)
{
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    struct dsql_err err = {0};
    unsigned before;
    /* A slow machine may need longer to get as far as the sleep. */
    policy.timeout_ns = 100 * DSQL_MS;
    do {
        policy.timeout_ns *= 2;
        before = db.discarded;
        assert_int_equal(dsql_tx_run_on(&db.source, "late", sleep_body, NULL, &policy, &err),
                         DSQL_TIMEOUT);
    } while (strncmp(err.message, "sleep: ", 7) != 0 && policy.timeout_ns < 20 * DSQL_S);
    assert_memory_equal(err.message, "sleep: ", 7);
    assert_int_equal(db.discarded, before + 1);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);
}

static void *fire_soon(void *arg)
{
    usleep(100 * 1000);
    dsql_cancel_fire(arg);
    return NULL;
}

TEST(a_cancel_wakes_the_wait)
{
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    ok(dsql_cancel_new(&policy.cancel, NULL));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fire_soon, policy.cancel), 0);
    struct dsql_err err = {0};
    assert_int_equal(dsql_tx_run_on(&db.source, "cancel", sleep_body, NULL, &policy, &err),
                     DSQL_CANCELLED);
    pthread_join(thread, NULL);
    /* It stays fired: the next one does not even begin. */
    unsigned checkouts = db.checkouts;
    assert_int_equal(dsql_tx_run_on(&db.source, "cancel", sleep_body, NULL, &policy, &err),
                     DSQL_CANCELLED);
    assert_int_equal(db.checkouts, checkouts);
    dsql_cancel_destroy(policy.cancel);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);
}

static void cut(struct dsql_tx *tx)
{
    shutdown(PQsocket(tx->wire.pg), SHUT_RDWR);
}

TEST(a_lost_connection_is_lost_before_commit_and_unknown_at_it)
{
    struct dsql_err err = {0};
    struct dsql_tx *tx = begin();
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(5)), NULL, NULL));
    cut(tx);
    assert_int_equal(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(6)), NULL, &err),
                     DSQL_LOST);
    assert_memory_equal(err.message, "set_v: ", 7);
    assert_int_equal(dsql_tx_commit(tx, &err), DSQL_LOST);

    tx = begin();
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(5)), NULL, NULL));
    cut(tx);
    assert_int_equal(dsql_tx_commit(tx, &err), DSQL_COMMIT_UNKNOWN);
    assert_memory_equal(err.message, "COMMIT: ", 8);

    tx = begin();
    ok(dsql_tx_defer(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(5)), NULL));
    cut(tx);
    assert_int_equal(dsql_tx_commit(tx, &err), DSQL_COMMIT_UNKNOWN);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);

    /* By itself a write is its own commit; a read never is. */
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.single = true;
    ok(dsql_tx_begin_on(&db.source, "cut", &policy, &tx, &err));
    ok(dsql_tx_defer(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(5)), &err));
    cut(tx);
    assert_int_equal(dsql_tx_flush(tx, &err), DSQL_COMMIT_UNKNOWN);
    dsql_tx_rollback(tx);
    ok(dsql_tx_begin_on(&db.source, "cut", &policy, &tx, &err));
    cut(tx);
    assert_int_equal(dsql_tx_exec(tx, &READ_V, PARAMS(dsql_i32(1)), NULL, &err), DSQL_LOST);
    dsql_tx_rollback(tx);
    unsigned op = dsql_metrics_operation(metrics, "cut");
    assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(commit_unknown, .operation = op,
                                                             .value = DSQL_SETTLED_AS_UNSETTLED)),
                     1);
}

static enum dsql_rc cut_once(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    int *runs = arg;
    if (++*runs == 1)
        cut(tx);
    return dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(*runs)), NULL, err);
}

TEST(a_lost_connection_is_replaced_if_the_policy_says_so)
{
    struct dsql_tx_policy policy;
    quick(&policy);
    struct dsql_err err = {0};
    int runs = 0;
    assert_int_equal(dsql_tx_run_on(&db.source, "reconnect", cut_once, &runs, &policy, &err),
                     DSQL_LOST);
    assert_int_equal(runs, 1);
    policy.retry.reconnects = 1;
    runs = 0;
    ok(dsql_tx_run_on(&db.source, "reconnect", cut_once, &runs, &policy, &err));
    assert_int_equal(runs, 2);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 2);
}

/* Values. */

TEST(parameters_come_back_as_they_went)
{
    static const struct dsql_stmt all = {
        .name = "all",
        .sql =
            "SELECT $1::bool, $2::int2, $3::int4, $4::int8, $5::float8, $6::text, $7::bytea, "
            "$8::uuid, $9::timestamptz, $10::timestamp, $11::text, $12::int8, $13::numeric::text",
        .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
    };
    static const unsigned char bytes[] = {0, 1, 255, 0, '\\', '\''};
    static const unsigned char uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    const int64_t times[] = {0, -1, INT64_C(1700000000123456), INT64_C(-62135596800000000)};
    for (size_t i = 0; i < 4; i++) {
        struct dsql_tx *tx = begin();
        struct dsql_rows *rows = NULL;
        struct dsql_err err = {0};
        if (dsql_tx_query(tx, &all,
                          PARAMS(dsql_bool(i % 2), dsql_i16((int16_t)(INT16_MIN + (int)i)),
                                 dsql_i32(INT32_MIN), dsql_i64(INT64_MIN), dsql_f64(-0.1),
                                 dsql_text("h\xc3\xa9"), dsql_bytes(bytes, sizeof(bytes)),
                                 dsql_uuid(uuid), dsql_time_us(times[i]),
                                 dsql_timestamp_us(times[i]), dsql_text_n("abcdef", 3), dsql_null(),
                                 dsql_text("1.50")),
                          &rows, &err) != DSQL_OK)
            fail_msg("%s", err.message);
        int64_t n;
        double d;
        bool b;
        size_t len;
        assert_int_equal(dsql_rows_count(rows), 1);
        assert_int_equal(dsql_rows_columns(rows), 13);
        assert_true(dsql_rows_bool(rows, 0, 0, &b));
        assert_int_equal(b, i % 2);
        assert_true(dsql_rows_i64(rows, 0, 1, &n));
        assert_int_equal(n, INT16_MIN + (int)i);
        assert_true(dsql_rows_i64(rows, 0, 2, &n));
        assert_int_equal(n, INT32_MIN);
        assert_true(dsql_rows_i64(rows, 0, 3, &n));
        assert_true(n == INT64_MIN);
        assert_true(dsql_rows_f64(rows, 0, 4, &d));
        assert_true(d == -0.1);
        assert_string_equal(dsql_rows_bytes(rows, 0, 5, NULL), "h\xc3\xa9");
        assert_memory_equal(dsql_rows_bytes(rows, 0, 6, &len), bytes, sizeof(bytes));
        assert_int_equal(len, sizeof(bytes));
        assert_memory_equal(dsql_rows_bytes(rows, 0, 7, &len), uuid, 16);
        assert_int_equal(len, 16);
        assert_true(dsql_rows_time_us(rows, 0, 8, &n) && n == times[i]);
        assert_true(dsql_rows_time_us(rows, 0, 9, &n) && n == times[i]);
        assert_string_equal(dsql_rows_bytes(rows, 0, 10, NULL), "abc");
        assert_true(dsql_rows_is_null(rows, 0, 11));
        assert_false(dsql_rows_i64(rows, 0, 11, &n));
        assert_string_equal(dsql_rows_bytes(rows, 0, 12, NULL), "1.50");
        assert_null(dsql_rows_bytes(rows, 1, 0, NULL));
        assert_null(dsql_rows_bytes(rows, 0, 13, NULL));
        assert_false(dsql_rows_i64(rows, 0, 6, &n));
        dsql_rows_free(rows);
        ok(dsql_tx_commit(tx, &err));
    }
}

TEST(many_and_large_values_pass)
{
    /* More than libpq and OpenSSL hold in one piece, in both directions. */
    static const struct dsql_stmt echo = {.name = "echo", .sql = "SELECT $1::bytea"};
    size_t len = (size_t)900 * 1024;
    char *blob = malloc(len);
    assert_non_null(blob);
    for (size_t i = 0; i < len; i++)
        blob[i] = (char)(i * 31 + i / 251);
    struct dsql_tx *tx = begin();
    struct dsql_err err = {0};
    struct dsql_ticket tickets[5];
    for (int i = 0; i < 5; i++)
        ok(dsql_tx_send(tx, &echo, PARAMS(dsql_bytes(blob, len - (size_t)i)), &tickets[i], &err));
    for (int i = 4; i >= 0; i--) {
        struct dsql_rows *rows = NULL;
        size_t back;
        if (dsql_tx_take(tx, tickets[i], NULL, &rows, &err) != DSQL_OK)
            fail_msg("%s", err.message);
        const void *bytes = dsql_rows_bytes(rows, 0, 0, &back);
        assert_int_equal(back, len - (size_t)i);
        assert_memory_equal(bytes, blob, back);
        dsql_rows_free(rows);
    }
    ok(dsql_tx_commit(tx, &err));
    free(blob);

    char text[4096] = "SELECT 0";
    struct dsql_param params[200];
    for (size_t i = 0; i < 200; i++) {
        char piece[16];
        snprintf(piece, sizeof(piece), "+$%zu", i + 1);
        strncat(text, piece, sizeof(text) - strlen(text) - 1);
        params[i] = dsql_i64((int64_t)i);
    }
    struct dsql_stmt sum = {.name = "sum", .sql = text};
    struct dsql_rows *rows = NULL;
    tx = begin();
    ok(dsql_tx_query(tx, &sum, params, 200, &rows, &err));
    int64_t n;
    assert_true(dsql_rows_i64(rows, 0, 0, &n));
    assert_int_equal(n, 199 * 100);
    dsql_rows_free(rows);
    dsql_tx_rollback(tx);
}

TEST(wrong_arguments_are_refused)
{
    struct dsql_err err = {0};
    struct dsql_tx *tx = begin();
    struct dsql_stmt nameless = {.sql = "SELECT 1"};
    assert_int_equal(dsql_tx_exec(tx, &nameless, NULL, 0, NULL, &err), DSQL_INVALID);
    dsql_tx_rollback(tx);
    tx = begin();
    assert_int_equal(dsql_tx_exec(tx, &READ_V, PARAMS(dsql_text_n("a\0b", 3)), NULL, &err),
                     DSQL_INVALID);
    dsql_tx_rollback(tx);
    tx = begin();
    struct dsql_ticket ticket;
    ok(dsql_tx_send(tx, &READ_V, PARAMS(dsql_i32(1)), &ticket, &err));
    ok(dsql_tx_take(tx, ticket, NULL, NULL, &err));
    assert_int_equal(dsql_tx_take(tx, ticket, NULL, NULL, &err), DSQL_INVALID);
    dsql_tx_rollback(tx);
}

/* Prepared statements. */

TEST(a_statement_is_prepared_once_per_connection)
{
    struct dsql_err err = {0};
    struct dsql_stmt stmt = {
        .name = "once", .sql = "SELECT v FROM t WHERE id = $1", .flags = DSQL_STMT_PREPARE};
    /* Twice before the first answer, then again in other transactions. */
    for (int i = 0; i < 3; i++) {
        struct dsql_tx *tx = begin();
        struct dsql_ticket a, b;
        ok(dsql_tx_send(tx, &stmt, PARAMS(dsql_i32(1)), &a, &err));
        ok(dsql_tx_send(tx, &stmt, PARAMS(dsql_i32(2)), &b, &err));
        if (dsql_tx_take(tx, a, NULL, NULL, &err) != DSQL_OK)
            fail_msg("%s", err.message);
        ok(dsql_tx_commit(tx, &err));
    }
    /* Refused in a failed transaction, it is not remembered. */
    stmt.name = "once_more";
    struct dsql_tx *tx = begin();
    ok(dsql_tx_defer(tx, &WRONG, NULL, 0, &err));
    ok(dsql_tx_defer(tx, &stmt, PARAMS(dsql_i32(1)), &err));
    assert_int_equal(dsql_tx_flush(tx, &err), DSQL_DATABASE);
    dsql_tx_rollback(tx);
    tx = begin();
    if (dsql_tx_exec(tx, &stmt, PARAMS(dsql_i32(1)), NULL, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    ok(dsql_tx_commit(tx, &err));
    /* One name, two texts. */
    stmt.sql = "SELECT 1";
    tx = begin();
    assert_int_equal(dsql_tx_exec(tx, &stmt, NULL, 0, NULL, &err), DSQL_INVALID);
    dsql_tx_rollback(tx);
}

static enum dsql_rc star_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    static const struct dsql_stmt star = {
        .name = "star", .sql = "SELECT * FROM s", .flags = DSQL_STMT_PREPARE};
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_tx_query(tx, &star, NULL, 0, &rows, err);
    *(size_t *)arg = dsql_rows_columns(rows);
    dsql_rows_free(rows);
    return rc;
}

TEST(a_plan_made_stale_by_ddl_is_made_anew)
{
    struct dsql_tx_policy policy;
    quick(&policy);
    struct dsql_err err = {0};
    size_t columns = 0;
    sql("CREATE TABLE s (a int primary key)");
    ok(dsql_tx_run_on(&db.source, "star", star_body, &columns, &policy, &err));
    assert_int_equal(columns, 1);
    sql("ALTER TABLE s ADD COLUMN b int");
    if (dsql_tx_run_on(&db.source, "star", star_body, &columns, &policy, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    assert_int_equal(columns, 2);
    sql("DROP TABLE s");
}

int main(void)
{
    ok(dsql_metrics_new("test", &metrics));
    pg_source_init(&db, metrics);
    pg_source_init(&other, NULL);
    other.idle = PQconnectdb("");
    sql("CREATE TABLE t (id int primary key, v bigint, s text)");
#define EACH(name) cmocka_unit_test_setup(name, before_each)
    const struct CMUnitTest tests[] = {
        EACH(begin_rides_with_the_first_statement),
        EACH(a_shape_costs_exactly_its_round_trips),
        EACH(a_single_statement_needs_neither_begin_nor_commit),
        EACH(a_rollback_without_statements_costs_nothing),
        EACH(an_error_names_its_own_statement),
        EACH(the_first_error_stays),
        EACH(what_the_service_does_not_support_is_a_bug),
        EACH(copy_is_refused_and_costs_the_connection),
        EACH(a_fence_that_does_not_hold_is_condition_failed),
        EACH(a_fence_that_holds_passes_with_the_true_count),
        EACH(an_exact_count_is_checked_before_commit),
        EACH(fenced_updates_are_one_call),
        EACH(a_conflict_runs_the_whole_again),
        EACH(a_schema_change_is_tried_again_once_on_the_same_connection),
        EACH(the_last_try_is_the_last),
        EACH(a_budget_that_is_used_up_ends_it),
        EACH(a_condition_that_failed_is_not_tried_again),
        EACH(what_the_body_says_is_the_outcome),
        EACH(a_deadline_ends_the_wait_and_the_connection),
        EACH(a_cancel_wakes_the_wait),
        EACH(a_lost_connection_is_lost_before_commit_and_unknown_at_it),
        EACH(a_lost_connection_is_replaced_if_the_policy_says_so),
        EACH(parameters_come_back_as_they_went),
        EACH(many_and_large_values_pass),
        EACH(wrong_arguments_are_refused),
        EACH(a_statement_is_prepared_once_per_connection),
        EACH(a_plan_made_stale_by_ddl_is_made_anew),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pg_source_fini(&db);
    pg_source_fini(&other);
    dsql_metrics_destroy(metrics);
    return failed;
}
