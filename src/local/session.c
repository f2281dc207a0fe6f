/* One client: TLS, the startup packet, the token, and the bytes in both directions. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "base/rng.h"
#include "base/shown.h"
#include "local/front.h"
#include "local/sql_set.h"
#include "pgwire/put_backend.h"
#include "pgwire/put_frontend.h"
#include "pgwire/startup.h"

enum { READ_CHUNK = 64 << 10, TLS_RECORD_HANDSHAKE = 0x16, REQUEST_LEN = 8, PARAMS_MAX = 64 };

/* What the service reports after login, as recorded; what follows the session is added to it. */
static const struct {
    struct dsql_span name, value;
} parameters[] = {
    {{"server_version", 14}, {"16.15", 5}},   {{"server_encoding", 15}, {"UTF8", 4}},
    {{"client_encoding", 15}, {"UTF8", 4}},   {{"DateStyle", 9}, {"ISO, MDY", 8}},
    {{"IntervalStyle", 13}, {"postgres", 8}}, {{"TimeZone", 8}, {"UTC", 3}},
    {{"integer_datetimes", 17}, {"on", 2}},   {{"standard_conforming_strings", 27}, {"on", 2}},
    {{"is_superuser", 12}, {"off", 3}},       {{"default_transaction_read_only", 29}, {"off", 3}},
    {{"in_hot_standby", 14}, {"off", 3}},
};

static void client_ready(struct dsql_session *session, uint32_t events);

void dsql_session_begin(struct dsql_session *session)
{
    session->client.session = session->backend.session = session;
    session->client.ready = client_ready;
    dsql_outbox_init(&session->to_client);
    dsql_outbox_init(&session->to_backend);
    dsql_pg_framer_init_startup(&session->from_client);
    dsql_pg_framer_init(&session->from_backend, &session->front->backend_limits);
    dsql_sql_tx_init(&session->tx, &session->front->options->limits);
    /* The first bytes are looked at, not taken, until there are enough: only new ones shall wake
     * us. */
    dsql_front_watch(session->front, &session->client, EPOLLIN | EPOLLET);
}

void dsql_session_close(struct dsql_session *session)
{
    struct dsql_front *front = session->front;
    if (session->state == DSQL_SESSION_DEAD)
        return;
    session->state = DSQL_SESSION_DEAD;
    if (session->prev)
        session->prev->next = session->next;
    else
        front->sessions = session->next;
    if (session->next)
        session->next->prev = session->prev;
    session->next = front->dead;
    session->prev = NULL;
    front->dead = session;
    front->counts.closed++;
    front->open -= session->admitted;
    dsql_heap_remove(&front->deadlines, &session->node);
    if (session->backend.fd >= 0)
        close(session->backend.fd);
    close(session->client.fd);
    session->client.fd = session->backend.fd = -1;
}

void dsql_session_free(struct dsql_session *session)
{
    assert(session->state == DSQL_SESSION_DEAD);
    SSL_free(session->ssl);
    dsql_outbox_fini(&session->to_client);
    dsql_outbox_fini(&session->to_backend);
    dsql_pg_framer_fini(&session->from_client);
    dsql_pg_framer_fini(&session->from_backend);
    dsql_relay_fini(session);
    free(session->startup);
    free(session);
}

static void count_refusal(struct dsql_session *session, enum dsql_local_refusal refusal,
                          const char *detail)
{
    session->front->counts.refused[refusal]++;
    dsql_log(session->front->log, DSQL_EVENT_LOCAL_REFUSED,
             DSQL_F("reason", dsql_local_refusal_name(refusal)),
             DSQL_F("user", (const char *)session->user), DSQL_F("detail", detail));
}

void dsql_session_fatal(struct dsql_session *session, enum dsql_local_refusal refusal,
                        const char *sqlstate, const char *message, const char *hint)
{
    const struct dsql_pg_report report = {
        .severity = DSQL_SPAN("FATAL"),
        .sqlstate = dsql_span_of(sqlstate),
        .message = dsql_span_of(message),
        .hint = dsql_span_of(hint),
    };
    if (refusal != DSQL_LOCAL_REFUSALS)
        count_refusal(session, refusal, hint[0] ? hint : message);
    dsql_pg_put_error(&session->to_client.bytes, &report);
    session->state = DSQL_SESSION_CLOSING;
}

