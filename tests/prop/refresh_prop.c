/* Random lives of something that expires, against the invariants of core/refresh.h. */
#include "core/refresh.h"
#include "support/prop.h"
#include "support/test.h"

struct model {
    struct dsql_refresh refresh;
    struct dsql_mono mono;
    struct dsql_wall wall;
    bool fetching, held;
    int64_t expires_ns, got_ns;
    unsigned failures;
    int64_t quiet_until_ns; /* no fetch before this */
};

static void pass_time(struct prop *p, struct model *m)
{
    int64_t ns = (int64_t)prop_below(p, 4) == 0 ? prop_between(p, 0, 2 * DSQL_H)
                                                : prop_between(p, 0, 5 * DSQL_S);
    m->mono = dsql_mono_add(m->mono, ns);
    /* Now and then somebody sets the wall clock. */
    m->wall =
        dsql_wall_add(m->wall, prop_below(p, 10) == 0 ? prop_between(p, -DSQL_H, DSQL_H) : ns);
}

static bool check_need(struct prop *p, struct model *m)
{
    struct dsql_refresh_need need = dsql_refresh_need(&m->refresh, m->mono, m->wall);
    bool valid = m->held && (m->expires_ns == 0 || m->wall.ns < m->expires_ns);
    int64_t life_ns = m->expires_ns - m->got_ns;
    int64_t ahead_ns = life_ns / 4 < 15 * DSQL_M ? life_ns / 4 : 15 * DSQL_M;
    bool due = m->held && m->expires_ns != 0 && m->wall.ns >= m->expires_ns - ahead_ns;
    bool may = !m->fetching && m->mono.ns >= m->quiet_until_ns;
    if (!prop_that(p, need.serve == valid, "R2: serve %d, valid %d", need.serve, valid) ||
        !prop_that(p, !need.fetch || may, "R1, R3: a fetch that may not begin") ||
        !prop_that(p, !(may && (!valid || due)) || need.fetch, "R4: no fetch though it is time") ||
        !prop_that(p, !need.wait || (!valid && (m->fetching || need.fetch)), "waits for nothing") ||
        !prop_that(p, valid || need.wait || m->mono.ns < m->quiet_until_ns,
                   "neither served nor waiting nor backing off"))
        return false;
    if (need.fetch) {
        dsql_refresh_begin(&m->refresh);
        m->fetching = true;
    }
    return true;
}

static bool end_fetch(struct prop *p, struct model *m, struct dsql_rng *rng)
{
    m->fetching = false;
    if (prop_below(p, 2) == 0) {
        int64_t lasts_ns = prop_below(p, 4) ? prop_between(p, 1, 12 * DSQL_H) : 0;
        struct dsql_wall expires = {lasts_ns ? m->wall.ns + lasts_ns : 0};
        bool loud = dsql_refresh_succeeded(&m->refresh, m->mono, m->wall, expires);
        bool ok = prop_that(p, loud == (m->failures > 0), "R5: success after %u", m->failures);
        m->held = true;
        m->got_ns = m->wall.ns;
        m->expires_ns = expires.ns;
        m->failures = 0;
        m->quiet_until_ns = m->mono.ns + DSQL_S;
        return ok;
    }
    bool loud = dsql_refresh_failed(&m->refresh, m->mono, rng);
    int64_t wait_ns = m->refresh.next.ns - m->mono.ns;
    int64_t most_ns = m->failures < 6 ? DSQL_S << m->failures : DSQL_M;
    most_ns = most_ns < DSQL_M ? most_ns : DSQL_M;
    m->quiet_until_ns = m->refresh.next.ns;
    bool ok = prop_that(p, loud == (m->failures == 0), "R5: failure %u", m->failures) &&
              prop_that(p, wait_ns <= most_ns && wait_ns >= most_ns * 3 / 4,
                        "R3: waits %lld ms after %u failures", (long long)(wait_ns / DSQL_MS),
                        m->failures);
    m->failures++;
    return ok;
}

static bool keeps_its_promises(struct prop *p)
{
    struct model m = {.mono = {DSQL_S}, .wall = {INT64_C(1800000000) * DSQL_S}};
    struct dsql_rng rng = dsql_rng_seeded(prop_any_u64(p));
    for (uint64_t steps = prop_below(p, 60); steps > 0; steps--) {
        pass_time(p, &m);
        if (m.fetching && prop_below(p, 2) == 0) {
            if (!end_fetch(p, &m, &rng))
                return false;
        } else if (!check_need(p, &m)) {
            return false;
        }
    }
    return true;
}

TEST(promises)
{
    prop_run("a refresh keeps its promises", keeps_its_promises, 5000);
}

TEST(refused_is_fetched_anew_but_not_in_a_loop)
{
    struct dsql_refresh refresh = {0};
    struct dsql_mono mono = {0};
    struct dsql_wall wall = {DSQL_H};
    dsql_refresh_begin(&refresh);
    (void)dsql_refresh_succeeded(&refresh, mono, wall, (struct dsql_wall){0});
    assert_false(dsql_refresh_need(&refresh, (struct dsql_mono){DSQL_H}, wall).fetch);
    dsql_refresh_refused(&refresh);
    assert_false(dsql_refresh_need(&refresh, mono, wall).fetch);
    struct dsql_refresh_need need = dsql_refresh_need(&refresh, (struct dsql_mono){DSQL_S}, wall);
    assert_true(need.fetch && need.serve);
    dsql_refresh_begin(&refresh);
    (void)dsql_refresh_succeeded(&refresh, (struct dsql_mono){DSQL_S}, wall, (struct dsql_wall){0});
    assert_false(dsql_refresh_need(&refresh, (struct dsql_mono){DSQL_H}, wall).fetch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promises),
        cmocka_unit_test(refused_is_fetched_anew_but_not_in_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
