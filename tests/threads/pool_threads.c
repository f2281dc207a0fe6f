/*
 * Everything a pool does, at once: checkouts with and without waiting, returns clean and dirty,
 * discards, cancelled waits, servers that hang up, lifetimes of a second, statistics, sharing,
 * draining and closing while connections are out. Invariants only: nobody shares a connection,
 * nobody gets one past its time, everything is accounted for at the end.
 *
 * POOL_STRESS_SECONDS (10) is the length of the storm.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/rng.h"
#include "pool/pool.h"
#include "support/fake_pq.h"
#include "support/test.h"

enum { CONNECTIONS = 12, WORKERS = 10, CYCLES = 25, CYCLE_WORKERS = 4, ROUNDS = 100, HELD = 24 };

static struct dsql_pool *pool;
static _Atomic bool stop;
static _Atomic int holders[CONNECTIONS];
static _Atomic unsigned shared, late, served, odd;

static void sleep_us(int64_t us)
{
    const struct timespec time = {.tv_nsec = us * DSQL_US};
    (void)nanosleep(&time, NULL);
}

static void use(struct dsql_conn *handle, int64_t asked_ns, struct dsql_rng *rng)
{
    const struct dsql_conn *conn = dsql_conn_of(handle);
    int64_t until_ns = atomic_load(&conn->usable_until);
    if (atomic_fetch_add(&holders[conn->slot], 1) != 0)
        atomic_fetch_add(&shared, 1);
    if (until_ns != DSQL_HANDOUT_HUNG_UP && until_ns <= asked_ns)
        atomic_fetch_add(&late, 1);
    atomic_fetch_add(&served, 1);
    if (dsql_rng_below(rng, 4) == 0)
        sleep_us((int64_t)dsql_rng_below(rng, 300));
    atomic_fetch_sub(&holders[conn->slot], 1);
    switch (dsql_rng_below(rng, 200)) {
    case 0:
        dsql_pool_discard(handle);
        break;
    case 1:
        fake_pq_set_transaction(dsql_conn_pg(handle), PQTRANS_INTRANS);
        dsql_pool_return(handle);
        break;
    default:
        dsql_pool_return(handle);
    }
}

static void *work(void *arg)
{
    struct dsql_rng rng = dsql_rng_seeded((uint64_t)(uintptr_t)arg);
    while (!atomic_load(&stop)) {
        struct dsql_conn *conn = NULL;
        struct dsql_err err;
        int64_t asked_ns = dsql_clock_mono(&dsql_clock_boot).ns;
        int64_t wait_ns = (int64_t)dsql_rng_below(&rng, 3) * DSQL_MS;
        enum dsql_rc rc = dsql_pool_checkout(pool, wait_ns, &conn, &err);
        if (rc == DSQL_OK)
            use(conn, asked_ns, &rng);
        else if (rc != DSQL_EMPTY)
            atomic_fetch_add(&odd, 1);
    }
    return NULL;
}

static struct dsql_checkout_ticket tickets[2];
static pthread_mutex_t ticket_lock = PTHREAD_MUTEX_INITIALIZER;

/* Waits with a ticket that another thread cancels at any moment. */
static void *work_cancelled(void *arg)
{
    struct dsql_rng rng = dsql_rng_seeded(99);
    struct dsql_checkout_ticket *ticket = arg;
    while (!atomic_load(&stop)) {
        struct dsql_conn *conn = NULL;
        pthread_mutex_lock(&ticket_lock);
        dsql_checkout_ticket_init(ticket, pool);
        pthread_mutex_unlock(&ticket_lock);
        int64_t asked_ns = dsql_clock_mono(&dsql_clock_boot).ns;
        enum dsql_rc rc = dsql_checkout_with(ticket, 10 * DSQL_MS, &conn, NULL);
        if (rc == DSQL_OK)
            use(conn, asked_ns, &rng);
        else if (rc != DSQL_EMPTY && rc != DSQL_CANCELLED)
            atomic_fetch_add(&odd, 1);
    }
    return NULL;
}

