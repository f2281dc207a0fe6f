#include "net/loop.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_epoll.h"

enum { EVENTS_MAX = 1024 };

static bool earlier(const struct dsql_heap_node *a, const struct dsql_heap_node *b)
{
    return dsql_mono_before(DSQL_CONTAINER_OF(a, const struct dsql_timer, node)->at,
                            DSQL_CONTAINER_OF(b, const struct dsql_timer, node)->at);
}

static struct dsql_mono now(const struct dsql_loop *loop)
{
    return dsql_clock_mono(loop->clock);
}

enum dsql_rc dsql_loop_init(struct dsql_loop *loop, const struct dsql_clock *clock,
                            struct dsql_err *err)
{
    *loop = (struct dsql_loop){.clock = clock, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    dsql_heap_init(&loop->timers, earlier);
    if (loop->epoll < 0)
        return dsql_err_set(err, DSQL_IO, "epoll: %s", strerror(errno));
    return DSQL_OK;
}

static void free_ended(struct dsql_loop *loop)
{
    while (loop->ended) {
        struct dsql_deferred_free *ending = loop->ended;
        loop->ended = ending->next;
        ending->free_now(ending);
    }
}

void dsql_loop_fini(struct dsql_loop *loop)
{
    free_ended(loop);
    dsql_heap_fini(&loop->timers);
    if (loop->epoll >= 0)
        close(loop->epoll);
    loop->epoll = -1;
}

void dsql_loop_watch(struct dsql_loop *loop, struct dsql_watch *watch, uint32_t events)
{
    if (watch->fd < 0 || watch->events == events)
        return;
    struct epoll_event event = {.events = events, .data = {.ptr = watch}};
    int what = watch->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    int failed = epoll_ctl(loop->epoll, events == 0 ? EPOLL_CTL_DEL : what, watch->fd, &event);
    assert(
        !failed); /* the descriptors are ours; memory for them was checked at ADD by the kernel */
    watch->events = events;
}

void dsql_loop_rearm(struct dsql_loop *loop, struct dsql_watch *watch)
{
    struct epoll_event event = {.events = watch->events, .data = {.ptr = watch}};
    assert(watch->fd >= 0 && watch->events != 0);
    int failed = epoll_ctl(loop->epoll, EPOLL_CTL_MOD, watch->fd, &event);
    assert(!failed);
}

void dsql_loop_close(struct dsql_watch *watch)
{
    if (watch->fd >= 0)
        close(watch->fd);
    watch->fd = -1;
    watch->events = 0;
}

enum dsql_rc dsql_loop_start(struct dsql_loop *loop, struct dsql_timer *timer, int64_t after_ns)
{
    timer->at = dsql_mono_add(now(loop), after_ns);
    if (!dsql_heap_node_is_in(&timer->node))
        return dsql_heap_push(&loop->timers, &timer->node);
    dsql_heap_update(&loop->timers, &timer->node);
    return DSQL_OK;
}

void dsql_loop_move(struct dsql_loop *loop, struct dsql_timer *timer, int64_t after_ns)
{
    assert(dsql_heap_node_is_in(&timer->node));
    timer->at = dsql_mono_add(now(loop), after_ns);
    dsql_heap_update(&loop->timers, &timer->node);
}

void dsql_loop_stop(struct dsql_loop *loop, struct dsql_timer *timer)
{
    if (dsql_heap_node_is_in(&timer->node))
        dsql_heap_remove(&loop->timers, &timer->node);
}

bool dsql_loop_is_short(int number)
{
    return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

void dsql_loop_free_later(struct dsql_loop *loop, struct dsql_deferred_free *ending,
                          void (*free_now)(struct dsql_deferred_free *ending))
{
    ending->free_now = free_now;
    ending->next = loop->ended;
    loop->ended = ending;
}

static struct dsql_timer *first_timer(const struct dsql_loop *loop)
{
    struct dsql_heap_node *node = dsql_heap_peek(&loop->timers);
    return node ? DSQL_CONTAINER_OF(node, struct dsql_timer, node) : NULL;
}

static void run_timers(struct dsql_loop *loop)
{
    struct dsql_mono at = now(loop); /* what is started meanwhile waits for the next turn */
    for (struct dsql_timer *timer; (timer = first_timer(loop));) {
        if (dsql_mono_before(at, timer->at))
            return;
        dsql_heap_remove(&loop->timers, &timer->node);
        timer->due(timer);
    }
}

/* What can be done now, or as soon as something can, the first timer is due, or the time is over.
 */
static int wait_for_any(const struct dsql_loop *loop, int64_t wait_ns, struct epoll_event *events)
{
    struct dsql_mono until = dsql_mono_add(now(loop), wait_ns);
    const struct dsql_timer *first = first_timer(loop);
    if (first && dsql_mono_before(first->at, until))
        until = first->at;
    return dsql_clock_epoll(loop->clock, loop->epoll, events, EVENTS_MAX, until);
}

static void tell(const struct epoll_event *events, int count, bool first)
{
    for (int i = 0; i < count; i++) {
        struct dsql_watch *watch = events[i].data.ptr;
        if (watch->fd >= 0 && watch->first == first)
            watch->ready(watch, events[i].events);
    }
}

void dsql_loop_turn(struct dsql_loop *loop, int64_t wait_ns)
{
    struct epoll_event events[EVENTS_MAX];
    int count = wait_for_any(loop, wait_ns, events);
    tell(events, count, true);
    tell(events, count, false);
    run_timers(loop);
    free_ended(loop);
}
