#include "core/leases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/least.h"
#include "core/backoff.h"

#define GRACE_NS  (2 * DSQL_S)
#define GLANCE_NS (30 * DSQL_S) /* the counter is read this often, for who watches the fleet */
enum { SLOW_SECONDS = 2 };

static const struct dsql_allowance_ops allowance_ops;
static const struct dsql_backoff lost_wait = {200 * DSQL_MS, 5 * DSQL_S, 0.5};
static const struct dsql_backoff conflict_wait = {10 * DSQL_MS, 1280 * DSQL_MS, 1};

static struct dsql_leases *of(struct dsql_allowance *a)
{
    return DSQL_CONTAINER_OF(a, struct dsql_leases, allowance);
}

static const struct dsql_leases *of_const(const struct dsql_allowance *a)
{
    return DSQL_CONTAINER_OF(a, const struct dsql_leases, allowance);
}

static int64_t second_of(struct dsql_wall wall)
{
    return wall.ns / DSQL_S;
}

static void plan_survey(struct dsql_leases *l, struct dsql_mono now)
{
    /* About one survey a TTL in the whole fleet; more while an owner seems to stand still. */
    int64_t owners = dsql_most(1, (int64_t)l->owner_count);
    for (size_t i = 0; i < l->owner_count; i++) {
        if (dsql_mono_since(now, l->owners[i].since) > l->config.ttl_ns / 2 &&
            strcmp(l->owners[i].id, l->config.owner) != 0)
            owners = 1;
    }
    if (l->stray_count > 0)
        owners = 1;
    l->survey = SURVEY_IDLE;
    l->survey_at = dsql_mono_add(now, l->config.ttl_ns / 2 +
                                          dsql_rng_between(&l->rng, 0, l->config.ttl_ns * owners));
}

enum dsql_rc dsql_leases_init(struct dsql_leases *l, const struct dsql_leases_config *config,
                              struct dsql_rng rng, struct dsql_mono now)
{
    assert(config->headroom >= 0 && config->headroom < config->connections);
    assert(config->rate > 0 && config->ttl_ns >= DSQL_S);
    *l = (struct dsql_leases){
        .allowance.ops = &allowance_ops,
        .last_active = -1,
        .config = *config,
        .rng = rng,
        .renew_at = now,
        .fresh_until = now,
        .grace_until = now,
        .retry_at = now,
        .full_until = now,
        .glance_at = now,
        .parcel = DSQL_LEASES_BATCH,
        .draw = config->rate,
    };
    l->owners = calloc(DSQL_LEASE_OWNERS_MAX, sizeof(*l->owners));
    if (!l->owners)
        return DSQL_NO_MEMORY;
    plan_survey(l, now);
    return DSQL_OK;
}

static void fini(struct dsql_allowance *a)
{
    struct dsql_leases *l = of(a);
    free(l->held);
    free(l->owners);
    *l = (struct dsql_leases){.allowance.ops = &allowance_ops};
}

static void want(struct dsql_allowance *a, int64_t n)
{
    of(a)->want = n;
}

static void used(struct dsql_allowance *a, int64_t n)
{
    of(a)->used = n;
}

static void throttled(struct dsql_allowance *a, struct dsql_moment now)
{
    struct dsql_leases *l = of(a);
    l->counts.throttled++;
    if (l->slow_seconds == 0) {
        l->slow_seconds = SLOW_SECONDS;
        l->slow_from = second_of(now.wall) + 1;
    }
    l->connect_second = second_of(now.wall) + 1;
    l->permits = 0;
}

static void drain(struct dsql_allowance *a, bool draining)
{
    struct dsql_leases *l = of(a);
    if (l->draining == draining)
        return;
    l->draining = draining;
    l->left = false;
}

static int64_t slots_of(const struct dsql_leases *l, struct dsql_mono now)
{
    if (l->config.connects_only)
        return l->draining ? 0 : l->want;
    int64_t grace = dsql_mono_before(now, l->grace_until) ? l->grace : 0;
    int64_t n = dsql_least((int64_t)l->count, l->draining ? 0 : INT64_MAX) + grace;
    if ((l->busy || l->repeat) && l->flight.kind == DSQL_LEASES_RELEASE)
        n -= l->flight.count; /* given back, whether or not it is confirmed */
    n = dsql_most(n, 0);
    return dsql_mono_before(now, l->fresh_until) ? n : dsql_least(n, l->used);
}

