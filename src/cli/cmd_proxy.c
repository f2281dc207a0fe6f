/* `dsql proxy`: the pool for every language. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/shown.h"
#include "cli/commands.h"
#include "cli/pages.h"
#include "cli/proxy_options.h"
#include "cli/serving.h"
#include "cli/status_pool.h"
#include "config/config.h"

enum { FIRST_ACTIVATED = 3 /* SD_LISTEN_FDS_START */ };

#define TURN_NS  (500 * DSQL_MS)
#define DRAIN_NS (10 * DSQL_MS)

struct run {
    struct dsql_proxy_setup setup;
    struct dsql_config config;
    struct dsql_metrics *metrics;
    struct dsql_mono sampled;
    _Atomic bool ending;                       /* read by the pages' thread */
    struct dsql_pool *pools[DSQL_PROXY_ROLES]; /* one for each role */
    struct dsql_proxy *proxy;
    struct dsql_site site;
    struct dsql_status *status;
    struct dsql_handover handover;
    int predecessor; /* the process that hands its listeners over, or -1 */
};

static volatile sig_atomic_t stop_signal, reload_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

static void on_hangup(int number)
{
    reload_signal = number;
}

/* Ready: each pool has a connection, and the proxy does not end. */
static bool is_ready(void *arg, struct dsql_strbuf *why)
{
    const struct run *run = arg;
    if (stop_signal || run->ending) {
        dsql_strbuf_add_str(why, "the proxy is ending");
        return false;
    }
    for (size_t i = 0; i < run->setup.role_count; i++) {
        struct dsql_pool_stats stats;
        dsql_pool_stats(run->pools[i], &stats);
        if (stats.ready + stats.in_use > 0)
            continue;
        dsql_strbuf_addf(why, "no connection for the role %s: %s", run->setup.roles[i],
                         stats.error_count > 0 ? stats.errors[0].message : "none is open yet");
        return false;
    }
    return true;
}

/* What the status page shows: the connections of all roles together. */
static void look(void *arg, struct dsql_status_view *view)
{
    const struct run *run = arg;
    const struct dsql_pool_options *o = &run->setup.pool;
    struct dsql_status_pool source = {
        .pool = run->pools[0],
        .lifetime_ns = o->lifetime.base_ns + o->lifetime.jitter_ns / 2,
        .guard_ns = o->lifetime.guard_window_ns,
    };
    dsql_status_look_at_pool(&source, view);
    for (size_t i = 1; i < run->setup.role_count; i++) {
        struct dsql_status_view other;
        source.pool = run->pools[i];
        dsql_status_look_at_pool(&source, &other);
        dsql_status_add(view, &other);
    }
}

static enum dsql_rc start_pages(struct run *run, struct dsql_err *err)
{
    struct dsql_config_report report;
    const struct dsql_status_options options = {
        .title = "dsql proxy",
        .endpoint = run->setup.pool.connection.endpoint,
        .user = run->setup.roles[0],
        .metrics = run->metrics,
        .look = look,
        .look_arg = run,
        .clock = &dsql_clock_system,
    };
    if (!run->setup.address)
        return DSQL_OK;
    if (dsql_status_new(&options, &run->status))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    dsql_config_load(&run->config, &report, (const char *const *)environ);
    return dsql_site_start(&run->site,
                           (struct dsql_httpd_options){.address = run->setup.address,
                                                       .hosts = run->config.metrics_hosts},
                           (struct dsql_readiness){is_ready, run}, run->status, run->metrics, err);
}

static int64_t share(int64_t whole, size_t parts)
{
    int64_t part = whole / (int64_t)parts;
    return part > 0 ? part : 1;
}

/* One pool for each role. Connections and connects of the process are shared out evenly, so that
 * all of them together stay within what one pool would have. */
