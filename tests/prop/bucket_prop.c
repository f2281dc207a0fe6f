/* The bucket against its own definition: no stretch of time sees more than burst + rate * t. */
#include "core/bucket.h"
#include "support/prop.h"
#include "support/test.h"

enum { STEPS = 200 };

/* (B2) for every pair of takes, and that what was refused would have broken it by coming now. */
static bool never_above(struct prop *p)
{
    struct {
        int64_t at_ns, total_before, n;
    } takes[STEPS];
    int64_t rate = 1 + (int64_t)prop_below(p, 200), burst = 1 + (int64_t)prop_below(p, 1000);
    struct dsql_mono now = {(int64_t)prop_below(p, (uint64_t)DSQL_H)};
    struct dsql_bucket bucket;
    dsql_bucket_init(&bucket, rate, burst, now);
    size_t count = 0, steps = (size_t)prop_below(p, STEPS);
    int64_t total = 0, latest_ns = now.ns;
    for (size_t i = 0; i < steps; i++) {
        int64_t step_ns = (int64_t)(prop_any_u64(p) % (uint64_t)(2 * DSQL_S));
        now = dsql_mono_add(now, prop_below(p, 20) == 0 ? -step_ns : step_ns);
        latest_ns = now.ns > latest_ns ? now.ns : latest_ns; /* (B3): the time that counts */
        int64_t n = 1 + (int64_t)prop_below(p, 50);
        int64_t wait_ns = dsql_bucket_wait_ns(&bucket, n, now);
        bool taken = dsql_bucket_take(&bucket, n, now);
        if (!prop_that(p, taken == (wait_ns == 0), "step %zu: wait %lld but taken=%d", i,
                       (long long)wait_ns, taken))
            return false;
        if (!taken)
            continue;
        takes[count].at_ns = latest_ns;
        takes[count].total_before = total;
        takes[count++].n = n;
        total += n;
    }
    for (size_t a = 0; a < count; a++) {
        for (size_t b = a; b < count; b++) {
            int64_t t_ns = takes[b].at_ns - takes[a].at_ns;
            int64_t got = takes[b].total_before + takes[b].n - takes[a].total_before;
            double most = (double)burst + (double)rate * (double)t_ns / 1e9;
            if (!prop_that(p, (double)got <= most + 1e-6, "rate %lld burst %lld: %lld in %lld ns",
                           (long long)rate, (long long)burst, (long long)got, (long long)t_ns))
                return false;
        }
    }
    return true;
}

/* Waiting exactly as long as told is enough, and a nanosecond less is not. */
static bool wait_is_exact(struct prop *p)
{
    struct dsql_mono now = {0};
    struct dsql_bucket bucket, copy;
    int64_t rate = 1 + (int64_t)prop_below(p, 100000), burst = 1 + (int64_t)prop_below(p, 1000);
    dsql_bucket_init(&bucket, rate, burst, now);
    (void)dsql_bucket_take(&bucket, 1 + (int64_t)prop_below(p, (uint64_t)burst), now);
    now = dsql_mono_add(now, (int64_t)prop_below(p, (uint64_t)DSQL_S));
    int64_t n = 1 + (int64_t)prop_below(p, (uint64_t)burst);
    int64_t wait_ns = dsql_bucket_wait_ns(&bucket, n, now);
    copy = bucket;
    if (wait_ns > 0 && !prop_that(p, !dsql_bucket_take(&copy, n, dsql_mono_add(now, wait_ns - 1)),
                                  "rate %lld: %lld tokens came before %lld ns", (long long)rate,
                                  (long long)n, (long long)wait_ns))
        return false;
    return prop_that(p, dsql_bucket_take(&bucket, n, dsql_mono_add(now, wait_ns)),
                     "rate %lld: %lld tokens not there after %lld ns", (long long)rate,
                     (long long)n, (long long)wait_ns);
}

TEST(bound)
{
    prop_run("never above burst + rate * t", never_above, 500);
}
TEST(wait)
{
    prop_run("the wait is exact", wait_is_exact, 5000);
}

TEST(edges)
{
    struct dsql_bucket bucket;
    dsql_bucket_init(&bucket, 100, 1000, (struct dsql_mono){0});
    assert_true(dsql_bucket_take(&bucket, 1000, (struct dsql_mono){0}));
    assert_false(dsql_bucket_take(&bucket, 1, (struct dsql_mono){0}));
    assert_int_equal(dsql_bucket_wait_ns(&bucket, 1, (struct dsql_mono){0}), 10 * DSQL_MS);
    assert_true(dsql_bucket_wait_ns(&bucket, 1001, (struct dsql_mono){0}) == INT64_MAX);
    assert_int_equal(dsql_bucket_level(&bucket, (struct dsql_mono){DSQL_S}), 100);
    assert_int_equal(dsql_bucket_level(&bucket, (struct dsql_mono){0}), 100); /* back: no change */
    assert_int_equal(dsql_bucket_level(&bucket, (struct dsql_mono){INT64_MAX}), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound),
        cmocka_unit_test(wait),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
