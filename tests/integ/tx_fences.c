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

int main(void)
{
    tx_db_open();
    const struct CMUnitTest tests[] = {
        EACH(a_fence_that_does_not_hold_is_condition_failed),
        EACH(a_fence_that_holds_passes_with_the_true_count),
        EACH(an_exact_count_is_checked_before_commit),
        EACH(fenced_updates_are_one_call),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tx_db_close();
    return failed;
}
