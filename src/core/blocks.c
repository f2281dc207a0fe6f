#include "core/blocks_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/least.h"
#include "core/backoff.h"

enum {
    BEATS_PER_TTL = 6,
    RECOVERY_S = 20,
};
#define BEAT_MAX_NS (10 * DSQL_S)
#define PARCEL_NS   (100 * DSQL_MS)

static const struct dsql_mono never = {INT64_MAX};
static const struct dsql_allowance_ops allowance_ops;

static struct dsql_blocks *of(struct dsql_allowance *a)
{
    return DSQL_CONTAINER_OF(a, struct dsql_blocks, allowance);
}

static const struct dsql_blocks *of_const(const struct dsql_allowance *a)
{
    return DSQL_CONTAINER_OF(a, const struct dsql_blocks, allowance);
}

int64_t dsql_blocks_beat_ns(int64_t ttl_ns)
{
    return dsql_least(ttl_ns / BEATS_PER_TTL, BEAT_MAX_NS);
}

/* How long an owner with this TTL may stand still before its block is taken. */
static int64_t still_ns_of(int64_t ttl_ns)
{
    /* One beat because it may have been silent for a TTL right after a beat that was due then; one
     * for an outage that ended before we noticed (tests/spin/blocks.pml finds both). */
    return dsql_ns_add(ttl_ns, 2 * dsql_blocks_beat_ns(ttl_ns));
}

void dsql_blocks_init(struct dsql_blocks *b, const struct dsql_blocks_config *config,
                      struct dsql_rng rng, struct dsql_mono now)
{
    assert(config->connections > 0 && config->headroom >= 0 &&
           config->headroom < config->connections);
    assert(config->rate > 0 && config->burst > 0 && config->ttl_ns >= DSQL_MS);
    assert(strlen(config->id) == DSQL_OWNER_ID_LEN);
    *b = (struct dsql_blocks){
        .allowance.ops = &allowance_ops,
        .config = *config,
        .beat_ns = dsql_blocks_beat_ns(config->ttl_ns),
        .rng = rng,
        .contact = {.heard = now, .proof = now},
        .held = {.fresh_until = now, .purse.at = now},
        .grace.until = now,
        .throttle.until = now,
        .pace = {.retry_at = now, .beat_at = now, .poll_at = now},
    };
    b->gap_ns = 2 * b->beat_ns;
}

static void fini(struct dsql_allowance *a)
{
    struct dsql_blocks *b = of(a);
    dsql_registry_fini(&b->view);
    free(b->others.items);
    *b = (struct dsql_blocks){.allowance.ops = &allowance_ops};
}

struct dsql_block *dsql_blocks_own(const struct dsql_blocks *b)
{
    return dsql_registry_find(&b->view, b->config.id);
}

static int64_t total(const struct dsql_blocks *b)
{
    return b->config.connections - b->config.headroom;
}

int64_t dsql_blocks_free_slots(const struct dsql_blocks *b)
{
    return total(b) - dsql_registry_sum(&b->view, DSQL_SLOTS);
}

void dsql_blocks_replan(struct dsql_blocks *b)
{
    struct dsql_block *own = dsql_blocks_own(b);
    b->held.allow = b->held.slots;
    if (!b->member.joined || !own)
        return;
    own->of[DSQL_SLOTS].wants = b->need.draining ? 0 : b->need.want;
    size_t index = (size_t)(own - b->view.blocks);
    int64_t room = dsql_blocks_free_slots(b);
    struct dsql_stake stake =
        dsql_registry_stake(&b->view, DSQL_SLOTS, index, own->of[DSQL_SLOTS].wants, total(b));
    if (room < 0 || stake.others_lack > room)
        b->held.allow = dsql_least(b->held.slots, stake.share);
    if (b->need.draining)
        b->held.allow = 0;
}

static void want(struct dsql_allowance *a, int64_t n)
{
    struct dsql_blocks *b = of(a);
    assert(n >= 0);
    if (b->need.want == n)
        return;
    b->need.want = n;
    dsql_blocks_replan(b);
}

static void used(struct dsql_allowance *a, int64_t n)
{
    struct dsql_blocks *b = of(a);
    assert(n >= 0);
    b->need.used = n;
    if (n >= dsql_least(b->need.want, b->held.slots))
        b->need.hurrying = false;
}

