/*
 * The codec against three laws:
 * 1. messages cut into chunks anywhere come out of the framer as they were, bounded in memory;
 * 2. what parses can be written back to the same bytes, damaged or not, and a message that lacks
 * its last bytes, or has one too many, is refused;
 * 3. a damaged stream is cut up or refused, and what is refused stays refused.
 * Bytes to be read are copied to memory of exactly their size, so that a sanitizer sees a read
 * behind.
 */
#include "pgwire/backend.h"
#include "pgwire/frame.h"
#include "pgwire/put_backend.h"
#include "pgwire/put_frontend.h"
#include "support/prop.h"
#include "support/test.h"

enum { MOST = 1 << 20, MESSAGES_MAX = 8, VALUES_MAX = 5 };

/* Freed and made anew by reset(), so that a property may return from anywhere. */
static struct dsql_strbuf stream, again, got;
static char *exact_memory;

static void reset(void)
{
    dsql_strbuf_fini(&stream);
    dsql_strbuf_fini(&again);
    dsql_strbuf_fini(&got);
    free(exact_memory);
    exact_memory = NULL;
    dsql_strbuf_init_heap(&stream, MOST);
    dsql_strbuf_init_heap(&again, MOST);
    dsql_strbuf_init_heap(&got, MOST);
}

static struct dsql_span exact(struct dsql_span s)
{
    free(exact_memory);
    exact_memory = malloc(s.len ? s.len : 1);
    assert_non_null(exact_memory);
    if (s.len > 0)
        memcpy(exact_memory, s.ptr, s.len);
    return (struct dsql_span){exact_memory, s.len};
}

/* -- Drawing messages. */

/* Some text without a NUL; mostly short. */
static struct dsql_span draw_text(struct prop *p)
{
    static char pool[VALUES_MAX * 2][3000];
    static size_t turn;
    size_t len = prop_below(p, 8) == 7 ? prop_below(p, sizeof(pool[0])) : prop_below(p, 6);
    char *text = pool[turn++ % DSQL_COUNT_OF(pool)];
    memset(text, (char)(1 + prop_below(p, 255)), len);
    return (struct dsql_span){text, len};
}

static struct dsql_pg_value draw_value(struct prop *p)
{
    bool is_null = prop_below(p, 4) == 3;
    return (struct dsql_pg_value){is_null, is_null ? DSQL_SPAN("") : draw_text(p)};
}

static size_t draw_values(struct prop *p, struct dsql_pg_value values[VALUES_MAX])
{
    size_t count = prop_below(p, VALUES_MAX + 1);
    for (size_t i = 0; i < count; i++)
        values[i] = draw_value(p);
    return count;
}

static enum dsql_pg_object draw_object(struct prop *p)
{
    return prop_below(p, 2) ? DSQL_PG_PORTAL : DSQL_PG_STATEMENT;
}

/* A list of format codes that fits `count` values. */
static void put_formats(struct prop *p, struct dsql_pg_msg *msg, size_t count)
{
    const size_t lengths[] = {0, 1, count};
    size_t len = lengths[prop_below(p, 3)];
    dsql_pg_msg_count(msg, len);
    for (size_t i = 0; i < len; i++)
        dsql_pg_msg_u16(msg, (uint16_t)prop_below(p, 2));
}

/* Bind and FunctionCall with everything they can have. */
static void put_call(struct prop *p, uint8_t type)
{
    struct dsql_pg_value values[VALUES_MAX];
    size_t count = draw_values(p, values);
    struct dsql_pg_msg msg = dsql_pg_msg_begin(&stream, type);
    if (type == DSQL_PG_FE_BIND) {
        dsql_pg_msg_text(&msg, draw_text(p));
        dsql_pg_msg_text(&msg, DSQL_SPAN("stmt"));
    } else {
        dsql_pg_msg_u32(&msg, (uint32_t)prop_any_u64(p));
    }
    put_formats(p, &msg, count);
    dsql_pg_msg_count(&msg, count);
    for (size_t i = 0; i < count; i++)
        dsql_pg_msg_value(&msg, values[i]);
    if (type == DSQL_PG_FE_BIND)
        put_formats(p, &msg, 3);
    else
        dsql_pg_msg_u16(&msg, (uint16_t)prop_below(p, 2));
    dsql_pg_msg_end(&msg);
}

