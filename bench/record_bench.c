/*
 * What a histogram record and a counter increment cost, alone and when threads meet, beside what
 * one could do instead: a plain unsynchronized increment (the floor: one cache line, no lock
 * prefix), one shared atomic, and a mutex around it. All rows alternate in one run, best of several
 * rounds, because the machines are noisy; the ratio to the floor is what to compare.
 */
#include <stdio.h>

#include "metrics/metrics.h"
#include "together.h"

enum { ROUNDS = 7, COUNT = 2000000 };

static struct dsql_metrics *metrics;
static struct dsql_hist hist;
static volatile uint64_t plain;
static _Atomic uint64_t shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t guarded;

static void do_plain(uint64_t i)
{
    plain = plain + (i & 1);
}

static void do_shared(uint64_t i)
{
    atomic_fetch_add_explicit(&shared, i & 1, memory_order_relaxed);
}

static void do_mutex(uint64_t i)
{
    pthread_mutex_lock(&lock);
    guarded += i & 1;
    pthread_mutex_unlock(&lock);
}

static void do_counter(uint64_t i)
{
    (void)i;
    dsql_counter_add(metrics, DSQL_SERIES(reservoir_refills), 1);
}

static void do_hot_counter(uint64_t i)
{
    (void)i;
    dsql_counter_add(metrics, DSQL_SERIES(reservoir_checkouts), 1);
}

static void do_hist(uint64_t i)
{
    dsql_hist_record(&hist, 50 + (i & 1023));
}

static void do_exact_clock(uint64_t i)
{
    (void)i;
    plain = (uint64_t)dsql_clock_mono(&dsql_clock_system).ns;
}

static void do_coarse_clock(uint64_t i)
{
    (void)i;
    plain = (uint64_t)dsql_clock_mono_coarse(&dsql_clock_system).ns;
}

static const struct row {
    const char *name;
    void (*step)(uint64_t i);
    bool alone; /* racy by design: one thread only */
} rows[] = {
    {"plain increment (floor)", do_plain, true},    {"one shared atomic", do_shared, false},
    {"mutex around an increment", do_mutex, false}, {"counter", do_counter, false},
    {"counter, hot", do_hot_counter, false},        {"histogram record", do_hist, false},
    {"coarse clock", do_coarse_clock, true},        {"exact clock", do_exact_clock, true},
};
enum { ROWS = DSQL_COUNT_OF(rows) };

static const struct row *current;

static void work(void)
{
    for (uint64_t i = 0; i < COUNT; i++)
        current->step(i);
}

/* Nanoseconds for one step. */
static double measure(const struct row *row, unsigned threads)
{
    current = row;
    return together_ns(threads, work) / COUNT;
}

int main(void)
{
    static const unsigned thread_counts[] = {1, 2, 4};
    double best[ROWS][DSQL_COUNT_OF(thread_counts)];
    if (dsql_metrics_new("bench", &metrics) != DSQL_OK)
        return 1;
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t t = 0; t < DSQL_COUNT_OF(thread_counts); t++) {
                if (rows[r].alone && thread_counts[t] > 1)
                    continue;
                double ns = measure(&rows[r], thread_counts[t]);
                if (round == 0 || ns < best[r][t])
                    best[r][t] = ns;
            }
        }
    }
    printf("record: ns per step, best of %d rounds of %d steps\n", ROUNDS, COUNT);
    printf("%-28s %10s %8s %12s %12s\n", "", "1 thread", "ratio", "2 threads", "4 threads");
    for (size_t r = 0; r < ROWS; r++) {
        printf("%-28s %10.2f %7.1fx", rows[r].name, best[r][0], best[r][0] / best[0][0]);
        for (size_t t = 1; t < DSQL_COUNT_OF(thread_counts) && !rows[r].alone; t++)
            printf(" %12.2f", best[r][t]);
        printf("\n");
    }
    dsql_metrics_destroy(metrics);
    return 0;
}