static int64_t slots(const struct dsql_allowance *a, struct dsql_moment now)
{
    return slots_of(of_const(a), now.mono);
}

static bool permit(struct dsql_allowance *a, struct dsql_moment now, int64_t *wait_ns)
{
    struct dsql_leases *l = of(a);
    if (l->permits > 0 && l->permits_second == second_of(now.wall)) { /* (L2) */
        l->permits--;
        return true;
    }
    l->permits = 0;
    l->asked = true;
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
    status->used = l->used;
    status->rate = status->rate_limit = (double)l->config.rate;
    status->burst = l->config.rate;
    status->permits = l->permits;
    status->throttled = l->counts.throttled;
    if (l->config.connects_only)
        return;
    status->fleet_used = l->last_active;
    status->fleet_limit = l->config.connections;
}

/* -- What to ask for. */

static int64_t wanted(const struct dsql_leases *l)
{
    return l->draining || l->config.connects_only ? 0 : l->want;
}

static int64_t surplus(const struct dsql_leases *l)
{
    return (int64_t)l->count - dsql_most(l->used, wanted(l));
}

/* The request there is to make now; false if none. *wait_ns is how long until there may be one. */
static bool choose(const struct dsql_leases *l, struct dsql_moment at_both,
                   enum dsql_leases_kind *kind, int64_t *wait_ns)
{
    struct dsql_mono now = at_both.mono;
    struct dsql_wall wall = at_both.wall;
    struct dsql_mono at = l->renew_at;
    int64_t wall_wait_ns = INT64_MAX;
    if (l->draining && l->count == 0) {
        *wait_ns = INT64_MAX;
        return false;
    }
    if (l->count > 0 && !dsql_mono_before(now, l->renew_at)) {
        *kind = DSQL_LEASES_RENEW;
        return true;
    }
    if (surplus(l) > 0) {
        *kind = DSQL_LEASES_RELEASE;
        return true;
    }
    if (l->slow_seconds > 0) {
        *kind = DSQL_LEASES_SLOW;
        return true;
    }
    if (l->asked && l->permits == 0 && !l->draining) {
        *kind = DSQL_LEASES_CONNECT;
        if (second_of(wall) >= l->connect_second)
            return true;
        wall_wait_ns = l->connect_second * DSQL_S - wall.ns;
    }
    if ((int64_t)l->count < wanted(l)) {
        *kind = DSQL_LEASES_ACQUIRE;
        if (!dsql_mono_before(now, l->full_until))
            return true;
        at = dsql_mono_before(l->full_until, at) || l->count == 0 ? l->full_until : at;
    } else if (l->count == 0) {
        at = (struct dsql_mono){INT64_MAX};
    }
    if (!l->draining && !l->config.connects_only) {
        if (l->survey != SURVEY_IDLE || l->reap.count > 0 || !dsql_mono_before(now, l->survey_at)) {
            *kind = l->survey == SURVEY_SCAN                        ? DSQL_LEASES_SCAN
                    : l->survey == SURVEY_IDLE && l->reap.count > 0 ? DSQL_LEASES_REAP
                    : l->survey == SURVEY_IDLE && l->may_recount    ? DSQL_LEASES_RECOUNT
                                                                    : DSQL_LEASES_LOOK;
            return true;
        }
        if (!dsql_mono_before(now, l->glance_at)) {
            *kind = DSQL_LEASES_LOOK;
            return true;
        }
        at = dsql_mono_before(l->survey_at, at) ? l->survey_at : at;
        at = dsql_mono_before(l->glance_at, at) ? l->glance_at : at;
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
    if (l->busy || l->left)
        return INT64_MAX;
    if (!l->repeat && !choose(l, now, &kind, &wait_ns))
        return wait_ns;
    return dsql_most(0, dsql_mono_since(l->retry_at, now.mono));
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
    .drain = drain,
    .left = left,
    .due_ns = due_ns,
    .status = status,
    .fini = fini,
};

static void take_ids(const struct dsql_leases *l, struct dsql_leases_op *op, size_t from)
{
    size_t n = l->count - from;
    n = n < DSQL_LEASES_BATCH ? n : DSQL_LEASES_BATCH;
    n = op->count > 0 && (size_t)op->count < n ? (size_t)op->count : n;
    for (size_t i = 0; i < n; i++) {
        memcpy(op->ids[i], l->held[from + i].id, sizeof(op->ids[i]));
        op->was[i] = l->held[from + i].beat;
    }
    op->count = (int64_t)n;
}

/* Higher than all beats before, and different from every other process's. */
static int64_t next_beat(struct dsql_leases *l)
{
    enum { RANDOM_BITS = 32 };
    int64_t random = (int64_t)(l->nonce & UINT32_MAX);
    l->beat = (((l->beat >> RANDOM_BITS) + 1) << RANDOM_BITS) | random;
    return l->beat;
}

static void make_acquire(struct dsql_leases *l, struct dsql_leases_op *op)
{
    struct dsql_rng fresh = dsql_rng_seeded(l->nonce);
    /* More than there are would be granted, too, while there is no counter to compare with. */
    int64_t parcel = dsql_least((int64_t)l->parcel, l->config.connections - l->config.headroom);
    op->count = dsql_least(wanted(l) - (int64_t)l->count, parcel);
    op->beat = next_beat(l); /* after a time without leases, too, the owner has moved */
    for (int64_t i = 0; i < op->count; i++)
        (void)snprintf(op->ids[i], sizeof(op->ids[i]), "%016llx%016llx",
                       (unsigned long long)dsql_rng_next(&fresh),
                       (unsigned long long)(dsql_rng_next(&fresh) ^ dsql_rng_next(&l->rng)));
}

static void make(struct dsql_leases *l, enum dsql_leases_kind kind, struct dsql_wall wall)
{
    struct dsql_leases_op *op = &l->flight;
    *op = (struct dsql_leases_op){.kind = kind, .mark = l->nonce};
    if (l->spent) {
        (void)snprintf(l->config.owner, sizeof(l->config.owner), "%016llx",
                       (unsigned long long)~l->nonce);
        l->spent = false;
        l->stray_count = 0;
    }
    switch (kind) {
    case DSQL_LEASES_ACQUIRE:
        make_acquire(l, op);
        break;
    case DSQL_LEASES_RELEASE:
        op->count = dsql_least(surplus(l), DSQL_LEASES_BATCH);
        op->beat = l->round ? l->round_beat : -1; /* a renewal may have been applied unheard */
        take_ids(l, op, l->count - (size_t)op->count);
        break;
    case DSQL_LEASES_RENEW:
        if (!l->round) {
            l->round_beat = next_beat(l);
            l->round_sent = l->sent;
        }
        l->round = true;
        op->beat = l->round_beat;
        take_ids(l, op, l->renewed);
        break;
    case DSQL_LEASES_CONNECT:
        op->second = second_of(wall);
        op->count = dsql_most(1, dsql_least(dsql_most(1, slots_of(l, l->sent) - l->used), l->draw));
        break;
    case DSQL_LEASES_SLOW:
        op->second = l->slow_from + SLOW_SECONDS - l->slow_seconds;
        op->count = dsql_most(1, l->config.rate / 2);
        break;
    case DSQL_LEASES_LOOK:
        l->glancing = l->survey == SURVEY_IDLE && dsql_mono_before(l->sent, l->survey_at);
        if (l->survey == SURVEY_IDLE && !l->glancing)
            l->survey = SURVEY_FIRST;
        break;
    case DSQL_LEASES_SCAN:
        break;
    case DSQL_LEASES_REAP:
        *op = l->reap;
        op->kind = kind;
        op->mark = l->nonce;
        break;
    case DSQL_LEASES_RECOUNT:
        op->active = l->active;
        op->updated_ms = l->updated_ms;
        op->ours = l->counted;
        op->count = l->counted + l->others;
        break;
    }
}

bool dsql_leases_next(struct dsql_leases *l, struct dsql_moment now, uint64_t nonce,
                      struct dsql_leases_op *op)
{
    enum dsql_leases_kind kind;
    int64_t wait_ns;
    l->left = l->draining && l->count == 0 && !l->busy && !l->repeat;
    if (l->busy || l->left || dsql_mono_before(now.mono, l->retry_at))
        return false;
    if (!l->repeat) {
        if (!choose(l, now, &kind, &wait_ns))
            return false;
        l->sent = l->first_sent = now.mono;
        l->nonce = nonce;
        make(l, kind, now.wall);
    }
    l->busy = true;
    l->sent = now.mono;
    l->counts.requests++;
    *op = l->flight;
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

/* -- Answers. */

static enum dsql_rc hold(struct dsql_leases *l, const struct dsql_leases_op *op)
{
    size_t need = l->count + (size_t)op->count;
    if (!DSQL_GROW(l->held, l->room, need))
        return DSQL_NO_MEMORY;
    for (int64_t i = 0; i < op->count; i++) {
        struct dsql_lease_held *lease = &l->held[l->count++];
        memcpy(lease->id, op->ids[i], sizeof(lease->id));
        lease->beat = op->beat;
    }
    return DSQL_OK;
}

/* Where it is among those held; count if it is not. */
static size_t place_of(const struct dsql_leases *l, const char *id)
{
    size_t i = 0;
    while (i < l->count && strcmp(l->held[i].id, id) != 0)
        i++;
    return i;
}

static void drop(struct dsql_leases *l, const char *id)
{
    size_t i = place_of(l, id);
    if (i == l->count)
        return;
    l->renewed -= i < l->renewed;
    memmove(&l->held[i], &l->held[i + 1], (l->count - i - 1) * sizeof(*l->held));
    l->count--;
}

static enum dsql_rc acquired(struct dsql_leases *l, struct dsql_mono now)
{
    bool first = l->count == 0;
    enum dsql_rc rc = hold(l, &l->flight);
    if (rc)
        return rc;
    l->grace = dsql_most(0, l->grace - l->flight.count);
    l->parcel = dsql_least((int64_t)l->parcel * 2, DSQL_LEASES_BATCH) > 0
                    ? (size_t)dsql_least((int64_t)l->parcel * 2, DSQL_LEASES_BATCH)
                    : 1;
    if (first) {
        l->renew_at = dsql_mono_add(l->first_sent, l->config.ttl_ns / 3);
        l->fresh_until = dsql_mono_add(l->first_sent, l->config.ttl_ns);
    }
    (void)now;
    return DSQL_OK;
}

static void renewed(struct dsql_leases *l)
{
    for (int64_t i = 0; i < l->flight.count; i++)
        l->held[place_of(l, l->flight.ids[i])].beat = l->flight.beat;
    l->renewed += (size_t)l->flight.count;
    if (l->renewed < l->count)
        return;
    l->renewed = 0;
    l->round = false;
    l->renew_at = dsql_mono_add(l->round_sent, l->config.ttl_ns / 3);
    l->fresh_until = dsql_mono_add(l->round_sent, l->config.ttl_ns);
}

/* Some of the ids are not there, or not as they were. */
static enum dsql_rc missing(struct dsql_leases *l, struct dsql_mono now,
                            const struct dsql_leases_answer *answer)
{
    int64_t gone = 0;
    if (l->flight.kind == DSQL_LEASES_ACQUIRE) /* put before: an earlier try was applied */
        return acquired(l, now);
    if (l->flight.kind == DSQL_LEASES_REAP) {
        l->reap.count = 0; /* another process took them away or renewed them */
        return DSQL_OK;
    }
    for (int64_t i = 0; i < l->flight.count; i++) {
        if (!answer->missing[i])
            continue;
        drop(l, l->flight.ids[i]);
        gone++;
    }
    l->counts.missing += (uint64_t)gone;
    if (l->flight.kind == DSQL_LEASES_RENEW) {
        l->grace = gone + (dsql_mono_before(now, l->grace_until) ? l->grace : 0);
        l->grace_until = dsql_mono_add(now, GRACE_NS);
        l->spent = true; /* another process renews them, or took them away */
        l->counts.copies++;
        if (l->count == 0) {
            l->renewed = 0;
            l->round = false;
        }
    }
    return DSQL_OK;
}

static struct dsql_lease_owner *owner_of(struct dsql_leases *l, const char *id,
                                         struct dsql_mono now)
{
    for (size_t i = 0; i < l->owner_count; i++) {
        if (strcmp(l->owners[i].id, id) == 0)
            return &l->owners[i];
    }
    if (l->owner_count == DSQL_LEASE_OWNERS_MAX)
        return NULL;
    struct dsql_lease_owner *owner = &l->owners[l->owner_count++];
    *owner = (struct dsql_lease_owner){.since = now, .steady = now, .sight = {.top = -1}};
    memcpy(owner->id, id, sizeof(owner->id));
    return owner;
}

/* Whether the owner has renewed or put a lease: fewer leases say nothing, they may have been taken
 * away. The highest beat alone does not do: it may be a stray's. */
static bool has_moved(const struct dsql_lease_sight *before, const struct dsql_lease_sight *now)
{
    return now->top > before->top || (now->leases >= before->leases && now->sum != before->sum);
}

/* After a whole scan, because one lease says little: an owner that renews has old and new ones.
 * (L3) */
static bool find_dead(struct dsql_leases *l, struct dsql_mono now)
{
    bool found = false;
    for (size_t i = 0; i < l->owner_count; i++) {
        struct dsql_lease_owner *owner = &l->owners[i];
        if (owner->here && has_moved(&owner->sight, &owner->now))
            owner->since = now;
        if (owner->sight.leases != owner->now.leases || owner->sight.sum != owner->now.sum)
            owner->steady = now;
        owner->sight = owner->now;
        owner->dead =
            strcmp(owner->id, l->config.owner) != 0 &&
            dsql_mono_since(now, owner->since) >= l->config.ttl_ns + l->config.ttl_ns / 2 &&
            dsql_mono_since(now, owner->steady) >= l->config.ttl_ns / 2;
        found = found || owner->dead;
    }
    return found;
}

static void will_reap(struct dsql_leases *l, const struct dsql_lease_found *found)
{
    bool same_owner = strcmp(l->reap_owner, found->owner) == 0;
    if (l->reap.count > 0 && same_owner && found->beat < l->reap.beat)
        l->reap.count = 0; /* the oldest first: what is left stands as still as before */
    if (l->reap.count == DSQL_LEASES_BATCH ||
        (l->reap.count > 0 && (l->reap.beat != found->beat || !same_owner)))
        return; /* with the next survey */
    l->reap.beat = found->beat;
    memcpy(l->reap_owner, found->owner, sizeof(l->reap_owner));
    memcpy(l->reap.ids[l->reap.count++], found->id, sizeof(found->id));
}

/* A lease of our name that is not held. A process with our identity would renew it: after the time
 * for which a process may be silent the lease belongs to no process. */
static void look_at_stray(struct dsql_leases *l, struct dsql_mono now,
                          const struct dsql_lease_found *found)
{
    size_t i = 0;
    while (i < l->stray_count && strcmp(l->strays[i].id, found->id) != 0)
        i++;
    if (i == DSQL_LEASES_BATCH)
        return;
    struct dsql_lease_stray *stray = &l->strays[i];
    if (i == l->stray_count || stray->beat != found->beat) {
        stray->beat = found->beat;
        stray->since = now;
        memcpy(stray->id, found->id, sizeof(stray->id));
    }
    l->stray_count = i == l->stray_count ? i + 1 : l->stray_count;
    stray->here = true;
    if (dsql_mono_since(now, stray->since) >= l->config.ttl_ns + l->config.ttl_ns / 2) {
        l->counts.strays++;
        l->reap_strays = l->reap_strays || l->reap.count == 0;
        will_reap(l, found);
    }
}

static void scanned(struct dsql_leases *l, struct dsql_mono now,
                    const struct dsql_leases_answer *answer)
{
    for (size_t i = 0; i < answer->found_count; i++) {
        const struct dsql_lease_found *found = &answer->found[i];
        l->counted += found->renewed;
        struct dsql_lease_owner *owner = found->renewed ? owner_of(l, found->owner, now) : NULL;
        if (!owner)
            continue;
        if (!owner->here)
            owner->now = (struct dsql_lease_sight){.top = found->beat};
        owner->here = true;
        owner->now.leases++;
        owner->now.top = dsql_most(owner->now.top, found->beat);
        owner->now.sum += (uint64_t)found->beat;
        if (owner->dead)
            will_reap(l, found);
        else if (strcmp(found->owner, l->config.owner) == 0 && place_of(l, found->id) == l->count)
            look_at_stray(l, now, found);
    }
    if (answer->last)
        l->survey = SURVEY_SECOND;
}

static void forget_absent_owners(struct dsql_leases *l)
{
    size_t kept = 0, strays = 0;
    for (size_t i = 0; i < l->stray_count; i++) {
        if (l->strays[i].here)
            l->strays[strays++] = l->strays[i];
    }
    l->stray_count = strays;
    for (size_t i = 0; i < l->owner_count; i++) {
        if (l->owners[i].here)
            l->owners[kept++] = l->owners[i];
    }
    l->owner_count = kept;
}

/* Forgets the owners to remove that this scan shows alive. */
static void forget_living(struct dsql_leases *l)
{
    if (l->reap.count == 0 || l->reap_strays)
        return;
    for (size_t i = 0; i < l->owner_count; i++) {
        if (strcmp(l->owners[i].id, l->reap_owner) == 0 && !l->owners[i].dead)
            l->reap.count = 0;
    }
}

/* The counter, before and after the scan. */
static void looked(struct dsql_leases *l, struct dsql_mono now,
                   const struct dsql_leases_answer *answer)
{
    if (l->survey == SURVEY_FIRST) {
        l->active = answer->active;
        l->updated_ms = answer->updated_ms;
        /* A counter that was set to less than ours has nothing of others. */
        l->others = dsql_most(0, answer->active - dsql_most(0, answer->ours));
        l->counted = 0;
        l->reap = (struct dsql_leases_op){.kind = DSQL_LEASES_REAP};
        l->reap_strays = false;
        for (size_t i = 0; i < l->owner_count; i++)
            l->owners[i].here = false;
        for (size_t i = 0; i < l->stray_count; i++)
            l->strays[i].here = false;
        l->survey = SURVEY_SCAN;
        return;
    }
    bool dead = find_dead(l, now);
    forget_living(l);
    bool steady =
        answer->exists && answer->active == l->active && answer->updated_ms == l->updated_ms;
    int64_t drift = steady ? l->active - l->others - l->counted : 0;
    /* The same twice, a TTL apart, with no process coming or going meanwhile: that is no race. */
    if (drift != l->drift)
        l->drift_since = now;
    l->may_recount = drift != 0 && drift == l->drift && l->reap.count == 0 &&
                     dsql_mono_since(now, l->drift_since) >= l->config.ttl_ns;
    l->drift = drift;
    forget_absent_owners(l);
    plan_survey(l, now);
    if (drift != 0 && !l->may_recount)
        l->survey_at =
            dsql_mono_add(now, l->config.ttl_ns); /* owners notice what they miss sooner */
    if (l->reap.count > 0 || l->may_recount || dead)
        l->survey_at = now;
}

/* What we took away ourselves is no news of the owner. */
static void took_away(struct dsql_leases *l)
{
    for (size_t i = 0; i < l->owner_count; i++) {
        struct dsql_lease_owner *owner = &l->owners[i];
        if (strcmp(owner->id, l->reap_owner) != 0)
            continue;
        owner->sight.leases -= l->reap.count;
        owner->sight.sum -= (uint64_t)l->reap.count * (uint64_t)l->reap.beat;
    }
}

static void refused(struct dsql_leases *l, struct dsql_mono now)
{
    switch (l->flight.kind) {
    case DSQL_LEASES_ACQUIRE: /* full */
        l->grace = l->flight.count == 1 ? 0 : l->grace;
        l->full_until = l->flight.count > 1
                            ? now
                            : dsql_mono_add(now, DSQL_S / 2 + dsql_rng_between(&l->rng, 0, DSQL_S));
        l->parcel = l->flight.count > 1 ? (size_t)l->flight.count / 2 : 1;
        break;
    case DSQL_LEASES_CONNECT: /* the second is used up */
        if (l->flight.count == 1)
            l->connect_second = l->flight.second + 1;
        l->draw = dsql_most(1, l->flight.count / 2);
        break;
    case DSQL_LEASES_REAP:
        l->reap.count = 0;
        break;
    case DSQL_LEASES_RECOUNT:
        l->may_recount = false;
        plan_survey(l, now);
        break;
    case DSQL_LEASES_RELEASE: /* the counter is below what we have: it is wrong, our leases go
                                 anyway */
        l->count -= (size_t)dsql_least((int64_t)l->count, l->flight.count);
        break;
    case DSQL_LEASES_RENEW:
    case DSQL_LEASES_SLOW:
    case DSQL_LEASES_LOOK:
    case DSQL_LEASES_SCAN:
        break;
    }
}

static enum dsql_rc done(struct dsql_leases *l, struct dsql_mono now, struct dsql_wall wall,
                         const struct dsql_leases_answer *answer)
{
    switch (l->flight.kind) {
    case DSQL_LEASES_ACQUIRE:
        return acquired(l, now);
    case DSQL_LEASES_RELEASE:
        for (int64_t i = 0; i < l->flight.count; i++)
            drop(l, l->flight.ids[i]);
        break;
    case DSQL_LEASES_RENEW:
        renewed(l);
        break;
    case DSQL_LEASES_CONNECT:
        l->asked = false;
        l->permits = second_of(wall) == l->flight.second ? l->flight.count : 0;
        l->permits_second = l->flight.second;
        l->draw = dsql_least(l->config.rate, l->draw * 2);
        break;
    case DSQL_LEASES_SLOW:
        l->slow_seconds--;
        break;
    case DSQL_LEASES_LOOK:
        l->last_active = answer->exists ? answer->active : 0;
        l->glance_at = dsql_mono_add(now, GLANCE_NS);
        if (!l->glancing)
            looked(l, now, answer);
        break;
    case DSQL_LEASES_SCAN:
        scanned(l, now, answer);
        break;
    case DSQL_LEASES_REAP:
        l->counts.reaped += (uint64_t)l->reap.count;
        took_away(l);
        l->reap.count = 0;
        l->survey_at = now; /* there may be more */
        break;
    case DSQL_LEASES_RECOUNT:
        l->counts.recounts++;
        l->may_recount = false;
        l->drift = 0;
        plan_survey(l, now);
        break;
    }
    return DSQL_OK;
}

enum dsql_rc dsql_leases_answer(struct dsql_leases *l, struct dsql_moment at_both,
                                const struct dsql_leases_answer *answer)
{
    struct dsql_mono now = at_both.mono;
    assert(l->busy);
    enum dsql_rc rc = DSQL_OK;
    enum dsql_leases_outcome outcome = answer->outcome;
    bool in_doubt = l->repeat;
    l->busy = l->repeat = false;
    if (outcome == DSQL_LEASES_OK)
        rc = done(l, now, at_both.wall, answer);
    else if (outcome == DSQL_LEASES_MISSING)
        rc = missing(l, now, answer);
    else if (outcome == DSQL_LEASES_REFUSED)
        refused(l, now);
    if (outcome == DSQL_LEASES_CONFLICT) {
        l->counts.conflicts++;
        /* This try was not applied; an earlier one may have been. What was to be given back is not
         * used again: a copy may yet be applied. */
        l->repeat = in_doubt || l->flight.kind == DSQL_LEASES_RELEASE;
        l->retry_at = dsql_mono_add(now, dsql_backoff_ns(&conflict_wait, ++l->conflicts, &l->rng));
    } else if (outcome == DSQL_LEASES_LOST || rc) {
        /* Permits are drawn for a second, and reading needs no repetition. */
        l->repeat = l->flight.kind == DSQL_LEASES_ACQUIRE ||
                    l->flight.kind == DSQL_LEASES_RELEASE || l->flight.kind == DSQL_LEASES_RENEW;
        if (l->survey != SURVEY_IDLE) {
            l->reap.count = 0; /* half a survey says nothing */
            plan_survey(l, now);
        }
        l->counts.lost++;
        l->retry_at = dsql_mono_add(now, dsql_backoff_ns(&lost_wait, ++l->failures, &l->rng));
    } else {
        l->failures = l->conflicts = 0;
        l->retry_at = now;
    }
    return rc;
}
