/* One client: its bytes in both directions, and its end. */
#include <stdlib.h>

#include "base/link.h"
#include "net/stream.h"
#include "pgwire/put_backend.h"
#include "proxy/proxy.h"

enum { READ_CHUNK = 64 << 10, HELD_MAX = 32 << 20 };

static void client_ready(struct dsql_watch *watch, uint32_t events);
static void login_over(struct dsql_timer *timer);

void dsql_client_begin(struct dsql_client *client, int fd)
{
    client->watch = (struct dsql_watch){.fd = fd, .ready = client_ready};
    client->login.due = login_over;
    client->tx = DSQL_PG_IDLE;
    dsql_outbox_init(&client->out);
    dsql_strbuf_init_heap(&client->held, HELD_MAX);
    dsql_pg_framer_init_startup(&client->in);
    dsql_loop_watch(&client->proxy->loop, &client->watch, EPOLLIN | EPOLLRDHUP);
}

static void free_now(struct dsql_deferred_free *ending)
{
    struct dsql_client *client = DSQL_CONTAINER_OF(ending, struct dsql_client, ending);
    assert(client->state == DSQL_CLIENT_DEAD && !client->server && !client->waits);
    dsql_proxy_login_free(client);
    dsql_outbox_fini(&client->out);
    dsql_pg_framer_fini(&client->in);
    dsql_strbuf_fini(&client->held);
    dsql_answers_fini(&client->answers);
    dsql_definitions_fini(&client->names);
    dsql_statement_unref(client->unnamed);
    dsql_settings_unref(client->unnamed_under);
    dsql_definition_unref(client->unnamed_executes);
    dsql_portals_fini(&client->portals);
    dsql_settings_unref(client->settings);
    dsql_settings_unref(client->initial);
    free(client);
}

void dsql_client_close(struct dsql_client *client)
{
    struct dsql_proxy *proxy = client->proxy;
    if (client->state == DSQL_CLIENT_DEAD)
        return;
    dsql_loop_stop(&proxy->loop, &client->login);
    dsql_entry_leave(client);
    if (client->ssl) {
        (void)SSL_shutdown(client->ssl); /* as far as the socket takes it */
        SSL_free(client->ssl);
        client->ssl = NULL;
    }
    dsql_loop_close(&client->watch);
    dsql_server_stop_waiting(client);
    dsql_guard_free(client);
    dsql_replay_free(client);
    client->state = DSQL_CLIENT_LEAVING;
    dsql_server_leave(client);
    if (client->server)
        return; /* its last settings are read back; it ends then */
    client->state = DSQL_CLIENT_DEAD;
    DSQL_UNLINK(proxy->clients, client);
    proxy->client_count--;
    atomic_store_explicit(&proxy->counts.clients, proxy->client_count, memory_order_relaxed);
    dsql_loop_free_later(&proxy->loop, &client->ending, free_now);
}

void dsql_client_error(struct dsql_client *client, const char *severity, const char *sqlstate,
                       const char *message, const char *hint)
{
    const struct dsql_pg_report report = {
        .severity = dsql_span_of(severity),
        .sqlstate = dsql_span_of(sqlstate),
        .message = dsql_span_of(message),
        .hint = dsql_span_of(hint),
    };
    dsql_pg_put_error(&client->out.bytes, &report);
}

void dsql_client_fatal(struct dsql_client *client, const char *sqlstate, const char *message,
                       const char *hint)
{
    if (client->state >= DSQL_CLIENT_CLOSING)
        return;
    dsql_client_error(client, "FATAL", sqlstate, message, hint);
    client->state = DSQL_CLIENT_CLOSING;
}

static void login_over(struct dsql_timer *timer)
{
    struct dsql_client *client = DSQL_CONTAINER_OF(timer, struct dsql_client, login);
    dsql_client_close(client);
}

