#include "metrics/metrics.h"

#include "base/log.h"
#include "base/time.h"
#include "support/test.h"

static struct dsql_metrics *metrics;

static int set_up(void **state)
{
    (void)state;
    return dsql_metrics_new("history", &metrics) == DSQL_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    dsql_metrics_destroy(metrics);
    return 0;
}

static char *text(void)
{
    char *out;
    size_t len;
    assert_int_equal(dsql_metrics_text(metrics, &out, &len), DSQL_OK);
    assert_int_equal(strlen(out), len);
    return out;
}

static void assert_shows(const char *line)
{
    char *out = text();
    if (!strstr(out, line))
        fail_msg("no line: %s", line);
    free(out);
}

static void assert_hides(const char *part)
{
    char *out = text();
    if (strstr(out, part))
        fail_msg("unexpected: %s", part);
    free(out);
}

TEST(every_name_of_the_seeds_is_there)
{
    static const char *const names[] = {
        "dsql_reservoir_size",
        "dsql_reservoir_target",
        "dsql_reservoir_checkouts_total",
        "dsql_reservoir_empty_total",
        "dsql_reservoir_discards_total",
        "dsql_reservoir_refills_total",
        "dsql_reservoir_refill_failures_total",
        "dsql_reservoir_checkout_latency_milliseconds",
        "dsql_pool_max_open",
        "dsql_pool_open",
        "dsql_pool_in_use",
        "dsql_pool_idle",
        "dsql_pool_wait_total",
        "dsql_pool_wait_duration",
        "dsql_tx_retries_total",
        "dsql_tx_conflicts_total",
        "dsql_tx_exhausted_total",
        "dsql_tx_backoff_seconds",
        "dsql_condition_failed_total",
        "dsql_operation_duration_seconds",
        "dsql_retry_attempts_histogram",
        "dsql_active_transactions",
        "dsql_errors_total",
        "dsql_unsupported_feature_total",
        "dsql_distributed_conn_lease_active",
        "dsql_distributed_conn_lease_limit",
    };
    char *out = text();
    for (size_t i = 0; i < DSQL_COUNT_OF(names); i++) {
        STRBUF(help, 128);
        dsql_strbuf_addf(&help, "# HELP %s ", names[i]);
        assert_non_null(strstr(out, help.ptr));
    }
    free(out);
    assert_int_equal(DSQL_COUNT_OF(names), DSQL_METRIC_COUNT);
}

TEST(counters)
{
    assert_shows("dsql_reservoir_refills_total{service=\"history\"} 0\n");
    assert_shows("dsql_reservoir_discards_total{service=\"history\",reason=\"drain\"} 0\n");
    dsql_counter_add(metrics, DSQL_SERIES(reservoir_refills), 2);
    dsql_counter_add(metrics, DSQL_SERIES(reservoir_discards, .value = DSQL_DISCARD_DRAIN), 3);
    dsql_counter_add(metrics, DSQL_SERIES(reservoir_checkouts), 4);
    dsql_counter_add(metrics, DSQL_SERIES(reservoir_checkouts), 4);
    assert_shows("dsql_reservoir_refills_total{service=\"history\"} 2\n");
    assert_shows("dsql_reservoir_discards_total{service=\"history\",reason=\"drain\"} 3\n");
    assert_shows("dsql_reservoir_discards_total{service=\"history\",reason=\"broken\"} 0\n");
    assert_shows("dsql_reservoir_checkouts_total{service=\"history\"} 8\n");
    assert_true(dsql_counter_value(metrics, DSQL_SERIES(reservoir_checkouts)) == 8);
}

TEST(gauges)
{
    dsql_gauge_set(metrics, DSQL_SERIES(reservoir_size), 50);
    dsql_gauge_add(metrics, DSQL_SERIES(reservoir_size), -51);
    assert_shows("dsql_reservoir_size{service=\"history\"} -1\n");
    assert_int_equal(dsql_gauge_value(metrics, DSQL_SERIES(reservoir_size)), -1);
}

TEST(operations_are_registered_once)
{
    unsigned a = dsql_metrics_operation(metrics, "UpdateShards");
    assert_int_equal(dsql_metrics_operation(metrics, "UpdateShards"), a);
    unsigned b = dsql_metrics_operation(metrics, "evil\"} 1\n");
    assert_int_not_equal(a, b);
    dsql_counter_add(metrics, DSQL_SERIES(tx_conflicts, .operation = a), 1);
    dsql_counter_add(metrics,
                     DSQL_SERIES(tx_retries, .operation = a, .value = DSQL_SQLSTATE_ATTEMPT_2), 1);
    assert_shows("dsql_tx_conflicts_total{service=\"history\",operation=\"UpdateShards\"} 1\n");
    assert_shows("dsql_tx_conflicts_total{service=\"history\",operation=\"evil___1_\"} 0\n");
    assert_shows("dsql_tx_retries_total{service=\"history\",operation=\"UpdateShards\","
                 "sqlstate=\"40001\",attempt=\"2\"} 1\n");
    assert_hides("attempt=\"3\""); /* further labels appear with their first event */
}

