/*
 * One client's statements on their way to PostgreSQL, and the answers on their way back.
 *
 * How a refusal gets into the stream: the statement that Aurora DSQL would refuse is replaced by
 * one that PostgreSQL itself refuses, and whose error message repeats the words to use. PostgreSQL
 * then takes care of everything else (order, aborted transactions, what is skipped up to Sync), and
 * on the way back the error is given its true form. Nothing has to be remembered in between.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local/first_sql.h"
#include "local/front.h"
#include "pgwire/backend.h"
#include "pgwire/frontend.h"
#include "pgwire/put_backend.h"
#include "pgwire/put_frontend.h"

enum { READ_CHUNK = 64 << 10, REFUSAL_TEXT_MAX = 2048 };

/* The replacement: reading the literal as a number fails while the statement is analysed. */
static const char refusal_begin[] = "select 'dsql refuses\x1f";
static const char refusal_end[] = "'::pg_catalog.int4";
static const char refusal_echo[] = "invalid input syntax for type integer: \"dsql refuses\x1f";

/* What the service answers and PostgreSQL 15 does not. */
static const struct {
    struct dsql_span name;
    const char *sql;
} shown[] = {
    {{"server_version", 14}, "select '16.15' as server_version"},
    {{"server_version_num", 18}, "select '160015' as server_version_num"},
    {{"max_connections", 15}, "select '20' as max_connections"},
};

static void backend_ready(struct dsql_session *session, uint32_t events);

void dsql_relay_fini(struct dsql_session *session)
{
    dsql_names_drop_all(&session->names, DSQL_PG_STATEMENT);
    dsql_names_drop_all(&session->names, DSQL_PG_PORTAL);
}

/* PostgreSQL is reached when the first statement comes, not before: idle sessions cost the front's
 * memory only. */
static void need_backend(struct dsql_session *session)
{
    if (session->backend.fd >= 0)
        return;
    session->backend.fd = dsql_postgres_connect(session->front->pg, true);
    if (session->backend.fd < 0) {
        dsql_session_fatal(session, DSQL_LOCAL_REFUSALS, "XX000", "server unavailable", "");
        return;
    }
    session->backend.ready = backend_ready;
    session->starting = true;
    dsql_strbuf_add(&session->to_backend.bytes,
                    (struct dsql_span){session->startup, session->startup_len});
    free(session->startup);
    session->startup = NULL;
}

/* The inside of a literal. */
static void add_quoted(struct dsql_strbuf *sb, struct dsql_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'')
            dsql_strbuf_add_char(sb, '\'');
        dsql_strbuf_add_char(sb, text.ptr[i]);
    }
}

static void add_literal(struct dsql_strbuf *sb, struct dsql_span text)
{
    dsql_strbuf_add_char(sb, '\'');
    add_quoted(sb, text);
    dsql_strbuf_add_char(sb, '\'');
}

/* The replacement statement for a refusal. */
static void add_refusal(struct dsql_strbuf *sb, const struct dsql_sql_refusal *refusal)
{
    dsql_strbuf_add_str(sb, refusal_begin);
    dsql_strbuf_add_str(sb, refusal->sqlstate);
    dsql_strbuf_add_char(sb, '\x1f');
    add_quoted(sb, dsql_span_of(refusal->message));
    dsql_strbuf_add_char(sb, '\x1f');
    add_quoted(sb, dsql_span_of(refusal->detail));
    dsql_strbuf_add_char(sb, '\x1f');
    add_quoted(sb, dsql_span_of(refusal->hint));
    dsql_strbuf_add_str(sb, refusal_end);
}

static bool may_run(struct dsql_session *session, const struct dsql_sql_stmt *stmt,
                    struct dsql_sql_refusal *refusal)
{
    struct dsql_front *front = session->front;
    front->counts.statements++;
    bool passes = dsql_sql_tx_admit(&session->tx, stmt, NULL, session->sync_index,
                                    dsql_front_now(front), refusal) != DSQL_SQL_TX_REFUSE;
    front->counts.statements_refused += !passes;
    return passes;
}

