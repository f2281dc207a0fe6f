/* `dsql proxy`: the pool for every language. */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/shown.h"
#include "cli/commands.h"
#include "cli/pages.h"
#include "config/config.h"
#include "proxy/proxy.h"

enum { DEFAULT_PORT = 6432 };

#define TURN_NS  (500 * DSQL_MS)
#define DRAIN_NS (10 * DSQL_MS)

struct run {
    struct dsql_config config;
    struct dsql_proxy_options options;
    struct dsql_pool_options pool_options;
    int64_t connections, drain_ns;
    const char *address; /* of /metrics; NULL for none */
    struct dsql_metrics *metrics;
    struct dsql_pool *pool;
    struct dsql_proxy *proxy;
    struct dsql_httpd *httpd;
    struct dsql_httpd_page pages[2];
};

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

static void prepare_process(void)
{
    struct rlimit limit;
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    action.sa_handler = SIG_IGN; /* a peer that goes away is no reason to die */
    (void)sigaction(SIGPIPE, &action, NULL);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* ------------------------------------------------------------ options */

static enum dsql_rc read_allowed(const char *list, struct dsql_proxy_options *o,
                                 struct dsql_err *err)
{
    struct dsql_span rest = dsql_span_of(list), name;
    char text[64];
    while (rest.len > 0) {
        (void)dsql_span_cut(rest, ',', &name, &rest);
        if (name.len == 0 || name.len >= sizeof(text) || o->uid_count == DSQL_PROXY_UIDS)
            return dsql_err_set(err, DSQL_INVALID, "--allow=%s is no list of users",
                                dsql_shown_str(list).text);
        memcpy(text, name.ptr, name.len);
        text[name.len] = '\0';
        const struct passwd *user = getpwnam(text);
        if (!user)
            return dsql_err_set(err, DSQL_INVALID, "this machine has no user %s",
                                dsql_shown_str(text).text);
        o->uids[o->uid_count++] = user->pw_uid;
    }
    return DSQL_OK;
}

/* admin is for who says so, not for who says nothing. */
static enum dsql_rc settle_user(const struct dsql_args *args, struct dsql_pool_options *o,
                                struct dsql_err *err)
{
    const char *user = dsql_args_get(args, "user");
    struct dsql_strbuf text;
    if (!user && !getenv("DSQL_USER") && !getenv("CLUSTER_USER")) {
        (void)dsql_err_set(err, DSQL_INVALID, "which role of the database shall clients have?");
        dsql_err_hint(err, "name it with --user or DSQL_USER; admin too is served only by name");
        return DSQL_INVALID;
    }
    if (!user)
        return DSQL_OK;
    dsql_strbuf_init(&text, o->user, sizeof(o->user));
    dsql_strbuf_add_str(&text, user);
    return text.cut || text.len == 0
               ? dsql_err_set(err, DSQL_INVALID, "--user=%s is no role", dsql_shown_str(user).text)
               : DSQL_OK;
}

static enum dsql_rc settle_folder(const struct dsql_args *args, struct dsql_proxy_options *o,
                                  struct dsql_err *err)
{
    const char *folder = dsql_args_get(args, "socket-dir");
    struct dsql_strbuf text;
    if (!folder)
        return DSQL_OK;
    dsql_strbuf_init(&text, o->socket_folder, sizeof(o->socket_folder));
    dsql_strbuf_add_str(&text, folder);
    return text.cut || access(folder, W_OK) != 0
               ? dsql_err_set(err, DSQL_INVALID, "--socket-dir=%s is no folder to write to",
                              dsql_shown_str(folder).text)
               : DSQL_OK;
}

static enum dsql_rc read_options(const struct dsql_args *args, struct run *run,
                                 struct dsql_err *err)
{
    struct dsql_proxy_options *o = &run->options;
    int64_t port = DEFAULT_PORT;
    *o = (struct dsql_proxy_options){
        .clients_max = 10000,
        .wait_ns = 30 * DSQL_S,
        .login_ns = 30 * DSQL_S,
        .clock = &dsql_clock_system,
    };
    run->connections = 0;
    run->drain_ns = 30 * DSQL_S;
    run->address = dsql_args_get(args, "address");
    enum dsql_rc rc = dsql_pool_options_env(&run->pool_options, err);
    if (!rc)
        rc = dsql_args_number(args, "port", 0, UINT16_MAX, &port, err);
    if (!rc)
        rc = dsql_args_number(args, "connections", 1, 10000, &run->connections, err);
    if (!rc)
        rc = dsql_args_number(args, "clients", 1, 1000000, &o->clients_max, err);
    if (!rc)
        rc = dsql_args_duration(args, "wait", DSQL_MS, DSQL_H, &o->wait_ns, err);
    if (!rc)
        rc = dsql_args_duration(args, "drain", 0, DSQL_H, &run->drain_ns, err);
    const char *allowed = dsql_args_get(args, "allow");
    if (!rc && allowed)
        rc = read_allowed(allowed, o, err);
    if (!rc)
        rc = settle_user(args, &run->pool_options, err);
    if (!rc)
        rc = settle_folder(args, o, err);
    if (!rc && run->address && !dsql_httpd_is_address(run->address))
        rc = dsql_err_set(err, DSQL_INVALID, "--address=%s is no address such as 127.0.0.1:9464",
                          dsql_shown_str(run->address).text);
    o->port = (uint16_t)port;
    if (!rc && run->pool_options.endpoint[0] == '\0') {
        rc = dsql_err_set(err, DSQL_INVALID, "no endpoint");
        dsql_err_hint(err, "set DSQL_ENDPOINT; to try it without a cluster: "
                           "'dsql local exec -- dsql proxy'");
    }
    return rc;
}

/* ------------------------------------------------------------ the run */

static enum dsql_rc start_pages(struct run *run, struct dsql_err *err)
{
    struct dsql_config_report report;
    if (!run->address)
        return DSQL_OK;
    dsql_config_load(&run->config, &report, (const char *const *)environ);
    run->pages[0] = (struct dsql_httpd_page){"/metrics", dsql_page_metrics, run->metrics};
    run->pages[1] = (struct dsql_httpd_page){"/healthz", dsql_page_healthz, NULL};
    return dsql_httpd_start(&(struct dsql_httpd_options){.address = run->address,
                                                         .hosts = run->config.metrics_hosts,
                                                         .pages = run->pages,
                                                         .page_count = DSQL_COUNT_OF(run->pages)},
                            &run->httpd, err);
}

static enum dsql_rc start(struct run *run, struct dsql_err *err)
{
    if (dsql_metrics_new(run->pool_options.service, &run->metrics))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    run->pool_options.metrics = run->metrics;
    if (run->connections > 0)
        dsql_pool_options_resize(&run->pool_options, run->connections);
    enum dsql_rc rc = dsql_pool_open(&run->pool_options, &run->pool, err);
    run->proxy = calloc(1, sizeof(*run->proxy));
    if (!rc && !run->proxy)
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (!rc) {
        rc = dsql_proxy_open(run->proxy, &run->options, run->pool, dsql_log_default(), err);
        if (rc)
            run->proxy->options.port = 0;
    }
    return rc ? rc : start_pages(run, err);
}

static void say_hello(const struct run *run)
{
    const struct dsql_pool_options *o = &run->pool_options;
    printf("dsql proxy: at most %lld connections to %s\n\n"
           "    psql -h localhost -p %u -U %s %s\n",
           (long long)o->max_open, o->endpoint, (unsigned)run->proxy->options.port, o->user,
           o->database);
    if (run->options.socket_folder[0])
        printf("    psql -h %s -p %u -U %s %s\n", run->options.socket_folder,
               (unsigned)run->proxy->options.port, o->user, o->database);
    if (run->httpd)
        printf("\nmetrics: %smetrics\n", dsql_httpd_url(run->httpd));
    printf("\nCtrl-C ends it.\n");
    (void)fflush(stdout);
    dsql_log(dsql_log_default(), DSQL_EVENT_PROXY_READY,
             DSQL_F("port", (int64_t)run->proxy->options.port));
}

static void serve(struct run *run)
{
    struct dsql_proxy *proxy = run->proxy;
    while (!stop_signal)
        dsql_proxy_turn(proxy, TURN_NS);
    dsql_log(dsql_log_default(), DSQL_EVENT_PROXY_DRAINING,
             DSQL_F("clients", (int64_t)proxy->client_count));
    stop_signal = 0; /* a second one ends the wait */
    struct dsql_mono until = dsql_mono_add(dsql_clock_mono(&dsql_clock_system), run->drain_ns);
    while (!dsql_proxy_drain(proxy) && !stop_signal &&
           dsql_mono_before(dsql_clock_mono(&dsql_clock_system), until))
        dsql_proxy_turn(proxy, DRAIN_NS);
}

/* Clients first, then the connections, then what the proxy knew of them. */
static void end(struct run *run)
{
    dsql_httpd_stop(run->httpd);
    bool opened = run->proxy && run->proxy->pool;
    if (opened)
        dsql_proxy_close(run->proxy);
    dsql_pool_close(run->pool);
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
    prepare_process();
    enum dsql_rc rc = read_options(args, run, &err);
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
    {"port", 'p', "N", "where it listens on 127.0.0.1 (6432); 0 for any"},
    {"socket-dir", 0, "DIR", "listen on a Unix socket in this folder too"},
    {"user", 'U', "ROLE", "the role of the database that clients have (DSQL_USER)"},
    {"allow", 0, "NAME,...",
     "users of this machine who may come in, beside the proxy's own and root"},
    {"connections", 'c', "N", "connections to the database at most (DSQL_POOL_MAX_OPEN)"},
    {"clients", 0, "N", "clients at most (10000)"},
    {"wait", 0, "DURATION", "how long a client waits for a connection (30s)"},
    {"drain", 0, "DURATION", "how long SIGTERM waits for transactions that are open (30s)"},
    {"address", 0, "HOST:PORT", "where /metrics and /healthz are; nowhere unless given"},
};

const struct dsql_command dsql_cmd_proxy = {
    .name = "proxy",
    .operands = "",
    .summary = "the pool for every language: plain PostgreSQL on localhost",
    .text =
        "Clients connect without a token, without TLS and as often as they like; behind it are the "
        "connections of a pool, opened ahead of need, within the cluster's budget, with tokens, each "
        "lent to a client for one transaction. Prepared statements and settings follow the client "
        "from one connection to the next.\n"
        "\n"
        "It listens on 127.0.0.1 and, with --socket-dir, on a Unix socket, nowhere else. The kernel "
        "says whose the other end of a connection is: the user who started the proxy, root and those "
        "of --allow come in, without a password. All have the one role of --user or DSQL_USER.\n"
        "\n"
        "DSQL_ENDPOINT, AWS credentials and the pool's settings come from the environment, as for "
        "every program with the library ('dsql help config'). SIGTERM ends it once the transactions "
        "that are open have ended, at most after --drain.\n"
        "\n"
        "docs/proxy.md says what a client may notice, and what is not there yet.",
    .options = options,
    .option_count = DSQL_COUNT_OF(options),
    .log_level = "info",
    .run = run_proxy,
};
