/*
 * The keeper under random days: random settings, budgets that shrink and grow, permits that are
 * short, connects that fail or hang, callers that come, wait and go, time that passes in small and
 * large steps. Beside it a model that counts for itself, and a twin that was copied from it on the
 * way and is told the same: its steps have to be the same.
 */
#include "support/desk.h"
#include "support/prop.h"
#include "support/test.h"

enum { CAPACITY = 40, STEPS = 400 };

struct day {
    struct desk desk, twin;
    bool has_twin;
    bool in_use[DESK_SLOTS];
    bool discarded[DESK_SLOTS]; /* by a caller, for this reason */
    enum dsql_discard reason[DESK_SLOTS];
    struct dsql_lifespan life[DESK_SLOTS]; /* as it was before the turn */
    uint32_t held;                         /* likewise */
    int64_t given, opened;                 /* permits; connects begun */
};

static struct dsql_keeper_config draw_config(struct prop *p)
{
    uint32_t max_open = 1 + (uint32_t)prop_below(p, CAPACITY);
    struct dsql_keeper_config config = desk_config(max_open, (uint32_t)prop_below(p, max_open + 1));
    config.lifetime = (struct dsql_lifetime){
        .base_ns = 60 * DSQL_S, .jitter_ns = 20 * DSQL_S, .guard_ns = 10 * DSQL_S};
    config.inflight_limit = 1 + (int64_t)prop_below(p, 20);
    config.start_delay_ns = (int64_t)prop_below(p, 2) * 5 * DSQL_S;
    config.permit_wait_ns = (int64_t)prop_below(p, 20) * DSQL_S;
    if (prop_below(p, 3) == 2) {
        config.tick_ns = DSQL_S;
        config.tick_max = 1 + (uint32_t)prop_below(p, 3);
        config.warmup = (uint32_t)prop_below(p, max_open + 1);
        config.warmup_tries = 1 + (uint32_t)prop_below(p, 3);
        config.warmup_timeout_ns = DSQL_S;
        config.warmup_backoff_ns = DSQL_MS;
        config.warmup_backoff_max_ns = DSQL_S;
    }
    return config;
}

static bool same_steps(struct prop *p, const struct desk *a, const struct desk *b)
{
    bool same =
        prop_that(p, a->count == b->count, "%zu steps, the twin has %zu", a->count, b->count);
    for (size_t i = 0; same && i < a->count; i++)
        same =
            prop_that(p, desk_equal(&a->steps[i], &b->steps[i]),
                      "step %zu is '%s' (%s), the twin's '%s' (%s)", i,
                      dsql_keeper_do_name(a->steps[i].what), dsql_keeper_why_text(a->steps[i].why),
                      dsql_keeper_do_name(b->steps[i].what), dsql_keeper_why_text(b->steps[i].why));
    return same;
}

/* A connection is closed for the reason that is true of it. */
static bool reason_holds(struct prop *p, struct day *day, const struct dsql_keeper_step *step,
                         int64_t granted)
{
    const struct dsql_keeper *k = &day->desk.k;
    const struct dsql_lifespan *life = &day->life[step->slot];
    bool by_caller = day->discarded[step->slot];
    bool aging = !dsql_mono_before(k->now, life->replace_at);
    bool dead = !dsql_mono_before(k->now, life->dies_at);
    bool true_of_it = false;
    day->discarded[step->slot] = false;
    if (by_caller)
        return prop_that(p, step->discard == day->reason[step->slot], "a caller's reason is lost");
    if (step->discard == DSQL_DISCARD_EXPIRED_ON_SCAN)
        true_of_it = dead;
    else if (step->discard == DSQL_DISCARD_EXPIRING_SOON_ON_SCAN)
        true_of_it = aging && !dead;
    else if (step->discard == DSQL_DISCARD_RESERVOIR_FULL)
        true_of_it = day->held > granted;
    else if (step->discard == DSQL_DISCARD_DRAIN)
        true_of_it = k->draining;
    return prop_that(
        p, true_of_it, "closed for %d, %lld ms after its time and %lld ms before its end",
        (int)step->discard, (long long)(dsql_mono_since(k->now, life->replace_at) / DSQL_MS),
        (long long)(dsql_mono_since(life->dies_at, k->now) / DSQL_MS));
}

static bool steps_hold(struct prop *p, struct day *day)
{
    const struct desk *d = &day->desk;
    int64_t granted = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < d->count; i++) {
        const struct dsql_keeper_step *step = &d->steps[i];
        bool slot = step->slot != DSQL_SLOT_NONE;
        if (step->what == DSQL_KEEPER_SLOTS)
            granted = d->slots < step->count ? d->slots : step->count;
        day->opened += step->what == DSQL_KEEPER_OPEN;
        ok = prop_that(p, step->what == DSQL_KEEPER_CLAIM || !slot || !day->in_use[step->slot],
                       "(K3): '%s' of a slot in use", dsql_keeper_do_name(step->what)) &&
             prop_that(p, step->ns >= 0 && step->count >= 0, "less than nothing") &&
             (step->what != DSQL_KEEPER_CLOSE || reason_holds(p, day, step, granted));
    }
    ok = ok &&
         prop_that(p,
                   desk_count(d, DSQL_KEEPER_OPEN) == 0 || dsql_slots_held(&d->k.slots) <= granted,
                   "(K2): %u of %lld", dsql_slots_held(&d->k.slots), (long long)granted);
    /* What is in hand is forgotten sometimes, and never used twice. */
    return ok && prop_that(p, day->opened <= day->given, "(K1): %lld connects with %lld permits",
                           (long long)day->opened, (long long)day->given);
}

