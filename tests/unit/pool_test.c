/* The pool's interface, on a libpq that connects to nobody. Nothing here depends on speed: what
 * takes its time is waited for. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dsql/credentials.h"
#include "pool/pool.h"
#include "support/child.h"
#include "support/fake_pq.h"
#include "support/test.h"

static struct dsql_pool *open_pool(const struct dsql_pool_options *options)
{
    struct dsql_pool *pool = NULL;
    struct dsql_err err = {0};
    if (dsql_pool_open(options, &pool, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    return pool;
}

static struct dsql_conn *check_out(struct dsql_pool *pool)
{
    struct dsql_conn *conn = NULL;
    struct dsql_err err = {0};
    if (dsql_pool_checkout(pool, 60 * DSQL_S, &conn, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    return conn;
}

static struct dsql_pool_stats stats_of(struct dsql_pool *pool)
{
    struct dsql_pool_stats stats;
    dsql_pool_stats(pool, &stats);
    pthread_mutex_lock(&pool->state_lock);
    dsql_slots_check(&pool->keeper.slots);
    pthread_mutex_unlock(&pool->state_lock);
    assert_int_equal(stats.ready + stats.in_use + stats.opening + stats.closing + stats.empty,
                     stats.max_open);
    return stats;
}

static void sleep_ms(int64_t ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * DSQL_MS};
    (void)nanosleep(&time, NULL);
}

/* Waits, for a minute at most, until the expression holds. */
#define WAIT_UNTIL(expression)                                                                     \
    do {                                                                                           \
        for (int tries_ = 0; !(expression); tries_++) {                                            \
            if (tries_ > 12000)                                                                    \
                fail_msg("never: " #expression);                                                   \
            sleep_ms(5);                                                                           \
        }                                                                                          \
    } while (0)

static int set_up(void **state)
{
    (void)state;
    fake_pq_reset();
    dsql_log_set_level(DSQL_LOG_ERROR);
    return 0;
}

TEST(everyday)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 4);
    struct dsql_pool *pool = open_pool(&options);
    assert_int_equal(stats_of(pool).ready, 4);
    struct dsql_conn *conns[4];
    for (int i = 0; i < 4; i++) {
        conns[i] = check_out(pool);
        assert_non_null(dsql_conn_pg(conns[i]));
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(conns[i], conns[k]);
    }
    struct dsql_err err;
    struct dsql_conn *none = NULL;
    assert_int_equal(dsql_pool_checkout(pool, 0, &none, &err), DSQL_EMPTY);
    assert_int_equal(dsql_pool_checkout(pool, DSQL_MS, &none, NULL), DSQL_EMPTY);
    assert_null(none);
    assert_int_equal(stats_of(pool).in_use, 4);
    assert_int_equal(stats_of(pool).empties, 2);
    struct dsql_conn_info infos[4];
    assert_int_equal(dsql_pool_connections(pool, infos, 2), 4);
    assert_int_equal(infos[0].state, DSQL_CONN_IN_USE);
    assert_int_equal(infos[0].uses, 1);
    for (int i = 0; i < 4; i++)
        dsql_pool_return(conns[i]);
    assert_int_equal(stats_of(pool).ready, 4);
    assert_int_equal(stats_of(pool).checkouts, 4);
    dsql_pool_return(NULL);
    dsql_pool_close(pool);
    dsql_pool_close(NULL);
    assert_int_equal(fake_pq_live(), 0);
}

/* What comes back unfit is closed for the right reason, and replaced. */
TEST(unfit)
{
    static const struct {
        PGTransactionStatusType status;
        enum dsql_discard why;
    } cases[] = {
        {PQTRANS_INTRANS, DSQL_DISCARD_DIRTY_RETURN},
        {PQTRANS_INERROR, DSQL_DISCARD_DIRTY_RETURN},
        {PQTRANS_ACTIVE, DSQL_DISCARD_DIRTY_RETURN},
        {PQTRANS_UNKNOWN, DSQL_DISCARD_BROKEN},
    };
    struct dsql_pool_options options;
    fake_pq_options(&options, 2);
    struct dsql_pool *pool = open_pool(&options);
    uint64_t wanted[DSQL_DISCARDS] = {0};
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_conn *conn = check_out(pool);
        fake_pq_set_transaction(dsql_conn_pg(conn), cases[i].status);
        dsql_pool_return(conn);
        wanted[cases[i].why]++;
        WAIT_UNTIL(stats_of(pool).ready == 2);
    }
    dsql_pool_discard(check_out(pool));
    wanted[DSQL_DISCARD_BROKEN]++;
    WAIT_UNTIL(stats_of(pool).ready == 2);
    struct dsql_pool_stats stats = stats_of(pool);
    assert_memory_equal(stats.discards, wanted, sizeof(wanted));
    assert_int_equal(stats.opens, 7);
    dsql_pool_close(pool);
    assert_int_equal(fake_pq_live(), 0);
}

