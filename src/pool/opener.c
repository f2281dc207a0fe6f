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
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pool/pool.h"

enum { EVENTS = 128, LOOKS = 256, INFLIGHT_MAX = 1000 };

#define TURN_NS         DSQL_S
#define NEAR_NS         DSQL_M /* far longer than a turn: see checkout.c */
#define GRIEF_NS        (100 * DSQL_MS)
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

/* ---- sockets ---- */

static void watch(struct dsql_pool *pool, struct dsql_conn *conn, uint32_t events)
{
    int fd = PQsocket(conn->pg);
    if (fd < 0 || (fd == conn->fd && events == conn->watched))
        return;
    struct epoll_event event = {.events = events,
                                .data.u64 = (uint64_t)conn->generation << 32 | conn->slot};
    /* libpq may have closed one socket and opened another with the same number. */
    if (epoll_ctl(pool->epoll, EPOLL_CTL_MOD, fd, &event) != 0)
        (void)epoll_ctl(pool->epoll, EPOLL_CTL_ADD, fd, &event);
    conn->fd = fd;
    conn->watched = events;
}

/* Closing the descriptor ends the watch. What can't be clean any more is cut off first, so that
 * libpq's goodbye never waits for a peer that does not read. */
static void finish(struct dsql_conn *conn, bool politely)
{
    if (!conn->pg)
        return;
    int fd = PQsocket(conn->pg);
    if (!politely && fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
    PQfinish(conn->pg);
    conn->pg = NULL;
    conn->fd = -1;
    conn->watched = 0;
    conn->generation++;
}

/* ---- closing ---- */

static void tell_used(struct dsql_pool *pool)
{
    pool->budget->ops->used(pool->budget, dsql_reservoir_held(&pool->reservoir));
}

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
    pool->uses_gone += dsql_conn_uses(conn);
    atomic_store_explicit(&conn->turns, 0, memory_order_relaxed);
}

