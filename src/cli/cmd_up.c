/*
 * `dsql up`: see it work. A pool, a workload of real transactions and the status page, on an
 * endpoint of its own or, with DSQL_ENDPOINT, on a cluster.
 *
 * Signals are blocked in all threads and taken by the main one where it waits: every way out passes
 * the clean-up, the second Ctrl-C included.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/shown.h"
#include "cli/commands.h"
#include "cli/pages.h"
#include "cli/status_pool.h"
#include "cli/up_local.h"
#include "cli/up_report.h"
#include "config/config.h"

/* Short lives, so that half a minute shows what otherwise takes an hour. */
#define LIFETIME_NS      (20 * DSQL_S)
#define FILL_LIMIT_NS    DSQL_M
#define REFUSED_LIMIT_NS (10 * DSQL_S) /* when every attempt fails */
#define TICK_NS          (50 * DSQL_MS)

struct up {
    struct dsql_config config;
    int64_t seconds, threads, connections, accounts, pause_ns, lifetime_ns;
    bool json, lifetime_given;
    const char *address; /* of the status page; "off" for none */
    sigset_t stop;
    bool stopped; /* by a signal, or because the reader of our output has gone */
    struct dsql_up_local local;
    struct dsql_metrics *metrics;
    struct dsql_pool *pool;
    struct dsql_pool_options pool_options;
    struct dsql_status_pool source;
    struct dsql_status *status;
    struct dsql_site site;
    struct dsql_up_work *work;
};

/* -- Options. */

static bool is_off(const char *address)
{
    return dsql_span_eq(dsql_span_of(address), DSQL_SPAN("off"));
}

static enum dsql_rc read_options(const struct dsql_args *args, struct up *up, struct dsql_err *err)
{
    struct dsql_config_report report; /* what is in it, the pool's options say */
    dsql_config_load(&up->config, &report, (const char *const *)environ);
    up->seconds = 30;
    up->threads = 8;
    up->connections = 50;
    up->accounts = 200;
    up->pause_ns = 5 * DSQL_MS;
    up->lifetime_ns = LIFETIME_NS;
    up->json = dsql_args_has(args, "json");
    up->lifetime_given = dsql_args_has(args, "lifetime");
    up->address = dsql_args_get(args, "address");
    if (!up->address)
        up->address = up->config.metrics_address;
    bool ok = !dsql_args_number(args, "seconds", 0, 1000000, &up->seconds, err) &&
              !dsql_args_number(args, "threads", 1, DSQL_UP_THREADS_MAX, &up->threads, err) &&
              !dsql_args_number(args, "connections", 1, 10000, &up->connections, err) &&
              !dsql_args_number(args, "accounts", 2, DSQL_UP_ACCOUNTS_MAX, &up->accounts, err) &&
              !dsql_args_duration(args, "pause", 0, DSQL_M, &up->pause_ns, err) &&
              !dsql_args_duration(args, "lifetime", 5 * DSQL_S, 55 * DSQL_M, &up->lifetime_ns, err);
    if (ok && !is_off(up->address) && !dsql_httpd_is_address(up->address)) {
        (void)dsql_err_set(err, DSQL_INVALID, "--address=%s is no address such as 127.0.0.1:9464",
                           dsql_shown_str(up->address).text);
        ok = false;
    }
    if (ok && dsql_config_has_error(&report)) {
        (void)dsql_err_set(err, DSQL_INVALID, "the settings can't be used");
        dsql_err_hint(err, "'dsql config' says what is wrong");
        ok = false;
    }
    return ok ? DSQL_OK : DSQL_INVALID;
}

/* -- Waiting. */

/* Waits until then, or for a signal that ends the run. */
static void wait_until(struct up *up, struct dsql_mono then)
{
    while (!up->stopped) {
        int64_t left_ns = dsql_mono_since(then, dsql_clock_mono(&dsql_clock_system));
        if (left_ns <= 0)
            return;
        const struct timespec left = {.tv_sec = left_ns / DSQL_S, .tv_nsec = left_ns % DSQL_S};
        if (sigtimedwait(&up->stop, NULL, &left) > 0)
            up->stopped = true;
    }
}

