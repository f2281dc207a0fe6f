#include "cli/status.h"

#include <jansson.h>

#include "support/manual_clock.h"
#include "support/test.h"

static struct manual_clock clock_;
static struct dsql_metrics *metrics;
static struct dsql_status *status;
static struct dsql_status_view seen; /* what the pool says next */
static unsigned operation;

static void look(void *arg, struct dsql_status_view *view)
{
    (void)arg;
    *view = seen;
}

static int set_up(void **state)
{
    (void)state;
    manual_clock_init(&clock_, (struct dsql_wall){0});
    if (dsql_metrics_new("watched", &metrics))
        return -1;
    operation = dsql_metrics_operation(metrics, "transfer");
    seen = (struct dsql_status_view){
        .pool = {.mode = DSQL_POOL_RESERVOIR, .max_open = 50, .target = 50, .rate_limit = 100},
        .lifetime_ns = 24 * DSQL_S,
        .guard_ns = 2 * DSQL_S,
    };
    return (int)dsql_status_new(&(struct dsql_status_options){.title = "a \"<title>\" & more",
                                                              .endpoint = "localhost:5432",
                                                              .user = "admin",
                                                              .metrics = metrics,
                                                              .operation = "transfer",
                                                              .look = look,
                                                              .clock = &clock_.clock},
                                &status);
}

static int tear_down(void **state)
{
    (void)state;
    dsql_status_destroy(status);
    dsql_metrics_destroy(metrics);
    return 0;
}

static void ask(dsql_httpd_page_fn *page, struct dsql_httpd_reply *reply)
{
    *reply = (struct dsql_httpd_reply){.status = 200, .nonce = "0123456789abcdef"};
    dsql_strbuf_init_heap(&reply->body, DSQL_HTTPD_BODY_MAX);
    page(status, reply);
    assert_int_equal(reply->status, 200);
    assert_false(reply->body.cut);
}

/* The page's answer as JSON; path is "pool.ready" and the like. */
static json_t *get(const json_t *root, const char *path)
{
    char memory[64], *rest = NULL;
    (void)snprintf(memory, sizeof(memory), "%s", path);
    const json_t *at = root;
    for (char *key = strtok_r(memory, ".", &rest); key; key = strtok_r(NULL, ".", &rest)) {
        at = json_object_get(at, key);
        if (!at)
            fail_msg("no %s in /status.json", path);
    }
    return (json_t *)(uintptr_t)at;
}