/* A connection that is CLOSING; its slot is EMPTY afterwards. */
static void close_one(struct dsql_pool *pool, struct dsql_conn *conn, enum dsql_discard why)
{
    dsql_log(dsql_log_default(), DSQL_EVENT_POOL_DISCARDED,
             DSQL_F("reason", dsql_discard_name(why)), DSQL_F("slot", conn->slot));
    finish(conn, is_polite(why));
    lock_state(pool);
    forget_uses(pool, conn);
    dsql_reservoir_closed(&pool->reservoir, conn->slot);
    tell_used(pool);
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

/* ---- failures ---- */

static void say_grief(struct dsql_pool *pool, const struct dsql_pool_grief *grief)
{
    bool needs_a_person = grief->cls == DSQL_CONNECT_DENIED || grief->cls == DSQL_CONNECT_TLS ||
                          grief->cls == DSQL_CONNECT_TOKEN_EXPIRED;
    dsql_log(dsql_log_default(),
             needs_a_person ? DSQL_EVENT_POOL_DENIED : DSQL_EVENT_POOL_CONNECT_FAILED,
             DSQL_F("endpoint", (const char *)pool->key),
             DSQL_F("class", dsql_connect_class_name(grief->cls)),
             DSQL_F("attempts", grief->attempts),
             DSQL_F("sqlstate", (const char *)grief->error.sqlstate),
             DSQL_F("detail", (const char *)grief->error.message),
             DSQL_F("server_hint", (const char *)grief->error.hint),
             DSQL_F("retry_ms", grief->retry_ns / DSQL_MS),
             DSQL_F("hint", dsql_connect_advice(grief->cls)));
}

/* Failures of one kind that come together are one line. */
static void say_grief_when_due(struct dsql_pool *pool, struct dsql_mono now)
{
    lock_state(pool);
    struct dsql_pool_grief grief = pool->grief;
    bool due = grief.pending && !dsql_mono_before(now, grief.log_at);
    if (due)
        pool->grief.pending = false;
    unlock_state(pool);
    if (due)
        say_grief(pool, &grief);
}

/* With state_lock held. Answers whether *other, of another kind, has to be logged first. */
static bool add_grief(struct dsql_pool *pool, const struct dsql_connect_report *report,
                      struct dsql_mono now, int64_t retry_ns, struct dsql_pool_grief *other)
{
    struct dsql_pool_grief *grief = &pool->grief;
    bool replaces = grief->pending && grief->cls != report->cls;
    if (replaces)
        *other = *grief;
    if (!grief->pending || replaces)
        *grief = (struct dsql_pool_grief){
            .pending = true, .cls = report->cls, .log_at = dsql_mono_add(now, GRIEF_NS)};
    grief->attempts++;
    grief->error = pool->errors[0];
    grief->retry_ns = retry_ns > grief->retry_ns ? retry_ns : grief->retry_ns;
    pool->troubled = true;
    return replaces;
}

/* What a failure means for everybody; `slot`, if it had one, is EMPTY afterwards. */
static void note_failure(struct dsql_pool *pool, const struct dsql_connect_report *report,
                         struct dsql_mono began, int step, uint32_t slot)
{
    struct dsql_mono now = dsql_clock_mono(DSQL_POOL_CLOCK);
    struct dsql_pool_grief other;
    lock_state(pool);
    dsql_stats_note_failure(pool, report, now);
    struct dsql_refill_verdict verdict =
        dsql_refill_failed(&pool->refill, report->cls, began, now, &pool->rng);
    if (slot != DSQL_READY_NONE)
        dsql_reservoir_failed(&pool->reservoir, slot, pool->refill.hopeless);
    tell_used(pool);
    if (report->cls == DSQL_CONNECT_THROTTLED)
        pool->budget->ops->throttled(pool->budget, now);
    if (report->cls == DSQL_CONNECT_FULL)
        pool->budget->ops->refused_full(pool->budget, now);
    bool say = add_grief(pool, report, now, verdict.wait_ns, &other);
    pthread_cond_broadcast(&pool->progress);
    unlock_state(pool);
    if (say)
        say_grief(pool, &other);
    if (pool->metrics)
        dsql_counter_add(pool->metrics, DSQL_SERIES(reservoir_refill_failures, .value = step), 1);
    if (verdict.renew_token && report->cls == DSQL_CONNECT_TOKEN_EXPIRED)
        dsql_token_cache_forget(pool->tokens);
    else if (verdict.renew_token)
        dsql_token_cache_refused(pool->tokens);
    if (report->cls == DSQL_CONNECT_NETWORK && pool->resolver)
        dsql_resolver_failed(pool->resolver);
}

/* ---- connecting ---- */

static void list_connect(struct dsql_pool *pool, struct dsql_conn *conn)
{
    conn->younger = NULL;
    conn->older = pool->youngest;
    if (pool->youngest)
        pool->youngest->younger = conn;
    else
        pool->oldest = conn;
    pool->youngest = conn;
}

static void unlist_connect(struct dsql_pool *pool, struct dsql_conn *conn)
{
    if (conn->older)
        conn->older->younger = conn->younger;
    else
        pool->oldest = conn->younger;
    if (conn->younger)
        conn->younger->older = conn->older;
    else
        pool->youngest = conn->older;
}

/* Whether the process is out of descriptors: EMFILE or ENFILE, else 0. libpq meets that in many
 * places, not all of which it names. */
static int lack_of_descriptors(const struct dsql_pool *pool)
{
    int copy = fcntl(pool->event, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return errno;
    (void)close(copy);
    return 0;
}

static void connect_failed(struct dsql_pool *pool, struct dsql_conn *conn, bool timed_out)
{
    struct dsql_connect_report report;
    dsql_connect_explain(conn->pg, timed_out, timed_out ? 0 : lack_of_descriptors(pool), &report);
    unlist_connect(pool, conn);
    finish(conn, false);
    note_failure(pool, &report, conn->began, DSQL_REFILL_CONNECT, conn->slot);
}

static void connect_succeeded(struct dsql_pool *pool, struct dsql_conn *conn)
{
    struct dsql_mono now = dsql_clock_mono(DSQL_POOL_CLOCK);
    int64_t took_ns = dsql_mono_since(now, conn->began);
    unlist_connect(pool, conn);
    watch(pool, conn, EPOLLRDHUP | EPOLLET);
    (void)PQsetErrorVerbosity(conn->pg, PQERRORS_DEFAULT);
    lock_state(pool);
    dsql_reservoir_opened(&pool->reservoir, conn->slot, now, &pool->rng);
    const struct dsql_lifespan *life = &pool->reservoir.slots[conn->slot].life;
    conn->dies_at = life->dies_at.ns;
    conn->backend_pid = PQbackendPID(conn->pg);
    atomic_store_explicit(&conn->usable_until, life->usable_until.ns, memory_order_relaxed);
    pool->handshake_ns += (took_ns - pool->handshake_ns) / 8;
    dsql_refill_opened(&pool->refill);
    dsql_stats_note_open(pool, now);
    pool->budget->ops->opened(pool->budget, now);
    bool recovered = pool->troubled;
    pool->troubled = false;
    uint32_t open = pool->reservoir.open;
    unlock_state(pool);
    dsql_checkout_offer(pool, conn);
    lock_state(pool);
    pthread_cond_broadcast(&pool->progress);
    unlock_state(pool);
    if (recovered)
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_RECOVERED,
                 DSQL_F("endpoint", (const char *)pool->key), DSQL_F("open", open));
}

static void go_on_connecting(struct dsql_pool *pool, struct dsql_conn *conn)
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

static void begin_connecting(struct dsql_pool *pool, struct dsql_conn *conn,
                             const struct dsql_secret *token, const char *address)
{
    list_connect(pool, conn);
    dsql_connect_start(pool, conn, token, address);
    if (!conn->pg || PQstatus(conn->pg) == CONNECTION_BAD)
        connect_failed(pool, conn, false);
    else
        watch(pool, conn, EPOLLOUT); /* as if PQconnectPoll() had asked for it */
}

static void time_out_connects(struct dsql_pool *pool, struct dsql_mono now)
{
    while (pool->oldest &&
           dsql_mono_since(now, pool->oldest->began) >= pool->options.connect_timeout_ns)
        connect_failed(pool, pool->oldest, true);
}

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
    bool wants = !pool->draining && !dsql_mono_before(now, pool->start_at) &&
                 dsql_refill_wait_ns(&pool->refill, now) == 0 &&
                 dsql_reservoir_wants(&pool->reservoir, pool->slots, now) &&
                 pool->reservoir.opening < dsql_opener_inflight(pool);
    unlock_state(pool);
    return wants;
}

