#include "cli/local_run.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/lock.h"
#include "cli/httpd.h"
#include "cli/pages.h"
#include "cli/serving.h"
#include "config/config.h"

#define TURN_NS     (100 * DSQL_MS)
#define REPORT_NS   DSQL_M /* of the endpoint's own clock */
#define CHILDREN_NS (5 * DSQL_MS)

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

static void on_child(int number)
{
    (void)number; /* only to wake the loop */
}

void dsql_local_prepare(void)
{
    dsql_serving_prepare(on_signal, SIGCHLD, on_child);
}

/* What the loop last saw, for the thread that serves the metrics. */
struct seen {
    pthread_mutex_t lock;
    struct dsql_local_sight sight;
};

static void page_metrics(void *arg, struct dsql_httpd_reply *reply)
{
    struct seen *seen = arg;
    dsql_lock(&seen->lock);
    struct dsql_local_sight sight = seen->sight;
    dsql_unlock(&seen->lock);
    reply->type = "text/plain; version=0.0.4; charset=utf-8";
    dsql_local_sight_metrics(&sight, &reply->body);
}

static void look(struct seen *seen, const struct dsql_front *front)
{
    dsql_lock(&seen->lock);
    dsql_front_look(front, &seen->sight);
    dsql_unlock(&seen->lock);
}

static enum dsql_rc loop(struct dsql_local *local, struct seen *seen, pid_t child,
                         int *child_status, struct dsql_err *err)
{
    struct dsql_mono reported = dsql_front_now(&local->front);
    struct dsql_mono waited = dsql_clock_mono(local->options.clock);
    while (!stop_signal) {
        dsql_front_turn(&local->front, TURN_NS);
        if (seen)
            look(seen, &local->front);
        struct dsql_mono now = dsql_front_now(&local->front);
        if (dsql_mono_since(now, reported) >= REPORT_NS) {
            dsql_front_report(&local->front, false);
            reported = now;
        }
        if (dsql_mono_since(dsql_clock_mono(local->options.clock), waited) < CHILDREN_NS)
            continue; /* a busy loop turns many thousand times a second */
        waited = dsql_clock_mono(local->options.clock);
        if (child > 0 && waitpid(child, child_status, WNOHANG) == child)
            return DSQL_OK;
        if (waitpid(local->pg.pid, NULL, WNOHANG) == local->pg.pid) {
            local->pg.pid = 0;
            (void)dsql_err_set(err, DSQL_IO, "PostgreSQL ended by itself");
            dsql_err_hint(err, "see %.200s/postgres.log", local->folder.path);
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

enum dsql_rc dsql_local_serve(struct dsql_local *local, const char *metrics, pid_t child,
                              int *child_status, struct dsql_err *err)
{
    struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct dsql_config config;
    struct dsql_config_report report; /* of other settings nothing is used here */
    dsql_config_load(&config, &report, (const char *const *)environ);
    const struct dsql_httpd_page pages[] = {{"/metrics", page_metrics, &seen},
                                            {"/healthz", dsql_page_healthz, NULL}};
    const struct dsql_httpd_options options = {.address = metrics,
                                               .hosts = config.metrics_hosts,
                                               .pages = pages,
                                               .page_count = DSQL_COUNT_OF(pages)};
    struct dsql_httpd *httpd = NULL;
    enum dsql_rc rc = metrics ? dsql_httpd_start(&options, &httpd, err) : DSQL_OK;
    if (rc)
        return rc;
    if (httpd)
        fprintf(stderr, "dsql local: metrics at %smetrics\n", dsql_httpd_url(httpd));
    rc = loop(local, httpd ? &seen : NULL, child, child_status, err);
    dsql_httpd_stop(httpd);
    return rc;
}

enum dsql_rc dsql_local_ask_for(const struct dsql_args *args, struct dsql_span question,
                                struct dsql_strbuf *answer, struct dsql_err *err)
{
    char path[DSQL_LOCAL_PATH_MAX];
    const char *data = dsql_args_get(args, "data"), *control = getenv("DSQL_LOCAL_CONTROL");
    if (!data && (!control || !control[0])) {
        (void)dsql_err_set(err, DSQL_INVALID,
                           "which dsql local? Neither --data is given nor "
                           "DSQL_LOCAL_CONTROL set");
        dsql_err_hint(err,
                      "give --data FOLDER, or '. FILE' with the file that it named at its start");
        return DSQL_INVALID;
    }
    int len = snprintf(path, sizeof(path), data ? "%s/control" : "%s", data ? data : control);
    if (len < 0 || (size_t)len >= sizeof(path))
        return dsql_err_set(err, DSQL_INVALID, "the path %.100s is too long", path);
    return dsql_control_ask(path, question, answer, err);
}

int dsql_local_ask(const struct dsql_args *args, struct dsql_span question,
                   void (*print)(struct dsql_span answer))
{
    struct dsql_strbuf answer;
    struct dsql_err err;
    dsql_strbuf_init_heap(&answer, DSQL_CONTROL_ANSWER_MAX);
    enum dsql_rc rc = dsql_local_ask_for(args, question, &answer, &err);
    if (!rc)
        print(dsql_strbuf_span(&answer));
    dsql_strbuf_fini(&answer);
    return rc ? dsql_complain(&err) : DSQL_EXIT_OK;
}
