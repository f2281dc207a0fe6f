#include "local/front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 256, ACCEPTS_MAX = 64, CACHE_SCRIPTS = 4096 };

#define CACHE_BYTES     ((size_t)64 << 20)
#define CLIENT_MESSAGE  (10u << 20) /* the service's limit for one message */
#define BACKEND_MESSAGE (1u << 30)
#define LOGIN_LIMIT_NS  (60 * DSQL_S) /* as PostgreSQL's authentication_timeout */

const char *dsql_local_refusal_name(enum dsql_local_refusal refusal)
{
    static const char *const names[] = {"no_tls", "no_sni", "protocol", "parameter",
                                        "rate",   "full",   "token"};
    static_assert(DSQL_COUNT_OF(names) == DSQL_LOCAL_REFUSALS, "one name each");
    assert((unsigned)refusal < DSQL_COUNT_OF(names));
    return names[refusal];
}

struct dsql_mono dsql_front_now(const struct dsql_front *front)
{
    int64_t passed_ns = dsql_mono_since(dsql_clock_mono(&dsql_clock_system), front->started);
    return (struct dsql_mono){passed_ns * front->options->time_scale};
}

static bool earlier(const struct dsql_heap_node *a, const struct dsql_heap_node *b)
{
    return dsql_mono_before(DSQL_CONTAINER_OF(a, const struct dsql_session, node)->deadline,
                            DSQL_CONTAINER_OF(b, const struct dsql_session, node)->deadline);
}

/* The one key of the endpoint's own configuration. */
static bool find_key(const struct dsql_token_keyring *self, struct dsql_span access_key_id,
                     struct dsql_token_key *key)
{
    const struct dsql_front *front = DSQL_CONTAINER_OF(self, const struct dsql_front, keyring);
    const struct dsql_local_options *options = front->options;
    *key = (struct dsql_token_key){
        .secret_access_key = &options->secret_access_key,
        .session_token = &options->session_token,
        .arn = DSQL_SPAN("arn:aws:iam::000000000000:user/local"),
        .may_connect = true,
        .may_connect_admin = true,
    };
    return dsql_span_eq(access_key_id, dsql_span_of(options->access_key_id));
}

