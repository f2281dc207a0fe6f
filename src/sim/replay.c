#include "sim/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/duration.h"

enum { SEGMENT_MIN = 4096, SEGMENT_MAX = 1 << 30 };

struct reader {
    const uint8_t *bytes;
    size_t len, segment_size;
    dsql_sim_replay_fn *watch;
    void *arg;
    struct dsql_sim_replay *replay;
    struct dsql_err *err;
    struct dsql_keeper keeper;
    bool has_keeper, gap;
    uint64_t segment; /* the last one */
    struct dsql_mono now;
    const struct dsql_sim_replay_moment *wanted; /* the moment whose keeper is wanted; NULL: none */
    bool found;
};

/* Whether there is nothing more to be replayed. */
static bool is_over(struct reader *r)
{
    r->found = r->found || (r->wanted && r->replay->segments == r->wanted->segment &&
                            r->replay->records == r->wanted->records);
    return r->found || r->replay->differs;
}

static enum dsql_rc damaged(const struct reader *r, size_t at, const char *what)
{
    (void)dsql_err_set(r->err, DSQL_INVALID, "damaged at byte %zu, in record %llu: %s", at,
                       (unsigned long long)r->replay->records + 1, what);
    dsql_err_hint(r->err, "the %llu decisions before it are as they were recorded",
                  (unsigned long long)r->replay->decisions);
    return DSQL_INVALID;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* -- Words. */

static void add_since(struct dsql_strbuf *sb, const struct dsql_sim_replay_event *e,
                      struct dsql_mono time)
{
    dsql_strbuf_addf(sb, "+%s", dsql_duration_shown(dsql_mono_since(time, e->base)).text);
}

static void describe_step(struct dsql_strbuf *sb, const struct dsql_keeper_step *s)
{
    dsql_strbuf_add_str(sb, dsql_keeper_do_name(s->what));
    if (s->slot != DSQL_SLOT_NONE && s->what != DSQL_KEEPER_SLEEP)
        dsql_strbuf_addf(sb, " slot %u", s->slot);
    if (s->what == DSQL_KEEPER_SLOTS)
        dsql_strbuf_addf(sb, ": %lld needed", (long long)s->count);
    if (s->what == DSQL_KEEPER_SLEEP)
        dsql_strbuf_addf(sb, " %s", dsql_duration_shown(s->ns).text);
    if (s->what == DSQL_KEEPER_CLOSE)
        dsql_strbuf_addf(sb, ": %s", dsql_discard_name(s->discard));
    if (s->why != DSQL_WHY_NONE)
        dsql_strbuf_addf(sb, ": %s", dsql_keeper_why_text(s->why));
    if (s->what == DSQL_KEEPER_OPEN)
        dsql_strbuf_addf(sb, "; within %s", dsql_duration_shown(s->ns).text);
    if (s->what == DSQL_KEEPER_SLEEP && s->count > 0)
        dsql_strbuf_addf(sb, "; %lld returns are to be closed", (long long)s->count);
}

static void describe_verdict(struct dsql_strbuf *sb, const struct dsql_keeper_verdict *v)
{
    dsql_strbuf_addf(sb, "; next attempt in %s", dsql_duration_shown(v->retry_ns).text);
    const struct {
        bool is;
        const char *text;
    } parts[] = {
        {v->throttled, "; the budget slows down"},
        {v->full, "; the cap is read again"},
        {v->renew_token && !v->forget_token, "; with a new token"},
        {v->forget_token, "; this token is thrown away"},
        {v->address_fails, "; at another address"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(parts); i++)
        dsql_strbuf_add_str(sb, parts[i].is ? parts[i].text : "");
}

static void describe_call(struct dsql_strbuf *sb, const struct dsql_keeper_call *c)
{
    unsigned uses = dsql_keeper_call_uses(c->kind);
    dsql_strbuf_add_str(sb, dsql_keeper_call_name(c->kind));
    if (uses & DSQL_KEEPER_CALL_USES_SLOT && c->slot == DSQL_SLOT_NONE)
        dsql_strbuf_add_str(sb, " none");
    else if (uses & DSQL_KEEPER_CALL_USES_SLOT)
        dsql_strbuf_addf(sb, " slot %u", c->slot);
    if (uses & DSQL_KEEPER_CALL_USES_YES)
        dsql_strbuf_add_str(sb, c->yes ? ": yes" : ": not yet");
    if (c->kind == DSQL_KEEPER_CALL_PERMIT && !c->yes)
        dsql_strbuf_addf(sb, ", maybe in %s", dsql_duration_shown(c->count).text);
    if (c->kind == DSQL_KEEPER_CALL_TURN)
        dsql_strbuf_addf(sb, ": %lld callers wait", (long long)c->count);
    if (c->kind == DSQL_KEEPER_CALL_SLOTS) {
        dsql_strbuf_addf(sb, ": %lld granted, ", (long long)c->count);
        dsql_strbuf_add_f64(sb, c->rate);
        dsql_strbuf_add_str(sb, " connects a second");
    }
    if (uses & DSQL_KEEPER_CALL_USES_CLASS)
        dsql_strbuf_addf(sb, ": %s", dsql_connect_class_name(c->cls));
    if (uses & DSQL_KEEPER_CALL_USES_DISCARD)
        dsql_strbuf_addf(sb, ": %s", dsql_discard_name(c->discard));
}

static void describe(struct dsql_strbuf *sb, const struct dsql_sim_replay_event *e,
                     const struct dsql_keeper_reply *reply)
{
    if (e->call->kind != DSQL_KEEPER_CALL_NEXT)
        describe_call(sb, e->call);
    switch (dsql_keeper_call_replied(e->call->kind)) {
    case DSQL_KEEPER_REPLY_NOTHING:
        break;
    case DSQL_KEEPER_REPLY_STEP:
        describe_step(sb, &reply->step);
        break;
    case DSQL_KEEPER_REPLY_VERDICT:
        describe_verdict(sb, &reply->verdict);
        break;
    case DSQL_KEEPER_REPLY_LIFE:
        dsql_strbuf_add_str(sb, "; usable until ");
        add_since(sb, e, reply->life.usable_until);
        dsql_strbuf_add_str(sb, ", replaced from ");
        add_since(sb, e, reply->life.replace_at);
    }
}

void dsql_sim_replay_describe(struct dsql_strbuf *sb, const struct dsql_sim_replay_event *event)
{
    describe(sb, event, event->reply);
}

/* -- A record. */

static void set_difference(struct reader *r, const struct dsql_sim_replay_event *e,
                           const struct dsql_keeper_reply *recorded)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, r->replay->difference, sizeof(r->replay->difference));
    dsql_strbuf_addf(&sb, "record %llu at ", (unsigned long long)e->number);
    dsql_strbuf_addf(&sb, "+%s: recorded '", dsql_duration_shown(e->at.ns).text);
    describe(&sb, e, recorded);
    dsql_strbuf_add_str(&sb, "', this program decides '");
    describe(&sb, e, e->reply);
    dsql_strbuf_add_str(&sb, "'");
    r->replay->differs = true;
}

