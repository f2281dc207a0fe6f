/* Sockets to be connected to, on this machine only. Both do not block and are closed by exec. */
#ifndef DSQL_NET_LISTEN_H
#define DSQL_NET_LISTEN_H

#include <sys/stat.h>

#include "base/defs.h"
#include "dsql/err.h"

/* 127.0.0.1; *port 0: any, the chosen one afterwards. */
DSQL_MUST_USE enum dsql_rc dsql_listen_loopback(uint16_t *port, int backlog, int *fd,
                                                struct dsql_err *err);

/* A Unix socket with these permissions from its first moment; what is at the path is removed. */
DSQL_MUST_USE enum dsql_rc dsql_listen_unix(const char *path, mode_t mode, int backlog, int *fd,
                                            struct dsql_err *err);

struct sockaddr_un;
/* False if the path is too long. */
DSQL_MUST_USE bool dsql_unix_address(const char *path, struct sockaddr_un *address);

#endif
