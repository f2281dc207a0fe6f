/*
 * One client's statements on their way to PostgreSQL.
 *
 * How a refusal gets into the stream: the statement that Aurora DSQL would refuse is replaced by
 * one that PostgreSQL itself refuses, and whose error message repeats the words to use. PostgreSQL
 * then takes care of everything else (order, aborted transactions, what is skipped up to Sync), and
 * on the way back (answer.c) the error is given its true form.
 */
#include "local/front/front.h"
#include "local/front/rewrite.h"
#include "local/rules/sql_lex.h"
#include "pgwire/frontend.h"
#include "pgwire/put_frontend.h"

enum { REFUSAL_TEXT_MAX = 2048 };

void dsql_front_relay_fini(struct dsql_session *session)
{
    dsql_names_drop_all(&session->names, DSQL_PG_STATEMENT);
    dsql_names_drop_all(&session->names, DSQL_PG_PORTAL);
    dsql_pipeline_fini(&session->pipeline);
    dsql_places_fini(&session->places);
}

/* A message of this type goes to PostgreSQL, or one that is answered in the same shape. */
static void note_sent(struct dsql_session *session, enum dsql_pg_fe_type type)
{
    if (session->backend && !dsql_pipeline_sent(&session->pipeline, (uint8_t)type))
        session->backend->out.bytes.cut = true;
}

/* The message that is sent next has the script's text, or runs it. */
static void note_places(struct dsql_session *session, struct dsql_sql_script *script)
{
    if (!dsql_places_sent(&session->places, dsql_pipeline_next(&session->pipeline), script))
        session->backend->out.bytes.cut = true;
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
    if (session->reading)
        return dsql_sql_script_ref(session->reading->script);
    if (dsql_sql_cache_get(&session->front->cache, text, &script))
        dsql_session_fatal(session, DSQL_LOCAL_REFUSALS, "53200", "out of memory", "");
    return script;
}

/* CREATE OR REPLACE changes what may be there; an index or statistics, their table. */
static enum dsql_stale_kind kind_of_ddl(const struct dsql_sql_script *script,
                                        const struct dsql_sql_stmt *stmt)
{
    struct dsql_sql_lexer lexer = {dsql_sql_stmt_text(script, stmt), 0};
    struct dsql_sql_token verb = dsql_sql_lex(&lexer), what = dsql_sql_lex(&lexer);
    bool changes = dsql_sql_token_is(what, "or") || dsql_sql_token_is(what, "index") ||
                   dsql_sql_token_is(what, "unique") || dsql_sql_token_is(what, "statistics");
    if (dsql_sql_token_is(verb, "create") && !changes)
        return DSQL_STALE_CREATES;
    if (dsql_sql_token_is(verb, "drop") &&
        (dsql_sql_token_is(what, "table") || dsql_sql_token_is(what, "view") ||
         dsql_sql_token_is(what, "sequence")))
        return DSQL_STALE_REMOVES;
    return DSQL_STALE_CHANGES;
}

/* What the front itself remembers of a setting, and what the statement leaves behind in the session
 * at PostgreSQL. alone: nothing after it can undo it. */
static void note_state(struct dsql_session *session, const struct dsql_sql_script *script,
                       const struct dsql_sql_stmt *stmt, bool alone)
{
    bool set = stmt->kind == DSQL_SQL_SET;
    if (stmt->flags & DSQL_SQL_IS_DDL) {
        dsql_unblock_ddl(session);
        dsql_stale_ddl(&session->stale, stmt, kind_of_ddl(script, stmt));
    }
    if (set && stmt->name &&
        dsql_span_eq_nocase(dsql_span_of(stmt->name), DSQL_SPAN("disable_sync_create_index")))
        session->sync_index =
            stmt->value && dsql_span_eq_nocase(dsql_span_of(stmt->value), DSQL_SPAN("off"));
    if (set && (stmt->flags & DSQL_SQL_RESET) && !stmt->name && alone)
        session->has_settings = false; /* RESET ALL */
    else if ((set && !(stmt->flags & (DSQL_SQL_LOCAL | DSQL_SQL_FRONT_SETTING))) ||
             (stmt->flags & DSQL_SQL_SETS))
        session->has_settings = true;
    if (stmt->flags & DSQL_SQL_ROLE_SETS)
        session->renews = true;
    if (stmt->kind == DSQL_SQL_PREPARE) {
        session->has_prepared = session->backend->soiled = true;
    } else if (stmt->kind == DSQL_SQL_DEALLOCATE && stmt->name) {
        dsql_names_drop(&session->names, DSQL_PG_STATEMENT, dsql_span_of(stmt->name));
    } else if (stmt->kind == DSQL_SQL_DEALLOCATE) {
        dsql_names_drop_all(&session->names, DSQL_PG_STATEMENT);
        session->backend->primed = false;
        session->has_prepared = session->has_prepared && !alone;
    }
}

