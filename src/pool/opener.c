/*
 * The opener: one thread, one epoll, many connects under way at once. A turn closes what has to go,
 * opens what the reservoir wants as far as permits and tokens are there, and sleeps until a socket,
 * a wake or a moment that somebody asked for. Nothing here waits for anything else.
 *
 * Idle sockets are watched for the other side's hang-up, edge-triggered and for nothing else: data
 * that a caller's statements bring does not wake the opener. A hang-up while a connection is in use
 * is remembered in it, so that it is not handed out again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pool/attempt.h"

enum { EVENTS = 128, LOOKS = 256, INFLIGHT_MAX = 1000 };

#define TURN_NS         DSQL_S
#define NEAR_NS         DSQL_M        /* far longer than a turn: see checkout.c */
#define LACK_NS         (5 * DSQL_S)  /* without the slots it wants: then it is said */
#define LACK_AGAIN_NS   (30 * DSQL_S) /* and again, as long as it lasts */
#define WAKE_ID         UINT64_MAX
#define FIRST_HANDSHAKE (100 * DSQL_MS)
#define SLOW_HANDSHAKE  (500 * DSQL_MS) /* more at once would make it slower still */

static void lock_state(struct dsql_pool *pool)
{
    pthread_mutex_lock(&pool->state_lock);
}

static void unlock_state(struct dsql_pool *pool)
{
    pthread_mutex_unlock(&pool->state_lock);
}

void dsql_opener_wake(struct dsql_pool *pool)
{
    if (atomic_exchange_explicit(&pool->wake_pending, true, memory_order_seq_cst))
        return;
    uint64_t one = 1;
    ssize_t written = write(pool->event, &one, sizeof(one));
    (void)written; /* it can only be full, and then it wakes as well */
}

/* ---- closing ---- */

static void count_discard(struct dsql_pool *pool, enum dsql_discard why)
{
    pool->discards[why]++;
    if (pool->metrics)
        dsql_counter_add(pool->metrics, DSQL_SERIES(reservoir_discards, .value = (int)why), 1);
}

void dsql_opener_discard(struct dsql_pool *pool, struct dsql_conn *conn, enum dsql_discard why)
{
    dsql_reservoir_discard(&pool->reservoir, conn->slot);
    count_discard(pool, why);
    conn->why = (uint8_t)why;
    conn->next_discarded = pool->discarded;
    pool->discarded = conn;
}

static bool is_polite(enum dsql_discard why)
{
    return why != DSQL_CLOSE_BROKEN && why != DSQL_CLOSE_DIRTY_RETURN &&
           why != DSQL_CLOSE_SERVER_CLOSED;
}

/* With state_lock held: what it did counts, but not for its successor. */
static void forget_uses(struct dsql_pool *pool, struct dsql_conn *conn)
{
    uint64_t uses = dsql_conn_uses(conn);
    pool->uses_gone += uses;
    conn->uses_before += uses;
}

/* A connection that is CLOSING; its slot is EMPTY afterwards. */
static void close_one(struct dsql_pool *pool, struct dsql_conn *conn, enum dsql_discard why)
{
    dsql_log(dsql_log_default(), DSQL_EVENT_POOL_DISCARDED,
             DSQL_F("reason", dsql_discard_name(why)), DSQL_F("slot", conn->slot));
    dsql_connect_finish(conn, is_polite(why));
    lock_state(pool);
    forget_uses(pool, conn);
    dsql_reservoir_closed(&pool->reservoir, conn->slot);
    dsql_pool_tell_used(pool);
    pthread_cond_broadcast(&pool->progress);
    unlock_state(pool);
}

static void close_discarded(struct dsql_pool *pool)
{
    lock_state(pool);
    struct dsql_conn *conn = pool->discarded;
    pool->discarded = NULL;
    unlock_state(pool);
    while (conn) {
        struct dsql_conn *next = conn->next_discarded;
        close_one(pool, conn, (enum dsql_discard)conn->why);
        conn = next;
    }
}

/* A watched connection whose server is gone. */
static void hang_up(struct dsql_pool *pool, struct dsql_conn *conn)
{
    atomic_store_explicit(&conn->usable_until, DSQL_CONN_HUNG_UP, memory_order_seq_cst);
    if (!dsql_ready_set_claim(&pool->reservoir.ready, conn->slot))
        return; /* in use: its return finds out */
    lock_state(pool);
    dsql_opener_discard(pool, conn, DSQL_CLOSE_SERVER_CLOSED);
    unlock_state(pool);
}

/* ---- opening ---- */

