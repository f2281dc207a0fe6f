/*
 * The protocol `blocks` in a small world with everything that goes wrong: requests and answers that
 * are delayed, lost, overtaken, and delivered up to four times, also TTLs later; owners that crash,
 * pause and come back, and copies of an owner with all it remembers, as of a cloned machine; clocks
 * that differ by any amount; a registry that is away for a while. A judge who sees everything
 * counts connections, connects, permits and beats in real time. The letters are those of
 * docs/budget.md.
 *
 * PROP_SCALE=50 runs 100,000 schedules.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/least.h"
#include "core/blocks.h"
#include "core/permit_plan.h"
#include "support/prop.h"
#include "support/test.h"

enum { OWNERS_MAX = 5, NET_MAX = 128, LATE_TTLS = 3 };

/* One rule taken away each: the judge must notice. */
enum breakage {
    WHOLE,
    SLOTS_UNSEEN, /* slots are taken without having seen the latest version, */
    FLOW_UNSEEN,  /* flow and room for permits are */
    FULL_PURSE,   /* room for permits comes with permits in it */
    NO_GAP,       /* an outage counts as standing still */
    SAME_NONCES,  /* a copy of an owner draws the same beats */
    ANY_BEAT,     /* the registry applies whatever the block's beat is: a copy counts twice */
    BREAKAGES
};
static int breakage;

struct owner {
    bool alive;
    struct dsql_blocks blocks;
    int64_t skew_ns; /* of its clock */
    int64_t conns;
    int64_t paused_until_ns, beat_ns; /* real: its last write was applied */
    bool awaits;
    uint64_t awaited;   /* the request it waits for, */
    int64_t timeout_ns; /* until then */
    unsigned lives;
    struct dsql_rng nonces;
    int64_t fresh_beat; /* of the request that was sent last, if it is no repetition */
    bool loose; /* it was copied, or is a copy, and has written nothing of its own since: (g) */
};

struct letter {
    bool used, is_reply, applied, again;
    uint64_t request;
    size_t to; /* owner */
    unsigned life;
    int64_t at_ns;
    struct dsql_registry_op op;
    struct dsql_registry view;
};

struct world {
    struct prop *p;
    struct dsql_rng rng;
    int64_t now_ns, ttl_ns, limit, headroom, rate, burst;
    size_t owner_count;
    struct owner owners[OWNERS_MAX];
    struct letter net[NET_MAX];
    struct dsql_registry item;
    bool up, faults;
    int64_t down_since_ns, down_total_ns;
    int64_t level; /* of the real bucket, in connects / DSQL_S; filled at level_ns */
    int64_t level_ns;
    uint64_t requests;
    bool ok;
};

/* How much of it there was. */
static struct {
    uint64_t schedules, requests, repeats, recognised, clones, identities;
} seen;

static bool chance(struct world *w, uint64_t per_mille)
{
    return dsql_rng_below(&w->rng, 1000) < per_mille;
}

static struct dsql_mono clock_of(const struct world *w, const struct owner *o)
{
    return (struct dsql_mono){w->now_ns + o->skew_ns};
}

static struct dsql_moment moment_of(const struct world *w, const struct owner *o)
{
    return (struct dsql_moment){.mono = clock_of(w, o)};
}

static void born(struct world *w, struct owner *o)
{
    struct dsql_blocks_config config = {.connections = w->limit,
                                        .headroom = w->headroom,
                                        .rate = w->rate,
                                        .burst = w->burst,
                                        .ttl_ns = w->ttl_ns,
                                        .name = "test"};
    unsigned lives = o->lives + 1;
    *o = (struct owner){.alive = true, .lives = lives, .beat_ns = w->now_ns - w->down_total_ns};
    o->skew_ns = dsql_rng_between(&w->rng, 0, 100 * DSQL_H);
    o->nonces = dsql_rng_split(&w->rng);
    (void)snprintf(config.id, sizeof(config.id), "%016llx",
                   (unsigned long long)dsql_rng_next(&w->rng));
    dsql_blocks_init(&o->blocks, &config, dsql_rng_split(&w->rng), clock_of(w, o));
    if (breakage == NO_GAP)
        o->blocks.gap_ns = INT64_MAX / 2;
    dsql_allowance_want(&o->blocks.allowance, dsql_rng_between(&w->rng, 0, w->limit));
}

