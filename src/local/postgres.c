#include "local/postgres.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/sha.h>

#include "base/clock.h"
#include "base/shown.h"
#include "base/strbuf.h"
#include "local/first_sql.h"
#include "local/module_file.h"
#include "pgwire/backend.h"
#include "pgwire/put_frontend.h"

enum { ARGS_MAX = 64, LAUNCH_ATTEMPTS = 15 };

#define START_LIMIT_NS (60 * DSQL_S)
#define STOP_LIMIT_NS  (10 * DSQL_S)

static enum dsql_rc join(char (*out)[DSQL_LOCAL_PATH_MAX], const char *folder, const char *name,
                         struct dsql_err *err)
{
    int len = snprintf(*out, sizeof(*out), name[0] ? "%s/%s" : "%s%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof(*out))
        return dsql_err_set(err, DSQL_INVALID, "the path %.100s/%s is too long", folder, name);
    return DSQL_OK;
}

enum dsql_rc dsql_postgres_user(uid_t *uid, gid_t *gid, struct dsql_err *err)
{
    static const char *const names[] = {"postgres", "nobody"};
    *uid = getuid();
    *gid = getgid();
    if (*uid != 0)
        return DSQL_OK;
    for (size_t i = 0; i < DSQL_COUNT_OF(names); i++) {
        const struct passwd *entry = getpwnam(names[i]);
        if (entry && entry->pw_uid != 0) {
            *uid = entry->pw_uid;
            *gid = entry->pw_gid;
            return DSQL_OK;
        }
    }
    return dsql_err_set(
        err, DSQL_INVALID,
        "PostgreSQL refuses to run as root and there is no user postgres or nobody");
}

/* Debian keeps each version's programs apart. */
static enum dsql_rc find_programs(struct dsql_postgres *pg, struct dsql_err *err)
{
    static const char *const patterns[] = {"/usr/lib/postgresql/15/bin",
                                           "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
                                           "/usr/local/pgsql/bin"};
    enum dsql_rc rc = DSQL_NOT_FOUND;
    for (size_t i = 0; i < DSQL_COUNT_OF(patterns) && rc; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) == 0) {
            char program[DSQL_LOCAL_PATH_MAX];
            const char *bin = found.gl_pathv[found.gl_pathc - 1];
            if (!join(&program, bin, "initdb", err) && access(program, X_OK) == 0)
                rc = join(&pg->bin, bin, "", err);
        }
        globfree(&found);
    }
    if (rc) {
        (void)dsql_err_set(err, DSQL_NOT_FOUND, "no PostgreSQL server found");
        dsql_err_hint(err, "install the Debian package postgresql-15");
    }
    return rc;
}

