/* AWS timestamps: known moments, refused texts, and round trips over all that a dsql_wall can hold.
 */
#include "aws/amz_time.h"
#include "base/rng.h"
#include "support/test.h"

static const struct {
    const char *text;
    int64_t seconds;
} known[] = {
    {"19700101T000000Z", 0},           {"19691231T235959Z", -1},
    {"20240827T000000Z", 1724716800},  {"20241107T173933Z", 1731001173},
    {"20000229T120000Z", 951825600},   {"20240229T235959Z", 1709251199},
    {"20240301T000000Z", 1709251200},  {"21000301T000000Z", 4107542400},
    {"22620411T234716Z", 9223372036},  /* the last whole second */
    {"16770921T001244Z", -9223372036}, /* the first */
};

TEST(known_moments)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(known); i++) {
        struct dsql_wall t = {12345};
        char text[DSQL_AMZ_TIME_SIZE];
        assert_true(dsql_amz_time_parse(dsql_span_of(known[i].text), &t));
        assert_int_equal(t.ns, known[i].seconds * DSQL_S);
        dsql_amz_time_format(text, t);
        assert_string_equal(text, known[i].text);
    }
}

TEST(fractions_are_dropped)
{
    char text[DSQL_AMZ_TIME_SIZE];
    dsql_amz_time_format(text, (struct dsql_wall){DSQL_S - 1});
    assert_string_equal(text, "19700101T000000Z");
    dsql_amz_time_format(text, (struct dsql_wall){-1});
    assert_string_equal(text, "19691231T235959Z");
    dsql_amz_time_format(text, (struct dsql_wall){INT64_MIN});
    assert_string_equal(text, "16770921T001243Z");
    dsql_amz_time_format(text, (struct dsql_wall){INT64_MAX});
    assert_string_equal(text, "22620411T234716Z");
}

TEST(refused)
{
    static const char *const refused[] = {
        "",
        "20240827T000000",
        "20240827T000000ZZ",
        "20240827t000000Z",
        "20240827T000000z",
        "20240827 000000Z",
        "2024-08-27T00:00",
        "2024082 T000000Z",
        "+0240827T000000Z",
        "20240027T000000Z",
        "20241327T000000Z",
        "20240800T000000Z",
        "20240832T000000Z",
        "20230229T000000Z",
        "21000229T000000Z",
        "20240827T240000Z",
        "20240827T006000Z",
        "20161231T235960Z", /* there was a leap second; AWS does not write it so */
        "16770921T001243Z", /* a second too early */
        "22620411T234717Z", /* a second too late */
        "00000101T000000Z",
        "99991231T235959Z",
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(refused); i++) {
        struct dsql_wall t = {12345};
        if (dsql_amz_time_parse(dsql_span_of(refused[i]), &t))
            fail_msg("accepted '%s'", refused[i]);
        assert_int_equal(t.ns, 12345);
    }
}

TEST(round_trip)
{
    struct dsql_rng rng = dsql_rng_seeded(2024);
    int64_t last = INT64_MAX / DSQL_S;
    for (int i = 0; i < 100000; i++) {
        /* Half of them over the whole range, half within a century of now. */
        int64_t seconds = i % 2 ? dsql_rng_between(&rng, -last, last)
                                : dsql_rng_between(&rng, 0, INT64_C(4102444800));
        int64_t fraction_ns =
            seconds > 0 && seconds < last ? dsql_rng_between(&rng, 0, DSQL_S - 1) : 0;
        char text[DSQL_AMZ_TIME_SIZE];
        struct dsql_wall t;
        dsql_amz_time_format(text, (struct dsql_wall){seconds * DSQL_S + fraction_ns});
        assert_int_equal(strlen(text), DSQL_AMZ_TIME_LEN);
        assert_true(dsql_amz_time_parse(dsql_span_of(text), &t));
        assert_int_equal(t.ns, seconds * DSQL_S);
    }
}

/* Two moments are ordered as their texts are: nothing in the calendar is out of step. */
TEST(order_of_every_day)
{
    char before[DSQL_AMZ_TIME_SIZE] = "", text[DSQL_AMZ_TIME_SIZE];
    for (int64_t day = -100000; day <= 100000; day++) {
        struct dsql_wall t = {day * 24 * DSQL_H}, again;
        dsql_amz_time_format(text, t);
        assert_true(strcmp(before, text) < 0);
        assert_true(dsql_amz_time_parse(dsql_span_of(text), &again));
        assert_int_equal(again.ns, t.ns);
        memcpy(before, text, sizeof(before));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_moments),
        cmocka_unit_test(fractions_are_dropped),
        cmocka_unit_test(refused),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(order_of_every_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
