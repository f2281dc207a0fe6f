#include "tx/observe.h"

#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "metrics/metrics.h"
#include "tx/operation.h"

#define SERIES(observer, name, ...)                                                                \
    DSQL_SERIES(name, .operation = (observer)->operation, __VA_ARGS__)

void dsql_observe_begin(struct dsql_observer *observer, struct dsql_metrics *metrics,
                        const char *operation, int64_t conflict_alert,
                        const struct dsql_clock *clock)
{
    *observer = (struct dsql_observer){.metrics = metrics,
                                       .clock = clock,
                                       .began = dsql_clock_mono(clock),
                                       .conflict_alert = conflict_alert};
    struct dsql_strbuf name;
    dsql_strbuf_init(&name, observer->name, sizeof(observer->name));
    dsql_strbuf_add_str(&name, operation ? operation : "");
    if (!metrics)
        return;
    observer->operation = dsql_metrics_operation(metrics, operation ? operation : "");
    dsql_gauge_add(metrics, SERIES(observer, active_transactions, .value = 0), 1);
    /* The flag is read before it is written: a cache line that all threads write would be slow. */
    if (dsql_gauge_value(metrics, DSQL_SERIES(tx_conflicts_alert)) != conflict_alert)
        dsql_gauge_set(metrics, DSQL_SERIES(tx_conflicts_alert), conflict_alert);
}

void dsql_observe_part(struct dsql_observer *observer, struct dsql_operation *within)
{
    *observer = within->observer;
    observer->within = within;
    observer->began = dsql_clock_mono(observer->clock);
}

static enum dsql_label_value error_type(enum dsql_rc rc)
{
    switch (dsql_rc_class(rc)) {
    case DSQL_CLASS_CONDITION:
        return DSQL_ERROR_TYPE_CONDITION_FAILED;
    case DSQL_CLASS_RETRY:
        return DSQL_ERROR_TYPE_RETRYABLE;
    case DSQL_CLASS_UNKNOWN:
        return DSQL_ERROR_TYPE_COMMIT_UNKNOWN;
    case DSQL_CLASS_BUSY:
        return DSQL_ERROR_TYPE_THROTTLED;
    case DSQL_CLASS_DENIED:
        return DSQL_ERROR_TYPE_DENIED;
    case DSQL_CLASS_LOST:
        return DSQL_ERROR_TYPE_CONNECTION_LOST;
    case DSQL_CLASS_PERMANENT:
        return rc == DSQL_UNSUPPORTED ? DSQL_ERROR_TYPE_UNSUPPORTED_FEATURE
                                      : DSQL_ERROR_TYPE_PERMANENT;
    case DSQL_CLASS_CALLER:
        return rc == DSQL_INVALID ? DSQL_ERROR_TYPE_PERMANENT : DSQL_ERROR_TYPE_WITHDRAWN;
    case DSQL_CLASS_OK:
        break;
    }
    return DSQL_ERROR_TYPE_PERMANENT;
}

/* The database answered what it was asked: an insert may be how a caller finds out whether a row is
 * there, and a read whether it is not. */
static bool is_answer(enum dsql_rc rc)
{
    return rc == DSQL_OK || rc == DSQL_NOT_FOUND || rc == DSQL_DUPLICATE;
}

/* Which kind of thing the service refused, for the bug report. */
static enum dsql_label_value feature(const char *message)
{
    if (strcasestr(message, "locking clause"))
        return DSQL_FEATURE_LOCKING_CLAUSE;
    if (strcasestr(message, "SAVEPOINT") || strcasestr(message, "ROLLBACK TO"))
        return DSQL_FEATURE_SAVEPOINT;
    if (strcasestr(message, "configuration parameter"))
        return DSQL_FEATURE_SET_PARAMETER;
    if (strcasestr(message, "unsupported statement"))
        return DSQL_FEATURE_STATEMENT;
    return DSQL_FEATURE_OTHER;
}

/* Counts the conflicts of the running minute, for all operations together. Two threads that open a
 * minute at once lose a few counts between them: it is a threshold, not a bill. */
static void watch_conflicts(const struct dsql_observer *observer)
{
    static _Atomic int64_t minute, count;
    int64_t this_minute = dsql_clock_mono_coarse(observer->clock).ns / DSQL_M + 1;
    if (atomic_exchange(&minute, this_minute) != this_minute)
        atomic_store(&count, 0);
    int64_t seen = atomic_fetch_add(&count, 1) + 1;
    if (observer->conflict_alert > 0 && seen == observer->conflict_alert + 1)
        dsql_log(dsql_log_default(), DSQL_EVENT_TX_CONFLICTS,
                 DSQL_F("operation", (const char *)observer->name),
                 DSQL_F("threshold", observer->conflict_alert));
}

