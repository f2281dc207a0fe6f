/* PostgreSQL's answers on their way to the client. */
#include "local/front/front.h"
#include "local/front/rewrite.h"
#include "local/process/first_sql.h"
#include "pgwire/backend.h"
#include "pgwire/put_backend.h"

/* Whether the place of an error is inside a function of ours. */
static bool names_ours(struct dsql_span where)
{
    return memmem(where.ptr, where.len, "dsql_", 5) || memmem(where.ptr, where.len, "sys.wait", 8);
}

/* Whether what PostgreSQL says now is about the statement that was struck, or what came behind. */
static bool cut_is_next(const struct dsql_session *session)
{
    return session->pipeline.passed >= session->cut_after;
}

/* An error whose place is in a text that the client wrote otherwise. */
static void put_placed(struct dsql_session *session, const struct dsql_sql_script *edited,
                       const struct dsql_pg_report *report, struct dsql_span place)
{
    int64_t position;
    char memory[24];
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, memory, sizeof(memory));
    if (dsql_span_to_i64(place, &position) && position > 0)
        dsql_strbuf_add_u64(&text, dsql_sql_script_position(edited, (size_t)position));
    dsql_pg_put_error_at(&session->to_client.bytes, report, dsql_strbuf_span(&text));
}

/* An error in its true form: a refusal of ours gets its own words. edited: its statement, if that
 * was edited. */
static void relay_error(struct dsql_session *session, const struct dsql_pg_report *report,
                        const struct dsql_sql_script *edited, struct dsql_span raw)
{
    struct dsql_strbuf *out = &session->to_client.bytes;
    struct dsql_pg_report words;
    struct dsql_span where, place;
    session->next_tag[0] = '\0';
    if (cut_is_next(session))
        session->cut = DSQL_CUT_NONE; /* it failed by itself */
    bool ours = dsql_rewrite_words(report, &words) || dsql_unblock_words(report, &words);
    dsql_local_count_error(&session->front->counts, ours ? words.message : report->message);
    if (ours)
        dsql_pg_put_error(out, &words);
    else if (dsql_pg_report_get(report, 'W', &where) && names_ours(where))
        dsql_pg_put_error(out, report); /* without the places in our own functions */
    else if (edited && dsql_pg_report_get(report, 'P', &place))
        put_placed(session, edited, report, place);
    else
        dsql_strbuf_add(out, raw);
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

/* By which the module inside PostgreSQL tells of it. */
static bool is_catalogue_change(const struct dsql_pg_setting *setting)
{
    return dsql_span_eq(setting->name, DSQL_SPAN("dsql.catalog_changes"));
}

/* What the session's own statements changed; but for the catalogue it is for the client. */
static void relay_parameter(struct dsql_session *session, const struct dsql_pg_setting *setting,
                            struct dsql_span raw)
{
    if (!is_catalogue_change(setting)) {
        dsql_strbuf_add(&session->to_client.bytes, raw);
        return;
    }
    dsql_stale_commit(&session->front->stale, &session->stale, dsql_front_now(session->front));
    dsql_builds_look(&session->front->builds);
}

/* The answer to a COMMIT that was struck after it was sent; true if it does not go out. */
static bool cut_complete(struct dsql_session *session, struct dsql_span tag)
{
    static const struct dsql_pg_report unavailable = {
        .severity = {"ERROR", 5}, .sqlstate = {"XX000", 5}, .message = {"server unavailable", 18}};
    if (session->cut == DSQL_CUT_NONE || !cut_is_next(session) ||
        (!session->cut_implicit && !dsql_span_eq(tag, DSQL_SPAN("COMMIT"))))
        return false;
    if (session->cut == DSQL_CUT_FAILED) {
        dsql_pg_put_error(&session->to_client.bytes, &unavailable);
        session->cut = DSQL_CUT_NONE;
    } else if (!session->cut_implicit) {
        session->state = DSQL_SESSION_CLOSING; /* what was answered before goes out */
    }
    return true;
}

static void relay_complete(struct dsql_session *session, struct dsql_span tag, struct dsql_span raw)
{
    if (cut_complete(session, tag))
        return;
    if (session->next_tag[0] == '\0') {
        dsql_strbuf_add(&session->to_client.bytes, raw);
        return;
    }
    dsql_pg_put_command_complete(&session->to_client.bytes, dsql_span_of(session->next_tag));
    session->next_tag[0] = '\0';
}

/* PostgreSQL is done with a statement or a batch. */
static void relay_ready(struct dsql_session *session, enum dsql_pg_tx status, struct dsql_span raw)
{
    if (session->cut == DSQL_CUT_CLOSE && session->cut_implicit && cut_is_next(session)) {
        session->state = DSQL_SESSION_CLOSING;
        return;
    }
    dsql_strbuf_add(&session->to_client.bytes, raw);
    dsql_pipeline_heard(&session->pipeline, DSQL_PG_BE_READY);
    if (!dsql_session_is_quiet(session))
        return; /* something is under way behind it */
    dsql_sql_tx_settle(&session->tx, (char)status, dsql_front_now(session->front));
    if (status == DSQL_PG_IDLE) {
        session->ddl = false;
        dsql_names_drop_all(&session->names, DSQL_PG_PORTAL);
        if (session->renews)
            dsql_backends_renew(&session->front->backends);
        session->renews = false;
        dsql_backend_rest(session);
    }
}

/* PostgreSQL does not let us in. 28000 is a role that does not exist or may not log in. */
static void refuse_opening(struct dsql_session *session, const struct dsql_pg_report *report)
{
    char sqlstate[6] = "XX000", message[256];
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, message, sizeof(message));
    dsql_strbuf_add(&text, report->message);
    if (dsql_span_eq(report->sqlstate, DSQL_SPAN("28000")))
        memcpy(sqlstate, "08P01", sizeof(sqlstate));
    else if (report->sqlstate.len == 5)
        memcpy(sqlstate, report->sqlstate.ptr, 5);
    dsql_session_fatal(session, DSQL_LOCAL_REFUSALS, sqlstate, message, "");
}

