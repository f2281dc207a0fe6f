#include "aws/endpoint.h"

#include "base/strbuf.h"

enum { LABEL_MAX = 63 };

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_label(struct dsql_span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_lower_or_digit(lower(s.ptr[i])) && s.ptr[i] != '-' && s.ptr[i] != '_')
            return false;
    return s.len >= 1 && s.len <= LABEL_MAX && s.ptr[0] != '-' && s.ptr[s.len - 1] != '-';
}

bool dsql_endpoint_is_host(struct dsql_span s)
{
    if (s.len > DSQL_HOST_MAX)
        return false;
    bool more = true;
    while (more) {
        struct dsql_span label;
        more = dsql_span_cut(s, '.', &label, &s);
        if (!is_label(label))
            return false;
    }
    return true;
}

bool dsql_endpoint_is_region(struct dsql_span s)
{
    if (s.len > DSQL_REGION_MAX)
        return false;
    size_t parts = 0;
    for (bool more = true; more; parts++) {
        struct dsql_span part;
        more = dsql_span_cut(s, '-', &part, &s);
        for (size_t i = 0; i < part.len; i++)
            if (!is_lower_or_digit(part.ptr[i]))
                return false;
        if (part.len == 0)
            return false;
    }
    return parts >= 2;
}

static bool is_cluster_id(struct dsql_span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_lower_or_digit(s.ptr[i]))
            return false;
    return s.len == DSQL_CLUSTER_ID_LEN;
}

/* Takes <id>.dsql[-<suffix>].<region>.on.aws apart; false if host is no such name. */
static bool split_dsql_host(struct dsql_span host, struct dsql_span *id, struct dsql_span *region)
{
    struct dsql_span service, rest;
    return dsql_span_cut(host, '.', id, &rest) && dsql_span_cut(rest, '.', &service, &rest) &&
           dsql_span_cut(rest, '.', region, &rest) && dsql_span_eq(rest, DSQL_SPAN("on.aws")) &&
           (dsql_span_eq(service, DSQL_SPAN("dsql")) ||
            dsql_span_starts(service, DSQL_SPAN("dsql-"))) &&
           dsql_endpoint_is_region(*region);
}

static enum dsql_rc not_a_host(struct dsql_span text, struct dsql_err *err)
{
    if (text.len == 0) {
        (void)dsql_err_set(err, DSQL_INVALID, "the cluster endpoint is empty");
        dsql_err_hint(err, "Set DSQL_ENDPOINT to a name like <cluster-id>.dsql.<region>.on.aws.");
        return DSQL_INVALID;
    }
    (void)dsql_err_set(err, DSQL_INVALID, "the cluster endpoint '%.*s' is not a host name",
                       DSQL_SPAN_ARG(text));
    if (memchr(text.ptr, '/', text.len) || memchr(text.ptr, '@', text.len))
        dsql_err_hint(err, "Give the host name alone, without scheme, user and path.");
    else if (memchr(text.ptr, ':', text.len))
        dsql_err_hint(err, "Give the host name alone, without a port.");
    else if (text.ptr[text.len - 1] == '.')
        dsql_err_hint(err, "Leave out the final dot: certificates and tokens do not have it.");
    else
        dsql_err_hint(err, "Give a name like <cluster-id>.dsql.<region>.on.aws.");
    return DSQL_INVALID;
}

static enum dsql_rc check_region(struct dsql_span host, struct dsql_span in_name,
                                 struct dsql_span given, struct dsql_err *err)
{
    if (given.len > 0 && !dsql_endpoint_is_region(given)) {
        (void)dsql_err_set(err, DSQL_INVALID, "'%.*s' is not the name of an AWS region",
                           DSQL_SPAN_ARG(given));
        dsql_err_hint(err, "Name one such as us-east-1.");
        return DSQL_INVALID;
    }
    if (in_name.len > 0 && given.len > 0 && !dsql_span_eq(in_name, given)) {
        (void)dsql_err_set(err, DSQL_INVALID, "the cluster %.*s is not in the region %.*s",
                           DSQL_SPAN_ARG(host), DSQL_SPAN_ARG(given));
        dsql_err_hint(err, "Leave the region out, or set it to %.*s.", DSQL_SPAN_ARG(in_name));
        return DSQL_INVALID;
    }
    if (in_name.len == 0 && given.len == 0) {
        (void)dsql_err_set(err, DSQL_INVALID, "the region of the cluster '%.*s' is not known",
                           DSQL_SPAN_ARG(host));
        dsql_err_hint(err, "Name the region with --region R or AWS_REGION, or give the whole name: "
                           "<cluster-id>.dsql.<region>.on.aws.");
        return DSQL_INVALID;
    }
    return DSQL_OK;
}

static void copy(char *to, size_t size, struct dsql_span from)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, to, size);
    dsql_strbuf_add(&sb, from);
    assert(!sb.cut);
}

enum dsql_rc dsql_endpoint_parse(struct dsql_span text, struct dsql_span region,
                                 struct dsql_endpoint *endpoint, struct dsql_err *err)
{
    text = dsql_span_trim(text);
    region = dsql_span_trim(region);
    if (!dsql_endpoint_is_host(text))
        return not_a_host(text, err);

    /* Names do not depend on case, but what is signed does. */
    char lowered[DSQL_HOST_MAX];
    for (size_t i = 0; i < text.len; i++)
        lowered[i] = lower(text.ptr[i]);
    struct dsql_span host = {lowered, text.len}, id = DSQL_SPAN(""), in_name = DSQL_SPAN("");
    bool bare = is_cluster_id(host);
    if (bare)
        id = host;
    else if (!split_dsql_host(host, &id, &in_name))
        id = in_name = DSQL_SPAN("");
    enum dsql_rc rc = check_region(host, in_name, region, err);
    if (rc)
        return rc;

    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, endpoint->host, sizeof(endpoint->host));
    dsql_strbuf_add(&sb, host);
    if (bare)
        dsql_strbuf_addf(&sb, ".dsql.%.*s.on.aws", DSQL_SPAN_ARG(region));
    assert(!sb.cut);
    copy(endpoint->region, sizeof(endpoint->region), in_name.len > 0 ? in_name : region);
    copy(endpoint->cluster_id, sizeof(endpoint->cluster_id), id);
    return DSQL_OK;
}
