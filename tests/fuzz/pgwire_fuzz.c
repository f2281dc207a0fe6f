/*
 * The framer and every parser. The first byte of an input chooses: bit 0 the side, bits 1 and 2
 * what follows (messages; startup packets; the type and body of one message), the rest the chunk
 * length.
 */
#include <stdlib.h>

#include "pgwire/backend.h"
#include "pgwire/frame.h"
#include "pgwire/frontend.h"
#include "pgwire/startup.h"
#include "support/fuzz.h"

enum { MOST = 1 << 16, WHOLE = 1 << 12 };

enum what { MESSAGES, STARTUP, BODY };

/* Reads all bytes of a span, so that a sanitizer sees one that points elsewhere. */
static void touch(struct dsql_span s)
{
    for (size_t i = 0; i < s.len; i++)
        (void)*(const volatile char *)(s.ptr + i);
}

static void touch_values(struct dsql_pg_values values)
{
    for (struct dsql_pg_value value; dsql_pg_values_next(&values, &value);)
        touch(value.bytes);
}

static void touch_formats(struct dsql_pg_formats formats)
{
    assert(formats.raw.len == (size_t)2 * formats.count);
    touch(formats.raw);
}

static void touch_oids(struct dsql_pg_oids oids)
{
    assert(oids.raw.len == (size_t)4 * oids.count);
    touch(oids.raw);
}

static void expect_refusal(const struct dsql_err *err, enum dsql_rc rc)
{
    assert(err->rc == rc && err->message[0] && strlen(err->sqlstate) == 5);
}

static void parse_client(uint8_t type, struct dsql_span body)
{
    struct dsql_pg_fe msg;
    struct dsql_err err;
    enum dsql_rc rc = dsql_pg_fe_parse(type, body, &msg, &err);
    if (rc) {
        expect_refusal(&err, rc);
    } else if (msg.type == DSQL_PG_FE_BIND) {
        touch(msg.bind.portal);
        touch(msg.bind.statement);
        touch_formats(msg.bind.formats);
        touch_values(msg.bind.values);
        touch_formats(msg.bind.results);
    } else if (msg.type == DSQL_PG_FE_PARSE) {
        touch(msg.parse.name);
        touch(msg.parse.query);
        touch_oids(msg.parse.types);
    } else if (msg.type == DSQL_PG_FE_FUNCTION_CALL) {
        touch_formats(msg.call.formats);
        touch_values(msg.call.arguments);
    } else if (msg.type == DSQL_PG_FE_QUERY) {
        touch(msg.query);
    } else if (msg.type == DSQL_PG_FE_DESCRIBE || msg.type == DSQL_PG_FE_CLOSE) {
        touch(msg.target.name);
    }
}

static void touch_report(const struct dsql_pg_report *report)
{
    struct dsql_span value;
    touch(report->raw);
    touch(report->message);
    touch(report->hint);
    bool found = dsql_pg_report_get(report, 'M', &value);
    assert(found ? dsql_span_eq(value, report->message) : report->message.len == 0);
}

static void parse_server(uint8_t type, struct dsql_span body)
{
    struct dsql_pg_be msg;
    struct dsql_err err;
    enum dsql_rc rc = dsql_pg_be_parse(type, body, &msg, &err);
    if (rc) {
        expect_refusal(&err, rc);
    } else if (msg.type == DSQL_PG_BE_DATA_ROW) {
        touch_values(msg.row);
    } else if (msg.type == DSQL_PG_BE_ERROR || msg.type == DSQL_PG_BE_NOTICE) {
        touch_report(&msg.report);
    } else if (msg.type == DSQL_PG_BE_COMMAND_COMPLETE) {
        touch(msg.tag);
    } else if (msg.type == DSQL_PG_BE_KEY_DATA) {
        touch(msg.key.key);
    } else if (msg.type == DSQL_PG_BE_PARAMETER_STATUS) {
        touch(msg.setting.value);
    }
}

static void parse_startup(struct dsql_span body)
{
    struct dsql_pg_startup startup;
    struct dsql_err err;
    enum dsql_rc rc = dsql_pg_startup_parse(body, &startup, &err);
    if (rc) {
        expect_refusal(&err, rc);
        return;
    }
    (void)dsql_pg_startup_must_negotiate(&startup, 0);
    touch(startup.key);
    struct dsql_span value;
    (void)dsql_pg_params_get(startup.params, DSQL_SPAN("user"), &value);
    for (struct dsql_pg_param param; dsql_pg_params_next(&startup.params, &param);) {
        assert(param.name.len > 0);
        touch(param.value);
    }
}

static void parse(enum what what, enum dsql_pg_side side, uint8_t type, struct dsql_span body)
{
    if (what == STARTUP)
        parse_startup(body);
    else if (side == DSQL_PG_FRONTEND)
        parse_client(type, body);
    else
        parse_server(type, body);
}

struct outcome {
    enum dsql_rc rc;
    size_t bytes, messages;
};

/* Frames the input, chunk bytes at a time, and parses what comes whole. */
static struct outcome frame(enum what what, enum dsql_pg_side side, struct dsql_span all,
                            size_t chunk)
{
    static struct dsql_pg_limits limits[2];
    struct outcome outcome = {0};
    struct dsql_pg_framer framer;
    dsql_pg_limits_session(&limits[side], side, MOST);
    if (side == DSQL_PG_FRONTEND)
        dsql_pg_limits_set(&limits[side], DSQL_PG_FE_QUERY, WHOLE, MOST);
    if (what == STARTUP)
        dsql_pg_framer_init_startup(&framer);
    else
        dsql_pg_framer_init(&framer, &limits[side]);
    while (all.len > 0 && !outcome.rc) {
        struct dsql_span in = dsql_span_first(all, chunk < all.len ? chunk : all.len);
        all = dsql_span_from(all, in.len);
        for (struct dsql_pg_piece piece = {.ready = true}; piece.ready && !outcome.rc;) {
            struct dsql_err err;
            outcome.rc = dsql_pg_framer_next(&framer, &in, &piece, &err);
            if (outcome.rc)
                expect_refusal(&err, outcome.rc);
            touch(piece.raw);
            outcome.bytes += piece.raw.len;
            outcome.messages += piece.last;
            if (piece.first && piece.last)
                parse(what, side, piece.type, piece.body);
        }
        assert(outcome.rc || in.len == 0);
        assert(framer.held_cap <= 256 || framer.held_cap <= 2 * framer.done);
    }
    dsql_pg_framer_fini(&framer);
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    enum dsql_pg_side side = data[0] & 1 ? DSQL_PG_BACKEND : DSQL_PG_FRONTEND;
    enum what what = data[0] & 4 ? BODY : data[0] & 2 ? STARTUP : MESSAGES;
    size_t chunk = (size_t)(data[0] >> 3) + 1;
    struct dsql_span rest = {(const char *)data + 1, size - 1};
    if (what == BODY) {
        if (rest.len > 0)
            parse(what, side, (uint8_t)rest.ptr[0], dsql_span_from(rest, 1));
        return 0;
    }
    struct outcome at_once = frame(what, side, rest, SIZE_MAX);
    struct outcome in_chunks = frame(what, side, rest, chunk);
    assert(at_once.rc == in_chunks.rc && at_once.messages == in_chunks.messages);
    return 0;
}
