#include "tx/observe.h"

#include "base/clock.h"
#include "metrics/metrics.h"
#include "support/test.h"

/* What each outcome of a try counts as. An answer is no error, whatever a caller makes of it. */
TEST(every_outcome_has_its_error_type_or_is_an_answer)
{
    enum { NONE = -1 };
    static const int types[] = {
        [DSQL_OK] = NONE,
        [DSQL_NOT_FOUND] = NONE,
        [DSQL_DUPLICATE] = NONE,
        [DSQL_CONDITION_FAILED] = DSQL_ERROR_TYPE_CONDITION_FAILED,
        [DSQL_CONFLICT] = DSQL_ERROR_TYPE_RETRYABLE,
        [DSQL_SCHEMA_CHANGED] = DSQL_ERROR_TYPE_RETRYABLE,
        [DSQL_COMMIT_UNKNOWN] = DSQL_ERROR_TYPE_COMMIT_UNKNOWN,
        [DSQL_EMPTY] = DSQL_ERROR_TYPE_THROTTLED,
        [DSQL_THROTTLED] = DSQL_ERROR_TYPE_THROTTLED,
        [DSQL_LIMIT] = DSQL_ERROR_TYPE_THROTTLED,
        [DSQL_TIMEOUT] = DSQL_ERROR_TYPE_THROTTLED,
        [DSQL_UNAVAILABLE] = DSQL_ERROR_TYPE_THROTTLED,
        [DSQL_DENIED] = DSQL_ERROR_TYPE_DENIED,
        [DSQL_LOST] = DSQL_ERROR_TYPE_CONNECTION_LOST,
        [DSQL_CLOSED] = DSQL_ERROR_TYPE_WITHDRAWN,
        [DSQL_CANCELLED] = DSQL_ERROR_TYPE_WITHDRAWN,
        [DSQL_INVALID] = DSQL_ERROR_TYPE_PERMANENT,
        [DSQL_UNSUPPORTED] = DSQL_ERROR_TYPE_UNSUPPORTED_FEATURE,
        [DSQL_NO_MEMORY] = DSQL_ERROR_TYPE_PERMANENT,
        [DSQL_IO] = DSQL_ERROR_TYPE_PERMANENT,
        [DSQL_PROTOCOL] = DSQL_ERROR_TYPE_PERMANENT,
        [DSQL_DATABASE] = DSQL_ERROR_TYPE_PERMANENT,
        [DSQL_TOO_LARGE] = DSQL_ERROR_TYPE_PERMANENT,
        [DSQL_APPLIED] = DSQL_ERROR_TYPE_PERMANENT,
    };
    static_assert(DSQL_COUNT_OF(types) == DSQL_RC_COUNT, "each outcome is in the table");
    struct dsql_metrics *metrics;
    assert_int_equal(dsql_metrics_new("t", &metrics), DSQL_OK);
    for (int rc = 0; rc < DSQL_RC_COUNT; rc++) {
        struct dsql_observer observer;
        struct dsql_err err = {.rc = (enum dsql_rc)rc};
        dsql_observe_begin(&observer, metrics, dsql_rc_name(err.rc), 0, &dsql_clock_system);
        dsql_observe_try(&observer, err.rc, &err);
        for (size_t type = 0; type < dsql_label_value_count(DSQL_LABEL_ERROR_TYPE); type++) {
            struct dsql_series errors =
                DSQL_SERIES(errors, .operation = observer.operation, .value = (int)type);
            assert_int_equal(dsql_counter_value(metrics, errors), (int)type == types[rc]);
        }
        dsql_observe_end(&observer, 1);
    }
    dsql_metrics_destroy(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_outcome_has_its_error_type_or_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
