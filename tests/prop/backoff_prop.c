/* The back-off stays within its bounds, doubles, and does not overflow. */
#include "core/backoff.h"
#include "support/prop.h"
#include "support/test.h"

static bool bounds(struct prop *p)
{
    struct dsql_rng rng = dsql_rng_seeded(prop_any_u64(p));
    struct dsql_backoff b = {.base_ns = 1 + (int64_t)(prop_any_u64(p) >> 2)};
    b.cap_ns = dsql_ns_add(b.base_ns, (int64_t)(prop_any_u64(p) >> 1));
    b.jitter = (double)prop_below(p, 101) / 100;
    unsigned failures = 1 + (unsigned)prop_below(p, 100);
    long double w = (long double)b.base_ns;
    for (unsigned i = 1; i < failures && w < (long double)b.cap_ns; i++)
        w *= 2;
    w = w < (long double)b.cap_ns ? w : (long double)b.cap_ns;
    long double got = (long double)dsql_backoff_ns(&b, failures, &rng);
    return prop_that(p, got <= w && got >= w * (1 - (long double)b.jitter) * 0.999999L - 1,
                     "base %lld cap %lld jitter %f failures %u: %Lf, not %Lf", (long long)b.base_ns,
                     (long long)b.cap_ns, b.jitter, failures, got, w);
}

TEST(within_bounds)
{
    prop_run("the wait is between (1 - jitter) * w and w", bounds, 5000);
}

TEST(exact_without_jitter)
{
    struct dsql_rng rng = dsql_rng_seeded(1);
    const struct dsql_backoff b = {100, 1000, 0};
    static const int64_t wanted[] = {100, 200, 400, 800, 1000, 1000};
    for (unsigned i = 0; i < DSQL_COUNT_OF(wanted); i++)
        assert_int_equal(dsql_backoff_ns(&b, i + 1, &rng), wanted[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_bounds),
        cmocka_unit_test(exact_without_jitter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