/* What is found too old, at a checkout or a return, is closed for the right reason. The connection
 * is made old behind the keeper's back, who would find it first. */
TEST(old)
{
    static const struct {
        bool on_return, dead;
        enum dsql_discard why;
    } cases[] = {
        {false, true, DSQL_DISCARD_EXPIRED_ON_CHECKOUT},
        {false, false, DSQL_DISCARD_INSUFFICIENT_LIFETIME},
        {true, true, DSQL_DISCARD_EXPIRED_ON_RETURN},
        {true, false, DSQL_DISCARD_INSUFFICIENT_LIFETIME},
    };
    struct dsql_pool_options options;
    fake_pq_options(&options, 2);
    struct dsql_pool *pool = open_pool(&options);
    uint64_t wanted[DSQL_DISCARDS] = {0};
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_conn *held = check_out(pool), *handle = check_out(pool);
        struct dsql_conn *conn = dsql_conn_of(handle);
        int64_t now_ns = dsql_clock_mono(&dsql_clock_boot).ns;
        if (!cases[i].on_return)
            dsql_pool_return(handle);
        conn->dies_at = cases[i].dead ? now_ns : now_ns + DSQL_H;
        atomic_store(&conn->usable_until, now_ns);
        if (cases[i].on_return)
            dsql_pool_return(handle);
        else
            dsql_pool_return(check_out(pool)); /* gets its successor */
        dsql_pool_return(held);
        wanted[cases[i].why]++;
        WAIT_UNTIL(stats_of(pool).ready == 2);
        struct dsql_pool_stats stats = stats_of(pool);
        assert_memory_equal(stats.discards, wanted, sizeof(wanted));
    }
    dsql_pool_close(pool);
}

/* A checkout that does not say how long waits for empty_wait. */
TEST(default_wait)
{
    struct dsql_pool_options options;
    struct dsql_conn *conn = NULL;
    struct dsql_err err = {0};
    fake_pq_options(&options, 1);
    options.empty_wait_ns = 37 * DSQL_MS;
    struct dsql_pool *pool = open_pool(&options);
    struct dsql_conn *held = check_out(pool);
    struct dsql_mono began = dsql_clock_mono(&dsql_clock_system);
    assert_int_equal(dsql_pool_checkout(pool, -1, &conn, &err), DSQL_EMPTY);
    assert_true(dsql_mono_since(dsql_clock_mono(&dsql_clock_system), began) >= 37 * DSQL_MS);
    assert_non_null(strstr(err.message, "in 37 ms"));
    assert_int_equal(dsql_pool_checkout(pool, 0, &conn, &err), DSQL_EMPTY);
    assert_non_null(strstr(err.message, "in 0 ms"));
    dsql_pool_return(held);
    dsql_pool_close(pool);
}

static uint64_t rate_limit_failures(const struct dsql_pool_options *options)
{
    return dsql_counter_value(
        options->metrics, DSQL_SERIES(reservoir_refill_failures, .value = DSQL_REFILL_RATE_LIMIT));
}

/* Waiting for a permit is no failure; not getting one for permit_wait is. */
TEST(rate_limit)
{
    for (int impatient = 0; impatient < 2; impatient++) {
        struct dsql_pool_options options;
        fake_pq_options(&options, 3);
        (void)snprintf(options.connection.endpoint, sizeof(options.connection.endpoint),
                       "rated%d.dsql.invalid", impatient);
        options.budget.rate = 2;
        options.budget.burst = 1;
        options.sizing.low_watermark = 0;
        options.budget.permit_wait_ns = impatient ? 50 * DSQL_MS : 10 * DSQL_M;
        assert_int_equal(dsql_metrics_new("rated", &options.metrics), DSQL_OK);
        struct dsql_pool *pool = open_pool(&options);
        WAIT_UNTIL(stats_of(pool).ready == 3);
        /* After a moment in which this process stood still there are permits at once. */
        for (int i = 0; i < 20 && impatient && rate_limit_failures(&options) == 0; i++) {
            for (int k = 0; k < 3; k++)
                dsql_pool_discard(check_out(pool));
            WAIT_UNTIL(stats_of(pool).ready == 3);
        }
        assert_int_equal(rate_limit_failures(&options) > 0, impatient);
        dsql_pool_close(pool);
        dsql_metrics_destroy(options.metrics);
    }
}

