#include "bridge.h"

#include <stdio.h>
#include <stdlib.h>

enum { INLINE_VALUES = 64 };

static void override(char *field, size_t size, const char *value)
{
    if (value[0])
        (void)snprintf(field, size, "%s", value);
}

static void set_log_level(void)
{
    static const enum dsql_log_level levels[] = {DSQL_LOG_ERROR, DSQL_LOG_WARN, DSQL_LOG_INFO,
                                                 DSQL_LOG_DEBUG};
    const char *wanted = getenv("DSQL_LOG_LEVEL");
    for (size_t i = 0; wanted && i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(wanted, dsql_log_level_name(levels[i])) == 0)
            dsql_log_set_level(levels[i]);
}

int bridge_open(const char *endpoint, const char *user, const char *database, int64_t max_open,
                int64_t max_age_ns, struct bridge_engine **engine, struct dsql_err *err)
{
    struct dsql_pool_options pool;
    struct dsql_store_options store;
    struct dsql_visibility_options visibility;
    struct bridge_engine *made = calloc(1, sizeof(*made));
    if (!made)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    set_log_level();
    enum dsql_rc rc = dsql_pool_options_env(&pool, err);
    dsql_store_options_default(&store);
    if (!rc)
        rc = dsql_retry_policy_env(&store.policy.retry, err);
    if (!rc) {
        store.policy.retry.reconnects = 2; /* what is lost before COMMIT was not applied */
        override(pool.connection.endpoint, sizeof(pool.connection.endpoint), endpoint);
        override(pool.connection.user, sizeof(pool.connection.user), user);
        override(pool.connection.database, sizeof(pool.connection.database), database);
        if (max_open > 0)
            dsql_pool_options_resize(&pool, max_open);
        if (max_age_ns > 0)
            dsql_pool_options_limit_age(&pool, max_age_ns);
        pool.share = true; /* stores of one cluster may ask for other sizes */
        rc = dsql_metrics_new(pool.budget.service, &made->metrics);
        pool.metrics = made->metrics;
    }
    if (!rc)
        rc = dsql_pool_open(&pool, &made->pool, err);
    if (!rc)
        rc = dsql_store_open(made->pool, &store, &made->store, err);
    if (!rc) {
        dsql_visibility_options_default(&visibility);
        visibility.policy = store.policy;
        rc = dsql_visibility_open(made->pool, &visibility, &made->visibility, err);
    }
    if (rc) {
        bridge_close(made);
        return rc;
    }
    made->policy = store.policy;
    made->options = pool;
    *engine = made;
    return DSQL_OK;
}

void bridge_close(struct bridge_engine *engine)
{
    dsql_visibility_close(engine->visibility);
    dsql_store_close(engine->store);
    dsql_pool_close(engine->pool);
    dsql_metrics_destroy(engine->metrics);
    free(engine);
}

int64_t bridge_connections(struct bridge_engine *engine)
{
    struct dsql_pool_stats stats;
    dsql_pool_stats(engine->pool, &stats);
    return stats.ready + stats.in_use;
}

int bridge_operation(struct bridge_engine *engine, const char *name, int64_t timeout_ns,
                     struct dsql_operation **operation, struct dsql_err *err)
{
    struct dsql_tx_policy policy = engine->policy;
    policy.timeout_ns = timeout_ns;
    return dsql_operation_begin(engine->pool, name, &policy, operation, err);
}

static struct dsql_param param_of(const struct bridge_value *value, const char *bytes)
{
    struct dsql_param param = dsql_null();
    switch ((enum bridge_kind)value->kind) {
    case BRIDGE_NULL:
        break;
    case BRIDGE_NUMBER:
        param = dsql_i64(value->number);
        break;
    case BRIDGE_BYTES:
    case BRIDGE_NO_BYTES:
        param.kind = DSQL_PARAM_BYTES;
        param.len = value->len;
        param.as.ptr = value->kind == BRIDGE_BYTES ? bytes + value->number : NULL;
        break;
    }
    return param;
}

int bridge_call(struct bridge_engine *engine, struct dsql_store_tx *tx,
                struct dsql_operation *operation, int op, const struct bridge_value *values,
                size_t fields, size_t count, const void *bytes, struct dsql_cancel *cancel,
                int64_t timeout_ns, struct bridge_answer *answer)
{
    struct dsql_param on_stack[INLINE_VALUES], *params = on_stack;
    struct dsql_tx_policy policy = engine->policy;
    size_t n = fields * count;
    policy.cancel = cancel;
    policy.timeout_ns = timeout_ns;
    policy.operation = operation;
    if (count > 0 && fields != dsql_op_fields(op))
        return dsql_err_set(&answer->err, DSQL_INVALID, "%s has %zu fields, not %zu",
                            dsql_op_name(op), dsql_op_fields(op), fields);
    if (n > INLINE_VALUES && !(params = reallocarray(NULL, n, sizeof(*params))))
        return dsql_err_set(&answer->err, DSQL_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++)
        params[i] = param_of(&values[i], bytes);
    enum dsql_rc rc = dsql_store_call(engine->store, tx, op, params, count, tx ? NULL : &policy,
                                      &answer->result, &answer->err);
    if (params != on_stack)
        free(params);
    return rc;
}

static int run_script(struct bridge_engine *engine, const char *name,
                      const struct bridge_step *steps, size_t count, struct dsql_param *params,
                      struct dsql_script_call *calls, const struct dsql_tx_policy *policy,
                      struct dsql_result *results, struct dsql_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct bridge_step *step = &steps[i];
        size_t fields = (size_t)step->fields, inputs = (size_t)step->count;
        if (inputs > 0 && fields != dsql_op_fields(step->op))
            return dsql_err_set(err, DSQL_INVALID, "%s has %zu fields, not %zu",
                                dsql_op_name(step->op), dsql_op_fields(step->op), fields);
        calls[i] = (struct dsql_script_call){
            .op = step->op,
            .params = params + step->first,
            .count = inputs,
            .expect = step->expects ? params + step->first + fields * inputs : NULL};
    }
    return dsql_store_run_script(engine->store, name, calls, count, policy, results, NULL, err);
}

int bridge_script(struct bridge_engine *engine, const char *name, struct dsql_operation *operation,
                  const struct bridge_step *steps, size_t count, const struct bridge_value *values,
                  size_t value_count, const void *bytes, int read_only, struct dsql_cancel *cancel,
                  int64_t timeout_ns, struct dsql_result *results, struct dsql_err *err)
{
    struct dsql_tx_policy policy = engine->policy;
    struct dsql_param *params = calloc(value_count + 1, sizeof(*params));
    struct dsql_script_call *calls = calloc(count + 1, sizeof(*calls));
    int rc = DSQL_NO_MEMORY;
    policy.cancel = cancel;
    policy.timeout_ns = timeout_ns;
    policy.read_only = read_only;
    policy.operation = operation;
    if (params && calls) {
        for (size_t i = 0; i < value_count; i++)
            params[i] = param_of(&values[i], bytes);
        rc = run_script(engine, name, steps, count, params, calls, &policy, results, err);
    } else {
        (void)dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    free(params);
    free(calls);
    return rc;
}

int bridge_begin(struct bridge_engine *engine, struct dsql_operation *operation,
                 struct dsql_cancel *cancel, int64_t timeout_ns, struct dsql_store_tx **tx,
                 struct dsql_err *err)
{
    struct dsql_tx_policy policy = engine->policy;
    policy.cancel = cancel;
    policy.timeout_ns = timeout_ns;
    policy.operation = operation;
    return dsql_store_begin(engine->store, "", &policy, tx, err);
}
