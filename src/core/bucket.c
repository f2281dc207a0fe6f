#include "core/bucket.h"

/* The level of a full bucket, and what flows in during the longest time that matters, fit. */
static_assert(DSQL_BUCKET_BURST_MAX <= INT64_MAX / (2 * DSQL_S), "level");

void dsql_bucket_init(struct dsql_bucket *bucket, int64_t rate, int64_t burst, struct dsql_mono now)
{
    assert(rate >= 1 && rate <= DSQL_BUCKET_RATE_MAX);
    assert(burst >= 1 && burst <= DSQL_BUCKET_BURST_MAX);
    *bucket =
        (struct dsql_bucket){.rate = rate, .burst = burst, .level = burst * DSQL_S, .at = now};
}

/* Lets flow in what the time since the last look brings. */
static void refill(struct dsql_bucket *bucket, struct dsql_mono now)
{
    int64_t passed_ns = dsql_mono_since(now, bucket->at);
    if (passed_ns <= 0)
        return; /* (B3): and `at` stays, or the same time would count twice */
    int64_t room = bucket->burst * DSQL_S - bucket->level;
    /* rate tokens a second are rate units a nanosecond. */
    if (passed_ns >= room / bucket->rate + 1)
        bucket->level += room;
    else
        bucket->level += passed_ns * bucket->rate;
    bucket->at = now;
    assert(bucket->level >= 0 && bucket->level <= bucket->burst * DSQL_S); /* (B1) */
}

bool dsql_bucket_take(struct dsql_bucket *bucket, int64_t n, struct dsql_mono now)
{
    assert(n >= 1);
    refill(bucket, now);
    if (n > bucket->level / DSQL_S)
        return false;
    bucket->level -= n * DSQL_S;
    return true;
}

int64_t dsql_bucket_wait_ns(struct dsql_bucket *bucket, int64_t n, struct dsql_mono now)
{
    assert(n >= 1);
    refill(bucket, now);
    if (n > bucket->burst)
        return INT64_MAX;
    int64_t missing = n * DSQL_S - bucket->level;
    return missing <= 0 ? 0 : (missing + bucket->rate - 1) / bucket->rate;
}

int64_t dsql_bucket_level(struct dsql_bucket *bucket, struct dsql_mono now)
{
    refill(bucket, now);
    return bucket->level / DSQL_S;
}
