/* Scripts of the catalogue: calls to steps, and the answers of steps to results. */
#include <stdlib.h>

#include "base/clock.h"
#include "temporal/call.h"
#include "tx/script.h"
#include "tx/wire.h"

enum { READS_MAX = 5 }; /* of a script that only reads: a large value may be replaced meanwhile */

struct script {
    struct dsql_call *calls;
    size_t count;
    struct dsql_described *fences; /* of each call; used by those that expect something */
    size_t *first;                 /* the first step of each call, and the end */
    struct dsql_step *steps;
    bool *aside;              /* of each step: it serves the large values of its call */
    struct dsql_param *parts; /* the parameters of the steps that add parts */
    struct dsql_step_result *answers;
    bool met_large; /* a row holds a large value that was not cleared away before */
    struct dsql_script_failure failure;
    struct dsql_call look; /* the read behind ROLLBACK */
};

static bool expects(const struct dsql_op_info *op)
{
    return op->fence.mode == DSQL_FENCE_CHECKS || op->fence.mode == DSQL_FENCE_EXPECTS;
}

static enum dsql_rc refuse(const struct dsql_call *call, const char *why)
{
    return dsql_err_set(call->err, DSQL_INVALID, "%s in a script: %s", call->op->name, why);
}

static enum dsql_rc check(const struct dsql_call *call, const struct dsql_param *expect)
{
    const struct dsql_op_info *op = call->op;
    if (op->fence.mode == DSQL_FENCE_LOCKS)
        return refuse(call, "its token cannot be looked at before COMMIT");
    if (op->then)
        return refuse(call, "it needs an answer before it can go on");
    if ((op->fence.mode == DSQL_FENCE_CHECKS) != (expect != NULL))
        return refuse(call,
                      expect ? "it takes no token beside its fields" : "it must expect a token");
    bool any = !expect;
    for (size_t i = 0; expect && i < op->fence.tokens; i++)
        any = any || expect[i].kind != DSQL_PARAM_NULL;
    if (!any)
        return refuse(call, "it must expect a token that is not NULL");
    if (call->count != 1 && !(op->flags & DSQL_FLAG_MULTI))
        return dsql_err_set(call->err, DSQL_INVALID, "%s takes one input, not %zu", op->name,
                            call->count);
    return DSQL_OK;
}

/* A delete up to a limit is one statement if one portion takes it. */
static enum dsql_rc limit(struct dsql_call *call)
{
    size_t fields = call->op->field_count;
    if (call->op->statement_count > 0)
        return DSQL_OK;
    if (call->params[fields - 1].as.i64 > DSQL_CALL_PORTION)
        return refuse(call, "it deletes in portions");
    call->params[fields] = dsql_i64(DSQL_CALL_PORTION);
    return DSQL_OK;
}

