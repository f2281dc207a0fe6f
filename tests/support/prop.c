#include "support/prop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DRAWS_MAX = 1 << 14, SHRINK_RUNS = 4000, DEFAULT_SEED = 20261116 };

struct prop {
    uint64_t draws[DRAWS_MAX];
    size_t count; /* recorded, or given when replaying */
    size_t at;    /* next to hand out when replaying */
    bool replaying;
    struct dsql_rng rng;
    char why[512];
};

uint64_t prop_below(struct prop *p, uint64_t bound)
{
    assert(bound >= 1);
    if (p->replaying) {
        uint64_t draw = p->at < p->count ? p->draws[p->at] : 0;
        p->at++;
        return draw < bound ? draw : bound - 1;
    }
    uint64_t draw = dsql_rng_below(&p->rng, bound);
    assert(p->count < DRAWS_MAX);
    p->draws[p->count++] = draw;
    return draw;
}

int64_t prop_between(struct prop *p, int64_t low, int64_t high)
{
    uint64_t width = (uint64_t)high - (uint64_t)low;
    int64_t zero = low > 0 ? low : high < 0 ? high : 0;
    /* Offsets count from the simplest value, upwards first and then from the bottom. */
    uint64_t up = (uint64_t)high - (uint64_t)zero;
    uint64_t offset = prop_below(p, width == UINT64_MAX ? width : width + 1);
    return offset <= up ? (int64_t)((uint64_t)zero + offset)
                        : (int64_t)((uint64_t)zero - (offset - up));
}

uint64_t prop_any_u64(struct prop *p)
{
    uint64_t bits = prop_below(p, 65);
    if (bits == 0)
        return 0;
    uint64_t top = UINT64_C(1) << (bits - 1);
    return top | (top > 1 ? prop_below(p, top) : 0);
}

bool prop_that(struct prop *p, bool holds, const char *fmt, ...)
{
    if (!holds) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(p->why, sizeof(p->why), fmt, args);
        va_end(args);
    }
    return holds;
}

static uint64_t number_from_env(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static bool fails(struct prop *p, prop_fn *fn)
{
    p->replaying = true;
    p->at = 0;
    bool holds = fn(p);
    if (!holds && p->at < p->count)
        p->count = p->at; /* what was not drawn does not matter */
    return !holds;
}

/* Tries one smaller record; keeps it if the property still fails. */
static bool keep_if_failing(struct prop *best, const struct prop *smaller, prop_fn *fn,
                            unsigned *runs)
{
    static struct prop attempt;
    if (*runs == 0)
        return false;
    (*runs)--;
    attempt = *smaller;
    if (!fails(&attempt, fn))
        return false;
    *best = attempt;
    return true;
}

static bool remove_draws(struct prop *best, prop_fn *fn, unsigned *runs)
{
    static struct prop smaller;
    bool progress = false;
    for (size_t chunk = best->count / 2 + 1; chunk >= 1; chunk /= 2) {
        for (size_t from = 0; from + chunk <= best->count;) {
            smaller = *best;
            for (size_t i = from; i + chunk < best->count; i++)
                smaller.draws[i] = best->draws[i + chunk];
            smaller.count -= chunk;
            if (keep_if_failing(best, &smaller, fn, runs))
                progress = true;
            else
                from++;
        }
    }
    return progress;
}

static bool lower_draws(struct prop *best, prop_fn *fn, unsigned *runs)
{
    static struct prop smaller;
    bool progress = false;
    for (size_t i = 0; i < best->count; i++) {
        /* Zero at once, otherwise ever smaller steps down. */
        for (uint64_t step = best->draws[i]; step > 0 && i < best->count;) {
            smaller = *best;
            smaller.draws[i] -= step;
            if (keep_if_failing(best, &smaller, fn, runs)) {
                progress = true;
                step = i < best->count && best->draws[i] < step ? best->draws[i] : step;
            } else {
                step /= 2;
            }
        }
    }
    return progress;
}

bool prop_holds(const char *name, prop_fn *fn, unsigned cases, char *why, size_t why_cap)
{
    static struct prop p;
    uint64_t seed = number_from_env("PROP_SEED", DEFAULT_SEED);
    uint64_t scaled = cases * number_from_env("PROP_SCALE", 1);
    struct dsql_rng seeds = dsql_rng_seeded(seed);
    for (uint64_t i = 0; i < scaled; i++) {
        p = (struct prop){.rng = dsql_rng_split(&seeds)};
        if (fn(&p))
            continue;
        unsigned runs = (unsigned)number_from_env("PROP_SHRINK", SHRINK_RUNS);
        while (fails(&p, fn) && (remove_draws(&p, fn, &runs) || lower_draws(&p, fn, &runs)))
            continue;
        (void)snprintf(why, why_cap, "%s: PROP_SEED=%llu case %llu, simplest of %zu draws: %s",
                       name, (unsigned long long)seed, (unsigned long long)i, p.count, p.why);
        return false;
    }
    printf("property '%s': seed %llu, %llu cases\n", name, (unsigned long long)seed,
           (unsigned long long)scaled);
    return true;
}

void prop_run(const char *name, prop_fn *fn, unsigned cases)
{
    char why[1024];
    if (!prop_holds(name, fn, cases, why, sizeof(why)))
        fail_msg("%s", why);
}

void prop_breakages(prop_fn *fn, unsigned cases, int *breakage, int end)
{
    for (*breakage = 1; *breakage < end; ++*breakage) {
        char why[512] = "";
        if (prop_holds("a broken protocol", fn, cases, why, sizeof(why)))
            fail_msg("breakage %d goes unnoticed", *breakage);
        print_message("without rule %d: %s\n", *breakage, why);
    }
    *breakage = 0;
}
