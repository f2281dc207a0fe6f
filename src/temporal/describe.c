/* A fence in words, for the error when its token does not hold. */
#include "base/shown.h"
#include "base/strbuf.h"
#include "temporal/call.h"

/* "12", "7". */
static void add_value(struct dsql_strbuf *sb, enum dsql_op_type type,
                      const struct dsql_param *value)
{
    bool is_text = type == DSQL_COLUMN_TEXT || type == DSQL_COLUMN_KEY || type == DSQL_COLUMN_ID;
    if (is_text && value->kind == DSQL_PARAM_RAW) {
        struct dsql_span text = {value->as.ptr, (size_t)value->len};
        dsql_strbuf_add_str(sb, dsql_shown(text).text);
        return;
    }
    if (value->kind != DSQL_PARAM_RAW) {
        dsql_strbuf_add_i64(sb, value->as.i64);
        return;
    }
    for (int32_t i = 0; i < value->len && i < 16; i++)
        dsql_strbuf_addf(sb, "%02x", ((const unsigned char *)value->as.ptr)[i]);
}

void dsql_call_describe(const struct dsql_call *call, const struct dsql_param *values,
                        struct dsql_described *out)
{
    struct dsql_strbuf key, expected;
    dsql_strbuf_init(&key, out->key, sizeof(out->key));
    dsql_strbuf_init(&expected, out->token, sizeof(out->token));
    for (size_t i = 0; i < call->op->fence.keys; i++) {
        if (call->params[i].kind == DSQL_PARAM_NULL)
            continue;
        dsql_strbuf_add_str(&key, i ? "/" : "");
        add_value(&key, call->op->fields[i].type, &call->params[i]);
    }
    for (size_t i = 0; i < call->op->fence.tokens; i++) {
        const struct dsql_op_field *field = &call->op->fields[call->op->fence.keys + i];
        dsql_strbuf_addf(&expected, "%s%s ", i ? ", " : "", field->name);
        add_value(&expected, field->type, &values[i]);
    }
    out->fence =
        (struct dsql_fence){dsql_entities[call->op->fence.what].name, out->key, out->token, 0};
}