static void *copied(const void *from, size_t count, size_t size)
{
    void *to = calloc(count + 1, size);
    assert_non_null(to);
    if (count > 0)
        memcpy(to, from, count * size);
    return to;
}

/* A machine is copied while it runs: the copy remembers everything, but its sockets are dead and no
 * answer to what was asked before reaches it. */
static void cloned(struct world *w, struct owner *from, struct owner *o)
{
    unsigned lives = o->lives + 1;
    struct dsql_rng nonces = dsql_rng_split(&w->rng);
    *o = *from;
    o->lives = lives;
    o->blocks.view.blocks =
        copied(from->blocks.view.blocks, from->blocks.view.room, sizeof(*from->blocks.view.blocks));
    o->blocks.others.items = copied(from->blocks.others.items, from->blocks.others.room,
                                    sizeof(*from->blocks.others.items));
    o->conns = 0;
    o->awaited = 0;
    o->loose = from->loose = true;
    o->fresh_beat = from->fresh_beat = 0;
    if (breakage != SAME_NONCES)
        o->nonces = nonces;
    seen.clones++;
}

static void dies(struct world *w, struct owner *o)
{
    seen.recognised += o->blocks.counts.repeated;
    seen.identities += o->blocks.counts.copies;
    (void)w;
    dsql_allowance_fini(&o->blocks.allowance);
    o->alive = false;
    o->conns = 0;
}

/* How long nobody could write. Shorter than two beats is not an outage but a partition of whomever
 * it hits: nobody could tell the difference. */
static int64_t outage_ns(const struct world *w)
{
    int64_t ns = w->up ? 0 : w->now_ns - w->down_since_ns;
    return ns > 2 * dsql_blocks_beat_ns(w->ttl_ns) ? ns : 0;
}

/* How long its block has stood still, without outages. */
static int64_t silence_ns(const struct world *w, const struct owner *o)
{
    return w->now_ns - w->down_total_ns - outage_ns(w) - o->beat_ns;
}

static void beaten(struct world *w, struct owner *o)
{
    o->beat_ns = w->now_ns - w->down_total_ns;
}

static void post(struct world *w, const struct letter *letter, const struct dsql_registry *view,
                 int64_t delay_ns)
{
    for (size_t i = 0; i < NET_MAX; i++) {
        if (w->net[i].used)
            continue;
        struct dsql_registry room = w->net[i].view;
        w->net[i] = *letter;
        w->net[i].view = room;
        w->net[i].used = true;
        w->net[i].at_ns = w->now_ns + delay_ns;
        if (letter->is_reply)
            assert_int_equal(dsql_registry_copy(&w->net[i].view, view), DSQL_OK);
        return;
    }
} /* a full network loses what comes */

static int64_t delay(struct world *w)
{
    int64_t most_ns = w->faults && chance(w, 30) ? w->ttl_ns / 2 : w->ttl_ns / 200;
    return dsql_rng_between(&w->rng, 0, most_ns);
}

/* The owner at or behind `from` that has this identity. */
static struct owner *owner_of(struct world *w, const char *id, size_t from)
{
    for (size_t i = from; i < w->owner_count; i++) {
        if (w->owners[i].alive && strcmp(w->owners[i].blocks.config.id, id) == 0)
            return &w->owners[i];
    }
    return NULL;
}

