#include "cli/up_local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/span.h"

enum { PATH_MAX_HERE = 160, FILE_MAX = 64 << 10, LOG_TAIL_MAX = 300 };

#define START_LIMIT_NS (2 * DSQL_M)
#define STOP_LIMIT_NS  (20 * DSQL_S)
#define TICK_NS        (20 * DSQL_MS)

/* Longer than the lives `dsql up` gives its connections: the pool is to be first. */
#define SERVER_LIFETIME "30s"

static void path_of(const struct dsql_up_local *local, const char *name,
                    char (*path)[PATH_MAX_HERE])
{
    (void)snprintf(*path, sizeof(*path), "%s/%s", local->folder, name);
}

static enum dsql_rc make_folder(struct dsql_up_local *local, struct dsql_err *err)
{
    const char *parent = getenv("TMPDIR");
    int len = snprintf(local->folder, sizeof(local->folder), "%s/dsql-up-XXXXXX",
                       parent && parent[0] ? parent : "/tmp");
    if (len > 0 && (size_t)len < sizeof(local->folder) && mkdtemp(local->folder))
        return DSQL_OK;
    local->folder[0] = '\0';
    (void)dsql_err_set(err, DSQL_IO, "can't make a temporary folder: %s", strerror(errno));
    dsql_err_hint(err, "set TMPDIR to a folder that can be written, with a short name");
    return DSQL_IO;
}

/* In the child. Its own process group: Ctrl-C is for us, and we end it in order. */
__attribute__((noreturn)) static void become_local(const struct dsql_up_local *local, pid_t parent)
{
    char log[PATH_MAX_HERE], ready[PATH_MAX_HERE];
    sigset_t none;
    path_of(local, "log", &log);
    path_of(local, "ready", &ready);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* the parent has ended before prctl() was called */
        _exit(1);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    int in = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(1);
    execl("/proc/self/exe", "dsql", "local", "--port", "0", "--lifetime", SERVER_LIFETIME,
          "--ready-file", ready, (char *)NULL);
    _exit(127);
}

/* A whole small file, terminated; its length, or -1. */
static ssize_t read_file(const char *path, char *memory, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, memory, cap - 1);
    close(fd);
    if (n >= 0)
        memory[n] = '\0';
    return n;
}

/* Lines `export NAME='value'`. */
static enum dsql_rc take_environment(const char *text, struct dsql_err *err)
{
    static const struct dsql_span prefix = {"export ", 7};
    struct dsql_span rest = dsql_span_of(text), line, name, value;
    while (rest.len > 0) {
        char name_text[64];
        dsql_span_cut(rest, '\n', &line, &rest);
        if (!dsql_span_starts(line, prefix) ||
            !dsql_span_cut(dsql_span_from(line, prefix.len), '=', &name, &value) || value.len < 2 ||
            name.len >= sizeof(name_text))
            continue;
        (void)snprintf(name_text, sizeof(name_text), "%.*s", DSQL_SPAN_ARG(name));
        char *copy = strndup(value.ptr + 1, value.len - 2);
        bool set = copy && setenv(name_text, copy, 1) == 0;
        if (copy)
            explicit_bzero(copy, value.len - 2);
        free(copy);
        if (!set)
            return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    return DSQL_OK;
}

static enum dsql_rc say_why_it_ended(const struct dsql_up_local *local, struct dsql_err *err)
{
    static char memory[FILE_MAX];
    char log[PATH_MAX_HERE];
    path_of(local, "log", &log);
    ssize_t n = read_file(log, memory, sizeof(memory));
    const char *tail = n <= 0 ? "" : n > LOG_TAIL_MAX ? memory + n - LOG_TAIL_MAX : memory;
    return dsql_err_set(err, DSQL_IO, "the local endpoint did not start: %s", tail);
}

static enum dsql_rc wait_until_ready(struct dsql_up_local *local, const sigset_t *stop,
                                     struct dsql_err *err)
{
    static char memory[FILE_MAX];
    char ready[PATH_MAX_HERE];
    const struct timespec tick = {.tv_nsec = TICK_NS};
    struct dsql_mono started = dsql_clock_mono(&dsql_clock_system);
    path_of(local, "ready", &ready);
    /* The endpoint creates the file before it writes it. */
    while (read_file(ready, memory, sizeof(memory)) <= 0) {
        if (waitpid(local->pid, NULL, WNOHANG) == local->pid) {
            local->pid = 0;
            return say_why_it_ended(local, err);
        }
        if (dsql_mono_since(dsql_clock_mono(&dsql_clock_system), started) > START_LIMIT_NS)
            return dsql_err_set(err, DSQL_TIMEOUT,
                                "the local endpoint is not ready after 2 minutes");
        if (sigtimedwait(stop, NULL, &tick) > 0)
            return dsql_err_set(err, DSQL_CANCELLED, "stopped before the local endpoint was ready");
    }
    enum dsql_rc rc = take_environment(memory, err);
    explicit_bzero(memory, sizeof(memory));
    return rc;
}

enum dsql_rc dsql_up_local_start(struct dsql_up_local *local, const sigset_t *stop,
                                 struct dsql_err *err)
{
    *local = (struct dsql_up_local){0};
    enum dsql_rc rc = make_folder(local, err);
    if (rc)
        return rc;
    pid_t parent = getpid();
    local->pid = fork();
    if (local->pid == 0)
        become_local(local, parent);
    if (local->pid < 0) {
        local->pid = 0;
        rc = dsql_err_set(err, DSQL_IO, "can't start a process: %s", strerror(errno));
    } else {
        rc = wait_until_ready(local, stop, err);
    }
    if (rc)
        dsql_up_local_stop(local);
    return rc;
}

/* SIGTERM, and SIGKILL for one that does not listen. */
static void end_child(pid_t pid)
{
    const struct timespec tick = {.tv_nsec = TICK_NS};
    struct dsql_mono asked = dsql_clock_mono(&dsql_clock_system);
    (void)kill(pid, SIGTERM);
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (dsql_mono_since(dsql_clock_mono(&dsql_clock_system), asked) > STOP_LIMIT_NS)
            (void)kill(pid, SIGKILL);
        (void)nanosleep(&tick, NULL);
    }
}

void dsql_up_local_stop(struct dsql_up_local *local)
{
    char path[PATH_MAX_HERE];
    static const char *const files[] = {"log", "ready", "ready.new"};
    if (local->pid > 0)
        end_child(local->pid);
    if (local->folder[0]) {
        for (size_t i = 0; i < DSQL_COUNT_OF(files); i++) {
            path_of(local, files[i], &path);
            (void)unlink(path);
        }
        (void)rmdir(local->folder);
    }
    *local = (struct dsql_up_local){0};
}