static void throttled(struct dsql_allowance *a, struct dsql_moment now)
{
    struct dsql_blocks *b = of(a);
    b->counts.throttled++;
    if (b->throttle.pending || dsql_mono_before(now.mono, b->throttle.until))
        return; /* this refusal belongs to the one that was noted within the last second */
    b->throttle.pending = true;
    b->throttle.rate = b->view.rate;
    b->throttle.until = dsql_mono_add(now.mono, DSQL_S);
}

static void refused_full(struct dsql_allowance *a, struct dsql_moment now)
{
    struct dsql_blocks *b = of(a);
    if (dsql_mono_since(now.mono, b->contact.heard) > DSQL_S)
        b->pace.beat_at = now.mono;
}

static void drain(struct dsql_allowance *a, bool draining)
{
    struct dsql_blocks *b = of(a);
    if (b->need.draining == draining)
        return;
    b->need.draining = draining;
    b->member.left = false;
    dsql_blocks_replan(b);
}

/* Whether our block holds what the request says, once it is applied; a LEAVE says nothing. */
static bool says_what_we_hold(const struct dsql_registry_op *op)
{
    return op->set_block || op->kind == DSQL_REGISTRY_LEAVE;
}

/* What the table gives us at least, whatever became of the request. */
static int64_t sure_after(const struct dsql_blocks_request *request, enum dsql_good good, int64_t n)
{
    return request->pending && says_what_we_hold(&request->op)
               ? dsql_least(n, request->op.block.of[good].has)
               : n;
}

static int64_t sure(const struct dsql_blocks *b, enum dsql_good good)
{
    int64_t n = good == DSQL_SLOTS ? b->held.slots : b->held.flow;
    return sure_after(&b->doubt, good, sure_after(&b->flight, good, n));
}

int64_t dsql_blocks_sure_purse(const struct dsql_blocks *b)
{
    int64_t n = b->held.purse_most;
    if (b->flight.pending && says_what_we_hold(&b->flight.op))
        n = dsql_least(n, b->flight.op.block.purse);
    if (b->doubt.pending && says_what_we_hold(&b->doubt.op))
        n = dsql_least(n, b->doubt.op.block.purse);
    return n;
}

int64_t dsql_blocks_full_rate(const struct dsql_blocks *b)
{
    return b->config.rate * DSQL_PERMIT;
}

/* After throttling each owner's flow is as much lower as the rate is. */
int64_t dsql_blocks_flow_in_effect(const struct dsql_blocks *b)
{
    int64_t flow = sure(b, DSQL_FLOW);
    if (b->view.rate >= dsql_blocks_full_rate(b))
        return flow;
    return flow * b->view.rate / dsql_blocks_full_rate(b);
}

void dsql_blocks_fill_purse(struct dsql_blocks *b, struct dsql_mono now)
{
    dsql_bucket_fill(&b->held.purse, dsql_blocks_flow_in_effect(b),
                     dsql_blocks_sure_purse(b) * DSQL_PERMIT, now);
}

void dsql_blocks_put_in_purse(struct dsql_blocks *b, int64_t n)
{
    b->held.purse.level += n * DSQL_BLOCKS_ONE;
}

int64_t dsql_blocks_permits(const struct dsql_blocks *b, struct dsql_mono now)
{
    struct dsql_bucket purse = b->held.purse;
    dsql_bucket_fill(&purse, dsql_blocks_flow_in_effect(b), dsql_blocks_sure_purse(b) * DSQL_PERMIT,
                     now);
    return purse.level / DSQL_BLOCKS_ONE;
}

int64_t dsql_blocks_slots(const struct dsql_blocks *b, struct dsql_mono now)
{
    if (!b->member.joined)
        return dsql_mono_before(now, b->grace.until) ? dsql_least(b->need.used, b->grace.slots) : 0;
    int64_t n = dsql_least(sure(b, DSQL_SLOTS), b->held.allow);
    return dsql_mono_before(now, b->held.fresh_until)
               ? n
               : dsql_least(n, b->need.used); /* (BL2), (BL4) */
}

static int64_t slots(const struct dsql_allowance *a, struct dsql_moment now)
{
    return dsql_blocks_slots(of_const(a), now.mono);
}

