/*
 * pool: the threads around core. Callers check connections out of the ready set without a lock; one
 * *opener* thread for each pool does everything slow: permits, tokens, connects, closing, watching
 * idle sockets.
 *
 *     options.c       what a pool is told, from the environment
 *     pool.c          opening and closing; the pools of this process; fork
 *     checkout.c      the hot path: checkout, return, discard
 *     waiters.c       those who wait, first come first served
 *     visitors.c      threads that are inside a return at this moment
 *     opener.c        the opener's loop: what core's keeper says is carried out
 *     attempt.c       an attempt to connect: progress, and what its end means for the pool
 *     connect.c       what libpq is told, and what its words mean
 *     resolver.c      names to addresses, apart from the opener
 *     roots.c         a small file of trusted roots
 *     stats.c         what the pool says about itself
 *     pulse.c         whether the database answers transactions
 *     trace.c         the flight recorder of what the keeper is told and says
 *
 * Words are those of core/keeper.h and core/slots.h. A struct dsql_conn is a slot with the
 * connection in it. What a caller gets is a *handle*: the address of the slot plus the number of
 * the checkout, modulo 64, in the six low bits that the alignment leaves. A handle ends with its
 * return; it is never dereferenced.
 *
 * Who may touch what: `state_lock` guards the keeper, the budget's handle and everything marked
 * (S); the opener holds it for core's decisions, never during a system call. `line.lock` guards the
 * queue of waiters (W), and no system call is made under it either. What is marked (O) is the
 * opener's alone. The hot path takes no lock. Neither lock is taken while the other is held.
 *
 * Who frees what: docs/architecture.md.
 *
 * Time is that of `clock`, the machine's unless a test owns it: a machine that slept finds its
 * connections old.
 */
#ifndef DSQL_POOL_POOL_H
#define DSQL_POOL_POOL_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include "aws/token_cache.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/queue.h"
#include "budget/budget.h"
#include "core/keeper.h"
#include "core/ready_set.h"
#include "dsql/pool.h"
#include "metrics/metrics.h"
#include "pool/pulse.h"
#include "pool/resolver.h"
#include "pool/trace.h"

struct dsql_conn {
    /* What checkout and return look at. */
    _Alignas(DSQL_CACHE_LINE) PGconn *pg;
    struct dsql_pool *pool;
    _Atomic int64_t usable_until; /* ns; or DSQL_HANDOUT_HUNG_UP */
    _Atomic uint64_t turns; /* checkouts and returns of the slot; odd: checked out. Written by its
                               holder, never set back: handles of earlier connections end too */
    uint32_t slot;
    uint8_t why;
    int64_t dies_at;
    /* The opener's. */
    struct dsql_conn *next;       /* in the list of those discarded (S), or of work (O) */
    struct dsql_keeper_step step; /* (O) what the keeper said last */
    int fd;                       /* (O) watched; -1: none */
    uint32_t watched;             /* (O) events */
    uint32_t generation;          /* (O) of the slot: events of earlier ones are stale */
    int backend_pid;              /* (S) */
    uint64_t uses_before;         /* (S) checkouts of the slot's earlier connections */
};
static_assert(_Alignof(struct dsql_conn) >= DSQL_CACHE_LINE && DSQL_CACHE_LINE >= 64,
              "a handle has six bits for the number of its checkout");

enum dsql_waiter_state { DSQL_WAITER_WAITS, DSQL_WAITER_SERVED, DSQL_WAITER_SENT_AWAY };

/* Tells an event loop, whose waiters do not sleep, that one need not wait any more. Called by any
 * thread, with no lock held, perhaps after the waiter is gone; outlives all its waiters. */
struct dsql_waker {
    void (*wake)(struct dsql_waker *waker);
};

struct dsql_waiter {
    struct dsql_queue_node node; /* (W) */
    _Atomic uint32_t state;      /* a futex; changes once, under line.lock */
    struct dsql_conn *conn;      /* when served */
    struct dsql_waker *waker;    /* NULL: a thread sleeps on the futex */
};

/* In `attention`: these flags above the number of waiters. Zero: nothing to look after. */
#define DSQL_POOL_CLOSED (UINT32_C(1) << 31) /* draining */
#define DSQL_POOL_RECALL (UINT32_C(1) << 30) /* the budget has shrunk: returns are closed */

