/* Scripts of the catalogue: calls to steps, and the answers of steps to results. */
#include <stdlib.h>

#include "temporal/call.h"
#include "tx/script.h"
#include "tx/wire.h"

struct script {
    struct dsql_call *calls;
    size_t count;
    struct dsql_described *fences; /* of each call; used by those that expect something */
    size_t *first;                 /* the first step of each call, and the end */
    struct dsql_step *steps;
    struct dsql_step_result *answers;
    size_t failed;
};

static bool expects(const struct dsql_op_info *op)
{
    return op->fence.mode == DSQL_FENCE_CHECK || op->fence.mode == DSQL_FENCE_OWN;
}

/* How many statements its inputs take. */
static size_t steps_of(const struct dsql_call *call)
{
    size_t steps = 0;
    for (size_t from = 0; from < call->count; steps++)
        from += (size_t)1 << dsql_call_size(call, from);
    return steps;
}

static enum dsql_rc refuse(const struct dsql_call *call, const char *why)
{
    return dsql_err_set(call->err, DSQL_INVALID, "%s in a script: %s", call->op->name, why);
}

static enum dsql_rc check(const struct dsql_call *call, const struct dsql_param *expect)
{
    const struct dsql_op_info *op = call->op;
    if (op->fence.mode == DSQL_FENCE_LOCK)
        return refuse(call, "nobody can look at its token before COMMIT");
    if (op->flags & DSQL_OP_SPECIAL && op->statements[1])
        return refuse(call, "it needs an answer before it can go on");
    if (op->choice == DSQL_CHOICE_LIMITED)
        return refuse(call, "it deletes in portions");
    if ((op->fence.mode == DSQL_FENCE_CHECK) != (expect != NULL))
        return refuse(call,
                      expect ? "it takes no token beside its fields" : "it must expect a token");
    bool any = !expect;
    for (size_t i = 0; expect && i < op->fence.tokens; i++)
        any = any || expect[i].kind != DSQL_PARAM_NULL;
    if (!any)
        return refuse(call, "it must expect a token that is not NULL");
    if (call->count != 1 && !(op->flags & DSQL_OP_MULTI))
        return dsql_err_set(call->err, DSQL_INVALID, "%s takes one input, not %zu", op->name,
                            call->count);
    return DSQL_OK;
}

static enum dsql_rc prepare_call(struct dsql_call *call, const struct dsql_param *expect)
{
    enum dsql_rc rc = check(call, expect);
    if (!rc)
        rc = dsql_call_convert(call, call->values);
    if (!rc)
        rc = dsql_call_choose(call);
    if (!rc && expect)
        rc = dsql_call_convert_tokens(call, expect);
    return rc;
}

static bool make_calls(struct script *script, struct dsql_store *store,
                       const struct dsql_script_call *calls, size_t count, struct dsql_err *err)
{
    script->calls = calloc(count, sizeof(*script->calls));
    script->fences = calloc(count, sizeof(*script->fences));
    script->first = calloc(count + 1, sizeof(*script->first));
    if (!script->calls || !script->fences || !script->first)
        return false;
    script->count = count;
    for (size_t i = 0; i < count; i++) {
        struct dsql_call *call = &script->calls[i];
        assert((unsigned)calls[i].op < DSQL_OP_COUNT);
        call->store = store;
        call->id = calls[i].op;
        call->op = dsql_op_info(calls[i].op);
        call->values = calls[i].params;
        call->count = calls[i].count;
        call->err = err;
    }
    return true;
}

/* The calls are prepared: their inputs say how many statements they take. */
static bool make_steps(struct script *script)
{
    for (size_t i = 0; i < script->count; i++)
        script->first[i + 1] = script->first[i] + steps_of(&script->calls[i]);
    size_t steps = script->first[script->count];
    script->steps = calloc(steps + 1, sizeof(*script->steps));
    script->answers = calloc(steps + 1, sizeof(*script->answers));
    return script->steps && script->answers;
}

static void free_script(struct script *script)
{
    for (size_t i = 0; i < script->count; i++)
        dsql_call_fini(&script->calls[i]);
    for (size_t i = 0; script->answers && i < script->first[script->count]; i++)
        dsql_rows_free(script->answers[i].rows);
    free(script->calls);
    free(script->fences);
    free(script->first);
    free(script->steps);
    free(script->answers);
}

/* What a call expects is one statement in a form that raises; the inputs of the others go in
 * statements of 32, 16, ... inputs each. */
