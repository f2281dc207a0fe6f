#include "pgwire/backend.h"

#include "pgwire/startup.h"

/* Only these few have words of ours: libpq, too, just says that it lost its place. */
static const char bad_auth[] = "invalid authentication request from server";
static const char bad_status[] = "invalid transaction status from server";
static const char bad_key[] = "invalid cancel key from server";

static struct dsql_pg_auth take_auth(struct dsql_pg_cursor *at)
{
    struct dsql_pg_auth auth;
    auth.kind = (enum dsql_pg_auth_kind)dsql_pg_take_u32(at);
    auth.data = dsql_pg_take_rest(at);
    bool valid = false;
    switch (auth.kind) {
    case DSQL_PG_AUTH_OK:
    case DSQL_PG_AUTH_KERBEROS_V5:
    case DSQL_PG_AUTH_CLEARTEXT:
    case DSQL_PG_AUTH_GSS:
    case DSQL_PG_AUTH_SSPI:
        valid = auth.data.len == 0;
        break;
    case DSQL_PG_AUTH_MD5:
        valid = auth.data.len == 4;
        break;
    case DSQL_PG_AUTH_GSS_CONTINUE:
    case DSQL_PG_AUTH_SASL:
    case DSQL_PG_AUTH_SASL_CONTINUE:
    case DSQL_PG_AUTH_SASL_FINAL:
        valid = true;
        break;
    }
    if (!valid)
        dsql_pg_cursor_fail(at, bad_auth);
    return auth;
}

static struct dsql_pg_setting take_setting(struct dsql_pg_cursor *at)
{
    struct dsql_pg_setting setting;
    setting.name = dsql_pg_take_text(at);
    setting.value = dsql_pg_take_text(at);
    return setting;
}

static struct dsql_pg_key take_key(struct dsql_pg_cursor *at)
{
    struct dsql_pg_key key;
    key.pid = dsql_pg_take_u32(at);
    key.key = dsql_pg_take_rest(at);
    if (key.key.len < DSQL_PG_CANCEL_KEY_LEAST || key.key.len > DSQL_PG_CANCEL_KEY_MOST)
        dsql_pg_cursor_fail(at, bad_key);
    return key;
}

static enum dsql_pg_tx take_status(struct dsql_pg_cursor *at)
{
    enum dsql_pg_tx status = (enum dsql_pg_tx)dsql_pg_take_u8(at);
    if (status != DSQL_PG_IDLE && status != DSQL_PG_IN_TX && status != DSQL_PG_FAILED_TX)
        dsql_pg_cursor_fail(at, bad_status);
    return status;
}

/* Takes the last word off *text if it is a number. */
static bool take_count(struct dsql_span *text, uint64_t *count)
{
    size_t word = text->len;
    while (word > 0 && text->ptr[word - 1] != ' ')
        word--;
    int64_t number;
    if (word == 0 || !dsql_span_to_i64(dsql_span_from(*text, word), &number) || number < 0)
        return false;
    *count = (uint64_t)number;
    text->len = word - 1;
    return true;
}

struct dsql_pg_command dsql_pg_command_of(struct dsql_span tag)
{
    struct dsql_pg_command command = {.tag = tag, .verb = tag};
    command.has_rows = take_count(&command.verb, &command.rows);
    if (command.has_rows && dsql_span_starts(command.verb, DSQL_SPAN("INSERT "))) {
        uint64_t oid; /* of the row, since PostgreSQL 12 always 0 */
        (void)take_count(&command.verb, &oid);
    }
    return command;
}

static struct dsql_pg_column take_column(struct dsql_pg_cursor *at)
{
    struct dsql_pg_column column;
    column.name = dsql_pg_take_text(at);
    column.table = dsql_pg_take_u32(at);
    column.number = dsql_pg_take_i16(at);
    column.type = dsql_pg_take_u32(at);
    column.type_len = dsql_pg_take_i16(at);
    column.type_mod = dsql_pg_take_i32(at);
    column.format = dsql_pg_take_i16(at);
    return column;
}

bool dsql_pg_columns_next(struct dsql_pg_columns *rest, struct dsql_pg_column *column)
{
    if (rest->count == 0)
        return false;
    struct dsql_pg_cursor at = dsql_pg_cursor_over(rest->raw);
    *column = take_column(&at);
    assert(!at.fault);
    rest->raw = at.rest;
    rest->count--;
    return true;
}

static struct dsql_pg_columns take_columns(struct dsql_pg_cursor *at)
{
    struct dsql_pg_columns columns = {.count = dsql_pg_take_u16(at)};
    columns.raw = at->rest;
    for (uint16_t i = 0; i < columns.count && !at->fault; i++)
        (void)take_column(at);
    return columns;
}

