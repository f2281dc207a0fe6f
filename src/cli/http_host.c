#include "cli/http_host.h"

#include <arpa/inet.h>

enum { NUMERIC_MAX = 64 };

/* The host of "host:port" or "[v6]:port", without the dot that may end a name. */
static struct dsql_span without_port(struct dsql_span header)
{
    struct dsql_span host = dsql_span_trim(header), rest;
    if (host.len > 0 && host.ptr[0] == '[') {
        (void)dsql_span_cut(dsql_span_from(host, 1), ']', &host, &rest);
        return host;
    }
    (void)dsql_span_cut(host, ':', &host, &rest);
    if (host.len > 1 && host.ptr[host.len - 1] == '.')
        host = dsql_span_first(host, host.len - 1);
    return host;
}

static bool is_numeric(struct dsql_span host)
{
    char text[NUMERIC_MAX];
    struct in6_addr address; /* large enough for either family */
    if (host.len >= sizeof(text) || memchr(host.ptr, '\0', host.len))
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_listed(struct dsql_span host, struct dsql_span names)
{
    struct dsql_span name;
    while (names.len > 0) {
        (void)dsql_span_cut(names, ',', &name, &names);
        name = dsql_span_trim(name);
        if (dsql_span_eq(name, DSQL_SPAN("*")) || dsql_span_eq_nocase(host, name))
            return true;
    }
    return false;
}

bool dsql_httpd_host_allowed(struct dsql_span header, struct dsql_span listens_on,
                             struct dsql_span names)
{
    struct dsql_span host = without_port(header);
    if (host.len == 0)
        return false;
    return is_numeric(host) || dsql_span_eq_nocase(host, DSQL_SPAN("localhost")) ||
           dsql_span_eq_nocase(host, listens_on) || is_listed(host, names);
}