/* (d): whose block is taken away is dead, or was silent for longer than the TTL. */
static void judge_removals(struct world *w, const struct dsql_registry_op *op)
{
    for (size_t i = 0; i < op->remove_count; i++) {
        const struct owner *o = owner_of(w, op->remove[i].id, 0);
        while (o && o->loose) /* its copy writes the beats */
            o = owner_of(w, op->remove[i].id, (size_t)(o - w->owners) + 1);
        if (o &&
            !prop_that(w->p, silence_ns(w, o) > w->ttl_ns,
                       "(d) a block was taken after %lld of %lld ms of silence",
                       (long long)(silence_ns(w, o) / DSQL_MS), (long long)(w->ttl_ns / DSQL_MS)))
            w->ok = false;
    }
}

static void arrives_at_registry(struct world *w, struct letter *letter)
{
    bool applied;
    struct dsql_registry_op op = letter->op;
    if (!w->up)
        return;
    const struct dsql_block *own = dsql_registry_find(&w->item, op.block.id);
    bool more_slots = !own || op.block.of[DSQL_SLOTS].has > own->of[DSQL_SLOTS].has;
    if (breakage == (more_slots ? SLOTS_UNSEEN : FLOW_UNSEEN))
        op.grow = false;
    if (breakage == ANY_BEAT && own)
        op.beat_old = own->beat;
    assert_int_equal(dsql_registry_apply(&w->item, &op, &applied), DSQL_OK);
    if (applied) {
        judge_removals(w, &op);
        struct owner *o = &w->owners[letter->to];
        if (o->alive && o->lives == letter->life && !letter->again &&
            op.kind != DSQL_REGISTRY_OPEN && strcmp(o->blocks.config.id, op.block.id) == 0)
            beaten(w, o);
    }
    struct letter reply = {.is_reply = true,
                           .applied = applied,
                           .request = letter->request,
                           .to = letter->to,
                           .life = letter->life};
    if (!(w->faults && chance(w, 30)))
        post(w, &reply, &w->item, delay(w));
}

static void arrives_at_owner(struct world *w, struct letter *letter)
{
    struct owner *o = &w->owners[letter->to];
    if (!o->alive || o->lives != letter->life || !o->awaits || o->awaited != letter->request)
        return;
    if (o->paused_until_ns > w->now_ns) {
        struct dsql_registry view = letter->view;
        letter->view = (struct dsql_registry){0};
        post(w, letter, &view, o->paused_until_ns - w->now_ns);
        dsql_registry_fini(&view); /* the socket's buffer keeps it */
        return;
    }
    o->awaits = false;
    assert_int_equal(dsql_blocks_answer(&o->blocks, clock_of(w, o),
                                        letter->applied ? DSQL_BLOCKS_APPLIED : DSQL_BLOCKS_REFUSED,
                                        &letter->view),
                     DSQL_OK);
    if (!o->blocks.member.joined || o->blocks.member.beat == o->fresh_beat)
        o->loose = false;
    if (breakage == FULL_PURSE)
        o->blocks.held.purse.level = o->blocks.held.purse_most * DSQL_PERMIT * DSQL_S;
}

static void deliver(struct world *w)
{
    for (size_t i = 0; i < NET_MAX; i++) {
        struct letter *letter = &w->net[i];
        if (!letter->used || letter->at_ns > w->now_ns)
            continue;
        letter->used = false;
        if (letter->is_reply)
            arrives_at_owner(w, letter);
        else
            arrives_at_registry(w, letter);
    }
}

/* (e): a bucket that sees every connect when it happens. */
static void fill_bucket(struct world *w)
{
    int64_t full = w->burst * DSQL_S, flow = (w->now_ns - w->level_ns) * w->rate;
    w->level_ns = w->now_ns;
    w->level = dsql_least(full, w->level + flow);
}

