/*
 * The callers that wait for a connection, first come first served. Each sleeps on a futex of its
 * own in its own stack frame and is handed a connection directly, so no waiter is woken in vain and
 * no caller overtakes one: while there are waiters `attention` is not zero, and then a checkout
 * does not take from the ready set but queues up.
 *
 * No waiter sleeps while a connection is ready: see core/ready_set.h. A waiter counts itself in
 * `attention` and then looks once more; a thread that made a connection ready looks at `attention`
 * afterwards.
 *
 * A futex is woken after the waiter was taken out of the queue and told its state. By then the
 * waiter may be gone and its stack frame be something else: a wake that hits nothing, or another
 * futex, whose thread looks at its own state again, does no harm.
 */
#include "base/lock.h"
#include "pool/pool.h"

/* With line.lock held. */
static struct dsql_waiter *first_waiter(const struct dsql_pool *pool)
{
    struct dsql_queue_node *node = dsql_queue_first(&pool->line.waiting);
    return node ? DSQL_CONTAINER_OF(node, struct dsql_waiter, node) : NULL;
}

static void unlink_waiter(struct dsql_pool *pool, struct dsql_waiter *waiter)
{
    dsql_queue_leave(&waiter->node);
    atomic_fetch_sub_explicit(&pool->fast.attention, 1, memory_order_seq_cst);
}

static void link_waiter(struct dsql_pool *pool, struct dsql_waiter *waiter)
{
    dsql_queue_join(&pool->line.waiting, &waiter->node);
    atomic_fetch_add_explicit(&pool->fast.attention, 1, memory_order_seq_cst);
}

/* Tells the waiter, or the first in the queue if it is NULL, how its wait ends, and wakes it; false
 * if there is none. What happens to a waiter happens once. After the lock is released the waiter
 * may be gone: only its address and its waker are used. */
static bool settle(struct dsql_pool *pool, struct dsql_waiter *which, enum dsql_waiter_state state,
                   struct dsql_conn *conn)
{
    dsql_lock(&pool->line.lock);
    struct dsql_waiter *waiter = which ? which : first_waiter(pool);
    bool there = waiter && waiter->node.queue;
    _Atomic uint32_t *futex = there ? &waiter->state : NULL;
    struct dsql_waker *waker = there ? waiter->waker : NULL;
    if (there) {
        unlink_waiter(pool, waiter);
        waiter->conn = conn;
        atomic_store_explicit(&waiter->state, state, memory_order_release);
    }
    dsql_unlock(&pool->line.lock);
    if (waker)
        waker->wake(waker);
    else if (futex)
        dsql_clock_wake_value(futex);
    return there;
}

bool dsql_waiters_serve(struct dsql_pool *pool, struct dsql_conn *conn)
{
    return settle(pool, NULL, DSQL_WAITER_SERVED, conn);
}

void dsql_waiters_match(struct dsql_pool *pool)
{
    uint32_t hint = 0;
    struct dsql_conn *conn;
    while (dsql_waiters_count(pool) != 0 && (conn = dsql_checkout_take(pool, &hint)) != NULL) {
        if (!dsql_waiters_serve(pool, conn))
            dsql_ready_set_put(&pool->fast.ready, conn->slot);
    }
}

void dsql_waiters_send_away(struct dsql_pool *pool, struct dsql_waiter *waiter)
{
    if (waiter)
        (void)settle(pool, waiter, DSQL_WAITER_SENT_AWAY, NULL);
    else
        while (settle(pool, NULL, DSQL_WAITER_SENT_AWAY, NULL))
            continue;
}

/* The opener opens more than its target for those who wait: it has to know of them. */
static void ask_for_more(struct dsql_pool *pool)
{
    dsql_lock(&pool->state_lock);
    bool helps = dsql_keeper_helps_waiting(&pool->keeper);
    dsql_unlock(&pool->state_lock);
    if (helps)
        dsql_opener_wake(pool);
}

void dsql_waiters_join(struct dsql_pool *pool, struct dsql_waiter *waiter,
                       const _Atomic bool *cancelled)
{
    atomic_store_explicit(&waiter->state, DSQL_WAITER_WAITS, memory_order_relaxed);
    dsql_lock(&pool->line.lock);
    link_waiter(pool, waiter);
    dsql_unlock(&pool->line.lock);
    /* Draining began between the last look and now: this waiter would never be sent away. */
    if (atomic_load_explicit(&pool->fast.attention, memory_order_seq_cst) & DSQL_POOL_CLOSED)
        dsql_waiters_send_away(pool, NULL);
    if (atomic_load_explicit(cancelled, memory_order_seq_cst))
        dsql_waiters_send_away(pool, waiter); /* cancelled between the last look and now */
    dsql_waiters_match(pool);
    if (atomic_load_explicit(&waiter->state, memory_order_acquire) == DSQL_WAITER_WAITS)
        ask_for_more(pool);
}

enum dsql_rc dsql_waiters_leave(struct dsql_pool *pool, struct dsql_waiter *waiter)
{
    dsql_lock(&pool->line.lock);
    if (waiter->node.queue)
        unlink_waiter(pool, waiter);
    uint32_t state = atomic_load_explicit(&waiter->state, memory_order_acquire);
    dsql_unlock(&pool->line.lock);
    return state == DSQL_WAITER_SERVED  ? DSQL_OK
           : state == DSQL_WAITER_WAITS ? DSQL_EMPTY
                                        : DSQL_CLOSED;
}

enum dsql_rc dsql_waiters_wait(struct dsql_pool *pool, struct dsql_waiter *waiter, int64_t wait_ns,
                               const _Atomic bool *cancelled)
{
    struct dsql_mono deadline = dsql_mono_add(dsql_clock_mono(pool->clock), wait_ns);
    dsql_waiters_join(pool, waiter, cancelled);
    while (atomic_load_explicit(&waiter->state, memory_order_acquire) == DSQL_WAITER_WAITS)
        if (!dsql_clock_wait_value(pool->clock, &waiter->state, DSQL_WAITER_WAITS, deadline))
            break;
    return dsql_waiters_leave(pool, waiter);
}
