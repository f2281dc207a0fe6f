/* Waiting by a clock for what epoll watches, in one system call where the machine's clock allows
 * it. */
#ifndef DSQL_BASE_CLOCK_EPOLL_H
#define DSQL_BASE_CLOCK_EPOLL_H

#include <sys/epoll.h>

#include "base/clock.h"

/* epoll_wait(), with its answer and errno. An `until` of INT64_MAX is never. */
int dsql_clock_epoll(const struct dsql_clock *clock, int epoll, struct epoll_event *events, int max,
                     struct dsql_mono until);

#endif