static json_t *ask_json(void)
{
    struct dsql_httpd_reply reply;
    json_error_t error;
    ask(dsql_page_status_json, &reply);
    assert_string_equal(reply.type, "application/json");
    json_t *root = json_loadb(reply.body.ptr, reply.body.len, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("line %d: %s", error.line, error.text);
    dsql_strbuf_fini(&reply.body);
    return root;
}

TEST(samples_are_what_a_second_brought)
{
    static const uint64_t checkouts[] = {100, 100, 350}, latency_ns[] = {80, 0, 5000};
    static const uint32_t brought[] = {100, 0, 250};
    for (size_t i = 0; i < DSQL_COUNT_OF(checkouts); i++) {
        seen.pool.checkouts = checkouts[i];
        seen.pool.opens = 2 * checkouts[i];
        seen.pool.discards[DSQL_DISCARD_BROKEN] = checkouts[i];
        if (latency_ns[i])
            dsql_histogram_record(metrics, DSQL_SERIES(reservoir_checkout_latency), latency_ns[i]);
        struct dsql_status_sample sample = dsql_status_sample(status);
        assert_int_equal(sample.checkouts, brought[i]);
        assert_int_equal(sample.opens, 2 * brought[i]);
        assert_int_equal(sample.discards, brought[i]);
        /* Of this second alone, within the histogram's resolution. */
        assert_true(sample.p99_ns * 64 >= latency_ns[i] * 63 &&
                    sample.p99_ns <= latency_ns[i] * 65 / 64);
    }
    struct dsql_status_totals totals;
    manual_clock_advance(&clock_, 7 * DSQL_S);
    dsql_status_totals(status, &totals);
    assert_int_equal(totals.elapsed_ns, 7 * DSQL_S);
    assert_int_equal(totals.checkouts, 350);
    assert_int_equal(totals.opens, 700);
    assert_int_equal(totals.opens_peak, 500);
    assert_int_equal(totals.max_ns, 5000);
    assert_int_equal(totals.discards[DSQL_DISCARD_BROKEN], 350);
}

TEST(a_pool_whose_counters_start_again_brings_nothing)
{
    seen.pool.checkouts = 50;
    (void)dsql_status_sample(status);
    seen.pool.checkouts = 10;
    assert_int_equal(dsql_status_sample(status).checkouts, 0);
    seen.pool.checkouts = 12;
    assert_int_equal(dsql_status_sample(status).checkouts, 2);
}

TEST(commits_are_outcomes_without_failures)
{
    for (int i = 0; i < 5; i++)
        dsql_histogram_record(metrics, DSQL_SERIES(operation_duration, .operation = operation), 1);
    dsql_counter_add(
        metrics,
        DSQL_SERIES(errors, .operation = operation, .value = DSQL_ERROR_TYPE_CONNECTION_LOST), 2);
    dsql_counter_add(metrics, DSQL_SERIES(tx_conflicts, .operation = operation), 9);
    dsql_counter_add(
        metrics, DSQL_SERIES(errors, .operation = operation, .value = DSQL_ERROR_TYPE_RETRYABLE),
        9);
    dsql_counter_add(metrics, DSQL_SERIES(tx_exhausted, .operation = operation), 1);
    struct dsql_status_sample sample = dsql_status_sample(status);
    assert_int_equal(sample.commits, 2);
    assert_int_equal(sample.conflicts, 9);
}

TEST(json_says_it_all)
{
    seen.pool.ready = 40;
    seen.pool.in_use = 8;
    seen.pool.rate = 12.5;
    seen.pool.discards[DSQL_DISCARD_SERVER_CLOSED] = 25;
    seen.ages[3] = 7;
    seen.pool.error_count = 1;
    seen.pool.errors[0] = (struct dsql_pool_error){.message = "bad \"token\" \\ <&\x01\xff",
                                                   .hint = "mend it",
                                                   .sqlstate = "08006",
                                                   .count = 3,
                                                   .age_ns = 1500 * DSQL_MS};
    (void)dsql_status_sample(status);
    json_t *root = ask_json();
    assert_string_equal(json_string_value(get(root, "title")), "a \"<title>\" & more");
    assert_string_equal(json_string_value(get(root, "state")), "ready");
    assert_string_equal(json_string_value(get(root, "mode")), "reservoir");
    assert_int_equal(json_integer_value(get(root, "pool.ready")), 40);
    assert_int_equal(json_integer_value(get(root, "pool.in_use")), 8);
    assert_true(json_number_value(get(root, "budget.rate")) == 12.5);
    assert_int_equal(json_integer_value(get(root, "discards.server_closed")), 25);
    assert_int_equal(json_object_size(get(root, "discards")), DSQL_DISCARDS);
    assert_int_equal(json_array_size(get(root, "ages.counts")), DSQL_STATUS_AGE_BINS);
    assert_int_equal(json_integer_value(json_array_get(get(root, "ages.counts"), 3)), 7);
    assert_int_equal(json_integer_value(get(root, "ages.lifetime_s")), 24);
    const json_t *error = json_array_get(get(root, "errors"), 0);
    assert_string_equal(json_string_value(get(error, "message")),
                        "bad \"token\" \\ <&\x01\xef\xbf\xbd");
    assert_true(json_number_value(get(error, "age_s")) == 1.5);
    json_decref(root);
}

TEST(history_is_a_ring_oldest_first)
{
    for (uint64_t i = 1; i <= DSQL_STATUS_HISTORY + 5; i++) {
        seen.pool.ready = (int64_t)i;
        (void)dsql_status_sample(status);
        if (i != 3 && i != DSQL_STATUS_HISTORY + 5)
            continue;
        json_t *root = ask_json();
        const json_t *ready = get(root, "history.ready");
        size_t size = i < DSQL_STATUS_HISTORY ? (size_t)i : DSQL_STATUS_HISTORY;
        assert_int_equal(json_array_size(ready), size);
        assert_int_equal(json_array_size(get(root, "history.p99_ns")), size);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(json_integer_value(json_array_get(ready, k)), i - size + 1 + k);
        json_decref(root);
    }
}

TEST(the_page_holds_a_table_and_its_nonce_and_no_markup_from_outside)
{
    struct dsql_httpd_reply reply;
    seen.pool.ready = 41;
    seen.pool.error_count = 1;
    seen.pool.errors[0] = (struct dsql_pool_error){.message = "<script>alert(1)</script>"};
    ask(dsql_page_status_html, &reply);
    const char *html = reply.body.ptr;
    assert_string_equal(reply.type, "text/html; charset=utf-8");
    assert_non_null(strstr(html, "<script nonce=\"0123456789abcdef\">"));
    assert_non_null(strstr(html, "<style nonce=\"0123456789abcdef\">"));
    assert_non_null(strstr(html, "<tr><th scope=row>ready<td>41\n"));
    assert_non_null(strstr(html, "a &quot;&lt;title>&quot; &amp; more at localhost:5432"));
    assert_non_null(strstr(html, "&lt;script>alert(1)&lt;/script>"));
    assert_null(strstr(html, "<script>alert"));
    assert_null(strstr(html, "NONCE"));
    assert_null(strstr(html, "<!--TABLE-->"));
    /* Nothing comes from elsewhere. */
    assert_null(strstr(html, "https://"));
    assert_null(strstr(html, "src="));
    assert_non_null(strstr(html, "</html>"));
    dsql_strbuf_fini(&reply.body);
}

TEST(states)
{
    static const struct {
        int64_t ready, in_use;
        bool draining;
        int64_t unanswered_ns;
        const char *state;
        bool is_ready;
    } cases[] = {
        {0, 0, false, 0, "filling", false},
        {1, 0, false, 0, "filling", true},
        {44, 0, false, 0, "filling", true},
        {20, 25, false, 0, "ready", true},
        {50, 0, false, 0, "ready", true},
        {50, 0, false, 10 * DSQL_S, "ready", true},
        {50, 0, false, 10 * DSQL_S + 1, "unanswered", false},
        {50, 0, true, 0, "draining", false},
        {50, 0, true, DSQL_H, "draining", false},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        STRBUF(why, 512);
        seen.pool.ready = cases[i].ready;
        seen.pool.in_use = cases[i].in_use;
        seen.pool.draining = cases[i].draining;
        seen.pool.unanswered_ns = cases[i].unanswered_ns;
        assert_string_equal(dsql_status_state(&seen), cases[i].state);
        assert_int_equal(dsql_status_is_ready(status, &why), cases[i].is_ready);
        assert_non_null(strstr(why_memory, cases[i].state));
    }
    STRBUF(why, 512);
    seen.pool.error_count = 1;
    (void)snprintf(seen.pool.errors[0].message, sizeof(seen.pool.errors[0].message), "refused");
    (void)dsql_status_is_ready(status, &why);
    assert_non_null(strstr(why_memory, "; last error: refused"));
    STRBUF(silent, 512);
    seen.pool.unanswered_ns = 12 * DSQL_S;
    (void)snprintf(seen.pool.failure, sizeof(seen.pool.failure), "the deadline passed");
    (void)dsql_status_is_ready(status, &silent);
    assert_non_null(
        strstr(silent_memory, "nothing was answered for 12 s; last error: the deadline passed"));
}

TEST(ages_fall_into_their_parts)
{
    static const struct {
        int64_t age_ns, lifetime_ns;
        size_t bin;
    } cases[] = {
        {0, 24, 0},
        {1, 24, 1},
        {23, 24, 23},
        {24, 24, 23},
        {1000, 24, 23},
        {-5, 24, 0},
        {5, 0, 0},
        {INT64_MAX, 1, 23},
        {59 * DSQL_M, DSQL_H, 23},
        {30 * DSQL_M, DSQL_H, 12},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++)
        assert_int_equal(dsql_status_age_bin(cases[i].age_ns, cases[i].lifetime_ns), cases[i].bin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define WATCHED(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        WATCHED(samples_are_what_a_second_brought),
        WATCHED(a_pool_whose_counters_start_again_brings_nothing),
        WATCHED(commits_are_outcomes_without_failures),
        WATCHED(json_says_it_all),
        WATCHED(history_is_a_ring_oldest_first),
        WATCHED(the_page_holds_a_table_and_its_nonce_and_no_markup_from_outside),
        WATCHED(states),
        WATCHED(ages_fall_into_their_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
