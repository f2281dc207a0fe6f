/*
 * A process with callers, for sim_reality.sh: opens the pool of its environment and has callers
 * come as a scenario's workload has them: `burst` every `spawn`, each keeps a connection for `hold`
 * and up to `jitter` longer, and waits for one as long as the pool says. Prints what came of it.
 *     reality_bench SECONDS SPAWN_MS BURST HOLD_MS JITTER_MS
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/rng.h"
#include "dsql/pool.h"

enum { WORKERS = 64 };

static struct dsql_pool *pool;
static struct dsql_mono began;
static int64_t end_ns, spawn_ns, burst, hold_ns, jitter_ns;
static _Atomic int64_t arrivals; /* each is one caller's */

static int64_t now_ns(void)
{
    return dsql_mono_since(dsql_clock_mono(&dsql_clock_system), began);
}

static void sleep_until(int64_t at_ns)
{
    int64_t left_ns = at_ns - now_ns();
    const struct timespec time = {.tv_sec = left_ns / DSQL_S, .tv_nsec = left_ns % DSQL_S};
    if (left_ns > 0)
        (void)nanosleep(&time, NULL);
}

static void *work(void *arg)
{
    struct dsql_rng rng = dsql_rng_seeded((uint64_t)(uintptr_t)arg);
    for (;;) {
        struct dsql_conn *conn;
        struct dsql_err err;
        int64_t at_ns = atomic_fetch_add(&arrivals, 1) / burst * spawn_ns;
        if (at_ns >= end_ns)
            return NULL;
        sleep_until(at_ns);
        if (dsql_pool_checkout(pool, -1, &conn, &err) != DSQL_OK)
            continue;
        sleep_until(now_ns() + hold_ns + dsql_rng_between(&rng, 0, jitter_ns));
        PQclear(PQexec(dsql_conn_pg(conn), "select 1")); /* who uses it finds out that it is gone */
        dsql_pool_return(conn);
    }
}

/* When the pool first had as many open as it keeps. */
static int64_t wait_until_full(int64_t target)
{
    struct dsql_pool_stats stats;
    int64_t full_ns = -1;
    do {
        dsql_pool_stats(pool, &stats);
        if (stats.ready + stats.in_use >= target)
            full_ns = now_ns();
        sleep_until(now_ns() + 10 * DSQL_MS);
    } while (full_ns < 0 && now_ns() < end_ns);
    return full_ns;
}

int main(int argc, char **argv)
{
    struct dsql_pool_options options;
    struct dsql_pool_stats stats;
    struct dsql_err err = {0};
    pthread_t threads[WORKERS];
    if (argc != 6)
        return 2;
    end_ns = strtol(argv[1], NULL, 10) * DSQL_S;
    spawn_ns = strtol(argv[2], NULL, 10) * DSQL_MS;
    burst = strtol(argv[3], NULL, 10);
    hold_ns = strtol(argv[4], NULL, 10) * DSQL_MS;
    jitter_ns = strtol(argv[5], NULL, 10) * DSQL_MS;
    began = dsql_clock_mono(&dsql_clock_system);
    if (dsql_pool_options_env(&options, &err) || dsql_pool_open(&options, &pool, &err)) {
        fprintf(stderr, "reality_bench: %s %s\n", err.message, err.hint);
        return 1;
    }
    for (uintptr_t i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)) != 0)
            return 1;
    int64_t full_ns = wait_until_full(options.sizing.target_ready);
    for (int i = 0; i < WORKERS; i++)
        (void)pthread_join(threads[i], NULL);
    dsql_pool_stats(pool, &stats);
    printf("full_ms=%lld opens=%llu checkouts=%llu empties=%llu waits=%llu",
           (long long)(full_ns / DSQL_MS), (unsigned long long)stats.opens,
           (unsigned long long)stats.checkouts, (unsigned long long)stats.empties,
           (unsigned long long)stats.waits);
    for (int i = 0; i < DSQL_DISCARDS; i++)
        printf(" %s=%llu", dsql_discard_name((enum dsql_discard)i),
               (unsigned long long)stats.discards[i]);
    printf("\n");
    dsql_pool_close(pool);
    return 0;
}
