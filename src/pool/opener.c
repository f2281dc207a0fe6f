/*
 * The opener: one thread, one epoll, many connects under way at once. A turn asks core's keeper
 * what to do, carries it out, and sleeps for as long as the keeper says, or until a socket or a
 * wake. Nothing here decides, and nothing here waits for anything else.
 *
 * Until `stopped`, only this thread tells the keeper something, and it does so with state_lock
 * held: what callers discard is queued for it. So it may read the keeper without the lock, until it
 * has `stopped`.
 *
 * Idle sockets are watched for the other side's hang-up, edge-triggered and for nothing else: data
 * that a caller's statements bring does not wake the opener. A hang-up while a connection is in use
 * is remembered in it, so that it is not handed out again.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/thread.h"
#include "pool/attempt.h"

enum { EVENTS = 128, LOOKS = 256 };

#define SAMPLE_NS DSQL_S
#define WAKE_ID   UINT64_MAX

/* What the keeper said in a turn and is carried out without the lock. */
struct work {
    struct dsql_conn_list conns; /* in the order of the steps; each has its own */
    bool lacks_slots, lacks_permits;
    struct dsql_mono until; /* the opener sleeps until then */
    struct dsql_secret token;
    char address[DSQL_RESOLVED_SIZE];
};

void dsql_opener_wake(struct dsql_pool *pool)
{
    if (atomic_exchange_explicit(&pool->opener.wake_pending, true, memory_order_seq_cst))
        return;
    uint64_t one = 1;
    ssize_t written = write(pool->opener.event, &one, sizeof(one));
    (void)written; /* a write fails only where the counter is full: the opener wakes as well */
}

/* -- What the keeper is told. */

void dsql_opener_discard(struct dsql_pool *pool, struct dsql_conn *conn, enum dsql_discard why)
{
    conn->why = (uint8_t)why;
    dsql_conn_list_add(&pool->discarded, conn);
}

/* With state_lock held. */
static void tell_what_happened(struct dsql_pool *pool)
{
    for (struct dsql_conn *conn = pool->discarded.first; conn; conn = conn->next)
        (void)dsql_pool_tell(pool, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_DISCARD,
                                                             .slot = conn->slot,
                                                             .discard = conn->why});
    pool->discarded = (struct dsql_conn_list){0};
    if (pool->ending.draining && !pool->keeper.draining)
        (void)dsql_pool_tell(pool, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_DRAIN});
}

/* A watched connection whose server is gone. */
static void hang_up(struct dsql_pool *pool, struct dsql_conn *conn)
{
    atomic_store_explicit(&conn->usable_until, DSQL_HANDOUT_HUNG_UP, memory_order_seq_cst);
    if (!dsql_ready_set_claim(&pool->fast.ready, conn->slot))
        return; /* in use: its return finds out */
    dsql_lock(&pool->state_lock);
    dsql_opener_discard(pool, conn, DSQL_DISCARD_SERVER_CLOSED);
    dsql_unlock(&pool->state_lock);
}

/* -- What the keeper asks; with state_lock held. */

static void answer_slots(struct dsql_pool *pool, int64_t needed, struct dsql_mono now)
{
    struct dsql_allowance_status status;
    if (needed != pool->opener.needed)
        dsql_budget_want(pool->budget, needed);
    pool->opener.needed = needed;
    dsql_budget_status(pool->budget, now, &status);
    (void)dsql_pool_tell(pool, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_SLOTS,
                                                         .count = status.slots,
                                                         .rate = status.rate});
}

static void answer_permit(struct dsql_pool *pool, struct dsql_mono now)
{
    int64_t wait_ns = 0;
    bool given = dsql_budget_permit(pool->budget, now, &wait_ns);
    (void)dsql_pool_tell(
        pool,
        (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_PERMIT, .yes = given, .count = wait_ns});
}

static void answer_claim(struct dsql_pool *pool, uint32_t slot)
{
    uint32_t hint = 0;
    if (slot == DSQL_SLOT_NONE)
        slot = dsql_ready_set_take(&pool->fast.ready, &hint);
    else if (!dsql_ready_set_claim(&pool->fast.ready, slot))
        slot = DSQL_SLOT_NONE;
    (void)dsql_pool_tell(pool,
                         (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_CLAIMED, .slot = slot});
}

