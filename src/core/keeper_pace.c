#include "core/keeper_pace.h"

#include "base/least.h"

enum { INFLIGHT_MAX = 1000 };

#define TURN_NS            DSQL_S        /* no sleep is longer */
#define LACK_NS            (5 * DSQL_S)  /* fewer slots than the target for so long are reported */
#define LACK_AGAIN_NS      (30 * DSQL_S) /* how long until the lack is reported again */
#define NEED_NS            (30 * DSQL_S) /* slots needed are kept for one to two of these */
#define SLOW_HANDSHAKE_NS  (500 * DSQL_MS) /* more at once would make it slower still */
#define PERMIT_KEEP_NS     DSQL_S          /* a permit in hand is used within, or not at all */
#define PERMIT_BACKOFF_MAX DSQL_S          /* longer, and permits lapse unasked */

static const struct dsql_mono never = {INT64_MAX};

uint32_t dsql_pace_wanted(const struct dsql_keeper *k)
{
    int64_t for_callers = (int64_t)dsql_slots_fresh(&k->slots) + k->waiting;
    return (uint32_t)dsql_least(k->config.max_open, dsql_most(k->config.target, for_callers));
}

/*
 * An aging connection needs a slot beside its successor's. Connections age for a sixteenth of their
 * life at most (core/lifetime.c): so many slots are kept ready for that. Slots that were needed a
 * moment ago are kept for a while: a fleet takes a request to give them back, and one to get them
 * again.
 */
int64_t dsql_pace_need(struct dsql_keeper *k)
{
    int64_t beside = dsql_most(k->slots.aging, 1 + k->config.target / 16);
    int64_t wish = dsql_least(k->config.max_open, dsql_pace_wanted(k) + beside);
    if (!dsql_mono_before(k->now, k->need_until)) {
        k->need_before = k->need_peak;
        k->need_peak = 0;
        k->need_until = dsql_mono_add(k->now, NEED_NS);
    }
    k->need_peak = dsql_most(k->need_peak, dsql_most(wish, dsql_slots_held(&k->slots)));
    return dsql_most(k->need_before, k->need_peak);
}

struct dsql_mono dsql_pace_first_lack(struct dsql_mono start)
{
    return dsql_mono_add(start, LACK_NS);
}

/* A process that lost slots and one that never got them lack them alike; the latter is not told so
 * at once, because a fleet takes a moment to share. */
bool dsql_pace_lacks(struct dsql_keeper *k, int64_t granted)
{
    bool lacks = granted < k->config.target && !k->draining;
    bool fell = lacks && granted < k->granted;
    bool due = lacks && !dsql_mono_before(k->now, k->lack_due);
    if (!lacks || fell)
        k->lack_due = dsql_mono_add(k->now, LACK_NS);
    else if (due)
        k->lack_due = dsql_mono_add(k->now, LACK_AGAIN_NS);
    return fell || due;
}

int64_t dsql_keeper_inflight(const struct dsql_keeper *k)
{
    /* Twice what the rate needs, so that a full bucket is used up too. */
    int64_t took_ns = dsql_least(k->handshake_ns, SLOW_HANDSHAKE_NS);
    int64_t needed = 1 + (int64_t)(2 * k->rate * (double)took_ns / (double)DSQL_S);
    int64_t limit = dsql_least(dsql_most(k->config.inflight_limit, needed), INFLIGHT_MAX);
    return dsql_refill_limit(&k->refill, limit);
}

bool dsql_pace_has_room(const struct dsql_keeper *k)
{
    return k->slots.first_empty != DSQL_SLOT_NONE && dsql_slots_held(&k->slots) < k->granted;
}

/* An aging one makes room only if that keeps what is held within what is granted. */
static bool can_make_room(const struct dsql_keeper *k)
{
    return k->slots.aging > 0 && dsql_slots_held(&k->slots) <= k->granted;
}

/* Standard mode: whether this moment's share is used up. Opens for callers that wait are not held
 * back until a tick. */
static bool is_paced(struct dsql_keeper *k)
{
    if (k->config.tick_ns == 0)
        return false;
    if (k->warmup_left > 0)
        return k->slots.opening > 0;
    if (dsql_pace_cause(k) == DSQL_WHY_WAITING)
        return false;
    if (!dsql_mono_before(k->now, k->tick_at)) {
        k->tick_left = k->config.tick_max;
        k->tick_at = dsql_mono_add(k->now, k->config.tick_ns);
    }
    return k->tick_left == 0;
}

