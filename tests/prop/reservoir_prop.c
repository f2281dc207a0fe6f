/*
 * The reservoir under random days: random settings, budgets that shrink and grow, connects that
 * fail, callers that come and go, time that passes in small and large steps. Beside it a model that
 * counts for itself what is open, and checks after every step what the header promises.
 */
#include "core/reservoir.h"
#include "support/prop.h"
#include "support/test.h"

enum { CAPACITY = 40, STEPS = 400 };

struct world {
    struct dsql_reservoir r;
    struct dsql_rng rng;
    struct dsql_mono now;
    int64_t slots;
    bool opening[CAPACITY], in_use[CAPACITY], closing[CAPACITY];
    uint32_t held, waiting;
    uint32_t hint;
};

static bool set_up(struct prop *p, struct world *w)
{
    *w = (struct world){.rng = dsql_rng_seeded(prop_any_u64(p)), .now = {DSQL_H}};
    uint32_t capacity = 1 + (uint32_t)prop_below(p, CAPACITY);
    struct dsql_reservoir_config config = {
        .capacity = capacity,
        .target = (uint32_t)prop_below(p, capacity + 1),
        .lifetime = {.base_ns = 60 * DSQL_S, .jitter_ns = 20 * DSQL_S, .guard_ns = 10 * DSQL_S},
    };
    if (prop_below(p, 3) == 2) {
        config.keeper_tick_ns = DSQL_S;
        config.keeper_max = 1 + (uint32_t)prop_below(p, 3);
        config.warmup = (uint32_t)prop_below(p, capacity + 1);
        config.warmup_tries = 1 + (uint32_t)prop_below(p, 3);
    }
    w->slots = capacity;
    return prop_that(p, dsql_reservoir_init(&w->r, &config, w->now) == DSQL_OK, "no memory");
}

static struct dsql_lifespan *life_of(struct world *w, uint32_t slot)
{
    return &w->r.slots[slot].life;
}

static bool evict_one(struct prop *p, struct world *w)
{
    uint32_t slot;
    enum dsql_discard why;
    if (!dsql_reservoir_evict(&w->r, w->slots, w->now, &slot, &why))
        return true;
    bool over = w->held > w->slots;
    bool old = !dsql_mono_before(w->now, life_of(w, slot)->replace_at);
    w->closing[slot] = true;
    return prop_that(p, !w->in_use[slot] && !w->opening[slot], "evicted what is not ready") &&
           prop_that(p, old || (over && why == DSQL_CLOSE_RESERVOIR_FULL), "evicted without cause");
}

static bool begin_one(struct prop *p, struct world *w)
{
    uint32_t slot;
    bool evicted;
    if (!dsql_reservoir_wants(&w->r, w->slots, w->waiting, w->now) ||
        !dsql_reservoir_begin(&w->r, w->slots, &slot, &evicted))
        return true;
    bool was_old = !dsql_mono_before(w->now, life_of(w, slot)->replace_at);
    w->opening[slot] = true;
    w->held += evicted ? 0 : 1;
    return prop_that(p, !evicted || was_old, "a fresh one made room") &&
           prop_that(p, !w->in_use[slot] && !w->closing[slot], "opened over somebody") &&
           prop_that(p, w->held <= w->slots, "(R2): %u of %lld", w->held, (long long)w->slots);
}

/* One that the array names, starting anywhere. */
static uint32_t pick(struct prop *p, const bool *among, uint32_t capacity)
{
    uint32_t start = (uint32_t)prop_below(p, capacity);
    for (uint32_t i = 0; i < capacity; i++)
        if (among[(start + i) % capacity])
            return (start + i) % capacity;
    return DSQL_READY_NONE;
}

static void end_opening(struct prop *p, struct world *w)
{
    uint32_t slot = pick(p, w->opening, w->r.config.capacity);
    if (slot == DSQL_READY_NONE)
        return;
    w->opening[slot] = false;
    if (prop_below(p, 4) == 3) {
        dsql_reservoir_failed(&w->r, slot, prop_below(p, 8) == 7);
        w->held--;
        return;
    }
    dsql_reservoir_opened(&w->r, slot, w->now, &w->rng);
    dsql_ready_set_put(&w->r.ready, slot);
}

static bool check_out(struct prop *p, struct world *w)
{
    uint32_t slot = dsql_reservoir_checkout(&w->r, w->now, &w->hint);
    if (slot == DSQL_READY_NONE)
        return true;
    bool ok = prop_that(p, !w->in_use[slot] && !w->opening[slot] && !w->closing[slot],
                        "handed out what is not ready") &&
              prop_that(p, dsql_mono_before(w->now, life_of(w, slot)->usable_until),
                        "handed out inside the guard window");
    w->in_use[slot] = true;
    return ok;
}