static bool take_turn(struct prop *p, struct day *day)
{
    int64_t permits = (int64_t)prop_below(p, 12);
    day->desk.permits = day->twin.permits = permits;
    for (uint32_t i = 0; i < day->desk.k.slots.capacity; i++)
        day->life[i] = day->desk.k.slots.items[i].life;
    day->held = dsql_slots_held(&day->desk.k.slots);
    (void)desk_turn(&day->desk);
    day->given += permits - day->desk.permits;
    if (!steps_hold(p, day))
        return false;
    if (!day->has_twin)
        return true;
    (void)desk_turn(&day->twin);
    return same_steps(p, &day->desk, &day->twin);
}

static void copy_twin(struct day *day)
{
    if (day->has_twin)
        desk_fini(&day->twin);
    day->twin = day->desk;
    const struct dsql_slots *slots = &day->desk.k.slots;
    assert_int_equal(dsql_slots_copy(&day->twin.k.slots, slots, slots->capacity), DSQL_OK);
    day->has_twin = true;
}

/* One slot that is as it has to be, starting anywhere. */
static uint32_t pick(struct prop *p, const struct day *day, enum dsql_slot_state state, bool in_use,
                     bool ready)
{
    uint32_t capacity = day->desk.k.slots.capacity, start = (uint32_t)prop_below(p, capacity);
    for (uint32_t n = 0; n < capacity; n++) {
        uint32_t i = (start + n) % capacity;
        if (day->desk.k.slots.items[i].state == state && day->in_use[i] == in_use &&
            day->desk.ready[i] == ready)
            return i;
    }
    return DSQL_SLOT_NONE;
}

static struct desk *each(struct day *day, int which)
{
    return which == 0 ? &day->desk : &day->twin;
}

static void end_connect(struct prop *p, struct day *day)
{
    uint32_t slot = pick(p, day, DSQL_SLOT_OPENING, false, false);
    bool fails = prop_below(p, 4) == 3;
    enum dsql_connect_class cls = (enum dsql_connect_class)prop_below(p, DSQL_CONNECT_CLASSES);
    for (int i = 0; slot != DSQL_SLOT_NONE && i < (day->has_twin ? 2 : 1); i++) {
        struct desk *d = each(day, i);
        if (fails)
            (void)dsql_keeper_failed(&d->k, slot, cls, d->now);
        else
            dsql_keeper_opened(&d->k, slot, d->now);
        d->ready[slot] = !fails;
    }
}

static void check_out(struct prop *p, struct day *day)
{
    uint32_t slot = pick(p, day, DSQL_SLOT_OPEN, false, true);
    if (slot == DSQL_SLOT_NONE)
        return;
    day->in_use[slot] = true;
    day->desk.ready[slot] = day->twin.ready[slot] = false;
}

static void give_back(struct prop *p, struct day *day)
{
    uint32_t slot = pick(p, day, DSQL_SLOT_OPEN, true, false);
    bool discards = prop_below(p, 4) == 3;
    enum dsql_discard why = (enum dsql_discard)prop_below(p, DSQL_DISCARDS);
    if (slot == DSQL_SLOT_NONE)
        return;
    day->in_use[slot] = false;
    day->discarded[slot] = discards;
    day->reason[slot] = why;
    for (int i = 0; i < (day->has_twin ? 2 : 1); i++) {
        each(day, i)->ready[slot] = !discards;
        if (discards)
            dsql_keeper_discard(&each(day, i)->k, slot, why);
    }
}

static void change(struct prop *p, struct day *day)
{
    struct desk *d = &day->desk, *t = &day->twin;
    d->slots = t->slots = (int64_t)prop_below(p, CAPACITY + 1);
    d->waiting = t->waiting = (uint32_t)prop_below(p, 5);
    d->preparation = t->preparation =
        prop_below(p, 4) < 3 ? DESK_PREPARED : (enum desk_preparation)prop_below(p, 3);
    d->unprepared = t->unprepared = (enum dsql_connect_class)prop_below(p, DSQL_CONNECT_CLASSES);
}

