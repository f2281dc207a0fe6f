/* Credentials from a metadata service near by: a container's (ECS, EKS Pod Identity) or the
 * instance's (EC2, version 2 only). */
#include "aws/keys_json.h"
#include "aws/provider.h"
#include "base/shown.h"

#include <arpa/inet.h>

enum { TOKEN_MAX = 8192, URL_MAX = 2048, ROLE_NAME_MAX = 256 };

static bool is_loopback(struct dsql_span host)
{
    char text[64];
    struct in_addr address;
    if (dsql_span_eq_nocase(host, DSQL_SPAN("localhost")) || dsql_span_eq(host, DSQL_SPAN("::1")))
        return true;
    if (host.len >= sizeof(text))
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    return inet_pton(AF_INET, text, &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

bool dsql_url_is_local(const struct dsql_url *url)
{
    return is_loopback(url->host) || dsql_span_starts(url->host, DSQL_SPAN("169.254.")) ||
           dsql_span_starts(url->host, DSQL_SPAN("fd00:ec2::"));
}

/* The addresses at which ECS and EKS serve credentials without TLS. */
static bool is_container_host(struct dsql_span host)
{
    return is_loopback(host) || dsql_span_eq(host, DSQL_SPAN("169.254.170.2")) ||
           dsql_span_eq(host, DSQL_SPAN("169.254.170.23")) ||
           dsql_span_eq_nocase(host, DSQL_SPAN("fd00:ec2::23"));
}

enum dsql_rc dsql_provider_container_url(const struct dsql_aws_env *env, struct dsql_strbuf *url,
                                         struct dsql_err *err)
{
    const char *relative = dsql_aws_env_get(env, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = dsql_aws_env_get(env, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    struct dsql_url parsed;
    if (!relative && !full)
        return dsql_err_set(err, DSQL_NOT_FOUND, "AWS_CONTAINER_CREDENTIALS_* is not set");
    if (relative) {
        dsql_strbuf_add_str(url, "http://169.254.170.2");
        dsql_strbuf_add_str(url, relative[0] == '/' ? "" : "/");
    }
    dsql_strbuf_add_str(url, relative ? relative : full);
    if (url->cut || !dsql_url_parse(dsql_strbuf_span(url), &parsed)) {
        (void)dsql_err_set(err, DSQL_INVALID, "AWS_CONTAINER_CREDENTIALS_%s_URI is no %s",
                           relative ? "RELATIVE" : "FULL", relative ? "path" : "URL");
        dsql_err_hint(err, "ECS and EKS set it themselves; unset it elsewhere");
        return DSQL_INVALID;
    }
    if (!parsed.tls && !is_container_host(parsed.host)) {
        (void)dsql_err_set(err, DSQL_INVALID,
                           "AWS_CONTAINER_CREDENTIALS_FULL_URI is http:// at %s, where credentials "
                           "may not travel in clear",
                           dsql_shown(parsed.host).text);
        dsql_err_hint(err, "use https://, or the loopback address, 169.254.170.2, 169.254.170.23 "
                           "or [fd00:ec2::23]");
        return DSQL_INVALID;
    }
    return DSQL_OK;
}

/* What goes into the Authorization header; may be empty. */
static enum dsql_rc container_token(const struct dsql_provider *p, struct dsql_secret *token,
                                    struct dsql_err *err)
{
    const char *path = dsql_aws_env_get(p->env, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *value = dsql_aws_env_get(p->env, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (!path) {
        if (value && dsql_secret_set(token, dsql_span_of(value)))
            return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
        return DSQL_OK;
    }
    enum dsql_rc rc = dsql_secret_read_file(path, TOKEN_MAX, token, err);
    if (rc == DSQL_NOT_FOUND)
        return DSQL_IO; /* the token file is set up, but missing */
    return rc;
}

static enum dsql_rc read_keys(struct dsql_provider *p, int status, struct dsql_keys *keys,
                              struct dsql_err *err)
{
    struct dsql_span answer = dsql_strbuf_span(&p->answer);
    if (status == 200)
        return dsql_keys_parse_json(DSQL_KEYS_METADATA, answer, keys, err);
    if (status < 500 && status != 429) {
        /* A refusal may carry its reason in the same form. */
        struct dsql_keys none = {0};
        enum dsql_rc rc = dsql_keys_parse_json(DSQL_KEYS_METADATA, answer, &none, err);
        dsql_keys_fini(&none);
        if (rc == DSQL_DENIED)
            return rc;
    }
    enum dsql_rc rc = status == 429 ? DSQL_THROTTLED : status >= 500 ? DSQL_IO : DSQL_DENIED;
    return dsql_err_set(err, rc, "it answered with status %d", status);
}

enum dsql_rc dsql_provider_container(struct dsql_provider *p, struct dsql_keys *keys,
                                     struct dsql_err *err)
{
    char memory[URL_MAX];
    struct dsql_strbuf url;
    struct dsql_url parsed;
    struct dsql_secret token = {0};
    int status = 0;
    dsql_strbuf_init(&url, memory, sizeof(memory));
    enum dsql_rc rc = dsql_provider_container_url(p->env, &url, err);
    if (rc == DSQL_NOT_FOUND)
        return rc;
    if (!rc)
        rc = container_token(p, &token, err);
    if (!rc) {
        (void)dsql_url_parse(dsql_strbuf_span(&url), &parsed);
        struct dsql_span proof = dsql_span_trim(dsql_revealed_span(dsql_secret_reveal(&token)));
        const struct dsql_sigv4_header headers[] = {
            {DSQL_SPAN("Accept"), DSQL_SPAN("application/json")},
            {DSQL_SPAN("Authorization"), proof},
        };
        const struct dsql_http_request request = {
            .method = "GET",
            .url = memory,
            .headers = headers,
            .header_count = proof.len ? 2 : 1,
            .timeout_ns = p->limits.http_ns,
            .direct = dsql_url_is_local(&parsed),
            .cancel_fd = p->cancel_fd,
        };
        rc = dsql_provider_ask(p, &request, &status, err);
        if (!rc && (rc = read_keys(p, status, keys, err)))
            dsql_err_hint(err, "check the task role (ECS) or the Pod Identity association (EKS), "
                               "and AWS_CONTAINER_AUTHORIZATION_TOKEN*");
    }
    dsql_secret_fini(&token);
    if (rc)
        return dsql_provider_failed(rc, err, "container credentials");
    dsql_keys_name(keys, "container");
    return DSQL_OK;
}

/* The instance's metadata service. */

static bool find_service(const struct dsql_aws_env *env, struct dsql_strbuf *base)
{
    const char *given = dsql_aws_env_get(env, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *mode = dsql_aws_env_get(env, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    struct dsql_url url;
    if (given)
        dsql_strbuf_add_str(base, given);
    else if (mode && dsql_span_eq_nocase(dsql_span_of(mode), DSQL_SPAN("ipv6")))
        dsql_strbuf_add_str(base, "http://[fd00:ec2::254]");
    else
        dsql_strbuf_add_str(base, "http://169.254.169.254");
    if (!base->cut && base->ptr[base->len - 1] == '/')
        base->ptr[--base->len] = '\0';
    return !base->cut && dsql_url_parse(dsql_strbuf_span(base), &url);
}

static enum dsql_rc ask_service(struct dsql_provider *p, const char *method, struct dsql_span base,
                                const char *path, struct dsql_span last,
                                const struct dsql_secret *token, int *status, struct dsql_err *err)
{
    char memory[URL_MAX];
    struct dsql_strbuf url;
    dsql_strbuf_init(&url, memory, sizeof(memory));
    dsql_strbuf_add(&url, base);
    dsql_strbuf_add_str(&url, path);
    dsql_strbuf_add(&url, last);
    const struct dsql_sigv4_header header = {
        token ? DSQL_SPAN("X-aws-ec2-metadata-token")
              : DSQL_SPAN("X-aws-ec2-metadata-token-ttl-seconds"),
        token ? dsql_revealed_span(dsql_secret_reveal(token)) : DSQL_SPAN("21600"),
    };
    const struct dsql_http_request request = {
        .method = method,
        .url = memory,
        .headers = &header,
        .header_count = 1,
        .timeout_ns = p->limits.metadata_ns,
        .direct = true,
        .cancel_fd = p->cancel_fd,
    };
    return url.cut ? dsql_err_set(err, DSQL_LIMIT, "the service's address is too long")
                   : dsql_provider_ask(p, &request, status, err);
}

static enum dsql_rc get_token(struct dsql_provider *p, struct dsql_span base,
                              struct dsql_secret *token, struct dsql_err *err)
{
    int status = 0;
    enum dsql_rc rc =
        ask_service(p, "PUT", base, "/latest/api/token", DSQL_SPAN(""), NULL, &status, err);
    if (rc == DSQL_LOST || rc == DSQL_TIMEOUT) {
        /* Not on EC2: no metadata service there is no error. */
        struct dsql_err lost = *err;
        (void)dsql_err_set(err, DSQL_NOT_FOUND, "%s", lost.message);
        return DSQL_NOT_FOUND;
    }
    if (rc)
        return rc;
    struct dsql_span answer = dsql_span_trim(dsql_strbuf_span(&p->answer));
    if (status == 403 || status == 404 || status == 405) /* switched off, or something else */
        return dsql_err_set(err, DSQL_NOT_FOUND, "the metadata service answered with status %d",
                            status);
    if (status != 200) {
        rc = status >= 500 ? DSQL_IO : DSQL_DENIED;
        (void)dsql_err_set(err, rc, "it gave no session token, but status %d", status);
        dsql_err_hint(err, "switch the metadata service on, or set AWS_EC2_METADATA_DISABLED=true "
                           "where it is not to be used");
        return rc;
    }
    if (answer.len == 0 || answer.len > TOKEN_MAX)
        return dsql_err_set(err, DSQL_PROTOCOL, "its session token is empty or too long");
    return dsql_secret_set(token, answer) ? dsql_err_set(err, DSQL_NO_MEMORY, "out of memory")
                                          : DSQL_OK;
}

/* The name of the role is the first line. */
static enum dsql_rc get_role(struct dsql_provider *p, struct dsql_span base,
                             const struct dsql_secret *token, char role[ROLE_NAME_MAX + 1],
                             struct dsql_err *err)
{
    int status = 0;
    struct dsql_span name, rest;
    enum dsql_rc rc = ask_service(p, "GET", base, "/latest/meta-data/iam/security-credentials/",
                                  DSQL_SPAN(""), token, &status, err);
    if (rc)
        return rc;
    (void)dsql_span_cut(dsql_strbuf_span(&p->answer), '\n', &name, &rest);
    name = dsql_span_trim(name);
    if (status == 404 || (status == 200 && name.len == 0))
        return dsql_err_set(err, DSQL_NOT_FOUND, "the instance has no role");
    if (status != 200)
        return dsql_err_set(err, status >= 500 ? DSQL_IO : DSQL_DENIED,
                            "asked for its role, it answered with status %d", status);
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] <= ' ' || name.ptr[i] > '~' || strchr("/?#%\\", name.ptr[i]))
            name.len = 0;
    if (name.len == 0 || name.len > ROLE_NAME_MAX)
        return dsql_err_set(err, DSQL_PROTOCOL, "asked for its role, it gave something else");
    memcpy(role, name.ptr, name.len);
    role[name.len] = '\0';
    return DSQL_OK;
}

enum dsql_rc dsql_provider_instance(struct dsql_provider *p, struct dsql_keys *keys,
                                    struct dsql_err *err)
{
    char base_memory[512], role[ROLE_NAME_MAX + 1];
    struct dsql_strbuf base;
    struct dsql_secret token = {0};
    int status = 0;
    dsql_strbuf_init(&base, base_memory, sizeof(base_memory));
    if (dsql_aws_env_is_true(p->env, "AWS_EC2_METADATA_DISABLED"))
        return dsql_err_set(err, DSQL_NOT_FOUND, "AWS_EC2_METADATA_DISABLED is true");
    if (!find_service(p->env, &base)) {
        (void)dsql_err_set(err, DSQL_INVALID,
                           "instance role: AWS_EC2_METADATA_SERVICE_ENDPOINT is no URL");
        dsql_err_hint(err, "write it as http://169.254.169.254, or unset it");
        return DSQL_INVALID;
    }
    enum dsql_rc rc = get_token(p, dsql_strbuf_span(&base), &token, err);
    if (!rc)
        rc = get_role(p, dsql_strbuf_span(&base), &token, role, err);
    if (rc == DSQL_NOT_FOUND) {
        dsql_secret_fini(&token);
        return rc;
    }
    if (!rc)
        rc = ask_service(p, "GET", dsql_strbuf_span(&base),
                         "/latest/meta-data/iam/security-credentials/", dsql_span_of(role), &token,
                         &status, err);
    if (!rc && (rc = read_keys(p, status, keys, err)))
        dsql_err_hint(err, "check the instance profile and the trust policy of its role");
    dsql_secret_fini(&token);
    if (rc)
        return dsql_provider_failed(rc, err, "instance role");
    dsql_keys_name(keys, "instance role %s", role);
    return DSQL_OK;
}
