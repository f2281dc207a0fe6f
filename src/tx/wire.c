#include "tx/wire.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "base/shown.h"
#include "tx/params.h"
#include "tx/wait.h"

#define ROLLBACK_WAIT_NS (2 * DSQL_S)

enum entry_kind { BEGIN, PREPARE, STATEMENT, COMMIT, ROLLBACK, SYNC };

/* The caller's fence, copied: its strings may be gone when the answer comes. */
struct fence_note {
    int64_t rows;
    char entity[192], token[128];
};

struct dsql_wire_entry {
    enum entry_kind kind;
    unsigned flags; /* of the statement */
    bool wanted;    /* the result is kept */
    bool answered;  /* a result came, be it an error; the NULL behind it may not yet have */
    char name[DSQL_STMT_NAME_MAX + 1];
    struct dsql_prepared_key prepared;
    struct fence_note *fence;
    PGresult *result;
    int64_t affected;
};

void dsql_wire_open(struct dsql_wire *wire, PGconn *pg, const struct dsql_wire_limits *limits,
                    bool read_only, bool single)
{
    *wire =
        (struct dsql_wire){.pg = pg, .limits = *limits, .read_only = read_only, .single = single};
    if (PQsetnonblocking(pg, 1) == 0 && PQenterPipelineMode(pg) == 1)
        return;
    wire->dead = true;
    dsql_err_set(&wire->failed, DSQL_LOST, "the connection is not usable: %s",
                 dsql_shown_str(PQerrorMessage(pg)).text);
}

/* Failures. The first one stays; whatever comes later is its consequence. */

static enum dsql_rc fail(struct dsql_wire *wire, enum dsql_rc rc, const char *name,
                         const char *message)
{
    if (wire->failed.rc == DSQL_OK)
        dsql_err_set(&wire->failed, rc, "%s: %s", name, message);
    return wire->failed.rc;
}

/* The entry that an error outside of any answer belongs to. */
static const char *current_name(const struct dsql_wire *wire)
{
    for (size_t i = wire->answered; i < wire->len; i++)
        if (wire->entries[i].kind != SYNC)
            return wire->entries[i].name;
    return wire->len ? wire->entries[wire->len - 1].name : "BEGIN";
}

/* Whether what is on its way may commit: COMMIT, or a write that is a transaction by itself. (W4)
 */
static bool commit_in_flight(const struct dsql_wire *wire)
{
    for (size_t i = 0; i < wire->len; i++) {
        const struct dsql_wire_entry *e = &wire->entries[i];
        if (e->kind == COMMIT && !e->answered)
            return true;
        /* A statement by itself commits with its Sync, not with its answer. */
        if (wire->single && e->kind == STATEMENT && !(e->flags & DSQL_STMT_READ) &&
            wire->answered < wire->len)
            return true;
    }
    return false;
}

/* The wait ended without an answer: by the deadline, by cancellation, or the connection broke. */
static enum dsql_rc fail_without_answer(struct dsql_wire *wire, enum dsql_rc rc, const char *why)
{
    wire->dead = true;
    if (wire->committed)
        return DSQL_OK; /* what came after the answer to COMMIT does not matter */
    enum dsql_rc final = rc;
    if (commit_in_flight(wire))
        final = DSQL_COMMIT_UNKNOWN;
    bool first = wire->failed.rc == DSQL_OK;
    fail(wire, final, current_name(wire), why);
    if (first && final == DSQL_COMMIT_UNKNOWN)
        dsql_err_hint(&wire->failed, "look whether the change is there before running it again");
    return wire->failed.rc;
}

static enum dsql_rc fail_broken(struct dsql_wire *wire)
{
    struct dsql_shown why = dsql_shown_str(PQerrorMessage(wire->pg));
    return fail_without_answer(wire, dsql_classify(DSQL_PHASE_STATEMENT, NULL, NULL, NULL).rc,
                               why.text[0] ? why.text : "the connection was lost");
}