static bool permit(struct dsql_allowance *a, struct dsql_moment now, int64_t *wait_ns)
{
    struct dsql_blocks *b = of(a);
    bool may = b->member.joined && !b->need.draining &&
               dsql_mono_before(now.mono, b->held.fresh_until) &&
               !dsql_mono_before(now.mono, b->throttle.until);
    b->need.active = true;
    dsql_blocks_fill_purse(b, now.mono);
    if (may && b->held.purse.level >= DSQL_BLOCKS_ONE) {
        if (!b->need.helped && !dsql_permit_plan_hurried(b, now.mono))
            b->need.opened_since_beat++;
        dsql_blocks_put_in_purse(b, -1);
        b->counts.permits++;
        b->counts.waited += b->need.asked && b->need.helped;
        b->need.asked = false;
        return true;
    }
    b->need.asked = true;
    *wait_ns = DSQL_S;
    if (may)
        *wait_ns = dsql_least(DSQL_S, dsql_bucket_wait_ns(&b->held.purse, DSQL_PERMIT, now.mono));
    return false;
}

static double rate(struct dsql_allowance *a, struct dsql_moment now)
{
    const struct dsql_blocks *b = of(a);
    (void)now;
    return (double)(b->contact.known ? b->view.rate : dsql_blocks_full_rate(b)) / DSQL_PERMIT;
}

static void status(struct dsql_allowance *a, struct dsql_moment now,
                   struct dsql_allowance_status *status)
{
    const struct dsql_blocks *b = of(a);
    status->slots = dsql_blocks_slots(b, now.mono);
    status->used = b->need.used;
    status->rate = rate(a, now);
    status->rate_limit = (double)b->config.rate;
    status->burst = b->config.burst;
    status->permits = dsql_blocks_permits(b, now.mono);
    status->fleet_used = b->contact.known ? dsql_registry_sum(&b->view, DSQL_SLOTS) : -1;
    status->fleet_limit = b->config.connections;
    status->throttled = b->counts.throttled;
}

/* -- What to ask for. */

struct dsql_blocks_slot_plan dsql_blocks_plan_slots(const struct dsql_blocks *b)
{
    const struct dsql_block *own = dsql_blocks_own(b);
    struct dsql_blocks_slot_plan plan = {.slots = b->held.slots};
    size_t index = (size_t)(own - b->view.blocks);
    int64_t share = dsql_registry_share(&b->view, DSQL_SLOTS, index, total(b));
    int64_t room = dsql_blocks_free_slots(b);
    if (share > b->held.slots) {
        plan.starving = room <= 0;
        plan.urgent = room > 0;
        plan.slots += room > 0 ? dsql_least(room, share - b->held.slots) : 0;
        return plan;
    }
    int64_t keep = dsql_most(b->need.used, dsql_least(b->held.allow, own->of[DSQL_SLOTS].wants));
    if (keep < b->held.slots) {
        plan.slots = keep;
        plan.urgent = b->held.allow < b->held.slots;
    }
    return plan;
}

/* (BL3) */
static bool is_dead(const struct dsql_blocks *b, const struct dsql_blocks_seen *seen,
                    struct dsql_mono now)
{
    /* Nearly always enough, and asked for every owner at every turn. */
    if (dsql_mono_since(now, seen->since) < still_ns_of(b->config.ttl_ns))
        return false;
    const struct dsql_block *block = dsql_registry_find(&b->view, seen->id);
    int64_t still_ns = still_ns_of(dsql_most(b->config.ttl_ns, block->ttl_ms * DSQL_MS));
    return dsql_mono_since(now, seen->since) >= still_ns &&
           dsql_mono_since(now, b->contact.proof) <= b->gap_ns;
}