static enum dsql_rc replay_record(struct reader *r, struct dsql_codec *codec)
{
    struct dsql_keeper_call call;
    struct dsql_keeper_reply recorded, reply;
    uint8_t bytes[DSQL_TRACE_RECORD_MAX];
    size_t at = (size_t)(codec->from - r->bytes);
    dsql_codec_call(codec, &call);
    const uint8_t *said = codec->from;
    if (!codec->failed)
        dsql_codec_reply(codec, call.kind, &recorded);
    if (codec->failed)
        return damaged(r, at, "this is no record");
    if (!dsql_keeper_call_is_possible(&r->keeper, &call))
        return damaged(r, at, "no pool does this at this point");
    dsql_keeper_call(&r->keeper, &call, &reply);
    if (dsql_keeper_call_uses(call.kind) & DSQL_KEEPER_CALL_USES_NOW)
        r->now = call.now;
    struct dsql_codec writer = dsql_codec_writer(bytes, sizeof(bytes));
    dsql_codec_reply(&writer, call.kind, &reply);
    r->replay->records++;
    r->replay->turns += call.kind == DSQL_KEEPER_CALL_TURN;
    r->replay->last = r->now;
    const struct dsql_sim_replay_event event = {
        .number = r->replay->records,
        .segment = r->replay->segments,
        .at = {dsql_mono_since(r->now, r->replay->base)},
        .base = r->replay->base,
        .call = &call,
        .reply = &reply,
        .keeper = &r->keeper,
        .gap = r->gap,
    };
    r->gap = false;
    size_t len = sizeof(bytes) - dsql_codec_left(&writer);
    if (len != (size_t)(codec->from - said) || memcmp(bytes, said, len) != 0) {
        set_difference(r, &event, &recorded);
        return DSQL_OK;
    }
    r->replay->decisions += dsql_keeper_call_replied(call.kind) != DSQL_KEEPER_REPLY_NOTHING;
    if (r->watch)
        r->watch(r->arg, &event);
    return DSQL_OK;
}

