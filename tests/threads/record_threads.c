/* Several threads record, register and read at once: nothing is lost, TSan finds nothing. */
#include <pthread.h>

#include "base/log.h"
#include "metrics/metrics.h"
#include "support/test.h"

enum { THREADS = 4, ROUNDS = 20000 };

static struct dsql_metrics *metrics;
static struct dsql_log log_under_test;
static _Atomic unsigned lines;

static void count_line(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level;
    assert_true(line[len - 1] == '\n');
    atomic_fetch_add(&lines, 1);
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
        dsql_log(&log_under_test, DSQL_EVENT_CONFIG_ADJUSTED, DSQL_F("i", i));
        if (i % 5000 == 0) {
            char *text;
            size_t len;
            assert_int_equal(dsql_metrics_text(metrics, &text, &len), DSQL_OK);
            free(text);
        }
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
