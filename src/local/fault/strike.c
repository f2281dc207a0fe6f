/*
 * Statements and COMMITs that the rules let pass and that fail nevertheless: by request, or because
 * the catalogue changed since the session last looked (OC001). An autocommit statement that writes
 * or locks counts as a COMMIT too.
 *
 * In the extended protocol a COMMIT that fails is replaced when it is bound, by a statement that
 * was prepared in the session at PostgreSQL before: so the answers are those of a Bind, a Describe
 * and an Execute, as the client expects.
 */
#include "local/front/front.h"
#include "local/front/rewrite.h"
#include "pgwire/put_frontend.h"

static const struct {
    enum dsql_fault fault;
    struct dsql_span statement;
    const char *sqlstate, *message;
} commits[] = {
    {DSQL_FAULT_CONFLICT_COMMIT,
     {"dsql conflict", 13},
     "40001",
     "change conflicts with another transaction (OC000)"},
    {DSQL_FAULT_UNAVAILABLE_COMMIT, {"dsql unavailable", 16}, "XX000", "server unavailable"},
    {DSQL_FAULT_COUNT, {"dsql schema", 11}, "40001", DSQL_LOCAL_OC001},
};
enum { CONFLICT, UNAVAILABLE, SCHEMA };

static bool locks(const struct dsql_sql_stmt *stmt)
{
    return stmt->flags & (DSQL_SQL_FOR_UPDATE | DSQL_SQL_FOR_KEY_SHARE);
}

static bool is_work(const struct dsql_sql_stmt *stmt)
{
    return stmt->kind == DSQL_SQL_SELECT || stmt->kind == DSQL_SQL_DML ||
           stmt->kind == DSQL_SQL_EXECUTE || stmt->kind == DSQL_SQL_COPY_IN ||
           stmt->kind == DSQL_SQL_COPY_OUT || (stmt->flags & DSQL_SQL_IS_DDL);
}

bool dsql_strike_stale(struct dsql_session *session, const struct dsql_sql_stmt *stmt,
                       struct dsql_sql_refusal *refusal)
{
    struct dsql_front *front = session->front;
    if (!is_work(stmt))
        return false;
    bool strikes = dsql_stale_strikes(&front->stale, &session->stale, dsql_front_now(front));
    dsql_stale_use(&session->stale, stmt);
    if (!strikes)
        return false;
    dsql_sql_refuse(refusal, commits[SCHEMA].sqlstate, "%s", commits[SCHEMA].message);
    dsql_sql_tx_failed(&session->tx);
    return true;
}

enum dsql_strike dsql_strike_statement(struct dsql_session *session,
                                       const struct dsql_sql_stmt *stmt,
                                       struct dsql_sql_refusal *refusal)
{
    struct dsql_faults *faults = &session->front->faults;
    if (dsql_strike_stale(session, stmt, refusal))
        return DSQL_STRIKE_FAIL;
    if ((stmt->flags & DSQL_SQL_FOR_KEY_SHARE) &&
        dsql_faults_strike(faults, DSQL_FAULT_NO_KEY_SHARE)) {
        dsql_sql_refuse(refusal, "0A000",
                        "locking clauses other than FOR UPDATE are not supported");
        dsql_sql_tx_failed(&session->tx);
        return DSQL_STRIKE_FAIL;
    }
    bool changes = (stmt->flags & DSQL_SQL_WRITES) || locks(stmt) || stmt->kind == DSQL_SQL_EXECUTE;
    if (changes && dsql_faults_strike(faults, DSQL_FAULT_CONFLICT))
        dsql_sql_refuse(refusal, commits[CONFLICT].sqlstate, "%s", commits[CONFLICT].message);
    else if (is_work(stmt) && dsql_faults_strike(faults, DSQL_FAULT_UNAVAILABLE))
        dsql_sql_refuse(refusal, commits[UNAVAILABLE].sqlstate, "%s", commits[UNAVAILABLE].message);
    else
        return DSQL_STRIKE_NONE;
    dsql_sql_tx_failed(&session->tx);
    return DSQL_STRIKE_FAIL;
}

enum dsql_strike dsql_strike_commit(struct dsql_session *session, bool implicit,
                                    struct dsql_sql_refusal *refusal)
{
    struct dsql_faults *faults = &session->front->faults;
    if (session->cut != DSQL_CUT_NONE)
        return DSQL_STRIKE_NONE; /* an earlier one of the same pipeline ends the connection */
    if (!implicit && dsql_stale_strikes(&session->front->stale, &session->stale,
                                        dsql_front_now(session->front))) {
        dsql_sql_refuse(refusal, commits[SCHEMA].sqlstate, "%s", commits[SCHEMA].message);
        return DSQL_STRIKE_FAIL;
    }
    if (dsql_faults_strike(faults, DSQL_FAULT_CLOSE_COMMIT)) {
        session->state = DSQL_SESSION_CLOSING; /* what was answered before goes out */
        return DSQL_STRIKE_CLOSE;
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(commits); i++) {
        if (commits[i].fault == DSQL_FAULT_COUNT || !dsql_faults_strike(faults, commits[i].fault))
            continue;
        dsql_sql_refuse(refusal, commits[i].sqlstate, "%s", commits[i].message);
        return DSQL_STRIKE_FAIL;
    }
    if (dsql_faults_strike(faults, DSQL_FAULT_CLOSE_APPLIED))
        session->cut = DSQL_CUT_CLOSE;
    else if (dsql_faults_strike(faults, DSQL_FAULT_UNAVAILABLE_APPLIED))
        session->cut = DSQL_CUT_FAILED;
    session->cut_implicit = implicit;
    session->cut_after = session->pipeline.passed + session->pipeline.ends;
    return DSQL_STRIKE_NONE;
}

void dsql_strike_prime(struct dsql_session *session, bool extended)
{
    struct dsql_backend *backend = session->backend;
    if (backend->primed || !dsql_session_is_quiet(session))
        return;
    for (size_t i = 0; i < DSQL_COUNT_OF(commits) && extended; i++) {
        char memory[1024];
        struct dsql_strbuf sql;
        struct dsql_sql_refusal refusal;
        dsql_sql_refuse(&refusal, commits[i].sqlstate, "%s", commits[i].message);
        dsql_strbuf_init(&sql, memory, sizeof(memory));
        dsql_rewrite_failed_commit(&sql, &refusal);
        /* It may be there still: a DEALLOCATE ALL that failed has dropped nothing. */
        dsql_pg_put_close(&backend->out.bytes, DSQL_PG_STATEMENT, commits[i].statement);
        dsql_pg_put_parse(
            &backend->out.bytes,
            &(struct dsql_pg_parse){.name = commits[i].statement, .query = dsql_strbuf_span(&sql)});
        dsql_pg_put_sync(&backend->out.bytes);
        backend->hidden++;
    }
    backend->primed = extended;
}

struct dsql_span dsql_strike_primed(const struct dsql_session *session,
                                    const struct dsql_sql_refusal *refusal)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(commits) && session->backend->primed; i++)
        if (strcmp(refusal->message, commits[i].message) == 0)
            return commits[i].statement;
    return DSQL_SPAN("");
}
