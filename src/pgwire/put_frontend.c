#include "pgwire/put_frontend.h"

void dsql_pg_put_startup(struct dsql_strbuf *out, const struct dsql_pg_param *params, size_t count)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, 0);
    dsql_pg_msg_u32(&msg, DSQL_PG_CODE_3_0);
    for (size_t i = 0; i < count; i++) {
        assert(params[i].name.len > 0); /* an empty name would end the list */
        dsql_pg_msg_text(&msg, params[i].name);
        dsql_pg_msg_text(&msg, params[i].value);
    }
    dsql_pg_msg_u8(&msg, 0);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_query(struct dsql_strbuf *out, struct dsql_span sql)
{
    dsql_pg_put_text(out, DSQL_PG_FE_QUERY, sql);
}

void dsql_pg_put_parse(struct dsql_strbuf *out, const struct dsql_pg_parse *parse)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_FE_PARSE);
    dsql_pg_msg_text(&msg, parse->name);
    dsql_pg_msg_text(&msg, parse->query);
    dsql_pg_msg_list(&msg, parse->types.count, parse->types.raw);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_bind(struct dsql_strbuf *out, const struct dsql_pg_bind *bind)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_FE_BIND);
    dsql_pg_msg_text(&msg, bind->portal);
    dsql_pg_msg_text(&msg, bind->statement);
    dsql_pg_msg_list(&msg, bind->formats.count, bind->formats.raw);
    dsql_pg_msg_list(&msg, bind->values.count, bind->values.raw);
    dsql_pg_msg_list(&msg, bind->results.count, bind->results.raw);
    dsql_pg_msg_end(&msg);
}

static void put_target(struct dsql_strbuf *out, uint8_t type, enum dsql_pg_object object,
                       struct dsql_span name)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, type);
    dsql_pg_msg_u8(&msg, (uint8_t)object);
    dsql_pg_msg_text(&msg, name);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_describe(struct dsql_strbuf *out, enum dsql_pg_object object,
                          struct dsql_span name)
{
    put_target(out, DSQL_PG_FE_DESCRIBE, object, name);
}

void dsql_pg_put_close(struct dsql_strbuf *out, enum dsql_pg_object object, struct dsql_span name)
{
    put_target(out, DSQL_PG_FE_CLOSE, object, name);
}

void dsql_pg_put_execute(struct dsql_strbuf *out, struct dsql_span portal, int32_t max_rows)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_FE_EXECUTE);
    dsql_pg_msg_text(&msg, portal);
    dsql_pg_msg_u32(&msg, (uint32_t)max_rows);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_sync(struct dsql_strbuf *out)
{
    dsql_pg_put_empty(out, DSQL_PG_FE_SYNC);
}

void dsql_pg_put_flush(struct dsql_strbuf *out)
{
    dsql_pg_put_empty(out, DSQL_PG_FE_FLUSH);
}
