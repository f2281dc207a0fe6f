/*
 * A clock that stands still until a test moves it, from any thread. A wait looks at it every
 * millisecond of the machine's time.
 */
#ifndef DSQL_TESTS_MANUAL_CLOCK_H
#define DSQL_TESTS_MANUAL_CLOCK_H

#include "base/clock.h"

struct manual_clock {
    struct dsql_clock clock; /* pass &manual.clock */
    _Atomic(struct dsql_mono) now;
    _Atomic(struct dsql_wall) wall_now;
};

void manual_clock_init(struct manual_clock *manual, struct dsql_wall start);

/* Lets time pass: both clocks move. ns >= 0. From one thread at a time. */
void manual_clock_advance(struct manual_clock *manual, int64_t ns);

/* Sets the wall clock forward or back; the monotonic one stays. */
void manual_clock_step_wall(struct manual_clock *manual, int64_t ns);

#endif
