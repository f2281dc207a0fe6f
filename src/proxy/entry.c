/*
 * Who comes in: users of this machine, by the kernel's word. A connection whose other end belongs
 * to a user that is not allowed gets no further than its startup packet.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/shown.h"
#include "net/listen.h"
#include "net/peer.h"
#include "pgwire/put_backend.h"
#include "proxy/proxy.h"

enum { ACCEPTS_MAX = 64, BACKLOG = 4096 };

#define REST_NS (100 * DSQL_MS)

/* What a server reports at login that the client's own settings may change. */
static const struct {
    const char *name;
    size_t setting;
} reported[] = {{"client_encoding", 1}, {"DateStyle", 2}, {"IntervalStyle", 4}, {"TimeZone", 5}};

static bool may_enter(const struct dsql_proxy *proxy, uid_t uid)
{
    if (uid == 0 || uid == geteuid())
        return true;
    for (size_t i = 0; i < proxy->options.uid_count; i++)
        if (proxy->options.uids[i] == uid)
            return true;
    return false;
}

static void refuse(struct dsql_client *client, const char *sqlstate, const char *message,
                   const char *hint)
{
    struct dsql_proxy *proxy = client->proxy;
    atomic_fetch_add_explicit(&proxy->counts.refused, 1, memory_order_relaxed);
    dsql_log(proxy->log, DSQL_EVENT_PROXY_REFUSED, DSQL_F("detail", message));
    dsql_client_fatal(client, sqlstate, message, hint);
}

static void accept_one(struct dsql_proxy *proxy, int fd)
{
    struct dsql_client *client = calloc(1, sizeof(*client));
    int yes = 1;
    if (!client || dsql_loop_start(&proxy->loop, &client->login, proxy->options.login_ns)) {
        free(client);
        close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    client->proxy = proxy;
    client->next = proxy->clients;
    if (proxy->clients)
        proxy->clients->prev = client;
    proxy->clients = client;
    proxy->client_count++;
    atomic_store_explicit(&proxy->counts.clients, proxy->client_count, memory_order_relaxed);
    atomic_fetch_add_explicit(&proxy->counts.accepted, 1, memory_order_relaxed);
    dsql_client_begin(client, fd);
    struct dsql_err err;
    if (dsql_peer_uid(fd, &client->uid, &err))
        client->barred = DSQL_BARRED_STRANGER;
    else if (!may_enter(proxy, client->uid))
        client->barred = DSQL_BARRED_USER;
    else if ((int64_t)proxy->client_count > proxy->options.clients_max)
        client->barred = DSQL_BARRED_FULL;
}

/* Why a client may not come in is said when it can be heard: in answer to its startup packet. */
static bool is_barred(struct dsql_client *client)
{
    char message[128];
    switch (client->barred) {
    case DSQL_BARRED_NOT:
        return false;
    case DSQL_BARRED_STRANGER:
        refuse(client, "28000", "the kernel does not know whose this connection is",
               "Connect from this machine.");
        break;
    case DSQL_BARRED_USER:
        (void)snprintf(message, sizeof(message), "user %u of this machine may not use this proxy",
                       (unsigned)client->uid);
        refuse(client, "28000", message, "Start 'dsql proxy' with --allow=NAME of that user.");
        break;
    case DSQL_BARRED_FULL:
        refuse(client, "53300", "the proxy has as many clients as it takes",
               "Raise --clients, or close some.");
        break;
    }
    return true;
}

static void watch_listeners(struct dsql_proxy *proxy, uint32_t events)
{
    dsql_loop_watch(&proxy->loop, &proxy->loopback, events);
    dsql_loop_watch(&proxy->loop, &proxy->local, events);
}

static void rest_over(struct dsql_timer *timer)
{
    watch_listeners(DSQL_CONTAINER_OF(timer, struct dsql_proxy, rest), EPOLLIN);
}

static void accept_some(struct dsql_proxy *proxy, int listener)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            accept_one(proxy, fd);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            if (dsql_loop_is_short(errno) && !dsql_loop_start(&proxy->loop, &proxy->rest, REST_NS))
                watch_listeners(proxy, 0);
            return;
        }
    }
}

static void loopback_ready(struct dsql_watch *watch, uint32_t events)
{
    (void)events;
    accept_some(DSQL_CONTAINER_OF(watch, struct dsql_proxy, loopback), watch->fd);
}

static void local_ready(struct dsql_watch *watch, uint32_t events)
{
    (void)events;
    accept_some(DSQL_CONTAINER_OF(watch, struct dsql_proxy, local), watch->fd);
}

