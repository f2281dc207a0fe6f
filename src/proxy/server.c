/* Server connections: lent for a transaction, waited for, taken back, lost. */
#include <libpq-events.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/lock.h"
#include "net/stream.h"
#include "pgwire/put_backend.h"
#include "proxy/proxy.h"

enum { READ_CHUNK = 64 << 10, ROW_MAX = 64 << 10, READS_MAX = 16 };

#define IDLE_EVENTS ((uint32_t)EPOLLIN | EPOLLRDHUP | EPOLLET)

static void server_ready(struct dsql_watch *watch, uint32_t events);

static void add_count(_Atomic uint64_t *count)
{
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

static void add_time(_Atomic uint64_t *count, int64_t ns)
{
    atomic_fetch_add_explicit(count, ns > 0 ? (uint64_t)ns / 1000 : 0, memory_order_relaxed);
}

static int64_t since_ns(const struct dsql_client *client, struct dsql_mono then)
{
    return dsql_mono_since(dsql_clock_mono(client->proxy->options.clock), then);
}

void dsql_server_note_answered(struct dsql_client *client)
{
    if (client->asked_at.ns != 0)
        add_time(&client->proxy->counts.answering_us, since_ns(client, client->asked_at));
    client->asked_at = (struct dsql_mono){0};
}

/* -- What is known of a connection. */

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
    dsql_lock(&proxy->gone_lock);
    server->gone_next = proxy->gone;
    proxy->gone = server;
    dsql_unlock(&proxy->gone_lock);
    return 1;
}

void dsql_server_free_gone(struct dsql_proxy *proxy)
{
    dsql_lock(&proxy->gone_lock);
    struct dsql_server *server = proxy->gone;
    proxy->gone = NULL;
    dsql_unlock(&proxy->gone_lock);
    while (server) {
        struct dsql_server *next = server->gone_next;
        assert(!server->client && !server->conn);
        dsql_cache_clear(&server->cache);
        dsql_statement_unref(server->unnamed);
        dsql_settings_unref(server->settings);
        dsql_outbox_fini(&server->out);
        dsql_pg_framer_fini(&server->in);
        dsql_strbuf_fini(&server->need);
        dsql_strbuf_fini(&server->row);
        free(server);
        server = next;
    }
}

/* TLS reads the socket in its own way: the header of a record as far ahead as its memory goes, but
 * of the rest of a record no more than is missing. Only a read that got less than it asked for has
 * emptied the socket. */
static long note_read(BIO *bio, int operation, const char *bytes, size_t asked, int unused,
                      long unused_too, int result, size_t *got)
{
    (void)bytes;
    (void)unused;
    (void)unused_too;
    if (operation == (BIO_CB_READ | BIO_CB_RETURN)) {
        struct dsql_server *server = (struct dsql_server *)BIO_get_callback_arg(bio);
        server->emptied = result <= 0 || *got < asked;
    }
    return result;
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
    server->began = dsql_clock_mono(proxy->options.clock);
    server->watch = (struct dsql_watch){.fd = PQsocket(pg), .ready = server_ready, .first = true};
    server->ssl = PQsslStruct(pg, "OpenSSL");
    if (server->ssl) { /* a record is read with one call, into memory that stays */
        SSL_set_read_ahead(server->ssl, 1);
        (void)SSL_clear_mode(server->ssl, SSL_MODE_RELEASE_BUFFERS);
        BIO_set_callback_ex(SSL_get_rbio(server->ssl), note_read);
        BIO_set_callback_arg(SSL_get_rbio(server->ssl), (char *)server);
    }
    server->suspect = true; /* until it is watched */
    dsql_outbox_init(&server->out);
    dsql_strbuf_init_heap(&server->need, ROW_MAX);
    dsql_strbuf_init_heap(&server->row, ROW_MAX);
    dsql_pg_framer_init(&server->in, &proxy->server_limits);
    return server;
}

/* -- Lending. */

static struct dsql_stream stream_of(const struct dsql_server *server)
{
    return (struct dsql_stream){server->watch.fd, server->ssl};
}

/*
 * Whether a connection that was idle is still good: nothing to be read, and no end. Its socket is
 * watched while it is idle, too, and told of before clients are: without an event nothing has come.
 * Edges are watched, so that an event whose data is not read does not come again.
 */
static bool is_alive(struct dsql_server *server)
{
    char byte;
    size_t got;
    if (server->suspect) {
        dsql_loop_watch(&server->proxy->loop, &server->watch, IDLE_EVENTS);
        server->suspect = dsql_stream_read(stream_of(server), &byte, 1, &got) != DSQL_STREAM_WAITS;
    }
    return !server->suspect;
}

/* The socket is libpq's, which closes it. */
static void forget_socket(struct dsql_server *server)
{
    dsql_loop_watch(&server->proxy->loop, &server->watch, 0);
    server->watch.fd = -1;
}

