/*
 * A pool that is none, for tests of the proxy: its connections are socket pairs. The functions of
 * the pool and of libpq that the proxy calls are wrapped at link time (cmake/tests.cmake).
 */
#ifndef DSQL_TESTS_FAKE_POOL_H
#define DSQL_TESTS_FAKE_POOL_H

#include <libpq-events.h>

#include "proxy/proxy.h"

/* A connection; it stands for PGconn and dsql_conn. */
struct fake_conn {
    int near, far; /* what the proxy has, and where the test serves */
    bool lent;
    PGEventProc closes;
    void *instance; /* what the proxy knows of it: a dsql_server, or NULL */
};

/* What a test does about them; all three are set. */
struct fake_pool {
    struct fake_conn *(*take)(void); /* one that is not lent; NULL: none */
    void (*returned)(struct fake_conn *conn);
    void (*discarded)(struct fake_conn *conn); /* ends it, and may begin it anew */
};
extern struct fake_pool fake_pool;

/* Two ends of a socket that does not wait. */
void fake_pair(int *near, int *far);
void fake_conn_begin(struct fake_conn *conn);
void fake_conn_end(struct fake_conn *conn);

/* A proxy before one pool, without listeners. Each parameter of a fresh connection is "v". */
void fake_proxy_begin(struct dsql_proxy *proxy, const struct dsql_proxy_options *options,
                      struct dsql_pool *pool, struct dsql_log *log);
/* A client that has connected; *far is its own end. */
struct dsql_client *fake_client_begin(struct dsql_proxy *proxy, int *far);
/* It has logged in. */
void fake_client_admit(struct dsql_client *client, struct dsql_settings *settings);

#endif
