/*
 * A transfer in one round trip: a script that expects both balances at the versions that its caller
 * has seen. BEGIN, both updates and COMMIT leave in one message; when a version is another one by
 * then, the server itself stops before COMMIT and nothing is applied.
 *
 *     cc script.c $(pkg-config --cflags --libs libdsql libpq) -o script
 *     dsql local exec -- ./script
 */
#include <dsql/dsql.h>
#include <stdio.h>

/* Fails by itself when it hits no row: when the version is not the expected one. */
static const struct dsql_stmt ADD = {
    .name = "add_to_balance",
    .sql = DSQL_RAISING("UPDATE ledger SET balance = balance + $3, version = version + 1 "
                        "WHERE id = $1 AND version = $2"),
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_RAISES,
};
static const struct dsql_stmt READ = {
    .name = "read_version",
    .sql = "SELECT version FROM ledger WHERE id = $1",
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
};
static const struct dsql_stmt SUM = {
    .name = "sum", .sql = "SELECT sum(balance)::bigint FROM ledger", .flags = DSQL_STMT_READ};
/* The schema is changed by statements of their own: each is a script of one step. */
static const struct dsql_stmt SETUP[] = {
    {.name = "drop", .sql = "DROP TABLE IF EXISTS ledger"},
    {.name = "create",
     .sql = "CREATE TABLE ledger (id bigint PRIMARY KEY, balance bigint NOT NULL, "
            "version bigint NOT NULL)"},
    {.name = "fill", .sql = "INSERT INTO ledger VALUES (1, 1000, 1), (2, 1000, 1)"},
};

enum { ACCOUNTS = 2 };

/* The versions of both accounts, in one round trip. */
static enum dsql_rc look(struct dsql_pool *pool, int64_t versions[ACCOUNTS], struct dsql_err *err)
{
    const struct dsql_param ids[ACCOUNTS] = {dsql_i64(1), dsql_i64(2)};
    struct dsql_step steps[ACCOUNTS];
    struct dsql_step_result results[ACCOUNTS];
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.read_only = true;
    for (int i = 0; i < ACCOUNTS; i++)
        steps[i] = (struct dsql_step){.stmt = &READ, .params = &ids[i], .count = 1};
    enum dsql_rc rc = dsql_script_run(pool, "look", steps, ACCOUNTS, &policy, results, NULL, err);
    for (int i = 0; i < ACCOUNTS; i++) {
        if (rc == DSQL_OK && !dsql_rows_i64(results[i].rows, 0, 0, &versions[i]))
            rc = dsql_err_set(err, DSQL_NOT_FOUND, "no such account");
        dsql_rows_free(results[i].rows);
    }
    return rc;
}

/* Moves money from account 1 to account 2, expecting them as they were seen. */
static enum dsql_rc transfer(struct dsql_pool *pool, const int64_t versions[ACCOUNTS],
                             int64_t amount, struct dsql_err *err)
{
    const struct dsql_param take[] = {dsql_i64(1), dsql_i64(versions[0]), dsql_i64(-amount)};
    const struct dsql_param give[] = {dsql_i64(2), dsql_i64(versions[1]), dsql_i64(amount)};
    const struct dsql_fence from = {.entity = "account", .key = "1", .token = "version"};
    const struct dsql_fence to = {.entity = "account", .key = "2", .token = "version"};
    const struct dsql_step steps[] = {{&ADD, take, 3, &from}, {&ADD, give, 3, &to}};
    size_t failed = 0;
    enum dsql_rc rc = dsql_script_run(pool, "transfer", steps, 2, NULL, NULL, &failed, err);
    if (rc == DSQL_OK)
        printf("transfer of %lld: OK\n", (long long)amount);
    else
        printf("transfer of %lld: %s in step %zu: %s %s\n", (long long)amount, dsql_rc_name(rc),
               failed + 1, err->entity, err->key);
    return rc;
}

static enum dsql_rc run(struct dsql_pool *pool, struct dsql_err *err)
{
    int64_t seen[ACCOUNTS];
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < sizeof(SETUP) / sizeof(SETUP[0]) && rc == DSQL_OK; i++)
        rc = dsql_script_run(pool, "setup", &(struct dsql_step){.stmt = &SETUP[i]}, 1, NULL, NULL,
                             NULL, err);
    if (rc == DSQL_OK)
        rc = look(pool, seen, err);
    if (rc == DSQL_OK)
        rc = transfer(pool, seen, 30, err);
    if (rc != DSQL_OK)
        return rc;
    /* What was seen is old now: account 1 is where it was expected, account 2 is not. */
    seen[0]++;
    rc = transfer(pool, seen, 40, err);
    return rc == DSQL_CONDITION_FAILED ? DSQL_OK
                                       : dsql_err_set(err, DSQL_INVALID, "a stale one passed");
}

int main(void)
{
    struct dsql_pool_options options;
    struct dsql_pool *pool;
    struct dsql_step_result sum = {0};
    struct dsql_err err = {0};
    int64_t total = 0;
    if (dsql_pool_options_env(&options, &err) != DSQL_OK ||
        dsql_pool_open(&options, &pool, &err) != DSQL_OK) {
        fprintf(stderr, "%s\n%s\n", err.message, err.hint);
        return 1;
    }
    enum dsql_rc rc = run(pool, &err);
    if (rc == DSQL_OK)
        rc = dsql_script_run(pool, "sum", &(struct dsql_step){.stmt = &SUM}, 1, NULL, &sum, NULL,
                             &err);
    if (rc != DSQL_OK)
        fprintf(stderr, "%s\n", err.message);
    else if (dsql_rows_i64(sum.rows, 0, 0, &total))
        printf("the sum is %lld\n", (long long)total);
    dsql_rows_free(sum.rows);
    dsql_pool_close(pool);
    return total != 2000;
}
