/*
 * The hot path. A checkout that finds a connection: one atomic operation on the ready set, an AND
 * on the thread's last slot, else a compare-and-swap. A return: one atomic OR, and a look at
 * `attention`. No lock, no system call, no allocation, and no
 * clock while the connection is far from its end (core/handout.h).
 *
 * Every SAMPLE-th checkout of a thread is timed and stands for SAMPLE of them in the histogram;
 * those that wait are all timed.
 */
#include "base/lock.h"
#include "pool/pool.h"
#include "pool/visitors.h"

enum { SAMPLE = 256 };

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* Kept out of line, so that the fast path needs no stack frame for it. */
#define SLOW __attribute__((noinline, cold))

static uint32_t attention_of(struct dsql_pool *pool)
{
    return atomic_load_explicit(&pool->fast.attention, memory_order_seq_cst);
}

static bool is_far_from_its_end(struct dsql_pool *pool, struct dsql_conn *conn)
{
    return dsql_handout_is_far(atomic_load_explicit(&conn->usable_until, memory_order_relaxed),
                               atomic_load_explicit(&pool->fast.near_ns, memory_order_relaxed));
}

static void discard_owned(struct dsql_pool *pool, struct dsql_conn *conn, enum dsql_discard why);

/* Looks at the clock; true if it may be handed out, else *why not. */
static bool may_still_serve(struct dsql_conn *conn, enum dsql_discard expired,
                            enum dsql_discard *why)
{
    return dsql_handout_may(atomic_load_explicit(&conn->usable_until, memory_order_relaxed),
                            conn->dies_at, dsql_clock_mono(conn->pool->clock).ns, expired, why);
}

struct dsql_conn *dsql_checkout_take(struct dsql_pool *pool, uint32_t *hint)
{
    uint32_t slot;
    while ((slot = dsql_ready_set_take(&pool->fast.ready, hint)) != DSQL_READY_NONE) {
        struct dsql_conn *conn = &pool->conns[slot];
        enum dsql_discard why;
        if (is_far_from_its_end(pool, conn) ||
            may_still_serve(conn, DSQL_DISCARD_EXPIRED_ON_CHECKOUT, &why))
            return conn;
        discard_owned(pool, conn, why);
    }
    return NULL;
}

/* The two ends of a checkout. Few stores, because the next atomic operation waits for them. */
static inline struct dsql_conn *hand_out(struct dsql_conn *conn)
{
    uint64_t turns = atomic_load_explicit(&conn->turns, memory_order_relaxed) + 1;
    assert((turns & 1) != 0);
    atomic_store_explicit(&conn->turns, turns, memory_order_relaxed);
    return dsql_conn_handle(conn, turns);
}

static inline struct dsql_conn *take_back(const struct dsql_conn *handle)
{
    struct dsql_conn *conn = dsql_conn_of(handle);
    uint64_t turns = atomic_load_explicit(&conn->turns, memory_order_relaxed);
    assert(dsql_conn_is_out(conn, handle, turns)); /* returned or discarded twice? */
    atomic_store_explicit(&conn->turns, turns + 1, memory_order_relaxed);
    return conn;
}

static enum dsql_rc refuse(struct dsql_pool *pool, struct dsql_err *err)
{
    if (pool->fork_generation != dsql_fork_generation) {
        (void)dsql_err_set(err, DSQL_CLOSED, "this pool belongs to the parent process");
        dsql_err_hint(err, "open a pool of its own in the child, after fork()");
        return DSQL_CLOSED;
    }
    return dsql_err_set(err, DSQL_CLOSED, "the pool is closing");
}

/* With state_lock held: what stands in the way of a connection for a caller, and what helps. */
static void hint_at_cause(struct dsql_pool *pool, struct dsql_err *err)
{
    const struct dsql_pool_options *o = &pool->options;
    const struct dsql_keeper *k = &pool->keeper;
    int64_t held = dsql_slots_held(&k->slots);
    struct dsql_allowance_status budget;
    dsql_budget_status(pool->budget, dsql_clock_mono(pool->clock), &budget);
    if (held >= o->sizing.max_open)
        dsql_err_hint(err, "raise DSQL_POOL_MAX_OPEN, hold connections for less time, or wait "
                           "longer");
    else if (held >= k->granted && k->granted < k->need)
        dsql_err_hint(err,
                      "the fleet's budget lets this process hold %lld connections%s%.150s; "
                      "'dsql budget status' shows who holds the others",
                      (long long)k->granted, budget.problem[0] ? ": " : "", budget.problem);
    else if (budget.permits == 0)
        dsql_err_hint(err,
                      "the connects that the budget allows, %.1f a second, are used up: wait "
                      "longer, or keep more with DSQL_RESERVOIR_TARGET_READY",
                      budget.rate);
    else
        dsql_err_hint(err, "more connections are opened while a caller waits: wait longer, or keep "
                           "more with DSQL_RESERVOIR_TARGET_READY");
}