static struct dsql_sql_script *script_of(struct dsql_session *session, struct dsql_span text)
{
    struct dsql_sql_script *script = NULL;
    if (dsql_sql_cache_get(&session->front->cache, text, &script))
        dsql_session_fatal(session, DSQL_LOCAL_REFUSALS, "53200", "out of memory", "");
    return script;
}

/* What the front itself remembers of a setting. */
static void note_setting(struct dsql_session *session, const struct dsql_sql_stmt *stmt)
{
    if (stmt->kind == DSQL_SQL_SET && stmt->name &&
        dsql_span_eq_nocase(dsql_span_of(stmt->name), DSQL_SPAN("disable_sync_create_index")))
        session->sync_index =
            stmt->value && dsql_span_eq_nocase(dsql_span_of(stmt->value), DSQL_SPAN("off"));
}

/* A build that the service runs as a job: here it is done at once, and answers with a job's id. */
static void add_job(struct dsql_strbuf *sb, const struct dsql_sql_script *script,
                    const struct dsql_sql_stmt *stmt)
{
    struct dsql_span ddl = dsql_sql_stmt_text(script, stmt), verb = dsql_span_trim(ddl);
    bool index =
        verb.len >= 6 && dsql_span_eq_nocase(dsql_span_first(verb, 6), DSQL_SPAN("create"));
    dsql_strbuf_add_str(sb, index ? "select sys.dsql_run_job('INDEX_BUILD', "
                                  : "select sys.dsql_run_job('VALIDATE_CONSTRAINT', ");
    add_literal(sb, dsql_span_of(stmt->table_count > 0 ? stmt->tables[0].name : ""));
    dsql_strbuf_add_str(sb, index ? ", 'CREATE INDEX', " : ", 'ALTER TABLE', ");
    add_literal(sb, ddl);
    dsql_strbuf_add_str(sb, ") as job_id");
}

static void add_iam(struct dsql_strbuf *sb, const struct dsql_sql_stmt *stmt)
{
    dsql_strbuf_addf(sb, "call sys.dsql_iam('%s', ",
                     stmt->kind == DSQL_SQL_IAM_GRANT ? "GRANT" : "REVOKE");
    add_literal(sb, dsql_span_of(stmt->name ? stmt->name : ""));
    dsql_strbuf_add_str(sb, ", ");
    add_literal(sb, dsql_span_of(stmt->value ? stmt->value : ""));
    dsql_strbuf_add_char(sb, ')');
}

/* Text for PostgreSQL in the place of a statement that it does not know, or knows otherwise; the
 * answer has the same shape. False, and nothing added, for all others. */
static bool add_replacement(struct dsql_strbuf *sb, const struct dsql_session *session,
                            const struct dsql_sql_script *script, const struct dsql_sql_stmt *stmt)
{
    if (stmt->flags & DSQL_SQL_JOB) {
        add_job(sb, script, stmt);
        return true;
    }
    if (stmt->kind == DSQL_SQL_IAM_GRANT || stmt->kind == DSQL_SQL_IAM_REVOKE) {
        add_iam(sb, stmt);
        return true;
    }
    if (stmt->kind == DSQL_SQL_SET && (stmt->flags & DSQL_SQL_FRONT_SETTING)) {
        dsql_strbuf_add_str(sb, "set dsql.front_setting to 'on'");
        return true;
    }
    if (stmt->kind == DSQL_SQL_SHOW && (stmt->flags & DSQL_SQL_FRONT_SETTING)) {
        dsql_strbuf_addf(sb, "select '%s' as disable_sync_create_index",
                         session->sync_index ? "off" : "on");
        return true;
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(shown) && stmt->kind == DSQL_SQL_SHOW && stmt->name; i++) {
        if (dsql_span_eq_nocase(dsql_span_of(stmt->name), shown[i].name)) {
            dsql_strbuf_add_str(sb, shown[i].sql);
            return true;
        }
    }
    return false;
}

