#include "config/config.h"

#include <stdio.h>

#include "config/load.h"
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
    assert_int_equal(config.warmup_connect_timeout_ns, 10 * DSQL_S);
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
    assert_int_equal(config.rate, 10);
    assert_int_equal(config.burst, 100);
    assert_true(config.staggered_startup);
    assert_int_equal(config.staggered_startup_max_delay_ns, 5 * DSQL_S);
    assert_false(config.limiter_enabled);
    assert_int_equal(config.cluster_rate, 100);
    assert_int_equal(config.permit_wait_ns, 30 * DSQL_S);
    assert_int_equal(config.permit_backoff_ns, 25 * DSQL_MS);
    assert_false(config.lease_enabled);
    assert_int_equal(config.cluster_connections, 10000);
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
    assert_string_equal(config.service, "dsql"); /* empty is unset */
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
    static const struct {
        const char *max_open;
        int64_t per_tick;
    } ticks[] = {
        {"DSQL_POOL_MAX_OPEN=1", 1},   {"DSQL_POOL_MAX_OPEN=120", 1}, {"DSQL_POOL_MAX_OPEN=121", 2},
        {"DSQL_POOL_MAX_OPEN=240", 2}, {"DSQL_POOL_MAX_OPEN=241", 3},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(ticks); i++) {
        LOAD(ticks[i].max_open);
        assert_int_equal(config.keeper_max_per_tick, ticks[i].per_tick);
    }
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

TEST(jitter_is_at_most_the_base)
{
    LOAD("DSQL_RESERVOIR_BASE_LIFETIME=5m", "DSQL_RESERVOIR_LIFETIME_JITTER=6m");
    assert_int_equal(config.lifetime_jitter_ns, 5 * DSQL_M);
    assert_string_equal(finding(),
                        "DSQL_RESERVOIR_LIFETIME_JITTER is more than "
                        "DSQL_RESERVOIR_BASE_LIFETIME and would leave connections no life; "
                        "using 5m");
    LOAD("DSQL_RESERVOIR_BASE_LIFETIME=5m", "DSQL_RESERVOIR_LIFETIME_JITTER=5m");
    assert_int_equal(config.lifetime_jitter_ns, 5 * DSQL_M);
    assert_int_equal(report.finding_count, 0);
}

TEST(settings_that_follow_another)
{
    /* One that can be read is clamped; one that can't follows as if it were not there. */
    LOAD("DSQL_POOL_MAX_OPEN=10000", "DSQL_POOL_WARMUP_TARGET_CONNECTIONS=20000");
    assert_int_equal(config.warmup_target, 10000);
    assert_string_equal(finding(),
                        "DSQL_POOL_WARMUP_TARGET_CONNECTIONS=20000 is too large (it takes "
                        "0 to 10000); using 10000");
    assert_int_equal(report.source[DSQL_SETTING_warmup_target].origin, DSQL_ORIGIN_ADJUSTED);
    LOAD("DSQL_POOL_KEEPER_MAX_CONNS_PER_TICK=11");
    assert_int_equal(config.keeper_max_per_tick, 10);
    assert_int_equal(report.source[DSQL_SETTING_keeper_max_per_tick].origin, DSQL_ORIGIN_ADJUSTED);
    LOAD("DSQL_POOL_MAX_OPEN=7", "DSQL_POOL_WARMUP_TARGET_CONNECTIONS=many");
    assert_int_equal(config.warmup_target, 7);
    assert_string_equal(finding(),
                        "DSQL_POOL_WARMUP_TARGET_CONNECTIONS=many can't be used (it takes "
                        "0 to 10000); using DSQL_POOL_MAX_OPEN");
    assert_int_equal(report.source[DSQL_SETTING_warmup_target].origin, DSQL_ORIGIN_DERIVED);
}