static void connects(struct world *w, struct owner *o)
{
    fill_bucket(w);
    w->level -= o->loose ? 0 : DSQL_S;
    o->conns++;
    dsql_allowance_used(&o->blocks.allowance, o->conns);
    if (!prop_that(w->p, w->level >= 0, "(e) the bucket is overdrawn by %lld ns of flow",
                   (long long)(-w->level / w->rate)))
        w->ok = false;
}

static int64_t slots_of(const struct world *w, const struct owner *o)
{
    return dsql_blocks_slots(&o->blocks, clock_of(w, o));
}

/* A pool: closes its surplus at once, opens what it may. */
static void pool_acts(struct world *w, struct owner *o)
{
    int64_t slots = slots_of(w, o);
    slots = slots < o->blocks.need.want ? slots : o->blocks.need.want;
    if (o->conns > slots)
        o->conns = slots;
    if (w->faults && chance(w, 50) && o->conns > 0)
        o->conns -= dsql_rng_between(&w->rng, 1, o->conns);
    dsql_allowance_used(&o->blocks.allowance, o->conns);
    if (w->faults && chance(w, 20))
        dsql_allowance_want(&o->blocks.allowance, dsql_rng_between(&w->rng, 0, w->limit));
    /* All pools of the process close, and a new one comes before or after the block is gone. */
    if (w->faults && chance(w, o->blocks.need.draining ? 200 : 10))
        dsql_allowance_drain(&o->blocks.allowance, !o->blocks.need.draining);
    if (w->faults && chance(w, 3))
        dsql_allowance_throttled(&o->blocks.allowance, moment_of(w, o));
    for (int k = 0; k < 8 && o->conns < slots_of(w, o) && o->conns < o->blocks.need.want; k++) {
        int64_t wait_ns;
        if (!dsql_allowance_permit(&o->blocks.allowance, moment_of(w, o), &wait_ns))
            break;
        connects(w, o);
    }
}

static void owner_acts(struct world *w, size_t index)
{
    struct owner *o = &w->owners[index];
    struct letter letter = {.to = index, .life = o->lives};
    if (!o->alive || o->paused_until_ns > w->now_ns)
        return;
    if (o->awaits && o->timeout_ns <= w->now_ns) {
        o->awaits = false;
        assert_int_equal(dsql_blocks_answer(&o->blocks, clock_of(w, o), DSQL_BLOCKS_LOST, NULL),
                         DSQL_OK);
    }
    pool_acts(w, o);
    uint64_t nonce = dsql_rng_next(&o->nonces);
    if (o->awaits || !dsql_blocks_next(&o->blocks, clock_of(w, o), nonce, &letter.op))
        return;
    letter.request = ++w->requests;
    o->fresh_beat = letter.op.block.beat == (int64_t)(nonce >> 15) + 1 ? letter.op.block.beat : 0;
    seen.requests++;
    o->awaits = true;
    o->awaited = letter.request;
    o->timeout_ns = w->now_ns + o->blocks.beat_ns / 2;
    if (!(w->faults && chance(w, 30)))
        post(w, &letter, NULL, delay(w));
    letter.again = true;
    for (int copies = 0; w->faults && copies < 3 && chance(w, 150); copies++) {
        bool late = chance(w, 300);
        post(w, &letter, NULL,
             late ? dsql_rng_between(&w->rng, 0, LATE_TTLS * w->ttl_ns) : delay(w));
        seen.repeats++;
    }
}

static void strike(struct world *w)
{
    struct owner *o = &w->owners[dsql_rng_below(&w->rng, w->owner_count)];
    struct owner *other = &w->owners[dsql_rng_below(&w->rng, w->owner_count)];
    if (!o->alive && chance(w, 20))
        born(w, o);
    else if (!o->alive && other->alive && other->blocks.contact.known && chance(w, 20))
        cloned(w, other, o);
    else if (o->alive && chance(w, 4))
        dies(w, o);
    else if (o->alive && chance(w, 6))
        o->paused_until_ns = w->now_ns + dsql_rng_between(&w->rng, 0, w->ttl_ns * 2);
    if (w->up && chance(w, 3)) {
        w->up = false;
        w->down_since_ns = w->now_ns;
    } else if (!w->up && chance(w, 10)) {
        w->down_total_ns += outage_ns(w);
        w->up = true;
    }
}

