/*
 * Threads that are inside a return at this moment. A return gives the connection away and then
 * still looks at the pool's waiters; a pool that another thread closes between the two must not be
 * freed under it. So each thread writes down, with a plain store into memory of its own, which pool
 * it is in. The thread that frees a pool waits until no thread has that pool written down.
 *
 * Order: the visitor's store comes before the sequentially consistent write that gives the
 * connection away. The thread that frees has seen that write (it has the connection), so it sees
 * the store.
 */
#ifndef DSQL_POOL_VISITORS_H
#define DSQL_POOL_VISITORS_H

#include <stdatomic.h>

#include "base/defs.h"

struct dsql_pool;

/* One for each thread; linked into a list on first use, taken out when the thread ends. */
struct dsql_visitor {
    struct dsql_visitor *next, *prev;
    _Atomic(struct dsql_pool *) in;
    uint32_t hint;  /* the slot this thread had last */
    uint32_t count; /* of its checkouts */
    bool known;
};

extern _Thread_local struct dsql_visitor dsql_visitor __attribute__((tls_model("initial-exec")));

void dsql_visitor_register(void);

static inline struct dsql_visitor *dsql_visitor_self(void)
{
    if (__builtin_expect(!dsql_visitor.known, 0))
        dsql_visitor_register();
    return &dsql_visitor;
}

static inline void dsql_visitor_enter(struct dsql_visitor *visitor, struct dsql_pool *pool)
{
    atomic_store_explicit(&visitor->in, pool, memory_order_relaxed);
}

static inline void dsql_visitor_leave(struct dsql_visitor *visitor)
{
    atomic_store_explicit(&visitor->in, NULL, memory_order_release);
}

/* Returns when no thread is inside this pool. */
void dsql_visitors_wait(struct dsql_pool *pool);

#endif