TEST(histograms)
{
    struct dsql_series checkout = DSQL_SERIES(reservoir_checkout_latency);
    dsql_histogram_record(metrics, checkout, 60);
    dsql_histogram_record(metrics, checkout, (uint64_t)(2 * DSQL_MS));
    dsql_histogram_record(metrics, checkout, (uint64_t)DSQL_S);
    assert_shows("dsql_reservoir_checkout_latency_milliseconds_bucket{service=\"history\","
                 "le=\"0.0001\"} 1\n");
    assert_shows("le=\"1\"} 1\n");
    assert_shows("le=\"2.5\"} 2\n");
    assert_shows("le=\"+Inf\"} 3\n");
    assert_shows("dsql_reservoir_checkout_latency_milliseconds_count{service=\"history\"} 3\n");
    assert_shows("dsql_reservoir_checkout_latency_milliseconds_sum{service=\"history\"} "
                 "1002.00006\n");
    unsigned op = dsql_metrics_operation(metrics, "Get");
    assert_hides("dsql_retry_attempts_histogram_count");
    dsql_histogram_record(metrics, DSQL_SERIES(retry_attempts, .operation = op), 2);
    assert_shows("dsql_retry_attempts_histogram_bucket{service=\"history\",operation=\"Get\","
                 "le=\"1\"} 0\n");
    assert_shows("dsql_retry_attempts_histogram_bucket{service=\"history\",operation=\"Get\","
                 "le=\"2\"} 1\n");
    assert_true(dsql_hist_count(dsql_histogram_of(metrics, checkout)) == 3);
}

TEST(the_service_name_is_escaped)
{
    struct dsql_metrics *odd;
    char *out;
    size_t len;
    assert_int_equal(dsql_metrics_new("a\"b\\c\nd", &odd), DSQL_OK);
    assert_int_equal(dsql_metrics_text(odd, &out, &len), DSQL_OK);
    assert_non_null(strstr(out, "dsql_pool_open{service=\"a\\\"b\\\\c\\nd\"} 0\n"));
    free(out);
    dsql_metrics_destroy(odd);
    dsql_metrics_destroy(NULL);
}

static int warnings;
static void count_warning(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)len;
    assert_int_equal(level, DSQL_LOG_WARN);
    assert_non_null(strstr(line, "event=metrics.label_overflow"));
    warnings++;
}

TEST(too_many_operations_share_the_last_place)
{
    dsql_log_set_sink(count_warning, NULL);
    for (int i = 1; i < DSQL_OPERATIONS_MAX; i++) {
        STRBUF(name, 16);
        dsql_strbuf_addf(&name, "op%d", i);
        assert_int_equal(dsql_metrics_operation(metrics, name.ptr), i);
    }
    assert_int_equal(warnings, 0);
    assert_int_equal(dsql_metrics_operation(metrics, "one_more"), DSQL_OPERATION_OTHER);
    assert_int_equal(warnings, 1);
    dsql_counter_add(metrics, DSQL_SERIES(tx_conflicts, .operation = DSQL_OPERATION_OTHER), 1);
    assert_shows("dsql_tx_conflicts_total{service=\"history\",operation=\"other\"} 1\n");
    dsql_log_set_sink(NULL, NULL);
}

TEST(label_sets_match_their_names)
{
    for (size_t label = DSQL_LABEL_OPERATION + 1; label < DSQL_LABEL_COUNT; label++) {
        size_t n = dsql_label_value_count((enum dsql_label)label);
        assert_true(n >= 1);
        for (size_t v = 0; v < n; v++) {
            /* as many values as names */
            const char *names = dsql_label_names((enum dsql_label)label);
            const char *values = dsql_label_value((enum dsql_label)label, v);
            assert_int_equal(!strchr(names, ','), !strchr(values, ','));
        }
    }
    assert_string_equal(dsql_label_value(DSQL_LABEL_DISCARD, DSQL_DISCARD_SERVER_CLOSED),
                        "server_closed");
    assert_string_equal(dsql_label_value(DSQL_LABEL_REFILL, DSQL_REFILL_CONNECT), "connect");
    assert_int_equal(dsql_label_value_count(DSQL_LABEL_DISCARD), 10);
}

int main(void)
{
#define METRICS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        METRICS_TEST(every_name_of_the_seeds_is_there),
        METRICS_TEST(counters),
        METRICS_TEST(gauges),
        METRICS_TEST(operations_are_registered_once),
        METRICS_TEST(histograms),
        METRICS_TEST(the_service_name_is_escaped),
        METRICS_TEST(too_many_operations_share_the_last_place),
        METRICS_TEST(label_sets_match_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