static void put_client_message(struct prop *p)
{
    const struct dsql_pg_parse parse = {.name = DSQL_SPAN("s1"),
                                        .query = draw_text(p),
                                        .types = {2, DSQL_SPAN("\0\0\0\27\0\0\4\23")}};
    switch (prop_below(p, 13)) {
    case 0:
        return dsql_pg_put_sync(&stream);
    case 1:
        return dsql_pg_put_query(&stream, draw_text(p));
    case 2:
        return dsql_pg_put_parse(&stream, &parse);
    case 3:
        return put_call(p, DSQL_PG_FE_BIND);
    case 4:
        return dsql_pg_put_text(&stream, DSQL_PG_FE_PASSWORD, draw_text(p));
    case 5:
        return dsql_pg_put_describe(&stream, draw_object(p), draw_text(p));
    case 6:
        return dsql_pg_put_close(&stream, draw_object(p), draw_text(p));
    case 7:
        return dsql_pg_put_execute(&stream, draw_text(p), (int32_t)prop_any_u64(p));
    case 8:
        return dsql_pg_put_flush(&stream);
    case 9:
        return dsql_pg_put_empty(&stream, DSQL_PG_FE_TERMINATE);
    case 10:
        return put_call(p, DSQL_PG_FE_FUNCTION_CALL);
    case 11:
        return dsql_pg_put_text(&stream, DSQL_PG_FE_COPY_FAIL, draw_text(p));
    default:
        return dsql_pg_put_text(&stream, DSQL_PG_FE_COPY_DATA, draw_text(p));
    }
}

static void put_report(struct prop *p)
{
    struct dsql_pg_report report = {
        .severity = DSQL_SPAN("ERROR"),
        .severity_plain = DSQL_SPAN("ERROR"),
        .sqlstate = DSQL_SPAN("40001"),
        .message = draw_text(p),
        .detail = draw_text(p),
        .hint = draw_text(p),
    };
    size_t start = stream.len;
    dsql_pg_put_error(&stream, &report);
    if (prop_below(p, 2))
        stream.ptr[start] = (char)DSQL_PG_BE_NOTICE;
}

static void put_columns(struct prop *p)
{
    struct dsql_pg_column columns[VALUES_MAX];
    size_t count = prop_below(p, VALUES_MAX + 1);
    for (size_t i = 0; i < count; i++)
        columns[i] = (struct dsql_pg_column){
            .name = draw_text(p),
            .table = (uint32_t)prop_any_u64(p),
            .number = (int16_t)prop_any_u64(p),
            .type = (uint32_t)prop_any_u64(p),
            .type_len = (int16_t)prop_any_u64(p),
            .type_mod = (int32_t)prop_any_u64(p),
            .format = (int16_t)prop_below(p, 2),
        };
    dsql_pg_put_row_description(&stream, columns, count);
}

static void put_copy(struct prop *p)
{
    const uint8_t types[] = {DSQL_PG_BE_COPY_IN, DSQL_PG_BE_COPY_OUT, DSQL_PG_BE_COPY_BOTH};
    struct dsql_pg_msg msg = dsql_pg_msg_begin(&stream, types[prop_below(p, 3)]);
    dsql_pg_msg_u8(&msg, (uint8_t)prop_below(p, 2));
    put_formats(p, &msg, prop_below(p, VALUES_MAX));
    dsql_pg_msg_end(&msg);
}

static void put_nothing(struct prop *p)
{
    const uint8_t types[] = {
        DSQL_PG_BE_PARSE_COMPLETE, DSQL_PG_BE_BIND_COMPLETE, DSQL_PG_BE_CLOSE_COMPLETE,
        DSQL_PG_BE_EMPTY_QUERY,    DSQL_PG_BE_NO_DATA,       DSQL_PG_BE_PORTAL_SUSPENDED,
        DSQL_PG_BE_COPY_DONE,
    };
    dsql_pg_put_empty(&stream, types[prop_below(p, DSQL_COUNT_OF(types))]);
}

