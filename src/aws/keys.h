/* A set of AWS credentials that owns its memory. All zero is an empty one. */
#ifndef DSQL_AWS_KEYS_H
#define DSQL_AWS_KEYS_H

#include "aws/sigv4.h"

enum { DSQL_ACCESS_KEY_ID_MAX = 128, DSQL_PROVIDER_NAME_MAX = 63 };

struct dsql_keys {
    char access_key_id[DSQL_ACCESS_KEY_ID_MAX + 1];
    struct dsql_secret secret_access_key;
    struct dsql_secret session_token;          /* empty for long-term keys */
    struct dsql_wall expires;                  /* 0 for never */
    uint64_t generation;                       /* counts the fetches that brought new ones */
    char provider[DSQL_PROVIDER_NAME_MAX + 1]; /* where they came from, in words */
};

/*
 * Copies the parts; session may be empty. DSQL_INVALID if id or secret is empty, too long or has
 * something in it that no key has (a blank, a line end): *err says which part, never its value.
 * The provider stays. On failure *keys is untouched.
 */
DSQL_MUST_USE enum dsql_rc dsql_keys_set(struct dsql_keys *keys, struct dsql_span access_key_id,
                                         struct dsql_span secret, struct dsql_span session,
                                         struct dsql_wall expires, struct dsql_err *err);

DSQL_MUST_USE enum dsql_rc dsql_keys_copy(struct dsql_keys *to, const struct dsql_keys *from,
                                          struct dsql_err *err);
void dsql_keys_name(struct dsql_keys *keys, const char *fmt, ...) DSQL_PRINTF(2, 3);
void dsql_keys_fini(struct dsql_keys *keys);

static inline struct dsql_sigv4_keys dsql_keys_view(const struct dsql_keys *keys)
{
    return (struct dsql_sigv4_keys){
        .access_key_id = dsql_span_of(keys->access_key_id),
        .secret_access_key = &keys->secret_access_key,
        .session_token = &keys->session_token,
    };
}

#endif
