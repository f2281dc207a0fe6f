/* One transaction: a connection, a wire on it, and what the caller may do with them. */
#include "dsql/tx.h"

#include <stdlib.h>

#include "pool/pulse.h"
#include "tx/blame.h"
#include "tx/tx_internal.h"

void dsql_tx_policy_default(struct dsql_tx_policy *policy)
{
    *policy = (struct dsql_tx_policy){0};
    dsql_retry_policy_default(&policy->retry);
}

void dsql_tx_init(struct dsql_tx *tx, const struct dsql_source *source, const char *operation,
                  const struct dsql_tx_policy *policy)
{
    struct dsql_mono now = dsql_clock_mono(source->clock);
    *tx = (struct dsql_tx){
        .source = *source,
        .limits =
            {
                .clock = source->clock,
                .deadline = policy->timeout_ns > 0 ? dsql_mono_add(now, policy->timeout_ns)
                                                   : (struct dsql_mono){INT64_MAX},
                .cancel = policy->cancel,
            },
        .read_only = policy->read_only,
        .single = policy->single,
    };
    if (policy->operation)
        dsql_observe_part(&tx->observer, policy->operation);
    else
        dsql_observe_begin(&tx->observer, source->metrics, operation, policy->retry.conflict_alert,
                           source->clock);
}

enum dsql_rc dsql_tx_start(struct dsql_tx *tx, struct dsql_err *err)
{
    tx->try_number++;
    if (tx->source.pulse)
        dsql_pulse_ask(tx->source.pulse, dsql_clock_mono_coarse(tx->source.clock));
    enum dsql_rc rc = dsql_wire_limits_check(&tx->limits);
    if (rc)
        return dsql_err_set(err, rc,
                            rc == DSQL_CANCELLED ? "cancelled by the caller before it began"
                                                 : "the deadline passed before it began");
    if (!tx->conn)
        rc = tx->source.checkout(tx->source.self, &tx->limits, &tx->conn, err);
    if (rc)
        return rc;
    dsql_wire_open(&tx->wire, tx->source.pg(tx->conn), &tx->limits, tx->read_only, tx->single);
    tx->has_wire = true;
    if (tx->wire.failed.rc != DSQL_OK && err)
        *err = tx->wire.failed;
    return tx->wire.failed.rc;
}

void dsql_tx_note(struct dsql_tx *tx, enum dsql_rc rc, enum dsql_rc said,
                  const struct dsql_err *err)
{
    dsql_observe_try(&tx->observer, rc, err);
    bool asked_nothing = said == DSQL_OK && tx->wire.round_trips == 0;
    if (tx->source.pulse && !asked_nothing)
        dsql_pulse_end(tx->source.pulse, said, err->message,
                       dsql_clock_mono_coarse(tx->source.clock));
}

void dsql_tx_stop(struct dsql_tx *tx, bool keep)
{
    if (tx->has_wire) {
        tx->has_wire = false;
        dsql_wire_rollback(&tx->wire);
        dsql_observe_round_trips(&tx->observer, tx->wire.round_trips);
        if (!dsql_wire_close(&tx->wire)) {
            tx->source.discard(tx->conn);
            tx->conn = NULL;
        }
    }
    if (tx->conn && !keep) {
        tx->source.give_back(tx->conn);
        tx->conn = NULL;
    }
}

/* Hands the transaction's failure to the caller. */
static enum dsql_rc outcome(const struct dsql_tx *tx, enum dsql_rc rc, struct dsql_err *err)
{
    if (rc != DSQL_OK && err)
        *err = tx->wire.failed;
    return rc;
}

enum dsql_rc dsql_tx_send(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                          const struct dsql_param *params, size_t count, struct dsql_ticket *ticket,
                          struct dsql_err *err)
{
    size_t at;
    enum dsql_rc rc = dsql_wire_send(&tx->wire, stmt, params, count, NULL, true, &at);
    if (!rc)
        ticket->at = at;
    return outcome(tx, rc, err);
}

enum dsql_rc dsql_tx_take(struct dsql_tx *tx, struct dsql_ticket ticket, int64_t *affected,
                          struct dsql_rows **rows, struct dsql_err *err)
{
    struct pg_result *result = NULL;
    enum dsql_rc rc = dsql_wire_take(&tx->wire, ticket.at, affected, rows ? &result : NULL);
    if (rc == DSQL_OK && rows)
        *rows = (struct dsql_rows *)result;
    return outcome(tx, rc, err);
}

