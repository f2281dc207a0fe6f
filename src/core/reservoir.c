#include "core/reservoir.h"

#include <stdlib.h>

enum { NONE = UINT32_MAX };

#define OVERDUE_LOOK_NS DSQL_S

static struct dsql_slot *slot_of(const struct dsql_heap_node *node)
{
    return DSQL_CONTAINER_OF(node, struct dsql_slot, node);
}

static bool is_earlier(const struct dsql_heap_node *a, const struct dsql_heap_node *b)
{
    return dsql_mono_before(slot_of(a)->event, slot_of(b)->event);
}

static uint32_t index_of(const struct dsql_reservoir *r, const struct dsql_slot *slot)
{
    return (uint32_t)(slot - r->slots);
}

enum dsql_rc dsql_reservoir_init(struct dsql_reservoir *r,
                                 const struct dsql_reservoir_config *config, struct dsql_mono now)
{
    assert(config->capacity >= 1 && config->capacity <= DSQL_RESERVOIR_CAPACITY_MAX);
    assert(config->target <= config->capacity && config->warmup <= config->capacity);
    *r = (struct dsql_reservoir){
        .config = *config, .first_aging = NONE, .last_aging = NONE, .tick_at = now};
    r->warmup_left = config->keeper_tick_ns > 0 ? config->warmup : 0;
    dsql_heap_init(&r->events, is_earlier);
    r->slots = calloc(config->capacity, sizeof(*r->slots));
    if (!r->slots || dsql_heap_reserve(&r->events, config->capacity) ||
        dsql_ready_set_init(&r->ready, config->capacity)) {
        dsql_reservoir_fini(r);
        return DSQL_NO_MEMORY;
    }
    for (uint32_t i = 0; i < config->capacity; i++)
        r->slots[i].next = i + 1 < config->capacity ? i + 1 : NONE;
    return DSQL_OK;
}

void dsql_reservoir_fini(struct dsql_reservoir *r)
{
    dsql_ready_set_fini(&r->ready);
    dsql_heap_fini(&r->events);
    free(r->slots);
    *r = (struct dsql_reservoir){0};
}

static void push_aging(struct dsql_reservoir *r, struct dsql_slot *slot)
{
    uint32_t i = index_of(r, slot);
    slot->next = NONE;
    slot->prev = r->last_aging;
    if (r->last_aging == NONE)
        r->first_aging = i;
    else
        r->slots[r->last_aging].next = i;
    r->last_aging = i;
    slot->aging = true;
    r->aging++;
}

static void remove_aging(struct dsql_reservoir *r, struct dsql_slot *slot)
{
    assert(slot->aging);
    if (slot->prev == NONE)
        r->first_aging = slot->next;
    else
        r->slots[slot->prev].next = slot->next;
    if (slot->next == NONE)
        r->last_aging = slot->prev;
    else
        r->slots[slot->next].prev = slot->prev;
    slot->aging = false;
    r->aging--;
}

static void look_again(struct dsql_reservoir *r, struct dsql_slot *slot, struct dsql_mono at)
{
    slot->event = at;
    if (dsql_heap_node_is_in(&slot->node)) {
        dsql_heap_update(&r->events, &slot->node);
        return;
    }
    enum dsql_rc rc = dsql_heap_push(&r->events, &slot->node);
    assert(rc == DSQL_OK); /* room was made at the start (R5) */
    (void)rc;
}

/* From open to CLOSING; the caller owns it. */
static void leave(struct dsql_reservoir *r, struct dsql_slot *slot)
{
    assert(slot->state == DSQL_CONN_READY);
    if (slot->aging)
        remove_aging(r, slot);
    if (dsql_heap_node_is_in(&slot->node))
        dsql_heap_remove(&r->events, &slot->node);
    slot->state = DSQL_CONN_CLOSING;
    r->open--;
    r->closing++;
}

/* An aging connection that nobody uses, claimed; the oldest of those looked at. What is in use goes
 * to the end of the list, so that the next look sees others. */
static struct dsql_slot *claim_aging(struct dsql_reservoir *r)
{
    for (unsigned n = 0; n < DSQL_RESERVOIR_LOOK && r->first_aging != NONE; n++) {
        struct dsql_slot *slot = &r->slots[r->first_aging];
        if (dsql_ready_set_claim(&r->ready, r->first_aging))
            return slot;
        remove_aging(r, slot);
        push_aging(r, slot);
    }
    return NULL;
}

