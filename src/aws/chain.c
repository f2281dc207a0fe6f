/* The chain of providers as a source of credentials, and dsql_credentials_new(). */
#include <stdlib.h>
#include <unistd.h>

#include "aws/chain.h"

static const struct dsql_provider_limits limits_default = {
    .http_ns = 5 * DSQL_S,
    .metadata_ns = DSQL_S,
    .process_ns = DSQL_M,
};

struct chain {
    struct dsql_credentials_source source;
    struct dsql_aws_env env;
    char *profile, *region; /* may be empty */
    struct dsql_provider_limits limits;
    const struct dsql_clock *clock;
    struct dsql_http *http;
};

enum dsql_rc dsql_provider_failed(enum dsql_rc rc, struct dsql_err *err, const char *name)
{
    if (err) {
        struct dsql_err inner = *err;
        (void)dsql_err_set(err, rc, "%s: %s", name, inner.message);
        if (inner.hint[0])
            dsql_err_hint(err, "%s", inner.hint);
    }
    return rc;
}

enum dsql_rc dsql_provider_ask(struct dsql_provider *p, const struct dsql_http_request *request,
                               int *status, struct dsql_err *err)
{
    struct dsql_http_response response;
    dsql_strbuf_clear(&p->answer);
    enum dsql_rc rc = dsql_http_send(p->http, request, &p->answer, &response, err);
    if (!rc)
        *status = response.status;
    return rc;
}

enum dsql_rc dsql_provider_environment(struct dsql_provider *p, struct dsql_keys *keys,
                                       struct dsql_err *err)
{
    const char *id = dsql_aws_env_get(p->env, "AWS_ACCESS_KEY_ID");
    const char *secret = dsql_aws_env_get(p->env, "AWS_SECRET_ACCESS_KEY");
    const char *session = dsql_aws_env_get(p->env, "AWS_SESSION_TOKEN");
    if (!id && !secret)
        return dsql_err_set(err, DSQL_NOT_FOUND, "AWS_ACCESS_KEY_ID is not set");
    enum dsql_rc rc =
        dsql_keys_set(keys, dsql_span_of(id ? id : ""), dsql_span_of(secret ? secret : ""),
                      dsql_span_of(session ? session : ""), (struct dsql_wall){0}, err);
    if (rc) {
        if (rc == DSQL_INVALID)
            dsql_err_hint(err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, both of them, and "
                               "AWS_SESSION_TOKEN for temporary ones; or unset them all");
        return dsql_provider_failed(rc, err, "environment");
    }
    dsql_keys_name(keys, "environment");
    return DSQL_OK;
}

/* Asks all providers in their order, and says what was looked at if none is set up (DSQL_DENIED).
 */
static enum dsql_rc ask_all(struct dsql_provider *p, struct dsql_keys *keys, struct dsql_err *err)
{
    static const struct {
        const char *name;
        dsql_provider_fn *fetch;
    } providers[] = {
        {"environment", dsql_provider_environment},
        {"files", dsql_provider_profile},
        {"container", dsql_provider_container},
        {"instance", dsql_provider_instance},
    };
    char memory[400];
    struct dsql_strbuf tried;
    dsql_strbuf_init(&tried, memory, sizeof(memory));
    for (size_t i = p->profile_only ? 1 : 0; i < DSQL_COUNT_OF(providers); i++) {
        enum dsql_rc rc = providers[i].fetch(p, keys, err);
        if (rc != DSQL_NOT_FOUND)
            return rc;
        dsql_strbuf_addf(&tried, "%s%s: %s", tried.len ? "; " : "", providers[i].name,
                         err->message);
    }
    (void)dsql_err_set(err, DSQL_DENIED, "no AWS credentials (%s)", memory);
    dsql_err_hint(err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or run "
                       "where a role is attached");
    return DSQL_DENIED;
}