static void judge_sum(struct world *w, const char *what, int64_t sum, int64_t limit)
{
    if (!prop_that(w->p, sum <= limit, "%s: the table gives %lld of %lld", what, (long long)sum,
                   (long long)limit))
        w->ok = false;
}

/* (e) before it can be seen: the bucket has all permits that anybody could use at once. */
static void judge_permits(struct world *w)
{
    int64_t permits = w->item.pot * DSQL_S;
    for (size_t i = 0; i < w->owner_count; i++) {
        const struct owner *o = &w->owners[i];
        struct dsql_mono now = clock_of(w, o);
        struct dsql_bucket purse = o->blocks.held.purse;
        if (!o->alive || o->loose || !o->blocks.member.joined ||
            !dsql_mono_before(now, o->blocks.held.fresh_until))
            continue;
        dsql_bucket_fill(&purse, dsql_blocks_flow_in_effect(&o->blocks),
                         dsql_blocks_sure_purse(&o->blocks) * DSQL_PERMIT, now);
        permits += purse.level / DSQL_PERMIT;
    }
    fill_bucket(w);
    if (!prop_that(w->p, permits <= w->level, "(e) %lld ns of flow more in hand than in the bucket",
                   (long long)((permits - w->level) / w->rate)))
        w->ok = false;
}

/* (a) and (e) in the table; and (a) in the world: of owners that were not silent for a TTL, and
 * have looked since. */
static void judge(struct world *w)
{
    int64_t sum = 0;
    judge_sum(w, "(a) slots", dsql_registry_sum(&w->item, DSQL_SLOTS), w->limit - w->headroom);
    judge_sum(w, "(e) flow", dsql_registry_sum(&w->item, DSQL_FLOW), w->rate * DSQL_PERMIT);
    judge_sum(w, "(e) permits", dsql_registry_purses(&w->item) + w->item.pot, w->burst);
    for (size_t i = 0; i < w->owner_count; i++) {
        const struct owner *o = &w->owners[i];
        bool silent = silence_ns(w, o) > w->ttl_ns || o->loose ||
                      !dsql_registry_find(&w->item, o->blocks.config.id);
        sum += o->alive && !silent ? o->conns : 0;
    }
    if (!prop_that(w->p, sum <= w->limit - w->headroom, "(a) %lld connections of %lld",
                   (long long)sum, (long long)(w->limit - w->headroom)))
        w->ok = false;
    judge_permits(w);
}

static void run_for(struct world *w, int64_t ns)
{
    int64_t end_ns = w->now_ns + ns;
    while (w->ok && w->now_ns < end_ns) {
        w->now_ns += dsql_rng_between(&w->rng, DSQL_MS, w->ttl_ns / 50);
        if (w->faults)
            strike(w);
        deliver(w);
        for (size_t i = 0; i < w->owner_count; i++) {
            size_t index = (i + (size_t)w->now_ns) % w->owner_count;
            owner_acts(w, index);
        }
        judge(w);
    }
}

/* Everybody has as many connections as its share allows. */
static bool is_full(const struct world *w)
{
    for (size_t i = 0; i < w->owner_count; i++) {
        const struct owner *o = &w->owners[i];
        const struct dsql_block *block =
            o->alive ? dsql_registry_find(&w->item, o->blocks.config.id) : NULL;
        if (o->alive &&
            (!block || o->conns != dsql_least(block->of[DSQL_SLOTS].has, o->blocks.need.want)))
            return false;
    }
    return true;
}

