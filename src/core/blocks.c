#include "core/blocks.h"

#include <stdlib.h>

enum { PER_MILLE = 1000, BEATS_PER_TTL = 6, RECOVERY_S = 20 };
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
    return total(b) - dsql_registry_slots(&b->view);
}

/* Shares follow from the view and from what we want now. */
static void replan(struct dsql_blocks *b)
{
    struct dsql_block *own = own_block(b);
    b->allow = b->slots;
    if (!b->joined || !own)
        return;
    own->want = b->draining ? 0 : b->want;
    size_t index = (size_t)(own - b->view.blocks);
    int64_t room = free_slots(b);
    if (room < 0 || dsql_registry_lacking(&b->view, index, total(b)) > room)
        b->allow = least(b->slots, dsql_registry_share(&b->view, index, total(b)));
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

/* What the table may give us at least, whatever became of requests in doubt. */
static int64_t sure_slots(const struct dsql_blocks *b)
{
    int64_t n = b->slots;
    if (b->busy && b->flight.set_block)
        n = least(n, b->flight.block.slots);
    if (b->unsettled && b->doubt.set_block)
        n = least(n, b->doubt.block.slots);
    return n;
}

int64_t dsql_blocks_slots(const struct dsql_blocks *b, struct dsql_mono now)
{
    if (!b->joined)
        return dsql_mono_before(now, b->grace_until) ? least(b->used, b->grace_slots) : 0;
    int64_t n = least(sure_slots(b), b->allow);
    return dsql_mono_before(now, b->fresh_until) ? n : least(n, b->used); /* (K2), (K4) */
}

bool dsql_blocks_permit(struct dsql_blocks *b, struct dsql_mono now)
{
    b->active = true;
    if (b->joined && b->held > 0 && !b->draining && dsql_mono_before(now, b->fresh_until) &&
        !dsql_mono_before(now, b->slow_until)) {
        b->held--;
        b->opened_since_beat++;
        return true;
    }
    b->asked = true;
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
    int64_t share = dsql_registry_share(&b->view, index, total(b)), room = free_slots(b);
    if (share > b->slots) {
        plan.starving = room <= 0;
        plan.urgent = room > 0;
        plan.slots += room > 0 ? least(room, share - b->slots) : 0;
        return plan;
    }
    int64_t keep = most(b->used, least(b->allow, own->want));
    if (keep < b->slots) {
        plan.slots = keep;
        plan.urgent = b->allow < b->slots;
    }
    return plan;
}

struct permit_plan {
    int64_t draw, give;    /* permits */
    bool claim;            /* needs what flowed in */
    int64_t flow;          /* thousandths */
    struct dsql_mono when; /* to draw; never if nothing is needed */
};

static int64_t rate_in_effect(const struct dsql_blocks *b)
{
    return most(1, least(b->view.rate, b->config.rate * DSQL_PERMIT));
}

/* level + permits + spent: see registry.h. */
static int64_t bucket_sum(const struct dsql_blocks *b)
{
    return b->view.level + b->view.spent + dsql_registry_permits(&b->view) * DSQL_PERMIT;
}

/* What time has let flow in since the claim was first seen, as far as there is room. */
static int64_t flow_by(const struct dsql_blocks *b, struct dsql_mono now)
{
    int64_t room = b->config.burst * DSQL_PERMIT - bucket_sum(b), rate = rate_in_effect(b);
    int64_t passed_ns = dsql_mono_since(now, b->claim_since);
    if (room <= 0 || passed_ns <= 0)
        return 0;
    if (passed_ns / DSQL_S > room / rate)
        return room;
    return least(room, (passed_ns / DSQL_US) * rate / (DSQL_S / DSQL_US));
}

/* Permits kept for connections that will have to be replaced before the next beat: few enough that
 * the fleet's stocks leave half of the burst to whoever needs it. */
static int64_t stock(const struct dsql_blocks *b)
{
    int64_t owners = (int64_t)most(1, (int64_t)b->view.count);
    int64_t expected = b->opens_per_beat > 0 ? b->opens_per_beat * 2 / PER_MILLE + 3 : 0;
    return b->draining ? 0 : least(expected, b->config.burst / (2 * owners));
}

static int64_t batch(const struct dsql_blocks *b)
{
    int64_t owners = (int64_t)most(1, (int64_t)b->view.count);
    return most(1, most(b->config.burst / 4, b->config.burst / owners));
}

static struct permit_plan plan_permits(const struct dsql_blocks *b, struct dsql_mono now,
                                       bool beat_due)
{
    struct permit_plan plan = {.when = never};
    int64_t need = most(0, least(b->want, dsql_blocks_slots(b, now)) - b->used);
    if (b->asked)
        need = most(need, 1);
    if (b->draining || !b->active)
        need = 0; /* who does not ask would only keep permits from others */
    int64_t aim = most(need, stock(b));
    if (b->held > aim) {
        plan.give = beat_due || b->draining ? b->held - aim : 0;
        return plan;
    }
    if (b->slow_pending || dsql_mono_before(now, b->slow_until) ||
        !(b->held < need || (beat_due && b->held < aim)))
        return plan;
    int64_t lack = least(aim - b->held, batch(b)), rate = rate_in_effect(b);
    /* Waiting for a fair amount makes few requests of many connects. */
    int64_t enough = least(lack, most(1, least(batch(b), rate / 4 / DSQL_PERMIT)));
    int64_t level = b->view.level;
    plan.draw = least(lack, level / DSQL_PERMIT);
    if (plan.draw < enough) {
        plan.flow = flow_by(b, now);
        plan.claim = plan.flow > 0;
        plan.draw = least(lack, (level + plan.flow) / DSQL_PERMIT);
    }
    if (plan.draw >= enough) {
        plan.when = now;
        return plan;
    }
    int64_t room = b->config.burst * DSQL_PERMIT - bucket_sum(b);
    int64_t missing = enough * DSQL_PERMIT - level, wait_ns;
    plan.draw = 0;
    if (missing <= room) {
        plan.claim = false;
        wait_ns = missing * DSQL_MS / rate * 1000 + DSQL_US;
        wait_ns += wait_ns / 4 * b->draw_jitter / PER_MILLE;
        plan.when = dsql_mono_add(b->claim_since, wait_ns);
    } else if (b->view.spent > 0) { /* a claim forgets what was spent, and makes room */
        plan.claim = true;
        plan.when = dsql_mono_add(b->claim_since, PARCEL_NS);
    } else { /* others hold it: look again soon */
        plan.claim = false;
        plan.when = dsql_mono_add(b->heard, DSQL_S / 4);
    }
    plan.when.ns = most(plan.when.ns, now.ns);
    return plan;
}

/* What was used and not yet reported keeps others from connecting once it is more than our part of
 * half the burst. */
static bool owes_report(const struct dsql_blocks *b)
{
    return b->permits - b->held - b->returning >
           b->config.burst / (2 * (int64_t)most(1, (int64_t)b->view.count));
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
    if (b->slow_pending || any_dead(b, now) || (b->draining && (b->used == 0 || b->held > 0)))
        at = now;
    if (owes_report(b))
        at = earlier(at, dsql_mono_add(b->heard, PARCEL_NS));
    if (slots.starving)
        at = earlier(at, b->poll_at);
    at = earlier(at, plan_permits(b, now, false).when);
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
    op.block.want = b->want;
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
    op.block.slots = again;
    return op;
}

static void add_permits(struct dsql_blocks *b, struct dsql_registry_op *op, struct dsql_mono now,
                        bool beat_due)
{
    struct permit_plan plan = plan_permits(b, now, beat_due);
    if (plan.when.ns > now.ns)
        plan = (struct permit_plan){.give = plan.give};
    const struct dsql_block *own = own_block(b);
    bool leads = beat_due && own == b->view.blocks && !b->slow_pending;
    if (!plan.claim && leads && b->refusals == 0) { /* somebody lets it fill while nobody asks */
        plan.flow = flow_by(b, now);
        plan.claim = plan.flow > 0 || b->view.spent > 0;
    }
    if (!plan.claim)
        plan.flow = 0;
    int64_t spent = b->permits - b->held; /* used since the table was told */
    b->held -= plan.give;
    b->returning += plan.give;
    b->returned = plan.give;
    b->drawn = plan.draw;
    op->block.permits = b->held + plan.draw;
    op->spent_add += spent * DSQL_PERMIT;
    op->level_add = (plan.give - plan.draw) * DSQL_PERMIT + plan.flow;
    op->level_min = most(0, plan.draw * DSQL_PERMIT - plan.flow);
    if (plan.claim) {
        int64_t up = b->config.rate * DSQL_PERMIT;
        int64_t passed_ms =
            least(INT64_C(1000) * RECOVERY_S, dsql_mono_since(now, b->claim_since) / DSQL_MS);
        op->claim = true;
        op->claim_old = b->view.claim;
        op->spent_add -= b->view.spent;
        op->rate_new = least(up, most(b->view.rate, 1) + up / 1000 * passed_ms / RECOVERY_S);
        if (b->view.rate > up)
            op->rate_new = b->view.rate; /* another owner may be allowed more */
    }
}

static void add_removals(struct dsql_blocks *b, struct dsql_registry_op *op, struct dsql_mono now)
{
    for (size_t i = 0; i < b->seen_count && op->remove_count < DSQL_REMOVE_MAX; i++) {
        const struct dsql_blocks_seen *seen = &b->seen[i];
        if (!is_dead(b, seen, now))
            continue;
        op->remove[op->remove_count].beat = seen->beat;
        memcpy(op->remove[op->remove_count++].id, seen->id, sizeof(seen->id));
        op->spent_add += dsql_registry_find(&b->view, seen->id)->permits * DSQL_PERMIT;
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
    op.block.slots = slots.slots;
    op.block.want = own->want;
    op.grow = slots.slots > b->slots;
    op.version_old = b->view.version;
    if (b->slow_pending) {
        op.slow = true;
        op.rate_old = b->view.rate;
        op.rate_new = most(DSQL_PERMIT, b->view.rate / 2);
        op.spent_add = (b->permits - b->held) * DSQL_PERMIT;
        op.block.permits = b->held;
    } else {
        add_permits(b, &op, now, beat_due);
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
    b->drawn = b->returned = 0;
    if (!b->known) {
        b->flight = new_op(b, DSQL_REGISTRY_OPEN);
        b->flight.level_new = b->config.burst * DSQL_PERMIT;
        b->flight.rate_new = b->config.rate * DSQL_PERMIT;
    } else if (!b->joined) {
        b->flight = join_op(b);
    } else if (b->draining && b->used == 0 && !b->unsettled) {
        b->flight = new_op(b, DSQL_REGISTRY_LEAVE);
        b->flight.level_add = b->held * DSQL_PERMIT;
        b->flight.spent_add = (b->permits - b->held) * DSQL_PERMIT;
        b->returning += b->held;
        b->returned = b->held;
        b->held = 0;
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
    b->slots = b->permits = b->held = b->returning = b->allow = 0;
}

/* The request that was in doubt was applied, or never will be. */
static void settle(struct dsql_blocks *b, bool applied)
{
    if (applied) {
        b->held += b->doubt_drawn;
        b->returning -= b->doubt_returned;
        if (dsql_mono_before(b->fresh_until, dsql_mono_add(b->doubt_sent, b->config.ttl_ns)))
            b->fresh_until = dsql_mono_add(b->doubt_sent, b->config.ttl_ns);
    } else {
        b->held += b->doubt_returned;
        b->returning -= b->doubt_returned;
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
        b->slots = b->permits = b->returning = 0;
        return;
    }
    if (b->unsettled)
        settle(b, false);
    count_beat(b);
    b->joined = true;
    b->grace_slots = 0;
    b->held += b->drawn;
    b->returning -= b->returned;
    if (b->drawn > 0)
        b->asked = false;
    b->beat = op->block.beat;
    if (!own) { /* somebody answered with another item than ours */
        forget_block(b, now);
        return;
    }
    b->slots = own->slots;
    b->permits = own->permits;
    b->counts.taken_away += op->remove_count;
    b->fresh_until = dsql_mono_add(b->sent, b->config.ttl_ns);
    int64_t beat_ns = b->beat_ns - dsql_rng_between(&b->rng, 0, b->beat_ns / 10);
    b->beat_at = dsql_mono_add(b->sent, beat_ns);
    b->refusals = 0;
    if (op->slow)
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
            b->held += b->returned;
            b->returning -= b->returned;
        }
        b->joined = true;
        b->beat = own->beat;
        b->slots = own->slots;
        b->permits = own->permits;
        /* A block that a late request of ours made again holds nothing we know of. */
        b->held = least(b->held, b->permits);
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
    int64_t claim = b->view.claim;
    bool first = !b->view.exists;
    b->busy = false;
    if (outcome != DSQL_BLOCKS_LOST)
        rc = dsql_registry_copy(&b->view, view);
    if (outcome != DSQL_BLOCKS_LOST && rc == DSQL_OK)
        rc = look_around(b, now, dsql_mono_since(b->sent, b->proof) > b->gap_ns);
    if (outcome == DSQL_BLOCKS_LOST || rc) {
        lost(b, now);
        return rc;
    }
    if (first || b->view.claim != claim)
        b->claim_since = now;
    b->heard = now;
    b->proof = b->sent;
    b->failures = 0;
    b->retry_at = now;
    if (outcome == DSQL_BLOCKS_APPLIED)
        applied(b, now);
    else
        refused(b, now);
    replan(b);
    b->draw_jitter = dsql_rng_between(&b->rng, 0, PER_MILLE);
    if (b->joined && plan_slots(b).starving) {
        int64_t wait_ns = least(b->beat_ns, DSQL_S << least(b->starved, 6));
        b->poll_at = dsql_mono_add(now, wait_ns - dsql_rng_between(&b->rng, 0, wait_ns / 4));
        b->starved += b->starved < 16;
    } else {
        b->starved = 0;
    }
    return DSQL_OK;
}
