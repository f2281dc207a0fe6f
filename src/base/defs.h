/*
 * base: memory, text, time, randomness, logging, histograms, heaps, secrets. It knows nothing of
 * databases and takes no decisions; every other folder may use it, and it uses none of them.
 *
 * This header holds the few macros that all of them share.
 */
#ifndef DSQL_BASE_DEFS_H
#define DSQL_BASE_DEFS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dsql/defs.h"
#include "dsql/err.h"

#define DSQL_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* By way of an integer, so that it serves pointers to const as well. */
#define DSQL_CONTAINER_OF(ptr, type, member) ((type *)((uintptr_t)(ptr)-offsetof(type, member)))

/* Two lines, because the prefetcher of x86-64 fetches them in pairs. */
#define DSQL_CACHE_LINE 128

#ifdef NDEBUG
#error "asserts stay on: they are part of the program"
#endif

#endif
