/* What becomes of an answer: of one that applied the request, refused it, or never came. */
#include "core/blocks_parts.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/least.h"
#include "core/backoff.h"

/* Both lists are sorted by id; what stood still keeps its time. */
static enum dsql_rc look_around(struct dsql_blocks *b, struct dsql_mono now, bool restart)
{
    if (!DSQL_GROW(b->others.items, b->others.room, b->view.count))
        return DSQL_NO_MEMORY;
    /* Built behind the old list's reader: an entry is never needed after its place is written,
     * because at most as many are kept as were passed; new ones wait until the end. */
    size_t old = 0, kept = 0;
    for (size_t i = 0; i < b->view.count; i++) {
        const struct dsql_block *block = &b->view.blocks[i];
        while (old < b->others.count && strcmp(b->others.items[old].id, block->id) < 0)
            old++;
        if (old < b->others.count && strcmp(b->others.items[old].id, block->id) == 0) {
            if (restart || b->others.items[old].beat != block->beat)
                b->others.items[old].since = now;
            b->others.items[old].beat = block->beat;
            b->others.items[kept++] = b->others.items[old++];
        }
    }
    b->others.count = kept;
    for (size_t i = b->view.count; i-- > 0;) { /* merge from the back: the list only grows */
        const struct dsql_block *block = &b->view.blocks[i];
        if (kept > 0 && strcmp(b->others.items[kept - 1].id, block->id) == 0) {
            b->others.items[i] = b->others.items[--kept];
            continue;
        }
        b->others.items[i].since = now;
        b->others.items[i].beat = block->beat;
        memcpy(b->others.items[i].id, block->id, sizeof(block->id));
    }
    b->others.count = b->view.count;
    /* We are not among those we watch. */
    for (size_t i = 0; i < b->others.count; i++) {
        if (strcmp(b->others.items[i].id, b->config.id) == 0) {
            memmove(&b->others.items[i], &b->others.items[i + 1],
                    (b->others.count - i - 1) * sizeof(*b->others.items));
            b->others.count--;
            break;
        }
    }
    return DSQL_OK;
}

static void forget_block(struct dsql_blocks *b, struct dsql_mono now)
{
    if (b->member.joined) {
        b->counts.blocks_lost++;
        b->grace.until = dsql_mono_add(now, DSQL_S);
    }
    b->grace.slots = dsql_mono_before(now, b->grace.until)
                         ? dsql_least(b->need.used, dsql_most(0, dsql_blocks_free_slots(b)))
                         : 0;
    b->member.joined = b->doubt.pending = false;
    b->held.slots = b->held.flow = b->held.purse_most = b->held.purse.level = b->held.allow = 0;
}

/* The request that was in doubt was applied, or never will be. */
static void settle(struct dsql_blocks *b, bool applied)
{
    b->member.probe_beat = 0;
    dsql_blocks_put_in_purse(b, applied ? b->doubt.drawn : b->doubt.returned);
    if (applied) {
        if (dsql_mono_before(b->held.fresh_until, dsql_mono_add(b->doubt.sent, b->config.ttl_ns)))
            b->held.fresh_until = dsql_mono_add(b->doubt.sent, b->config.ttl_ns);
    }
    b->doubt.pending = false;
}

static void count_beat(struct dsql_blocks *b)
{
    if (dsql_mono_before(b->flight.sent, b->pace.beat_at))
        return;
    b->counts.beats++;
    b->need.opens_per_beat +=
        (b->need.opened_since_beat * DSQL_BLOCKS_MILLE - b->need.opens_per_beat) / 4;
    b->need.opened_since_beat = 0;
    b->need.active = b->need.asked = false;
}

/* What our block holds, as the table says. */
static void take_over(struct dsql_blocks *b, const struct dsql_block *own)
{
    b->held.slots = own->of[DSQL_SLOTS].has;
    b->held.flow = own->of[DSQL_FLOW].has;
    b->held.purse_most = dsql_least(own->purse, b->config.burst); /* whatever the table says */
    b->held.purse.level = dsql_least(b->held.purse.level, b->held.purse_most * DSQL_BLOCKS_ONE);
}

