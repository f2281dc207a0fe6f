#include "budget/ledger.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/least.h"
#include "base/lock.h"
#include "budget/fleet.h"

static pthread_mutex_t ledgers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dsql_ledger *ledgers;

static struct dsql_moment moment_of(const struct dsql_ledger *l, struct dsql_mono now)
{
    return (struct dsql_moment){now, dsql_clock_wall(l->clock)};
}

/* -- Shares. */

/* A pool that drains needs what it still holds, and nothing more. */
static int64_t need_of(const struct dsql_share *s)
{
    return s->draining ? s->used : s->want;
}

/* With the lock held: the allowance sees the sum of what its pools say. */
static void tell_sums(struct dsql_ledger *l)
{
    int64_t need = 0, used = 0;
    bool all_drain = true;
    for (struct dsql_share *s = l->shares; s; s = s->next) {
        need += need_of(s);
        used += s->used;
        all_drain = all_drain && s->draining;
    }
    dsql_allowance_want(l->allowance, need);
    dsql_allowance_used(l->allowance, used);
    dsql_allowance_drain(l->allowance, all_drain);
    pthread_cond_signal(&l->changed);
}

void dsql_share_tell(struct dsql_share *s, int64_t want, int64_t used, bool draining)
{
    dsql_lock(&s->ledger->lock);
    s->want = want;
    s->used = used;
    s->draining = draining;
    tell_sums(s->ledger);
    dsql_unlock(&s->ledger->lock);
}

/* With the lock held: its part of the slots, and never what another pool still holds. What pools
 * that drain hold is not shared out. */
static int64_t slots_of(const struct dsql_share *s, struct dsql_mono now)
{
    struct dsql_ledger *l = s->ledger;
    int64_t slots = dsql_allowance_slots(l->allowance, moment_of(l, now));
    slots = dsql_fallback_slots(&l->fallback, slots, now);
    int64_t shared = slots, wanted = 0, others = 0;
    for (const struct dsql_share *each = l->shares; each; each = each->next) {
        shared -= each->draining ? each->used : 0;
        wanted += each->draining ? 0 : each->want;
        others += each == s ? 0 : each->used;
    }
    int64_t part = shared = dsql_most(shared, 0);
    if (wanted > 0 && wanted > shared) { /* parts that add up to no more than there is */
        int64_t left = shared;
        part = shared * s->want / wanted;
        for (const struct dsql_share *each = l->shares; each; each = each->next)
            left -= each->draining ? 0 : shared * each->want / wanted;
        for (const struct dsql_share *each = l->shares; left > 0 && each; each = each->next) {
            if (each->draining || each->want == 0)
                continue;
            part += each == s;
            left--;
        }
    }
    part = dsql_least(dsql_least(part, slots - others), s->want);
    return s->draining ? 0 : dsql_most(part, 0);
}

int64_t dsql_share_slots(struct dsql_share *s, struct dsql_mono now)
{
    dsql_lock(&s->ledger->lock);
    int64_t n = slots_of(s, now);
    dsql_unlock(&s->ledger->lock);
    return n;
}

bool dsql_share_permit(struct dsql_share *s, struct dsql_mono now, int64_t *wait_ns)
{
    struct dsql_ledger *l = s->ledger;
    dsql_lock(&l->lock);
    bool taken = dsql_allowance_permit(l->allowance, moment_of(l, now), wait_ns) ||
                 dsql_fallback_permit(&l->fallback, now, wait_ns);
    pthread_cond_signal(&l->changed); /* one fewer, or one asked for */
    dsql_unlock(&l->lock);
    return taken;
}

void dsql_share_note(struct dsql_share *s, struct dsql_mono now,
                     void (*what)(struct dsql_allowance *allowance, struct dsql_moment now))
{
    struct dsql_ledger *l = s->ledger;
    dsql_lock(&l->lock);
    what(l->allowance, moment_of(l, now));
    pthread_cond_signal(&l->changed);
    dsql_unlock(&l->lock);
}