static bool find_address(struct dsql_pool *pool, struct dsql_mono now,
                         char address[DSQL_ADDRESS_SIZE])
{
    struct dsql_err err;
    if (!pool->resolver) {
        memcpy(address, pool->options.hostaddr, DSQL_ADDRESS_SIZE);
        return true;
    }
    enum dsql_rc rc = dsql_resolver_address(pool->resolver, now, address, &err);
    if (rc && rc != DSQL_TIMEOUT) {
        struct dsql_connect_report report = {.cls = DSQL_CONNECT_NETWORK, .rc = rc};
        (void)snprintf(report.message, sizeof(report.message), "%.250s", err.message);
        note_failure(pool, &report, now, DSQL_REFILL_CONNECT, DSQL_READY_NONE);
    }
    return rc == DSQL_OK;
}

static bool find_token(struct dsql_pool *pool, struct dsql_mono now, struct dsql_secret *token)
{
    struct dsql_err err = {0};
    enum dsql_rc rc = dsql_token_cache_try(pool->tokens, token, &err);
    if (rc && rc != DSQL_TIMEOUT) {
        struct dsql_connect_report report = {.cls = rc == DSQL_NO_MEMORY ? DSQL_CONNECT_RESOURCES
                                                    : rc == DSQL_DENIED || rc == DSQL_INVALID
                                                        ? DSQL_CONNECT_DENIED
                                                        : DSQL_CONNECT_NETWORK,
                                             .rc = rc};
        (void)snprintf(report.message, sizeof(report.message), "%.250s", err.message);
        (void)snprintf(report.hint, sizeof(report.hint), "%s", err.hint);
        note_failure(pool, &report, now, DSQL_REFILL_TOKEN_PROVIDER, DSQL_READY_NONE);
    }
    return rc == DSQL_OK;
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
    if (!dsql_reservoir_wants(&pool->reservoir, pool->slots, now) ||
        !dsql_reservoir_begin(&pool->reservoir, pool->slots, &slot, &evicted)) {
        unlock_state(pool);
        return NULL;
    }
    struct dsql_conn *conn = &pool->conns[slot];
    pool->attempts++;
    conn->began = now;
    tell_used(pool);
    if (evicted) {
        count_discard(pool, DSQL_CLOSE_EXPIRING_SOON_ON_SCAN);
        forget_uses(pool, conn);
    }
    unlock_state(pool);
    if (evicted)
        finish(conn, true);
    return conn;
}

