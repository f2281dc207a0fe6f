/*
 * Randomness as a value that is passed in. A seeded generator gives the same numbers for the same
 * seed on every machine; split() makes an independent one, so that each actor of a simulation has
 * its own stream and adding an actor does not change the others. Not for secrets: see
 * dsql_random_bytes.
 *
 * Generators are small values; copy one to fork it. Not safe from two threads.
 */
#ifndef DSQL_BASE_RNG_H
#define DSQL_BASE_RNG_H

#include "base/defs.h"

struct dsql_rng {
    uint64_t (*next)(struct dsql_rng *self);
    struct dsql_rng (*split)(struct dsql_rng *self);
    uint64_t state;
    uint64_t gamma;
    void *arg; /* for generators that tests make up */
};

/* SplitMix64. */
struct dsql_rng dsql_rng_seeded(uint64_t seed);

/* Seeded from the kernel: different in each process. */
struct dsql_rng dsql_rng_from_os(void);

static inline uint64_t dsql_rng_next(struct dsql_rng *rng)
{
    return rng->next(rng);
}

static inline struct dsql_rng dsql_rng_split(struct dsql_rng *rng)
{
    return rng->split(rng);
}

/* Even over 0..bound-1; bound >= 1. */
uint64_t dsql_rng_below(struct dsql_rng *rng, uint64_t bound);

/* Even over low..high, both included. */
int64_t dsql_rng_between(struct dsql_rng *rng, int64_t low, int64_t high);

/* Even over [0, 1). */
double dsql_rng_unit(struct dsql_rng *rng);

/* A number that no copy of this process draws, at no time: for identities and the marks of what it
 * writes. A forked child has another process id; a machine that was copied may be given the same
 * random bits for a moment, but not at the same nanosecond. */
uint64_t dsql_nonce(void);

/* Unpredictable bytes from the kernel, for identifiers and nonces. */
void dsql_random_bytes(void *out, size_t len);

#endif
