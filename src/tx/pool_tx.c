/* Transactions on the pool: what dsql/tx.h offers, with connections from there. */
#include "pool/pool.h"
#include "tx/cancel.h"
#include "tx/operation.h"
#include "tx/tx_internal.h"

static void wake(void *ticket)
{
    dsql_checkout_cancel(ticket);
}

static enum dsql_rc checkout(void *self, const struct dsql_wire_limits *limits, void **conn,
                             struct dsql_err *err)
{
    int64_t wait_ns = -1; /* as long as the pool's options say */
    if (limits->deadline.ns != INT64_MAX) {
        wait_ns = dsql_mono_since(limits->deadline, dsql_clock_mono(limits->clock));
        wait_ns = wait_ns > 0 ? wait_ns : 0;
    }
    struct dsql_conn *found = NULL;
    enum dsql_rc rc;
    if (limits->cancel) {
        struct dsql_checkout_ticket ticket;
        dsql_checkout_ticket_init(&ticket, self);
        struct dsql_cancel_watch watch = {.fired = wake, .arg = &ticket};
        dsql_cancel_watch(limits->cancel, &watch);
        rc = dsql_checkout_with(&ticket, wait_ns, &found, err);
        dsql_cancel_unwatch(limits->cancel, &watch);
    } else {
        rc = dsql_pool_checkout(self, wait_ns, &found, err);
    }
    if (!rc)
        *conn = found;
    return rc;
}

static PGconn *pg_of(void *conn)
{
    return dsql_conn_pg(conn);
}

static void give_back(void *conn)
{
    dsql_pool_return(conn);
}

static void discard(void *conn)
{
    dsql_pool_discard(conn);
}

struct dsql_source dsql_source_of_pool(struct dsql_pool *pool)
{
    return (struct dsql_source){.self = pool,
                                .metrics = pool->metrics,
                                .clock = pool->clock,
                                .pulse = &pool->pulse,
                                .checkout = checkout,
                                .pg = pg_of,
                                .give_back = give_back,
                                .discard = discard};
}

enum dsql_rc dsql_tx_run(struct dsql_pool *pool, const char *operation, dsql_tx_fn *body, void *arg,
                         const struct dsql_tx_policy *policy, struct dsql_err *err)
{
    struct dsql_source source = dsql_source_of_pool(pool);
    return dsql_tx_run_on(&source, operation, body, arg, policy, err);
}

enum dsql_rc dsql_tx_begin(struct dsql_pool *pool, const char *operation,
                           const struct dsql_tx_policy *policy, struct dsql_tx **tx,
                           struct dsql_err *err)
{
    struct dsql_source source = dsql_source_of_pool(pool);
    return dsql_tx_begin_on(&source, operation, policy, tx, err);
}

enum dsql_rc dsql_operation_begin(struct dsql_pool *pool, const char *name,
                                  const struct dsql_tx_policy *policy,
                                  struct dsql_operation **operation, struct dsql_err *err)
{
    struct dsql_source source = dsql_source_of_pool(pool);
    return dsql_operation_begin_on(&source, name, policy, operation, err);
}

enum dsql_rc dsql_fenced_update(struct dsql_pool *pool, const char *operation,
                                const struct dsql_stmt *stmt, const struct dsql_param *params,
                                size_t count, const struct dsql_fence *fence,
                                const struct dsql_tx_policy *policy, struct dsql_err *err)
{
    struct dsql_source source = dsql_source_of_pool(pool);
    return dsql_fenced_update_on(&source, operation, stmt, params, count, fence, policy, err);
}

enum dsql_rc dsql_auto_fenced_update(struct dsql_pool *pool, const char *operation,
                                     const struct dsql_auto_fence *update,
                                     const struct dsql_tx_policy *policy, struct dsql_err *err)
{
    struct dsql_source source = dsql_source_of_pool(pool);
    return dsql_auto_fenced_update_on(&source, operation, update, policy, err);
}