TEST(texts_have_limits)
{
    char variable[400];
    static const struct {
        const char *name;
        size_t most;
        enum dsql_setting setting;
    } cases[] = {
        {"DSQL_USER", 63, DSQL_SETTING_user},
        {"DSQL_DISTRIBUTED_CONN_LEASE_TABLE", 255, DSQL_SETTING_lease_table},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        size_t longest = cases[i].most + 60; /* beyond the field as well */
        for (size_t len = cases[i].most - 1; len <= longest; len++) {
            int at = snprintf(variable, sizeof(variable), "%s=", cases[i].name);
            memset(variable + at, 'x', len);
            variable[(size_t)at + len] = '\0';
            LOAD(variable);
            assert_int_equal(report.finding_count, len > cases[i].most);
            STRBUF(value, DSQL_CONFIG_TEXT_MAX);
            dsql_config_value(&config, cases[i].setting, &value);
            assert_int_equal(value.len == len, len <= cases[i].most);
        }
    }
    LOAD("DSQL_USER=a b");
    assert_string_equal(config.user, "admin");
    assert_string_equal(finding(), "DSQL_USER=a b can't be used (it takes at most 63 characters); "
                                   "using admin");
}

TEST(what_is_shown_fits_on_a_line)
{
    LOAD("DSQL_USER=a\x1b[31m\nb\xff");
    assert_string_equal(finding(), "DSQL_USER=a?[31m?b? can't be used (it takes at most 63 "
                                   "characters); using admin");
    LOAD("DSQL_\x1b[31mX\nY=1");
    assert_string_equal(report.findings[0].variable, "DSQL_?[31mX?Y");
    assert_string_equal(finding(), "DSQL_?[31mX?Y is no setting and has no effect; see `dsql help "
                                   "config`");
    char variable[400];
    (void)snprintf(variable, sizeof(variable), "DSQL_POOL_MAX_OPEN=%0200d", 7);
    LOAD(variable); /* a number of 200 digits, 199 of them zeros, is a number */
    assert_int_equal(config.max_open, 7);
    memset(variable + strlen("DSQL_POOL_MAX_OPEN="), 'x', 200);
    LOAD(variable);
    assert_non_null(strstr(finding(), "xxx... can't be used (it takes 1 to 10000); using 100"));
}