static void set_recall(struct dsql_pool *pool, int64_t recall)
{
    pool->recall = recall;
    if (recall > 0)
        atomic_fetch_or_explicit(&pool->fast.attention, DSQL_POOL_RECALL, memory_order_seq_cst);
    else
        atomic_fetch_and_explicit(&pool->fast.attention, ~DSQL_POOL_RECALL, memory_order_seq_cst);
}

static void add(struct work *work, struct dsql_pool *pool, const struct dsql_keeper_step *step)
{
    struct dsql_conn *conn = &pool->conns[step->slot];
    conn->step = *step;
    dsql_conn_list_add(&work->conns, conn);
}

static void count_discard(struct dsql_pool *pool, enum dsql_discard why)
{
    pool->tally.discards[why]++;
    if (pool->metrics)
        dsql_counter_add(pool->metrics, DSQL_SERIES(reservoir_discards, .value = (int)why), 1);
}

/* One step: a question is answered, the rest is noted as work. */
static void take_step(struct dsql_pool *pool, struct work *work,
                      const struct dsql_keeper_step *step, struct dsql_mono now)
{
    switch (step->what) {
    case DSQL_KEEPER_SLOTS:
        answer_slots(pool, step->count, now);
        break;
    case DSQL_KEEPER_CLAIM:
    case DSQL_KEEPER_TAKE:
        answer_claim(pool, step->slot);
        break;
    case DSQL_KEEPER_PERMIT:
        answer_permit(pool, now);
        break;
    case DSQL_KEEPER_PREPARE:
        dsql_unlock(&pool->state_lock);
        dsql_attempt_prepare(pool, now, work->address, &work->token);
        dsql_lock(&pool->state_lock);
        break;
    case DSQL_KEEPER_CLOSE:
        count_discard(pool, step->discard);
        add(work, pool, step);
        break;
    case DSQL_KEEPER_OPEN:
        pool->tally.attempts++;
        add(work, pool, step);
        break;
    case DSQL_KEEPER_CUT:
    case DSQL_KEEPER_OFFER:
        add(work, pool, step);
        break;
    case DSQL_KEEPER_REPORT:
        work->lacks_slots |= step->why == DSQL_WHY_SLOTS;
        work->lacks_permits |= step->why == DSQL_WHY_PERMIT;
        break;
    case DSQL_KEEPER_SLEEP:
        work->until = dsql_mono_add(now, step->ns);
        set_recall(pool, step->count);
        dsql_pool_tell_used(pool);
        break;
    }
}

static void ask_keeper(struct dsql_pool *pool, struct work *work, struct dsql_mono now)
{
    struct dsql_keeper_step step;
    dsql_lock(&pool->state_lock);
    tell_what_happened(pool);
    (void)dsql_pool_tell(pool, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_TURN,
                                                         .now = now,
                                                         .count = dsql_waiters_count(pool)});
    atomic_store_explicit(&pool->fast.near_ns, dsql_keeper_near(&pool->keeper).ns,
                          memory_order_relaxed);
    do {
        step = dsql_pool_tell(pool, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_NEXT}).step;
        take_step(pool, work, &step, now);
    } while (step.what != DSQL_KEEPER_SLEEP);
    dsql_unlock(&pool->state_lock);
}

/* -- Carrying it out. */

static bool is_polite(enum dsql_discard why)
{
    return why != DSQL_DISCARD_BROKEN && why != DSQL_DISCARD_DIRTY_RETURN &&
           why != DSQL_DISCARD_SERVER_CLOSED;
}

static void close_one(const struct dsql_pool *pool, struct dsql_conn *conn)
{
    enum dsql_discard why = conn->step.discard;
    dsql_log(dsql_log_default(), DSQL_EVENT_POOL_DISCARDED,
             DSQL_F("reason", dsql_discard_name(why)), DSQL_F("slot", conn->slot),
             DSQL_F("remaining_ms", (conn->dies_at - pool->keeper.now.ns) / DSQL_MS),
             DSQL_F("guard_ms", pool->options.lifetime.guard_window_ns / DSQL_MS));
    dsql_connect_finish(conn, is_polite(why));
}

/* What the closed connections did counts, but not for their successors. */
static void tell_closed(struct dsql_pool *pool, struct dsql_conn *closed)
{
    dsql_lock(&pool->state_lock);
    for (struct dsql_conn *conn = closed; conn; conn = conn->next) {
        uint64_t uses = dsql_conn_uses(conn);
        pool->tally.uses_gone += uses;
        conn->uses_before += uses;
        (void)dsql_pool_tell(
            pool, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_CLOSED, .slot = conn->slot});
    }
    dsql_pool_tell_used(pool);
    pthread_cond_broadcast(&pool->progress);
    dsql_unlock(&pool->state_lock);
}

