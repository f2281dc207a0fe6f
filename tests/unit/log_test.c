#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"
#include "support/manual_clock.h"
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
static struct manual_clock manual;

static int set_up(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    /* 2026-11-16T09:00:00.123Z */
    manual_clock_init(&manual, (struct dsql_wall){INT64_C(1794819600123) * DSQL_MS});
    manual_clock_advance(&manual, 0);
    dsql_log_init(&log_under_test, &manual.clock, collect, &seen);
    return 0;
}

#define LOG(...)         dsql_log(&log_under_test, DSQL_EVENT_CONFIG_ADJUSTED, __VA_ARGS__)
#define LOG_LIMITED(...) dsql_log(&log_under_test, DSQL_EVENT_METRICS_LABEL_OVERFLOW, __VA_ARGS__)

static void assert_line(const char *fields)
{
    STRBUF(line, 4096);
    dsql_strbuf_addf(&line, "ts=2026-11-16T09:00:00.123Z level=warn event=config.adjusted%s\n",
                     fields);
    assert_string_equal(seen.text, line.ptr);
}

TEST(a_line_is_logfmt)
{
    LOG(DSQL_F("n", 50), DSQL_F("u", (size_t)7), DSQL_F("f", 0.25), DSQL_F("b", (bool)true),
        DSQL_F("word", "plain"), DSQL_F("text", "two words"), DSQL_F("none", ""),
        DSQL_F("part", DSQL_SPAN("a=b")));
    assert_line(" n=50 u=7 f=0.25 b=true word=plain text=\"two words\" none=\"\" part=\"a=b\"");
}

TEST(every_plain_type_is_a_field)
{
    LOG(DSQL_F("short", (short)-1), DSQL_F("ushort", (unsigned short)65535),
        DSQL_F("char", (char)'Q'), DSQL_F("schar", (signed char)-128),
        DSQL_F("uchar", (unsigned char)255), DSQL_F("long", -1L), DSQL_F("ulong", 1UL),
        DSQL_F("ll", -1LL), DSQL_F("ull", 1ULL), DSQL_F("float", 0.5F), DSQL_F("double", 0.00001),
        DSQL_F("null", (const char *)NULL), DSQL_F("quote", (char)'"'));
    assert_line(" short=-1 ushort=65535 char=Q schar=-128 uchar=255 long=-1 ulong=1 ll=-1 ull=1 "
                "float=0.5 double=0.00001 null=\"\" quote=\"\\\"\"");
}

TEST(a_line_needs_no_fields)
{
    dsql_log_event(&log_under_test, DSQL_EVENT_CONFIG_ADJUSTED);
    assert_line("");
}

TEST(odd_bytes_are_escaped)
{
    LOG(DSQL_F("v", "a\"b\\c\nd\x01\xff\xc3\xa9"));
    assert_non_null(strstr(seen.text, "v=\"a\\\"b\\\\c\\nd\\x01\\xff\xc3\xa9\"\n"));
}