TEST(fractions_print_as_they_are_read)
{
    static const struct {
        const char *variable, *printed;
    } cases[] = {
        {"DSQL_RETRY_JITTER_FACTOR=0.00001", "0.00001"},
        {"DSQL_RETRY_JITTER_FACTOR=.000000000000001", "0.000000000000001"},
        {"DSQL_RETRY_JITTER_FACTOR=0.999999999999", "0.999999999999"},
        {"DSQL_RETRY_JITTER_FACTOR=0.101010101", "0.101010101"},
        {"DSQL_RETRY_JITTER_FACTOR=1.0", "1"},
        {"DSQL_RETRY_JITTER_FACTOR=0.3", "0.3"},
        {"DSQL_RETRY_JITTER_FACTOR=-0", "0"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        LOAD(cases[i].variable);
        assert_int_equal(report.finding_count, 0);
        STRBUF(value, 64);
        dsql_config_value(&config, DSQL_SETTING_retry_jitter, &value);
        assert_string_equal(value.ptr, cases[i].printed);
    }
}

TEST(the_last_word_on_a_variable_counts)
{
    LOAD("DSQL_USER=one", "DSQL_USER=two", "AWS_REGION=a", "REGION=b", "AWS_REGION=");
    assert_string_equal(config.user, "two");
    assert_string_equal(config.region, "b"); /* the empty one is unset, so the next name serves */
    assert_string_equal(report.source[DSQL_SETTING_region].variable, "REGION");
    LOAD("DSQL_USER=one", "DSQL_USER= ");
    assert_string_equal(config.user, "admin");
}

TEST(a_shared_budget_needs_its_table)
{
    LOAD("DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true");
    assert_true(dsql_config_has_error(&report));
    assert_string_equal(finding(),
                        "DSQL_DISTRIBUTED_CONN_LEASE_TABLE is not set but "
                        "DSQL_DISTRIBUTED_CONN_LEASE_ENABLED is true; name the DynamoDB table or "
                        "turn it off");
    LOAD("DSQL_DISTRIBUTED_RATE_LIMITER_ENABLED=true");
    assert_true(dsql_config_has_error(&report));
    assert_string_equal(finding(),
                        "DSQL_DISTRIBUTED_RATE_LIMITER_TABLE is not set but "
                        "DSQL_DISTRIBUTED_RATE_LIMITER_ENABLED is true; name the DynamoDB table or "
                        "turn it off");
    assert_string_equal(report.findings[0].variable, "DSQL_DISTRIBUTED_RATE_LIMITER_TABLE");
    LOAD("DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true", "DSQL_DISTRIBUTED_CONN_LEASE_TABLE=leases",
         "DSQL_DISTRIBUTED_RATE_LIMITER_ENABLED=1", "DSQL_DISTRIBUTED_RATE_LIMITER_TABLE=limits");
    assert_false(dsql_config_has_error(&report));
    assert_int_equal(report.finding_count, 0);
}

#define LEASES      "DSQL_DISTRIBUTED_CONN_LEASE_ENABLED"
#define LIMITER     "DSQL_DISTRIBUTED_RATE_LIMITER_ENABLED"
#define LEASE_TABLE "DSQL_DISTRIBUTED_CONN_LEASE_TABLE"
#define LIMIT_TABLE "DSQL_DISTRIBUTED_RATE_LIMITER_TABLE"

TEST(each_switch_shares_its_own_thing)
{
    LOAD(LEASES "=true", LEASE_TABLE "=a");
    assert_int_equal(report.finding_count, 0);
    assert_true(config.lease_enabled && !config.limiter_enabled);
    assert_string_equal(dsql_config_budget_table(&config), "a");
    LOAD(LIMITER "=true", LIMIT_TABLE "=b", LEASE_TABLE "=a");
    assert_int_equal(report.finding_count, 0);
    assert_true(config.limiter_enabled && !config.lease_enabled);
    assert_string_equal(dsql_config_budget_table(&config), "b");
    /* One's table does not do for the other. */
    LOAD(LIMITER "=true", LEASE_TABLE "=a");
    assert_true(dsql_config_has_error(&report));
    LOAD(LEASES "=true", LIMIT_TABLE "=b");
    assert_true(dsql_config_has_error(&report));
}

TEST(leases_by_name_share_what_is_not_switched_off)
{
    LOAD("DSQL_BUDGET=leases", LEASE_TABLE "=a");
    assert_int_equal(report.finding_count, 0);
    assert_true(config.lease_enabled && config.limiter_enabled);
    assert_string_equal(config.limiter_table, "a");
    assert_int_equal(report.source[DSQL_SETTING_limiter_enabled].origin, DSQL_ORIGIN_DERIVED);
    LOAD("DSQL_BUDGET=leases", LEASE_TABLE "=a", LIMIT_TABLE "=b");
    assert_string_equal(config.lease_table, "a");
    assert_string_equal(config.limiter_table, "b");
    LOAD("DSQL_BUDGET=leases", LEASE_TABLE "=a", LIMITER "=false");
    assert_int_equal(report.finding_count, 0);
    assert_true(config.lease_enabled && !config.limiter_enabled);
    LOAD("DSQL_BUDGET=leases", LEASE_TABLE "=a", LIMITER "=false", LEASES "=false");
    assert_true(dsql_config_has_error(&report));
    assert_non_null(strstr(finding(), "DSQL_BUDGET is leases but " LEASES " and " LIMITER));
    LOAD("DSQL_BUDGET=leases");
    assert_true(dsql_config_has_error(&report));
}

TEST(a_budget_that_ignores_the_switches_says_so)
{
    LOAD("DSQL_BUDGET=blocks", LIMIT_TABLE "=b");
    assert_int_equal(report.finding_count, 0);
    assert_string_equal(config.lease_table, "b");
    LOAD("DSQL_BUDGET=blocks", LEASE_TABLE "=a", LEASES "=true", LIMITER "=false");
    assert_valid();
    assert_int_equal(report.finding_count, 2);
    assert_string_equal(report.findings[0].variable, LEASES);
    assert_string_equal(report.findings[1].message,
                        LIMITER " is ignored: DSQL_BUDGET=blocks shares connects and connections, "
                                "in one item");
    assert_true(config.lease_enabled && config.limiter_enabled);
    LOAD("DSQL_BUDGET=blocks", LEASE_TABLE "=a", LIMIT_TABLE "=b");
    assert_non_null(strstr(finding(), LIMIT_TABLE " is ignored"));
    assert_string_equal(config.lease_table, "a");
    LOAD("DSQL_BUDGET=local", LIMITER "=true", LIMIT_TABLE "=b", LEASES "=false");
    assert_string_equal(finding(), LIMITER " is ignored: DSQL_BUDGET=local shares nothing");
    assert_false(config.limiter_enabled);
}

TEST(unknown_variables_name_the_nearest)
{
    LOAD("DSQL_RESEVOIR_ENABLED=true");
    assert_string_equal(finding(), "DSQL_RESEVOIR_ENABLED is no setting and has no effect; did you "
                                   "mean DSQL_RESERVOIR_ENABLED?");
    /* Not the first that is near, the nearest. */
    LOAD("DSQL_POOL_MAX_IDL=1");
    assert_non_null(strstr(finding(), "did you mean DSQL_POOL_MAX_IDLE?"));
    LOAD("DSQL_RETRY_MAX_DELAYS=1");
    assert_non_null(strstr(finding(), "did you mean DSQL_RETRY_MAX_DELAY?"));
    LOAD("dsql_user=1"); /* another variable, by the rules of the environment */
    assert_int_equal(report.finding_count, 0);
    LOAD("DSQL_TEAPOT=1");
    assert_string_equal(finding(), "DSQL_TEAPOT is no setting and has no effect; see `dsql help "
                                   "config`");
    LOAD("DSQLX=1", "MY_DSQL_USER=1");
    assert_int_equal(report.finding_count, 0);
    /* Long ones too, whole as long as they can be shown. */
    LOAD("DSQL_DISTRIBUTED_RATE_LIMITER_BACKOFF_BSE=1");
    assert_string_equal(finding(),
                        "DSQL_DISTRIBUTED_RATE_LIMITER_BACKOFF_BSE is no setting and has no "
                        "effect; did you mean DSQL_DISTRIBUTED_RATE_LIMITER_BACKOFF_BASE?");
    char variable[300];
    for (size_t len = 40; len <= 200; len += 5) {
        memset(variable, 'X', sizeof(variable));
        memcpy(variable, "DSQL_", 5);
        memcpy(variable + len, "=1", 3);
        LOAD(variable);
        variable[len] = '\0';
        assert_int_equal(strlen(report.findings[0].variable),
                         len <= DSQL_SHOWN_MAX ? len : DSQL_SHOWN_MAX + 3);
        assert_non_null(strstr(finding(), len <= DSQL_SHOWN_MAX
                                              ? "XXX is no setting and has no effect"
                                              : "XXX... is no setting"));
    }
}

/* Loads the variable with a value; the setting's value afterwards, in static memory. */
static const char *try_value(const char *name, const char *value)
{
    static char text[DSQL_CONFIG_TEXT_MAX];
    char variable[600];
    (void)snprintf(variable, sizeof(variable), "%s=%s", name, value);
    LOAD(variable);
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, text, sizeof(text));
    dsql_config_value(&config, dsql_setting_find(dsql_span_of(name)), &sb);
    return text;
}

