/* Which statement of an operation is meant. */
#include "temporal/call.h"

static bool holds(const struct dsql_call *call, const struct dsql_op_when *when, bool key_share)
{
    const struct dsql_param *value = &call->params[when->field];
    bool is_null = value->kind == DSQL_PARAM_NULL;
    switch (when->test) {
    case DSQL_WHEN_ALWAYS:
        return true;
    case DSQL_WHEN_KEY_SHARE:
        return key_share;
    case DSQL_WHEN_NULL:
        return is_null;
    case DSQL_WHEN_SET:
        return !is_null;
    case DSQL_WHEN_TRUE:
        return !is_null && value->as.i64 != 0;
    case DSQL_WHEN_EQUALS:
        return !is_null && value->as.i64 == when->value;
    }
    return false;
}

static bool all_hold(const struct dsql_call *call, const struct dsql_op_statement *statement,
                     bool key_share)
{
    for (size_t i = 0; i < DSQL_OP_WHENS_MAX; i++)
        if (!holds(call, &statement->when[i], key_share))
            return false;
    return true;
}

enum dsql_rc dsql_call_choose(struct dsql_call *call)
{
    const struct dsql_op_info *op = call->op;
    bool key_share = false;
    call->statement = op->portion;
    if (op->portion && (call->alone || op->statement_count == 0))
        return DSQL_OK;
    if (op->statements[0].when[0].test == DSQL_WHEN_KEY_SHARE) {
        enum dsql_rc rc = dsql_store_settle_lock(call->store, &key_share, call->err);
        if (rc)
            return rc;
    }
    for (size_t i = 0; i < op->statement_count; i++) {
        call->statement = &op->statements[i];
        if (all_hold(call, call->statement, key_share))
            return DSQL_OK;
    }
    return dsql_err_set(call->err, DSQL_INVALID, "%s: %s", op->name, op->otherwise);
}
