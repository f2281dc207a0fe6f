#include "core/retry.h"

#include "core/backoff.h"

enum { THOUSAND = 1000, MILLION = 1000000, RATIO_MAX = 100 };

bool dsql_retry_allowance_valid(double ratio, int64_t rate, int64_t burst)
{
    return ratio >= 0 && ratio <= RATIO_MAX && rate >= 1 && rate <= MILLION && burst >= 1 &&
           burst <= MILLION;
}

void dsql_retry_allowance_init(struct dsql_retry_allowance *allowance, double ratio, int64_t rate,
                               int64_t burst, struct dsql_mono now)
{
    assert(dsql_retry_allowance_valid(ratio, rate, burst));
    *allowance = (struct dsql_retry_allowance){
        .credit = burst * THOUSAND,
        .credit_max = burst * THOUSAND,
        .per_operation = (int64_t)(ratio * THOUSAND),
    };
    dsql_bucket_init(&allowance->by_time, rate, rate, now);
}

void dsql_retry_allowance_earn(struct dsql_retry_allowance *allowance)
{
    allowance->credit += allowance->per_operation;
    if (allowance->credit > allowance->credit_max)
        allowance->credit = allowance->credit_max;
}

bool dsql_retry_allowance_spend(struct dsql_retry_allowance *allowance, struct dsql_mono now)
{
    if (allowance->credit < THOUSAND)
        return dsql_bucket_take(&allowance->by_time, 1, now);
    allowance->credit -= THOUSAND;
    return true;
}

/* Whether rc says that nothing was applied and another run may pass. (RT1) */
static bool may_repeat(const struct dsql_retry *retry, const struct dsql_retry_policy *policy,
                       enum dsql_rc rc)
{
    if (dsql_rc_class(rc) == DSQL_CLASS_RETRY)
        return true;
    return (rc == DSQL_LOST || rc == DSQL_UNAVAILABLE) && retry->reconnects < policy->reconnects;
}

/* The wait before the retry that comes after `retries` others. (RT3) The policy is the caller's:
 * values that make no sense are bent, not asserted. */
static int64_t delay_ns(const struct dsql_retry_policy *policy, int retries, struct dsql_rng *rng)
{
    if (policy->base_delay_ns <= 0)
        return 0;
    struct dsql_backoff backoff = {
        .base_ns = policy->base_delay_ns,
        .cap_ns = policy->max_delay_ns > policy->base_delay_ns ? policy->max_delay_ns
                                                               : policy->base_delay_ns,
        .jitter = policy->jitter >= 0 && policy->jitter <= 1 ? policy->jitter : 1,
    };
    return dsql_backoff_ns(&backoff, (unsigned)retries + 1, rng);
}

static struct dsql_retry_decision give_up(enum dsql_retry_end why)
{
    return (struct dsql_retry_decision){.why = why};
}

struct dsql_retry_decision
dsql_retry_decide(struct dsql_retry *retry, const struct dsql_retry_policy *policy, enum dsql_rc rc,
                  int64_t elapsed_ns, int64_t deadline_ns, struct dsql_rng *rng,
                  struct dsql_retry_allowance *allowance, struct dsql_mono now)
{
    if (!may_repeat(retry, policy, rc))
        return give_up(DSQL_RETRY_NOT_RETRYABLE);
    if (retry->retries >= policy->max_retries)
        return give_up(DSQL_RETRY_EXHAUSTED);
    struct dsql_retry_decision decision = {.again = true};
    decision.same_connection = rc == DSQL_SCHEMA_CHANGED && !retry->refreshed;
    if (!decision.same_connection)
        decision.wait_ns = delay_ns(policy, retry->retries, rng);
    if (deadline_ns >= 0 && dsql_ns_add(elapsed_ns, decision.wait_ns) >= deadline_ns)
        return give_up(DSQL_RETRY_NO_TIME);
    if (allowance && !dsql_retry_allowance_spend(allowance, now))
        return give_up(DSQL_RETRY_NO_BUDGET);
    retry->retries++;
    retry->reconnects += dsql_rc_class(rc) != DSQL_CLASS_RETRY;
    retry->refreshed |= decision.same_connection;
    return decision;
}
