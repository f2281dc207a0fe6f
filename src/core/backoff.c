#include "core/backoff.h"

int64_t dsql_backoff_most_ns(const struct dsql_backoff *backoff, unsigned failures)
{
    assert(failures >= 1);
    assert(backoff->base_ns >= 1 && backoff->cap_ns >= backoff->base_ns);
    int64_t wait_ns = backoff->base_ns;
    for (unsigned i = 1; i < failures && wait_ns < backoff->cap_ns; i++)
        wait_ns = wait_ns > backoff->cap_ns / 2 ? backoff->cap_ns : 2 * wait_ns;
    return wait_ns;
}

int64_t dsql_backoff_ns(const struct dsql_backoff *backoff, unsigned failures, struct dsql_rng *rng)
{
    assert(backoff->jitter >= 0 && backoff->jitter <= 1);
    int64_t wait_ns = dsql_backoff_most_ns(backoff, failures);
    int64_t random_ns = (int64_t)((double)wait_ns * backoff->jitter);
    return wait_ns - random_ns + dsql_rng_between(rng, 0, random_ns);
}
