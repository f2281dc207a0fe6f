#include "local/process/program.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/shown.h"

enum { ARGS_MAX = 64 };

#define LOG_FILE "postgres.log"

/* Debian keeps each version's programs apart. */
enum dsql_rc dsql_programs_find(struct dsql_programs *programs, const struct dsql_folder *folder,
                                bool no_wall, struct dsql_err *err)
{
    static const char *const patterns[] = {"/usr/lib/postgresql/15/bin",
                                           "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
                                           "/usr/local/pgsql/bin"};
    *programs = (struct dsql_programs){.folder = folder, .wall = dsql_kernel_wall_find(no_wall)};
    enum dsql_rc rc = DSQL_NOT_FOUND;
    for (size_t i = 0; i < DSQL_COUNT_OF(patterns) && rc; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) == 0) {
            char program[DSQL_LOCAL_PATH_MAX];
            const char *bin = found.gl_pathv[found.gl_pathc - 1];
            int len = snprintf(program, sizeof(program), "%s/initdb", bin);
            if (len > 0 && (size_t)len < sizeof(program) && access(program, X_OK) == 0) {
                (void)snprintf(programs->bin, sizeof(programs->bin), "%s", bin);
                rc = DSQL_OK;
            }
        }
        globfree(&found);
    }
    if (rc) {
        (void)dsql_err_set(err, DSQL_NOT_FOUND, "no PostgreSQL server found");
        dsql_err_hint(err, "install the Debian package postgresql-15");
    }
    return rc;
}

/* In the child: becomes the program, with our death as its own. */
__attribute__((noreturn)) static void become(const struct dsql_programs *programs,
                                             enum dsql_kernel_wall_kind kind, pid_t parent,
                                             const char *const *args, int in, int log)
{
    char program[2 * DSQL_LOCAL_PATH_MAX];
    const char *argv[ARGS_MAX + 1] = {program}; /* by which they find each other */
    (void)snprintf(program, sizeof(program), "%s/%s", programs->bin, args[0]);
    for (size_t i = 1; i < ARGS_MAX && args[i]; i++)
        argv[i] = args[i];
    bool ok = dup2(log, STDERR_FILENO) >= 0 && dsql_local_user_become(&programs->folder->user);
    /* After the change of user, which would clear it. SIGQUIT is PostgreSQL's immediate shutdown.
     */
    ok = ok && prctl(PR_SET_PDEATHSIG, SIGQUIT) == 0 && getppid() == parent;
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC); /* for prompts and progress */
    ok = ok && dup2(in, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0;
    ok = ok && setpgid(0, 0) == 0 && chdir("/") == 0; /* Ctrl-C is for us: we stop it in order */
    if (ok && !dsql_kernel_wall_enter(&programs->wall, kind, programs->folder, programs->bin)) {
        (void)dprintf(STDERR_FILENO, "the wall can't be put up: %s\n", strerror(errno));
        ok = false;
    }
    if (ok) {
        sigset_t none;
        /* Nothing of the caller's environment: a PGPORT would move the socket. */
        static char path[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C";
        char *const env[] = {path, locale, NULL};
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        /* Nor what our caller has left open: the wall does not ask who opened a file. */
        (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
        execve(program, (char *const *)(const void *)argv, env);
        (void)dprintf(STDERR_FILENO, "can't run %s: %s\n", program, strerror(errno));
    }
    _exit(127);
}

pid_t dsql_program_start(const struct dsql_programs *programs, enum dsql_kernel_wall_kind kind,
                         const char *const *args, int in, struct dsql_err *err)
{
    int log = dsql_folder_append(programs->folder, LOG_FILE);
    pid_t parent = getpid(), pid = log >= 0 ? fork() : -1;
    if (pid == 0)
        become(programs, kind, parent, args, in, log);
    if (pid < 0)
        (void)dsql_err_set(err, DSQL_IO, "can't start %.100s: %s", args[0], strerror(errno));
    if (log >= 0)
        close(log);
    return pid > 0 ? pid : 0;
}

/* The last line of the log: a folder made for one run goes, and the log with it. */
static void last_words(const struct dsql_programs *programs, char *out, size_t cap)
{
    char tail[512];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, out, cap);
    int fd = dsql_folder_append(programs->folder, LOG_FILE);
    if (fd < 0)
        return;
    off_t end = lseek(fd, 0, SEEK_END);
    ssize_t got =
        pread(fd, tail, sizeof(tail), end > (off_t)sizeof(tail) ? end - (off_t)sizeof(tail) : 0);
    close(fd);
    struct dsql_span line = dsql_span_trim((struct dsql_span){tail, got > 0 ? (size_t)got : 0});
    for (struct dsql_span rest = line; dsql_span_cut(rest, '\n', &line, &rest);)
        line = rest;
    dsql_strbuf_add_str(&sb, dsql_shown(line).text);
}

enum dsql_rc dsql_program_failed(const struct dsql_programs *programs, const char *what,
                                 struct dsql_err *err)
{
    char words[200] = "";
    last_words(programs, words, sizeof(words));
    (void)dsql_err_set(err, DSQL_IO, "%s failed: %s", what, words[0] ? words : "it said nothing");
    dsql_err_hint(err, "with --data that was there before, the log stays: %.200s/" LOG_FILE,
                  programs->folder->path);
    return DSQL_IO;
}

enum dsql_rc dsql_program_run(const struct dsql_programs *programs, enum dsql_kernel_wall_kind kind,
                              const char *const *args, const char *text, struct dsql_err *err)
{
    int pipe_fds[2], status = 0;
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return dsql_err_set(err, DSQL_IO, "no pipe: %s", strerror(errno));
    pid_t pid = dsql_program_start(programs, kind, args, pipe_fds[0], err);
    close(pipe_fds[0]);
    assert(strlen(text) < 65536); /* what a pipe holds, so that this never waits */
    bool sent = pid > 0 && write(pipe_fds[1], text, strlen(text)) == (ssize_t)strlen(text);
    close(pipe_fds[1]);
    if (pid == 0)
        return DSQL_IO;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return sent && WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? DSQL_OK
               : dsql_program_failed(programs, args[0], err);
}
