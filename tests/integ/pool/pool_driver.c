/*
 * A program that uses the pool, for pool.sh: `pool_driver SCENARIO...` against the endpoint of the
 * environment, whose faults it sets with the command in $DSQL. Every wait is for a condition, with
 * ten minutes' patience; upper bounds on attempts hold the more, the slower the machine.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "dsql/dsql.h"

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            show(pool);                                                                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define WAIT_UNTIL(condition)                                                                      \
    do {                                                                                           \
        int tries_ = 0;                                                                            \
        while (!(condition) && tries_++ < 60000)                                                   \
            sleep_ms(10);                                                                          \
        MUST(condition);                                                                           \
    } while (0)

static struct dsql_pool *pool;
static struct dsql_pool_options options;

static void sleep_ms(int64_t ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * DSQL_MS};
    (void)nanosleep(&time, NULL);
}

static struct dsql_pool_stats stats(void)
{
    struct dsql_pool_stats s;
    dsql_pool_stats(pool, &s);
    return s;
}

static void show(struct dsql_pool *of)
{
    struct dsql_pool_stats s;
    if (!of)
        return;
    dsql_pool_stats(of, &s);
    fprintf(stderr, "ready %lld in_use %lld opening %lld attempts %llu opens %llu failures %llu\n",
            (long long)s.ready, (long long)s.in_use, (long long)s.opening,
            (unsigned long long)s.attempts, (unsigned long long)s.opens,
            (unsigned long long)s.open_failures);
    for (size_t i = 0; i < s.error_count; i++)
        fprintf(stderr, "  %llu x %s (%s)\n", (unsigned long long)s.errors[i].count,
                s.errors[i].message, s.errors[i].hint);
}

static void set_fault(const char *text)
{
    char command[512];
    (void)snprintf(command, sizeof(command), "%s local fault %s >&2", getenv("DSQL"), text);
    MUST(system(command) == 0); // NOLINT(cert-env33-c): the command is the test's own
}

static void set_up(int64_t connections)
{
    struct dsql_err err;
    MUST(dsql_pool_options_env(&options, &err) == DSQL_OK);
    options.mode = DSQL_POOL_RESERVOIR;
    options.sizing.max_open = options.sizing.target_ready = options.sizing.low_watermark =
        connections;
    options.budget.staggered_startup_ns = 0;
    options.sizing.initial_fill_timeout_ns = 10 * DSQL_M;
    options.budget.rate = 50;
}

static void open_pool(void)
{
    struct dsql_err err;
    if (dsql_pool_open(&options, &pool, &err) != DSQL_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
}

static void close_pool(void)
{
    struct dsql_pool_stats s = stats();
    MUST(s.ready + s.in_use + s.opening + s.closing + s.empty == s.max_open);
    dsql_pool_close(pool);
    pool = NULL;
}

static bool ask(struct dsql_conn *conn)
{
    PGresult *result = PQexec(dsql_conn_pg(conn), "select 41 + 1");
    bool ok =
        PQresultStatus(result) == PGRES_TUPLES_OK && strcmp(PQgetvalue(result, 0, 0), "42") == 0;
    if (!ok)
        fprintf(stderr, "statement: %s", PQerrorMessage(dsql_conn_pg(conn)));
    PQclear(result);
    return ok;
}

static bool check_out_and_ask(int64_t wait_ns)
{
    struct dsql_conn *conn = NULL;
    struct dsql_err err;
    if (dsql_pool_checkout(pool, wait_ns, &conn, &err) != DSQL_OK) {
        fprintf(stderr, "checkout: %s\n", err.message);
        return false;
    }
    bool ok = ask(conn);
    dsql_pool_return(conn);
    return ok;
}

/* -- Several threads at work. */

enum { WORKERS = 4 };
static _Atomic bool stop;
static _Atomic unsigned good, bad;

static void *work(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        atomic_fetch_add(check_out_and_ask(60 * DSQL_S) ? &good : &bad, 1);
        sleep_ms(2);
    }
    return NULL;
}

static void work_until_opened(uint64_t opens)
{
    pthread_t threads[WORKERS];
    atomic_store(&stop, false);
    atomic_store(&good, 0);
    atomic_store(&bad, 0);
    for (int i = 0; i < WORKERS; i++)
        MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
    WAIT_UNTIL(stats().opens >= opens);
    atomic_store(&stop, true);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
}

/* Short lives, the name resolved by the pool itself: nobody's statement ever meets a closed
 * connection, and nobody is sent away. */