int64_t dsql_opener_inflight(struct dsql_pool *pool)
{
    struct dsql_budget_status status;
    pool->budget->ops->status(pool->budget, dsql_clock_mono(DSQL_POOL_CLOCK), &status);
    /* Twice what the rate needs, so that a full bucket is used up too. */
    int64_t took_ns = pool->handshake_ns < SLOW_HANDSHAKE ? pool->handshake_ns : SLOW_HANDSHAKE;
    int64_t needed = 1 + (int64_t)(2 * status.rate * (double)took_ns / (double)DSQL_S);
    int64_t limit = pool->options.inflight_limit;
    limit = limit > needed ? limit : needed;
    return dsql_refill_limit(&pool->refill, limit < INFLIGHT_MAX ? limit : INFLIGHT_MAX);
}

/* Whether the reservoir wants a connection and nothing but permit, address and token is missing. */
static bool wants_one(struct dsql_pool *pool, struct dsql_mono now)
{
    lock_state(pool);
    bool wants =
        !pool->draining && !dsql_mono_before(now, pool->start_at) &&
        dsql_refill_wait_ns(&pool->refill, now) == 0 &&
        dsql_reservoir_wants(&pool->reservoir, pool->slots, dsql_waiters_count(pool), now) &&
        pool->reservoir.opening < dsql_opener_inflight(pool);
    unlock_state(pool);
    return wants;
}

static bool find_permit(struct dsql_pool *pool, struct dsql_mono now)
{
    int64_t wait_ns = 0;
    if (pool->permit_in_hand)
        return true;
    lock_state(pool);
    pool->permit_in_hand = pool->budget->ops->permit(pool->budget, now, &wait_ns);
    unlock_state(pool);
    if (!pool->permit_in_hand)
        pool->permit_at = dsql_mono_add(now, wait_ns);
    /* Counted once for each time that the budget is used up, not for each time it is asked. */
    if (!pool->permit_in_hand && !pool->out_of_permits && pool->metrics)
        dsql_counter_add(pool->metrics,
                         DSQL_SERIES(reservoir_refill_failures, .value = DSQL_REFILL_RATE_LIMIT),
                         1);
    pool->out_of_permits = !pool->permit_in_hand;
    return pool->permit_in_hand;
}

/* Takes the slot; NULL if none can be had after all. */
static struct dsql_conn *take_slot(struct dsql_pool *pool, struct dsql_mono now)
{
    uint32_t slot;
    bool evicted = false;
    lock_state(pool);
    if (!dsql_reservoir_wants(&pool->reservoir, pool->slots, dsql_waiters_count(pool), now) ||
        !dsql_reservoir_begin(&pool->reservoir, pool->slots, &slot, &evicted)) {
        unlock_state(pool);
        return NULL;
    }
    struct dsql_conn *conn = &pool->conns[slot];
    pool->attempts++;
    conn->began = now;
    dsql_pool_tell_used(pool);
    if (evicted) {
        count_discard(pool, DSQL_CLOSE_EXPIRING_SOON_ON_SCAN);
        forget_uses(pool, conn);
    }
    unlock_state(pool);
    if (evicted)
        dsql_connect_finish(conn, true);
    return conn;
}

static void open_some(struct dsql_pool *pool, struct dsql_mono now)
{
    struct dsql_secret token = {0};
    char address[DSQL_ADDRESS_SIZE];
    while (wants_one(pool, now) && dsql_attempt_address(pool, now, address) &&
           dsql_attempt_token(pool, now, &token) && find_permit(pool, now)) {
        struct dsql_conn *conn = take_slot(pool, now);
        if (!conn)
            break; /* the permit stays in hand */
        pool->permit_in_hand = false;
        dsql_attempt_begin(pool, conn, &token, address);
    }
    dsql_secret_fini(&token);
}

/* ---- evicting ---- */

/* With state_lock held. A pool that lost slots and one that never got them lack them alike; the
 * latter is not told so at once, because a fleet takes a moment to share. */
static void note_slots(struct dsql_pool *pool, struct dsql_mono now)
{
    int64_t slots = pool->budget->ops->slots(pool->budget);
    bool lacks = slots < pool->options.target_ready && !pool->draining;
    bool say = lacks && slots < pool->slots;
    pool->slots = slots;
    if (!lacks || say) {
        pool->lack_due = dsql_mono_add(now, LACK_NS);
    } else if (!dsql_mono_before(now, pool->lack_due)) {
        pool->lack_due = dsql_mono_add(now, LACK_AGAIN_NS);
        say = true;
    }
    if (!say)
        return;
    if (pool->metrics)
        dsql_counter_add(pool->metrics,
                         DSQL_SERIES(reservoir_refill_failures, .value = DSQL_REFILL_LEASE_ACQUIRE),
                         1);
    dsql_log(dsql_log_default(), DSQL_EVENT_POOL_BUDGET,
             DSQL_F("endpoint", (const char *)pool->key), DSQL_F("slots", slots),
             DSQL_F("wanted", pool->options.target_ready));
}

