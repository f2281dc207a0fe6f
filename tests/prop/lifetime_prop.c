/* (L1) to (L3) for any settings, and that lifetimes are spread over the whole of their range. */
#include "core/lifetime.h"
#include "support/prop.h"
#include "support/test.h"

static bool invariants(struct prop *p)
{
    struct dsql_rng rng = dsql_rng_seeded(prop_any_u64(p));
    struct dsql_lifetime l = {
        .base_ns = 1 + (int64_t)(prop_any_u64(p) % (uint64_t)(2 * DSQL_H)),
        .guard_ns = (int64_t)(prop_any_u64(p) % (uint64_t)(2 * DSQL_H)),
    };
    l.jitter_ns = (int64_t)(prop_any_u64(p) % (uint64_t)(2 * l.base_ns));
    struct dsql_mono born = {(int64_t)(prop_any_u64(p) >> 2)};
    struct dsql_lifespan life = dsql_lifetime_draw(&l, born, &rng);
    int64_t lived = dsql_mono_since(life.dies_at, born);
    int64_t longest = DSQL_SERVICE_LIFETIME_NS - l.guard_ns;
    longest = longest > 0 ? longest : 0;
    int64_t usable = lived > l.guard_ns ? lived - l.guard_ns : 0;
    return prop_that(p,
                     born.ns <= life.replace_at.ns && life.replace_at.ns <= life.usable_until.ns &&
                         life.usable_until.ns <= life.dies_at.ns,
                     "(L1)") &&
           prop_that(p,
                     lived <= longest && lived <= l.base_ns + l.jitter_ns / 2 &&
                         (lived == longest || lived >= l.base_ns - l.jitter_ns / 2),
                     "(L2): base %lld jitter %lld guard %lld: %lld", (long long)l.base_ns,
                     (long long)l.jitter_ns, (long long)l.guard_ns, (long long)lived) &&
           prop_that(p, dsql_mono_since(life.usable_until, born) == usable, "(L3)");
}

TEST(always)
{
    prop_run("a lifespan is in order and in its range", invariants, 10000);
}

TEST(spread)
{
    struct dsql_rng rng = dsql_rng_seeded(7);
    const struct dsql_lifetime l = {11 * DSQL_M, 2 * DSQL_M, 45 * DSQL_S};
    unsigned parts[12] = {0};
    for (unsigned i = 0; i < 12000; i++) {
        struct dsql_lifespan life = dsql_lifetime_draw(&l, (struct dsql_mono){0}, &rng);
        parts[(life.dies_at.ns - 10 * DSQL_M) * 12 / (2 * DSQL_M + 1)]++;
    }
    for (unsigned i = 0; i < 12; i++)
        assert_in_range(parts[i], 850, 1150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(always), cmocka_unit_test(spread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
