#include "core/slots.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = DSQL_SLOT_NONE };

static struct dsql_slot *slot_of(const struct dsql_heap_node *node)
{
    return DSQL_CONTAINER_OF(node, struct dsql_slot, node);
}

/* Slots are items of one array: of two that are due at one moment, the smaller number comes first.
 */
static bool is_earlier(const struct dsql_heap_node *a, const struct dsql_heap_node *b)
{
    int64_t a_ns = slot_of(a)->event.ns, b_ns = slot_of(b)->event.ns;
    return a_ns < b_ns || (a_ns == b_ns && a < b);
}

static uint32_t index_of(const struct dsql_slots *s, const struct dsql_slot *slot)
{
    return (uint32_t)(slot - s->items);
}

static enum dsql_rc make_room(struct dsql_slots *s)
{
    dsql_heap_init(&s->events, is_earlier);
    s->items = calloc(s->capacity, sizeof(*s->items));
    if (s->items && dsql_heap_reserve(&s->events, s->capacity) == DSQL_OK)
        return DSQL_OK;
    dsql_slots_fini(s);
    return DSQL_NO_MEMORY;
}

enum dsql_rc dsql_slots_init(struct dsql_slots *s, uint32_t capacity)
{
    assert(capacity >= 1 && capacity <= DSQL_SLOTS_MAX);
    *s = (struct dsql_slots){
        .capacity = capacity,
        .first_aging = NONE,
        .last_aging = NONE,
        .first_discarded = NONE,
        .last_discarded = NONE,
    };
    if (make_room(s))
        return DSQL_NO_MEMORY;
    for (uint32_t i = 0; i < capacity; i++)
        s->items[i].next = i + 1 < capacity ? i + 1 : NONE;
    return DSQL_OK;
}

void dsql_slots_fini(struct dsql_slots *s)
{
    dsql_heap_fini(&s->events);
    free(s->items);
    *s = (struct dsql_slots){0};
}

/* From now on the clock says something at `at`. */
static void look_at(struct dsql_slots *s, struct dsql_slot *slot, struct dsql_mono at)
{
    slot->event = at;
    if (dsql_heap_node_is_in(&slot->node)) {
        dsql_heap_update(&s->events, &slot->node);
        return;
    }
    enum dsql_rc rc = dsql_heap_push(&s->events, &slot->node);
    assert(rc == DSQL_OK); /* room was made at the start (SL4) */
    (void)rc;
}

static void look_no_more(struct dsql_slots *s, struct dsql_slot *slot)
{
    if (dsql_heap_node_is_in(&slot->node))
        dsql_heap_remove(&s->events, &slot->node);
}

uint32_t dsql_slots_span(const struct dsql_slots *s)
{
    uint32_t span = s->capacity;
    while (span > 0 && s->items[span - 1].state == DSQL_SLOT_EMPTY)
        span--;
    return span;
}

/* The empty slots of *from in their order, as far as there is room for them, then the new ones. */
static void copy_empty(struct dsql_slots *to, const struct dsql_slots *from)
{
    uint32_t *end = &to->first_empty;
    for (uint32_t i = from->first_empty; i != NONE; i = from->items[i].next) {
        if (i < to->capacity) {
            *end = i;
            end = &to->items[i].next;
        }
    }
    for (uint32_t i = from->capacity; i < to->capacity; i++) {
        *end = i;
        end = &to->items[i].next;
    }
    *end = NONE;
}

enum dsql_rc dsql_slots_copy(struct dsql_slots *to, const struct dsql_slots *from,
                             uint32_t capacity)
{
    assert(capacity >= 1 && capacity <= DSQL_SLOTS_MAX && capacity >= dsql_slots_span(from));
    *to = *from;
    to->capacity = capacity;
    if (make_room(to))
        return DSQL_NO_MEMORY;
    uint32_t kept = capacity < from->capacity ? capacity : from->capacity;
    memcpy(to->items, from->items, kept * sizeof(*to->items));
    copy_empty(to, from);
    for (uint32_t i = 0; i < to->capacity; i++) {
        bool waits = dsql_heap_node_is_in(&to->items[i].node);
        to->items[i].node = (struct dsql_heap_node){0};
        if (waits)
            look_at(to, &to->items[i], to->items[i].event);
    }
    return DSQL_OK;
}