/* With state_lock held: what is over and in use goes when it comes back. */
static void set_recall(struct dsql_pool *pool)
{
    int64_t surplus = (int64_t)(pool->reservoir.open + pool->reservoir.opening) - pool->slots;
    pool->recall = surplus > 0 && !pool->draining ? surplus : 0;
    if (pool->recall > 0)
        atomic_fetch_or_explicit(&pool->attention, DSQL_POOL_RECALL, memory_order_seq_cst);
    else
        atomic_fetch_and_explicit(&pool->attention, ~DSQL_POOL_RECALL, memory_order_seq_cst);
}

static void evict_some(struct dsql_pool *pool, struct dsql_mono now)
{
    bool found;
    do {
        uint32_t slot;
        enum dsql_discard why;
        lock_state(pool);
        note_slots(pool, now);
        found = dsql_reservoir_evict(&pool->reservoir, pool->slots, now, &slot, &why);
        if (found)
            count_discard(pool, why);
        else
            set_recall(pool);
        unlock_state(pool);
        if (found)
            close_one(pool, &pool->conns[slot], why);
    } while (found);
}

/* Everything that is ready, and every connect under way. */
static void drain_some(struct dsql_pool *pool)
{
    uint32_t hint = 0, slot;
    while ((slot = dsql_ready_set_take(&pool->reservoir.ready, &hint)) != DSQL_READY_NONE) {
        lock_state(pool);
        dsql_opener_discard(pool, &pool->conns[slot], DSQL_CLOSE_DRAIN);
        unlock_state(pool);
    }
    close_discarded(pool);
    dsql_attempts_abandon(pool);
}

/*
 * Data that came to an idle connection is no hang-up: a notice, a changed parameter, or rubbish.
 * libpq takes it in, so that the next caller's answer does not start with it. A few sockets each
 * second, because nothing hurries.
 */
static void look_at_idle_sockets(struct dsql_pool *pool)
{
    struct pollfd fds[LOOKS];
    uint32_t slots[LOOKS], capacity = pool->reservoir.config.capacity;
    nfds_t count = 0;
    for (uint32_t n = 0; n < capacity && count < LOOKS; n++) {
        uint32_t slot = pool->look_at++ % capacity;
        if (!dsql_ready_set_has(&pool->reservoir.ready, slot))
            continue;
        fds[count] = (struct pollfd){.fd = pool->conns[slot].fd, .events = POLLIN};
        slots[count++] = slot;
    }
    if (count == 0 || poll(fds, count, 0) <= 0)
        return;
    for (nfds_t i = 0; i < count; i++) {
        struct dsql_conn *conn = &pool->conns[slots[i]];
        if (fds[i].revents == 0 || !dsql_ready_set_claim(&pool->reservoir.ready, conn->slot))
            continue;
        if (PQconsumeInput(conn->pg) && !PQisBusy(conn->pg) &&
            PQstatus(conn->pg) == CONNECTION_OK) {
            dsql_checkout_offer(pool, conn);
            continue;
        }
        lock_state(pool);
        dsql_opener_discard(pool, conn, DSQL_CLOSE_SERVER_CLOSED);
        unlock_state(pool);
    }
}

/* ---- the loop ---- */

static void handle(struct dsql_pool *pool, const struct epoll_event *event)
{
    if (event->data.u64 == WAKE_ID) {
        uint64_t value;
        atomic_store_explicit(&pool->wake_pending, false, memory_order_seq_cst);
        ssize_t got = read(pool->event, &value, sizeof(value));
        (void)got;
        return;
    }
    struct dsql_conn *conn = &pool->conns[(uint32_t)event->data.u64];
    if ((uint32_t)(event->data.u64 >> 32) != conn->generation || !conn->pg)
        return;
    lock_state(pool);
    bool opening = pool->reservoir.slots[conn->slot].state == DSQL_CONN_OPENING;
    unlock_state(pool);
    if (opening)
        dsql_attempt_go_on(pool, conn);
    else if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        hang_up(pool, conn);
}

static void lower(int64_t *wait_ns, int64_t to_ns)
{
    if (to_ns < *wait_ns)
        *wait_ns = to_ns > 0 ? to_ns : 0;
}