/* False: the connection is not good, and is gone. */
static bool link_up(struct dsql_client *client, struct dsql_conn *conn)
{
    struct dsql_proxy *proxy = client->proxy;
    PGconn *pg = dsql_conn_pg(conn);
    struct dsql_server *server = server_of(proxy, pg);
    if (!server) {
        dsql_pool_discard(conn);
        return false;
    }
    if (!is_alive(server)) {
        forget_socket(server);
        dsql_pool_discard_as(conn, DSQL_DISCARD_SERVER_CLOSED);
        return false;
    }
    server->conn = conn;
    server->client = client;
    client->server = server;
    server->heard = false;
    client->settings_due = true;
    client->lent_at = dsql_clock_mono(proxy->options.clock);
    add_count(&proxy->counts.lent);
    return true;
}

static void unlink_server(struct dsql_server *server)
{
    dsql_server_note_answered(server->client);
    server->client->server = NULL;
    server->client = NULL;
    server->conn = NULL;
    atomic_fetch_sub_explicit(&server->proxy->counts.lent, 1, memory_order_relaxed);
}

static void give_back(struct dsql_server *server)
{
    struct dsql_conn *conn = server->conn;
    bool good = !server->doubtful && !server->out.bytes.cut &&
                dsql_outbox_waiting(&server->out).len == 0 &&
                dsql_pg_framer_is_between(&server->in);
    unlink_server(server);
    if (good) {
        server->suspect = server->unread;
        server->unread = false;
        dsql_loop_watch(&server->proxy->loop, &server->watch, IDLE_EVENTS);
        dsql_pool_return(conn);
    } else {
        forget_socket(server);
        dsql_pool_discard_as(conn, DSQL_DISCARD_DIRTY_RETURN);
    }
}

/* -- Waiting in line. */

/* Without memory for the timer no wait ends before the next client joins the line. */
static void start_timer(struct dsql_proxy_role *role, int64_t after_ns)
{
    enum dsql_rc rc = dsql_loop_start(&role->proxy->loop, &role->wait_timer, after_ns);
    (void)rc;
}

static void join_line(struct dsql_client *client)
{
    struct dsql_proxy *proxy = client->proxy;
    struct dsql_proxy_role *role = client->role;
    client->waits = true;
    client->waits_since = dsql_clock_mono(proxy->options.clock);
    client->wait_next = NULL;
    client->wait_prev = role->wait_last;
    *(role->wait_last ? &role->wait_last->wait_next : &role->wait_first) = client;
    role->wait_last = client;
    add_count(&proxy->counts.waits);
    add_count(&proxy->counts.waiting);
    if (!dsql_heap_node_is_in(&role->wait_timer.node))
        start_timer(role, proxy->options.wait_ns);
    dsql_checkout_ticket_init(&client->ticket, role->pool);
    dsql_checkout_join(&client->ticket, &proxy->waker);
}

static void leave_line(struct dsql_client *client)
{
    struct dsql_proxy_role *role = client->role;
    *(client->wait_prev ? &client->wait_prev->wait_next : &role->wait_first) = client->wait_next;
    *(client->wait_next ? &client->wait_next->wait_prev : &role->wait_last) = client->wait_prev;
    client->waits = false;
    atomic_fetch_sub_explicit(&client->proxy->counts.waiting, 1, memory_order_relaxed);
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

/* What stood behind the client's settings was not sent: it fails and may be run again. */
static void refuse_unsent(struct dsql_client *client)
{
    const char *message = "the client's settings could not be put in place; nothing was run";
    client->tries_failed = 0;
    dsql_replay_free(client);
    if (client->state == DSQL_CLIENT_CHECKING) {
        dsql_client_fatal(client, "08006", message, "Connect again.");
        return;
    }
    dsql_client_error(client, "ERROR", "40001", message, "Run the transaction again.");
    skip_held(client);
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
    dsql_server_go_on(client);
}

void dsql_server_go_on(struct dsql_client *client)
{
    if (client->server)
        dsql_replay_go_on(client);
    dsql_client_resume(client);
    if (client->state != DSQL_CLIENT_DEAD)
        dsql_server_settle(client);
    dsql_client_flush(client);
}

/* A client that logs in has nothing to send: its settings are tried by themselves. */
static void check_settings(struct dsql_client *client)
{
    if (client->state != DSQL_CLIENT_CHECKING)
        return;
    client->settings_due = false;
    dsql_relay_settings(client, true);
}

static void served(struct dsql_client *client)
{
    struct dsql_conn *conn;
    struct dsql_err err = {0};
    int64_t waited_ns = since_ns(client, client->waits_since);
    add_time(&client->proxy->counts.waited_us, waited_ns);
    leave_line(client);
    enum dsql_rc rc = dsql_checkout_collect(&client->ticket, waited_ns, &conn, &err);
    if (rc) {
        add_count(&client->proxy->counts.timeouts);
        refuse(client, &err);
    } else if (link_up(client, conn)) {
        check_settings(client);
    } else if (!dsql_server_need(client)) {
        return; /* back in the line */
    }
    dsql_server_go_on(client);
}

void dsql_server_serve(struct dsql_proxy *proxy)
{
    proxy->served = false;
    for (size_t i = 0; i < proxy->role_count; i++) {
        struct dsql_proxy_role *role = &proxy->roles[i];
        while (role->wait_first && dsql_checkout_is_settled(&role->wait_first->ticket))
            served(role->wait_first);
    }
}

static void wait_over(struct dsql_timer *timer)
{
    struct dsql_proxy_role *role = DSQL_CONTAINER_OF(timer, struct dsql_proxy_role, wait_timer);
    const struct dsql_proxy *proxy = role->proxy;
    struct dsql_mono now = dsql_clock_mono(proxy->options.clock);
    while (role->wait_first) {
        int64_t left_ns =
            proxy->options.wait_ns - dsql_mono_since(now, role->wait_first->waits_since);
        if (left_ns > 0) {
            start_timer(role, left_ns);
            return;
        }
        served(role->wait_first);
    }
}

/* Called by the thread that ends a wait: the pool's opener, or the loop itself. */
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
    for (size_t i = 0; i < proxy->role_count; i++)
        proxy->roles[i].wait_timer.due = wait_over;
    proxy->wake = (struct dsql_watch){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .ready = woken};
    dsql_loop_watch(&proxy->loop, &proxy->wake, EPOLLIN);
}

