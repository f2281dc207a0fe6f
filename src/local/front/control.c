#include "local/front/control.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/shown.h"
#include "net/listen.h"

enum { PEERS_MAX = 16, ASK_LIMIT_S = 30 };

#define REST_NS (100 * DSQL_MS)

struct dsql_control_peer {
    struct dsql_control *control;
    struct dsql_control_peer *next;
    struct dsql_deferred_free ending;
    struct dsql_watch watch;
    struct dsql_strbuf question, answer;
    size_t sent;
    bool answered;
};

static void add_counts(const struct dsql_front *front, struct dsql_strbuf *out)
{
    struct dsql_local_sight sight;
    dsql_front_look(front, &sight);
    dsql_local_sight_lines(&sight, out);
    dsql_strbuf_add_str(out, "wall=");
    dsql_kernel_wall_describe(&front->pg->programs.wall, out);
    dsql_strbuf_addf(out, "\nbackends=%zu\nbackends_opened=%llu\nbackends_taken=%llu\n",
                     front->backends.count, (unsigned long long)front->backends.opened,
                     (unsigned long long)front->backends.taken);
}

static void add_admissions(const struct dsql_front *front, struct dsql_strbuf *out)
{
    uint64_t end = front->counts.admitted;
    uint64_t at = end > DSQL_ADMISSIONS_MAX ? end - DSQL_ADMISSIONS_MAX : 0;
    for (; at < end; at++)
        dsql_strbuf_addf(out, "%lld\n", (long long)front->admissions[at % DSQL_ADMISSIONS_MAX]);
}

static enum dsql_rc set_faults(struct dsql_front *front, struct dsql_span list,
                               struct dsql_err *err)
{
    struct dsql_fault_order order;
    enum dsql_rc rc = dsql_faults_set(&front->faults, list, &order, err);
    if (!rc) {
        dsql_front_obey(front, &order);
        dsql_builds_resume(&front->builds);
    }
    return rc;
}

static enum dsql_rc clear_faults(struct dsql_front *front, struct dsql_span names,
                                 struct dsql_err *err)
{
    enum dsql_rc rc = DSQL_OK;
    if (names.len > 0) {
        rc = dsql_faults_end(&front->faults, names, err);
    } else {
        dsql_faults_clear(&front->faults);
        dsql_front_obey(front, &(struct dsql_fault_order){.stall = true});
    }
    dsql_builds_resume(&front->builds);
    return rc;
}

enum dsql_rc dsql_control_answer(struct dsql_control *control, struct dsql_span question,
                                 struct dsql_strbuf *out, struct dsql_err *err)
{
    struct dsql_front *front = control->front;
    struct dsql_span verb, rest;
    dsql_span_cut(question, ' ', &verb, &rest);
    rest = dsql_span_trim(rest);
    if (dsql_span_eq(verb, DSQL_SPAN("fault")))
        return set_faults(front, rest, err);
    if (dsql_span_eq(verb, DSQL_SPAN("clear")))
        return clear_faults(front, rest, err);
    if (dsql_span_eq(verb, DSQL_SPAN("env")))
        return control->env(control->arg, out, err);
    if (dsql_span_eq(verb, DSQL_SPAN("faults")))
        dsql_faults_list(&front->faults, out);
    else if (dsql_span_eq(verb, DSQL_SPAN("counts")))
        add_counts(front, out);
    else if (dsql_span_eq(verb, DSQL_SPAN("admissions")))
        add_admissions(front, out);
    else
        return dsql_err_set(err, DSQL_INVALID, "the control socket does not know %s",
                            dsql_shown(verb).text);
    return DSQL_OK;
}

static void free_now(struct dsql_deferred_free *ending)
{
    struct dsql_control_peer *peer = DSQL_CONTAINER_OF(ending, struct dsql_control_peer, ending);
    dsql_strbuf_fini(&peer->question);
    if (peer->answer.ptr) /* it may hold keys */
        explicit_bzero(peer->answer.ptr, peer->answer.len);
    dsql_strbuf_fini(&peer->answer);
    free(peer);
}