static bool step(struct prop *p, struct day *day)
{
    static const int64_t longest[] = {DSQL_S, 20 * DSQL_S};
    switch (prop_below(p, 8)) {
    case 0:
    case 1:
        return take_turn(p, day);
    case 2:
        end_connect(p, day);
        return true;
    case 3:
        check_out(p, day);
        return true;
    case 4:
        give_back(p, day);
        return true;
    case 5:
        day->desk.now = dsql_mono_add(day->desk.now,
                                      (int64_t)prop_below(p, (uint64_t)longest[prop_below(p, 2)]));
        day->twin.now = day->desk.now;
        return true;
    case 6:
        if (prop_below(p, 8) == 7)
            copy_twin(day);
        return true;
    default:
        change(p, day);
        return true;
    }
}

static bool any_day(struct prop *p)
{
    struct day day = {0};
    struct dsql_keeper_config config = draw_config(p);
    desk_init(&day.desk, &config, prop_any_u64(p));
    bool ok = true;
    for (uint64_t n = prop_below(p, STEPS); ok && n > 0; n--)
        ok = step(p, &day);
    if (ok && prop_below(p, 4) == 3) {
        dsql_keeper_drain(&day.desk.k);
        if (day.has_twin)
            dsql_keeper_drain(&day.twin.k);
        ok = take_turn(p, &day) &&
             prop_that(p, desk_count_ready(&day.desk) == 0 && day.desk.k.slots.opening == 0,
                       "draining leaves something");
    }
    desk_fini(&day.desk);
    if (day.has_twin)
        desk_fini(&day.twin);
    return ok;
}

/* Standard mode on a calm day. */
struct pace {
    struct dsql_mono full_at; /* when it last was */
    struct dsql_mono since;   /* of the opens that are counted */
    uint32_t opens;
};

/* No more connections are opened in a tick than may be, and those that end together are replaced in
 * the time that takes. */
static bool pace_holds(struct prop *p, const struct desk *d, struct pace *pace, bool was_full)
{
    const struct dsql_keeper_config *config = &d->k.config;
    uint32_t ready = desk_count_ready(d);
    if (!dsql_keeper_is_warm(&d->k))
        return true;
    if (dsql_mono_since(d->now, pace->since) >= config->tick_ns) {
        pace->since = d->now;
        pace->opens = 0;
    }
    pace->opens += desk_count(d, DSQL_KEEPER_OPEN);
    if (!was_full || ready >= config->target)
        pace->full_at = d->now;
    int64_t longest_ns = config->tick_ns * (10 + config->target / config->tick_max);
    /* The counted time may hold the end of one tick and the beginning of the next. */
    return prop_that(p, pace->opens <= 2 * config->tick_max, "%u opens in a tick of %u",
                     pace->opens, config->tick_max) &&
           prop_that(p, dsql_mono_since(d->now, pace->full_at) <= longest_ns,
                     "%u of %u ready, for %lld s", ready, config->target,
                     (long long)(dsql_mono_since(d->now, pace->full_at) / DSQL_S));
}

/*
 * After any day, once the faults stop, everybody returns and connects succeed, the target is
 * reached and held: for several lifetimes there is never less than the target minus one ready, with
 * room to spare never less than the target. In standard mode it is held as fast as ticks allow.
 */
static bool settles(struct prop *p)
{
    struct day day = {0};
    struct dsql_keeper_config config = draw_config(p);
    desk_init(&day.desk, &config, prop_any_u64(p));
    struct desk *d = &day.desk;
    bool ok = true, full = false, spare = config.target < config.max_open;
    for (uint64_t n = prop_below(p, STEPS / 4); ok && n > 0; n--)
        ok = step(p, &day);
    uint32_t target = config.target;
    for (uint32_t i = 0; i < config.max_open; i++)
        d->ready[i] |= day.in_use[i];
    d->slots = DESK_SLOTS;
    d->permits = INT64_MAX;
    d->waiting = 0;
    d->preparation = DESK_PREPARED;
    desk_open_all(d);
    struct dsql_mono calm = d->now;
    struct pace pace = {.full_at = d->now, .since = d->now};
    while (ok && dsql_mono_since(d->now, calm) < 15 * DSQL_M) {
        struct dsql_keeper_step sleep = desk_turn(d);
        uint32_t ready = desk_count_ready(d);
        ok = prop_that(p, !full || config.tick_ns > 0 || ready + (spare ? 0 : 1) >= target,
                       "ready dipped to %u of %u", ready, target);
        ok = ok && (config.tick_ns == 0 || pace_holds(p, d, &pace, full));
        desk_open_all(d);
        full = full || desk_count_ready(d) >= target;
        ok = ok && prop_that(p, full || dsql_mono_since(d->now, calm) < 11 * DSQL_M,
                             "not full after 11 minutes");
        int64_t wait_ns = sleep.ns < 100 * DSQL_MS ? sleep.ns + 1 : 100 * DSQL_MS;
        d->now = dsql_mono_add(d->now, full ? wait_ns : sleep.ns + 1);
    }
    desk_fini(&day.desk);
    if (day.has_twin)
        desk_fini(&day.twin);
    return ok;
}

TEST(days)
{
    prop_run("any day", any_day, 1000);
}

TEST(calm)
{
    prop_run("it settles", settles, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days),
        cmocka_unit_test(calm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