/* -- The lists. */

static void push_empty(struct dsql_slots *s, struct dsql_slot *slot)
{
    slot->state = DSQL_SLOT_EMPTY;
    slot->next = s->first_empty;
    s->first_empty = index_of(s, slot);
}

static void push_aging(struct dsql_slots *s, struct dsql_slot *slot)
{
    uint32_t i = index_of(s, slot);
    slot->next = NONE;
    slot->prev = s->last_aging;
    if (s->last_aging == NONE)
        s->first_aging = i;
    else
        s->items[s->last_aging].next = i;
    s->last_aging = i;
    slot->aging = true;
    s->aging++;
}

static void remove_aging(struct dsql_slots *s, struct dsql_slot *slot)
{
    assert(slot->aging);
    if (slot->prev == NONE)
        s->first_aging = slot->next;
    else
        s->items[slot->prev].next = slot->next;
    if (slot->next == NONE)
        s->last_aging = slot->prev;
    else
        s->items[slot->next].prev = slot->prev;
    slot->aging = false;
    s->aging--;
}

void dsql_slots_pass_aging(struct dsql_slots *s)
{
    struct dsql_slot *slot = &s->items[s->first_aging];
    remove_aging(s, slot);
    push_aging(s, slot);
}

/* -- From state to state. */

uint32_t dsql_slots_begin(struct dsql_slots *s, struct dsql_mono now, struct dsql_mono deadline)
{
    assert(s->first_empty != NONE);
    struct dsql_slot *slot = &s->items[s->first_empty];
    s->first_empty = slot->next;
    slot->state = DSQL_SLOT_OPENING;
    slot->given_up = false;
    slot->began = now;
    s->opening++;
    look_at(s, slot, deadline);
    return index_of(s, slot);
}

static void end_opening(struct dsql_slots *s, struct dsql_slot *slot)
{
    assert(slot->state == DSQL_SLOT_OPENING);
    s->opening--;
    look_no_more(s, slot);
}

void dsql_slots_opened(struct dsql_slots *s, uint32_t which, struct dsql_lifespan life)
{
    struct dsql_slot *slot = &s->items[which];
    end_opening(s, slot);
    s->open++;
    slot->state = DSQL_SLOT_OPEN;
    slot->life = life;
    look_at(s, slot, life.replace_at);
}

void dsql_slots_failed(struct dsql_slots *s, uint32_t which)
{
    end_opening(s, &s->items[which]);
    push_empty(s, &s->items[which]);
}

void dsql_slots_discard(struct dsql_slots *s, uint32_t which, enum dsql_discard why)
{
    struct dsql_slot *slot = &s->items[which];
    assert(slot->state == DSQL_SLOT_OPEN);
    if (slot->aging)
        remove_aging(s, slot);
    look_no_more(s, slot);
    slot->state = DSQL_SLOT_CLOSING;
    slot->discard = why;
    slot->next = NONE;
    s->open--;
    s->closing++;
    if (s->last_discarded == NONE)
        s->first_discarded = which;
    else
        s->items[s->last_discarded].next = which;
    s->last_discarded = which;
}

bool dsql_slots_next_discarded(struct dsql_slots *s, uint32_t *slot)
{
    if (s->first_discarded == NONE)
        return false;
    *slot = s->first_discarded;
    s->first_discarded = s->items[*slot].next;
    if (s->first_discarded == NONE)
        s->last_discarded = NONE;
    return true;
}

void dsql_slots_closed(struct dsql_slots *s, uint32_t which)
{
    struct dsql_slot *slot = &s->items[which];
    assert(slot->state == DSQL_SLOT_CLOSING);
    s->closing--;
    push_empty(s, slot);
}

/* -- The clock. */

