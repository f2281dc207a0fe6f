/* How often the opener tries when nothing succeeds: the table in core/refill.h, class by class. */
#include "core/refill.h"
#include "support/prop.h"
#include "support/test.h"

/* Attempts of which each fails after `latency`, one after the other; counts them by minute since
 * the first failure. */
static void count_attempts(enum dsql_connect_class cls, uint64_t seed, unsigned *minutes,
                           unsigned count)
{
    struct dsql_rng rng = dsql_rng_seeded(seed);
    struct dsql_refill refill;
    struct dsql_mono now = {DSQL_H}, first = now;
    dsql_refill_init(&refill, NULL, now);
    (void)dsql_refill_failed(&refill, cls, now, now, &rng);
    for (;;) {
        now = dsql_mono_add(now, dsql_refill_wait_ns(&refill, now));
        int64_t minute = dsql_mono_since(now, first) / DSQL_M;
        if (minute >= count)
            return;
        minutes[minute]++;
        struct dsql_mono began = now;
        now = dsql_mono_add(now, DSQL_MS);
        (void)dsql_refill_failed(&refill, cls, began, now, &rng);
    }
}

static const struct {
    enum dsql_connect_class cls;
    unsigned first, later;
} most[] = {
    {DSQL_CONNECT_NETWORK, 42, 40},     {DSQL_CONNECT_THROTTLED, 6, 3},
    {DSQL_CONNECT_RESOURCES, 6, 3},     {DSQL_CONNECT_FULL, 4, 2},
    {DSQL_CONNECT_DENIED, 2, 2},        {DSQL_CONNECT_TLS, 2, 2},
    {DSQL_CONNECT_TOKEN_EXPIRED, 2, 2},
};

static bool small(struct prop *p)
{
    uint64_t seed = prop_any_u64(p);
    for (size_t i = 0; i < DSQL_COUNT_OF(most); i++) {
        unsigned minutes[30] = {0};
        count_attempts(most[i].cls, seed, minutes, DSQL_COUNT_OF(minutes));
        for (size_t m = 0; m < DSQL_COUNT_OF(minutes); m++) {
            if (!prop_that(p, minutes[m] <= (m == 0 ? most[i].first : most[i].later),
                           "%s: %u attempts in minute %zu", dsql_connect_class_name(most[i].cls),
                           minutes[m], m))
                return false;
        }
    }
    return true;
}

TEST(attempts_stay_few)
{
    prop_run("attempts stay few", small, 2000);
}

/* However long an endpoint was away, it is tried within seconds of its return. */
static bool prompt(struct prop *p)
{
    struct dsql_rng rng = dsql_rng_seeded(prop_any_u64(p));
    struct dsql_refill refill;
    struct dsql_mono now = {DSQL_H};
    dsql_refill_init(&refill, NULL, now);
    for (int64_t failures = prop_between(p, 1, 200); failures > 0; failures--) {
        now = dsql_mono_add(now, dsql_refill_wait_ns(&refill, now));
        (void)dsql_refill_failed(&refill, DSQL_CONNECT_NETWORK, now, now, &rng);
    }
    return prop_that(p, dsql_refill_wait_ns(&refill, now) <= 3 * DSQL_S, "waits for %lld ms",
                     (long long)(dsql_refill_wait_ns(&refill, now) / DSQL_MS));
}

TEST(return_is_noticed)
{
    prop_run("the return of an endpoint is noticed", prompt, 500);
}

/* Eight that were under way together fail together: one round, one line, one step of the wait. */
TEST(rounds)
{
    struct dsql_rng rng = dsql_rng_seeded(1);
    struct dsql_refill refill;
    struct dsql_mono begun = {DSQL_S};
    dsql_refill_init(&refill, NULL, begun);
    unsigned first = 0;
    for (int i = 0; i < 8; i++) {
        struct dsql_mono now = dsql_mono_add(begun, 100 * DSQL_MS + i * DSQL_MS);
        first += dsql_refill_failed(&refill, DSQL_CONNECT_NETWORK, begun, now, &rng).first;
    }
    assert_int_equal(first, 1);
    assert_int_equal(refill.rounds, 1);
    assert_int_equal(dsql_refill_limit(&refill, 8), 1);
    dsql_refill_opened(&refill);
    assert_int_equal(dsql_refill_limit(&refill, 8), 8);
    assert_int_equal(dsql_refill_wait_ns(&refill, begun), 0);
}

/* Too many at once: fewer next time, more again with each success. */
TEST(window)
{
    struct dsql_rng rng = dsql_rng_seeded(1);
    struct dsql_refill refill;
    struct dsql_mono now = {DSQL_S};
    dsql_refill_init(&refill, NULL, now);
    assert_int_equal(dsql_refill_limit(&refill, 600), 600);
    (void)dsql_refill_failed(&refill, DSQL_CONNECT_NETWORK, now, now, &rng);
    assert_int_equal(dsql_refill_limit(&refill, 600), 1);
    dsql_refill_opened(&refill);
    assert_int_equal(dsql_refill_limit(&refill, 600), 128);
    for (int i = 1; i < 32; i++)
        dsql_refill_opened(&refill);
    assert_int_equal(dsql_refill_limit(&refill, 600), 129);
    for (int i = 0; i < 20; i++) {
        now = dsql_mono_add(now, DSQL_S);
        (void)dsql_refill_failed(&refill, DSQL_CONNECT_NETWORK, now, now, &rng);
    }
    dsql_refill_opened(&refill);
    assert_int_equal(dsql_refill_limit(&refill, 600), 2);
    for (int i = 0; i < 100000; i++)
        dsql_refill_opened(&refill);
    assert_int_equal(dsql_refill_limit(&refill, 600), 600);
}

/* An expired token: a new one at once, but only once between two successes. */
TEST(tokens)
{
    struct dsql_rng rng = dsql_rng_seeded(1);
    struct dsql_refill refill;
    struct dsql_mono now = {DSQL_S};
    dsql_refill_init(&refill, NULL, now);
    for (int again = 0; again < 2; again++) {
        struct dsql_refill_verdict v =
            dsql_refill_failed(&refill, DSQL_CONNECT_TOKEN_EXPIRED, now, now, &rng);
        assert_true(v.renew_token && v.wait_ns == 0 && !refill.hopeless);
        now = dsql_mono_add(now, DSQL_MS);
        v = dsql_refill_failed(&refill, DSQL_CONNECT_TOKEN_EXPIRED, now, now, &rng);
        assert_true(v.renew_token && v.wait_ns >= 15 * DSQL_S && refill.hopeless);
        dsql_refill_opened(&refill);
        now = dsql_mono_add(now, DSQL_M);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_stay_few),
        cmocka_unit_test(return_is_noticed),
        cmocka_unit_test(rounds),
        cmocka_unit_test(window),
        cmocka_unit_test(tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
