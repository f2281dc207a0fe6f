/*
 * Makes the Nth allocation fail. Programs that use it are linked with the allocator wrapped
 * (cmake/tests.cmake), so every allocation of our own code passes here.
 */
#ifndef DSQL_TESTS_ALLOC_FAULT_H
#define DSQL_TESTS_ALLOC_FAULT_H

#include "base/defs.h"

/* Builds and tears down something. Must leave nothing allocated, whether or not it succeeded, and
 * answer whether it did. */
typedef bool alloc_fault_fn(void);

/*
 * Runs fn with the 1st, 2nd, 3rd ... allocation failing until it succeeds, which it must do without
 * a failure injected. After every run nothing may be left allocated, and a run in which an
 * allocation failed must say so unless `tolerant`. Fails the cmocka test otherwise; answers the
 * number of runs.
 */
size_t alloc_fault_run(const char *name, alloc_fault_fn *fn, bool tolerant);

/* When set, sees each block in the moment before it is given back. */
extern void (*alloc_fault_before_free)(const void *block);

#endif
