#include "local/front/backend.h"

#include <stdio.h>
#include <stdlib.h>

#include "local/front/front.h"
#include "net/stream.h"
#include "pgwire/put_frontend.h"

enum { READ_CHUNK = 64 << 10, LOOK_AT = 32 };

static void backend_ready(struct dsql_watch *watch, uint32_t events);

static struct dsql_backend *of(struct dsql_queue_node *idle)
{
    return idle ? DSQL_CONTAINER_OF(idle, struct dsql_backend, idle) : NULL;
}

static void free_now(struct dsql_deferred_free *ending)
{
    struct dsql_backend *backend = DSQL_CONTAINER_OF(ending, struct dsql_backend, ending);
    dsql_outbox_fini(&backend->out);
    dsql_pg_framer_fini(&backend->in);
    explicit_bzero(backend->startup, backend->startup_len); /* it shows the client's secret */
    free(backend->startup);
    free(backend);
}

/* The client goes on without the session at PostgreSQL, or is gone. */
static void detach(struct dsql_backend *backend)
{
    backend->session->backend = NULL;
    backend->session = NULL;
}

static void close_one(struct dsql_backend *backend)
{
    struct dsql_front *front = backend->front;
    if (backend->watch.fd < 0)
        return;
    dsql_loop_close(&backend->watch);
    dsql_queue_leave(&backend->idle);
    if (backend->session)
        detach(backend);
    front->backends.count--;
    dsql_loop_free_later(&front->loop, &backend->ending, free_now);
}

static bool is_alike(const struct dsql_backend *backend, const struct dsql_session *session)
{
    return backend->generation == backend->front->backends.generation &&
           backend->startup_len == session->startup_len &&
           memcmp(backend->startup, session->startup, session->startup_len) == 0;
}

/* An idle one that could serve the session. Only some are looked at: there may be hundreds, and
 * a new one costs little more than the search. */
static struct dsql_backend *find_alike(const struct dsql_queue *idle,
                                       const struct dsql_session *session)
{
    int looked = 0;
    for (struct dsql_queue_node *at = idle->first; at && looked++ < LOOK_AT; at = at->next)
        if (is_alike(of(at), session))
            return of(at);
    return NULL;
}

static struct dsql_backend *open_one(struct dsql_session *session)
{
    struct dsql_front *front = session->front;
    struct dsql_backend *backend = calloc(1, sizeof(*backend));
    char *startup = malloc(session->startup_len);
    int fd = backend && startup ? dsql_postgres_connect(front->pg, true) : -1;
    if (fd < 0) {
        free(backend);
        free(startup);
        return NULL;
    }
    memcpy(startup, session->startup, session->startup_len);
    *backend = (struct dsql_backend){
        .front = front,
        .watch = {.fd = fd, .ready = backend_ready},
        .hidden = 1,
        .opening = true,
        .startup = startup,
        .startup_len = session->startup_len,
        .generation = front->backends.generation,
    };
    dsql_outbox_init(&backend->out);
    dsql_pg_framer_init(&backend->in, &front->backend_limits);
    dsql_strbuf_add(&backend->out.bytes, (struct dsql_span){startup, session->startup_len});
    front->backends.count++;
    front->backends.opened++;
    return backend;
}

/* A free one, a rested one if there are many, or a new one. */
static struct dsql_backend *obtain(struct dsql_session *session)
{
    struct dsql_backends *all = &session->front->backends;
    struct dsql_backend *backend = find_alike(&all->free, session);
    if (backend || all->count < DSQL_BACKENDS_EASY)
        return backend ? backend : open_one(session);
    backend = find_alike(&all->resting, session);
    if (backend) {
        all->taken++;
        detach(backend);
        return backend;
    }
    struct dsql_backend *oldest = of(all->free.first ? all->free.first : all->resting.first);
    if (oldest) {
        all->taken++;
        close_one(oldest);
    }
    return all->count < DSQL_BACKENDS_MAX ? open_one(session) : NULL;
}

/* Tells PostgreSQL's session which client's it serves now, for sys.current_session_id(). What a
 * client before has set there unseen, by a function or an UPDATE of pg_settings, is taken back. */
static void put_session_id(const struct dsql_session *session)
{
    char sql[80];
    (void)snprintf(sql, sizeof(sql), "%sset dsql.session_id to '%s'",
                   session->backend->opening ? "" : "reset all; ", session->id);
    dsql_pg_put_query(&session->backend->out.bytes, dsql_span_of(sql));
    session->backend->hidden++;
}