/* The budget is asked for what is needed. */
TEST(needed_slots)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 20);
    options.sizing.target_ready = 2;
    options.sizing.low_watermark = 2;
    struct dsql_pool *pool = open_pool(&options);
    assert_int_equal(stats_of(pool).slots, 3); /* and one for a successor */
    dsql_pool_close(pool);
}

TEST(settings_reach_the_options)
{
    struct dsql_pool_options options;
    struct dsql_err err = {0};
    setenv("DSQL_POOL_KEEPER_CONNECTION_TIMEOUT", "3s", 1);
    setenv("DSQL_POOL_WARMUP_CONNECTION_TIMEOUT", "4s", 1);
    setenv("DSQL_DISTRIBUTED_RATE_LIMITER_MAX_WAIT", "5s", 1);
    setenv("DSQL_DISTRIBUTED_RATE_LIMITER_BACKOFF_BASE", "6ms", 1);
    assert_int_equal(dsql_pool_options_env(&options, &err), DSQL_OK);
    assert_int_equal(options.connection.connect_timeout_ns, 3 * DSQL_S);
    assert_int_equal(options.standard.warmup_connect_timeout_ns, 4 * DSQL_S);
    assert_int_equal(options.budget.permit_wait_ns, 5 * DSQL_S);
    assert_int_equal(options.budget.permit_backoff_ns, 6 * DSQL_MS);
    unsetenv("DSQL_POOL_KEEPER_CONNECTION_TIMEOUT");
    unsetenv("DSQL_POOL_WARMUP_CONNECTION_TIMEOUT");
    unsetenv("DSQL_DISTRIBUTED_RATE_LIMITER_MAX_WAIT");
    unsetenv("DSQL_DISTRIBUTED_RATE_LIMITER_BACKOFF_BASE");
    dsql_pool_options_default(&options);
    assert_int_equal(options.budget.permit_wait_ns, 30 * DSQL_S);
    assert_int_equal(options.budget.permit_backoff_ns, 25 * DSQL_MS);
}

/* The server closes every second connection: they are found, never handed out, and replaced. */
TEST(dropped)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 20);
    struct dsql_pool *pool = open_pool(&options);
    struct dsql_conn *held = check_out(pool);
    size_t dropped = fake_pq_drop(2);
    assert_int_equal(dropped, 10);
    dsql_pool_return(held); /* whichever it is: found then, or now */
    WAIT_UNTIL(stats_of(pool).discards[DSQL_DISCARD_SERVER_CLOSED] == dropped);
    WAIT_UNTIL(stats_of(pool).ready == 20);
    assert_int_equal(stats_of(pool).opens, 20 + dropped);
    dsql_pool_close(pool);
}

/* Lifetimes of half a second: nobody gets a connection past its time, and none is missed, although
 * there is no room to spare. */
TEST(lifetimes)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 8);
    options.lifetime.base_ns = 500 * DSQL_MS;
    options.lifetime.jitter_ns = 100 * DSQL_MS;
    options.lifetime.guard_window_ns = 50 * DSQL_MS;
    struct dsql_pool *pool = open_pool(&options);
    while (stats_of(pool).opens < 40) {
        int64_t before_ns = dsql_clock_mono(&dsql_clock_boot).ns;
        struct dsql_conn *conn = check_out(pool);
        const struct dsql_conn *slot = dsql_conn_of(conn);
        assert_true(before_ns < atomic_load(&slot->usable_until));
        assert_true(atomic_load(&slot->usable_until) <=
                    slot->dies_at - options.lifetime.guard_window_ns);
        sleep_ms(1);
        dsql_pool_return(conn);
    }
    struct dsql_pool_stats stats = stats_of(pool);
    assert_true(stats.in_use + stats.ready + stats.opening <= 8);
    dsql_pool_close(pool);
    assert_int_equal(fake_pq_live(), 0);
}

