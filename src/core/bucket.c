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

void dsql_bucket_fill(struct dsql_bucket *bucket, int64_t rate, int64_t burst, struct dsql_mono now)
{
    assert(rate >= 0 && rate <= DSQL_BUCKET_RATE_MAX);
    assert(burst >= 0 && burst <= DSQL_BUCKET_BURST_MAX);
    int64_t room = burst * DSQL_S - bucket->level, passed_ns = dsql_mono_since(now, bucket->at);
    bucket->rate = rate;
    bucket->burst = burst;
    /* rate tokens a second are rate units a nanosecond. */
    if (room <= 0 || (rate > 0 && passed_ns > room / rate))
        bucket->level += room;
    else if (passed_ns > 0)
        bucket->level += passed_ns * rate;
    if (passed_ns > 0) /* (B3): else `at` stays, or the same time would count twice */
        bucket->at = now;
    assert(bucket->level >= 0 && bucket->level <= burst * DSQL_S); /* (B1) */
}

static void refill(struct dsql_bucket *bucket, struct dsql_mono now)
{
    dsql_bucket_fill(bucket, bucket->rate, bucket->burst, now);
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
    if (n <= bucket->level / DSQL_S)
        return 0;
    if (n > bucket->burst || bucket->rate == 0)
        return INT64_MAX;
    return (n * DSQL_S - bucket->level + bucket->rate - 1) / bucket->rate;
}

int64_t dsql_bucket_level(struct dsql_bucket *bucket, struct dsql_mono now)
{
    refill(bucket, now);
    return bucket->level / DSQL_S;
}
