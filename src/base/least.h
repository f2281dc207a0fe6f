/* The smaller and the larger of two numbers. */
#ifndef DSQL_BASE_LEAST_H
#define DSQL_BASE_LEAST_H

#include <stdint.h>

static inline int64_t dsql_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t dsql_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