static void fill_steps(struct script *script, size_t i)
{
    const struct dsql_call *call = &script->calls[i];
    const struct dsql_statement *statement = &call->store->statements.of[call->id][call->which];
    const struct dsql_op_info *op = call->op;
    struct dsql_step *step = &script->steps[script->first[i]];
    if (expects(op)) {
        bool check = op->fence.mode == DSQL_FENCE_CHECK;
        dsql_call_describe(call, call->params + (check ? op->field_count : op->fence.keys),
                           &script->fences[i]);
        *step = (struct dsql_step){
            op->flags & DSQL_OP_GUARDED ? &statement->guarded : &statement->by_size[0],
            call->params, op->field_count + statement->extra, &script->fences[i].fence};
        return;
    }
    size_t size;
    for (size_t from = 0; from < call->count; from += (size_t)1 << size, step++) {
        size = dsql_call_size(call, from);
        *step = (struct dsql_step){&statement->by_size[size], call->params + from * op->field_count,
                                   (op->field_count << size) + statement->extra, NULL};
    }
}

static size_t call_of(const struct script *script, size_t step)
{
    size_t i = 0;
    while (i < script->count && script->first[i + 1] <= step)
        i++;
    return i;
}

/* Before each try: ids that another process has given to the same execution are not met again. */
static enum dsql_rc draw_ids(void *arg, struct dsql_err *err)
{
    const struct script *script = arg;
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < script->count && !rc; i++) {
        struct dsql_call *call = &script->calls[i];
        if (call->id != DSQL_OP_InsertIntoBufferedEvents || call->count == 0)
            continue;
        struct dsql_err *outer = call->err;
        call->err = err;
        rc = dsql_call_draw_ids(call);
        call->err = outer;
    }
    return rc;
}

static enum dsql_rc judge(void *arg, size_t step, enum dsql_rc rc, struct dsql_err *err)
{
    const struct script *script = arg;
    if (rc == DSQL_DUPLICATE && dsql_call_drew_ids(&script->calls[call_of(script, step)]))
        return dsql_err_set(err, DSQL_CONFLICT,
                            "another process gave the same id to a buffered event");
    return rc;
}

/* The answers of a call's steps as its result. */
static enum dsql_rc fill_result(struct script *script, size_t i, struct dsql_result *result)
{
    struct dsql_call *call = &script->calls[i];
    enum dsql_rc rc = DSQL_OK;
    call->result = result;
    dsql_result_clear(result, call->op->column_count);
    for (size_t step = script->first[i]; step < script->first[i + 1] && !rc; step++) {
        const struct dsql_step_result *answer = &script->answers[step];
        bool known = answer->affected >= 0 && result->affected >= 0;
        result->affected = known ? result->affected + answer->affected : -1;
        if (call->op->kind != DSQL_KIND_EXEC)
            rc = dsql_result_add(call, answer->rows);
        if (call->id == DSQL_OP_SelectFromBufferedEvents)
            dsql_call_see_ids(call, answer->rows);
    }
    return rc;
}

static bool writes(const struct script *script)
{
    for (size_t i = 0; i < script->count; i++)
        if (script->calls[i].op->kind == DSQL_KIND_EXEC &&
            !(script->calls[i].op->flags & DSQL_OP_EXPECTS))
            return true;
    return false;
}

static enum dsql_rc run(struct script *script, struct dsql_store *store, const char *name,
                        const struct dsql_tx_policy *policy, bool wanted, struct dsql_err *err)
{
    struct dsql_source source = dsql_source_of_pool(store->pool);
    struct dsql_script steps = {.steps = script->steps,
                                .count = script->first[script->count],
                                .results = wanted ? script->answers : NULL,
                                .before = draw_ids,
                                .judge = judge,
                                .arg = script};
    for (size_t i = 0; i < script->count; i++)
        fill_steps(script, i);
    enum dsql_rc rc =
        dsql_script_run_on(&source, name, &steps, policy ? policy : &store->options.policy, err);
    script->failed = rc ? call_of(script, steps.failed) : script->count;
    return rc;
}

enum dsql_rc dsql_store_run_script(struct dsql_store *store, const char *name,
                                   const struct dsql_script_call *calls, size_t count,
                                   const struct dsql_tx_policy *policy, struct dsql_result *results,
                                   size_t *failed, struct dsql_err *err)
{
    struct script script = {.failed = count};
    enum dsql_rc rc = DSQL_OK;
    if (!make_calls(&script, store, calls, count, err)) {
        free_script(&script);
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count && !rc; i++) {
        rc = prepare_call(&script.calls[i], calls[i].expect);
        if (rc)
            script.failed = i;
    }
    if (!rc && !make_steps(&script))
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (!rc)
        rc = run(&script, store, name, policy, results != NULL, err);
    bool committed = !rc;
    for (size_t i = 0; results && i < count && !rc; i++)
        rc = fill_result(&script, i, &results[i]);
    if (rc && committed && writes(&script))
        rc = dsql_wire_fail_applied(err);
    if (rc && failed)
        *failed = script.failed;
    free_script(&script);
    return rc;
}
