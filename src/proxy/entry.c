/*
 * Who comes in: users of this machine by the kernel's word, and users of the users file by their
 * password (login.c). A connection of a user who may not come in gets no further than
 * its startup packet.
 *
 * Before login a client costs its structure, what it sent of one startup packet (10 KB) or of one
 * message of a login (1 KB), and with TLS what a handshake takes. There are at most LOGINS_MAX of
 * them, each at most login_ns old.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/link.h"
#include "base/rng.h"
#include "base/shown.h"
#include "net/listen.h"
#include "net/peer.h"
#include "pgwire/put_backend.h"
#include "proxy/compat.h"
#include "proxy/proxy.h"

enum { ACCEPTS_MAX = 64, BACKLOG = 4096, LOGINS_MAX = 512 };

#define REST_NS   (100 * DSQL_MS)
#define SILENT_NS DSQL_S

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

void dsql_entry_refuse(struct dsql_client *client, const char *sqlstate, const char *message,
                       const char *hint)
{
    struct dsql_proxy *proxy = client->proxy;
    atomic_fetch_add_explicit(&proxy->counts.refused, 1, memory_order_relaxed);
    dsql_log(proxy->log, DSQL_EVENT_PROXY_REFUSED, DSQL_F("detail", message));
    dsql_client_fatal(client, sqlstate, message, hint);
}

/* -- Before login. */

static void join(struct dsql_client *client)
{
    struct dsql_proxy *proxy = client->proxy;
    client->began = dsql_clock_mono(proxy->options.clock);
    client->login_prev = proxy->login_last;
    *(proxy->login_last ? &proxy->login_last->login_next : &proxy->login_first) = client;
    proxy->login_last = client;
    proxy->login_count++;
}

void dsql_entry_leave(struct dsql_client *client)
{
    struct dsql_proxy *proxy = client->proxy;
    if (!client->login_prev && proxy->login_first != client)
        return;
    *(client->login_prev ? &client->login_prev->login_next : &proxy->login_first) =
        client->login_next;
    *(client->login_next ? &client->login_next->login_prev : &proxy->login_last) =
        client->login_prev;
    client->login_next = client->login_prev = NULL;
    proxy->login_count--;
}

/* Whether there is room for one more before login. The oldest gives way once it has had its time:
 * those who speak have logged in by then, so that silent clients cost the others nothing. */
static bool has_room(struct dsql_proxy *proxy)
{
    if (proxy->login_count < LOGINS_MAX)
        return true;
    struct dsql_client *oldest = proxy->login_first;
    if (dsql_mono_since(dsql_clock_mono(proxy->options.clock), oldest->began) < SILENT_NS)
        return false;
    dsql_client_close(oldest);
    return true;
}

/* What the kernel knows of the other end. */
static void look_at_peer(struct dsql_client *client, int fd)
{
    const struct dsql_proxy *proxy = client->proxy;
    struct sockaddr_storage peer = {0};
    socklen_t len = sizeof(peer);
    struct dsql_err err;
    bool passwords = proxy->options.users_file[0] != '\0';
    client->remote = getpeername(fd, (struct sockaddr *)&peer, &len) != 0 ||
                     !dsql_address_is_local((struct sockaddr *)&peer);
    if ((int64_t)proxy->client_count > proxy->options.clients_max)
        client->barred = DSQL_BARRED_FULL;
    else if (passwords && peer.ss_family != AF_UNIX)
        return; /* a password counts, not who has it */
    else if (dsql_peer_uid(fd, &client->uid, &err))
        client->barred = passwords ? DSQL_BARRED_NOT : DSQL_BARRED_STRANGER;
    else if (may_enter(proxy, client->uid))
        client->known = true;
    else if (!passwords)
        client->barred = DSQL_BARRED_USER;
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
    DSQL_LINK(proxy->clients, client);
    proxy->client_count++;
    join(client);
    atomic_store_explicit(&proxy->counts.clients, proxy->client_count, memory_order_relaxed);
    atomic_fetch_add_explicit(&proxy->counts.accepted, 1, memory_order_relaxed);
    dsql_client_begin(client, fd);
    look_at_peer(client, fd);
}

