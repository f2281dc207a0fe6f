#include "base/hist.h"

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

TEST(merging_adds)
{
    struct dsql_hist *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
    assert_non_null(a);
    assert_non_null(b);
    dsql_hist_record(a, 5);
    dsql_hist_record(b, 7);
    dsql_hist_record(b, 1000000);
    dsql_hist_merge(a, b);
    assert_true(dsql_hist_count(a) == 3);
    assert_true(dsql_hist_sum(a) == 1000012);
    assert_true(dsql_hist_max(a) == 1000000);
    assert_true(dsql_hist_count(b) == 2);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_follow_each_other_without_gaps),
        cmocka_unit_test(quantiles_of_small_values_are_exact),
        cmocka_unit_test(what_is_too_large_is_kept_as_maximum),
        cmocka_unit_test(merging_adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
