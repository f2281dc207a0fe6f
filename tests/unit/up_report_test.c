#include "cli/up_report.h"

#include <jansson.h>

#include "support/test.h"

/* What a printer prints. */
static char *printed(void (*print)(FILE *out, const void *arg), const void *arg)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    print(out, arg);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void print_second(FILE *out, const void *arg)
{
    dsql_up_print_header(out);
    dsql_up_print_second(out, 86400, arg);
}

static void print_summary(FILE *out, const void *arg)
{
    dsql_up_print_summary(out, arg);
}

static void print_json(FILE *out, const void *arg)
{
    dsql_up_print_json(out, arg);
}

static void assert_fits(const char *text, size_t width)
{
    struct dsql_span rest = dsql_span_of(text), line;
    while (rest.len > 0) {
        dsql_span_cut(rest, '\n', &line, &rest);
        if (line.len > width)
            fail_msg("%zu columns: %.*s", line.len, DSQL_SPAN_ARG(line));
    }
}

TEST(a_second_fits_a_terminal)
{
    static const struct dsql_status_sample samples[] = {
        {0},
        {.ready = 44, .in_use = 6, .opens = 3, .checkouts = 1234, .commits = 1200, .p99_ns = 85},
        {.ready = 10000,
         .in_use = 10000,
         .opens = 1000,
         .checkouts = 9999999,
         .empties = 9999999,
         .commits = 999999,
         .conflicts = 999999,
         .p99_ns = 99999999999},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(samples); i++) {
        char *text = printed(print_second, &samples[i]);
        assert_fits(text, DSQL_UP_LINE_MAX);
        free(text);
    }
}

TEST(numbers_are_readable)
{
    const struct dsql_status_sample sample = {
        .ready = 44, .in_use = 6, .checkouts = 1234567, .commits = 999, .p99_ns = 1250};
    char *text = printed(print_second, &sample);
    assert_non_null(strstr(text, " 1,234,567 "));
    assert_non_null(strstr(text, " 999 "));
    assert_non_null(strstr(text, " 1.2 us\n"));
    assert_null(strstr(text, "nothing ready"));
    free(text);
}

static const struct dsql_up_summary good = {
    .endpoint = "localhost:5432",
    .url = "http://127.0.0.1:9464/",
    .connections = 50,
    .threads = 8,
    .accounts = 200,
    .worked_ns = 30050 * DSQL_MS,
    .rate = 10,
    .burst = 100,
    .totals = {.checkouts = 36412,
               .waits = 2,
               .opens = 118,
               .opens_peak = 50,
               .conflicts = 103,
               .p50_ns = 85,
               .p99_ns = 1300,
               .p999_ns = 9000,
               .max_ns = 1200000,
               .discards = {[DSQL_DISCARD_EXPIRING_SOON_ON_SCAN] = 68, [DSQL_DISCARD_BROKEN] = 1}},
    .outcome = {.transfers = 35000, .audits = 912, .sum = 200000, .expected_sum = 200000},
};

TEST(the_summary_says_what_was_asked_for)
{
    static const char *const parts[] = {"30.0 s: 50 connections, 8 threads, 200 accounts",
                                        "35,912 committed, 103 conflicts",
                                        "36,412: p50 85 ns, p99 1.3 us, p99.9 9.0 us",
                                        "longest 1.2 ms",
                                        "found empty    0; 2 had",
                                        "118, at most 50 in a second",
                                        "10 a second, 100 at once",
                                        "68 expiring_soon_on_scan",
                                        "1 broken",
                                        "200000 in each of 912 audits"};
    char *text = printed(print_summary, &good);
    for (size_t i = 0; i < DSQL_COUNT_OF(parts); i++)
        if (!strstr(text, parts[i]))
            fail_msg("'%s' is missing in:%s", parts[i], text);
    assert_null(strstr(text, "WRONG"));
    assert_null(strstr(text, "failure"));
    assert_fits(text, 100);
    free(text);
}

TEST(a_wrong_sum_and_a_failure_are_loud)
{
    struct dsql_up_summary bad = good;
    bad.outcome.sums_wrong = 3;
    bad.outcome.sum = 199990;
    bad.outcome.first =
        (struct dsql_err){.rc = DSQL_DATABASE, .message = "it broke", .hint = "mend"};
    char *text = printed(print_summary, &bad);
    assert_non_null(strstr(text, "THE SUM IS WRONG: 199990 instead of 200000, in 3 of 912 audits"));
    assert_non_null(strstr(text, "first failure  it broke: mend"));
    free(text);
}

TEST(json_is_json)
{
    struct dsql_up_summary summary = good;
    summary.url = NULL;
    summary.outcome.first = (struct dsql_err){.rc = DSQL_IO, .message = "a \"quoted\" \\ thing"};
    char *text = printed(print_json, &summary);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("line %d: %s: %s", error.line, error.text, text);
    assert_true(json_is_true(json_object_get(root, "good")));
    assert_true(json_is_null(json_object_get(root, "status_page")));
    assert_int_equal(json_integer_value(json_object_get(root, "checkouts")), 36412);
    assert_int_equal(json_object_size(json_object_get(root, "discards")), DSQL_DISCARDS);
    assert_string_equal(json_string_value(json_object_get(root, "first_failure")),
                        "a \"quoted\" \\ thing");
    json_decref(root);
    free(text);
}

TEST(what_is_good)
{
    static const struct {
        struct dsql_up_outcome outcome;
        bool good;
    } cases[] = {
        {{.transfers = 1}, true},
        {{.transfers = 1, .gave_up = 5, .lost = 2, .empty = 1}, true},
        {{.transfers = 0, .audits = 5}, false},
        {{.transfers = 1, .failed = 1}, false},
        {{.transfers = 1, .sums_wrong = 1}, false},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++)
        assert_int_equal(dsql_up_is_good(&cases[i].outcome), cases[i].good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_fits_a_terminal),
        cmocka_unit_test(numbers_are_readable),
        cmocka_unit_test(the_summary_says_what_was_asked_for),
        cmocka_unit_test(a_wrong_sum_and_a_failure_are_loud),
        cmocka_unit_test(json_is_json),
        cmocka_unit_test(what_is_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
