/* One client: TLS, and the bytes in both directions. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "base/link.h"
#include "local/front/front.h"
#include "net/stream.h"
#include "pgwire/put_backend.h"
#include "pgwire/startup.h"

enum { READ_CHUNK = 64 << 10, TLS_RECORD_HANDSHAKE = 0x16, REQUEST_LEN = 8 };

static void client_ready(struct dsql_watch *watch, uint32_t events);
static void hold_over(struct dsql_timer *timer);
static void life_over(struct dsql_timer *timer);

void dsql_session_begin(struct dsql_session *session)
{
    session->client.ready = client_ready;
    session->hold.due = hold_over;
    session->life.due = life_over;
    dsql_outbox_init(&session->to_client);
    dsql_pg_framer_init_startup(&session->from_client);
    dsql_sql_tx_init(&session->tx, &session->front->options->limits);
    /* The first bytes are looked at, not taken, until there are enough: only new ones shall wake
     * us. */
    dsql_loop_watch(&session->front->loop, &session->client, EPOLLIN | EPOLLET);
}

static void free_now(struct dsql_deferred_free *ending)
{
    struct dsql_session *session = DSQL_CONTAINER_OF(ending, struct dsql_session, ending);
    assert(session->state == DSQL_SESSION_DEAD);
    SSL_free(session->ssl);
    dsql_outbox_fini(&session->to_client);
    dsql_pg_framer_fini(&session->from_client);
    dsql_front_relay_fini(session);
    if (session->startup) /* it shows the client's secret */
        explicit_bzero(session->startup, session->startup_len);
    free(session->startup);
    free(session);
}

/* Bytes of the client's that are left unread turn the end into a reset (RFC 1122, 4.2.2.13), and
 * the client's read fails instead of ending. So many are thrown away; a reset answers a flood. */
static void discard_unread(int fd)
{
    enum { MOST = 1 << 20 };
    (void)recv(fd, NULL, MOST, MSG_TRUNC | MSG_DONTWAIT);
}

void dsql_session_close(struct dsql_session *session)
{
    struct dsql_front *front = session->front;
    if (session->state == DSQL_SESSION_DEAD)
        return;
    session->state = DSQL_SESSION_DEAD;
    DSQL_UNLINK(front->sessions, session);
    dsql_queue_leave(&session->login);
    front->counts.closed++;
    front->open -= session->admitted;
    dsql_loop_stop(&front->loop, &session->life);
    dsql_loop_stop(&front->loop, &session->hold);
    dsql_reading_leave(session);
    dsql_backend_leave(session);
    discard_unread(session->client.fd);
    dsql_loop_close(&session->client);
    dsql_loop_free_later(&front->loop, &session->ending, free_now);
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

void dsql_session_drop(struct dsql_session *session, const char *why)
{
    count_refusal(session, DSQL_LOCAL_PROTOCOL, why);
    dsql_session_close(session);
}

bool dsql_session_is_idle(const struct dsql_session *session)
{
    return session->pipeline.ends == 0 && dsql_sql_tx_letter(&session->tx) == DSQL_PG_IDLE;
}

bool dsql_session_is_quiet(const struct dsql_session *session)
{
    bool judged = session->reading && session->reading->query.at > 0; /* up to a portion */
    return dsql_pipeline_is_quiet(&session->pipeline) && !judged;
}

static void life_over(struct dsql_timer *timer)
{
    struct dsql_session *session = DSQL_CONTAINER_OF(timer, struct dsql_session, life);
    struct dsql_front *front = session->front;
    if (session->state != DSQL_SESSION_ACTIVE) {
        if (session->state == DSQL_SESSION_CLOSING)
            dsql_session_close(session);
        else
            dsql_session_drop(session, "too slow to log in");
        return;
    }
    if (!dsql_session_is_idle(session) && !session->overdue) {
        /* The transaction under way may run to its own limit. */
        session->overdue = true;
        if (!dsql_loop_start(&front->loop, timer,
                             front->options->limits.age_ns / front->options->time_scale))
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
    SSL_set_read_ahead(session->ssl, 1); /* header and body of a record in one system call */
    dsql_loop_watch(&session->front->loop, &session->client, EPOLLIN);
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
        read_first(session); /* what came with it makes no socket readable */
    } else if (code == DSQL_PG_CODE_CANCEL) {
        session->front->counts.cancels_ignored++;
        dsql_session_close(session);
    } else if (code >> 16 == 3) {
        dsql_session_fatal(
            session, DSQL_LOCAL_NO_TLS, "08P01",
            "unable to accept connection, SSL is mandatory. AWS Authentication is required.", "");
        send_plain(session, dsql_outbox_waiting(&session->to_client));
        dsql_session_close(session);
    } else {
        dsql_session_drop(session, "the first bytes are no PostgreSQL startup packet");
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
            dsql_session_drop(session, "direct TLS without the ALPN name postgresql");
            return;
        }
        session->state = DSQL_SESSION_STARTUP;
        return;
    }
    int why = SSL_get_error(session->ssl, rc);
    if (why == SSL_ERROR_WANT_WRITE)
        dsql_loop_watch(&session->front->loop, &session->client, EPOLLIN | EPOLLOUT);
    else if (why != SSL_ERROR_WANT_READ)
        dsql_session_drop(session, "the TLS handshake failed");
}