static void lifetimes(void)
{
    set_up(10);
    options.connection.hostaddr[0] = '\0';
    options.lifetime.base_ns = 2 * DSQL_S;
    options.lifetime.jitter_ns = DSQL_S;
    options.lifetime.guard_window_ns = 300 * DSQL_MS;
    open_pool();
    work_until_opened(30);
    MUST(atomic_load(&bad) == 0 && atomic_load(&good) > 0);
    struct dsql_pool_stats s = stats();
    MUST(s.empties == 0 && s.discards[DSQL_DISCARD_SERVER_CLOSED] == 0);
    MUST(s.discards[DSQL_DISCARD_BROKEN] == 0);
    close_pool();
}

/* Tokens that live for three seconds: connections outlive them, and new ones get new ones. */
static void tokens(void)
{
    set_up(5);
    options.connection.token_duration_ns = 3 * DSQL_S;
    options.lifetime.base_ns = DSQL_S;
    options.lifetime.jitter_ns = 500 * DSQL_MS;
    options.lifetime.guard_window_ns = 100 * DSQL_MS;
    open_pool();
    work_until_opened(25);
    MUST(atomic_load(&bad) == 0);
    /* On a slow machine one may expire on its way; then it was tried again with a new one. */
    for (size_t i = 0; i < stats().error_count; i++)
        MUST(strstr(stats().errors[i].hint, "Signature expired"));
    close_pool();
}

/* Half of the connections go at once: found idle, replaced one permit each, never handed out. */
static void drop(void)
{
    set_up(40);
    open_pool();
    MUST(stats().ready == 40 && stats().opens == 40);
    set_fault("drop=50%");
    WAIT_UNTIL(stats().discards[DSQL_DISCARD_SERVER_CLOSED] > 0);
    WAIT_UNTIL(stats().ready == 40 && stats().opening == 0);
    struct dsql_pool_stats s = stats();
    uint64_t dropped = s.discards[DSQL_DISCARD_SERVER_CLOSED];
    MUST(s.opens == 40 + dropped && s.attempts == s.opens);
    for (int i = 0; i < 100; i++)
        MUST(check_out_and_ask(60 * DSQL_S));
    MUST(stats().discards[DSQL_DISCARD_BROKEN] == 0);
    printf("dropped %llu of 40\n", (unsigned long long)dropped);
    close_pool();
}

/* The endpoint answers nobody for a while: connects and statements take as long, nothing is lost.
 */
static void stall(void)
{
    set_up(10);
    options.sizing.target_ready = options.sizing.low_watermark = 8;
    open_pool();
    set_fault("stall=2s");
    struct dsql_conn *conn = NULL;
    MUST(dsql_pool_checkout(pool, 60 * DSQL_S, &conn, NULL) == DSQL_OK);
    dsql_pool_discard(conn);
    MUST(check_out_and_ask(60 * DSQL_S));
    WAIT_UNTIL(stats().ready == 8);
    for (int i = 0; i < 20; i++)
        MUST(check_out_and_ask(60 * DSQL_S));
    close_pool();
}

/* The most attempts that a pool makes from then on when each of them fails: two a second, and as
 * many seconds as this machine has needed. */
static uint64_t most_attempts(struct dsql_mono since)
{
    int64_t ns = dsql_mono_since(dsql_clock_mono(&dsql_clock_system), since);
    return 2 * (uint64_t)(ns / DSQL_S + 1);
}

static void refused(const char *fault, const char *name, enum dsql_rc rc)
{
    set_up(30);
    open_pool();
    struct dsql_mono began = dsql_clock_mono(&dsql_clock_system), failed;
    uint64_t before = stats().attempts, first;
    set_fault(fault);
    set_fault("drop=100%");
    WAIT_UNTIL(stats().error_count > 0);
    failed = dsql_clock_mono(&dsql_clock_system);
    first = stats().attempts;
    sleep_ms(2000);
    uint64_t after = stats().attempts - first, all = stats().attempts - before;
    printf("%s: %llu attempts with the first round, %llu in the 2 s after it\n", name,
           (unsigned long long)all, (unsigned long long)after);
    MUST(stats().errors[0].rc == rc);
    /* The first round is what was under way; after it there is one at a time. */
    MUST(all <= 30 + most_attempts(began) && after <= most_attempts(failed));
    struct dsql_conn *conn = NULL;
    struct dsql_err err;
    WAIT_UNTIL(stats().ready == 0);
    MUST(dsql_pool_checkout(pool, 0, &conn, &err) == DSQL_EMPTY);
    MUST(strstr(err.message, stats().errors[0].message));
    WAIT_UNTIL(stats().retry_in_ns > 0);
    MUST(rc != DSQL_THROTTLED || stats().rate < stats().rate_limit);
    set_fault("clear");
}

