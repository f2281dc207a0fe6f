/* The executor: one operation, on the pool or inside a transaction. */
#include "temporal/call.h"

#include <string.h>

#include "tx/blame.h"
#include "tx/condition.h"

/* -- Inside a transaction. */

enum dsql_rc dsql_call_query(struct dsql_call *call, const struct dsql_op_statement *statement,
                             struct dsql_rows **rows)
{
    return dsql_tx_query(call->tx->tx, &statement->by_size[0], call->params,
                         call->op->field_count + statement->extra, rows, call->err);
}

/* A column of the only row as a parameter. */
static struct dsql_param token_of(const struct dsql_call *call, const struct dsql_rows *rows,
                                  size_t column)
{
    int64_t number = 0;
    size_t len = 0;
    if (call->op->columns[column].type == DSQL_COLUMN_UUID) {
        const void *bytes = dsql_rows_bytes(rows, 0, column, &len);
        return dsql_raw(bytes, len);
    }
    (void)dsql_rows_i64(rows, 0, column, &number);
    return dsql_i64(number);
}

/* The parts of the result's large values, of the same snapshot. */
static enum dsql_rc join_in(struct dsql_call *call)
{
    struct dsql_large_set set = {0};
    enum dsql_rc rc = dsql_large_find(call->op, call->result, &set, call->err);
    if (!rc)
        rc = dsql_large_fetch_in(call->tx->tx, &set, call->err);
    if (!rc && !dsql_large_is_whole(&set))
        rc = dsql_err_set(call->err, DSQL_PROTOCOL, "%s: parts of a large value are missing",
                          call->op->name);
    if (!rc)
        rc = dsql_large_join(call->op, call->result, &set, call->err);
    dsql_large_set_fini(&set);
    return rc;
}

enum dsql_rc dsql_call_finish_query(struct dsql_call *call, const struct dsql_rows *rows)
{
    enum dsql_rc rc = dsql_result_add(call, rows);
    if (!rc && call->marked && (!call->alone || call->whole))
        rc = join_in(call);
    call->result->affected = (int64_t)call->result->rows;
    if (rc)
        return rc;
    if (call->result->rows == 0)
        return call->statement->one
                   ? dsql_err_set(call->err, DSQL_NOT_FOUND, "%s: no row", call->op->name)
                   : DSQL_OK;
    if (call->op->fence.mode != DSQL_FENCE_LOCKS)
        return DSQL_OK;
    struct dsql_row_token token = {0};
    for (size_t i = 0; i < call->op->fence.tokens; i++) {
        struct dsql_param value = token_of(call, rows, i);
        dsql_row_token_set(&token, i, &value);
    }
    rc = dsql_row_tokens_remember(&call->tx->tokens, call->op->fence.what, call->params,
                                  call->op->fence.keys, &token);
    return rc ? dsql_err_set(call->err, rc, "out of memory") : DSQL_OK;
}

/* -- Writes. */

const struct dsql_stmt *dsql_call_form(const struct dsql_call *call, size_t size)
{
    const struct dsql_op_statement *statement = call->statement;
    return call->clears && statement->clear.sql ? &statement->plain[size]
                                                : &statement->by_size[size];
}

const struct dsql_stmt *dsql_call_raising_form(const struct dsql_call *call)
{
    const struct dsql_op_statement *statement = call->statement;
    return call->clears && statement->clear.sql ? &statement->plain_raising : &statement->raising;
}

static enum dsql_rc send_before(struct dsql_call *call, const struct dsql_stmt *stmt,
                                const struct dsql_param *params, size_t count)
{
    return call->store->options.pipelined
               ? dsql_tx_defer(call->tx->tx, stmt, params, count, call->err)
               : dsql_tx_exec(call->tx->tx, stmt, params, count, NULL, call->err);
}

/* What goes before the write of these inputs: parts that it replaces are deleted, its own added. */
static enum dsql_rc prepare_write(struct dsql_call *call, size_t from, size_t count)
{
    const struct dsql_op_statement *statement = call->statement;
    size_t fields = call->op->field_count;
    enum dsql_rc rc = DSQL_OK;
    if (call->clears && statement->clear.sql)
        for (size_t i = from; i < from + count && !rc; i++)
            rc = send_before(call, &statement->clear, call->params + i * fields,
                             fields + statement->extra);
    for (size_t i = 0; i < call->large_count && !rc; i++) {
        const struct dsql_large *large = &call->larges[i];
        struct dsql_param params[DSQL_LARGE_PART_PARAMS];
        if (large->input < from || large->input >= from + count)
            continue;
        for (size_t part = 0; part < dsql_large_parts(large) && !rc; part++) {
            dsql_large_part_params(large, part, params);
            rc = send_before(call, &dsql_large_insert, params, DSQL_LARGE_PART_PARAMS);
        }
    }
    return rc;
}