enum dsql_rc dsql_entry_open(struct dsql_proxy *proxy, struct dsql_err *err)
{
    struct dsql_proxy_options *o = &proxy->options;
    proxy->loopback.ready = loopback_ready;
    proxy->local.ready = local_ready;
    proxy->rest.due = rest_over;
    enum dsql_rc rc = dsql_listen_loopback(&o->port, BACKLOG, &proxy->loopback.fd, err);
    if (rc)
        return rc;
    if (o->socket_folder[0]) {
        int len = snprintf(proxy->socket_path, sizeof(proxy->socket_path), "%s/.s.PGSQL.%u",
                           o->socket_folder, (unsigned)o->port);
        if (len < 0 || (size_t)len >= sizeof(proxy->socket_path))
            return dsql_err_set(err, DSQL_INVALID, "the path of the socket is too long");
        /* Whoever may reach it is asked who it is. */
        rc = dsql_listen_unix(proxy->socket_path, 0777, BACKLOG, &proxy->local.fd, err);
        if (rc) {
            proxy->socket_path[0] = '\0';
            return rc;
        }
    }
    watch_listeners(proxy, EPOLLIN);
    return DSQL_OK;
}

void dsql_entry_close(struct dsql_proxy *proxy)
{
    dsql_loop_stop(&proxy->loop, &proxy->rest);
    dsql_loop_close(&proxy->loopback);
    dsql_loop_close(&proxy->local);
    if (proxy->socket_path[0])
        (void)unlink(proxy->socket_path);
    proxy->socket_path[0] = '\0';
}

/* ------------------------------------------------------------ the startup packet */

static bool is_utf8(struct dsql_span value)
{
    return dsql_span_eq_nocase(value, DSQL_SPAN("utf8")) ||
           dsql_span_eq_nocase(value, DSQL_SPAN("utf-8")) ||
           dsql_span_eq_nocase(value, DSQL_SPAN("'utf-8'"));
}

/* One parameter of the session: false if the service refuses it. *check: it has to be tried. */
static bool take_parameter(struct dsql_client *client, struct dsql_span name,
                           struct dsql_span value, bool *check)
{
    size_t i = dsql_parameter_find(name);
    char message[200];
    if (i == DSQL_SETTINGS) {
        (void)snprintf(message, sizeof(message),
                       "setting configuration parameter \"%s\" not supported",
                       dsql_shown(name).text);
        refuse(client, "0A000", message, "");
        return false;
    }
    if (i == DSQL_SETTING_CLIENT_ENCODING && is_utf8(value))
        value = DSQL_SPAN("UTF8");
    else if (i != DSQL_SETTING_APPLICATION_NAME)
        *check = true;
    struct dsql_settings *changed = dsql_settings_with(client->settings, i, value);
    if (!changed) {
        dsql_client_fatal(client, "53200", "out of memory", "");
        return false;
    }
    dsql_settings_unref(client->settings);
    client->settings = changed;
    return true;
}

/* -c name=value and --name=value, as many as there are. */
static bool take_options(struct dsql_client *client, struct dsql_span options, bool *check)
{
    struct dsql_span word, name, value;
    while (options.len > 0) {
        dsql_span_cut(dsql_span_trim(options), ' ', &word, &options);
        if (dsql_span_eq(word, DSQL_SPAN("-c")))
            dsql_span_cut(dsql_span_trim(options), ' ', &word, &options);
        else if (dsql_span_starts(word, DSQL_SPAN("-c")) || dsql_span_starts(word, DSQL_SPAN("--")))
            word = dsql_span_from(word, 2);
        dsql_span_cut(word, '=', &name, &value);
        if (name.len > 0 && !take_parameter(client, name, value, check))
            return false;
    }
    return true;
}

static bool take_parameters(struct dsql_client *client, struct dsql_pg_params params, bool *check)
{
    struct dsql_pg_param param;
    while (dsql_pg_params_next(&params, &param)) {
        bool ok = true;
        if (dsql_pg_param_is_option(param) || dsql_span_eq(param.name, DSQL_SPAN("user")) ||
            dsql_span_eq(param.name, DSQL_SPAN("database")))
            continue;
        if (dsql_span_eq(param.name, DSQL_SPAN("options")))
            ok = take_options(client, param.value, check);
        else
            ok = take_parameter(client, param.name, param.value, check);
        if (!ok)
            return false;
    }
    return true;
}

