#include "pgwire/frame.h"

#include <stdlib.h>

#include "pgwire/cursor.h"

enum { STARTUP, MESSAGES, BROKEN };

enum { HELD_FIRST = 256 };

static_assert(sizeof(struct dsql_pg_framer) <= 48, "ten thousand idle connections have two each");

void dsql_pg_limits_set(struct dsql_pg_limits *limits, uint8_t type, uint32_t whole, uint32_t most)
{
    assert(whole <= most && most <= INT32_MAX);
    limits->of[type] = (struct dsql_pg_limit){.whole = whole, .most = most};
}

void dsql_pg_limits_session(struct dsql_pg_limits *limits, enum dsql_pg_side side, uint32_t most)
{
    *limits = (struct dsql_pg_limits){0};
    uint32_t small = side == DSQL_PG_FRONTEND ? DSQL_PG_FE_SMALL_MOST : DSQL_PG_BE_SMALL_MOST;
    size_t count;
    const struct dsql_pg_type_info *types = dsql_pg_types(side, &count);
    for (size_t i = 0; i < count; i++) {
        switch (types[i].size) {
        case DSQL_PG_SMALL:
            dsql_pg_limits_set(limits, types[i].type, small, small);
            break;
        case DSQL_PG_LARGE:
            dsql_pg_limits_set(limits, types[i].type, most, most);
            break;
        case DSQL_PG_STREAM:
            dsql_pg_limits_set(limits, types[i].type, 0, most);
            break;
        case DSQL_PG_LOGIN:
            break;
        }
    }
}

void dsql_pg_limits_login(struct dsql_pg_limits *limits)
{
    *limits = (struct dsql_pg_limits){0};
    dsql_pg_limits_set(limits, DSQL_PG_FE_PASSWORD, DSQL_PG_LOGIN_MOST, DSQL_PG_LOGIN_MOST);
}

void dsql_pg_framer_init_startup(struct dsql_pg_framer *framer)
{
    *framer = (struct dsql_pg_framer){.state = STARTUP};
}

void dsql_pg_framer_init(struct dsql_pg_framer *framer, const struct dsql_pg_limits *limits)
{
    *framer = (struct dsql_pg_framer){.state = MESSAGES, .limits = limits};
}

/* Wiped, because it may have been a password. */
static void release(struct dsql_pg_framer *framer)
{
    if (framer->held) {
        explicit_bzero(framer->held, framer->held_cap);
        free(framer->held);
    }
    framer->held = NULL;
    framer->held_cap = 0;
}

void dsql_pg_framer_fini(struct dsql_pg_framer *framer)
{
    release(framer);
    explicit_bzero(framer->head, sizeof(framer->head));
    framer->state = BROKEN;
}

/* Forgets the message under way, which is complete and was handed out. */
static void finish_message(struct dsql_pg_framer *framer)
{
    release(framer);
    framer->total = framer->done = 0;
    framer->head_len = 0;
}

void dsql_pg_framer_expect(struct dsql_pg_framer *framer, const struct dsql_pg_limits *limits)
{
    assert(framer->total == framer->done);
    if (framer->state != BROKEN)
        framer->state = MESSAGES;
    framer->limits = limits;
}

bool dsql_pg_framer_is_between(const struct dsql_pg_framer *framer)
{
    return framer->total == framer->done && (framer->total > 0 || framer->head_len == 0);
}

static enum dsql_rc broken(struct dsql_pg_framer *framer, enum dsql_rc rc, struct dsql_err *err)
{
    release(framer);
    framer->state = BROKEN;
    return dsql_pg_refuse(
        err, rc, rc == DSQL_NO_MEMORY ? DSQL_PG_OUT_OF_MEMORY : DSQL_PG_PROTOCOL_VIOLATION);
}

