#include "tx/cancel.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct dsql_cancel {
    _Atomic bool fired;
    int fd; /* never read from, so that it stays readable for everybody */
};

enum dsql_rc dsql_cancel_new(struct dsql_cancel **cancel, struct dsql_err *err)
{
    struct dsql_cancel *c = malloc(sizeof(*c));
    if (!c)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for a cancel handle");
    atomic_init(&c->fired, false);
    c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->fd < 0) {
        int error = errno;
        free(c);
        return dsql_err_set(err, DSQL_IO, "no descriptor for a cancel handle: %s", strerror(error));
    }
    *cancel = c;
    return DSQL_OK;
}

void dsql_cancel_fire(struct dsql_cancel *cancel)
{
    /* Once is enough, and a counter that is full would refuse anyway. */
    if (atomic_exchange(&cancel->fired, true))
        return;
    int error = errno; /* it may be a signal handler's caller's */
    ssize_t written;
    do
        written = write(cancel->fd, &(uint64_t){1}, sizeof(uint64_t));
    while (written < 0 && errno == EINTR);
    errno = error;
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
    close(cancel->fd);
    free(cancel);
}