/* since: when the copy that was applied was sent, at the earliest. */
static void applied(struct dsql_blocks *b, struct dsql_mono now, struct dsql_mono since)
{
    const struct dsql_registry_op *op = &b->flight.op;
    const struct dsql_block *own = dsql_blocks_own(b);
    b->contact.known = true;
    if (op->kind == DSQL_REGISTRY_OPEN)
        return;
    if (op->kind == DSQL_REGISTRY_LEAVE) {
        b->member.joined = false;
        b->member.left = b->need.draining; /* else it joins again */
        b->held.slots = b->held.flow = b->held.purse_most = b->held.purse.level = 0;
        dsql_blocks_forget_identity(b);
        return;
    }
    /* A plain beat that settles what was refused says nothing about the next try of it, which is
     * due at once. But a table that left a request unanswered, or was too busy for it, is asked no
     * sooner than a hurried owner would: else a fleet doubles its requests when they are too many
     * already. */
    bool settles = b->doubt.pending;
    bool try_now = settles && b->pace.failures == 0;
    b->pace.refusals = try_now ? b->pace.refusals : 0;
    if (settles)
        settle(b, false);
    b->member.join_count = b->late.count = 0;
    b->member.probe_beat = 0;
    count_beat(b);
    b->member.joined = true;
    b->grace.slots = 0;
    dsql_blocks_put_in_purse(b, b->flight.drawn);
    b->member.beat = own ? own->beat : 0;
    if (!own) { /* the answer is about another item */
        forget_block(b, now);
        dsql_blocks_forget_identity(b);
        return;
    }
    take_over(b, own);
    b->counts.taken_away += op->remove_count;
    if (op->set_block)
        b->held.told_flow = op->block.of[DSQL_FLOW].wants;
    b->held.fresh_until = dsql_mono_add(since, b->config.ttl_ns);
    int64_t beat_ns = b->beat_ns - dsql_rng_between(&b->rng, 0, b->beat_ns / 10);
    int64_t next_ns = settles ? dsql_permit_plan_brisk_ns(b) : beat_ns;
    b->pace.beat_at = try_now ? now : dsql_mono_add(b->flight.sent, next_ns);
    if (op->empty_pot)
        b->throttle.pending = false;
}

/* The request under way is in doubt until our beat moves on. */
static void doubt(struct dsql_blocks *b)
{
    b->doubt = b->flight;
    b->doubt.pending = true;
}

/* A refused request is done with if it wanted something that never comes back: the version only
 * grows, and no beat is written twice. Permits in the pot and the rate of before do come
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
    const struct dsql_block *block = &b->flight.op.block;
    return b->flight.returned == 0 && block->purse >= own->purse &&
           block->of[DSQL_SLOTS].has >= own->of[DSQL_SLOTS].has &&
           block->of[DSQL_FLOW].has >= own->of[DSQL_FLOW].has;
}

static size_t late_of(const struct dsql_blocks *b, const struct dsql_block *own)
{
    size_t i = 0;
    while (i < b->late.count && b->late.items[i].beat != own->beat)
        i++;
    return i;
}

static void remember_late(struct dsql_blocks *b)
{
    b->late.items[b->late.count].beat = b->flight.op.block.beat;
    b->late.items[b->late.count].drawn = b->flight.drawn;
    b->late.items[b->late.count++].sent = b->flight.sent;
}

/* A copy of a request that was refused once has been applied since. */
static void late_applied(struct dsql_blocks *b, size_t i)
{
    struct dsql_mono until = dsql_mono_add(b->late.items[i].sent, b->config.ttl_ns);
    dsql_blocks_put_in_purse(b, b->late.items[i].drawn);
    b->held.fresh_until =
        dsql_mono_before(b->held.fresh_until, until) ? until : b->held.fresh_until;
}

/* Our block is there, and the request that was answered did not change it. */
static void stand_refused(struct dsql_blocks *b, const struct dsql_block *own)
{
    size_t late = late_of(b, own);
    if (own->beat != b->member.beat) { /* an earlier one did: all others are done with */
        if (late < b->late.count)
            late_applied(b, late);
        if (b->doubt.pending)
            settle(b, late == b->late.count);
        else
            dsql_blocks_put_in_purse(b, b->flight.returned);
        b->member.beat = own->beat;
        b->late.count = 0;
    } else if (b->doubt.pending) {
        /* The plain beat wants nothing but this beat: the answer is about another item. */
    } else if (may_come_true(&b->flight.op, &b->view)) {
        if (only_brings(b, own) && b->late.count < DSQL_BLOCKS_LATE)
            remember_late(b);
        else
            doubt(b);
    } else {
        dsql_blocks_put_in_purse(b, b->flight.returned);
    }
    take_over(b, own);
}

