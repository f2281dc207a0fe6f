/* Commands that answer, fail, print too much or hang. */
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "aws/process.h"
#include "base/time.h"
#include "support/test.h"

TEST(outcomes)
{
    static const struct {
        const char *command;
        enum dsql_rc rc;
        const char *out;
    } cases[] = {
        {"echo one; echo two", DSQL_OK, "one\ntwo\n"},
        {"cat; echo $((6 * 7))", DSQL_OK, "42\n"}, /* nothing to read */
        {"exec >&-; exit 0", DSQL_OK, ""},
        {"echo part; exit 1", DSQL_DENIED, "part\n"},
        {"no-such-command-here 2>/dev/null", DSQL_DENIED, ""},
        {"head -c 5000 /dev/zero", DSQL_LIMIT, NULL},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        STRBUF(out, 4096);
        struct dsql_err err = {0};
        enum dsql_rc rc =
            dsql_process_run(cases[i].command, &dsql_clock_system, DSQL_M, -1, &out, &err);
        if (rc != cases[i].rc || (cases[i].out && strcmp(out.ptr, cases[i].out) != 0))
            fail_msg("%s: %s: %s", cases[i].command, dsql_rc_name(rc), err.message);
    }
}

/* Gone, or a zombie that only waits for its parent. */
static bool is_dead(long pid)
{
    char path[64], line[256] = "";
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, path, sizeof(path));
    dsql_strbuf_addf(&sb, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    bool read = fgets(line, sizeof(line), file) != NULL;
    (void)fclose(file);
    return !read || strstr(line, ") Z ") != NULL || strstr(line, ") X ") != NULL;
}

/* The command prints the number of a child of its own and goes on. */
static void check_killed(const struct dsql_strbuf *out)
{
    int64_t pid;
    if (!dsql_span_to_i64(dsql_span_trim(dsql_strbuf_span(out)), &pid))
        return; /* killed before it got so far */
    for (int i = 0; i < 60000 && !is_dead((long)pid); i++)
        (void)usleep(10000);
    assert_true(is_dead((long)pid));
}

TEST(children_are_killed_when_the_time_is_over)
{
    for (int64_t limit_ns = 200 * DSQL_MS;; limit_ns *= 2) {
        STRBUF(out, 100);
        assert_int_equal(dsql_process_run("sleep 1000 & echo $!; sleep 1000", &dsql_clock_system,
                                          limit_ns, -1, &out, NULL),
                         DSQL_TIMEOUT);
        check_killed(&out);
        if (out.len > 0 || limit_ns > 30 * DSQL_S)
            break; /* it got as far as to have a child */
    }
}

TEST(a_command_that_closed_its_output_but_goes_on_is_killed)
{
    STRBUF(out, 100);
    assert_int_equal(dsql_process_run("exec >&-; exec sleep 1000", &dsql_clock_system,
                                      100 * DSQL_MS, -1, &out, NULL),
                     DSQL_TIMEOUT);
}

TEST(a_command_can_be_cancelled)
{
    STRBUF(out, 100);
    int fd = eventfd(1, EFD_CLOEXEC);
    assert_int_equal(dsql_process_run("sleep 1000 & echo $!; sleep 1000", &dsql_clock_system,
                                      DSQL_H, fd, &out, NULL),
                     DSQL_CANCELLED);
    check_killed(&out);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes),
        cmocka_unit_test(children_are_killed_when_the_time_is_over),
        cmocka_unit_test(a_command_that_closed_its_output_but_goes_on_is_killed),
        cmocka_unit_test(a_command_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