void dsql_observe_try(const struct dsql_observer *observer, enum dsql_rc rc,
                      const struct dsql_err *err)
{
    struct dsql_metrics *m = observer->metrics;
    if (dsql_rc_class(rc) == DSQL_CLASS_RETRY)
        watch_conflicts(observer);
    if (!m || is_answer(rc))
        return;
    dsql_counter_add(m, SERIES(observer, errors, .value = (int)error_type(rc)), 1);
    if (dsql_rc_class(rc) == DSQL_CLASS_RETRY)
        dsql_counter_add(m, SERIES(observer, tx_conflicts, .value = 0), 1);
    if (rc == DSQL_CONDITION_FAILED)
        dsql_counter_add(m, SERIES(observer, condition_failed, .value = 0), 1);
    if (rc == DSQL_UNSUPPORTED)
        dsql_counter_add(
            m, SERIES(observer, unsupported_feature, .value = (int)feature(err->message)), 1);
}

void dsql_observe_round_trips(const struct dsql_observer *observer, unsigned round_trips)
{
    if (observer->metrics && round_trips)
        dsql_counter_add(observer->metrics, SERIES(observer, tx_round_trips, .value = 0),
                         round_trips);
}

void dsql_observe_retry(const struct dsql_observer *observer, enum dsql_rc rc, int retries,
                        int64_t wait_ns)
{
    struct dsql_metrics *m = observer->metrics;
    if (observer->within)
        (void)atomic_fetch_add(&observer->within->retries, 1);
    if (!m)
        return;
    int value = DSQL_SQLSTATE_ATTEMPT_RECONNECT;
    if (dsql_rc_class(rc) == DSQL_CLASS_RETRY)
        value = retries > DSQL_SQLSTATE_ATTEMPT_MORE ? DSQL_SQLSTATE_ATTEMPT_MORE : retries - 1;
    dsql_counter_add(m, SERIES(observer, tx_retries, .value = value), 1);
    dsql_histogram_record(m, SERIES(observer, tx_backoff, .value = 0), (uint64_t)wait_ns);
}

void dsql_observe_give_up(const struct dsql_observer *observer, enum dsql_retry_end why)
{
    if (observer->metrics && (why == DSQL_RETRY_EXHAUSTED || why == DSQL_RETRY_NO_BUDGET))
        dsql_counter_add(observer->metrics, SERIES(observer, tx_exhausted, .value = 0), 1);
}

void dsql_observe_unknown(const struct dsql_observer *observer, enum dsql_settled settled)
{
    static const enum dsql_label_value values[] = {
        [DSQL_SETTLED_APPLIED] = DSQL_SETTLED_AS_APPLIED,
        [DSQL_SETTLED_NOT_APPLIED] = DSQL_SETTLED_AS_NOT_APPLIED,
        [DSQL_SETTLED_NOT] = DSQL_SETTLED_AS_UNSETTLED,
    };
    /* The outcome is unknown here; the caller that runs the operation may still find out. */
    if (observer->within && settled == DSQL_SETTLED_NOT) {
        (void)atomic_fetch_add(&observer->within->unknown, 1);
        return;
    }
    dsql_log(dsql_log_default(), DSQL_EVENT_TX_UNKNOWN,
             DSQL_F("operation", (const char *)observer->name),
             DSQL_F("outcome", dsql_label_value(DSQL_LABEL_SETTLED_AS, (size_t)values[settled])));
    if (observer->metrics)
        dsql_counter_add(observer->metrics,
                         SERIES(observer, commit_unknown, .value = (int)values[settled]), 1);
}

void dsql_observe_end(const struct dsql_observer *observer, int tries)
{
    struct dsql_metrics *m = observer->metrics;
    if (!m || observer->within)
        return;
    dsql_gauge_add(m, SERIES(observer, active_transactions, .value = 0), -1);
    int64_t took_ns = dsql_mono_since(dsql_clock_mono(observer->clock), observer->began);
    dsql_histogram_record(m, SERIES(observer, operation_duration, .value = 0),
                          took_ns > 0 ? (uint64_t)took_ns : 0);
    dsql_histogram_record(m, SERIES(observer, retry_attempts, .value = 0), (uint64_t)tries);
}
