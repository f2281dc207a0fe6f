#include "pool/visitors.h"

#include <pthread.h>
#include <sched.h>

#include "base/fork.h"
#include "base/link.h"
#include "base/lock.h"

_Thread_local struct dsql_visitor dsql_visitor __attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dsql_visitor *visitors;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void unregister(void *arg)
{
    struct dsql_visitor *visitor = arg;
    dsql_lock(&lock);
    DSQL_UNLINK(visitors, visitor);
    dsql_unlock(&lock);
    visitor->known = false;
}

/* In a forked child only the thread that forked exists. */
static void after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh;
    visitors = NULL;
    dsql_visitor.known = false;
}

static void start(void)
{
    int failed = pthread_key_create(&key, unregister);
    assert(!failed); /* a process has 1,024 of them */
    (void)failed;
    dsql_fork_watch(after_fork);
}

void dsql_visitor_register(void)
{
    pthread_once(&once, start);
    struct dsql_visitor *self = &dsql_visitor;
    int failed = pthread_setspecific(key, self);
    assert(!failed); /* needs no memory for the first keys of a process */
    (void)failed;
    dsql_lock(&lock);
    DSQL_LINK(visitors, self);
    static uint32_t spread;
    self->hint = spread++; /* threads start at different slots */
    dsql_unlock(&lock);
    self->known = true;
}

void dsql_visitors_wait(struct dsql_pool *pool)
{
    for (;;) {
        bool inside = false;
        dsql_lock(&lock);
        for (struct dsql_visitor *v = visitors; v && !inside; v = v->next)
            inside = atomic_load_explicit(&v->in, memory_order_acquire) == pool;
        dsql_unlock(&lock);
        if (!inside)
            return;
        sched_yield();
    }
}
