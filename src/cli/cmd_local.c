/* `dsql local` and `dsql local exec`: Aurora DSQL on your desk. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aws/endpoint.h"
#include "base/duration.h"
#include "base/shown.h"
#include "cli/commands.h"
#include "local/local.h"

enum { DEFAULT_PORT = 15432, ENV_MAX = 32 << 10 };

#define TURN_NS   (100 * DSQL_MS)
#define REPORT_NS DSQL_M

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

static void on_child(int number)
{
    (void)number; /* only to wake the loop */
}

static bool number_option(const struct dsql_args *args, const char *name, int64_t low, int64_t high,
                          int64_t *out, struct dsql_err *err)
{
    const char *text = dsql_args_get(args, name);
    int64_t value;
    if (!text)
        return true;
    if (!dsql_span_to_i64(dsql_span_of(text), &value) || value < low || value > high) {
        (void)dsql_err_set(err, DSQL_INVALID, "--%s=%s is no number from %lld to %lld", name,
                           dsql_shown_str(text).text, (long long)low, (long long)high);
        return false;
    }
    *out = value;
    return true;
}

static bool duration_option(const struct dsql_args *args, const char *name, int64_t *out_ns,
                            struct dsql_err *err)
{
    const char *text = dsql_args_get(args, name);
    int64_t ns;
    if (!text)
        return true;
    if (!dsql_duration_parse(dsql_span_of(text), &ns) || ns <= 0) {
        (void)dsql_err_set(err, DSQL_INVALID, "--%s=%s is no duration such as 60m or 5s", name,
                           dsql_shown_str(text).text);
        return false;
    }
    *out_ns = ns;
    return true;
}

static bool text_option(const struct dsql_args *args, const char *name, char *out, size_t cap,
                        struct dsql_err *err)
{
    const char *text = dsql_args_get(args, name);
    if (!text)
        return true;
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, out, cap);
    dsql_strbuf_add_str(&sb, text);
    if (!sb.cut && sb.len > 0)
        return true;
    (void)dsql_err_set(err, DSQL_INVALID, "--%s is empty or too long", name);
    return false;
}

static enum dsql_rc read_options(const struct dsql_args *args, int64_t default_port,
                                 struct dsql_local_options *options, struct dsql_err *err)
{
    int64_t port = default_port;
    if (dsql_local_options_default(options))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    bool ok = number_option(args, "port", 0, 65535, &port, err) &&
              text_option(args, "endpoint", options->host, sizeof(options->host), err) &&
              text_option(args, "region", options->region, sizeof(options->region), err) &&
              number_option(args, "rate", 1, 100000, &options->rate, err) &&
              number_option(args, "burst", 1, 100000, &options->burst, err) &&
              number_option(args, "max-connections", 1, 100000, &options->open_max, err) &&
              duration_option(args, "lifetime", &options->lifetime_ns, err) &&
              duration_option(args, "transaction-age", &options->limits.age_ns, err) &&
              number_option(args, "time-scale", 1, 100000, &options->time_scale, err);
    options->port = (uint16_t)port;
    if (ok && (!dsql_endpoint_is_host(dsql_span_of(options->host)) ||
               !dsql_endpoint_is_region(dsql_span_of(options->region)))) {
        (void)dsql_err_set(err, DSQL_INVALID,
                           "the endpoint must be a host name and the region one like us-east-1");
        ok = false;
    }
    return ok ? DSQL_OK : DSQL_INVALID;
}

/* Ten thousand connections need as many descriptors, and twice that with PostgreSQL behind them. */
static void raise_limits(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    action.sa_handler = on_child;
    (void)sigaction(SIGCHLD, &action, NULL);
    action.sa_handler = SIG_IGN; /* a peer that goes away is no reason to die */
    (void)sigaction(SIGPIPE, &action, NULL);
}

/* Written whole or not at all: who waits for the file may read it at once. */
static enum dsql_rc write_file(const char *path, struct dsql_span text, struct dsql_err *err)
{
    char draft[512];
    int len = snprintf(draft, sizeof(draft), "%s.new", path);
    int fd = len > 0 && (size_t)len < sizeof(draft)
                 ? open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                 : -1;
    bool ok = fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len;
    ok = fd >= 0 && close(fd) == 0 && ok && rename(draft, path) == 0;
    return ok ? DSQL_OK
              : dsql_err_set(err, DSQL_IO, "can't write %.200s: %s", path, strerror(errno));
}

