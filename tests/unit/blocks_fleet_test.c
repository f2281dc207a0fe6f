/*
 * A healthy fleet on the protocol `blocks`, in virtual time with 5 ms to the registry and back:
 * what it costs, how quickly a newcomer and a successor are served, and what throttling of one does
 * to all.
 */
#include <stdio.h>

#include "core/blocks.h"
#include "support/test.h"

enum { FLEET_MAX = 80 };
#define STEP_NS (5 * DSQL_MS)

struct member {
    bool alive, awaits, applied;
    struct dsql_blocks core;
    struct dsql_registry view;
    int64_t conns;
    int64_t *expiry; /* of each connection */
    uint64_t opens;
    int64_t ask_ns; /* a pool that lacks connections asks again then */
    int64_t due_ns; /* nothing happens before, but for answers */
};

struct fleet {
    struct dsql_registry item;
    struct member members[FLEET_MAX];
    struct dsql_rng rng, nonces;
    int64_t now_ns, lifetime_ns, per_member;
    struct dsql_blocks_config config;
};

static struct dsql_mono now(const struct fleet *f)
{
    return (struct dsql_mono){f->now_ns};
}

static struct dsql_moment moment(const struct fleet *f)
{
    return (struct dsql_moment){.mono = now(f)};
}

static void join(struct fleet *f, size_t index)
{
    struct member *m = &f->members[index];
    struct dsql_blocks_config config = f->config;
    (void)snprintf(config.id, sizeof(config.id), "%016zx", index);
    *m = (struct member){.alive = true, .expiry = calloc((size_t)f->per_member, sizeof(int64_t))};
    dsql_blocks_init(&m->core, &config, dsql_rng_split(&f->rng), now(f));
    dsql_allowance_want(&m->core.allowance, f->per_member);
}

static void end(struct member *m)
{
    if (!m->alive)
        return;
    dsql_allowance_fini(&m->core.allowance);
    dsql_registry_fini(&m->view);
    free(m->expiry);
    m->alive = false;
}

/* A pool that replaces what expires. */
static void pool_acts(struct fleet *f, struct member *m)
{
    int64_t slots = dsql_blocks_slots(&m->core, now(f));
    for (int64_t i = 0; i < m->conns; i++) {
        if (m->expiry[i] > f->now_ns && m->conns <= slots)
            continue;
        m->expiry[i--] = m->expiry[--m->conns];
    }
    dsql_allowance_used(&m->core.allowance, m->conns);
    int64_t wait_ns = DSQL_S;
    while (m->conns < slots && m->conns < m->core.need.want &&
           dsql_allowance_permit(&m->core.allowance, moment(f), &wait_ns)) {
        m->expiry[m->conns++] =
            f->now_ns + f->lifetime_ns / 2 + dsql_rng_between(&f->rng, 0, f->lifetime_ns);
        m->opens++;
        dsql_allowance_used(&m->core.allowance, m->conns);
    }
    m->ask_ns = f->now_ns + wait_ns;
}

static int64_t next_event(const struct fleet *f, const struct member *m)
{
    int64_t due_ns = dsql_allowance_due_ns(&m->core.allowance, moment(f));
    int64_t at_ns = due_ns > DSQL_H ? f->now_ns + DSQL_H : f->now_ns + due_ns;
    if (m->conns < m->core.need.want && m->ask_ns < at_ns)
        at_ns = m->ask_ns;
    for (int64_t i = 0; i < m->conns; i++)
        at_ns = m->expiry[i] < at_ns ? m->expiry[i] : at_ns;
    return at_ns;
}

static void step(struct fleet *f)
{
    f->now_ns += STEP_NS;
    for (size_t i = 0; i < FLEET_MAX; i++) {
        struct member *m = &f->members[i];
        struct dsql_registry_op op;
        if (!m->alive || (!m->awaits && f->now_ns < m->due_ns))
            continue;
        m->due_ns = 0;
        if (m->awaits) {
            m->awaits = false;
            assert_int_equal(dsql_blocks_answer(
                                 &m->core, now(f),
                                 m->applied ? DSQL_BLOCKS_APPLIED : DSQL_BLOCKS_REFUSED, &m->view),
                             DSQL_OK);
        }
        pool_acts(f, m);
        if (!dsql_blocks_next(&m->core, now(f), dsql_rng_next(&f->nonces), &op)) {
            m->due_ns = next_event(f, m);
            continue;
        }
        assert_int_equal(dsql_registry_apply(&f->item, &op, &m->applied), DSQL_OK);
        assert_int_equal(dsql_registry_copy(&m->view, &f->item), DSQL_OK);
        m->awaits = true;
    }
}

static void run_for(struct fleet *f, int64_t ns)
{
    for (int64_t end_ns = f->now_ns + ns; f->now_ns < end_ns;)
        step(f);
}

static struct fleet *fleet_of(size_t members, int64_t per_member, int64_t limit,
                              int64_t lifetime_ns, int64_t burst)
{
    struct fleet *f = calloc(1, sizeof(*f));
    *f = (struct fleet){.rng = dsql_rng_seeded(5),
                        .nonces = dsql_rng_seeded(6),
                        .per_member = per_member,
                        .lifetime_ns = lifetime_ns};
    f->config = (struct dsql_blocks_config){
        .connections = limit, .rate = 100, .burst = burst, .ttl_ns = 60 * DSQL_S, .name = "test"};
    for (size_t i = 0; i < members; i++)
        join(f, i);
    return f;
}

static void fleet_free(struct fleet *f)
{
    for (size_t i = 0; i < FLEET_MAX; i++)
        end(&f->members[i]);
    dsql_registry_fini(&f->item);
    free(f);
}

