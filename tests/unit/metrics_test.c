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

TEST(every_name_that_dashboards_use_is_there)
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
        "dsql_connect_failures_total",
        "dsql_budget_slots",
        "dsql_budget_permits",
        "dsql_budget_connects_per_second",
        "dsql_budget_connects_per_second_limit",
        "dsql_budget_problem",
        "dsql_clock_ahead_seconds",
        "dsql_tx_conflicts_alert_per_minute",
    };
    char *out = text();
    for (size_t i = 0; i < DSQL_COUNT_OF(names); i++) {
        STRBUF(help, 128);
        dsql_strbuf_addf(&help, "# HELP %s ", names[i]);
        assert_non_null(strstr(out, help.ptr));
    }
    free(out);
}

TEST(counters)
{
    assert_shows("dsql_reservoir_refills_total{service=\"history\"} 0\n");
    assert_shows("dsql_reservoir_discards_total{service=\"history\",reason=\"drain\"} 0\n");
    dsql_counter_add(metrics, DSQL_SERIES(reservoir_refills), 2);
    dsql_counter_add(metrics, DSQL_SERIES(reservoir_discards, .value = DSQL_DISCARD_REASON_DRAIN),
                     3);
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
    dsql_gauge_set(metrics, DSQL_SERIES(reservoir_size), 50); /* replaces, does not add */
    dsql_gauge_set(metrics, DSQL_SERIES(reservoir_size), 7);
    assert_int_equal(dsql_gauge_value(metrics, DSQL_SERIES(reservoir_size)), 7);
}

/* So that a rate starts at zero and a dashboard is not empty on the first day. */
TEST(what_is_zero_is_shown)
{
    (void)dsql_metrics_operation(metrics, "Get");
    assert_shows("\ndsql_pool_open{service=\"history\"} 0\n");
    assert_shows("\ndsql_active_transactions{service=\"history\",operation=\"other\"} 0\n");
    assert_shows("\ndsql_active_transactions{service=\"history\",operation=\"Get\"} 0\n");
    assert_shows("\ndsql_tx_exhausted_total{service=\"history\",operation=\"Get\"} 0\n");
    assert_shows("\ndsql_pool_wait_duration_bucket{service=\"history\",le=\"0.001\"} 0\n");
    assert_shows("\ndsql_pool_wait_duration_bucket{service=\"history\",le=\"+Inf\"} 0\n");
    assert_shows("\ndsql_pool_wait_duration_sum{service=\"history\"} 0\n");
    assert_shows("\ndsql_pool_wait_duration_count{service=\"history\"} 0\n");
}

TEST(operations_are_registered_once)
{
    unsigned a = dsql_metrics_operation(metrics, "UpdateShards");
    assert_int_equal(dsql_metrics_operation(metrics, "UpdateShards"), a);
    unsigned b = dsql_metrics_operation(metrics, "evil\"} 1\n");
    assert_int_not_equal(a, b);
    assert_int_equal(dsql_metrics_operation(metrics, "evil_-;1 "), b); /* equal once cleaned */
    char longer[100];
    memset(longer, 'x', sizeof(longer));
    longer[DSQL_OPERATION_NAME_MAX + 1] = '\0';
    unsigned c = dsql_metrics_operation(metrics, longer);
    longer[DSQL_OPERATION_NAME_MAX] = '\0';
    assert_int_equal(dsql_metrics_operation(metrics, longer), c); /* equal once cut */
    dsql_counter_add(metrics, DSQL_SERIES(tx_conflicts, .operation = a), 1);
    dsql_counter_add(metrics,
                     DSQL_SERIES(tx_retries, .operation = a, .value = DSQL_SQLSTATE_ATTEMPT_2), 1);
    assert_shows("dsql_tx_conflicts_total{service=\"history\",operation=\"UpdateShards\"} 1\n");
    assert_shows("dsql_tx_conflicts_total{service=\"history\",operation=\"evil___1_\"} 0\n");
    assert_shows("dsql_tx_retries_total{service=\"history\",operation=\"UpdateShards\","
                 "sqlstate=\"40001\",attempt=\"2\"} 1\n");
    assert_hides("attempt=\"3\""); /* further labels appear with their first event */
}

/* All bounds of one histogram's first series, as they are shown. */
static void assert_bounds(const char *name, const char *const *bounds)
{
    char *out = text();
    STRBUF(start, 128);
    dsql_strbuf_addf(&start, "\n%s_bucket{", name);
    const char *at = strstr(out, start.ptr);
    for (; *bounds; bounds++) {
        assert_non_null(at);
        assert_true(dsql_span_starts(dsql_span_of(at), dsql_strbuf_span(&start)));
        const char *le = strstr(at, "le=\""), *end = strchr(at + 1, '\n');
        assert_true(le && end && le < end);
        size_t len = strcspn(le + 4, "\"");
        if (!dsql_span_eq((struct dsql_span){le + 4, len}, dsql_span_of(*bounds)))
            fail_msg("%s: %.*s instead of %s", name, (int)len, le + 4, *bounds);
        at = end;
    }
    STRBUF(sum, 128);
    dsql_strbuf_addf(&sum, "\n%s_sum{", name);
    assert_true(dsql_span_starts(dsql_span_of(at), dsql_strbuf_span(&sum)));
    free(out);
}

