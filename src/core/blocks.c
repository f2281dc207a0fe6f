#include "core/blocks.h"

#include <stdlib.h>

enum {
    PER_MILLE = 1000,
    BEATS_PER_TTL = 6,
    RECOVERY_S = 20,
    UPKEEP_PART = 4,      /* of the rate, to replace connections with */
    POT_PART = 8,         /* of the rate, to fill the pot with */
    PATIENCE_S = 5,       /* what comes within so long is worth no request */
    UNITS_A_SECOND = 500, /* written by a hurried fleet: half of what one partition can */
};
#define BEAT_MAX_NS (10 * DSQL_S)
#define PARCEL_NS   (100 * DSQL_MS)

static const struct dsql_mono never = {INT64_MAX};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t dsql_blocks_beat_ns(int64_t ttl_ns)
{
    return least(ttl_ns / BEATS_PER_TTL, BEAT_MAX_NS);
}

int64_t dsql_blocks_still_ns(int64_t ttl_ns)
{
    /* One beat because it may have been silent for a TTL right after a beat that was due then; one
     * for an outage that ended before we noticed (tests/spin/blocks.pml finds both). */
    return dsql_ns_add(ttl_ns, 2 * dsql_blocks_beat_ns(ttl_ns));
}

void dsql_blocks_init(struct dsql_blocks *b, const struct dsql_blocks_config *config,
                      struct dsql_rng rng, struct dsql_mono now)
{
    assert(config->limit > 0 && config->headroom >= 0 && config->headroom < config->limit);
    assert(config->rate > 0 && config->burst > 0 && config->ttl_ns >= DSQL_MS);
    assert(strlen(config->id) == DSQL_OWNER_ID_LEN);
    *b = (struct dsql_blocks){
        .config = *config,
        .beat_ns = dsql_blocks_beat_ns(config->ttl_ns),
        .rng = rng,
        .heard = now,
        .proof = now,
        .fresh_until = now,
        .grace_until = now,
        .slow_until = now,
        .retry_at = now,
        .beat_at = now,
        .poll_at = now,
        .purse.at = now,
    };
    b->gap_ns = 2 * b->beat_ns;
}

void dsql_blocks_fini(struct dsql_blocks *b)
{
    dsql_registry_fini(&b->view);
    free(b->seen);
    *b = (struct dsql_blocks){0};
}

static struct dsql_block *own_block(const struct dsql_blocks *b)
{
    return dsql_registry_find(&b->view, b->config.id);
}

static int64_t total(const struct dsql_blocks *b)
{
    return b->config.limit - b->config.headroom;
}

static int64_t free_slots(const struct dsql_blocks *b)
{
    return total(b) - dsql_registry_sum(&b->view, DSQL_SLOTS);
}

/* Shares follow from the view and from what we want now. */
static void replan(struct dsql_blocks *b)
{
    struct dsql_block *own = own_block(b);
    b->allow = b->slots;
    if (!b->joined || !own)
        return;
    own->of[DSQL_SLOTS].wants = b->draining ? 0 : b->want;
    size_t index = (size_t)(own - b->view.blocks);
    int64_t room = free_slots(b);
    if (room < 0 || dsql_registry_lacking(&b->view, DSQL_SLOTS, index, total(b)) > room)
        b->allow = least(b->slots, dsql_registry_share(&b->view, DSQL_SLOTS, index, total(b)));
    if (b->draining)
        b->allow = 0;
}

void dsql_blocks_want(struct dsql_blocks *b, int64_t n)
{
    assert(n >= 0);
    if (b->want == n)
        return;
    b->want = n;
    replan(b);
}

void dsql_blocks_used(struct dsql_blocks *b, int64_t n)
{
    assert(n >= 0);
    b->used = n;
    if (n >= least(b->want, b->slots))
        b->hurrying = false;
}

void dsql_blocks_throttled(struct dsql_blocks *b, struct dsql_mono now)
{
    if (b->slow_pending || dsql_mono_before(now, b->slow_until))
        return; /* the same storm */
    b->slow_pending = true;
    b->slow_rate = b->view.rate;
    b->slow_until = dsql_mono_add(now, DSQL_S);
}