void dsql_pg_framer_unread(struct dsql_pg_framer *framer, struct dsql_strbuf *out)
{
    if (dsql_pg_framer_is_between(framer) || framer->state == BROKEN)
        return;
    if (framer->total == 0)
        dsql_strbuf_add(out, (struct dsql_span){(const char *)framer->head, framer->head_len});
    assert(framer->held || framer->total == 0);
    if (framer->held)
        dsql_strbuf_add(out, (struct dsql_span){framer->held, framer->done});
    finish_message(framer);
}

static size_t header_size(const struct dsql_pg_framer *framer)
{
    return framer->state == STARTUP ? DSQL_PG_HEADER - 1 : DSQL_PG_HEADER;
}

static enum dsql_rc check_startup(uint32_t length, struct dsql_err *err)
{
    if (length > DSQL_PG_STARTUP_MOST && length <= INT32_MAX)
        return dsql_err_set(err, DSQL_LIMIT,
                            "invalid length of startup packet: %u bytes, at most %d are taken",
                            length, DSQL_PG_STARTUP_MOST);
    if (length < DSQL_PG_STARTUP_LEAST || length > INT32_MAX)
        return dsql_err_set(err, DSQL_PROTOCOL, "invalid length of startup packet: %d bytes",
                            (int)length);
    return DSQL_OK;
}

static enum dsql_rc check_message(uint8_t type, struct dsql_pg_limit limit, uint32_t length,
                                  struct dsql_err *err)
{
    if (limit.most == 0)
        return dsql_err_set(err, DSQL_PROTOCOL, "invalid message type %d", type);
    if (length < DSQL_PG_LENGTH_MIN || length > INT32_MAX)
        return dsql_err_set(err, DSQL_PROTOCOL, "invalid message length: %d bytes for type '%c'",
                            (int)length, type);
    if (length > limit.most)
        return dsql_err_set(err, DSQL_LIMIT,
                            "invalid message length: %u bytes for type '%c', at most %u are taken",
                            length, type, limit.most);
    return DSQL_OK;
}

/* Learns type and length from a complete header. */
static enum dsql_rc begin_message(struct dsql_pg_framer *framer, struct dsql_span header,
                                  struct dsql_err *err)
{
    struct dsql_pg_cursor at = dsql_pg_cursor_over(header);
    bool typed = framer->state == MESSAGES;
    uint8_t type = typed ? dsql_pg_take_u8(&at) : 0;
    uint32_t length = dsql_pg_take_u32(&at);
    enum dsql_rc rc = typed ? check_message(type, framer->limits->of[type], length, err)
                            : check_startup(length, err);
    if (rc)
        return broken(framer, rc, err);
    framer->type = type;
    framer->total = length + (typed ? 1 : 0);
    framer->done = 0;
    return DSQL_OK;
}

static bool comes_whole(const struct dsql_pg_framer *framer)
{
    return framer->state == STARTUP || framer->total - 1 <= framer->limits->of[framer->type].whole;
}

static struct dsql_span cut_front(struct dsql_span *in, size_t len)
{
    struct dsql_span front = dsql_span_first(*in, len);
    *in = dsql_span_from(*in, len);
    return front;
}

/* Hands out raw, the next bytes of the message after the `before` ones that went ahead of it. */
static void give(const struct dsql_pg_framer *framer, uint32_t before, struct dsql_span raw,
                 struct dsql_pg_piece *piece)
{
    size_t header = before == 0 ? header_size(framer) : 0;
    *piece = (struct dsql_pg_piece){
        .ready = true,
        .first = before == 0,
        .last = before + raw.len == framer->total,
        .type = framer->type,
        .length = framer->total - (framer->state == STARTUP ? 0 : 1),
        .raw = raw,
        .body = dsql_span_from(raw, header),
    };
}

/* Makes room for `more` bytes. Grown by copying rather than by realloc(), which leaves the old
 * bytes behind unwiped. */
