#include "core/leases_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"

enum { SLOW_SECONDS = 2 };

static const struct dsql_allowance_ops allowance_ops;

static struct dsql_leases *of(struct dsql_allowance *a)
{
    return DSQL_CONTAINER_OF(a, struct dsql_leases, allowance);
}

static const struct dsql_leases *of_const(const struct dsql_allowance *a)
{
    return DSQL_CONTAINER_OF(a, const struct dsql_leases, allowance);
}

enum dsql_rc dsql_leases_init(struct dsql_leases *l, const struct dsql_leases_config *config,
                              struct dsql_rng rng, struct dsql_mono now)
{
    assert(config->headroom >= 0 && config->headroom < config->connections);
    assert(config->rate > 0 && config->ttl_ns >= DSQL_S);
    *l = (struct dsql_leases){
        .allowance.ops = &allowance_ops,
        .config = *config,
        .rng = rng,
        .held = {.fresh_until = now,
                 .grace_until = now,
                 .full_until = now,
                 .parcel = DSQL_LEASES_BATCH},
        .round.at = now,
        .connects.draw = config->rate,
        .request.retry_at = now,
        .glance = {.at = now, .active = -1},
    };
    l->survey.owners = calloc(DSQL_LEASE_OWNERS_MAX, sizeof(*l->survey.owners));
    if (!l->survey.owners)
        return DSQL_NO_MEMORY;
    dsql_leases_plan_survey(l, now);
    return DSQL_OK;
}

static void fini(struct dsql_allowance *a)
{
    struct dsql_leases *l = of(a);
    free(l->held.items);
    free(l->survey.owners);
    *l = (struct dsql_leases){.allowance.ops = &allowance_ops};
}

static void want(struct dsql_allowance *a, int64_t n)
{
    of(a)->need.want = n;
}

static void used(struct dsql_allowance *a, int64_t n)
{
    of(a)->need.used = n;
}

static void throttled(struct dsql_allowance *a, struct dsql_moment now)
{
    struct dsql_leases *l = of(a);
    l->counts.throttled++;
    if (l->connects.slow_seconds == 0) {
        l->connects.slow_seconds = SLOW_SECONDS;
        l->connects.slow_from = dsql_leases_second_of(now.wall) + 1;
    }
    l->connects.not_before = dsql_leases_second_of(now.wall) + 1;
    l->connects.permits = 0;
}

static void drain(struct dsql_allowance *a, bool draining)
{
    struct dsql_leases *l = of(a);
    if (l->need.draining == draining)
        return;
    l->need.draining = draining;
    l->need.left = false;
}

static int64_t slots_of(const struct dsql_leases *l, struct dsql_mono now)
{
    if (l->config.connects_only)
        return l->need.draining ? 0 : l->need.want;
    int64_t grace = dsql_mono_before(now, l->held.grace_until) ? l->held.grace : 0;
    int64_t n = dsql_least((int64_t)l->held.count, l->need.draining ? 0 : INT64_MAX) + grace;
    if ((l->request.under_way || l->request.repeat) && l->request.op.kind == DSQL_LEASES_RELEASE)
        n -= l->request.op.count; /* given back, whether or not it is confirmed */
    n = dsql_most(n, 0);
    return dsql_mono_before(now, l->held.fresh_until) ? n : dsql_least(n, l->need.used);
}

static int64_t slots(const struct dsql_allowance *a, struct dsql_moment now)
{
    return slots_of(of_const(a), now.mono);
}

static bool permit(struct dsql_allowance *a, struct dsql_moment now, int64_t *wait_ns)
{
    struct dsql_leases *l = of(a);
    if (l->connects.permits > 0 &&
        l->connects.second == dsql_leases_second_of(now.wall)) { /* (LE2) */
        l->connects.permits--;
        return true;
    }
    l->connects.permits = 0;
    l->need.asked = true;
    *wait_ns = DSQL_S; /* an answer that brings one is there sooner */
    return false;
}

static double rate(struct dsql_allowance *a, struct dsql_moment now)
{
    (void)now;
    return (double)of(a)->config.rate;
}

static void status(struct dsql_allowance *a, struct dsql_moment now,
                   struct dsql_allowance_status *status)
{
    const struct dsql_leases *l = of(a);
    status->slots = slots_of(l, now.mono);
    status->used = l->need.used;
    status->rate = status->rate_limit = (double)l->config.rate;
    status->burst = l->config.rate;
    status->permits = l->connects.permits;
    status->throttled = l->counts.throttled;
    if (l->config.connects_only)
        return;
    status->fleet_used = l->glance.active;
    status->fleet_limit = l->config.connections;
}

size_t dsql_leases_place_of(const struct dsql_leases *l, const char *id)
{
    size_t i = 0;
    while (i < l->held.count && strcmp(l->held.items[i].id, id) != 0)
        i++;
    return i;
}

/* -- Requests. */