static void give_back(struct prop *p, struct world *w)
{
    uint32_t slot = pick(p, w->in_use, w->r.config.capacity);
    if (slot == DSQL_READY_NONE)
        return;
    w->in_use[slot] = false;
    if (prop_below(p, 8) == 7 || !dsql_reservoir_return(&w->r, slot, w->now)) {
        dsql_reservoir_discard(&w->r, slot);
        w->closing[slot] = true;
    }
}

static void end_closing(struct prop *p, struct world *w)
{
    uint32_t slot = pick(p, w->closing, w->r.config.capacity);
    if (slot == DSQL_READY_NONE)
        return;
    w->closing[slot] = false;
    w->held--;
    dsql_reservoir_closed(&w->r, slot);
}

static bool step(struct prop *p, struct world *w)
{
    switch (prop_below(p, 10)) {
    case 0:
        return begin_one(p, w);
    case 1:
        end_opening(p, w);
        return true;
    case 2:
        return check_out(p, w);
    case 3:
        give_back(p, w);
        return true;
    case 4:
        return evict_one(p, w);
    case 5:
        end_closing(p, w);
        return true;
    case 6:
        w->now = dsql_mono_add(w->now, (int64_t)(prop_any_u64(p) % (uint64_t)(20 * DSQL_S)));
        return true;
    case 7: /* the promise of wait_ns: nothing has to be evicted by time before */
        w->now = dsql_mono_add(w->now, (int64_t)prop_below(p, (uint64_t)DSQL_S));
        return true;
    case 8:
        w->slots = (int64_t)prop_below(p, w->r.config.capacity + 1);
        return true;
    default:
        w->waiting = (uint32_t)prop_below(p, w->r.config.capacity + 1);
        return true;
    }
}

static bool counts_agree(struct prop *p, const struct world *w)
{
    dsql_reservoir_check(&w->r);
    return prop_that(p, dsql_reservoir_held(&w->r) == w->held, "held %u, not %u",
                     dsql_reservoir_held(&w->r), w->held);
}

/* Once the faults stop, everybody returns and connects succeed, the target is reached, and held:
 * for several lifetimes there is never less than target minus one ready, with room to spare never
 * less than the target. */
static bool settles(struct prop *p, struct world *w)
{
    uint32_t capacity = w->r.config.capacity, target = w->r.config.target, slot;
    bool evicted, spare = target < capacity;
    enum dsql_discard why;
    w->slots = capacity;
    for (uint32_t i = 0; i < capacity; i++) {
        if (w->opening[i])
            dsql_reservoir_failed(&w->r, i, false);
        if (w->in_use[i])
            dsql_reservoir_discard(&w->r, i);
        if (w->in_use[i] || w->closing[i])
            dsql_reservoir_closed(&w->r, i);
    }
    bool full = false;
    for (int turn = 0; turn < 4000; turn++) {
        while (dsql_reservoir_evict(&w->r, w->slots, w->now, &slot, &why))
            dsql_reservoir_closed(&w->r, slot);
        while (dsql_reservoir_wants(&w->r, w->slots, 0, w->now) &&
               dsql_reservoir_begin(&w->r, w->slots, &slot, &evicted)) {
            if (full && w->r.config.keeper_tick_ns == 0 &&
                !prop_that(p, dsql_ready_set_count(&w->r.ready) + (spare ? 0 : 1) >= target,
                           "ready dipped to %u of %u", dsql_ready_set_count(&w->r.ready), target))
                return false;
            dsql_reservoir_opened(&w->r, slot, w->now, &w->rng);
            dsql_ready_set_put(&w->r.ready, slot);
        }
        full = full || dsql_ready_set_count(&w->r.ready) >= target;
        if (turn > 200 && !prop_that(p, full, "not full after 20 s"))
            return false;
        dsql_reservoir_check(&w->r);
        int64_t wait_ns = dsql_reservoir_wait_ns(&w->r, w->now);
        w->now = dsql_mono_add(w->now, wait_ns < 100 * DSQL_MS ? wait_ns + 1 : 100 * DSQL_MS);
    }
    return true;
}

static bool any_day(struct prop *p)
{
    struct world w;
    if (!set_up(p, &w))
        return false;
    bool ok = true;
    for (uint64_t n = prop_below(p, STEPS); ok && n > 0; n--)
        ok = step(p, &w) && counts_agree(p, &w);
    w.r.warmup_left = w.r.warmup_left > 40 ? 0 : w.r.warmup_left;
    ok = ok && (w.r.config.keeper_tick_ns > 0 || settles(p, &w));
    dsql_reservoir_fini(&w.r);
    return ok;
}

TEST(days)
{
    prop_run("any day", any_day, 300);
}