static void end_peer(struct dsql_control_peer *peer)
{
    struct dsql_control_peer **at = &peer->control->peers;
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    dsql_loop_close(&peer->watch);
    dsql_loop_free_later(&peer->control->front->loop, &peer->ending, free_now);
}

static void answer_peer(struct dsql_control_peer *peer)
{
    struct dsql_strbuf body;
    struct dsql_err err = {.rc = DSQL_OK};
    dsql_strbuf_init_heap(&body, DSQL_CONTROL_ANSWER_MAX);
    struct dsql_span question = dsql_span_trim(dsql_strbuf_span(&peer->question));
    if (dsql_control_answer(peer->control, question, &body, &err)) {
        dsql_strbuf_addf(&peer->answer, "error\n%s\n%s\n", err.message, err.hint);
    } else {
        dsql_strbuf_add_str(&peer->answer, "ok\n");
        dsql_strbuf_add(&peer->answer, dsql_strbuf_span(&body));
    }
    if (body.ptr)
        explicit_bzero(body.ptr, body.len);
    dsql_strbuf_fini(&body);
    peer->answered = true;
}

static void read_peer(struct dsql_control_peer *peer)
{
    char chunk[DSQL_CONTROL_REQUEST_MAX];
    ssize_t got = recv(peer->watch.fd, chunk, sizeof(chunk), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        dsql_strbuf_add(&peer->question, (struct dsql_span){chunk, (size_t)got});
    bool whole = peer->question.len > 0 && peer->question.ptr[peer->question.len - 1] == '\n';
    if (whole && !peer->question.cut)
        answer_peer(peer);
    else if (got <= 0 || peer->question.cut)
        end_peer(peer);
}

static void peer_ready(struct dsql_watch *watch, uint32_t events)
{
    struct dsql_control_peer *peer = DSQL_CONTAINER_OF(watch, struct dsql_control_peer, watch);
    (void)events;
    if (!peer->answered)
        read_peer(peer);
    if (!peer->answered || watch->fd < 0)
        return;
    struct dsql_span rest = dsql_span_from(dsql_strbuf_span(&peer->answer), peer->sent);
    ssize_t sent = send(watch->fd, rest.ptr, rest.len, MSG_NOSIGNAL);
    peer->sent += sent > 0 ? (size_t)sent : 0;
    if (peer->sent == peer->answer.len || (sent < 0 && errno != EAGAIN && errno != EINTR))
        end_peer(peer);
    else
        dsql_loop_watch(&peer->control->front->loop, watch, EPOLLOUT);
}

static void rest_over(struct dsql_timer *timer)
{
    struct dsql_control *control = DSQL_CONTAINER_OF(timer, struct dsql_control, rest);
    dsql_loop_watch(&control->front->loop, &control->listener, EPOLLIN);
}

static void accept_peer(struct dsql_watch *watch, uint32_t events)
{
    struct dsql_control *control = DSQL_CONTAINER_OF(watch, struct dsql_control, listener);
    size_t count = 0;
    (void)events;
    for (const struct dsql_control_peer *at = control->peers; at; at = at->next)
        count++;
    int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (dsql_loop_is_short(errno) &&
            !dsql_loop_start(&control->front->loop, &control->rest, REST_NS))
            dsql_loop_watch(&control->front->loop, watch, 0);
        return;
    }
    struct dsql_control_peer *peer = count < PEERS_MAX ? calloc(1, sizeof(*peer)) : NULL;
    if (!peer) {
        close(fd);
        return;
    }
    *peer = (struct dsql_control_peer){
        .control = control,
        .next = control->peers,
        .watch = {.fd = fd, .ready = peer_ready},
    };
    dsql_strbuf_init_heap(&peer->question, DSQL_CONTROL_REQUEST_MAX);
    dsql_strbuf_init_heap(&peer->answer, DSQL_CONTROL_ANSWER_MAX);
    control->peers = peer;
    dsql_loop_watch(&control->front->loop, &peer->watch, EPOLLIN);
}