static enum dsql_rc listen_on_loopback(struct dsql_front *front, struct dsql_err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(front->options->port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    int yes = 1;
    front->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (front->listener < 0 ||
        setsockopt(front->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(front->listener, (const struct sockaddr *)&address, len) != 0 ||
        listen(front->listener, 4096) != 0 ||
        getsockname(front->listener, (struct sockaddr *)&address, &len) != 0) {
        (void)dsql_err_set(err, DSQL_IO, "can't listen on 127.0.0.1:%u: %s",
                           (unsigned)front->options->port, strerror(errno));
        dsql_err_hint(err, "choose another --port, or 0 for any");
        return DSQL_IO;
    }
    front->options->port = ntohs(address.sin_port);
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(front->epoll, EPOLL_CTL_ADD, front->listener, &event) != 0)
        return dsql_err_set(err, DSQL_IO, "epoll: %s", strerror(errno));
    return DSQL_OK;
}

enum dsql_rc dsql_front_init(struct dsql_front *front, struct dsql_local_options *options,
                             const struct dsql_postgres *pg, SSL_CTX *tls, struct dsql_log *log,
                             struct dsql_err *err)
{
    *front = (struct dsql_front){
        .options = options,
        .pg = pg,
        .log = log,
        .tls = tls,
        .keyring = {find_key},
        .started = dsql_clock_mono(&dsql_clock_system),
        .epoll = -1,
        .listener = -1,
    };
    dsql_pg_limits_login(&front->login_limits);
    dsql_pg_limits_session(&front->client_limits, DSQL_PG_FRONTEND, CLIENT_MESSAGE);
    dsql_pg_limits_session(&front->backend_limits, DSQL_PG_BACKEND, BACKEND_MESSAGE);
    dsql_bucket_init(&front->bucket, options->rate, options->burst, (struct dsql_mono){0});
    dsql_heap_init(&front->deadlines, earlier);
    enum dsql_rc rc = dsql_sql_cache_init(&front->cache, CACHE_SCRIPTS, CACHE_BYTES);
    if (rc)
        return dsql_err_set(err, rc, "out of memory");
    front->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (front->epoll < 0)
        rc = dsql_err_set(err, DSQL_IO, "epoll: %s", strerror(errno));
    else
        rc = listen_on_loopback(front, err);
    if (rc)
        dsql_front_fini(front);
    return rc;
}

static void bury(struct dsql_front *front)
{
    while (front->dead) {
        struct dsql_session *session = front->dead;
        front->dead = session->next;
        dsql_session_free(session);
    }
}

void dsql_front_fini(struct dsql_front *front)
{
    while (front->sessions)
        dsql_session_close(front->sessions);
    bury(front);
    if (front->listener >= 0)
        close(front->listener);
    if (front->epoll >= 0)
        close(front->epoll);
    dsql_heap_fini(&front->deadlines);
    dsql_sql_cache_fini(&front->cache);
    front->listener = front->epoll = -1;
}

void dsql_front_watch(struct dsql_front *front, struct dsql_watch *watch, uint32_t events)
{
    if (watch->fd < 0 || watch->events == events)
        return;
    struct epoll_event event = {.events = events, .data = {.ptr = watch}};
    int what = watch->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    int failed = epoll_ctl(front->epoll, events == 0 ? EPOLL_CTL_DEL : what, watch->fd, &event);
    assert(
        !failed); /* the descriptors are ours; memory for them was checked at ADD by the kernel */
    watch->events = events;
}

void dsql_front_deadline(struct dsql_front *front, struct dsql_session *session, int64_t after_ns)
{
    session->deadline = dsql_mono_add(dsql_clock_mono(&dsql_clock_system), after_ns);
    dsql_heap_update(&front->deadlines, &session->node);
}

static void accept_one(struct dsql_front *front, int fd)
{
    struct dsql_session *session = calloc(1, sizeof(*session));
    int yes = 1;
    front->counts.accepted++;
    if (!session || dsql_heap_push(&front->deadlines, &session->node)) {
        free(session);
        close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    session->front = front;
    session->client.fd = fd;
    session->backend.fd = -1;
    session->next = front->sessions;
    if (front->sessions)
        front->sessions->prev = session;
    front->sessions = session;
    dsql_front_deadline(front, session, LOGIN_LIMIT_NS);
    dsql_session_begin(session);
}

static void accept_some(struct dsql_front *front)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd = accept4(front->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            accept_one(front, fd);
        else if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

static void end_overdue(struct dsql_front *front)
{
    struct dsql_mono now = dsql_clock_mono(&dsql_clock_system);
    for (;;) {
        struct dsql_heap_node *node = dsql_heap_peek(&front->deadlines);
        if (!node)
            return;
        struct dsql_session *session = DSQL_CONTAINER_OF(node, struct dsql_session, node);
        if (dsql_mono_before(now, session->deadline))
            return;
        dsql_session_overdue(session);
    }
}

/* Milliseconds epoll may sleep, rounded up so that a deadline has passed when it wakes. */
static int sleep_ms(const struct dsql_front *front, int64_t wait_ns)
{
    const struct dsql_heap_node *node = dsql_heap_peek(&front->deadlines);
    if (node) {
        int64_t until_ns =
            dsql_mono_since(DSQL_CONTAINER_OF(node, const struct dsql_session, node)->deadline,
                            dsql_clock_mono(&dsql_clock_system));
        wait_ns = until_ns < wait_ns ? until_ns : wait_ns;
    }
    return wait_ns <= 0 ? 0 : (int)((wait_ns + DSQL_MS - 1) / DSQL_MS);
}

void dsql_front_turn(struct dsql_front *front, int64_t wait_ns)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(front->epoll, events, EVENTS_MAX, sleep_ms(front, wait_ns));
    for (int i = 0; i < count; i++) {
        struct dsql_watch *watch = events[i].data.ptr;
        if (!watch)
            accept_some(front);
        else if (watch->session->state != DSQL_SESSION_DEAD)
            watch->ready(watch->session, events[i].events);
    }
    end_overdue(front);
    bury(front);
}

void dsql_front_report(struct dsql_front *front)
{
    const struct dsql_local_counts *c = &front->counts;
    dsql_log(front->log, DSQL_EVENT_LOCAL_SEEN, DSQL_F("open", front->open),
             DSQL_F("accepted", c->accepted), DSQL_F("admitted", c->admitted),
             DSQL_F("closed", c->closed), DSQL_F("expired", c->expired),
             DSQL_F("refused_rate", c->refused[DSQL_LOCAL_RATE]),
             DSQL_F("refused_full", c->refused[DSQL_LOCAL_FULL]),
             DSQL_F("refused_token", c->refused[DSQL_LOCAL_TOKEN]),
             DSQL_F("refused_no_tls", c->refused[DSQL_LOCAL_NO_TLS]),
             DSQL_F("refused_no_sni", c->refused[DSQL_LOCAL_NO_SNI]),
             DSQL_F("refused_parameter", c->refused[DSQL_LOCAL_PARAMETER]),
             DSQL_F("refused_protocol", c->refused[DSQL_LOCAL_PROTOCOL]),
             DSQL_F("statements", c->statements),
             DSQL_F("statements_refused", c->statements_refused),
             DSQL_F("cancels_ignored", c->cancels_ignored));
}