TEST(bounds_are_what_dashboards_expect)
{
    static const char *const seconds[] = {"0.001", "0.0025", "0.005", "0.01", "0.025", "0.05",
                                          "0.1",   "0.25",   "0.5",   "1",    "2.5",   "5",
                                          "10",    "30",     "+Inf",  NULL};
    static const char *const milliseconds[] = {
        "0.0001", "0.00025", "0.0005", "0.001", "0.01", "0.1", "0.25", "0.5",
        "1",      "2.5",     "5",      "10",    "50",   "100", "+Inf", NULL};
    static const char *const tries[] = {"1", "2", "3", "4", "5", "6", "8", "11", "+Inf", NULL};
    unsigned op = dsql_metrics_operation(metrics, "Get");
    dsql_histogram_record(metrics, DSQL_SERIES(retry_attempts, .operation = op), 1);
    dsql_histogram_record(metrics, DSQL_SERIES(tx_backoff, .operation = op), 1);
    dsql_histogram_record(metrics, DSQL_SERIES(operation_duration, .operation = op), 1);
    assert_bounds("dsql_pool_wait_duration", seconds);
    assert_bounds("dsql_tx_backoff_seconds", seconds);
    assert_bounds("dsql_operation_duration_seconds", seconds);
    assert_bounds("dsql_reservoir_checkout_latency_milliseconds", milliseconds);
    assert_bounds("dsql_retry_attempts_histogram", tries);
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

TEST(the_service_name_is_utf8_whatever_comes)
{
#define TEN   "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN
    static const struct {
        const char *given, *shown;
    } cases[] = {
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"a\xff"
         "b\xc3",
         "a\xef\xbf\xbd"
         "b\xef\xbf\xbd"},
        {"", ""},
        {SIXTY "123", SIXTY "123"},
        {SIXTY "1234", SIXTY "123"},
        {SIXTY "1\xc3\xa9", SIXTY "1\xc3\xa9"},
        {SIXTY "12\xc3\xa9", SIXTY "12"},
        {SIXTY "\xf0\x9f\x98\x80", SIXTY},
        {SIXTY "1\xff", SIXTY "1"},
        {SIXTY "\xff", SIXTY "\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_metrics *m;
        char *out;
        size_t len;
        assert_int_equal(dsql_metrics_new(cases[i].given, &m), DSQL_OK);
        assert_int_equal(dsql_metrics_text(m, &out, &len), DSQL_OK);
        STRBUF(line, 256);
        dsql_strbuf_addf(&line, "\ndsql_pool_open{service=\"%s\"} 0\n", cases[i].shown);
        if (!strstr(out, line.ptr))
            fail_msg("no line: %s", line.ptr);
        free(out);
        dsql_metrics_destroy(m);
    }
    struct dsql_metrics *untouched = metrics;
    assert_int_equal(dsql_metrics_new(NULL, &untouched), DSQL_INVALID);
    assert_ptr_equal(untouched, metrics);
}

static int warnings;
static void count_warning(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    static const char expected[] =
        "event=metrics.label_overflow reason=full operation=one_more limit=512\n";
    (void)arg;
    assert_int_equal(level, DSQL_LOG_WARN);
    assert_non_null(memmem(line, len, expected, sizeof(expected) - 1)); /* not terminated */
    warnings++;
}

TEST(too_many_operations_share_the_last_place)
{
    dsql_log_set_sink(count_warning, NULL);
    assert_int_equal(dsql_metrics_operation(metrics, ""), DSQL_OPERATION_OTHER);
    assert_int_equal(dsql_metrics_operation(metrics, "other"), DSQL_OPERATION_OTHER);
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
    assert_string_equal(
        dsql_label_value(DSQL_LABEL_DISCARD_REASON, DSQL_DISCARD_REASON_SERVER_CLOSED),
        "server_closed");
    assert_string_equal(dsql_label_value(DSQL_LABEL_REFILL, DSQL_REFILL_CONNECT), "connect");
    assert_int_equal(dsql_label_value_count(DSQL_LABEL_DISCARD_REASON), 10);
}

int main(void)
{
#define METRICS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        METRICS_TEST(every_name_that_dashboards_use_is_there),
        METRICS_TEST(counters),
        METRICS_TEST(gauges),
        METRICS_TEST(operations_are_registered_once),
        METRICS_TEST(histograms),
        METRICS_TEST(what_is_zero_is_shown),
        METRICS_TEST(bounds_are_what_dashboards_expect),
        METRICS_TEST(the_service_name_is_utf8_whatever_comes),
        METRICS_TEST(the_service_name_is_escaped),
        METRICS_TEST(too_many_operations_share_the_last_place),
        METRICS_TEST(label_sets_match_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