void dsql_blocks_refused_full(struct dsql_blocks *b, struct dsql_mono now)
{
    if (dsql_mono_since(now, b->heard) > DSQL_S)
        b->beat_at = now;
}

void dsql_blocks_drain(struct dsql_blocks *b)
{
    b->draining = true;
    replan(b);
}

/* What the table gives us at least, whatever became of requests in doubt. */
static int64_t sure(const struct dsql_blocks *b, enum dsql_good good)
{
    int64_t n = good == DSQL_SLOTS ? b->slots : b->flow;
    if (b->busy && b->flight.set_block)
        n = least(n, b->flight.block.of[good].has);
    if (b->unsettled && b->doubt.set_block)
        n = least(n, b->doubt.block.of[good].has);
    return n;
}

static int64_t sure_purse(const struct dsql_blocks *b)
{
    int64_t n = b->purse_most;
    if (b->busy && b->flight.set_block)
        n = least(n, b->flight.block.purse);
    if (b->unsettled && b->doubt.set_block)
        n = least(n, b->doubt.block.purse);
    return n;
}

static int64_t full_rate(const struct dsql_blocks *b)
{
    return b->config.rate * DSQL_PERMIT;
}

/* After throttling everybody's flow is as much lower as the rate is. */
static int64_t flow_in_effect(const struct dsql_blocks *b)
{
    int64_t flow = sure(b, DSQL_FLOW);
    if (b->view.rate >= full_rate(b))
        return flow;
    return flow * b->view.rate / full_rate(b);
}

/* Before anything changes that flow or purse depend on. */
static void fill_purse(struct dsql_blocks *b, struct dsql_mono now)
{
    dsql_purse_fill(&b->purse, flow_in_effect(b), sure_purse(b), now);
}

int64_t dsql_blocks_permits(const struct dsql_blocks *b, struct dsql_mono now)
{
    return dsql_purse_by(&b->purse, flow_in_effect(b), sure_purse(b), now) / DSQL_PURSE_ONE;
}

int64_t dsql_blocks_slots(const struct dsql_blocks *b, struct dsql_mono now)
{
    if (!b->joined)
        return dsql_mono_before(now, b->grace_until) ? least(b->used, b->grace_slots) : 0;
    int64_t n = least(sure(b, DSQL_SLOTS), b->allow);
    return dsql_mono_before(now, b->fresh_until) ? n : least(n, b->used); /* (K2), (K4) */
}

static bool is_hurried(const struct dsql_blocks *b, struct dsql_mono now);

bool dsql_blocks_permit(struct dsql_blocks *b, struct dsql_mono now, int64_t *wait_ns)
{
    bool may = b->joined && !b->draining && dsql_mono_before(now, b->fresh_until) &&
               !dsql_mono_before(now, b->slow_until);
    b->active = true;
    fill_purse(b, now);
    if (may && b->purse.amount >= DSQL_PURSE_ONE) {
        if (!b->helped && !is_hurried(b, now))
            b->opened_since_beat++;
        b->purse.amount -= DSQL_PURSE_ONE;
        b->counts.permits++;
        b->counts.waited += b->asked && b->helped;
        b->asked = false;
        return true;
    }
    b->asked = true;
    *wait_ns = DSQL_S;
    if (may)
        *wait_ns =
            least(DSQL_S, dsql_purse_wait_ns(&b->purse, flow_in_effect(b), sure_purse(b), now));
    return false;
}

/* --- what to ask for -------------------------------------------------------------------------- */

struct slot_plan {
    int64_t slots; /* to have */
    bool urgent;   /* at once; otherwise with the next beat */
    bool starving; /* would take more, but there is nothing */
};