/* The same pool for the same endpoint and user, another for another; each open needs its close. */
TEST(shared)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 2);
    struct dsql_pool *a = open_pool(&options), *b = open_pool(&options);
    assert_ptr_equal(a, b);
    options.connection.user[0] = 'x';
    struct dsql_pool *c = open_pool(&options);
    assert_ptr_not_equal(a, c);
    dsql_pool_close(a);
    dsql_pool_return(check_out(b));
    dsql_pool_close(b);
    dsql_pool_close(c);
    assert_int_equal(fake_pq_live(), 0);
}

/* Other options are an error that names one of them, unless the opener takes the pool as it is. */
TEST(shared_with_other_options)
{
    struct dsql_pool_options options;
    struct dsql_pool *other = NULL;
    struct dsql_err err;
    fake_pq_options(&options, 2);
    struct dsql_pool *pool = open_pool(&options);
    options.lifetime.base_ns += DSQL_S;
    assert_int_equal(dsql_pool_open(&options, &other, &err), DSQL_INVALID);
    assert_non_null(strstr(err.message, "lifetime.base_ns"));
    assert_non_null(strstr(err.hint, "share"));
    assert_null(other);
    options.share = true;
    assert_int_equal(dsql_pool_open(&options, &other, &err), DSQL_OK);
    assert_ptr_equal(other, pool);
    dsql_pool_close(other);
    dsql_pool_return(check_out(pool));
    dsql_pool_close(pool);
    assert_int_equal(fake_pq_live(), 0);
}

static void *wait_for_one(void *arg)
{
    struct dsql_conn *conn = NULL;
    enum dsql_rc *rc = arg;
    struct dsql_pool *pool = *(struct dsql_pool **)(rc + 2);
    *rc = dsql_pool_checkout(pool, 300 * DSQL_S, &conn, NULL);
    dsql_pool_return(conn);
    return NULL;
}

/* Draining sends waiting callers away, waits for connections in use, and refuses new callers. */
TEST(drain)
{
    struct dsql_pool_options options;
    struct {
        enum dsql_rc rc[2];
        struct dsql_pool *pool;
    } job = {.rc = {DSQL_OK}};
    fake_pq_options(&options, 1);
    struct dsql_pool *pool = open_pool(&options);
    struct dsql_conn *held = check_out(pool), *none = NULL;
    job.pool = pool;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_one, &job), 0);
    WAIT_UNTIL(stats_of(pool).waiting == 1);
    assert_int_equal(dsql_pool_drain(pool, DSQL_MS), DSQL_TIMEOUT);
    pthread_join(thread, NULL);
    assert_int_equal(job.rc[0], DSQL_CLOSED);
    assert_int_equal(dsql_pool_checkout(pool, -1, &none, NULL), DSQL_CLOSED);
    dsql_pool_return(held);
    assert_int_equal(dsql_pool_drain(pool, -1), DSQL_OK);
    assert_int_equal(stats_of(pool).empty, 1);
    dsql_pool_close(pool);
    assert_int_equal(fake_pq_live(), 0);
}

/* A connection that outlives its pool: its socket is shut down, and returning it frees the rest. */
TEST(orphan)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 3);
    options.drain_timeout_ns = 0;
    struct dsql_pool *pool = open_pool(&options);
    struct dsql_conn *a = check_out(pool), *b = check_out(pool);
    dsql_pool_close(pool);
    assert_int_equal(fake_pq_live(), 2);
    dsql_pool_return(a);
    dsql_pool_discard(b);
    assert_int_equal(fake_pq_live(), 0);
}

/* Who opens an endpoint whose pool drains gets a new pool, which serves; both are closed. */
TEST(opened_while_it_drains)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 2);
    struct dsql_pool *old = open_pool(&options);
    struct dsql_conn *held = check_out(old), *none = NULL;
    assert_int_equal(dsql_pool_drain(old, 0), DSQL_TIMEOUT);
    struct dsql_pool *fresh = open_pool(&options), *again = open_pool(&options);
    assert_ptr_not_equal(fresh, old);
    assert_ptr_equal(again, fresh);
    dsql_pool_return(check_out(fresh));
    assert_int_equal(dsql_pool_checkout(old, 0, &none, NULL), DSQL_CLOSED);
    dsql_pool_return(held);
    dsql_pool_close(old);
    dsql_pool_close(again);
    dsql_pool_return(check_out(fresh));
    dsql_pool_close(fresh);
    assert_int_equal(fake_pq_live(), 0);
}