/* The environment as a file for a shell to source; every value is quoted. */
static void add_exports(struct dsql_strbuf *out, struct dsql_span env)
{
    struct dsql_span line, name, value;
    while (env.len > 0) {
        dsql_span_cut(env, '\n', &line, &env);
        dsql_span_cut(line, '=', &name, &value);
        dsql_strbuf_addf(out, "export %.*s='%.*s'\n", DSQL_SPAN_ARG(name), DSQL_SPAN_ARG(value));
    }
}

static enum dsql_rc announce(const struct dsql_local *local, const char *ready_file,
                             struct dsql_err *err)
{
    static char memory[ENV_MAX], exports_memory[ENV_MAX];
    char path[DSQL_LOCAL_PATH_MAX + 8];
    struct dsql_strbuf env, exports;
    dsql_strbuf_init(&env, memory, sizeof(memory));
    dsql_strbuf_init(&exports, exports_memory, sizeof(exports_memory));
    enum dsql_rc rc = dsql_local_env(local, &env, err);
    if (!rc) {
        add_exports(&exports, dsql_strbuf_span(&env));
        (void)snprintf(path, sizeof(path), "%s/env", local->folder);
        rc = write_file(path, dsql_strbuf_span(&exports), err);
    }
    if (!rc && ready_file)
        rc = write_file(ready_file, dsql_strbuf_span(&exports), err);
    explicit_bzero(memory, sizeof(memory));
    explicit_bzero(exports_memory, sizeof(exports_memory));
    if (rc)
        return rc;
    printf("dsql local: ready at %s port %u, region %s\n"
           "\n"
           "    . %s      # PGHOST, PGPORT, PGPASSWORD, AWS_* and so on\n"
           "    psql -c 'select 1'\n"
           "\n"
           "Ctrl-C ends it.\n",
           local->options.host, (unsigned)local->options.port, local->options.region, path);
    (void)fflush(stdout);
    return DSQL_OK;
}

/* Serves until told to stop, the child has ended, or PostgreSQL is gone. */
static enum dsql_rc serve(struct dsql_local *local, pid_t child, int *child_status,
                          struct dsql_err *err)
{
    struct dsql_mono reported = dsql_clock_mono(&dsql_clock_system);
    while (!stop_signal) {
        dsql_front_turn(&local->front, TURN_NS);
        struct dsql_mono now = dsql_clock_mono(&dsql_clock_system);
        if (dsql_mono_since(now, reported) >= REPORT_NS) {
            dsql_front_report(&local->front, false);
            reported = now;
        }
        if (child > 0 && waitpid(child, child_status, WNOHANG) == child)
            return DSQL_OK;
        if (waitpid(local->pg.pid, NULL, WNOHANG) == local->pg.pid) {
            local->pg.pid = 0;
            (void)dsql_err_set(err, DSQL_IO, "PostgreSQL ended by itself");
            dsql_err_hint(err, "see %.200s", local->pg.log);
            return DSQL_IO;
        }
    }
    if (child > 0) {
        (void)kill(child, SIGTERM);
        while (waitpid(child, child_status, 0) < 0 && errno == EINTR)
            continue;
    }
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
    enum dsql_rc rc = read_options(args, DEFAULT_PORT, &options, &err);
    if (rc) {
        dsql_local_options_fini(&options);
        return dsql_complain(&err);
    }
    raise_limits();
    catch_signals();
    fprintf(stderr, "dsql local: starting PostgreSQL\n");
    rc = dsql_local_start(&local, &options, dsql_args_get(args, "data"), dsql_log_default(), &err);
    if (rc)
        return dsql_complain(&err);
    dsql_log(dsql_log_default(), DSQL_EVENT_LOCAL_READY,
             DSQL_F("endpoint", (const char *)local.options.host),
             DSQL_F("port", (int)local.options.port));
    rc = announce(&local, dsql_args_get(args, "ready-file"), &err);
    if (!rc)
        rc = serve(&local, 0, NULL, &err);
    say_goodbye(&local);
    dsql_local_stop(&local);
    return rc ? dsql_complain(&err) : DSQL_EXIT_OK;
}