TEST(signatures_and_session_tokens_are_masked)
{
    static const struct {
        const char *given, *shown;
    } cases[] = {
        /* a presigned URL, in any case */
        {"host/?Action=DbConnect&X-Amz-Signature=deadbeef&x-amz-security-token=IQoJ%2F%26 tail",
         "\"host/?Action=DbConnect&X-Amz-Signature=***&x-amz-security-token=*** tail\""},
        {"X-Amz-Signature=cafe", "\"X-Amz-Signature=***\""},
        /* an Authorization header */
        {"AWS4-HMAC-SHA256 Credential=AKIA/20260101, SignedHeaders=host, Signature=deadbeef",
         "\"AWS4-HMAC-SHA256 Credential=AKIA/20260101, SignedHeaders=host, Signature=***\""},
        {"Signature=dead,Credential=AKIA", "\"Signature=***,Credential=AKIA\""},
        /* a header line, alone and among others */
        {"x-amz-security-token: IQoJb3JpZ2lu//8=", "\"x-amz-security-token: ***\""},
        {"x-amz-security-token:IQoJb3JpZ2lu", "x-amz-security-token:***"},
        {"X-Amz-Security-Token : IQoJ\r\nHost: h", "\"X-Amz-Security-Token : ***\\x0d\\nHost: h\""},
        {"x-amz-security-token:\tIQoJ\tx", "\"x-amz-security-token:\\x09***\\x09x\""},
        /* a URL within a URL: to the end of the outer parameter */
        {"X-Amz-Signature%3Ddeadbeef", "X-Amz-Signature%3D***"},
        {"u%3FX-Amz-Signature%3ddead%26X-Amz-Date%3D1&x", "u%3FX-Amz-Signature%3d***&x"},
        {"X-Amz-Security-Token%253DIQoJ", "X-Amz-Security-Token%253D***"},
        {"x-amz-security-token%3A%20IQoJ", "x-amz-security-token%3A***"},
        /* JSON, and JSON within JSON */
        {"{\"X-Amz-Security-Token\": \"IQoJ\\/x\", \"a\": 1}",
         "\"{\\\"X-Amz-Security-Token\\\": \\\"***\\\", \\\"a\\\": 1}\""},
        {"\\\"signature\\\":\\\"dead\\\"", "\"\\\\\\\"signature\\\\\\\":\\\\\\\"***\\\"\""},
        /* nothing that looks like it is touched */
        {"SignatureDoesNotMatch", "SignatureDoesNotMatch"},
        {"the signature we calculated", "\"the signature we calculated\""},
        {"signature", "signature"},
        {"Signature%", "Signature%"},
        {"Signature%2", "Signature%2"},
        {"Signature%25", "Signature%25"},
        {"Signature%2F1", "Signature%2F1"},
        {"Signature=", "\"Signature=***\""},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        seen.len = 0;
        LOG(DSQL_F("v", cases[i].given));
        STRBUF(fields, 512);
        dsql_strbuf_addf(&fields, " v=%s", cases[i].shown);
        assert_line(fields.ptr);
    }
}

TEST(an_event_is_limited_and_counts_what_it_dropped)
{
    for (int i = 0; i < 25; i++)
        LOG_LIMITED(DSQL_F("i", i));
    assert_int_equal(seen.lines, DSQL_LOG_BURST);
    /* another event has a quota of its own */
    dsql_log(&log_under_test, DSQL_EVENT_LOCAL_REFUSED, DSQL_F("i", 1));
    assert_int_equal(seen.lines, DSQL_LOG_BURST + 1);
    manual_clock_advance(&manual, DSQL_LOG_WINDOW_NS);
    LOG_LIMITED(DSQL_F("i", 99));
    assert_int_equal(seen.lines, DSQL_LOG_BURST + 2);
    assert_non_null(strstr(seen.text, "suppressed=15 i=99\n"));
    LOG_LIMITED(DSQL_F("i", 100));
    assert_non_null(strstr(seen.text, "event=metrics.label_overflow i=100\n"));
}

/* A program that starts with thirty wrong settings says all thirty. */
TEST(what_is_said_at_the_start_is_not_limited)
{
    for (int i = 0; i < 30; i++)
        LOG(DSQL_F("i", i));
    assert_int_equal(seen.lines, 30);
    assert_null(strstr(seen.text, "suppressed"));
    assert_false(dsql_events[DSQL_EVENT_CONFIG_UNKNOWN].limited);
    assert_false(dsql_events[DSQL_EVENT_CONFIG_ERROR].limited);
    assert_true(dsql_events[DSQL_EVENT_LOCAL_REFUSED].limited);
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
    LOG(DSQL_F("v", (const char *)text), DSQL_F("after", 1));
    assert_true(seen.len <= DSQL_LOG_LINE_MAX && seen.len > DSQL_LOG_LINE_MAX - 10);
    assert_string_equal(seen.text + seen.len - 5, "x...\n");
    assert_null(strstr(seen.text, "after"));
}

/* Reads one field of logfmt: a key, and after = a bare word or a quoted text; false if it is none.
 */
static bool take_field(const char **at)
{
    size_t key = strcspn(*at, "= \"\n");
    *at += key;
    if (key == 0 || **at != '=')
        return key > 0;
    if (*++*at != '"') {
        *at += strcspn(*at, " \"=\n");
        return true;
    }
    for (++*at; **at && **at != '"'; ++*at)
        if (**at == '\\' && !*++*at)
            return false;
    return *(*at)++ == '"';
}