/* What the client did not ask for: logging in, preparing again what it had prepared, what is in
 * force for its role. A statement that can't be prepared any more is missed when it is used. */
static void take_hidden(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    struct dsql_backend *backend = session->backend;
    struct dsql_pg_be msg;
    struct dsql_err err;
    if (piece->type == DSQL_PG_BE_DATA_ROW && session->state == DSQL_SESSION_ROLE &&
        !dsql_pg_be_parse(piece->type, piece->body, &msg, &err))
        dsql_login_row(session, msg.row);
    if (piece->type == DSQL_PG_BE_KEY_DATA &&
        !dsql_pg_be_parse(piece->type, piece->body, &msg, &err))
        backend->pid = msg.key.pid;
    /* A transaction that gave way to DDL has taken its settings back. */
    if (piece->type == DSQL_PG_BE_PARAMETER_STATUS && !backend->moving &&
        session->state == DSQL_SESSION_ACTIVE &&
        !dsql_pg_be_parse(piece->type, piece->body, &msg, &err) &&
        !is_catalogue_change(&msg.setting))
        dsql_strbuf_add(&session->to_client.bytes, piece->raw);
    if (piece->type == DSQL_PG_BE_ERROR && backend->opening &&
        !dsql_pg_be_parse(piece->type, piece->body, &msg, &err)) {
        refuse_opening(session, &msg.report);
        return;
    }
    if (piece->type != DSQL_PG_BE_READY)
        return;
    backend->opening = false;
    backend->hidden--;
    backend->moving = backend->moving && backend->hidden > 0;
    if (backend->hidden == 0 && session->state == DSQL_SESSION_ROLE)
        dsql_login_mapped(session);
}

void dsql_front_answer(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_be msg;
    struct dsql_err err;
    if (session->state != DSQL_SESSION_ACTIVE && session->state != DSQL_SESSION_ROLE)
        return;
    if (session->backend->hidden > 0) {
        take_hidden(session, piece);
        return;
    }
    uint64_t first = session->pipeline.gone;
    const struct dsql_sql_script *edited = NULL;
    if (session->places.count > 0)
        edited = dsql_places_find(&session->places, first);
    if (piece->last && piece->type != DSQL_PG_BE_READY)
        dsql_pipeline_heard(&session->pipeline, piece->type);
    if (piece->type == DSQL_PG_BE_ERROR)
        dsql_names_undo(&session->names, first, session->pipeline.gone);
    bool looked_at = piece->type == DSQL_PG_BE_ERROR || piece->type == DSQL_PG_BE_READY ||
                     piece->type == DSQL_PG_BE_PARAMETER_STATUS ||
                     piece->type == DSQL_PG_BE_NOTICE || piece->type == DSQL_PG_BE_COMMAND_COMPLETE;
    if (!looked_at || !(piece->first && piece->last) ||
        dsql_pg_be_parse(piece->type, piece->body, &msg, &err))
        dsql_strbuf_add(&session->to_client.bytes, piece->raw);
    else if (msg.type == DSQL_PG_BE_ERROR)
        relay_error(session, &msg.report, edited, piece->raw);
    else if (msg.type == DSQL_PG_BE_NOTICE)
        relay_notice(session, &msg.report, piece->raw);
    else if (msg.type == DSQL_PG_BE_PARAMETER_STATUS)
        relay_parameter(session, &msg.setting, piece->raw);
    else if (msg.type == DSQL_PG_BE_COMMAND_COMPLETE)
        relay_complete(session, msg.tag, piece->raw);
    else
        relay_ready(session, msg.status, piece->raw);
}
