/* The keeper's turn: closing first, then opening. The numbers are in keeper_pace.c. */
#include "core/keeper.h"

#include "core/keeper_pace.h"

enum { LOOKS = 8 }; /* at aging slots in use, for one decision */

#define FIRST_HANDSHAKE_NS (100 * DSQL_MS)
#define OVERDUE_LOOK_NS    DSQL_S

enum stage { BUDGET, CLOSING, OPENING, OVER };

/* What a claim is for. */
enum purpose { FOR_ITS_END, FOR_ITS_AGE, FOR_SURPLUS, FOR_ROOM, FOR_DRAIN };

enum report { REPORT_SLOTS = 1, REPORT_PERMIT = 2 };

const char *dsql_keeper_why_text(enum dsql_keeper_why why)
{
    static const char *const texts[] = {
#define DSQL_KEEPER_WHY_MEMBER(name, text) text,
        DSQL_KEEPER_WHY_TABLE(DSQL_KEEPER_WHY_MEMBER)
#undef DSQL_KEEPER_WHY_MEMBER
    };
    return texts[why];
}

const char *dsql_keeper_do_name(enum dsql_keeper_do what)
{
    static const char *const names[] = {
        [DSQL_KEEPER_SLOTS] = "slots",   [DSQL_KEEPER_CLAIM] = "claim",
        [DSQL_KEEPER_TAKE] = "take",     [DSQL_KEEPER_PREPARE] = "prepare",
        [DSQL_KEEPER_PERMIT] = "permit", [DSQL_KEEPER_CLOSE] = "close",
        [DSQL_KEEPER_OPEN] = "open",     [DSQL_KEEPER_CUT] = "cut",
        [DSQL_KEEPER_OFFER] = "offer",   [DSQL_KEEPER_REPORT] = "report",
        [DSQL_KEEPER_SLEEP] = "sleep",
    };
    return names[what];
}

static void assert_settings(const struct dsql_keeper_config *config)
{
    assert(config->target <= config->max_open && config->warmup <= config->max_open);
    assert(config->tick_ns == 0 || (config->warmup_tries >= 1 && config->tick_max >= 1));
    assert(config->permit_backoff_ns >= 1);
}

enum dsql_rc dsql_keeper_init(struct dsql_keeper *k, const struct dsql_keeper_config *config,
                              struct dsql_rng rng, struct dsql_mono now)
{
    assert_settings(config);
    /* Between half and one and a half of the wait that doubles: two thirds of the latter random. */
    const struct dsql_backoff warmup = {
        config->warmup_backoff_ns + config->warmup_backoff_ns / 2,
        config->warmup_backoff_max_ns + config->warmup_backoff_max_ns / 2, 2.0 / 3};
    *k = (struct dsql_keeper){
        .config = *config,
        .rng = rng,
        .handshake_ns = FIRST_HANDSHAKE_NS,
        .warmup_left = config->tick_ns > 0 ? config->warmup : 0,
        .tick_at = now,
        .need_until = now,
        .permit_since = {INT64_MAX},
        .room = DSQL_SLOT_NONE,
        .offer = DSQL_SLOT_NONE,
        .permit_at = now,
        .permit_from = now,
        .now = now,
        .stage = OVER,
        .asked = DSQL_KEEPER_SLEEP,
    };
    dsql_refill_init(&k->refill, config->tick_ns > 0 ? &warmup : NULL, now);
    k->start_at = dsql_mono_add(now, dsql_rng_between(&k->rng, 0, config->start_delay_ns));
    k->lack_due = dsql_pace_first_lack(k->start_at);
    return dsql_slots_init(&k->slots, config->max_open);
}

void dsql_keeper_fini(struct dsql_keeper *k)
{
    dsql_slots_fini(&k->slots);
}

enum dsql_rc dsql_keeper_resume(struct dsql_keeper *to, const struct dsql_keeper *from,
                                const struct dsql_keeper_config *config)
{
    assert(dsql_keeper_sleeps(from));
    assert_settings(config);
    *to = *from;
    to->config = *config;
    if (to->warmup_left > config->warmup)
        to->warmup_left = config->warmup;
    return dsql_slots_copy(&to->slots, &from->slots, config->max_open);
}

/* -- Asking and telling. */

static void ask(struct dsql_keeper *k, struct dsql_keeper_step *step, enum dsql_keeper_do what)
{
    step->what = what;
    k->asked = what;
}

static bool ask_for_slot(struct dsql_keeper *k, struct dsql_keeper_step *step, uint32_t slot,
                         enum purpose purpose)
{
    ask(k, step, slot == DSQL_SLOT_NONE ? DSQL_KEEPER_TAKE : DSQL_KEEPER_CLAIM);
    step->slot = slot;
    k->question = slot;
    k->purpose = purpose;
    return true;
}