static int64_t cpu_ns(pthread_t thread)
{
    clockid_t clock;
    struct timespec used;
    assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
    assert_int_equal(clock_gettime(clock, &used), 0);
    return used.tv_sec * DSQL_S + used.tv_nsec;
}

/* A drained pool sleeps while a caller keeps a connection past its end. */
TEST(drained_and_old)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 1);
    options.lifetime.base_ns = 200 * DSQL_MS;
    options.lifetime.jitter_ns = 0;
    options.lifetime.guard_window_ns = 100 * DSQL_MS;
    struct dsql_pool *pool = open_pool(&options);
    struct dsql_conn *conn = check_out(pool);
    assert_int_equal(dsql_pool_drain(pool, 0), DSQL_TIMEOUT);
    sleep_ms(300); /* past the connection's end */
    int64_t before_ns = cpu_ns(pool->opener.thread);
    sleep_ms(500);
    assert_in_range(cpu_ns(pool->opener.thread) - before_ns, 0, 50 * DSQL_MS);
    dsql_pool_return(conn);
    dsql_pool_close(pool);
}

/* target_ready is what is kept, max_open what there may be: each caller that waits gets one more,
 * also one after the other, and at the end the hint names the real limit. */
TEST(grows_while_somebody_waits)
{
    enum { TARGET = 2, MOST = 6 };
    struct dsql_pool_options options;
    struct dsql_conn *held[MOST], *none = NULL;
    struct dsql_err err = {0};
    fake_pq_options(&options, MOST);
    options.sizing.target_ready = options.sizing.low_watermark = TARGET;
    struct dsql_pool *pool = open_pool(&options);
    for (int i = 0; i < TARGET; i++)
        held[i] = check_out(pool);
    assert_int_equal(dsql_pool_checkout(pool, 0, &none, &err), DSQL_EMPTY);
    assert_non_null(strstr(err.hint, "DSQL_RESERVOIR_TARGET_READY"));
    assert_null(strstr(err.hint, "MAX_OPEN"));
    for (int i = TARGET; i < MOST; i++) {
        held[i] = check_out(pool);
        assert_int_equal(stats_of(pool).in_use, i + 1);
    }
    assert_int_equal(dsql_pool_checkout(pool, DSQL_MS, &none, &err), DSQL_EMPTY);
    assert_non_null(strstr(err.hint, "DSQL_POOL_MAX_OPEN"));
    assert_int_equal(fake_pq_begun(), MOST);
    for (int i = 0; i < MOST; i++)
        dsql_pool_return(held[i]);
    assert_int_equal(stats_of(pool).ready, MOST); /* they stay, until they are old */
    dsql_pool_close(pool);
}

static enum dsql_rc fetch_keys(void *arg, struct dsql_credentials_reply *reply,
                               struct dsql_err *err)
{
    (void)err;
    atomic_fetch_add((_Atomic int *)arg, 1);
    return dsql_credentials_reply_set(reply, "AKIDEXAMPLE", "secret", NULL, 0);
}

/* Closing gives everything back that the pool had of others, also while a connection is out: its
 * caller comes back long after the credentials are gone. */
TEST(orphan_needs_nothing)
{
    struct dsql_pool_options options;
    struct dsql_credentials *credentials = NULL;
    _Atomic int fetches = 0;
    fake_pq_options(&options, 2);
    assert_int_equal(dsql_credentials_new_custom(fetch_keys, &fetches, &credentials, NULL),
                     DSQL_OK);
    options.credentials = credentials;
    options.drain_timeout_ns = 0;
    struct dsql_pool *pool = open_pool(&options);
    struct dsql_conn *conn = check_out(pool);
    dsql_pool_close(pool);
    dsql_credentials_destroy(credentials);
    assert_true(atomic_load(&fetches) > 0);
    dsql_pool_return(conn);
    assert_int_equal(fake_pq_live(), 0);
}

/* What a program can do wrong with a handle that it has given back. The slot has one connection, so
 * that the next checkout gets the same one; `others` checkouts lie between. */
