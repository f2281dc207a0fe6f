/* Quantiles stay within the documented error of the true ones, whatever is recorded. */
#include "base/hist.h"
#include "support/prop.h"
#include "support/test.h"

enum { VALUES_MAX = 400 };

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static bool quantiles_are_close(struct prop *p)
{
    static struct dsql_hist hist;
    uint64_t values[VALUES_MAX];
    size_t n = 1 + (size_t)prop_below(p, VALUES_MAX);
    memset(&hist, 0, sizeof(hist));
    for (size_t i = 0; i < n; i++) {
        values[i] = prop_any_u64(p) & DSQL_HIST_MAX;
        dsql_hist_record(&hist, values[i]);
    }
    qsort(values, n, sizeof(values[0]), by_value);
    static const unsigned parts[] = {0, 5000, 9000, 9900, 9990, 9999, 10000};
    for (size_t i = 0; i < DSQL_COUNT_OF(parts); i++) {
        size_t rank = (n * parts[i] + 9999) / 10000; /* exact, in ten-thousandths */
        uint64_t exact = values[rank ? rank - 1 : 0];
        uint64_t got = dsql_hist_quantile(&hist, parts[i] / 10000.0);
        uint64_t off = got > exact ? got - exact : exact - got;
        if (!prop_that(p, (double)off <= (double)exact * DSQL_HIST_ERROR,
                       "%zu values, q=%u/10000: %llu instead of %llu", n, parts[i],
                       (unsigned long long)got, (unsigned long long)exact))
            return false;
    }
    return prop_that(p, dsql_hist_count(&hist) == n && dsql_hist_max(&hist) == values[n - 1],
                     "count or maximum of %zu values", n);
}

static bool counts_upto_are_lower_bounds(struct prop *p)
{
    static struct dsql_hist hist;
    size_t n = (size_t)prop_below(p, 100), below = 0, surely = 0;
    uint64_t bound = prop_any_u64(p) & DSQL_HIST_MAX;
    memset(&hist, 0, sizeof(hist));
    for (size_t i = 0; i < n; i++) {
        uint64_t value = prop_any_u64(p) & DSQL_HIST_MAX;
        dsql_hist_record(&hist, value);
        below += value <= bound;
        surely += value < bound - bound / 32;
    }
    uint64_t got = dsql_hist_count_upto(&hist, bound);
    return prop_that(p, got <= below && got >= surely, "up to %llu: %llu, not %zu to %zu",
                     (unsigned long long)bound, (unsigned long long)got, surely, below);
}

TEST(quantile_error)
{
    prop_run("quantiles are close", quantiles_are_close, 300);
}
TEST(count_upto)
{
    prop_run("counts up to a bound", counts_upto_are_lower_bounds, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantile_error),
        cmocka_unit_test(count_upto),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
