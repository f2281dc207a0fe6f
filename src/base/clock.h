/*
 * Where time comes from. Whoever needs to know the time is given a clock; daemons pass the
 * system's, tests and the simulator pass one they move by hand.
 */
#ifndef DSQL_BASE_CLOCK_H
#define DSQL_BASE_CLOCK_H

#include "base/time.h"

struct dsql_clock {
    struct dsql_mono (*mono)(const struct dsql_clock *self);
    /* For hot paths: cheaper than the exact one (`make bench` shows both), behind it by at most a
     * timer tick (4 ms on common kernels), never ahead of it. */
    struct dsql_mono (*mono_coarse)(const struct dsql_clock *self);
    struct dsql_wall (*wall)(const struct dsql_clock *self);
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

/* The machine's own. */
extern const struct dsql_clock dsql_clock_system;

/* The same, but time goes on while the machine sleeps, as it does for those it talks to. Its coarse
 * reading is exact. */
extern const struct dsql_clock dsql_clock_boot;

/* A clock that stands still until it is moved. Not safe from two threads. */
struct dsql_manual_clock {
    struct dsql_clock clock; /* pass &manual.clock */
    struct dsql_mono now;
    struct dsql_wall wall_now;
};

void dsql_manual_clock_init(struct dsql_manual_clock *manual, struct dsql_wall start);

/* Lets time pass: both clocks move. ns >= 0. */
void dsql_manual_clock_advance(struct dsql_manual_clock *manual, int64_t ns);

/* Somebody sets the wall clock: only it moves, either way. */
void dsql_manual_clock_step_wall(struct dsql_manual_clock *manual, int64_t ns);

#endif
