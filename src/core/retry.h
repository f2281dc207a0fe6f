/*
 * The policy of dsql/retry.h without clock, randomness and locks: those are passed in.
 *
 * Invariants: (RT1) nothing is repeated that may have been applied; (RT2) at most max_retries
 * retries; (RT3) a wait lies in [(1 - jitter) * d, d], where d doubles from base_delay up to
 * max_delay, except the one retry at once after the first OC001; (RT4) no wait reaches the
 * deadline; (RT5) a retry that is granted has been paid for from the allowance, and one that is
 * refused costs nothing.
 */
#ifndef DSQL_CORE_RETRY_H
#define DSQL_CORE_RETRY_H

#include "base/rng.h"
#include "core/bucket.h"
#include "dsql/retry.h"

/* The state of a retry budget: what operations earned, and what time brings. Single-threaded. */
struct dsql_retry_allowance {
    struct dsql_bucket by_time;
    int64_t credit, credit_max, per_operation; /* in thousandths of a retry */
};

/* Whether the values are in the ranges dsql_retry_budget_new() accepts. */
bool dsql_retry_allowance_valid(double ratio, int64_t rate, int64_t burst);
void dsql_retry_allowance_init(struct dsql_retry_allowance *allowance, double ratio, int64_t rate,
                               int64_t burst, struct dsql_mono now);

/* An operation begins. */
void dsql_retry_allowance_earn(struct dsql_retry_allowance *allowance);

/* Pays for one retry, if there is enough. */
bool dsql_retry_allowance_spend(struct dsql_retry_allowance *allowance, struct dsql_mono now);

/* dsql_retry_next(); allowance may be NULL. */
struct dsql_retry_decision
dsql_retry_decide(struct dsql_retry *retry, const struct dsql_retry_policy *policy, enum dsql_rc rc,
                  int64_t elapsed_ns, int64_t deadline_ns, struct dsql_rng *rng,
                  struct dsql_retry_allowance *allowance, struct dsql_mono now);

#endif