bool dsql_backend_need(struct dsql_session *session)
{
    if (session->backend) {
        dsql_queue_leave(&session->backend->idle);
        return true;
    }
    struct dsql_backend *backend = obtain(session);
    if (!backend) {
        dsql_session_fatal(session, DSQL_LOCAL_REFUSALS, "XX000", "server unavailable",
                           "The PostgreSQL behind the local endpoint has no session left.");
        return false;
    }
    dsql_queue_leave(&backend->idle);
    backend->session = session;
    backend->moving = true;
    session->backend = backend;
    if (backend->soiled) {
        dsql_pg_put_query(&backend->out.bytes, DSQL_SPAN("deallocate all"));
        backend->hidden++;
        backend->soiled = backend->primed = false;
    }
    put_session_id(session);
    uint32_t prepared = dsql_names_replay(&session->names, &backend->out.bytes);
    backend->hidden += prepared;
    backend->soiled = prepared > 0;
    return true;
}

void dsql_backend_rest(struct dsql_session *session)
{
    struct dsql_backend *backend = session->backend;
    if (backend && !backend->idle.queue && !session->has_settings && !session->has_prepared &&
        backend->hidden == 0)
        dsql_queue_join(&session->front->backends.resting, &backend->idle);
}

void dsql_backend_leave(struct dsql_session *session)
{
    struct dsql_backend *backend = session->backend;
    struct dsql_backends *all = &session->front->backends;
    if (!backend)
        return;
    bool keep = backend->idle.queue && all->free.count < DSQL_BACKENDS_EASY / 2 &&
                backend->generation == all->generation;
    if (!keep) {
        close_one(backend);
        return;
    }
    dsql_queue_leave(&backend->idle);
    detach(backend);
    dsql_queue_join(&all->free, &backend->idle);
}

void dsql_backends_renew(struct dsql_backends *backends)
{
    backends->generation++;
    while (backends->free.first)
        close_one(of(backends->free.first));
}

void dsql_backends_fini(struct dsql_front *front)
{
    while (front->backends.free.first)
        close_one(of(front->backends.free.first));
    assert(front->backends.count == 0);
}

static void lose(struct dsql_backend *backend)
{
    struct dsql_session *session = backend->session;
    close_one(backend);
    if (session)
        dsql_session_close(session);
}

static void write_out(struct dsql_backend *backend)
{
    const struct dsql_stream stream = {backend->watch.fd, NULL};
    if (dsql_stream_write(stream, &backend->out) == DSQL_STREAM_ENDED)
        lose(backend);
}

void dsql_backend_flush(struct dsql_backend *backend)
{
    const struct dsql_session *session = backend->session;
    if (backend->out.bytes.cut) {
        lose(backend); /* out of memory: a stream with a hole is worse than none */
        return;
    }
    write_out(backend);
    if (backend->watch.fd < 0)
        return;
    bool waits = dsql_outbox_waiting(&backend->out).len > 0;
    bool full = session && dsql_outbox_is_full(&session->to_client);
    dsql_loop_watch(&backend->front->loop, &backend->watch,
                    (full ? 0u : EPOLLIN) | (waits ? EPOLLOUT : 0u) | EPOLLRDHUP);
}

/* PostgreSQL says something: it goes to the client that is served, if there is one. */
static void on_piece(struct dsql_backend *backend, const struct dsql_pg_piece *piece)
{
    if (backend->session)
        dsql_front_answer(backend->session, piece);
}

static void read_in(struct dsql_backend *backend)
{
    static char chunk[READ_CHUNK]; /* one loop, one thread */
    const struct dsql_stream stream = {backend->watch.fd, NULL};
    size_t got;
    enum dsql_stream_state state = dsql_stream_read(stream, chunk, sizeof(chunk), &got);
    if (state == DSQL_STREAM_WAITS)
        return;
    if (state == DSQL_STREAM_ENDED) { /* PostgreSQL ended the session: what it said last is still on
                                         its way */
        struct dsql_session *session = backend->session;
        close_one(backend);
        if (session && session->state != DSQL_SESSION_DEAD) {
            session->state = DSQL_SESSION_CLOSING;
            dsql_session_flush(session);
        }
        return;
    }
    struct dsql_span bytes = {chunk, got};
    struct dsql_pg_piece piece;
    struct dsql_err err;
    while (backend->watch.fd >= 0) {
        if (dsql_pg_framer_next(&backend->in, &bytes, &piece, &err)) {
            lose(backend);
            return;
        }
        if (!piece.ready)
            return;
        on_piece(backend, &piece);
    }
}

static void backend_ready(struct dsql_watch *watch, uint32_t events)
{
    struct dsql_backend *backend = DSQL_CONTAINER_OF(watch, struct dsql_backend, watch);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP))
        read_in(backend);
    if (watch->fd < 0)
        return;
    struct dsql_session *session = backend->session;
    if (!session) {
        dsql_backend_flush(backend);
        return;
    }
    if (session->overdue && session->state == DSQL_SESSION_ACTIVE && dsql_session_is_idle(session))
        session->state = DSQL_SESSION_CLOSING;
    dsql_session_flush(session);
}