/* A write of a row whose token the transaction remembers: it must still be there. What is written
 * is the token from now on. */
static enum dsql_rc exec_fenced(struct dsql_call *call, const struct dsql_row_token *token)
{
    const struct dsql_op_statement *statement = call->statement;
    size_t fields = call->op->field_count, keys = call->op->fence.keys;
    struct dsql_described described;
    struct dsql_row_token written = {0};
    enum dsql_rc rc;
    dsql_call_describe(call, token->values, &described);
    /* A key hits one row at most; what fails by itself at none needs no count before COMMIT. */
    described.fence.rows = call->store->options.pipelined ? 0 : 1;
    for (size_t i = 0; i < call->op->fence.tokens; i++) {
        call->params[fields + i] = token->values[i];
        dsql_row_token_set(&written, i, &call->params[keys + i]);
    }
    rc = prepare_write(call, 0, 1);
    if (rc)
        return rc;
    if (call->store->options.pipelined)
        rc = dsql_cas_defer(call->tx->tx, dsql_call_raising_form(call), call->params,
                            fields + statement->extra, &described.fence, call->err);
    else
        rc = dsql_cas(call->tx->tx, dsql_call_form(call, 0), call->params,
                      fields + statement->extra, &described.fence, call->err);
    if (rc)
        return rc;
    call->result->affected = 1;
    rc = dsql_row_tokens_remember(&call->tx->tokens, call->op->fence.what, call->params, keys,
                                  &written);
    return rc ? dsql_err_set(call->err, rc, "out of memory") : DSQL_OK;
}

/* A lock that fails by itself. */
static enum dsql_rc exec_expecting(struct dsql_call *call)
{
    const struct dsql_op_statement *statement = call->statement;
    struct dsql_described described;
    dsql_call_describe(call, call->params + call->op->fence.keys, &described);
    enum dsql_rc rc = dsql_cas(call->tx->tx, &statement->by_size[0], call->params,
                               call->op->field_count, &described.fence, call->err);
    call->result->affected = rc == DSQL_OK;
    return rc;
}

/* An update that hits no row is no failure, and leaves its parts without a row. */
static enum dsql_rc drop_parts(struct dsql_call *call, size_t from, size_t count)
{
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < call->large_count && !rc; i++) {
        const struct dsql_large *large = &call->larges[i];
        const struct dsql_param id = dsql_raw(large->id.bytes, sizeof(large->id.bytes));
        if (large->input >= from && large->input < from + count)
            rc = dsql_tx_exec(call->tx->tx, &dsql_large_delete, &id, 1, NULL, call->err);
    }
    return rc;
}

static enum dsql_rc exec_some(struct dsql_call *call, size_t from, size_t size, bool queued)
{
    const struct dsql_op_statement *statement = call->statement;
    const struct dsql_param *params = call->params + from * call->op->field_count;
    size_t n = (call->op->field_count << size) + statement->extra;
    int64_t affected = 0;
    enum dsql_rc rc = prepare_write(call, from, (size_t)1 << size);
    if (rc)
        return rc;
    if (!queued) {
        rc =
            dsql_tx_exec(call->tx->tx, dsql_call_form(call, size), params, n, &affected, call->err);
        call->result->affected += affected;
        return rc || affected > 0 ? rc : drop_parts(call, from, (size_t)1 << size);
    }
    if (!(call->op->flags & DSQL_FLAG_COUNTED))
        call->result->affected = -1;
    else
        call->result->affected += (int64_t)1 << size;
    return dsql_tx_defer(call->tx->tx, dsql_call_form(call, size), params, n, call->err);
}

bool dsql_call_same(const struct dsql_param *a, const struct dsql_param *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind != DSQL_PARAM_RAW)
        return a->kind == DSQL_PARAM_NULL || a->as.i64 == b->as.i64;
    return a->len == b->len && (a->len == 0 || memcmp(a->as.ptr, b->as.ptr, (size_t)a->len) == 0);
}

static size_t bytes_of(const struct dsql_call *call, size_t input)
{
    size_t bytes = 0, fields = call->op->field_count;
    for (const struct dsql_param *p = call->params + input * fields, *end = p + fields; p < end;
         p++)
        bytes += p->kind == DSQL_PARAM_RAW ? (size_t)p->len : 0;
    return bytes;
}

/* How many inputs from this one on, up to the largest statement's, can share one. The service ends
 * a connection whose message has 10 MiB. */