static enum dsql_rc open_pools(struct run *run, struct dsql_err *err)
{
    struct dsql_pool_options *o = &run->setup.pool;
    if (run->setup.connections > 0)
        dsql_pool_options_resize(o, run->setup.connections);
    run->setup.connections = o->sizing.max_open;
    if (run->setup.role_count > 1) {
        dsql_pool_options_resize(o, share(o->sizing.max_open, run->setup.role_count));
        o->budget.rate = share(o->budget.rate, run->setup.role_count);
        o->budget.burst = share(o->budget.burst, run->setup.role_count);
    }
    for (size_t i = 0; i < run->setup.role_count; i++) {
        memcpy(o->connection.user, run->setup.roles[i], sizeof(o->connection.user));
        enum dsql_rc rc = dsql_pool_open(o, &run->pools[i], err);
        if (rc)
            return rc;
    }
    return DSQL_OK;
}

/* Sockets that systemd listens on for this process (sd_listen_fds(3)). */
static enum dsql_rc take_activated(struct dsql_proxy_options *o, struct dsql_err *err)
{
    const char *count = getenv("LISTEN_FDS"), *pid = getenv("LISTEN_PID");
    if (!count || !pid || strtol(pid, NULL, 10) != (long)getpid())
        return DSQL_OK;
    long n = strtol(count, NULL, 10);
    if (n < 1 || n > DSQL_PROXY_LISTENERS) {
        (void)dsql_err_set(err, DSQL_INVALID, "LISTEN_FDS=%s: the proxy takes one socket or two",
                           dsql_shown_str(count).text);
        dsql_err_hint(err, "one for TCP, one Unix socket");
        return DSQL_INVALID;
    }
    for (int i = 0; i < (int)n; i++) {
        (void)fcntl(FIRST_ACTIVATED + i, F_SETFD, FD_CLOEXEC);
        o->listeners[o->listener_count++] = FIRST_ACTIVATED + i;
    }
    return DSQL_OK;
}

/* Where clients come in: systemd's sockets, those of the proxy that is replaced, or own ones. */
static enum dsql_rc take_listeners(struct run *run, struct dsql_err *err)
{
    struct dsql_proxy_options *o = &run->setup.proxy;
    enum dsql_rc rc = take_activated(o, err);
    run->predecessor = -1;
    if (rc || !run->setup.handover_path)
        return rc;
    if (o->listener_count > 0)
        return dsql_err_set(err, DSQL_INVALID,
                            "--handover and sockets of systemd exclude each other");
    rc = dsql_handover_ask(run->setup.handover_path, o->listeners, &o->listener_count,
                           &run->predecessor, err);
    o->owns_path = o->listener_count > 0;
    return rc;
}

/* The process that had the listeners before ends, and this one waits for its own successor. */
static enum dsql_rc take_over(struct run *run, struct dsql_err *err)
{
    if (!run->setup.handover_path)
        return DSQL_OK;
    if (run->predecessor >= 0)
        dsql_handover_finish(run->predecessor);
    run->predecessor = -1;
    return dsql_handover_open(&run->handover, run->proxy, run->setup.handover_path, err);
}

static enum dsql_rc start(struct run *run, struct dsql_err *err)
{
    if (dsql_metrics_new(run->setup.pool.budget.service, &run->metrics))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    run->setup.pool.metrics = run->metrics;
    enum dsql_rc rc = open_pools(run, err);
    run->proxy = calloc(1, sizeof(*run->proxy));
    if (!rc && !run->proxy)
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (!rc) {
        rc = dsql_proxy_open(run->proxy, &run->setup.proxy, run->pools, run->setup.role_count,
                             dsql_log_default(), err);
        if (rc)
            run->proxy->options.port = 0;
    }
    if (!rc)
        rc = start_pages(run, err);
    return rc ? rc : take_over(run, err);
}

static void say_hello(const struct run *run)
{
    const struct dsql_pool_options *o = &run->setup.pool;
    printf("dsql proxy: at most %lld connections to %s\n\n"
           "    psql -h localhost -p %u -U %s %s\n",
           (long long)run->setup.connections, o->connection.endpoint,
           (unsigned)run->proxy->options.port, run->setup.roles[0], o->connection.database);
    if (run->setup.proxy.socket_folder[0])
        printf("    psql -h %s -p %u -U %s %s\n", run->setup.proxy.socket_folder,
               (unsigned)run->proxy->options.port, run->setup.roles[0], o->connection.database);
    if (run->site.httpd)
        printf("\nstatus page: %s\nmetrics: %smetrics\n", dsql_httpd_url(run->site.httpd),
               dsql_httpd_url(run->site.httpd));
    printf("\nCtrl-C ends it.\n");
    (void)fflush(stdout);
    dsql_log(dsql_log_default(), DSQL_EVENT_PROXY_READY,
             DSQL_F("port", (int64_t)run->proxy->options.port));
}