static int64_t wanted(const struct dsql_leases *l)
{
    return l->need.draining || l->config.connects_only ? 0 : l->need.want;
}

static int64_t surplus(const struct dsql_leases *l)
{
    return (int64_t)l->held.count - dsql_most(l->need.used, wanted(l));
}

static enum dsql_leases_kind survey_step(const struct dsql_leases_survey *s)
{
    if (s->stage != SURVEY_IDLE)
        return s->stage == SURVEY_SCAN ? DSQL_LEASES_SCAN : DSQL_LEASES_LOOK;
    return s->reap.count > 0 ? DSQL_LEASES_REAP
           : s->may_recount  ? DSQL_LEASES_RECOUNT
                             : DSQL_LEASES_LOOK;
}

/* The request there is to make now; false if none. *wait_ns is how long until there may be one. */
static bool choose(const struct dsql_leases *l, struct dsql_moment at_both,
                   enum dsql_leases_kind *kind, int64_t *wait_ns)
{
    struct dsql_mono now = at_both.mono;
    struct dsql_wall wall = at_both.wall;
    struct dsql_mono at = l->round.at;
    int64_t wall_wait_ns = INT64_MAX;
    if (l->need.draining && l->held.count == 0) {
        *wait_ns = INT64_MAX;
        return false;
    }
    if (l->held.count > 0 && !dsql_mono_before(now, l->round.at)) {
        *kind = DSQL_LEASES_RENEW;
        return true;
    }
    if (surplus(l) > 0) {
        *kind = DSQL_LEASES_RELEASE;
        return true;
    }
    if (l->connects.slow_seconds > 0) {
        *kind = DSQL_LEASES_SLOW;
        return true;
    }
    if (l->need.asked && l->connects.permits == 0 && !l->need.draining) {
        *kind = DSQL_LEASES_CONNECT;
        if (dsql_leases_second_of(wall) >= l->connects.not_before)
            return true;
        wall_wait_ns = l->connects.not_before * DSQL_S - wall.ns;
    }
    if ((int64_t)l->held.count < wanted(l)) {
        *kind = DSQL_LEASES_ACQUIRE;
        if (!dsql_mono_before(now, l->held.full_until))
            return true;
        at = dsql_mono_before(l->held.full_until, at) || l->held.count == 0 ? l->held.full_until
                                                                            : at;
    } else if (l->held.count == 0) {
        at = (struct dsql_mono){INT64_MAX};
    }
    if (!l->need.draining && !l->config.connects_only) {
        if (l->survey.stage != SURVEY_IDLE || l->survey.reap.count > 0 ||
            !dsql_mono_before(now, l->survey.at)) {
            *kind = survey_step(&l->survey);
            return true;
        }
        if (!dsql_mono_before(now, l->glance.at)) {
            *kind = DSQL_LEASES_LOOK;
            return true;
        }
        at = dsql_mono_before(l->survey.at, at) ? l->survey.at : at;
        at = dsql_mono_before(l->glance.at, at) ? l->glance.at : at;
    }
    *wait_ns = dsql_least(wall_wait_ns,
                          at.ns == INT64_MAX ? INT64_MAX : dsql_most(0, dsql_mono_since(at, now)));
    return false;
}

static int64_t due_ns(const struct dsql_allowance *a, struct dsql_moment now)
{
    const struct dsql_leases *l = of_const(a);
    enum dsql_leases_kind kind;
    int64_t wait_ns = 0;
    if (l->request.under_way || l->need.left)
        return INT64_MAX;
    if (!l->request.repeat && !choose(l, now, &kind, &wait_ns))
        return wait_ns;
    return dsql_most(0, dsql_mono_since(l->request.retry_at, now.mono));
}

static bool left(const struct dsql_allowance *a)
{
    return of_const(a)->need.left;
}

static const struct dsql_allowance_ops allowance_ops = {
    .want = want,
    .used = used,
    .slots = slots,
    .permit = permit,
    .rate = rate,
    .throttled = throttled,
    .drain = drain,
    .left = left,
    .due_ns = due_ns,
    .status = status,
    .fini = fini,
};

static void take_ids(const struct dsql_leases *l, struct dsql_leases_op *op, size_t from)
{
    size_t n = l->held.count - from;
    n = n < DSQL_LEASES_BATCH ? n : DSQL_LEASES_BATCH;
    n = op->count > 0 && (size_t)op->count < n ? (size_t)op->count : n;
    for (size_t i = 0; i < n; i++) {
        memcpy(op->ids[i], l->held.items[from + i].id, sizeof(op->ids[i]));
        op->was[i] = l->held.items[from + i].beat;
    }
    op->count = (int64_t)n;
}

/* Higher than all beats before, and different from every other process's. */
static int64_t next_beat(struct dsql_leases *l)
{
    enum { RANDOM_BITS = 32 };
    int64_t random = (int64_t)(l->self.nonce & UINT32_MAX);
    l->self.beat = (((l->self.beat >> RANDOM_BITS) + 1) << RANDOM_BITS) | random;
    return l->self.beat;
}

