#include "watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/httpd.h"
#include "cli/pages.h"
#include "cli/status_pool.h"
#include "config/config.h"

struct bridge_watch {
    struct dsql_config config;
    struct dsql_status_pool source;
    struct dsql_status *status;
    struct dsql_readiness readiness;
    struct dsql_httpd_page pages[5];
    struct dsql_httpd *httpd;
};

static int listen_at(struct bridge_watch *made, struct bridge_engine *engine, const char *address,
                     bool chosen, struct dsql_err *err)
{
    const struct dsql_pool_options *o = &engine->options;
    made->source = (struct dsql_status_pool){
        engine->pool, o->lifetime.base_ns + o->lifetime.jitter_ns / 2, o->lifetime.guard_window_ns};
    const struct dsql_status_options options = {.title = "temporal-dsql-server",
                                                .endpoint = o->connection.endpoint,
                                                .user = o->connection.user,
                                                .metrics = engine->metrics,
                                                .look = dsql_status_look_at_pool,
                                                .look_arg = &made->source,
                                                .clock = &dsql_clock_system};
    if (dsql_status_new(&options, &made->status))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    made->readiness = (struct dsql_readiness){dsql_status_is_ready, made->status};
    const struct dsql_httpd_page pages[] = {
        {"/", dsql_page_status_html, made->status},
        {"/status.json", dsql_page_status_json, made->status},
        {"/metrics", dsql_page_metrics, engine->metrics},
        {"/healthz", dsql_page_healthz, NULL},
        {"/readyz", dsql_page_readyz, &made->readiness},
    };
    static_assert(sizeof(pages) == sizeof(made->pages), "there is a place for each page");
    memcpy(made->pages, pages, sizeof(pages));
    return dsql_httpd_start(&(struct dsql_httpd_options){.address = address,
                                                         .hosts = made->config.metrics_hosts,
                                                         .next_free = !chosen,
                                                         .pages = made->pages,
                                                         .page_count = DSQL_COUNT_OF(made->pages)},
                            &made->httpd, err);
}

int bridge_watch_start(struct bridge_engine *engine, const char *address,
                       struct bridge_watch **watch, struct dsql_err *err)
{
    struct dsql_config_report report; /* the pool's options have said what is in it */
    struct bridge_watch *made = calloc(1, sizeof(*made));
    if (!made)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    dsql_config_load(&made->config, &report, (const char *const *)environ);
    bool chosen = address[0] || report.source[DSQL_SETTING_metrics_address].variable;
    if (!address[0])
        address = made->config.metrics_address;
    int rc = 0;
    bool off = strcmp(address, "off") == 0;
    if (!off)
        rc = listen_at(made, engine, address, chosen, err);
    if (rc || off) {
        bridge_watch_stop(made);
        made = NULL;
    }
    *watch = made;
    return rc;
}

void bridge_watch_sample(struct bridge_watch *watch)
{
    (void)dsql_status_sample(watch->status);
}

int64_t bridge_watch_answer_age(struct bridge_watch *watch)
{
    struct dsql_pool_stats stats;
    dsql_pool_stats(watch->source.pool, &stats);
    return stats.answer_age_ns;
}

const char *bridge_watch_url(const struct bridge_watch *watch)
{
    return dsql_httpd_url(watch->httpd);
}

void bridge_watch_stop(struct bridge_watch *watch)
{
    if (!watch)
        return;
    dsql_httpd_stop(watch->httpd);
    if (watch->status)
        dsql_status_destroy(watch->status);
    free(watch);
}