static enum dsql_rc explain_empty(struct dsql_pool *pool, int64_t waited_ns, struct dsql_err *err)
{
    atomic_fetch_add_explicit(&pool->line.empties, 1, memory_order_relaxed);
    if (pool->metrics)
        dsql_counter_add(pool->metrics, DSQL_SERIES(reservoir_empty), 1);
    dsql_lock(&pool->state_lock);
    uint32_t open = pool->keeper.slots.open, opening = pool->keeper.slots.opening;
    (void)dsql_err_set(err, DSQL_EMPTY,
                       "no connection to %.100s became ready in %lld ms; of %lld, %u are open and "
                       "%u being opened",
                       pool->target.host, (long long)(waited_ns / DSQL_MS),
                       (long long)pool->options.sizing.max_open, open, opening);
    /* Only what still stands in the way is worth repeating. */
    if (err && pool->keeper.refill.rounds > 0 && pool->tally.error_count > 0) {
        const struct dsql_pool_error *last = &pool->tally.errors[0];
        (void)dsql_err_set(err, DSQL_EMPTY, "%.200s; the last attempt: %.250s", err->message,
                           last->message);
        memcpy(err->sqlstate, last->sqlstate, sizeof(err->sqlstate));
        dsql_err_hint(err, "%s", last->hint);
    } else {
        hint_at_cause(pool, err);
    }
    dsql_unlock(&pool->state_lock);
    dsql_log(dsql_log_default(), DSQL_EVENT_POOL_EMPTY,
             DSQL_F("endpoint", (const char *)pool->target.key),
             DSQL_F("waited_ms", waited_ns / DSQL_MS),
             DSQL_F("max_open", pool->options.sizing.max_open), DSQL_F("open", open),
             DSQL_F("opening", opening));
    return DSQL_EMPTY;
}

static void record_latency(struct dsql_pool *pool, struct dsql_mono began, uint64_t weight)
{
    if (!pool->metrics)
        return;
    int64_t took_ns = dsql_mono_since(dsql_clock_mono(pool->clock), began);
    dsql_histogram_record_n(pool->metrics, DSQL_METRIC_reservoir_checkout_latency,
                            (uint64_t)took_ns, weight);
}

static enum dsql_rc wait_in_line(struct dsql_checkout_ticket *ticket, int64_t wait_ns,
                                 struct dsql_mono began)
{
    struct dsql_pool *pool = ticket->pool;
    atomic_fetch_add_explicit(&pool->line.waits, 1, memory_order_relaxed);
    enum dsql_rc rc = dsql_waiters_wait(pool, &ticket->waiter, wait_ns, &ticket->cancelled);
    if (pool->metrics) {
        int64_t took_ns = dsql_mono_since(dsql_clock_mono(pool->clock), began);
        dsql_counter_add(pool->metrics, DSQL_SERIES(pool_wait), 1);
        dsql_histogram_record(pool->metrics, DSQL_SERIES(pool_wait_duration), (uint64_t)took_ns);
    }
    return rc;
}

