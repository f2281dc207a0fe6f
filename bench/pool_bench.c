/*
 * What a checkout and return cost, beside what one could do instead. Run it against an endpoint:
 * `dsql local exec -- pool_bench` (bench/pool.sh does). All rows alternate in one run, because the
 * machines are noisy: the ratios are what to compare.
 *
 *   one thread      the pool, beside one uncontended mutex pair: at most twice
 *   many threads    the pool of 8, beside a queue of the same semantics made of a mutex and one
 *                   condition variable for each waiter, first come first served
 *   fairness        p99/p50 of the wait with 64 threads on 8 connections that hold for 1 ms
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hist.h"
#include "dsql/dsql.h"
#include "pool/pool.h"
#include "together.h"

enum { CONNECTIONS = 8, ROUNDS = 5, COUNT = 300000 };

static struct dsql_pool *pool;

/* -- The queue beside it. */

struct queue_waiter {
    pthread_cond_t served;
    struct queue_waiter *next;
    int item;
};

static struct queue {
    pthread_mutex_t lock;
    int items[CONNECTIONS], count;
    struct queue_waiter *first, **last;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &queue.first};

static int queue_take(void)
{
    pthread_mutex_lock(&queue.lock);
    int item;
    if (queue.count > 0 && !queue.first) {
        item = queue.items[--queue.count];
    } else {
        struct queue_waiter self = {.served = PTHREAD_COND_INITIALIZER, .item = -1};
        *queue.last = &self;
        queue.last = &self.next;
        while (self.item < 0)
            pthread_cond_wait(&self.served, &queue.lock);
        item = self.item;
    }
    pthread_mutex_unlock(&queue.lock);
    return item;
}

static void queue_put(int item)
{
    pthread_mutex_lock(&queue.lock);
    struct queue_waiter *waiter = queue.first;
    if (waiter) {
        queue.first = waiter->next;
        if (!queue.first)
            queue.last = &queue.first;
        waiter->item = item;
        pthread_cond_signal(&waiter->served);
    } else {
        queue.items[queue.count++] = item;
    }
    pthread_mutex_unlock(&queue.lock);
}

/* -- What is measured. */

static struct dsql_mono now(void)
{
    return dsql_clock_mono(&dsql_clock_system);
}

static void hold(int64_t ns)
{
    if (ns > 0) {
        const struct timespec time = {.tv_nsec = ns};
        (void)nanosleep(&time, NULL);
    }
}

static void use_pool(int64_t hold_ns, struct dsql_hist *waits)
{
    struct dsql_conn *conn;
    struct dsql_mono asked = waits ? now() : (struct dsql_mono){0};
    if (dsql_pool_checkout(pool, DSQL_H, &conn, NULL) != DSQL_OK)
        abort();
    if (waits)
        dsql_hist_record(waits, (uint64_t)dsql_mono_since(now(), asked));
    hold(hold_ns);
    dsql_pool_return(conn);
}

static void use_queue(int64_t hold_ns, struct dsql_hist *waits)
{
    struct dsql_mono asked = waits ? now() : (struct dsql_mono){0};
    int item = queue_take();
    if (waits)
        dsql_hist_record(waits, (uint64_t)dsql_mono_since(now(), asked));
    hold(hold_ns);
    queue_put(item);
}

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;

static void use_mutex(int64_t hold_ns, struct dsql_hist *waits)
{
    (void)hold_ns;
    (void)waits;
    pthread_mutex_lock(&plain);
    pthread_mutex_unlock(&plain);
}

typedef void use_fn(int64_t hold_ns, struct dsql_hist *waits);

static struct job {
    use_fn *use;
    int64_t hold_ns;
    long count;
    struct dsql_hist *waits;
} job;

static void work(void)
{
    for (long i = 0; i < job.count; i++)
        job.use(job.hold_ns, job.waits);
}

/* Nanoseconds for one checkout and return. */
static double measure(use_fn *use, unsigned threads, int64_t hold_ns, long count,
                      struct dsql_hist *waits)
{
    job = (struct job){use, hold_ns, count / threads, waits};
    return together_ns(threads, work) / (double)(job.count * threads);
}