enum dsql_keeper_why dsql_pace_obstacle(struct dsql_keeper *k)
{
    if (k->draining)
        return DSQL_WHY_DRAIN;
    if (k->cuts > 0)
        return DSQL_WHY_ANSWERS;
    if (dsql_slots_fresh(&k->slots) + k->slots.opening >= dsql_pace_wanted(k))
        return DSQL_WHY_ENOUGH;
    if (dsql_mono_before(k->now, k->start_at))
        return DSQL_WHY_START;
    if (dsql_refill_wait_ns(&k->refill, k->now) > 0)
        return DSQL_WHY_BACKOFF;
    if (!dsql_pace_has_room(k) && k->slots.closing > 0)
        return DSQL_WHY_ANSWERS;
    if (!dsql_pace_has_room(k) && !can_make_room(k))
        return DSQL_WHY_SLOTS;
    if (is_paced(k))
        return DSQL_WHY_TICK;
    if (k->slots.opening >= dsql_keeper_inflight(k))
        return DSQL_WHY_INFLIGHT;
    if (!k->permit_in_hand && dsql_mono_before(k->now, k->permit_from))
        return DSQL_WHY_PERMIT;
    return DSQL_WHY_NONE;
}

/* -- Warm-up and ticks. */

enum dsql_keeper_why dsql_pace_cause(const struct dsql_keeper *k)
{
    uint32_t coming = dsql_slots_fresh(&k->slots) + k->slots.opening;
    if (k->warmup_left > 0)
        return DSQL_WHY_WARMUP;
    if (coming >= k->config.target)
        return DSQL_WHY_WAITING;
    return coming + k->slots.aging >= k->config.target ? DSQL_WHY_REPLACE : DSQL_WHY_TARGET;
}

int64_t dsql_pace_timeout_ns(const struct dsql_keeper *k)
{
    return k->warmup_left > 0 ? k->config.warmup_timeout_ns : k->config.connect_timeout_ns;
}

void dsql_pace_begin(struct dsql_keeper *k)
{
    assert(k->permit_in_hand); /* (K1) */
    k->permit_in_hand = false;
    if (k->tick_left > 0)
        k->tick_left--;
}

void dsql_pace_opened(struct dsql_keeper *k, int64_t took_ns)
{
    k->handshake_ns += (took_ns - k->handshake_ns) / 8;
    if (k->warmup_left > 0) {
        k->warmup_left--;
        k->warmup_failures = 0;
    }
}

void dsql_pace_failed(struct dsql_keeper *k)
{
    if (k->warmup_left > 0 && k->refill.hopeless)
        k->warmup_left = 0;
    if (k->warmup_left > 0 && ++k->warmup_failures >= k->config.warmup_tries) {
        /* If the first never came, none will. */
        k->warmup_left = k->slots.open == 0 ? 0 : k->warmup_left - 1;
        k->warmup_failures = 0;
    }
}

/* -- Permits. */

void dsql_pace_turn(struct dsql_keeper *k)
{
    if (dsql_mono_since(k->now, k->permit_given) > PERMIT_KEEP_NS)
        k->permit_in_hand = false;
}

bool dsql_pace_permit(struct dsql_keeper *k, bool given, int64_t wait_ns)
{
    k->permit_in_hand = given;
    if (given) {
        k->permit_given = k->now;
        k->permit_since = never;
        k->permit_failures = 0;
        return false;
    }
    if (k->permit_since.ns == never.ns)
        k->permit_since = k->now;
    struct dsql_mono deadline = dsql_mono_add(k->permit_since, k->config.permit_wait_ns);
    bool too_long = !dsql_mono_before(k->now, deadline);
    if (too_long) {
        const struct dsql_backoff backoff = {
            k->config.permit_backoff_ns,
            dsql_most(k->config.permit_backoff_ns, PERMIT_BACKOFF_MAX),
            0.5,
        };
        k->permit_failures++;
        k->permit_from =
            dsql_mono_add(k->now, dsql_backoff_ns(&backoff, k->permit_failures, &k->rng));
        k->permit_at = k->permit_from;
        k->permit_since = never;
    } else {
        k->permit_at = dsql_mono_add(k->now, wait_ns);
        if (dsql_mono_before(deadline, k->permit_at))
            k->permit_at = deadline;
    }
    return too_long;
}

/* -- Sleeping. */

static void lower(int64_t *wait_ns, struct dsql_mono until, struct dsql_mono now)
{
    *wait_ns = dsql_most(0, dsql_least(*wait_ns, dsql_mono_since(until, now)));
}

int64_t dsql_pace_sleep_ns(struct dsql_keeper *k, enum dsql_keeper_why why)
{
    int64_t wait_ns = TURN_NS;
    if (k->slots.closing > 0 || k->cuts > 0)
        return 0;
    if (why != DSQL_WHY_PERMIT)
        k->permit_since = never;
    if (k->draining)
        return wait_ns;
    lower(&wait_ns, dsql_slots_next_event(&k->slots), k->now);
    if (why == DSQL_WHY_START)
        lower(&wait_ns, k->start_at, k->now);
    else if (why == DSQL_WHY_BACKOFF)
        lower(&wait_ns, k->refill.not_before, k->now);
    else if (why == DSQL_WHY_TICK && k->warmup_left == 0)
        lower(&wait_ns, k->tick_at, k->now);
    else if (why == DSQL_WHY_PERMIT)
        lower(&wait_ns, k->permit_at, k->now);
    return wait_ns;
}