/* Whether the client asks for what there is. */
static bool is_served(struct dsql_client *client, const struct dsql_pg_startup *startup)
{
    const struct dsql_pool_options *o = &client->proxy->pool->options;
    struct dsql_span user = DSQL_SPAN(""), database = DSQL_SPAN("");
    char message[256], hint[256];
    (void)dsql_pg_params_get(startup->params, DSQL_SPAN("user"), &user);
    if (!dsql_pg_params_get(startup->params, DSQL_SPAN("database"), &database))
        database = user;
    if (!dsql_span_eq(user, dsql_span_of(o->user))) {
        (void)snprintf(message, sizeof(message), "role \"%s\" is not served by this proxy",
                       dsql_shown(user).text);
        (void)snprintf(hint, sizeof(hint), "Connect as user=%s, or start 'dsql proxy' with --user.",
                       o->user);
        refuse(client, "28000", message, hint);
    } else if (!dsql_span_eq(database, dsql_span_of(o->database))) {
        (void)snprintf(message, sizeof(message), "database \"%s\" does not exist",
                       dsql_shown(database).text);
        refuse(client, "3D000", message, "");
    }
    return client->state == DSQL_CLIENT_STARTUP;
}

static void begin_session(struct dsql_client *client, const struct dsql_pg_startup *startup)
{
    bool check = false;
    client->settings = dsql_settings_ref(client->proxy->base);
    if (is_barred(client) || !is_served(client, startup) ||
        !take_parameters(client, startup->params, &check))
        return;
    if (dsql_pg_startup_must_negotiate(startup, 0))
        dsql_pg_put_negotiate_version(&client->out.bytes, 0, startup);
    dsql_pg_framer_expect(&client->in, &client->proxy->client_limits);
    if (!check) {
        dsql_entry_welcome(client);
        return;
    }
    client->state = DSQL_CLIENT_CHECKING;
    (void)dsql_server_need(client); /* dsql_relay_settings() tries them and reads them back */
}

static void put_reported(struct dsql_client *client, struct dsql_span name, struct dsql_span value)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(reported); i++)
        if (dsql_span_eq(name, dsql_span_of(reported[i].name)))
            value = dsql_span_of(client->settings->values[reported[i].setting]);
    dsql_pg_put_parameter_status(&client->out.bytes, name, value);
}

void dsql_entry_welcome(struct dsql_client *client)
{
    struct dsql_proxy *proxy = client->proxy;
    client->initial = dsql_settings_ref(client->settings);
    client->pid = ++proxy->next_pid & INT32_MAX;
    dsql_random_bytes(&client->key, sizeof(client->key));
    dsql_pg_put_auth_ok(&client->out.bytes);
    for (size_t i = 0; i < DSQL_PROXY_REPORTED; i++) {
        struct dsql_span name, value;
        if (proxy->greeting[i].len == 0)
            continue;
        dsql_span_cut(dsql_strbuf_span(&proxy->greeting[i]), '=', &name, &value);
        put_reported(client, name, value);
    }
    dsql_pg_put_key_data(&client->out.bytes, client->pid, client->key);
    dsql_pg_put_ready(&client->out.bytes, DSQL_PG_IDLE);
    client->state = DSQL_CLIENT_ACTIVE;
    dsql_loop_stop(&proxy->loop, &client->login);
}

/* A client that waits for a connection is let go; what runs at the service can't be cancelled. */
static void cancel(struct dsql_proxy *proxy, const struct dsql_pg_startup *startup)
{
    if (startup->key.len != 4)
        return;
    uint32_t key = 0;
    for (size_t i = 0; i < 4; i++)
        key = key << 8 | (unsigned char)startup->key.ptr[i];
    atomic_fetch_add_explicit(&proxy->counts.cancels, 1, memory_order_relaxed);
    for (struct dsql_client *at = proxy->clients; at; at = at->next)
        if (at->pid == startup->pid && at->key == key && at->waits) {
            dsql_server_cancel_wait(at);
            return;
        }
}

void dsql_entry_startup(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_startup startup;
    struct dsql_err err;
    if (dsql_pg_startup_parse(piece->body, &startup, &err)) {
        refuse(client, err.sqlstate[0] ? err.sqlstate : "08P01", err.message, "");
        return;
    }
    switch (startup.kind) {
    case DSQL_PG_SSL_REQUEST:
    case DSQL_PG_GSSENC_REQUEST:
        dsql_strbuf_add_char(&client->out.bytes, 'N'); /* it is this machine */
        return;
    case DSQL_PG_CANCEL_REQUEST:
        if (!client->barred)
            cancel(client->proxy, &startup);
        client->state = DSQL_CLIENT_CLOSING;
        return;
    case DSQL_PG_STARTUP_MESSAGE:
        begin_session(client, &startup);
        return;
    }
}
