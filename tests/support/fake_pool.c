#include "support/fake_pool.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/link.h"

struct fake_pool fake_pool;

enum dsql_rc __wrap_dsql_checkout_try(struct dsql_pool *pool, struct dsql_conn **conn);
void __wrap_dsql_pool_return(struct dsql_conn *conn);
void __wrap_dsql_pool_discard(struct dsql_conn *conn);
void __wrap_dsql_pool_discard_as(struct dsql_conn *conn, enum dsql_discard reason);
void __wrap_dsql_pool_stats(struct dsql_pool *pool, struct dsql_pool_stats *stats);
PGconn *__wrap_dsql_conn_pg(struct dsql_conn *conn);
int __wrap_PQregisterEventProc(PGconn *pg, PGEventProc proc, const char *name, void *arg);
int __wrap_PQsetInstanceData(PGconn *pg, PGEventProc proc, void *data);
void *__wrap_PQinstanceData(const PGconn *pg, PGEventProc proc);
int __wrap_PQsocket(const PGconn *pg);
void *__wrap_PQsslStruct(PGconn *pg, const char *name);

void fake_pair(int *near, int *far)
{
    int fds[2];
    int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds);
    assert(!failed);
    *near = fds[0];
    *far = fds[1];
}

void fake_conn_begin(struct fake_conn *conn)
{
    *conn = (struct fake_conn){0};
    fake_pair(&conn->near, &conn->far);
}

void fake_conn_end(struct fake_conn *conn)
{
    if (conn->closes) {
        PGEventConnDestroy info = {(PGconn *)(void *)conn};
        (void)conn->closes(PGEVT_CONNDESTROY, &info, NULL);
    }
    close(conn->near);
    close(conn->far);
}

static struct fake_conn *lent(struct dsql_conn *conn)
{
    struct fake_conn *fake = (struct fake_conn *)(void *)conn;
    assert(fake->lent);
    return fake;
}

enum dsql_rc __wrap_dsql_checkout_try(struct dsql_pool *pool, struct dsql_conn **conn)
{
    struct fake_conn *taken = fake_pool.take();
    (void)pool;
    assert(taken && !taken->lent); /* there is one for each client */
    taken->lent = true;
    *conn = (struct dsql_conn *)(void *)taken;
    return DSQL_OK;
}

void __wrap_dsql_pool_return(struct dsql_conn *conn)
{
    struct fake_conn *fake = lent(conn);
    fake_pool.returned(fake);
    fake->lent = false;
}

void __wrap_dsql_pool_discard_as(struct dsql_conn *conn, enum dsql_discard reason)
{
    (void)reason;
    fake_pool.discarded(lent(conn));
}

void __wrap_dsql_pool_discard(struct dsql_conn *conn)
{
    __wrap_dsql_pool_discard_as(conn, DSQL_DISCARD_BROKEN);
}

void __wrap_dsql_pool_stats(struct dsql_pool *pool, struct dsql_pool_stats *stats)
{
    (void)pool;
    *stats = (struct dsql_pool_stats){.opens = 1};
}

PGconn *__wrap_dsql_conn_pg(struct dsql_conn *conn)
{
    return (PGconn *)(void *)conn;
}

int __wrap_PQregisterEventProc(PGconn *pg, PGEventProc proc, const char *name, void *arg)
{
    (void)name;
    (void)arg;
    ((struct fake_conn *)(void *)pg)->closes = proc;
    return 1;
}

int __wrap_PQsetInstanceData(PGconn *pg, PGEventProc proc, void *data)
{
    (void)proc;
    ((struct fake_conn *)(void *)pg)->instance = data;
    return 1;
}

void *__wrap_PQinstanceData(const PGconn *pg, PGEventProc proc)
{
    (void)proc;
    return ((const struct fake_conn *)(const void *)pg)->instance;
}

int __wrap_PQsocket(const PGconn *pg)
{
    return ((const struct fake_conn *)(const void *)pg)->near;
}

void *__wrap_PQsslStruct(PGconn *pg, const char *name)
{
    (void)pg;
    (void)name;
    return NULL;
}

/* -- The proxy. */

static struct dsql_settings *base_settings(void)
{
    struct dsql_settings *made = calloc(1, sizeof(*made));
    assert(made != NULL);
    made->refs = 1;
    for (size_t i = 0; i < DSQL_PARAMETERS; i++) {
        made->values[i] = strdup("v");
        assert(made->values[i] != NULL);
    }
    return made;
}

void fake_proxy_begin(struct dsql_proxy *proxy, const struct dsql_proxy_options *options,
                      struct dsql_pool *pool, struct dsql_log *log)
{
    struct dsql_err err;
    *proxy = (struct dsql_proxy){.options = *options,
                                 .log = log,
                                 .loopback = {.fd = -1},
                                 .local = {.fd = -1},
                                 .wake = {.fd = -1},
                                 .gone_lock = PTHREAD_MUTEX_INITIALIZER,
                                 .role_count = 1};
    dsql_pg_limits_session(&proxy->client_limits, DSQL_PG_FRONTEND, 1 << 17);
    dsql_pg_limits_session(&proxy->server_limits, DSQL_PG_BACKEND, 1 << 20);
    bool failed = dsql_loop_init(&proxy->loop, options->clock, &err);
    assert(!failed);
    proxy->roles[0] =
        (struct dsql_proxy_role){.proxy = proxy, .pool = pool, .base = base_settings()};
}

struct dsql_client *fake_client_begin(struct dsql_proxy *proxy, int *far)
{
    struct dsql_client *made = calloc(1, sizeof(*made));
    int near;
    assert(made != NULL);
    fake_pair(&near, far);
    made->proxy = proxy;
    DSQL_LINK(proxy->clients, made);
    proxy->client_count++;
    dsql_client_begin(made, near);
    return made;
}

void fake_client_admit(struct dsql_client *client, struct dsql_settings *settings)
{
    client->state = DSQL_CLIENT_ACTIVE;
    client->role = &client->proxy->roles[0];
    client->settings = dsql_settings_ref(settings);
    client->initial = dsql_settings_ref(settings);
    dsql_pg_framer_expect(&client->in, &client->proxy->client_limits);
}
