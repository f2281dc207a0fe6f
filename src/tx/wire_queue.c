#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "tx/params.h"
#include "tx/wire_internal.h"

static struct dsql_wire_entry *add_entry(struct dsql_wire *wire, enum dsql_wire_kind kind,
                                         const char *name)
{
    /* A COMMIT takes effect without its Sync, so there must be room for that one behind it. */
    size_t needed = wire->len + (kind == DSQL_WIRE_COMMIT ? 2 : 1);
    if (!DSQL_GROW(wire->entries, wire->cap, needed))
        return NULL;
    struct dsql_wire_entry *entry = &wire->entries[wire->len];
    *entry = (struct dsql_wire_entry){.kind = kind};
    dsql_wire_copy(entry->name, sizeof(entry->name), name);
    return entry;
}

/* libpq took the entry; from now on an answer to it is expected. A refusal for want of memory, or
 * because the connection broke, ends the connection: part of a message may be in its buffer. */
static enum dsql_rc queued(struct dsql_wire *wire, struct dsql_wire_entry *entry, int sent)
{
    /* The bytes of a COMMIT that libpq refused may be on their way all the same. */
    if (sent || entry->kind == DSQL_WIRE_COMMIT)
        wire->len++;
    if (sent)
        return DSQL_OK;
    free(entry->fence);
    entry->fence = NULL;
    if (PQstatus(wire->pg) == CONNECTION_BAD)
        return dsql_wire_fail_broken(wire);
    return dsql_wire_fail_unanswered(wire, DSQL_NO_MEMORY, dsql_wire_reason(wire).text);
}

static enum dsql_rc no_memory(struct dsql_wire *wire, const char *name)
{
    return dsql_wire_fail(wire, DSQL_NO_MEMORY, name, "no memory to send it");
}

/* A command without parameters. */
enum dsql_rc dsql_wire_queue_command(struct dsql_wire *wire, enum dsql_wire_kind kind,
                                     const char *sql)
{
    struct dsql_wire_entry *entry = add_entry(wire, kind, sql);
    if (!entry)
        return no_memory(wire, sql);
    return queued(wire, entry, PQsendQueryParams(wire->pg, sql, 0, NULL, NULL, NULL, NULL, 0));
}

enum dsql_rc dsql_wire_queue_sync(struct dsql_wire *wire)
{
    struct dsql_wire_entry *entry = add_entry(wire, DSQL_WIRE_SYNC, "Sync");
    if (!entry) {
        wire->dead = true; /* what was sent can't be brought to an end */
        return no_memory(wire, "Sync");
    }
    return queued(wire, entry, PQpipelineSync(wire->pg));
}

/* Queues the Parse of a statement if the connection does not know it; *name is its name there. */
static enum dsql_rc queue_prepare(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                  const struct dsql_params *params,
                                  char name[DSQL_TX_PREPARED_NAME_MAX + 1])
{
    struct dsql_tx_prepared *list = dsql_tx_prepared_of(wire->pg);
    if (!list)
        return no_memory(wire, stmt->name);
    struct dsql_tx_prepared_key key;
    enum dsql_rc rc = dsql_tx_prepared_find(list, stmt, &key, name);
    if (rc == DSQL_INVALID)
        return dsql_wire_fail(wire, DSQL_INVALID, stmt->name, "two statements have this name");
    if (!rc)
        return DSQL_OK;
    struct dsql_wire_entry *entry = add_entry(wire, DSQL_WIRE_PREPARE, stmt->name);
    if (!entry || dsql_tx_prepared_add(list, key) != DSQL_OK)
        return no_memory(wire, stmt->name);
    entry->prepared = key;
    rc =
        queued(wire, entry, PQsendPrepare(wire->pg, name, stmt->sql, params->count, params->types));
    if (rc)
        dsql_tx_prepared_drop(list, key);
    return rc;
}