static const char *limit_text(enum dsql_rc rc)
{
    return rc == DSQL_CANCELLED ? "cancelled by the caller"
           : rc == DSQL_TIMEOUT ? "the deadline passed"
                                : "waiting for the answer failed";
}

static enum dsql_rc fail_limit(struct dsql_wire *wire, enum dsql_rc rc)
{
    return fail_without_answer(wire, rc, limit_text(rc));
}

static void copy_text(char *out, size_t cap, const char *text)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, out, cap);
    dsql_strbuf_add_str(&sb, text ? text : "");
}

static void fail_condition(struct dsql_wire *wire, const struct dsql_wire_entry *entry,
                           int64_t rows)
{
    if (wire->failed.rc != DSQL_OK)
        return;
    const struct fence_note *fence = entry->fence;
    dsql_err_set(&wire->failed, DSQL_CONDITION_FAILED,
                 "%s: %s is not at the expected %s any more (%lld rows)", entry->name,
                 fence->entity, fence->token, (long long)rows);
    dsql_err_hint(&wire->failed, "another owner changed it; do not retry with the same token");
}

/* The server answered an entry with an error. */
static void fail_answered(struct dsql_wire *wire, const struct dsql_wire_entry *entry,
                          const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
    if (wire->failed.rc != DSQL_OK || wire->committed)
        return;
    if (entry->fence && entry->flags & DSQL_STMT_RAISES && strcmp(sqlstate, "22012") == 0) {
        fail_condition(wire, entry, 0);
        memcpy(wire->failed.sqlstate, "22012", sizeof("22012"));
        return;
    }
    bool commits = entry->kind == COMMIT ||
                   (wire->single && entry->kind == STATEMENT && !(entry->flags & DSQL_STMT_READ));
    enum dsql_phase phase = commits ? DSQL_PHASE_COMMIT : DSQL_PHASE_STATEMENT;
    struct dsql_verdict verdict = dsql_classify(phase, sqlstate, message, hint);
    /* A session that ends says so to whatever it is doing; who relays its words may not keep their
     * order. So with COMMIT on its way nothing is certain. */
    if (verdict.rc == DSQL_LOST && commit_in_flight(wire))
        verdict.rc = DSQL_COMMIT_UNKNOWN;
    wire->stale_plan |= verdict.stale_plan;
    fail(wire, verdict.rc, entry->name, dsql_shown_str(message ? message : "").text);
    copy_text(wire->failed.sqlstate, sizeof(wire->failed.sqlstate), sqlstate);
    if (hint)
        dsql_err_hint(&wire->failed, "%s", dsql_shown_str(hint).text);
}

/* Queueing. */

static struct dsql_wire_entry *add_entry(struct dsql_wire *wire, enum entry_kind kind,
                                         const char *name)
{
    if (wire->len == wire->cap) {
        size_t cap = wire->cap ? 2 * wire->cap : 16;
        struct dsql_wire_entry *entries = reallocarray(wire->entries, cap, sizeof(*wire->entries));
        if (!entries)
            return NULL;
        wire->entries = entries;
        wire->cap = cap;
    }
    struct dsql_wire_entry *entry = &wire->entries[wire->len];
    *entry = (struct dsql_wire_entry){.kind = kind};
    copy_text(entry->name, sizeof(entry->name), name);
    return entry;
}

/* libpq took the entry; from now on an answer to it is expected. A refusal for want of memory, or
 * because the connection broke, ends the connection: part of a message may be in its buffer. */
static enum dsql_rc queued(struct dsql_wire *wire, struct dsql_wire_entry *entry, int sent)
{
    if (sent) {
        wire->len++;
        return DSQL_OK;
    }
    free(entry->fence);
    entry->fence = NULL;
    if (PQstatus(wire->pg) == CONNECTION_BAD)
        return fail_broken(wire);
    wire->dead = true;
    return fail(wire, DSQL_NO_MEMORY, entry->name, dsql_shown_str(PQerrorMessage(wire->pg)).text);
}

