#include "pgwire/report.h"

#include "pgwire/put.h"

/* The place of a named field in a report, or NULL. */
static struct dsql_span *place(struct dsql_pg_report *report, uint8_t code)
{
    switch (code) {
    case 'S':
        return &report->severity;
    case 'V':
        return &report->severity_plain;
    case 'C':
        return &report->sqlstate;
    case 'M':
        return &report->message;
    case 'D':
        return &report->detail;
    case 'H':
        return &report->hint;
    default:
        return NULL;
    }
}

struct dsql_pg_report dsql_pg_take_report(struct dsql_pg_cursor *cursor)
{
    const struct dsql_span none = DSQL_SPAN("");
    struct dsql_pg_report report = {none, none, none, none, none, none, none, cursor->rest};
    uint8_t code;
    while ((code = dsql_pg_take_u8(cursor)) != 0) {
        struct dsql_span value = dsql_pg_take_text(cursor);
        struct dsql_span *named = place(&report, code);
        if (named)
            *named = value;
    }
    return report;
}

bool dsql_pg_report_get(const struct dsql_pg_report *report, char code, struct dsql_span *value)
{
    struct dsql_pg_cursor at = dsql_pg_cursor_over(report->raw);
    bool found = false;
    uint8_t field;
    while ((field = dsql_pg_take_u8(&at)) != 0) {
        struct dsql_span text = dsql_pg_take_text(&at);
        if (field == (uint8_t)code) {
            *value = text;
            found = true;
        }
    }
    return found;
}

static void put_field(struct dsql_pg_msg *msg, char code, struct dsql_span value)
{
    if (value.len == 0)
        return;
    dsql_pg_msg_u8(msg, (uint8_t)code);
    dsql_pg_msg_text(msg, value);
}

void dsql_pg_put_error(struct dsql_strbuf *out, const struct dsql_pg_report *report)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_BE_ERROR);
    put_field(&msg, 'S', report->severity);
    put_field(&msg, 'V', report->severity_plain.len ? report->severity_plain : report->severity);
    put_field(&msg, 'C', report->sqlstate);
    put_field(&msg, 'M', report->message);
    put_field(&msg, 'D', report->detail);
    put_field(&msg, 'H', report->hint);
    put_field(&msg, 'P', report->position);
    dsql_pg_msg_u8(&msg, 0);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_error_at(struct dsql_strbuf *out, const struct dsql_pg_report *report,
                          struct dsql_span position)
{
    struct dsql_pg_cursor at = dsql_pg_cursor_over(report->raw);
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_BE_ERROR);
    uint8_t code;
    while ((code = dsql_pg_take_u8(&at)) != 0) {
        struct dsql_span value = dsql_pg_take_text(&at);
        put_field(&msg, (char)code, code == 'P' ? position : value);
    }
    dsql_pg_msg_u8(&msg, 0);
    dsql_pg_msg_end(&msg);
}
