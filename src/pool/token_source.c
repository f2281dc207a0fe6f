#include "pool/token_source.h"

#include <stdio.h>
#include <stdlib.h>

#include "aws/token.h"

struct dsql_token_source {
    char host[256], region[64], user[64];
    int64_t duration_ns;
};

enum dsql_rc dsql_token_source_new(const struct dsql_token_source_options *options,
                                   struct dsql_token_source **source, struct dsql_err *err)
{
    struct dsql_token_source *s = calloc(1, sizeof(*s));
    if (!s)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    (void)snprintf(s->host, sizeof(s->host), "%s", options->host);
    (void)snprintf(s->region, sizeof(s->region), "%s", options->region);
    (void)snprintf(s->user, sizeof(s->user), "%s", options->user);
    s->duration_ns = options->duration_ns;
    *source = s;
    return DSQL_OK;
}

void dsql_token_source_destroy(struct dsql_token_source *source)
{
    free(source);
}

static struct dsql_span from_env(const char *name)
{
    const char *value = getenv(name);
    return dsql_span_of(value ? value : "");
}

enum dsql_rc dsql_token_source_try(struct dsql_token_source *source, struct dsql_secret *token,
                                   struct dsql_err *err)
{
    struct dsql_secret secret = {0}, session = {0};
    struct dsql_token_order order = {
        .keys = {.access_key_id = from_env("AWS_ACCESS_KEY_ID"),
                 .secret_access_key = &secret,
                 .session_token = &session},
        .host = dsql_span_of(source->host),
        .region = dsql_span_of(source->region),
        .action = dsql_token_action_of(dsql_span_of(source->user)),
        .at = dsql_clock_wall(&dsql_clock_system),
        .expires_s = source->duration_ns / DSQL_S,
    };
    enum dsql_rc rc = dsql_secret_set(&secret, from_env("AWS_SECRET_ACCESS_KEY"));
    if (!rc)
        rc = dsql_secret_set(&session, from_env("AWS_SESSION_TOKEN"));
    if (!rc && (order.keys.access_key_id.len == 0 || dsql_secret_is_empty(&secret)))
        rc = dsql_err_set(err, DSQL_DENIED, "no AWS credentials in the environment");
    else if (!rc)
        rc = dsql_token_mint(&order, token, err);
    else
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    dsql_secret_fini(&secret);
    dsql_secret_fini(&session);
    return rc;
}

void dsql_token_source_refused(struct dsql_token_source *source, bool expired)
{
    (void)source; /* every token is new */
    (void)expired;
}
