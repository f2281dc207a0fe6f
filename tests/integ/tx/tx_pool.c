/*
 * Transactions through the public interface: a pool, real conflicts at COMMIT, waits for a
 * connection. Run by tx.sh against the endpoint of the environment.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/time.h"
#include "dsql/dsql.h"
#include "support/test.h"

static struct dsql_pool *pool;
static struct dsql_metrics *metrics;

#define PARAMS(...)                                                                                \
    (const struct dsql_param[]){__VA_ARGS__},                                                      \
        sizeof((const struct dsql_param[]){__VA_ARGS__}) / sizeof(struct dsql_param)
#define ok(call) assert_int_equal((call), DSQL_OK)

enum { POOL_SIZE = 6 };

static struct dsql_pool *open_pool(int64_t size)
{
    struct dsql_pool_options options;
    struct dsql_pool *opened = NULL;
    struct dsql_err err = {0};
    if (dsql_pool_options_env(&options, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    snprintf(options.connection.ca_file, sizeof(options.connection.ca_file), "%s",
             getenv("PGSSLROOTCERT"));
    snprintf(options.connection.hostaddr, sizeof(options.connection.hostaddr), "%s",
             getenv("PGHOSTADDR"));
    options.budget.staggered_startup_ns = 0;
    options.sizing.max_open = options.sizing.target_ready = options.standard.warmup_target = size;
    options.sizing.low_watermark = size;
    options.budget.rate = options.budget.burst = 100;
    options.empty_wait_ns = 30 * DSQL_S;
    options.metrics = metrics;
    if (dsql_pool_open(&options, &opened, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    return opened;
}

/* One statement that is a transaction by itself. */
static void sql(const char *text)
{
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.single = true;
    struct dsql_tx *tx;
    struct dsql_err err = {0};
    struct dsql_stmt stmt = {.name = "sql", .sql = text};
    if (dsql_tx_begin(pool, "sql", &policy, &tx, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    if (dsql_tx_exec(tx, &stmt, NULL, 0, NULL, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    ok(dsql_tx_commit(tx, &err));
}

static int64_t number(const char *text)
{
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.single = true;
    struct dsql_tx *tx;
    struct dsql_err err = {0};
    struct dsql_stmt stmt = {.name = "number", .sql = text, .flags = DSQL_STMT_READ};
    struct dsql_rows *rows = NULL;
    ok(dsql_tx_begin(pool, "sql", &policy, &tx, &err));
    if (dsql_tx_query(tx, &stmt, NULL, 0, &rows, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    int64_t n = -1;
    assert_true(dsql_rows_i64(rows, 0, 0, &n));
    dsql_rows_free(rows);
    ok(dsql_tx_commit(tx, &err));
    return n;
}

static int before_each(void **state)
{
    (void)state;
    sql("UPDATE p SET v = 0");
    return 0;
}

static const struct dsql_stmt READ_V = {.name = "read_v",
                                        .sql = "SELECT v FROM p WHERE id = $1",
                                        .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ};
static const struct dsql_stmt SET_V = {
    .name = "set_v", .sql = "UPDATE p SET v = $2 WHERE id = $1", .flags = DSQL_STMT_PREPARE};
static const struct dsql_stmt CAS_V = {.name = "cas_v",
                                       .sql = "UPDATE p SET v = $2 WHERE id = $1 AND v = $3",
                                       .flags = DSQL_STMT_PREPARE};

/* A read and a write that depends on it: lost as soon as two commit on one snapshot. */
static enum dsql_rc increment(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)arg;
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_tx_query(tx, &READ_V, PARAMS(dsql_i32(1)), &rows, err);
    int64_t v = -1;
    if (rc == DSQL_OK && !dsql_rows_i64(rows, 0, 0, &v))
        rc = DSQL_NOT_FOUND;
    dsql_rows_free(rows);
    return rc == DSQL_OK ? dsql_tx_defer(tx, &SET_V, PARAMS(dsql_i32(1), dsql_i64(v + 1)), err)
                         : rc;
}

TEST(the_later_of_two_commits_is_run_again)
{
    struct dsql_err err = {0};
    struct dsql_tx *slow;
    ok(dsql_tx_begin(pool, "slow", NULL, &slow, &err));
    ok(increment(slow, NULL, &err));
    ok(dsql_tx_flush(slow, &err)); /* it wrote, and nobody waits for it */
    ok(dsql_tx_run(pool, "fast", increment, NULL, NULL, &err));
    assert_int_equal(dsql_tx_commit(slow, &err), DSQL_CONFLICT);
    assert_string_equal(err.sqlstate, "40001");
    assert_int_equal(number("SELECT v FROM p WHERE id = 1"), 1);
}

enum { WORKERS = 6, INCREMENTS = 15 };

struct worker {
    pthread_t thread;
    int failures;
    char why[200];
};

static void *increment_many(void *arg)
{
    struct worker *w = arg;
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.retry.max_retries = 10000;
    policy.retry.base_delay_ns = DSQL_MS;
    policy.retry.max_delay_ns = 50 * DSQL_MS;
    policy.retry.jitter = 1;
    policy.retry.budget = NULL;
    policy.retry.conflict_alert = 0;
    for (int i = 0; i < INCREMENTS; i++) {
        struct dsql_err err = {0};
        if (dsql_tx_run(pool, "increment", increment, NULL, &policy, &err) != DSQL_OK &&
            w->failures++ == 0)
            snprintf(w->why, sizeof(w->why), "%.199s", err.message);
    }
    return NULL;
}

TEST(no_increment_is_lost_under_contention)
{
    struct worker workers[WORKERS] = {0};
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, increment_many, &workers[i]), 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < WORKERS; i++)
        if (workers[i].failures)
            fail_msg("%d failed: %s", workers[i].failures, workers[i].why);
    assert_int_equal(number("SELECT v FROM p WHERE id = 1"), WORKERS * INCREMENTS);
}

struct contender {
    pthread_t thread;
    int64_t token; /* what it expects and would replace */
    enum dsql_rc rc;
};

static enum dsql_rc take_over(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct contender *c = arg;
    char token[32];
    snprintf(token, sizeof(token), "v %lld", (long long)c->token);
    struct dsql_fence fence = {.entity = "row", .key = "1", .token = token};
    return dsql_cas(tx, &CAS_V, PARAMS(dsql_i32(1), dsql_i64(c->token + 1), dsql_i64(c->token)),
                    &fence, err);
}

static void *contend(void *arg)
{
    struct contender *c = arg;
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.retry.max_retries = 1000;
    policy.retry.base_delay_ns = DSQL_MS;
    policy.retry.max_delay_ns = 20 * DSQL_MS;
    policy.retry.budget = NULL;
    c->rc = dsql_tx_run(pool, "contend", take_over, c, &policy, NULL);
    return NULL;
}

TEST(each_token_has_exactly_one_winner)
{
    for (int64_t token = 0; token < 8; token++) {
        struct contender all[WORKERS] = {0};
        for (int i = 0; i < WORKERS; i++) {
            all[i].token = token;
            assert_int_equal(pthread_create(&all[i].thread, NULL, contend, &all[i]), 0);
        }
        int winners = 0;
        for (int i = 0; i < WORKERS; i++) {
            pthread_join(all[i].thread, NULL);
            winners += all[i].rc == DSQL_OK;
            if (all[i].rc != DSQL_OK)
                assert_int_equal(all[i].rc, DSQL_CONDITION_FAILED);
        }
        assert_int_equal(winners, 1);
    }
    assert_int_equal(number("SELECT v FROM p WHERE id = 1"), 8);
}

/* Waits for a connection. */

struct holders {
    struct dsql_tx *all[POOL_SIZE];
};

static void hold_all(struct holders *h)
{
    for (int i = 0; i < POOL_SIZE; i++) {
        struct dsql_err err = {0};
        if (dsql_tx_begin(pool, "hold", NULL, &h->all[i], &err) != DSQL_OK)
            fail_msg("%s", err.message);
    }
}

static void let_go(struct holders *h)
{
    for (int i = 0; i < POOL_SIZE; i++)
        dsql_tx_rollback(h->all[i]);
}

TEST(a_deadline_ends_the_wait_for_a_connection)
{
    struct holders h;
    hold_all(&h);
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.timeout_ns = 50 * DSQL_MS;
    struct dsql_err err = {0};
    enum dsql_rc rc = dsql_tx_run(pool, "starved", increment, NULL, &policy, &err);
    assert_true(rc == DSQL_EMPTY || rc == DSQL_TIMEOUT);
    let_go(&h);
}

static void *fire_soon(void *arg)
{
    struct timespec moment = {.tv_nsec = 100L * 1000 * 1000};
    nanosleep(&moment, NULL);
    dsql_cancel_fire(arg);
    return NULL;
}

TEST(a_cancel_ends_the_wait_for_a_connection)
{
    struct holders h;
    hold_all(&h);
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.timeout_ns = DSQL_H;
    for (int early = 0; early < 2; early++) {
        ok(dsql_cancel_new(&policy.cancel, NULL));
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, fire_soon, policy.cancel), 0);
        if (early)
            pthread_join(thread, NULL);
        struct dsql_err err = {0};
        assert_int_equal(dsql_tx_run(pool, "starved", increment, NULL, &policy, &err),
                         DSQL_CANCELLED);
        if (!early)
            pthread_join(thread, NULL);
        dsql_cancel_destroy(policy.cancel);
    }
    let_go(&h);
}

TEST(fences_work_on_the_pool)
{
    struct dsql_err err = {0};
    struct dsql_fence fence = {.entity = "row", .key = "1", .token = "v 0"};
    ok(dsql_fenced_update(pool, "fenced", &CAS_V, PARAMS(dsql_i32(1), dsql_i64(5), dsql_i64(0)),
                          &fence, NULL, &err));
    assert_int_equal(dsql_fenced_update(pool, "fenced", &CAS_V,
                                        PARAMS(dsql_i32(1), dsql_i64(6), dsql_i64(0)), &fence, NULL,
                                        &err),
                     DSQL_CONDITION_FAILED);
    struct dsql_param read = dsql_i32(1);
    struct dsql_param params[] = {dsql_i32(1), dsql_i64(9), dsql_null()};
    struct dsql_auto_fence update = {&READ_V, &read, 1, &CAS_V, params, 3, 2, "row", "1"};
    ok(dsql_auto_fenced_update(pool, "auto", &update, NULL, &err));
    assert_int_equal(number("SELECT v FROM p WHERE id = 1"), 9);
}

/* A caller that uses libpq itself. */
static void plain(const char *text)
{
    struct dsql_conn *conns[POOL_SIZE];
    struct dsql_err err = {0};
    for (int i = 0; i < POOL_SIZE; i++)
        ok(dsql_pool_checkout(pool, 30 * DSQL_S, &conns[i], &err));
    for (int i = 0; i < POOL_SIZE; i++) {
        PQclear(PQexec(dsql_conn_pg(conns[i]), text));
        dsql_pool_return(conns[i]);
    }
}

/* On every connection: what one caller leaves behind is no other caller's trouble. */
TEST(callers_that_drop_prepared_statements_harm_nobody)
{
    static const char *const texts[] = {
        "DEALLOCATE ALL",
        "PREPARE set_v AS SELECT 1",
        "DEALLOCATE set_v",
        "DEALLOCATE \"dsql.set_v\"",
        "DEALLOCATE \"dsql.read_v\"",
        "PREPARE \"dsql.read_v\" AS SELECT 1",
        "SELEC",
    };
    struct dsql_err err = {0};
    int64_t done = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        plain(texts[i]);
        for (int again = 0; again < 2 * POOL_SIZE; again++, done++)
            if (dsql_tx_run(pool, "after", increment, NULL, NULL, &err) != DSQL_OK)
                fail_msg("%s: %s", texts[i], err.message);
    }
    assert_int_equal(number("SELECT v FROM p WHERE id = 1"), done);
}

int main(void)
{
    ok(dsql_metrics_new("test", &metrics));
    pool = open_pool(POOL_SIZE);
    sql("CREATE TABLE p (id int primary key, v bigint)");
    sql("INSERT INTO p VALUES (1, 0)");
#define EACH(name) cmocka_unit_test_setup(name, before_each)
    const struct CMUnitTest tests[] = {
        EACH(the_later_of_two_commits_is_run_again),
        EACH(no_increment_is_lost_under_contention),
        EACH(each_token_has_exactly_one_winner),
        EACH(a_deadline_ends_the_wait_for_a_connection),
        EACH(a_cancel_ends_the_wait_for_a_connection),
        EACH(fences_work_on_the_pool),
        EACH(callers_that_drop_prepared_statements_harm_nobody),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    dsql_pool_close(pool);
    dsql_metrics_destroy(metrics);
    return failed;
}
