/* Tests that own the clock: time passes when they say so, and what waits for it does not wait long.
 */
#ifndef DSQL_TESTS_TEST_CLOCK_H
#define DSQL_TESTS_TEST_CLOCK_H

#include <time.h>

#include "support/manual_clock.h"
#include "support/test.h"

/* A real millisecond, for other threads to look at the clock. */
static inline void look_around(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = DSQL_MS}, NULL);
}

/* Waits, for a minute at most and without time passing on the clock, until the expression holds. */
#define WAIT_UNTIL(expression)                                                                     \
    do {                                                                                           \
        for (int tries_ = 0; !(expression); tries_++) {                                            \
            if (tries_ > 60000)                                                                    \
                fail_msg("never: " #expression);                                                   \
            look_around();                                                                         \
        }                                                                                          \
    } while (0)

/* The same, but after each look so much time has passed on the clock. */
#define PASS_TIME_UNTIL(manual, step_ns, expression)                                               \
    do {                                                                                           \
        for (int tries_ = 0; !(expression); tries_++) {                                            \
            if (tries_ > 60000)                                                                    \
                fail_msg("never: " #expression);                                                   \
            manual_clock_advance((manual), (step_ns));                                             \
            look_around();                                                                         \
        }                                                                                          \
    } while (0)

#endif