static bool cut(struct dsql_keeper *k, struct dsql_keeper_step *step, uint32_t slot,
                enum dsql_keeper_why why)
{
    k->cuts++;
    *step = (struct dsql_keeper_step){.what = DSQL_KEEPER_CUT, .why = why, .slot = slot};
    return true;
}

static bool report(struct dsql_keeper *k, struct dsql_keeper_step *step)
{
    if (!k->reports)
        return false;
    bool slots = k->reports & REPORT_SLOTS;
    k->reports &= slots ? ~(unsigned)REPORT_SLOTS : ~(unsigned)REPORT_PERMIT;
    step->what = DSQL_KEEPER_REPORT;
    step->why = slots ? DSQL_WHY_SLOTS : DSQL_WHY_PERMIT;
    return true;
}

/* -- Closing. */

static bool close_discarded(struct dsql_keeper *k, struct dsql_keeper_step *step)
{
    uint32_t slot;
    if (!dsql_slots_next_discarded(&k->slots, &slot))
        return false;
    step->what = DSQL_KEEPER_CLOSE;
    step->slot = slot;
    step->discard = k->slots.items[slot].discard;
    return true;
}

/* What is ready, and every connect under way. */
static bool drain_one(struct dsql_keeper *k, struct dsql_keeper_step *step)
{
    if (!k->swept)
        return ask_for_slot(k, step, DSQL_SLOT_NONE, FOR_DRAIN);
    for (uint32_t i = 0; k->slots.opening > k->cuts && i < k->slots.capacity; i++) {
        const struct dsql_slot *slot = &k->slots.items[i];
        if (slot->state != DSQL_SLOT_OPENING || slot->given_up)
            continue;
        dsql_slots_give_up(&k->slots, i);
        return cut(k, step, i, DSQL_WHY_DRAIN);
    }
    return false;
}

static bool close_one(struct dsql_keeper *k, struct dsql_keeper_step *step)
{
    uint32_t slot;
    if (k->draining)
        return drain_one(k, step);
    switch (dsql_slots_due(&k->slots, k->now, &slot)) {
    case DSQL_DUE_CONNECT:
        return cut(k, step, slot, DSQL_WHY_TIMEOUT);
    case DSQL_DUE_END:
        return ask_for_slot(k, step, slot, FOR_ITS_END);
    case DSQL_DUE_NOTHING:
        break;
    }
    bool surplus = dsql_slots_held(&k->slots) - k->slots.closing > k->granted;
    bool enough = dsql_slots_fresh(&k->slots) >= dsql_pace_wanted(k);
    if ((surplus || enough) && k->slots.aging > 0 && k->looks < LOOKS)
        return ask_for_slot(k, step, k->slots.first_aging, FOR_ITS_AGE);
    if (surplus && !k->swept)
        return ask_for_slot(k, step, DSQL_SLOT_NONE, FOR_SURPLUS);
    return false;
}

/* Why an old connection is closed: by its age alone, whatever it was claimed for. */
static enum dsql_discard reason_of_age(const struct dsql_keeper *k, uint32_t slot)
{
    return dsql_mono_before(k->now, k->slots.items[slot].life.dies_at)
               ? DSQL_DISCARD_EXPIRING_SOON_ON_SCAN
               : DSQL_DISCARD_EXPIRED_ON_SCAN;
}

void dsql_keeper_claimed(struct dsql_keeper *k, uint32_t slot)
{
    assert(k->asked == DSQL_KEEPER_CLAIM || k->asked == DSQL_KEEPER_TAKE);
    bool any = k->asked == DSQL_KEEPER_TAKE;
    k->asked = DSQL_KEEPER_SLEEP;
    if (slot != DSQL_SLOT_NONE && k->purpose == FOR_ROOM) {
        k->room = slot;
    } else if (slot != DSQL_SLOT_NONE) {
        assert(any || slot == k->question);
        enum dsql_discard why = k->purpose == FOR_DRAIN     ? DSQL_DISCARD_DRAIN
                                : k->purpose == FOR_SURPLUS ? DSQL_DISCARD_RESERVOIR_FULL
                                                            : reason_of_age(k, slot);
        k->looks = 0;
        dsql_slots_discard(&k->slots, slot, why);
    } else if (any) {
        k->swept = true;
    } else if (k->purpose == FOR_ITS_END) {
        /* In use: the caller that returns it sees that it is too old, unless it looked at the clock
         * a moment earlier than the keeper did. */
        dsql_slots_due_again(&k->slots, k->question, dsql_mono_add(k->now, OVERDUE_LOOK_NS));
    } else {
        k->looks++;
        dsql_slots_pass_aging(&k->slots);
    }
}

