#include "cli/up_work.h"

#include <errno.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/rng.h"
#include "base/shown.h"
#include "dsql/tx.h"

enum {
    OPENING_BALANCE = 1000,
    AUDIT_EVERY = 50, /* transactions of a thread */
    TABLE_TEXT_MAX = 48,
    SQL_MAX = 256,
    DDL_TRIES = 5,
};

#define CHECKOUT_WAIT_NS (10 * DSQL_S)   /* for what happens once */
#define GRACE_NS         (2 * DSQL_S)    /* to end a transaction in */
#define PATIENCE_NS      (100 * DSQL_MS) /* of a thread, after a failure */

enum counter { TRANSFERS, AUDITS, GAVE_UP, EMPTY, LOST, FAILED, SUMS_WRONG, COUNTERS };

struct dsql_up_work {
    struct dsql_up_work_options options;
    char table[TABLE_TEXT_MAX];
    char read_sql[SQL_MAX], write_sql[SQL_MAX], sum_sql[SQL_MAX];
    struct dsql_tx_policy policy;
    struct dsql_cancel *cancel;
    pthread_t threads[DSQL_UP_THREADS_MAX];
    int64_t started;
    _Atomic bool stopping;
    _Atomic int64_t running;
    _Atomic uint64_t counters[COUNTERS];
    pthread_mutex_t lock; /* guards the two below; taken while holding nothing */
    struct dsql_err first;
    int64_t wrong_sum;
};

/* -- One transaction. */

struct transfer {
    const struct dsql_up_work *work;
    int64_t from, to, amount;
};

static enum dsql_rc read_balance(struct dsql_tx *tx, struct dsql_ticket ticket, int64_t account,
                                 int64_t *balance, struct dsql_err *err)
{
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_tx_take(tx, ticket, NULL, &rows, err);
    if (!rc && !dsql_rows_i64(rows, 0, 0, balance))
        rc = dsql_err_set(err, DSQL_DATABASE, "account %lld is not there", (long long)account);
    dsql_rows_free(rows);
    return rc;
}

/* Reads both balances in one round trip; the writes ride with COMMIT. */
static enum dsql_rc transfer(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    const struct transfer *order = arg;
    const struct dsql_stmt read = {.name = "up_read",
                                   .sql = order->work->read_sql,
                                   .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ};
    const struct dsql_stmt write = {
        .name = "up_write", .sql = order->work->write_sql, .flags = DSQL_STMT_PREPARE};
    struct dsql_param from = dsql_i64(order->from), to = dsql_i64(order->to);
    struct dsql_ticket from_ticket = {0}, to_ticket = {0};
    int64_t from_balance = 0, to_balance = 0;
    enum dsql_rc rc = dsql_tx_send(tx, &read, &from, 1, &from_ticket, err);
    if (!rc)
        rc = dsql_tx_send(tx, &read, &to, 1, &to_ticket, err);
    if (!rc)
        rc = read_balance(tx, from_ticket, order->from, &from_balance, err);
    if (!rc)
        rc = read_balance(tx, to_ticket, order->to, &to_balance, err);
    const struct dsql_param less[] = {from, dsql_i64(from_balance - order->amount)};
    const struct dsql_param more[] = {to, dsql_i64(to_balance + order->amount)};
    if (!rc)
        rc = dsql_tx_defer(tx, &write, less, DSQL_COUNT_OF(less), err);
    if (!rc)
        rc = dsql_tx_defer(tx, &write, more, DSQL_COUNT_OF(more), err);
    return rc;
}

struct audit {
    const struct dsql_up_work *work;
    int64_t sum;
};

static enum dsql_rc audit(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct audit *order = arg;
    struct dsql_rows *rows = NULL;
    const struct dsql_stmt sum = {
        .name = "up_sum", .sql = order->work->sum_sql, .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ};
    enum dsql_rc rc = dsql_tx_query(tx, &sum, NULL, 0, &rows, err);
    if (!rc && !dsql_rows_i64(rows, 0, 0, &order->sum))
        rc = dsql_err_set(err, DSQL_PROTOCOL, "the sum of the balances is no number");
    dsql_rows_free(rows);
    return rc;
}

/* -- Threads. */

static void bump(struct dsql_up_work *work, enum counter counter)
{
    (void)atomic_fetch_add_explicit(&work->counters[counter], 1, memory_order_relaxed);
}

static int64_t expected_sum(const struct dsql_up_work *work)
{
    return work->options.accounts * OPENING_BALANCE;
}

static void judge_sum(struct dsql_up_work *work, int64_t sum)
{
    bump(work, AUDITS);
    if (sum == expected_sum(work))
        return;
    bump(work, SUMS_WRONG);
    dsql_lock(&work->lock);
    work->wrong_sum = sum;
    dsql_unlock(&work->lock);
}