TEST(addresses)
{
    static const char *const good[] = {"h",         "h:1",   "127.0.0.1:65535", "[::1]:5432",
                                       "[fe80::1]", "a-b.c", "my_host:1",       "_x"};
    static const char *const bad[] = {":1",   "h:",     "h:0",  "h:65536", "h:x", "a b", "[]:1",
                                      "[::1", "[::1]x", "h:+5", "a[b]:1",  "h/x", "::1", "[::1]:"};
    for (size_t i = 0; i < DSQL_COUNT_OF(good); i++) {
        assert_string_equal(try_value("DSQL_ENDPOINT", good[i]), good[i]);
        assert_int_equal(report.finding_count, 0);
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(bad); i++) {
        if (try_value("DSQL_ENDPOINT", bad[i])[0])
            fail_msg("%s was taken", bad[i]);
        assert_int_equal(report.finding_count, 1);
        assert_true(dsql_config_has_error(&report));
    }
    LOAD("CLUSTER_ENDPOINT=a b");
    assert_int_equal(report.findings[0].kind, DSQL_FINDING_ERROR);
    assert_string_equal(finding(),
                        "CLUSTER_ENDPOINT=a b can't be used (it takes host or host:port)");
    char host[300];
    memset(host, 'h', sizeof(host));
    host[253] = '\0';
    assert_string_equal(try_value("DSQL_ENDPOINT", host), host);
    host[253] = 'h';
    host[254] = '\0';
    assert_string_equal(try_value("DSQL_ENDPOINT", host), "");
    host[254] = 'h';
    host[299] = '\0';
    assert_string_equal(try_value("DSQL_ENDPOINT", host), "");
    /* The longest host that fits without its port does not fit with it. */
    host[253] = '\0';
    (void)snprintf(host + 250, 40, ":5432");
    assert_string_equal(try_value("DSQL_ENDPOINT", host), host);
    memset(host, 'h', 253);
    (void)snprintf(host + 253, 40, ":5432");
    assert_string_equal(try_value("DSQL_ENDPOINT", host), "");
}

