/* Several threads record, register and read at once: nothing is lost, TSan finds nothing, and what
 * is read meanwhile makes sense. There are more threads than shards of a hot counter. */
#include <pthread.h>
#include <sched.h>

#include "base/log.h"
#include "metrics/registry.h"
#include "support/test.h"

enum { THREADS = 12, ROUNDS = 8000 };

static struct dsql_metrics *metrics;
static struct dsql_log log_under_test;
static _Atomic unsigned lines;

static void count_line(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level;
    assert_true(line[len - 1] == '\n');
    atomic_fetch_add(&lines, 1);
}

static void print_metrics(void)
{
    char *text;
    size_t len;
    assert_int_equal(dsql_metrics_text(metrics, &text, &len), DSQL_OK);
    free(text);
}

static void *record(void *arg)
{
    size_t me = *(const size_t *)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        STRBUF(name, 16);
        dsql_strbuf_addf(&name, "op%u", i % 64);
        unsigned op = dsql_metrics_operation(metrics, name.ptr);
        dsql_counter_add(metrics, DSQL_SERIES(reservoir_checkouts), 1);
        dsql_counter_add(metrics, DSQL_SERIES(tx_conflicts, .operation = op), 1);
        dsql_gauge_add(metrics, DSQL_SERIES(active_transactions, .operation = op), i % 2 ? 1 : -1);
        dsql_histogram_record(metrics, DSQL_SERIES(reservoir_checkout_latency), me * ROUNDS + i);
        dsql_log(&log_under_test, DSQL_EVENT_METRICS_LABEL_OVERFLOW, DSQL_F("i", i));
        if (i % 4000 == 0)
            print_metrics();
    }
    return NULL;
}

TEST(nothing_is_lost)
{
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    assert_int_equal(dsql_metrics_new("threads", &metrics), DSQL_OK);
    dsql_log_init(&log_under_test, &dsql_clock_system, count_line, NULL);
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, record, &numbers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);

    uint64_t total = (uint64_t)THREADS * ROUNDS, conflicts = 0;
    int64_t active = 0;
    for (unsigned i = 0; i < 64; i++) {
        STRBUF(name, 16);
        dsql_strbuf_addf(&name, "op%u", i);
        unsigned op = dsql_metrics_operation(metrics, name.ptr);
        conflicts += dsql_counter_value(metrics, DSQL_SERIES(tx_conflicts, .operation = op));
        active += dsql_gauge_value(metrics, DSQL_SERIES(active_transactions, .operation = op));
    }
    const struct dsql_hist *hist =
        dsql_histogram_of(metrics, DSQL_SERIES(reservoir_checkout_latency));
    assert_true(dsql_counter_value(metrics, DSQL_SERIES(reservoir_checkouts)) == total);
    assert_true(conflicts == total);
    assert_int_equal(active, 0);
    assert_true(dsql_hist_count(hist) == total);
    assert_true(dsql_hist_sum(hist) == total * (total - 1) / 2);
    assert_true(dsql_hist_max(hist) == total - 1);
    assert_true(lines >= DSQL_LOG_BURST && lines < total);
    dsql_metrics_destroy(metrics);
}

enum { NEW_OPERATIONS = 200, RECORDERS = 3, EACH = 2 * RECORDERS };

/* The number of the newest operation goes from thread to thread without any order: what makes its
 * block safe to use must come from the registry itself. */
static _Atomic unsigned newest;
static _Atomic bool done;
static _Atomic uint64_t recorded;

static void *record_newest(void *arg)
{
    (void)arg;
    while (!atomic_load_explicit(&done, memory_order_relaxed)) {
        unsigned op = atomic_load_explicit(&newest, memory_order_relaxed);
        /* On some machines the number arrives before the count that covers it. */
        if (op >= atomic_load_explicit(&metrics->operation_count, memory_order_relaxed))
            continue;
        dsql_counter_add(metrics, DSQL_SERIES(tx_conflicts, .operation = op), 1);
        dsql_histogram_record(metrics, DSQL_SERIES(retry_attempts, .operation = op), 1);
        atomic_fetch_add_explicit(&recorded, 1, memory_order_relaxed);
    }
    return NULL;
}