/* Whether a COMMIT now would have something to commit. */
static bool would_commit(const struct dsql_session *session, const struct dsql_sql_stmt *stmt)
{
    return stmt->kind == DSQL_SQL_COMMIT && session->tx.state == DSQL_SQL_TX_BLOCK &&
           session->tx.changes;
}

static bool ends_implicit(const struct dsql_session *session)
{
    return session->tx.state == DSQL_SQL_TX_IMPLICIT && session->tx.changes;
}

static bool rewrite(struct dsql_session *session, const struct dsql_sql_script *script,
                    const struct dsql_sql_stmt *stmt, struct dsql_strbuf *sql)
{
    struct dsql_build_fate fate = {0};
    if (dsql_rewrite_is_build(script, stmt))
        fate = dsql_builds_fate(&session->front->builds);
    return dsql_rewrite_statement(sql, session->sync_index, fate, script, stmt);
}

/* One statement of a query string, or what stands in for it. False: nothing comes behind it. */
static bool add_statement(struct dsql_session *session, const struct dsql_sql_script *script,
                          size_t at, struct dsql_strbuf *sql, bool *as_it_came)
{
    const struct dsql_sql_stmt *stmt = &script->stmts[at];
    struct dsql_sql_refusal refusal;
    bool commits = would_commit(session, stmt), alone = script->count == 1;
    bool fails = !may_run(session, stmt, &refusal);
    enum dsql_strike strike = DSQL_STRIKE_NONE;
    if (!fails)
        strike = dsql_strike_statement(session, stmt, &refusal);
    if (!fails && !strike && (commits || (alone && ends_implicit(session))))
        strike = dsql_strike_commit(session, !commits, &refusal);
    if (strike == DSQL_STRIKE_CLOSE)
        return false;
    if (fails || strike == DSQL_STRIKE_FAIL) {
        *as_it_came = false;
        if (commits && strike == DSQL_STRIKE_FAIL)
            dsql_rewrite_failed_commit(sql, &refusal);
        else
            dsql_rewrite_refusal(sql, &refusal);
        return false;
    }
    /* Behind messages without a Sync it may be skipped. */
    bool runs = session->tx.state != DSQL_SQL_TX_BLOCK && !session->pipeline.open;
    note_state(session, script, stmt, alone && runs);
    while (sql->len < stmt->offset && !sql->cut) /* so that places stay where they are */
        dsql_strbuf_add_char(sql, ' ');
    if (rewrite(session, script, stmt, sql))
        *as_it_came = false;
    else
        dsql_strbuf_add(sql, dsql_sql_stmt_text(script, stmt));
    dsql_strbuf_add_char(sql, ';');
    return true;
}

static void end_query(struct dsql_session *session, struct dsql_sql_script *script,
                      const struct dsql_front_relay_query *query)
{
    struct dsql_sql_refusal refusal;
    if (session->state != DSQL_SESSION_ACTIVE)
        return;
    (void)dsql_sql_tx_sync(&session->tx, dsql_front_now(session->front), &refusal);
    if (query->sql.cut)
        session->backend->out.bytes.cut = true;
    note_places(session, script);
    /* A single statement travels as it came: error positions stay right. */
    dsql_pg_put_query(&session->backend->out.bytes,
                      query->as_it_came ? script->text : dsql_strbuf_span(&query->sql));
    note_sent(session, DSQL_PG_FE_QUERY);
}

/* Judges so many statements; true once nothing is left. */
static bool add_statements(struct dsql_session *session, const struct dsql_sql_script *script,
                           struct dsql_front_relay_query *query, size_t most)
{
    size_t end = script->count - query->at > most ? query->at + most : script->count;
    while (!query->ended && query->at < end)
        query->ended =
            !add_statement(session, script, query->at++, &query->sql, &query->as_it_came);
    return query->ended || query->at == script->count;
}

static void begin_query(struct dsql_session *session, const struct dsql_sql_script *script,
                        struct dsql_front_relay_query *query)
{
    query->as_it_came = script->count == 1;
    if (script->refusal) {
        /* Also where PostgreSQL would understand it: what was not judged does not run. */
        dsql_rewrite_refusal(&query->sql, script->refusal);
        dsql_sql_tx_failed(&session->tx);
    }
    if (!session->pipeline.open) /* as PostgreSQL does, unless it skips the query */
        dsql_names_drop(&session->names, DSQL_PG_STATEMENT, DSQL_SPAN(""));
}

static void judge_portion(struct dsql_session *session, struct dsql_reading *reading)
{
    if (add_statements(session, reading->script, &reading->query, DSQL_READING_PORTION))
        end_query(session, reading->script, &reading->query);
    else
        dsql_reading_go_on(reading);
}