static int64_t time_to_sleep(struct dsql_pool *pool, struct dsql_mono now)
{
    int64_t wait_ns = TURN_NS;
    lock_state(pool);
    if (!pool->draining) /* else ages are of no interest, and one in use would be due for ever */
        lower(&wait_ns, dsql_reservoir_wait_ns(&pool->reservoir, now));
    if (pool->grief.pending)
        lower(&wait_ns, dsql_mono_since(pool->grief.log_at, now));
    if (pool->discarded)
        wait_ns = 0;
    int64_t start_ns = dsql_mono_since(pool->start_at, now);
    int64_t retry_ns = dsql_refill_wait_ns(&pool->refill, now);
    unlock_state(pool);
    if (start_ns > 0)
        lower(&wait_ns, start_ns);
    if (retry_ns > 0)
        lower(&wait_ns, retry_ns);
    int64_t permit_ns = dsql_mono_since(pool->permit_at, now);
    if (permit_ns > 0)
        lower(&wait_ns, permit_ns);
    lower(&wait_ns, dsql_attempts_wait_ns(pool, now));
    return wait_ns;
}

static void turn(struct dsql_pool *pool)
{
    struct epoll_event events[EVENTS];
    struct dsql_mono now = dsql_clock_mono(DSQL_POOL_CLOCK);
    atomic_store_explicit(&pool->near_ns, dsql_mono_add(now, NEAR_NS).ns, memory_order_relaxed);
    close_discarded(pool);
    dsql_attempts_time_out(pool, now);
    lock_state(pool);
    bool draining = pool->draining;
    unlock_state(pool);
    if (draining) {
        drain_some(pool);
    } else {
        evict_some(pool, now);
        open_some(pool, now);
    }
    dsql_attempts_say_failures(pool, now);
    if (dsql_mono_since(now, pool->sampled_at) >= DSQL_S) {
        pool->sampled_at = now;
        dsql_stats_sample(pool);
        look_at_idle_sockets(pool);
    }
    int64_t wait_ns = time_to_sleep(pool, dsql_clock_mono(DSQL_POOL_CLOCK));
    int count = epoll_wait(pool->epoll, events, EVENTS, (int)((wait_ns + DSQL_MS - 1) / DSQL_MS));
    for (int i = 0; i < count; i++)
        handle(pool, &events[i]);
}

/* Shuts down the sockets of connections that never came back, so that their callers notice. As long
 * as the opener is not `stopped` nobody else closes a socket: each is still the pool's. */
static void cut_off(struct dsql_pool *pool)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < pool->reservoir.config.capacity; i++) {
        lock_state(pool);
        bool open = pool->reservoir.slots[i].state == DSQL_CONN_READY;
        unlock_state(pool);
        if (open && shutdown(pool->conns[i].fd, SHUT_RDWR) == 0)
            count++;
    }
    if (count > 0)
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_ABANDONED,
                 DSQL_F("endpoint", (const char *)pool->key), DSQL_F("connections", count));
}

/* Everything that is not in a caller's hands is closed; what is, becomes an orphan: from `stopped`
 * on, whoever owns a connection closes it. */
static void end(struct dsql_pool *pool)
{
    dsql_attempts_say_failures(pool, (struct dsql_mono){INT64_MAX});
    drain_some(pool);
    cut_off(pool);
    lock_state(pool);
    pool->stopped = true;
    unlock_state(pool);
    drain_some(pool); /* what came back between the two */
}

static void *run(void *arg)
{
    struct dsql_pool *pool = arg;
    (void)pthread_setname_np(pthread_self(), "dsql-opener");
    bool stopping = false;
    while (!stopping) {
        turn(pool);
        lock_state(pool);
        stopping = pool->stopping;
        unlock_state(pool);
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
    pool->epoll = epoll_create1(EPOLL_CLOEXEC);
    pool->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->epoll < 0 || pool->event < 0 ||
        epoll_ctl(pool->epoll, EPOLL_CTL_ADD, pool->event, &event) != 0)
        return no_thread(err, errno);
    return DSQL_OK;
}

enum dsql_rc dsql_opener_start(struct dsql_pool *pool, struct dsql_err *err)
{
    struct dsql_mono now = dsql_clock_mono(DSQL_POOL_CLOCK);
    pool->handshake_ns = FIRST_HANDSHAKE;
    pool->lack_due = dsql_mono_add(pool->start_at, LACK_NS);
    pool->sampled_at = now;
    pool->second = now.ns / DSQL_S;
    atomic_store_explicit(&pool->near_ns, dsql_mono_add(now, NEAR_NS).ns, memory_order_relaxed);
    /* Signals are for the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&pool->thread, NULL, run, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? no_thread(err, failed) : DSQL_OK;
}

void dsql_opener_stop(struct dsql_pool *pool)
{
    lock_state(pool);
    pool->draining = pool->stopping = true;
    unlock_state(pool);
    dsql_opener_wake(pool);
    (void)pthread_join(pool->thread, NULL);
}
