/* Compare and swap, and fenced updates. Run by tx.sh. */
#include "support/tx_db.h"

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
    assert_int_equal(round_trips("fenced"), 2);
    ok(dsql_fenced_update_on(&db.source, "raising", &CAS_V_RAISING,
                             PARAMS(dsql_i32(3), dsql_i32(31), dsql_i32(30)), &fence, NULL, &err));
    assert_int_equal(round_trips("raising"), 1);
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

static const struct dsql_stmt TWO = {.name = "two", .sql = "UPDATE t SET v = 0 WHERE id < 3"};

static enum dsql_rc fence_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    const struct dsql_stmt *stmt = arg;
    struct dsql_fence one = {"row", "1", "it", 1}, any = {"row", "1", "it", 0};
    return dsql_cas(tx, stmt, NULL, 0, stmt == &TWO ? &one : &any, err);
}

/* A row count that the server does not judge comes too late once the statement is committed. */
TEST(a_fence_of_a_single_statement_is_looked_at_before_commit)
{
    static const struct dsql_stmt hidden = {
        .name = "hidden",
        .sql = "WITH a AS (UPDATE t SET v = 0 WHERE id = 1) UPDATE t SET v = 0 WHERE id = 99"};
    static const struct dsql_stmt ddl = {.name = "ddl",
                                         .sql = "CREATE TABLE fenced (id int primary key)"};
    const struct dsql_stmt *const stmts[] = {&TWO, &hidden, &ddl};
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.single = true;
    for (size_t i = 0; i < DSQL_COUNT_OF(stmts); i++) {
        struct dsql_stmt stmt = *stmts[i];
        struct dsql_err err = {0};
        assert_int_equal(dsql_tx_run_on(&db.source, "single", fence_body,
                                        i == 0 ? (void *)&TWO : (void *)&stmt, &policy, &err),
                         DSQL_CONDITION_FAILED);
        assert_int_equal(number("SELECT sum(v) FROM t"), 60);
    }
    assert_int_equal(number("SELECT count(*) FROM pg_class WHERE relname = 'fenced'"), 0);
}

/* A COMMIT is sent right behind such a statement: the server must be the one to raise. */
TEST(what_does_not_raise_is_not_taken_for_it)
{
    struct dsql_stmt stmt = CAS_V;
    stmt.flags = DSQL_STMT_RAISES;
    struct dsql_err err = {0};
    struct dsql_tx *tx = begin();
    assert_int_equal(dsql_cas_defer(tx, &stmt, PARAMS(dsql_i32(1), dsql_i32(11), dsql_i32(99)),
                                    &(struct dsql_fence){"row", "1", "v 99", 0}, &err),
                     DSQL_INVALID);
    dsql_tx_rollback(tx);
}

int main(void)
{
    tx_db_open();
    const struct CMUnitTest tests[] = {
        EACH(a_fence_that_does_not_hold_is_condition_failed),
        EACH(a_fence_that_holds_passes_with_the_true_count),
        EACH(an_exact_count_is_checked_before_commit),
        EACH(fenced_updates_are_one_call),
        EACH(a_fence_of_a_single_statement_is_looked_at_before_commit),
        EACH(what_does_not_raise_is_not_taken_for_it),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tx_db_close();
    return failed;
}
