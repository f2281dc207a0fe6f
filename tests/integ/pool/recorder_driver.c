/*
 * A pool that is recorded while everything happens to it, for recorder.sh: `recorder_driver
 * SECONDS [SEED]` against the endpoint of the environment, whose faults it sets with the command in
 * $DSQL. Short lives, more callers than connections, dropped connections, throttling, a slow
 * endpoint, an expired and a denied token.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "base/time.h"
#include "dsql/dsql.h"

enum { WORKERS = 16, CONNECTIONS = 8 };

static struct dsql_pool *pool;
static _Atomic bool stop, rest;
static uint64_t seed; /* of callers, and of the order in which faults come */

static void sleep_ms(int64_t ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * DSQL_MS};
    (void)nanosleep(&time, NULL);
}

static void set_fault(const char *text)
{
    char command[512];
    (void)snprintf(command, sizeof(command), "%s local fault %s >&2", getenv("DSQL"), text);
    if (system(command) != 0) // NOLINT(cert-env33-c): the command is the test's own
        exit(1);
}

/* A tenth of the time: the faults it begins with, whether callers rest, so that connections grow
 * old unused, and what the recording has to show before the next one begins. */
static const struct phase {
    const char *faults;
    bool rest;
    const char *shows[2];
} phases[] = {
    {.shows = {"callers wait", ": broken"}},
    {.faults = "drop=50%", .shows = {": server_closed"}},
    {.faults = "throttle=2x drop=50%", .shows = {": throttled"}},
    {.rest = true, .shows = {"a successor for an aging one"}},
    {.faults = "connect-latency=600ms drop=50%",
     .shows = {"the connect took too long", ": network"}},
    {.faults = NULL},
    {.faults = "connect-latency=0ms expire=1x drop=50%", .shows = {": token_expired"}},
    {.rest = true, .shows = {": expiring_soon_on_scan"}},
    {.faults = "deny=1x drop=100%", .shows = {": denied"}},
    {.shows = {": insufficient_remaining_lifetime"}},
};
enum { PHASES = sizeof(phases) / sizeof(phases[0]), TRIES = 500 };

/* The recording is replayed while it is written: what is cut off at its end does not matter here.
 */
static bool recorded(const char *text)
{
    char command[512];
    (void)snprintf(command, sizeof(command),
                   "%s sim replay \"$DSQL_TRACE\" 2>/dev/null | grep -q -- '%s'", getenv("DSQL"),
                   text);
    return system(command) == 0; // NOLINT(cert-env33-c): the command is the test's own
}

/* A busy machine needs longer. What never comes is left to recorder.sh, which names it. */
static void wait_until_recorded(const struct phase *phase)
{
    int tries = TRIES;
    for (size_t i = 0; i < sizeof(phase->shows) / sizeof(phase->shows[0]) && phase->shows[i]; i++)
        while (!recorded(phase->shows[i]) && tries-- > 0)
            sleep_ms(200);
}

static void *work(void *arg)
{
    struct dsql_rng rng = dsql_rng_seeded(seed * 1000 + (uint64_t)(uintptr_t)arg);
    while (!atomic_load(&stop)) {
        struct dsql_conn *conn;
        struct dsql_err err;
        while (atomic_load(&rest))
            sleep_ms(10);
        if (dsql_pool_checkout(pool, 100 * DSQL_MS, &conn, &err) != DSQL_OK)
            continue;
        PQclear(PQexec(dsql_conn_pg(conn), "select 1"));
        sleep_ms(dsql_rng_between(&rng, 0, 60));
        if (dsql_rng_below(&rng, 50) == 0)
            dsql_pool_discard(conn);
        else
            dsql_pool_return(conn);
        sleep_ms(dsql_rng_between(&rng, 0, 20));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct dsql_pool_options options;
    struct dsql_err err;
    pthread_t threads[WORKERS];
    int64_t tenth_ms = (argc > 1 ? strtol(argv[1], NULL, 10) : 10) * 100;
    seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (dsql_pool_options_env(&options, &err) != DSQL_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    options.mode = DSQL_POOL_RESERVOIR;
    options.sizing.target_ready = options.sizing.low_watermark = CONNECTIONS;
    options.sizing.max_open = CONNECTIONS + 4;
    options.lifetime.base_ns = 1500 * DSQL_MS;
    options.lifetime.jitter_ns = 500 * DSQL_MS;
    options.lifetime.guard_window_ns = 200 * DSQL_MS;
    options.connection.connect_timeout_ns = 400 * DSQL_MS;
    options.budget.staggered_startup_ns = 200 * DSQL_MS;
    options.budget.rate = 50;
    if (dsql_pool_open(&options, &pool, &err) != DSQL_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (uintptr_t i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)) != 0)
            return 1;
    int first = (int)(seed % PHASES);
    for (int n = 0; n < PHASES; n++) {
        const struct phase *phase = &phases[(first + n) % PHASES];
        atomic_store(&rest, phase->rest);
        if (phase->faults)
            set_fault(phase->faults);
        sleep_ms(tenth_ms);
        wait_until_recorded(phase);
    }
    atomic_store(&rest, false);
    atomic_store(&stop, true);
    for (int i = 0; i < WORKERS; i++)
        (void)pthread_join(threads[i], NULL);
    dsql_pool_close(pool);
    puts("ok");
    return 0;
}
