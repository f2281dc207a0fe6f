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

/* Neither may be sent: COPY needs an exchange of its own while the server goes on to COMMIT, and
 * who ends the transaction makes every later answer untrue. */
TEST(copy_and_the_ends_of_transactions_are_refused)
{
    static const char *const texts[] = {
        "COPY t TO STDOUT", "COPY t FROM STDIN", "/* a */ COPY t TO STDOUT", "COMMIT", "ROLLBACK",
        "-- a\nEND",        "START TRANSACTION", "PREPARE TRANSACTION 'a'",
    };
    struct dsql_err err = {0};
    unsigned before = db.discarded;
    for (size_t i = 0; i < DSQL_COUNT_OF(texts); i++) {
        struct dsql_stmt stmt = {.name = "refused", .sql = texts[i]};
        struct dsql_tx *tx = begin();
        ok(dsql_tx_defer(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(1)), &err));
        assert_int_equal(dsql_tx_defer(tx, &stmt, NULL, 0, &err), DSQL_INVALID);
        assert_memory_equal(err.message, "refused: ", 9);
        assert_int_equal(dsql_tx_commit(tx, &err), DSQL_INVALID);
        assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);
    }
    assert_int_equal(db.discarded, before);
}

struct after {
    int runs;
    enum dsql_rc rc;
};

static enum dsql_rc fail_afterwards(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct after *after = arg;
    after->runs++;
    enum dsql_rc rc = dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(77)), NULL, err);
    return rc == DSQL_OK ? dsql_err_set(err, after->rc, "no wish") : rc;
}

/* What is committed can't be taken back, nor may it be run again. */
TEST(what_fails_after_a_single_statement_is_called_applied)
{
    static const enum dsql_rc codes[] = {DSQL_NOT_FOUND, DSQL_CONFLICT, DSQL_LOST,
                                         DSQL_COMMIT_UNKNOWN};
    struct dsql_tx_policy policy = quick();
    policy.single = true;
    policy.retry.reconnects = 3;
    struct dsql_err err = {0};
    for (size_t i = 0; i < DSQL_COUNT_OF(codes); i++) {
        struct after after = {.rc = codes[i]};
        assert_int_equal(
            dsql_tx_run_on(&db.source, "after", fail_afterwards, &after, &policy, &err),
            DSQL_APPLIED);
        assert_non_null(strstr(err.message, "no wish"));
        assert_int_equal(after.runs, 1);
    }
    struct dsql_tx *tx;
    ok(dsql_tx_begin_on(&db.source, "after", &policy, &tx, &err));
    ok(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(78)), NULL, &err));
    assert_int_equal(dsql_tx_exec(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i32(79)), NULL, &err),
                     DSQL_INVALID);
    assert_int_equal(dsql_tx_commit(tx, &err), DSQL_APPLIED);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 78);
}

static enum dsql_rc ask(struct dsql_tx *tx, void *arg, bool *applied, struct dsql_err *err)
{
    (void)tx;
    (void)err;
    ++*(int *)arg;
    *applied = true;
    return DSQL_OK;
}

/* The body may pass on what it heard of another transaction: its own is rolled back all the same.
 */
TEST(only_a_lost_answer_is_settled)
{
    struct dsql_tx_policy policy = quick();
    int asked = 0;
    policy.settle = ask;
    policy.settle_arg = &asked;
    struct after after = {.rc = DSQL_COMMIT_UNKNOWN};
    struct dsql_err err = {0};
    assert_int_equal(dsql_tx_run_on(&db.source, "passed", fail_afterwards, &after, &policy, &err),
                     DSQL_COMMIT_UNKNOWN);
    assert_int_equal(asked, 0);
    assert_int_equal(after.runs, 1);
    assert_int_equal(number("SELECT v FROM t WHERE id = 1"), 10);
}

int main(void)
{
    tx_db_open();
    const struct CMUnitTest tests[] = {
        EACH(an_error_names_its_own_statement),
        EACH(the_first_error_stays),
        EACH(what_the_service_does_not_support_is_a_bug),
        EACH(copy_and_the_ends_of_transactions_are_refused),
        EACH(what_fails_after_a_single_statement_is_called_applied),
        EACH(only_a_lost_answer_is_settled),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tx_db_close();
    return failed;
}
