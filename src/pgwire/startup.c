#include "pgwire/startup.h"

#include "pgwire/cursor.h"

bool dsql_pg_params_next(struct dsql_pg_params *rest, struct dsql_pg_param *param)
{
    if (rest->raw.len == 0)
        return false;
    struct dsql_pg_cursor at = dsql_pg_cursor_over(rest->raw);
    param->name = dsql_pg_take_text(&at);
    param->value = dsql_pg_take_text(&at);
    assert(!at.fault);
    rest->raw = at.rest;
    return true;
}

bool dsql_pg_params_get(struct dsql_pg_params params, struct dsql_span name,
                        struct dsql_span *value)
{
    bool found = false;
    struct dsql_pg_param param;
    while (dsql_pg_params_next(&params, &param)) {
        if (dsql_span_eq(param.name, name)) {
            *value = param.value;
            found = true;
        }
    }
    return found;
}

bool dsql_pg_param_is_option(struct dsql_pg_param param)
{
    return dsql_span_starts(param.name, DSQL_SPAN("_pq_."));
}

/* isspace() of PostgreSQL's, in every locale. */
static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Up to white space that has no backslash before it. A backslash stands for the byte behind it. */
static bool take_word(struct dsql_span *rest, struct dsql_strbuf *word)
{
    dsql_strbuf_clear(word);
    while (rest->len > 0 && is_space(rest->ptr[0]))
        *rest = dsql_span_from(*rest, 1);
    if (rest->len == 0)
        return false;
    bool escaped = false;
    for (; rest->len > 0 && (escaped || !is_space(rest->ptr[0]));
         *rest = dsql_span_from(*rest, 1)) {
        escaped = !escaped && rest->ptr[0] == '\\';
        if (!escaped)
            dsql_strbuf_add_char(word, rest->ptr[0]);
    }
    return true;
}

bool dsql_pg_options_next(struct dsql_span *rest, struct dsql_strbuf *word,
                          struct dsql_pg_param *setting)
{
    if (!take_word(rest, word))
        return false;
    struct dsql_span text = dsql_strbuf_span(word);
    *setting = (struct dsql_pg_param){.name = text};
    if (dsql_span_eq(text, DSQL_SPAN("-c"))) {
        (void)take_word(rest, word);
        text = dsql_strbuf_span(word);
    } else if (dsql_span_starts(text, DSQL_SPAN("-c")) || dsql_span_starts(text, DSQL_SPAN("--"))) {
        text = dsql_span_from(text, 2);
    } else {
        return true;
    }
    if (!dsql_span_cut(text, '=', &setting->name, &setting->value))
        setting->value = (struct dsql_span){0};
    for (char *c = word->ptr; c < setting->name.ptr + setting->name.len; c++)
        if (*c == '-')
            *c = '_';
    return true;
}

bool dsql_pg_startup_must_negotiate(const struct dsql_pg_startup *startup, uint16_t newest_minor)
{
    if (startup->minor > newest_minor)
        return true;
    struct dsql_pg_params rest = startup->params;
    struct dsql_pg_param param;
    while (dsql_pg_params_next(&rest, &param))
        if (dsql_pg_param_is_option(param))
            return true;
    return false;
}

/* Names and values in turn; an empty name ends the list and the packet. */
static struct dsql_pg_params take_params(struct dsql_pg_cursor *cursor)
{
    struct dsql_span all = cursor->rest;
    size_t len = 0;
    while (dsql_pg_take_text(cursor).len > 0) {
        (void)dsql_pg_take_text(cursor);
        if (cursor->fault)
            break;
        len = all.len - cursor->rest.len;
    }
    if (cursor->fault || cursor->rest.len > 0) {
        cursor->fault = "invalid startup packet layout: expected terminator as last byte";
        len = 0;
    }
    return (struct dsql_pg_params){dsql_span_first(all, len)};
}

static void take_cancel(struct dsql_pg_cursor *cursor, struct dsql_pg_startup *startup)
{
    startup->pid = dsql_pg_take_u32(cursor);
    startup->key = dsql_pg_take_rest(cursor);
    if (startup->key.len < DSQL_PG_CANCEL_KEY_LEAST || startup->key.len > DSQL_PG_CANCEL_KEY_MOST)
        dsql_pg_cursor_fail(cursor, "invalid length of startup packet");
}

static enum dsql_rc refuse_version(uint32_t code, struct dsql_err *err)
{
    (void)dsql_err_set(err, DSQL_UNSUPPORTED,
                       "unsupported frontend protocol %u.%u: server supports 3.0 to 3.0",
                       code >> 16, code & 0xffff);
    return dsql_pg_refuse(err, DSQL_UNSUPPORTED, DSQL_PG_NOT_SUPPORTED);
}

enum dsql_rc dsql_pg_startup_parse(struct dsql_span body, struct dsql_pg_startup *startup,
                                   struct dsql_err *err)
{
    struct dsql_pg_cursor at = dsql_pg_cursor_over(body);
    struct dsql_pg_startup parsed = {.params.raw = DSQL_SPAN(""), .key = DSQL_SPAN("")};
    uint32_t code = dsql_pg_take_u32(&at);
    if (code == DSQL_PG_CODE_SSL) {
        parsed.kind = DSQL_PG_SSL_REQUEST;
    } else if (code == DSQL_PG_CODE_GSSENC) {
        parsed.kind = DSQL_PG_GSSENC_REQUEST;
    } else if (code == DSQL_PG_CODE_CANCEL) {
        parsed.kind = DSQL_PG_CANCEL_REQUEST;
        take_cancel(&at, &parsed);
    } else if (code >> 16 == 3) {
        parsed.kind = DSQL_PG_STARTUP_MESSAGE;
        parsed.minor = (uint16_t)code;
        parsed.params = take_params(&at);
    } else if (!at.fault) {
        return refuse_version(code, err);
    }
    enum dsql_rc rc = dsql_pg_cursor_end(&at, err);
    if (!rc)
        *startup = parsed;
    return rc;
}