static void relay_query(struct dsql_session *session, struct dsql_span text)
{
    struct dsql_sql_script *script = script_of(session, text);
    if (!script)
        return;
    struct dsql_strbuf sql;
    struct dsql_sql_refusal refusal;
    bool as_it_came = script->count == 1;
    dsql_strbuf_init_heap(&sql, DSQL_OUTBOX_MAX);
    if (script->refusal) {
        dsql_strbuf_add(&sql, text); /* PostgreSQL's own words for a syntax error, with its place */
        dsql_sql_tx_failed(&session->tx);
    }
    for (size_t i = 0; i < script->count; i++) {
        const struct dsql_sql_stmt *stmt = &script->stmts[i];
        if (!may_run(session, stmt, &refusal)) {
            add_refusal(&sql, &refusal);
            as_it_came = false;
            break;
        }
        note_setting(session, stmt);
        if (add_replacement(&sql, session, script, stmt))
            as_it_came = false;
        else
            dsql_strbuf_add(&sql, dsql_sql_stmt_text(script, stmt));
        dsql_strbuf_add_char(&sql, ';');
    }
    (void)dsql_sql_tx_sync(&session->tx, dsql_front_now(session->front), &refusal);
    if (sql.cut)
        session->to_backend.bytes.cut = true;
    /* A single statement travels as it came: error positions stay right. */
    dsql_pg_put_query(&session->to_backend.bytes,
                      as_it_came ? script->text : dsql_strbuf_span(&sql));
    dsql_strbuf_fini(&sql);
    session->awaiting++;
    dsql_sql_script_unref(script);
}

/* A Parse whose statement fails, in the place of what is refused. */
static void put_refused_parse(struct dsql_session *session, struct dsql_span name,
                              const struct dsql_sql_refusal *refusal)
{
    char memory[REFUSAL_TEXT_MAX];
    struct dsql_strbuf sql;
    dsql_strbuf_init(&sql, memory, sizeof(memory));
    add_refusal(&sql, refusal);
    dsql_pg_put_parse(&session->to_backend.bytes,
                      &(struct dsql_pg_parse){.name = name, .query = dsql_strbuf_span(&sql)});
}

/* A Parse of one statement that passes: rewritten where it must be. */
static void put_parse(struct dsql_session *session, const struct dsql_pg_parse *parse,
                      const struct dsql_sql_script *script)
{
    struct dsql_pg_parse out = *parse;
    struct dsql_strbuf sql;
    dsql_strbuf_init_heap(&sql, DSQL_OUTBOX_MAX);
    bool replaced = add_replacement(&sql, session, script, &script->stmts[0]);
    out.query = replaced ? dsql_strbuf_span(&sql) : script->text;
    if (sql.cut)
        session->to_backend.bytes.cut = true;
    dsql_pg_put_parse(&session->to_backend.bytes, &out);
    dsql_strbuf_fini(&sql);
}

static void relay_parse(struct dsql_session *session, const struct dsql_pg_parse *parse)
{
    struct dsql_sql_script *script = script_of(session, parse->query);
    if (!script)
        return;
    struct dsql_sql_refusal refusal;
    bool single = !dsql_sql_script_parse_refusal(script) && script->count == 1;
    if (!single) {
        dsql_pg_put_parse(&session->to_backend.bytes, parse); /* PostgreSQL says what is wrong */
    } else if (dsql_sql_tx_parse(&session->tx, &script->stmts[0], session->sync_index, &refusal) ==
               DSQL_SQL_TX_REFUSE) {
        session->front->counts.statements_refused++;
        put_refused_parse(session, parse->name, &refusal);
    } else {
        put_parse(session, parse, script);
    }
    if (dsql_names_set(&session->names, DSQL_PG_STATEMENT, parse->name, script))
        session->to_backend.bytes.cut = true;
}

static void relay_bind(struct dsql_session *session, const struct dsql_pg_bind *bind,
                       struct dsql_span raw)
{
    struct dsql_sql_script *script =
        dsql_names_get(&session->names, DSQL_PG_STATEMENT, bind->statement);
    dsql_names_drop(&session->names, DSQL_PG_PORTAL, bind->portal);
    if (script &&
        dsql_names_set(&session->names, DSQL_PG_PORTAL, bind->portal, dsql_sql_script_ref(script)))
        session->to_backend.bytes.cut = true;
    dsql_strbuf_add(&session->to_backend.bytes, raw);
}

