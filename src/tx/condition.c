#include "tx/condition.h"

#include <stdio.h>

enum dsql_rc dsql_err_condition(struct dsql_err *err, const char *name,
                                const struct dsql_fence *fence, int64_t rows)
{
    if (!err)
        return DSQL_CONDITION_FAILED;
    const char *key = fence->key ? fence->key : "";
    (void)dsql_err_set(err, DSQL_CONDITION_FAILED,
                       "%s: %s%s%s is not at the expected %s any more (%lld rows)", name,
                       fence->entity, *key ? " " : "", key, fence->token, (long long)rows);
    dsql_err_hint(err, "another owner changed it; do not retry with the same token");
    (void)snprintf(err->entity, sizeof(err->entity), "%s", fence->entity);
    (void)snprintf(err->key, sizeof(err->key), "%s", key);
    return DSQL_CONDITION_FAILED;
}