/* (b): faults have stopped; the dead are gone, and everybody has its share and can use it. */
static void judge_end(struct world *w)
{
    size_t living = 0;
    w->faults = false;
    w->down_total_ns += outage_ns(w);
    w->up = true;
    for (size_t i = 0; i < w->owner_count; i++) {
        w->owners[i].paused_until_ns = 0;
        if (w->owners[i].alive)
            dsql_allowance_drain(&w->owners[i].blocks.allowance, false);
        living += w->owners[i].alive;
    }
    if (living == 0)
        born(w, &w->owners[0]);
    run_for(w, LATE_TTLS * w->ttl_ns); /* copies of what was sent before still arrive */
    run_for(w, 2 * w->ttl_ns);
    for (size_t i = 0; w->ok && i < w->item.count; i++) {
        const struct owner *o = owner_of(w, w->item.blocks[i].id, 0);
        w->ok = prop_that(w->p, o != NULL, "(b) a dead owner still has a block");
        if (o && owner_of(w, w->item.blocks[i].id, (size_t)(o - w->owners) + 1))
            w->ok = prop_that(w->p, false, "(g) two owners have one identity");
    }
    run_for(w, 2 * w->ttl_ns);
    for (size_t i = 0; w->ok && i < w->item.count; i++) {
        int64_t share = dsql_registry_share(&w->item, DSQL_SLOTS, i, w->limit - w->headroom);
        int64_t has = w->item.blocks[i].of[DSQL_SLOTS].has;
        w->ok = prop_that(w->p, has == share, "(b) %lld slots instead of %lld", (long long)has,
                          (long long)share);
    }
    for (int i = 0; w->ok && !is_full(w) && i < 100; i++)
        run_for(w, w->ttl_ns);
    w->ok = w->ok && prop_that(w->p, is_full(w), "somebody never gets its connections");
}

static bool survives(struct prop *p)
{
    struct world w = {.p = p, .ok = true, .up = true, .faults = true};
    w.ttl_ns = (1 + (int64_t)prop_below(p, 4)) * 3 * DSQL_S;
    w.limit = 2 + (int64_t)prop_below(p, 20);
    w.headroom = (int64_t)prop_below(p, 2);
    w.rate = 1 + (int64_t)prop_below(p, 20);
    w.burst = 1 + (int64_t)prop_below(p, 20);
    w.owner_count = 2 + (size_t)prop_below(p, OWNERS_MAX - 1);
    int64_t faulty_ns = (int64_t)prop_below(p, 10) * w.ttl_ns;
    w.rng = dsql_rng_seeded(prop_any_u64(p));
    w.level = w.burst * DSQL_S;
    seen.schedules++;
    for (size_t i = 0; i < w.owner_count; i++)
        born(&w, &w.owners[i]);
    run_for(&w, faulty_ns);
    if (w.ok)
        judge_end(&w);
    for (size_t i = 0; i < w.owner_count; i++) {
        if (w.owners[i].alive)
            dies(&w, &w.owners[i]);
    }
    for (size_t i = 0; i < NET_MAX; i++)
        dsql_registry_fini(&w.net[i].view);
    dsql_registry_fini(&w.item);
    return w.ok;
}

TEST(schedules)
{
    breakage = WHOLE;
    prop_run("the fleet's budget holds", survives, 2000);
    print_message(
        "%llu schedules, %llu requests, %llu delivered again, %llu answers to a copy, %llu "
        "owners copied, %llu identities given up\n",
        (unsigned long long)seen.schedules, (unsigned long long)seen.requests,
        (unsigned long long)seen.repeats, (unsigned long long)seen.recognised,
        (unsigned long long)seen.clones, (unsigned long long)seen.identities);
    assert_true(seen.repeats > 0 && seen.recognised > 0 && seen.clones > 0 && seen.identities > 0);
}

TEST(breakages_are_noticed)
{
    prop_breakages(survives, 500, &breakage, BREAKAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules),
        cmocka_unit_test(breakages_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