static void relay_execute(struct dsql_session *session, const struct dsql_pg_execute *execute,
                          struct dsql_span raw)
{
    const struct dsql_sql_script *script =
        dsql_names_get(&session->names, DSQL_PG_PORTAL, execute->portal);
    struct dsql_sql_refusal refusal;
    if (script && script->count == 1 && !may_run(session, &script->stmts[0], &refusal)) {
        put_refused_parse(session, DSQL_SPAN("dsql refuses"), &refusal);
        return;
    }
    if (script && script->count == 1)
        note_setting(session, &script->stmts[0]);
    dsql_strbuf_add(&session->to_backend.bytes, raw);
}

static void relay_message(struct dsql_session *session, const struct dsql_pg_fe *msg,
                          struct dsql_span raw)
{
    struct dsql_sql_refusal refusal;
    switch (msg->type) {
    case DSQL_PG_FE_QUERY:
        relay_query(session, msg->query);
        return;
    case DSQL_PG_FE_PARSE:
        relay_parse(session, &msg->parse);
        return;
    case DSQL_PG_FE_BIND:
        relay_bind(session, &msg->bind, raw);
        return;
    case DSQL_PG_FE_EXECUTE:
        relay_execute(session, &msg->execute, raw);
        return;
    case DSQL_PG_FE_TERMINATE:
        dsql_session_close(session);
        return;
    case DSQL_PG_FE_SYNC:
        (void)dsql_sql_tx_sync(&session->tx, dsql_front_now(session->front), &refusal);
        session->awaiting++;
        break;
    case DSQL_PG_FE_FUNCTION_CALL:
        session->awaiting++;
        break;
    case DSQL_PG_FE_CLOSE:
        dsql_names_drop(&session->names, msg->target.object, msg->target.name);
        break;
    case DSQL_PG_FE_DESCRIBE:
    case DSQL_PG_FE_FLUSH:
    case DSQL_PG_FE_COPY_DATA:
    case DSQL_PG_FE_COPY_DONE:
    case DSQL_PG_FE_COPY_FAIL:
    case DSQL_PG_FE_PASSWORD:
        break;
    }
    dsql_strbuf_add(&session->to_backend.bytes, raw);
}

void dsql_relay_from_client(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_fe msg;
    struct dsql_err err;
    if (piece->type != DSQL_PG_FE_TERMINATE)
        need_backend(session);
    if (session->state != DSQL_SESSION_ACTIVE)
        return;
    /* Parts of a stream go through; so does what can't be read: PostgreSQL says what is wrong. */
    if (!(piece->first && piece->last) || dsql_pg_fe_parse(piece->type, piece->body, &msg, &err))
        dsql_strbuf_add(&session->to_backend.bytes, piece->raw);
    else
        relay_message(session, &msg, piece->raw);
}

/* An error in its true form: a refusal of ours gets its own words. */
static void relay_error(struct dsql_session *session, const struct dsql_pg_report *report,
                        struct dsql_span raw)
{
    struct dsql_strbuf *out = &session->to_client.bytes;
    if (!dsql_span_starts(report->message, dsql_span_of(refusal_echo))) {
        struct dsql_span where;
        if (dsql_pg_report_get(report, 'W', &where) && memmem(where.ptr, where.len, "sys.dsql_", 9))
            dsql_pg_put_error(out, report); /* without the places in our own functions */
        else
            dsql_strbuf_add(out, raw);
        return;
    }
    struct dsql_pg_report refusal = {.severity = DSQL_SPAN("ERROR")};
    struct dsql_span rest = dsql_span_from(report->message, sizeof(refusal_echo) - 1);
    rest.len -= rest.len > 0; /* the closing quote */
    dsql_span_cut(rest, '\x1f', &refusal.sqlstate, &rest);
    dsql_span_cut(rest, '\x1f', &refusal.message, &rest);
    dsql_span_cut(rest, '\x1f', &refusal.detail, &rest);
    refusal.hint = rest;
    dsql_pg_put_error(out, &refusal);
}

/* A notice that says under which tag the next command completes is for us. */
static void relay_notice(struct dsql_session *session, const struct dsql_pg_report *report,
                         struct dsql_span raw)
{
    struct dsql_span mark = DSQL_SPAN(DSQL_LOCAL_TAG_NOTICE);
    if (!dsql_span_starts(report->message, mark)) {
        dsql_strbuf_add(&session->to_client.bytes, raw);
        return;
    }
    struct dsql_strbuf tag;
    dsql_strbuf_init(&tag, session->next_tag, sizeof(session->next_tag));
    dsql_strbuf_add(&tag, dsql_span_from(report->message, mark.len));
}