static enum dsql_rc no_memory(struct dsql_wire *wire, const char *name)
{
    return fail(wire, DSQL_NO_MEMORY, name, "no memory to send it");
}

/* A command without parameters. */
static enum dsql_rc queue_command(struct dsql_wire *wire, enum entry_kind kind, const char *sql)
{
    struct dsql_wire_entry *entry = add_entry(wire, kind, sql);
    if (!entry)
        return no_memory(wire, sql);
    return queued(wire, entry, PQsendQueryParams(wire->pg, sql, 0, NULL, NULL, NULL, NULL, 0));
}

static enum dsql_rc queue_sync(struct dsql_wire *wire)
{
    struct dsql_wire_entry *entry = add_entry(wire, SYNC, "Sync");
    if (!entry) {
        wire->dead = true; /* what was sent can't be brought to an end */
        return no_memory(wire, "Sync");
    }
    return queued(wire, entry, PQpipelineSync(wire->pg));
}

/* Queues the Parse of a statement if the connection does not know it; *name is its name there. */
static enum dsql_rc queue_prepare(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                  const struct dsql_params *params,
                                  char name[DSQL_PREPARED_NAME_MAX + 1])
{
    struct dsql_prepared *list = dsql_prepared_of(wire->pg);
    if (!list)
        return no_memory(wire, stmt->name);
    struct dsql_prepared_key key;
    enum dsql_rc rc = dsql_prepared_find(list, stmt, &key, name);
    if (rc == DSQL_INVALID)
        return fail(wire, DSQL_INVALID, stmt->name, "two statements have this name");
    if (rc == DSQL_OK)
        return DSQL_OK;
    struct dsql_wire_entry *entry = add_entry(wire, PREPARE, stmt->name);
    if (!entry || dsql_prepared_add(list, key) != DSQL_OK)
        return no_memory(wire, stmt->name);
    entry->prepared = key;
    rc =
        queued(wire, entry, PQsendPrepare(wire->pg, name, stmt->sql, params->count, params->types));
    if (rc != DSQL_OK)
        dsql_prepared_drop(list, key);
    return rc;
}

static enum dsql_rc queue_statement(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                    const struct dsql_params *params,
                                    const struct dsql_fence *fence, bool wanted)
{
    char name[DSQL_PREPARED_NAME_MAX + 1];
    bool prepare = stmt->flags & DSQL_STMT_PREPARE;
    if (prepare) {
        enum dsql_rc rc = queue_prepare(wire, stmt, params, name);
        if (rc != DSQL_OK)
            return rc;
    }
    struct dsql_wire_entry *entry = add_entry(wire, STATEMENT, stmt->name);
    if (!entry)
        return no_memory(wire, stmt->name);
    entry->flags = stmt->flags;
    entry->wanted = wanted;
    if (fence) {
        entry->fence = malloc(sizeof(*entry->fence));
        if (!entry->fence)
            return no_memory(wire, stmt->name);
        entry->fence->rows = fence->rows;
        copy_text(entry->fence->entity, sizeof(entry->fence->entity), fence->entity);
        copy_text(entry->fence->token, sizeof(entry->fence->token), fence->token);
    }
    int format = !(stmt->flags & DSQL_STMT_TEXT);
    int sent = prepare ? PQsendQueryPrepared(wire->pg, name, params->count, params->values,
                                             params->lens, params->formats, format)
                       : PQsendQueryParams(wire->pg, stmt->sql, params->count, params->types,
                                           params->values, params->lens, params->formats, format);
    return queued(wire, entry, sent);
}

static bool has_statement(const struct dsql_wire *wire)
{
    for (size_t i = 0; i < wire->len; i++)
        if (wire->entries[i].kind == STATEMENT)
            return true;
    return false;
}