static void on_piece(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    switch (session->state) {
    case DSQL_SESSION_STARTUP:
        dsql_login_startup(session, piece);
        break;
    case DSQL_SESSION_PASSWORD:
        dsql_login_password(session, piece);
        break;
    case DSQL_SESSION_ACTIVE:
        dsql_front_relay_from_client(session, piece);
        break;
    case DSQL_SESSION_ROLE:
        dsql_session_drop(session, "a message before the server was ready for it");
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
    while (session->state < DSQL_SESSION_CLOSING && !session->reading) {
        enum dsql_rc rc = dsql_pg_framer_next(&session->from_client, &bytes, &piece, &err);
        if (rc) { /* too long or broken: the service closes without a word */
            dsql_session_drop(session, err.message);
            return;
        }
        if (!piece.ready)
            return;
        on_piece(session, &piece);
    }
    dsql_reading_keep(session, bytes);
}

/* Whether PostgreSQL has enough to do. */
static bool is_backed_up(const struct dsql_session *session)
{
    return session->backend && dsql_outbox_is_full(&session->backend->out);
}

/* Reads until there is no more, or until PostgreSQL has enough to do. */
static void read_client(struct dsql_session *session)
{
    static char chunk[READ_CHUNK]; /* one loop, one thread */
    const struct dsql_stream stream = {session->client.fd, session->ssl};
    while (session->state > DSQL_SESSION_TLS && session->state < DSQL_SESSION_CLOSING &&
           !session->reading && !is_backed_up(session)) {
        size_t got;
        enum dsql_stream_state state = dsql_stream_read(stream, chunk, sizeof(chunk), &got);
        if (state == DSQL_STREAM_ENDED)
            dsql_session_close(session);
        if (state != DSQL_STREAM_GOES_ON)
            return;
        take_bytes(session, (struct dsql_span){chunk, got});
        /* The socket is asked again only when the loop says that it is readable. */
        if (!SSL_has_pending(session->ssl))
            return;
    }
}

static void write_client(struct dsql_session *session)
{
    const struct dsql_stream stream = {session->client.fd, session->ssl};
    if (dsql_stream_write(stream, &session->to_client) == DSQL_STREAM_ENDED)
        dsql_session_close(session);
}

/* Whether a latency or a stall that was asked for keeps the client waiting, or a long message that
 * is being read. */
static bool is_held(const struct dsql_session *session)
{
    return session->reading || dsql_heap_node_is_in(&session->hold.node) ||
           dsql_front_is_stalled(session->front);
}

/* What is watched and sent once everything that came was looked at. */
void dsql_session_flush(struct dsql_session *session)
{
    if (session->state == DSQL_SESSION_DEAD)
        return;
    if (session->to_client.bytes.cut) {
        dsql_session_close(session); /* out of memory: a stream with a hole is worse than none */
        return;
    }
    bool was_full = is_backed_up(session);
    if (session->state > DSQL_SESSION_TLS && !dsql_front_is_stalled(session->front))
        write_client(session);
    if (session->state != DSQL_SESSION_DEAD && session->backend)
        dsql_backend_flush(session->backend);
    if (session->state == DSQL_SESSION_DEAD)
        return;
    bool waits = dsql_outbox_waiting(&session->to_client).len > 0;
    if (session->state == DSQL_SESSION_CLOSING && !waits) {
        (void)SSL_shutdown(session->ssl);
        dsql_session_close(session);
        return;
    }
    bool read = !is_held(session), full = is_backed_up(session);
    if (dsql_front_is_stalled(session->front))
        waits = false;
    dsql_loop_watch(&session->front->loop, &session->client,
                    (read && !full ? EPOLLIN : 0u) | (waits ? EPOLLOUT : 0u) |
                        (read ? EPOLLRDHUP : 0u));
    /* What TLS already holds makes no socket readable: go on where a full box ended the reading. */
    if (was_full && !full && read && SSL_has_pending(session->ssl)) {
        read_client(session);
        dsql_session_flush(session);
    }
}

void dsql_session_go_on(struct dsql_session *session, struct dsql_span rest)
{
    take_bytes(session, rest);
    if (!is_held(session))
        read_client(session);
    dsql_session_flush(session);
}

/* Whether what has come has to wait first, because of a fault that is set. */
static bool must_wait(struct dsql_session *session)
{
    struct dsql_front *front = session->front;
    if (is_held(session))
        return true;
    int64_t wait_ns = 0;
    if (session->waited)
        return false;
    if (session->state == DSQL_SESSION_FIRST)
        wait_ns = dsql_faults_ns(&front->faults, DSQL_FAULT_CONNECT_LATENCY);
    else if (session->state == DSQL_SESSION_ACTIVE &&
             dsql_pg_framer_is_between(&session->from_client))
        wait_ns = dsql_faults_ns(&front->faults, DSQL_FAULT_MESSAGE_LATENCY);
    return wait_ns > 0 && !dsql_loop_start(&front->loop, &session->hold, wait_ns);
}

static void serve(struct dsql_session *session)
{
    if (session->state == DSQL_SESSION_FIRST)
        read_first(session);
    if (session->state == DSQL_SESSION_TLS)
        shake_hands(session);
    if (session->state > DSQL_SESSION_TLS)
        read_client(session);
}

static void client_ready(struct dsql_watch *watch, uint32_t events)
{
    struct dsql_session *session = DSQL_CONTAINER_OF(watch, struct dsql_session, client);
    if (events & (EPOLLERR | EPOLLHUP)) {
        dsql_session_close(session);
        return;
    }
    bool waits = events & (EPOLLIN | EPOLLRDHUP) ? must_wait(session) : is_held(session);
    if (!waits)
        serve(session);
    if (session->state > DSQL_SESSION_TLS)
        dsql_session_flush(session);
    else if (waits)
        dsql_loop_watch(&session->front->loop, watch, 0);
}

void dsql_session_resume(struct dsql_session *session)
{
    if (dsql_heap_node_is_in(&session->hold.node))
        return;
    if (session->state <= DSQL_SESSION_TLS)
        dsql_loop_watch(&session->front->loop, &session->client,
                        session->state == DSQL_SESSION_FIRST ? EPOLLIN | EPOLLET : EPOLLIN);
    client_ready(&session->client, EPOLLIN);
}

static void hold_over(struct dsql_timer *timer)
{
    struct dsql_session *session = DSQL_CONTAINER_OF(timer, struct dsql_session, hold);
    bool first = session->state == DSQL_SESSION_FIRST;
    session->waited = true;
    dsql_session_resume(session);
    /* A connection waits once, until its first bytes are complete; each round trip waits anew. */
    session->waited = first && session->state == DSQL_SESSION_FIRST;
}
