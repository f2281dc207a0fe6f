/*
 * Where time comes from, and how it is waited for. Code that needs to know the time, or waits until
 * some time, is given a clock; programs pass the machine's, tests pass one they move by hand.
 */
#ifndef DSQL_BASE_CLOCK_H
#define DSQL_BASE_CLOCK_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/time.h"

struct dsql_clock;

/* What the functions of the same name below do. */
struct dsql_clock_waits {
    bool (*cond)(const struct dsql_clock *self, pthread_cond_t *cond, pthread_mutex_t *lock,
                 struct dsql_mono until);
    bool (*value)(const struct dsql_clock *self, _Atomic uint32_t *at, uint32_t value,
                  struct dsql_mono until);
    int (*poll)(const struct dsql_clock *self, struct pollfd *fds, nfds_t count,
                struct dsql_mono until);
};

struct dsql_clock {
    struct dsql_mono (*mono)(const struct dsql_clock *self);
    /* For hot paths: cheaper than the exact one (`make bench` shows both), behind it by at most a
     * timer tick (4 ms on common kernels), never ahead of it. */
    struct dsql_mono (*mono_coarse)(const struct dsql_clock *self);
    struct dsql_wall (*wall)(const struct dsql_clock *self);
    const struct dsql_clock_waits *waits; /* NULL: it goes as fast as the machine's */
};

static inline struct dsql_mono dsql_clock_mono(const struct dsql_clock *clock)
{
    return clock->mono(clock);
}

static inline struct dsql_mono dsql_clock_mono_coarse(const struct dsql_clock *clock)
{
    return clock->mono_coarse(clock);
}

static inline struct dsql_wall dsql_clock_wall(const struct dsql_clock *clock)
{
    return clock->wall(clock);
}

static inline struct dsql_moment dsql_clock_moment(const struct dsql_clock *clock)
{
    return (struct dsql_moment){clock->mono(clock), clock->wall(clock)};
}

/* An `until` of INT64_MAX is never. */

/* A condition variable that clocks can wait for. */
void dsql_clock_cond_init(pthread_cond_t *cond);
/* Until it is signalled, perhaps in vain; false when that moment has come. */
bool dsql_clock_wait(const struct dsql_clock *clock, pthread_cond_t *cond, pthread_mutex_t *lock,
                     struct dsql_mono until);

/* Waits until *at is no longer the value, and may return before; false when `until` has come. The
 * thread that changes *at calls dsql_clock_wake_value(). */
bool dsql_clock_wait_value(const struct dsql_clock *clock, _Atomic uint32_t *at, uint32_t value,
                           struct dsql_mono until);
void dsql_clock_wake_value(_Atomic uint32_t *at);

/* poll(), with its answer and errno. */
int dsql_clock_poll(const struct dsql_clock *clock, struct pollfd *fds, nfds_t count,
                    struct dsql_mono until);

void dsql_clock_sleep(const struct dsql_clock *clock, int64_t ns);

/* The machine's own. */
extern const struct dsql_clock dsql_clock_system;

/* The machine's own clock, which also counts the time that the machine sleeps, as its peers do. Its
 * coarse reading is exact. */
extern const struct dsql_clock dsql_clock_boot;

/* What an option of a module means: the clock, or the machine's (dsql_clock_boot) for NULL. */
const struct dsql_clock *dsql_clock_or_boot(const struct dsql_clock *clock);

#endif
