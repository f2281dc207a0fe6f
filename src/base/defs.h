/*
 * base: memory, text, time, randomness, logging, histograms, heaps, secrets. It knows nothing of
 * databases and takes no decisions; every other folder may use it, and it uses none of them.
 *
 *     span.c, strbuf.c, utf8.c, shown.c, nearest.c    text
 *     time.c, clock.c, duration.c                     moments, waiting, "15m"
 *     heap.c, hist.c, grow.c, flat.c                  structures; queue.h and link.h are lists
 *     log.c, err.c, secret.c                          lines, errors, what no line may show
 *     rng.c, thread.c, fork.c                         randomness, threads, children
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
