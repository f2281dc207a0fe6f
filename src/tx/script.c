#include "tx/script.h"

#include <libpq-fe.h>

#include "tx/tx_internal.h"
#include "tx/wire_internal.h"

/* Queues everything; COMMIT and the only Sync follow when it returns. */
static enum dsql_rc send_steps(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct dsql_script *script = arg;
    script->failed = script->count;
    enum dsql_rc rc = script->before ? script->before(script->arg, err) : DSQL_OK;
    for (size_t i = 0; i < script->count && rc == DSQL_OK; i++) {
        const struct dsql_step *step = &script->steps[i];
        size_t at;
        rc = dsql_wire_send(&tx->wire, step->stmt, step->params, step->count, step->expect,
                            script->results != NULL, &at);
        if (rc) {
            script->failed = i;
            *err = tx->wire.failed;
        }
    }
    return rc;
}

/* The step that an entry belongs to: its Parse comes before it, COMMIT behind all. */
static size_t step_of(const struct dsql_script *script, const struct dsql_wire *wire, size_t at)
{
    if (at == SIZE_MAX || wire->entries[at].kind == DSQL_WIRE_BEGIN)
        return script->count;
    size_t step = 0;
    for (size_t i = 0; i < at; i++)
        step += wire->entries[i].kind == DSQL_WIRE_STATEMENT;
    return step;
}

static void take_results(const struct dsql_script *script, struct dsql_wire *wire)
{
    size_t step = 0;
    for (size_t at = 0; at < wire->len; at++) {
        struct dsql_wire_entry *entry = &wire->entries[at];
        if (entry->kind != DSQL_WIRE_STATEMENT)
            continue;
        script->results[step++] =
            (struct dsql_step_result){entry->affected, (struct dsql_rows *)entry->result};
        entry->result = NULL;
    }
}

static enum dsql_rc end_try(struct dsql_tx *tx, void *arg, enum dsql_rc rc, struct dsql_err *err)
{
    struct dsql_script *script = arg;
    if (!rc) {
        if (script->results)
            take_results(script, &tx->wire);
        return DSQL_OK;
    }
    if (script->failed == script->count)
        script->failed = step_of(script, &tx->wire, tx->wire.failed_at);
    if (!script->judge || script->failed == script->count)
        return rc;
    struct dsql_step read;
    struct dsql_rows *seen = NULL;
    if (rc == DSQL_CONDITION_FAILED && script->look &&
        script->look(script->arg, script->failed, &read))
        seen = (struct dsql_rows *)dsql_wire_look(&tx->wire, read.stmt, read.params, read.count);
    rc = script->judge(script->arg, script->failed, seen, rc, err);
    dsql_rows_free(seen);
    return rc;
}

/* An expectation that the server does not raise would be looked at after COMMIT. */
static enum dsql_rc check(struct dsql_script *script, struct dsql_err *err)
{
    for (size_t i = 0; i < script->count; i++) {
        const struct dsql_step *step = &script->steps[i];
        if (!step->expect || (step->stmt->flags & DSQL_STMT_RAISES && step->expect->rows == 0))
            continue;
        script->failed = i;
        return dsql_err_set(err, DSQL_INVALID,
                            "%s: a script can expect only what the server raises: build the "
                            "statement with DSQL_RAISING or DSQL_EXPECTING",
                            step->stmt->name ? step->stmt->name : "statement");
    }
    return DSQL_OK;
}

enum dsql_rc dsql_script_run_on(const struct dsql_source *source, const char *operation,
                                struct dsql_script *script, const struct dsql_tx_policy *policy,
                                struct dsql_err *err)
{
    struct dsql_tx_policy its;
    if (policy)
        its = *policy;
    else
        dsql_tx_policy_default(&its);
    its.single = script->count == 1 && !its.read_only;
    script->failed = script->count;
    for (size_t i = 0; script->results && i < script->count; i++)
        script->results[i] = (struct dsql_step_result){.affected = -1};
    enum dsql_rc rc = check(script, err);
    if (rc)
        return rc;
    struct dsql_work work = {.body = send_steps, .ended = end_try, .arg = script};
    return dsql_tx_run_work(source, operation, &work, &its, err);
}

enum dsql_rc dsql_script_run(struct dsql_pool *pool, const char *operation,
                             const struct dsql_step *steps, size_t count,
                             const struct dsql_tx_policy *policy, struct dsql_step_result *results,
                             size_t *failed, struct dsql_err *err)
{
    struct dsql_source source = dsql_source_of_pool(pool);
    struct dsql_script script = {.steps = steps, .count = count, .results = results};
    enum dsql_rc rc = dsql_script_run_on(&source, operation, &script, policy, err);
    if (rc != DSQL_OK && failed)
        *failed = script.failed;
    return rc;
}
