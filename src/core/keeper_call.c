#include "core/keeper_call.h"

enum {
    SLOT = DSQL_KEEPER_CALL_USES_SLOT,
    NOW = DSQL_KEEPER_CALL_USES_NOW,
    COUNT = DSQL_KEEPER_CALL_USES_COUNT,
    RATE = DSQL_KEEPER_CALL_USES_RATE,
    YES = DSQL_KEEPER_CALL_USES_YES,
    CLASS = DSQL_KEEPER_CALL_USES_CLASS,
    DISCARD = DSQL_KEEPER_CALL_USES_DISCARD,
};

static const struct {
    const char *name;
    unsigned uses;
    enum dsql_keeper_call_reply reply;
} calls[] = {
#define DSQL_KEEPER_CALL_MEMBER(name, text, uses, reply) {text, uses, DSQL_KEEPER_REPLY_##reply},
    DSQL_KEEPER_CALL_TABLE(DSQL_KEEPER_CALL_MEMBER)
#undef DSQL_KEEPER_CALL_MEMBER
};

unsigned dsql_keeper_call_uses(enum dsql_keeper_call_kind kind)
{
    return calls[kind].uses;
}

enum dsql_keeper_call_reply dsql_keeper_call_replied(enum dsql_keeper_call_kind kind)
{
    return calls[kind].reply;
}

const char *dsql_keeper_call_name(enum dsql_keeper_call_kind kind)
{
    return calls[kind].name;
}

void dsql_keeper_call(struct dsql_keeper *k, const struct dsql_keeper_call *call,
                      struct dsql_keeper_reply *reply)
{
    assert(call->kind < DSQL_KEEPER_CALLS);
    *reply = (struct dsql_keeper_reply){0};
    switch (call->kind) {
    case DSQL_KEEPER_CALL_TURN:
        dsql_keeper_turn(k, call->now, (uint32_t)call->count);
        break;
    case DSQL_KEEPER_CALL_NEXT:
        dsql_keeper_next(k, &reply->step);
        break;
    case DSQL_KEEPER_CALL_SLOTS:
        dsql_keeper_slots(k, call->count, call->rate);
        break;
    case DSQL_KEEPER_CALL_CLAIMED:
        dsql_keeper_claimed(k, call->slot);
        break;
    case DSQL_KEEPER_CALL_PERMIT:
        dsql_keeper_permit(k, call->yes, call->count);
        break;
    case DSQL_KEEPER_CALL_PREPARED:
        dsql_keeper_prepared(k, call->yes);
        break;
    case DSQL_KEEPER_CALL_UNPREPARED:
        reply->verdict = dsql_keeper_unprepared(k, call->cls);
        break;
    case DSQL_KEEPER_CALL_OPENED:
        dsql_keeper_opened(k, call->slot, call->now);
        reply->life = k->slots.items[call->slot].life;
        break;
    case DSQL_KEEPER_CALL_FAILED:
        reply->verdict = dsql_keeper_failed(k, call->slot, call->cls, call->now);
        break;
    case DSQL_KEEPER_CALL_ABANDONED:
        dsql_keeper_abandoned(k, call->slot);
        break;
    case DSQL_KEEPER_CALL_CLOSED:
        dsql_keeper_closed(k, call->slot);
        break;
    case DSQL_KEEPER_CALL_DISCARD:
        dsql_keeper_discard(k, call->slot, call->discard);
        break;
    case DSQL_KEEPER_CALL_DISCARD_NOW:
        dsql_keeper_discard_now(k, call->slot);
        break;
    case DSQL_KEEPER_CALL_DRAIN:
        dsql_keeper_drain(k);
        break;
    case DSQL_KEEPER_CALLS:
        break;
    }
}

/* -- What is possible. */

static bool is_in_state(const struct dsql_keeper *k, uint32_t slot, enum dsql_slot_state state)
{
    return slot < k->slots.capacity && k->slots.items[slot].state == state;
}

/* A slot whose CLOSE is still to come has not been closed. */
static bool is_being_closed(const struct dsql_keeper *k, uint32_t slot)
{
    for (uint32_t i = k->slots.first_discarded; i != DSQL_SLOT_NONE; i = k->slots.items[i].next)
        if (i == slot)
            return false;
    return is_in_state(k, slot, DSQL_SLOT_CLOSING);
}

static bool is_answer(const struct dsql_keeper *k, const struct dsql_keeper_call *call)
{
    switch (k->asked) {
    case DSQL_KEEPER_SLOTS:
        return call->kind == DSQL_KEEPER_CALL_SLOTS;
    case DSQL_KEEPER_CLAIM:
        return call->kind == DSQL_KEEPER_CALL_CLAIMED &&
               (call->slot == DSQL_SLOT_NONE || call->slot == k->question);
    case DSQL_KEEPER_TAKE:
        return call->kind == DSQL_KEEPER_CALL_CLAIMED &&
               (call->slot == DSQL_SLOT_NONE || is_in_state(k, call->slot, DSQL_SLOT_OPEN));
    case DSQL_KEEPER_PERMIT:
        return call->kind == DSQL_KEEPER_CALL_PERMIT;
    case DSQL_KEEPER_PREPARE:
        return call->kind == DSQL_KEEPER_CALL_PREPARED || call->kind == DSQL_KEEPER_CALL_UNPREPARED;
    case DSQL_KEEPER_OFFER:
    case DSQL_KEEPER_CLOSE:
    case DSQL_KEEPER_OPEN:
    case DSQL_KEEPER_CUT:
    case DSQL_KEEPER_REPORT:
    case DSQL_KEEPER_SLEEP:
        break;
    }
    return false;
}

bool dsql_keeper_call_is_possible(const struct dsql_keeper *k, const struct dsql_keeper_call *call)
{
    if (k->asked != DSQL_KEEPER_SLEEP)
        return is_answer(k, call);
    if (!dsql_keeper_sleeps(k))
        return call->kind == DSQL_KEEPER_CALL_NEXT;
    switch (call->kind) {
    case DSQL_KEEPER_CALL_TURN:
    case DSQL_KEEPER_CALL_DRAIN:
        return true;
    case DSQL_KEEPER_CALL_OPENED:
        return is_in_state(k, call->slot, DSQL_SLOT_OPENING) &&
               !k->slots.items[call->slot].given_up;
    case DSQL_KEEPER_CALL_FAILED:
    case DSQL_KEEPER_CALL_ABANDONED:
        return is_in_state(k, call->slot, DSQL_SLOT_OPENING);
    case DSQL_KEEPER_CALL_CLOSED:
        return is_being_closed(k, call->slot);
    case DSQL_KEEPER_CALL_DISCARD:
        return is_in_state(k, call->slot, DSQL_SLOT_OPEN);
    case DSQL_KEEPER_CALL_DISCARD_NOW:
        return is_in_state(k, call->slot, DSQL_SLOT_OPEN) &&
               k->slots.first_discarded == DSQL_SLOT_NONE;
    case DSQL_KEEPER_CALL_NEXT:
    case DSQL_KEEPER_CALL_SLOTS:
    case DSQL_KEEPER_CALL_CLAIMED:
    case DSQL_KEEPER_CALL_PERMIT:
    case DSQL_KEEPER_CALL_PREPARED:
    case DSQL_KEEPER_CALL_UNPREPARED:
    case DSQL_KEEPER_CALLS:
        break;
    }
    return false;
}
