#include "aws/keys_json.h"

#include <jansson.h>

#include "aws/amz_time.h"
#include "base/shown.h"

/* jansson frees without wiping, so the strings of a document are wiped before. */
static void wipe(json_t *json)
{
    const char *name;
    json_t *value;
    json_object_foreach(json, name, value)
    {
        if (!json_is_string(value))
            continue;
        const char *text = json_string_value(value);
        explicit_bzero((char *)(uintptr_t)text,
                       json_string_length(value)); /* the text is not read again */
    }
}

/* A string member. Missing is empty; another type is false. */
static bool member(const json_t *json, const char *name, struct dsql_span *value)
{
    const json_t *found = json_object_get(json, name);
    *value = DSQL_SPAN("");
    if (!found || json_is_null(found))
        return true;
    if (!json_is_string(found))
        return false;
    *value = (struct dsql_span){json_string_value(found), json_string_length(found)};
    return true;
}

static enum dsql_rc wrong(const char *name, struct dsql_err *err)
{
    return dsql_err_set(err, DSQL_PROTOCOL, "the answer's %s is missing or not as it should be",
                        name);
}

/* {"Code": "AssumeRoleUnauthorizedAccess", "Message": "..."}; also in lower case. */
static enum dsql_rc check_code(const json_t *json, struct dsql_err *err)
{
    struct dsql_span code, lower, message;
    if (!member(json, "Code", &code) || !member(json, "code", &lower))
        return wrong("Code", err);
    code = code.len ? code : lower;
    if (code.len == 0 || dsql_span_eq(code, DSQL_SPAN("Success")))
        return DSQL_OK;
    if (!member(json, "Message", &message) || message.len == 0)
        (void)member(json, "message", &message);
    return dsql_err_set(err, DSQL_DENIED, "refused with %s: %s", dsql_shown(code).text,
                        dsql_shown(message).text);
}

static enum dsql_rc read_members(enum dsql_keys_form form, const json_t *json,
                                 struct dsql_keys *keys, struct dsql_err *err)
{
    const char *session_name = form == DSQL_KEYS_PROCESS ? "SessionToken" : "Token";
    struct dsql_span id, secret, session, expiration;
    struct dsql_wall expires = {0};
    if (form == DSQL_KEYS_PROCESS && json_integer_value(json_object_get(json, "Version")) != 1)
        return wrong("Version", err);
    if (form == DSQL_KEYS_METADATA) {
        enum dsql_rc rc = check_code(json, err);
        if (rc)
            return rc;
    }
    if (!member(json, "AccessKeyId", &id) || id.len == 0)
        return wrong("AccessKeyId", err);
    if (!member(json, "SecretAccessKey", &secret) || secret.len == 0)
        return wrong("SecretAccessKey", err);
    if (!member(json, session_name, &session))
        return wrong(session_name, err);
    if (!member(json, "Expiration", &expiration) ||
        (expiration.len > 0 && !dsql_amz_time_parse_iso(expiration, &expires)))
        return wrong("Expiration", err);
    enum dsql_rc rc = dsql_keys_set(keys, id, secret, session, expires, err);
    if (rc == DSQL_INVALID) { /* of a caller's argument; here it came from a peer */
        struct dsql_err invalid = *err;
        rc = dsql_err_set(err, DSQL_PROTOCOL, "in the answer, %s", invalid.message);
    }
    return rc;
}

enum dsql_rc dsql_keys_parse_json(enum dsql_keys_form form, struct dsql_span text,
                                  struct dsql_keys *keys, struct dsql_err *err)
{
    struct dsql_err spare = {0};
    err = err ? err : &spare;
    json_error_t error;
    json_t *json = json_loadb(text.len ? text.ptr : "", text.len, 0, &error);
    if (!json || !json_is_object(json)) {
        json_decref(json);
        return dsql_err_set(err, DSQL_PROTOCOL, "the answer is no JSON object");
    }
    enum dsql_rc rc = read_members(form, json, keys, err);
    wipe(json);
    json_decref(json);
    return rc;
}
