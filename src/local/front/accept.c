/*
 * Taking connections, and those that have not logged in yet.
 *
 * 1. Sessions before login are in one queue, the oldest first, until they are let in or closed.
 *    There are never more than options->logins_max.
 * 2. At that number a new client takes the place of the oldest that has said nothing for SILENT_NS,
 *    or has not logged in after SLOW_NS: silent clients cost the others nothing. Until then new
 *    clients wait in the kernel's queue.
 * 3. When there is no descriptor or memory for another connection, the listener rests: it would be
 *    ready at once again, and fail again.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/link.h"
#include "local/front/front.h"
#include "net/listen.h"

enum { ACCEPTS_MAX = 64, BACKLOG = 4096 };

#define REST_NS   (100 * DSQL_MS)
#define SILENT_NS DSQL_S
#define SLOW_NS   (10 * DSQL_S)

/* Whether there is room for one more before login; takes it from one that is slow. */
static bool has_room(struct dsql_front *front)
{
    if ((int64_t)front->logins.count < front->options->logins_max)
        return true;
    struct dsql_mono now = dsql_clock_mono(front->options->clock);
    for (struct dsql_queue_node *node = front->logins.first; node; node = node->next) {
        struct dsql_session *at = DSQL_CONTAINER_OF(node, struct dsql_session, login);
        int64_t age_ns = dsql_mono_since(now, at->began);
        if (age_ns < SILENT_NS)
            return false; /* all behind it are younger */
        if (at->state == DSQL_SESSION_FIRST || age_ns >= SLOW_NS) {
            dsql_session_drop(at, "too slow to log in while others wait");
            return true;
        }
    }
    return false;
}

static void rest(struct dsql_front *front)
{
    if (!dsql_loop_start(&front->loop, &front->rest, REST_NS))
        dsql_loop_watch(&front->loop, &front->listener, 0);
}

static void rest_over(struct dsql_timer *timer)
{
    struct dsql_front *front = DSQL_CONTAINER_OF(timer, struct dsql_front, rest);
    if (!dsql_front_is_stalled(front))
        dsql_loop_watch(&front->loop, &front->listener, EPOLLIN);
}

static void accept_one(struct dsql_front *front, int fd)
{
    struct dsql_session *session = calloc(1, sizeof(*session));
    int yes = 1;
    if (!session || dsql_loop_start(&front->loop, &session->life, front->options->login_limit_ns)) {
        free(session);
        close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    session->front = front;
    session->client.fd = fd;
    session->began = dsql_clock_mono(front->options->clock);
    DSQL_LINK(front->sessions, session);
    dsql_queue_join(&front->logins, &session->login);
    dsql_session_begin(session);
}

/* Closes it so that the peer gets a reset, as from a port without a listener. */
static void refuse_one(struct dsql_front *front, int fd)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
    front->counts.refused[DSQL_LOCAL_FAULT]++;
}

/* accept() failed: for now, or because there is nothing to be had; the latter is said once. */
static void not_accepted(struct dsql_front *front, int number)
{
    if (!dsql_loop_is_short(number))
        return;
    front->counts.rests++;
    if (!front->is_short)
        dsql_log(front->log, DSQL_EVENT_LOCAL_SHORT,
                 DSQL_F("detail", (const char *)strerror(number)), DSQL_F("open", front->open),
                 DSQL_F("logging_in", front->logins.count));
    front->is_short = true;
    rest(front);
}

static void accept_some(struct dsql_watch *watch, uint32_t events)
{
    struct dsql_front *front = DSQL_CONTAINER_OF(watch, struct dsql_front, listener);
    (void)events;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        if (!has_room(front)) {
            rest(front);
            return;
        }
        int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            front->is_short = false;
            front->counts.accepted++;
            if (dsql_faults_strike(&front->faults, DSQL_FAULT_REFUSE))
                refuse_one(front, fd);
            else
                accept_one(front, fd);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            not_accepted(front, errno);
            return;
        }
    }
}

enum dsql_rc dsql_accept_open(struct dsql_front *front, struct dsql_err *err)
{
    enum dsql_rc rc =
        dsql_listen_loopback(&front->options->port, BACKLOG, &front->listener.fd, err);
    if (rc)
        return rc;
    front->listener.ready = accept_some;
    front->rest.due = rest_over;
    dsql_loop_watch(&front->loop, &front->listener, EPOLLIN);
    return DSQL_OK;
}
