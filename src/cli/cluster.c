#include "cli/cluster.h"

#include <stdio.h>

#include "base/shown.h"

/* What is signed is a host name; a URL would be taken for one with a strange port. */
static enum dsql_rc refuse_url(struct dsql_span url, struct dsql_err *err)
{
    struct dsql_span scheme, host, rest;
    (void)dsql_span_cut(url, '/', &scheme, &host);
    (void)dsql_span_cut(dsql_span_from(host, 1), '/', &host, &rest);
    (void)dsql_err_set(err, DSQL_INVALID, "the endpoint is a host name, not a URL: '%s'",
                       dsql_shown(url).text);
    dsql_err_hint(err, "write --endpoint %s", dsql_shown(host).text);
    return DSQL_INVALID;
}

enum dsql_rc dsql_cluster_find(struct dsql_span text, struct dsql_span region,
                               struct dsql_cluster *cluster, struct dsql_err *err)
{
    struct dsql_span host, port;
    struct dsql_cluster found;
    if (dsql_span_starts(text, DSQL_SPAN("https://")) ||
        dsql_span_starts(text, DSQL_SPAN("http://")))
        return refuse_url(text, err);
    bool has_port = dsql_span_cut(text, ':', &host, &port);
    enum dsql_rc rc = dsql_endpoint_parse(host, region, &found.endpoint, err);
    if (rc)
        return rc;
    int64_t number = 5432;
    if (has_port && (!dsql_span_to_i64(port, &number) || number < 1 || number > 65535))
        return dsql_err_set(err, DSQL_INVALID,
                            "the endpoint's port '%s' is no number from 1 to 65535",
                            dsql_shown(port).text);
    (void)snprintf(found.port, sizeof(found.port), "%d", (int)number);
    *cluster = found;
    return DSQL_OK;
}