static void keep_failure(struct dsql_up_work *work, const struct dsql_err *err)
{
    bump(work, FAILED);
    dsql_lock(&work->lock);
    if (!work->first.rc)
        work->first = *err;
    dsql_unlock(&work->lock);
}

/* Whether the thread goes on at once. */
static bool judge(struct dsql_up_work *work, enum dsql_rc rc, const struct dsql_err *err)
{
    switch (dsql_rc_class(rc)) {
    case DSQL_CLASS_OK:
        return true;
    case DSQL_CLASS_RETRY:
        bump(work, GAVE_UP);
        return true;
    case DSQL_CLASS_LOST:
    case DSQL_CLASS_UNKNOWN:
        bump(work, LOST);
        return false;
    case DSQL_CLASS_BUSY:
        bump(work, EMPTY);
        return false;
    case DSQL_CLASS_CONDITION:
    case DSQL_CLASS_DENIED:
    case DSQL_CLASS_CALLER:
    case DSQL_CLASS_PERMANENT:
        break;
    }
    if (rc != DSQL_CANCELLED)
        keep_failure(work, err);
    return false;
}

static bool run_one(struct dsql_up_work *work, struct dsql_rng *rng, uint64_t turn)
{
    struct dsql_err err = {0};
    enum dsql_rc rc;
    if (turn % AUDIT_EVERY == 0) {
        struct audit order = {.work = work};
        rc = dsql_tx_run(work->options.pool, "audit", audit, &order, &work->policy, &err);
        if (!rc)
            judge_sum(work, order.sum);
    } else {
        uint64_t accounts = (uint64_t)work->options.accounts;
        uint64_t from = dsql_rng_below(rng, accounts);
        uint64_t to = (from + 1 + dsql_rng_below(rng, accounts - 1)) % accounts;
        struct transfer order = {.work = work,
                                 .from = (int64_t)from,
                                 .to = (int64_t)to,
                                 .amount = dsql_rng_between(rng, 1, 10)};
        rc = dsql_tx_run(work->options.pool, DSQL_UP_OPERATION, transfer, &order, &work->policy,
                         &err);
        if (!rc)
            bump(work, TRANSFERS);
    }
    return judge(work, rc, &err);
}

static void rest(int64_t ns)
{
    const struct timespec time = {.tv_sec = ns / DSQL_S, .tv_nsec = ns % DSQL_S};
    if (ns > 0)
        (void)nanosleep(&time, NULL);
}

static void *work_on(void *arg)
{
    struct dsql_up_work *work = arg;
    struct dsql_rng rng = dsql_rng_from_os();
    for (uint64_t turn = 1; !atomic_load(&work->stopping); turn++)
        rest(run_one(work, &rng, turn) ? work->options.pause_ns : PATIENCE_NS);
    (void)atomic_fetch_sub(&work->running, 1);
    return NULL;
}

/* -- The table. */

/* A statement outside the workload, again while it meets other people's changes of the catalogue.
 */
static enum dsql_rc execute(struct dsql_pool *pool, const char *sql, struct dsql_err *err)
{
    enum dsql_rc rc = DSQL_OK;
    for (int i = 0; i < DDL_TRIES; i++) {
        struct dsql_conn *conn = NULL;
        rc = dsql_pool_checkout(pool, CHECKOUT_WAIT_NS, &conn, err);
        if (rc)
            return rc;
        PGresult *result = PQexec(dsql_conn_pg(conn), sql);
        const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        bool ok = PQresultStatus(result) == PGRES_COMMAND_OK;
        bool again = !ok && state && strcmp(state, "40001") == 0;
        rc = ok ? DSQL_OK
                : dsql_err_set(err, DSQL_DATABASE, "%s",
                               dsql_shown_str(PQresultErrorMessage(result)).text);
        PQclear(result);
        dsql_pool_return(conn);
        if (!again)
            break;
        rest(PATIENCE_NS);
    }
    return rc;
}

static enum dsql_rc make_table(struct dsql_up_work *work, struct dsql_err *err)
{
    char sql[SQL_MAX];
    (void)snprintf(sql, sizeof(sql),
                   "create table %s (id bigint primary key, balance bigint not null)", work->table);
    enum dsql_rc rc = execute(work->options.pool, sql, err);
    if (rc) {
        dsql_err_hint(err,
                      "the role needs a schema it may create tables in; 'dsql doctor' checks the "
                      "rest");
        return rc;
    }
    (void)snprintf(sql, sizeof(sql), "insert into %s select i, %d from generate_series(0, %lld) i",
                   work->table, OPENING_BALANCE, (long long)(work->options.accounts - 1));
    rc = execute(work->options.pool, sql, err);
    if (rc) {
        struct dsql_err ignored;
        (void)snprintf(sql, sizeof(sql), "drop table %s", work->table);
        (void)execute(work->options.pool, sql, &ignored);
    }
    return rc;
}