void dsql_share_status(struct dsql_share *s, struct dsql_mono now,
                       struct dsql_allowance_status *out)
{
    struct dsql_ledger *l = s->ledger;
    dsql_lock(&l->lock);
    dsql_allowance_status(l->allowance, moment_of(l, now), out);
    out->slots = slots_of(s, now);
    out->used = s->used;
    if (l->fleet)
        dsql_fleet_status(l->fleet, out);
    dsql_unlock(&l->lock);
}

/* -- Opening and closing. */

static enum dsql_rc check(const struct dsql_budget_options *o, struct dsql_err *err)
{
    if (o->rate < 1 || o->rate > DSQL_PERMITS_RATE_MAX || o->burst < 1 ||
        o->burst > DSQL_PERMITS_BURST_MAX)
        return dsql_err_set(err, DSQL_INVALID,
                            "connects a second and at once must be from 1 to %d and %d",
                            DSQL_PERMITS_RATE_MAX, DSQL_PERMITS_BURST_MAX);
    return DSQL_OK;
}

/* No thread uses it. */
static void ledger_free(struct dsql_ledger *l)
{
    assert(l->share_count == 0 && !l->shares);
    dsql_fleet_destroy(l->fleet);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->wake_lock);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static enum dsql_rc ledger_new(const struct dsql_budget_options *o, bool in_a_table,
                               struct dsql_credentials *credentials, struct dsql_ledger **ledger,
                               struct dsql_err *err)
{
    enum dsql_rc rc = DSQL_OK;
    struct dsql_ledger *l = calloc(1, sizeof(*l));
    if (!l)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_init(&l->wake_lock, NULL);
    dsql_clock_cond_init(&l->changed);
    l->clock = o->clock;
    if (in_a_table) {
        rc = dsql_fleet_new(o, l, credentials, err);
    } else {
        dsql_solo_init(&l->solo, o->rate, o->burst, dsql_clock_mono(o->clock));
        l->allowance = &l->solo.allowance;
    }
    if (rc) {
        ledger_free(l);
        return rc;
    }
    *ledger = l;
    return DSQL_OK;
}

/*
 * With ledgers_lock held. What this process has used up of its own allowance is remembered beyond
 * its pools, so that opening a pool anew is no way to a full one: a ledger without shares goes away
 * only when a new one would be the same.
 */
static void forget_rested(const struct dsql_clock *clock)
{
    struct dsql_mono now = dsql_clock_mono(clock);
    struct dsql_ledger **at = &ledgers;
    while (*at) {
        struct dsql_ledger *l = *at;
        if (l->fleet || l->share_count > 0 || l->clock != clock ||
            !dsql_solo_is_rested(&l->solo, now)) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        ledger_free(l);
    }
}

/* With ledgers_lock held: the ledger of that key and clock, perhaps a new one. The first share of a
 * process's own allowance decides its limits. */
static enum dsql_rc find(const struct dsql_budget_options *o, bool in_a_table,
                         const struct dsql_share *first, struct dsql_ledger **ledger,
                         struct dsql_err *err)
{
    char key[sizeof((*ledger)->key)];
    if (in_a_table)
        (void)snprintf(key, sizeof(key), "%d %d %s %s", (int)o->kind, dsql_fleet_connects_only(o),
                       dsql_fleet_table(o), o->endpoint);
    else
        (void)snprintf(key, sizeof(key), "%s", o->endpoint);
    struct dsql_ledger *l = ledgers;
    while (l && (l->clock != o->clock || strcmp(l->key, key) != 0))
        l = l->next;
    if (!l) {
        forget_rested(o->clock);
        enum dsql_rc rc = ledger_new(o, in_a_table, first->credentials, &l, err);
        if (rc || !l)
            return rc;
        memcpy(l->key, key, sizeof(key));
        l->next = ledgers;
        ledgers = l;
    } else if (!in_a_table && l->share_count == 0) {
        dsql_solo_resize(&l->solo, o->rate, o->burst, dsql_clock_mono(o->clock));
    }
    *ledger = l;
    return DSQL_OK;
}