static void put_server_message(struct prop *p)
{
    const enum dsql_pg_tx statuses[] = {DSQL_PG_IDLE, DSQL_PG_IN_TX, DSQL_PG_FAILED_TX};
    struct dsql_pg_value values[VALUES_MAX];
    switch (prop_below(p, 11)) {
    case 0:
        return put_nothing(p);
    case 1:
        return dsql_pg_put_ready(&stream, statuses[prop_below(p, 3)]);
    case 2:
        return dsql_pg_put_auth_ok(&stream);
    case 3:
        return dsql_pg_put_auth_cleartext(&stream);
    case 4:
        return dsql_pg_put_parameter_status(&stream, draw_text(p), draw_text(p));
    case 5:
        return dsql_pg_put_key_data(&stream, (uint32_t)prop_any_u64(p), (uint32_t)prop_any_u64(p));
    case 6:
        return put_report(p);
    case 7:
        return dsql_pg_put_command_complete(&stream, draw_text(p));
    case 8:
        return put_columns(p);
    case 9:
        return put_copy(p);
    default:
        return dsql_pg_put_data_row(&stream, values, draw_values(p, values));
    }
}

static void put_message(struct prop *p, enum dsql_pg_side side)
{
    if (side == DSQL_PG_FRONTEND)
        put_client_message(p);
    else
        put_server_message(p);
}

/* -- Writing back what was parsed. */

static bool is_read(enum dsql_pg_side side, uint8_t type)
{
    return side == DSQL_PG_FRONTEND || strchr("SKZENCD", type) != NULL;
}

static void put_values_again(struct dsql_pg_msg *msg, struct dsql_pg_values values)
{
    dsql_pg_msg_u16(msg, values.count);
    for (struct dsql_pg_value value; dsql_pg_values_next(&values, &value);)
        dsql_pg_msg_value(msg, value);
}

static void put_client_again(const struct dsql_pg_fe *msg)
{
    struct dsql_pg_msg call;
    switch (msg->type) {
    case DSQL_PG_FE_QUERY:
        return dsql_pg_put_query(&again, msg->query);
    case DSQL_PG_FE_PASSWORD:
        return dsql_pg_put_text(&again, DSQL_PG_FE_PASSWORD, msg->password);
    case DSQL_PG_FE_COPY_FAIL:
        return dsql_pg_put_text(&again, DSQL_PG_FE_COPY_FAIL, msg->reason);
    case DSQL_PG_FE_PARSE:
        return dsql_pg_put_parse(&again, &msg->parse);
    case DSQL_PG_FE_BIND:
        return dsql_pg_put_bind(&again, &msg->bind);
    case DSQL_PG_FE_DESCRIBE:
        return dsql_pg_put_describe(&again, msg->target.object, msg->target.name);
    case DSQL_PG_FE_CLOSE:
        return dsql_pg_put_close(&again, msg->target.object, msg->target.name);
    case DSQL_PG_FE_EXECUTE:
        return dsql_pg_put_execute(&again, msg->execute.portal, msg->execute.max_rows);
    case DSQL_PG_FE_COPY_DATA:
        call = dsql_pg_msg_begin(&again, DSQL_PG_FE_COPY_DATA);
        dsql_pg_msg_bytes(&call, msg->data);
        return dsql_pg_msg_end(&call);
    case DSQL_PG_FE_FUNCTION_CALL:
        call = dsql_pg_msg_begin(&again, DSQL_PG_FE_FUNCTION_CALL);
        dsql_pg_msg_u32(&call, msg->call.function);
        dsql_pg_msg_list(&call, msg->call.formats.count, msg->call.formats.raw);
        put_values_again(&call, msg->call.arguments);
        dsql_pg_msg_u16(&call, (uint16_t)msg->call.result);
        return dsql_pg_msg_end(&call);
    case DSQL_PG_FE_SYNC:
    case DSQL_PG_FE_FLUSH:
    case DSQL_PG_FE_TERMINATE:
    case DSQL_PG_FE_COPY_DONE:
        return dsql_pg_put_empty(&again, (uint8_t)msg->type);
    }
    fail_msg("no such message");
}

static void put_server_again(const struct dsql_pg_be *msg)
{
    struct dsql_pg_msg out = dsql_pg_msg_begin(&again, (uint8_t)msg->type);
    switch ((int)msg->type) {
    case DSQL_PG_BE_PARAMETER_STATUS:
        dsql_pg_msg_text(&out, msg->setting.name);
        dsql_pg_msg_text(&out, msg->setting.value);
        break;
    case DSQL_PG_BE_KEY_DATA:
        dsql_pg_msg_u32(&out, msg->key.pid);
        dsql_pg_msg_bytes(&out, msg->key.key);
        break;
    case DSQL_PG_BE_READY:
        dsql_pg_msg_u8(&out, (uint8_t)msg->status);
        break;
    case DSQL_PG_BE_ERROR:
    case DSQL_PG_BE_NOTICE:
        dsql_pg_msg_bytes(&out, msg->report.raw);
        break;
    case DSQL_PG_BE_COMMAND_COMPLETE:
        dsql_pg_msg_text(&out, msg->tag);
        break;
    case DSQL_PG_BE_DATA_ROW:
        put_values_again(&out, msg->row);
        break;
    default:
        break;
    }
    dsql_pg_msg_end(&out);
}