/* The keeper: so many in a tick and no more; the warm-up: one after the other, some tries each. */
TEST(keeper)
{
    struct dsql_reservoir r;
    struct dsql_mono now = {0};
    const struct dsql_reservoir_config config = {
        .capacity = 20,
        .target = 20,
        .lifetime = {.base_ns = DSQL_H, .guard_ns = DSQL_S},
        .keeper_tick_ns = DSQL_S,
        .keeper_max = 3,
        .warmup = 3,
        .warmup_tries = 2,
    };
    struct dsql_rng rng = dsql_rng_seeded(1);
    uint32_t slot;
    bool evicted;
    assert_int_equal(dsql_reservoir_init(&r, &config, now), DSQL_OK);
    assert_true(dsql_reservoir_begin(&r, 20, &slot, &evicted));
    dsql_reservoir_opened(&r, slot, now, &rng);
    for (int tries = 0; tries < 2; tries++) { /* the second of the warm-up never comes */
        assert_true(dsql_reservoir_wants(&r, 20, 0, now));
        assert_true(dsql_reservoir_begin(&r, 20, &slot, &evicted));
        assert_false(dsql_reservoir_wants(&r, 20, 0, now));
        assert_false(dsql_reservoir_is_warm(&r));
        dsql_reservoir_failed(&r, slot, false);
    }
    assert_true(dsql_reservoir_begin(&r, 20, &slot, &evicted));
    dsql_reservoir_opened(&r, slot, now, &rng);
    assert_true(dsql_reservoir_is_warm(&r));
    for (int tick = 0; tick < 3; tick++) {
        int opened = 0;
        for (; dsql_reservoir_wants(&r, 20, 0, now); opened++) {
            assert_true(dsql_reservoir_begin(&r, 20, &slot, &evicted));
            dsql_reservoir_opened(&r, slot, now, &rng);
        }
        assert_int_equal(opened, 3); /* of keeper_max */
        int64_t wait_ns = dsql_reservoir_wait_ns(&r, now);
        assert_in_range(wait_ns, 1, DSQL_S);
        now = dsql_mono_add(now, wait_ns);
    }
    dsql_reservoir_fini(&r);
}

/* Callers come one after the other and keep what they get: each who waits gets one, up to the
 * capacity, and never more are on their way than callers wait. */
TEST(callers)
{
    enum { TARGET = 2, CAPACITY_HERE = 6 };
    struct dsql_reservoir r;
    struct dsql_mono now = {0};
    const struct dsql_reservoir_config config = {
        .capacity = CAPACITY_HERE,
        .target = TARGET,
        .lifetime = {.base_ns = DSQL_H, .guard_ns = DSQL_S},
    };
    struct dsql_rng rng = dsql_rng_seeded(1);
    uint32_t slot;
    bool evicted;
    assert_int_equal(dsql_reservoir_init(&r, &config, now), DSQL_OK);
    for (uint32_t open = 0; open < CAPACITY_HERE; open++) {
        assert_int_equal(dsql_reservoir_wants(&r, CAPACITY_HERE, 0, now), open < TARGET);
        assert_int_equal(dsql_reservoir_wants(&r, open, 1, now), false); /* the budget's limit */
        assert_true(dsql_reservoir_wants(&r, CAPACITY_HERE, 1, now));
        assert_true(dsql_reservoir_begin(&r, CAPACITY_HERE, &slot, &evicted));
        assert_int_equal(dsql_reservoir_wants(&r, CAPACITY_HERE, 1, now), open + 1 < TARGET);
        assert_int_equal(dsql_reservoir_wants(&r, CAPACITY_HERE, 2, now), open + 1 < CAPACITY_HERE);
        dsql_reservoir_opened(&r, slot, now, &rng);
    }
    assert_false(dsql_reservoir_wants(&r, CAPACITY_HERE, 9, now));
    dsql_reservoir_fini(&r);
}

/* A warm-up that can't succeed ends at once. */
TEST(hopeless)
{
    struct dsql_reservoir r;
    const struct dsql_reservoir_config config = {
        .capacity = 20,
        .target = 20,
        .lifetime = {.base_ns = DSQL_H},
        .keeper_tick_ns = DSQL_S,
        .keeper_max = 3,
        .warmup = 20,
        .warmup_tries = 6,
    };
    uint32_t slot;
    bool evicted;
    assert_int_equal(dsql_reservoir_init(&r, &config, (struct dsql_mono){0}), DSQL_OK);
    assert_true(dsql_reservoir_begin(&r, 20, &slot, &evicted));
    dsql_reservoir_failed(&r, slot, true);
    assert_true(dsql_reservoir_is_warm(&r));
    dsql_reservoir_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days),
        cmocka_unit_test(keeper),
        cmocka_unit_test(callers),
        cmocka_unit_test(hopeless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
