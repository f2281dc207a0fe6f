/* Failures. The first one stays; whatever comes later is its consequence. */
#include <libpq-fe.h>
#include <string.h>

#include "tx/wire_internal.h"

enum dsql_rc dsql_wire_fail(struct dsql_wire *wire, enum dsql_rc rc, const char *name,
                            const char *message)
{
    if (wire->failed.rc == DSQL_OK)
        dsql_err_set(&wire->failed, rc, "%s: %s", name, message);
    return wire->failed.rc;
}

const char *dsql_wire_current(const struct dsql_wire *wire)
{
    for (size_t i = wire->answered; i < wire->len; i++)
        if (wire->entries[i].kind != DSQL_WIRE_SYNC)
            return wire->entries[i].name;
    return wire->len ? wire->entries[wire->len - 1].name : "BEGIN";
}

/* Whether what is on its way may commit: COMMIT, or a write that is a transaction by itself. (W4)
 */
static bool commit_in_flight(const struct dsql_wire *wire)
{
    if (wire->read_only && !wire->single)
        return false; /* BEGIN READ ONLY: it has nothing to commit */
    for (size_t i = 0; i < wire->len; i++) {
        const struct dsql_wire_entry *e = &wire->entries[i];
        if (e->kind == DSQL_WIRE_COMMIT && !e->answered)
            return true;
        /* A statement by itself commits with its Sync, not with its answer. */
        if (wire->single && e->kind == DSQL_WIRE_STATEMENT && !(e->flags & DSQL_STMT_READ) &&
            wire->answered < wire->len)
            return true;
    }
    return false;
}

enum dsql_rc dsql_wire_fail_unanswered(struct dsql_wire *wire, enum dsql_rc rc, const char *why)
{
    wire->dead = true; /* nothing that is still queued may be brought to an end */
    if (wire->committed)
        return DSQL_OK; /* what came after the answer to COMMIT does not matter */
    enum dsql_rc final = rc;
    if (commit_in_flight(wire))
        final = DSQL_COMMIT_UNKNOWN;
    bool first = wire->failed.rc == DSQL_OK;
    dsql_wire_fail(wire, final, dsql_wire_current(wire), why);
    if (first && final == DSQL_COMMIT_UNKNOWN)
        dsql_err_hint(&wire->failed, "look whether the change is there before running it again");
    return wire->failed.rc;
}

enum dsql_rc dsql_wire_fail_applied(struct dsql_err *err)
{
    if (err)
        dsql_err_set(err, DSQL_APPLIED, "applied, but failed afterwards: %s", err->message);
    dsql_err_hint(err, "what is committed can't be rolled back");
    return DSQL_APPLIED;
}

struct dsql_shown dsql_wire_reason(const struct dsql_wire *wire)
{
    struct dsql_span first, rest;
    (void)dsql_span_cut(dsql_span_of(PQerrorMessage(wire->pg)), '\n', &first, &rest);
    return dsql_shown(first);
}

enum dsql_rc dsql_wire_fail_broken(struct dsql_wire *wire)
{
    struct dsql_shown why = dsql_wire_reason(wire);
    return dsql_wire_fail_unanswered(wire, dsql_classify(DSQL_PHASE_STATEMENT, NULL, NULL, NULL).rc,
                                     why.text[0] ? why.text : "the connection was lost");
}

const char *dsql_wire_limit_text(enum dsql_rc rc)
{
    return rc == DSQL_CANCELLED ? "cancelled by the caller"
           : rc == DSQL_TIMEOUT ? "the deadline passed"
                                : "waiting for the answer failed";
}

enum dsql_rc dsql_wire_fail_limit(struct dsql_wire *wire, enum dsql_rc rc)
{
    return dsql_wire_fail_unanswered(wire, rc, dsql_wire_limit_text(rc));
}

void dsql_wire_copy(char *out, size_t cap, const char *text)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, out, cap);
    dsql_strbuf_add_str(&sb, text ? text : "");
}

void dsql_wire_fail_condition(struct dsql_wire *wire, const struct dsql_wire_entry *entry,
                              int64_t rows)
{
    if (wire->failed.rc != DSQL_OK)
        return;
    const struct dsql_fence_note *note = entry->fence;
    struct dsql_fence fence = {note->entity, note->key, note->token, note->rows};
    wire->failed_at = (size_t)(entry - wire->entries);
    (void)dsql_err_condition(&wire->failed, entry->name, &fence, rows);
}

/* Whether the session has lost a statement that is in the list of prepared ones, or has one of that
 * name which is not: the program sent DEALLOCATE or PREPARE itself. The list is then made anew. */
static bool is_about_prepared(const struct dsql_wire_entry *entry, const char *sqlstate,
                              const char *message)
{
    bool is_ours = entry->kind == DSQL_WIRE_PREPARE || entry->flags & DSQL_STMT_PREPARE;
    bool is_kind = strcmp(sqlstate, "26000") == 0 || strcmp(sqlstate, "42P05") == 0;
    const char *at =
        is_ours && is_kind && message ? strstr(message, DSQL_TX_PREPARED_PREFIX) : NULL;
    return at &&
           strncmp(at + strlen(DSQL_TX_PREPARED_PREFIX), entry->name, strlen(entry->name)) == 0;
}

static bool ends_session(const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    return severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
}

void dsql_wire_fail_answered(struct dsql_wire *wire, const struct dsql_wire_entry *entry,
                             const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
    if (wire->failed.rc != DSQL_OK || wire->committed)
        return;
    if (entry->fence && entry->flags & DSQL_STMT_RAISES && strcmp(sqlstate, "22012") == 0) {
        dsql_wire_fail_condition(wire, entry, 0);
        memcpy(wire->failed.sqlstate, "22012", sizeof("22012"));
        return;
    }
    bool commits =
        entry->kind == DSQL_WIRE_COMMIT ||
        (wire->single && entry->kind == DSQL_WIRE_STATEMENT && !(entry->flags & DSQL_STMT_READ));
    enum dsql_phase phase = commits ? DSQL_PHASE_COMMIT : DSQL_PHASE_STATEMENT;
    struct dsql_verdict verdict = dsql_classify(phase, sqlstate, message, hint);
    if (is_about_prepared(entry, sqlstate, message))
        verdict = (struct dsql_verdict){.rc = DSQL_SCHEMA_CHANGED, .stale_plan = true};
    /* A session that ends says so to whatever it is doing; a relay may not keep their
     * order. So with COMMIT on its way nothing is certain. */
    if ((verdict.rc == DSQL_LOST || ends_session(result)) && commit_in_flight(wire))
        verdict.rc = DSQL_COMMIT_UNKNOWN;
    wire->stale_plan |= verdict.stale_plan;
    wire->failed_at = (size_t)(entry - wire->entries);
    dsql_wire_fail(wire, verdict.rc, entry->name, dsql_shown_str(message ? message : "").text);
    dsql_wire_copy(wire->failed.sqlstate, sizeof(wire->failed.sqlstate), sqlstate);
    if (hint)
        dsql_err_hint(&wire->failed, "%s", dsql_shown_str(hint).text);
}