/* What the clock brings: fresh ones begin to age, aging ones reach their guard window. */
static bool evict_by_time(struct dsql_reservoir *r, struct dsql_mono now, uint32_t *which,
                          enum dsql_discard *why)
{
    struct dsql_heap_node *node;
    while ((node = dsql_heap_peek(&r->events)) != NULL) {
        struct dsql_slot *slot = slot_of(node);
        if (dsql_mono_before(now, slot->event))
            return false;
        if (!slot->aging)
            push_aging(r, slot);
        if (dsql_mono_before(now, slot->life.usable_until)) {
            look_again(r, slot, slot->life.usable_until);
            continue;
        }
        uint32_t i = index_of(r, slot);
        if (!dsql_ready_set_claim(&r->ready, i)) {
            /* In use: whoever returns it sees that it is too old, unless he looked at the clock a
             * moment earlier than we did. */
            look_again(r, slot, dsql_mono_add(now, OVERDUE_LOOK_NS));
            continue;
        }
        leave(r, slot);
        *which = i;
        *why = dsql_mono_before(now, slot->life.dies_at) ? DSQL_CLOSE_EXPIRING_SOON_ON_SCAN
                                                         : DSQL_CLOSE_EXPIRED_ON_SCAN;
        return true;
    }
    return false;
}

/* The connections that count towards the target. */
static uint32_t fresh(const struct dsql_reservoir *r)
{
    return r->open - r->aging;
}

bool dsql_reservoir_evict(struct dsql_reservoir *r, int64_t slots, struct dsql_mono now,
                          uint32_t *which, enum dsql_discard *why)
{
    if (evict_by_time(r, now, which, why))
        return true;
    bool surplus = dsql_reservoir_held(r) - r->closing > slots;
    struct dsql_slot *slot = NULL;
    if (surplus || fresh(r) >= r->config.target)
        slot = claim_aging(r);
    *why = DSQL_CLOSE_EXPIRING_SOON_ON_SCAN;
    if (!slot && surplus) {
        uint32_t hint = 0, i = dsql_ready_set_take(&r->ready, &hint);
        slot = i == DSQL_READY_NONE ? NULL : &r->slots[i];
        *why = DSQL_CLOSE_RESERVOIR_FULL;
    }
    if (!slot)
        return false;
    leave(r, slot);
    *which = index_of(r, slot);
    return true;
}

/* Standard mode: whether this moment's share is not used up. */
static bool may_by_keeper(struct dsql_reservoir *r, struct dsql_mono now)
{
    if (r->config.keeper_tick_ns == 0)
        return true;
    if (r->warmup_left > 0)
        return r->opening == 0;
    if (!dsql_mono_before(now, r->tick_at)) {
        r->tick_left = r->config.keeper_max;
        r->tick_at = dsql_mono_add(now, r->config.keeper_tick_ns);
    }
    return r->tick_left > 0;
}

static bool has_room(const struct dsql_reservoir *r, int64_t slots)
{
    return r->first_empty != NONE && dsql_reservoir_held(r) < slots;
}

bool dsql_reservoir_wants(struct dsql_reservoir *r, int64_t slots, uint32_t waiting,
                          struct dsql_mono now)
{
    if (fresh(r) + r->opening >= r->config.target)
        return r->opening < waiting && has_room(r, slots) && dsql_reservoir_is_warm(r);
    /* An aging one makes room only if that keeps us within the slots owned. */
    if (!has_room(r, slots) && (r->aging == 0 || dsql_reservoir_held(r) > slots))
        return false;
    return may_by_keeper(r, now);
}

bool dsql_reservoir_begin(struct dsql_reservoir *r, int64_t slots, uint32_t *which, bool *evicted)
{
    struct dsql_slot *slot;
    bool room = has_room(r, slots);
    if (room) {
        slot = &r->slots[r->first_empty];
        r->first_empty = slot->next;
    } else {
        slot = claim_aging(r);
        if (!slot)
            return false;
        leave(r, slot);
        r->closing--;
    }
    slot->state = DSQL_CONN_OPENING;
    r->opening++;
    if (r->tick_left > 0)
        r->tick_left--;
    *which = index_of(r, slot);
    *evicted = !room;
    return true;
}

static void push_empty(struct dsql_reservoir *r, struct dsql_slot *slot)
{
    slot->state = DSQL_CONN_EMPTY;
    slot->next = r->first_empty;
    r->first_empty = index_of(r, slot);
}