/* The checkout behind the fast one: a timed one, an empty pool, other waiters, a draining pool. */
static enum dsql_rc checkout_slowly(struct dsql_checkout_ticket *ticket, int64_t wait_ns,
                                    struct dsql_conn **conn, struct dsql_err *err)
{
    struct dsql_pool *pool = ticket->pool;
    if (pool->fork_generation != dsql_fork_generation)
        return refuse(pool, err);
    struct dsql_visitor *visitor = dsql_visitor_self();
    struct dsql_mono began = dsql_clock_mono(pool->clock);
    struct dsql_conn *found = NULL;
    atomic_fetch_add_explicit(&pool->line.inside, 1, memory_order_seq_cst);
    enum dsql_rc rc = DSQL_OK;
    uint32_t attention = attention_of(pool);
    if (attention & DSQL_POOL_CLOSED)
        rc = refuse(pool, err);
    else if ((attention & ~DSQL_POOL_RECALL) == 0)
        found = dsql_checkout_take(pool, &visitor->hint);
    if (found) {
        record_latency(pool, began, visitor->count % SAMPLE == 0 ? SAMPLE : 1);
    } else if (!rc) {
        wait_ns = dsql_keeper_patience(&pool->keeper.config, wait_ns);
        rc = wait_ns > 0 ? wait_in_line(ticket, wait_ns, began) : DSQL_EMPTY;
        found = ticket->waiter.conn;
        if (!rc)
            record_latency(pool, began, 1);
        else if (rc == DSQL_EMPTY)
            rc = explain_empty(pool, wait_ns, err);
        else if (atomic_load_explicit(&ticket->cancelled, memory_order_acquire))
            rc = dsql_err_set(err, DSQL_CANCELLED, "cancelled while waiting for a connection");
        else
            rc = refuse(pool, err);
    }
    if (!rc)
        *conn = hand_out(found);
    atomic_fetch_sub_explicit(&pool->line.inside, 1, memory_order_release);
    return rc;
}

void dsql_checkout_ticket_init(struct dsql_checkout_ticket *ticket, struct dsql_pool *pool)
{
    *ticket = (struct dsql_checkout_ticket){.pool = pool};
}

static SLOW enum dsql_rc checkout_with_own_ticket(struct dsql_pool *pool, int64_t wait_ns,
                                                  struct dsql_conn **conn, struct dsql_err *err)
{
    struct dsql_checkout_ticket ticket;
    dsql_checkout_ticket_init(&ticket, pool);
    return checkout_slowly(&ticket, wait_ns, conn, err);
}

/* Puts back a connection that is near its end: the slow case looks at the clock. */
static SLOW void put_back(struct dsql_pool *pool, uint32_t slot)
{
    dsql_ready_set_put(&pool->fast.ready, slot);
    if (attention_of(pool) != 0)
        dsql_waiters_match(pool);
}

/* Takes a ready connection without a lock; NULL if none is ready, a caller waits, the pool drains,
 * or the checkout is one of those that are timed. */
static inline struct dsql_conn *take_fast(struct dsql_pool *pool)
{
    if (unlikely(pool->fork_generation != dsql_fork_generation))
        return NULL;
    struct dsql_visitor *visitor = dsql_visitor_self();
    if (unlikely(++visitor->count % SAMPLE == 0) || unlikely(attention_of(pool) != 0))
        return NULL;
    uint32_t slot = dsql_ready_set_take(&pool->fast.ready, &visitor->hint);
    if (unlikely(slot == DSQL_READY_NONE))
        return NULL;
    struct dsql_conn *conn = &pool->conns[slot];
    if (unlikely(!is_far_from_its_end(pool, conn))) {
        put_back(pool, slot);
        return NULL;
    }
    return hand_out(conn);
}

enum dsql_rc dsql_pool_checkout(struct dsql_pool *pool, int64_t wait_ns, struct dsql_conn **conn,
                                struct dsql_err *err)
{
    struct dsql_conn *found = take_fast(pool);
    if (unlikely(!found))
        return checkout_with_own_ticket(pool, wait_ns, conn, err);
    *conn = found;
    return DSQL_OK;
}

enum dsql_rc dsql_checkout_with(struct dsql_checkout_ticket *ticket, int64_t wait_ns,
                                struct dsql_conn **conn, struct dsql_err *err)
{
    if (atomic_load_explicit(&ticket->cancelled, memory_order_acquire))
        return dsql_err_set(err, DSQL_CANCELLED, "cancelled before a connection was there");
    struct dsql_conn *found = take_fast(ticket->pool);
    if (!found)
        return checkout_slowly(ticket, wait_ns, conn, err);
    *conn = found;
    return DSQL_OK;
}

void dsql_checkout_cancel(struct dsql_checkout_ticket *ticket)
{
    atomic_store_explicit(&ticket->cancelled, true, memory_order_seq_cst);
    dsql_waiters_send_away(ticket->pool, &ticket->waiter);
}

