/* What DynamoDB's answers mean. */
#include "aws/dynamodb.h"
#include "base/shown.h"

static const char *const kind_texts[DSQL_DDB_KINDS] = {
#define DSQL_DDB_MEMBER(name, text) [DSQL_DDB_##name] = (text),
    DSQL_DDB_TABLE(DSQL_DDB_MEMBER)
#undef DSQL_DDB_MEMBER
};

const char *dsql_ddb_kind_name(enum dsql_ddb_kind kind)
{
    static const char *const names[DSQL_DDB_KINDS] = {
#define DSQL_DDB_MEMBER(name, text) [DSQL_DDB_##name] = #name,
        DSQL_DDB_TABLE(DSQL_DDB_MEMBER)
#undef DSQL_DDB_MEMBER
    };
    return kind < DSQL_DDB_KINDS ? names[kind] : "?";
}

void dsql_ddb_reply_fini(struct dsql_ddb_reply *reply)
{
    json_decref(reply->body);
    json_decref(reply->failure);
    *reply = (struct dsql_ddb_reply){.kind = DSQL_DDB_LOST};
}

/* Errors by the name behind the last '#'. */
static enum dsql_ddb_kind kind_of(const char *type, int status)
{
    static const struct {
        const char *name;
        enum dsql_ddb_kind kind;
    } types[] = {
        {"ConditionalCheckFailedException", DSQL_DDB_CONDITION},
        {"TransactionCanceledException", DSQL_DDB_CANCELLED},
        {"TransactionConflictException", DSQL_DDB_THROTTLED},
        {"TransactionInProgressException", DSQL_DDB_UNAVAILABLE},
        {"ProvisionedThroughputExceededException", DSQL_DDB_THROTTLED},
        {"RequestLimitExceeded", DSQL_DDB_THROTTLED},
        {"ThrottlingException", DSQL_DDB_THROTTLED},
        {"LimitExceededException", DSQL_DDB_THROTTLED},
        {"ResourceNotFoundException", DSQL_DDB_NO_TABLE},
        {"ResourceInUseException", DSQL_DDB_IN_USE},
        {"TableAlreadyExistsException", DSQL_DDB_IN_USE},
        {"AccessDeniedException", DSQL_DDB_DENIED},
        {"UnrecognizedClientException", DSQL_DDB_DENIED},
        {"MissingAuthenticationTokenException", DSQL_DDB_DENIED},
        {"IncompleteSignatureException", DSQL_DDB_DENIED},
        {"InvalidSignatureException", DSQL_DDB_EXPIRED},
        {"ExpiredTokenException", DSQL_DDB_EXPIRED},
    };
    const char *hash = strrchr(type, '#');
    const char *name = hash ? hash + 1 : type;
    for (size_t i = 0; i < DSQL_COUNT_OF(types); i++) {
        if (strcmp(types[i].name, name) == 0)
            return types[i].kind;
    }
    return status >= 400 && status < 500 ? DSQL_DDB_INVALID : DSQL_DDB_UNAVAILABLE;
}

static enum dsql_ddb_reason reason_of(const char *code)
{
    if (!code || strcmp(code, "None") == 0)
        return DSQL_DDB_NONE;
    if (strcmp(code, "ConditionalCheckFailed") == 0)
        return DSQL_DDB_FAILED;
    if (strcmp(code, "TransactionConflict") == 0)
        return DSQL_DDB_CONFLICT;
    if (strcmp(code, "ThrottlingError") == 0 || strcmp(code, "ProvisionedThroughputExceeded") == 0)
        return DSQL_DDB_TOO_FAST;
    return DSQL_DDB_OTHER;
}

static void read_reasons(struct dsql_ddb_reply *reply)
{
    const json_t *reasons = json_object_get(reply->failure, "CancellationReasons");
    size_t count = json_array_size(reasons);
    reply->reason_count = count < DSQL_DDB_PARTS_MAX ? count : DSQL_DDB_PARTS_MAX;
    for (size_t i = 0; i < reply->reason_count; i++)
        reply->reasons[i] =
            reason_of(json_string_value(json_object_get(json_array_get(reasons, i), "Code")));
}