static void reload(struct dsql_proxy *proxy)
{
    struct dsql_err err;
    reload_signal = 0;
    if (dsql_proxy_reload(proxy, &err))
        dsql_log(dsql_log_default(), DSQL_EVENT_PROXY_NOT_RELOADED,
                 DSQL_F("detail", (const char *)err.message));
    else
        dsql_log(dsql_log_default(), DSQL_EVENT_PROXY_RELOADED);
}

/* Once a second. */
static void sample(struct run *run)
{
    struct dsql_mono now = dsql_clock_mono(&dsql_clock_system);
    if (dsql_mono_since(now, run->sampled) < DSQL_S)
        return;
    run->sampled = now;
    dsql_proxy_sample(run->proxy, run->metrics);
    if (run->status)
        (void)dsql_status_sample(run->status);
}

/* Another process takes the new clients; those that are here may leave by themselves. */
static void outlive_clients(struct run *run)
{
    struct dsql_proxy *proxy = run->proxy;
    dsql_log(dsql_log_default(), DSQL_EVENT_PROXY_HANDED_OVER,
             DSQL_F("clients", (int64_t)proxy->client_count));
    struct dsql_mono until =
        dsql_mono_add(dsql_clock_mono(&dsql_clock_system), run->setup.drain_ns);
    while (proxy->client_count > 0 && !stop_signal &&
           dsql_mono_before(dsql_clock_mono(&dsql_clock_system), until)) {
        dsql_proxy_turn(proxy, TURN_NS);
        sample(run);
    }
}

static void serve(struct run *run)
{
    struct dsql_proxy *proxy = run->proxy;
    while (!stop_signal && !run->handover.done) {
        dsql_proxy_turn(proxy, TURN_NS);
        sample(run);
        if (reload_signal)
            reload(proxy);
    }
    if (run->handover.done)
        outlive_clients(run);
    dsql_log(dsql_log_default(), DSQL_EVENT_PROXY_DRAINING,
             DSQL_F("clients", (int64_t)proxy->client_count));
    run->ending = true;
    stop_signal = 0; /* a second one ends the wait */
    struct dsql_mono until =
        dsql_mono_add(dsql_clock_mono(&dsql_clock_system), run->setup.drain_ns);
    while (!dsql_proxy_drain(proxy) && !stop_signal &&
           dsql_mono_before(dsql_clock_mono(&dsql_clock_system), until))
        dsql_proxy_turn(proxy, DRAIN_NS);
}

/* Clients first, then the connections, then what the proxy knew of them. */
static void end(struct run *run)
{
    dsql_httpd_stop(run->site.httpd);
    dsql_status_destroy(run->status);
    dsql_handover_close(&run->handover);
    if (run->predecessor >= 0)
        close(run->predecessor);
    bool opened = run->proxy && run->proxy->role_count > 0;
    if (opened)
        dsql_proxy_close(run->proxy);
    for (size_t i = 0; i < run->setup.role_count; i++)
        dsql_pool_close(run->pools[i]);
    if (opened)
        dsql_proxy_fini(run->proxy);
    free(run->proxy);
    dsql_metrics_destroy(run->metrics);
}

static int run_proxy(const struct dsql_args *args)
{
    struct dsql_err err = {0};
    struct run *run = calloc(1, sizeof(*run));
    if (!run) {
        (void)dsql_err_set(&err, DSQL_NO_MEMORY, "out of memory");
        return dsql_complain(&err);
    }
    dsql_serving_prepare(on_signal, SIGHUP, on_hangup);
    run->predecessor = -1;
    enum dsql_rc rc = dsql_proxy_read_options(args, &run->setup, &err);
    if (!rc)
        rc = take_listeners(run, &err);
    if (!rc)
        rc = start(run, &err);
    if (!rc) {
        say_hello(run);
        serve(run);
    }
    int status = rc ? dsql_complain(&err) : DSQL_EXIT_OK;
    end(run);
    free(run);
    if (!rc)
        dsql_log(dsql_log_default(), DSQL_EVENT_PROXY_STOPPED, DSQL_F("signal", "SIGTERM"));
    return status;
}

