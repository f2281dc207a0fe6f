#include "config/config.h"

#include <stdio.h>

#include "support/config_check.h"
#include "support/test.h"

static struct dsql_config config;
static struct dsql_config_report report;

/* Starts with a filler, so that the list may be empty. */
#define LOAD(...) load((const char *const[]){"", ##__VA_ARGS__, NULL})

static void load(const char *const *env)
{
    dsql_config_load(&config, &report, env + 1);
}

/* The message of the only finding. */
static const char *finding(void)
{
    assert_int_equal(report.finding_count, 1);
    return report.findings[0].message;
}

static void assert_valid(void)
{
    const char *why = config_check(&config, &report);
    if (why)
        fail_msg("%s", why);
}

TEST(defaults_are_the_documented_ones)
{
    LOAD();
    assert_int_equal(report.finding_count, 0);
    assert_valid();
    assert_string_equal(config.endpoint, "");
    assert_string_equal(config.user, "admin");
    assert_int_equal(config.token_duration_ns, 15 * DSQL_M);
    assert_int_equal(config.max_open, 100);
    assert_int_equal(config.max_idle, 100);
    assert_int_equal(config.max_conn_lifetime_ns, 55 * DSQL_M);
    assert_int_equal(config.max_conn_idle_time_ns, 0);
    assert_int_equal(config.warmup_target, 100);
    assert_int_equal(config.warmup_max_retries, 5);
    assert_int_equal(config.warmup_retry_backoff_ns, 200 * DSQL_MS);
    assert_int_equal(config.warmup_max_backoff_ns, 5 * DSQL_S);
    assert_int_equal(config.warmup_connection_timeout_ns, 10 * DSQL_S);
    assert_int_equal(config.keeper_tick_ns, DSQL_S);
    assert_int_equal(config.keeper_max_per_tick, 1);
    assert_false(config.reservoir_enabled);
    assert_int_equal(config.target_ready, 100);
    assert_int_equal(config.low_watermark, 100);
    assert_int_equal(config.base_lifetime_ns, 11 * DSQL_M);
    assert_int_equal(config.lifetime_jitter_ns, 2 * DSQL_M);
    assert_int_equal(config.guard_window_ns, 45 * DSQL_S);
    assert_int_equal(config.initial_fill_timeout_ns, 30 * DSQL_S);
    assert_int_equal(config.inflight_limit, 8);
    assert_int_equal(config.empty_wait_ns, 100 * DSQL_MS);
    assert_int_equal(config.rate_limit, 10);
    assert_int_equal(config.burst_limit, 100);
    assert_true(config.staggered_startup);
    assert_int_equal(config.staggered_startup_max_delay_ns, 5 * DSQL_S);
    assert_false(config.limiter_enabled);
    assert_int_equal(config.limiter_limit, 100);
    assert_int_equal(config.limiter_max_wait_ns, 30 * DSQL_S);
    assert_int_equal(config.limiter_backoff_ns, 25 * DSQL_MS);
    assert_false(config.lease_enabled);
    assert_int_equal(config.conn_limit, 10000);
    assert_int_equal(config.retry_max, 5);
    assert_int_equal(config.retry_base_delay_ns, 100 * DSQL_MS);
    assert_int_equal(config.retry_max_delay_ns, 5 * DSQL_S);
    assert_true(config.retry_jitter == 0.25);
    assert_int_equal(config.conflict_alert, 100);
    assert_int_equal(config.log_level, DSQL_LOG_INFO);
}

TEST(values_and_origins)
{
    LOAD("CLUSTER_ENDPOINT=abc.dsql.us-east-1.on.aws", "AWS_REGION=us-east-1", "REGION=eu-west-1",
         "DSQL_RESERVOIR_ENABLED=True", "DSQL_RESERVOIR_BASE_LIFETIME=30m", "DSQL_USER=  app  ",
         "DSQL_RETRY_JITTER_FACTOR=0.5", "DSQL_LOG_LEVEL=Debug", "DSQL_SERVICE_NAME=", "PATH=/bin");
    assert_int_equal(report.finding_count, 0);
    assert_string_equal(config.endpoint, "abc.dsql.us-east-1.on.aws");
    assert_string_equal(report.source[DSQL_SETTING_endpoint].variable, "CLUSTER_ENDPOINT");
    assert_string_equal(config.region, "us-east-1"); /* before REGION */
    assert_true(config.reservoir_enabled);
    assert_int_equal(config.base_lifetime_ns, 30 * DSQL_M);
    assert_string_equal(config.user, "app");
    assert_true(config.retry_jitter == 0.5);
    assert_int_equal(config.log_level, DSQL_LOG_DEBUG);
    assert_string_equal(config.service_name, "dsql"); /* empty is unset */
    assert_int_equal(report.source[DSQL_SETTING_user].origin, DSQL_ORIGIN_ENV);
    assert_int_equal(report.source[DSQL_SETTING_max_open].origin, DSQL_ORIGIN_DEFAULT);
    assert_int_equal(report.source[DSQL_SETTING_target_ready].origin, DSQL_ORIGIN_DERIVED);
}