static void share_free(struct dsql_share *s)
{
    dsql_credentials_release(s->credentials);
    dsql_credentials_destroy(s->own_credentials);
    free(s);
}

static enum dsql_rc share_new(const struct dsql_budget_options *o, bool in_a_table,
                              struct dsql_share **share, struct dsql_err *err)
{
    struct dsql_share *s = calloc(1, sizeof(*s));
    if (!s)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    s->wake = o->wake;
    s->wake_arg = o->wake_arg;
    if (in_a_table && !o->credentials) {
        const struct dsql_credentials_options options = {.region = o->region};
        enum dsql_rc rc = dsql_credentials_new(&options, &s->own_credentials, err);
        if (rc) {
            share_free(s);
            return rc;
        }
    }
    if (in_a_table)
        s->credentials =
            dsql_credentials_hold(o->credentials ? o->credentials : s->own_credentials);
    *share = s;
    return DSQL_OK;
}

/* If all other pools of the ledger drain, the new pool ends the draining of the allowance. */
static void join(struct dsql_ledger *l, struct dsql_share *s)
{
    s->ledger = l;
    l->share_count++;
    dsql_lock(&l->wake_lock);
    dsql_lock(&l->lock);
    s->next = l->shares;
    l->shares = s;
    if (l->fleet)
        dsql_fleet_sign_as(l->fleet, s->credentials);
    tell_sums(l);
    dsql_unlock(&l->lock);
    dsql_unlock(&l->wake_lock);
}

enum dsql_rc dsql_share_open(const struct dsql_budget_options *o, bool in_a_table,
                             struct dsql_share **share, struct dsql_err *err)
{
    struct dsql_share *s = NULL;
    struct dsql_ledger *l = NULL;
    enum dsql_rc rc = in_a_table ? dsql_fleet_check(o, err) : check(o, err);
    if (!rc)
        rc = share_new(o, in_a_table, &s, err);
    if (rc || !s)
        return rc;
    dsql_lock(&ledgers_lock);
    rc = find(o, in_a_table, s, &l, err);
    if (!rc && l)
        join(l, s);
    dsql_unlock(&ledgers_lock);
    if (rc) {
        share_free(s);
        return rc;
    }
    *share = s;
    return DSQL_OK;
}

/* With ledgers_lock held. */
static void unlink_ledger(const struct dsql_ledger *l)
{
    struct dsql_ledger **at = &ledgers;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
}

void dsql_share_close(struct dsql_share *s)
{
    struct dsql_ledger *l = s->ledger;
    dsql_lock(&ledgers_lock);
    bool ends = --l->share_count == 0 && l->fleet;
    if (ends)
        unlink_ledger(l);
    dsql_lock(&l->wake_lock);
    dsql_lock(&l->lock);
    struct dsql_share **at = &l->shares;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    /* A pool that has gone may have taken its credentials with it. */
    if (l->fleet && l->shares)
        dsql_fleet_sign_as(l->fleet, l->shares->credentials);
    tell_sums(l);
    dsql_unlock(&l->lock);
    dsql_unlock(&l->wake_lock);
    dsql_unlock(&ledgers_lock);
    if (ends) {
        dsql_fleet_stop(l->fleet);
        ledger_free(l);
    }
    share_free(s); /* afterwards: the last share's credentials sign what the fleet gives back */
}

/* The child goes on with copies of the parent's own allowances. Fleets have threads, which are not
 * here, and identities, which are the parent's. */
void dsql_ledgers_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    struct dsql_ledger **at = &ledgers;
    ledgers_lock = fresh;
    while (*at) {
        struct dsql_ledger *l = *at;
        if (l->fleet) {
            *at = l->next;
            continue;
        }
        l->lock = l->wake_lock = fresh;
        l->shares = NULL;
        l->share_count = 0;
        at = &l->next;
    }
}