void dsql_reservoir_opened(struct dsql_reservoir *r, uint32_t which, struct dsql_mono now,
                           struct dsql_rng *rng)
{
    struct dsql_slot *slot = &r->slots[which];
    assert(slot->state == DSQL_CONN_OPENING);
    r->opening--;
    r->open++;
    slot->state = DSQL_CONN_READY;
    slot->life = dsql_lifetime_draw(&r->config.lifetime, now, rng);
    look_again(r, slot, slot->life.replace_at);
    if (r->warmup_left > 0) {
        r->warmup_left--;
        r->warmup_failures = 0;
    }
}

void dsql_reservoir_failed(struct dsql_reservoir *r, uint32_t which, bool hopeless)
{
    struct dsql_slot *slot = &r->slots[which];
    assert(slot->state == DSQL_CONN_OPENING);
    r->opening--;
    push_empty(r, slot);
    if (r->warmup_left > 0 && hopeless)
        r->warmup_left = 0;
    if (r->warmup_left > 0 && ++r->warmup_failures >= r->config.warmup_tries) {
        /* If the first never came, none will. */
        r->warmup_left = r->open == 0 ? 0 : r->warmup_left - 1;
        r->warmup_failures = 0;
    }
}

void dsql_reservoir_discard(struct dsql_reservoir *r, uint32_t which)
{
    assert(!dsql_ready_set_has(&r->ready, which)); /* (R3) */
    leave(r, &r->slots[which]);
}

void dsql_reservoir_closed(struct dsql_reservoir *r, uint32_t which)
{
    struct dsql_slot *slot = &r->slots[which];
    assert(slot->state == DSQL_CONN_CLOSING);
    r->closing--;
    push_empty(r, slot);
}

int64_t dsql_reservoir_wait_ns(const struct dsql_reservoir *r, struct dsql_mono now)
{
    int64_t wait_ns = INT64_MAX;
    const struct dsql_heap_node *node = dsql_heap_peek(&r->events);
    if (node)
        wait_ns = dsql_mono_since(slot_of(node)->event, now);
    bool ticks = r->config.keeper_tick_ns > 0 && r->warmup_left == 0;
    if (ticks && r->tick_left == 0 && fresh(r) + r->opening < r->config.target &&
        dsql_mono_since(r->tick_at, now) < wait_ns)
        wait_ns = dsql_mono_since(r->tick_at, now);
    return wait_ns > 0 ? wait_ns : 0;
}

uint32_t dsql_reservoir_checkout(struct dsql_reservoir *r, struct dsql_mono now, uint32_t *hint)
{
    uint32_t held_back[DSQL_RESERVOIR_LOOK], count = 0;
    uint32_t found = DSQL_READY_NONE;
    while (count < DSQL_RESERVOIR_LOOK) {
        found = dsql_ready_set_take(&r->ready, hint);
        if (found == DSQL_READY_NONE || dsql_mono_before(now, r->slots[found].life.usable_until))
            break;
        held_back[count++] = found;
        found = DSQL_READY_NONE;
    }
    for (uint32_t i = 0; i < count; i++)
        dsql_ready_set_put(&r->ready, held_back[i]);
    return found;
}

bool dsql_reservoir_return(struct dsql_reservoir *r, uint32_t which, struct dsql_mono now)
{
    if (!dsql_mono_before(now, r->slots[which].life.usable_until))
        return false;
    dsql_ready_set_put(&r->ready, which);
    return true;
}

void dsql_reservoir_check(const struct dsql_reservoir *r)
{
    uint32_t count[DSQL_CONN_CLOSING + 1] = {0}, aging = 0, empty = 0, in_list = 0;
    for (uint32_t i = 0; i < r->config.capacity; i++) {
        const struct dsql_slot *slot = &r->slots[i];
        count[slot->state]++;
        aging += slot->aging;
        assert(!slot->aging || slot->state == DSQL_CONN_READY);                      /* (R4) */
        assert(!dsql_ready_set_has(&r->ready, i) || slot->state == DSQL_CONN_READY); /* (R3) */
        assert(dsql_heap_node_is_in(&slot->node) == (slot->state == DSQL_CONN_READY));
    }
    for (uint32_t i = r->first_empty; i != NONE; i = r->slots[i].next)
        empty++;
    for (uint32_t i = r->first_aging; i != NONE; i = r->slots[i].next)
        in_list++;
    assert(count[DSQL_CONN_OPENING] == r->opening && count[DSQL_CONN_READY] == r->open); /* (R1) */
    assert(count[DSQL_CONN_CLOSING] == r->closing && count[DSQL_CONN_EMPTY] == empty);
    assert(aging == r->aging && in_list == aging);
    (void)in_list;
}