enum dsql_rc dsql_checkout_try(struct dsql_pool *pool, struct dsql_conn **conn)
{
    struct dsql_conn *found = take_fast(pool);
    if (found) {
        *conn = found;
        return DSQL_OK;
    }
    uint32_t attention = attention_of(pool);
    if (pool->fork_generation != dsql_fork_generation || attention & DSQL_POOL_CLOSED)
        return DSQL_CLOSED;
    found = (attention & ~DSQL_POOL_RECALL) == 0
                ? dsql_checkout_take(pool, &dsql_visitor_self()->hint)
                : NULL;
    if (!found)
        return DSQL_EMPTY;
    *conn = hand_out(found);
    return DSQL_OK;
}

void dsql_checkout_join(struct dsql_checkout_ticket *ticket, struct dsql_waker *waker)
{
    ticket->waiter.waker = waker;
    atomic_fetch_add_explicit(&ticket->pool->line.waits, 1, memory_order_relaxed);
    dsql_waiters_join(ticket->pool, &ticket->waiter, &ticket->cancelled);
}

bool dsql_checkout_is_settled(const struct dsql_checkout_ticket *ticket)
{
    return atomic_load_explicit(&ticket->waiter.state, memory_order_acquire) != DSQL_WAITER_WAITS;
}

enum dsql_rc dsql_checkout_collect(struct dsql_checkout_ticket *ticket, int64_t waited_ns,
                                   struct dsql_conn **conn, struct dsql_err *err)
{
    struct dsql_pool *pool = ticket->pool;
    enum dsql_rc rc = dsql_waiters_leave(pool, &ticket->waiter);
    if (pool->metrics && waited_ns > 0) {
        dsql_counter_add(pool->metrics, DSQL_SERIES(pool_wait), 1);
        dsql_histogram_record(pool->metrics, DSQL_SERIES(pool_wait_duration), (uint64_t)waited_ns);
    }
    if (!rc)
        *conn = hand_out(ticket->waiter.conn);
    else if (waited_ns == 0)
        (void)dsql_err_set(err, rc, "the checkout was cancelled");
    else
        rc = rc == DSQL_EMPTY ? explain_empty(pool, waited_ns, err) : refuse(pool, err);
    return rc;
}

PGconn *dsql_conn_pg(const struct dsql_conn *handle)
{
    struct dsql_conn *conn = dsql_conn_of(handle);
    uint64_t turns = atomic_load_explicit(&conn->turns, memory_order_relaxed);
    assert(dsql_conn_is_out(conn, handle, turns)); /* used after its return? */
    return conn->pg;
}

/* With state_lock held, which it gives up. The opener has ended: the caller closes the connection
 * itself, and the last one to do so frees the pool. */
static void discard_orphan(struct dsql_pool *pool, struct dsql_conn *conn)
{
    PGconn *pg = conn->pg;
    conn->pg = NULL;
    (void)dsql_pool_tell(
        pool, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_DISCARD_NOW, .slot = conn->slot});
    dsql_unlock(&pool->state_lock);
    PQfinish(pg);
    dsql_lock(&pool->state_lock);
    (void)dsql_pool_tell(
        pool, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_CLOSED, .slot = conn->slot});
    bool last = dsql_pool_has_no_owner(pool);
    dsql_unlock(&pool->state_lock);
    if (last) {
        dsql_visitor_leave(dsql_visitor_self());
        dsql_pool_free(pool);
    }
}

/* Discards a connection that the caller owns. */
static void discard_owned(struct dsql_pool *pool, struct dsql_conn *conn, enum dsql_discard why)
{
    dsql_lock(&pool->state_lock);
    if (pool->ending.stopped) {
        discard_orphan(pool, conn);
        return;
    }
    dsql_opener_discard(pool, conn, why);
    dsql_unlock(&pool->state_lock);
    dsql_opener_wake(pool);
}

/* The budget has shrunk: whether this one has to go. */
static bool is_recalled(struct dsql_pool *pool)
{
    dsql_lock(&pool->state_lock);
    bool recalled = pool->recall > 0;
    if (recalled && --pool->recall == 0)
        atomic_fetch_and_explicit(&pool->fast.attention, ~DSQL_POOL_RECALL, memory_order_seq_cst);
    dsql_unlock(&pool->state_lock);
    return recalled;
}