static void report(struct dsql_pool *pool, const struct work *work)
{
    if (work->lacks_permits && pool->metrics)
        dsql_counter_add(pool->metrics,
                         DSQL_SERIES(reservoir_refill_failures, .value = DSQL_REFILL_RATE_LIMIT),
                         1);
    if (work->lacks_slots && pool->metrics)
        dsql_counter_add(pool->metrics,
                         DSQL_SERIES(reservoir_refill_failures, .value = DSQL_REFILL_LEASE_ACQUIRE),
                         1);
    if (work->lacks_slots)
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_BUDGET,
                 DSQL_F("endpoint", (const char *)pool->target.key),
                 DSQL_F("slots", pool->keeper.granted),
                 DSQL_F("wanted", pool->options.sizing.target_ready));
}

static void carry_out(struct dsql_pool *pool, struct work *work)
{
    struct dsql_conn *closed = NULL, *next;
    for (struct dsql_conn *conn = work->conns.first; conn; conn = next) {
        next = conn->next;
        if (conn->step.what == DSQL_KEEPER_CLOSE) {
            close_one(pool, conn);
            conn->next = closed;
            closed = conn;
        } else if (conn->step.what == DSQL_KEEPER_OPEN) {
            dsql_attempt_begin(pool, conn, &work->token, work->address);
        } else if (conn->step.what == DSQL_KEEPER_OFFER) {
            dsql_checkout_offer(pool, conn);
        } else {
            dsql_attempt_cut(pool, conn, conn->step.why == DSQL_WHY_TIMEOUT);
        }
    }
    if (closed)
        tell_closed(pool, closed);
    report(pool, work);
    dsql_secret_fini(&work->token);
}

/* Answers until when there is nothing more to do by itself. */
static struct dsql_mono work_once(struct dsql_pool *pool, struct dsql_mono now)
{
    struct work work = {0};
    ask_keeper(pool, &work, now);
    carry_out(pool, &work);
    return work.until;
}

/* -- Idle sockets. */

/*
 * Data that came to an idle connection is no hang-up: a notice, a changed parameter, or rubbish.
 * libpq takes it in, so that the next caller's answer does not start with it. A few sockets each
 * second, because nothing hurries.
 */
static void look_at_idle_sockets(struct dsql_pool *pool)
{
    struct pollfd fds[LOOKS];
    uint32_t slots[LOOKS], capacity = pool->keeper.slots.capacity;
    nfds_t count = 0;
    for (uint32_t n = 0; n < capacity && count < LOOKS; n++) {
        uint32_t slot = pool->opener.look_at++ % capacity;
        if (!dsql_ready_set_has(&pool->fast.ready, slot))
            continue;
        fds[count] = (struct pollfd){.fd = pool->conns[slot].fd, .events = POLLIN};
        slots[count++] = slot;
    }
    if (count == 0 || poll(fds, count, 0) <= 0)
        return;
    for (nfds_t i = 0; i < count; i++) {
        struct dsql_conn *conn = &pool->conns[slots[i]];
        if (fds[i].revents == 0 || !dsql_ready_set_claim(&pool->fast.ready, conn->slot))
            continue;
        if (PQconsumeInput(conn->pg) && !PQisBusy(conn->pg) &&
            PQstatus(conn->pg) == CONNECTION_OK) {
            dsql_checkout_offer(pool, conn);
            continue;
        }
        dsql_lock(&pool->state_lock);
        dsql_opener_discard(pool, conn, DSQL_DISCARD_SERVER_CLOSED);
        dsql_unlock(&pool->state_lock);
    }
}

/* -- The loop. */

static void handle(struct dsql_pool *pool, const struct epoll_event *event)
{
    if (event->data.u64 == WAKE_ID) {
        uint64_t value;
        atomic_store_explicit(&pool->opener.wake_pending, false, memory_order_seq_cst);
        ssize_t got = read(pool->opener.event, &value, sizeof(value));
        (void)got;
        return;
    }
    struct dsql_conn *conn = &pool->conns[(uint32_t)event->data.u64];
    if ((uint32_t)(event->data.u64 >> 32) != conn->generation || !conn->pg)
        return;
    if (pool->keeper.slots.items[conn->slot].state == DSQL_SLOT_OPENING)
        dsql_attempt_go_on(pool, conn);
    else if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        hang_up(pool, conn);
}

