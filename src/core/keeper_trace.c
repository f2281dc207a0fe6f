#include "core/keeper_trace.h"

#include <string.h>

/* "a recording of libdsql" */
static const uint8_t magic[8] = {'D', 'S', 'Q', 'L', 'T', 'R', 'C', '\n'};

enum { END = 0xff, SLOT_MAX = 80, SCALARS_MAX = 600, TURN_MAX = 256, MIB = 1 << 20 };

/* Differences of two times, and of such a difference and a time, stay within 64 bits. */
#define TIME_MAX     (INT64_C(1) << 60)
#define DURATION_MAX (INT64_C(1) << 50)
#define COUNT_MAX    (INT64_C(1) << 40)

/* -- Numbers. */

struct dsql_codec dsql_codec_reader(const void *bytes, size_t len)
{
    return (struct dsql_codec){.from = bytes, .end = (const uint8_t *)bytes + len};
}

struct dsql_codec dsql_codec_writer(void *bytes, size_t room)
{
    return (struct dsql_codec){.to = bytes, .end = (uint8_t *)bytes + room};
}

size_t dsql_codec_left(const struct dsql_codec *c)
{
    return (size_t)((const uint8_t *)c->end - (c->from ? c->from : c->to));
}

static uint8_t one_byte(struct dsql_codec *c, uint8_t value)
{
    if (c->failed || dsql_codec_left(c) == 0) {
        c->failed = true;
        return 0;
    }
    if (c->from)
        return *c->from++;
    *c->to++ = value;
    return value;
}

static void put_u64(struct dsql_codec *c, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        (void)one_byte(c, (uint8_t)(value | 0x80));
    (void)one_byte(c, (uint8_t)value);
}

static uint64_t take_u64(struct dsql_codec *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = one_byte(c, 0);
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    c->failed = true;
    return 0;
}

static void u64(struct dsql_codec *c, uint64_t *value)
{
    if (c->from)
        *value = take_u64(c);
    else
        put_u64(c, *value);
}

static void i64(struct dsql_codec *c, int64_t *value, int64_t low, int64_t high)
{
    uint64_t bits = (uint64_t)*value << 1 ^ (uint64_t)(*value < 0 ? -1 : 0);
    u64(c, &bits);
    int64_t got = (int64_t)(bits >> 1 ^ (bits & 1 ? UINT64_MAX : 0));
    if (c->from && (got < low || got > high))
        c->failed = true;
    else if (c->from && !c->failed)
        *value = got;
}

static void u32(struct dsql_codec *c, uint32_t *value, uint32_t high)
{
    int64_t number = *value;
    i64(c, &number, 0, high);
    *value = (uint32_t)number;
}

static void boolean(struct dsql_codec *c, bool *value)
{
    uint32_t number = *value;
    u32(c, &number, 1);
    *value = number != 0;
}

/* A number from 0 to high, or DSQL_SLOT_NONE, which is written as 0. */
static void slot_or_none(struct dsql_codec *c, uint32_t *slot, uint32_t high)
{
    uint32_t number = *slot + 1;
    u32(c, &number, high + 1);
    *slot = number - 1;
}

static void mono(struct dsql_codec *c, struct dsql_mono *time)
{
    int64_t ns = time->ns == INT64_MAX ? -1 : time->ns;
    i64(c, &ns, -1, TIME_MAX);
    time->ns = ns == -1 ? INT64_MAX : ns;
}

/* Not negative, not infinite. */
static void f64(struct dsql_codec *c, double *value)
{
    uint64_t bits;
    memcpy(&bits, value, sizeof(bits));
    uint64_t got = 0;
    for (unsigned i = 0; i < 64; i += 8)
        got |= (uint64_t)one_byte(c, (uint8_t)(bits >> i)) << i;
    if (!c->from || c->failed)
        return;
    double number;
    memcpy(&number, &got, sizeof(number));
    if (number >= 0 && number <= 1e9)
        *value = number;
    else
        c->failed = true;
}

/* Enumerations have types of their own: by way of a number. */
#define ENUM(c, field, count)                                                                      \
    do {                                                                                           \
        uint32_t number_ = (uint32_t)(field);                                                      \
        u32(c, &number_, (uint32_t)(count)-1);                                                     \
        (field) = number_;                                                                         \
    } while (0)

/* -- Records. */