/* The connection is in the ready set; a waiter, a recall or a drain has to be served. */
static SLOW void look_after(struct dsql_pool *pool, struct dsql_conn *conn)
{
    if (!(attention_of(pool) & DSQL_POOL_CLOSED))
        dsql_waiters_match(pool);
    else if (dsql_ready_set_claim(&pool->fast.ready, conn->slot))
        discard_owned(pool, conn, DSQL_DISCARD_DRAIN);
}

static SLOW void offer_slowly(struct dsql_pool *pool, struct dsql_conn *conn, uint32_t attention)
{
    bool draining = attention & DSQL_POOL_CLOSED;
    enum dsql_discard why;
    if (dsql_handout_is_called_back(
            draining, !draining && (attention & DSQL_POOL_RECALL) && is_recalled(pool), &why)) {
        discard_owned(pool, conn, why);
    } else if (!dsql_waiters_serve(pool, conn)) {
        dsql_ready_set_put(&pool->fast.ready, conn->slot);
        if (attention_of(pool) != 0)
            look_after(pool, conn);
    }
}

static SLOW bool discard_if_old(struct dsql_pool *pool, struct dsql_conn *conn)
{
    enum dsql_discard why;
    if (may_still_serve(conn, DSQL_DISCARD_EXPIRED_ON_RETURN, &why))
        return false;
    discard_owned(pool, conn, why);
    return true;
}

/* The caller is a visitor of the pool. */
static inline void offer(struct dsql_pool *pool, struct dsql_conn *conn)
{
    if (unlikely(!is_far_from_its_end(pool, conn)) && discard_if_old(pool, conn))
        return;
    uint32_t attention = attention_of(pool);
    if (unlikely(attention != 0)) {
        offer_slowly(pool, conn, attention);
        return;
    }
    dsql_ready_set_put(&pool->fast.ready, conn->slot);
    if (unlikely(attention_of(pool) != 0))
        look_after(pool, conn);
}

void dsql_checkout_offer(struct dsql_pool *pool, struct dsql_conn *conn)
{
    struct dsql_visitor *visitor = dsql_visitor_self();
    dsql_visitor_enter(visitor, pool);
    offer(pool, conn);
    dsql_visitor_leave(visitor);
}

static SLOW void discard_unclean(struct dsql_pool *pool, struct dsql_conn *conn)
{
    bool broken = PQtransactionStatus(conn->pg) == PQTRANS_UNKNOWN;
    discard_owned(pool, conn, broken ? DSQL_DISCARD_BROKEN : DSQL_DISCARD_DIRTY_RETURN);
}

/* In a forked child a handle is the parent's. */
static inline bool is_of_this_process(const struct dsql_conn *handle)
{
    return dsql_conn_of(handle)->pool->fork_generation == dsql_fork_generation;
}

void dsql_pool_return(struct dsql_conn *handle)
{
    if (unlikely(!handle || !is_of_this_process(handle)))
        return;
    struct dsql_conn *conn = take_back(handle);
    struct dsql_pool *pool = conn->pool;
    struct dsql_visitor *visitor = dsql_visitor_self();
    dsql_visitor_enter(visitor, pool);
    if (likely(PQtransactionStatus(conn->pg) == PQTRANS_IDLE &&
               PQpipelineStatus(conn->pg) == PQ_PIPELINE_OFF))
        offer(pool, conn);
    else
        discard_unclean(pool, conn);
    dsql_visitor_leave(visitor);
}

void dsql_pool_discard_as(struct dsql_conn *handle, enum dsql_discard reason)
{
    if (!handle || !is_of_this_process(handle))
        return;
    assert((unsigned)reason < DSQL_DISCARDS);
    struct dsql_conn *conn = take_back(handle);
    struct dsql_pool *pool = conn->pool;
    struct dsql_visitor *visitor = dsql_visitor_self();
    dsql_visitor_enter(visitor, pool);
    discard_owned(pool, conn, reason);
    dsql_visitor_leave(visitor);
}

void dsql_pool_discard(struct dsql_conn *handle)
{
    dsql_pool_discard_as(handle, DSQL_DISCARD_BROKEN);
}