bool dsql_server_need(struct dsql_client *client)
{
    struct dsql_conn *conn;
    if (client->server)
        return true;
    if (client->proxy->paused) {
        client->parked = true;
        return false;
    }
    while (dsql_checkout_try(client->role->pool, &conn) == DSQL_OK) {
        if (!link_up(client, conn))
            continue; /* it ended while it was idle: another one, unseen */
        check_settings(client);
        return true;
    }
    join_line(client);
    return false;
}

void dsql_server_unpark(struct dsql_client *client)
{
    if (client->state == DSQL_CLIENT_CHECKING && !dsql_server_need(client))
        return;
    dsql_server_go_on(client);
}

/* -- Taking back. */

static bool is_idle(const struct dsql_client *client)
{
    return client->answers.count == 0 && client->tx == DSQL_PG_IDLE && !client->segment_open &&
           !client->answers.skipping && !dsql_replay_is_running(client);
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
    if (client->pinned || client->at_home ||
        dsql_setters_ask(client, dsql_clock_mono(client->proxy->options.clock)))
        return;
    add_count(&client->proxy->counts.transactions);
    add_time(&client->proxy->counts.lent_us, since_ns(client, client->lent_at));
    give_back(client->server);
}

void dsql_server_leave(struct dsql_client *client)
{
    struct dsql_server *server = client->server;
    if (!server)
        return;
    const struct dsql_answer *next = dsql_answers_head(&client->answers);
    bool cleaning = next && (next->purpose == DSQL_FOR_READ || next->purpose == DSQL_FOR_ASK) &&
                    client->tx == DSQL_PG_IDLE && !client->pinned && !client->at_home &&
                    !server->doubtful;
    if (cleaning)
        return;
    if (!is_idle(client) || client->pinned || client->at_home)
        server->doubtful = true;
    /* Who sends a statement and goes has it carried out, as without the proxy. */
    (void)dsql_stream_write(stream_of(server), &server->out);
    give_back(server);
}

/* -- Losing one. */

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

/* Nothing of the client's has run: the same once more. */
void dsql_server_change_failed(struct dsql_server *server)
{
    struct dsql_client *client = server->client;
    client->change_failed = false;
    if (++client->tries_failed < DSQL_PROXY_TRIES) {
        dsql_relay_settings(client, false);
        return;
    }
    give_back(server);
    refuse_unsent(client);
    dsql_server_go_on(client);
}

/* A connection on which nothing of the client's has run is lost: another one, unseen. */
static void lend_another(struct dsql_client *client)
{
    dsql_reply_drop(client, client->answers.count);
    client->change_failed = false;
    if (client->guard)
        dsql_guard_put_back(client);
    if (++client->tries_failed < DSQL_PROXY_TRIES) {
        dsql_server_unpark(client);
        return;
    }
    refuse_unsent(client);
    dsql_server_go_on(client);
}

/* What losing a connection means to its client. */
struct loss {
    bool unsent;  /* nothing of the client's has run */
    bool unknown; /* something of it may have committed */
    bool waiting; /* the client waits for answers */
    bool torn;    /* it has read half a message */
    bool bereft;  /* of something that was there only: settings that are not known here, or what
                     can't be moved */
};

