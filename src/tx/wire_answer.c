#include <libpq-fe.h>
#include <string.h>

#include "base/span.h"
#include "tx/wait.h"
#include "tx/wire_internal.h"

static int64_t affected_rows(const struct dsql_wire_entry *entry, PGresult *result)
{
    int64_t rows = 0;
    const struct dsql_rows *as_rows = (const struct dsql_rows *)result;
    /* DSQL_RAISING returns the count as a value: its tag always says one row. */
    if (entry->flags & DSQL_STMT_RAISES && dsql_rows_i64(as_rows, 0, 0, &rows))
        return rows;
    const char *text = PQcmdTuples(result);
    if (!dsql_span_to_i64(dsql_span_of(text), &rows))
        rows = 0;
    return rows;
}

static void check_fence(struct dsql_wire *wire, const struct dsql_wire_entry *entry)
{
    const struct dsql_fence_note *fence = entry->fence;
    if (!fence)
        return;
    bool holds = fence->rows > 0 ? entry->affected == fence->rows : entry->affected > 0;
    if (!holds)
        dsql_wire_fail_condition(wire, entry, entry->affected);
}

static void take_success(struct dsql_wire *wire, struct dsql_wire_entry *entry, PGresult *result)
{
    if (entry->kind == DSQL_WIRE_COMMIT) {
        if (strcmp(PQcmdStatus(result), "COMMIT") == 0)
            wire->committed = true;
        else /* the transaction had failed, and was rolled back */
            dsql_wire_fail(wire, DSQL_DATABASE, "COMMIT", "the transaction was rolled back");
    }
    if (entry->kind == DSQL_WIRE_STATEMENT) {
        entry->affected = affected_rows(entry, result);
        check_fence(wire, entry);
        if (entry->wanted) {
            entry->result = result;
            return;
        }
    }
    PQclear(result);
}

/* An error that comes with the Sync belongs to the statement that committed by itself. */
static struct dsql_wire_entry *blamed(struct dsql_wire *wire, size_t at)
{
    while (at > 0 && wire->entries[at].kind == DSQL_WIRE_SYNC)
        at--;
    return &wire->entries[at];
}

/* The server refused an entry, or skipped it after another one. */
static void take_error(struct dsql_wire *wire, size_t at, const PGresult *result)
{
    const struct dsql_wire_entry *entry = &wire->entries[at];
    if (entry->kind == DSQL_WIRE_PREPARE)
        dsql_tx_prepared_drop(dsql_tx_prepared_of(wire->pg), entry->prepared);
    if (PQresultStatus(result) != PGRES_PIPELINE_ABORTED)
        dsql_wire_fail_answered(wire, blamed(wire, at), result);
}

/* A Sync that is answered without an error before it has committed a statement by itself. (W6) */
static void note_applied(struct dsql_wire *wire)
{
    if (!wire->single || wire->failed.rc != DSQL_OK)
        return;
    for (size_t i = 0; i < wire->len; i++) {
        const struct dsql_wire_entry *e = &wire->entries[i];
        bool hit_nothing = e->verb == DSQL_VERB_COUNTED && e->affected == 0;
        if (e->kind == DSQL_WIRE_STATEMENT && !(e->flags & DSQL_STMT_READ) && !hit_nothing)
            wire->applied = true;
    }
}

/* One result of libpq's, for the entry that is answered next. */
static void take_result(struct dsql_wire *wire, PGresult *result)
{
    struct dsql_wire_entry *entry = &wire->entries[wire->answered];
    ExecStatusType status = PQresultStatus(result);
    switch ((int)status) {
    case PGRES_PIPELINE_SYNC:
        note_applied(wire);
        wire->answered++; /* no NULL follows */
        PQclear(result);
        break;
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
        entry->answered = true;
        take_success(wire, entry, result);
        break;
    default:
        /* Without a SQLSTATE these are libpq's own words: the server did not answer. */
        if (PQresultErrorField(result, PG_DIAG_SQLSTATE) || status == PGRES_PIPELINE_ABORTED) {
            entry->answered = true;
            take_error(wire, wire->answered, result);
        } else if (status == PGRES_FATAL_ERROR) {
            (void)dsql_wire_fail_broken(wire);
        } else { /* COPY and its like: the server goes on with the entries behind */
            (void)dsql_wire_fail_unanswered(wire, DSQL_UNSUPPORTED,
                                            "it wants an exchange that is not supported");
        }
        PQclear(result);
        break;
    }
}

enum dsql_rc dsql_wire_drain(struct dsql_wire *wire)
{
    wire->round_trips++;
    int nothings = 0; /* in a row */
    while (wire->answered < wire->len && !wire->dead) {
        enum dsql_rc rc = dsql_wait_result(wire->pg, &wire->limits);
        if (rc)
            return dsql_wire_fail_limit(wire, rc);
        const struct dsql_wire_entry *entry = &wire->entries[wire->answered];
        PGresult *result = PQgetResult(wire->pg);
        nothings = result ? 0 : nothings + 1;
        if (result)
            take_result(wire, result);
        else if (entry->answered && entry->kind != DSQL_WIRE_SYNC)
            wire->answered++;
        else if (PQstatus(wire->pg) == CONNECTION_BAD)
            return dsql_wire_fail_broken(wire);
        else if (nothings > 3) /* libpq and this file disagree on what is to come */
            return dsql_wire_fail_unanswered(wire, DSQL_PROTOCOL, "an answer is missing");
    }
    return wire->committed ? DSQL_OK : wire->failed.rc;
}
