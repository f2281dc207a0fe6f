/* Which statement of an operation is meant. */
#include "temporal/call.h"

static bool is_null(const struct dsql_param *p)
{
    return p->kind == DSQL_PARAM_NULL;
}

static enum dsql_rc bad(const struct dsql_call *call, const char *why)
{
    return dsql_err_set(call->err, DSQL_INVALID, "%s: %s", call->op->name, why);
}

static enum dsql_rc by_version(struct dsql_call *call, size_t form)
{
    int64_t version = call->params[0].as.i64;
    if (version != 1 && version != 2)
        return bad(call, "version is neither 1 nor 2");
    call->which = 2 * form + (size_t)(version - 1);
    return DSQL_OK;
}

static enum dsql_rc by_namespace(struct dsql_call *call)
{
    bool id = !is_null(&call->params[1]), name = !is_null(&call->params[2]);
    bool pages = call->op->field_count > 4 && !is_null(&call->params[4]);
    if (id && name)
        return bad(call, "either an id or a name, not both");
    if (!id && !name && !pages)
        return bad(call, "neither an id nor a name nor a page size");
    call->which = id ? 0 : name ? 1 : 2;
    call->one = id || name;
    return DSQL_OK;
}

enum dsql_rc dsql_call_choose(struct dsql_call *call)
{
    const struct dsql_param *p = call->params;
    call->which = 0;
    call->one = call->op->kind == DSQL_KIND_ONE;
    switch (call->op->choice) {
    case DSQL_CHOICE_FIRST:
    case DSQL_CHOICE_LIMITED:
        return DSQL_OK;
    case DSQL_CHOICE_SHARD_LOCK:
        return dsql_store_settle_lock(call->store, &call->which, call->err);
    case DSQL_CHOICE_ARCHETYPE:
        if (!is_null(&p[3]) && p[3].as.i64 == 0)
            return bad(call, "archetype_id is 0, which is none");
        call->which = !is_null(&p[3]);
        return DSQL_OK;
    case DSQL_CHOICE_HISTORY: /* metadata wins over the direction, as in Temporal's plugins */
        call->which = p[9].as.i64 ? 2 : p[8].as.i64 ? 1 : 0;
        return DSQL_OK;
    case DSQL_CHOICE_PORTION:
        call->which = call->alone;
        return DSQL_OK;
    case DSQL_CHOICE_VERSION:
        return by_version(call, 0);
    case DSQL_CHOICE_TASK_QUEUES:
        call->one = !is_null(&p[2]);
        return by_version(call, call->one ? 0 : !is_null(&p[3]) ? 1 : 2);
    case DSQL_CHOICE_THIRD_IS_ZERO:
        call->which = p[2].as.i64 == 0;
        return DSQL_OK;
    case DSQL_CHOICE_NAMESPACE:
        return by_namespace(call);
    }
    return bad(call, "no such choice");
}