static size_t count_alike(const struct dsql_call *call, size_t from)
{
    uint32_t shared = call->statement->shared;
    size_t fields = call->op->field_count, end = from + 1, bytes = bytes_of(call, from);
    for (; end < call->count && end - from < (size_t)1 << (DSQL_SIZES - 1); end++) {
        bytes += bytes_of(call, end);
        if (bytes > DSQL_CALL_BYTES_MAX)
            return end - from;
        for (size_t f = 0; f < fields; f++)
            if (shared & UINT32_C(1) << f &&
                !dsql_call_same(&call->params[from * fields + f], &call->params[end * fields + f]))
                return end - from;
    }
    return end - from;
}

size_t dsql_call_size(const struct dsql_call *call, size_t from)
{
    size_t alike = count_alike(call, from), size = DSQL_SIZES - 1;
    while (((size_t)1 << size) > alike)
        size--;
    return size;
}

enum dsql_rc dsql_call_exec(struct dsql_call *call)
{
    bool queued = !call->alone && call->store->options.pipelined &&
                  (call->op->flags & (DSQL_FLAG_QUEUED | DSQL_FLAG_COUNTED));
    size_t from = 0;
    while (from < call->count) {
        size_t size = dsql_call_size(call, from);
        enum dsql_rc rc = exec_some(call, from, size, queued);
        if (rc)
            return rc;
        from += (size_t)1 << size;
    }
    if (call->result->affected >= 0)
        call->result->affected += (int64_t)call->spared;
    if (call->op->fence.mode != DSQL_FENCE_EXPECTS || call->result->affected > 0)
        return DSQL_OK;
    struct dsql_described described;
    dsql_call_describe(call, call->params + call->op->fence.keys, &described);
    return dsql_err_condition(call->err, call->op->name, &described.fence, 0);
}

/* Deletes in portions until the last was not full, or the caller's own limit is reached. */
static enum dsql_rc exec_limited(struct dsql_call *call)
{
    size_t fields = call->op->field_count;
    int64_t limit = call->params[fields - 1].as.i64, total = 0, portion;
    enum dsql_rc rc;
    do {
        portion = limit - total < DSQL_CALL_PORTION ? limit - total : DSQL_CALL_PORTION;
        call->params[fields] = dsql_i64(portion);
        call->result->affected = 0;
        rc = exec_some(call, 0, 0, false);
        total += call->result->affected;
    } while (!rc && call->result->affected == portion && total < limit);
    call->result->affected = total;
    return rc;
}

bool dsql_call_met_anothers(const struct dsql_call *call)
{
    return dsql_tx_failed_before(call->tx->tx, call->before);
}

/* A key that an earlier call's statement has met says nothing of this one's. */
static enum dsql_rc attribute(struct dsql_call *call, enum dsql_rc rc)
{
    if (rc != DSQL_DUPLICATE || !dsql_call_met_anothers(call))
        return rc;
    if (call->err)
        call->err->rc = DSQL_DATABASE;
    return DSQL_DATABASE;
}

static enum dsql_rc run_in(struct dsql_call *call)
{
    const struct dsql_row_token *token = NULL;
    struct dsql_rows *rows = NULL;
    dsql_result_clear(call->result, call->op->column_count);
    call->marked = false;
    if (call->op->flags & DSQL_FLAG_SPECIAL)
        return dsql_call_special(call);
    if (call->op->column_count > 0) {
        enum dsql_rc rc = dsql_call_query(call, call->statement, &rows);
        if (!rc)
            rc = dsql_call_finish_query(call, rows);
        dsql_rows_free(rows);
        return rc;
    }
    if (call->op->kind == DSQL_KIND_EXPECT)
        return exec_expecting(call);
    if (call->op->statement_count == 0)
        return exec_limited(call);
    if (call->op->fence.mode == DSQL_FENCE_CHECKS) {
        token = dsql_row_tokens_find(&call->tx->tokens, call->op->fence.what, call->params,
                                     call->op->fence.keys);
        if (token)
            return exec_fenced(call, token);
        for (size_t i = 0; i < call->op->fence.tokens; i++)
            call->params[call->op->field_count + i] = dsql_null();
    }
    return dsql_call_exec(call);
}

/* Inside a transaction. */
static enum dsql_rc call_in(struct dsql_call *call)
{
    call->before = dsql_tx_queued(call->tx->tx);
    return attribute(call, run_in(call));
}

/* -- On the pool. */

static enum dsql_rc body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct dsql_call *call = arg;
    struct dsql_store_tx own = {.store = call->store, .tx = tx};
    struct dsql_err *outer = call->err;
    call->tx = &own;
    call->err = err;
    enum dsql_rc rc = call_in(call);
    call->tx = NULL;
    call->err = outer;
    dsql_row_tokens_fini(&own.tokens);
    return rc;
}

