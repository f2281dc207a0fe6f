#include "pool/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/least.h"
#include "base/lock.h"

#define TOGETHER_NS (100 * DSQL_MS) /* failures of one kind within it are one line in the log */

/* -- Failures. */

static void log_failures(struct dsql_pool *pool, const struct dsql_failure_log *log)
{
    bool needs_a_person = log->cls == DSQL_CONNECT_DENIED || log->cls == DSQL_CONNECT_TLS ||
                          log->cls == DSQL_CONNECT_TOKEN_EXPIRED;
    dsql_log(dsql_log_default(),
             needs_a_person ? DSQL_EVENT_POOL_DENIED : DSQL_EVENT_POOL_CONNECT_FAILED,
             DSQL_F("endpoint", (const char *)pool->target.key),
             DSQL_F("class", dsql_connect_class_name(log->cls)), DSQL_F("attempts", log->attempts),
             DSQL_F("sqlstate", (const char *)log->error.sqlstate),
             DSQL_F("detail", (const char *)log->error.message),
             DSQL_F("server_hint", (const char *)log->error.hint),
             DSQL_F("retry_ms", log->retry_ns / DSQL_MS),
             DSQL_F("hint", dsql_connect_advice(log->cls)));
}

/* Failures of one kind that come together are one line. */
void dsql_attempts_say_failures(struct dsql_pool *pool, struct dsql_mono now)
{
    dsql_lock(&pool->state_lock);
    struct dsql_failure_log log = pool->tally.failure_log;
    bool due = log.pending && !dsql_mono_before(now, log.log_at);
    if (due)
        pool->tally.failure_log.pending = false;
    dsql_unlock(&pool->state_lock);
    if (due)
        log_failures(pool, &log);
}

/* With state_lock held. Answers whether *other, of another kind, has to be logged first. */
static bool add_failure(struct dsql_pool *pool, const struct dsql_connect_report *report,
                        struct dsql_mono now, int64_t retry_ns, struct dsql_failure_log *other)
{
    struct dsql_failure_log *log = &pool->tally.failure_log;
    bool replaces = log->pending && log->cls != report->cls;
    if (replaces)
        *other = *log;
    if (!log->pending || replaces)
        *log = (struct dsql_failure_log){
            .pending = true, .cls = report->cls, .log_at = dsql_mono_add(now, TOGETHER_NS)};
    log->attempts++;
    log->error = pool->tally.errors[0];
    log->retry_ns = dsql_most(retry_ns, log->retry_ns);
    pool->tally.troubled = true;
    return replaces;
}

/* What a failure means for everybody; `slot` is EMPTY afterwards; it is DSQL_SLOT_NONE
 * if the address or the token failed, before any slot. */
static void note_failure(struct dsql_pool *pool, const struct dsql_connect_report *report, int step,
                         uint32_t slot)
{
    struct dsql_mono now = dsql_clock_mono(pool->clock);
    struct dsql_failure_log other;
    dsql_lock(&pool->state_lock);
    dsql_stats_note_failure(pool, report, now);
    struct dsql_keeper_call call = {
        .kind = DSQL_KEEPER_CALL_FAILED, .slot = slot, .now = now, .cls = report->cls};
    if (slot == DSQL_SLOT_NONE)
        call = (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_UNPREPARED, .cls = report->cls};
    struct dsql_keeper_verdict verdict = dsql_pool_tell(pool, call).verdict;
    dsql_pool_tell_used(pool);
    if (verdict.throttled)
        dsql_budget_throttled(pool->budget, now);
    if (verdict.full)
        dsql_budget_refused_full(pool->budget, now);
    bool say = add_failure(pool, report, now, verdict.retry_ns, &other);
    pthread_cond_broadcast(&pool->progress);
    dsql_unlock(&pool->state_lock);
    if (say)
        log_failures(pool, &other);
    if (pool->metrics)
        dsql_counter_add(pool->metrics, DSQL_SERIES(reservoir_refill_failures, .value = step), 1);
    if (verdict.forget_token)
        dsql_token_cache_forget(pool->opener.tokens);
    else if (verdict.renew_token)
        dsql_token_cache_refused(pool->opener.tokens);
    if (verdict.address_fails && pool->opener.resolver)
        dsql_resolver_failed(pool->opener.resolver);
}

/* -- What it needs. */

static enum dsql_rc find_address(struct dsql_pool *pool, struct dsql_mono now,
                                 char address[DSQL_RESOLVED_SIZE], struct dsql_err *err)
{
    if (pool->opener.resolver)
        return dsql_resolver_address(pool->opener.resolver, now, address, err);
    memcpy(address, pool->options.connection.hostaddr, DSQL_RESOLVED_SIZE);
    return DSQL_OK;
}

void dsql_attempt_prepare(struct dsql_pool *pool, struct dsql_mono now,
                          char address[DSQL_RESOLVED_SIZE], struct dsql_secret *token)
{
    struct dsql_err err = {0};
    struct dsql_connect_report report = {.cls = DSQL_CONNECT_NETWORK};
    int step = DSQL_REFILL_CONNECT;
    enum dsql_rc rc = find_address(pool, now, address, &err);
    if (!rc) {
        step = DSQL_REFILL_TOKEN_PROVIDER;
        rc = dsql_token_cache_try(pool->opener.tokens, token, &err);
        report.cls = dsql_connect_class_of_token(rc);
    }
    if (!rc || rc == DSQL_TIMEOUT) { /* the latter: it is on its way */
        dsql_lock(&pool->state_lock);
        (void)dsql_pool_tell(pool, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_PREPARED,
                                                             .yes = rc == DSQL_OK});
        dsql_unlock(&pool->state_lock);
        return;
    }
    report.rc = rc;
    (void)snprintf(report.message, sizeof(report.message), "%.250s", err.message);
    (void)snprintf(report.hint, sizeof(report.hint), "%s", err.hint);
    note_failure(pool, &report, step, DSQL_SLOT_NONE);
}