/* Why a client may not come in is said when it can be heard: in answer to its startup packet. */
static bool is_barred(struct dsql_client *client)
{
    char message[128];
    switch (client->barred) {
    case DSQL_BARRED_NOT:
        if (!client->remote || client->ssl)
            return false;
        dsql_entry_refuse(client, "28000", "clients of other machines need TLS",
                          "Connect with sslmode=verify-full.");
        break;
    case DSQL_BARRED_STRANGER:
        dsql_entry_refuse(client, "28000", "the kernel does not know whose this connection is",
                          "Connect from this machine.");
        break;
    case DSQL_BARRED_USER:
        (void)snprintf(message, sizeof(message), "user %u of this machine may not use this proxy",
                       (unsigned)client->uid);
        dsql_entry_refuse(client, "28000", message,
                          "Start 'dsql proxy' with --allow=NAME of that user.");
        break;
    case DSQL_BARRED_FULL:
        dsql_entry_refuse(client, "53300", "the proxy has as many clients as it takes",
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
        if (!has_room(proxy)) {
            if (!dsql_loop_start(&proxy->loop, &proxy->rest, REST_NS))
                watch_listeners(proxy, 0);
            return;
        }
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

/* Where other machines can connect, a password and TLS are asked for. */
static enum dsql_rc check_listener(const struct dsql_proxy *proxy, struct dsql_err *err)
{
    struct sockaddr_storage self = {0};
    socklen_t len = sizeof(self);
    if (getsockname(proxy->loopback.fd, (struct sockaddr *)&self, &len) == 0 &&
        dsql_address_is_local((struct sockaddr *)&self))
        return DSQL_OK;
    if (proxy->options.users_file[0] && proxy->tls)
        return DSQL_OK;
    (void)dsql_err_set(err, DSQL_INVALID,
                       "other machines could connect without a password or without TLS");
    dsql_err_hint(err, "give --users and --cert, or listen on 127.0.0.1");
    return DSQL_INVALID;
}

/* A socket that was handed over, by its kind. */
static enum dsql_rc adopt(struct dsql_proxy *proxy, int fd, struct dsql_err *err)
{
    struct sockaddr_storage self = {0};
    socklen_t len = sizeof(self);
    int listens = 0, yes = 1;
    socklen_t size = sizeof(listens);
    if (getsockname(fd, (struct sockaddr *)&self, &len) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens ||
        ioctl(fd, FIONBIO, &yes) != 0)
        return dsql_err_set(err, DSQL_INVALID, "descriptor %d does not listen", fd);
    bool unix_socket = self.ss_family == AF_UNIX;
    struct dsql_watch *watch = unix_socket ? &proxy->local : &proxy->loopback;
    if (watch->fd >= 0)
        return dsql_err_set(err, DSQL_INVALID, "more than one %s socket was handed over",
                            unix_socket ? "Unix" : "TCP");
    watch->fd = fd;
    if (!unix_socket) {
        proxy->options.port = dsql_address_port((struct sockaddr *)&self);
    } else if (proxy->options.owns_path) {
        struct dsql_strbuf path;
        dsql_strbuf_init(&path, proxy->socket_path, sizeof(proxy->socket_path));
        dsql_strbuf_add_str(&path, ((const struct sockaddr_un *)&self)->sun_path);
    }
    return DSQL_OK;
}

/* Those that are not taken over are closed with the proxy. */
static enum dsql_rc adopt_all(struct dsql_proxy *proxy, struct dsql_err *err)
{
    const struct dsql_proxy_options *o = &proxy->options;
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < o->listener_count; i++) {
        if (!rc)
            rc = adopt(proxy, o->listeners[i], err);
        if (rc && proxy->loopback.fd != o->listeners[i] && proxy->local.fd != o->listeners[i])
            close(o->listeners[i]);
    }
    if (!rc && proxy->loopback.fd >= 0)
        rc = check_listener(proxy, err);
    if (!rc)
        watch_listeners(proxy, EPOLLIN);
    return rc;
}

enum dsql_rc dsql_entry_open(struct dsql_proxy *proxy, struct dsql_err *err)
{
    struct dsql_proxy_options *o = &proxy->options;
    proxy->loopback.ready = loopback_ready;
    proxy->local.ready = local_ready;
    proxy->rest.due = rest_over;
    if (o->listener_count > 0)
        return adopt_all(proxy, err);
    enum dsql_rc rc = dsql_listen_tcp(o->address[0] ? o->address : "127.0.0.1", &o->port, BACKLOG,
                                      &proxy->loopback.fd, err);
    if (rc)
        return rc;
    rc = check_listener(proxy, err);
    if (rc)
        return rc;
    if (o->socket_folder[0]) {
        int len = snprintf(proxy->socket_path, sizeof(proxy->socket_path), "%s/.s.PGSQL.%u",
                           o->socket_folder, (unsigned)o->port);
        if (len < 0 || (size_t)len >= sizeof(proxy->socket_path))
            return dsql_err_set(err, DSQL_INVALID, "the path of the socket is too long");
        /* All users of the machine may reach the socket: each is asked for the name. */
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
    watch_listeners(proxy, 0); /* a successor's copy keeps a socket that is closed here in epoll */
    dsql_loop_close(&proxy->loopback);
    dsql_loop_close(&proxy->local);
    if (proxy->socket_path[0])
        (void)unlink(proxy->socket_path);
    proxy->socket_path[0] = '\0';
}

/* -- The startup packet. */

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
    if (i == DSQL_PARAMETERS && !client->proxy->options.strict &&
        dsql_compat_is_harmless(name, value)) {
        atomic_fetch_add_explicit(&client->proxy->counts.compat[DSQL_COMPAT_KIND_STARTUP], 1,
                                  memory_order_relaxed);
        return true;
    }
    if (i == DSQL_PARAMETERS) {
        (void)snprintf(message, sizeof(message),
                       "setting configuration parameter \"%s\" not supported",
                       dsql_shown(name).text);
        dsql_entry_refuse(client, "0A000", message, "");
        return false;
    }
    if (i == DSQL_PARAMETER_CLIENT_ENCODING && is_utf8(value))
        value = DSQL_SPAN("UTF8");
    else if (i != DSQL_PARAMETER_APPLICATION_NAME)
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

static bool take_options(struct dsql_client *client, struct dsql_span options, bool *check)
{
    struct dsql_pg_param setting;
    char memory[DSQL_PG_STARTUP_MOST];
    struct dsql_strbuf word;
    dsql_strbuf_init(&word, memory, sizeof(memory));
    while (dsql_pg_options_next(&options, &word, &setting))
        if (!take_parameter(client, setting.name, setting.value, check))
            return false;
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

/* -- What a client may have. */

static struct dsql_proxy_role *role_named(struct dsql_proxy *proxy, struct dsql_span name)
{
    for (size_t i = 0; i < proxy->role_count; i++)
        if (dsql_span_eq(name, dsql_span_of(proxy->roles[i].pool->options.connection.user)))
            return &proxy->roles[i];
    return NULL;
}

/* The role that a user has: the one it is mapped to, or that of its own name. */
static struct dsql_proxy_role *role_of(struct dsql_proxy *proxy, struct dsql_span user)
{
    const struct dsql_proxy_options *o = &proxy->options;
    for (size_t i = 0; i < o->map_count; i++)
        if (dsql_span_eq(user, dsql_span_of(o->map[i].user)))
            return role_named(proxy, dsql_span_of(o->map[i].role));
    return role_named(proxy, user);
}

static bool is_operator(const struct dsql_proxy *proxy, struct dsql_span user)
{
    struct dsql_span rest = dsql_span_of(proxy->options.operators), name;
    while (rest.len > 0) {
        (void)dsql_span_cut(rest, ',', &name, &rest);
        if (dsql_span_eq(name, user))
            return true;
    }
    return false;
}

static bool has_too_many(const struct dsql_client *client)
{
    const struct dsql_proxy *proxy = client->proxy;
    int64_t count = 0;
    if (proxy->options.user_clients_max == 0)
        return false;
    for (const struct dsql_client *at = proxy->clients; at; at = at->next)
        count += at != client && at->state > DSQL_CLIENT_LOGIN && at->state < DSQL_CLIENT_LEAVING &&
                 strcmp(at->user, client->user) == 0;
    return count >= proxy->options.user_clients_max;
}

/* Whether the client asks for what there is. */
static bool is_served(struct dsql_client *client, const struct dsql_pg_startup *startup)
{
    struct dsql_proxy *proxy = client->proxy;
    const struct dsql_pool_options *o = &proxy->roles[0].pool->options;
    struct dsql_span user = DSQL_SPAN(""), database = DSQL_SPAN("");
    struct dsql_strbuf name;
    char message[256], hint[256];
    (void)dsql_pg_params_get(startup->params, DSQL_SPAN("user"), &user);
    if (!dsql_pg_params_get(startup->params, DSQL_SPAN("database"), &database))
        database = user;
    dsql_strbuf_init(&name, client->user, sizeof(client->user));
    dsql_strbuf_add(&name, user);
    client->console =
        dsql_span_eq(database, DSQL_SPAN("dsql")) || dsql_span_eq(database, DSQL_SPAN("pgbouncer"));
    if (client->console && (client->known || is_operator(proxy, user))) {
        client->may_command = !client->known || client->uid == 0 || client->uid == geteuid();
        return true;
    }
    client->role = client->console ? NULL : role_of(proxy, user);
    if (client->console) {
        dsql_entry_refuse(client, "42501", "this user may not see the proxy's own database",
                          "Start 'dsql proxy' with --operators=NAME of that user.");
    } else if (!client->role) {
        (void)snprintf(message, sizeof(message), "role \"%s\" is not served by this proxy",
                       dsql_shown(user).text);
        (void)snprintf(hint, sizeof(hint),
                       "Connect as user=%s, or start 'dsql proxy' with --user or --map.",
                       o->connection.user);
        dsql_entry_refuse(client, "28000", message, hint);
    } else if (!dsql_span_eq(database, dsql_span_of(o->connection.database))) {
        (void)snprintf(message, sizeof(message), "database \"%s\" does not exist",
                       dsql_shown(database).text);
        dsql_entry_refuse(client, "3D000", message, "");
    } else if (has_too_many(client)) {
        dsql_entry_refuse(client, "53300", "this user has as many clients as one user may have",
                          "Raise --user-clients, or close some.");
    }
    return client->state < DSQL_CLIENT_CLOSING;
}

void dsql_entry_admit(struct dsql_client *client, const struct dsql_pg_startup *startup)
{
    bool check = false;
    if (!is_served(client, startup))
        return;
    if (client->console) {
        client->role = &client->proxy->roles[0]; /* for its greeting */
        client->settings = dsql_settings_ref(client->role->base);
        dsql_pg_framer_expect(&client->in, &client->proxy->client_limits);
        dsql_entry_leave(client);
        dsql_entry_welcome(client);
        client->role = NULL;
        return;
    }
    client->settings = dsql_settings_ref(client->role->base);
    if (!take_parameters(client, startup->params, &check))
        return;
    if (dsql_pg_startup_must_negotiate(startup, 0))
        dsql_pg_put_negotiate_version(&client->out.bytes, 0, startup);
    dsql_pg_framer_expect(&client->in, &client->proxy->client_limits);
    dsql_entry_leave(client);
    if (!check) {
        dsql_entry_welcome(client);
        return;
    }
    client->state = DSQL_CLIENT_CHECKING;
    (void)dsql_server_need(client); /* dsql_relay_settings() tries them and reads them back */
}

static void begin_session(struct dsql_client *client, const struct dsql_pg_piece *piece,
                          const struct dsql_pg_startup *startup)
{
    if (is_barred(client))
        return;
    if (client->known || !client->proxy->options.users_file[0])
        dsql_entry_admit(client, startup);
    else
        dsql_proxy_login_begin(client, piece->body, startup);
}

/* The answer goes out in plain text, at once; what comes next is TLS. */
static void begin_tls(struct dsql_client *client)
{
    SSL *ssl = SSL_new(client->proxy->tls);
    if (!ssl || SSL_set_fd(ssl, client->watch.fd) != 1 ||
        send(client->watch.fd, "S", 1, MSG_NOSIGNAL) != 1) {
        SSL_free(ssl);
        client->state = DSQL_CLIENT_CLOSING;
        return;
    }
    SSL_set_accept_state(ssl);
    client->ssl = ssl;
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
        if (client->role->greeting[i].len == 0)
            continue;
        dsql_span_cut(dsql_strbuf_span(&client->role->greeting[i]), '=', &name, &value);
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
        dsql_entry_refuse(client, err.sqlstate[0] ? err.sqlstate : "08P01", err.message, "");
        return;
    }
    switch (startup.kind) {
    case DSQL_PG_SSL_REQUEST:
        if (client->proxy->tls && !client->ssl) {
            begin_tls(client);
            return;
        }
        dsql_strbuf_add_char(&client->out.bytes, 'N');
        return;
    case DSQL_PG_GSSENC_REQUEST:
        dsql_strbuf_add_char(&client->out.bytes, 'N');
        return;
    case DSQL_PG_CANCEL_REQUEST:
        if (!client->barred)
            cancel(client->proxy, &startup);
        client->state = DSQL_CLIENT_CLOSING;
        return;
    case DSQL_PG_STARTUP_MESSAGE:
        begin_session(client, piece, &startup);
        return;
    }
}
