/*
 * What a pool writes to its log in its life, and that its settings reach the keeper, on a libpq
 * that connects to nobody. The log is standard error, which is a file meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "pool/pool.h"
#include "support/fake_pq.h"
#include "support/test.h"

enum { TEXT_MAX = 1 << 20 };

static char path[64], text[TEXT_MAX];
static int kept_stderr;

static int set_up(void **state)
{
    (void)state;
    fake_pq_reset();
    (void)snprintf(path, sizeof(path), "/tmp/dsql-log-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    kept_stderr = dup(STDERR_FILENO);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    (void)close(fd);
    dsql_log_set_level(DSQL_LOG_DEBUG);
    return 0;
}

/* Standard error is itself again. */
static void end_log(void)
{
    if (kept_stderr < 0)
        return;
    assert_int_equal(dup2(kept_stderr, STDERR_FILENO), STDERR_FILENO);
    (void)close(kept_stderr);
    kept_stderr = -1;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t len = fread(text, 1, TEXT_MAX - 1, file);
    text[len] = '\0';
    (void)fclose(file);
}

static int tear_down(void **state)
{
    (void)state;
    end_log();
    return unlink(path);
}

static void sleep_ms(int64_t ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * DSQL_MS};
    (void)nanosleep(&time, NULL);
}

static struct dsql_pool *open_pool(const struct dsql_pool_options *options)
{
    struct dsql_pool *pool = NULL;
    struct dsql_err err = {0};
    if (dsql_pool_open(options, &pool, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    return pool;
}

static void wait_for_opens(struct dsql_pool *pool, uint64_t opens)
{
    struct dsql_pool_stats stats = {0};
    for (int i = 0; i < 12000 && stats.opens < opens; i++) {
        sleep_ms(5);
        dsql_pool_stats(pool, &stats);
    }
    assert_true(stats.opens >= opens);
}

/* The first line of an event that has this in it; the line ends with a NUL. */
static const char *line_of(const char *event, const char *with)
{
    static char line[1024];
    char name[64];
    (void)snprintf(name, sizeof(name), "event=%s ", event);
    for (const char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
        (void)snprintf(line, sizeof(line), "%.*s ", (int)(end - at), at);
        if (strstr(line, name) && strstr(line, with))
            return line;
    }
    fail_msg("no line of %s with '%s' in:\n%s", event, with, text);
    return "";
}

static int64_t number(const char *line, const char *key)
{
    char name[64];
    (void)snprintf(name, sizeof(name), " %s=", key);
    const char *at = strstr(line, name);
    if (!at) {
        fail_msg("no %s in: %s", key, line);
        return 0;
    }
    return strtoll(at + strlen(name), NULL, 10);
}

TEST(a_reservoir_says_what_it_keeps_and_what_it_closes)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 6);
    options.sizing.target_ready = 4;
    options.sizing.low_watermark = 3;
    options.lifetime.base_ns = 400 * DSQL_MS;
    options.lifetime.jitter_ns = 100 * DSQL_MS;
    options.lifetime.guard_window_ns = 100 * DSQL_MS;
    struct dsql_pool *pool = open_pool(&options);
    wait_for_opens(pool, 8); /* some were replaced */
    dsql_pool_close(pool);
    end_log();

    const char *line = line_of("pool.started", "mode=reservoir");
    assert_int_equal(number(line, "target"), 4);
    assert_int_equal(number(line, "low_watermark"), 3);
    assert_int_equal(number(line, "lifetime_ms"), 400);
    assert_int_equal(number(line, "guard_ms"), 100);
    line = line_of("pool.filled", "endpoint=");
    assert_in_range(number(line, "created"), 3, 100);
    assert_int_equal(number(line, "failed"), 0);
    line = line_of("pool.opened", "level=debug");
    assert_in_range(number(line, "open"), 1, 6);
    assert_int_equal(number(line, "target"), 4);
    assert_in_range(number(line, "lifetime_ms"), 350, 450);
    assert_true(number(line, "ms") >= 0);
    line = line_of("pool.discarded", "reason=");
    assert_int_equal(number(line, "guard_ms"), 100);
    assert_true(number(line, "remaining_ms") <= 450);
    assert_null(strstr(text, "event=pool.keeper "));
}

/* Closed at once: nearly all of its life was left. */
TEST(what_was_left_of_a_life_is_said)
{
    struct dsql_pool_options options;
    struct dsql_conn *conn;
    struct dsql_err err;
    fake_pq_options(&options, 1);
    options.lifetime.base_ns = 30 * DSQL_M;
    options.lifetime.jitter_ns = 0;
    options.lifetime.guard_window_ns = DSQL_M;
    struct dsql_pool *pool = open_pool(&options);
    assert_int_equal(dsql_pool_checkout(pool, 60 * DSQL_S, &conn, &err), DSQL_OK);
    dsql_pool_discard(conn);
    wait_for_opens(pool, 2);
    dsql_pool_close(pool);
    end_log();
    const char *line = line_of("pool.discarded", "reason=broken");
    assert_in_range(number(line, "remaining_ms"), INT64_C(20) * 60 * 1000, INT64_C(30) * 60 * 1000);
    assert_int_equal(number(line, "guard_ms"), 60 * 1000);
}

