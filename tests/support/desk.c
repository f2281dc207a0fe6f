#include "support/desk.h"

#include "base/least.h"
#include "support/test.h"

struct dsql_keeper_config desk_config(uint32_t max_open, uint32_t target)
{
    return (struct dsql_keeper_config){
        .max_open = max_open,
        .target = target,
        .lifetime = {.base_ns = 40 * DSQL_M, .guard_ns = DSQL_M},
        .inflight_limit = 1000,
        .connect_timeout_ns = 10 * DSQL_S,
        .empty_wait_ns = 100 * DSQL_MS,
        .permit_wait_ns = 30 * DSQL_S,
        .permit_backoff_ns = 25 * DSQL_MS,
    };
}

void desk_init(struct desk *desk, const struct dsql_keeper_config *config, uint64_t seed)
{
    assert_true(config->max_open <= DESK_SLOTS);
    *desk = (struct desk){.now = {DSQL_H},
                          .slots = DESK_SLOTS,
                          .permits = INT64_MAX,
                          .permit_wait_ns = 100 * DSQL_MS,
                          .rate = 10};
    assert_int_equal(dsql_keeper_init(&desk->k, config, dsql_rng_seeded(seed), desk->now), DSQL_OK);
}

void desk_fini(struct desk *desk)
{
    dsql_keeper_fini(&desk->k);
}

static uint32_t take(struct desk *desk, uint32_t slot)
{
    for (uint32_t i = 0; slot == DSQL_SLOT_NONE && i < DESK_SLOTS; i++)
        slot = desk->ready[i] ? i : slot;
    if (slot == DSQL_SLOT_NONE || !desk->ready[slot])
        return DSQL_SLOT_NONE;
    desk->ready[slot] = false;
    return slot;
}

static void prepare(struct desk *desk)
{
    if (desk->preparation == DESK_UNPREPARED)
        desk->verdict = dsql_keeper_unprepared(&desk->k, desk->unprepared);
    else
        dsql_keeper_prepared(&desk->k, desk->preparation == DESK_PREPARED);
}

static void carry_out(struct desk *desk, const struct dsql_keeper_step *step)
{
    struct dsql_keeper *k = &desk->k;
    switch (step->what) {
    case DSQL_KEEPER_SLOTS:
        dsql_keeper_slots(k, dsql_least(desk->slots, step->count), desk->rate);
        break;
    case DSQL_KEEPER_CLAIM:
    case DSQL_KEEPER_TAKE:
        dsql_keeper_claimed(k, take(desk, step->slot));
        break;
    case DSQL_KEEPER_OFFER:
        assert_false(desk->ready[step->slot]);
        desk->ready[step->slot] = true;
        break;
    case DSQL_KEEPER_PREPARE:
        prepare(desk);
        break;
    case DSQL_KEEPER_PERMIT:
        dsql_keeper_permit(k, desk->permits > 0, desk->permit_wait_ns);
        desk->permits -= desk->permits > 0;
        break;
    case DSQL_KEEPER_CLOSE:
        assert_false(desk->ready[step->slot]); /* (K3) */
        if (!desk->closes_later)
            dsql_keeper_closed(k, step->slot);
        break;
    case DSQL_KEEPER_CUT:
        if (step->why == DSQL_WHY_TIMEOUT)
            desk->verdict = dsql_keeper_failed(k, step->slot, DSQL_CONNECT_NETWORK, desk->now);
        else
            dsql_keeper_abandoned(k, step->slot);
        break;
    case DSQL_KEEPER_OPEN:
    case DSQL_KEEPER_REPORT:
    case DSQL_KEEPER_SLEEP:
        break;
    }
}

struct dsql_keeper_step desk_turn(struct desk *desk)
{
    struct dsql_keeper_step step;
    desk->count = 0;
    dsql_keeper_turn(&desk->k, desk->now, desk->waiting);
    do {
        dsql_keeper_next(&desk->k, &step);
        assert_true(desk->count < DESK_STEPS);
        desk->steps[desk->count++] = step;
        carry_out(desk, &step);
        dsql_slots_check(&desk->k.slots);
    } while (step.what != DSQL_KEEPER_SLEEP);
    return step;
}

struct dsql_keeper_step desk_turn_after(struct desk *desk, int64_t ns)
{
    desk->now = dsql_mono_add(desk->now, ns);
    return desk_turn(desk);
}

unsigned desk_count(const struct desk *desk, enum dsql_keeper_do what)
{
    unsigned count = 0;
    for (size_t i = 0; i < desk->count; i++)
        count += desk->steps[i].what == what;
    return count;
}

const struct dsql_keeper_step *desk_find(const struct desk *desk, enum dsql_keeper_do what)
{
    for (size_t i = 0; i < desk->count; i++)
        if (desk->steps[i].what == what)
            return &desk->steps[i];
    fail_msg("no step '%s' in this turn", dsql_keeper_do_name(what));
    return NULL;
}

unsigned desk_count_closes(const struct desk *desk, enum dsql_discard why)
{
    unsigned count = 0;
    for (size_t i = 0; i < desk->count; i++)
        count += desk->steps[i].what == DSQL_KEEPER_CLOSE && desk->steps[i].discard == why;
    return count;
}

void desk_open_all(struct desk *desk)
{
    for (uint32_t i = 0; i < desk->k.slots.capacity; i++) {
        if (desk->k.slots.items[i].state != DSQL_SLOT_OPENING)
            continue;
        dsql_keeper_opened(&desk->k, i, desk->now);
        desk->ready[i] = true;
    }
}

void desk_fail_all(struct desk *desk, enum dsql_connect_class cls)
{
    for (uint32_t i = 0; i < desk->k.slots.capacity; i++)
        if (desk->k.slots.items[i].state == DSQL_SLOT_OPENING)
            desk->verdict = dsql_keeper_failed(&desk->k, i, cls, desk->now);
}

void desk_close_all(struct desk *desk)
{
    for (size_t i = 0; i < desk->count; i++)
        if (desk->steps[i].what == DSQL_KEEPER_CLOSE)
            dsql_keeper_closed(&desk->k, desk->steps[i].slot);
}

void desk_fill(struct desk *desk)
{
    do {
        (void)desk_turn(desk);
        desk_open_all(desk);
    } while (desk_count(desk, DSQL_KEEPER_OPEN) > 0);
}

uint32_t desk_count_ready(const struct desk *desk)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < DESK_SLOTS; i++)
        count += desk->ready[i];
    return count;
}

bool desk_equal(const struct dsql_keeper_step *a, const struct dsql_keeper_step *b)
{
    return a->what == b->what && a->why == b->why && a->slot == b->slot &&
           a->discard == b->discard && a->count == b->count && a->ns == b->ns;
}