/* Connect failures of one kind, which are logged together in one line. (S) */
struct dsql_failure_log {
    bool pending;
    enum dsql_connect_class cls;
    unsigned attempts;
    struct dsql_mono log_at;
    struct dsql_pool_error error;
    int64_t retry_ns;
};

/* What every checkout and return looks at; no lock. */
struct dsql_pool_fast {
    /* Written by the opener once a turn: the moment from which on a connection's end is near enough
     * to look at the clock. */
    _Alignas(DSQL_CACHE_LINE) _Atomic int64_t near_ns;
    _Alignas(DSQL_CACHE_LINE) _Atomic uint32_t attention;
    struct dsql_ready_set ready; /* the members of the set are written once */
};

/* The callers for whom no connection was ready. The counts are read without a lock. */
struct dsql_pool_line {
    _Alignas(DSQL_CACHE_LINE) pthread_mutex_t lock;
    struct dsql_queue waiting; /* (W) */
    _Atomic uint32_t inside;   /* threads in the slow part of checkout */
    _Atomic uint64_t waits, empties;
};

/* Connections in the order in which they came, linked by their `next`: each is in one list. */
struct dsql_conn_list {
    struct dsql_conn *first, *last;
    uint32_t count;
};

/* (S) How far the pool's end has come. */
struct dsql_pool_ending {
    bool draining; /* no checkout succeeds any more */
    bool stopping; /* the opener is asked to end */
    bool stopped;  /* the opener closes nothing any more: callers do */
    bool closed;   /* the last dsql_pool_close() needs the pool no longer */
};

/* (S) What stats, metrics and log say of the past. */
struct dsql_pool_tally {
    uint64_t uses_gone; /* checkouts of connections that are closed */
    uint64_t opens, failures, attempts;
    uint64_t discards[DSQL_DISCARDS];
    uint32_t opens_by_second[DSQL_POOL_SECONDS];     /* a ring */
    int64_t second;                                  /* of the ring's newest entry */
    struct dsql_pool_error errors[DSQL_POOL_ERRORS]; /* the latest first; age_ns is the moment */
    size_t error_count;
    struct dsql_failure_log failure_log;
    bool troubled; /* a failure was logged since the last success */
};

/* (O) The opener's thread and what it alone uses; other threads wake it through `event`. */
struct dsql_pool_opener {
    pthread_t thread;
    int epoll, event;
    _Atomic bool wake_pending;
    int64_t needed; /* slots, as the budget was told last */
    struct dsql_mono sampled_at;
    uint64_t uses_reported;
    uint32_t look_at;               /* the next idle socket to look at */
    struct dsql_resolver *resolver; /* NULL: the address is given */
    struct dsql_token_cache *tokens;
};

/* What the pool connects to, and with which credentials; does not change after the opening. */
struct dsql_pool_target {
    char host[256], port_text[8], region[64];
    int port;
    char key[512]; /* pools with the same key are one pool */
    char ca_path[256];
    int ca_fd;                            /* of the small trust file; -1: none */
    struct dsql_credentials *credentials; /* credentials that the pool made itself, or NULL */
};

/* The pool's place among those of this process; guarded by pool.c's list_lock. */
struct dsql_pool_listed {
    struct dsql_pool *next;
    unsigned handles; /* opens that have not been closed */
};

struct dsql_pool {
    /* Set by the opening; only what is in the connections changes. */
    struct dsql_conn *conns; /* one for each slot */
    struct dsql_pool_options options;
    struct dsql_metrics *metrics;
    const struct dsql_clock *clock;
    unsigned fork_generation;
    struct dsql_pulse pulse; /* has its own lock */

    struct dsql_pool_fast fast;
    struct dsql_pool_line line;

    pthread_mutex_t state_lock;
    pthread_cond_t progress;         /* of opening and of draining */
    struct dsql_keeper keeper;       /* (S) written by the opener alone, until it has stopped */
    struct dsql_trace *trace;        /* (S) NULL: nothing is recorded */
    struct dsql_budget *budget;      /* (S) */
    int64_t recall;                  /* (S) returns still to be closed */
    struct dsql_conn_list discarded; /* (S) by callers; the keeper has not been told */
    struct dsql_pool_ending ending;
    struct dsql_pool_tally tally;

