/*
 * net: what a program needs that speaks PostgreSQL's protocol over sockets, shared by `dsql local`
 * and `dsql proxy`. One thread, one event loop.
 *
 *     loop.c       sockets, timers, and memory that is given back at the end of a turn
 *     stream.c     bytes in and out of one socket, with TLS or without
 *     outbox.h     bytes that wait to be sent
 *     tls.c        TLS from a certificate and a key in files
 *     listen.c     sockets to be connected to: TCP and Unix
 *     pass.c       descriptors from one process to another
 *     peer.c       which user of this machine is at the other end
 *
 * Messages are cut out of the bytes by pgwire/frame.h; what they mean is the user's.
 *
 * The loop is epoll and a heap, 140 lines. An event library would hide the two things that the
 * relay lives on: a socket whose bytes another library reads (libpq's TLS, where data that is
 * already decrypted makes no socket readable), and a clock that tests own. libuv reads for its
 * streams itself and keeps its own time; only its poll handles would be left of it, which are epoll
 * with one more call for each change of interest.
 *
 * This header is the loop. A watch, a timer and a deferred_free are members of whatever they belong
 * to; the loop owns none of them. What is closed during a turn may still be named by an event of
 * that turn: its memory is given back by a deferred_free, at the end. A watch whose fd is -1 gets
 * no events.
 */
#ifndef DSQL_NET_LOOP_H
#define DSQL_NET_LOOP_H

#include <sys/epoll.h>

#include "base/clock.h"
#include "base/heap.h"

struct dsql_watch {
    int fd; /* -1: none */
    uint32_t events;
    bool first; /* in a turn, its events come before those of watches without this mark */
    void (*ready)(struct dsql_watch *watch, uint32_t events);
};

struct dsql_timer {
    struct dsql_heap_node node; /* zero before its first use */
    struct dsql_mono at;
    void (*due)(struct dsql_timer *timer); /* stopped when it is called; may start it again */
};

struct dsql_deferred_free {
    struct dsql_deferred_free *next;
    void (*free_now)(struct dsql_deferred_free *ending);
};

struct dsql_loop {
    const struct dsql_clock *clock;
    int epoll;
    struct dsql_heap timers;
    struct dsql_deferred_free *ended;
};

DSQL_MUST_USE enum dsql_rc dsql_loop_init(struct dsql_loop *loop, const struct dsql_clock *clock,
                                          struct dsql_err *err);
/* Frees what has ended. */
void dsql_loop_fini(struct dsql_loop *loop);

/* Serves for at most wait_ns, or until something happened. */
void dsql_loop_turn(struct dsql_loop *loop, int64_t wait_ns);

/* events 0: none. EPOLLET is the user's to ask for. */
void dsql_loop_watch(struct dsql_loop *loop, struct dsql_watch *watch, uint32_t events);
/* With EPOLLET: tells again what the socket is ready for. */
void dsql_loop_rearm(struct dsql_loop *loop, struct dsql_watch *watch);
/* Closes its socket. */
void dsql_loop_close(struct dsql_watch *watch);

/* Starts it, or moves it if it runs; only the first can fail, with DSQL_NO_MEMORY. */
DSQL_MUST_USE enum dsql_rc dsql_loop_start(struct dsql_loop *loop, struct dsql_timer *timer,
                                           int64_t after_ns);
/* Moves one that runs. */
void dsql_loop_move(struct dsql_loop *loop, struct dsql_timer *timer, int64_t after_ns);
void dsql_loop_stop(struct dsql_loop *loop, struct dsql_timer *timer);

/* Whether accept() failed because descriptors or memory are short: the listener stays ready, and
 * its watcher must pause. */
bool dsql_loop_is_short(int number);

/* Has it freed at the end of this turn. */
void dsql_loop_free_later(struct dsql_loop *loop, struct dsql_deferred_free *ending,
                          void (*free_now)(struct dsql_deferred_free *ending));

#endif