static void add_count(_Atomic uint64_t *count, uint64_t n)
{
    atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

/* False: it can't be processed now. */
static bool take_message(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    if (client->console)
        return dsql_console(client, piece);
    if (!dsql_relay(client, piece))
        return false;
    if (piece->first && (piece->type == DSQL_PG_FE_QUERY || piece->type == DSQL_PG_FE_EXECUTE))
        add_count(&client->proxy->counts.statements, 1);
    return true;
}

/* False: the rest can't be processed now and is held. */
static bool take_bytes(struct dsql_client *client, struct dsql_span bytes)
{
    struct dsql_pg_piece piece;
    struct dsql_err err;
    while (client->state < DSQL_CLIENT_CLOSING) {
        if (dsql_guard_holds(client, bytes)) {
            dsql_strbuf_add(&client->held, bytes);
            return false;
        }
        if (dsql_pg_framer_next(&client->in, &bytes, &piece, &err)) {
            dsql_client_fatal(client, err.sqlstate[0] ? err.sqlstate : "08P01", err.message, "");
            return true;
        }
        if (!piece.ready)
            return true;
        if (client->state == DSQL_CLIENT_STARTUP) {
            bool plain = !client->ssl;
            dsql_entry_startup(client, &piece);
            /* What came behind an SSLRequest was not encrypted: an attacker may have sent it. */
            if (plain && client->ssl && bytes.len > 0)
                client->state = DSQL_CLIENT_CLOSING;
        } else if (client->state == DSQL_CLIENT_LOGIN) {
            dsql_proxy_login_message(client, &piece);
        } else if (client->state != DSQL_CLIENT_ACTIVE || !take_message(client, &piece)) {
            dsql_strbuf_add(&client->held, piece.raw);
            dsql_strbuf_add(&client->held, bytes);
            return false;
        }
    }
    return true;
}

void dsql_client_resume(struct dsql_client *client)
{
    if (client->state != DSQL_CLIENT_ACTIVE || client->held.len == 0 || client->waits)
        return;
    struct dsql_strbuf held = client->held;
    dsql_strbuf_init_heap(&client->held, HELD_MAX);
    (void)take_bytes(client, dsql_strbuf_span(&held));
    dsql_strbuf_fini(&held);
}

/* Whether more of the client's bytes can be used now. */
static bool may_read(const struct dsql_client *client)
{
    return client->state < DSQL_CLIENT_CLOSING && client->held.len == 0 && !client->waits &&
           !dsql_guard_is_closed(client) &&
           !(client->server && dsql_outbox_is_full(&client->server->out)) &&
           !dsql_outbox_is_full(&client->out);
}

static void read_client(struct dsql_client *client)
{
    static char chunk[READ_CHUNK]; /* one loop, one thread */
    size_t got;
    do {
        const struct dsql_stream stream = {client->watch.fd, client->ssl};
        if (!may_read(client))
            return;
        switch (dsql_stream_read(stream, chunk, sizeof(chunk), &got)) {
        case DSQL_STREAM_GOES_ON:
            add_count(&client->proxy->counts.received, got);
            (void)take_bytes(client, (struct dsql_span){chunk, got});
            break;
        case DSQL_STREAM_WAITS:
            return;
        case DSQL_STREAM_ENDED:
            dsql_client_close(client);
            return;
        }
    } while (client->ssl && SSL_has_pending(client->ssl));
}

/* What the socket is watched for. A client that may not be read now is told of until it sends
 * something nevertheless: most send nothing, and watching costs a call. What TLS has decrypted
 * already makes no socket readable: then, and when TLS itself has to write, the client is called as
 * soon as the socket takes bytes. */
static uint32_t events_of(const struct dsql_client *client, bool waits)
{
    bool reads = may_read(client);
    bool watched = client->watch.events & EPOLLIN;
    if (client->ssl && reads && (SSL_has_pending(client->ssl) || SSL_want_write(client->ssl)))
        waits = true;
    return (reads || watched ? EPOLLIN : 0u) | (waits ? EPOLLOUT : 0u) | EPOLLRDHUP;
}

void dsql_client_flush(struct dsql_client *client)
{
    if (client->state >= DSQL_CLIENT_LEAVING) {
        if (client->server)
            dsql_server_flush(client->server);
        return;
    }
    const struct dsql_stream stream = {client->watch.fd, client->ssl};
    size_t before = dsql_outbox_waiting(&client->out).len;
    if (client->out.bytes.cut || client->held.cut ||
        dsql_stream_write(stream, &client->out) == DSQL_STREAM_ENDED) {
        dsql_client_close(client);
        return;
    }
    bool waits = dsql_outbox_waiting(&client->out).len > 0;
    if (before > 0)
        add_count(&client->proxy->counts.sent, before - dsql_outbox_waiting(&client->out).len);
    if (client->state == DSQL_CLIENT_CLOSING && !waits) {
        dsql_client_close(client);
        return;
    }
    if (client->server)
        dsql_server_flush(client->server);
    if (client->state < DSQL_CLIENT_LEAVING)
        dsql_loop_watch(&client->proxy->loop, &client->watch, events_of(client, waits));
}

static void client_ready(struct dsql_watch *watch, uint32_t events)
{
    struct dsql_client *client = DSQL_CONTAINER_OF(watch, struct dsql_client, watch);
    bool half_closed = (events & EPOLLRDHUP) && !(events & EPOLLIN);
    if (half_closed && dsql_relay_is_changing(client)) { /* what it sent is carried out first */
        dsql_loop_watch(&client->proxy->loop, &client->watch, 0);
        return;
    }
    if (events & (EPOLLERR | EPOLLHUP) || half_closed) {
        dsql_client_close(client);
        return;
    }
    if (events & EPOLLIN && !may_read(client))
        dsql_loop_watch(&client->proxy->loop, &client->watch,
                        client->watch.events & ~(uint32_t)EPOLLIN);
    else if (events & EPOLLIN || client->ssl)
        read_client(client);
    dsql_client_flush(client);
}