static void make_acquire(struct dsql_leases *l, struct dsql_leases_op *op)
{
    struct dsql_rng fresh = dsql_rng_seeded(l->self.nonce);
    /* More than there are would be granted, too, while there is no counter to compare with. */
    int64_t parcel = dsql_least(l->held.parcel, l->config.connections - l->config.headroom);
    op->count = dsql_least(wanted(l) - (int64_t)l->held.count, parcel);
    op->beat = next_beat(l); /* after a time without leases, too, the owner has moved */
    for (int64_t i = 0; i < op->count; i++)
        (void)snprintf(op->ids[i], sizeof(op->ids[i]), "%016llx%016llx",
                       (unsigned long long)dsql_rng_next(&fresh),
                       (unsigned long long)(dsql_rng_next(&fresh) ^ dsql_rng_next(&l->rng)));
}

static void make(struct dsql_leases *l, enum dsql_leases_kind kind, struct dsql_wall wall)
{
    struct dsql_leases_op *op = &l->request.op;
    *op = (struct dsql_leases_op){.kind = kind, .mark = l->self.nonce};
    if (l->self.spent) {
        (void)snprintf(l->config.owner, sizeof(l->config.owner), "%016llx",
                       (unsigned long long)~l->self.nonce);
        l->self.spent = false;
        l->survey.stray_count = 0;
    }
    switch (kind) {
    case DSQL_LEASES_ACQUIRE:
        make_acquire(l, op);
        break;
    case DSQL_LEASES_RELEASE:
        op->count = dsql_least(surplus(l), DSQL_LEASES_BATCH);
        op->beat =
            l->round.under_way ? l->round.beat : -1; /* a renewal may have been applied unheard */
        take_ids(l, op, l->held.count - (size_t)op->count);
        break;
    case DSQL_LEASES_RENEW:
        if (!l->round.under_way) {
            l->round.beat = next_beat(l);
            l->round.sent = l->request.sent;
        }
        l->round.under_way = true;
        op->beat = l->round.beat;
        take_ids(l, op, l->round.renewed);
        break;
    case DSQL_LEASES_CONNECT:
        op->second = dsql_leases_second_of(wall);
        op->count =
            dsql_most(1, dsql_least(dsql_most(1, slots_of(l, l->request.sent) - l->need.used),
                                    l->connects.draw));
        break;
    case DSQL_LEASES_SLOW:
        op->second = l->connects.slow_from + SLOW_SECONDS - l->connects.slow_seconds;
        op->count = dsql_most(1, l->config.rate / 2);
        break;
    case DSQL_LEASES_LOOK:
        l->glance.under_way =
            l->survey.stage == SURVEY_IDLE && dsql_mono_before(l->request.sent, l->survey.at);
        if (l->survey.stage == SURVEY_IDLE && !l->glance.under_way)
            l->survey.stage = SURVEY_FIRST;
        break;
    case DSQL_LEASES_SCAN:
        break;
    case DSQL_LEASES_REAP:
        *op = l->survey.reap;
        op->kind = kind;
        op->mark = l->self.nonce;
        break;
    case DSQL_LEASES_RECOUNT:
        op->active = l->survey.active;
        op->updated_ms = l->survey.updated_ms;
        op->ours = l->survey.counted;
        op->count = l->survey.counted + l->survey.others;
        break;
    }
}

bool dsql_leases_next(struct dsql_leases *l, struct dsql_moment now, uint64_t nonce,
                      struct dsql_leases_op *op)
{
    enum dsql_leases_kind kind;
    int64_t wait_ns;
    l->need.left =
        l->need.draining && l->held.count == 0 && !l->request.under_way && !l->request.repeat;
    if (l->request.under_way || l->need.left || dsql_mono_before(now.mono, l->request.retry_at))
        return false;
    if (!l->request.repeat) {
        if (!choose(l, now, &kind, &wait_ns))
            return false;
        l->request.sent = l->request.first_sent = now.mono;
        l->self.nonce = nonce;
        make(l, kind, now.wall);
    }
    l->request.under_way = true;
    l->request.sent = now.mono;
    *op = l->request.op;
    return true;
}

bool dsql_leases_is_missing(const struct dsql_leases_op *op, int64_t i,
                            const struct dsql_lease_found *item)
{
    switch (op->kind) {
    case DSQL_LEASES_ACQUIRE:
        return item != NULL;
    case DSQL_LEASES_RENEW:
    case DSQL_LEASES_RELEASE:
        return !item || (item->beat != op->was[i] && item->beat != op->beat);
    case DSQL_LEASES_REAP:
        return !item || item->beat != op->beat;
    case DSQL_LEASES_CONNECT:
    case DSQL_LEASES_SLOW:
    case DSQL_LEASES_LOOK:
    case DSQL_LEASES_SCAN:
    case DSQL_LEASES_RECOUNT:
        break;
    }
    return false;
}