/* Parses a body and, if that works, writes it back into `again`. */
static enum dsql_rc parse_again(enum dsql_pg_side side, uint8_t type, struct dsql_span body,
                                struct dsql_err *err)
{
    dsql_strbuf_clear(&again);
    if (side == DSQL_PG_FRONTEND) {
        struct dsql_pg_fe msg;
        enum dsql_rc rc = dsql_pg_fe_parse(type, body, &msg, err);
        if (rc == DSQL_OK)
            put_client_again(&msg);
        return rc;
    }
    struct dsql_pg_be msg;
    enum dsql_rc rc = dsql_pg_be_parse(type, body, &msg, err);
    if (rc == DSQL_OK)
        put_server_again(&msg);
    return rc;
}

/* -- The laws. */

static struct dsql_pg_limits draw_limits(struct prop *p, enum dsql_pg_side side)
{
    struct dsql_pg_limits limits;
    dsql_pg_limits_session(&limits, side, MOST);
    if (side == DSQL_PG_FRONTEND)
        dsql_pg_limits_set(&limits, DSQL_PG_FE_PASSWORD, MOST, MOST);
    for (uint64_t changes = prop_below(p, 4); changes > 0; changes--) {
        size_t count;
        const struct dsql_pg_type_info *types = dsql_pg_types(side, &count);
        uint8_t type = types[prop_below(p, count)].type;
        dsql_pg_limits_set(&limits, type, (uint32_t)prop_below(p, 40), MOST);
    }
    return limits;
}

static bool piece_is_right(struct prop *p, enum dsql_pg_side side, struct dsql_pg_piece piece,
                           struct dsql_pg_limit limit)
{
    size_t header = piece.first ? DSQL_PG_HEADER : 0;
    if (!prop_that(p, piece.body.len + header == piece.raw.len, "body is not raw without header"))
        return false;
    bool whole = piece.first && piece.last;
    if (!prop_that(p, whole || piece.length > limit.whole, "'%c' of %u bytes came in pieces",
                   piece.type, piece.length))
        return false;
    if (!whole || !is_read(side, piece.type))
        return true;
    enum dsql_rc rc = parse_again(side, piece.type, piece.body, NULL);
    return prop_that(p, rc == DSQL_OK, "'%c' does not parse", piece.type) &&
           prop_that(p, dsql_span_eq(dsql_strbuf_span(&again), piece.raw), "'%c' reads otherwise",
                     piece.type);
}

static bool memory_is_bounded(struct prop *p, const struct dsql_pg_framer *framer)
{
    bool between = dsql_pg_framer_is_between(framer);
    return prop_that(p, !between || !framer->held, "memory held between messages") &&
           prop_that(p, framer->held_cap <= 256 || framer->held_cap <= 2 * framer->done,
                     "%u bytes held for %u", framer->held_cap, framer->done);
}

/* Feeds one chunk until more is needed. */
static bool feed(struct prop *p, enum dsql_pg_side side, struct dsql_pg_framer *framer,
                 struct dsql_span in, unsigned *messages)
{
    for (;;) {
        struct dsql_pg_piece piece;
        struct dsql_err err;
        enum dsql_rc rc = dsql_pg_framer_next(framer, &in, &piece, &err);
        if (!prop_that(p, rc == DSQL_OK, "refused: %s", rc ? err.message : ""))
            return false;
        if (!piece.ready)
            return prop_that(p, in.len == 0, "input left") && memory_is_bounded(p, framer);
        dsql_strbuf_add(&got, piece.raw);
        *messages += piece.last;
        if (!piece_is_right(p, side, piece, framer->limits->of[piece.type]))
            return false;
    }
}

static size_t draw_chunk(struct prop *p, size_t left)
{
    size_t len = prop_below(p, 3) ? 1 + prop_below(p, 9) : 1 + prop_below(p, 5000);
    return len < left ? len : left;
}