/* -- Opening. */

/* True for a step; else *why nothing is opened. */
static bool open_one(struct dsql_keeper *k, struct dsql_keeper_step *step,
                     enum dsql_keeper_why *why)
{
    *why = k->hindered != DSQL_WHY_NONE ? k->hindered : dsql_pace_obstacle(k);
    if (*why != DSQL_WHY_NONE)
        return false;
    if (!k->prepared) {
        ask(k, step, DSQL_KEEPER_PREPARE);
        return true;
    }
    if (!dsql_pace_has_room(k) && k->room == DSQL_SLOT_NONE) {
        *why = DSQL_WHY_IN_USE;
        return k->looks < LOOKS && ask_for_slot(k, step, k->slots.first_aging, FOR_ROOM);
    }
    if (!k->permit_in_hand) {
        ask(k, step, DSQL_KEEPER_PERMIT);
        return true;
    }
    if (k->room !=
        DSQL_SLOT_NONE) { /* the slot that was freed for this permit has been withdrawn */
        dsql_slots_discard(&k->slots, k->room, reason_of_age(k, k->room));
        k->room = DSQL_SLOT_NONE;
        return close_discarded(k, step);
    }
    step->what = DSQL_KEEPER_OPEN;
    step->why = dsql_pace_cause(k);
    step->ns = dsql_pace_timeout_ns(k);
    dsql_pace_begin(k);
    step->slot = dsql_slots_begin(&k->slots, k->now, dsql_mono_add(k->now, step->ns));
    assert(dsql_slots_held(&k->slots) <= k->granted); /* (K2) */
    return true;
}

void dsql_keeper_prepared(struct dsql_keeper *k, bool ready)
{
    assert(k->asked == DSQL_KEEPER_PREPARE);
    k->asked = DSQL_KEEPER_SLEEP;
    k->prepared = ready;
    k->hindered = ready ? DSQL_WHY_NONE : DSQL_WHY_PREPARE;
}

void dsql_keeper_permit(struct dsql_keeper *k, bool given, int64_t wait_ns)
{
    assert(k->asked == DSQL_KEEPER_PERMIT);
    k->asked = DSQL_KEEPER_SLEEP;
    if (dsql_pace_permit(k, given, wait_ns))
        k->reports |= REPORT_PERMIT;
    k->hindered = given ? DSQL_WHY_NONE : DSQL_WHY_PERMIT;
    if (k->room != DSQL_SLOT_NONE && given)
        dsql_slots_discard(&k->slots, k->room, reason_of_age(k, k->room));
    else
        k->offer = k->room;
    k->room = DSQL_SLOT_NONE;
}

/* -- A turn. */

void dsql_keeper_turn(struct dsql_keeper *k, struct dsql_mono now, uint32_t waiting)
{
    assert(k->stage == OVER);
    k->now = now;
    k->waiting = waiting;
    k->stage = BUDGET;
    k->looks = 0;
    k->swept = k->prepared = false;
    k->hindered = DSQL_WHY_NONE;
    dsql_pace_turn(k);
}

void dsql_keeper_slots(struct dsql_keeper *k, int64_t granted, double rate)
{
    assert(k->asked == DSQL_KEEPER_SLOTS);
    k->asked = DSQL_KEEPER_SLEEP;
    if (dsql_pace_lacks(k, granted))
        k->reports |= REPORT_SLOTS;
    k->granted = granted;
    k->rate = rate;
}

static void ask_for_slots(struct dsql_keeper *k, struct dsql_keeper_step *step)
{
    ask(k, step, DSQL_KEEPER_SLOTS);
    k->need = dsql_pace_need(k);
    step->count = k->need;
}

static void sleep_on(struct dsql_keeper *k, struct dsql_keeper_step *step, enum dsql_keeper_why why)
{
    int64_t surplus = (int64_t)(k->slots.open + k->slots.opening) - k->granted;
    step->what = DSQL_KEEPER_SLEEP;
    step->why = why;
    step->ns = dsql_pace_sleep_ns(k, why);
    step->count = surplus > 0 && !k->draining ? surplus : 0;
    k->stage = OVER;
}

void dsql_keeper_next(struct dsql_keeper *k, struct dsql_keeper_step *step)
{
    assert(k->asked == DSQL_KEEPER_SLEEP && k->stage != OVER);
    enum dsql_keeper_why why;
    *step = (struct dsql_keeper_step){.slot = DSQL_SLOT_NONE};
    if (k->stage == BUDGET) {
        k->stage = CLOSING;
        ask_for_slots(k, step);
        return;
    }
    if (close_discarded(k, step))
        return;
    if (k->offer != DSQL_SLOT_NONE) {
        step->what = DSQL_KEEPER_OFFER;
        step->slot = k->offer;
        k->offer = DSQL_SLOT_NONE;
        return;
    }
    if (report(k, step))
        return;
    if (k->stage == CLOSING) {
        if (close_one(k, step))
            return;
        k->stage = OPENING;
        k->looks = 0;
        if (k->need < dsql_pace_need(k)) { /* connections began to age: each needs a second slot */
            ask_for_slots(k, step);
            return;
        }
    }
    if (!open_one(k, step, &why))
        sleep_on(k, step, why);
}

