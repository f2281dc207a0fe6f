#include "base/log.h"

#include "support/test.h"

/* Collects what the logger writes. */
static struct {
    char text[16384];
    size_t len;
    int lines;
} seen;

static void collect(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    assert_ptr_equal(arg, &seen);
    assert_int_equal(level, DSQL_LOG_WARN);
    assert_true(seen.len + len < sizeof(seen.text));
    memcpy(seen.text + seen.len, line, len);
    seen.len += len;
    seen.text[seen.len] = '\0';
    seen.lines++;
}

static struct dsql_log log_under_test;
static struct dsql_manual_clock manual;

static int set_up(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    /* 2026-11-16T09:00:00.123Z */
    dsql_manual_clock_init(&manual, (struct dsql_wall){INT64_C(1794819600123) * DSQL_MS});
    dsql_manual_clock_advance(&manual, 0);
    dsql_log_init(&log_under_test, &manual.clock, collect, &seen);
    return 0;
}

#define LOG(...) dsql_log(&log_under_test, DSQL_EVENT_CONFIG_ADJUSTED, __VA_ARGS__)

TEST(a_line_is_logfmt)
{
    LOG(DSQL_F("n", 50), DSQL_F("u", (size_t)7), DSQL_F("f", 0.25), DSQL_F("b", (bool)true),
        DSQL_F("word", "plain"), DSQL_F("text", "two words"), DSQL_F("none", ""),
        DSQL_F("part", DSQL_SPAN("a=b")));
    assert_string_equal(seen.text,
                        "ts=2026-11-16T09:00:00.123Z level=warn event=config.adjusted n=50 u=7 "
                        "f=0.25 b=true word=plain text=\"two words\" none=\"\" part=\"a=b\"\n");
}

TEST(odd_bytes_are_escaped)
{
    LOG(DSQL_F("v", "a\"b\\c\nd\x01\xff\xc3\xa9"));
    assert_non_null(strstr(seen.text, "v=\"a\\\"b\\\\c\\nd\\x01\\xff\xc3\xa9\"\n"));
}

TEST(signatures_and_session_tokens_are_masked)
{
    LOG(DSQL_F("url",
               "host/?Action=DbConnect&X-Amz-Signature=deadbeef&x-amz-security-token=IQoJ%2F "
               "tail"),
        DSQL_F("bare", "X-Amz-Signature=cafe"));
    assert_null(strstr(seen.text, "deadbeef"));
    assert_null(strstr(seen.text, "IQoJ"));
    assert_null(strstr(seen.text, "cafe"));
    assert_non_null(strstr(seen.text, "X-Amz-Signature=***&x-amz-security-token=*** tail"));
}

TEST(an_event_is_limited_and_counts_what_it_dropped)
{
    for (int i = 0; i < 25; i++)
        LOG(DSQL_F("i", i));
    assert_int_equal(seen.lines, DSQL_LOG_BURST);
    /* another event has a quota of its own */
    dsql_log(&log_under_test, DSQL_EVENT_CONFIG_UNKNOWN, DSQL_F("i", 1));
    assert_int_equal(seen.lines, DSQL_LOG_BURST + 1);
    dsql_manual_clock_advance(&manual, DSQL_LOG_WINDOW_NS);
    LOG(DSQL_F("i", 99));
    assert_int_equal(seen.lines, DSQL_LOG_BURST + 2);
    assert_non_null(strstr(seen.text, "suppressed=15 i=99\n"));
    LOG(DSQL_F("i", 100));
    assert_non_null(strstr(seen.text, "event=config.adjusted i=100\n"));
}

TEST(levels_drop_lines)
{
    atomic_store(&log_under_test.level, DSQL_LOG_ERROR);
    LOG(DSQL_F("i", 1));
    assert_int_equal(seen.lines, 0);
    enum dsql_log_level level;
    assert_true(dsql_log_level_parse(DSQL_SPAN("WARN"), &level));
    assert_int_equal(level, DSQL_LOG_WARN);
    assert_false(dsql_log_level_parse(DSQL_SPAN("loud"), &level));
    assert_string_equal(dsql_log_level_name(DSQL_LOG_DEBUG), "debug");
}

TEST(long_lines_are_cut_and_end)
{
    char text[4000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    LOG(DSQL_F("v", (const char *)text));
    assert_true(seen.len <= DSQL_LOG_LINE_MAX);
    assert_string_equal(seen.text + seen.len - 4, "...\n");
}

TEST(the_process_log_can_be_redirected)
{
    dsql_log_set_sink(collect, &seen);
    dsql_log(dsql_log_default(), DSQL_EVENT_CONFIG_ADJUSTED, DSQL_F("i", 1));
    assert_int_equal(seen.lines, 1);
    dsql_log_set_level(DSQL_LOG_ERROR);
    dsql_log(dsql_log_default(), DSQL_EVENT_CONFIG_ADJUSTED, DSQL_F("i", 2));
    assert_int_equal(seen.lines, 1);
    dsql_log_set_level(DSQL_LOG_INFO);
    dsql_log_set_sink(NULL, NULL);
}

TEST(every_event_is_named_once_and_explained)
{
    for (size_t i = 0; i < DSQL_EVENT_COUNT; i++) {
        assert_true(strlen(dsql_events[i].doc) > 10);
        assert_non_null(strchr(dsql_events[i].name, '.'));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(dsql_events[i].name, dsql_events[k].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_line_is_logfmt, set_up),
        cmocka_unit_test_setup(odd_bytes_are_escaped, set_up),
        cmocka_unit_test_setup(signatures_and_session_tokens_are_masked, set_up),
        cmocka_unit_test_setup(an_event_is_limited_and_counts_what_it_dropped, set_up),
        cmocka_unit_test_setup(levels_drop_lines, set_up),
        cmocka_unit_test_setup(long_lines_are_cut_and_end, set_up),
        cmocka_unit_test_setup(the_process_log_can_be_redirected, set_up),
        cmocka_unit_test(every_event_is_named_once_and_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