static int64_t conns(const struct fleet *f)
{
    int64_t sum = 0;
    for (size_t i = 0; i < FLEET_MAX; i++)
        sum += f->members[i].alive ? f->members[i].conns : 0;
    return sum;
}

/* What connections opened in steady state cost. */
struct cost {
    double calls;  /* beside the beats, for each */
    double waited; /* the part of them that had to wait for one */
};

static struct cost cost_of(size_t members, int64_t per_member, int64_t burst, int64_t lifetime_ns)
{
    struct fleet *f = fleet_of(members, per_member, 10000, lifetime_ns, burst);
    int64_t all = (int64_t)members * per_member;
    uint64_t requests = 0, beats = 0, opens = 0, waited = 0;
    while (conns(f) < all) {
        step(f);
        assert_true(f->now_ns < 300 * DSQL_S);
    }
    double fill_s = (double)f->now_ns / 1e9;
    run_for(f, lifetime_ns); /* until expiries are spread evenly */
    for (size_t i = 0; i < members; i++) {
        requests -= f->members[i].core.counts.requests;
        beats -= f->members[i].core.counts.beats;
        opens -= f->members[i].opens;
        waited -= f->members[i].core.counts.waited;
    }
    run_for(f, 600 * DSQL_S);
    for (size_t i = 0; i < members; i++) {
        requests += f->members[i].core.counts.requests;
        beats += f->members[i].core.counts.beats;
        opens += f->members[i].opens;
        waited += f->members[i].core.counts.waited;
    }
    struct cost cost = {(double)(requests - beats) / (double)opens, (double)waited / (double)opens};
    print_message(
        "%zu x %lld, burst %lld, lifetime %lld min: full after %.1f s (%.1f at best); %.2f "
        "beats a minute and process, %.4f calls an open beside them; %llu of %llu opens waited for "
        "a call\n",
        members, (long long)per_member, (long long)burst, (long long)(lifetime_ns / DSQL_M), fill_s,
        (double)(all > burst ? all - burst : 0) / 100, (double)beats / (double)members / 10,
        cost.calls, (unsigned long long)waited, (unsigned long long)opens);
    fleet_free(f);
    return cost;
}

TEST(steady_state_costs_next_to_nothing)
{
    static const struct {
        size_t members;
        int64_t per_member, burst, lifetime_m;
    } rows[] = {
        {40, 100, 100, 11}, /* the defaults */
        {40, 100, 1000, 11},
        {8, 100, 100, 55},
        {80, 100, 100, 11},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct cost cost = cost_of(rows[i].members, rows[i].per_member, rows[i].burst,
                                   rows[i].lifetime_m * DSQL_M);
        assert_true(cost.calls <= 0.05);
        assert_true(cost.waited <= 0.05);
    }
}

TEST(a_newcomer_need_not_wait_for_anybody_to_expire)
{
    struct fleet *f = fleet_of(10, 100, 500, DSQL_H, 100); /* want 1,000, get 50 each */
    run_for(f, 30 * DSQL_S);
    assert_int_equal(conns(f), 500);
    join(f, 10);
    int64_t start_ns = f->now_ns;
    while (f->members[10].conns < 45 && f->now_ns < start_ns + 600 * DSQL_S)
        step(f);
    int64_t took_ns = f->now_ns - start_ns;
    print_message("a newcomer has its share after %.1f s\n", (double)took_ns / 1e9);
    assert_true(took_ns < 2 * dsql_blocks_beat_ns(f->config.ttl_ns));
    assert_true(conns(f) <= 500);
    fleet_free(f);
}

TEST(a_rolling_deploy_hands_over_in_seconds)
{
    struct fleet *f = fleet_of(10, 50, 500, DSQL_H, 100);
    run_for(f, 30 * DSQL_S);
    assert_int_equal(conns(f), 500);
    struct member *old = &f->members[0];
    dsql_allowance_drain(&old->core.allowance, true);
    dsql_allowance_want(&old->core.allowance, 0);
    old->due_ns = 0;
    join(f, 10);
    int64_t start_ns = f->now_ns;
    while ((f->members[10].conns < 50 || !old->core.member.left) &&
           f->now_ns < start_ns + 600 * DSQL_S)
        step(f);
    int64_t took_ns = f->now_ns - start_ns;
    print_message("a successor has its predecessor's 50 connections after %.1f s\n",
                  (double)took_ns / 1e9);
    assert_true(took_ns < 5 * DSQL_S);
    fleet_free(f);
}

TEST(throttling_of_one_slows_all)
{
    struct fleet *f = fleet_of(10, 100, 10000, DSQL_H, 100);
    run_for(f, 2 * DSQL_S);
    int64_t before = conns(f);
    run_for(f, DSQL_S);
    int64_t full_speed = conns(f) - before;
    dsql_allowance_throttled(&f->members[3].core.allowance, moment(f));
    f->members[3].due_ns = 0;
    run_for(f, DSQL_S / 2);
    assert_true(f->item.rate <= INT64_C(60) * DSQL_PERMIT);
    before = conns(f);
    run_for(f, DSQL_S);
    int64_t slowed = conns(f) - before;
    print_message("%lld connects in a second, then throttled: %lld\n", (long long)full_speed,
                  (long long)slowed);
    assert_true(slowed < full_speed * 3 / 4);
    run_for(f, 60 * DSQL_S);
    assert_int_equal(f->item.rate, INT64_C(100) * DSQL_PERMIT);
    fleet_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_state_costs_next_to_nothing),
        cmocka_unit_test(a_newcomer_need_not_wait_for_anybody_to_expire),
        cmocka_unit_test(a_rolling_deploy_hands_over_in_seconds),
        cmocka_unit_test(throttling_of_one_slows_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