static struct dsql_pg_copy take_copy(struct dsql_pg_cursor *at)
{
    struct dsql_pg_copy copy;
    copy.format = dsql_pg_take_u8(at);
    copy.columns = dsql_pg_take_formats(at);
    return copy;
}

static struct dsql_pg_notification take_notification(struct dsql_pg_cursor *at)
{
    struct dsql_pg_notification notification;
    notification.pid = dsql_pg_take_u32(at);
    notification.channel = dsql_pg_take_text(at);
    notification.payload = dsql_pg_take_text(at);
    return notification;
}

static struct dsql_pg_negotiated take_negotiated(struct dsql_pg_cursor *at)
{
    struct dsql_pg_negotiated negotiated;
    negotiated.version = dsql_pg_take_u32(at);
    negotiated.count = dsql_pg_take_u32(at);
    for (uint32_t i = 0; i < negotiated.count && !at->fault; i++)
        (void)dsql_pg_take_text(at);
    return negotiated;
}

/* Takes the fields of *msg, whose type is set; false if there is no such type. */
static bool take_fields(struct dsql_pg_cursor *at, struct dsql_pg_be *msg)
{
    switch (msg->type) {
    case DSQL_PG_BE_AUTHENTICATION:
        msg->auth = take_auth(at);
        return true;
    case DSQL_PG_BE_PARAMETER_STATUS:
        msg->setting = take_setting(at);
        return true;
    case DSQL_PG_BE_KEY_DATA:
        msg->key = take_key(at);
        return true;
    case DSQL_PG_BE_READY:
        msg->status = take_status(at);
        return true;
    case DSQL_PG_BE_ERROR:
    case DSQL_PG_BE_NOTICE:
        msg->report = dsql_pg_take_report(at);
        return true;
    case DSQL_PG_BE_COMMAND_COMPLETE:
        msg->command = dsql_pg_command_of(dsql_pg_take_text(at));
        return true;
    case DSQL_PG_BE_ROW_DESCRIPTION:
        msg->columns = take_columns(at);
        return true;
    case DSQL_PG_BE_DATA_ROW:
        msg->row = dsql_pg_take_values(at);
        return true;
    case DSQL_PG_BE_PARAMETER_DESCRIPTION:
        msg->parameters = dsql_pg_take_oids(at);
        return true;
    case DSQL_PG_BE_COPY_IN:
    case DSQL_PG_BE_COPY_OUT:
    case DSQL_PG_BE_COPY_BOTH:
        msg->copy = take_copy(at);
        return true;
    case DSQL_PG_BE_FUNCTION_RESULT:
        msg->result = dsql_pg_take_value(at);
        return true;
    case DSQL_PG_BE_COPY_DATA:
        msg->data = dsql_pg_take_rest(at);
        return true;
    case DSQL_PG_BE_NOTIFICATION:
        msg->notification = take_notification(at);
        return true;
    case DSQL_PG_BE_NEGOTIATE_VERSION:
        msg->negotiated = take_negotiated(at);
        return true;
    case DSQL_PG_BE_PARSE_COMPLETE:
    case DSQL_PG_BE_BIND_COMPLETE:
    case DSQL_PG_BE_CLOSE_COMPLETE:
    case DSQL_PG_BE_EMPTY_QUERY:
    case DSQL_PG_BE_COPY_DONE:
    case DSQL_PG_BE_NO_DATA:
    case DSQL_PG_BE_PORTAL_SUSPENDED:
        return true;
    }
    return false;
}

/* What the fields must fulfil besides being there. */
static enum dsql_rc check_fields(const struct dsql_pg_be *msg, struct dsql_err *err)
{
    if (msg->type != DSQL_PG_BE_COPY_IN && msg->type != DSQL_PG_BE_COPY_OUT &&
        msg->type != DSQL_PG_BE_COPY_BOTH)
        return DSQL_OK;
    enum dsql_rc rc = dsql_pg_format_check(msg->copy.format, err);
    return rc ? rc : dsql_pg_formats_check(msg->copy.columns, err);
}

enum dsql_rc dsql_pg_be_parse(uint8_t type, struct dsql_span body, struct dsql_pg_be *msg,
                              struct dsql_err *err)
{
    struct dsql_pg_cursor at = dsql_pg_cursor_over(body);
    struct dsql_pg_be parsed = {.type = (enum dsql_pg_be_type)type};
    if (!take_fields(&at, &parsed)) {
        (void)dsql_err_set(err, DSQL_PROTOCOL, "invalid backend message type %d", type);
        return dsql_pg_refuse(err, DSQL_PROTOCOL, DSQL_PG_PROTOCOL_VIOLATION);
    }
    enum dsql_rc rc = dsql_pg_cursor_end(&at, err);
    if (!rc)
        rc = check_fields(&parsed, err);
    if (!rc)
        *msg = parsed;
    return rc;
}