static enum dsql_rc prepare_call(struct dsql_call *call, const struct dsql_param *expect)
{
    enum dsql_rc rc = check(call, expect);
    if (!rc)
        rc = dsql_call_convert(call, call->values);
    if (!rc)
        rc = dsql_call_choose(call);
    if (!rc)
        rc = limit(call);
    if (!rc && expect)
        rc = dsql_call_convert_tokens(call, expect);
    call->clears = call->large_count > 0; /* where one is written, one is likely to stand */
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

/* Writes down the steps of a call, or counts them. */
struct layout {
    struct script *script; /* NULL: only counts */
    size_t steps, parts;
};

static void lay_step(struct layout *layout, struct dsql_step step, bool aside)
{
    if (layout->script) {
        layout->script->steps[layout->steps] = step;
        layout->script->aside[layout->steps] = aside;
    }
    layout->steps++;
}

static void lay_part(struct layout *layout, const struct dsql_large *large, size_t number)
{
    struct dsql_param *params = NULL;
    if (layout->script) {
        params = layout->script->parts + layout->parts * DSQL_LARGE_PART_PARAMS;
        dsql_large_part_params(large, number, params);
    }
    layout->parts++;
    lay_step(layout, (struct dsql_step){&dsql_large_insert, params, DSQL_LARGE_PART_PARAMS, NULL},
             true);
}

/* What goes before the write of these inputs. */
static void lay_before(struct layout *layout, const struct dsql_call *call, size_t from,
                       size_t count)
{
    size_t fields = call->op->field_count;
    if (call->clears && call->statement->clear.sql)
        for (size_t i = from; i < from + count; i++)
            lay_step(layout,
                     (struct dsql_step){&call->statement->clear, call->params + i * fields,
                                        fields + call->statement->extra, NULL},
                     true);
    for (size_t i = 0; i < call->large_count; i++) {
        const struct dsql_large *large = &call->larges[i];
        bool here = large->input >= from && large->input < from + count;
        for (size_t part = 0; here && part < dsql_large_parts(large); part++)
            lay_part(layout, large, part);
    }
}

/* What a call expects is one statement in a form that raises; the inputs of the others go in
 * statements of 32, 16, ... inputs each. */
static void lay_call(struct layout *layout, const struct dsql_call *call,
                     struct dsql_described *fence)
{
    const struct dsql_op_info *op = call->op;
    size_t size;
    if (expects(op)) {
        bool check = op->fence.mode == DSQL_FENCE_CHECKS;
        lay_before(layout, call, 0, 1);
        dsql_call_describe(call, call->params + (check ? op->field_count : op->fence.keys), fence);
        lay_step(layout,
                 (struct dsql_step){call->statement->raising.sql ? dsql_call_raising_form(call)
                                                                 : dsql_call_form(call, 0),
                                    call->params, op->field_count + call->statement->extra,
                                    &fence->fence},
                 false);
        return;
    }
    for (size_t from = 0; from < call->count; from += (size_t)1 << size) {
        size = dsql_call_size(call, from);
        lay_before(layout, call, from, (size_t)1 << size);
        lay_step(layout,
                 (struct dsql_step){dsql_call_form(call, size),
                                    call->params + from * op->field_count,
                                    (op->field_count << size) + call->statement->extra, NULL},
                 false);
    }
}

static void lay_calls(struct script *script, struct layout *layout)
{
    for (size_t i = 0; i < script->count; i++) {
        script->first[i] = layout->steps;
        lay_call(layout, &script->calls[i], &script->fences[i]);
    }
    script->first[script->count] = layout->steps;
}

static void free_steps(struct script *script)
{
    for (size_t i = 0; script->answers && i < script->first[script->count]; i++)
        dsql_rows_free(script->answers[i].rows);
    free(script->steps);
    free(script->aside);
    free(script->parts);
    free(script->answers);
    script->steps = NULL;
    script->aside = NULL;
    script->parts = NULL;
    script->answers = NULL;
}

/* The calls are prepared: their inputs say how many statements they take. */
static bool make_steps(struct script *script)
{
    struct layout count = {0}, all = {.script = script};
    free_steps(script);
    lay_calls(script, &count);
    script->steps = calloc(count.steps + 1, sizeof(*script->steps));
    script->aside = calloc(count.steps + 1, sizeof(*script->aside));
    script->parts = calloc(count.parts * DSQL_LARGE_PART_PARAMS + 1, sizeof(*script->parts));
    script->answers = calloc(count.steps + 1, sizeof(*script->answers));
    if (!script->steps || !script->aside || !script->parts || !script->answers)
        return false;
    lay_calls(script, &all);
    return true;
}

static void free_script(struct script *script)
{
    for (size_t i = 0; i < script->count; i++)
        dsql_call_fini(&script->calls[i]);
    if (script->first)
        free_steps(script);
    free(script->calls);
    free(script->fences);
    free(script->first);
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

/* The read that finds a row by the key of its fence. */
static bool look(void *arg, size_t step, struct dsql_step *read)
{
    struct script *script = arg;
    const struct dsql_call *failed = &script->calls[call_of(script, step)];
    enum dsql_op op = dsql_entities[failed->op->fence.what].read;
    if (op == DSQL_OP_COUNT)
        return false;
    struct dsql_call *call = &script->look;
    *call = (struct dsql_call){.store = failed->store, .id = op, .op = dsql_op_info(op)};
    call->params = call->own_params;
    for (size_t i = 0; i < call->op->field_count; i++)
        call->params[i] = i < failed->op->fence.keys ? failed->params[i] : dsql_null();
    for (size_t i = 0; i < failed->op->fence.keys; i++) { /* the whole ids of the key */
        size_t from = failed->op->fields[i].full, to = call->op->fields[i].full;
        if (from > 0 && to > 0)
            call->params[to] = failed->params[from];
    }
    if (dsql_call_choose(call) != DSQL_OK)
        return false;
    *read = (struct dsql_step){&call->statement->by_size[0], call->params,
                               call->op->field_count + call->statement->extra, NULL};
    return true;
}

static bool is_value(const struct dsql_rows *rows, size_t column, const struct dsql_param *value)
{
    int64_t number;
    size_t len = 0;
    if (value->kind == DSQL_PARAM_NULL)
        return true; /* any will do */
    if (value->kind != DSQL_PARAM_RAW)
        return dsql_rows_i64(rows, 0, column, &number) && number == value->as.i64;
    const void *bytes = dsql_rows_bytes(rows, 0, column, &len);
    return bytes && len == (size_t)value->len && memcmp(bytes, value->as.ptr, len) == 0;
}

/* Whether a row holds every token that a call expects. One that expects anything but a token has no
 * column of that name. */
static bool holds(const struct dsql_call *failed, const struct dsql_op_info *read,
                  const struct dsql_rows *rows)
{
    const struct dsql_op_info *op = failed->op;
    bool check = op->fence.mode == DSQL_FENCE_CHECKS;
    for (size_t i = 0; i < op->fence.tokens; i++) {
        const struct dsql_op_field *field = &op->fields[op->fence.keys + i];
        const struct dsql_param *value =
            &failed->params[check ? op->field_count + i : op->fence.keys + i];
        size_t column = 0;
        while (column < read->column_count && strcmp(read->columns[column].name, field->name) != 0)
            column++;
        if (column == read->column_count || !is_value(rows, column, value))
            return false;
    }
    return true;
}

/* What was found where something else was expected. */
static enum dsql_rc judge_seen(struct script *script, const struct dsql_rows *seen,
                               struct dsql_err *err)
{
    const struct dsql_call *failed = &script->calls[script->failure.call];
    struct dsql_call *read = &script->look;
    script->failure.read = read->id;
    script->failure.why = dsql_rows_count(seen) == 0 ? DSQL_SCRIPT_MISSING : DSQL_SCRIPT_WRONG;
    if (dsql_rows_count(seen) > 0 && holds(failed, read->op, seen))
        return dsql_err_set(err, DSQL_CONFLICT, "%s: what it expected came true meanwhile",
                            failed->op->name);
    read->result = &script->failure.found;
    read->err = NULL;
    dsql_result_clear(read->result, read->op->column_count);
    if (dsql_result_add(read, seen) != DSQL_OK)
        dsql_result_clear(read->result, read->op->column_count);
    return DSQL_CONDITION_FAILED;
}

static enum dsql_rc judge(void *arg, size_t step, const struct dsql_rows *seen, enum dsql_rc rc,
                          struct dsql_err *err)
{
    struct script *script = arg;
    struct dsql_result empty = script->failure.found;
    dsql_result_clear(&empty, 0);
    script->failure = (struct dsql_script_failure){
        .call = call_of(script, step), .read = DSQL_OP_COUNT, .found = empty};
    if (seen)
        return judge_seen(script, seen, err);
    if (dsql_call_met_large(&script->calls[script->failure.call], rc, err))
        script->met_large = true;
    if (rc != DSQL_DUPLICATE)
        return rc;
    if (dsql_call_drew_ids(&script->calls[script->failure.call]))
        return dsql_err_set(err, DSQL_CONFLICT,
                            "another process gave the same id to a buffered event");
    script->failure.why = DSQL_SCRIPT_DUPLICATE;
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
        if (script->aside[step])
            continue;
        bool known = answer->affected >= 0 && result->affected >= 0;
        result->affected = known ? result->affected + answer->affected : -1;
        if (call->op->column_count > 0)
            rc = dsql_result_add(call, answer->rows);
        if (call->id == DSQL_OP_SelectFromBufferedEvents)
            dsql_call_see_ids(call, answer->rows);
    }
    if (result->affected >= 0)
        result->affected += (int64_t)call->spared;
    return rc;
}

static bool writes(const struct script *script)
{
    for (size_t i = 0; i < script->count; i++)
        if (script->calls[i].op->kind == DSQL_KIND_EXEC)
            return true;
    return false;
}

static enum dsql_rc run_once(struct script *script, struct dsql_store *store, const char *name,
                             const struct dsql_tx_policy *policy, bool wanted, struct dsql_err *err)
{
    struct dsql_source source = dsql_source_of_pool(store->pool);
    if (!make_steps(script))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    struct dsql_script steps = {.steps = script->steps,
                                .count = script->first[script->count],
                                .results = wanted ? script->answers : NULL,
                                .before = draw_ids,
                                .look = look,
                                .judge = judge,
                                .arg = script};
    enum dsql_rc rc =
        dsql_script_run_on(&source, name, &steps, policy ? policy : &store->options.policy, err);
    if (rc) {
        script->failure.call = call_of(script, steps.failed);
        if (script->failure.call == script->count)
            script->failure.why = DSQL_SCRIPT_OTHER;
    }
    return rc;
}

/* A script that met a large value has changed nothing; it is run once more, and clears away what
 * any of its calls replaces or deletes. */
static enum dsql_rc run(struct script *script, struct dsql_store *store, const char *name,
                        const struct dsql_tx_policy *policy, bool wanted, struct dsql_err *err)
{
    enum dsql_rc rc = run_once(script, store, name, policy, wanted, err);
    if (!rc || !script->met_large)
        return rc;
    for (size_t i = 0; i < script->count; i++)
        script->calls[i].clears = true;
    return run_once(script, store, name, policy, wanted, err);
}

/* Puts the large values of all results together. False: a value was replaced since. */
static enum dsql_rc join(struct script *script, struct dsql_store *store,
                         const struct dsql_tx_policy *policy, struct dsql_result *results,
                         bool *whole, struct dsql_err *err)
{
    struct dsql_large_set set = {0};
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < script->count && !rc; i++)
        if (script->calls[i].marked)
            rc = dsql_large_find(script->calls[i].op, &results[i], &set, err);
    if (!rc && set.count > 0)
        rc = dsql_large_fetch(store, &set, policy, err);
    *whole = dsql_large_is_whole(&set);
    for (size_t i = 0; i < script->count && !rc && *whole; i++)
        if (script->calls[i].marked)
            rc = dsql_large_join(script->calls[i].op, &results[i], &set, err);
    dsql_large_set_fini(&set);
    return rc;
}