TEST(where_to_listen)
{
    static const struct {
        const char *given, *used;
    } good[] = {
        {"h:1", "h:1"},
        {"0.0.0.0:9090", "0.0.0.0:9090"},
        {"[::]:9090", "[::]:9090"},
        {":9090", "127.0.0.1:9090"},
        {":0", "127.0.0.1:0"},
        {"0.0.0.0:0", "0.0.0.0:0"},
        {"off", "off"},
        {"OFF", "off"},
    };
    static const char *const bad[] = {"h",  "[::1]", ":",   ":-1", ":65536",   ":x",
                                      "h:", "on",    "::1", ":+1", ":00000000"};
    for (size_t i = 0; i < DSQL_COUNT_OF(good); i++) {
        assert_string_equal(try_value("DSQL_METRICS_ADDRESS", good[i].given), good[i].used);
        assert_int_equal(report.finding_count, 0);
        assert_int_equal(report.source[DSQL_SETTING_metrics_address].origin, DSQL_ORIGIN_ENV);
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(bad); i++) {
        assert_string_equal(try_value("DSQL_METRICS_ADDRESS", bad[i]), "127.0.0.1:9464");
        assert_non_null(strstr(finding(), "can't be used (it takes host:port, :port or off); using "
                                          "127.0.0.1:9464"));
        assert_false(dsql_config_has_error(&report));
    }
}

enum { MANY = 100 };

/* An environment of MANY unknown variables. */
static const char *const *many_unknown(void)
{
    static char names[MANY][32];
    static const char *env[MANY + 1];
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "DSQL_NOBODY_%zu=1", i);
        env[i] = names[i];
    }
    return env;
}

TEST(findings_have_room_for_64)
{
    dsql_config_load(&config, &report, many_unknown());
    assert_int_equal(report.finding_count, DSQL_FINDINGS_MAX);
    assert_int_equal(report.findings_dropped, MANY - DSQL_FINDINGS_MAX);
    assert_int_equal(report.found[DSQL_FINDING_UNKNOWN], MANY);
    assert_valid();
}

TEST(an_error_without_room_is_still_one)
{
    /* Every setting adjusted twice or more would be needed to get there by loading. */
    LOAD();
    struct dsql_config_loading loading = {&config, &report};
    for (size_t i = 0; i < DSQL_FINDINGS_MAX; i++)
        dsql_config_find(&loading, DSQL_FINDING_ADJUSTED, DSQL_SPAN("DSQL_X"), " %zu", i);
    assert_false(dsql_config_has_error(&report));
    dsql_config_find(&loading, DSQL_FINDING_ERROR, DSQL_SPAN("DSQL_Y"), " is lost");
    assert_int_equal(report.findings_dropped, 1);
    assert_true(dsql_config_has_error(&report));
}

static size_t lines[DSQL_LOG_DEBUG + 1];
static char last_line[DSQL_LOG_LINE_MAX];

static void keep_line(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg;
    lines[level]++;
    (void)snprintf(last_line, sizeof(last_line), "%.*s", (int)len, line);
}

static void log_report(void)
{
    struct dsql_log log;
    memset(lines, 0, sizeof(lines));
    dsql_log_init(&log, &dsql_clock_system, keep_line, NULL);
    dsql_config_log(&report, &log);
}

