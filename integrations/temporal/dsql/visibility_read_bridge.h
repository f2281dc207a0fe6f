/* What Go calls of visibility's lists and counts: flat memory in, flat memory out. */
#ifndef DSQL_TEMPORAL_VISIBILITY_READ_BRIDGE_H
#define DSQL_TEMPORAL_VISIBILITY_READ_BRIDGE_H

#include "bridge.h"
#include "dsql/visibility_query.h"

/* How long the parts of an input are, which stand one behind the other in `bytes`. */
struct bridge_asked {
    size_t namespace_len, expression_len;
    size_t rest_len; /* the token of a list, the group of a count, the run id of a get */
};

/* The caller ends page and counts, whatever the outcome. */
int bridge_visibility_list(struct bridge_engine *engine, struct dsql_visibility *visibility,
                           const void *bytes, const struct bridge_asked *asked, int64_t page_size,
                           struct dsql_cancel *cancel, int64_t timeout_ns,
                           struct dsql_visibility_page *page, struct dsql_err *err);
int bridge_visibility_count(struct bridge_engine *engine, struct dsql_visibility *visibility,
                            const void *bytes, const struct bridge_asked *asked,
                            struct dsql_cancel *cancel, int64_t timeout_ns,
                            struct dsql_visibility_counts *counts, struct dsql_err *err);
int bridge_visibility_get(struct bridge_engine *engine, struct dsql_visibility *visibility,
                          const void *bytes, const struct bridge_asked *asked,
                          struct dsql_cancel *cancel, int64_t timeout_ns,
                          struct dsql_visibility_page *page, struct dsql_err *err);

#endif
