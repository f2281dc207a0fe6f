/*
 * A transfer between two accounts with dsql_tx_run(): whoever loses a conflict at COMMIT is run
 * again, and no money appears or gets lost. Four threads move money at once.
 *
 *     cc transfer.c $(pkg-config --cflags --libs libdsql libpq) -pthread -o transfer
 *     dsql local exec -- ./transfer
 */
#include <dsql/dsql.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, TRANSFERS = 20 };
static const int64_t EXPECTED_SUM = 2000;

static const struct dsql_stmt READ = {
    .name = "read_balance",
    .sql = "SELECT balance FROM account WHERE id = $1",
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
};
static const struct dsql_stmt WRITE = {
    .name = "write_balance",
    .sql = "UPDATE account SET balance = $2 WHERE id = $1",
    .flags = DSQL_STMT_PREPARE,
};

struct order {
    int64_t from, to, amount;
};

static enum dsql_rc take_balance(struct dsql_tx *tx, struct dsql_ticket ticket, int64_t *balance,
                                 struct dsql_err *err)
{
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_tx_take(tx, ticket, NULL, &rows, err);
    if (rc == DSQL_OK && !dsql_rows_i64(rows, 0, 0, balance))
        rc = dsql_err_set(err, DSQL_NOT_FOUND, "no such account");
    dsql_rows_free(rows);
    return rc;
}

/* May run several times, so it changes nothing but the database. Two round trips: BEGIN and both
 * reads; both writes and COMMIT. */
static enum dsql_rc transfer(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    const struct order *order = arg;
    const struct dsql_param from = dsql_i64(order->from), to = dsql_i64(order->to);
    struct dsql_ticket first, second;
    int64_t mine, theirs;
    enum dsql_rc rc;
    if ((rc = dsql_tx_send(tx, &READ, &from, 1, &first, err)) != DSQL_OK ||
        (rc = dsql_tx_send(tx, &READ, &to, 1, &second, err)) != DSQL_OK ||
        (rc = take_balance(tx, first, &mine, err)) != DSQL_OK ||
        (rc = take_balance(tx, second, &theirs, err)) != DSQL_OK)
        return rc;
    const struct dsql_param less[] = {from, dsql_i64(mine - order->amount)};
    const struct dsql_param more[] = {to, dsql_i64(theirs + order->amount)};
    if ((rc = dsql_tx_defer(tx, &WRITE, less, 2, err)) != DSQL_OK)
        return rc;
    return dsql_tx_defer(tx, &WRITE, more, 2, err);
}

struct teller {
    struct dsql_pool *pool;
    int64_t number;
    int failures;
};

static void *move_money(void *arg)
{
    struct teller *teller = arg;
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.retry.max_retries = 100; /* two rows for everybody: these are hot */
    policy.retry.base_delay_ns = DSQL_MILLISECONDS(1);
    policy.retry.max_delay_ns = DSQL_MILLISECONDS(50);
    policy.retry.jitter = 1;
    for (int i = 0; i < TRANSFERS; i++) {
        struct order order = {
            .from = 1 + teller->number % 2, .to = 2 - teller->number % 2, .amount = 1 + i};
        struct dsql_err err;
        if (dsql_tx_run(teller->pool, "transfer", transfer, &order, &policy, &err) != DSQL_OK) {
            fprintf(stderr, "%s %s\n", dsql_rc_name(err.rc), err.message);
            teller->failures++;
        }
    }
    return NULL;
}

/* One statement that is a transaction by itself; the number it selects, if it does. */
static enum dsql_rc run(struct dsql_pool *pool, const char *sql, int64_t *number,
                        struct dsql_err *err)
{
    const struct dsql_stmt stmt = {.name = "setup", .sql = sql};
    struct dsql_tx_policy policy;
    struct dsql_tx *tx;
    struct dsql_rows *rows = NULL;
    dsql_tx_policy_default(&policy);
    policy.single = true;
    enum dsql_rc rc = dsql_tx_begin(pool, "setup", &policy, &tx, err);
    if (rc != DSQL_OK)
        return rc;
    rc = dsql_tx_query(tx, &stmt, NULL, 0, &rows, err);
    if (rc == DSQL_OK && number && !dsql_rows_i64(rows, 0, 0, number))
        rc = dsql_err_set(err, DSQL_NOT_FOUND, "no number");
    dsql_rows_free(rows);
    if (rc != DSQL_OK) {
        dsql_tx_rollback(tx);
        return rc;
    }
    return dsql_tx_commit(tx, err);
}

static int move_all(struct dsql_pool *pool)
{
    pthread_t threads[THREADS];
    struct teller tellers[THREADS];
    int started = 0, failures = 0;
    for (; started < THREADS; started++) {
        tellers[started] = (struct teller){.pool = pool, .number = started};
        if (pthread_create(&threads[started], NULL, move_money, &tellers[started]) != 0)
            break;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        failures += tellers[i].failures;
    }
    return started < THREADS ? 1 : failures;
}

int main(void)
{
    struct dsql_pool_options options;
    struct dsql_pool *pool;
    struct dsql_err err;
    int64_t sum = 0;
    int failures = 1;
    if (dsql_pool_options_env(&options, &err) != DSQL_OK ||
        dsql_pool_open(&options, &pool, &err) != DSQL_OK) {
        fprintf(stderr, "%s\n%s\n", err.message, err.hint);
        return 1;
    }
    if (run(pool,
            "CREATE TABLE IF NOT EXISTS account (id bigint PRIMARY KEY, balance bigint NOT NULL)",
            NULL, &err) != DSQL_OK ||
        run(pool,
            "INSERT INTO account VALUES (1, 1000), (2, 1000) ON CONFLICT (id) DO UPDATE SET balance = 1000",
            NULL, &err) != DSQL_OK) {
        fprintf(stderr, "%s\n", err.message);
    } else {
        failures = move_all(pool);
        if (run(pool, "SELECT sum(balance)::bigint FROM account", &sum, &err) != DSQL_OK)
            fprintf(stderr, "%s\n", err.message);
        printf("%d transfers, %d failed, the sum is %lld\n", THREADS * TRANSFERS, failures,
               (long long)sum);
    }
    dsql_pool_close(pool);
    return failures > 0 || sum != EXPECTED_SUM;
}