/* In the child: becomes the program, as the unprivileged user, with our death as its own. */
__attribute__((noreturn)) static void become(const struct dsql_postgres *pg, pid_t parent,
                                             char *const *argv, int in, int out)
{
    bool ok = true;
    if (getuid() == 0)
        ok = setgroups(0, NULL) == 0 && setgid(pg->gid) == 0 && setuid(pg->uid) == 0;
    /* After the change of user, which would clear it. SIGQUIT is PostgreSQL's immediate shutdown.
     */
    ok = ok && prctl(PR_SET_PDEATHSIG, SIGQUIT) == 0 && getppid() == parent;
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC); /* for prompts and progress */
    ok = ok && dup2(in, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
         dup2(out, STDERR_FILENO) >= 0;
    ok = ok && setpgid(0, 0) == 0 && chdir("/") == 0; /* Ctrl-C is for us: we stop it in order */
    if (ok) {
        sigset_t none;
        /* Nothing of the caller's environment: a PGPORT would move the socket. */
        static char path[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C";
        char *const env[] = {path, locale, NULL};
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        execve(argv[0], argv, env);
    }
    _exit(127);
}

static pid_t spawn(const struct dsql_postgres *pg, const char *const *args, int in)
{
    int out = open(pg->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (out < 0)
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(pg, parent, (char *const *)(const void *)args, in, out);
    close(out);
    return pid;
}

/* The last line of the log: a folder made for one run goes, and the log with it. */
static void last_words(const struct dsql_postgres *pg, char *out, size_t cap)
{
    char tail[512];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, out, cap);
    int fd = open(pg->log, O_RDONLY | O_CLOEXEC);
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

static enum dsql_rc failed(const struct dsql_postgres *pg, const char *what, struct dsql_err *err)
{
    char words[200];
    last_words(pg, words, sizeof(words));
    (void)dsql_err_set(err, DSQL_IO, "%s failed: %s", what, words[0] ? words : "it said nothing");
    dsql_err_hint(err, "with --data that was there before, the log stays: %.200s", pg->log);
    return DSQL_IO;
}

/* Runs a program to its end, with text as its input. */
static enum dsql_rc run_program(const struct dsql_postgres *pg, const char *const *args,
                                const char *text, struct dsql_err *err)
{
    int pipe_fds[2], status = 0;
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return dsql_err_set(err, DSQL_IO, "no pipe: %s", strerror(errno));
    pid_t pid = spawn(pg, args, pipe_fds[0]);
    close(pipe_fds[0]);
    assert(strlen(text) < 65536); /* what a pipe holds, so that this never waits */
    bool sent = pid > 0 && write(pipe_fds[1], text, strlen(text)) == (ssize_t)strlen(text);
    close(pipe_fds[1]);
    if (pid <= 0)
        return dsql_err_set(err, DSQL_IO, "can't start %.100s: %s", args[0], strerror(errno));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return sent && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? DSQL_OK
                                                                 : failed(pg, args[0], err);
}

static const char preload[] = "shared_preload_libraries=" DSQL_MODULE_NAME;

/* Where PostgreSQL finds the module: the data folder may have moved since it was made. */
static void add_library_path(char *out, size_t cap, const char *folder)
{
    (void)snprintf(out, cap, "dynamic_library_path=%s:$libdir", folder);
}

/* The digest of the SQL that a cluster gets first. */
struct digest {
    char hex[2 * SHA256_DIGEST_LENGTH + 1];
};

static struct digest digest_of(const char *text)
{
    unsigned char bytes[SHA256_DIGEST_LENGTH];
    struct digest digest = {{0}};
    (void)SHA256((const unsigned char *)text, strlen(text), bytes);
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(digest.hex + 2 * i, 3, "%02x", bytes[i]);
    return digest;
}

/* Whether the file names the digest; *there: whether there is a file. */
static bool has_digest(const char *path, const struct digest *digest, bool *there)
{
    char text[sizeof(digest->hex)] = "";
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    *there = fd >= 0;
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    return got > 0 && strcmp(text, digest->hex) == 0;
}

static enum dsql_rc write_digest(const char *path, const struct digest *digest,
                                 struct dsql_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, digest->hex, sizeof(digest->hex) - 1) == sizeof(digest->hex) - 1;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    return ok ? DSQL_OK
              : dsql_err_set(err, DSQL_IO, "can't write %.200s: %s", path, strerror(errno));
}

static enum dsql_rc run_initdb(const struct dsql_postgres *pg, struct dsql_err *err)
{
    char initdb[DSQL_LOCAL_PATH_MAX];
    const char *const args[] = {
        initdb,         "-D",         pg->data,          "-U",        "dsql_super",
        "--auth=trust", "--locale=C", "--encoding=UTF8", "--no-sync", NULL};
    enum dsql_rc rc = join(&initdb, pg->bin, "initdb", err);
    return rc ? rc : run_program(pg, args, "", err);
}

/* The first statement that fails ends it, and its error is the last line of the log. */
static enum dsql_rc run_first_sql(const struct dsql_postgres *pg, const char *folder,
                                  struct dsql_err *err)
{
    char postgres[DSQL_LOCAL_PATH_MAX], library_path[DSQL_LOCAL_PATH_MAX + 32];
    static const char *const settings[] = {preload,
                                           "exit_on_error=on",
                                           "log_min_messages=fatal",
                                           "log_error_verbosity=terse",
                                           "log_checkpoints=off",
                                           "log_min_error_statement=panic"};
    const char *args[ARGS_MAX] = {postgres, "--single", "-j", "-D", pg->data, "-c", library_path};
    size_t n = 7;
    for (size_t i = 0; i < DSQL_COUNT_OF(settings); i++) {
        args[n++] = "-c";
        args[n++] = settings[i];
    }
    args[n] = "postgres";
    enum dsql_rc rc = join(&postgres, pg->bin, "postgres", err);
    add_library_path(library_path, sizeof(library_path), folder);
    return rc ? rc : run_program(pg, args, dsql_local_first_sql, err);
}

/* Makes the cluster if it is not there, and runs the first SQL if another text ran last. */
static enum dsql_rc init_cluster(struct dsql_postgres *pg, const char *folder, bool older,
                                 struct dsql_err *err)
{
    char path[DSQL_LOCAL_PATH_MAX];
    const struct digest digest = digest_of(dsql_local_first_sql);
    bool there, made = access(pg->data, F_OK) == 0;
    enum dsql_rc rc = join(&path, folder, "first_sql", err);
    if (rc || has_digest(path, &digest, &there))
        return rc;
    if (made && !there && !older) {
        (void)dsql_err_set(err, DSQL_INVALID, "%.200s was not made completely", pg->data);
        dsql_err_hint(err, "remove the folder and start again");
        return DSQL_INVALID;
    }
    if (!made)
        rc = run_initdb(pg, err);
    if (!rc)
        rc = run_first_sql(pg, folder, err);
    return rc ? rc : write_digest(path, &digest, err);
}

int dsql_postgres_connect(const struct dsql_postgres *pg, bool non_blocking)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct dsql_strbuf path;
    dsql_strbuf_init(&path, address.sun_path, sizeof(address.sun_path));
    dsql_strbuf_add_str(&path, pg->socket);
    if (path.cut)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (non_blocking ? SOCK_NONBLOCK : 0), 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Whether it lets us in: while it is starting up it answers with an error. */
static bool is_ready(const struct dsql_postgres *pg)
{
    static const struct dsql_pg_param hello[] = {{{"user", 4}, {"dsql_super", 10}},
                                                 {{"database", 8}, {"postgres", 8}}};
    char memory[64], answer = 0;
    struct dsql_strbuf out;
    dsql_strbuf_init(&out, memory, sizeof(memory));
    dsql_pg_put_startup(&out, hello, DSQL_COUNT_OF(hello));
    int fd = dsql_postgres_connect(pg, false);
    /* One that accepts and stands still must not keep us past the limit. */
    const struct timeval limit = {.tv_sec = 1};
    bool ready = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
                 write(fd, out.ptr, out.len) == (ssize_t)out.len && read(fd, &answer, 1) == 1 &&
                 answer == DSQL_PG_BE_AUTHENTICATION;
    if (fd >= 0)
        close(fd);
    return ready;
}

static bool has_ended(struct dsql_postgres *pg)
{
    if (waitpid(pg->pid, NULL, WNOHANG) == pg->pid)
        pg->pid = 0;
    return pg->pid == 0;
}

static enum dsql_rc wait_until_ready(struct dsql_postgres *pg, struct dsql_err *err)
{
    struct dsql_mono start = dsql_clock_mono(&dsql_clock_system);
    while (!is_ready(pg)) {
        if (has_ended(pg))
            return failed(pg, "starting PostgreSQL", err);
        if (dsql_mono_since(dsql_clock_mono(&dsql_clock_system), start) > START_LIMIT_NS)
            return failed(pg, "waiting for PostgreSQL", err);
        (void)usleep(10000);
    }
    return DSQL_OK;
}

static enum dsql_rc launch(struct dsql_postgres *pg, const char *folder, const char *socket_folder,
                           bool throwaway, const struct dsql_sql_limits *limits,
                           struct dsql_err *err)
{
    char postgres[DSQL_LOCAL_PATH_MAX], sockets[DSQL_LOCAL_PATH_MAX + 32];
    char library_path[DSQL_LOCAL_PATH_MAX + 32], rows[48], size[48];
    if (join(&postgres, pg->bin, "postgres", err))
        return DSQL_INVALID;
    (void)snprintf(sockets, sizeof(sockets), "unix_socket_directories=%s", socket_folder);
    add_library_path(library_path, sizeof(library_path), folder);
    (void)snprintf(rows, sizeof(rows), "dsql.row_limit=%" PRIu64, limits->rows);
    (void)snprintf(size, sizeof(size), "dsql.size_limit=%" PRIu64, limits->bytes >> 20);
    const char *args[ARGS_MAX] = {postgres,     "-D", pg->data, "-c", sockets, "-c",
                                  library_path, "-c", rows,     "-c", size};
    static const char *const always[] = {
        "listen_addresses=",
        "unix_socket_permissions=0700",
        "max_connections=1000",
        "default_transaction_isolation=repeatable read",
        "TimeZone=UTC",
        "log_min_messages=fatal",
        "shared_buffers=128MB",
        "autovacuum_naptime=10s",
        preload,
        "default_table_access_method=dsql",
        /* autovacuum gives way to DDL after this */
        "deadlock_timeout=10ms",
    };
    static const char *const when_throwaway[] = {"fsync=off", "synchronous_commit=off",
                                                 "full_page_writes=off"};
    size_t n = 11;
    for (size_t i = 0; i < DSQL_COUNT_OF(always); i++) {
        args[n++] = "-c";
        args[n++] = always[i];
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(when_throwaway) && throwaway; i++) {
        args[n++] = "-c";
        args[n++] = when_throwaway[i];
    }
    assert(n < ARGS_MAX);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pg->pid = spawn(pg, args, nothing);
    close(nothing);
    if (pg->pid > 0)
        return DSQL_OK;
    pg->pid = 0;
    return dsql_err_set(err, DSQL_IO, "can't start %.100s: %s", postgres, strerror(errno));
}

/* A folder of PostgreSQL's own user; it may be there already. */
static enum dsql_rc make_folder(const struct dsql_postgres *pg, const char *path,
                                struct dsql_err *err)
{
    if ((mkdir(path, 0700) != 0 && errno != EEXIST) ||
        (getuid() == 0 && chown(path, pg->uid, pg->gid) != 0))
        return dsql_err_set(err, DSQL_IO, "can't make %.200s: %s", path, strerror(errno));
    return DSQL_OK;
}

enum dsql_rc dsql_postgres_start(struct dsql_postgres *pg, const char *folder, bool throwaway,
                                 bool older, const struct dsql_sql_limits *limits,
                                 struct dsql_err *err)
{
    char sockets[DSQL_LOCAL_PATH_MAX];
    *pg = (struct dsql_postgres){0};
    if (strchr(folder, ':'))
        return dsql_err_set(err, DSQL_INVALID, "the path %.100s may not have a colon", folder);
    enum dsql_rc rc = dsql_postgres_user(&pg->uid, &pg->gid, err);
    if (!rc)
        rc = find_programs(pg, err);
    if (rc || (rc = join(&pg->data, folder, "pg", err)) ||
        (rc = join(&sockets, folder, "run", err)) ||
        (rc = join(&pg->socket, sockets, ".s.PGSQL.5432", err)) ||
        (rc = join(&pg->log, folder, "postgres.log", err)))
        return rc;
    /* The folder itself is handed over too: initdb makes its own inside. */
    if ((rc = make_folder(pg, folder, err)) || (rc = make_folder(pg, sockets, err)) ||
        (rc = dsql_module_write(folder, err)) || (rc = init_cluster(pg, folder, older, err)))
        return rc;
    /* After a kill the PostgreSQL of the last run may still be on its way out. */
    for (int attempt = 0; attempt < LAUNCH_ATTEMPTS; attempt++) {
        rc = launch(pg, folder, sockets, throwaway, limits, err);
        if (!rc)
            rc = wait_until_ready(pg, err);
        if (!rc || pg->pid > 0)
            break;
        (void)usleep(200000);
    }
    if (rc)
        dsql_postgres_stop(pg);
    return rc;
}

void dsql_postgres_stop(struct dsql_postgres *pg)
{
    struct dsql_mono start = dsql_clock_mono(&dsql_clock_system);
    if (pg->pid > 0)
        (void)kill(pg->pid, SIGINT); /* fast shutdown: sessions end, data is whole */
    while (pg->pid > 0 && !has_ended(pg)) {
        if (dsql_mono_since(dsql_clock_mono(&dsql_clock_system), start) > STOP_LIMIT_NS)
            (void)kill(pg->pid, SIGQUIT);
        (void)usleep(5000);
    }
}