enum dsql_rc dsql_wire_queue_statement(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                       const struct dsql_params *params,
                                       const struct dsql_fence *fence, bool wanted)
{
    char name[DSQL_TX_PREPARED_NAME_MAX + 1];
    bool prepare = stmt->flags & DSQL_STMT_PREPARE;
    enum dsql_verb verb = dsql_verb_of(stmt->sql);
    if (verb == DSQL_VERB_FORGET && dsql_tx_prepared_of(wire->pg))
        dsql_tx_prepared_renew(
            dsql_tx_prepared_of(wire->pg)); /* what is queued behind must know it */
    if (prepare) {
        enum dsql_rc rc = queue_prepare(wire, stmt, params, name);
        if (rc)
            return rc;
    }
    struct dsql_wire_entry *entry = add_entry(wire, DSQL_WIRE_STATEMENT, stmt->name);
    if (!entry)
        return no_memory(wire, stmt->name);
    entry->flags = stmt->flags;
    entry->verb = verb;
    entry->wanted = wanted;
    if (fence) {
        entry->fence = malloc(sizeof(*entry->fence));
        if (!entry->fence)
            return no_memory(wire, stmt->name);
        entry->fence->rows = fence->rows;
        dsql_wire_copy(entry->fence->entity, sizeof(entry->fence->entity), fence->entity);
        dsql_wire_copy(entry->fence->key, sizeof(entry->fence->key), fence->key);
        dsql_wire_copy(entry->fence->token, sizeof(entry->fence->token), fence->token);
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
        if (wire->entries[i].kind == DSQL_WIRE_STATEMENT)
            return true;
    return false;
}

/* Whether the server itself refuses to go on when the fence does not hold. */
static bool is_raised(const struct dsql_stmt *stmt, const struct dsql_fence *fence)
{
    return stmt->flags & DSQL_STMT_RAISES && fence->rows == 0;
}

static bool is_framed(const char *sql, const char *before, const char *after)
{
    size_t len = strlen(sql), head = strlen(before), tail = strlen(after);
    return len > head + tail && strncmp(sql, before, head) == 0 &&
           strcmp(sql + len - tail, after) == 0;
}

/* Whether the text is what DSQL_RAISING, DSQL_EXPECTING or DSQL_REFUSING makes: a COMMIT is sent
 * right behind it. */
static bool is_raising(const char *sql)
{
    return is_framed(sql, "WITH hit AS (", " RETURNING 1) SELECT count(*), 1/count(*) FROM hit") ||
           is_framed(sql, "SELECT 1/(CASE WHEN (", " END)");
}

/* What must not be sent: (W3), (W5). NULL if it may. */
static const char *why_not(const struct dsql_wire *wire, const struct dsql_stmt *stmt)
{
    enum dsql_verb verb = dsql_verb_of(stmt->sql);
    if (verb == DSQL_VERB_CONTROL)
        return "a transaction is begun and ended by dsql_tx_begin(), dsql_tx_commit() and "
               "dsql_tx_rollback() only";
    if (verb == DSQL_VERB_COPY)
        return "COPY can't be part of a transaction here; use dsql_conn_pg() and libpq for it";
    if (stmt->flags & DSQL_STMT_RAISES && !is_raising(stmt->sql))
        return "it has DSQL_STMT_RAISES and was built with neither DSQL_RAISING nor DSQL_EXPECTING";
    if (wire->one && has_statement(wire))
        return "a second statement in a single-statement run";
    return NULL;
}

enum dsql_rc dsql_wire_send(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                            const struct dsql_param *params, size_t count,
                            const struct dsql_fence *fence, bool wanted, size_t *at)
{
    if (wire->failed.rc != DSQL_OK)
        return wire->failed.rc;
    if (!stmt->name || !stmt->sql || !*stmt->name || strlen(stmt->name) > DSQL_STMT_NAME_MAX)
        return dsql_wire_fail(wire, DSQL_INVALID, "statement",
                              "it needs a text, and a name of 1 to 50 bytes");
    const char *refused = why_not(wire, stmt);
    if (refused)
        return dsql_wire_fail(wire, DSQL_INVALID, stmt->name, refused);
    if (wire->len == 0)
        wire->single = wire->one && (!fence || is_raised(stmt, fence));

    struct dsql_err why;
    struct dsql_params encoded;
    enum dsql_rc rc = dsql_params_init(&encoded, stmt->types, params, count, &why);
    if (rc)
        return dsql_wire_fail(wire, rc, stmt->name, why.message);
    if (wire->len == 0 && !wire->single)
        rc = dsql_wire_queue_command(wire, DSQL_WIRE_BEGIN,
                                     wire->read_only ? "BEGIN READ ONLY" : "BEGIN");
    if (!rc)
        rc = dsql_wire_queue_statement(wire, stmt, &encoded, fence, wanted);
    dsql_params_fini(&encoded);
    if (!rc)
        *at = wire->len - 1;
    return rc;
}
