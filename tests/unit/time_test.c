/* Time, clocks and durations. */
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/clock_epoll.h"
#include "base/duration.h"
#include "support/manual_clock.h"
#include "support/test.h"

TEST(sums_stop_at_the_end_of_time)
{
    assert_int_equal(dsql_ns_add(1, 2), 3);
    assert_int_equal(dsql_ns_add(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(dsql_ns_add(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(dsql_mono_add((struct dsql_mono){INT64_MAX - 1}, DSQL_H).ns, INT64_MAX);
}

/* The calendar against the C library's, over four centuries and both sides of 1970. */
TEST(wall_format_agrees_with_gmtime)
{
    for (int64_t day = -73000; day < 73000; day += 1) {
        int64_t seconds = day * 86400 + (day * 7919 % 86400 + 86400) % 86400;
        time_t t = (time_t)seconds;
        struct tm tm;
        char expected[64];
        assert_non_null(gmtime_r(&t, &tm));
        assert_true(strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.007Z", &tm) > 0);
        STRBUF(sb, 40);
        dsql_wall_format(&sb, (struct dsql_wall){seconds * DSQL_S + 7 * DSQL_MS});
        assert_string_equal(sb.ptr, expected);
    }
}

TEST(the_system_clock_moves)
{
    struct dsql_mono a = dsql_clock_mono(&dsql_clock_system);
    struct dsql_mono coarse = dsql_clock_mono_coarse(&dsql_clock_system);
    struct dsql_mono b = dsql_clock_mono(&dsql_clock_system);
    assert_false(dsql_mono_before(b, a));
    assert_true(dsql_mono_since(coarse, b) <= 0); /* never ahead */
    assert_true(dsql_clock_wall(&dsql_clock_system).ns > INT64_C(1700000000) * DSQL_S);
}

/* Two readings of one clock: the coarse one passes any moment of the exact one, a tick later. */
TEST(the_coarse_clock_follows)
{
    struct dsql_mono start = dsql_clock_mono(&dsql_clock_system), coarse, now;
    do {
        coarse = dsql_clock_mono_coarse(&dsql_clock_system);
        now = dsql_clock_mono(&dsql_clock_system);
        assert_false(dsql_mono_before(now, coarse));
        if (dsql_mono_since(now, start) > 10 * DSQL_M)
            fail_msg("the coarse clock is still %lld ns behind",
                     (long long)dsql_mono_since(now, coarse));
    } while (dsql_mono_before(coarse, start));
}

TEST(a_manual_clock_stands_still)
{
    struct manual_clock manual;
    manual_clock_init(&manual, (struct dsql_wall){5 * DSQL_S});
    const struct dsql_clock *clock = &manual.clock;
    struct dsql_mono start = dsql_clock_mono(clock);
    manual_clock_advance(&manual, DSQL_M);
    assert_int_equal(dsql_mono_since(dsql_clock_mono(clock), start), DSQL_M);
    assert_int_equal(dsql_mono_since(dsql_clock_mono_coarse(clock), start), DSQL_M);
    assert_int_equal(dsql_clock_wall(clock).ns, 65 * DSQL_S);
    manual_clock_step_wall(&manual, -DSQL_H);
    assert_int_equal(dsql_mono_since(dsql_clock_mono(clock), start), DSQL_M);
    assert_int_equal(dsql_clock_wall(clock).ns, 65 * DSQL_S - DSQL_H);
}

/* What waits for a moment ends when it has come, on the machine's clocks and on one moved by hand.
 */
TEST(waits_end_in_time)
{
    struct manual_clock manual;
    const struct dsql_clock *clocks[] = {&dsql_clock_system, &dsql_clock_boot, &manual.clock};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond;
    manual_clock_init(&manual, (struct dsql_wall){0});
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    assert_true(epoll >= 0);
    manual_clock_advance(&manual, DSQL_H);
    dsql_clock_cond_init(&cond);
    for (size_t i = 0; i < DSQL_COUNT_OF(clocks); i++) {
        _Atomic uint32_t value = 7;
        int64_t wait_ns = clocks[i] == &manual.clock ? 0 : 2 * DSQL_MS;
        struct dsql_mono until = dsql_mono_add(dsql_clock_mono(clocks[i]), wait_ns);
        (void)pthread_mutex_lock(&lock);
        while (dsql_clock_wait(clocks[i], &cond, &lock, until))
            continue;
        (void)pthread_mutex_unlock(&lock);
        assert_false(dsql_mono_before(dsql_clock_mono(clocks[i]), until));
        until = dsql_mono_add(until, wait_ns);
        while (dsql_clock_wait_value(clocks[i], &value, 7, until))
            continue;
        assert_false(dsql_mono_before(dsql_clock_mono(clocks[i]), until));
        assert_true(dsql_clock_wait_value(clocks[i], &value, 8, (struct dsql_mono){INT64_MAX}));
        until = dsql_mono_add(until, wait_ns);
        assert_int_equal(dsql_clock_poll(clocks[i], NULL, 0, until), 0);
        assert_false(dsql_mono_before(dsql_clock_mono(clocks[i]), until));
        until = dsql_mono_add(until, wait_ns);
        assert_int_equal(dsql_clock_epoll(clocks[i], epoll, &event, 1, until), 0);
        assert_false(dsql_mono_before(dsql_clock_mono(clocks[i]), until));
        dsql_clock_sleep(clocks[i], wait_ns);
    }
    (void)close(epoll);
    (void)pthread_cond_destroy(&cond);
}

struct sleeper {
    const struct dsql_clock *clock;
    _Atomic bool done;
};

static void *sleep_an_hour(void *arg)
{
    struct sleeper *sleeper = arg;
    dsql_clock_sleep(sleeper->clock, DSQL_H);
    atomic_store(&sleeper->done, true);
    return NULL;
}

TEST(a_manual_clock_is_waited_for)
{
    struct manual_clock manual;
    struct sleeper sleeper = {.clock = &manual.clock};
    pthread_t thread;
    manual_clock_init(&manual, (struct dsql_wall){0});
    assert_int_equal(pthread_create(&thread, NULL, sleep_an_hour, &sleeper), 0);
    manual_clock_advance(&manual, DSQL_H - 1);
    dsql_clock_sleep(&dsql_clock_system, 20 * DSQL_MS);
    assert_false(atomic_load(&sleeper.done));
    while (!atomic_load(&sleeper.done)) { /* it may have begun to sleep just now */
        manual_clock_advance(&manual, DSQL_M);
        dsql_clock_sleep(&dsql_clock_system, DSQL_MS);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(dsql_clock_mono(&manual.clock).ns >= DSQL_H);
}

TEST(durations_parse)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"11m", 11 * DSQL_M},
        {"45s", 45 * DSQL_S},
        {"250ms", 250 * DSQL_MS},
        {"1h30m", 90 * DSQL_M},
        {"1.5s", 1500 * DSQL_MS},
        {".5s", 500 * DSQL_MS},
        {"5.s", 5 * DSQL_S},
        {"100us", 100 * DSQL_US},
        {"100\xc2\xb5s", 100 * DSQL_US}, /* micro sign */
        {"100\xce\xbcs", 100 * DSQL_US}, /* Greek mu */
        {"7ns", 7},
        {"0", 0},
        {"0s", 0},
        {"-3m", -3 * DSQL_M},
        {"+3m", 3 * DSQL_M},
        {"1m1m", 2 * DSQL_M},
        {"1.0000000001s", DSQL_S},
        {"0.3333333333333333333h", 1200 * DSQL_S - 1},
        {"9223372036854775807ns", INT64_MAX},
        {"-9223372036854775808ns", INT64_MIN},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        int64_t ns = 42;
        if (!dsql_duration_parse(dsql_span_of(cases[i].text), &ns) || ns != cases[i].ns)
            fail_msg("%s gave %lld", cases[i].text, (long long)ns);
    }
}

TEST(what_is_no_duration)
{
    static const char *const bad[] = {"",
                                      "-",
                                      "5",
                                      "s",
                                      ".s",
                                      "1 s",
                                      "1s ",
                                      "1d",
                                      "1x",
                                      "1..5s",
                                      "1.5.5s",
                                      "--1s",
                                      "1e3s",
                                      "0x1s",
                                      "00",
                                      "9223372036854775808ns",
                                      "9223372037s",
                                      "2562048h"};
    for (size_t i = 0; i < DSQL_COUNT_OF(bad); i++) {
        int64_t ns = 42;
        if (dsql_duration_parse(dsql_span_of(bad[i]), &ns))
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(ns, 42);
    }
}

TEST(durations_format)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {55 * DSQL_M, "55m"},
        {DSQL_H, "1h"},
        {90 * DSQL_S + 500 * DSQL_MS, "1m30.5s"},
        {250 * DSQL_MS, "250ms"},
        {1500 * DSQL_US, "1.5ms"},
        {1, "1ns"},
        {-DSQL_S, "-1s"},
        {DSQL_H + 1, "1h0.000000001s"},
        {INT64_MIN, "-2562047h47m16.854775808s"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        STRBUF(sb, DSQL_DURATION_TEXT_MAX);
        dsql_duration_format(&sb, cases[i].ns);
        assert_string_equal(sb.ptr, cases[i].text);
    }
}

TEST(durations_for_people_are_rounded)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {400 * DSQL_US, "0s"},
        {500 * DSQL_US, "1ms"},
        {1234567890, "1.235s"},
        {10 * DSQL_S + 499 * DSQL_MS, "10s"},
        {10 * DSQL_S + 500 * DSQL_MS, "11s"},
        {90 * DSQL_S, "1m30s"},
        {24 * DSQL_H, "24h"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++)
        assert_string_equal(dsql_duration_shown(cases[i].ns).text, cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_for_people_are_rounded),
        cmocka_unit_test(sums_stop_at_the_end_of_time),
        cmocka_unit_test(wall_format_agrees_with_gmtime),
        cmocka_unit_test(the_system_clock_moves),
        cmocka_unit_test(the_coarse_clock_follows),
        cmocka_unit_test(a_manual_clock_stands_still),
        cmocka_unit_test(waits_end_in_time),
        cmocka_unit_test(a_manual_clock_is_waited_for),
        cmocka_unit_test(durations_parse),
        cmocka_unit_test(what_is_no_duration),
        cmocka_unit_test(durations_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