static bool any_chunks_give_the_same(struct prop *p)
{
    reset();
    enum dsql_pg_side side = (enum dsql_pg_side)prop_below(p, 2);
    unsigned sent = 1 + (unsigned)prop_below(p, MESSAGES_MAX), messages = 0;
    for (unsigned i = 0; i < sent; i++)
        put_message(p, side);
    struct dsql_pg_limits limits = draw_limits(p, side);
    struct dsql_pg_framer framer;
    dsql_pg_framer_init(&framer, &limits);
    struct dsql_span rest = dsql_strbuf_span(&stream);
    bool holds = true;
    while (rest.len > 0 && holds) {
        size_t len = draw_chunk(p, rest.len);
        holds = feed(p, side, &framer, exact(dsql_span_first(rest, len)), &messages);
        rest = dsql_span_from(rest, len);
    }
    holds = holds && prop_that(p, messages == sent, "%u of %u messages", messages, sent) &&
            prop_that(p, dsql_span_eq(dsql_strbuf_span(&got), dsql_strbuf_span(&stream)),
                      "other bytes came out") &&
            prop_that(p, dsql_pg_framer_is_between(&framer), "not between messages at the end");
    dsql_pg_framer_fini(&framer);
    return holds;
}

/* Bodies that end where the message ends, not where their fields do. */
static bool is_open_ended(enum dsql_pg_side side, uint8_t type)
{
    return type == 'd' || (side == DSQL_PG_BACKEND && type == DSQL_PG_BE_KEY_DATA);
}

static bool refusal_is_told(struct prop *p, enum dsql_rc rc, const struct dsql_err *err)
{
    return prop_that(p, rc == DSQL_PROTOCOL || rc == DSQL_INVALID, "refused with %d", (int)rc) &&
           prop_that(p, err->message[0] && strlen(err->sqlstate) == 5, "refused without words");
}

/* One byte replaced: refused, or read as what it says now. */
static bool damage_is_seen_or_read(struct prop *p, enum dsql_pg_side side, struct dsql_span whole,
                                   size_t at, char byte)
{
    char *raw = exact_memory;
    char before = raw[at];
    raw[at] = byte;
    struct dsql_err err = {.message = ""};
    enum dsql_rc rc =
        parse_again(side, (uint8_t)whole.ptr[0], dsql_span_from(whole, DSQL_PG_HEADER), &err);
    bool holds = rc ? refusal_is_told(p, rc, &err)
                    : prop_that(p, dsql_span_eq(dsql_strbuf_span(&again), whole),
                                "'%c' with %d at %zu reads otherwise", raw[0], byte, at);
    raw[at] = before;
    return holds;
}

static bool every_damage_is_refused_or_read(struct prop *p)
{
    reset();
    enum dsql_pg_side side = (enum dsql_pg_side)prop_below(p, 2);
    put_message(p, side);
    struct dsql_span whole = exact(dsql_strbuf_span(&stream));
    if (!is_read(side, (uint8_t)whole.ptr[0]))
        return true;
    char drawn = (char)prop_below(p, 256);
    for (size_t at = DSQL_PG_HEADER; at < whole.len; at++) {
        const char bytes[] = {0, 1, (char)0x7f, (char)0xff, drawn, (char)(whole.ptr[at] + 1)};
        for (size_t i = 0; i < sizeof(bytes); i++)
            if (!damage_is_seen_or_read(p, side, whole, at, bytes[i]))
                return false;
    }
    return true;
}

static bool every_cut_is_refused(struct prop *p)
{
    reset();
    enum dsql_pg_side side = (enum dsql_pg_side)prop_below(p, 2);
    put_message(p, side);
    dsql_strbuf_add_char(&stream, (char)prop_below(p, 256)); /* one too many */
    struct dsql_span longer = dsql_span_from(dsql_strbuf_span(&stream), DSQL_PG_HEADER);
    uint8_t type = (uint8_t)stream.ptr[0];
    if (is_open_ended(side, type) || !is_read(side, type))
        return true;
    for (size_t len = 0; len <= longer.len; len++) {
        struct dsql_err err = {.message = ""};
        enum dsql_rc rc = parse_again(side, type, exact(dsql_span_first(longer, len)), &err);
        bool holds = len + 1 == longer.len ? prop_that(p, rc == DSQL_OK, "whole but refused")
                                           : refusal_is_told(p, rc, &err);
        if (!holds)
            return prop_that(p, false, "'%c' of %zu bytes cut to %zu: rc %d", type, longer.len - 1,
                             len, (int)rc);
    }
    return true;
}

