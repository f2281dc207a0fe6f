/* Which user of this machine is at the other end of a connection, by the kernel's word. */
#ifndef DSQL_NET_PEER_H
#define DSQL_NET_PEER_H

#include <sys/types.h>

#include "base/defs.h"
#include "dsql/err.h"

/*
 * The user that opened the other end of an accepted Unix or loopback TCP connection. For TCP the
 * kernel is asked for the peer's socket (sock_diag), which exists only on this machine:
 * DSQL_UNSUPPORTED if the connection comes from elsewhere or the kernel can't tell.
 */
DSQL_MUST_USE enum dsql_rc dsql_peer_uid(int fd, uid_t *uid, struct dsql_err *err);

#endif
