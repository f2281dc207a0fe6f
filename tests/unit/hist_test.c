#include "base/hist.h"

#include <math.h>

#include "support/child.h"
#include "support/test.h"

TEST(parts_follow_each_other_without_gaps)
{
    assert_true(dsql_hist_bucket_low(0) == 0);
    for (size_t i = 0; i + 1 < DSQL_HIST_BUCKETS; i++) {
        assert_true(dsql_hist_bucket_high(i) + 1 == dsql_hist_bucket_low(i + 1));
        assert_true(dsql_hist_bucket(dsql_hist_bucket_low(i)) == i);
        assert_true(dsql_hist_bucket(dsql_hist_bucket_high(i)) == i);
    }
    assert_true(dsql_hist_bucket(DSQL_HIST_MAX) == DSQL_HIST_BUCKETS - 1);
    assert_true(dsql_hist_bucket(UINT64_MAX) == DSQL_HIST_BUCKETS - 1);
}

TEST(quantiles_of_small_values_are_exact)
{
    struct dsql_hist *hist = calloc(1, sizeof(*hist));
    assert_non_null(hist);
    assert_true(dsql_hist_quantile(hist, 0.5) == 0);
    for (uint64_t i = 1; i <= 60; i++)
        dsql_hist_record(hist, i);
    assert_true(dsql_hist_count(hist) == 60);
    assert_true(dsql_hist_sum(hist) == 60 * 61 / 2);
    assert_true(dsql_hist_max(hist) == 60);
    assert_true(dsql_hist_quantile(hist, 0) == 1);
    assert_true(dsql_hist_quantile(hist, 0.5) == 30);
    assert_true(dsql_hist_quantile(hist, 0.95) == 57);
    assert_true(dsql_hist_quantile(hist, 0.9999) == 60);
    assert_true(dsql_hist_quantile(hist, 1) == 60);
    assert_true(dsql_hist_count_upto(hist, 10) == 10);
    assert_true(dsql_hist_count_upto(hist, UINT64_MAX) == 60);
    free(hist);
}

TEST(what_is_too_large_is_kept_as_maximum)
{
    struct dsql_hist *hist = calloc(1, sizeof(*hist));
    assert_non_null(hist);
    dsql_hist_record(hist, UINT64_C(1) << 50);
    assert_true(dsql_hist_max(hist) == UINT64_C(1) << 50);
    assert_true(dsql_hist_quantile(hist, 0.5) >= DSQL_HIST_MAX - DSQL_HIST_MAX / 32);
    assert_true(dsql_hist_quantile(hist, 1) == UINT64_C(1) << 50);
    free(hist);
}

/* Half of the middle of a part lies above what was recorded: the maximum is known to be lower. */
TEST(a_quantile_is_not_above_the_maximum)
{
    struct dsql_hist *hist = calloc(1, sizeof(*hist));
    assert_non_null(hist);
    dsql_hist_record(hist, 992); /* its part goes on to 1007 */
    assert_true(dsql_hist_quantile(hist, 0.5) == 992);
    dsql_hist_record(hist, 1007);
    assert_true(dsql_hist_quantile(hist, 0.5) == 999);
    assert_true(dsql_hist_quantile(hist, 1) == 1007);
    free(hist);
}

/* 0.07 * 100 is 7.000000000000001 in a double; the rank is 7 all the same. */
TEST(ranks_are_not_moved_by_rounding)
{
    struct dsql_hist *hist = calloc(1, sizeof(*hist));
    assert_non_null(hist);
    for (uint64_t i = 1; i <= 100; i++)
        dsql_hist_record(hist, i <= 7 ? i : 50);
    assert_true(dsql_hist_quantile(hist, 0.07) == 7);
    assert_true(dsql_hist_quantile(hist, 0.071) == 50);
    free(hist);
}

/* What a reader may see of a recording that is under way: the count without the maximum. */
TEST(a_quantile_is_not_below_its_part)
{
    struct dsql_hist *hist = calloc(1, sizeof(*hist));
    assert_non_null(hist);
    size_t part = dsql_hist_bucket(1000000);
    dsql_hist_record(hist, 10);
    hist->counts[part] = 99;
    assert_true(dsql_hist_max(hist) == 10);
    assert_true(dsql_hist_quantile(hist, 0.005) == 10);
    assert_true(dsql_hist_quantile(hist, 0.5) == dsql_hist_bucket_low(part));
    assert_true(dsql_hist_quantile(hist, 1) == dsql_hist_bucket_low(part));
    free(hist);
}

static void ask(void *arg)
{
    static struct dsql_hist hist;
    const double *q = arg;
    (void)dsql_hist_quantile(&hist, *q);
}

/* Whether asking for this quantile ends the program. */
static bool aborts(double q)
{
    return child_aborts(ask, &q);
}

TEST(what_is_no_quantile_is_a_programmers_error)
{
    assert_false(aborts(0));
    assert_false(aborts(1));
    assert_true(aborts(-0.01));
    assert_true(aborts(1.01));
    assert_true(aborts(NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_follow_each_other_without_gaps),
        cmocka_unit_test(quantiles_of_small_values_are_exact),
        cmocka_unit_test(what_is_too_large_is_kept_as_maximum),
        cmocka_unit_test(a_quantile_is_not_above_the_maximum),
        cmocka_unit_test(ranks_are_not_moved_by_rounding),
        cmocka_unit_test(a_quantile_is_not_below_its_part),
        cmocka_unit_test(what_is_no_quantile_is_a_programmers_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