static const struct dsql_option options[] = {
    {"port", 'p', "N", "where it listens (6432); 0 for any"},
    {"listen", 0, "ADDRESS",
     "the numeric address it listens on (127.0.0.1); others need --users and --cert"},
    {"socket-dir", 0, "DIR", "listen on a Unix socket in this folder too"},
    {"user", 'U', "ROLE,...",
     "the roles of the database that clients may have (DSQL_USER); admin only if named"},
    {"allow", 0, "NAME,...",
     "users of this machine who may come in, beside the proxy's own and root"},
    {"users", 0, "FILE", "names and passwords of clients, as PgBouncer's auth_file"},
    {"map", 0, "USER:ROLE,...", "users that have another role than that of their name"},
    {"cert", 0, "FILE", "the certificate and its chain for TLS to clients (PEM)"},
    {"key", 0, "FILE", "its key, if it is not in the file of --cert"},
    {"operators", 0, "NAME,...", "users with a password who may connect to the database dsql"},
    {"user-clients", 0, "N", "clients of one user at most (no limit)"},
    {"login", 0, "DURATION", "how long a client may take to log in (30s)"},
    {"connections", 'c', "N", "connections to the database at most (DSQL_POOL_MAX_OPEN)"},
    {"clients", 0, "N", "clients at most (10000)"},
    {"compat", 0, "on|off",
     "answer refused settings of tools that would change no result as done (on)"},
    {"retry-conflicts", 0, "N",
     "run a transaction that met a conflict at COMMIT again, at most N times, if the answers that "
     "the client has are the same (0: never)"},
    {"wait", 0, "DURATION", "how long a client waits for a connection (30s)"},
    {"drain", 0, "DURATION", "how long SIGTERM waits for transactions that are open (30s)"},
    {"handover", 0, "PATH",
     "a Unix socket over which a new process with this option takes over from an old one"},
    {"address", 0, "HOST:PORT",
     "where the status page, /metrics, /healthz and /readyz are; nowhere unless given"},
};

const struct dsql_command dsql_cmd_proxy = {
    .name = "proxy",
    .summary = "the pool for every language, as plain PostgreSQL",
    .text =
        "Clients connect without a token, without TLS and as often as they like; behind it are the "
        "connections of a pool, opened ahead of need, within the cluster's budget, with tokens, each "
        "lent to a client for one transaction. Prepared statements and settings follow the client "
        "from one connection to the next.\n"
        "\n"
        "It listens on 127.0.0.1 and, with --socket-dir, on a Unix socket. The kernel "
        "says whose the other end of a connection is: the user who started the proxy, root and those "
        "of --allow come in, without a password, with one of the roles of --user or DSQL_USER. "
        "With --users every client that comes by TCP gives a password (SCRAM-SHA-256), and with "
        "--cert it may use TLS; with both, --listen opens the proxy to other machines. SIGHUP reads "
        "the users and the certificate again.\n"
        "\n"
        "DSQL_ENDPOINT, AWS credentials and the pool's settings come from the environment, as for "
        "every program with the library ('dsql help config'). SIGTERM ends it once the transactions "
        "that are open have ended, at most after --drain.\n"
        "\n"
        "Sockets that systemd listens on (LISTEN_FDS) take the place of --port, --listen and "
        "--socket-dir. With --handover a second process started with the same options takes the "
        "listening sockets over: no client is refused, and the first one ends once its clients are "
        "gone, at most after --drain.\n"
        "\n"
        "docs/proxy.md says what a client may notice, and what is not there yet.",
    DSQL_COMMAND_OPTIONS(options),
    .log_level = "info",
    .run = run_proxy,
};
