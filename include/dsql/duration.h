/* Durations. Every duration in these headers is an int64_t of nanoseconds, and its name ends in
 * _ns. */
#ifndef DSQL_DURATION_H
#define DSQL_DURATION_H

#include <stdint.h>

#define DSQL_MILLISECONDS(n) ((int64_t)(n)*1000000)
#define DSQL_SECONDS(n)      ((int64_t)(n)*1000000000)
#define DSQL_MINUTES(n)      ((int64_t)(n)*60 * 1000000000)

#endif