enum dsql_rc dsql_wire_send(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                            const struct dsql_param *params, size_t count,
                            const struct dsql_fence *fence, bool wanted, size_t *at)
{
    if (wire->failed.rc != DSQL_OK)
        return wire->failed.rc;
    if (!stmt->name || !stmt->sql || !*stmt->name || strlen(stmt->name) > DSQL_STMT_NAME_MAX)
        return fail(wire, DSQL_INVALID, "statement",
                    "it needs a text, and a name of 1 to 50 bytes");
    if (wire->single && has_statement(wire))
        return fail(wire, DSQL_INVALID, stmt->name, "a second statement in a single-statement run");

    struct dsql_err why;
    struct dsql_params encoded;
    enum dsql_rc rc = dsql_params_init(&encoded, stmt->types, params, count, &why);
    if (rc != DSQL_OK)
        return fail(wire, rc, stmt->name, why.message);
    if (wire->len == 0 && !wire->single)
        rc = queue_command(wire, BEGIN, wire->read_only ? "BEGIN READ ONLY" : "BEGIN");
    if (rc == DSQL_OK)
        rc = queue_statement(wire, stmt, &encoded, fence, wanted);
    dsql_params_fini(&encoded);
    if (rc == DSQL_OK)
        *at = wire->len - 1;
    return rc;
}

/* Answers. */

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
    const struct fence_note *fence = entry->fence;
    if (!fence)
        return;
    bool holds = fence->rows > 0 ? entry->affected == fence->rows : entry->affected > 0;
    if (!holds)
        fail_condition(wire, entry, entry->affected);
}

