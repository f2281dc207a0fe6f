/*
 * One proxy takes over from another without a client that is refused. The *old* process hands the
 * sockets that it listens on to the *new* one over a Unix socket; both accept from them until the
 * new one says that it can serve. Then the old one stops accepting, and ends once its clients are
 * gone.
 *
 *     new                      old
 *     connects          ->
 *                       <-     its listeners
 *     opens its pools
 *     "ready"           ->     closes its listeners and its Unix socket
 *                       <-     "done"
 *     listens for its own successor
 *
 * A new process that ends before it is ready changes nothing.
 */
#ifndef DSQL_PROXY_HANDOVER_H
#define DSQL_PROXY_HANDOVER_H

#include "dsql/err.h"
#include "net/loop.h"

struct dsql_proxy;

enum { DSQL_PROXY_LISTENERS = 2 };

/* The old process's side. */
struct dsql_handover {
    struct dsql_proxy *proxy;
    char path[108]; /* empty: no process can take over */
    struct dsql_watch listener, successor;
    bool done; /* a successor serves */
};

/* Listens for a successor at the path; what is there is removed. */
DSQL_MUST_USE enum dsql_rc dsql_handover_open(struct dsql_handover *handover,
                                              struct dsql_proxy *proxy, const char *path,
                                              struct dsql_err *err);
void dsql_handover_close(struct dsql_handover *handover);

/* The new process's side. Asks the process at the path for its listeners. *socket is what
 * dsql_handover_finish() needs, or -1 if no process answers. */
DSQL_MUST_USE enum dsql_rc dsql_handover_ask(const char *path, int fds[DSQL_PROXY_LISTENERS],
                                             size_t *count, int *socket, struct dsql_err *err);
/* This process serves; returns when the other one has stopped accepting, and closes the socket. */
void dsql_handover_finish(int socket);

#endif