static struct slot_plan plan_slots(const struct dsql_blocks *b)
{
    const struct dsql_block *own = own_block(b);
    struct slot_plan plan = {.slots = b->slots};
    size_t index = (size_t)(own - b->view.blocks);
    int64_t share = dsql_registry_share(&b->view, DSQL_SLOTS, index, total(b));
    int64_t room = free_slots(b);
    if (share > b->slots) {
        plan.starving = room <= 0;
        plan.urgent = room > 0;
        plan.slots += room > 0 ? least(room, share - b->slots) : 0;
        return plan;
    }
    int64_t keep = most(b->used, least(b->allow, own->of[DSQL_SLOTS].wants));
    if (keep < b->slots) {
        plan.slots = keep;
        plan.urgent = b->allow < b->slots;
    }
    return plan;
}

/* Connects it would make now. */
static int64_t needed(const struct dsql_blocks *b, struct dsql_mono now)
{
    if (b->draining || !b->active)
        return 0; /* who does not ask would only keep permits from others */
    int64_t n = least(b->want, dsql_blocks_slots(b, now)) - b->used;
    return most(n, b->asked);
}

/* Whether what it has is not enough soon: connections are replaced one by one and ahead of time, so
 * a moment's wait for one of many is none for anybody. */
static bool is_hurried(const struct dsql_blocks *b, struct dsql_mono now)
{
    int64_t need = needed(b, now), have = dsql_blocks_permits(b, now);
    int64_t soon = sure_purse(b) > 0 ? PATIENCE_S * flow_in_effect(b) / DSQL_PERMIT : 0;
    return need > have && (b->hurrying || need > have + soon || need * 4 > b->want);
}

/* A part of the whole that goes with its slots; a small fleet does not take all of it. */
static int64_t part_of(const struct dsql_blocks *b, int64_t whole)
{
    int64_t all = most(dsql_registry_sum(&b->view, DSQL_SLOTS), most(1, total(b) / 4));
    return whole * b->slots / all;
}

/* To replace connections with: several times what that takes, by its slots or by experience. */
static int64_t upkeep_flow(const struct dsql_blocks *b)
{
    int64_t part = part_of(b, full_rate(b) / UPKEEP_PART);
    int64_t seen = 4 * b->opens_per_beat * 1000 / most(1, b->beat_ns / DSQL_MS);
    return b->draining ? 0 : most(part, least(seen, 4 * part));
}

/* Whether more connects are wanted than there are. */
static bool is_crowded(const struct dsql_blocks *b)
{
    int64_t wanted = 0;
    for (size_t i = 0; i < b->view.count; i++)
        wanted += b->view.blocks[i].of[DSQL_FLOW].wants;
    return wanted > full_rate(b);
}

/* One of the fleet fills the pot while nobody lacks anything. */
static bool fills_pot(const struct dsql_blocks *b)
{
    return own_block(b) == b->view.blocks && !b->draining && !is_crowded(b);
}

static int64_t free_purse(const struct dsql_blocks *b)
{
    return b->config.burst - dsql_registry_purses(&b->view) - b->view.pot;
}

/* At least one for everybody, as long as that leaves a fifth of the burst to whoever is hurried. */
static int64_t upkeep_purse(const struct dsql_blocks *b)
{
    int64_t most_in_all = b->config.burst * 4 / 5;
    int64_t others = dsql_registry_purses(&b->view) - own_block(b)->purse;
    if (b->draining || b->slots == 0)
        return 0;
    if ((int64_t)b->view.count > most_in_all && others >= most_in_all)
        return 0;
    return most(1, part_of(b, b->config.burst / 2));
}

struct permit_plan {
    int64_t flow, purse;  /* to have */
    int64_t draw, give;   /* from and to the pot */
    bool hurried, urgent; /* urgent: worth a request now */
    bool surplus;         /* holds much that it does not need */
};

