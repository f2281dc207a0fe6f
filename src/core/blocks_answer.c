/* What becomes of an answer: of one that applied the request, refused it, or never came. */
#include "core/blocks_parts.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/least.h"
#include "core/backoff.h"

/* Both lists are sorted by id; what stood still keeps its time. */
static enum dsql_rc look_around(struct dsql_blocks *b, struct dsql_mono now, bool restart)
{
    if (!DSQL_GROW(b->seen, b->seen_room, b->view.count))
        return DSQL_NO_MEMORY;
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
                         ? dsql_least(b->used, dsql_most(0, dsql_blocks_free_slots(b)))
                         : 0;
    b->joined = b->unsettled = false;
    b->slots = b->flow = b->purse_most = b->purse.level = b->allow = 0;
}

/* The request that was in doubt was applied, or never will be. */
static void settle(struct dsql_blocks *b, bool applied)
{
    b->probe_beat = 0;
    dsql_blocks_put_in_purse(b, applied ? b->doubt_drawn : b->doubt_returned);
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
    b->opens_per_beat += (b->opened_since_beat * DSQL_BLOCKS_MILLE - b->opens_per_beat) / 4;
    b->opened_since_beat = 0;
    b->active = b->asked = false;
}

/* What our block holds, as the table says. */
static void take_over(struct dsql_blocks *b, const struct dsql_block *own)
{
    b->slots = own->of[DSQL_SLOTS].has;
    b->flow = own->of[DSQL_FLOW].has;
    b->purse_most = dsql_least(own->purse, b->config.burst); /* whatever the table says */
    b->purse.level = dsql_least(b->purse.level, b->purse_most * DSQL_BLOCKS_ONE);
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
        dsql_blocks_forget_identity(b);
        return;
    }
    /* A plain beat that settles what was refused says nothing about the next try of it, which is
     * due at once. But a table that left a request unanswered, or was too busy for it, is asked no
     * sooner than a hurried owner would: else a fleet doubles its requests when they are too many
     * already. */
    bool settles = b->unsettled;
    bool try_now = settles && b->failures == 0;
    b->refusals = try_now ? b->refusals : 0;
    if (settles)
        settle(b, false);
    b->join_count = b->late_count = 0;
    b->probe_beat = 0;
    count_beat(b);
    b->joined = true;
    b->grace_slots = 0;
    dsql_blocks_put_in_purse(b, b->drawn);
    b->beat = own ? own->beat : 0;
    if (!own) { /* the answer is about another item */
        forget_block(b, now);
        dsql_blocks_forget_identity(b);
        return;
    }
    take_over(b, own);
    b->counts.taken_away += op->remove_count;
    if (op->set_block)
        b->told_flow = op->block.of[DSQL_FLOW].wants;
    b->fresh_until = dsql_mono_add(since, b->config.ttl_ns);
    int64_t beat_ns = b->beat_ns - dsql_rng_between(&b->rng, 0, b->beat_ns / 10);
    int64_t next_ns = settles ? dsql_permit_plan_brisk_ns(b) : beat_ns;
    b->beat_at = try_now ? now : dsql_mono_add(b->sent, next_ns);
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
    dsql_blocks_put_in_purse(b, b->late[i].drawn);
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
            dsql_blocks_put_in_purse(b, b->returned);
        b->beat = own->beat;
        b->late_count = 0;
    } else if (b->unsettled) {
        /* The plain beat wants nothing but this beat: the answer is about another item. */
    } else if (may_come_true(&b->flight, &b->view)) {
        if (only_brings(b, own) && b->late_count < DSQL_BLOCKS_LATE)
            remember_late(b);
        else
            doubt(b);
    } else {
        dsql_blocks_put_in_purse(b, b->returned);
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
            dsql_blocks_forget_identity(b);
        b->counts.copies += own != NULL; /* (K5) */
        forget_block(b, now);
    }
    if (b->slow_pending && b->view.rate < b->slow_rate)
        b->slow_pending = false; /* another process has reported it */
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
    dsql_blocks_fill_purse(b, now); /* by what was sure until now */
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
    b->failures = 0;
    dsql_blocks_replan(b);
    b->jitter = dsql_rng_between(&b->rng, 0, DSQL_BLOCKS_MILLE);
    if (b->joined && dsql_blocks_plan_slots(b).starving) {
        const struct dsql_backoff wait = {dsql_least(DSQL_S, b->beat_ns), b->beat_ns, 0.25};
        b->poll_at = dsql_mono_add(now, dsql_backoff_ns(&wait, ++b->starved, &b->rng));
    } else {
        b->starved = 0;
    }
    return DSQL_OK;
}