    struct dsql_pool_opener opener;
    struct dsql_pool_target target;
    struct dsql_pool_listed listed;
};

static inline void dsql_conn_list_add(struct dsql_conn_list *list, struct dsql_conn *conn)
{
    conn->next = NULL;
    *(list->last ? &list->last->next : &list->first) = conn;
    list->last = conn;
    list->count++;
}

/* With state_lock held: how often this connection was checked out. */
static inline uint64_t dsql_conn_uses(const struct dsql_conn *conn)
{
    return (atomic_load_explicit(&conn->turns, memory_order_relaxed) + 1) / 2 - conn->uses_before;
}

#define DSQL_HANDLE_NUMBERS UINT64_C(64)

/* The handle of the checkout that made `turns` what they are. */
static inline struct dsql_conn *dsql_conn_handle(struct dsql_conn *conn, uint64_t turns)
{
    return (struct dsql_conn *)((uintptr_t)conn | (turns / 2 % DSQL_HANDLE_NUMBERS));
}

/* The slot of a handle. */
static inline struct dsql_conn *dsql_conn_of(const struct dsql_conn *handle)
{
    return (struct dsql_conn *)((uintptr_t)handle & ~(uintptr_t)(DSQL_HANDLE_NUMBERS - 1));
}

/* Whether the handle's checkout still lasts. An older handle of the slot passes only if the two
 * checkouts are a multiple of 64 apart. */
static inline bool dsql_conn_is_out(struct dsql_conn *conn, const struct dsql_conn *handle,
                                    uint64_t turns)
{
    return (turns & 1) != 0 && dsql_conn_handle(conn, turns) == handle;
}

/* With state_lock held. A pool's memory belongs to the handles, until the last is closed, and to
 * every connection that is not EMPTY. True once, for the thread that took the last of them away:
 * that thread frees the pool. */
static inline bool dsql_pool_has_no_owner(const struct dsql_pool *pool)
{
    return pool->ending.closed && dsql_slots_held(&pool->keeper.slots) == 0;
}

/* With state_lock held. Whatever changes the keeper goes through here, so that a recording holds
 * it.
 */
static inline struct dsql_keeper_reply dsql_pool_tell(struct dsql_pool *pool,
                                                      struct dsql_keeper_call call)
{
    struct dsql_keeper_reply reply;
    dsql_trace_call(pool->trace, &pool->keeper, &call, &reply);
    return reply;
}

/* With state_lock held: the budget learns how many slots are in use. */
static inline void dsql_pool_tell_used(struct dsql_pool *pool)
{
    dsql_budget_used(pool->budget, dsql_slots_held(&pool->keeper.slots));
}

/* opener.c */
/* Makes what dsql_opener_wake() needs: called before any other part learns how to wake the opener.
 */
