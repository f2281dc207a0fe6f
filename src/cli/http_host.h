/*
 * Which names an HTTP endpoint answers to. A web page can point a name of its own at 127.0.0.1 (DNS
 * rebinding); the browser then lets the page read what the endpoint answers. The request still
 * carries the page's name in its Host header, so names that were not allowed are refused. Numeric
 * addresses are always fine: rebinding needs a name.
 */
#ifndef DSQL_CLI_HTTP_HOST_H
#define DSQL_CLI_HTTP_HOST_H

#include "base/span.h"

/*
 * Whether a request with this Host header (with or without a port) is answered: a numeric address,
 * localhost, the host that the endpoint listens on, or one of `names`, which are separated by
 * commas; '*' in it allows all.
 */
bool dsql_httpd_host_allowed(struct dsql_span header, struct dsql_span listens_on,
                             struct dsql_span names);

#endif