static void name_things(struct dsql_up_work *work)
{
    uint64_t random = 0;
    dsql_random_bytes(&random, sizeof(random));
    (void)snprintf(work->table, sizeof(work->table), "dsql_up_%016llx", (unsigned long long)random);
    (void)snprintf(work->read_sql, sizeof(work->read_sql), "select balance from %s where id = $1",
                   work->table);
    (void)snprintf(work->write_sql, sizeof(work->write_sql),
                   "update %s set balance = $2 where id = $1", work->table);
    (void)snprintf(work->sum_sql, sizeof(work->sum_sql), "select sum(balance)::bigint from %s",
                   work->table);
}

/* -- Life. */

enum dsql_rc dsql_up_work_new(const struct dsql_up_work_options *options,
                              struct dsql_up_work **work, struct dsql_err *err)
{
    struct dsql_up_work *made = calloc(1, sizeof(*made));
    if (!made)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    made->options = *options;
    name_things(made);
    (void)pthread_mutex_init(&made->lock, NULL);
    dsql_tx_policy_default(&made->policy);
    enum dsql_rc rc = dsql_retry_policy_env(&made->policy.retry, err);
    if (!getenv("DSQL_ALERT_THRESHOLD_CONFLICTS_PER_MINUTE"))
        made->policy.retry.conflict_alert = 0; /* conflicts are part of what `dsql up` shows */
    if (!rc)
        rc = dsql_cancel_new(&made->cancel, err);
    if (!rc) {
        made->policy.cancel = made->cancel;
        rc = make_table(made, err);
    }
    if (rc) {
        dsql_cancel_destroy(made->cancel);
        (void)pthread_mutex_destroy(&made->lock);
        free(made);
        return rc;
    }
    *work = made;
    return DSQL_OK;
}

enum dsql_rc dsql_up_work_start(struct dsql_up_work *work, struct dsql_err *err)
{
    for (int64_t i = 0; i < work->options.threads; i++) {
        (void)atomic_fetch_add(&work->running, 1);
        int failed = pthread_create(&work->threads[i], NULL, work_on, work);
        if (failed)
            (void)atomic_fetch_sub(&work->running, 1);
        if (failed)
            return dsql_err_set(err, DSQL_IO, "can't start thread %lld: %s", (long long)i + 1,
                                strerror(failed));
        work->started++;
    }
    return DSQL_OK;
}

/* A transaction that is cancelled costs its connection: that is for those that do not end. */
void dsql_up_work_stop(struct dsql_up_work *work)
{
    struct dsql_mono asked = dsql_clock_mono(&dsql_clock_system);
    atomic_store(&work->stopping, true);
    while (atomic_load(&work->running) > 0 &&
           dsql_mono_since(dsql_clock_mono(&dsql_clock_system), asked) < GRACE_NS)
        rest(DSQL_MS);
    dsql_cancel_fire(work->cancel);
    for (int64_t i = 0; i < work->started; i++)
        (void)pthread_join(work->threads[i], NULL);
    work->started = 0;
}

void dsql_up_work_outcome(struct dsql_up_work *work, struct dsql_up_outcome *outcome)
{
    uint64_t counters[COUNTERS];
    for (size_t i = 0; i < COUNTERS; i++)
        counters[i] = atomic_load_explicit(&work->counters[i], memory_order_relaxed);
    *outcome = (struct dsql_up_outcome){
        .transfers = counters[TRANSFERS],
        .audits = counters[AUDITS],
        .gave_up = counters[GAVE_UP],
        .empty = counters[EMPTY],
        .lost = counters[LOST],
        .failed = counters[FAILED],
        .sums_wrong = counters[SUMS_WRONG],
        .expected_sum = expected_sum(work),
    };
    dsql_lock(&work->lock);
    outcome->first = work->first;
    outcome->sum = outcome->sums_wrong ? work->wrong_sum : outcome->expected_sum;
    dsql_unlock(&work->lock);
}

enum dsql_rc dsql_up_work_audit(struct dsql_up_work *work, struct dsql_err *err)
{
    struct audit order = {.work = work};
    struct dsql_tx_policy policy = work->policy;
    policy.cancel = NULL; /* the threads' has been fired */
    policy.timeout_ns = CHECKOUT_WAIT_NS;
    enum dsql_rc rc = dsql_tx_run(work->options.pool, "audit", audit, &order, &policy, err);
    if (!rc)
        judge_sum(work, order.sum);
    return rc;
}

const char *dsql_up_work_table(const struct dsql_up_work *work)
{
    return work->table;
}

enum dsql_rc dsql_up_work_destroy(struct dsql_up_work *work, struct dsql_err *err)
{
    char sql[SQL_MAX];
    (void)snprintf(sql, sizeof(sql), "drop table %s", work->table);
    enum dsql_rc rc = execute(work->options.pool, sql, err);
    dsql_cancel_destroy(work->cancel);
    (void)pthread_mutex_destroy(&work->lock);
    free(work);
    return rc;
}