enum dsql_rc dsql_control_open(struct dsql_control *control, const char *path, struct dsql_err *err)
{
    struct dsql_strbuf kept;
    dsql_strbuf_init(&kept, control->path, sizeof(control->path));
    dsql_strbuf_add_str(&kept, path);
    control->peers = NULL;
    control->rest = (struct dsql_timer){.due = rest_over};
    control->listener = (struct dsql_watch){.fd = -1, .ready = accept_peer};
    /* For its owner only. */
    enum dsql_rc rc = dsql_listen_unix(path, 0600, PEERS_MAX, &control->listener.fd, err);
    if (rc)
        return rc;
    dsql_loop_watch(&control->front->loop, &control->listener, EPOLLIN);
    return DSQL_OK;
}

void dsql_control_close(struct dsql_control *control)
{
    if (control->listener.fd < 0)
        return;
    while (control->peers)
        end_peer(control->peers);
    dsql_loop_stop(&control->front->loop, &control->rest);
    dsql_loop_close(&control->listener);
    (void)unlink(control->path);
}

static enum dsql_rc no_answer(const char *path, struct dsql_err *err)
{
    (void)dsql_err_set(err, DSQL_IO, "no dsql local answers at %.200s: %s", path, strerror(errno));
    dsql_err_hint(err, "name its folder with --data, or source the file it printed at its start");
    return DSQL_IO;
}

/* Takes "ok" or "error" and the message off the answer. */
static enum dsql_rc read_answer(struct dsql_span all, struct dsql_strbuf *answer,
                                struct dsql_err *err)
{
    struct dsql_span first, message, hint;
    dsql_span_cut(all, '\n', &first, &all);
    if (dsql_span_eq(first, DSQL_SPAN("ok"))) {
        dsql_strbuf_add(answer, all);
        return DSQL_OK;
    }
    if (!dsql_span_eq(first, DSQL_SPAN("error")))
        return dsql_err_set(err, DSQL_IO, "dsql local ended before it had answered");
    dsql_span_cut(all, '\n', &message, &all);
    dsql_span_cut(all, '\n', &hint, &all);
    (void)dsql_err_set(err, DSQL_INVALID, "%.*s", DSQL_SPAN_ARG(message));
    if (hint.len > 0)
        dsql_err_hint(err, "%.*s", DSQL_SPAN_ARG(hint));
    return DSQL_INVALID;
}

enum dsql_rc dsql_control_ask(const char *path, struct dsql_span question,
                              struct dsql_strbuf *answer, struct dsql_err *err)
{
    struct sockaddr_un address;
    const struct timeval limit = {.tv_sec = ASK_LIMIT_S};
    struct dsql_strbuf all;
    char chunk[4096];
    ssize_t got = -1;
    if (!dsql_unix_address(path, &address) || question.len >= DSQL_CONTROL_REQUEST_MAX)
        return dsql_err_set(err, DSQL_INVALID, "%.200s is no control socket", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)no_answer(path, err);
        if (fd >= 0)
            close(fd);
        return DSQL_IO;
    }
    dsql_strbuf_init_heap(&all, DSQL_CONTROL_ANSWER_MAX);
    if (send(fd, question.ptr, question.len, MSG_NOSIGNAL) == (ssize_t)question.len &&
        send(fd, "\n", 1, MSG_NOSIGNAL) == 1)
        /* With a time limit, being stopped and continued interrupts recv(). */
        while ((got = recv(fd, chunk, sizeof(chunk), 0)) > 0 || (got < 0 && errno == EINTR))
            if (got > 0)
                dsql_strbuf_add(&all, (struct dsql_span){chunk, (size_t)got});
    enum dsql_rc rc =
        got == 0 ? read_answer(dsql_strbuf_span(&all), answer, err) : no_answer(path, err);
    explicit_bzero(chunk, sizeof(chunk));
    if (all.ptr)
        explicit_bzero(all.ptr, all.len);
    dsql_strbuf_fini(&all);
    close(fd);
    return rc;
}