void dsql_codec_call(struct dsql_codec *c, struct dsql_keeper_call *call)
{
    if (c->from)
        *call = (struct dsql_keeper_call){.slot = DSQL_SLOT_NONE};
    ENUM(c, call->kind, DSQL_KEEPER_CALLS);
    unsigned uses = dsql_keeper_call_uses(call->kind);
    if (uses & DSQL_KEEPER_CALL_USES_SLOT)
        slot_or_none(c, &call->slot, DSQL_SLOTS_MAX - 1);
    if (uses & DSQL_KEEPER_CALL_USES_NOW)
        i64(c, &call->now.ns, 0, TIME_MAX);
    if (uses & DSQL_KEEPER_CALL_USES_COUNT)
        i64(c, &call->count, 0, call->kind == DSQL_KEEPER_CALL_TURN ? INT32_MAX : INT64_MAX);
    if (uses & DSQL_KEEPER_CALL_USES_RATE)
        f64(c, &call->rate);
    if (uses & DSQL_KEEPER_CALL_USES_YES)
        boolean(c, &call->yes);
    if (uses & DSQL_KEEPER_CALL_USES_CLASS)
        ENUM(c, call->cls, DSQL_CONNECT_CLASSES);
    if (uses & DSQL_KEEPER_CALL_USES_DISCARD)
        ENUM(c, call->discard, DSQL_DISCARDS);
}

static void step(struct dsql_codec *c, struct dsql_keeper_step *s)
{
    ENUM(c, s->what, DSQL_KEEPER_SLEEP + 1);
    ENUM(c, s->why, DSQL_KEEPER_WHYS);
    slot_or_none(c, &s->slot, DSQL_SLOTS_MAX - 1);
    ENUM(c, s->discard, DSQL_DISCARDS);
    i64(c, &s->count, INT64_MIN, INT64_MAX);
    i64(c, &s->ns, INT64_MIN, INT64_MAX);
}

static void verdict(struct dsql_codec *c, struct dsql_keeper_verdict *v)
{
    i64(c, &v->retry_ns, INT64_MIN, INT64_MAX);
    boolean(c, &v->throttled);
    boolean(c, &v->full);
    boolean(c, &v->renew_token);
    boolean(c, &v->forget_token);
    boolean(c, &v->address_fails);
}

static void life(struct dsql_codec *c, struct dsql_lifespan *l)
{
    mono(c, &l->born);
    mono(c, &l->replace_at);
    mono(c, &l->usable_until);
    mono(c, &l->dies_at);
}

void dsql_codec_reply(struct dsql_codec *c, enum dsql_keeper_call_kind kind,
                      struct dsql_keeper_reply *reply)
{
    if (c->from)
        *reply = (struct dsql_keeper_reply){0};
    switch (dsql_keeper_call_replied(kind)) {
    case DSQL_KEEPER_REPLY_NOTHING:
        break;
    case DSQL_KEEPER_REPLY_STEP:
        step(c, &reply->step);
        break;
    case DSQL_KEEPER_REPLY_VERDICT:
        verdict(c, &reply->verdict);
        break;
    case DSQL_KEEPER_REPLY_LIFE:
        life(c, &reply->life);
        break;
    }
}

void dsql_codec_put_end(struct dsql_codec *c)
{
    (void)one_byte(c, END);
}

bool dsql_codec_take_end(struct dsql_codec *c)
{
    bool end = dsql_codec_left(c) > 0 && *c->from == END;
    c->from += end;
    return end;
}

/* -- A snapshot. */

static void config(struct dsql_codec *c, struct dsql_keeper_config *k)
{
    u32(c, &k->max_open, DSQL_SLOTS_MAX);
    u32(c, &k->target, k->max_open);
    i64(c, &k->lifetime.base_ns, 1, DURATION_MAX);
    i64(c, &k->lifetime.jitter_ns, 0, 2 * k->lifetime.base_ns);
    i64(c, &k->lifetime.guard_ns, 0, DURATION_MAX);
    i64(c, &k->start_delay_ns, 0, DURATION_MAX);
    i64(c, &k->inflight_limit, 0, COUNT_MAX);
    i64(c, &k->connect_timeout_ns, 0, DURATION_MAX);
    i64(c, &k->empty_wait_ns, 0, DURATION_MAX);
    i64(c, &k->permit_wait_ns, 0, DURATION_MAX);
    i64(c, &k->permit_backoff_ns, 1, DURATION_MAX);
    i64(c, &k->tick_ns, 0, DURATION_MAX);
    u32(c, &k->tick_max, UINT32_MAX);
    u32(c, &k->warmup, k->max_open);
    u32(c, &k->warmup_tries, UINT32_MAX);
    i64(c, &k->warmup_timeout_ns, 0, DURATION_MAX);
    i64(c, &k->warmup_backoff_ns, 0, DURATION_MAX);
    i64(c, &k->warmup_backoff_max_ns, 0, DURATION_MAX);
    bool paced = k->tick_ns > 0;
    if (k->max_open == 0 || (paced && (k->tick_max == 0 || k->warmup_tries == 0)))
        c->failed = true;
}

