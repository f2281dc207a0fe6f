#include "core/refill.h"

#include "base/least.h"

static const struct dsql_backoff waits[DSQL_CONNECT_CLASSES] = {
    [DSQL_CONNECT_THROTTLED] = {DSQL_S, 30 * DSQL_S, 0.25},
    [DSQL_CONNECT_FULL] = {5 * DSQL_S, DSQL_M, 0.25},
    [DSQL_CONNECT_TOKEN_EXPIRED] = {30 * DSQL_S, 5 * DSQL_M, 0.25},
    [DSQL_CONNECT_DENIED] = {30 * DSQL_S, 5 * DSQL_M, 0.25},
    [DSQL_CONNECT_TLS] = {30 * DSQL_S, 5 * DSQL_M, 0.25},
    [DSQL_CONNECT_RESOURCES] = {DSQL_S, 30 * DSQL_S, 0.25},
    [DSQL_CONNECT_NETWORK] = {250 * DSQL_MS, 3 * DSQL_S, 0.5},
};

enum { WINDOW_MAX = 1000, WINDOW_SUSPECT = 256 };

void dsql_refill_init(struct dsql_refill *refill, const struct dsql_backoff *network,
                      struct dsql_mono now)
{
    *refill = (struct dsql_refill){.round_at = now,
                                   .not_before = now,
                                   .window = WINDOW_MAX,
                                   .network = network ? *network : waits[DSQL_CONNECT_NETWORK]};
}

static bool needs_a_person(enum dsql_connect_class cls)
{
    return cls == DSQL_CONNECT_DENIED || cls == DSQL_CONNECT_TLS ||
           cls == DSQL_CONNECT_TOKEN_EXPIRED;
}

struct dsql_refill_verdict dsql_refill_failed(struct dsql_refill *refill,
                                              enum dsql_connect_class cls, struct dsql_mono began,
                                              struct dsql_mono now, struct dsql_rng *rng)
{
    struct dsql_refill_verdict verdict = {0};
    if (refill->rounds > 0 && dsql_mono_before(began, refill->round_at)) {
        verdict.wait_ns = dsql_refill_wait_ns(refill, now);
        return verdict;
    }
    /* A reason of another kind starts its own row of waits. */
    refill->rounds = refill->rounds > 0 && refill->last == cls ? refill->rounds + 1 : 1;
    refill->last = cls;
    refill->round_at = now;
    verdict.first = true;
    if (cls == DSQL_CONNECT_NETWORK) {
        int64_t suspect = dsql_least(refill->window, WINDOW_SUSPECT);
        refill->window = suspect > 1 ? suspect / 2 : 1;
    }
    if (cls == DSQL_CONNECT_TOKEN_EXPIRED && !refill->renewed) {
        refill->renewed = true;
        refill->hopeless = false;
        refill->not_before = now;
        verdict.renew_token = true;
        return verdict;
    }
    refill->hopeless = needs_a_person(cls);
    verdict.renew_token = cls == DSQL_CONNECT_TOKEN_EXPIRED || cls == DSQL_CONNECT_DENIED;
    const struct dsql_backoff *wait = cls == DSQL_CONNECT_NETWORK ? &refill->network : &waits[cls];
    verdict.wait_ns = dsql_backoff_ns(wait, refill->rounds, rng);
    refill->not_before = dsql_mono_add(now, verdict.wait_ns);
    return verdict;
}

void dsql_refill_opened(struct dsql_refill *refill)
{
    refill->rounds = 0;
    if (refill->window < WINDOW_MAX && ++refill->successes >= refill->window / 4) {
        refill->window++;
        refill->successes = 0;
    }
    refill->renewed = refill->hopeless = false;
    refill->not_before = refill->round_at;
}

int64_t dsql_refill_wait_ns(const struct dsql_refill *refill, struct dsql_mono now)
{
    int64_t left_ns = dsql_mono_since(refill->not_before, now);
    return refill->rounds > 0 ? dsql_most(left_ns, 0) : 0;
}

int64_t dsql_refill_limit(const struct dsql_refill *refill, int64_t limit)
{
    if (refill->rounds > 0)
        return 1;
    return dsql_least(limit, refill->window);
}