static bool is_ours(const struct dsql_blocks *b, const struct dsql_block *own)
{
    return b->member.joined && (own->beat == b->member.beat || late_of(b, own) < b->late.count ||
                                (b->doubt.pending && b->doubt.op.kind == DSQL_REGISTRY_UPDATE &&
                                 own->beat == b->doubt.op.block.beat));
}

static void refused(struct dsql_blocks *b, struct dsql_mono now)
{
    const struct dsql_block *own = b->view.exists ? dsql_blocks_own(b) : NULL;
    b->counts.refused++;
    b->pace.refusals++;
    b->contact.known = b->view.exists;
    if (b->flight.op.kind == DSQL_REGISTRY_LEAVE && !own)
        b->member.left = b->need.draining;
    if (own && is_ours(b, own)) {
        stand_refused(b, own);
    } else {
        if (own || b->member.joined)
            dsql_blocks_forget_identity(b);
        b->counts.copies += own != NULL; /* (BL5) */
        forget_block(b, now);
    }
    if (b->throttle.pending && b->view.rate < b->throttle.rate)
        b->throttle.pending = false; /* another process has reported it */
    static const struct dsql_backoff wait = {80 * DSQL_MS, 640 * DSQL_MS, 1};
    if (b->pace.refusals > 2)
        b->pace.retry_at =
            dsql_mono_add(now, dsql_backoff_ns(&wait, b->pace.refusals - 2, &b->rng));
}

static void lost(struct dsql_blocks *b, struct dsql_mono now)
{
    b->counts.lost++;
    if (!b->doubt.pending && b->member.joined && b->flight.op.kind != DSQL_REGISTRY_OPEN)
        doubt(b);
    int64_t most_ns = dsql_least(b->beat_ns, 5 * DSQL_S);
    const struct dsql_backoff wait = {dsql_least(200 * DSQL_MS, most_ns), most_ns, 0.5};
    b->pace.retry_at = dsql_mono_add(now, dsql_backoff_ns(&wait, ++b->pace.failures, &b->rng));
}

/* A refusal of a copy: the table has what another copy of the same request wrote. */
static bool was_applied(const struct dsql_blocks *b)
{
    const struct dsql_block *own = b->view.exists ? dsql_blocks_own(b) : NULL;
    if (own && b->flight.op.kind == DSQL_REGISTRY_JOIN) {
        for (size_t i = 0; i < b->member.join_count; i++) {
            if (own->beat == b->member.joins[i])
                return true;
        }
    }
    return own && b->flight.op.kind == DSQL_REGISTRY_UPDATE && own->beat == b->flight.op.block.beat;
}

enum dsql_rc dsql_blocks_answer(struct dsql_blocks *b, struct dsql_mono now,
                                enum dsql_blocks_outcome outcome, const struct dsql_registry *view)
{
    assert(b->flight.pending);
    enum dsql_rc rc = DSQL_OK;
    int64_t rate = b->view.rate;
    bool first = !b->view.exists;
    dsql_blocks_fill_purse(b, now); /* by what was sure until now */
    b->flight.pending = false;
    if (outcome != DSQL_BLOCKS_LOST)
        rc = dsql_registry_copy(&b->view, view);
    if (outcome != DSQL_BLOCKS_LOST && rc == DSQL_OK)
        rc = look_around(b, now, dsql_mono_since(b->flight.sent, b->contact.proof) > b->gap_ns);
    if (outcome == DSQL_BLOCKS_LOST || rc) {
        lost(b, now);
        return rc;
    }
    if (first || b->view.rate != rate)
        b->throttle.rate_since = now;
    b->contact.heard = now;
    b->contact.proof = b->flight.sent;
    b->pace.retry_at = now;
    if (outcome == DSQL_BLOCKS_APPLIED) {
        applied(b, now, b->flight.sent);
    } else if (was_applied(b)) {
        b->counts.repeated++;
        bool tried_before = b->member.join_count > 0 || b->member.probe_beat != 0;
        applied(b, now, tried_before ? b->member.first_sent : b->flight.sent);
    } else {
        refused(b, now);
    }
    b->pace.failures = 0;
    dsql_blocks_replan(b);
    b->pace.jitter = dsql_rng_between(&b->rng, 0, DSQL_BLOCKS_MILLE);
    if (b->member.joined && dsql_blocks_plan_slots(b).starving) {
        const struct dsql_backoff wait = {dsql_least(DSQL_S, b->beat_ns), b->beat_ns, 0.25};
        b->pace.poll_at = dsql_mono_add(now, dsql_backoff_ns(&wait, ++b->pace.starved, &b->rng));
    } else {
        b->pace.starved = 0;
    }
    return DSQL_OK;
}