static void *disturb(void *arg)
{
    struct dsql_rng rng = dsql_rng_seeded(5);
    struct dsql_pool_options options = *(struct dsql_pool_options *)arg;
    while (!atomic_load(&stop)) {
        struct dsql_pool_stats stats;
        struct dsql_conn_info infos[CONNECTIONS];
        struct dsql_pool *again = NULL;
        sleep_us((int64_t)dsql_rng_below(&rng, 5000));
        dsql_pool_stats(pool, &stats);
        if (stats.ready + stats.in_use + stats.opening + stats.closing + stats.empty !=
                stats.max_open ||
            stats.ready < 0 || stats.in_use < 0 ||
            dsql_pool_connections(pool, infos, CONNECTIONS) > CONNECTIONS)
            atomic_fetch_add(&odd, 1);
        pthread_mutex_lock(&ticket_lock);
        dsql_checkout_cancel(&tickets[dsql_rng_below(&rng, 2)]);
        pthread_mutex_unlock(&ticket_lock);
        if (dsql_rng_below(&rng, 8) == 0)
            (void)fake_pq_drop(1 + (size_t)dsql_rng_below(&rng, 8));
        if (dsql_pool_open(&options, &again, NULL) != DSQL_OK || again != pool)
            atomic_fetch_add(&odd, 1);
        dsql_pool_close(again);
    }
    return NULL;
}

static void start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    assert_int_equal(pthread_create(thread, NULL, fn, arg), 0);
}

TEST(storm)
{
    const char *text = getenv("POOL_STRESS_SECONDS");
    int64_t seconds = text ? strtol(text, NULL, 10) : 10;
    struct dsql_pool_options options;
    struct dsql_metrics *metrics = NULL;
    pthread_t threads[WORKERS + 3];
    fake_pq_reset();
    fake_pq_options(&options, CONNECTIONS);
    options.sizing.target_ready = CONNECTIONS - 4;
    options.sizing.low_watermark = 1;
    options.lifetime.base_ns = DSQL_S;
    options.lifetime.jitter_ns = 500 * DSQL_MS;
    options.lifetime.guard_window_ns = 100 * DSQL_MS;
    assert_int_equal(dsql_metrics_new("stress", &metrics), DSQL_OK);
    options.metrics = metrics;
    assert_int_equal(dsql_pool_open(&options, &pool, NULL), DSQL_OK);
    for (int i = 0; i < 2; i++)
        dsql_checkout_ticket_init(&tickets[i], pool);
    for (uintptr_t i = 0; i < WORKERS; i++)
        start(&threads[i], work, (void *)(i + 1));
    start(&threads[WORKERS], work_cancelled, &tickets[0]);
    start(&threads[WORKERS + 1], work_cancelled, &tickets[1]);
    start(&threads[WORKERS + 2], disturb, &options);
    struct dsql_mono until = dsql_mono_add(dsql_clock_mono(&dsql_clock_boot), seconds * DSQL_S);
    while (dsql_mono_before(dsql_clock_mono(&dsql_clock_boot), until) || atomic_load(&served) < 100)
        sleep_us(10000);
    atomic_store(&stop, true);
    for (int i = 0; i < WORKERS + 3; i++)
        pthread_join(threads[i], NULL);
    struct dsql_pool_stats stats;
    dsql_pool_stats(pool, &stats);
    assert_int_equal(atomic_load(&shared), 0);
    assert_int_equal(atomic_load(&late), 0);
    assert_int_equal(atomic_load(&odd), 0);
    assert_int_equal(stats.in_use, 0);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(stats.checkouts, atomic_load(&served));
    uint64_t closed = 0;
    for (int i = 0; i < DSQL_DISCARDS; i++)
        closed += stats.discards[i];
    dsql_pool_close(pool);
    assert_int_equal(fake_pq_live(), 0);
    assert_int_equal(dsql_counter_value(metrics, DSQL_SERIES(reservoir_checkouts)),
                     atomic_load(&served));
    dsql_metrics_destroy(metrics);
    print_message("%u served, %llu opened, %llu closed before the end, %llu waited, %llu empty\n",
                  atomic_load(&served), (unsigned long long)stats.opens, (unsigned long long)closed,
                  (unsigned long long)stats.waits, (unsigned long long)stats.empties);
}

