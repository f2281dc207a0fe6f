/*
 * The event loop: sockets, timers, and what is over. One thread.
 *
 * A watch, a timer and a corpse are members of whatever they belong to; the loop owns none of them.
 * What is closed during a turn may still be named by an event of that turn: its memory is given
 * back by a corpse, at the end. A watch whose fd is -1 gets no events.
 */
#ifndef DSQL_LOCAL_LOOP_H
#define DSQL_LOCAL_LOOP_H

#include <sys/epoll.h>

#include "base/clock.h"
#include "base/heap.h"

struct dsql_watch {
    int fd; /* -1: none */
    uint32_t events;
    void (*ready)(struct dsql_watch *watch, uint32_t events);
};

struct dsql_timer {
    struct dsql_heap_node node; /* zero before its first use */
    struct dsql_mono at;
    void (*due)(struct dsql_timer *timer); /* stopped when it is called; may start it again */
};

struct dsql_corpse {
    struct dsql_corpse *next;
    void (*bury)(struct dsql_corpse *corpse);
};

struct dsql_loop {
    const struct dsql_clock *clock;
    int epoll;
    struct dsql_heap timers;
    struct dsql_corpse *dead;
};

DSQL_MUST_USE enum dsql_rc dsql_loop_init(struct dsql_loop *loop, const struct dsql_clock *clock,
                                          struct dsql_err *err);
/* Buries who is dead. */
void dsql_loop_fini(struct dsql_loop *loop);

/* Serves for at most wait_ns, or until something happened. */
void dsql_loop_turn(struct dsql_loop *loop, int64_t wait_ns);

/* events 0: none. */
void dsql_loop_watch(struct dsql_loop *loop, struct dsql_watch *watch, uint32_t events);
/* Closes its socket. */
void dsql_loop_close(struct dsql_watch *watch);

/* Starts it, or moves it if it runs; only the first can fail, with DSQL_NO_MEMORY. */
DSQL_MUST_USE enum dsql_rc dsql_loop_start(struct dsql_loop *loop, struct dsql_timer *timer,
                                           int64_t after_ns);
/* Moves one that runs. */
void dsql_loop_move(struct dsql_loop *loop, struct dsql_timer *timer, int64_t after_ns);
void dsql_loop_stop(struct dsql_loop *loop, struct dsql_timer *timer);

/* Whether accept() failed because descriptors or memory are short: the listener stays ready, and
 * whoever watches it must pause. */
bool dsql_loop_is_short(int number);

void dsql_loop_mourn(struct dsql_loop *loop, struct dsql_corpse *corpse,
                     void (*bury)(struct dsql_corpse *corpse));

#endif