static bool make_room(struct dsql_pg_framer *framer, size_t more)
{
    size_t need = framer->done + more, cap = framer->held_cap;
    assert(need > 0 && need <= framer->total);
    if (framer->held && need <= cap)
        return true;
    cap = 2 * cap > HELD_FIRST ? 2 * cap : HELD_FIRST;
    cap = cap > need ? cap : need;
    cap = cap < framer->total ? cap : framer->total;
    char *grown = malloc(cap);
    if (!grown)
        return false;
    if (framer->held)
        memcpy(grown, framer->held, framer->done);
    release(framer);
    framer->held = grown;
    framer->held_cap = (uint32_t)cap;
    return true;
}

static enum dsql_rc hold(struct dsql_pg_framer *framer, struct dsql_span part, struct dsql_err *err)
{
    if (!make_room(framer, part.len)) {
        enum dsql_rc rc = dsql_err_set(err, DSQL_NO_MEMORY,
                                       "out of memory for a message of %u bytes", framer->total);
        return broken(framer, rc, err);
    }
    memcpy(framer->held + framer->done, part.ptr, part.len);
    framer->done += (uint32_t)part.len;
    return DSQL_OK;
}

/* Goes on with a message whose header is known: holds or hands out what *in has of it. */
static enum dsql_rc proceed(struct dsql_pg_framer *framer, struct dsql_span *in,
                            struct dsql_pg_piece *piece, struct dsql_err *err)
{
    uint32_t before = framer->done;
    size_t left = framer->total - before;
    size_t take = in->len < left ? in->len : left;
    if (take == 0)
        return DSQL_OK;
    bool all_here = before == 0 && take == left;
    if (all_here || !comes_whole(framer)) {
        framer->done += (uint32_t)take;
        give(framer, before, cut_front(in, take), piece);
        return DSQL_OK;
    }
    enum dsql_rc rc = hold(framer, cut_front(in, take), err);
    if (rc == DSQL_OK && framer->done == framer->total)
        give(framer, 0, (struct dsql_span){framer->held, framer->total}, piece);
    return rc;
}

/* Completes a header that is cut by the end of the input, now or at an earlier call. */
static enum dsql_rc gather_header(struct dsql_pg_framer *framer, struct dsql_span *in,
                                  struct dsql_pg_piece *piece, struct dsql_err *err)
{
    size_t size = header_size(framer), missing = size - framer->head_len;
    size_t take = in->len < missing ? in->len : missing;
    struct dsql_span part = cut_front(in, take);
    memcpy(framer->head + framer->head_len, part.ptr, take);
    framer->head_len = (uint8_t)(framer->head_len + take);
    if (framer->head_len < size)
        return DSQL_OK;
    struct dsql_span header = {(const char *)framer->head, size};
    enum dsql_rc rc = begin_message(framer, header, err);
    if (rc)
        return rc;
    /* The header stands alone: give it away if that is all or if pieces are allowed. */
    rc = proceed(framer, &header, piece, err);
    if (rc || piece->ready)
        return rc;
    return proceed(framer, in, piece, err);
}

enum dsql_rc dsql_pg_framer_next(struct dsql_pg_framer *framer, struct dsql_span *in,
                                 struct dsql_pg_piece *piece, struct dsql_err *err)
{
    *piece = (struct dsql_pg_piece){.raw = DSQL_SPAN(""), .body = DSQL_SPAN("")};
    if (framer->state == BROKEN) {
        (void)dsql_err_set(err, DSQL_PROTOCOL, "the stream was lost at an earlier message");
        return dsql_pg_refuse(err, DSQL_PROTOCOL, DSQL_PG_PROTOCOL_VIOLATION);
    }
    if (framer->total > 0 && framer->done == framer->total)
        finish_message(framer);
    if (framer->total > 0)
        return proceed(framer, in, piece, err);
    if (in->len == 0)
        return DSQL_OK;
    size_t size = header_size(framer);
    if (framer->head_len > 0 || in->len < size)
        return gather_header(framer, in, piece, err);
    enum dsql_rc rc = begin_message(framer, dsql_span_first(*in, size), err);
    return rc ? rc : proceed(framer, in, piece, err);
}