/* -- Progress. */

static void watch(struct dsql_pool *pool, struct dsql_conn *conn, uint32_t events)
{
    int fd = PQsocket(conn->pg);
    if (fd < 0 || (fd == conn->fd && events == conn->watched))
        return;
    struct epoll_event event = {.events = events,
                                .data.u64 = (uint64_t)conn->generation << 32 | conn->slot};
    /* libpq may have closed one socket and opened another with the same number. */
    if (epoll_ctl(pool->opener.epoll, EPOLL_CTL_MOD, fd, &event) != 0)
        (void)epoll_ctl(pool->opener.epoll, EPOLL_CTL_ADD, fd, &event);
    conn->fd = fd;
    conn->watched = events;
}

/* Whether the process is out of descriptors: EMFILE or ENFILE, else 0. libpq meets that in many
 * places, not all of which it names. */
static int lack_of_descriptors(const struct dsql_pool *pool)
{
    int copy = fcntl(pool->opener.event, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return errno;
    (void)close(copy);
    return 0;
}

static void connect_failed(struct dsql_pool *pool, struct dsql_conn *conn, bool timed_out)
{
    struct dsql_connect_report report;
    dsql_connect_explain(conn->pg, timed_out, timed_out ? 0 : lack_of_descriptors(pool), &report);
    dsql_connect_finish(conn, false);
    note_failure(pool, &report, DSQL_REFILL_CONNECT, conn->slot);
}

static void connect_succeeded(struct dsql_pool *pool, struct dsql_conn *conn)
{
    struct dsql_mono now = dsql_clock_mono(pool->clock);
    watch(pool, conn, EPOLLRDHUP | EPOLLET);
    (void)PQsetErrorVerbosity(conn->pg, PQERRORS_DEFAULT);
    dsql_lock(&pool->state_lock);
    const struct dsql_keeper_call call = {
        .kind = DSQL_KEEPER_CALL_OPENED, .slot = conn->slot, .now = now};
    struct dsql_lifespan life = dsql_pool_tell(pool, call).life;
    conn->dies_at = life.dies_at.ns;
    conn->backend_pid = PQbackendPID(conn->pg);
    atomic_store_explicit(&conn->usable_until, life.usable_until.ns, memory_order_relaxed);
    dsql_stats_note_open(pool, now);
    dsql_budget_opened(pool->budget, now);
    bool recovered = pool->tally.troubled;
    pool->tally.troubled = false;
    uint32_t open = pool->keeper.slots.open;
    int64_t took_ns = dsql_mono_since(now, pool->keeper.slots.items[conn->slot].began);
    dsql_unlock(&pool->state_lock);
    dsql_log(dsql_log_default(), DSQL_EVENT_POOL_OPENED, DSQL_F("slot", conn->slot),
             DSQL_F("open", open), DSQL_F("target", pool->options.sizing.target_ready),
             DSQL_F("ms", took_ns / DSQL_MS),
             DSQL_F("lifetime_ms", dsql_mono_since(life.dies_at, life.born) / DSQL_MS));
    dsql_checkout_offer(pool, conn);
    dsql_lock(&pool->state_lock);
    pthread_cond_broadcast(&pool->progress);
    dsql_unlock(&pool->state_lock);
    if (recovered)
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_RECOVERED,
                 DSQL_F("endpoint", (const char *)pool->target.key), DSQL_F("open", open));
}

void dsql_attempt_go_on(struct dsql_pool *pool, struct dsql_conn *conn)
{
    switch (PQconnectPoll(conn->pg)) {
    case PGRES_POLLING_OK:
        connect_succeeded(pool, conn);
        break;
    case PGRES_POLLING_READING:
        watch(pool, conn, EPOLLIN);
        break;
    case PGRES_POLLING_WRITING:
        watch(pool, conn, EPOLLOUT);
        break;
    case PGRES_POLLING_FAILED:
    case PGRES_POLLING_ACTIVE:
    default:
        connect_failed(pool, conn, false);
    }
}

void dsql_attempt_begin(struct dsql_pool *pool, struct dsql_conn *conn,
                        const struct dsql_secret *token, const char *address)
{
    dsql_connect_start(pool, conn, token, address);
    if (!conn->pg || PQstatus(conn->pg) == CONNECTION_BAD)
        connect_failed(pool, conn, false);
    else
        watch(pool, conn, EPOLLOUT); /* as if PQconnectPoll() had asked for it */
}

void dsql_attempt_cut(struct dsql_pool *pool, struct dsql_conn *conn, bool timed_out)
{
    if (timed_out) {
        connect_failed(pool, conn, true);
        return;
    }
    dsql_connect_finish(conn, false);
    dsql_lock(&pool->state_lock);
    (void)dsql_pool_tell(
        pool, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_ABANDONED, .slot = conn->slot});
    dsql_pool_tell_used(pool);
    pthread_cond_broadcast(&pool->progress);
    dsql_unlock(&pool->state_lock);
}