/* -- What ends, and what happens. */

static struct dsql_keeper_verdict judge(struct dsql_keeper *k, enum dsql_connect_class cls,
                                        struct dsql_mono began, struct dsql_mono now)
{
    struct dsql_refill_verdict refill = dsql_refill_failed(&k->refill, cls, began, now, &k->rng);
    return (struct dsql_keeper_verdict){
        .retry_ns = refill.wait_ns,
        .throttled = cls == DSQL_CONNECT_THROTTLED,
        .full = cls == DSQL_CONNECT_FULL,
        .renew_token = refill.renew_token,
        .forget_token = refill.renew_token && cls == DSQL_CONNECT_TOKEN_EXPIRED,
        .address_fails = cls == DSQL_CONNECT_NETWORK,
    };
}

struct dsql_keeper_verdict dsql_keeper_unprepared(struct dsql_keeper *k,
                                                  enum dsql_connect_class cls)
{
    dsql_keeper_prepared(k, false);
    struct dsql_keeper_verdict verdict = judge(k, cls, k->now, k->now);
    if (verdict.retry_ns > 0)
        k->hindered = DSQL_WHY_NONE; /* the back-off stands in the way, and says for how long */
    return verdict;
}

void dsql_keeper_opened(struct dsql_keeper *k, uint32_t slot, struct dsql_mono now)
{
    assert(!k->slots.items[slot].given_up);
    dsql_pace_opened(k, dsql_mono_since(now, k->slots.items[slot].began));
    dsql_refill_opened(&k->refill);
    dsql_slots_opened(&k->slots, slot, dsql_lifetime_draw(&k->config.lifetime, now, &k->rng));
}

/* OPENING ends without a connection. */
static void end_connect(struct dsql_keeper *k, uint32_t slot)
{
    k->cuts -= k->slots.items[slot].given_up;
    dsql_slots_failed(&k->slots, slot);
}

struct dsql_keeper_verdict dsql_keeper_failed(struct dsql_keeper *k, uint32_t slot,
                                              enum dsql_connect_class cls, struct dsql_mono now)
{
    struct dsql_keeper_verdict verdict = judge(k, cls, k->slots.items[slot].began, now);
    end_connect(k, slot);
    dsql_pace_failed(k);
    return verdict;
}

void dsql_keeper_abandoned(struct dsql_keeper *k, uint32_t slot)
{
    end_connect(k, slot);
}

void dsql_keeper_closed(struct dsql_keeper *k, uint32_t slot)
{
    dsql_slots_closed(&k->slots, slot);
}

void dsql_keeper_discard(struct dsql_keeper *k, uint32_t slot, enum dsql_discard why)
{
    dsql_slots_discard(&k->slots, slot, why);
}

void dsql_keeper_discard_now(struct dsql_keeper *k, uint32_t slot)
{
    uint32_t first;
    assert(k->slots.first_discarded == DSQL_SLOT_NONE); /* between two turns all were told */
    dsql_slots_discard(&k->slots, slot, DSQL_DISCARD_DRAIN);
    (void)dsql_slots_next_discarded(&k->slots, &first);
}

void dsql_keeper_drain(struct dsql_keeper *k)
{
    k->draining = true;
}

/* -- What others may want to know. */

bool dsql_keeper_sleeps(const struct dsql_keeper *k)
{
    return k->stage == OVER;
}

bool dsql_keeper_is_warm(const struct dsql_keeper *k)
{
    return k->warmup_left == 0;
}

bool dsql_keeper_is_hopeless(const struct dsql_keeper *k)
{
    return k->refill.hopeless && k->slots.open == 0 && k->slots.opening == 0;
}

bool dsql_keeper_helps_waiting(const struct dsql_keeper *k)
{
    return k->config.target < k->config.max_open && dsql_slots_held(&k->slots) < k->config.max_open;
}

struct dsql_mono dsql_keeper_near(const struct dsql_keeper *k)
{
    return dsql_mono_add(k->now, DSQL_HANDOUT_NEAR_NS);
}

int64_t dsql_keeper_patience(const struct dsql_keeper_config *config, int64_t wait_ns)
{
    return wait_ns < 0 ? config->empty_wait_ns : wait_ns;
}
