/* The reconciler: finds the leases of dead owners, strays of our own, and errors of the counter. */
#include "core/leases_parts.h"

#include <string.h>

#include "base/least.h"

void dsql_leases_plan_survey(struct dsql_leases *l, struct dsql_mono now)
{
    struct dsql_leases_survey *s = &l->survey;
    /* About one survey a TTL in the whole fleet; more while an owner seems to stand still. */
    int64_t owners = dsql_most(1, (int64_t)s->owner_count);
    for (size_t i = 0; i < s->owner_count; i++) {
        if (dsql_mono_since(now, s->owners[i].since) > l->config.ttl_ns / 2 &&
            strcmp(s->owners[i].id, l->config.owner) != 0)
            owners = 1;
    }
    if (s->stray_count > 0)
        owners = 1;
    s->stage = SURVEY_IDLE;
    s->at = dsql_mono_add(now, l->config.ttl_ns / 2 +
                                   dsql_rng_between(&l->rng, 0, l->config.ttl_ns * owners));
}

static struct dsql_lease_owner *owner_of(struct dsql_leases_survey *s, const char *id,
                                         struct dsql_mono now)
{
    for (size_t i = 0; i < s->owner_count; i++) {
        if (strcmp(s->owners[i].id, id) == 0)
            return &s->owners[i];
    }
    if (s->owner_count == DSQL_LEASE_OWNERS_MAX)
        return NULL;
    struct dsql_lease_owner *owner = &s->owners[s->owner_count++];
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
 * (LE3) */
static bool find_dead(struct dsql_leases *l, struct dsql_mono now)
{
    struct dsql_leases_survey *s = &l->survey;
    bool found = false;
    for (size_t i = 0; i < s->owner_count; i++) {
        struct dsql_lease_owner *owner = &s->owners[i];
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

static void will_reap(struct dsql_leases_survey *s, const struct dsql_lease_found *found)
{
    bool same_owner = strcmp(s->reap_owner, found->owner) == 0;
    if (s->reap.count > 0 && same_owner && found->beat < s->reap.beat)
        s->reap.count = 0; /* the oldest first: what is left stands as still as before */
    if (s->reap.count == DSQL_LEASES_BATCH ||
        (s->reap.count > 0 && (s->reap.beat != found->beat || !same_owner)))
        return; /* with the next survey */
    s->reap.beat = found->beat;
    memcpy(s->reap_owner, found->owner, sizeof(s->reap_owner));
    memcpy(s->reap.ids[s->reap.count++], found->id, sizeof(found->id));
}

/* A lease of our name that is not held. A process with our identity would renew it: after the time
 * for which a process may be silent the lease belongs to no process. */
static void look_at_stray(struct dsql_leases *l, struct dsql_mono now,
                          const struct dsql_lease_found *found)
{
    struct dsql_leases_survey *s = &l->survey;
    size_t i = 0;
    while (i < s->stray_count && strcmp(s->strays[i].id, found->id) != 0)
        i++;
    if (i == DSQL_LEASES_BATCH)
        return;
    struct dsql_lease_stray *stray = &s->strays[i];
    if (i == s->stray_count || stray->beat != found->beat) {
        stray->beat = found->beat;
        stray->since = now;
        memcpy(stray->id, found->id, sizeof(stray->id));
    }
    s->stray_count = i == s->stray_count ? i + 1 : s->stray_count;
    stray->here = true;
    if (dsql_mono_since(now, stray->since) >= l->config.ttl_ns + l->config.ttl_ns / 2) {
        l->counts.strays++;
        s->reap_strays = s->reap_strays || s->reap.count == 0;
        will_reap(s, found);
    }
}

void dsql_leases_scanned(struct dsql_leases *l, struct dsql_mono now,
                         const struct dsql_leases_answer *answer)
{
    struct dsql_leases_survey *s = &l->survey;
    for (size_t i = 0; i < answer->found_count; i++) {
        const struct dsql_lease_found *found = &answer->found[i];
        s->counted += found->renewed;
        struct dsql_lease_owner *owner = found->renewed ? owner_of(s, found->owner, now) : NULL;
        if (!owner)
            continue;
        if (!owner->here)
            owner->now = (struct dsql_lease_sight){.top = found->beat};
        owner->here = true;
        owner->now.leases++;
        owner->now.top = dsql_most(owner->now.top, found->beat);
        owner->now.sum += (uint64_t)found->beat;
        if (owner->dead)
            will_reap(s, found);
        else if (strcmp(found->owner, l->config.owner) == 0 &&
                 dsql_leases_place_of(l, found->id) == l->held.count)
            look_at_stray(l, now, found);
    }
    if (answer->last)
        s->stage = SURVEY_SECOND;
}

static void forget_absent_owners(struct dsql_leases_survey *s)
{
    size_t kept = 0, strays = 0;
    for (size_t i = 0; i < s->stray_count; i++) {
        if (s->strays[i].here)
            s->strays[strays++] = s->strays[i];
    }
    s->stray_count = strays;
    for (size_t i = 0; i < s->owner_count; i++) {
        if (s->owners[i].here)
            s->owners[kept++] = s->owners[i];
    }
    s->owner_count = kept;
}

/* Forgets the owners to remove that this scan shows alive. */
static void forget_living(struct dsql_leases_survey *s)
{
    if (s->reap.count == 0 || s->reap_strays)
        return;
    for (size_t i = 0; i < s->owner_count; i++) {
        if (strcmp(s->owners[i].id, s->reap_owner) == 0 && !s->owners[i].dead)
            s->reap.count = 0;
    }
}

void dsql_leases_looked(struct dsql_leases *l, struct dsql_mono now,
                        const struct dsql_leases_answer *answer)
{
    struct dsql_leases_survey *s = &l->survey;
    if (s->stage == SURVEY_FIRST) {
        s->active = answer->active;
        s->updated_ms = answer->updated_ms;
        /* A counter that was set to less than ours has nothing of others. */
        s->others = dsql_most(0, answer->active - dsql_most(0, answer->ours));
        s->counted = 0;
        s->reap = (struct dsql_leases_op){.kind = DSQL_LEASES_REAP};
        s->reap_strays = false;
        for (size_t i = 0; i < s->owner_count; i++)
            s->owners[i].here = false;
        for (size_t i = 0; i < s->stray_count; i++)
            s->strays[i].here = false;
        s->stage = SURVEY_SCAN;
        return;
    }
    bool dead = find_dead(l, now);
    forget_living(s);
    bool steady =
        answer->exists && answer->active == s->active && answer->updated_ms == s->updated_ms;
    int64_t drift = steady ? s->active - s->others - s->counted : 0;
    /* A drift that is found twice, a TTL apart, while no process came or went, is no race. */
    if (drift != s->drift)
        s->drift_since = now;
    s->may_recount = drift != 0 && drift == s->drift && s->reap.count == 0 &&
                     dsql_mono_since(now, s->drift_since) >= l->config.ttl_ns;
    s->drift = drift;
    forget_absent_owners(s);
    dsql_leases_plan_survey(l, now);
    if (drift != 0 && !s->may_recount)
        s->at = dsql_mono_add(now, l->config.ttl_ns); /* owners notice what they miss sooner */
    if (s->reap.count > 0 || s->may_recount || dead)
        s->at = now;
}

void dsql_leases_took_away(struct dsql_leases_survey *s)
{
    for (size_t i = 0; i < s->owner_count; i++) {
        struct dsql_lease_owner *owner = &s->owners[i];
        if (strcmp(owner->id, s->reap_owner) != 0)
            continue;
        owner->sight.leases -= s->reap.count;
        owner->sight.sum -= (uint64_t)s->reap.count * (uint64_t)s->reap.beat;
    }
}