static void block_signals(struct up *up)
{
    sigemptyset(&up->stop);
    sigaddset(&up->stop, SIGINT);
    sigaddset(&up->stop, SIGTERM);
    sigaddset(&up->stop, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &up->stop, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* -- The parts. */

static enum dsql_rc open_pool(struct up *up, struct dsql_err *err)
{
    struct dsql_pool_options *o = &up->pool_options;
    enum dsql_rc rc = dsql_pool_options_env(o, err);
    if (rc)
        return rc;
    o->mode = DSQL_POOL_RESERVOIR;
    o->sizing.max_open = o->sizing.target_ready = up->connections;
    o->sizing.low_watermark = 0; /* we watch it fill */
    o->budget.staggered_startup_ns = 0;
    if (up->local.pid > 0)
        o->budget.kind = DSQL_BUDGET_LOCAL; /* no other process uses this endpoint */
    o->metrics = up->metrics;
    if (up->lifetime_given || !getenv("DSQL_RESERVOIR_BASE_LIFETIME")) {
        o->lifetime.base_ns = up->lifetime_ns;
        o->lifetime.jitter_ns = up->lifetime_ns / 5 * 2;
        o->lifetime.guard_window_ns = up->lifetime_ns / 10;
    }
    up->source.lifetime_ns = o->lifetime.base_ns + o->lifetime.jitter_ns / 2;
    up->source.guard_ns = o->lifetime.guard_window_ns;
    rc = dsql_pool_open(o, &up->pool, err);
    up->source.pool = up->pool;
    return rc;
}

static enum dsql_rc start_page(struct up *up, struct dsql_err *err)
{
    const struct dsql_status_options options = {
        .title = "dsql up",
        .endpoint = up->pool_options.connection.endpoint,
        .user = up->pool_options.connection.user,
        .metrics = up->metrics,
        .operation = DSQL_UP_OPERATION,
        .look = dsql_status_look_at_pool,
        .look_arg = &up->source,
        .clock = &dsql_clock_system,
    };
    if (dsql_status_new(&options, &up->status))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (is_off(up->address))
        return DSQL_OK;
    return dsql_site_start(
        &up->site,
        (struct dsql_httpd_options){
            .address = up->address, .hosts = up->config.metrics_hosts, .next_free = true},
        (struct dsql_readiness){dsql_status_is_ready, up->status}, up->status, up->metrics, err);
}

static void say_hello(const struct up *up)
{
    if (up->json)
        return;
    printf("dsql up: %lld connections to %s in reservoir mode, %lld threads\n",
           (long long)up->connections, up->pool_options.connection.endpoint,
           (long long)up->threads);
    if (up->site.httpd)
        printf("status page: %s%s\n", dsql_httpd_url(up->site.httpd),
               dsql_httpd_has_moved(up->site.httpd) ? " (the usual port is taken)" : "");
    (void)fflush(stdout);
}

/* Until it is full, or it is clear that it will not be. */
static enum dsql_rc wait_for_fill(struct up *up, struct dsql_err *err)
{
    struct dsql_mono started = dsql_clock_mono(&dsql_clock_system), now = started;
    struct dsql_pool_stats stats;
    int64_t told_s = 0;
    do {
        dsql_pool_stats(up->pool, &stats);
        int64_t open = stats.ready + stats.in_use;
        if (!up->json && dsql_mono_since(now, started) / DSQL_S > told_s) {
            told_s = dsql_mono_since(now, started) / DSQL_S;
            printf("filling: %lld of %lld connections\n", (long long)open, (long long)stats.target);
            (void)fflush(stdout);
        }
        bool refused = open == 0 && stats.error_count > 0;
        bool late = dsql_mono_since(now, started) > (refused ? REFUSED_LIMIT_NS : FILL_LIMIT_NS);
        if (open >= stats.target || (open > 0 && late))
            return DSQL_OK;
        bool hopeless =
            stats.error_count > 0 && dsql_rc_class(stats.errors[0].rc) == DSQL_CLASS_DENIED;
        if (open == 0 && (hopeless || late)) {
            (void)dsql_err_set(err, DSQL_LOST, "no connection to %s: %s",
                               up->pool_options.connection.endpoint,
                               stats.error_count ? stats.errors[0].message : "it takes too long");
            dsql_err_hint(err, "%s%s'dsql doctor' tells more",
                          stats.error_count ? stats.errors[0].hint : "",
                          stats.error_count && stats.errors[0].hint[0] ? "; " : "");
            return DSQL_LOST;
        }
        wait_until(up, dsql_mono_add(now, TICK_NS));
        now = dsql_clock_mono(&dsql_clock_system);
    } while (!up->stopped);
    return dsql_err_set(err, DSQL_CANCELLED, "stopped before there was anything to see");
}

/* -- The run. */

static void watch(struct up *up, struct dsql_mono started)
{
    (void)dsql_status_sample(up->status); /* what came before the work */
    if (!up->json)
        dsql_up_print_header(stdout);
    for (int64_t second = 1; up->seconds == 0 || second <= up->seconds; second++) {
        wait_until(up, dsql_mono_add(started, second * DSQL_S));
        if (up->stopped)
            return;
        struct dsql_status_sample sample = dsql_status_sample(up->status);
        if (up->json)
            continue;
        dsql_up_print_second(stdout, second, &sample);
        if (fflush(stdout) != 0)
            up->stopped = true; /* the reader of our output has gone */
    }
}

static int work_and_watch(struct up *up)
{
    struct dsql_err err = {0};
    const struct dsql_up_work_options options = {.pool = up->pool,
                                                 .threads = up->threads,
                                                 .accounts = up->accounts,
                                                 .pause_ns = up->pause_ns};
    enum dsql_rc rc = dsql_up_work_new(&options, &up->work, &err);
    if (rc)
        return dsql_complain(&err);
    const struct dsql_pool_options *pool = &up->pool_options;
    bool shared =
        pool->budget.kind == DSQL_BUDGET_BLOCKS ||
        (pool->budget.kind == DSQL_BUDGET_LEASES && pool->budget.limiter_table[0] != '\0');
    struct dsql_up_summary summary = {
        .endpoint = up->pool_options.connection.endpoint,
        .url = up->site.httpd ? dsql_httpd_url(up->site.httpd) : NULL,
        .connections = up->connections,
        .threads = up->threads,
        .accounts = up->accounts,
        .rate = (double)(shared ? pool->budget.cluster_rate : pool->budget.rate),
        .burst = shared ? pool->budget.cluster_burst : pool->budget.burst};
    struct dsql_mono started = dsql_clock_mono(&dsql_clock_system);
    rc = dsql_up_work_start(up->work, &err);
    if (!rc)
        watch(up, started);
    dsql_up_work_stop(up->work);
    summary.worked_ns = dsql_mono_since(dsql_clock_mono(&dsql_clock_system), started);
    summary.interrupted = up->stopped;
    (void)dsql_status_sample(up->status);
    if (!rc)
        rc = dsql_up_work_audit(up->work, &err);
    dsql_status_totals(up->status, &summary.totals);
    dsql_up_work_outcome(up->work, &summary.outcome);
    if (rc)
        (void)dsql_complain(&err);
    if (up->json)
        dsql_up_print_json(stdout, &summary);
    else
        dsql_up_print_summary(stdout, &summary);
    return !rc && dsql_up_is_good(&summary.outcome) ? DSQL_EXIT_OK : DSQL_EXIT_FAILED;
}

static int run_parts(struct up *up)
{
    struct dsql_err err = {0};
    enum dsql_rc rc = DSQL_OK;
    if (up->config.endpoint[0] == '\0') {
        if (!up->json)
            fprintf(stderr, "dsql up: no DSQL_ENDPOINT, so starting an endpoint on this machine\n");
        rc = dsql_up_local_start(&up->local, &up->stop, &err);
    }
    if (!rc && dsql_metrics_new(up->config.service, &up->metrics))
        rc = dsql_err_set(&err, DSQL_NO_MEMORY, "out of memory");
    if (!rc)
        rc = open_pool(up, &err);
    if (!rc)
        rc = start_page(up, &err);
    if (!rc) {
        say_hello(up);
        rc = wait_for_fill(up, &err);
    }
    if (rc)
        return dsql_complain(&err);
    return work_and_watch(up);
}

/* In the order that leaves nothing behind: the table needs the pool, the pool the endpoint. */
static int clean_up(struct up *up)
{
    int status = DSQL_EXIT_OK;
    struct dsql_err err = {0};
    if (up->work) {
        char table[64];
        (void)snprintf(table, sizeof(table), "%s", dsql_up_work_table(up->work));
        if (dsql_up_work_destroy(up->work, &err) && up->local.pid == 0) {
            fprintf(stderr, "dsql: the table %s is still there: %s\n", table, err.message);
            status = DSQL_EXIT_FAILED;
        }
    }
    dsql_httpd_stop(up->site.httpd);
    dsql_status_destroy(up->status);
    dsql_pool_close(up->pool);
    dsql_metrics_destroy(up->metrics);
    dsql_up_local_stop(&up->local);
    return status;
}

static int run(const struct dsql_args *args)
{
    struct dsql_err err;
    struct up *up = calloc(1, sizeof(*up));
    if (!up) {
        (void)dsql_err_set(&err, DSQL_NO_MEMORY, "out of memory");
        return dsql_complain(&err);
    }
    if (read_options(args, up, &err)) {
        free(up);
        return dsql_complain(&err);
    }
    block_signals(up);
    int status = run_parts(up);
    int cleaned = clean_up(up);
    free(up);
    return status ? status : cleaned;
}

static const struct dsql_option options[] = {
    {"seconds", 's', "N", "how long it works (30); 0 until Ctrl-C"},
    {"threads", 't', "N", "threads that run transactions (8)"},
    {"connections", 'c', "N", "connections of the pool (50)"},
    {"accounts", 0, "N", "accounts the transactions are about (200); fewer conflict more"},
    {"pause", 0, "DURATION", "a thread's pause between two transactions (5ms)"},
    {"lifetime", 0, "DURATION",
     "how long a connection lives (20s, or DSQL_RESERVOIR_BASE_LIFETIME if that is set)"},
    {"address", 0, "HOST:PORT",
     "where the status page is (DSQL_METRICS_ADDRESS, 127.0.0.1:9464); off for nowhere"},
    {"json", 0, NULL, "no progress; at the end one JSON object for machines"},
};

const struct dsql_command dsql_cmd_up = {
    .name = "up",
    .summary = "a pool at work: real transactions and a live status page",
    .text =
        "Without DSQL_ENDPOINT this starts an endpoint on this machine, as 'dsql local' does. With it, "
        "the pool works on that cluster, with the AWS credentials that 'dsql doctor' shows: in a table of its "
        "own, which it drops at the end.\n"
        "\n"
        "The pool runs in reservoir mode and gives its connections short lives, so that half a minute "
        "shows what otherwise takes an hour. Threads move money between accounts; a lost update would "
        "change the sum, which is added up all the time. It prints a line each second and a summary at the end; "
        "Ctrl-C ends it early.\n"
        "\n"
        "Ends with 1 if nothing was committed, something failed, or the sum was wrong.",
    DSQL_COMMAND_OPTIONS(options),
    .log_level = "warn", /* the progress is what one wants to see */
    .run = run,
};