/* A StartupMessage, cut and damaged: what parses can be walked, and is read to its end. */
static bool startup_is_refused_or_read(struct prop *p)
{
    reset();
    struct dsql_pg_param params[VALUES_MAX];
    size_t count = prop_below(p, VALUES_MAX + 1);
    for (size_t i = 0; i < count; i++)
        params[i] = (struct dsql_pg_param){DSQL_SPAN("name"), draw_text(p)};
    dsql_pg_put_startup(&stream, params, count);
    struct dsql_span body = dsql_span_from(dsql_strbuf_span(&stream), 4);
    struct dsql_pg_startup startup;
    for (size_t len = 0; len < body.len; len++)
        if (!prop_that(p, dsql_pg_startup_parse(exact(dsql_span_first(body, len)), &startup, NULL),
                       "cut to %zu of %zu and taken", len, body.len))
            return false;
    for (size_t at = 0; at < body.len; at++) {
        struct dsql_span damaged = exact(body);
        exact_memory[at] = (char)prop_below(p, 256);
        if (dsql_pg_startup_parse(damaged, &startup, NULL) ||
            startup.kind != DSQL_PG_STARTUP_MESSAGE)
            continue;
        size_t read = 4 + 1;
        for (struct dsql_pg_param param; dsql_pg_params_next(&startup.params, &param);)
            read += param.name.len + param.value.len + 2;
        if (!prop_that(p, read == body.len, "%zu of %zu bytes read", read, body.len))
            return false;
    }
    return true;
}

static bool a_damaged_stream_is_cut_up_or_refused(struct prop *p)
{
    reset();
    enum dsql_pg_side side = (enum dsql_pg_side)prop_below(p, 2);
    for (uint64_t i = 1 + prop_below(p, MESSAGES_MAX); i > 0; i--)
        put_message(p, side);
    for (uint64_t i = 1 + prop_below(p, 4); i > 0; i--)
        stream.ptr[prop_below(p, stream.len)] = (char)prop_below(p, 256);
    struct dsql_pg_limits limits = draw_limits(p, side);
    struct dsql_pg_framer framer;
    dsql_pg_framer_init(&framer, &limits);
    struct dsql_span rest = dsql_strbuf_span(&stream);
    enum dsql_rc rc = DSQL_OK;
    bool holds = true;
    while (rest.len > 0 && holds) {
        size_t len = draw_chunk(p, rest.len);
        struct dsql_span in = exact(dsql_span_first(rest, len));
        rest = dsql_span_from(rest, len);
        struct dsql_pg_piece piece = {.ready = true};
        while (piece.ready && holds) {
            enum dsql_rc before = rc;
            struct dsql_err err = {.message = ""};
            rc = dsql_pg_framer_next(&framer, &in, &piece, &err);
            dsql_strbuf_add(&got, piece.raw);
            holds = prop_that(p, !before || rc == DSQL_PROTOCOL, "a lost stream went on") &&
                    prop_that(p, !rc || (!piece.ready && err.message[0]), "refused without words");
            if (piece.first && piece.last)
                (void)parse_again(side, piece.type, piece.body, NULL);
        }
        holds = holds && (rc || memory_is_bounded(p, &framer));
    }
    struct dsql_span out = dsql_strbuf_span(&got), all = dsql_strbuf_span(&stream);
    holds = holds && prop_that(p, dsql_span_starts(all, out), "other bytes came out");
    dsql_pg_framer_fini(&framer);
    return holds;
}

TEST(messages_survive_any_chunks)
{
    prop_run("any chunks give the same messages", any_chunks_give_the_same, 3000);
}

TEST(damage_is_refused_or_read)
{
    prop_run("every damaged byte is refused or read", every_damage_is_refused_or_read, 300);
}

TEST(cuts_are_refused)
{
    prop_run("every cut is refused", every_cut_is_refused, 300);
}

TEST(startup_packets_are_refused_or_read)
{
    prop_run("a damaged startup packet is refused or read", startup_is_refused_or_read, 100);
}

TEST(damaged_streams_are_cut_up_or_refused)
{
    prop_run("a damaged stream is cut up or refused", a_damaged_stream_is_cut_up_or_refused, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_survive_any_chunks),
        cmocka_unit_test(damage_is_refused_or_read),
        cmocka_unit_test(cuts_are_refused),
        cmocka_unit_test(startup_packets_are_refused_or_read),
        cmocka_unit_test(damaged_streams_are_cut_up_or_refused),
    };
    reset();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    reset();
    return failed;
}
