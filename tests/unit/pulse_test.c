#include "pool/pulse.h"

#include "support/test.h"

static struct dsql_pulse pulse;
static struct dsql_mono now;

static int set_up(void **state)
{
    (void)state;
    pulse = (struct dsql_pulse){0};
    now = (struct dsql_mono){100 * DSQL_S};
    dsql_pulse_init(&pulse);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    dsql_pulse_fini(&pulse);
    return 0;
}

static void later(int64_t ns)
{
    now = dsql_mono_add(now, ns);
}

static struct dsql_pulse_state read_now(void)
{
    struct dsql_pulse_state state;
    dsql_pulse_read(&pulse, now, &state);
    return state;
}

TEST(nobody_who_was_not_asked_is_silent)
{
    later(DSQL_H);
    assert_int_equal(read_now().unanswered_ns, 0);
    assert_int_equal(read_now().answer_age_ns, -1);
    dsql_pulse_ask(&pulse, now);
    dsql_pulse_end(&pulse, DSQL_OK, "", now);
    later(DSQL_H);
    assert_int_equal(read_now().unanswered_ns, 0);
    assert_int_equal(read_now().answer_age_ns, DSQL_H);
}

TEST(silence_counts_from_the_first_that_was_not_answered)
{
    dsql_pulse_ask(&pulse, now);
    dsql_pulse_end(&pulse, DSQL_OK, "", now);
    later(DSQL_M);
    dsql_pulse_ask(&pulse, now);
    later(4 * DSQL_S);
    dsql_pulse_ask(&pulse, now);
    later(3 * DSQL_S);
    assert_int_equal(read_now().unanswered_ns, 7 * DSQL_S);
    dsql_pulse_end(&pulse, DSQL_NOT_FOUND, "no row", now);
    assert_int_equal(read_now().unanswered_ns, 0);
    assert_int_equal(read_now().answer_age_ns, 0);
}

/* What the outcome of a try says about the database, for each outcome there is. */
TEST(every_outcome_is_an_answer_a_failure_or_neither)
{
    static const enum dsql_rc answers[] = {DSQL_OK,        DSQL_CONDITION_FAILED, DSQL_CONFLICT,
                                           DSQL_NOT_FOUND, DSQL_SCHEMA_CHANGED,   DSQL_DUPLICATE,
                                           DSQL_TOO_LARGE};
    static const enum dsql_rc neither[] = {DSQL_CLOSED, DSQL_CANCELLED, DSQL_INVALID};
    for (int rc = 0; rc < DSQL_RC_COUNT; rc++) {
        bool is_answer = false, says_nothing = false;
        for (size_t i = 0; i < DSQL_COUNT_OF(answers); i++)
            is_answer |= (int)answers[i] == rc;
        for (size_t i = 0; i < DSQL_COUNT_OF(neither); i++)
            says_nothing |= (int)neither[i] == rc;
        pulse = (struct dsql_pulse){0};
        dsql_pulse_init(&pulse);
        dsql_pulse_ask(&pulse, now);
        later(DSQL_S);
        dsql_pulse_end(&pulse, (enum dsql_rc)rc, "why", now);
        assert_int_equal(read_now().unanswered_ns, is_answer ? 0 : DSQL_S);
        assert_string_equal(read_now().failure, is_answer || says_nothing ? "" : "why");
    }
}

TEST(an_answer_ends_the_failure)
{
    dsql_pulse_ask(&pulse, now);
    dsql_pulse_end(&pulse, DSQL_LOST, "gone", now);
    later(DSQL_S);
    assert_string_equal(read_now().failure, "gone");
    dsql_pulse_ask(&pulse, now);
    dsql_pulse_end(&pulse, DSQL_CONFLICT, "change conflicts", now);
    dsql_pulse_ask(&pulse, now);
    later(DSQL_S);
    assert_string_equal(read_now().failure, "");
    assert_int_equal(read_now().unanswered_ns, DSQL_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_who_was_not_asked_is_silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(silence_counts_from_the_first_that_was_not_answered, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_outcome_is_an_answer_a_failure_or_neither, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_answer_ends_the_failure, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