/* A peer that does not speak the protocol costs one connection and a line in the log. */
static void drop(struct dsql_session *session, const char *why)
{
    count_refusal(session, DSQL_LOCAL_PROTOCOL, why);
    dsql_session_close(session);
}

void dsql_session_overdue(struct dsql_session *session)
{
    struct dsql_front *front = session->front;
    if (session->state != DSQL_SESSION_ACTIVE) {
        if (session->state == DSQL_SESSION_CLOSING)
            dsql_session_close(session);
        else
            drop(session, "too slow to log in");
        return;
    }
    bool idle = session->awaiting == 0 && dsql_sql_tx_letter(&session->tx) == DSQL_PG_IDLE;
    if (!idle && !session->overdue) {
        /* The transaction under way may run to its own limit. */
        session->overdue = true;
        dsql_front_deadline(front, session,
                            front->options->limits.age_ns / front->options->time_scale);
        return;
    }
    front->counts.expired++;
    dsql_session_close(session);
}

/* Before TLS nothing but the answer to a request is ever sent: a byte, or the refusal. */
static void send_plain(struct dsql_session *session, struct dsql_span bytes)
{
    (void)send(session->client.fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void begin_tls(struct dsql_session *session)
{
    session->ssl = SSL_new(session->front->tls);
    if (!session->ssl || SSL_set_fd(session->ssl, session->client.fd) != 1) {
        dsql_session_close(session);
        return;
    }
    SSL_set_accept_state(session->ssl);
    dsql_front_watch(session->front, &session->client, EPOLLIN);
    session->state = DSQL_SESSION_TLS;
}

static uint32_t u32_at(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/*
 * The first bytes decide: TLS at once, a request for it, a request to cancel, or a client that does
 * not encrypt. They are looked at before they are taken, so that nothing sent in plain text behind
 * a request can end up inside the encrypted session.
 */
static void read_first(struct dsql_session *session)
{
    unsigned char b[REQUEST_LEN];
    ssize_t got = recv(session->client.fd, b, sizeof(b), MSG_PEEK);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        dsql_session_close(session);
        return;
    }
    if (b[0] == TLS_RECORD_HANDSHAKE) {
        session->direct = true;
        begin_tls(session);
        return;
    }
    if (got < REQUEST_LEN)
        return;
    uint32_t length = u32_at(b), code = u32_at(b + 4);
    if (length == REQUEST_LEN && code == DSQL_PG_CODE_SSL) {
        (void)recv(session->client.fd, b, sizeof(b), 0);
        send_plain(session, DSQL_SPAN("S"));
        begin_tls(session);
    } else if (length == REQUEST_LEN && code == DSQL_PG_CODE_GSSENC && !session->asked_gss) {
        (void)recv(session->client.fd, b, sizeof(b), 0);
        send_plain(session, DSQL_SPAN("N"));
        session->asked_gss = true;
        read_first(session); /* what came with it wakes nobody */
    } else if (code == DSQL_PG_CODE_CANCEL) {
        session->front->counts.cancels_ignored++;
        dsql_session_close(session);
    } else if (code >> 16 == 3) {
        dsql_session_fatal(
            session, DSQL_LOCAL_NO_TLS, "08006",
            "unable to accept connection, SSL is mandatory. AWS Authentication is required.", "");
        send_plain(session, dsql_outbox_waiting(&session->to_client));
        dsql_session_close(session);
    } else {
        drop(session, "the first bytes are no PostgreSQL startup packet");
    }
}

static void shake_hands(struct dsql_session *session)
{
    ERR_clear_error();
    int rc = SSL_do_handshake(session->ssl);
    if (rc == 1) {
        const unsigned char *alpn;
        unsigned alpn_len;
        SSL_get0_alpn_selected(session->ssl, &alpn, &alpn_len);
        if (session->direct && alpn_len == 0) {
            drop(session, "direct TLS without the ALPN name postgresql");
            return;
        }
        session->state = DSQL_SESSION_STARTUP;
        return;
    }
    int why = SSL_get_error(session->ssl, rc);
    if (why == SSL_ERROR_WANT_WRITE)
        dsql_front_watch(session->front, &session->client, EPOLLIN | EPOLLOUT);
    else if (why != SSL_ERROR_WANT_READ)
        drop(session, "the TLS handshake failed");
}

/* One -c name=value or --name=value of the startup parameter `options`. */
static bool check_option(struct dsql_span name, struct dsql_sql_refusal *refusal)
{
    return dsql_span_eq(name, DSQL_SPAN("amzn-cluster-id")) ||
           dsql_sql_setting_check_startup(name, refusal);
}

static bool check_options(struct dsql_span options, struct dsql_sql_refusal *refusal)
{
    struct dsql_span word, name, value;
    while (options.len > 0) {
        dsql_span_cut(dsql_span_trim(options), ' ', &word, &options);
        if (dsql_span_eq(word, DSQL_SPAN("-c")))
            dsql_span_cut(dsql_span_trim(options), ' ', &word, &options);
        else if (dsql_span_starts(word, DSQL_SPAN("-c")) || dsql_span_starts(word, DSQL_SPAN("--")))
            word = dsql_span_from(word, 2);
        dsql_span_cut(word, '=', &name, &value);
        if (name.len > 0 && !check_option(name, refusal))
            return false;
    }
    return true;
}

static bool is_name(struct dsql_span s, const char *name)
{
    return dsql_span_eq(s, dsql_span_of(name));
}

/* Checks the parameters and keeps what PostgreSQL shall get. */
static bool take_parameters(struct dsql_session *session, const struct dsql_pg_startup *startup,
                            struct dsql_sql_refusal *refusal)
{
    struct dsql_pg_param kept[PARAMS_MAX], param;
    struct dsql_pg_params rest = startup->params;
    size_t count = 0;
    while (dsql_pg_params_next(&rest, &param)) {
        if (dsql_pg_param_is_option(param))
            continue;
        if (is_name(param.name, "options")) {
            if (!check_options(param.value, refusal))
                return false;
            /* -c amzn-cluster-id is for the front alone. */
            if (memmem(param.value.ptr, param.value.len, "amzn-cluster-id", 15))
                continue;
        } else if (!is_name(param.name, "user") && !is_name(param.name, "database") &&
                   !dsql_sql_setting_check_startup(param.name, refusal)) {
            return false;
        }
        if (dsql_sql_setting(param.name) != DSQL_SQL_SETTING_FRONT && count < PARAMS_MAX)
            kept[count++] = param;
    }
    struct dsql_strbuf out;
    dsql_strbuf_init_heap(&out, (size_t)2 * DSQL_PG_STARTUP_MOST);
    dsql_pg_put_startup(&out, kept, count);
    session->startup_len = out.len;
    session->startup = dsql_strbuf_take(&out);
    if (!session->startup)
        dsql_sql_refuse(refusal, "53200", "out of memory");
    return session->startup != NULL;
}

/* Whether the cluster has room: both limits are the whole endpoint's. */
static bool admit(struct dsql_session *session)
{
    struct dsql_front *front = session->front;
    if ((int64_t)front->open >= front->options->open_max) {
        dsql_session_fatal(session, DSQL_LOCAL_FULL, "53300",
                           "Unable to accept connection, too many open connections.", "");
        return false;
    }
    if (!dsql_bucket_take(&front->bucket, 1, dsql_front_now(front))) {
        dsql_session_fatal(session, DSQL_LOCAL_RATE, "53400",
                           "Unable to accept connection, rate exceeded.", "");
        return false;
    }
    session->admitted = true;
    front->open++;
    front->counts.admitted++;
    return true;
}

static void begin_login(struct dsql_session *session, const struct dsql_pg_startup *startup)
{
    struct dsql_span user = DSQL_SPAN(""), database = DSQL_SPAN("");
    struct dsql_sql_refusal refusal;
    struct dsql_strbuf name, wrong;
    char wrong_memory[192];
    (void)dsql_pg_params_get(startup->params, DSQL_SPAN("user"), &user);
    if (!dsql_pg_params_get(startup->params, DSQL_SPAN("database"), &database))
        database = user;
    dsql_strbuf_init(&name, session->user, sizeof(session->user));
    dsql_strbuf_add(&name, user);
    dsql_strbuf_init(&wrong, wrong_memory, sizeof(wrong_memory));
    dsql_strbuf_addf(&wrong, "database \"%s\" does not exist", dsql_shown(database).text);

    if (!SSL_get_servername(session->ssl, TLSEXT_NAMETYPE_host_name))
        dsql_session_fatal(session, DSQL_LOCAL_NO_SNI, "08006",
                           "unable to accept connection, sni was not received", "");
    else if (user.len == 0)
        dsql_session_fatal(session, DSQL_LOCAL_PARAMETER, "28000",
                           "no PostgreSQL user name specified in startup packet", "");
    else if (!is_name(database, "postgres"))
        dsql_session_fatal(session, DSQL_LOCAL_PARAMETER, "3D000", wrong.ptr, "");
    else if (!take_parameters(session, startup, &refusal))
        dsql_session_fatal(session, DSQL_LOCAL_PARAMETER, refusal.sqlstate, refusal.message, "");
    else if (admit(session)) {
        if (dsql_pg_startup_must_negotiate(startup, 0))
            dsql_pg_put_negotiate_version(&session->to_client.bytes, 0, startup);
        dsql_pg_put_auth_cleartext(&session->to_client.bytes);
        session->state = DSQL_SESSION_PASSWORD;
        dsql_pg_framer_expect(&session->from_client, &session->front->login_limits);
    }
}

static void on_startup(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_startup startup;
    struct dsql_err err;
    if (dsql_pg_startup_parse(piece->body, &startup, &err))
        dsql_session_fatal(session, DSQL_LOCAL_PROTOCOL, err.sqlstate, err.message, "");
    else if (startup.kind == DSQL_PG_STARTUP_MESSAGE)
        begin_login(session, &startup);
    else if (startup.kind == DSQL_PG_CANCEL_REQUEST) {
        session->front->counts.cancels_ignored++;
        dsql_session_close(session);
    } else
        drop(session, "a request for encryption inside the encryption");
}

static void welcome(struct dsql_session *session)
{
    struct dsql_front *front = session->front;
    struct dsql_strbuf *out = &session->to_client.bytes;
    uint32_t key[2];
    dsql_random_bytes(key, sizeof(key));
    dsql_pg_put_auth_ok(out);
    for (size_t i = 0; i < DSQL_COUNT_OF(parameters); i++)
        dsql_pg_put_parameter_status(out, parameters[i].name, parameters[i].value);
    dsql_pg_put_parameter_status(out, DSQL_SPAN("session_authorization"),
                                 dsql_span_of(session->user));
    dsql_pg_put_key_data(out, key[0] & INT32_MAX, key[1]);
    dsql_pg_put_ready(out, DSQL_PG_IDLE);
    session->state = DSQL_SESSION_ACTIVE;
    dsql_pg_framer_expect(&session->from_client, &front->client_limits);
    dsql_front_deadline(front, session, front->options->lifetime_ns / front->options->time_scale);
}

static void on_password(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    const struct dsql_front *front = session->front;
    const struct dsql_token_verifier verifier = {
        .keyring = &front->keyring,
        .host = dsql_span_of(front->options->host),
        .region = dsql_span_of(front->options->region),
        .skew_ns = DSQL_TOKEN_SKEW_DEFAULT_NS,
    };
    struct dsql_pg_fe msg;
    struct dsql_err err;
    if (dsql_pg_fe_parse(piece->type, piece->body, &msg, &err) || msg.password.len == 0)
        dsql_session_fatal(session, DSQL_LOCAL_TOKEN, "08P01", "invalid password packet size", "");
    else if (dsql_token_verify(&verifier, msg.password, dsql_span_of(session->user),
                               dsql_clock_wall(&dsql_clock_system), NULL, &err))
        dsql_session_fatal(session, DSQL_LOCAL_TOKEN, err.sqlstate[0] ? err.sqlstate : "53200",
                           err.message, err.hint);
    else
        welcome(session);
}

static void on_piece(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    switch (session->state) {
    case DSQL_SESSION_STARTUP:
        on_startup(session, piece);
        break;
    case DSQL_SESSION_PASSWORD:
        on_password(session, piece);
        break;
    case DSQL_SESSION_ACTIVE:
        dsql_relay_from_client(session, piece);
        break;
    case DSQL_SESSION_FIRST:
    case DSQL_SESSION_TLS:
    case DSQL_SESSION_CLOSING:
    case DSQL_SESSION_DEAD:
        break;
    }
}

static void take_bytes(struct dsql_session *session, struct dsql_span bytes)
{
    struct dsql_pg_piece piece;
    struct dsql_err err;
    while (session->state < DSQL_SESSION_CLOSING) {
        enum dsql_rc rc = dsql_pg_framer_next(&session->from_client, &bytes, &piece, &err);
        if (rc) { /* too long or broken: the service closes without a word */
            drop(session, err.message);
            return;
        }
        if (!piece.ready)
            return;
        on_piece(session, &piece);
    }
}

/* Reads until there is no more, or until PostgreSQL has enough to do. */
static void read_client(struct dsql_session *session)
{
    static char chunk[READ_CHUNK]; /* one loop, one thread */
    while (session->state > DSQL_SESSION_TLS && session->state < DSQL_SESSION_CLOSING &&
           !dsql_outbox_is_full(&session->to_backend)) {
        ERR_clear_error();
        int got = SSL_read(session->ssl, chunk, sizeof(chunk));
        if (got > 0) {
            take_bytes(session, (struct dsql_span){chunk, (size_t)got});
            continue;
        }
        if (SSL_get_error(session->ssl, got) != SSL_ERROR_WANT_READ &&
            SSL_get_error(session->ssl, got) != SSL_ERROR_WANT_WRITE)
            dsql_session_close(session);
        return;
    }
}

static void write_client(struct dsql_session *session)
{
    struct dsql_span waiting = dsql_outbox_waiting(&session->to_client);
    while (waiting.len > 0) {
        ERR_clear_error();
        int sent = SSL_write(session->ssl, waiting.ptr,
                             (int)(waiting.len < INT32_MAX ? waiting.len : INT32_MAX));
        if (sent <= 0) {
            int why = SSL_get_error(session->ssl, sent);
            if (why != SSL_ERROR_WANT_WRITE && why != SSL_ERROR_WANT_READ)
                dsql_session_close(session);
            return;
        }
        dsql_outbox_sent(&session->to_client, (size_t)sent);
        waiting = dsql_outbox_waiting(&session->to_client);
    }
}

static void write_backend(struct dsql_session *session)
{
    struct dsql_span waiting = dsql_outbox_waiting(&session->to_backend);
    while (waiting.len > 0 && session->backend.fd >= 0) {
        ssize_t sent = send(session->backend.fd, waiting.ptr, waiting.len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            if (errno != EAGAIN)
                dsql_session_close(session);
            return;
        }
        dsql_outbox_sent(&session->to_backend, (size_t)sent);
        waiting = dsql_outbox_waiting(&session->to_backend);
    }
}

void dsql_session_flush(struct dsql_session *session)
{
    bool was_full = dsql_outbox_is_full(&session->to_backend);
    if (session->state == DSQL_SESSION_DEAD)
        return;
    if (session->to_client.bytes.cut || session->to_backend.bytes.cut) {
        dsql_session_close(session); /* out of memory: a stream with a hole is worse than none */
        return;
    }
    write_backend(session);
    if (session->state != DSQL_SESSION_DEAD && session->state > DSQL_SESSION_TLS)
        write_client(session);
    if (session->state == DSQL_SESSION_DEAD)
        return;
    bool client_waits = dsql_outbox_waiting(&session->to_client).len > 0;
    bool backend_waits = dsql_outbox_waiting(&session->to_backend).len > 0;
    if (session->state == DSQL_SESSION_CLOSING && !client_waits) {
        (void)SSL_shutdown(session->ssl);
        dsql_session_close(session);
        return;
    }
    uint32_t from_client = dsql_outbox_is_full(&session->to_backend) ? 0 : EPOLLIN;
    uint32_t from_backend = dsql_outbox_is_full(&session->to_client) ? 0 : EPOLLIN;
    dsql_front_watch(session->front, &session->client,
                     from_client | (client_waits ? EPOLLOUT : 0) | EPOLLRDHUP);
    dsql_front_watch(session->front, &session->backend,
                     from_backend | (backend_waits ? EPOLLOUT : 0) | EPOLLRDHUP);
    /* What TLS already holds wakes nobody: go on reading where a full box made us stop. */
    if (was_full && from_client && SSL_has_pending(session->ssl)) {
        read_client(session);
        dsql_session_flush(session);
    }
}

static void client_ready(struct dsql_session *session, uint32_t events)
{
    if (events & (EPOLLERR | EPOLLHUP)) {
        dsql_session_close(session);
        return;
    }
    if (session->state == DSQL_SESSION_FIRST)
        read_first(session);
    if (session->state == DSQL_SESSION_TLS)
        shake_hands(session);
    if (session->state > DSQL_SESSION_TLS)
        read_client(session);
    if (session->state > DSQL_SESSION_TLS)
        dsql_session_flush(session);
}