/* -- A segment. */

/* Whether the keeper has become what the snapshot says. */
static enum dsql_rc compare_state(struct reader *r, const uint8_t *snapshot, size_t len)
{
    size_t room = dsql_trace_snapshot_max(r->keeper.config.max_open);
    uint8_t *bytes = malloc(room);
    if (!bytes)
        return dsql_err_set(r->err, DSQL_NO_MEMORY, "no memory to replay");
    struct dsql_codec codec = dsql_codec_writer(bytes, room);
    dsql_trace_put_snapshot(&codec, &r->keeper);
    bool same =
        !codec.failed && room - dsql_codec_left(&codec) == len && memcmp(bytes, snapshot, len) == 0;
    free(bytes);
    if (same)
        return DSQL_OK;
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, r->replay->difference, sizeof(r->replay->difference));
    dsql_strbuf_addf(
        &sb,
        "after record %llu: what the keeper knows is not what the recording's snapshot "
        "says at this point",
        (unsigned long long)r->replay->records);
    r->replay->differs = true;
    return DSQL_OK;
}

static enum dsql_rc open_segment(struct reader *r, uint64_t segment, struct dsql_codec *codec)
{
    struct dsql_trace_opening opening = {0};
    size_t at = (size_t)(codec->from - r->bytes);
    dsql_codec_opening(codec, &opening);
    if (codec->failed)
        return damaged(r, at, "a segment of another format than this program's");
    struct dsql_keeper next;
    const uint8_t *snapshot = codec->from;
    enum dsql_rc rc = dsql_trace_take_snapshot(codec, &next);
    if (rc == DSQL_NO_MEMORY)
        return dsql_err_set(r->err, rc, "no memory to replay");
    if (rc)
        return damaged(r, at, "a snapshot that no pool has");
    bool follows = r->has_keeper && opening.follows && segment == r->segment + 1;
    if (follows && dsql_keeper_sleeps(&r->keeper))
        rc = compare_state(r, snapshot, (size_t)(codec->from - snapshot));
    else if (follows)
        rc = damaged(r, at, "a segment begins in a turn");
    r->gap = r->has_keeper && !follows;
    if (r->has_keeper)
        dsql_keeper_fini(&r->keeper);
    else {
        r->replay->began = opening.wall;
        r->replay->base = next.now;
    }
    r->keeper = next;
    r->has_keeper = true;
    r->now = next.now;
    r->segment = segment;
    r->replay->gaps += r->gap;
    r->replay->segments++;
    r->replay->config = next.config;
    memcpy(r->replay->version, opening.version, sizeof(opening.version));
    return rc;
}

static enum dsql_rc replay_end(struct reader *r, const struct dsql_codec *codec)
{
    if (!dsql_keeper_sleeps(&r->keeper))
        return damaged(r, (size_t)(codec->from - r->bytes), "the end comes in a turn");
    r->replay->closed = true;
    return compare_state(r, codec->from, dsql_codec_left(codec));
}

static enum dsql_rc replay_chunk(struct reader *r, const struct dsql_trace_chunk *chunk,
                                 const uint8_t *bytes)
{
    struct dsql_codec codec = dsql_codec_reader(bytes, chunk->len);
    enum dsql_rc rc = DSQL_OK;
    if (chunk->index == 0)
        rc = open_segment(r, chunk->segment, &codec);
    while (!rc && !is_over(r) && dsql_codec_left(&codec) > 0) {
        if (dsql_codec_take_end(&codec))
            return replay_end(r, &codec);
        rc = replay_record(r, &codec);
    }
    return rc;
}