/* A thread that takes connections and gives them back, some of them after the pool is closed. */
static void *outlive(void *arg)
{
    struct dsql_rng rng = dsql_rng_seeded((uint64_t)(uintptr_t)arg);
    struct dsql_conn *conn = NULL;
    while (dsql_pool_checkout(pool, 60 * DSQL_S, &conn, NULL) == DSQL_OK) {
        atomic_fetch_add(&served, 1);
        if (dsql_rng_below(&rng, 50) == 0)
            sleep_us(2000);
        bool stopping = atomic_load(&stop);
        dsql_pool_return(conn);
        if (stopping)
            break;
    }
    return NULL;
}

/* Closed under the hands of those who return: no use of what is freed, nothing left. */
TEST(closing)
{
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        struct dsql_pool_options options;
        pthread_t threads[CYCLE_WORKERS];
        fake_pq_reset();
        fake_pq_options(&options, 6);
        options.drain_timeout_ns = 0;
        atomic_store(&stop, false);
        atomic_store(&served, 0);
        assert_int_equal(dsql_pool_open(&options, &pool, NULL), DSQL_OK);
        struct dsql_conn *held[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(dsql_pool_checkout(pool, 60 * DSQL_S, &held[i], NULL), DSQL_OK);
        for (uintptr_t i = 0; i < CYCLE_WORKERS; i++)
            start(&threads[i], outlive, (void *)(i + 1));
        while (atomic_load(&served) < 50)
            sleep_us(100);
        atomic_store(&stop, true);
        for (int i = 0; i < CYCLE_WORKERS; i++)
            pthread_join(threads[i], NULL);
        pthread_t returner;
        start(&returner, (void *(*)(void *))(void (*)(void))dsql_pool_return, held[0]);
        dsql_pool_close(pool);
        dsql_pool_return(held[1]);
        pthread_join(returner, NULL);
        assert_int_equal(fake_pq_live(), 0);
    }
}

/* As a caller inside a statement: until the connection is cut off. */
static void *hold(void *arg)
{
    struct dsql_conn *conn = arg;
    struct pollfd fd = {.fd = PQsocket(dsql_conn_pg(conn)), .events = POLLRDHUP};
    (void)poll(&fd, 1, 60 * 1000);
    if (dsql_conn_of(conn)->slot % 3 == 0)
        dsql_pool_discard(conn);
    else
        dsql_pool_return(conn);
    return NULL;
}

/* Every connection is in use when the drain's time is over, and all come back the moment that the
 * opener cuts them off. Whoever is last frees the pool, nobody else does. */
TEST(cut_off)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct dsql_pool_options options;
        struct dsql_conn *held[HELD];
        pthread_t threads[HELD];
        fake_pq_reset();
        fake_pq_options(&options, HELD);
        options.drain_timeout_ns = round % 2 ? 5 * DSQL_MS : 0;
        assert_int_equal(dsql_pool_open(&options, &pool, NULL), DSQL_OK);
        for (int i = 0; i < HELD; i++)
            assert_int_equal(dsql_pool_checkout(pool, 60 * DSQL_S, &held[i], NULL), DSQL_OK);
        for (int i = 0; i < HELD; i++)
            start(&threads[i], hold, held[i]);
        dsql_pool_close(pool);
        for (int i = 0; i < HELD; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(fake_pq_live(), 0);
    }
}

int main(void)
{
    dsql_log_set_level(DSQL_LOG_ERROR);
    const struct CMUnitTest tests[] = {cmocka_unit_test(storm), cmocka_unit_test(closing),
                                       cmocka_unit_test(cut_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
