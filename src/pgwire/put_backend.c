#include "pgwire/put_backend.h"

static void put_u32(struct dsql_strbuf *out, uint8_t type, uint32_t value)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, type);
    dsql_pg_msg_u32(&msg, value);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_auth_ok(struct dsql_strbuf *out)
{
    put_u32(out, DSQL_PG_BE_AUTHENTICATION, DSQL_PG_AUTH_OK);
}

void dsql_pg_put_auth_cleartext(struct dsql_strbuf *out)
{
    put_u32(out, DSQL_PG_BE_AUTHENTICATION, DSQL_PG_AUTH_CLEARTEXT);
}

void dsql_pg_put_parameter_status(struct dsql_strbuf *out, struct dsql_span name,
                                  struct dsql_span value)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_BE_PARAMETER_STATUS);
    dsql_pg_msg_text(&msg, name);
    dsql_pg_msg_text(&msg, value);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_key_data(struct dsql_strbuf *out, uint32_t pid, uint32_t key)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_BE_KEY_DATA);
    dsql_pg_msg_u32(&msg, pid);
    dsql_pg_msg_u32(&msg, key);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_ready(struct dsql_strbuf *out, enum dsql_pg_tx status)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_BE_READY);
    dsql_pg_msg_u8(&msg, (uint8_t)status);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_negotiate_version(struct dsql_strbuf *out, uint16_t newest_minor,
                                   const struct dsql_pg_startup *startup)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_BE_NEGOTIATE_VERSION);
    /* The manual speaks of the minor version; PostgreSQL sends, and libpq reads, both numbers. */
    dsql_pg_msg_u32(&msg, DSQL_PG_CODE(3, newest_minor));
    uint32_t options = 0;
    struct dsql_pg_param param;
    for (struct dsql_pg_params rest = startup->params; dsql_pg_params_next(&rest, &param);)
        options += dsql_pg_param_is_option(param) ? 1 : 0;
    dsql_pg_msg_u32(&msg, options);
    for (struct dsql_pg_params rest = startup->params; dsql_pg_params_next(&rest, &param);)
        if (dsql_pg_param_is_option(param))
            dsql_pg_msg_text(&msg, param.name);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_row_description(struct dsql_strbuf *out, const struct dsql_pg_column *columns,
                                 size_t count)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_BE_ROW_DESCRIPTION);
    dsql_pg_msg_count(&msg, count);
    for (size_t i = 0; i < count; i++) {
        const struct dsql_pg_column *column = &columns[i];
        dsql_pg_msg_text(&msg, column->name);
        dsql_pg_msg_u32(&msg, column->table);
        dsql_pg_msg_u16(&msg, (uint16_t)column->number);
        dsql_pg_msg_u32(&msg, column->type);
        dsql_pg_msg_u16(&msg, (uint16_t)column->type_len);
        dsql_pg_msg_u32(&msg, (uint32_t)column->type_mod);
        dsql_pg_msg_u16(&msg, (uint16_t)column->format);
    }
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_data_row(struct dsql_strbuf *out, const struct dsql_pg_value *values, size_t count)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_BE_DATA_ROW);
    dsql_pg_msg_count(&msg, count);
    for (size_t i = 0; i < count; i++)
        dsql_pg_msg_value(&msg, values[i]);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_command_complete(struct dsql_strbuf *out, struct dsql_span tag)
{
    dsql_pg_put_text(out, DSQL_PG_BE_COMMAND_COMPLETE, tag);
}

void dsql_pg_put_empty_query(struct dsql_strbuf *out)
{
    dsql_pg_put_empty(out, DSQL_PG_BE_EMPTY_QUERY);
}
