/* Credentials of a profile: roles (chains of them), web identity, keys, a command. The order is
 * that of AWS's own tools. */
#include <stdlib.h>

#include "aws/keys_json.h"
#include "aws/process.h"
#include "aws/sts.h"
#include "base/shown.h"

enum { CHAIN_MAX = 16, COMMAND_MAX = 16 * 1024, WEB_TOKEN_MAX = 20 * 1024 };

/* The profiles on the way from the one in use to the one with keys. */
struct trail {
    struct dsql_span names[CHAIN_MAX];
    size_t count;
};

static bool get(const struct dsql_provider *p, struct dsql_span profile, const char *key,
                struct dsql_span *value)
{
    return dsql_profiles_get(p->profiles, profile, key, value);
}

static bool has(const struct dsql_provider *p, struct dsql_span profile, const char *key)
{
    struct dsql_span value;
    return get(p, profile, key, &value);
}

static bool has_keys(const struct dsql_provider *p, struct dsql_span profile)
{
    return has(p, profile, "aws_access_key_id") || has(p, profile, "aws_secret_access_key");
}

/* A role that needs other credentials; with a web identity it needs none. */
static bool has_role(const struct dsql_provider *p, struct dsql_span profile)
{
    return has(p, profile, "role_arn") && !has(p, profile, "web_identity_token_file");
}

static enum dsql_rc fail(enum dsql_rc rc, struct dsql_span profile, struct dsql_err *err)
{
    char name[sizeof("profile ") + DSQL_SHOWN_MAX + 4];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, name, sizeof(name));
    dsql_strbuf_addf(&sb, "profile %s", dsql_shown(profile).text);
    return dsql_provider_failed(rc, err, name);
}

static enum dsql_rc complain(enum dsql_rc rc, struct dsql_span profile, struct dsql_err *err,
                             const char *what, const char *hint)
{
    (void)dsql_err_set(err, rc, "%s", what);
    dsql_err_hint(err, "%s", hint);
    return fail(rc, profile, err);
}

/* The keys of one file. */
static enum dsql_rc keys_in(const struct dsql_provider *p, enum dsql_aws_file file,
                            struct dsql_span profile, struct dsql_keys *keys, struct dsql_err *err)
{
    struct dsql_span id = {0}, secret = {0}, session = DSQL_SPAN("");
    bool has_id = dsql_profiles_get_in(p->profiles, file, profile, "aws_access_key_id", &id);
    bool has_secret =
        dsql_profiles_get_in(p->profiles, file, profile, "aws_secret_access_key", &secret);
    if (!has_id && !has_secret)
        return DSQL_NOT_FOUND;
    (void)dsql_profiles_get_in(p->profiles, file, profile, "aws_session_token", &session);
    enum dsql_rc rc = dsql_keys_set(keys, id, secret, session, (struct dsql_wall){0}, err);
    if (rc == DSQL_INVALID) {
        dsql_err_hint(err, "set aws_access_key_id and aws_secret_access_key, both of them, in %s",
                      dsql_shown_str(p->profiles->files[file].path).text);
        return fail(rc, profile, err);
    }
    return rc;
}

static enum dsql_rc keys_of_process(struct dsql_provider *p, struct dsql_span profile,
                                    struct dsql_keys *keys, struct dsql_err *err)
{
    struct dsql_span command;
    char text[COMMAND_MAX];
    if (!get(p, profile, "credential_process", &command))
        return DSQL_NOT_FOUND;
    if (command.len >= sizeof(text))
        return complain(DSQL_INVALID, profile, err, "credential_process is too long",
                        "put the command into a script");
    memcpy(text, command.ptr, command.len);
    text[command.len] = '\0';
    dsql_strbuf_clear(&p->answer);
    enum dsql_rc rc =
        dsql_process_run(text, p->clock, p->limits.process_ns, p->cancel_fd, &p->answer, err);
    if (!rc &&
        (rc = dsql_keys_parse_json(DSQL_KEYS_PROCESS, dsql_strbuf_span(&p->answer), keys, err)))
        dsql_err_hint(err, "it must print {\"Version\": 1, \"AccessKeyId\": ..., "
                           "\"SecretAccessKey\": ..., \"SessionToken\": ..., \"Expiration\": ...}");
    if (rc) {
        (void)dsql_provider_failed(rc, err, "credential_process");
        return fail(rc, profile, err);
    }
    return DSQL_OK;
}

static enum dsql_rc refuse_sso(const struct dsql_provider *p, struct dsql_span profile,
                               struct dsql_err *err)
{
    if (!has(p, profile, "sso_session") && !has(p, profile, "sso_start_url"))
        return DSQL_NOT_FOUND;
    return complain(DSQL_UNSUPPORTED, profile, err,
                    "it signs in with IAM Identity Center (sso), which libdsql does not do itself",
                    "make another profile with credential_process = aws configure "
                    "export-credentials --profile THIS --format process");
}

