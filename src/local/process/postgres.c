#include "local/process/postgres.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "local/process/cluster.h"
#include "local/process/first_sql.h"
#include "local/process/module_file.h"
#include "pgwire/backend.h"
#include "pgwire/put_frontend.h"

enum { ARGS_MAX = 64 };

#define START_LIMIT_NS (10 * DSQL_M) /* it may have a crash to recover from, on a busy machine */
#define STOP_LIMIT_NS  (10 * DSQL_S)

/* Whether the socket's other end is our PostgreSQL: the folder that its name is in belongs to
 * PostgreSQL's user, who could put another socket or a link there. */
static bool is_ours(const struct dsql_postgres *pg, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid == pg->pid;
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
    if (fd >= 0 && (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
                    !is_ours(pg, fd))) {
        close(fd);
        return -1;
    }
    return fd;
}

void dsql_postgres_put_hello(const struct dsql_postgres *pg, struct dsql_strbuf *out)
{
    const struct dsql_pg_param hello[] = {{{"user", 4}, DSQL_SPAN(DSQL_LOCAL_SUPERUSER)},
                                          {{"database", 8}, {"postgres", 8}},
                                          {{"search_path", 11}, {"pg_catalog", 10}},
                                          dsql_local_secret_param(&pg->secrets.own)};
    dsql_pg_put_startup(out, hello, DSQL_COUNT_OF(hello));
}

/* Whether it lets us in: while it is starting up it answers with an error. */
static bool is_ready(const struct dsql_postgres *pg)
{
    char memory[256], answer = 0;
    struct dsql_strbuf out;
    dsql_strbuf_init(&out, memory, sizeof(memory));
    dsql_postgres_put_hello(pg, &out);
    int fd = dsql_postgres_connect(pg, false);
    /* One that accepts and stands still must not keep us past the limit. */
    const struct timeval limit = {.tv_sec = 1};
    bool ready = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
                 write(fd, out.ptr, out.len) == (ssize_t)out.len && read(fd, &answer, 1) == 1 &&
                 answer == DSQL_PG_BE_AUTHENTICATION;
    if (fd >= 0)
        close(fd);
    explicit_bzero(memory, sizeof(memory));
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
    struct dsql_mono end = dsql_mono_add(dsql_clock_mono(pg->clock), START_LIMIT_NS);
    while (!is_ready(pg)) {
        if (has_ended(pg))
            return dsql_program_failed(&pg->programs, "starting PostgreSQL", err);
        if (dsql_mono_before(end, dsql_clock_mono(pg->clock)))
            return dsql_program_failed(&pg->programs, "waiting for PostgreSQL", err);
        dsql_clock_sleep(pg->clock, 10 * DSQL_MS);
    }
    return DSQL_OK;
}

static enum dsql_rc launch(struct dsql_postgres *pg, const struct dsql_sql_limits *limits,
                           struct dsql_err *err)
{
    const struct dsql_folder *folder = pg->programs.folder;
    struct dsql_cluster_settings shared;
    char sockets[DSQL_LOCAL_PATH_MAX + 32], rows[48], size[48];
    (void)snprintf(sockets, sizeof(sockets), "unix_socket_directories=%s/run", folder->path);
    (void)snprintf(rows, sizeof(rows), "dsql.row_limit=%" PRIu64, limits->rows);
    (void)snprintf(size, sizeof(size), "dsql.size_limit=%" PRIu64, limits->bytes >> 20);
    const char *args[ARGS_MAX] = {"postgres", "-D", pg->data, "-c", sockets,
                                  "-c",       rows, "-c",     size};
    static const char *const always[] = {
        "listen_addresses=",
        "unix_socket_permissions=0700",
        "max_connections=1000",
        "default_transaction_isolation=repeatable read",
        "TimeZone=UTC",
        "log_min_messages=fatal",
        "shared_buffers=128MB",
        ("default_table_access_method=" DSQL_LOCAL_TABLE_METHOD),
        /* autovacuum gives way to DDL after this */
        "deadlock_timeout=10ms",
    };
    static const char *const when_throwaway[] = {"fsync=off", "synchronous_commit=off",
                                                 "full_page_writes=off"};
    size_t n = 9;
    dsql_cluster_settings_init(&shared, folder);
    for (size_t i = 0; i < DSQL_CLUSTER_SETTINGS; i++) {
        args[n++] = "-c";
        args[n++] = shared.all[i];
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(always); i++) {
        args[n++] = "-c";
        args[n++] = always[i];
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(when_throwaway) && folder->throwaway; i++) {
        args[n++] = "-c";
        args[n++] = when_throwaway[i];
    }
    assert(n < ARGS_MAX);
    int secrets = dsql_local_secrets_pipe(&pg->secrets);
    if (secrets < 0)
        return dsql_err_set(err, DSQL_IO, "no pipe: %s", strerror(errno));
    pg->pid = dsql_program_start(&pg->programs, DSQL_KERNEL_WALL_SERVER, args, secrets, err);
    close(secrets);
    return pg->pid > 0 ? DSQL_OK : DSQL_IO;
}

enum dsql_rc dsql_postgres_start(struct dsql_postgres *pg, const struct dsql_folder *folder,
                                 bool no_wall, const struct dsql_sql_limits *limits,
                                 const struct dsql_clock *clock, struct dsql_err *err)
{
    bool made;
    *pg = (struct dsql_postgres){.clock = clock};
    dsql_folder_path(folder, "pg", &pg->data);
    dsql_folder_path(folder, "run/.s.PGSQL.5432", &pg->socket);
    enum dsql_rc rc = dsql_programs_find(&pg->programs, folder, no_wall, err);
    if (!rc)
        rc = dsql_local_secrets_make(&pg->secrets, err);
    if (!rc)
        rc = dsql_folder_sub(folder, "run", &made, err);
    if (!rc)
        rc = dsql_module_write(folder, err);
    if (!rc)
        rc = dsql_cluster_make(&pg->programs, pg->data, clock, err);
    if (rc)
        return rc;
    for (int attempt = 0; attempt < DSQL_CLUSTER_ATTEMPTS; attempt++) {
        rc = launch(pg, limits, err);
        if (!rc)
            rc = wait_until_ready(pg, err);
        if (!rc || pg->pid > 0)
            break;
        dsql_clock_sleep(clock, DSQL_CLUSTER_PAUSE_NS);
    }
    if (rc)
        dsql_postgres_stop(pg);
    return rc;
}

void dsql_postgres_stop(struct dsql_postgres *pg)
{
    struct dsql_mono end = {0};
    if (pg->pid > 0) {
        end = dsql_mono_add(dsql_clock_mono(pg->clock), STOP_LIMIT_NS);
        (void)kill(pg->pid, SIGINT); /* fast shutdown: sessions end, data is whole */
    }
    while (pg->pid > 0 && !has_ended(pg)) {
        if (dsql_mono_before(end, dsql_clock_mono(pg->clock)))
            (void)kill(pg->pid, SIGQUIT);
        dsql_clock_sleep(pg->clock, 5 * DSQL_MS);
    }
    dsql_local_secrets_fini(&pg->secrets);
}
