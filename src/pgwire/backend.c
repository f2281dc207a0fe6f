#include "pgwire/backend.h"

#include "pgwire/startup.h"

/* Only these two have words of ours: libpq, too, just says that it lost its place. */
static const char bad_status[] = "invalid transaction status from server";
static const char bad_key[] = "invalid cancel key from server";

/* Takes the fields of *msg, whose type is set; false if messages of that type are not read. */
static bool take_fields(struct dsql_pg_cursor *at, struct dsql_pg_be *msg)
{
    switch ((int)msg->type) {
    case DSQL_PG_BE_PARAMETER_STATUS:
        msg->setting.name = dsql_pg_take_text(at);
        msg->setting.value = dsql_pg_take_text(at);
        return true;
    case DSQL_PG_BE_KEY_DATA:
        msg->key.pid = dsql_pg_take_u32(at);
        msg->key.key = dsql_pg_take_rest(at);
        if (msg->key.key.len < DSQL_PG_CANCEL_KEY_LEAST ||
            msg->key.key.len > DSQL_PG_CANCEL_KEY_MOST)
            dsql_pg_cursor_fail(at, bad_key);
        return true;
    case DSQL_PG_BE_READY:
        msg->status = (enum dsql_pg_tx)dsql_pg_take_u8(at);
        if (msg->status != DSQL_PG_IDLE && msg->status != DSQL_PG_IN_TX &&
            msg->status != DSQL_PG_FAILED_TX)
            dsql_pg_cursor_fail(at, bad_status);
        return true;
    case DSQL_PG_BE_ERROR:
    case DSQL_PG_BE_NOTICE:
        msg->report = dsql_pg_take_report(at);
        return true;
    case DSQL_PG_BE_COMMAND_COMPLETE:
        msg->tag = dsql_pg_take_text(at);
        return true;
    case DSQL_PG_BE_DATA_ROW:
        msg->row = dsql_pg_take_values(at);
        return true;
    default:
        return false;
    }
}

enum dsql_rc dsql_pg_be_parse(uint8_t type, struct dsql_span body, struct dsql_pg_be *msg,
                              struct dsql_err *err)
{
    struct dsql_pg_cursor at = dsql_pg_cursor_over(body);
    struct dsql_pg_be parsed = {.type = (enum dsql_pg_be_type)type};
    if (!take_fields(&at, &parsed)) {
        (void)dsql_err_set(err, DSQL_PROTOCOL, "backend messages of type %d are not read", type);
        return dsql_pg_refuse(err, DSQL_PROTOCOL, DSQL_PG_PROTOCOL_VIOLATION);
    }
    enum dsql_rc rc = dsql_pg_cursor_end(&at, err);
    if (!rc)
        *msg = parsed;
    return rc;
}