/* The token file and role of the environment (unless from_env is false), or else of the profile. */
static enum dsql_rc web_identity(struct dsql_provider *p, struct dsql_span profile, bool from_env,
                                 struct dsql_keys *keys, struct dsql_err *err)
{
    const struct {
        const char *variable, *key;
    } names[] = {
        {"AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file"},
        {"AWS_ROLE_ARN", "role_arn"},
        {"AWS_ROLE_SESSION_NAME", "role_session_name"},
    };
    struct dsql_span parts[DSQL_COUNT_OF(names)];
    for (size_t i = 0; i < DSQL_COUNT_OF(names); i++) {
        const char *value = from_env ? dsql_aws_env_get(p->env, names[i].variable) : NULL;
        parts[i] = dsql_span_of(value ? value : "");
        if (!value)
            (void)get(p, profile, names[i].key, &parts[i]);
    }
    if (parts[0].len == 0)
        return dsql_err_set(err, DSQL_NOT_FOUND, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
    if (parts[1].len == 0) {
        (void)dsql_err_set(err, DSQL_INVALID, "web identity: a token file, but no role");
        dsql_err_hint(err, "set AWS_ROLE_ARN, or role_arn in the profile");
        return DSQL_INVALID;
    }
    struct dsql_role role = {.arn = parts[1], .session_name = parts[2]};
    struct dsql_secret token = {0};
    char path[PATH_MAX];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, path, sizeof(path));
    dsql_strbuf_add(&sb, parts[0]);
    (void)get(p, profile, "region", &role.region);
    enum dsql_rc rc = dsql_secret_read_file(path, WEB_TOKEN_MAX, &token, err);
    if (rc == DSQL_NOT_FOUND)
        rc = DSQL_IO; /* the token file is set up, but missing */
    struct dsql_secret trimmed = {0};
    if (!rc &&
        dsql_secret_set(&trimmed, dsql_span_trim(dsql_revealed_span(dsql_secret_reveal(&token)))))
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (!rc && dsql_secret_is_empty(&trimmed))
        rc = dsql_err_set(err, DSQL_INVALID, "the token file is empty");
    if (!rc)
        rc = dsql_sts_assume_role_with(p, &role, &trimmed, keys, err);
    dsql_secret_fini(&trimmed);
    dsql_secret_fini(&token);
    if (rc)
        return dsql_provider_failed(rc, err, "web identity");
    dsql_keys_name(keys, "web identity");
    return DSQL_OK;
}

/* What a profile has without another one's help. */
static enum dsql_rc own_keys(struct dsql_provider *p, struct dsql_span profile, bool from_env,
                             struct dsql_keys *keys, struct dsql_err *err)
{
    enum dsql_rc rc = web_identity(p, profile, from_env, keys, err);
    if (rc != DSQL_NOT_FOUND)
        return rc;
    if ((rc = refuse_sso(p, profile, err)) == DSQL_NOT_FOUND &&
        (rc = keys_in(p, DSQL_AWS_CREDENTIALS, profile, keys, err)) == DSQL_NOT_FOUND &&
        (rc = keys_of_process(p, profile, keys, err)) == DSQL_NOT_FOUND)
        rc = keys_in(p, DSQL_AWS_CONFIG, profile, keys, err);
    if (!rc)
        dsql_keys_name(keys, "profile %s", dsql_shown(profile).text);
    return rc;
}

static enum dsql_rc keys_of_source(struct dsql_provider *p, struct dsql_span profile,
                                   struct dsql_span source, struct dsql_keys *keys,
                                   struct dsql_err *err)
{
    static const struct {
        const char *name;
        dsql_provider_fn *fetch;
    } sources[] = {
        {"Environment", dsql_provider_environment},
        {"EcsContainer", dsql_provider_container},
        {"Ec2InstanceMetadata", dsql_provider_instance},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(sources); i++) {
        if (!dsql_span_eq_nocase(source, dsql_span_of(sources[i].name)))
            continue;
        enum dsql_rc rc = sources[i].fetch(p, keys, err);
        if (rc == DSQL_NOT_FOUND) {
            struct dsql_err why = *err;
            (void)dsql_err_set(err, DSQL_DENIED, "its credential_source %s has nothing: %s",
                               sources[i].name, why.message);
            dsql_err_hint(err, "set that source up, or use source_profile instead");
            rc = DSQL_DENIED;
        }
        return rc ? fail(rc, profile, err) : DSQL_OK;
    }
    return complain(DSQL_INVALID, profile, err, "its credential_source is none",
                    "write Environment, EcsContainer or Ec2InstanceMetadata");
}

/* A profile may name itself as its source if it has keys; any other repetition is a circle. */
static enum dsql_rc step(struct trail *trail, const struct dsql_provider *p,
                         struct dsql_span profile, struct dsql_span source, struct dsql_err *err)
{
    if (!dsql_profiles_has(p->profiles, source)) {
        (void)dsql_err_set(err, DSQL_INVALID, "its source_profile %s is in neither file",
                           dsql_shown(source).text);
        dsql_err_hint(err, "add it, or mend the name; in the config file it is [profile NAME]");
        return fail(DSQL_INVALID, profile, err);
    }
    for (size_t i = 0; i < trail->count; i++)
        if (dsql_span_eq(trail->names[i], source) &&
            !(dsql_span_eq(profile, source) && has_keys(p, source)))
            return complain(DSQL_INVALID, profile, err,
                            "its source_profile leads back to a profile that needs it",
                            "let the last profile of the chain have keys of its own");
    if (trail->count == CHAIN_MAX)
        return complain(DSQL_INVALID, profile, err, "the chain of source_profile is too long",
                        "name a profile with keys sooner");
    trail->names[trail->count++] = source;
    return DSQL_OK;
}