static void *read_text(void *arg)
{
    (void)arg;
    while (!atomic_load_explicit(&done, memory_order_relaxed))
        print_metrics();
    return NULL;
}

TEST(a_new_operation_is_whole_when_it_is_seen)
{
    pthread_t recorders[RECORDERS], reader;
    assert_int_equal(dsql_metrics_new("threads", &metrics), DSQL_OK);
    atomic_store(&done, false);
    for (size_t i = 0; i < RECORDERS; i++)
        assert_int_equal(pthread_create(&recorders[i], NULL, record_newest, NULL), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_text, NULL), 0);
    for (unsigned i = 0; i < NEW_OPERATIONS; i++) {
        STRBUF(name, 16);
        dsql_strbuf_addf(&name, "op%u", i);
        uint64_t before = atomic_load_explicit(&recorded, memory_order_relaxed);
        unsigned op = dsql_metrics_operation(metrics, name.ptr);
        atomic_store_explicit(&newest, op, memory_order_relaxed);
        /* Each is met by a recorder before the next comes. */
        while (atomic_load_explicit(&recorded, memory_order_relaxed) < before + EACH)
            sched_yield();
    }
    atomic_store_explicit(&done, true, memory_order_relaxed);
    for (size_t i = 0; i < RECORDERS; i++)
        assert_int_equal(pthread_join(recorders[i], NULL), 0);
    assert_int_equal(pthread_join(reader, NULL), 0);
    uint64_t conflicts = 0;
    for (unsigned op = 0; op <= NEW_OPERATIONS; op++)
        conflicts += dsql_counter_value(metrics, DSQL_SERIES(tx_conflicts, .operation = op));
    assert_true(conflicts == recorded);
    dsql_metrics_destroy(metrics);
}

static void *record_small(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; !atomic_load_explicit(&done, memory_order_relaxed); i++)
        dsql_histogram_record(metrics, DSQL_SERIES(reservoir_checkout_latency), i % 64);
    return NULL;
}

/* The number after the first `start` in the text, which moves behind it. */
static uint64_t take_number(const char **text, const char *start)
{
    const char *at = strstr(*text, start);
    assert_non_null(at);
    at = strstr(at, "} ");
    assert_non_null(at);
    char *end;
    uint64_t number = strtoull(at + 2, &end, 10);
    *text = end;
    return number;
}

/* Buckets rise, and none is above the count that is shown, though others record meanwhile. */
static void assert_histogram_makes_sense(const char *text)
{
    uint64_t before = 0;
    for (size_t i = 0; i < 15; i++) { /* 14 bounds and +Inf */
        uint64_t bucket =
            take_number(&text, "\ndsql_reservoir_checkout_latency_milliseconds_bucket{");
        assert_true(bucket >= before);
        before = bucket;
    }
    assert_true(take_number(&text, "\ndsql_reservoir_checkout_latency_milliseconds_count{") ==
                before);
}

TEST(what_is_read_meanwhile_makes_sense)
{
    pthread_t recorders[RECORDERS];
    assert_int_equal(dsql_metrics_new("threads", &metrics), DSQL_OK);
    atomic_store(&done, false);
    for (size_t i = 0; i < RECORDERS; i++)
        assert_int_equal(pthread_create(&recorders[i], NULL, record_small, NULL), 0);
    const struct dsql_hist *hist =
        dsql_histogram_of(metrics, DSQL_SERIES(reservoir_checkout_latency));
    for (size_t met = 0; met < 200;) { /* readings that others recorded into */
        char *text;
        size_t len;
        uint64_t before = dsql_hist_count(hist);
        assert_int_equal(dsql_metrics_text(metrics, &text, &len), DSQL_OK);
        assert_histogram_makes_sense(text);
        free(text);
        assert_true(dsql_hist_quantile(hist, 1) <= 63);
        met += dsql_hist_count(hist) > before;
    }
    atomic_store_explicit(&done, true, memory_order_relaxed);
    for (size_t i = 0; i < RECORDERS; i++)
        assert_int_equal(pthread_join(recorders[i], NULL), 0);
    dsql_metrics_destroy(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(a_new_operation_is_whole_when_it_is_seen),
        cmocka_unit_test(what_is_read_meanwhile_makes_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