static void plan_flow(const struct dsql_blocks *b, int64_t need, struct permit_plan *plan)
{
    struct dsql_block *own = own_block(b);
    size_t index = (size_t)(own - b->view.blocks);
    int64_t all = full_rate(b), room = all - dsql_registry_sum(&b->view, DSQL_FLOW);
    int64_t wants = upkeep_flow(b);
    if (plan->hurried) /* in half a second */
        wants = most(wants, least(all, 2 * least(need, b->config.rate) * DSQL_PERMIT));
    else if (fills_pot(b) && (free_purse(b) > 0 || b->purse_most > upkeep_purse(b)))
        wants += all / POT_PART;
    own->of[DSQL_FLOW].wants = wants;
    int64_t share = dsql_registry_share(&b->view, DSQL_FLOW, index, all);
    bool others_lack = dsql_registry_lacking(&b->view, DSQL_FLOW, index, all) > room;
    int64_t raise = least(room, share - b->flow);
    plan->flow = b->flow;
    if (raise > (plan->hurried ? b->flow / 64 : b->flow)) /* less is worth no conflict */
        plan->flow += raise;
    else if (wants < b->flow / 2)
        plan->flow = wants;
    else if (others_lack && share < b->flow)
        plan->flow = share;
}

static void plan_purse(const struct dsql_blocks *b, int64_t need, int64_t have,
                       struct permit_plan *plan)
{
    int64_t burst = b->config.burst, owners = most(1, (int64_t)b->view.count);
    int64_t keep = upkeep_purse(b), lack = plan->hurried ? need - have : 0;
    int64_t batch = most(1, most(burst / 4, burst / owners));
    if (plan->hurried)
        keep = most(most(1, keep), least(need, most(have, plan->flow / 2 / DSQL_PERMIT)));
    plan->purse = b->purse_most;
    plan->draw = least(batch, least(b->view.pot, most(lack, keep - b->purse_most)));
    if (plan->draw > 0) {
        plan->purse += plan->draw;
    } else if (fills_pot(b) &&
               !plan->hurried) { /* what flows in beyond its own goes into the pot */
        plan->give = most(0, have - keep);
        plan->purse -= plan->give;
        keep = plan->purse + most(0, free_purse(b));
    } else if (keep < b->purse_most) {
        plan->purse = keep;
        plan->give = most(0, have - keep);
    }
    if (plan->purse < keep) /* room without permits */
        plan->purse += least(most(0, free_purse(b)), keep - plan->purse);
    int64_t enough = least(lack, most(1, least(batch, b->config.rate / 4)));
    if (plan->hurried && plan->draw >= lack)
        plan->flow = least(plan->flow, b->flow); /* that is enough */
    plan->urgent = plan->hurried && (plan->draw >= enough || plan->flow > b->flow);
    int64_t wants = own_block(b)->of[DSQL_FLOW].wants;
    int64_t much = is_crowded(b) ? 100 : 16;
    plan->surplus = most(b->flow - plan->flow, b->told_flow - wants) > full_rate(b) / much ||
                    b->purse_most - plan->purse > burst / 16;
}

static struct permit_plan plan_permits(const struct dsql_blocks *b, struct dsql_mono now)
{
    struct permit_plan plan = {.hurried = is_hurried(b, now)};
    int64_t need = needed(b, now), have = dsql_blocks_permits(b, now);
    plan_flow(b, need, &plan);
    plan_purse(b, need, have, &plan);
    if (b->slow_pending || dsql_mono_before(now, b->slow_until))
        plan.urgent = false;
    return plan;
}

/* How often a hurried owner looks: the larger the fleet, the more each look costs the one item. */
static int64_t brisk_ns(const struct dsql_blocks *b)
{
    int64_t owners = (int64_t)b->view.count, units = 1 + owners * DSQL_OWNER_BYTES / 1024;
    int64_t ns = most(DSQL_S, owners * units * DSQL_S / UNITS_A_SECOND);
    return least(b->beat_ns, ns - ns / 4 * b->jitter / PER_MILLE);
}

/* (K3) */
static bool is_dead(const struct dsql_blocks *b, const struct dsql_blocks_seen *seen,
                    struct dsql_mono now)
{
    /* Nearly always enough, and asked for every owner at every turn. */
    if (dsql_mono_since(now, seen->since) < dsql_blocks_still_ns(b->config.ttl_ns))
        return false;
    const struct dsql_block *block = dsql_registry_find(&b->view, seen->id);
    int64_t still_ns = dsql_blocks_still_ns(most(b->config.ttl_ns, block->ttl_ms * DSQL_MS));
    return dsql_mono_since(now, seen->since) >= still_ns &&
           dsql_mono_since(now, b->proof) <= b->gap_ns;
}