/* The results of a script that was carried out. */
static enum dsql_rc fill_results(struct script *script, struct dsql_store *store,
                                 const struct dsql_tx_policy *policy, struct dsql_result *results,
                                 bool *whole, struct dsql_err *err)
{
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < script->count && !rc; i++) {
        script->calls[i].marked = false;
        rc = fill_result(script, i, &results[i]);
    }
    return rc ? rc : join(script, store, policy, results, whole, err);
}

/* Counts the shards whose range the script has changed. */
static void note_shards(const struct script *script, struct dsql_store *store)
{
    struct dsql_metrics *metrics = dsql_source_of_pool(store->pool).metrics;
    for (size_t i = 0; metrics && i < script->count; i++) {
        const struct dsql_call *call = &script->calls[i];
        size_t range = call->op->fence.keys;
        if (call->id != DSQL_OP_UpdateShards ||
            call->params[range].as.i64 == call->params[call->op->field_count].as.i64)
            continue;
        enum dsql_label_value times = dsql_acquired_note(
            &store->acquired, (int32_t)call->params[0].as.i64, dsql_clock_mono(store->clock));
        dsql_counter_add(metrics, DSQL_SERIES(shard_acquired, .value = (int)times), 1);
    }
}

/* Hands over what a failure found, in place of what the caller's had found before. */
static void hand_over(struct script *script, bool failed, struct dsql_script_failure *out)
{
    if (!failed || !out) {
        dsql_result_fini(&script->failure.found);
        return;
    }
    dsql_result_fini(&out->found);
    *out = script->failure;
}