/* Whether it is one statement, which needs neither BEGIN nor COMMIT. */
static bool is_single(const struct dsql_call *call)
{
    bool more = call->op->then || call->whole || call->large_count > 0 ||
                (call->clears && call->statement->clear.sql);
    return !more && call->count == (size_t)1 << dsql_call_size(call, 0);
}

static enum dsql_rc run_once(struct dsql_call *call, const struct dsql_tx_policy *given)
{
    struct dsql_tx_policy policy = given ? *given : call->store->options.policy;
    policy.single = is_single(call);
    policy.read_only = false;
    return dsql_tx_run(call->store->pool, call->op->name, body, call, &policy, call->err);
}

/* Puts the large values of a result together. It was one statement and so are the parts, so a value
 * may have been replaced in between: then all is read once more, in one snapshot. */
static enum dsql_rc join_on_pool(struct dsql_call *call, const struct dsql_tx_policy *given)
{
    struct dsql_large_set set = {0};
    enum dsql_rc rc = dsql_large_find(call->op, call->result, &set, call->err);
    if (!rc)
        rc = dsql_large_fetch(call->store, &set, given, call->err);
    bool whole = !rc && dsql_large_is_whole(&set);
    if (whole)
        rc = dsql_large_join(call->op, call->result, &set, call->err);
    dsql_large_set_fini(&set);
    if (rc || whole)
        return rc;
    call->whole = true;
    return run_once(call, given);
}

bool dsql_call_met_large(const struct dsql_call *call, enum dsql_rc rc, const struct dsql_err *err)
{
    return rc == DSQL_DATABASE && !call->clears && call->statement->clear.sql &&
           strcmp(err->sqlstate, DSQL_LARGE_SQLSTATE) == 0;
}

static enum dsql_rc run_on_pool(struct dsql_call *call, const struct dsql_tx_policy *given)
{
    enum dsql_rc rc = run_once(call, given);
    if (dsql_call_met_large(call, rc, call->err)) {
        call->clears = true;
        rc = run_once(call, given);
    }
    if (!rc && call->marked && !call->whole)
        rc = join_on_pool(call, given);
    return rc;
}

/* Each portion is a transaction of its own, so that any number of rows can go. */
static enum dsql_rc run_in_portions(struct dsql_call *call, const struct dsql_tx_policy *policy)
{
    size_t fields = call->op->field_count;
    int64_t total = 0, limit = INT64_MAX, portion;
    if (call->op->statement_count == 0)
        limit = call->params[fields - 1].as.i64;
    enum dsql_rc rc;
    do {
        portion = limit - total < DSQL_CALL_PORTION ? limit - total : DSQL_CALL_PORTION;
        call->params[fields] = dsql_i64(portion);
        if (call->op->statement_count == 0)
            call->params[fields - 1] = dsql_i64(portion);
        rc = run_on_pool(call, policy);
        total += rc ? 0 : call->result->affected;
    } while (!rc && call->result->affected == portion && total < limit);
    call->result->affected = total;
    if (rc && total > 0)
        dsql_err_hint(call->err, "%lld rows were deleted before, each portion for itself",
                      (long long)total);
    return rc;
}

enum dsql_rc dsql_store_call(struct dsql_store *store, struct dsql_store_tx *tx, enum dsql_op op,
                             const struct dsql_param *params, size_t count,
                             const struct dsql_tx_policy *policy, struct dsql_result *result,
                             struct dsql_err *err)
{
    struct dsql_result unwanted = {0};
    struct dsql_err unread = {.rc = DSQL_OK};
    struct dsql_call call = {.store = store,
                             .tx = tx,
                             .alone = !tx,
                             .id = op,
                             .op = dsql_op_info(op),
                             .values = params,
                             .count = count,
                             .result = result ? result : &unwanted,
                             .err = err ? err : &unread};
    assert((unsigned)op < DSQL_OP_COUNT && (!tx || !policy));
    dsql_result_clear(call.result, call.op->column_count);
    if (count == 0 && (call.op->flags & DSQL_FLAG_MULTI) && !(call.op->flags & DSQL_FLAG_GATHERS))
        return DSQL_OK;
    if (count != 1 && !(call.op->flags & DSQL_FLAG_MULTI))
        return dsql_err_set(err, DSQL_INVALID, "%s takes one input, not %zu", call.op->name, count);
    enum dsql_rc rc = dsql_call_convert(&call, params);
    if (!rc)
        rc = dsql_call_choose(&call);
    /* A transaction that has failed can't be mended, so there nothing is left to chance. */
    call.clears = tx || call.large_count > 0;
    if (rc)
        ;
    else if (tx)
        rc = call_in(&call);
    else if (call.op->portion)
        rc = run_in_portions(&call, policy);
    else
        rc = run_on_pool(&call, policy);
    dsql_call_fini(&call);
    dsql_result_fini(&unwanted);
    return rc;
}
