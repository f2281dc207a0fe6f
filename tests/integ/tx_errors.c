/* Whom errors are blamed on, and what they leave behind. Run by tx.sh. */
#include "support/tx_db.h"

static const struct dsql_stmt INSERT = {.name = "insert", .sql = "INSERT INTO t VALUES ($1, $2)"};

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

int main(void)
{
    tx_db_open();
    const struct CMUnitTest tests[] = {
        EACH(an_error_names_its_own_statement),
        EACH(the_first_error_stays),
        EACH(what_the_service_does_not_support_is_a_bug),
        EACH(copy_is_refused_and_costs_the_connection),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tx_db_close();
    return failed;
}