TEST(sizes_follow_max_open)
{
    LOAD("DSQL_POOL_MAX_OPEN=500");
    assert_int_equal(report.finding_count, 0);
    assert_int_equal(config.target_ready, 500);
    assert_int_equal(config.low_watermark, 500);
    assert_int_equal(config.warmup_target, 500);
    assert_int_equal(config.keeper_max_per_tick, 5); /* ceil(500 / 120) */
    LOAD("DSQL_POOL_MAX_OPEN=5000");
    assert_int_equal(config.keeper_max_per_tick, 10); /* never above */
    LOAD("DSQL_RESERVOIR_TARGET_READY=20");           /* a watermark nobody chose gives way */
    assert_int_equal(report.finding_count, 0);
    assert_int_equal(config.target_ready, 20);
    assert_int_equal(config.low_watermark, 20);
}

TEST(target_is_raised_to_the_watermark)
{
    LOAD("DSQL_RESERVOIR_TARGET_READY=10", "DSQL_RESERVOIR_LOW_WATERMARK=25");
    assert_int_equal(config.target_ready, 25);
    assert_string_equal(finding(), "DSQL_RESERVOIR_TARGET_READY is less than "
                                   "DSQL_RESERVOIR_LOW_WATERMARK; using 25");
    assert_int_equal(report.source[DSQL_SETTING_target_ready].origin, DSQL_ORIGIN_ADJUSTED);
}

TEST(not_positive_lifetimes_give_the_default)
{
    static const char *const bad[] = {"0", "-5m", "soon"};
    for (size_t i = 0; i < DSQL_COUNT_OF(bad); i++) {
        char variable[64];
        (void)snprintf(variable, sizeof(variable), "DSQL_RESERVOIR_BASE_LIFETIME=%s", bad[i]);
        LOAD(variable);
        assert_int_equal(config.base_lifetime_ns, 11 * DSQL_M);
        assert_non_null(strstr(finding(), "using 11m"));
    }
}

TEST(negative_jitter_and_guard_become_zero)
{
    LOAD("DSQL_RESERVOIR_LIFETIME_JITTER=-1s");
    assert_int_equal(config.lifetime_jitter_ns, 0);
    assert_string_equal(finding(),
                        "DSQL_RESERVOIR_LIFETIME_JITTER=-1s is too small (it takes 0s to "
                        "1h); using 0s");
    LOAD("DSQL_RESERVOIR_GUARD_WINDOW=-45s");
    assert_int_equal(config.guard_window_ns, 0);
    assert_int_equal(report.finding_count, 1);
}

TEST(wrong_booleans)
{
    LOAD("DSQL_RESERVOIR_ENABLED=yes");
    assert_false(config.reservoir_enabled); /* an ENABLED flag is then off */
    assert_string_equal(finding(), "DSQL_RESERVOIR_ENABLED=yes can't be used (it takes true or "
                                   "false); using false");
    LOAD("DSQL_STAGGERED_STARTUP=nope");
    assert_true(config.staggered_startup); /* its default */
    assert_int_equal(report.finding_count, 1);
}

TEST(lifetimes_fit_into_the_hour)
{
    LOAD("DSQL_RESERVOIR_BASE_LIFETIME=59m");
    assert_int_equal(config.base_lifetime_ns, 58 * DSQL_M + 15 * DSQL_S); /* 60m - 45s - 2m/2 */
    assert_valid();
    LOAD("DSQL_RESERVOIR_BASE_LIFETIME=1h", "DSQL_RESERVOIR_LIFETIME_JITTER=1h",
         "DSQL_RESERVOIR_GUARD_WINDOW=30m");
    assert_valid();
    LOAD("DSQL_RESERVOIR_BASE_LIFETIME=30s"); /* short ones shrink what nobody chose */
    assert_valid();
    assert_int_equal(report.finding_count, 0);
    assert_int_equal(report.source[DSQL_SETTING_guard_window].origin, DSQL_ORIGIN_DERIVED);
    LOAD("DSQL_RESERVOIR_BASE_LIFETIME=30s", "DSQL_RESERVOIR_GUARD_WINDOW=20s");
    assert_valid();
    assert_int_equal(report.finding_count, 1);
}