static struct loss loss_of(const struct dsql_server *server)
{
    struct dsql_client *client = server->client;
    const struct dsql_answer *next = dsql_answers_head(&client->answers);
    bool hidden = next && next->purpose != DSQL_FOR_CLIENT;
    struct loss loss = {
        .unknown = may_have_committed(client),
        .waiting = client->answers.count > 0 || client->segment_open,
        .torn =
            !dsql_pg_framer_is_between(&server->in) && !dsql_replay_withholds(client) && !hidden,
        .bereft = client->settings_unread || client->pinned || client->at_home,
    };
    loss.unsent = dsql_relay_is_changing(client) && client->state <= DSQL_CLIENT_ACTIVE &&
                  (!client->guard || dsql_guard_is_unspent(client, loss.unknown));
    return loss;
}

/* The client hears what became of what it has sent. */
static void tell_loss(struct dsql_client *client, struct loss loss)
{
    if (dsql_replay_lost(client)) /* it has met a conflict, and hears of that */
        loss.waiting = true;
    else if (loss.torn) {
        dsql_client_close(client); /* no error can follow half a message */
        return;
    } else if (client->fatal_seen) {
        client->state = DSQL_CLIENT_CLOSING; /* the server's farewell is the last that it hears */
    } else if (client->state != DSQL_CLIENT_CHECKING && loss.waiting) {
        answer_for_lost(client, loss.unknown);
    }
    if (client->state == DSQL_CLIENT_CHECKING || !loss.waiting)
        dsql_client_fatal(client, "08006", "the connection to the database was lost",
                          "Connect again; a transaction that was open is rolled back.");
    else if (loss.bereft)
        dsql_client_fatal(client, "08006",
                          "the connection to the database was lost, and with it what this session "
                          "has set or prepared",
                          "Connect again.");
    dsql_server_go_on(client);
}

void dsql_server_lose(struct dsql_server *server)
{
    struct dsql_client *client = server->client;
    struct dsql_proxy *proxy = server->proxy;
    struct dsql_conn *conn = server->conn;
    const struct loss loss = loss_of(server);
    if (!loss.unsent)
        add_count(loss.unknown ? &proxy->counts.unknown : &proxy->counts.lost);
    const char *outcome = loss.unsent ? "unseen" : loss.unknown ? "unknown" : "rolled back";
    dsql_log(proxy->log, DSQL_EVENT_PROXY_LOST, DSQL_F("outcome", outcome));
    unlink_server(server);
    forget_socket(server);
    dsql_pool_discard(conn);
    client->pinned = client->at_home = false;
    client->settings_dirty = client->settings_unread = client->may_set = false;
    if (client->state == DSQL_CLIENT_LEAVING) {
        dsql_client_close(client);
    } else if (loss.unsent) { /* X4 */
        lend_another(client);
    } else {
        dsql_guard_free(client);
        tell_loss(client, loss);
    }
}

/* -- Bytes. */

void dsql_server_flush(struct dsql_server *server)
{
    if (server->out.bytes.cut ||
        dsql_stream_write(stream_of(server), &server->out) == DSQL_STREAM_ENDED) {
        dsql_server_lose(server);
        return;
    }
    bool waits = dsql_outbox_waiting(&server->out).len > 0;
    bool full = dsql_outbox_is_full(&server->client->out);
    dsql_loop_watch(&server->proxy->loop, &server->watch, IDLE_EVENTS | (waits ? EPOLLOUT : 0u));
    if (server->unread && !full) {
        server->unread = false;
        dsql_loop_rearm(&server->proxy->loop, &server->watch);
    }
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
    /* The end of the stream makes one event, which may be that of the last bytes. */
    bool ends = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    if (!client) { /* idle: looked at before it is lent again */
        server->suspect = true;
        return;
    }
    /* What TLS has decrypted makes no socket ready: read until it waits, even when the client's
     * box is full; one record is the most that is read beyond. */
    server->emptied = false;
    for (int i = 0; state == DSQL_STREAM_GOES_ON; i++) {
        size_t got;
        bool pending = server->ssl && SSL_has_pending(server->ssl);
        if (!ends && !pending && server->emptied)
            break;
        if (!pending && (i >= READS_MAX || dsql_outbox_is_full(&client->out))) {
            server->unread = true;
            break;
        }
        state = dsql_stream_read(stream_of(server), chunk, sizeof(chunk), &got);
        if (state == DSQL_STREAM_GOES_ON && !take_bytes(server, (struct dsql_span){chunk, got}))
            return;
    }
    if (state == DSQL_STREAM_ENDED) {
        dsql_server_lose(server);
        return;
    }
    dsql_server_go_on(client);
}