struct misuse {
    enum { RETURN_AGAIN, DISCARD_AGAIN, USE_AGAIN, MISUSES } how;
    int others;
};

static void misuse(void *arg)
{
    const struct misuse *its = arg;
    struct dsql_pool_options options;
    fake_pq_options(&options, 1);
    struct dsql_pool *pool = open_pool(&options);
    struct dsql_conn *mine = check_out(pool), *theirs = NULL;
    dsql_pool_return(mine);
    for (int i = 0; i < its->others; i++) {
        if (theirs)
            dsql_pool_return(theirs);
        theirs = check_out(pool);
    }
    if (its->how == RETURN_AGAIN)
        dsql_pool_return(mine);
    else if (its->how == DISCARD_AGAIN)
        dsql_pool_discard(mine);
    else
        (void)dsql_conn_pg(mine);
}

/* A handle that was given back is caught, whether the connection is ready or somebody else's: the
 * program ends there, before two callers share a connection. Each in a child of its own. */
TEST(given_back_twice)
{
    static const int others[] = {0, 1, 2, 31, 63};
    for (size_t i = 0; i < MISUSES * DSQL_COUNT_OF(others); i++) {
        struct misuse its = {.how = i % MISUSES, .others = others[i / MISUSES]};
        if (!child_aborts(misuse, &its))
            fail_msg("misuse %d after %d other checkouts is not noticed", (int)its.how, its.others);
    }
}

/* A cancelled ticket gets nothing, before and while it waits. */
TEST(cancel)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 1);
    struct dsql_pool *pool = open_pool(&options);
    struct dsql_conn *conn = NULL;
    struct dsql_checkout_ticket ticket;
    dsql_checkout_ticket_init(&ticket, pool);
    assert_int_equal(dsql_checkout_with(&ticket, -1, &conn, NULL), DSQL_OK);
    dsql_pool_return(conn);
    dsql_checkout_cancel(&ticket);
    assert_int_equal(dsql_checkout_with(&ticket, -1, &conn, NULL), DSQL_CANCELLED);
    dsql_pool_close(pool);
}

/* A child of fork() is told so, and may open a pool of its own. */
TEST(fork_refused)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 2);
    struct dsql_pool *pool = open_pool(&options);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct dsql_conn *conn = NULL;
        struct dsql_err err = {0};
        struct dsql_pool_stats stats;
        bool ok = dsql_pool_checkout(pool, -1, &conn, &err) == DSQL_CLOSED &&
                  strstr(err.message, "parent") != NULL && dsql_pool_drain(pool, 0) == DSQL_CLOSED;
        dsql_pool_stats(pool, &stats);
        ok = ok && stats.max_open == 0 && dsql_pool_connections(pool, NULL, 0) == 0;
        dsql_pool_close(pool);
        /* One of its own it may have. */
        struct dsql_pool *own = NULL;
        ok = ok && dsql_pool_open(&options, &own, NULL) == DSQL_OK && own != pool &&
             dsql_pool_checkout(own, 60 * DSQL_S, &conn, NULL) == DSQL_OK;
        dsql_pool_return(conn);
        dsql_pool_close(own);
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    dsql_pool_return(check_out(pool));
    dsql_pool_close(pool);
}

#define REFUSED_AT "connection to server at \"localhost\" (127.0.0.1), port 5432 failed: "

/* Access denied: opening does not take the whole fill timeout, the log and the caller learn why,
 * and few attempts are made. */
TEST(denied)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 50);
    options.budget.rate = 10;
    options.sizing.initial_fill_timeout_ns = 600 * DSQL_S;
    assert_int_equal(dsql_metrics_new("denied", &options.metrics), DSQL_OK);
    fake_pq_refuse(REFUSED_AT "FATAL:  08006: unable to accept connection, access denied\n"
                              "DETAIL:  Session Id: x\nHINT:  Wrong user to action mapping.\n");
    struct dsql_pool *pool = open_pool(&options);
    struct dsql_err err = {0};
    struct dsql_conn *conn = NULL;
    assert_int_equal(dsql_pool_checkout(pool, 0, &conn, &err), DSQL_EMPTY);
    assert_non_null(strstr(err.message, "access denied"));
    assert_string_equal(err.hint, "Wrong user to action mapping.");
    assert_string_equal(err.sqlstate, "08006");
    struct dsql_pool_stats stats = stats_of(pool);
    assert_in_range(stats.attempts, 1, 8);
    assert_int_equal(stats.errors[0].rc, DSQL_DENIED);
    assert_int_equal(stats.errors[0].count, stats.attempts);
    assert_in_range(stats.retry_in_ns, 1, 30 * DSQL_S);
    dsql_pool_close(pool);
    assert_int_equal(fake_pq_live(), 0);
    for (int cls = 0; cls < DSQL_CONNECT_CLASSES; cls++) {
        uint64_t count =
            dsql_counter_value(options.metrics, DSQL_SERIES(connect_failures, .value = cls));
        assert_int_equal(count > 0, cls == DSQL_CONNECT_DENIED);
    }
    dsql_metrics_destroy(options.metrics);
}