DSQL_MUST_USE enum dsql_rc dsql_opener_init(struct dsql_pool *pool, struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_opener_start(struct dsql_pool *pool, struct dsql_err *err);
void dsql_opener_wake(struct dsql_pool *pool);
/* Stops it: afterwards every slot is EMPTY or an orphan. */
void dsql_opener_stop(struct dsql_pool *pool);

/* With state_lock held: an open slot that the caller owns has to be closed; the opener is told of
 * it when it is woken. */
void dsql_opener_discard(struct dsql_pool *pool, struct dsql_conn *conn, enum dsql_discard why);

/* connect.c */
struct dsql_connect_report {
    enum dsql_connect_class cls;
    enum dsql_rc rc;
    char sqlstate[6];
    char message[256], hint[256];
};
/* Starts to connect; conn->pg is NULL if not even that worked. */
void dsql_connect_start(struct dsql_pool *pool, struct dsql_conn *conn,
                        const struct dsql_secret *token, const char *address);
/* Closes the connection, if there is one; politely: the server is told. */
void dsql_connect_finish(struct dsql_conn *conn, bool politely);
/* Why the connect failed; error_number, if not 0, is a reason that counts more than libpq's. */
void dsql_connect_explain(const PGconn *pg, bool timed_out, int error_number,
                          struct dsql_connect_report *report);
/* The parts of libpq's text; for connect.c and its tests. */
void dsql_connect_parse(const char *text, struct dsql_connect_report *report);

/* waiters.c */
static inline uint32_t dsql_waiters_count(const struct dsql_pool *pool)
{
    return atomic_load_explicit(&pool->fast.attention, memory_order_seq_cst) &
           ~(DSQL_POOL_CLOSED | DSQL_POOL_RECALL);
}
/* Gives the connection, which the caller owns, to the longest waiter; false if there is none. */
bool dsql_waiters_serve(struct dsql_pool *pool, struct dsql_conn *conn);
/* Serves those who wait as far as there are ready connections. */
void dsql_waiters_match(struct dsql_pool *pool);
/* Ends the wait of this waiter, if it still waits; NULL: of all waiters. */
void dsql_waiters_send_away(struct dsql_pool *pool, struct dsql_waiter *waiter);
/* Joins the queue. The thread that ends the wait calls the waker, if there is one. */
void dsql_waiters_join(struct dsql_pool *pool, struct dsql_waiter *waiter,
                       const _Atomic bool *cancelled);
/* Leaves the queue, if it is still there, and says how the wait ended: as dsql_waiters_wait(). */
enum dsql_rc dsql_waiters_leave(struct dsql_pool *pool, struct dsql_waiter *waiter);
/* Waits for its turn: DSQL_OK, DSQL_EMPTY after wait_ns, DSQL_CLOSED when sent away. */
enum dsql_rc dsql_waiters_wait(struct dsql_pool *pool, struct dsql_waiter *waiter, int64_t wait_ns,
                               const _Atomic bool *cancelled);

/* checkout.c */
/* Makes a connection available that the caller owns: to a waiter, or to the ready set. */
void dsql_checkout_offer(struct dsql_pool *pool, struct dsql_conn *conn);
/* Any ready connection that may be handed out, or NULL; those that may not are discarded. */
struct dsql_conn *dsql_checkout_take(struct dsql_pool *pool, uint32_t *hint);

/*
 * A checkout that another thread can interrupt. The ticket lives until the checkout has returned
 * and no thread will cancel it any more.
 */
struct dsql_checkout_ticket {
    struct dsql_pool *pool;
    struct dsql_waiter waiter;
    _Atomic bool cancelled;
};
void dsql_checkout_ticket_init(struct dsql_checkout_ticket *ticket, struct dsql_pool *pool);
/* As dsql_pool_discard(), for another reason. */
void dsql_pool_discard_as(struct dsql_conn *conn, enum dsql_discard reason);

/* As dsql_pool_checkout(); DSQL_CANCELLED if the ticket is cancelled before or meanwhile. */
DSQL_MUST_USE enum dsql_rc dsql_checkout_with(struct dsql_checkout_ticket *ticket, int64_t wait_ns,
                                              struct dsql_conn **conn, struct dsql_err *err);
/* From any thread. */
void dsql_checkout_cancel(struct dsql_checkout_ticket *ticket);

/*
 * The same for an event loop, which must not sleep. Try; if that is DSQL_EMPTY, join the line with
 * a ticket; once the waker was called and the ticket is settled, or when the caller has had enough,
 * collect. Between join and collect the ticket stays where it is.
 */
/* DSQL_EMPTY: none is ready or others wait; nothing is logged or counted for it. */
DSQL_MUST_USE enum dsql_rc dsql_checkout_try(struct dsql_pool *pool, struct dsql_conn **conn);
void dsql_checkout_join(struct dsql_checkout_ticket *ticket, struct dsql_waker *waker);
bool dsql_checkout_is_settled(const struct dsql_checkout_ticket *ticket);
/* Leaves the line with a connection, or as dsql_pool_checkout() after waited_ns. 0: the caller has
 * lost interest, nothing is logged or counted. */
DSQL_MUST_USE enum dsql_rc dsql_checkout_collect(struct dsql_checkout_ticket *ticket,
                                                 int64_t waited_ns, struct dsql_conn **conn,
                                                 struct dsql_err *err);

/* stats.c */
/* With state_lock held. */
void dsql_stats_note_failure(struct dsql_pool *pool, const struct dsql_connect_report *report,
                             struct dsql_mono now);
void dsql_stats_note_open(struct dsql_pool *pool, struct dsql_mono now);
/* Once a second: gauges and the counter of checkouts. */
void dsql_stats_sample(struct dsql_pool *pool);

/* pool.c */
/* The memory, when it has no owner any more; the calling thread is no visitor. */
void dsql_pool_free(struct dsql_pool *pool);

#endif
