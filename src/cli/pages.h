/* The pages that every watched process has. */
#ifndef DSQL_CLI_PAGES_H
#define DSQL_CLI_PAGES_H

#include "cli/httpd.h"
#include "cli/status.h"
#include "dsql/metrics.h"

/* Whether the process can do its work now; if not, *why (of at least 512 bytes) says what is
 * missing. */
struct dsql_readiness {
    bool (*is_ready)(void *arg, struct dsql_strbuf *why);
    void *arg;
};

/* arg: struct dsql_metrics *. Everything it knows, as Prometheus text. */
dsql_httpd_page_fn dsql_page_metrics;

/* arg: unused. Answers, so the process lives. */
dsql_httpd_page_fn dsql_page_healthz;

/* arg: struct dsql_readiness *. 200, or 503 with the reason. */
dsql_httpd_page_fn dsql_page_readyz;

/* All of these and the status page, served from one address. */
struct dsql_site {
    struct dsql_readiness readiness;
    struct dsql_httpd_page pages[5];
    struct dsql_httpd *httpd; /* the caller stops it; NULL: nothing is served */
};

/* options say the address and the hosts. The site stays where it is until httpd is stopped. */
DSQL_MUST_USE enum dsql_rc dsql_site_start(struct dsql_site *site,
                                           struct dsql_httpd_options options,
                                           struct dsql_readiness readiness,
                                           struct dsql_status *status, struct dsql_metrics *metrics,
                                           struct dsql_err *err);

#endif
