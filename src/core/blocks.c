#include "core/blocks.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/least.h"
#include "core/backoff.h"
#include "core/permit_plan.h"

enum {
    PER_MILLE = 1000,
    BEATS_PER_TTL = 6,
    RECOVERY_S = 20,
};
#define BEAT_MAX_NS (10 * DSQL_S)
#define PARCEL_NS   (100 * DSQL_MS)
#define ONE         (DSQL_PERMIT * DSQL_S) /* a permit, in the purse's level */

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

int64_t dsql_blocks_still_ns(int64_t ttl_ns)
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

static void fini(struct dsql_allowance *a)
{
    struct dsql_blocks *b = of(a);
    dsql_registry_fini(&b->view);
    free(b->seen);
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

static int64_t free_slots(const struct dsql_blocks *b)
{
    return total(b) - dsql_registry_sum(&b->view, DSQL_SLOTS);
}

/* Shares follow from the view and from what we want now. */
static void replan(struct dsql_blocks *b)
{
    struct dsql_block *own = dsql_blocks_own(b);
    b->allow = b->slots;
    if (!b->joined || !own)
        return;
    own->of[DSQL_SLOTS].wants = b->draining ? 0 : b->want;
    size_t index = (size_t)(own - b->view.blocks);
    int64_t room = free_slots(b);
    struct dsql_stake stake =
        dsql_registry_stake(&b->view, DSQL_SLOTS, index, own->of[DSQL_SLOTS].wants, total(b));
    if (room < 0 || stake.others_lack > room)
        b->allow = dsql_least(b->slots, stake.share);
    if (b->draining)
        b->allow = 0;
}

static void want(struct dsql_allowance *a, int64_t n)
{
    struct dsql_blocks *b = of(a);
    assert(n >= 0);
    if (b->want == n)
        return;
    b->want = n;
    replan(b);
}

static void used(struct dsql_allowance *a, int64_t n)
{
    struct dsql_blocks *b = of(a);
    assert(n >= 0);
    b->used = n;
    if (n >= dsql_least(b->want, b->slots))
        b->hurrying = false;
}

static void throttled(struct dsql_allowance *a, struct dsql_moment now)
{
    struct dsql_blocks *b = of(a);
    b->counts.throttled++;
    if (b->slow_pending || dsql_mono_before(now.mono, b->slow_until))
        return; /* the same storm */
    b->slow_pending = true;
    b->slow_rate = b->view.rate;
    b->slow_until = dsql_mono_add(now.mono, DSQL_S);
}

static void refused_full(struct dsql_allowance *a, struct dsql_moment now)
{
    struct dsql_blocks *b = of(a);
    if (dsql_mono_since(now.mono, b->heard) > DSQL_S)
        b->beat_at = now.mono;
}

static void drain(struct dsql_allowance *a, bool draining)
{
    struct dsql_blocks *b = of(a);
    if (b->draining == draining)
        return;
    b->draining = draining;
    b->left = false;
    replan(b);
}

/* Whether our block holds what the request says, once it is applied; a LEAVE says nothing. */
static bool says_what_we_hold(const struct dsql_registry_op *op)
{
    return op->set_block || op->kind == DSQL_REGISTRY_LEAVE;
}

/* What the table gives us at least, whatever became of requests in doubt. */
static int64_t sure(const struct dsql_blocks *b, enum dsql_good good)
{
    int64_t n = good == DSQL_SLOTS ? b->slots : b->flow;
    if (b->busy && says_what_we_hold(&b->flight))
        n = dsql_least(n, b->flight.block.of[good].has);
    if (b->unsettled && says_what_we_hold(&b->doubt))
        n = dsql_least(n, b->doubt.block.of[good].has);
    return n;
}

int64_t dsql_blocks_sure_purse(const struct dsql_blocks *b)
{
    int64_t n = b->purse_most;
    if (b->busy && says_what_we_hold(&b->flight))
        n = dsql_least(n, b->flight.block.purse);
    if (b->unsettled && says_what_we_hold(&b->doubt))
        n = dsql_least(n, b->doubt.block.purse);
    return n;
}

int64_t dsql_blocks_full_rate(const struct dsql_blocks *b)
{
    return b->config.rate * DSQL_PERMIT;
}

/* After throttling everybody's flow is as much lower as the rate is. */
int64_t dsql_blocks_flow_in_effect(const struct dsql_blocks *b)
{
    int64_t flow = sure(b, DSQL_FLOW);
    if (b->view.rate >= dsql_blocks_full_rate(b))
        return flow;
    return flow * b->view.rate / dsql_blocks_full_rate(b);
}

/* Before anything changes that flow or purse depend on. */
static void fill_purse(struct dsql_blocks *b, struct dsql_mono now)
{
    dsql_bucket_fill(&b->purse, dsql_blocks_flow_in_effect(b),
                     dsql_blocks_sure_purse(b) * DSQL_PERMIT, now);
}

/* n < 0: takes them out. More than the purse holds are lost when it is filled next. */
static void put_in_purse(struct dsql_blocks *b, int64_t n)
{
    b->purse.level += n * ONE;
}

int64_t dsql_blocks_permits(const struct dsql_blocks *b, struct dsql_mono now)
{
    struct dsql_bucket purse = b->purse;
    dsql_bucket_fill(&purse, dsql_blocks_flow_in_effect(b), dsql_blocks_sure_purse(b) * DSQL_PERMIT,
                     now);
    return purse.level / ONE;
}

int64_t dsql_blocks_slots(const struct dsql_blocks *b, struct dsql_mono now)
{
    if (!b->joined)
        return dsql_mono_before(now, b->grace_until) ? dsql_least(b->used, b->grace_slots) : 0;
    int64_t n = dsql_least(sure(b, DSQL_SLOTS), b->allow);
    return dsql_mono_before(now, b->fresh_until) ? n : dsql_least(n, b->used); /* (K2), (K4) */
}

static int64_t slots(const struct dsql_allowance *a, struct dsql_moment now)
{
    return dsql_blocks_slots(of_const(a), now.mono);
}

static bool permit(struct dsql_allowance *a, struct dsql_moment now, int64_t *wait_ns)
{
    struct dsql_blocks *b = of(a);
    bool may = b->joined && !b->draining && dsql_mono_before(now.mono, b->fresh_until) &&
               !dsql_mono_before(now.mono, b->slow_until);
    b->active = true;
    fill_purse(b, now.mono);
    if (may && b->purse.level >= ONE) {
        if (!b->helped && !dsql_permit_plan_hurried(b, now.mono))
            b->opened_since_beat++;
        put_in_purse(b, -1);
        b->counts.permits++;
        b->counts.waited += b->asked && b->helped;
        b->asked = false;
        return true;
    }
    b->asked = true;
    *wait_ns = DSQL_S;
    if (may)
        *wait_ns = dsql_least(DSQL_S, dsql_bucket_wait_ns(&b->purse, DSQL_PERMIT, now.mono));
    return false;
}

static double rate(struct dsql_allowance *a, struct dsql_moment now)
{
    const struct dsql_blocks *b = of(a);
    (void)now;
    return (double)(b->known ? b->view.rate : dsql_blocks_full_rate(b)) / DSQL_PERMIT;
}

static void status(struct dsql_allowance *a, struct dsql_moment now,
                   struct dsql_allowance_status *status)
{
    const struct dsql_blocks *b = of(a);
    status->slots = dsql_blocks_slots(b, now.mono);
    status->used = b->used;
    status->rate = rate(a, now);
    status->rate_limit = (double)b->config.rate;
    status->burst = b->config.burst;
    status->permits = dsql_blocks_permits(b, now.mono);
    status->fleet_used = b->known ? dsql_registry_sum(&b->view, DSQL_SLOTS) : -1;
    status->fleet_limit = b->config.connections;
    status->throttled = b->counts.throttled;
}

/* --- what to ask for -------------------------------------------------------------------------- */

struct slot_plan {
    int64_t slots; /* to have */
    bool urgent;   /* at once; otherwise with the next beat */
    bool starving; /* would take more, but there is nothing */
};

static struct slot_plan plan_slots(const struct dsql_blocks *b)
{
    const struct dsql_block *own = dsql_blocks_own(b);
    struct slot_plan plan = {.slots = b->slots};
    size_t index = (size_t)(own - b->view.blocks);
    int64_t share = dsql_registry_share(&b->view, DSQL_SLOTS, index, total(b));
    int64_t room = free_slots(b);
    if (share > b->slots) {
        plan.starving = room <= 0;
        plan.urgent = room > 0;
        plan.slots += room > 0 ? dsql_least(room, share - b->slots) : 0;
        return plan;
    }
    int64_t keep = dsql_most(b->used, dsql_least(b->allow, own->of[DSQL_SLOTS].wants));
    if (keep < b->slots) {
        plan.slots = keep;
        plan.urgent = b->allow < b->slots;
    }
    return plan;
}

/* (K3) */
static bool is_dead(const struct dsql_blocks *b, const struct dsql_blocks_seen *seen,
                    struct dsql_mono now)
{
    /* Nearly always enough, and asked for every owner at every turn. */
    if (dsql_mono_since(now, seen->since) < dsql_blocks_still_ns(b->config.ttl_ns))
        return false;
    const struct dsql_block *block = dsql_registry_find(&b->view, seen->id);
    int64_t still_ns = dsql_blocks_still_ns(dsql_most(b->config.ttl_ns, block->ttl_ms * DSQL_MS));
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
    struct dsql_permit_plan permits = dsql_permit_plan_now(b, now);
    if (b->slow_pending || any_dead(b, now) || permits.urgent ||
        (b->draining && (b->used == 0 || b->purse_most > 0)))
        at = now;
    if (permits.hurried || permits.surplus || b->view.rate < dsql_blocks_full_rate(b))
        at = earlier(at, dsql_mono_add(b->heard, dsql_permit_plan_brisk_ns(b)));
    if (slots.starving)
        at = earlier(at, b->poll_at);
    if (dsql_mono_before(at, b->retry_at))
        at = b->retry_at;
    return at;
}

static int64_t due_ns(const struct dsql_allowance *a, struct dsql_moment now)
{
    struct dsql_mono at = due_at(of_const(a), now.mono);
    return at.ns == never.ns ? INT64_MAX : dsql_most(0, dsql_mono_since(at, now.mono));
}

static bool left(const struct dsql_allowance *a)
{
    return of_const(a)->left;
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

/* --- requests --------------------------------------------------------------------------------- */

/* A beat that nobody has written; it fits into what the table's reader accepts. */
static int64_t beat_from(const struct dsql_blocks *b, uint64_t nonce)
{
    int64_t beat = (int64_t)(nonce >> 15) + 1;
    return beat == b->beat ? beat + 1 : beat;
}

static struct dsql_registry_op new_op(struct dsql_blocks *b, enum dsql_registry_kind kind,
                                      uint64_t nonce)
{
    struct dsql_registry_op op = {.kind = kind, .beat_old = b->beat, .limit = total(b)};
    op.block.beat = beat_from(b, nonce);
    op.block.ttl_ms = b->config.ttl_ns / DSQL_MS;
    op.block.of[DSQL_SLOTS].wants = b->want;
    memcpy(op.block.id, b->config.id, sizeof(op.block.id));
    memcpy(op.block.name, b->config.name, sizeof(op.block.name));
    return op;
}

/* Copies of what this identity wrote may still be under way: none of them may meet a block of ours
 * again. */
static void forget_identity(struct dsql_blocks *b)
{
    b->spent = true;
    b->join_count = b->late_count = 0;
    b->probe_beat = 0;
}

static struct dsql_registry_op join_op(struct dsql_blocks *b, struct dsql_mono now, uint64_t nonce)
{
    if (b->join_count == DSQL_BLOCKS_JOINS)
        forget_identity(b);
    if (b->spent) {
        (void)snprintf(b->config.id, sizeof(b->config.id), "%016llx", (unsigned long long)nonce);
        b->spent = false;
    }
    struct dsql_registry_op op = new_op(b, DSQL_REGISTRY_JOIN, nonce);
    /* Each try has a beat of its own: a block that was taken away does not come back as it was. */
    b->first_sent = b->join_count == 0 ? now : b->first_sent;
    b->joins[b->join_count++] = op.block.beat;
    /* Our share is known once we are in it; what is free and was ours may be taken at once. */
    int64_t again = dsql_least(b->grace_slots, dsql_most(0, free_slots(b)));
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
    put_in_purse(b, -n);
}

static void add_permits(struct dsql_blocks *b, struct dsql_registry_op *op, struct dsql_mono now,
                        bool beat_due)
{
    struct dsql_permit_plan plan = dsql_permit_plan_now(b, now);
    if (!plan.hurried && (plan.surplus || b->refusals > 1)) {
        /* Giving back never conflicts with anybody; taking can wait. A first refusal only says that
         * the view was old, and brought a new one. */
        plan.flow = dsql_least(plan.flow, b->flow);
        plan.purse = dsql_least(plan.purse, b->purse_most - plan.give + plan.draw);
    }
    op->block.of[DSQL_FLOW] = (struct dsql_part){plan.flow, plan.wants};
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
    int64_t up = dsql_blocks_full_rate(b);
    int64_t passed_ms = dsql_mono_since(now, b->rate_since) / DSQL_MS;
    int64_t gain = up / 1000 * dsql_least(passed_ms, INT64_C(1000) * RECOVERY_S) / RECOVERY_S;
    if (b->view.rate >= up || gain <= 0 || b->refusals > 0)
        return;
    op->set_rate = true;
    op->rate_old = b->view.rate;
    op->rate_new = dsql_least(up, b->view.rate + gain);
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

static struct dsql_registry_op update_op(struct dsql_blocks *b, struct dsql_mono now,
                                         uint64_t nonce)
{
    struct dsql_registry_op op = new_op(b, DSQL_REGISTRY_UPDATE, nonce);
    const struct dsql_block *own = dsql_blocks_own(b);
    bool beat_due = !dsql_mono_before(now, b->beat_at);
    /* A beat in doubt, or one that conflicts keep from getting through, goes alone. */
    if (b->unsettled) {
        /* The same beat in every repetition: whichever copy is applied, it is known by it. */
        b->first_sent = b->probe_beat == 0 ? now : b->first_sent;
        b->probe_beat = b->probe_beat == 0 ? op.block.beat : b->probe_beat;
        op.block.beat = b->probe_beat;
        return op;
    }
    if (beat_due && b->refusals > 3)
        return op;
    struct slot_plan slots = plan_slots(b);
    op.set_block = true;
    op.block.of[DSQL_SLOTS] = (struct dsql_part){slots.slots, own->of[DSQL_SLOTS].wants};
    op.grow = slots.slots > b->slots;
    op.version_old = b->view.version;
    if (b->slow_pending) {
        op.set_rate = op.empty_pot = true;
        op.rate_old = b->view.rate;
        op.rate_new = dsql_most(DSQL_PERMIT, b->view.rate / 2);
        op.block.of[DSQL_FLOW] = (struct dsql_part){b->flow, own->of[DSQL_FLOW].wants};
        op.block.purse = b->purse_most;
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
    if (b->draining && !b->joined && !b->unsettled && !b->busy)
        b->left = true;
    if (due_at(b, now).ns > now.ns)
        return false;
    fill_purse(b, now);
    b->drawn = b->returned = 0;
    if (!b->known) {
        b->flight = new_op(b, DSQL_REGISTRY_OPEN, nonce);
        b->flight.pot_new = b->config.burst;
        b->flight.rate_new = dsql_blocks_full_rate(b);
    } else if (!b->joined) {
        b->flight = join_op(b, now, nonce);
    } else if (b->draining && b->used == 0 && !b->unsettled) {
        b->flight = new_op(b, DSQL_REGISTRY_LEAVE, nonce);
        put_back(b, &b->flight, b->purse.level / ONE);
    } else {
        b->flight = update_op(b, now, nonce);
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
    b->grace_slots = dsql_mono_before(now, b->grace_until)
                         ? dsql_least(b->used, dsql_most(0, free_slots(b)))
                         : 0;
    b->joined = b->unsettled = false;
    b->slots = b->flow = b->purse_most = b->purse.level = b->allow = 0;
}

/* The request that was in doubt was applied, or never will be. */
static void settle(struct dsql_blocks *b, bool applied)
{
    b->probe_beat = 0;
    put_in_purse(b, applied ? b->doubt_drawn : b->doubt_returned);
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
    b->purse_most = dsql_least(own->purse, b->config.burst); /* whatever the table says */
    b->purse.level = dsql_least(b->purse.level, b->purse_most * ONE);
}

/* since: when the copy that was applied was sent, at the earliest. */
static void applied(struct dsql_blocks *b, struct dsql_mono now, struct dsql_mono since)
{
    const struct dsql_registry_op *op = &b->flight;
    const struct dsql_block *own = dsql_blocks_own(b);
    b->known = true;
    if (op->kind == DSQL_REGISTRY_OPEN)
        return;
    if (op->kind == DSQL_REGISTRY_LEAVE) {
        b->joined = false;
        b->left = b->draining; /* else it joins again */
        b->slots = b->flow = b->purse_most = b->purse.level = 0;
        forget_identity(b);
        return;
    }
    /* A plain beat that settles what was refused says nothing about the next try of it. */
    bool settles = b->unsettled;
    b->refusals = settles ? b->refusals : 0;
    if (settles)
        settle(b, false);
    b->join_count = b->late_count = 0;
    b->probe_beat = 0;
    count_beat(b);
    b->joined = true;
    b->grace_slots = 0;
    put_in_purse(b, b->drawn);
    b->beat = own ? own->beat : 0;
    if (!own) { /* somebody answered with another item than ours */
        forget_block(b, now);
        forget_identity(b);
        return;
    }
    take_over(b, own);
    b->counts.taken_away += op->remove_count;
    if (op->set_block)
        b->told_flow = op->block.of[DSQL_FLOW].wants;
    b->fresh_until = dsql_mono_add(since, b->config.ttl_ns);
    int64_t beat_ns = b->beat_ns - dsql_rng_between(&b->rng, 0, b->beat_ns / 10);
    b->beat_at = settles ? now : dsql_mono_add(b->sent, beat_ns);
    if (op->empty_pot)
        b->slow_pending = false;
}

/* The request under way is in doubt until our beat moves on. */
static void doubt(struct dsql_blocks *b)
{
    b->unsettled = true;
    b->doubt = b->flight;
    b->doubt_sent = b->sent;
    b->doubt_drawn = b->drawn;
    b->doubt_returned = b->returned;
}

/* A refused request is done with if it wanted something that never comes back: the version only
 * grows, and nobody writes the same beat twice. Permits in the pot and the rate of before do come
 * back; then a copy that is still under way is applied. */
static bool may_come_true(const struct dsql_registry_op *op, const struct dsql_registry *view)
{
    if (op->grow && view->version != op->version_old)
        return false;
    for (size_t i = 0; i < op->remove_count; i++) {
        const struct dsql_block *other = dsql_registry_find(view, op->remove[i].id);
        if (!other || other->beat != op->remove[i].beat)
            return false;
    }
    return true;
}

/* Whether nothing of ours is smaller if it is applied after all. */
static bool only_brings(const struct dsql_blocks *b, const struct dsql_block *own)
{
    const struct dsql_block *block = &b->flight.block;
    return b->returned == 0 && block->purse >= own->purse &&
           block->of[DSQL_SLOTS].has >= own->of[DSQL_SLOTS].has &&
           block->of[DSQL_FLOW].has >= own->of[DSQL_FLOW].has;
}

static size_t late_of(const struct dsql_blocks *b, const struct dsql_block *own)
{
    size_t i = 0;
    while (i < b->late_count && b->late[i].beat != own->beat)
        i++;
    return i;
}

static void remember_late(struct dsql_blocks *b)
{
    b->late[b->late_count].beat = b->flight.block.beat;
    b->late[b->late_count].drawn = b->drawn;
    b->late[b->late_count++].sent = b->sent;
}

/* A copy of a request that was refused once has been applied since. */
static void late_applied(struct dsql_blocks *b, size_t i)
{
    struct dsql_mono until = dsql_mono_add(b->late[i].sent, b->config.ttl_ns);
    put_in_purse(b, b->late[i].drawn);
    b->fresh_until = dsql_mono_before(b->fresh_until, until) ? until : b->fresh_until;
}

/* Our block is there, and the request that was answered did not change it. */
static void stand_refused(struct dsql_blocks *b, const struct dsql_block *own)
{
    size_t late = late_of(b, own);
    if (own->beat != b->beat) { /* an earlier one did: all others are done with */
        if (late < b->late_count)
            late_applied(b, late);
        if (b->unsettled)
            settle(b, late == b->late_count);
        else
            put_in_purse(b, b->returned);
        b->beat = own->beat;
        b->late_count = 0;
    } else if (b->unsettled) {
        /* The plain beat wants nothing but this beat: somebody answered for another item. */
    } else if (may_come_true(&b->flight, &b->view)) {
        if (only_brings(b, own) && b->late_count < DSQL_BLOCKS_LATE)
            remember_late(b);
        else
            doubt(b);
    } else {
        put_in_purse(b, b->returned);
    }
    take_over(b, own);
}

static bool is_ours(const struct dsql_blocks *b, const struct dsql_block *own)
{
    return b->joined && (own->beat == b->beat || late_of(b, own) < b->late_count ||
                         (b->unsettled && b->doubt.kind == DSQL_REGISTRY_UPDATE &&
                          own->beat == b->doubt.block.beat));
}

static void refused(struct dsql_blocks *b, struct dsql_mono now)
{
    const struct dsql_block *own = b->view.exists ? dsql_blocks_own(b) : NULL;
    b->counts.refused++;
    b->refusals++;
    b->known = b->view.exists;
    if (b->flight.kind == DSQL_REGISTRY_LEAVE && !own)
        b->left = b->draining;
    if (own && is_ours(b, own)) {
        stand_refused(b, own);
    } else {
        if (own || b->joined)
            forget_identity(b);
        b->counts.copies += own != NULL; /* (K5) */
        forget_block(b, now);
    }
    if (b->slow_pending && b->view.rate < b->slow_rate)
        b->slow_pending = false; /* somebody else has reported it */
    static const struct dsql_backoff wait = {80 * DSQL_MS, 640 * DSQL_MS, 1};
    if (b->refusals > 2)
        b->retry_at = dsql_mono_add(now, dsql_backoff_ns(&wait, b->refusals - 2, &b->rng));
}

static void lost(struct dsql_blocks *b, struct dsql_mono now)
{
    b->counts.lost++;
    if (!b->unsettled && b->joined && b->flight.kind != DSQL_REGISTRY_OPEN)
        doubt(b);
    int64_t most_ns = dsql_least(b->beat_ns, 5 * DSQL_S);
    const struct dsql_backoff wait = {dsql_least(200 * DSQL_MS, most_ns), most_ns, 0.5};
    b->retry_at = dsql_mono_add(now, dsql_backoff_ns(&wait, ++b->failures, &b->rng));
}

/* A refusal of a copy: the table has what another copy of the same request wrote. */
static bool was_applied(const struct dsql_blocks *b)
{
    const struct dsql_block *own = b->view.exists ? dsql_blocks_own(b) : NULL;
    if (own && b->flight.kind == DSQL_REGISTRY_JOIN) {
        for (size_t i = 0; i < b->join_count; i++) {
            if (own->beat == b->joins[i])
                return true;
        }
    }
    return own && b->flight.kind == DSQL_REGISTRY_UPDATE && own->beat == b->flight.block.beat;
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
    if (outcome == DSQL_BLOCKS_APPLIED) {
        applied(b, now, b->sent);
    } else if (was_applied(b)) {
        b->counts.repeated++;
        bool tried_before = b->join_count > 0 || b->probe_beat != 0;
        applied(b, now, tried_before ? b->first_sent : b->sent);
    } else {
        refused(b, now);
    }
    replan(b);
    b->jitter = dsql_rng_between(&b->rng, 0, PER_MILLE);
    if (b->joined && plan_slots(b).starving) {
        const struct dsql_backoff wait = {dsql_least(DSQL_S, b->beat_ns), b->beat_ns, 0.25};
        b->poll_at = dsql_mono_add(now, dsql_backoff_ns(&wait, ++b->starved, &b->rng));
    } else {
        b->starved = 0;
    }
    return DSQL_OK;
}
