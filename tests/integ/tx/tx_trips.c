/* How many round trips transactions cost, preparing included. Run by tx.sh. */
#include <libpq-fe.h>
#include <stdio.h>

#include "support/tx_db.h"

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
    struct dsql_tx_policy policy = quick();
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

static enum dsql_rc prepared_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)arg;
    return dsql_tx_exec(tx, &SET_V_PREPARED, PARAMS(dsql_i32(1), dsql_i32(9)), NULL, err);
}

static enum dsql_rc forgetting_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    static const struct dsql_stmt forget = {.name = "forget", .sql = "DEALLOCATE ALL"};
    enum dsql_rc rc = prepared_body(tx, arg, err);
    if (rc == DSQL_OK)
        rc = dsql_tx_defer(tx, &forget, NULL, 0, err);
    return rc == DSQL_OK ? prepared_body(tx, arg, err) : rc;
}

/* Whatever an earlier user of the connection did to its prepared statements. */
TEST(statements_that_others_drop_are_prepared_anew)
{
    static const struct {
        const char *sql;
        int tries; /* of the next transaction */
    } rows[] = {
        {"DEALLOCATE ALL", 1},
        {"DEALLOCATE PREPARE ALL; SELECT 1", 1},
        {"PREPARE own AS SELECT 1; EXECUTE own; DEALLOCATE own", 1},
        {"DEALLOCATE \"dsql.set_v_prepared\"", 2},
        {"DEALLOCATE ALL; PREPARE \"dsql.set_v_prepared.1\" AS SELECT 1", 2},
    };
    struct dsql_tx_policy policy = quick();
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        pg_source_fini(&db); /* a session of its own */
        struct dsql_err err = {0};
        ok(dsql_tx_run_on(&db.source, "first", prepared_body, NULL, &policy, &err));
        PQclear(PQexec(db.idle, rows[i].sql));
        char name[16];
        snprintf(name, sizeof(name), "next%zu", i);
        for (int again = 0; again < 3; again++)
            if (dsql_tx_run_on(&db.source, name, prepared_body, NULL, &policy, &err) != DSQL_OK)
                fail_msg("%s: %s", rows[i].sql, err.message);
        unsigned op = dsql_metrics_operation(metrics, name);
        assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(tx_conflicts, .operation = op)),
                         rows[i].tries - 1);
    }
    /* Who does not run it again gets the error once. */
    struct dsql_err err = {0};
    PQclear(PQexec(db.idle, "DEALLOCATE \"dsql.set_v_prepared.2\""));
    policy.retry.max_retries = 0;
    assert_int_equal(dsql_tx_run_on(&db.source, "once", prepared_body, NULL, &policy, &err),
                     DSQL_SCHEMA_CHANGED);
    assert_string_equal(err.sqlstate, "26000");
    ok(dsql_tx_run_on(&db.source, "once", prepared_body, NULL, &policy, &err));
    /* A transaction may do it to itself. */
    ok(dsql_tx_run_on(&db.source, "itself", forgetting_body, NULL, &policy, &err));
    ok(dsql_tx_run_on(&db.source, "itself", forgetting_body, NULL, &policy, &err));
}

int main(void)
{
    tx_db_open();
    const struct CMUnitTest tests[] = {
        EACH(begin_rides_with_the_first_statement),
        EACH(a_shape_costs_exactly_its_round_trips),
        EACH(a_single_statement_needs_neither_begin_nor_commit),
        EACH(a_rollback_without_statements_costs_nothing),
        EACH(a_statement_is_prepared_once_per_connection),
        EACH(a_plan_made_stale_by_ddl_is_made_anew),
        EACH(statements_that_others_drop_are_prepared_anew),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tx_db_close();
    return failed;
}