static void refill(struct dsql_codec *c, struct dsql_refill *r)
{
    u32(c, &r->rounds, INT32_MAX);
    mono(c, &r->round_at);
    mono(c, &r->not_before);
    ENUM(c, r->last, DSQL_CONNECT_CLASSES);
    boolean(c, &r->renewed);
    boolean(c, &r->hopeless);
    i64(c, &r->network.base_ns, 1, DURATION_MAX);
    i64(c, &r->network.cap_ns, r->network.base_ns, DURATION_MAX);
    f64(c, &r->network.jitter);
    i64(c, &r->window, 0, COUNT_MAX);
    i64(c, &r->successes, 0, COUNT_MAX);
    if (r->network.jitter > 1)
        c->failed = true;
}

static void slot(struct dsql_codec *c, struct dsql_slot *s, uint32_t last)
{
    ENUM(c, s->state, DSQL_SLOT_CLOSING + 1);
    switch (s->state) {
    case DSQL_SLOT_EMPTY:
        slot_or_none(c, &s->next, last);
        break;
    case DSQL_SLOT_OPENING:
        boolean(c, &s->given_up);
        mono(c, &s->began);
        mono(c, &s->event);
        break;
    case DSQL_SLOT_OPEN:
        boolean(c, &s->aging);
        if (s->aging) {
            slot_or_none(c, &s->next, last);
            slot_or_none(c, &s->prev, last);
        }
        life(c, &s->life);
        mono(c, &s->event);
        break;
    case DSQL_SLOT_CLOSING:
        ENUM(c, s->discard, DSQL_DISCARDS);
        slot_or_none(c, &s->next, last);
        break;
    }
}

static void slots(struct dsql_codec *c, struct dsql_slots *s)
{
    uint32_t last = s->capacity - 1;
    for (uint32_t i = 0; i <= last && !c->failed; i++)
        slot(c, &s->items[i], last);
    slot_or_none(c, &s->first_empty, last);
    slot_or_none(c, &s->first_aging, last);
    slot_or_none(c, &s->last_aging, last);
    slot_or_none(c, &s->first_discarded, last);
    slot_or_none(c, &s->last_discarded, last);
    u32(c, &s->opening, s->capacity);
    u32(c, &s->open, s->capacity);
    u32(c, &s->closing, s->capacity);
    u32(c, &s->aging, s->capacity);
}

/* All but config, randomness, time and slots, and but what every turn begins with. */
static void scalars(struct dsql_codec *c, struct dsql_keeper *k)
{
    refill(c, &k->refill);
    mono(c, &k->start_at);
    boolean(c, &k->draining);
    i64(c, &k->handshake_ns, -TIME_MAX, TIME_MAX);
    u32(c, &k->warmup_left, k->config.warmup);
    u32(c, &k->warmup_failures, UINT32_MAX / 2);
    mono(c, &k->tick_at);
    u32(c, &k->tick_left, UINT32_MAX);
    i64(c, &k->granted, 0, INT64_MAX);
    f64(c, &k->rate);
    i64(c, &k->need, 0, COUNT_MAX);
    i64(c, &k->need_before, 0, COUNT_MAX);
    i64(c, &k->need_peak, 0, COUNT_MAX);
    mono(c, &k->need_until);
    mono(c, &k->lack_due);
    boolean(c, &k->permit_in_hand);
    mono(c, &k->permit_given);
    mono(c, &k->permit_since);
    mono(c, &k->permit_at);
    mono(c, &k->permit_from);
    u32(c, &k->permit_failures, INT32_MAX);
    u32(c, &k->waiting, INT32_MAX);
    u32(c, &k->cuts, k->config.max_open);
}

size_t dsql_trace_snapshot_max(uint32_t max_open)
{
    return SCALARS_MAX + (size_t)max_open * SLOT_MAX;
}

/* A writer changes nothing of what it is given: the codec's functions are for both directions. */
void dsql_trace_put_snapshot(struct dsql_codec *c, const struct dsql_keeper *keeper)
{
    assert(dsql_keeper_sleeps(keeper) && keeper->room == DSQL_SLOT_NONE &&
           keeper->offer == DSQL_SLOT_NONE && keeper->reports == 0);
    struct dsql_keeper k = *keeper;
    config(c, &k.config);
    u64(c, &k.rng.state);
    u64(c, &k.rng.gamma);
    mono(c, &k.now);
    scalars(c, &k);
    slots(c, &k.slots);
}