TEST(findings_can_be_logged)
{
    LOAD("DSQL_RESEVOIR_ENABLED=true", "DSQL_POOL_MAX_OPEN=-4",
         "DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true");
    assert_int_equal(report.finding_count, 3);
    log_report();
    assert_int_equal(lines[DSQL_LOG_ERROR], 1);
    assert_int_equal(lines[DSQL_LOG_WARN], 2);
    assert_non_null(
        strstr(last_line, "event=config.unknown variable=DSQL_RESEVOIR_ENABLED detail=\""));
    LOAD("DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true");
    log_report();
    assert_int_equal(lines[DSQL_LOG_WARN], 0);
    assert_non_null(strstr(last_line, "level=error event=config.error "
                                      "variable=DSQL_DISTRIBUTED_CONN_LEASE_TABLE"));
}

TEST(the_log_says_how_many_were_dropped)
{
    dsql_config_load(&config, &report, many_unknown());
    log_report();
    assert_int_equal(lines[DSQL_LOG_WARN], DSQL_FINDINGS_MAX + 1);
    assert_non_null(strstr(last_line, "event=config.unknown dropped=36 detail=\"further findings"));
    dsql_config_load(&config, &report, many_unknown() + MANY - DSQL_FINDINGS_MAX);
    log_report();
    assert_int_equal(lines[DSQL_LOG_WARN], DSQL_FINDINGS_MAX);
    assert_non_null(strstr(last_line, "variable=DSQL_NOBODY_99"));
}

TEST(the_table_is_sound)
{
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        assert_int_equal(strncmp(dsql_settings[i].variable, "DSQL_", 5), 0);
        assert_true(strlen(dsql_settings[i].variable) <
                    sizeof(((struct dsql_finding *)0)->variable));
        assert_true(strlen(dsql_settings[i].doc) > 8);
        assert_int_equal(dsql_setting_find(dsql_span_of(dsql_settings[i].variable)), i);
        assert_int_equal(strlen(dsql_settings[i].variable), dsql_settings[i].variable_len);
        STRBUF(range, 64);
        dsql_setting_range((enum dsql_setting)i, &range);
        assert_true(range.len > 0 && !range.cut);
        /* A default, written as a variable, is taken as it stands. */
        if (dsql_settings[i].default_text[0] != '@') {
            (void)try_value(dsql_settings[i].variable, dsql_settings[i].default_text);
            assert_int_equal(report.finding_count, 0);
        }
        int64_t most = 0;
        if (dsql_settings[i].type == DSQL_SETTING_TEXT)
            assert_true(dsql_span_to_i64(dsql_span_of(dsql_settings[i].highest), &most) &&
                        most < DSQL_CONFIG_TEXT_MAX);
    }
    for (size_t i = 0; i < DSQL_SETTING_ALIAS_COUNT; i++)
        assert_int_equal(dsql_setting_find(dsql_span_of(dsql_setting_aliases[i].variable)),
                         dsql_setting_aliases[i].setting);
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
        cmocka_unit_test(jitter_is_at_most_the_base),
        cmocka_unit_test(settings_that_follow_another),
        cmocka_unit_test(texts_have_limits),
        cmocka_unit_test(what_is_shown_fits_on_a_line),
        cmocka_unit_test(fractions_print_as_they_are_read),
        cmocka_unit_test(the_last_word_on_a_variable_counts),
        cmocka_unit_test(a_shared_budget_needs_its_table),
        cmocka_unit_test(each_switch_shares_its_own_thing),
        cmocka_unit_test(leases_by_name_share_what_is_not_switched_off),
        cmocka_unit_test(a_budget_that_ignores_the_switches_says_so),
        cmocka_unit_test(unknown_variables_name_the_nearest),
        cmocka_unit_test(addresses),
        cmocka_unit_test(where_to_listen),
        cmocka_unit_test(findings_have_room_for_64),
        cmocka_unit_test(an_error_without_room_is_still_one),
        cmocka_unit_test(findings_can_be_logged),
        cmocka_unit_test(the_log_says_how_many_were_dropped),
        cmocka_unit_test(the_table_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