static void assert_logfmt(const char *line)
{
    const char *at = line;
    do
        if (!take_field(&at))
            fail_msg("no logfmt at '%s': %s", at, line);
    while (*at == ' ' && at++);
    assert_string_equal(at, "\n");
    struct dsql_span s = dsql_span_of(line);
    for (size_t n; s.len > 0; s = dsql_span_from(s, n))
        if ((n = dsql_utf8_len(s)) == 0)
            fail_msg("not UTF-8: %s", line);
}

/* Wherever the end falls: in a character, in an escape, at the quote, in a key, in a mask. */
TEST(a_cut_line_is_still_logfmt)
{
    static const char *const ends[] = {"\xf0\x9f\x98\x80", "\\", "\"", "\x01", "\n",
                                       " Signature=abc "};
    static char text[4096];
    for (size_t e = 0; e < DSQL_COUNT_OF(ends); e++) {
        for (size_t blank = 0; blank < 2; blank++) {
            for (size_t len = DSQL_LOG_LINE_MAX - 120; len < DSQL_LOG_LINE_MAX; len++) {
                memset(text, 'x', len);
                text[0] = blank ? ' ' : 'x';
                text[len] = '\0';
                seen.len = 0;
                LOG(DSQL_F("v", (const char *)text), DSQL_F("w", ends[e]), DSQL_F("n", len),
                    DSQL_F("last", "two words"));
                assert_true(seen.len <= DSQL_LOG_LINE_MAX);
                assert_logfmt(seen.text);
                assert_null(strstr(seen.text, "abc"));
                bool whole = strstr(seen.text, "last=\"two words\"\n") != NULL;
                assert_int_equal(strcmp(seen.text + seen.len - 4, "...\n") == 0, !whole);
            }
        }
    }
}

TEST(the_process_log_can_be_redirected)
{
    dsql_log_set_sink(collect, &seen);
    dsql_log(dsql_log_default(), DSQL_EVENT_CONFIG_ADJUSTED, DSQL_F("i", 1));
    assert_int_equal(seen.lines, 1);
    dsql_log_set_level_by_setting(DSQL_LOG_ERROR);
    dsql_log(dsql_log_default(), DSQL_EVENT_CONFIG_ADJUSTED, DSQL_F("i", 2));
    assert_int_equal(seen.lines, 1);
    dsql_log_set_level(DSQL_LOG_INFO);
    dsql_log_set_level_by_setting(DSQL_LOG_ERROR); /* too late: the program has spoken */
    dsql_log(dsql_log_default(), DSQL_EVENT_CONFIG_ADJUSTED, DSQL_F("i", 2));
    assert_int_equal(seen.lines, 2);
    dsql_log_set_level(DSQL_LOG_ERROR);
    dsql_log(dsql_log_default(), DSQL_EVENT_CONFIG_ADJUSTED, DSQL_F("i", 3));
    assert_int_equal(seen.lines, 2);
    dsql_log_set_level(DSQL_LOG_INFO);
    dsql_log_set_sink(NULL, NULL);
}

/*
 * The C library's write() as the logger sees it: standard error may be told to do what a test
 * wants.
 */
static struct {
    bool on;
    size_t at_most;  /* bytes of one call; 0 for none, which is not an error */
    int interrupted; /* how many calls first fail with EINTR */
    int failing;     /* errno of all calls; 0 for none */
    int calls;
} wish;

ssize_t write(int fd, const void *bytes, size_t len)
{
    if (fd == STDERR_FILENO && wish.on) {
        assert_true(++wish.calls < 10000);
        int error = wish.interrupted-- > 0 ? EINTR : wish.failing;
        if (error) {
            errno = error;
            return -1;
        }
        len = len < wish.at_most ? len : wish.at_most;
        if (len == 0)
            return 0; /* errno stays what it was */
    }
    return syscall(SYS_write, fd, bytes, len);
}

static int kept_stderr;

/* Standard error goes into a pipe; answers the end to read from. */
static int redirect_stderr(void)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    kept_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    assert_true(kept_stderr >= 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    memset(&wish, 0, sizeof(wish));
    return ends[0];
}

