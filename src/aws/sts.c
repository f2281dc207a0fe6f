#include "aws/sts.h"

#include "aws/amz_time.h"
#include "aws/endpoint.h"
#include "aws/sts_xml.h"
#include "aws/uri.h"
#include "base/shown.h"

enum { BODY_MAX = 32 * 1024 }; /* a web identity token has a few thousand bytes */

/* China's regions have a domain of their own. */
static const char *domain_of(struct dsql_span region)
{
    return dsql_span_starts(region, DSQL_SPAN("cn-")) ? "amazonaws.com.cn" : "amazonaws.com";
}

enum dsql_rc dsql_sts_find(const struct dsql_provider *p, struct dsql_span profile_region,
                           struct dsql_sts_place *place, struct dsql_err *err)
{
    const char *region = dsql_aws_env_get(p->env, "AWS_REGION");
    region = region ? region : dsql_aws_env_get(p->env, "AWS_DEFAULT_REGION");
    struct dsql_span name = region               ? dsql_span_of(region)
                            : profile_region.len ? profile_region
                                                 : p->region;
    if (name.len > 0 && !dsql_endpoint_is_region(name)) {
        (void)dsql_err_set(err, DSQL_INVALID, "'%s' is no AWS region", dsql_shown(name).text);
        dsql_err_hint(err, "set AWS_REGION to one such as us-east-1");
        return DSQL_INVALID;
    }
    struct dsql_strbuf url, scope;
    dsql_strbuf_init(&url, place->url, sizeof(place->url));
    dsql_strbuf_init(&scope, place->region, sizeof(place->region));
    /* Without a region there is the global endpoint, whose signatures are for us-east-1. */
    dsql_strbuf_add(&scope, name.len ? name : DSQL_SPAN("us-east-1"));
    const char *given = NULL;
    if (!dsql_aws_env_is_true(p->env, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) {
        given = dsql_aws_env_get(p->env, "AWS_ENDPOINT_URL_STS");
        given = given ? given : dsql_aws_env_get(p->env, "AWS_ENDPOINT_URL");
    }
    if (given)
        dsql_strbuf_add_str(&url, given);
    else if (name.len > 0)
        dsql_strbuf_addf(&url, "https://sts.%.*s.%s/", DSQL_SPAN_ARG(name), domain_of(name));
    else
        dsql_strbuf_add_str(&url, "https://sts.amazonaws.com/");
    struct dsql_url parsed;
    if (url.cut || !dsql_url_parse(dsql_strbuf_span(&url), &parsed)) {
        (void)dsql_err_set(err, DSQL_INVALID, "'%s' is no URL for STS",
                           dsql_shown_str(given ? given : "").text);
        dsql_err_hint(err, "mend AWS_ENDPOINT_URL_STS or AWS_ENDPOINT_URL: https://host/");
        return DSQL_INVALID;
    }
    return DSQL_OK;
}

static void add_param(struct dsql_strbuf *body, const char *name, struct dsql_span value)
{
    if (value.len == 0)
        return;
    dsql_strbuf_add_str(body, body->len ? "&" : "");
    dsql_strbuf_add_str(body, name);
    dsql_strbuf_add_char(body, '=');
    dsql_uri_add_encoded(body, value);
}

static enum dsql_rc add_role(struct dsql_strbuf *body, const char *action,
                             const struct dsql_provider *p, const struct dsql_role *role,
                             struct dsql_err *err)
{
    char made_up[64];
    struct dsql_strbuf name, duration;
    char digits[24];
    dsql_strbuf_init(&name, made_up, sizeof(made_up));
    dsql_strbuf_addf(&name, "libdsql-%lld", (long long)(dsql_clock_wall(p->clock).ns / DSQL_S));
    dsql_strbuf_init(&duration, digits, sizeof(digits));
    if (role->duration_s)
        dsql_strbuf_add_i64(&duration, role->duration_s);
    add_param(body, "Action", dsql_span_of(action));
    add_param(body, "Version", DSQL_SPAN("2011-06-15"));
    add_param(body, "RoleArn", role->arn);
    add_param(body, "RoleSessionName",
              role->session_name.len ? role->session_name : dsql_strbuf_span(&name));
    add_param(body, "ExternalId", role->external_id);
    add_param(body, "DurationSeconds", dsql_strbuf_span(&duration));
    return body->cut ? dsql_err_set(err, DSQL_LIMIT, "the request to STS is too long") : DSQL_OK;
}

/* Credentials, or what the service has against it. */
static enum dsql_rc read_answer(struct dsql_provider *p, int status, const struct dsql_role *role,
                                struct dsql_keys *keys, struct dsql_err *err)
{
    struct dsql_span answer = dsql_strbuf_span(&p->answer);
    struct dsql_sts_error refusal;
    if (status == 200)
        return dsql_sts_parse_keys(answer, keys, err);
    if (!dsql_sts_parse_error(answer, &refusal)) {
        enum dsql_rc rc = status >= 500 ? DSQL_IO : status == 429 ? DSQL_THROTTLED : DSQL_DENIED;
        (void)dsql_err_set(err, rc, "STS answered with status %d and without a reason", status);
        dsql_err_hint(err, "check AWS_ENDPOINT_URL_STS and any proxy in between, then try again");
        return rc;
    }
    bool throttled = status == 429 || strstr(refusal.code, "Throttl") != NULL;
    enum dsql_rc rc = throttled ? DSQL_THROTTLED : status >= 500 ? DSQL_IO : DSQL_DENIED;
    (void)dsql_err_set(err, rc, "STS refused with %s: %s", refusal.code, refusal.message);
    if (rc == DSQL_DENIED)
        dsql_err_hint(err, "check the trust policy of %s and the credentials that ask for it",
                      dsql_shown(role->arn).text);
    else
        dsql_err_hint(err, "it is tried again by itself");
    return rc;
}

static enum dsql_rc post(struct dsql_provider *p, const struct dsql_sts_place *place,
                         struct dsql_strbuf *body, const struct dsql_keys *with, int *status,
                         struct dsql_err *err)
{
    struct dsql_url url;
    bool parsed = dsql_url_parse(dsql_span_of(place->url), &url);
    assert(parsed); /* dsql_sts_find() has seen it */
    struct dsql_sigv4_header headers[DSQL_HTTP_HEADERS_MAX] = {
        {DSQL_SPAN("Content-Type"), DSQL_SPAN("application/x-www-form-urlencoded; charset=utf-8")},
        {DSQL_SPAN("Host"), url.authority},
    };
    struct dsql_http_request request = {
        .method = "POST",
        .url = place->url,
        .headers = headers,
        .header_count = 2,
        .body = dsql_strbuf_span(body),
        .timeout_ns = p->limits.http_ns,
        .direct = dsql_url_is_local(&url),
        .cancel_fd = p->cancel_fd,
    };
    char hash[DSQL_SIGV4_HEX_SIZE], text[4096];
    struct dsql_strbuf signature;
    struct dsql_sigv4_added added = {.count = 0};
    enum dsql_rc rc;
    dsql_strbuf_init(&signature, text, sizeof(text));
    if (with) {
        const struct dsql_sigv4_signer signer = {
            .keys = dsql_keys_view(with),
            .region = dsql_span_of(place->region),
            .service = DSQL_SPAN("sts"),
            .at = dsql_clock_wall(p->clock),
        };
        if ((rc = dsql_sigv4_hash(request.body, hash, err)))
            return rc;
        const struct dsql_sigv4_request to_sign = {
            .method = DSQL_SPAN("POST"),
            .path = url.path,
            .query = url.query,
            .headers = headers,
            .header_count = 2,
            .payload_hash = dsql_span_of(hash),
        };
        if ((rc = dsql_sigv4_sign(&signer, &to_sign, &signature, &added, err)))
            return rc;
        for (size_t i = 0; i < added.count; i++)
            headers[request.header_count++] = added.headers[i];
    }
    return dsql_provider_ask(p, &request, status, err);
}

/* By keys that sign the request, or by a token in it: one of the two is NULL. */
static enum dsql_rc assume(struct dsql_provider *p, const struct dsql_role *role,
                           const struct dsql_keys *with, const struct dsql_secret *web_identity,
                           struct dsql_keys *keys, struct dsql_err *err)
{
    struct dsql_sts_place place;
    char memory[BODY_MAX];
    struct dsql_strbuf body;
    int status;
    dsql_strbuf_init(&body, memory, sizeof(memory));
    enum dsql_rc rc = dsql_sts_find(p, role->region, &place, err);
    if (!rc && web_identity)
        add_param(&body, "WebIdentityToken", dsql_revealed_span(dsql_secret_reveal(web_identity)));
    if (!rc)
        rc = add_role(&body, web_identity ? "AssumeRoleWithWebIdentity" : "AssumeRole", p, role,
                      err);
    if (!rc)
        rc = post(p, &place, &body, with, &status, err);
    explicit_bzero(memory, sizeof(memory)); /* the token */
    return rc ? rc : read_answer(p, status, role, keys, err);
}

enum dsql_rc dsql_sts_assume_role(struct dsql_provider *p, const struct dsql_role *role,
                                  const struct dsql_keys *with, struct dsql_keys *keys,
                                  struct dsql_err *err)
{
    return assume(p, role, with, NULL, keys, err);
}

enum dsql_rc dsql_sts_assume_role_with(struct dsql_provider *p, const struct dsql_role *role,
                                       const struct dsql_secret *web_identity,
                                       struct dsql_keys *keys, struct dsql_err *err)
{
    return assume(p, role, NULL, web_identity, keys, err);
}
