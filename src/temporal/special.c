/* The operations that are more than one statement. */
#include "base/clock.h"
#include "base/lock.h"
#include "temporal/call.h"

/*
 * Temporal locks a current execution and its execution with one JOIN. Here it is two locks by key:
 * the current one names the run, and its execution tells last_write_version. As with the JOIN, a
 * current one without an execution is not seen.
 */
static enum dsql_rc lock_current_and_execution(struct dsql_call *call)
{
    struct dsql_rows *current = NULL, *execution = NULL;
    int64_t version = 0;
    enum dsql_rc rc = dsql_call_query(call, call->statement, &current);
    if (!rc && dsql_rows_count(current) > 0) {
        size_t len = 0;
        const void *run_id = dsql_rows_bytes(current, 0, 0, &len);
        call->params[call->op->field_count] = dsql_raw(run_id, len);
        rc = dsql_call_query(call, call->op->then, &execution);
        if (!rc && dsql_rows_i64(execution, 0, 0, &version)) {
            rc = dsql_call_finish_query(call, current);
            if (!rc)
                dsql_result_patch(call->result,
                                  DSQL_OUT_LockCurrentExecutionsJoinExecutions_last_write_version,
                                  version);
        }
    }
    dsql_rows_free(current);
    dsql_rows_free(execution);
    return rc;
}

/* The last id of a queue is read, then its row is locked by its key. In one snapshot that is one
 * step; two who enqueue at once lock the same row and insert the same id. */
static enum dsql_rc lock_last_message(struct dsql_call *call)
{
    struct dsql_rows *last = NULL, *locked = NULL;
    int64_t id = 0;
    enum dsql_rc rc = dsql_call_query(call, call->statement, &last);
    if (!rc && dsql_rows_i64(last, 0, 0, &id)) {
        call->params[call->op->field_count] = dsql_i64(id);
        rc = dsql_call_query(call, call->op->then, &locked);
    }
    if (!rc)
        rc = dsql_call_finish_query(call, locked);
    dsql_rows_free(last);
    dsql_rows_free(locked);
    return rc;
}

enum dsql_rc dsql_call_draw_ids(struct dsql_call *call)
{
    struct dsql_store *store = call->store;
    size_t fields = call->op->field_count;
    bool out_of_ids = false;
    dsql_lock(&store->ids_lock);
    for (size_t i = 0; i < call->count; i++) {
        size_t at = i * fields + DSQL_IN_InsertIntoBufferedEvents_id;
        if (call->values[at].kind != DSQL_PARAM_NULL)
            continue;
        call->params[at] =
            dsql_i64(dsql_snowflake_next(&store->ids, dsql_clock_wall(store->clock)));
        out_of_ids = out_of_ids || call->params[at].as.i64 == 0;
    }
    dsql_unlock(&store->ids_lock);
    return out_of_ids
               ? dsql_err_set(call->err, DSQL_LIMIT, "the ids of buffered events are used up")
               : DSQL_OK;
}

bool dsql_call_drew_ids(const struct dsql_call *call)
{
    return call->id == DSQL_OP_InsertIntoBufferedEvents &&
           call->values[DSQL_IN_InsertIntoBufferedEvents_id].kind == DSQL_PARAM_NULL;
}

/* The ids are new at each try. One that another process has given to the same execution is met as a
 * duplicate key; the transaction is then run again, as after any conflict. */
static enum dsql_rc insert_events(struct dsql_call *call)
{
    enum dsql_rc rc = dsql_call_draw_ids(call);
    if (!rc)
        rc = dsql_call_exec(call);
    if (rc == DSQL_DUPLICATE && dsql_call_drew_ids(call) && !dsql_call_met_anothers(call))
        return dsql_err_set(call->err, DSQL_CONFLICT,
                            "another process gave the same id to a buffered event");
    return rc;
}

/* A process that has read ids gives greater ones from then on, also if its clock is slow. */
void dsql_call_see_ids(struct dsql_call *call, const struct dsql_rows *rows)
{
    int64_t id = 0;
    if (dsql_rows_count(rows) == 0 ||
        !dsql_rows_i64(rows, dsql_rows_count(rows) - 1, DSQL_OUT_SelectFromBufferedEvents_id, &id))
        return;
    dsql_lock(&call->store->ids_lock);
    dsql_snowflake_see(&call->store->ids, id);
    dsql_unlock(&call->store->ids_lock);
}

static enum dsql_rc select_events(struct dsql_call *call)
{
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_call_query(call, call->statement, &rows);
    if (!rc)
        rc = dsql_call_finish_query(call, rows);
    if (!rc)
        dsql_call_see_ids(call, rows);
    dsql_rows_free(rows);
    return rc;
}

enum dsql_rc dsql_call_special(struct dsql_call *call)
{
    switch ((int)call->id) { /* few of many */
    case DSQL_OP_LockCurrentExecutionsJoinExecutions:
        return lock_current_and_execution(call);
    case DSQL_OP_GetLastEnqueuedMessageIDForUpdate:
    case DSQL_OP_GetLastEnqueuedMessageIDForUpdateV2:
        return lock_last_message(call);
    case DSQL_OP_InsertIntoBufferedEvents:
        return insert_events(call);
    case DSQL_OP_SelectFromBufferedEvents:
        return select_events(call);
    }
    return dsql_err_set(call->err, DSQL_INVALID, "%s is nothing special", call->op->name);
}