enum dsql_rc dsql_store_run_script(struct dsql_store *store, const char *name,
                                   const struct dsql_script_call *calls, size_t count,
                                   const struct dsql_tx_policy *policy, struct dsql_result *results,
                                   struct dsql_script_failure *failure, struct dsql_err *err)
{
    struct script script = {.failure = {.call = count, .read = DSQL_OP_COUNT}};
    enum dsql_rc rc = DSQL_OK;
    if (!make_calls(&script, store, calls, count, err)) {
        free_script(&script);
        hand_over(&script, true, failure);
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count && !rc; i++) {
        rc = prepare_call(&script.calls[i], calls[i].expect);
        if (rc)
            script.failure.call = i;
    }
    bool changes = writes(&script), applied = false, whole = true;
    for (int tries = 0; !rc && (tries == 0 || !whole) && tries < READS_MAX; tries++) {
        rc = run(&script, store, name, policy, results != NULL, err);
        applied = !rc && changes;
        if (applied)
            note_shards(&script, store);
        if (!rc && results)
            rc = fill_results(&script, store, policy, results, &whole, err);
        if (!rc && !whole && (changes || tries == READS_MAX - 1))
            rc = dsql_err_set(err, DSQL_CONFLICT, "%s: a large value is replaced again and again",
                              name);
    }
    if (rc && applied)
        rc = dsql_wire_fail_applied(err);
    hand_over(&script, rc != DSQL_OK, failure);
    free_script(&script);
    return rc;
}
