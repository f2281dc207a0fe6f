/*
 * Property tests. A property draws its inputs from the prop it is given and answers whether it
 * holds; every draw is recorded. When a case fails, the record is made smaller as long as the
 * property still fails (draws removed, then lowered), so that what is reported is the simplest
 * input found.
 *
 *     static bool holds(struct prop *p) { ...; return prop_that(p, a == b, "a=%d b=%d", a, b); }
 *     prop_run("heap is sorted", holds, 1000);
 *
 * PROP_SEED=n repeats a run, PROP_SCALE=n multiplies the number of cases, PROP_SHRINK=n limits how
 * many smaller inputs are tried.
 */
#ifndef DSQL_TESTS_PROP_H
#define DSQL_TESTS_PROP_H

#include "base/rng.h"

struct prop;
typedef bool prop_fn(struct prop *p);

/* Even over 0..bound-1. Smaller is simpler: order the meanings of a draw that way. */
uint64_t prop_below(struct prop *p, uint64_t bound);

/* Even over low..high; the simplest is the one nearest to zero. */
int64_t prop_between(struct prop *p, int64_t low, int64_t high);

/* A number of any size: every power of two is as likely as the next. */
uint64_t prop_any_u64(struct prop *p);

/* Records why the property fails; answers `holds`. */
bool prop_that(struct prop *p, bool holds, const char *fmt, ...) DSQL_PRINTF(3, 4);

/* Runs the property; fails the cmocka test with the simplest input's message. */
void prop_run(const char *name, prop_fn *fn, unsigned cases);

/* The same with one rule taken away, which *breakage tells the property: each from 1 to `end` - 1,
 * and fails the test for one with which every case holds. Leaves 0, which is the whole. */
void prop_breakages(prop_fn *fn, unsigned cases, int *breakage, int end);

/* The same without cmocka: true if every case holds. For the harness's own test. */
bool prop_holds(const char *name, prop_fn *fn, unsigned cases, char *why, size_t why_cap);

#endif