/* In the child: the command with the endpoint's environment. */
__attribute__((noreturn)) static void become_command(const struct dsql_args *args, char *env)
{
    char *rest = NULL, *argv[DSQL_ARGS_MAX + 1];
    for (char *line = strtok_r(env, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        (void)putenv(line);
    size_t n = 0;
    while (n < args->operand_count && (argv[n] = strdup(args->operands[n])))
        n++;
    argv[n] = NULL;
    if (n < args->operand_count || !argv[0])
        _exit(DSQL_EXIT_FAILED); /* out of memory */
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    execvp(argv[0], argv);
    fprintf(stderr, "dsql: can't run %.100s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static int run_exec(const struct dsql_args *args)
{
    static char memory[ENV_MAX];
    struct dsql_local_options options = {0};
    struct dsql_local local;
    struct dsql_err err;
    struct dsql_strbuf env;
    int child_status = 0;
    enum dsql_rc rc = read_options(args, 0, &options, &err);
    if (rc) {
        dsql_local_options_fini(&options);
        return dsql_complain(&err);
    }
    raise_limits();
    catch_signals();
    (void)signal(SIGINT, SIG_IGN);      /* Ctrl-C is for the command; we end when it does */
    dsql_log_set_level(DSQL_LOG_ERROR); /* the command's output is what the user wants to see */
    rc = dsql_local_start(&local, &options, NULL, dsql_log_default(), &err);
    if (rc)
        return dsql_complain(&err);
    dsql_strbuf_init(&env, memory, sizeof(memory));
    rc = dsql_local_env(&local, &env, &err);
    pid_t child = rc ? -1 : fork();
    if (child == 0)
        become_command(args, memory);
    if (!rc)
        rc = child > 0 ? serve(&local, child, &child_status, &err)
                       : dsql_err_set(&err, DSQL_IO, "can't start a process: %s", strerror(errno));
    explicit_bzero(memory, sizeof(memory));
    dsql_local_stop(&local);
    if (rc)
        return dsql_complain(&err);
    return WIFEXITED(child_status) ? WEXITSTATUS(child_status) : 128 + WTERMSIG(child_status);
}

#define COMMON_OPTIONS(port_doc)                                                                   \
    {"port", 'p', "N", port_doc},                                                                  \
        {"endpoint", 0, "NAME",                                                                    \
         "the endpoint's name, in the certificate and in tokens (localhost)"},                     \
        {"region", 0, "REGION", "the region tokens are signed for (us-east-1)"},                   \
        {"rate", 0, "N", "new connections a second (100)"},                                        \
        {"burst", 0, "N", "new connections at once after a quiet time (1000)"},                    \
        {"max-connections", 0, "N", "open connections (10000)"},                                   \
        {"lifetime", 0, "DURATION", "a connection is closed at this age (1h)"},                    \
        {"transaction-age", 0, "DURATION", "the longest transaction (5m)"},                        \
    {                                                                                              \
        "time-scale", 0, "N",                                                                      \
            "the endpoint's clock runs N times as fast: 60 makes an hour a minute"                 \
    }

static const struct dsql_option local_options[] = {
    COMMON_OPTIONS("port on 127.0.0.1 (15432); 0 for any"),
    {"data", 0, "DIR",
     "keep the data in DIR, made if it is not there; without it, it goes at the end"},
    {"ready-file", 0, "FILE", "write the environment to FILE when the endpoint takes connections"},
};

static const struct dsql_option exec_options[] = {
    COMMON_OPTIONS("port on 127.0.0.1 (0, which is any)"),
};

const struct dsql_command dsql_cmd_local = {
    .name = "local",
    .operands = "",
    .summary = "run an Aurora DSQL endpoint on this machine",
    .text =
        "Starts a private PostgreSQL and, in front of it, an endpoint on 127.0.0.1 that enforces "
        "Aurora DSQL's rules: TLS with SNI, IAM tokens, connection limits and lifetimes, and which "
        "statements are refused, with the service's own error codes and texts. Runs until SIGINT or "
        "SIGTERM. docs/local-fidelity.md says what is as on the service and what is not; conflicts "
        "at COMMIT are not emulated yet, transactions run as plain REPEATABLE READ.\n"
        "\n"
        "The keys that tokens are signed with are made up at each start; they, and everything else a "
        "client needs, are in the file that is printed.",
    .options = local_options,
    .option_count = DSQL_COUNT_OF(local_options),
    .run = run_local,
};

const struct dsql_command dsql_cmd_local_exec = {
    .name = "local exec",
    .operands = "-- COMMAND [ARGUMENT...]",
    .summary = "run a command against an endpoint made for it",
    .text =
        "Starts an endpoint as 'dsql local' does, runs the command with the environment that a "
        "PostgreSQL and AWS user expects (PGHOST, PGHOSTADDR, PGPORT, PGUSER, PGDATABASE, PGPASSWORD, PGSSLMODE, "
        "PGSSLROOTCERT, DSQL_ENDPOINT, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and so on), and "
        "ends with the command's status. Nothing is left behind.\n"
        "\n"
        "    dsql local exec -- psql -c 'select 1'",
    .operands_min = 1,
    .operands_max = DSQL_ARGS_MAX,
    .options = exec_options,
    .option_count = DSQL_COUNT_OF(exec_options),
    .run = run_exec,
};