static enum dsql_rc replay_segment(struct reader *r, size_t at)
{
    size_t end = r->len - at < r->segment_size ? r->len : at + r->segment_size;
    uint64_t segment = 0;
    enum dsql_rc rc = DSQL_OK;
    for (uint32_t index = 0; !rc && !is_over(r); index++) {
        struct dsql_trace_chunk chunk;
        size_t head = end - at < DSQL_TRACE_HEADER ? end - at : DSQL_TRACE_HEADER;
        if (index > 0 && is_zero(r->bytes + at, head))
            break;
        if (!dsql_trace_take_chunk(r->bytes + at, end - at, &chunk))
            return damaged(r, at, "a part that is cut off or changed");
        if (index == 0)
            segment = chunk.segment;
        if (chunk.index != index || chunk.segment != segment)
            return damaged(r, at, "parts in another order than they were written");
        rc = replay_chunk(r, &chunk, r->bytes + at + DSQL_TRACE_HEADER);
        at += DSQL_TRACE_HEADER + chunk.len;
    }
    return rc;
}

/* -- The ring. */

/* Where the oldest segment is; they follow each other round the ring. */
static enum dsql_rc find_oldest(const struct reader *r, size_t *oldest, size_t *count)
{
    uint64_t least = UINT64_MAX;
    *count = 0;
    for (size_t i = 0; i < DSQL_TRACE_SEGMENTS && i * r->segment_size < r->len; i++) {
        struct dsql_trace_chunk chunk;
        size_t at = i * r->segment_size;
        if (!dsql_trace_take_chunk(r->bytes + at, r->len - at, &chunk) || chunk.index != 0 ||
            chunk.segment_size != r->segment_size || chunk.segment % DSQL_TRACE_SEGMENTS != i)
            return damaged(r, at, "the beginning of a segment is cut off or changed");
        if (chunk.segment < least) {
            least = chunk.segment;
            *oldest = i;
        }
        ++*count;
    }
    return DSQL_OK;
}

static enum dsql_rc replay_file(struct reader *r)
{
    struct dsql_trace_chunk first;
    if (!dsql_trace_take_chunk(r->bytes, r->len, &first) || first.segment_size < SEGMENT_MIN ||
        first.segment_size > SEGMENT_MAX)
        return dsql_err_set(r->err, DSQL_INVALID, "%s",
                            r->len == 0 ? "nothing is recorded here"
                                        : "no recording of a pool, or cut off at its beginning");
    size_t oldest = 0, count = 0;
    r->segment_size = (size_t)first.segment_size;
    enum dsql_rc rc = find_oldest(r, &oldest, &count);
    for (size_t i = 0; !rc && i < count && !is_over(r); i++)
        rc = replay_segment(r, (oldest + i) % count * r->segment_size);
    return rc;
}

enum dsql_rc dsql_sim_replay(struct dsql_span file, dsql_sim_replay_fn *watch, void *arg,
                             struct dsql_sim_replay *replay, struct dsql_err *err)
{
    *replay = (struct dsql_sim_replay){0};
    struct reader r = {
        .bytes = (const uint8_t *)file.ptr,
        .len = file.len,
        .watch = watch,
        .arg = arg,
        .replay = replay,
        .err = err,
    };
    enum dsql_rc rc = replay_file(&r);
    if (r.has_keeper)
        dsql_keeper_fini(&r.keeper);
    return rc;
}

enum dsql_rc dsql_sim_replay_keeper(struct dsql_span file, struct dsql_sim_replay_moment moment,
                                    struct dsql_keeper *keeper, struct dsql_err *err)
{
    struct dsql_sim_replay replay = {0};
    struct reader r = {
        .bytes = (const uint8_t *)file.ptr,
        .len = file.len,
        .replay = &replay,
        .err = err,
        .wanted = &moment,
    };
    enum dsql_rc rc = replay_file(&r);
    if (!rc && (!r.found || !dsql_keeper_sleeps(&r.keeper)))
        rc = dsql_err_set(err, DSQL_INVALID, "the recording has no such moment");
    if (!rc)
        *keeper = r.keeper;
    else if (r.has_keeper)
        dsql_keeper_fini(&r.keeper);
    return rc;
}
