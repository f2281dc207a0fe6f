/* Descriptors that one process hands to another over a Unix socket. */
#ifndef DSQL_NET_PASS_H
#define DSQL_NET_PASS_H

#include "base/defs.h"

enum { DSQL_PASS_MAX = 4 };

/* Sends one byte and the descriptors with it, which stay the caller's too. False: the socket is
 * closed or full. */
bool dsql_pass_send(int socket, char byte, const int *fds, size_t count);

/* Waits for one byte and what came with it: descriptors that are the caller's, closed by exec.
 * False: the socket was closed, or its timeout is over. */
DSQL_MUST_USE bool dsql_pass_receive(int socket, char *byte, int fds[DSQL_PASS_MAX], size_t *count);

#endif
