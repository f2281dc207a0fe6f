/* Deadlines, cancellation, and connections that die. Run by tx.sh. */
#include <libpq-fe.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/child.h"
#include "support/tx_db.h"

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
    enum dsql_rc rc = dsql_tx_run_on(&db.source, "cancel", sleep_body, NULL, &policy, &err);
    pthread_join(thread, NULL);
    assert_int_equal(rc, DSQL_CANCELLED);
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
    struct dsql_tx_policy policy = quick();
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

static enum dsql_rc commit_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)arg;
    return dsql_tx_commit(tx, err);
}

static enum dsql_rc rollback_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)arg;
    (void)err;
    dsql_tx_rollback(tx);
    return DSQL_OK;
}

static enum dsql_rc empty_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)tx;
    (void)arg;
    (void)err;
    return DSQL_OK;
}

static void run_alone(void *arg)
{
    dsql_tx_fn *const *body = arg;
    ok(dsql_tx_run_on(&db.source, "misuse", *body, NULL, NULL, NULL));
}

TEST(a_body_that_ends_its_transaction_ends_the_program)
{
    dsql_tx_fn *commits = commit_body, *rolls_back = rollback_body, *returns = empty_body;
    assert_true(child_aborts(run_alone, (void *)&commits));
    assert_true(child_aborts(run_alone, (void *)&rolls_back));
    assert_false(child_aborts(run_alone, (void *)&returns));
}

int main(void)
{
    tx_db_open();
    const struct CMUnitTest tests[] = {
        EACH(a_deadline_ends_the_wait_and_the_connection),
        EACH(a_cancel_wakes_the_wait),
        EACH(a_lost_connection_is_lost_before_commit_and_unknown_at_it),
        EACH(a_lost_connection_is_replaced_if_the_policy_says_so),
        EACH(a_body_that_ends_its_transaction_ends_the_program),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tx_db_close();
    return failed;
}