static void turn(struct dsql_pool *pool)
{
    struct epoll_event events[EVENTS];
    struct dsql_mono now = dsql_clock_mono(pool->clock);
    struct dsql_mono until = work_once(pool, now);
    dsql_attempts_say_failures(pool, now);
    if (dsql_mono_since(now, pool->opener.sampled_at) >= SAMPLE_NS) {
        pool->opener.sampled_at = now;
        dsql_stats_sample(pool);
        look_at_idle_sockets(pool);
    }
    if (pool->tally.failure_log.pending && dsql_mono_before(pool->tally.failure_log.log_at, until))
        until = pool->tally.failure_log.log_at;
    struct pollfd any = {.fd = pool->opener.epoll, .events = POLLIN};
    (void)dsql_clock_poll(pool->clock, &any, 1, until);
    int count = epoll_wait(pool->opener.epoll, events, EVENTS, 0);
    for (int i = 0; i < count; i++)
        handle(pool, &events[i]);
}

/* Shuts down the sockets of connections that never came back, so that their callers notice. As long
 * as the opener is not `stopped` no other thread closes a socket: each is still the pool's. */
static void cut_off(struct dsql_pool *pool)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < pool->keeper.slots.capacity; i++) {
        bool open = pool->keeper.slots.items[i].state == DSQL_SLOT_OPEN;
        if (open && shutdown(pool->conns[i].fd, SHUT_RDWR) == 0)
            count++;
    }
    if (count > 0)
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_ABANDONED,
                 DSQL_F("endpoint", (const char *)pool->target.key), DSQL_F("connections", count));
}

/* Closes every connection that is not checked out. From `stopped` on the others are orphans: the
 * caller that has one closes it. */
static void end(struct dsql_pool *pool)
{
    dsql_attempts_say_failures(pool, (struct dsql_mono){INT64_MAX});
    (void)work_once(pool, dsql_clock_mono(pool->clock));
    cut_off(pool);
    dsql_lock(&pool->state_lock);
    pool->ending.stopped = true;
    dsql_unlock(&pool->state_lock);
    (void)work_once(pool, dsql_clock_mono(pool->clock)); /* what came back between the two */
}

static void *run(void *arg)
{
    struct dsql_pool *pool = arg;
    (void)pthread_setname_np(pthread_self(), "dsql-opener");
    bool stopping = false;
    while (!stopping) {
        turn(pool);
        dsql_lock(&pool->state_lock);
        stopping = pool->ending.stopping;
        dsql_unlock(&pool->state_lock);
    }
    end(pool);
    dsql_stats_sample(pool);
    return NULL;
}

static enum dsql_rc no_thread(struct dsql_err *err, int error_number)
{
    return dsql_err_set(err, DSQL_IO, "can't start the pool's thread: %s", strerror(error_number));
}

enum dsql_rc dsql_opener_init(struct dsql_pool *pool, struct dsql_err *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = WAKE_ID};
    pool->opener.epoll = epoll_create1(EPOLL_CLOEXEC);
    pool->opener.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->opener.epoll < 0 || pool->opener.event < 0 ||
        epoll_ctl(pool->opener.epoll, EPOLL_CTL_ADD, pool->opener.event, &event) != 0)
        return no_thread(err, errno);
    return DSQL_OK;
}

enum dsql_rc dsql_opener_start(struct dsql_pool *pool, struct dsql_err *err)
{
    struct dsql_mono now = dsql_clock_mono(pool->clock);
    pool->opener.sampled_at = now;
    pool->tally.second = now.ns / DSQL_S;
    atomic_store_explicit(&pool->fast.near_ns, dsql_keeper_near(&pool->keeper).ns,
                          memory_order_relaxed);
    int failed = dsql_thread_start(&pool->opener.thread, 0, run, pool);
    return failed ? no_thread(err, failed) : DSQL_OK;
}

void dsql_opener_stop(struct dsql_pool *pool)
{
    dsql_lock(&pool->state_lock);
    pool->ending.draining = pool->ending.stopping = true;
    dsql_unlock(&pool->state_lock);
    dsql_opener_wake(pool);
    (void)pthread_join(pool->opener.thread, NULL);
}
