#include "pgwire/frontend.h"

static enum dsql_rc violation(struct dsql_err *err)
{
    return dsql_pg_refuse(err, DSQL_PROTOCOL, DSQL_PG_PROTOCOL_VIOLATION);
}

static bool formats_fit(struct dsql_pg_formats formats, struct dsql_pg_values values)
{
    return formats.count <= 1 || formats.count == values.count;
}

static enum dsql_rc check_bind(const struct dsql_pg_bind *bind, struct dsql_err *err)
{
    if (!formats_fit(bind->formats, bind->values)) {
        (void)dsql_err_set(err, DSQL_PROTOCOL,
                           "bind message has %d parameter formats but %d parameters",
                           bind->formats.count, bind->values.count);
        return violation(err);
    }
    enum dsql_rc rc = dsql_pg_formats_check(bind->formats, err);
    return rc ? rc : dsql_pg_formats_check(bind->results, err);
}

static enum dsql_rc check_call(const struct dsql_pg_function_call *call, struct dsql_err *err)
{
    if (!formats_fit(call->formats, call->arguments)) {
        (void)dsql_err_set(err, DSQL_PROTOCOL,
                           "function call message contains %d argument formats but %d arguments",
                           call->formats.count, call->arguments.count);
        return violation(err);
    }
    enum dsql_rc rc = dsql_pg_formats_check(call->formats, err);
    return rc ? rc : dsql_pg_format_check(call->result, err);
}

static enum dsql_rc check_target(enum dsql_pg_fe_type type, const struct dsql_pg_target *target,
                                 struct dsql_err *err)
{
    if (target->object == DSQL_PG_STATEMENT || target->object == DSQL_PG_PORTAL)
        return DSQL_OK;
    (void)dsql_err_set(err, DSQL_PROTOCOL, "invalid %s message subtype %d",
                       type == DSQL_PG_FE_DESCRIBE ? "DESCRIBE" : "CLOSE", (int)target->object);
    return violation(err);
}

/* Takes the fields of *msg, whose type is set; false if there is no such type. */
static bool take_fields(struct dsql_pg_cursor *at, struct dsql_pg_fe *msg)
{
    switch (msg->type) {
    case DSQL_PG_FE_QUERY:
        msg->query = dsql_pg_take_text(at);
        return true;
    case DSQL_PG_FE_PASSWORD:
        msg->password = dsql_pg_take_text(at);
        return true;
    case DSQL_PG_FE_COPY_DATA:
        msg->data = dsql_pg_take_rest(at);
        return true;
    case DSQL_PG_FE_COPY_FAIL:
        msg->reason = dsql_pg_take_text(at);
        return true;
    case DSQL_PG_FE_PARSE:
        msg->parse.name = dsql_pg_take_text(at);
        msg->parse.query = dsql_pg_take_text(at);
        msg->parse.types = dsql_pg_take_oids(at);
        return true;
    case DSQL_PG_FE_BIND:
        msg->bind.portal = dsql_pg_take_text(at);
        msg->bind.statement = dsql_pg_take_text(at);
        msg->bind.formats = dsql_pg_take_formats(at);
        msg->bind.values = dsql_pg_take_values(at);
        msg->bind.results = dsql_pg_take_formats(at);
        return true;
    case DSQL_PG_FE_DESCRIBE:
    case DSQL_PG_FE_CLOSE:
        msg->target.object = (enum dsql_pg_object)dsql_pg_take_u8(at);
        msg->target.name = dsql_pg_take_text(at);
        return true;
    case DSQL_PG_FE_EXECUTE:
        msg->execute.portal = dsql_pg_take_text(at);
        msg->execute.max_rows = dsql_pg_take_i32(at);
        return true;
    case DSQL_PG_FE_FUNCTION_CALL:
        msg->call.function = dsql_pg_take_u32(at);
        msg->call.formats = dsql_pg_take_formats(at);
        msg->call.arguments = dsql_pg_take_values(at);
        msg->call.result = dsql_pg_take_i16(at);
        return true;
    case DSQL_PG_FE_SYNC:
    case DSQL_PG_FE_FLUSH:
    case DSQL_PG_FE_TERMINATE:
    case DSQL_PG_FE_COPY_DONE:
        return true;
    }
    return false;
}

/* What the fields must fulfil besides being there. */
static enum dsql_rc check_fields(const struct dsql_pg_fe *msg, struct dsql_err *err)
{
    if (msg->type == DSQL_PG_FE_BIND)
        return check_bind(&msg->bind, err);
    if (msg->type == DSQL_PG_FE_DESCRIBE || msg->type == DSQL_PG_FE_CLOSE)
        return check_target(msg->type, &msg->target, err);
    if (msg->type == DSQL_PG_FE_FUNCTION_CALL)
        return check_call(&msg->call, err);
    return DSQL_OK;
}

enum dsql_rc dsql_pg_fe_parse(uint8_t type, struct dsql_span body, struct dsql_pg_fe *msg,
                              struct dsql_err *err)
{
    struct dsql_pg_cursor at = dsql_pg_cursor_over(body);
    struct dsql_pg_fe parsed = {.type = (enum dsql_pg_fe_type)type};
    if (!take_fields(&at, &parsed)) {
        (void)dsql_err_set(err, DSQL_PROTOCOL, "invalid frontend message type %d", type);
        return violation(err);
    }
    enum dsql_rc rc = dsql_pg_cursor_end(&at, err);
    if (!rc)
        rc = check_fields(&parsed, err);
    if (!rc)
        *msg = parsed;
    return rc;
}
