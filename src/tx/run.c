/* Running a transaction again as long as the policy says so. */
#include "tx/tx_internal.h"
#include "tx/wait.h"

/* What is known of an operation between its tries. */
struct run {
    struct dsql_tx tx;
    const struct dsql_source *source;
    const struct dsql_tx_policy *policy;
    struct dsql_retry retry;
    struct dsql_err err; /* of the last try */
};

static struct dsql_mono now(const struct run *run)
{
    return dsql_clock_mono(run->tx.limits.clock);
}

/* Runs the body, and COMMIT behind it. */
static enum dsql_rc run_body(struct run *run, const struct dsql_work *work)
{
    struct dsql_tx *tx = &run->tx;
    enum dsql_rc rc = work->body(tx, work->arg, &run->err);
    if (!rc) {
        rc = dsql_wire_commit(&tx->wire);
        if (rc)
            run->err = tx->wire.failed;
        return rc;
    }
    /* The body may have made its own of an error; a conflict is a conflict all the same, and a
     * statement by itself whose answer is missing may have been applied. */
    enum dsql_rc failed = tx->wire.failed.rc;
    if (dsql_rc_class(failed) == DSQL_CLASS_RETRY || failed == DSQL_COMMIT_UNKNOWN) {
        run->err = tx->wire.failed;
        return failed;
    }
    if (run->err.rc != rc) /* the body returned a code without a message */
        dsql_err_set(&run->err, rc, "%s", dsql_rc_text(rc));
    return tx->wire.applied ? dsql_wire_fail_applied(&run->err) : rc;
}

/* One try, up to its outcome. Its transaction is not yet ended. */
static enum dsql_rc try_once(struct run *run, const struct dsql_work *work)
{
    enum dsql_rc rc = dsql_tx_start(&run->tx, &run->err);
    if (rc)
        return rc;
    rc = run_body(run, work);
    return work->ended ? work->ended(&run->tx, work->arg, rc, &run->err) : rc;
}

struct settle_call {
    const struct dsql_tx_policy *policy;
    bool applied;
};

static enum dsql_rc settle_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct settle_call *call = arg;
    call->applied = false;
    return call->policy->settle(tx, call->policy->settle_arg, &call->applied, err);
}

/* The settling transaction changes nothing, so it may be repeated whatever becomes of it. */
static enum dsql_rc run_settle(struct run *run, struct settle_call *call)
{
    struct dsql_tx_policy its = *run->policy;
    its.settle = NULL;
    its.operation = NULL;
    its.single = its.read_only = false;
    its.retry.reconnects = its.retry.max_retries;
    enum dsql_rc rc = DSQL_COMMIT_UNKNOWN;
    for (int i = 0; i <= its.retry.max_retries && rc == DSQL_COMMIT_UNKNOWN; i++) {
        if (its.timeout_ns > 0) {
            its.timeout_ns = dsql_mono_since(run->tx.limits.deadline, now(run));
            if (its.timeout_ns <= 0)
                break;
        }
        rc = dsql_tx_run_on(run->source, "settle", settle_body, call, &its, NULL);
    }
    return rc;
}

/* DSQL_OK: it was applied. DSQL_LOST: it was not. DSQL_COMMIT_UNKNOWN: it may have been. */
static enum dsql_rc settle(struct run *run)
{
    enum dsql_rc rc = DSQL_COMMIT_UNKNOWN;
    enum dsql_settled settled = DSQL_SETTLED_NOT;
    struct settle_call call = {.policy = run->policy};
    if (run->policy->settle && run_settle(run, &call) == DSQL_OK) {
        rc = call.applied ? DSQL_OK : DSQL_LOST;
        settled = call.applied ? DSQL_SETTLED_APPLIED : DSQL_SETTLED_NOT_APPLIED;
    }
    dsql_observe_unknown(&run->tx.observer, settled);
    if (rc == DSQL_LOST) {
        run->err.rc = DSQL_LOST;
        dsql_err_hint(&run->err, "it was not applied");
    }
    return rc;
}

/* Whether to try once more; waits before it says yes. */
static bool again(struct run *run, enum dsql_rc rc, bool settled)
{
    struct dsql_tx *tx = &run->tx;
    const struct dsql_tx_policy *policy = run->policy;
    int64_t deadline_ns = policy->timeout_ns > 0 ? policy->timeout_ns : -1;
    /* What was settled as not applied may be repeated like any conflict. */
    struct dsql_retry_decision decision =
        dsql_retry_next(&run->retry, &policy->retry, settled ? DSQL_CONFLICT : rc,
                        dsql_mono_since(now(run), tx->observer.began), deadline_ns);
    dsql_tx_stop(tx, decision.again && decision.same_connection);
    if (!decision.again) {
        dsql_observe_give_up(&tx->observer, decision.why);
        if (decision.why != DSQL_RETRY_NOT_RETRYABLE)
            dsql_err_hint(&run->err, "given up after %d tries: %s", tx->try_number,
                          dsql_retry_end_name(decision.why));
        return false;
    }
    dsql_observe_retry(&tx->observer, rc, run->retry.retries, decision.wait_ns);
    enum dsql_rc waited = dsql_wait_sleep(decision.wait_ns, &tx->limits);
    if (waited == DSQL_OK)
        return true;
    dsql_err_set(&run->err, waited, "%s while waiting for try %d: %s",
                 waited == DSQL_CANCELLED ? "cancelled by the caller" : "the deadline passed",
                 tx->try_number + 1, run->err.message);
    return false;
}

enum dsql_rc dsql_tx_run_on(const struct dsql_source *source, const char *operation,
                            dsql_tx_fn *body, void *arg, const struct dsql_tx_policy *policy,
                            struct dsql_err *err)
{
    struct dsql_work work = {.body = body, .arg = arg};
    return dsql_tx_run_work(source, operation, &work, policy, err);
}

enum dsql_rc dsql_tx_run_work(const struct dsql_source *source, const char *operation,
                              const struct dsql_work *work, const struct dsql_tx_policy *policy,
                              struct dsql_err *err)
{
    struct dsql_tx_policy defaults;
    if (!policy) {
        dsql_tx_policy_default(&defaults);
        policy = &defaults;
    }
    struct run run = {.source = source, .policy = policy};
    dsql_tx_init(&run.tx, source, operation, policy);
    if (!policy->operation) /* which has counted for the budget */
        dsql_retry_init(&run.retry, &policy->retry);
    enum dsql_rc rc;
    bool more;
    do {
        run.err = (struct dsql_err){.rc = DSQL_OK};
        rc = try_once(&run, work);
        dsql_tx_note(&run.tx, rc, run.tx.has_wire ? run.tx.wire.failed.rc : rc, &run.err);
        bool settled = false;
        /* The body may answer DSQL_COMMIT_UNKNOWN of another transaction: this one is rolled back.
         */
        if (run.tx.has_wire && run.tx.wire.failed.rc == DSQL_COMMIT_UNKNOWN) {
            dsql_tx_stop(&run.tx, false); /* the settling may need its place in the pool */
            rc = settle(&run);
            settled = rc == DSQL_LOST;
        }
        more = rc != DSQL_OK && again(&run, rc, settled);
        rc = rc != DSQL_OK ? run.err.rc : rc;
    } while (more);
    dsql_tx_stop(&run.tx, false);
    dsql_observe_end(&run.tx.observer, run.tx.try_number);
    if (rc != DSQL_OK && err)
        *err = run.err;
    return rc;
}