static enum dsql_rc fetch_with(struct chain *chain, struct dsql_profiles *profiles,
                               struct dsql_provider *p, struct dsql_keys *keys,
                               struct dsql_err *err)
{
    enum dsql_rc rc = dsql_profiles_load(profiles, p->env, err);
    if (rc) {
        /* Keys in the environment do not need the files. */
        enum dsql_rc by_env = p->profile_only
                                  ? DSQL_NOT_FOUND
                                  : dsql_provider_environment(p, keys, &(struct dsql_err){0});
        return by_env ? rc : DSQL_OK;
    }
    p->profiles = profiles;
    if (!chain->http)
        rc = dsql_http_new(&chain->http, err);
    p->http = chain->http;
    if (!rc)
        rc = ask_all(p, keys, err);
    dsql_profiles_fini(profiles);
    return rc;
}

static enum dsql_rc fetch(struct dsql_credentials_source *self, int cancel_fd,
                          struct dsql_keys *keys, struct dsql_err *err)
{
    struct chain *chain = DSQL_CONTAINER_OF(self, struct chain, source);
    struct dsql_profiles profiles;
    struct dsql_provider p = {
        .env = &chain->env,
        .profile = dsql_span_of(chain->profile),
        .region = dsql_span_of(chain->region),
        .clock = chain->clock,
        .limits = chain->limits,
        .cancel_fd = cancel_fd,
    };
    p.profile_named = p.profile_only = p.profile.len > 0;
    if (!p.profile_only) {
        const char *named = dsql_aws_env_get(p.env, "AWS_PROFILE");
        named = named ? named : dsql_aws_env_get(p.env, "AWS_DEFAULT_PROFILE");
        p.profile_named = named != NULL;
        p.profile = dsql_span_of(named ? named : "default");
    }
    char *memory = malloc(DSQL_PROVIDER_ANSWER_MAX);
    if (!memory)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    dsql_strbuf_init(&p.answer, memory, DSQL_PROVIDER_ANSWER_MAX);
    enum dsql_rc rc = fetch_with(chain, &profiles, &p, keys, err);
    explicit_bzero(memory, DSQL_PROVIDER_ANSWER_MAX);
    free(memory);
    return rc;
}

static void destroy(struct dsql_credentials_source *self)
{
    struct chain *chain = DSQL_CONTAINER_OF(self, struct chain, source);
    dsql_http_destroy(chain->http);
    dsql_aws_env_fini(&chain->env);
    free(chain->profile);
    free(chain->region);
    free(chain);
}

enum dsql_rc dsql_chain_new(const struct dsql_credentials_options *options,
                            const struct dsql_provider_limits *limits,
                            const struct dsql_clock *clock, struct dsql_credentials_source **source,
                            struct dsql_err *err)
{
    const struct dsql_credentials_options none = {0};
    options = options ? options : &none;
    struct chain *made = calloc(1, sizeof(*made));
    if (!made)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    made->source = (struct dsql_credentials_source){fetch, destroy};
    made->limits = *limits;
    made->clock = clock;
    enum dsql_rc rc = dsql_aws_env_init(
        &made->env, options->environment ? options->environment : (const char *const *)environ,
        err);
    made->profile = strdup(options->profile ? options->profile : "");
    made->region = strdup(options->region ? options->region : "");
    if (!rc && (!made->profile || !made->region))
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (rc) {
        destroy(&made->source);
        return rc;
    }
    *source = &made->source;
    return DSQL_OK;
}

enum dsql_rc dsql_credentials_new(const struct dsql_credentials_options *options,
                                  struct dsql_credentials **credentials, struct dsql_err *err)
{
    struct dsql_credentials_source *source;
    enum dsql_rc rc =
        dsql_chain_new(options, &limits_default, dsql_clock_or_boot(NULL), &source, err);
    if (rc)
        return rc;
    const struct dsql_credentials_setup setup = {.source = source};
    return dsql_credentials_make(&setup, credentials, err);
}