static bool any_dead(const struct dsql_blocks *b, struct dsql_mono now)
{
    for (size_t i = 0; i < b->seen_count; i++) {
        if (is_dead(b, &b->seen[i], now))
            return true;
    }
    return false;
}

static struct dsql_mono earlier(struct dsql_mono a, struct dsql_mono b)
{
    return dsql_mono_before(a, b) ? a : b;
}

static struct dsql_mono due_at(const struct dsql_blocks *b, struct dsql_mono now)
{
    struct dsql_mono at = b->beat_at;
    if (b->busy || b->left)
        return never;
    if (!b->known || !b->joined || b->unsettled)
        return b->retry_at;
    struct slot_plan slots = plan_slots(b);
    if (slots.urgent) /* what is given back goes in parcels, not one request for each */
        at = slots.slots > b->slots ? now : earlier(at, dsql_mono_add(b->heard, PARCEL_NS));
    struct permit_plan permits = plan_permits(b, now);
    if (b->slow_pending || any_dead(b, now) || permits.urgent ||
        (b->draining && (b->used == 0 || b->purse_most > 0)))
        at = now;
    if (permits.hurried || permits.surplus || b->view.rate < full_rate(b))
        at = earlier(at, dsql_mono_add(b->heard, brisk_ns(b)));
    if (slots.starving)
        at = earlier(at, b->poll_at);
    return dsql_mono_before(at, b->retry_at) ? b->retry_at : at;
}

int64_t dsql_blocks_due_ns(const struct dsql_blocks *b, struct dsql_mono now)
{
    struct dsql_mono at = due_at(b, now);
    return at.ns == never.ns ? INT64_MAX : most(0, dsql_mono_since(at, now));
}

/* --- requests --------------------------------------------------------------------------------- */

static struct dsql_registry_op new_op(struct dsql_blocks *b, enum dsql_registry_kind kind)
{
    struct dsql_registry_op op = {.kind = kind, .beat_old = b->beat};
    op.block.beat = ++b->sequence;
    op.block.ttl_ms = b->config.ttl_ns / DSQL_MS;
    op.block.of[DSQL_SLOTS].wants = b->want;
    memcpy(op.block.id, b->config.id, sizeof(op.block.id));
    memcpy(op.block.name, b->config.name, sizeof(op.block.name));
    return op;
}

static struct dsql_registry_op join_op(struct dsql_blocks *b)
{
    struct dsql_registry_op op = new_op(b, DSQL_REGISTRY_JOIN);
    /* Our share is known once we are in it; what is free and was ours may be taken at once. */
    int64_t again = least(b->grace_slots, most(0, free_slots(b)));
    op.set_block = true;
    op.grow = again > 0;
    op.version_old = b->view.version;
    op.block.of[DSQL_SLOTS].has = again;
    return op;
}

/* Permits that leave the purse for the pot. */
static void put_back(struct dsql_blocks *b, struct dsql_registry_op *op, int64_t n)
{
    op->pot_add += n;
    b->returned += n;
    b->purse.amount -= n * DSQL_PURSE_ONE;
}

static void add_permits(struct dsql_blocks *b, struct dsql_registry_op *op, struct dsql_mono now,
                        bool beat_due)
{
    struct permit_plan plan = plan_permits(b, now);
    if (!plan.hurried && (plan.surplus || b->refusals > 1)) {
        /* Giving back never conflicts with anybody; taking can wait. A first refusal only says that
         * the view was old, and brought a new one. */
        plan.flow = least(plan.flow, b->flow);
        plan.purse = least(plan.purse, b->purse_most - plan.give + plan.draw);
    }
    op->block.of[DSQL_FLOW] = (struct dsql_part){plan.flow, own_block(b)->of[DSQL_FLOW].wants};
    op->block.purse = plan.purse;
    op->pot_add = -plan.draw;
    b->drawn = plan.draw;
    if (plan.give > 0)
        put_back(b, op, plan.give);
    op->grow = op->grow || plan.flow > b->flow || plan.purse + op->pot_add > b->purse_most;
    b->hurrying = plan.hurried;
    b->helped = plan.hurried && (b->helped || !beat_due);
}