/* 53400 to everybody: few attempts, and full again by itself when it ends. */
static void storm(void)
{
    refused("throttle=100%", "storm", DSQL_THROTTLED);
    WAIT_UNTIL(stats().ready == 30);
    close_pool();
}

static void denied(void)
{
    refused("deny=100%", "denied", DSQL_DENIED);
    close_pool();
}

/* Every token is refused as expired: a new one is tried once, then it is a matter for people. */
static void wrong_clock(void)
{
    refused("expire=100%", "wrong clock", DSQL_DENIED);
    close_pool();
}

/* One expired token is nothing: the next one works at once. */
static void expired_once(void)
{
    set_up(5);
    set_fault("expire=1x");
    open_pool();
    WAIT_UNTIL(stats().ready == 5);
    MUST(stats().open_failures == 1);
    close_pool();
}

/* A certificate nobody vouched for: no waiting for the fill timeout, and the reason is told. */
static void untrusted(void)
{
    set_up(5);
    options.connection.ca_file[0] = '\0';
    options.sizing.initial_fill_timeout_ns = 600 * DSQL_S;
    open_pool();
    MUST(stats().ready == 0 && stats().error_count == 1);
    MUST(strstr(stats().errors[0].message, "certificate"));
    close_pool();
}

/* No descriptors left: its own error, and full as soon as there are some. */
static void descriptors(void)
{
    struct rlimit limit;
    set_up(60);
    options.sizing.low_watermark = 0;
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    rlim_t old = limit.rlim_cur;
    limit.rlim_cur = 40;
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    open_pool();
    WAIT_UNTIL(stats().open_failures > 0);
    MUST(strstr(stats().errors[0].message, "Too many open files"));
    MUST(stats().errors[0].rc == DSQL_LIMIT);
    limit.rlim_cur = old;
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    WAIT_UNTIL(stats().ready == 60);
    close_pool();
}

/* Standard mode from the environment alone. */
static void standard(void)
{
    struct dsql_err err;
    MUST(dsql_pool_options_env(&options, &err) == DSQL_OK);
    options.sizing.max_open = 8;
    options.budget.staggered_startup_ns = 300 * DSQL_MS;
    open_pool();
    MUST(stats().opens >= 8 && stats().mode == DSQL_POOL_STANDARD);
    MUST(check_out_and_ask(60 * DSQL_S));
    struct dsql_conn_info infos[8];
    MUST(dsql_pool_connections(pool, infos, 8) == 8 && infos[0].age_ns >= 0);
    close_pool();
}

/* Four callers and a target of two: a pool opens up to max_open while somebody waits. */
static void grows(void)
{
    struct dsql_conn *held[4];
    struct dsql_err err;
    set_up(4);
    options.sizing.target_ready = options.sizing.low_watermark = 2;
    open_pool();
    MUST(stats().target == 2);
    for (int i = 0; i < 4; i++) {
        MUST(dsql_pool_checkout(pool, 60 * DSQL_S, &held[i], &err) == DSQL_OK);
        MUST(ask(held[i]));
    }
    MUST(stats().in_use == 4);
    for (int i = 0; i < 4; i++)
        dsql_pool_return(held[i]);
    close_pool();
}

/* The server goes away and comes back: says "up", "down" and "up" on standard output. */
static void restart(void)
{
    set_up(10);
    open_pool();
    WAIT_UNTIL(check_out_and_ask(0));
    puts("up");
    (void)fflush(stdout);
    WAIT_UNTIL(stats().ready == 0 && stats().error_count > 0);
    puts("down");
    (void)fflush(stdout);
    WAIT_UNTIL(stats().ready == 10);
    for (int i = 0; i < 20; i++)
        MUST(check_out_and_ask(60 * DSQL_S));
    puts("up again");
    close_pool();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        {"lifetimes", lifetimes},
        {"tokens", tokens},
        {"drop", drop},
        {"stall", stall},
        {"storm", storm},
        {"denied", denied},
        {"wrong_clock", wrong_clock},
        {"expired_once", expired_once},
        {"untrusted", untrusted},
        {"descriptors", descriptors},
        {"standard", standard},
        {"grows", grows},
        {"restart", restart},
    };
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < DSQL_COUNT_OF(scenarios); k++)
            if (strcmp(argv[i], scenarios[k].name) == 0) {
                scenarios[k].run();
                printf("ok %s\n", argv[i]);
                (void)fflush(stdout);
            }
    return 0;
}