TEST(a_shared_budget_needs_its_table)
{
    LOAD("DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true");
    assert_true(dsql_config_has_error(&report));
    assert_string_equal(finding(),
                        "DSQL_DISTRIBUTED_CONN_LEASE_TABLE is not set but "
                        "DSQL_DISTRIBUTED_CONN_LEASE_ENABLED is true; name the DynamoDB table or "
                        "turn it off");
    LOAD("DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true", "DSQL_DISTRIBUTED_CONN_LEASE_TABLE=leases",
         "DSQL_DISTRIBUTED_RATE_LIMITER_ENABLED=1", "DSQL_DISTRIBUTED_RATE_LIMITER_TABLE=limits");
    assert_false(dsql_config_has_error(&report));
    assert_int_equal(report.finding_count, 0);
}

TEST(unknown_variables_name_the_nearest)
{
    LOAD("DSQL_RESEVOIR_ENABLED=true");
    assert_string_equal(finding(), "DSQL_RESEVOIR_ENABLED is no setting and has no effect; did you "
                                   "mean DSQL_RESERVOIR_ENABLED?");
    LOAD("DSQL_TEAPOT=1");
    assert_string_equal(finding(), "DSQL_TEAPOT is no setting and has no effect; see `dsql help "
                                   "config`");
    LOAD("DSQLX=1", "MY_DSQL_USER=1");
    assert_int_equal(report.finding_count, 0);
}

TEST(addresses)
{
    static const char *const good[] = {"h",          "h:1",       "127.0.0.1:65535",
                                       "[::1]:5432", "[fe80::1]", "a-b.c"};
    static const char *const bad[] = {":1",   "h:",     "h:0",  "h:65536", "h:x", "a b",
                                      "[::1", "[::1]x", "h:+5", "a[b]:1",  "h/x", "::1"};
    char variable[64];
    for (size_t i = 0; i < DSQL_COUNT_OF(good); i++) {
        (void)snprintf(variable, sizeof(variable), "DSQL_ENDPOINT=%s", good[i]);
        LOAD(variable);
        assert_string_equal(config.endpoint, good[i]);
        assert_int_equal(report.finding_count, 0);
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(bad); i++) {
        (void)snprintf(variable, sizeof(variable), "DSQL_ENDPOINT=%s", bad[i]);
        LOAD(variable);
        if (config.endpoint[0])
            fail_msg("%s was taken", bad[i]);
        assert_int_equal(report.finding_count, 1);
    }
}

TEST(findings_have_room_for_64)
{
    enum { MANY = 100 };
    char names[MANY][32];
    const char *env[MANY + 1];
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "DSQL_NOBODY_%zu=1", i);
        env[i] = names[i];
    }
    env[MANY] = NULL;
    dsql_config_load(&config, &report, env);
    assert_int_equal(report.finding_count, DSQL_FINDINGS_MAX);
    assert_int_equal(report.findings_dropped, MANY - DSQL_FINDINGS_MAX);
}

static int lines;
static void count_line(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
    lines++;
}

TEST(findings_can_be_logged)
{
    struct dsql_log log;
    dsql_log_init(&log, &dsql_clock_system, count_line, NULL);
    LOAD("DSQL_RESEVOIR_ENABLED=true", "DSQL_POOL_MAX_OPEN=-4",
         "DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true");
    assert_int_equal(report.finding_count, 3);
    dsql_config_log(&report, &log);
    assert_int_equal(lines, 3);
}

TEST(the_table_is_sound)
{
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        assert_int_equal(strncmp(dsql_settings[i].variable, "DSQL_", 5), 0);
        assert_true(strlen(dsql_settings[i].variable) <
                    sizeof(((struct dsql_finding *)0)->variable));
        assert_true(strlen(dsql_settings[i].doc) > 8);
        assert_int_equal(dsql_setting_find(dsql_span_of(dsql_settings[i].variable)), i);
        STRBUF(range, 64);
        dsql_setting_range((enum dsql_setting)i, &range);
        assert_true(range.len > 0 && !range.cut);
    }
    assert_int_equal(dsql_setting_find(DSQL_SPAN("AWS_REGION")), DSQL_SETTING_region);
    assert_int_equal(dsql_setting_find(DSQL_SPAN("HOME")), DSQL_SETTING_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_documented_ones),
        cmocka_unit_test(values_and_origins),
        cmocka_unit_test(sizes_follow_max_open),
        cmocka_unit_test(target_is_raised_to_the_watermark),
        cmocka_unit_test(not_positive_lifetimes_give_the_default),
        cmocka_unit_test(negative_jitter_and_guard_become_zero),
        cmocka_unit_test(wrong_booleans),
        cmocka_unit_test(lifetimes_fit_into_the_hour),
        cmocka_unit_test(a_shared_budget_needs_its_table),
        cmocka_unit_test(unknown_variables_name_the_nearest),
        cmocka_unit_test(addresses),
        cmocka_unit_test(findings_have_room_for_64),
        cmocka_unit_test(findings_can_be_logged),
        cmocka_unit_test(the_table_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