/* The rate recovers with the time for which it was seen to be what it is. */
static void add_recovery(struct dsql_blocks *b, struct dsql_registry_op *op, struct dsql_mono now)
{
    int64_t up = full_rate(b), passed_ms = dsql_mono_since(now, b->rate_since) / DSQL_MS;
    int64_t gain = up / 1000 * least(passed_ms, INT64_C(1000) * RECOVERY_S) / RECOVERY_S;
    if (b->view.rate >= up || gain <= 0 || b->refusals > 0)
        return;
    op->set_rate = true;
    op->rate_old = b->view.rate;
    op->rate_new = least(up, b->view.rate + gain);
}

static void add_removals(struct dsql_blocks *b, struct dsql_registry_op *op, struct dsql_mono now)
{
    for (size_t i = 0; i < b->seen_count && op->remove_count < DSQL_REMOVE_MAX; i++) {
        const struct dsql_blocks_seen *seen = &b->seen[i];
        if (!is_dead(b, seen, now))
            continue;
        op->remove[op->remove_count].beat = seen->beat;
        memcpy(op->remove[op->remove_count++].id, seen->id, sizeof(seen->id));
    }
}

static struct dsql_registry_op update_op(struct dsql_blocks *b, struct dsql_mono now)
{
    struct dsql_registry_op op = new_op(b, DSQL_REGISTRY_UPDATE);
    const struct dsql_block *own = own_block(b);
    bool beat_due = !dsql_mono_before(now, b->beat_at);
    /* A beat in doubt, or one that conflicts keep from getting through, goes alone. */
    if (b->unsettled || (beat_due && b->refusals > 3))
        return op;
    struct slot_plan slots = plan_slots(b);
    op.set_block = true;
    op.block.of[DSQL_SLOTS] = (struct dsql_part){slots.slots, own->of[DSQL_SLOTS].wants};
    op.grow = slots.slots > b->slots;
    op.version_old = b->view.version;
    if (b->slow_pending) {
        op.set_rate = op.empty_pot = true;
        op.rate_old = b->view.rate;
        op.rate_new = most(DSQL_PERMIT, b->view.rate / 2);
        op.block.of[DSQL_FLOW] = (struct dsql_part){b->flow, own->of[DSQL_FLOW].wants};
        op.block.purse = b->purse_most;
    } else {
        add_permits(b, &op, now, beat_due);
        add_recovery(b, &op, now);
    }
    add_removals(b, &op, now);
    return op;
}

