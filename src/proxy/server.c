/* Server connections: lent for a transaction, waited for, taken back, lost. */
#include <libpq-events.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "net/stream.h"
#include "pgwire/put_backend.h"
#include "proxy/proxy.h"

enum { READ_CHUNK = 64 << 10, ROW_MAX = 64 << 10, READS_MAX = 16 };

static void server_ready(struct dsql_watch *watch, uint32_t events);
static void go_on(struct dsql_client *client);

static void add_count(_Atomic uint64_t *count)
{
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* ------------------------------------------------------------ what is known of a connection */

/* Called in the thread that closes the connection: the pool's opener, or ours. */
static int on_event(PGEventId id, void *info, void *arg)
{
    (void)arg;
    if (id != PGEVT_CONNDESTROY)
        return 1;
    struct dsql_server *server = PQinstanceData(((PGEventConnDestroy *)info)->conn, on_event);
    if (!server)
        return 1;
    struct dsql_proxy *proxy = server->proxy;
    (void)pthread_mutex_lock(&proxy->gone_lock);
    server->gone_next = proxy->gone;
    proxy->gone = server;
    (void)pthread_mutex_unlock(&proxy->gone_lock);
    return 1;
}

void dsql_server_free_gone(struct dsql_proxy *proxy)
{
    (void)pthread_mutex_lock(&proxy->gone_lock);
    struct dsql_server *server = proxy->gone;
    proxy->gone = NULL;
    (void)pthread_mutex_unlock(&proxy->gone_lock);
    while (server) {
        struct dsql_server *next = server->gone_next;
        assert(!server->client && !server->conn);
        dsql_cache_clear(&server->cache);
        dsql_statement_unref(server->unnamed);
        dsql_settings_unref(server->settings);
        dsql_outbox_fini(&server->out);
        dsql_pg_framer_fini(&server->in);
        dsql_strbuf_fini(&server->row);
        free(server);
        server = next;
    }
}

/* The connection's own record, made at its first use; NULL if memory is short. */
static struct dsql_server *server_of(struct dsql_proxy *proxy, PGconn *pg)
{
    struct dsql_server *server = PQinstanceData(pg, on_event);
    if (server)
        return server;
    server = calloc(1, sizeof(*server));
    if (!server)
        return NULL;
    if (!PQregisterEventProc(pg, on_event, "dsql proxy", NULL) ||
        !PQsetInstanceData(pg, on_event, server)) {
        free(server);
        return NULL;
    }
    server->proxy = proxy;
    server->watch = (struct dsql_watch){.fd = -1, .ready = server_ready};
    dsql_outbox_init(&server->out);
    dsql_strbuf_init_heap(&server->row, ROW_MAX);
    dsql_pg_framer_init(&server->in, &proxy->server_limits);
    return server;
}

/* ------------------------------------------------------------ lending */

static struct dsql_stream stream_of(const struct dsql_server *server)
{
    return (struct dsql_stream){server->watch.fd, server->ssl};
}

/* Whether a connection that was idle is still good: nothing to be read, and no end. */
static bool is_alive(const struct dsql_server *server)
{
    char byte;
    size_t got;
    return dsql_stream_read(stream_of(server), &byte, 1, &got) == DSQL_STREAM_WAITS;
}

/* False: the connection is not good, and is gone. */
static bool link_up(struct dsql_client *client, struct dsql_conn *conn)
{
    struct dsql_proxy *proxy = client->proxy;
    PGconn *pg = dsql_conn_pg(conn);
    struct dsql_server *server = server_of(proxy, pg);
    if (!server) {
        dsql_pool_discard(conn, DSQL_CLOSE_BROKEN);
        return false;
    }
    server->watch.fd = PQsocket(pg);
    server->watch.events = 0;
    server->ssl = PQsslStruct(pg, "OpenSSL");
    if (!is_alive(server)) {
        server->watch.fd = -1;
        dsql_pool_discard(conn, DSQL_CLOSE_SERVER_CLOSED);
        return false;
    }
    server->conn = conn;
    server->client = client;
    client->server = server;
    server->heard = false;
    add_count(&proxy->counts.lent);
    dsql_loop_watch(&proxy->loop, &server->watch, EPOLLIN | EPOLLRDHUP);
    return true;
}

static void unlink_server(struct dsql_server *server)
{
    struct dsql_proxy *proxy = server->proxy;
    dsql_loop_watch(&proxy->loop, &server->watch, 0);
    server->watch.fd = -1; /* the socket is libpq's */
    server->client->server = NULL;
    server->client = NULL;
    server->conn = NULL;
    atomic_fetch_sub_explicit(&proxy->counts.lent, 1, memory_order_relaxed);
}

static void give_back(struct dsql_server *server)
{
    struct dsql_conn *conn = server->conn;
    bool good = !server->doubtful && !server->out.bytes.cut &&
                dsql_outbox_waiting(&server->out).len == 0 &&
                dsql_pg_framer_is_between(&server->in);
    unlink_server(server);
    if (good)
        dsql_pool_return(conn);
    else
        dsql_pool_discard(conn, DSQL_CLOSE_DIRTY_RETURN);
}

/* ------------------------------------------------------------ waiting in line */

/* Without memory for the timer nobody's wait ends before the next client joins the line. */
static void start_timer(struct dsql_proxy *proxy, int64_t after_ns)
{
    enum dsql_rc rc = dsql_loop_start(&proxy->loop, &proxy->wait_timer, after_ns);
    (void)rc;
}

static void join_line(struct dsql_client *client)
{
    struct dsql_proxy *proxy = client->proxy;
    client->waits = true;
    client->waits_since = dsql_clock_mono(proxy->options.clock);
    client->wait_next = NULL;
    client->wait_prev = proxy->wait_last;
    *(proxy->wait_last ? &proxy->wait_last->wait_next : &proxy->wait_first) = client;
    proxy->wait_last = client;
    add_count(&proxy->counts.waits);
    add_count(&proxy->counts.waiting);
    if (!dsql_heap_node_is_in(&proxy->wait_timer.node))
        start_timer(proxy, proxy->options.wait_ns);
    dsql_checkout_ticket_init(&client->ticket, proxy->pool);
    dsql_checkout_join(&client->ticket, &proxy->waker);
}

static void leave_line(struct dsql_client *client)
{
    struct dsql_proxy *proxy = client->proxy;
    *(client->wait_prev ? &client->wait_prev->wait_next : &proxy->wait_first) = client->wait_next;
    *(client->wait_next ? &client->wait_next->wait_prev : &proxy->wait_last) = client->wait_prev;
    client->waits = false;
    atomic_fetch_sub_explicit(&proxy->counts.waiting, 1, memory_order_relaxed);
}

void dsql_server_stop_waiting(struct dsql_client *client)
{
    struct dsql_conn *conn;
    struct dsql_err err;
    if (!client->waits)
        return;
    leave_line(client);
    if (!dsql_checkout_collect(&client->ticket, 0, &conn, &err))
        dsql_pool_return(conn);
}

/* The first message held is the one that waited: a query ends with ReadyForQuery by itself, others
 * with the Sync behind them. */
static void skip_held(struct dsql_client *client)
{
    bool query = client->held.len > 0 && (client->held.ptr[0] == DSQL_PG_FE_QUERY ||
                                          client->held.ptr[0] == DSQL_PG_FE_FUNCTION_CALL);
    if (!query) {
        client->answers.skipping = true;
        return;
    }
    const unsigned char *at = (const unsigned char *)client->held.ptr;
    size_t length = 1 + ((size_t)at[1] << 24 | (size_t)at[2] << 16 | (size_t)at[3] << 8 | at[4]);
    assert(length <= client->held.len);
    memmove(client->held.ptr, client->held.ptr + length, client->held.len - length);
    client->held.len -= length;
    dsql_pg_put_ready(&client->out.bytes, DSQL_PG_IDLE);
}

/* The statement that waits fails; what the client sent behind it up to its Sync is skipped. */
static void refuse(struct dsql_client *client, const struct dsql_err *err)
{
    char message[600];
    bool cancelled = err->rc == DSQL_CANCELLED;
    const char *sqlstate = cancelled ? "57014" : "53300";
    (void)snprintf(message, sizeof(message), "%s%s",
                   cancelled ? "" : "no connection to the database: ", err->message);
    if (!cancelled)
        dsql_log(client->proxy->log, DSQL_EVENT_PROXY_NO_CONNECTION,
                 DSQL_F("detail", (const char *)err->message));
    if (client->state == DSQL_CLIENT_CHECKING) {
        dsql_client_fatal(client, sqlstate, message, err->hint);
    } else {
        dsql_client_error(client, "ERROR", sqlstate, message, err->hint);
        skip_held(client);
    }
}

void dsql_server_cancel_wait(struct dsql_client *client)
{
    struct dsql_err err = {0};
    dsql_server_stop_waiting(client);
    (void)dsql_err_set(&err, DSQL_CANCELLED, "canceling statement due to user request");
    refuse(client, &err);
    go_on(client);
}

static void go_on(struct dsql_client *client)
{
    dsql_client_resume(client);
    if (client->state != DSQL_CLIENT_DEAD)
        dsql_server_settle(client);
    dsql_client_flush(client);
}

static void served(struct dsql_client *client)
{
    struct dsql_conn *conn;
    struct dsql_err err = {0};
    int64_t waited_ns =
        dsql_mono_since(dsql_clock_mono(client->proxy->options.clock), client->waits_since);
    leave_line(client);
    enum dsql_rc rc = dsql_checkout_collect(&client->ticket, waited_ns, &conn, &err);
    if (rc) {
        add_count(&client->proxy->counts.timeouts);
        refuse(client, &err);
    } else if (link_up(client, conn)) {
        dsql_relay_settings(client, client->state == DSQL_CLIENT_CHECKING);
    } else if (!dsql_server_need(client)) {
        return; /* back in the line */
    }
    go_on(client);
}

void dsql_server_serve(struct dsql_proxy *proxy)
{
    proxy->served = false;
    while (proxy->wait_first && dsql_checkout_is_settled(&proxy->wait_first->ticket))
        served(proxy->wait_first);
}

static void wait_over(struct dsql_timer *timer)
{
    struct dsql_proxy *proxy = DSQL_CONTAINER_OF(timer, struct dsql_proxy, wait_timer);
    struct dsql_mono now = dsql_clock_mono(proxy->options.clock);
    while (proxy->wait_first) {
        int64_t left_ns =
            proxy->options.wait_ns - dsql_mono_since(now, proxy->wait_first->waits_since);
        if (left_ns > 0) {
            start_timer(proxy, left_ns);
            return;
        }
        served(proxy->wait_first);
    }
}

/* Called by whoever settles a waiter: the pool's opener, or the loop itself. */
static void wake(struct dsql_waker *waker)
{
    struct dsql_proxy *proxy = DSQL_CONTAINER_OF(waker, struct dsql_proxy, waker);
    if (pthread_equal(pthread_self(), proxy->thread))
        proxy->served = true;
    else
        (void)eventfd_write(proxy->wake.fd, 1);
}

static void woken(struct dsql_watch *watch, uint32_t events)
{
    struct dsql_proxy *proxy = DSQL_CONTAINER_OF(watch, struct dsql_proxy, wake);
    eventfd_t value;
    (void)events;
    (void)eventfd_read(watch->fd, &value);
    proxy->served = true;
}

void dsql_server_init(struct dsql_proxy *proxy)
{
    proxy->thread = pthread_self();
    proxy->waker.wake = wake;
    proxy->wait_timer.due = wait_over;
    proxy->wake = (struct dsql_watch){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .ready = woken};
    dsql_loop_watch(&proxy->loop, &proxy->wake, EPOLLIN);
}

bool dsql_server_need(struct dsql_client *client)
{
    struct dsql_conn *conn;
    if (client->server)
        return true;
    while (dsql_checkout_try(client->proxy->pool, &conn) == DSQL_OK) {
        if (!link_up(client, conn))
            continue; /* it ended while it was idle: another one, unseen */
        dsql_relay_settings(client, client->state == DSQL_CLIENT_CHECKING);
        return true;
    }
    join_line(client);
    return false;
}

/* ------------------------------------------------------------ taking back */

static bool is_idle(const struct dsql_client *client)
{
    return client->answers.count == 0 && client->tx == DSQL_PG_IDLE && !client->segment_open &&
           !client->answers.skipping;
}

void dsql_server_settle(struct dsql_client *client)
{
    if (!client->server || !is_idle(client))
        return;
    if (client->settings_dirty) {
        client->settings_dirty = false;
        dsql_relay_settings(client, true);
        return;
    }
    if (client->state == DSQL_CLIENT_CHECKING || client->held.len > 0)
        return;
    if (client->state == DSQL_CLIENT_LEAVING) {
        give_back(client->server);
        dsql_client_close(client);
        return;
    }
    if (client->pinned || client->pinned_prepare)
        return;
    add_count(&client->proxy->counts.transactions);
    give_back(client->server);
}

void dsql_server_leave(struct dsql_client *client)
{
    struct dsql_server *server = client->server;
    if (!server)
        return;
    const struct dsql_answer *next = dsql_answers_head(&client->answers);
    bool cleaning = next && next->purpose == DSQL_FOR_READ && client->tx == DSQL_PG_IDLE &&
                    !client->pinned && !client->pinned_prepare && !server->doubtful;
    if (cleaning)
        return;
    if (!is_idle(client) || client->pinned || client->pinned_prepare)
        server->doubtful = true;
    give_back(server);
}

/* ------------------------------------------------------------ losing one */

static bool may_have_committed(const struct dsql_client *client)
{
    for (uint32_t i = 0; i < client->answers.count; i++)
        if (dsql_answers_at(&client->answers, i)->may_commit)
            return true;
    return client->segment_open && client->segment_commits;
}

/* Each query and each Sync that is outstanding is answered. */
static void answer_for_lost(struct dsql_client *client, bool unknown)
{
    const char *sqlstate = unknown ? "08007" : "08006";
    const char *message =
        unknown ? "the connection to the database was lost before the answer to COMMIT came: "
                  "whether the transaction is committed is unknown"
                : "the connection to the database was lost; the transaction is rolled back";
    const char *hint = unknown ? "Look whether its changes are there before you run it again."
                               : "Run the transaction again.";
    bool open = client->segment_open;
    uint32_t count = client->answers.count, ends = 0;
    for (uint32_t i = 0; i < count; i++) {
        enum dsql_answer_kind kind = dsql_answers_at(&client->answers, i)->kind;
        bool ours = dsql_answers_at(&client->answers, i)->purpose != DSQL_FOR_CLIENT;
        ends += !ours && (kind == DSQL_ANSWER_SYNC || kind == DSQL_ANSWER_QUERY);
    }
    dsql_reply_drop(client, count);
    client->answers.copying = false;
    for (uint32_t i = 0; i < ends; i++) {
        dsql_client_error(client, "ERROR", sqlstate, message, hint);
        dsql_pg_put_ready(&client->out.bytes, DSQL_PG_IDLE);
    }
    if (open) {
        dsql_client_error(client, "ERROR", sqlstate, message, hint);
        client->answers.skipping = true;
    }
    client->tx = DSQL_PG_IDLE;
}

void dsql_server_lose(struct dsql_server *server)
{
    struct dsql_client *client = server->client;
    struct dsql_proxy *proxy = server->proxy;
    struct dsql_conn *conn = server->conn;
    bool torn = !dsql_pg_framer_is_between(&server->in);
    bool unknown = may_have_committed(client);
    bool waiting = client->answers.count > 0 || client->segment_open;
    add_count(unknown ? &proxy->counts.unknown : &proxy->counts.lost);
    dsql_log(proxy->log, DSQL_EVENT_PROXY_LOST,
             DSQL_F("outcome", unknown ? "unknown" : "rolled back"));
    unlink_server(server);
    dsql_pool_discard(conn, DSQL_CLOSE_BROKEN);
    client->pinned = client->pinned_prepare = client->settings_dirty = false;
    if (client->state == DSQL_CLIENT_LEAVING) {
        dsql_client_close(client);
        return;
    }
    if (torn || client->fatal_seen) {
        dsql_client_close(client); /* no error can follow half a message, or a farewell */
        return;
    }
    if (client->state == DSQL_CLIENT_CHECKING || !waiting)
        dsql_client_fatal(client, "08006", "the connection to the database was lost",
                          "Connect again; a transaction that was open is rolled back.");
    else
        answer_for_lost(client, unknown);
    go_on(client);
}

/* ------------------------------------------------------------ bytes */

void dsql_server_flush(struct dsql_server *server)
{
    if (server->out.bytes.cut ||
        dsql_stream_write(stream_of(server), &server->out) == DSQL_STREAM_ENDED) {
        dsql_server_lose(server);
        return;
    }
    bool waits = dsql_outbox_waiting(&server->out).len > 0;
    bool full = dsql_outbox_is_full(&server->client->out);
    dsql_loop_watch(&server->proxy->loop, &server->watch,
                    (full ? 0u : EPOLLIN) | (waits ? EPOLLOUT : 0u) | (full ? 0u : EPOLLRDHUP));
}

/* False: the connection is gone, for the client or altogether. */
static bool take_bytes(struct dsql_server *server, struct dsql_span bytes)
{
    struct dsql_pg_piece piece;
    struct dsql_err err;
    while (server->client) {
        if (dsql_pg_framer_next(&server->in, &bytes, &piece, &err)) {
            dsql_server_lose(server);
            return false;
        }
        if (!piece.ready)
            return true;
        dsql_reply(server, &piece);
    }
    return false;
}

static void server_ready(struct dsql_watch *watch, uint32_t events)
{
    static char chunk[READ_CHUNK]; /* one loop, one thread */
    struct dsql_server *server = DSQL_CONTAINER_OF(watch, struct dsql_server, watch);
    struct dsql_client *client = server->client;
    enum dsql_stream_state state = DSQL_STREAM_GOES_ON;
    (void)events; /* TLS may have to read in order to write */
    /* What TLS has decrypted makes no socket ready: read until it waits, even when the client's
     * box is full; one record is the most that is read beyond. */
    for (int i = 0; state == DSQL_STREAM_GOES_ON; i++) {
        size_t got;
        bool pending = server->ssl && SSL_has_pending(server->ssl);
        if (!pending && (i >= READS_MAX || dsql_outbox_is_full(&client->out)))
            break;
        state = dsql_stream_read(stream_of(server), chunk, sizeof(chunk), &got);
        if (state == DSQL_STREAM_GOES_ON && !take_bytes(server, (struct dsql_span){chunk, got}))
            return;
    }
    if (state == DSQL_STREAM_ENDED) {
        dsql_server_lose(server);
        return;
    }
    go_on(client);
}