/* Refused with 53400: the pool slows down, and recovers by itself. */
TEST(throttled)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 50);
    options.sizing.low_watermark = 0;
    assert_int_equal(dsql_metrics_new("throttled", &options.metrics), DSQL_OK);
    fake_pq_refuse(REFUSED_AT "FATAL:  53400: Unable to accept connection, rate exceeded.\n");
    struct dsql_pool *pool = open_pool(&options);
    WAIT_UNTIL(stats_of(pool).open_failures > 0 && stats_of(pool).opening == 0);
    struct dsql_pool_stats stats = stats_of(pool);
    assert_true(stats.rate < stats.rate_limit);
    const struct dsql_series now = DSQL_SERIES(budget_rate), best = DSQL_SERIES(budget_rate_limit);
    WAIT_UNTIL(dsql_gauge_value(options.metrics, now) < dsql_gauge_value(options.metrics, best));
    fake_pq_refuse(NULL);
    WAIT_UNTIL(stats_of(pool).ready == 50);
    assert_int_equal(stats_of(pool).errors[0].rc, DSQL_THROTTLED);
    WAIT_UNTIL(dsql_gauge_value(options.metrics, now) == dsql_gauge_value(options.metrics, best));
    dsql_pool_close(pool);
    assert_int_equal(dsql_gauge_value(options.metrics, best), options.budget.rate);
    dsql_metrics_destroy(options.metrics);
}

/* A connect that never ends is given up; the slot is free again. */
TEST(stalled)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 3);
    options.sizing.low_watermark = 0;
    options.connection.connect_timeout_ns = 20 * DSQL_MS;
    fake_pq_stall(true);
    struct dsql_pool *pool = open_pool(&options);
    WAIT_UNTIL(stats_of(pool).open_failures >= 3);
    assert_int_equal(stats_of(pool).errors[0].rc, DSQL_TIMEOUT);
    fake_pq_stall(false);
    WAIT_UNTIL(stats_of(pool).ready == 3);
    dsql_pool_close(pool);
}

/* Standard mode: the warm-up before the pool is handed out, then the keeper. */
TEST(standard)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 10);
    options.mode = DSQL_POOL_STANDARD;
    options.standard.warmup_target = 6;
    options.standard.keeper_tick_ns = DSQL_H; /* one tick, and no other in this test */
    options.standard.keeper_max_per_tick = 2;
    options.sizing.low_watermark = 0; /* it is not what is waited for */
    struct dsql_pool *pool = open_pool(&options);
    assert_in_range(stats_of(pool).ready, 6, 8);
    WAIT_UNTIL(stats_of(pool).ready == 8); /* and the tick's two */
    for (int i = 0; i < 3; i++)
        dsql_pool_discard(check_out(pool));
    WAIT_UNTIL(fake_pq_live() ==
               5); /* the opener was there, and opened none: the tick is used up */
    assert_int_equal(fake_pq_begun(), 8);
    assert_int_equal(stats_of(pool).ready, 5);
    dsql_pool_close(pool);

    options.standard.keeper_tick_ns = 10 * DSQL_MS; /* tick by tick it gets there */
    pool = open_pool(&options);
    WAIT_UNTIL(stats_of(pool).ready == 10);
    dsql_pool_close(pool);
}

