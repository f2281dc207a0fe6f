#include "aws/keys.h"

enum dsql_rc dsql_keys_copy(struct dsql_keys *to, const struct dsql_keys *from,
                            struct dsql_err *err)
{
    struct dsql_keys made = *from;
    made.secret_access_key = made.session_token = (struct dsql_secret){0};
    if (dsql_secret_set(&made.secret_access_key,
                        dsql_revealed_span(dsql_secret_reveal(&from->secret_access_key))) ||
        dsql_secret_set(&made.session_token,
                        dsql_revealed_span(dsql_secret_reveal(&from->session_token)))) {
        dsql_keys_fini(&made);
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    dsql_keys_fini(to);
    *to = made;
    return DSQL_OK;
}

/* Printable ASCII without blanks: what AWS's keys are made of, and what can be signed and sent. */
static bool is_word(struct dsql_span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~')
            return false;
    return true;
}

enum dsql_rc dsql_keys_set(struct dsql_keys *keys, struct dsql_span access_key_id,
                           struct dsql_span secret, struct dsql_span session,
                           struct dsql_wall expires, struct dsql_err *err)
{
    const struct {
        const char *name;
        struct dsql_span value;
        bool optional;
    } parts[] = {
        {"access key id", access_key_id, false},
        {"secret access key", secret, false},
        {"session token", session, true},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(parts); i++) {
        if (parts[i].value.len == 0 && !parts[i].optional)
            return dsql_err_set(err, DSQL_INVALID, "the %s is missing", parts[i].name);
        if (!is_word(parts[i].value))
            return dsql_err_set(err, DSQL_INVALID,
                                "the %s has a blank or another character in it that no key has",
                                parts[i].name);
    }
    if (access_key_id.len > DSQL_ACCESS_KEY_ID_MAX)
        return dsql_err_set(err, DSQL_INVALID, "the access key id is longer than %d characters",
                            DSQL_ACCESS_KEY_ID_MAX);
    struct dsql_keys made = {.expires = expires};
    if (dsql_secret_set(&made.secret_access_key, secret) ||
        dsql_secret_set(&made.session_token, session)) {
        dsql_keys_fini(&made);
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    memcpy(made.access_key_id, access_key_id.ptr, access_key_id.len);
    memcpy(made.provider, keys->provider, sizeof(made.provider));
    dsql_keys_fini(keys);
    *keys = made;
    return DSQL_OK;
}

void dsql_keys_name(struct dsql_keys *keys, const char *fmt, ...)
{
    struct dsql_strbuf sb;
    va_list args;
    dsql_strbuf_init(&sb, keys->provider, sizeof(keys->provider));
    va_start(args, fmt);
    dsql_strbuf_vaddf(&sb, fmt, args);
    va_end(args);
}

void dsql_keys_fini(struct dsql_keys *keys)
{
    dsql_secret_fini(&keys->secret_access_key);
    dsql_secret_fini(&keys->session_token);
    *keys = (struct dsql_keys){0};
}