static bool is_sound(const struct dsql_keeper *k)
{
    uint32_t given_up = 0;
    for (uint32_t i = 0; i < k->slots.capacity; i++)
        given_up += k->slots.items[i].state == DSQL_SLOT_OPENING && k->slots.items[i].given_up;
    return k->cuts == given_up && dsql_slots_are_sound(&k->slots);
}

enum dsql_rc dsql_trace_take_snapshot(struct dsql_codec *c, struct dsql_keeper *keeper)
{
    struct dsql_keeper_config options = {0};
    struct dsql_rng rng = dsql_rng_seeded(0);
    struct dsql_mono now = {0};
    config(c, &options);
    u64(c, &rng.state);
    u64(c, &rng.gamma);
    mono(c, &now);
    /* A generator with an even increment repeats itself too soon, and may never draw what is asked
     * of it. */
    if (c->failed || now.ns == INT64_MAX || rng.gamma % 2 == 0)
        return DSQL_INVALID;
    if (dsql_keeper_init(keeper, &options, rng, now))
        return DSQL_NO_MEMORY;
    keeper->rng = rng; /* the start has drawn from it */
    scalars(c, keeper);
    slots(c, &keeper->slots);
    if (!c->failed && is_sound(keeper)) {
        dsql_slots_look_again(&keeper->slots);
        return DSQL_OK;
    }
    dsql_keeper_fini(keeper);
    return DSQL_INVALID;
}

/* -- Segments and chunks. */

void dsql_codec_opening(struct dsql_codec *c, struct dsql_trace_opening *opening)
{
    uint32_t format = DSQL_TRACE_FORMAT;
    if (c->from)
        *opening = (struct dsql_trace_opening){0};
    u32(c, &format, UINT32_MAX);
    if (format != DSQL_TRACE_FORMAT)
        c->failed = true;
    i64(c, &opening->wall.ns, INT64_MIN, INT64_MAX);
    mono(c, &opening->now);
    boolean(c, &opening->follows);
    size_t len = 0;
    do {
        opening->version[len] = (char)one_byte(c, (uint8_t)opening->version[len]);
    } while (!c->failed && opening->version[len] != '\0' && ++len < DSQL_TRACE_VERSION_MAX);
    for (size_t i = 0; i < len; i++)
        c->failed |= opening->version[i] < ' ' || opening->version[i] > '~';
    c->failed |= len == DSQL_TRACE_VERSION_MAX;
}

/* Room for snapshots and for turns in which every slot is opened or closed. */
size_t dsql_trace_segment_size(uint32_t max_open)
{
    size_t needed = 2 * (dsql_trace_snapshot_max(max_open) + (size_t)max_open * TURN_MAX);
    return needed > MIB ? needed : MIB;
}

/* FNV-1a. */
static uint64_t sum(uint64_t sum, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static void put_le(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t take_le(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static uint64_t sum_of(const uint8_t *header, const uint8_t *bytes, size_t len)
{
    return sum(sum(UINT64_C(0xcbf29ce484222325), header, 32), bytes, len);
}

void dsql_trace_put_chunk(uint8_t header[DSQL_TRACE_HEADER], const struct dsql_trace_chunk *chunk,
                          const uint8_t *bytes)
{
    memcpy(header, magic, sizeof(magic));
    put_le(header + 8, chunk->segment, 8);
    put_le(header + 16, chunk->index, 4);
    put_le(header + 20, chunk->len, 4);
    put_le(header + 24, chunk->segment_size, 8);
    put_le(header + 32, sum_of(header, bytes, chunk->len), 8);
}

bool dsql_trace_take_chunk(const uint8_t *bytes, size_t len, struct dsql_trace_chunk *chunk)
{
    if (len < DSQL_TRACE_HEADER || memcmp(bytes, magic, sizeof(magic)) != 0)
        return false;
    *chunk = (struct dsql_trace_chunk){
        .segment = take_le(bytes + 8, 8),
        .index = (uint32_t)take_le(bytes + 16, 4),
        .len = (uint32_t)take_le(bytes + 20, 4),
        .segment_size = take_le(bytes + 24, 8),
    };
    return chunk->len <= len - DSQL_TRACE_HEADER &&
           take_le(bytes + 32, 8) == sum_of(bytes, bytes + DSQL_TRACE_HEADER, chunk->len);
}