/* The warm-up opens one connection after the other, and gives each up after its own time. */
TEST(warm_up)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 10);
    options.mode = DSQL_POOL_STANDARD;
    options.standard.warmup_target = 6;
    options.standard.warmup_max_retries = 2;
    options.standard.warmup_connect_timeout_ns = 20 * DSQL_MS;
    options.standard.warmup_retry_backoff_ns = options.standard.warmup_max_backoff_ns = DSQL_MS;
    options.connection.connect_timeout_ns = DSQL_H;
    options.standard.keeper_tick_ns = DSQL_H;
    options.standard.keeper_max_per_tick = 1;
    fake_pq_stall(true);
    struct dsql_pool *pool = open_pool(&options);
    assert_in_range(fake_pq_begun(), 3, 4); /* the first one's tries, and the tick's */
    dsql_pool_close(pool);
}

TEST(options_are_checked)
{
    struct dsql_pool_options options;
    struct dsql_pool *pool = NULL;
    struct dsql_err err = {0};
    fake_pq_options(&options, 10);
    options.sizing.max_open = 0;
    assert_int_equal(dsql_pool_open(&options, &pool, &err), DSQL_INVALID);
    assert_non_null(strstr(err.message, "max_open"));
    fake_pq_options(&options, 10);
    options.connection.endpoint[0] = '\0';
    assert_int_equal(dsql_pool_open(&options, &pool, &err), DSQL_INVALID);
    fake_pq_options(&options, 10);
    options.connection.region[0] = '\0';
    assert_int_equal(dsql_pool_open(&options, &pool, &err), DSQL_INVALID);
    fake_pq_options(&options, 10);
    (void)snprintf(options.connection.endpoint, sizeof(options.connection.endpoint), "localhost:x");
    assert_int_equal(dsql_pool_open(&options, &pool, &err), DSQL_INVALID);
    assert_null(pool);
}

/* libpq's text taken apart. */
TEST(texts)
{
    static const struct {
        const char *text, *sqlstate, *message, *hint;
    } cases[] = {
        {REFUSED_AT "FATAL:  08006: unable to accept connection, access denied\nHINT:  Signature "
                    "expired: x\nLOCATION: y\n",
         "08006", "unable to accept connection, access denied", "Signature expired: x"},
        {REFUSED_AT "Connection refused\n\tIs the server running?\n", "",
         REFUSED_AT "Connection refused", ""},
        {"FATAL:  53300: too many\n", "53300", "too many", ""},
        {"FATAL:  5330: too few\n", "", "FATAL:  5330: too few", ""},
        {"x:  ABCDE", "", "x:  ABCDE", ""},
        {" a\x01\xc3\xa4\xff b \n", "", "a \xc3\xa4? b", ""},
        {"", "", "", ""},
        {"\n", "", "", ""},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_connect_report report = {0};
        dsql_connect_parse(cases[i].text, &report);
        assert_string_equal(report.sqlstate, cases[i].sqlstate);
        assert_string_equal(report.message, cases[i].message);
        assert_string_equal(report.hint, cases[i].hint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(everyday, set_up),
        cmocka_unit_test_setup(unfit, set_up),
        cmocka_unit_test_setup(dropped, set_up),
        cmocka_unit_test_setup(lifetimes, set_up),
        cmocka_unit_test_setup(shared, set_up),
        cmocka_unit_test_setup(shared_with_other_options, set_up),
        cmocka_unit_test_setup(drain, set_up),
        cmocka_unit_test_setup(orphan, set_up),
        cmocka_unit_test_setup(orphan_needs_nothing, set_up),
        cmocka_unit_test_setup(given_back_twice, set_up),
        cmocka_unit_test_setup(drained_and_old, set_up),
        cmocka_unit_test_setup(opened_while_it_drains, set_up),
        cmocka_unit_test_setup(grows_while_somebody_waits, set_up),
        cmocka_unit_test_setup(cancel, set_up),
        cmocka_unit_test_setup(fork_refused, set_up),
        cmocka_unit_test_setup(denied, set_up),
        cmocka_unit_test_setup(throttled, set_up),
        cmocka_unit_test_setup(stalled, set_up),
        cmocka_unit_test_setup(standard, set_up),
        cmocka_unit_test_setup(warm_up, set_up),
        cmocka_unit_test_setup(options_are_checked, set_up),
        cmocka_unit_test(texts),
        cmocka_unit_test(old),
        cmocka_unit_test(default_wait),
        cmocka_unit_test(rate_limit),
        cmocka_unit_test(needed_slots),
        cmocka_unit_test(settings_reach_the_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
