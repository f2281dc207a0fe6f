#include "tx/cancel.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/link.h"
#include "base/lock.h"

struct dsql_cancel {
    _Atomic bool fired;
    int fd; /* never read from, so that every thread that polls it sees it readable */
    /* Held while they are told: what a watcher does may take the pool's line.lock, never this. */
    pthread_mutex_t lock;
    struct dsql_cancel_watch *watches;
};

enum dsql_rc dsql_cancel_new(struct dsql_cancel **cancel, struct dsql_err *err)
{
    struct dsql_cancel *c = malloc(sizeof(*c));
    if (!c)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for a cancel handle");
    atomic_init(&c->fired, false);
    c->watches = NULL;
    c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->fd < 0) {
        int error = errno;
        free(c);
        return dsql_err_set(err, DSQL_IO, "no descriptor for a cancel handle: %s", strerror(error));
    }
    pthread_mutex_init(&c->lock, NULL);
    *cancel = c;
    return DSQL_OK;
}

void dsql_cancel_fire(struct dsql_cancel *cancel)
{
    /* Once is enough, and a counter that is full would refuse anyway. */
    if (atomic_exchange(&cancel->fired, true))
        return;
    ssize_t written;
    do
        written = write(cancel->fd, &(uint64_t){1}, sizeof(uint64_t));
    while (written < 0 && errno == EINTR);
    dsql_lock(&cancel->lock);
    for (struct dsql_cancel_watch *w = cancel->watches; w; w = w->next)
        w->fired(w->arg);
    dsql_unlock(&cancel->lock);
}

void dsql_cancel_watch(struct dsql_cancel *cancel, struct dsql_cancel_watch *watch)
{
    if (!cancel)
        return;
    dsql_lock(&cancel->lock);
    DSQL_LINK(cancel->watches, watch);
    /* The thread that cancels sets the flag first and then takes the lock: it sees this watch, or
     * this thread sees the flag. If both do, the watch is told twice, which does no harm. */
    if (atomic_load(&cancel->fired))
        watch->fired(watch->arg);
    dsql_unlock(&cancel->lock);
}

void dsql_cancel_unwatch(struct dsql_cancel *cancel, struct dsql_cancel_watch *watch)
{
    if (!cancel)
        return;
    dsql_lock(&cancel->lock);
    DSQL_UNLINK(cancel->watches, watch);
    dsql_unlock(&cancel->lock);
}

bool dsql_cancel_fired(const struct dsql_cancel *cancel)
{
    return cancel && atomic_load(&cancel->fired);
}

int dsql_cancel_fd(const struct dsql_cancel *cancel)
{
    return cancel ? cancel->fd : -1;
}

void dsql_cancel_destroy(struct dsql_cancel *cancel)
{
    if (!cancel)
        return;
    pthread_mutex_destroy(&cancel->lock);
    close(cancel->fd);
    free(cancel);
}
