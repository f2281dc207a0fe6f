/* One operation in the metrics, whose transactions are begun and run again by the caller. */
#include "tx/operation.h"

#include <stdlib.h>

enum dsql_rc dsql_operation_begin_on(const struct dsql_source *source, const char *name,
                                     const struct dsql_tx_policy *policy,
                                     struct dsql_operation **operation, struct dsql_err *err)
{
    struct dsql_tx_policy defaults;
    if (!policy) {
        dsql_tx_policy_default(&defaults);
        policy = &defaults;
    }
    struct dsql_operation *made = malloc(sizeof(*made));
    if (!made)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for an operation");
    made->policy = policy->retry;
    made->timeout_ns = policy->timeout_ns;
    atomic_init(&made->retries, 0);
    atomic_init(&made->unknown, 0);
    dsql_retry_init(&made->retry, &made->policy);
    dsql_observe_begin(&made->observer, source->metrics, name, made->policy.conflict_alert,
                       source->clock);
    *operation = made;
    return DSQL_OK;
}

struct dsql_retry_decision dsql_operation_next(struct dsql_operation *operation, enum dsql_rc rc)
{
    int64_t elapsed_ns =
        dsql_mono_since(dsql_clock_mono(operation->observer.clock), operation->observer.began);
    struct dsql_retry_decision decision =
        dsql_retry_next(&operation->retry, &operation->policy, rc, elapsed_ns,
                        operation->timeout_ns > 0 ? operation->timeout_ns : -1);
    if (decision.again) {
        dsql_observe_retry(&operation->observer, rc, operation->retry.retries, decision.wait_ns);
        (void)atomic_fetch_add(&operation->retries, 1);
    } else {
        dsql_observe_give_up(&operation->observer, decision.why);
    }
    return decision;
}

void dsql_operation_settled(struct dsql_operation *operation, bool applied)
{
    if (!operation)
        return;
    for (int n = atomic_exchange(&operation->unknown, 0); n > 0; n--) {
        dsql_observe_unknown(&operation->observer,
                             applied ? DSQL_SETTLED_APPLIED : DSQL_SETTLED_NOT_APPLIED);
        applied = false;
    }
}

void dsql_operation_end(struct dsql_operation *operation)
{
    if (!operation)
        return;
    for (int n = atomic_load(&operation->unknown); n > 0; n--)
        dsql_observe_unknown(&operation->observer, DSQL_SETTLED_NOT);
    dsql_observe_end(&operation->observer, atomic_load(&operation->retries) + 1);
    free(operation);
}
