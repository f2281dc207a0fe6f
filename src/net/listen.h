/* Sockets to be connected to. They do not block and are closed by exec. */
#ifndef DSQL_NET_LISTEN_H
#define DSQL_NET_LISTEN_H

#include <sys/stat.h>

#include "base/defs.h"
#include "dsql/err.h"

/* 127.0.0.1; *port 0: any, the chosen one afterwards. */
DSQL_MUST_USE enum dsql_rc dsql_listen_loopback(uint16_t *port, int backlog, int *fd,
                                                struct dsql_err *err);

/* A numeric address, IPv4 or IPv6; *port as above. */
DSQL_MUST_USE enum dsql_rc dsql_listen_tcp(const char *address, uint16_t *port, int backlog,
                                           int *fd, struct dsql_err *err);

struct sockaddr;
/* Whether what is sent to the address stays on this machine: 127.0.0.0/8, ::1, a Unix socket. */
bool dsql_address_is_local(const struct sockaddr *address);
/* The port of an IPv4 or IPv6 address, else 0. */
uint16_t dsql_address_port(const struct sockaddr *address);

/* A Unix socket with these permissions from its first moment; what is at the path is removed. */
DSQL_MUST_USE enum dsql_rc dsql_listen_unix(const char *path, mode_t mode, int backlog, int *fd,
                                            struct dsql_err *err);

struct sockaddr_un;
/* False if the path is too long. */
DSQL_MUST_USE bool dsql_unix_address(const char *path, struct sockaddr_un *address);

#endif
