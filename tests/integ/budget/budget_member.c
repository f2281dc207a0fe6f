/*
 * A member of a fleet: opens the pool of its environment, keeps it until SIGTERM, and prints how
 * many connections it holds once a second. A SIGTERM drains.
 *
 *     budget_member [SECONDS]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dsql/pool.h"

static volatile sig_atomic_t stop;

static void on_term(int signal)
{
    (void)signal;
    stop = 1;
}

int main(int argc, char **argv)
{
    struct dsql_pool_options options;
    struct dsql_pool *pool;
    struct dsql_err err;
    struct sigaction action = {.sa_handler = on_term};
    long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 3600;
    (void)sigaction(SIGTERM, &action, NULL);
    if (dsql_pool_options_env(&options, &err) || dsql_pool_open(&options, &pool, &err)) {
        fprintf(stderr, "budget_member: %s %s\n", err.message, err.hint);
        return 1;
    }
    for (long i = 0; i < seconds * 5 && !stop; i++) {
        struct dsql_pool_stats stats;
        dsql_pool_stats(pool, &stats);
        if (i % 5 == 0) {
            printf("ready=%lld slots=%lld opens=%llu failures=%llu\n", (long long)stats.ready,
                   (long long)stats.slots, (unsigned long long)stats.opens,
                   (unsigned long long)stats.open_failures);
            (void)fflush(stdout);
        }
        (void)usleep(200 * 1000);
    }
    dsql_pool_close(pool);
    return 0;
}