static void read_failure(struct dsql_ddb_reply *reply, int status)
{
    const char *type = json_string_value(json_object_get(reply->failure, "__type"));
    const char *message = json_string_value(json_object_get(reply->failure, "message"));
    if (!message)
        message = json_string_value(json_object_get(reply->failure, "Message"));
    reply->kind = kind_of(type ? type : "", status);
    json_t *item = json_object_get(reply->failure, "Item");
    if (reply->kind == DSQL_DDB_CONDITION && json_is_object(item))
        reply->item = item;
    if (reply->kind == DSQL_DDB_CANCELLED)
        read_reasons(reply);
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, reply->message, sizeof(reply->message));
    const char *name = type && strrchr(type, '#') ? strrchr(type, '#') + 1 : type;
    dsql_strbuf_addf(&text, "%s%s%s", name ? dsql_shown_str(name).text : "no reason given",
                     message ? ": " : "", message ? dsql_shown_str(message).text : "");
}

void dsql_ddb_reply_read(struct dsql_ddb_reply *reply, int status, struct dsql_span body)
{
    *reply = (struct dsql_ddb_reply){.kind = DSQL_DDB_UNAVAILABLE};
    json_t *json = json_loadb(body.ptr ? body.ptr : "", body.len, JSON_REJECT_DUPLICATES, NULL);
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, reply->message, sizeof(reply->message));
    if (!json_is_object(json)) {
        json_decref(json);
        if (status >= 400 && status < 500)
            reply->kind = DSQL_DDB_INVALID;
        dsql_strbuf_addf(&text, "answered with status %d and no JSON", status);
        return;
    }
    if (status == 200) {
        reply->kind = DSQL_DDB_OK;
        reply->body = json;
        return;
    }
    reply->failure = json;
    read_failure(reply, status);
}

json_t *dsql_ddb_number(int64_t value)
{
    char digits[24];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, digits, sizeof(digits));
    dsql_strbuf_add_i64(&sb, value);
    return json_pack("{s:s}", "N", digits);
}

json_t *dsql_ddb_string(const char *value)
{
    return json_pack("{s:s}", "S", value);
}

bool dsql_ddb_get_number(const json_t *attributes, const char *name, int64_t *value)
{
    const char *text = json_string_value(json_object_get(json_object_get(attributes, name), "N"));
    return text && dsql_span_to_i64(dsql_span_of(text), value);
}

const char *dsql_ddb_get_string(const json_t *attributes, const char *name)
{
    return json_string_value(json_object_get(json_object_get(attributes, name), "S"));
}

enum dsql_rc dsql_ddb_explain(const char *region, const struct dsql_ddb_reply *reply,
                              const char *table, struct dsql_err *err)
{
    static const enum dsql_rc codes[DSQL_DDB_KINDS] = {
        [DSQL_DDB_CONDITION] = DSQL_CONDITION_FAILED,
        [DSQL_DDB_CANCELLED] = DSQL_CONFLICT,
        [DSQL_DDB_THROTTLED] = DSQL_THROTTLED,
        [DSQL_DDB_NO_TABLE] = DSQL_NOT_FOUND,
        [DSQL_DDB_IN_USE] = DSQL_CONFLICT,
        [DSQL_DDB_DENIED] = DSQL_DENIED,
        [DSQL_DDB_EXPIRED] = DSQL_DENIED,
        [DSQL_DDB_INVALID] = DSQL_INVALID,
        [DSQL_DDB_UNAVAILABLE] = DSQL_IO,
        [DSQL_DDB_LOST] = DSQL_LOST,
    };
    static const char *const hints[DSQL_DDB_KINDS] = {
        [DSQL_DDB_NO_TABLE] = "run 'dsql budget setup', or correct the table's name or the region",
        [DSQL_DDB_DENIED] = "allow the actions of this budget's policy in deploy/iam on this table",
        [DSQL_DDB_EXPIRED] = "renew the credentials; check this machine's clock and the region",
        [DSQL_DDB_INVALID] = "the table's key must be one string attribute named pk",
        [DSQL_DDB_LOST] = "check the network, the region and AWS_ENDPOINT_URL_DYNAMODB",
        [DSQL_DDB_UNAVAILABLE] = "it is tried again, with a back-off",
        [DSQL_DDB_THROTTLED] = "bill the table on demand, or give it more capacity",
    };
    if (reply->kind == DSQL_DDB_OK)
        return DSQL_OK;
    enum dsql_rc rc = dsql_err_set(err, codes[reply->kind], "table %s in %s: %s (%s)", table,
                                   region, kind_texts[reply->kind], reply->message);
    if (reply->hint[0] || hints[reply->kind])
        dsql_err_hint(err, "%s", reply->hint[0] ? reply->hint : hints[reply->kind]);
    return rc;
}