TEST(a_warmup_that_failed_once_says_so_and_the_keeper_begins)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 4);
    options.mode = DSQL_POOL_STANDARD;
    options.standard.warmup_target = 3;
    options.standard.warmup_retry_backoff_ns = DSQL_MS;
    options.standard.keeper_tick_ns = 20 * DSQL_MS;
    options.standard.keeper_max_per_tick = 2;
    (void)fake_pq_fail_at(1);
    struct dsql_pool *pool = open_pool(&options);
    dsql_pool_close(pool);
    end_log();
    const char *line = line_of("pool.filled", "endpoint=");
    assert_in_range(number(line, "created"), 3, 4);
    assert_int_equal(number(line, "failed"), 1);
    line = line_of("pool.keeper", "level=info");
    assert_int_equal(number(line, "tick_ms"), 20);
    assert_int_equal(number(line, "per_tick"), 2);
}

TEST(a_fill_that_fails_says_how_often)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 3);
    options.sizing.initial_fill_timeout_ns = 50 * DSQL_MS;
    fake_pq_refuse("connection refused");
    struct dsql_pool *pool = open_pool(&options);
    dsql_pool_close(pool);
    end_log();
    const char *line = line_of("pool.not_filled", "detail=");
    assert_int_equal(number(line, "created"), 0);
    assert_true(number(line, "failed") >= 0);
}

/* Each has a value of its own, so that none can stand for another or be left out. */
TEST(settings_reach_the_keeper)
{
    struct dsql_pool_options options;
    fake_pq_options(&options, 9);
    options.mode = DSQL_POOL_STANDARD;
    options.sizing.target_ready = 7;
    options.standard.warmup_target = 0;
    options.lifetime.base_ns = 20 * DSQL_M;
    options.lifetime.jitter_ns = 3 * DSQL_M;
    options.lifetime.guard_window_ns = 50 * DSQL_S;
    options.budget.staggered_startup_ns = 7 * DSQL_MS;
    options.sizing.inflight_limit = 5;
    options.connection.connect_timeout_ns = 11 * DSQL_S;
    options.empty_wait_ns = 123 * DSQL_MS;
    options.budget.permit_wait_ns = 31 * DSQL_S;
    options.budget.permit_backoff_ns = 26 * DSQL_MS;
    options.standard.keeper_tick_ns = 2 * DSQL_S;
    options.standard.keeper_max_per_tick = 3;
    options.standard.warmup_max_retries = 4;
    options.standard.warmup_connect_timeout_ns = 12 * DSQL_S;
    options.standard.warmup_retry_backoff_ns = 210 * DSQL_MS;
    options.standard.warmup_max_backoff_ns = 6 * DSQL_S;
    struct dsql_pool *pool = open_pool(&options);
    const struct dsql_keeper_config got = pool->keeper.config;
    dsql_pool_close(pool);
    assert_int_equal(got.max_open, 9);
    assert_int_equal(got.target, 7);
    assert_int_equal(got.lifetime.base_ns, 20 * DSQL_M);
    assert_int_equal(got.lifetime.jitter_ns, 3 * DSQL_M);
    assert_int_equal(got.lifetime.guard_ns, 50 * DSQL_S);
    assert_int_equal(got.start_delay_ns, 7 * DSQL_MS);
    assert_int_equal(got.inflight_limit, 5);
    assert_int_equal(got.connect_timeout_ns, 11 * DSQL_S);
    assert_int_equal(got.empty_wait_ns, 123 * DSQL_MS);
    assert_int_equal(got.permit_wait_ns, 31 * DSQL_S);
    assert_int_equal(got.permit_backoff_ns, 26 * DSQL_MS);
    assert_int_equal(got.tick_ns, 2 * DSQL_S);
    assert_int_equal(got.tick_max, 3);
    assert_int_equal(got.warmup_tries, 5);
    assert_int_equal(got.warmup_timeout_ns, 12 * DSQL_S);
    assert_int_equal(got.warmup_backoff_ns, 210 * DSQL_MS);
    assert_int_equal(got.warmup_backoff_max_ns, 6 * DSQL_S);
}

/* A fleet's table that does not answer: how many connections the fleet has is not known, which is
 * no number. */
TEST(a_gauge_shows_no_number_that_is_not_known)
{
    struct dsql_pool_options options;
    char *shown = NULL;
    size_t len;
    setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1", 1);
    fake_pq_options(&options, 2);
    options.budget.kind = DSQL_BUDGET_LEASES;
    (void)snprintf(options.budget.lease_table, sizeof(options.budget.lease_table), "leases");
    options.budget.cluster_connections = 500;
    options.sizing.initial_fill_timeout_ns = DSQL_MS;
    assert_int_equal(dsql_metrics_new("gauge", &options.metrics), DSQL_OK);
    struct dsql_pool *pool = open_pool(&options);
    dsql_pool_close(pool); /* its last act is a sample */
    assert_int_equal(dsql_gauge_value(options.metrics, DSQL_SERIES(lease_limit)), 500);
    assert_int_equal(dsql_gauge_value(options.metrics, DSQL_SERIES(lease_active)), 0);
    assert_int_equal(dsql_metrics_text(options.metrics, &shown, &len), DSQL_OK);
    assert_null(strstr(shown, " -1\n"));
    free(shown);
    dsql_metrics_destroy(options.metrics);
    unsetenv("AWS_ENDPOINT_URL_DYNAMODB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reservoir_says_what_it_keeps_and_what_it_closes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_was_left_of_a_life_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_warmup_that_failed_once_says_so_and_the_keeper_begins,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fill_that_fails_says_how_often, set_up, tear_down),
        cmocka_unit_test_setup_teardown(settings_reach_the_keeper, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_gauge_shows_no_number_that_is_not_known, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
