/*
 * Prometheus queries that cannot name a metric that does not exist. A query is written with the
 * symbols of metrics.def, and becomes PromQL only if they and the label values are in the tables:
 *
 *     @reservoir_size                        dsql_reservoir_size
 *     @connect_failures{class=tls}           dsql_connect_failures_total{class="tls"}
 *     @connect_failures{class!=tls|full}     dsql_connect_failures_total{class!~"tls|full"}
 *     @pool_wait_duration:bucket             dsql_pool_wait_duration_bucket; also :sum, :count
 */
#ifndef DSQL_CLI_PROMQL_H
#define DSQL_CLI_PROMQL_H

#include "base/strbuf.h"

/* Matchers that every selector gets besides its own; "" for none. */
struct dsql_promql_scope {
    const char *all;          /* service=~"$service" */
    const char *by_operation; /* added for metrics with the label operation */
};

/* Appends the query as PromQL. DSQL_INVALID, and what it does not know, for a wrong one. */
DSQL_MUST_USE enum dsql_rc dsql_promql_add(struct dsql_strbuf *out, const char *query,
                                           const struct dsql_promql_scope *scope,
                                           struct dsql_err *err);

#endif
