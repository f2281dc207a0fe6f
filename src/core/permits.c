#include "core/permits.h"

#include "base/least.h"
#include "core/backoff.h"

enum { UNIT = 1000, RATE_MIN = UNIT / 10 };

static const struct dsql_backoff pause = {.base_ns = DSQL_S, .cap_ns = 30 * DSQL_S};

static_assert(DSQL_PERMITS_RATE_MAX * UNIT <= DSQL_BUCKET_RATE_MAX, "fits the bucket");
static_assert(DSQL_PERMITS_BURST_MAX * UNIT <= DSQL_BUCKET_BURST_MAX, "fits the bucket");

void dsql_permits_init(struct dsql_permits *permits, int64_t rate, int64_t burst,
                       struct dsql_mono now)
{
    assert(rate >= 1 && rate <= DSQL_PERMITS_RATE_MAX);
    assert(burst >= 1 && burst <= DSQL_PERMITS_BURST_MAX);
    *permits = (struct dsql_permits){
        .full_rate = rate * UNIT, .cut_at = now, .raised_at = now, .paused_until = now};
    dsql_bucket_init(&permits->bucket, rate * UNIT, burst * UNIT, now);
}

void dsql_permits_resize(struct dsql_permits *permits, int64_t rate, int64_t burst,
                         struct dsql_mono now)
{
    int64_t level = dsql_bucket_level(&permits->bucket, now);
    struct dsql_permits old = *permits;
    dsql_permits_init(permits, rate, burst, now);
    if (level < burst * UNIT)
        (void)dsql_bucket_take(&permits->bucket, burst * UNIT - level, now);
    permits->paused_until = old.paused_until;
    permits->refusals = old.refusals;
    permits->throttled = old.throttled;
    if (dsql_mono_before(now, old.paused_until))
        permits->bucket.at = old.paused_until;
}

/* Additive increase. What flowed in until now did so at the old rate. */
static void recover(struct dsql_permits *permits, struct dsql_mono now)
{
    int64_t steps = dsql_mono_since(now, permits->raised_at) / DSQL_S;
    if (permits->bucket.rate == permits->full_rate || steps < 1)
        return;
    (void)dsql_bucket_level(&permits->bucket, now);
    int64_t step = permits->full_rate / 10 > 0 ? permits->full_rate / 10 : 1;
    int64_t missing = permits->full_rate - permits->bucket.rate;
    permits->bucket.rate += steps >= missing / step + 1 ? missing : steps * step;
    permits->raised_at = dsql_mono_add(permits->raised_at, steps * DSQL_S);
    assert(permits->bucket.rate >= RATE_MIN && permits->bucket.rate <= permits->full_rate); /* P2 */
}

bool dsql_permits_take(struct dsql_permits *permits, struct dsql_mono now, int64_t *wait_ns)
{
    recover(permits, now);
    int64_t paused_ns = dsql_mono_since(permits->paused_until, now);
    if (dsql_bucket_take(&permits->bucket, UNIT, now))
        return true;
    int64_t flow_ns = dsql_bucket_wait_ns(&permits->bucket, UNIT, now);
    *wait_ns = dsql_most(paused_ns, flow_ns);
    return false;
}

void dsql_permits_throttled(struct dsql_permits *permits, struct dsql_mono now)
{
    permits->throttled++;
    recover(permits, now);
    /* Connects that were on their way at the same time are refused together, which counts as one
     * refusal. */
    if (permits->refusals > 0 && dsql_mono_since(now, permits->cut_at) < DSQL_S)
        return;
    permits->refusals++;
    int64_t level = dsql_bucket_level(&permits->bucket, now);
    if (level > 0)
        (void)dsql_bucket_take(&permits->bucket, level, now);
    permits->bucket.rate /= 2;
    if (permits->bucket.rate < RATE_MIN)
        permits->bucket.rate = RATE_MIN;
    permits->cut_at = now;
    permits->paused_until = dsql_mono_add(now, dsql_backoff_most_ns(&pause, permits->refusals));
    permits->raised_at = permits->paused_until;
    /* A pause is time that the bucket does not see: it is empty, and stays so until the end. */
    permits->bucket.at = permits->paused_until;
}

void dsql_permits_opened(struct dsql_permits *permits, struct dsql_mono now)
{
    recover(permits, now);
    permits->refusals = 0;
}

int64_t dsql_permits_full_rate(const struct dsql_permits *permits)
{
    return permits->full_rate / UNIT;
}

double dsql_permits_rate(struct dsql_permits *permits, struct dsql_mono now)
{
    recover(permits, now);
    return (double)permits->bucket.rate / UNIT;
}

int64_t dsql_permits_level(struct dsql_permits *permits, struct dsql_mono now)
{
    recover(permits, now);
    return dsql_mono_since(permits->paused_until, now) > 0
               ? 0
               : dsql_bucket_level(&permits->bucket, now) / UNIT;
}