bool dsql_blocks_next(struct dsql_blocks *b, struct dsql_mono now, struct dsql_registry_op *op)
{
    if (b->draining && !b->joined && !b->unsettled && !b->busy)
        b->left = true;
    if (due_at(b, now).ns > now.ns)
        return false;
    fill_purse(b, now);
    b->drawn = b->returned = 0;
    if (!b->known) {
        b->flight = new_op(b, DSQL_REGISTRY_OPEN);
        b->flight.pot_new = b->config.burst;
        b->flight.rate_new = full_rate(b);
    } else if (!b->joined) {
        b->flight = join_op(b);
    } else if (b->draining && b->used == 0 && !b->unsettled) {
        b->flight = new_op(b, DSQL_REGISTRY_LEAVE);
        put_back(b, &b->flight, b->purse.amount / DSQL_PURSE_ONE);
    } else {
        b->flight = update_op(b, now);
    }
    b->busy = true;
    b->sent = now;
    b->counts.requests++;
    *op = b->flight;
    return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Both lists are sorted by id; what stood still keeps its time. */
static enum dsql_rc look_around(struct dsql_blocks *b, struct dsql_mono now, bool restart)
{
    if (b->view.count > b->seen_room) {
        size_t room = b->view.count * 2;
        void *grown = reallocarray(b->seen, room, sizeof(*b->seen));
        if (!grown)
            return DSQL_NO_MEMORY;
        b->seen = grown;
        b->seen_room = room;
    }
    /* Built behind the old list's reader: an entry is never needed after its place is written,
     * because at most as many are kept as were passed; new ones wait until the end. */
    size_t old = 0, kept = 0;
    for (size_t i = 0; i < b->view.count; i++) {
        const struct dsql_block *block = &b->view.blocks[i];
        while (old < b->seen_count && strcmp(b->seen[old].id, block->id) < 0)
            old++;
        if (old < b->seen_count && strcmp(b->seen[old].id, block->id) == 0) {
            if (restart || b->seen[old].beat != block->beat)
                b->seen[old].since = now;
            b->seen[old].beat = block->beat;
            b->seen[kept++] = b->seen[old++];
        }
    }
    b->seen_count = kept;
    for (size_t i = b->view.count; i-- > 0;) { /* merge from the back: the list only grows */
        const struct dsql_block *block = &b->view.blocks[i];
        if (kept > 0 && strcmp(b->seen[kept - 1].id, block->id) == 0) {
            b->seen[i] = b->seen[--kept];
            continue;
        }
        b->seen[i].since = now;
        b->seen[i].beat = block->beat;
        memcpy(b->seen[i].id, block->id, sizeof(block->id));
    }
    b->seen_count = b->view.count;
    /* We are not among those we watch. */
    for (size_t i = 0; i < b->seen_count; i++) {
        if (strcmp(b->seen[i].id, b->config.id) == 0) {
            memmove(&b->seen[i], &b->seen[i + 1], (b->seen_count - i - 1) * sizeof(*b->seen));
            b->seen_count--;
            break;
        }
    }
    return DSQL_OK;
}

static void forget_block(struct dsql_blocks *b, struct dsql_mono now)
{
    if (b->joined) {
        b->counts.blocks_lost++;
        b->grace_until = dsql_mono_add(now, DSQL_S);
    }
    b->grace_slots =
        dsql_mono_before(now, b->grace_until) ? least(b->used, most(0, free_slots(b))) : 0;
    b->joined = b->unsettled = false;
    b->slots = b->flow = b->purse_most = b->purse.amount = b->allow = 0;
}

/* The request that was in doubt was applied, or never will be. */
static void settle(struct dsql_blocks *b, bool applied)
{
    b->purse.amount += (applied ? b->doubt_drawn : b->doubt_returned) * DSQL_PURSE_ONE;
    if (applied) {
        if (dsql_mono_before(b->fresh_until, dsql_mono_add(b->doubt_sent, b->config.ttl_ns)))
            b->fresh_until = dsql_mono_add(b->doubt_sent, b->config.ttl_ns);
    }
    b->unsettled = false;
}

static void count_beat(struct dsql_blocks *b)
{
    if (dsql_mono_before(b->sent, b->beat_at))
        return;
    b->counts.beats++;
    b->opens_per_beat += (b->opened_since_beat * PER_MILLE - b->opens_per_beat) / 4;
    b->opened_since_beat = 0;
    b->active = b->asked = false;
}

/* What our block holds, as the table says. */
static void take_over(struct dsql_blocks *b, const struct dsql_block *own)
{
    b->slots = own->of[DSQL_SLOTS].has;
    b->flow = own->of[DSQL_FLOW].has;
    b->purse_most = own->purse;
    b->purse.amount = least(b->purse.amount, own->purse * DSQL_PURSE_ONE);
}

static void applied(struct dsql_blocks *b, struct dsql_mono now)
{
    const struct dsql_registry_op *op = &b->flight;
    const struct dsql_block *own = own_block(b);
    b->known = true;
    if (op->kind == DSQL_REGISTRY_OPEN)
        return;
    if (op->kind == DSQL_REGISTRY_LEAVE) {
        b->joined = false;
        b->left = true;
        b->slots = b->flow = b->purse_most = b->purse.amount = 0;
        return;
    }
    if (b->unsettled)
        settle(b, false);
    count_beat(b);
    b->joined = true;
    b->grace_slots = 0;
    b->purse.amount += b->drawn * DSQL_PURSE_ONE;
    b->beat = op->block.beat;
    if (!own) { /* somebody answered with another item than ours */
        forget_block(b, now);
        return;
    }
    take_over(b, own);
    b->counts.taken_away += op->remove_count;
    if (op->set_block)
        b->told_flow = op->block.of[DSQL_FLOW].wants;
    b->fresh_until = dsql_mono_add(b->sent, b->config.ttl_ns);
    int64_t beat_ns = b->beat_ns - dsql_rng_between(&b->rng, 0, b->beat_ns / 10);
    b->beat_at = dsql_mono_add(b->sent, beat_ns);
    b->refusals = 0;
    if (op->empty_pot)
        b->slow_pending = false;
}

static void refused(struct dsql_blocks *b, struct dsql_mono now)
{
    const struct dsql_block *own = b->view.exists ? own_block(b) : NULL;
    b->counts.refused++;
    b->refusals++;
    b->known = b->view.exists;
    if (b->flight.kind == DSQL_REGISTRY_LEAVE && !own)
        b->left = true;
    if (!own) {
        forget_block(b, now);
    } else {
        if (b->unsettled) {
            settle(b, own->beat == b->doubt.block.beat);
        } else {
            b->purse.amount += b->returned * DSQL_PURSE_ONE;
        }
        b->joined = true;
        b->beat = own->beat;
        take_over(b, own);
    }
    if (b->slow_pending && b->view.rate < b->slow_rate)
        b->slow_pending = false; /* somebody else has reported it */
    int64_t most_ns = b->refusals <= 2 ? 0 : (10 * DSQL_MS) << least(b->refusals, 6);
    b->retry_at = dsql_mono_add(now, dsql_rng_between(&b->rng, 0, most_ns));
}

static void lost(struct dsql_blocks *b, struct dsql_mono now)
{
    b->counts.lost++;
    if (!b->unsettled && b->flight.kind != DSQL_REGISTRY_OPEN) {
        b->unsettled = b->joined;
        b->doubt = b->flight;
        b->doubt_sent = b->sent;
        b->doubt_drawn = b->drawn;
        b->doubt_returned = b->returned;
    }
    b->failures += b->failures < 16;
    int64_t wait_ns =
        least((100 * DSQL_MS) << least(b->failures, 8), least(b->beat_ns, 5 * DSQL_S));
    b->retry_at = dsql_mono_add(now, wait_ns / 2 + dsql_rng_between(&b->rng, 0, wait_ns / 2));
}

enum dsql_rc dsql_blocks_answer(struct dsql_blocks *b, struct dsql_mono now,
                                enum dsql_blocks_outcome outcome, const struct dsql_registry *view)
{
    assert(b->busy);
    enum dsql_rc rc = DSQL_OK;
    int64_t rate = b->view.rate;
    bool first = !b->view.exists;
    fill_purse(b, now); /* by what was sure until now */
    b->busy = false;
    if (outcome != DSQL_BLOCKS_LOST)
        rc = dsql_registry_copy(&b->view, view);
    if (outcome != DSQL_BLOCKS_LOST && rc == DSQL_OK)
        rc = look_around(b, now, dsql_mono_since(b->sent, b->proof) > b->gap_ns);
    if (outcome == DSQL_BLOCKS_LOST || rc) {
        lost(b, now);
        return rc;
    }
    if (first || b->view.rate != rate)
        b->rate_since = now;
    b->heard = now;
    b->proof = b->sent;
    b->failures = 0;
    b->retry_at = now;
    if (outcome == DSQL_BLOCKS_APPLIED)
        applied(b, now);
    else
        refused(b, now);
    replan(b);
    b->jitter = dsql_rng_between(&b->rng, 0, PER_MILLE);
    if (b->joined && plan_slots(b).starving) {
        int64_t wait_ns = least(b->beat_ns, DSQL_S << least(b->starved, 6));
        b->poll_at = dsql_mono_add(now, wait_ns - dsql_rng_between(&b->rng, 0, wait_ns / 4));
        b->starved += b->starved < 16;
    } else {
        b->starved = 0;
    }
    return DSQL_OK;
}
