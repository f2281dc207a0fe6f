#include "local/front/unblock.h"

#include "local/front/front.h"
#include "pgwire/put_frontend.h"

/* A statement that is seen waiting for DDL in so many rounds gives way. */
enum { ROUNDS = 3 };

#define EVERY_NS (5 * DSQL_MS)

static const char question[] =
    "select w.pid, b.pid from pg_stat_activity w, unnest(pg_blocking_pids(w.pid)) b (pid)"
    " where w.wait_event_type = 'Lock'";

static struct dsql_session *session_of(const struct dsql_front *front, uint32_t pid)
{
    for (struct dsql_session *at = front->sessions; at; at = at->next)
        if (at->backend && at->backend->pid == pid)
            return at;
    return NULL;
}

static bool ddl_is_under_way(const struct dsql_front *front)
{
    for (const struct dsql_session *at = front->sessions; at; at = at->next)
        if (at->ddl)
            return true;
    return false;
}

static bool is_idle_in_block(const struct dsql_session *session)
{
    return session->state == DSQL_SESSION_ACTIVE && dsql_session_is_quiet(session) &&
           session->tx.state == DSQL_SQL_TX_BLOCK && session->backend->hidden == 0;
}

/* The session loses its locks, and its client stays in a transaction: an empty one, that ends with
 * OC001. */
static void give_way(struct dsql_session *session)
{
    struct dsql_backend *backend = session->backend;
    dsql_pg_put_query(&backend->out.bytes, DSQL_SPAN("rollback; begin"));
    backend->hidden++;
    session->stale.lost = true;
    session->ddl = false;
    dsql_backend_flush(backend);
}

static void judge(struct dsql_unblock *unblock, struct dsql_strbuf *cancel,
                  const struct dsql_unblock_pair *pair)
{
    struct dsql_session *waiter = session_of(unblock->front, pair->waiter);
    struct dsql_session *blocker = session_of(unblock->front, pair->blocker);
    if (!waiter || !blocker)
        return;
    if (waiter->ddl) {
        if (is_idle_in_block(blocker))
            give_way(blocker);
        return;
    }
    if (!blocker->ddl || waiter->blocked_in == unblock->round)
        return;
    waiter->blocked = waiter->blocked_in == unblock->round - 1 ? waiter->blocked + 1 : 1;
    waiter->blocked_in = unblock->round;
    if (waiter->blocked >= ROUNDS)
        dsql_strbuf_addf(cancel, "%s%u", cancel->len > 0 ? ", " : "", (unsigned)pair->waiter);
}

static void on_row(struct dsql_aside *aside, struct dsql_pg_values values)
{
    struct dsql_unblock *unblock = DSQL_CONTAINER_OF(aside, struct dsql_unblock, aside);
    struct dsql_pg_value value;
    uint32_t pids[2] = {0};
    for (size_t i = 0; i < 2 && dsql_pg_values_next(&values, &value); i++)
        for (size_t k = 0; k < value.bytes.len; k++)
            pids[i] = pids[i] * 10 + (uint32_t)(value.bytes.ptr[k] - '0');
    if (unblock->count < DSQL_UNBLOCK_PAIRS && pids[1] != 0)
        unblock->pairs[unblock->count++] = (struct dsql_unblock_pair){pids[0], pids[1]};
}

static void on_done(struct dsql_aside *aside)
{
    struct dsql_unblock *unblock = DSQL_CONTAINER_OF(aside, struct dsql_unblock, aside);
    char pids[DSQL_UNBLOCK_PAIRS * 12], sql[sizeof(pids) + 100];
    struct dsql_strbuf cancel;
    dsql_strbuf_init(&cancel, pids, sizeof(pids));
    for (size_t i = 0; i < unblock->count; i++)
        judge(unblock, &cancel, &unblock->pairs[i]);
    unblock->count = 0;
    if (cancel.len == 0 || cancel.cut)
        return;
    (void)snprintf(sql, sizeof(sql), "select pg_cancel_backend(p) from unnest(array[%s]) p", pids);
    (void)dsql_aside_ask(aside, dsql_span_of(sql));
}

/* Out of memory: the next DDL tries again. */
static void start(struct dsql_unblock *unblock)
{
    if (dsql_loop_start(&unblock->front->loop, &unblock->timer, EVERY_NS))
        return;
}

static void on_time(struct dsql_timer *timer)
{
    struct dsql_unblock *unblock = DSQL_CONTAINER_OF(timer, struct dsql_unblock, timer);
    if (!ddl_is_under_way(unblock->front))
        return;
    if (dsql_aside_ask(&unblock->aside, dsql_span_of(question)))
        unblock->round++;
    start(unblock);
}

void dsql_unblock_init(struct dsql_unblock *unblock, struct dsql_front *front)
{
    *unblock = (struct dsql_unblock){.front = front, .timer = {.due = on_time}, .round = ROUNDS};
    dsql_aside_init(&unblock->aside, &front->loop, front->pg);
    unblock->aside.row = on_row;
    unblock->aside.done = on_done;
}

void dsql_unblock_fini(struct dsql_unblock *unblock)
{
    dsql_loop_stop(&unblock->front->loop, &unblock->timer);
    dsql_aside_fini(&unblock->aside);
}

void dsql_unblock_ddl(struct dsql_session *session)
{
    struct dsql_unblock *unblock = &session->front->unblock;
    session->ddl = true;
    if (!dsql_heap_node_is_in(&unblock->timer.node))
        start(unblock);
}

bool dsql_unblock_words(const struct dsql_pg_report *report, struct dsql_pg_report *words)
{
    /* Clients can't cancel: only we do. A client's CopyFail has the same SQLSTATE and other words.
     * A deadlock takes DDL, too. */
    bool cancelled =
        dsql_span_eq(report->sqlstate, DSQL_SPAN("57014")) &&
        dsql_span_eq(report->message, DSQL_SPAN("canceling statement due to user request"));
    if (!cancelled && !dsql_span_eq(report->sqlstate, DSQL_SPAN("40P01")))
        return false;
    *words = (struct dsql_pg_report){.severity = DSQL_SPAN("ERROR"),
                                     .sqlstate = DSQL_SPAN("40001"),
                                     .message = DSQL_SPAN(DSQL_LOCAL_OC001)};
    return true;
}
