#include "aws/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static enum dsql_rc fail(const char *what, int error, struct dsql_err *err)
{
    char reason[128];
    return dsql_err_set(err, DSQL_IO, "%s: %s", what, strerror_r(error, reason, sizeof(reason)));
}

/* Our thread may block signals; a command expects the usual ones. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, usual;
    (void)sigemptyset(&none);
    (void)sigemptyset(&usual);
    (void)sigaddset(&usual, SIGPIPE);
    (void)sigaddset(&usual, SIGINT);
    (void)sigaddset(&usual, SIGTERM);
    (void)sigaddset(&usual, SIGCHLD);
    int failed = posix_spawnattr_setpgroup(attributes, 0);
    failed = failed ? failed : posix_spawnattr_setsigmask(attributes, &none);
    failed = failed ? failed : posix_spawnattr_setsigdefault(attributes, &usual);
    return failed ? failed
                  : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP |
                                                             POSIX_SPAWN_SETSIGMASK |
                                                             POSIX_SPAWN_SETSIGDEF);
}

static int start(const char *command, int out_fd, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char shell[] = "sh", option[] = "-c";
    /* posix_spawn() takes words it may not change as if it might. */
    char *const words[] = {shell, option, (char *)(uintptr_t)command, NULL};
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (!failed) {
        failed = set_attributes(&attributes);
        failed = failed ? failed
                        : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                                           O_RDONLY, 0);
        failed =
            failed ? failed : posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
        failed =
            failed ? failed : posix_spawn(pid, "/bin/sh", &actions, &attributes, words, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Reads until the command closes its output. */
static enum dsql_rc collect(int fd, const struct dsql_clock *clock, struct dsql_mono end,
                            int cancel_fd, struct dsql_strbuf *out, struct dsql_err *err)
{
    char bytes[4096];
    enum dsql_rc rc = DSQL_OK;
    for (bool more = true; more && !rc;) {
        bool late = !dsql_mono_before(dsql_clock_mono(clock), end);
        struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = cancel_fd, .events = POLLIN}};
        int ready = dsql_clock_poll(clock, fds, 2, end);
        if (fds[1].revents) {
            rc = dsql_err_set(err, DSQL_CANCELLED, "stopped while the command ran");
        } else if (ready > 0) {
            ssize_t n = read(fd, bytes, sizeof(bytes));
            if (n > 0)
                dsql_strbuf_add(out, (struct dsql_span){bytes, (size_t)n});
            more = n > 0 || (n < 0 && errno == EINTR);
            if (out->cut)
                rc = dsql_err_set(err, DSQL_LIMIT, "the command printed too much");
        } else if (late) {
            rc = dsql_err_set(err, DSQL_TIMEOUT, "the command did not end in time");
        }
    }
    explicit_bzero(bytes, sizeof(bytes));
    return rc;
}

/* A command that has closed its output should end at once; it gets the time that is left. */
static enum dsql_rc wait_for(pid_t pid, const struct dsql_clock *clock, struct dsql_mono end,
                             int cancel_fd, int *status, struct dsql_err *err)
{
    for (;;) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid)
            return DSQL_OK;
        if (ended < 0 && errno != EINTR) { /* the program ignores SIGCHLD: the status is lost */
            *status = 0;
            return DSQL_OK;
        }
        struct dsql_mono now = dsql_clock_mono(clock);
        if (!dsql_mono_before(now, end))
            return dsql_err_set(err, DSQL_TIMEOUT, "the command did not end in time");
        struct pollfd cancel = {.fd = cancel_fd, .events = POLLIN};
        if (dsql_clock_poll(clock, &cancel, 1, dsql_mono_add(now, 5 * DSQL_MS)) > 0)
            return dsql_err_set(err, DSQL_CANCELLED, "stopped while the command ran");
    }
}

enum dsql_rc dsql_process_run(const char *command, const struct dsql_clock *clock,
                              int64_t timeout_ns, int cancel_fd, struct dsql_strbuf *out,
                              struct dsql_err *err)
{
    struct dsql_mono end = dsql_mono_add(dsql_clock_mono(clock), timeout_ns);
    int fds[2], status = 0;
    pid_t pid;
    if (pipe2(fds, O_CLOEXEC))
        return fail("no pipe for the command", errno, err);
    int failed = start(command, fds[1], &pid);
    (void)close(fds[1]);
    if (failed) {
        (void)close(fds[0]);
        return fail("the command can't be started", failed, err);
    }
    enum dsql_rc rc = collect(fds[0], clock, end, cancel_fd, out, err);
    (void)close(fds[0]);
    if (!rc)
        rc = wait_for(pid, clock, end, cancel_fd, &status, err);
    if (rc) {
        /* Not reaped yet, so the number is still this group's. */
        (void)kill(-pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        return rc;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return DSQL_OK;
    (void)dsql_err_set(err, DSQL_DENIED, "the command ended with %s %d",
                       WIFEXITED(status) ? "status" : "signal",
                       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    dsql_err_hint(err, "run it by hand; what it said is in this program's standard error");
    return DSQL_DENIED;
}
