/* `dsql local`: Aurora DSQL on your desk. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/local_run.h"

enum { DEFAULT_PORT = 15432 };

/* Writes the file whole or not at all: a program that waits for it may read it at once. */
static enum dsql_rc write_file(const char *path, struct dsql_span text, struct dsql_err *err)
{
    char draft[512];
    int len = snprintf(draft, sizeof(draft), "%s.new", path);
    bool fits = len > 0 && (size_t)len < sizeof(draft);
    if (fits)
        (void)unlink(draft); /* of an earlier start; a link that was put there is not followed */
    int fd = fits ? open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    bool ok = fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len;
    ok = fd >= 0 && close(fd) == 0 && ok && rename(draft, path) == 0;
    return ok ? DSQL_OK
              : dsql_err_set(err, DSQL_IO, "can't write %.200s: %s", path, strerror(errno));
}

/* A file that can't be written is found out before PostgreSQL is started. */
static enum dsql_rc check_ready_file(const char *path, struct dsql_err *err)
{
    struct stat st;
    if (!path)
        return DSQL_OK;
    if (path[0] == '\0' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return dsql_err_set(err, DSQL_INVALID, "--ready-file=%s is no file", path);
    /* Under another name: a program that waits for the file must not find an empty one. */
    char trial[PATH_MAX];
    int len = snprintf(trial, sizeof(trial), "%s.trial", path);
    if (len < 0 || (size_t)len >= sizeof(trial))
        return dsql_err_set(err, DSQL_INVALID, "the name of the ready file is too long");
    enum dsql_rc rc = write_file(trial, DSQL_SPAN(""), err);
    if (rc)
        return rc;
    (void)unlink(trial);
    (void)unlink(path); /* of an earlier start */
    return DSQL_OK;
}

/* Where it is, the file to source, and what the file of hosts needs, if it has not got it. */
static void say_hello(const struct dsql_local *local, const char *env_file)
{
    char quoted[2 * DSQL_LOCAL_PATH_MAX];
    struct dsql_strbuf word;
    dsql_strbuf_init(&word, quoted, sizeof(quoted));
    dsql_local_add_quoted(&word, dsql_span_of(env_file));
    printf("dsql local: ready at %s and localhost, port %u, region %s\n"
           "\n"
           "    . %s      # PGHOST, PGPORT, PGPASSWORD, CLUSTER_ENDPOINT, AWS_* and so on\n"
           "    psql -c 'select 1'\n"
           "    dsql local fault list      # over %s\n",
           local->options.host, (unsigned)local->options.port, local->options.region, word.ptr,
           local->control.path);
    if (!dsql_hosts_have_here(local->options.host))
        printf(
            "\n"
            "For Java and for AWS's connectors, which want a cluster's name, once in /etc/hosts:\n"
            "\n"
            "    127.0.0.1 %s\n"
            "\n"
            "libpq and what is built on it finds it without that: PGHOSTADDR is 127.0.0.1.\n",
            local->options.host);
    printf("\nCtrl-C ends it.\n");
    (void)fflush(stdout);
}

static enum dsql_rc announce(const struct dsql_local *local, const char *ready_file,
                             struct dsql_err *err)
{
    static char memory[DSQL_LOCAL_ENV_MAX], exports_memory[DSQL_LOCAL_ENV_MAX];
    char path[DSQL_LOCAL_PATH_MAX];
    struct dsql_strbuf env, exports;
    dsql_strbuf_init(&env, memory, sizeof(memory));
    dsql_strbuf_init(&exports, exports_memory, sizeof(exports_memory));
    enum dsql_rc rc = dsql_local_env(local, &env, err);
    if (!rc) {
        dsql_local_env_write_here(&exports, dsql_strbuf_span(&env), DSQL_ENV_SHELL);
        if (exports.cut)
            rc = dsql_err_set(err, DSQL_INVALID, "the environment is longer than %d bytes",
                              DSQL_LOCAL_ENV_MAX);
    }
    if (!rc) {
        dsql_folder_path(&local->folder, "env", &path);
        rc = dsql_folder_write(&local->folder, "env", 0600, dsql_strbuf_span(&exports), err);
    }
    if (!rc && ready_file)
        rc = write_file(ready_file, dsql_strbuf_span(&exports), err);
    explicit_bzero(memory, sizeof(memory));
    explicit_bzero(exports_memory, sizeof(exports_memory));
    if (rc)
        return rc;
    say_hello(local, path);
    return DSQL_OK;
}

static void say_goodbye(struct dsql_local *local)
{
    dsql_front_report(&local->front, true);
    dsql_log(dsql_log_default(), DSQL_EVENT_LOCAL_STOPPED,
             DSQL_F("endpoint", (const char *)local->options.host));
}

static int run_local(const struct dsql_args *args)
{
    struct dsql_local_options options = {0};
    struct dsql_local local;
    struct dsql_err err;
    enum dsql_rc rc = dsql_local_read_options(args, DEFAULT_PORT, &options, &err);
    if (!rc)
        rc = check_ready_file(dsql_args_get(args, "ready-file"), &err);
    if (rc) {
        dsql_local_options_fini(&options);
        return dsql_complain(&err);
    }
    dsql_local_prepare();
    fprintf(stderr, "dsql local: starting PostgreSQL\n");
    rc = dsql_local_start(&local, &options, dsql_args_get(args, "data"), dsql_log_default(), &err);
    if (rc)
        return dsql_complain(&err);
    dsql_log(dsql_log_default(), DSQL_EVENT_LOCAL_READY,
             DSQL_F("endpoint", (const char *)local.options.host),
             DSQL_F("port", (int)local.options.port));
    rc = announce(&local, dsql_args_get(args, "ready-file"), &err);
    if (!rc)
        rc = dsql_local_serve(&local, dsql_args_get(args, "metrics"), 0, NULL, &err);
    say_goodbye(&local);
    dsql_local_stop(&local);
    return rc ? dsql_complain(&err) : DSQL_EXIT_OK;
}

/* What the service learned, and when, for the manual. */
static void print_dialects(FILE *out)
{
    fprintf(out, "Dialects: with --dialect, what the service learned later is refused.\n");
    for (size_t i = 0; i < DSQL_SQL_FEATURE_COUNT; i++) {
        const struct dsql_sql_feature_info *info = &dsql_sql_features[i];
        fprintf(out, "  %d-%02d-%02d\n      %s\n", info->since / 10000, info->since / 100 % 100,
                info->since % 100, info->doc);
    }
}

static const struct dsql_option local_options[] = {
    DSQL_LOCAL_OPTIONS("port on 127.0.0.1 (15432); 0 for any"),
    {"data", 0, "DIR",
     "keep the data in DIR, made if it is not there; without it, it goes at the end"},
    {"ready-file", 0, "FILE", "write the environment to FILE when the endpoint takes connections"},
};

const struct dsql_command dsql_cmd_local = {
    .name = "local",
    .summary = "run an Aurora DSQL endpoint on this machine",
    .text =
        "Starts a private PostgreSQL and, in front of it, an endpoint on 127.0.0.1 that enforces "
        "Aurora DSQL's rules: TLS with SNI, IAM tokens, connection limits and lifetimes, refused "
        "statements, no waiting for row locks and conflicts at COMMIT, with the service's own error "
        "codes and texts. Runs until SIGINT or SIGTERM. docs/local-fidelity.md says what is as on "
        "the service and what is not.\n"
        "\n"
        "The keys that tokens are signed with are made up at each start, or at the first one with --data; they, and everything else a "
        "client needs, are in the file that is printed.\n"
        "\n"
        "    dsql local --data /var/tmp/dsql\n"
        "    dsql local --port 0 --lifetime 5m --fault message-latency=1ms",
    DSQL_COMMAND_OPTIONS(local_options),
    .reference = print_dialects,
    .log_level = "info",
    .run = run_local,
};