static enum dsql_rc read_role(const struct dsql_provider *p, struct dsql_span profile,
                              struct dsql_role *role, struct dsql_err *err)
{
    struct dsql_span text;
    *role = (struct dsql_role){0};
    (void)get(p, profile, "role_arn", &role->arn);
    (void)get(p, profile, "role_session_name", &role->session_name);
    (void)get(p, profile, "external_id", &role->external_id);
    (void)get(p, profile, "region", &role->region);
    if (has(p, profile, "mfa_serial"))
        return complain(DSQL_UNSUPPORTED, profile, err,
                        "it wants a code from an MFA device (mfa_serial), and a program cannot "
                        "type it",
                        "use a role without MFA for this program, or credential_process");
    if (get(p, profile, "duration_seconds", &text) &&
        (!dsql_span_to_i64(text, &role->duration_s) ||
         role->duration_s < DSQL_ROLE_DURATION_MIN_S ||
         role->duration_s > DSQL_ROLE_DURATION_MAX_S))
        return complain(DSQL_INVALID, profile, err, "its duration_seconds is not 900 to 43200",
                        "mend it, or leave it out for an hour");
    return DSQL_OK;
}

static enum dsql_rc keys_of_role(struct dsql_provider *p, struct dsql_span profile,
                                 struct trail *trail, struct dsql_keys *keys, struct dsql_err *err);

static enum dsql_rc keys_for_role(struct dsql_provider *p, struct dsql_span profile,
                                  struct trail *trail, struct dsql_keys *keys, struct dsql_err *err)
{
    struct dsql_span source, credential_source;
    bool by_profile = get(p, profile, "source_profile", &source);
    bool by_source = get(p, profile, "credential_source", &credential_source);
    if (by_profile == by_source)
        return complain(DSQL_INVALID, profile, err,
                        by_profile ? "it has both source_profile and credential_source"
                                   : "it has a role_arn, but neither source_profile nor "
                                     "credential_source",
                        "one of the two says whose credentials ask for the role");
    if (by_source)
        return keys_of_source(p, profile, credential_source, keys, err);
    enum dsql_rc rc = step(trail, p, profile, source, err);
    if (rc)
        return rc;
    if (has_role(p, source) && !has_keys(p, source))
        return keys_of_role(p, source, trail, keys, err);
    rc = own_keys(p, source, false, keys, err);
    if (rc == DSQL_NOT_FOUND)
        return complain(DSQL_INVALID, source, err, "it is a source_profile, but has no credentials",
                        "give it aws_access_key_id and aws_secret_access_key, or a role_arn");
    return rc;
}

static enum dsql_rc keys_of_role(struct dsql_provider *p, struct dsql_span profile,
                                 struct trail *trail, struct dsql_keys *keys, struct dsql_err *err)
{
    struct dsql_role role;
    struct dsql_keys with = {0};
    enum dsql_rc rc = read_role(p, profile, &role, err);
    if (!rc)
        rc = keys_for_role(p, profile, trail, &with, err);
    if (!rc) {
        rc = dsql_sts_assume_role(p, &role, &with, keys, err);
        if (rc)
            rc = fail(rc, profile, err);
        else
            dsql_keys_name(keys, "profile %s (role)", dsql_shown(profile).text);
    }
    dsql_keys_fini(&with);
    return rc;
}

enum dsql_rc dsql_provider_profile(struct dsql_provider *p, struct dsql_keys *keys,
                                   struct dsql_err *err)
{
    if (p->profile_named && !dsql_profiles_has(p->profiles, p->profile)) {
        (void)dsql_err_set(err, DSQL_INVALID, "profile %s is in neither %s nor %s",
                           dsql_shown(p->profile).text,
                           dsql_shown_str(p->profiles->files[DSQL_AWS_CONFIG].path).text,
                           dsql_shown_str(p->profiles->files[DSQL_AWS_CREDENTIALS].path).text);
        dsql_err_hint(err, "mend AWS_PROFILE, or add [profile NAME] to the config file");
        return DSQL_INVALID;
    }
    if (has_role(p, p->profile)) {
        struct trail trail = {.names = {p->profile}, .count = 1};
        return keys_of_role(p, p->profile, &trail, keys, err);
    }
    enum dsql_rc rc = own_keys(p, p->profile, !p->profile_only, keys, err);
    if (rc == DSQL_NOT_FOUND)
        (void)dsql_err_set(err, rc, "profile %s has none", dsql_shown(p->profile).text);
    return rc;
}