void dsql_slots_give_up(struct dsql_slots *s, uint32_t which)
{
    struct dsql_slot *slot = &s->items[which];
    assert(slot->state == DSQL_SLOT_OPENING && !slot->given_up);
    slot->given_up = true;
    look_no_more(s, slot);
}

enum dsql_slots_due dsql_slots_due(struct dsql_slots *s, struct dsql_mono now, uint32_t *which)
{
    struct dsql_heap_node *node;
    while ((node = dsql_heap_peek(&s->events)) != NULL) {
        struct dsql_slot *slot = slot_of(node);
        if (dsql_mono_before(now, slot->event))
            return DSQL_DUE_NOTHING;
        *which = index_of(s, slot);
        if (slot->state == DSQL_SLOT_OPENING) {
            dsql_slots_give_up(s, *which);
            return DSQL_DUE_CONNECT;
        }
        if (!slot->aging)
            push_aging(s, slot);
        if (!dsql_mono_before(now, slot->life.usable_until))
            return DSQL_DUE_END;
        look_at(s, slot, slot->life.usable_until);
    }
    return DSQL_DUE_NOTHING;
}

void dsql_slots_due_again(struct dsql_slots *s, uint32_t slot, struct dsql_mono at)
{
    look_at(s, &s->items[slot], at);
}

struct dsql_mono dsql_slots_next_event(const struct dsql_slots *s)
{
    const struct dsql_heap_node *node = dsql_heap_peek(&s->events);
    return node ? slot_of(node)->event : (struct dsql_mono){INT64_MAX};
}

/* (SL3) */
static bool waits(const struct dsql_slot *slot)
{
    return slot->state == DSQL_SLOT_OPEN || (slot->state == DSQL_SLOT_OPENING && !slot->given_up);
}

/* How many slots of one kind are in the list from `first` to `last`; more than the capacity if
 * another kind is among them or the list does not end. */
static uint32_t count_list(const struct dsql_slots *s, uint32_t first, uint32_t last,
                           enum dsql_slot_state state, bool aging)
{
    uint32_t count = 0, prev = NONE;
    for (uint32_t i = first; i != NONE; i = s->items[i].next) {
        const struct dsql_slot *slot = &s->items[i];
        if (slot->state != state || slot->aging != aging || (aging && slot->prev != prev) ||
            ++count > s->capacity)
            return s->capacity + 1;
        prev = i;
    }
    return prev == last ? count : s->capacity + 1;
}

bool dsql_slots_are_sound(const struct dsql_slots *s)
{
    uint32_t count[DSQL_SLOT_CLOSING + 1] = {0}, aging = 0, last_empty = NONE;
    for (uint32_t i = 0; i < s->capacity; i++) {
        const struct dsql_slot *slot = &s->items[i];
        count[slot->state]++;
        aging += slot->aging;
        if (slot->state == DSQL_SLOT_EMPTY && slot->next == NONE)
            last_empty = i;
        if (slot->aging && slot->state != DSQL_SLOT_OPEN) /* (SL2) */
            return false;
    }
    return count[DSQL_SLOT_OPENING] == s->opening && count[DSQL_SLOT_OPEN] == s->open &&
           count[DSQL_SLOT_CLOSING] == s->closing && aging == s->aging && /* (SL1) */
           count_list(s, s->first_empty, last_empty, DSQL_SLOT_EMPTY, false) ==
               count[DSQL_SLOT_EMPTY] &&
           count_list(s, s->first_aging, s->last_aging, DSQL_SLOT_OPEN, true) == aging &&
           count_list(s, s->first_discarded, s->last_discarded, DSQL_SLOT_CLOSING, false) <=
               s->closing;
}

void dsql_slots_look_again(struct dsql_slots *s)
{
    for (uint32_t i = 0; i < s->capacity; i++)
        if (waits(&s->items[i]))
            look_at(s, &s->items[i], s->items[i].event);
}

void dsql_slots_check(const struct dsql_slots *s)
{
    assert(dsql_slots_are_sound(s));
    for (uint32_t i = 0; i < s->capacity; i++)
        assert(dsql_heap_node_is_in(&s->items[i].node) == waits(&s->items[i]));
}
