#include "cli/pages.h"

#include <stdlib.h>

void dsql_page_metrics(void *arg, struct dsql_httpd_reply *reply)
{
    char *text = NULL;
    size_t len = 0;
    if (dsql_metrics_text(arg, &text, &len)) {
        reply->status = 500;
        dsql_strbuf_add_str(&reply->body, "out of memory\n");
        return;
    }
    reply->type = "text/plain; version=0.0.4; charset=utf-8";
    dsql_strbuf_add(&reply->body, (struct dsql_span){text, len});
    free(text);
}

void dsql_page_healthz(void *arg, struct dsql_httpd_reply *reply)
{
    (void)arg;
    dsql_strbuf_add_str(&reply->body, "ok\n");
}

void dsql_page_readyz(void *arg, struct dsql_httpd_reply *reply)
{
    const struct dsql_readiness *readiness = arg;
    char memory[512];
    struct dsql_strbuf why;
    dsql_strbuf_init(&why, memory, sizeof(memory));
    if (readiness->is_ready(readiness->arg, &why)) {
        dsql_strbuf_add_str(&reply->body, "ready\n");
        return;
    }
    reply->status = 503;
    dsql_strbuf_addf(&reply->body, "not ready: %s\n", memory);
}

enum dsql_rc dsql_site_start(struct dsql_site *site, struct dsql_httpd_options options,
                             struct dsql_readiness readiness, struct dsql_status *status,
                             struct dsql_metrics *metrics, struct dsql_err *err)
{
    *site = (struct dsql_site){
        .readiness = readiness,
        .pages = {{"/", dsql_page_status_html, status},
                  {"/status.json", dsql_page_status_json, status},
                  {"/metrics", dsql_page_metrics, metrics},
                  {"/healthz", dsql_page_healthz, NULL},
                  {"/readyz", dsql_page_readyz, &site->readiness}},
    };
    options.pages = site->pages;
    options.page_count = DSQL_COUNT_OF(site->pages);
    return dsql_httpd_start(&options, &site->httpd, err);
}