static void relay_complete(struct dsql_session *session, struct dsql_span raw)
{
    if (session->next_tag[0] == '\0') {
        dsql_strbuf_add(&session->to_client.bytes, raw);
        return;
    }
    dsql_pg_put_command_complete(&session->to_client.bytes, dsql_span_of(session->next_tag));
    session->next_tag[0] = '\0';
}

/* PostgreSQL is done with a statement or a batch; nothing may be under way behind it. */
static void on_ready(struct dsql_session *session, enum dsql_pg_tx status)
{
    session->awaiting -= session->awaiting > 0;
    if (session->awaiting > 0)
        return;
    if (status == DSQL_PG_IDLE) {
        dsql_sql_tx_init(&session->tx, &session->front->options->limits);
        dsql_names_drop_all(&session->names, DSQL_PG_PORTAL);
    } else if (status == DSQL_PG_FAILED_TX) {
        dsql_sql_tx_failed(&session->tx);
    }
}

/* Until PostgreSQL is ready for the first time, what it says is not for the client. */
static void on_starting(struct dsql_session *session, const struct dsql_pg_be *msg)
{
    if (msg->type == DSQL_PG_BE_READY)
        session->starting = false;
    if (msg->type != DSQL_PG_BE_ERROR)
        return;
    char sqlstate[6] = "XX000", message[256];
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, message, sizeof(message));
    dsql_strbuf_add(&text, msg->report.message);
    if (msg->report.sqlstate.len == 5)
        memcpy(sqlstate, msg->report.sqlstate.ptr, 5);
    dsql_session_fatal(session, DSQL_LOCAL_REFUSALS, sqlstate, message, "");
}

static void relay_to_client(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_be msg;
    struct dsql_err err;
    bool looked_at = piece->type == DSQL_PG_BE_ERROR || piece->type == DSQL_PG_BE_READY ||
                     piece->type == DSQL_PG_BE_NOTICE ||
                     piece->type == DSQL_PG_BE_COMMAND_COMPLETE || session->starting;
    if (!looked_at || !(piece->first && piece->last) ||
        dsql_pg_be_parse(piece->type, piece->body, &msg, &err)) {
        dsql_strbuf_add(&session->to_client.bytes, piece->raw);
    } else if (session->starting) {
        on_starting(session, &msg);
    } else if (msg.type == DSQL_PG_BE_ERROR) {
        session->next_tag[0] = '\0';
        relay_error(session, &msg.report, piece->raw);
    } else if (msg.type == DSQL_PG_BE_NOTICE) {
        relay_notice(session, &msg.report, piece->raw);
    } else if (msg.type == DSQL_PG_BE_COMMAND_COMPLETE) {
        relay_complete(session, piece->raw);
    } else {
        on_ready(session, msg.status);
        dsql_strbuf_add(&session->to_client.bytes, piece->raw);
    }
}

static void read_backend(struct dsql_session *session)
{
    static char chunk[READ_CHUNK]; /* one loop, one thread */
    ssize_t got = recv(session->backend.fd, chunk, sizeof(chunk), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) { /* PostgreSQL ended the session: what it said last is still on its way */
        session->state = DSQL_SESSION_CLOSING;
        return;
    }
    struct dsql_span bytes = {chunk, (size_t)got};
    struct dsql_pg_piece piece;
    struct dsql_err err;
    while (session->state == DSQL_SESSION_ACTIVE) {
        if (dsql_pg_framer_next(&session->from_backend, &bytes, &piece, &err)) {
            dsql_session_close(session);
            return;
        }
        if (!piece.ready)
            return;
        relay_to_client(session, &piece);
    }
}

static void backend_ready(struct dsql_session *session, uint32_t events)
{
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP))
        read_backend(session);
    bool idle = session->awaiting == 0 && dsql_sql_tx_letter(&session->tx) == DSQL_PG_IDLE;
    if (session->overdue && idle && session->state == DSQL_SESSION_ACTIVE)
        session->state = DSQL_SESSION_CLOSING;
    dsql_session_flush(session);
}
