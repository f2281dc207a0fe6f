/* Fenced updates that are transactions of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tx/tx_internal.h"

struct fenced {
    const struct dsql_stmt *stmt;
    const struct dsql_param *params;
    size_t count;
    const struct dsql_fence *fence;
};

static enum dsql_rc fenced_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    const struct fenced *f = arg;
    return dsql_cas_defer(tx, f->stmt, f->params, f->count, f->fence, err);
}

enum dsql_rc dsql_fenced_update_on(const struct dsql_source *source, const char *operation,
                                   const struct dsql_stmt *stmt, const struct dsql_param *params,
                                   size_t count, const struct dsql_fence *fence,
                                   const struct dsql_tx_policy *policy, struct dsql_err *err)
{
    struct dsql_tx_policy its;
    if (policy)
        its = *policy;
    else
        dsql_tx_policy_default(&its);
    its.single = true; /* without BEGIN only if the server raises the fence */
    struct fenced f = {stmt, params, count, fence};
    return dsql_tx_run_on(source, operation, fenced_body, &f, &its, err);
}

/* A token as it came, for the update's predicate, and as people read it. */
struct token {
    struct dsql_param param;
    char shown[64];
    unsigned char bytes[64];
};

static enum dsql_rc read_token(const struct dsql_rows *rows, struct token *token,
                               struct dsql_err *err)
{
    if (dsql_rows_count(rows) == 0)
        return dsql_err_set(err, DSQL_NOT_FOUND, "there is no row to fence");
    int64_t number;
    size_t len;
    const void *bytes = dsql_rows_bytes(rows, 0, 0, &len);
    if (dsql_rows_i64(rows, 0, 0, &number)) {
        token->param = dsql_i64(number);
        snprintf(token->shown, sizeof(token->shown), "%lld", (long long)number);
        return DSQL_OK;
    }
    if (!bytes || len > sizeof(token->bytes))
        return dsql_err_set(err, DSQL_INVALID, "the fencing token is NULL or too long");
    memcpy(token->bytes, bytes, len);
    token->param = dsql_raw(token->bytes, len);
    for (size_t i = 0; i < len && 2 * i + 2 < sizeof(token->shown); i++)
        snprintf(token->shown + 2 * i, 3, "%02x", token->bytes[i]);
    return DSQL_OK;
}

struct auto_fenced {
    const struct dsql_auto_fence *update;
    struct dsql_param *params; /* the update's, with room for the token */
};

static enum dsql_rc auto_fenced_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    const struct auto_fenced *a = arg;
    const struct dsql_auto_fence *u = a->update;
    struct dsql_rows *rows;
    enum dsql_rc rc = dsql_tx_query(tx, u->read, u->read_params, u->read_count, &rows, err);
    if (rc)
        return rc;
    struct token token = {.shown = ""};
    rc = read_token(rows, &token, err);
    dsql_rows_free(rows);
    if (rc)
        return rc;
    a->params[u->token_param] = token.param;
    struct dsql_fence fence = {.entity = u->entity, .key = u->key, .token = token.shown};
    return dsql_cas_defer(tx, u->update, a->params, u->count, &fence, err);
}

enum dsql_rc dsql_auto_fenced_update_on(const struct dsql_source *source, const char *operation,
                                        const struct dsql_auto_fence *update,
                                        const struct dsql_tx_policy *policy, struct dsql_err *err)
{
    if (update->token_param >= update->count)
        return dsql_err_set(err, DSQL_INVALID, "the token is parameter %zu of %zu",
                            update->token_param + 1, update->count);
    struct auto_fenced a = {.update = update,
                            .params = reallocarray(NULL, update->count, sizeof(*a.params))};
    if (!a.params)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for %zu parameters", update->count);
    memcpy(a.params, update->params, update->count * sizeof(*a.params));
    struct dsql_tx_policy its;
    if (policy)
        its = *policy;
    else
        dsql_tx_policy_default(&its);
    its.single = false; /* a read and a write are two statements */
    enum dsql_rc rc = dsql_tx_run_on(source, operation, auto_fenced_body, &a, &its, err);
    free(a.params);
    return rc;
}
