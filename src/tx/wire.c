#include "tx/wire.h"

#include <libpq-fe.h>
#include <stdlib.h>

#include "tx/wire_internal.h"

#define ROLLBACK_WAIT_NS (2 * DSQL_S)

void dsql_wire_open(struct dsql_wire *wire, PGconn *pg, const struct dsql_wire_limits *limits,
                    bool read_only, bool single)
{
    *wire = (struct dsql_wire){
        .pg = pg, .limits = *limits, .read_only = read_only, .one = single, .failed_at = SIZE_MAX};
    if (PQsetnonblocking(pg, 1) == 0 && PQenterPipelineMode(pg) == 1)
        return;
    wire->dead = true;
    dsql_err_set(&wire->failed, DSQL_LOST, "the connection is not usable: %s",
                 dsql_wire_reason(wire).text);
}

enum dsql_rc dsql_wire_flush(struct dsql_wire *wire)
{
    if (wire->failed.rc != DSQL_OK || wire->answered == wire->len)
        return wire->failed.rc;
    /* Without its Sync nothing takes effect, so this is still a certain no. */
    enum dsql_rc rc = dsql_wire_limits_check(&wire->limits);
    if (rc) {
        wire->dead = true;
        return dsql_wire_fail(wire, rc, dsql_wire_current(wire), dsql_wire_limit_text(rc));
    }
    rc = dsql_wire_queue_sync(wire);
    return rc == DSQL_OK ? dsql_wire_drain(wire) : rc;
}

enum dsql_rc dsql_wire_take(struct dsql_wire *wire, size_t at, int64_t *affected, PGresult **result)
{
    if (at >= wire->len || wire->entries[at].kind != DSQL_WIRE_STATEMENT ||
        !wire->entries[at].wanted)
        return dsql_wire_fail(wire, DSQL_INVALID, "ticket",
                              "it was taken before, or is of another transaction");
    if (at >= wire->answered) {
        enum dsql_rc rc = dsql_wire_flush(wire);
        if (rc)
            return rc;
    }
    struct dsql_wire_entry *entry = &wire->entries[at];
    /* The answer stays good when a later statement of the batch failed, but the transaction does
     * not: the caller learns that now. */
    if (wire->failed.rc != DSQL_OK)
        return wire->failed.rc;
    entry->wanted = false;
    if (affected)
        *affected = entry->affected;
    if (result)
        *result = entry->result;
    else
        PQclear(entry->result);
    entry->result = NULL;
    return DSQL_OK;
}

/* The end. */

/* (W3): zero rows are an error to the server only if the statement says so, and any other count
 * never is. */
static bool has_open_fence(const struct dsql_wire *wire)
{
    for (size_t i = wire->answered; i < wire->len; i++) {
        const struct dsql_wire_entry *e = &wire->entries[i];
        if (e->fence && !(e->flags & DSQL_STMT_RAISES && e->fence->rows == 0))
            return true;
    }
    return false;
}

enum dsql_rc dsql_wire_commit(struct dsql_wire *wire)
{
    enum dsql_rc rc = wire->failed.rc;
    if (rc == DSQL_OK && (wire->single || has_open_fence(wire)))
        rc = dsql_wire_flush(wire);
    if (rc != DSQL_OK && wire->applied)
        return dsql_wire_fail_applied(&wire->failed);
    if (rc != DSQL_OK || wire->single || wire->len == 0)
        return rc;
    /* Better a certain no than an unknown outcome. */
    rc = dsql_wire_limits_check(&wire->limits);
    if (rc)
        return dsql_wire_fail(wire, rc, "before COMMIT", dsql_wire_limit_text(rc));
    rc = dsql_wire_queue_command(wire, DSQL_WIRE_COMMIT, "COMMIT");
    if (!rc)
        rc = dsql_wire_queue_sync(wire);
    return rc == DSQL_OK ? dsql_wire_drain(wire) : rc;
}

static bool is_open(const struct dsql_wire *wire)
{
    return wire->len > 0 &&
           (wire->answered < wire->len || PQtransactionStatus(wire->pg) != PQTRANS_IDLE);
}

void dsql_wire_rollback(struct dsql_wire *wire)
{
    if (wire->dead || !is_open(wire))
        return;
    if (wire->single) { /* a Sync would commit the statement */
        wire->dead = true;
        return;
    }
    struct dsql_mono soon = dsql_mono_add(dsql_clock_mono(wire->limits.clock), ROLLBACK_WAIT_NS);
    if (dsql_mono_before(soon, wire->limits.deadline))
        wire->limits.deadline = soon;
    /* A Sync in between: an error in what is still queued would swallow the ROLLBACK. */
    bool queued_all = wire->answered == wire->len || dsql_wire_queue_sync(wire) == DSQL_OK;
    queued_all = queued_all &&
                 dsql_wire_queue_command(wire, DSQL_WIRE_ROLLBACK, "ROLLBACK") == DSQL_OK &&
                 dsql_wire_queue_sync(wire) == DSQL_OK;
    if (queued_all)
        (void)dsql_wire_drain(wire);
    else
        wire->dead = true; /* closing the connection rolls back, too */
}

struct pg_result *dsql_wire_look(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                 const struct dsql_param *params, size_t count)
{
    struct dsql_params encoded;
    if (wire->dead || dsql_wire_limits_check(&wire->limits) != DSQL_OK ||
        dsql_params_init(&encoded, stmt->types, params, count, NULL) != DSQL_OK)
        return NULL;
    enum dsql_rc rc = DSQL_OK;
    if (is_open(wire))
        rc = dsql_wire_queue_command(wire, DSQL_WIRE_ROLLBACK, "ROLLBACK");
    if (!rc)
        rc = dsql_wire_queue_statement(wire, stmt, &encoded, NULL, true);
    dsql_params_fini(&encoded);
    size_t at = wire->len - 1;
    if (rc != DSQL_OK || dsql_wire_queue_sync(wire) != DSQL_OK) {
        wire->dead = true;
        return NULL;
    }
    (void)dsql_wire_drain(wire);
    struct pg_result *result = wire->entries[at].result;
    wire->entries[at].result = NULL;
    return result;
}

bool dsql_wire_close(struct dsql_wire *wire)
{
    bool usable = !wire->dead && wire->answered == wire->len &&
                  PQtransactionStatus(wire->pg) == PQTRANS_IDLE &&
                  PQexitPipelineMode(wire->pg) == 1 && PQsetnonblocking(wire->pg, 0) == 0;
    if (usable && wire->stale_plan)
        dsql_tx_prepared_renew(dsql_tx_prepared_of(wire->pg));
    for (size_t i = 0; i < wire->len; i++) {
        PQclear(wire->entries[i].result);
        free(wire->entries[i].fence);
    }
    free(wire->entries);
    *wire = (struct dsql_wire){0};
    return usable;
}