static bool any_dead(const struct dsql_blocks *b, struct dsql_mono now)
{
    for (size_t i = 0; i < b->others.count; i++) {
        if (is_dead(b, &b->others.items[i], now))
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
    struct dsql_mono at = b->pace.beat_at;
    if (b->flight.pending || b->member.left)
        return never;
    if (!b->contact.known || !b->member.joined || b->doubt.pending)
        return b->pace.retry_at;
    struct dsql_blocks_slot_plan slots = dsql_blocks_plan_slots(b);
    if (slots.urgent) /* what is given back goes in parcels, not one request for each */
        at = slots.slots > b->held.slots ? now
                                         : earlier(at, dsql_mono_add(b->contact.heard, PARCEL_NS));
    struct dsql_permit_plan permits = dsql_permit_plan_now(b, now);
    if (b->throttle.pending || any_dead(b, now) || permits.urgent ||
        (b->need.draining && (b->need.used == 0 || b->held.purse_most > 0)))
        at = now;
    if (permits.hurried || permits.surplus || b->view.rate < dsql_blocks_full_rate(b))
        at = earlier(at, dsql_mono_add(b->contact.heard, dsql_permit_plan_brisk_ns(b)));
    if (slots.starving)
        at = earlier(at, b->pace.poll_at);
    if (dsql_mono_before(at, b->pace.retry_at))
        at = b->pace.retry_at;
    return at;
}

static int64_t due_ns(const struct dsql_allowance *a, struct dsql_moment now)
{
    struct dsql_mono at = due_at(of_const(a), now.mono);
    return at.ns == never.ns ? INT64_MAX : dsql_most(0, dsql_mono_since(at, now.mono));
}

static bool left(const struct dsql_allowance *a)
{
    return of_const(a)->member.left;
}

static const struct dsql_allowance_ops allowance_ops = {
    .want = want,
    .used = used,
    .slots = slots,
    .permit = permit,
    .rate = rate,
    .throttled = throttled,
    .refused_full = refused_full,
    .drain = drain,
    .left = left,
    .due_ns = due_ns,
    .status = status,
    .fini = fini,
};

/* -- Requests. */

/* A beat that no process has written; it fits into what the table's reader accepts. */
static int64_t beat_from(const struct dsql_blocks *b, uint64_t nonce)
{
    int64_t beat = (int64_t)(nonce >> 15) + 1;
    return beat == b->member.beat ? beat + 1 : beat;
}

static struct dsql_registry_op new_op(struct dsql_blocks *b, enum dsql_registry_kind kind,
                                      uint64_t nonce)
{
    struct dsql_registry_op op = {.kind = kind, .beat_old = b->member.beat, .limit = total(b)};
    op.block.beat = beat_from(b, nonce);
    op.block.ttl_ms = b->config.ttl_ns / DSQL_MS;
    op.block.of[DSQL_SLOTS].wants = b->need.want;
    memcpy(op.block.id, b->config.id, sizeof(op.block.id));
    memcpy(op.block.name, b->config.name, sizeof(op.block.name));
    return op;
}

void dsql_blocks_forget_identity(struct dsql_blocks *b)
{
    b->member.spent = true;
    b->member.join_count = b->late.count = 0;
    b->member.probe_beat = 0;
}

static struct dsql_registry_op join_op(struct dsql_blocks *b, struct dsql_mono now, uint64_t nonce)
{
    if (b->member.join_count == DSQL_BLOCKS_JOINS)
        dsql_blocks_forget_identity(b);
    if (b->member.spent) {
        (void)snprintf(b->config.id, sizeof(b->config.id), "%016llx", (unsigned long long)nonce);
        b->member.spent = false;
    }
    struct dsql_registry_op op = new_op(b, DSQL_REGISTRY_JOIN, nonce);
    /* Each try has a beat of its own: a block that was taken away does not come back as it was. */
    b->member.first_sent = b->member.join_count == 0 ? now : b->member.first_sent;
    b->member.joins[b->member.join_count++] = op.block.beat;
    /* Our share is known once we are in it; what is free and was ours may be taken at once. */
    int64_t again = dsql_least(b->grace.slots, dsql_most(0, dsql_blocks_free_slots(b)));
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
    b->flight.returned += n;
    dsql_blocks_put_in_purse(b, -n);
}

static void add_permits(struct dsql_blocks *b, struct dsql_registry_op *op, struct dsql_mono now,
                        bool beat_due)
{
    struct dsql_permit_plan plan = dsql_permit_plan_now(b, now);
    if (!plan.hurried && (plan.surplus || b->pace.refusals > 1)) {
        /* Giving back never conflicts with another owner; taking can wait. A first refusal only
         * says that the view was old, and brought a new one. */
        plan.flow = dsql_least(plan.flow, b->held.flow);
        plan.purse = dsql_least(plan.purse, b->held.purse_most - plan.give + plan.draw);
    }
    op->block.of[DSQL_FLOW] = (struct dsql_part){plan.flow, plan.wants};
    op->block.purse = plan.purse;
    op->pot_add = -plan.draw;
    b->flight.drawn = plan.draw;
    if (plan.give > 0)
        put_back(b, op, plan.give);
    op->grow =
        op->grow || plan.flow > b->held.flow || plan.purse + op->pot_add > b->held.purse_most;
    b->need.hurrying = plan.hurried;
    b->need.helped = plan.hurried && (b->need.helped || !beat_due);
}

/* The rate recovers with the time for which it was seen to be what it is. */
static void add_recovery(struct dsql_blocks *b, struct dsql_registry_op *op, struct dsql_mono now)
{
    int64_t up = dsql_blocks_full_rate(b);
    int64_t passed_ms = dsql_mono_since(now, b->throttle.rate_since) / DSQL_MS;
    int64_t gain = up / 1000 * dsql_least(passed_ms, INT64_C(1000) * RECOVERY_S) / RECOVERY_S;
    if (b->view.rate >= up || gain <= 0 || b->pace.refusals > 0)
        return;
    op->set_rate = true;
    op->rate_old = b->view.rate;
    op->rate_new = dsql_least(up, b->view.rate + gain);
}

static void add_removals(struct dsql_blocks *b, struct dsql_registry_op *op, struct dsql_mono now)
{
    for (size_t i = 0; i < b->others.count && op->remove_count < DSQL_REMOVE_MAX; i++) {
        const struct dsql_blocks_seen *seen = &b->others.items[i];
        if (!is_dead(b, seen, now))
            continue;
        op->remove[op->remove_count].beat = seen->beat;
        memcpy(op->remove[op->remove_count++].id, seen->id, sizeof(seen->id));
    }
}

static struct dsql_registry_op update_op(struct dsql_blocks *b, struct dsql_mono now,
                                         uint64_t nonce)
{
    struct dsql_registry_op op = new_op(b, DSQL_REGISTRY_UPDATE, nonce);
    const struct dsql_block *own = dsql_blocks_own(b);
    bool beat_due = !dsql_mono_before(now, b->pace.beat_at);
    /* A beat in doubt, or one that conflicts keep from getting through, goes alone. */
    if (b->doubt.pending) {
        /* Every repetition carries the same beat, by which the one that was applied is known. */
        b->member.first_sent = b->member.probe_beat == 0 ? now : b->member.first_sent;
        b->member.probe_beat = b->member.probe_beat == 0 ? op.block.beat : b->member.probe_beat;
        op.block.beat = b->member.probe_beat;
        return op;
    }
    if (beat_due && b->pace.refusals > 3)
        return op;
    struct dsql_blocks_slot_plan slots = dsql_blocks_plan_slots(b);
    op.set_block = true;
    op.block.of[DSQL_SLOTS] = (struct dsql_part){slots.slots, own->of[DSQL_SLOTS].wants};
    op.grow = slots.slots > b->held.slots;
    op.version_old = b->view.version;
    if (b->throttle.pending) {
        op.set_rate = op.empty_pot = true;
        op.rate_old = b->view.rate;
        op.rate_new = dsql_most(DSQL_PERMIT, b->view.rate / 2);
        op.block.of[DSQL_FLOW] = (struct dsql_part){b->held.flow, own->of[DSQL_FLOW].wants};
        op.block.purse = b->held.purse_most;
    } else {
        add_permits(b, &op, now, beat_due);
        add_recovery(b, &op, now);
    }
    add_removals(b, &op, now);
    return op;
}

bool dsql_blocks_next(struct dsql_blocks *b, struct dsql_mono now, uint64_t nonce,
                      struct dsql_registry_op *op)
{
    if (b->need.draining && !b->member.joined && !b->doubt.pending && !b->flight.pending)
        b->member.left = true;
    if (due_at(b, now).ns > now.ns)
        return false;
    dsql_blocks_fill_purse(b, now);
    b->flight.drawn = b->flight.returned = 0;
    if (!b->contact.known) {
        b->flight.op = new_op(b, DSQL_REGISTRY_OPEN, nonce);
        b->flight.op.pot_new = b->config.burst;
        b->flight.op.rate_new = dsql_blocks_full_rate(b);
    } else if (!b->member.joined) {
        b->flight.op = join_op(b, now, nonce);
    } else if (b->need.draining && b->need.used == 0 && !b->doubt.pending) {
        b->flight.op = new_op(b, DSQL_REGISTRY_LEAVE, nonce);
        put_back(b, &b->flight.op, b->held.purse.level / DSQL_BLOCKS_ONE);
    } else {
        b->flight.op = update_op(b, now, nonce);
    }
    b->flight.pending = true;
    b->flight.sent = now;
    b->counts.requests++;
    *op = b->flight.op;
    return true;
}