static void relay_query(struct dsql_session *session, struct dsql_span text)
{
    if (session->reading) {
        begin_query(session, session->reading->script, &session->reading->query);
        judge_portion(session, session->reading);
        return;
    }
    struct dsql_sql_script *script = script_of(session, text);
    if (!script)
        return;
    struct dsql_front_relay_query query = {.at = 0};
    dsql_strbuf_init_heap(&query.sql, DSQL_OUTBOX_MAX);
    begin_query(session, script, &query);
    (void)add_statements(session, script, &query, SIZE_MAX);
    end_query(session, script, &query);
    dsql_strbuf_fini(&query.sql);
    dsql_sql_script_unref(script);
}

/* A Parse whose statement fails, in the place of what is refused. */
static void put_refused_parse(struct dsql_session *session, struct dsql_span name,
                              const struct dsql_sql_refusal *refusal)
{
    char memory[REFUSAL_TEXT_MAX];
    struct dsql_strbuf sql;
    dsql_strbuf_init(&sql, memory, sizeof(memory));
    dsql_rewrite_refusal(&sql, refusal);
    dsql_pg_put_parse(&session->backend->out.bytes,
                      &(struct dsql_pg_parse){.name = name, .query = dsql_strbuf_span(&sql)});
}

/* A Parse of one statement that passes: rewritten where it must be. */
static void put_parse(struct dsql_session *session, const struct dsql_pg_parse *parse,
                      struct dsql_sql_script *script)
{
    struct dsql_pg_parse out = *parse;
    struct dsql_strbuf sql;
    dsql_strbuf_init_heap(&sql, DSQL_OUTBOX_MAX);
    bool replaced = rewrite(session, script, &script->stmts[0], &sql);
    out.query = replaced ? dsql_strbuf_span(&sql) : script->text;
    if (!replaced)
        note_places(session, script);
    if (sql.cut)
        session->backend->out.bytes.cut = true;
    dsql_pg_put_parse(&session->backend->out.bytes, &out);
    dsql_strbuf_fini(&sql);
}

static void relay_parse(struct dsql_session *session, const struct dsql_pg_parse *parse)
{
    struct dsql_sql_script *script = script_of(session, parse->query);
    if (!script)
        return;
    struct dsql_sql_refusal refusal;
    struct dsql_strbuf *out = &session->backend->out.bytes;
    size_t before = out->len;
    const struct dsql_sql_refusal *whole = dsql_sql_script_parse_refusal(script);
    if (whole) {
        put_refused_parse(session, parse->name, whole);
    } else if (script->count == 0) {
        dsql_pg_put_parse(out, parse);
    } else if (dsql_sql_tx_parse(&session->tx, &script->stmts[0], session->sync_index, &refusal) ==
                   DSQL_SQL_TX_REFUSE ||
               dsql_strike_stale(session, &script->stmts[0], &refusal)) {
        session->front->counts.statements_refused++;
        put_refused_parse(session, parse->name, &refusal);
    } else {
        put_parse(session, parse, script);
    }
    struct dsql_span sent = dsql_span_from(dsql_strbuf_span(out), before);
    session->backend->soiled = session->backend->soiled || parse->name.len > 0;
    if (parse->name.len > 0 && dsql_names_get(&session->names, DSQL_PG_STATEMENT, parse->name))
        dsql_sql_script_unref(script); /* PostgreSQL refuses it: the name has its meaning already */
    else if (dsql_names_set(&session->names, DSQL_PG_STATEMENT, parse->name, script, sent,
                            dsql_pipeline_next(&session->pipeline)))
        session->backend->out.bytes.cut = true;
}

/* A COMMIT that fails by request is another statement from here on. */
static bool bind_failed_commit(struct dsql_session *session, const struct dsql_pg_bind *bind)
{
    struct dsql_sql_refusal refusal;
    if (dsql_strike_commit(session, false, &refusal) != DSQL_STRIKE_FAIL)
        return false;
    struct dsql_pg_bind instead = *bind;
    instead.statement = dsql_strike_primed(session, &refusal);
    if (instead.statement.len > 0)
        dsql_pg_put_bind(&session->backend->out.bytes, &instead);
    return instead.statement.len > 0;
}

