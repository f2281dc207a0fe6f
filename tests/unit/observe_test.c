#include "tx/observe.h"

#include "base/clock.h"
#include "metrics/metrics.h"
#include "support/test.h"
#include "tx/operation.h"

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

/* What was not answered within an operation is counted when its caller says what became of it, or
 * when it ends. */
TEST(commits_without_an_answer_count_as_what_became_of_them)
{
    static const struct {
        int unknown;
        enum { NOBODY_SAYS, NOT_APPLIED, APPLIED } said;
        int more; /* after that */
        uint64_t applied, not_applied, unsettled;
    } cases[] = {
        {0, NOBODY_SAYS, 0, 0, 0, 0}, {0, APPLIED, 0, 0, 0, 0},     {1, NOBODY_SAYS, 0, 0, 0, 1},
        {1, NOT_APPLIED, 0, 0, 1, 0}, {1, APPLIED, 0, 1, 0, 0},     {3, APPLIED, 0, 1, 2, 0},
        {3, NOT_APPLIED, 0, 0, 3, 0}, {2, NOBODY_SAYS, 0, 0, 0, 2}, {2, APPLIED, 1, 1, 1, 1},
    };
    struct dsql_metrics *metrics;
    assert_int_equal(dsql_metrics_new("t", &metrics), DSQL_OK);
    struct dsql_source source = {.metrics = metrics, .clock = &dsql_clock_system};
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_operation *operation;
        struct dsql_observer part;
        const char name[] = {'o', (char)('a' + i), 0};
        assert_int_equal(dsql_operation_begin_on(&source, name, NULL, &operation, NULL), DSQL_OK);
        dsql_observe_part(&part, operation);
        for (int n = 0; n < cases[i].unknown; n++)
            dsql_observe_unknown(&part, DSQL_SETTLED_NOT);
        if (cases[i].said != NOBODY_SAYS)
            dsql_operation_settled(operation, cases[i].said == APPLIED);
        for (int n = 0; n < cases[i].more; n++)
            dsql_observe_unknown(&part, DSQL_SETTLED_NOT);
        dsql_operation_end(operation);
        const uint64_t wanted[] = {[DSQL_SETTLED_AS_APPLIED] = cases[i].applied,
                                   [DSQL_SETTLED_AS_NOT_APPLIED] = cases[i].not_applied,
                                   [DSQL_SETTLED_AS_UNSETTLED] = cases[i].unsettled};
        for (int value = 0; value < (int)DSQL_COUNT_OF(wanted); value++) {
            struct dsql_series counted =
                DSQL_SERIES(commit_unknown, .operation = part.operation, .value = value);
            assert_int_equal(dsql_counter_value(metrics, counted), wanted[value]);
        }
    }
    dsql_operation_settled(NULL, true);
    dsql_metrics_destroy(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_outcome_has_its_error_type_or_is_an_answer),
        cmocka_unit_test(commits_without_an_answer_count_as_what_became_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