static void open_some(struct dsql_pool *pool, struct dsql_mono now)
{
    struct dsql_secret token = {0};
    char address[DSQL_ADDRESS_SIZE];
    while (wants_one(pool, now) && find_address(pool, now, address) &&
           find_token(pool, now, &token) && find_permit(pool, now)) {
        struct dsql_conn *conn = take_slot(pool, now);
        if (!conn)
            break; /* the permit stays in hand */
        pool->permit_in_hand = false;
        begin_connecting(pool, conn, &token, address);
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
    while (pool->oldest) {
        struct dsql_conn *conn = pool->oldest;
        unlist_connect(pool, conn);
        finish(conn, false);
        lock_state(pool);
        dsql_reservoir_failed(&pool->reservoir, conn->slot, false);
        tell_used(pool);
        pthread_cond_broadcast(&pool->progress);
        unlock_state(pool);
    }
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
        go_on_connecting(pool, conn);
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
    if (pool->oldest)
        lower(&wait_ns,
              pool->options.connect_timeout_ns - dsql_mono_since(now, pool->oldest->began));
    return wait_ns;
}

static void turn(struct dsql_pool *pool)
{
    struct epoll_event events[EVENTS];
    struct dsql_mono now = dsql_clock_mono(DSQL_POOL_CLOCK);
    atomic_store_explicit(&pool->near_ns, dsql_mono_add(now, NEAR_NS).ns, memory_order_relaxed);
    close_discarded(pool);
    time_out_connects(pool, now);
    lock_state(pool);
    bool draining = pool->draining;
    unlock_state(pool);
    if (draining) {
        drain_some(pool);
    } else {
        evict_some(pool, now);
        open_some(pool, now);
    }
    say_grief_when_due(pool, now);
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

/* Everything that is not in a caller's hands is closed; what is, becomes an orphan. */
static void end(struct dsql_pool *pool)
{
    say_grief_when_due(pool, (struct dsql_mono){INT64_MAX});
    drain_some(pool);
    cut_off(pool);
    lock_state(pool);
    pool->stopped = true;
    unlock_state(pool);
    drain_some(pool); /* what came back between the two */
    lock_state(pool);
    pool->orphans += pool->reservoir.open;
    unlock_state(pool);
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

enum dsql_rc dsql_opener_start(struct dsql_pool *pool, struct dsql_err *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = WAKE_ID};
    pool->epoll = epoll_create1(EPOLL_CLOEXEC);
    pool->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->epoll < 0 || pool->event < 0 ||
        epoll_ctl(pool->epoll, EPOLL_CTL_ADD, pool->event, &event) != 0)
        return no_thread(err, errno);
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
