/* Permits beside a plain bucket of the same size, through any mixture of refusals and successes. */
#include "core/permits.h"
#include "support/prop.h"
#include "support/test.h"

enum { STEPS = 300 };

/* (PE1): a bucket at the full rate that gave the same permits would never have been short of one.
 * (PE2), and no permit during a pause. */
static bool never_above_the_bucket(struct prop *p)
{
    int64_t rate = 1 + (int64_t)prop_below(p, 100), burst = 1 + (int64_t)prop_below(p, 200);
    struct dsql_mono now = {(int64_t)prop_below(p, (uint64_t)DSQL_H)};
    struct dsql_permits permits;
    struct dsql_bucket model;
    dsql_permits_init(&permits, rate, burst, now);
    dsql_bucket_init(&model, rate * 1000, burst * 1000, now);
    size_t steps = (size_t)prop_below(p, STEPS);
    for (size_t i = 0; i < steps; i++) {
        now = dsql_mono_add(now, (int64_t)(prop_any_u64(p) % (uint64_t)(3 * DSQL_S)));
        int64_t wait_ns = -1;
        switch (prop_below(p, 4)) {
        case 0:
        case 1:
            if (dsql_permits_take(&permits, now, &wait_ns)) {
                if (!prop_that(p, dsql_bucket_take(&model, 1000, now), "(PE1) at step %zu", i) ||
                    !prop_that(p, !dsql_mono_before(now, permits.paused_until), "in a pause"))
                    return false;
            } else if (!prop_that(p, wait_ns > 0, "refused, but nothing to wait for")) {
                return false;
            }
            break;
        case 2:
            dsql_permits_throttled(&permits, now);
            if (!prop_that(p, dsql_permits_level(&permits, now) == 0, "permits after a refusal"))
                return false;
            break;
        default:
            dsql_permits_opened(&permits, now);
        }
        double in_effect = dsql_permits_rate(&permits, now);
        if (!prop_that(p, in_effect >= 0.1 && in_effect <= (double)rate, "(PE2): %f", in_effect))
            return false;
    }
    return true;
}

/* However it was treated, left alone it is at its full rate and full again. */
static bool recovers(struct prop *p)
{
    struct dsql_mono now = {0};
    struct dsql_permits permits;
    int64_t rate = 1 + (int64_t)prop_below(p, 100), burst = 1 + (int64_t)prop_below(p, 100);
    dsql_permits_init(&permits, rate, burst, now);
    for (uint64_t i = prop_below(p, 20); i > 0; i--) {
        dsql_permits_throttled(&permits, now);
        now = dsql_mono_add(now, (int64_t)prop_below(p, (uint64_t)(40 * DSQL_S)));
    }
    now = dsql_mono_add(now, 45 * DSQL_S + (burst / rate + 1) * DSQL_S);
    (void)dsql_permits_rate(&permits, now);
    now = dsql_mono_add(now, (burst / rate + 1) * DSQL_S);
    return prop_that(p, dsql_permits_rate(&permits, now) == (double)rate, "rate") &&
           prop_that(p, dsql_permits_level(&permits, now) == burst, "level");
}

TEST(bound)
{
    prop_run("never above the bucket", never_above_the_bucket, 1000);
}
TEST(recovery)
{
    prop_run("recovers", recovers, 1000);
}

/* Every connect is refused: how many a minute are still made. */
TEST(storm)
{
    struct dsql_mono now = {0};
    struct dsql_permits permits;
    dsql_permits_init(&permits, 100, 100, now);
    int attempts[3] = {0};
    while (now.ns < 3 * DSQL_M) {
        int64_t wait_ns;
        if (dsql_permits_take(&permits, now, &wait_ns)) {
            attempts[now.ns / DSQL_M]++;
            dsql_permits_throttled(&permits, now);
        } else {
            now = dsql_mono_add(now, wait_ns);
        }
    }
    assert_in_range(attempts[0], 4, 7);
    assert_in_range(attempts[1], 1, 3);
    assert_in_range(attempts[2], 1, 3);
}

/* Refusals that come together are one. */
TEST(together)
{
    struct dsql_mono now = {0};
    struct dsql_permits permits;
    dsql_permits_init(&permits, 100, 100, now);
    for (int i = 0; i < 50; i++)
        dsql_permits_throttled(&permits, dsql_mono_add(now, i * DSQL_MS));
    assert_true(dsql_permits_rate(&permits, dsql_mono_add(now, DSQL_S)) == 50);
    assert_int_equal(permits.throttled, 50);
}

/* Nothing is saved up during a pause. */
TEST(pause)
{
    struct dsql_mono now = {0};
    struct dsql_permits permits;
    int64_t wait_ns;
    dsql_permits_init(&permits, 100, 100, now);
    dsql_permits_throttled(&permits, now);
    assert_false(dsql_permits_take(&permits, now, &wait_ns));
    assert_int_equal(wait_ns, DSQL_S);
    now = dsql_mono_add(now, wait_ns);
    assert_false(dsql_permits_take(&permits, now, &wait_ns));
    assert_int_equal(wait_ns, 20 * DSQL_MS);
    assert_true(dsql_permits_take(&permits, dsql_mono_add(now, wait_ns), &wait_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound),    cmocka_unit_test(recovery), cmocka_unit_test(storm),
        cmocka_unit_test(together), cmocka_unit_test(pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