static void restore_stderr(void)
{
    wish.on = false;
    assert_int_equal(dup2(kept_stderr, STDERR_FILENO), STDERR_FILENO);
    close(kept_stderr);
}

/* Logs one line while standard error behaves as wished; `expected` arrives in so many calls. */
static void assert_arrives(size_t at_most, int interrupted, int failing, const char *expected,
                           int calls)
{
    int from = redirect_stderr();
    dsql_log_init(&log_under_test, &manual.clock, NULL, NULL);
    wish.on = true;
    wish.at_most = at_most;
    wish.interrupted = interrupted;
    wish.failing = failing;
    errno = ERANGE;
    LOG(DSQL_F("text", "hello world"));
    int left = errno;
    restore_stderr();
    char got[256];
    ssize_t n = read(from, got, sizeof(got) - 1); /* the write end is closed: it does not wait */
    close(from);
    assert_true(n >= 0);
    got[n] = '\0';
    assert_string_equal(got, expected);
    assert_int_equal(wish.calls, calls);
    assert_int_equal(left, ERANGE);
}

#define HELLO "ts=2026-11-16T09:00:00.123Z level=warn event=config.adjusted text=\"hello world\"\n"

TEST(the_default_sink_writes_to_standard_error)
{
    assert_arrives(SIZE_MAX, 0, 0, HELLO, 1); /* one line, one write */
    assert_arrives(sizeof(HELLO) / 2, 0, 0, HELLO, 2);
    assert_arrives(1, 0, 0, HELLO, sizeof(HELLO) - 1);
    assert_arrives(SIZE_MAX, 3, 0, HELLO, 4);
    assert_arrives(0, 0, 0, "", 1);
    assert_arrives(0, 1, 0, "", 2);
    assert_arrives(SIZE_MAX, 0, EIO, "", 1);
    assert_arrives(SIZE_MAX, 0, EAGAIN, "", 1);
}

enum { FINE = 0, PENDING = 1, MASK_CHANGED = 2, ERRNO_CHANGED = 3 };

/* In a child: logs twice to a pipe that nobody reads, with SIGPIPE blocked and waiting or not. */
static int log_to_nobody(bool waiting)
{
    sigset_t broken_pipe, mask, pending;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    signal(SIGPIPE, SIG_DFL);
    if (waiting) {
        sigprocmask(SIG_BLOCK, &broken_pipe, NULL);
        raise(SIGPIPE);
    }
    close(redirect_stderr());
    dsql_log_init(&log_under_test, &manual.clock, NULL, NULL);
    errno = ERANGE;
    LOG(DSQL_F("i", 1));
    LOG(DSQL_F("i", 2));
    if (errno != ERANGE)
        return ERRNO_CHANGED;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    if (sigismember(&mask, SIGPIPE) != waiting)
        return MASK_CHANGED;
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) != waiting ? PENDING : FINE;
}

TEST(a_standard_error_that_nobody_reads_does_no_harm)
{
    for (int waiting = 0; waiting < 2; waiting++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(log_to_nobody(waiting));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status)); /* not killed by SIGPIPE */
        assert_int_equal(WEXITSTATUS(status), FINE);
    }
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
        cmocka_unit_test_setup(every_plain_type_is_a_field, set_up),
        cmocka_unit_test_setup(a_line_needs_no_fields, set_up),
        cmocka_unit_test_setup(odd_bytes_are_escaped, set_up),
        cmocka_unit_test_setup(signatures_and_session_tokens_are_masked, set_up),
        cmocka_unit_test_setup(an_event_is_limited_and_counts_what_it_dropped, set_up),
        cmocka_unit_test_setup(what_is_said_at_the_start_is_not_limited, set_up),
        cmocka_unit_test_setup(levels_drop_lines, set_up),
        cmocka_unit_test_setup(long_lines_are_cut_and_end, set_up),
        cmocka_unit_test_setup(a_cut_line_is_still_logfmt, set_up),
        cmocka_unit_test_setup(the_default_sink_writes_to_standard_error, set_up),
        cmocka_unit_test_setup(a_standard_error_that_nobody_reads_does_no_harm, set_up),
        cmocka_unit_test_setup(the_process_log_can_be_redirected, set_up),
        cmocka_unit_test(every_event_is_named_once_and_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
