#include "visibility_read_bridge.h"

static struct dsql_tx_policy policy_of(const struct bridge_engine *engine,
                                       struct dsql_cancel *cancel, int64_t timeout_ns)
{
    struct dsql_tx_policy policy = engine->policy;
    policy.cancel = cancel;
    policy.timeout_ns = timeout_ns;
    return policy;
}

static struct dsql_visibility_query query_of(const char *bytes, const struct bridge_asked *asked)
{
    struct dsql_visibility_query query = {
        dsql_slice(bytes, asked->namespace_len),
        dsql_slice(bytes + asked->namespace_len, asked->expression_len)};
    return query;
}

static struct dsql_slice rest_of(const char *bytes, const struct bridge_asked *asked)
{
    return dsql_slice(bytes + asked->namespace_len + asked->expression_len, asked->rest_len);
}

int bridge_visibility_list(struct bridge_engine *engine, struct dsql_visibility *visibility,
                           const void *bytes, const struct bridge_asked *asked, int64_t page_size,
                           struct dsql_cancel *cancel, int64_t timeout_ns,
                           struct dsql_visibility_page *page, struct dsql_err *err)
{
    struct dsql_tx_policy policy = policy_of(engine, cancel, timeout_ns);
    struct dsql_visibility_query query = query_of(bytes, asked);
    return dsql_visibility_list(visibility, &query, page_size, rest_of(bytes, asked), &policy, page,
                                err);
}

int bridge_visibility_count(struct bridge_engine *engine, struct dsql_visibility *visibility,
                            const void *bytes, const struct bridge_asked *asked,
                            struct dsql_cancel *cancel, int64_t timeout_ns,
                            struct dsql_visibility_counts *counts, struct dsql_err *err)
{
    struct dsql_tx_policy policy = policy_of(engine, cancel, timeout_ns);
    struct dsql_visibility_query query = query_of(bytes, asked);
    return dsql_visibility_count(visibility, &query, rest_of(bytes, asked), &policy, counts, err);
}

int bridge_visibility_get(struct bridge_engine *engine, struct dsql_visibility *visibility,
                          const void *bytes, const struct bridge_asked *asked,
                          struct dsql_cancel *cancel, int64_t timeout_ns,
                          struct dsql_visibility_page *page, struct dsql_err *err)
{
    struct dsql_tx_policy policy = policy_of(engine, cancel, timeout_ns);
    return dsql_visibility_get(visibility, query_of(bytes, asked).namespace_id,
                               rest_of(bytes, asked), &policy, page, err);
}