static void relay_bind(struct dsql_session *session, const struct dsql_pg_bind *bind,
                       struct dsql_span raw)
{
    struct dsql_sql_script *script =
        dsql_names_get(&session->names, DSQL_PG_STATEMENT, bind->statement);
    dsql_names_drop(&session->names, DSQL_PG_PORTAL, bind->portal);
    if (script &&
        dsql_names_set(&session->names, DSQL_PG_PORTAL, bind->portal, dsql_sql_script_ref(script),
                       DSQL_SPAN(""), dsql_pipeline_next(&session->pipeline)))
        session->backend->out.bytes.cut = true;
    if (script)
        note_places(session, script);
    bool commits = script && script->count == 1 && would_commit(session, &script->stmts[0]);
    if (!(commits && bind_failed_commit(session, bind)) && session->state == DSQL_SESSION_ACTIVE)
        dsql_strbuf_add(&session->backend->out.bytes, raw);
}

static void relay_execute(struct dsql_session *session, const struct dsql_pg_execute *execute,
                          struct dsql_span raw)
{
    const struct dsql_sql_script *script =
        dsql_names_get(&session->names, DSQL_PG_PORTAL, execute->portal);
    if (script && script->count == 1) {
        const struct dsql_sql_stmt *stmt = &script->stmts[0];
        struct dsql_sql_refusal refusal;
        bool commits = would_commit(session, stmt), fails = !may_run(session, stmt, &refusal);
        enum dsql_strike strike = DSQL_STRIKE_NONE;
        if (!fails)
            strike = dsql_strike_statement(session, stmt, &refusal);
        if (!fails && !strike && !commits && ends_implicit(session))
            strike = dsql_strike_commit(session, true, &refusal);
        if (strike == DSQL_STRIKE_CLOSE)
            return;
        if (fails || strike == DSQL_STRIKE_FAIL) {
            put_refused_parse(session, DSQL_SPAN("dsql refuses"), &refusal);
            return;
        }
        /* After an error in front of it in the pipeline PostgreSQL skips it. */
        note_state(session, script, stmt, false);
    } else if (!script) {
        session->has_settings = true; /* what it runs, if it is there, is not known */
    }
    dsql_strbuf_add(&session->backend->out.bytes, raw);
}

/* A query that fails is answered in the same shape. */
static void refuse_function_call(struct dsql_session *session)
{
    char memory[REFUSAL_TEXT_MAX];
    struct dsql_strbuf sql;
    struct dsql_sql_refusal refusal;
    dsql_sql_refuse(&refusal, "0A000", "unsupported message: FunctionCall");
    dsql_strbuf_init(&sql, memory, sizeof(memory));
    dsql_rewrite_refusal(&sql, &refusal);
    dsql_pg_put_query(&session->backend->out.bytes, dsql_strbuf_span(&sql));
    dsql_sql_tx_failed(&session->tx);
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
    case DSQL_PG_FE_TERMINATE: /* is not passed on */
        return;
    case DSQL_PG_FE_SYNC:
        if (!session->pipeline.copying)
            (void)dsql_sql_tx_sync(&session->tx, dsql_front_now(session->front), &refusal);
        break;
    case DSQL_PG_FE_FUNCTION_CALL:
        refuse_function_call(session);
        return;
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
    dsql_strbuf_add(&session->backend->out.bytes, raw);
}

static void relay_piece(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_fe msg;
    struct dsql_err err;
    if (!dsql_backend_need(session))
        return;
    bool extended = piece->type == DSQL_PG_FE_PARSE || piece->type == DSQL_PG_FE_BIND ||
                    piece->type == DSQL_PG_FE_DESCRIBE || piece->type == DSQL_PG_FE_EXECUTE ||
                    piece->type == DSQL_PG_FE_CLOSE;
    dsql_strike_prime(session, extended);
    /* Parts of a stream go through, and what PostgreSQL skips; so does what can't be read:
     * PostgreSQL says what is wrong. */
    bool skipped = session->pipeline.skipping && piece->type != DSQL_PG_FE_SYNC;
    bool unread = skipped || !(piece->first && piece->last) ||
                  dsql_pg_fe_parse(piece->type, piece->body, &msg, &err);
    if (unread)
        dsql_strbuf_add(&session->backend->out.bytes, piece->raw);
    else
        relay_message(session, &msg, piece->raw);
    if (piece->type == DSQL_PG_FE_FUNCTION_CALL)
        note_sent(session, DSQL_PG_FE_QUERY);
    else if (unread || piece->type != DSQL_PG_FE_QUERY) /* that is noted once it is judged */
        note_sent(session, piece->type);
}

void dsql_front_relay_from_client(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    if (piece->type == DSQL_PG_FE_TERMINATE)
        dsql_session_close(session);
    else if (!dsql_reading_begin(session, piece))
        relay_piece(session, piece);
}

void dsql_front_relay_read(struct dsql_session *session, struct dsql_reading *reading)
{
    if (reading->rc)
        dsql_session_fatal(session, DSQL_LOCAL_REFUSALS, "53200", "out of memory", "");
    else if (reading->query.at > 0)
        judge_portion(session, reading);
    else
        relay_piece(session, &reading->piece);
}