/* One thread's own time, so that it does not matter who else uses the machine. */
static double measure_cpu(use_fn *use)
{
    struct timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (long i = 0; i < COUNT; i++)
        use(0, NULL);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return (double)((to.tv_sec - from.tv_sec) * DSQL_S + to.tv_nsec - from.tv_nsec) / COUNT;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

static void one_thread(void)
{
    enum { MANY = 21 };
    double ours[MANY], mutex[MANY], theirs[MANY];
    for (int i = 0; i < MANY; i++) {
        mutex[i] = measure_cpu(use_mutex);
        ours[i] = measure_cpu(use_pool);
        theirs[i] = measure_cpu(use_queue);
    }
    double m = median(mutex, MANY), o = median(ours, MANY), q = median(theirs, MANY);
    printf("pool: one thread, processor time, median of %d alternating runs of %d\n", MANY, COUNT);
    printf("  %-28s %8.1f ns\n", "mutex lock and unlock", m);
    printf("  %-28s %8.1f ns  %.2fx a mutex pair (at most 2), limit 60 ns\n", "checkout and return",
           o, o / m);
    printf("  %-28s %8.1f ns  %.2fx\n", "mutex and condvar queue", q, q / m);
}

static void many_threads(void)
{
    static const unsigned threads[] = {2, 8, 64};
    static const int64_t holds[] = {0, DSQL_MS};
    printf("pool: %d connections, ns for one checkout and return, median of %d alternating runs\n",
           CONNECTIONS, ROUNDS);
    printf("  %8s %8s %12s %12s %10s\n", "threads", "hold", "pool", "queue", "queue/pool");
    for (size_t t = 0; t < DSQL_COUNT_OF(threads); t++) {
        for (size_t h = 0; h < DSQL_COUNT_OF(holds); h++) {
            long count = holds[h] ? 4000 : COUNT;
            double ours[ROUNDS], theirs[ROUNDS];
            for (int i = 0; i < ROUNDS; i++) {
                ours[i] = measure(use_pool, threads[t], holds[h], count, NULL);
                theirs[i] = measure(use_queue, threads[t], holds[h], count, NULL);
            }
            double o = median(ours, ROUNDS), q = median(theirs, ROUNDS);
            printf("  %8u %5lld ms %12.0f %12.0f %9.2fx\n", threads[t],
                   (long long)(holds[h] / DSQL_MS), o, q, q / o);
        }
    }
}

static void fairness(void)
{
    static struct dsql_hist ours, theirs;
    (void)measure(use_pool, 64, DSQL_MS, 20000, &ours);
    (void)measure(use_queue, 64, DSQL_MS, 20000, &theirs);
    printf("pool: wait of 64 threads on %d connections held for 1 ms, ms\n", CONNECTIONS);
    const struct {
        const char *name;
        struct dsql_hist *hist;
    } rows[] = {{"pool", &ours}, {"queue", &theirs}};
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        double p50 = (double)dsql_hist_quantile(rows[i].hist, 0.5) / (double)DSQL_MS;
        double p99 = (double)dsql_hist_quantile(rows[i].hist, 0.99) / (double)DSQL_MS;
        printf("  %-8s p50 %6.2f  p99 %6.2f  p99/p50 %.2f (at most 1.5)\n", rows[i].name, p50, p99,
               p99 / p50);
    }
}

static long resident_before;

/* A number of /proc/self/status. */
static long status_of(const char *name)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name), NULL, 10);
    if (file)
        (void)fclose(file);
    return value;
}

/* How long until `connections` are open, beside the bucket's own time; what they cost in memory. */
static int fill(struct dsql_pool_options *options, int64_t connections)
{
    struct dsql_pool_stats stats;
    struct dsql_err err;
    options->sizing.max_open = options->sizing.target_ready = options->sizing.low_watermark =
        connections;
    options->sizing.initial_fill_timeout_ns = DSQL_H;
    struct dsql_mono from = now();
    if (dsql_pool_open(options, &pool, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    double took = (double)dsql_mono_since(now(), from) / 1e9;
    double ideal = (double)(connections - options->budget.burst) / (double)options->budget.rate;
    dsql_pool_stats(pool, &stats);
    printf("pool: fill to %lld, %lld/s, burst %lld: %.2f s, the bucket alone %.2f s: %.3fx; "
           "handshake %lld ms, %lld in flight at most, %llu attempts, %llu failed\n",
           (long long)connections, (long long)options->budget.rate,
           (long long)options->budget.burst, took, ideal, took / ideal,
           (long long)(stats.handshake_ns / DSQL_MS), (long long)stats.inflight_limit,
           (unsigned long long)stats.attempts, (unsigned long long)stats.open_failures);
    printf(
        "  resident, for each connection, libpq's and OpenSSL's included: %.1f KiB; threads: %d\n",
        (double)(status_of("VmRSS:") - resident_before) / (double)connections,
        (int)status_of("Threads:"));
    printf("  the pool's own: %zu bytes for each slot\n",
           sizeof(struct dsql_conn) + sizeof(struct dsql_slot) + sizeof(void *));
    dsql_pool_close(pool);
    return 0;
}

/* pool_bench, or pool_bench fill CONNECTIONS RATE BURST. */
int main(int argc, char **argv)
{
    struct dsql_pool_options options;
    struct dsql_err err;
    dsql_log_set_level(DSQL_LOG_WARN);
    if (!getenv("DSQL_ENDPOINT")) {
        puts("pool_bench: needs an endpoint; bench/pool.sh runs it on one");
        return 0;
    }
    if (dsql_pool_options_env(&options, &err) ||
        dsql_metrics_new("bench", &options.metrics) != DSQL_OK)
        return 1;
    options.mode = DSQL_POOL_RESERVOIR;
    options.sizing.max_open = CONNECTIONS;
    options.budget.staggered_startup_ns = 0;
    if (argc == 5 && strcmp(argv[1], "fill") == 0) {
        resident_before = status_of("VmRSS:");
        options.budget.rate = strtol(argv[3], NULL, 10);
        options.budget.burst = strtol(argv[4], NULL, 10);
        int status = fill(&options, strtol(argv[2], NULL, 10));
        dsql_metrics_destroy(options.metrics);
        return status;
    }
    if (dsql_pool_open(&options, &pool, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (int i = 0; i < CONNECTIONS; i++)
        queue_put(i);
    one_thread();
    many_threads();
    fairness();
    dsql_pool_close(pool);
    dsql_metrics_destroy(options.metrics);
    return 0;
}