enum dsql_rc dsql_tx_exec(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                          const struct dsql_param *params, size_t count, int64_t *affected,
                          struct dsql_err *err)
{
    struct dsql_ticket ticket;
    enum dsql_rc rc = dsql_tx_send(tx, stmt, params, count, &ticket, err);
    return rc == DSQL_OK ? dsql_tx_take(tx, ticket, affected, NULL, err) : rc;
}

enum dsql_rc dsql_tx_query(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                           const struct dsql_param *params, size_t count, struct dsql_rows **rows,
                           struct dsql_err *err)
{
    struct dsql_ticket ticket;
    enum dsql_rc rc = dsql_tx_send(tx, stmt, params, count, &ticket, err);
    return rc == DSQL_OK ? dsql_tx_take(tx, ticket, NULL, rows, err) : rc;
}

enum dsql_rc dsql_tx_defer(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                           const struct dsql_param *params, size_t count, struct dsql_err *err)
{
    size_t at;
    return outcome(tx, dsql_wire_send(&tx->wire, stmt, params, count, NULL, false, &at), err);
}

enum dsql_rc dsql_tx_flush(struct dsql_tx *tx, struct dsql_err *err)
{
    return outcome(tx, dsql_wire_flush(&tx->wire), err);
}

enum dsql_rc dsql_cas_defer(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                            const struct dsql_param *params, size_t count,
                            const struct dsql_fence *fence, struct dsql_err *err)
{
    size_t at;
    return outcome(tx, dsql_wire_send(&tx->wire, stmt, params, count, fence, false, &at), err);
}

enum dsql_rc dsql_cas(struct dsql_tx *tx, const struct dsql_stmt *stmt,
                      const struct dsql_param *params, size_t count, const struct dsql_fence *fence,
                      struct dsql_err *err)
{
    enum dsql_rc rc = dsql_cas_defer(tx, stmt, params, count, fence, err);
    return rc == DSQL_OK ? dsql_tx_flush(tx, err) : rc;
}

size_t dsql_tx_queued(const struct dsql_tx *tx)
{
    return tx->wire.len;
}

bool dsql_tx_failed_before(const struct dsql_tx *tx, size_t queued)
{
    return tx->wire.failed_at < queued;
}

int dsql_tx_try(const struct dsql_tx *tx)
{
    return tx->try_number;
}

unsigned dsql_tx_round_trips(const struct dsql_tx *tx)
{
    return tx->wire.round_trips;
}

/* For callers that drive by themselves. */

enum dsql_rc dsql_tx_begin_on(const struct dsql_source *source, const char *operation,
                              const struct dsql_tx_policy *policy, struct dsql_tx **tx,
                              struct dsql_err *err)
{
    struct dsql_tx_policy defaults;
    if (!policy) {
        dsql_tx_policy_default(&defaults);
        policy = &defaults;
    }
    struct dsql_tx *t = malloc(sizeof(*t));
    if (!t)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for a transaction");
    dsql_tx_init(t, source, operation, policy);
    t->by_hand = true;
    struct dsql_err why;
    enum dsql_rc rc = dsql_tx_start(t, &why);
    if (!rc) {
        *tx = t;
        return DSQL_OK;
    }
    dsql_tx_stop(t, false);
    dsql_tx_note(t, rc, rc, &why);
    dsql_observe_end(&t->observer, t->try_number);
    free(t);
    if (err)
        *err = why;
    return rc;
}

/* dsql_tx_run() ends the transaction of its body, which has no memory of its own. */
static void check_is_by_hand(const struct dsql_tx *tx)
{
    assert(tx->by_hand && "a body returns; dsql_tx_run() commits or rolls back");
}

static void end(struct dsql_tx *tx, enum dsql_rc rc, const struct dsql_err *why)
{
    dsql_tx_note(tx, rc, rc, why);
    dsql_tx_stop(tx, false);
    if (rc == DSQL_COMMIT_UNKNOWN)
        dsql_observe_unknown(&tx->observer, DSQL_SETTLED_NOT);
    dsql_observe_end(&tx->observer, tx->try_number);
    free(tx);
}

enum dsql_rc dsql_tx_commit(struct dsql_tx *tx, struct dsql_err *err)
{
    check_is_by_hand(tx);
    enum dsql_rc rc = dsql_wire_commit(&tx->wire);
    struct dsql_err why = tx->wire.failed;
    if (rc != DSQL_OK && err)
        *err = why;
    end(tx, rc, &why);
    return rc;
}

void dsql_tx_rollback(struct dsql_tx *tx)
{
    check_is_by_hand(tx);
    struct dsql_err why = tx->wire.failed;
    end(tx, why.rc, &why);
}