static void take_success(struct dsql_wire *wire, struct dsql_wire_entry *entry, PGresult *result)
{
    if (entry->kind == COMMIT) {
        if (strcmp(PQcmdStatus(result), "COMMIT") == 0)
            wire->committed = true;
        else /* the transaction had failed, and was rolled back */
            fail(wire, DSQL_DATABASE, "COMMIT", "the transaction was rolled back");
    }
    if (entry->kind == STATEMENT) {
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
    while (at > 0 && wire->entries[at].kind == SYNC)
        at--;
    return &wire->entries[at];
}

/* The server refused an entry, or skipped it after another one. */
static void take_error(struct dsql_wire *wire, size_t at, const PGresult *result)
{
    const struct dsql_wire_entry *entry = &wire->entries[at];
    if (entry->kind == PREPARE)
        dsql_prepared_drop(dsql_prepared_of(wire->pg), entry->prepared);
    if (PQresultStatus(result) != PGRES_PIPELINE_ABORTED)
        fail_answered(wire, blamed(wire, at), result);
}

/* One result of libpq's, for the entry that is answered next. */
static void take_result(struct dsql_wire *wire, PGresult *result)
{
    struct dsql_wire_entry *entry = &wire->entries[wire->answered];
    ExecStatusType status = PQresultStatus(result);
    switch ((int)status) {
    case PGRES_PIPELINE_SYNC:
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
        /* Without a SQLSTATE these are libpq's own words: nobody answered. */
        if (PQresultErrorField(result, PG_DIAG_SQLSTATE) || status == PGRES_PIPELINE_ABORTED) {
            entry->answered = true;
            take_error(wire, wire->answered, result);
        } else if (status == PGRES_FATAL_ERROR) {
            (void)fail_broken(wire);
        } else { /* COPY and the like can't be driven from here */
            wire->dead = true;
            (void)fail(wire, DSQL_UNSUPPORTED, entry->name,
                       "it wants an exchange that is not supported");
        }
        PQclear(result);
        break;
    }
}

/* Reads until everything queued is answered; the last entry is a Sync. */
static enum dsql_rc drain(struct dsql_wire *wire)
{
    wire->round_trips++;
    int nothings = 0; /* in a row */
    while (wire->answered < wire->len && !wire->dead) {
        enum dsql_rc rc = dsql_wait_result(wire->pg, &wire->limits);
        if (rc != DSQL_OK)
            return fail_limit(wire, rc);
        const struct dsql_wire_entry *entry = &wire->entries[wire->answered];
        PGresult *result = PQgetResult(wire->pg);
        nothings = result ? 0 : nothings + 1;
        if (result)
            take_result(wire, result);
        else if (entry->answered && entry->kind != SYNC)
            wire->answered++;
        else if (PQstatus(wire->pg) == CONNECTION_BAD)
            return fail_broken(wire);
        else if (nothings > 3) /* libpq and this file disagree on what is to come */
            return fail_without_answer(wire, DSQL_PROTOCOL, "an answer is missing");
    }
    return wire->committed ? DSQL_OK : wire->failed.rc;
}

enum dsql_rc dsql_wire_flush(struct dsql_wire *wire)
{
    if (wire->failed.rc != DSQL_OK || wire->answered == wire->len)
        return wire->failed.rc;
    /* Without its Sync nothing takes effect, so this is still a certain no. */
    enum dsql_rc rc = dsql_wire_limits_check(&wire->limits);
    if (rc != DSQL_OK) {
        wire->dead = true;
        return fail(wire, rc, current_name(wire), limit_text(rc));
    }
    rc = queue_sync(wire);
    return rc == DSQL_OK ? drain(wire) : rc;
}

enum dsql_rc dsql_wire_take(struct dsql_wire *wire, size_t at, int64_t *affected, PGresult **result)
{
    if (at >= wire->len || wire->entries[at].kind != STATEMENT || !wire->entries[at].wanted)
        return fail(wire, DSQL_INVALID, "ticket",
                    "it was taken before, or is of another transaction");
    if (at >= wire->answered) {
        enum dsql_rc rc = dsql_wire_flush(wire);
        if (rc != DSQL_OK)
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
        if (e->fence && (!(e->flags & DSQL_STMT_RAISES) || e->fence->rows > 0))
            return true;
    }
    return false;
}

enum dsql_rc dsql_wire_commit(struct dsql_wire *wire)
{
    enum dsql_rc rc = wire->failed.rc;
    if (rc == DSQL_OK && (wire->single || has_open_fence(wire)))
        rc = dsql_wire_flush(wire);
    if (rc != DSQL_OK || wire->single || wire->len == 0)
        return rc;
    /* Better a certain no than an unknown outcome. */
    rc = dsql_wire_limits_check(&wire->limits);
    if (rc != DSQL_OK)
        return fail(wire, rc, "before COMMIT", limit_text(rc));
    rc = queue_command(wire, COMMIT, "COMMIT");
    if (rc == DSQL_OK)
        rc = queue_sync(wire);
    return rc == DSQL_OK ? drain(wire) : rc;
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
    if (wire->single) { /* its Sync would commit it */
        wire->dead = true;
        return;
    }
    struct dsql_mono soon = dsql_mono_add(dsql_clock_mono(wire->limits.clock), ROLLBACK_WAIT_NS);
    if (dsql_mono_before(soon, wire->limits.deadline))
        wire->limits.deadline = soon;
    /* A Sync in between: an error in what is still queued would swallow the ROLLBACK. */
    bool queued_all = wire->answered == wire->len || queue_sync(wire) == DSQL_OK;
    queued_all = queued_all && queue_command(wire, ROLLBACK, "ROLLBACK") == DSQL_OK &&
                 queue_sync(wire) == DSQL_OK;
    if (queued_all)
        (void)drain(wire);
    else
        wire->dead = true; /* closing the connection rolls back, too */
}

bool dsql_wire_close(struct dsql_wire *wire)
{
    bool usable = !wire->dead && wire->answered == wire->len &&
                  PQtransactionStatus(wire->pg) == PQTRANS_IDLE &&
                  PQexitPipelineMode(wire->pg) == 1 && PQsetnonblocking(wire->pg, 0) == 0;
    if (usable && wire->stale_plan)
        dsql_prepared_renew(dsql_prepared_of(wire->pg));
    for (size_t i = 0; i < wire->len; i++) {
        PQclear(wire->entries[i].result);
        free(wire->entries[i].fence);
    }
    free(wire->entries);
    *wire = (struct dsql_wire){0};
    return usable;
}
