#include "core/retry.h"

#include "support/prop.h"
#include "support/test.h"

/* The invariants R1 to R5 of core/retry.h, over any policy and any course of events. */
static bool policy_holds(struct prop *p)
{
    struct dsql_retry_policy policy = {
        .max_retries = (int)prop_below(p, 12),
        .base_delay_ns = (int64_t)(1 + prop_any_u64(p) % (DSQL_M)),
        .max_delay_ns = (int64_t)(prop_any_u64(p) % (5 * DSQL_M)),
        .jitter = (double)prop_below(p, 101) / 100,
        .reconnects = (int)prop_below(p, 4),
    };
    int64_t deadline_ns = prop_below(p, 2) ? (int64_t)(prop_any_u64(p) % DSQL_H) : -1;
    struct dsql_rng rng = dsql_rng_seeded(prop_any_u64(p));
    struct dsql_retry_allowance allowance;
    int64_t burst = (int64_t)(1 + prop_below(p, 5));
    struct dsql_mono now = {0};
    dsql_retry_allowance_init(&allowance, 0, 1, burst, now);
    struct dsql_retry retry = {0};
    int granted = 0, reconnects = 0;
    bool at_once = false;
    int64_t elapsed_ns = 0;
    for (int step = 0; step < 20; step++) {
        enum dsql_rc rc = (enum dsql_rc)prop_below(p, DSQL_RC_COUNT);
        if (prop_below(p, 2))
            rc = DSQL_CONFLICT;
        struct dsql_retry before = retry;
        struct dsql_retry_decision d =
            dsql_retry_decide(&retry, &policy, rc, elapsed_ns, deadline_ns, &rng, &allowance, now);
        bool lost = rc == DSQL_LOST || rc == DSQL_UNAVAILABLE;
        if (!d.again) {
            if (!prop_that(p, d.why != DSQL_RETRY_NOT_OVER, "gave up without a reason") ||
                !prop_that(p,
                           retry.retries == before.retries &&
                               retry.reconnects == before.reconnects &&
                               retry.refreshed == before.refreshed,
                           "a refusal counted"))
                return false;
            continue;
        }
        granted++;
        reconnects += lost;
        if (!prop_that(p, lost || dsql_rc_class(rc) == DSQL_CLASS_RETRY, "R1: %s repeated",
                       dsql_rc_name(rc)) ||
            !prop_that(p, granted <= policy.max_retries, "R2: %d retries of %d", granted,
                       policy.max_retries) ||
            !prop_that(p, reconnects <= policy.reconnects, "too many reconnects"))
            return false;
        if (d.same_connection) {
            if (!prop_that(p, rc == DSQL_SCHEMA_CHANGED && !at_once && d.wait_ns == 0,
                           "R3: a second retry at once"))
                return false;
            at_once = true;
        } else {
            double wait = (double)policy.base_delay_ns;
            for (int i = 1; i < granted; i++)
                wait *= 2;
            double cap =
                (double)(policy.max_delay_ns > policy.base_delay_ns ? policy.max_delay_ns
                                                                    : policy.base_delay_ns);
            wait = wait < cap ? wait : cap;
            if (!prop_that(p,
                           (double)d.wait_ns <= wait &&
                               (double)d.wait_ns >= wait * (1 - policy.jitter) - 1,
                           "R3: wait %lld of %f", (long long)d.wait_ns, wait))
                return false;
        }
        elapsed_ns += d.wait_ns;
        if (!prop_that(p, deadline_ns < 0 || elapsed_ns < deadline_ns, "R4: past the deadline"))
            return false;
        elapsed_ns += (int64_t)prop_below(p, (uint64_t)DSQL_S);
    }
    /* Time stood still: what was saved, and one by time. */
    return prop_that(p, granted <= burst + 1, "R5: %d granted of %lld", granted,
                     (long long)burst + 1);
}

/* A hot row does not multiply the load: over any course of operations the retries stay below what
 * was saved, what operations earned and what time brought. */
static bool budget_holds(struct prop *p)
{
    int64_t rate = (int64_t)(1 + prop_below(p, 50)), burst = (int64_t)(1 + prop_below(p, 50));
    double ratio = (double)prop_below(p, 301) / 100;
    struct dsql_mono now = {0};
    struct dsql_retry_allowance a;
    dsql_retry_allowance_init(&a, ratio, rate, burst, now);
    int64_t operations = 0, retries = 0;
    for (int step = 0; step < 200; step++) {
        switch (prop_below(p, 4)) {
        case 0:
            now.ns += (int64_t)prop_below(p, (uint64_t)DSQL_S);
            break;
        case 1:
            dsql_retry_allowance_earn(&a);
            operations++;
            break;
        default:
            retries += dsql_retry_allowance_spend(&a, now);
            break;
        }
        double most = (double)(burst + rate) + ratio * (double)operations +
                      (double)rate * (double)now.ns / (double)DSQL_S;
        if (!prop_that(p, (double)retries <= most + 1e-6, "%lld retries, at most %f",
                       (long long)retries, most))
            return false;
    }
    return true;
}

TEST(serialization_conflict_retry)
{
    prop_run("the retry policy keeps its invariants", policy_holds, 2000);
}

TEST(retry_budget)
{
    prop_run("a retry budget bounds the retries of all operations", budget_holds, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serialization_conflict_retry),
        cmocka_unit_test(retry_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
