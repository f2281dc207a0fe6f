#include <stdlib.h>
#include <unistd.h>

#include "aws/endpoint.h"
#include "base/duration.h"
#include "base/shown.h"
#include "cli/local_run.h"
#include "pool/roots.h"

/* The caller's own keys, which must not stand on a command line. */
static bool keys_option(const struct dsql_args *args, struct dsql_local_keys *keys,
                        struct dsql_err *err)
{
    if (!dsql_args_has(args, "aws-keys"))
        return true;
    const char *id = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
    const char *token = getenv("AWS_SESSION_TOKEN");
    if (!id || !secret || !secret[0] || !dsql_local_keys_is_id(dsql_span_of(id))) {
        (void)dsql_err_set(err, DSQL_INVALID,
                           "--aws-keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set");
        return false;
    }
    if (dsql_local_keys_have_breaks(dsql_span_of(secret)) ||
        dsql_local_keys_have_breaks(dsql_span_of(token ? token : ""))) {
        (void)dsql_err_set(
            err, DSQL_INVALID,
            "--aws-keys: AWS_SECRET_ACCESS_KEY or AWS_SESSION_TOKEN has a line break");
        return false;
    }
    (void)snprintf(keys->access_key_id, sizeof(keys->access_key_id), "%s", id);
    if (dsql_secret_set(&keys->secret_access_key, dsql_span_of(secret)) ||
        dsql_secret_set(&keys->session_token, dsql_span_of(token ? token : ""))) {
        (void)dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
        return false;
    }
    return true;
}

/* Found before anything is started. */
static bool check_faults(const struct dsql_local_options *options, struct dsql_err *err)
{
    struct dsql_faults faults;
    struct dsql_fault_order order;
    dsql_faults_init(&faults);
    return !dsql_faults_set(&faults, dsql_span_of(options->faults), &order, err);
}

static bool chance_option(const struct dsql_args *args, const char *name, double *chance,
                          struct dsql_err *err)
{
    const char *text = dsql_args_get(args, name);
    if (!text || dsql_fault_read_chance(dsql_span_of(text), chance))
        return true;
    (void)dsql_err_set(err, DSQL_INVALID, "--%s=%s is no chance such as 0.1 or 10%%", name,
                       dsql_shown_str(text).text);
    return false;
}

static bool dialect_option(const struct dsql_args *args, struct dsql_sql_dialect *dialect,
                           struct dsql_err *err)
{
    const char *text = dsql_args_get(args, "dialect");
    if (!text || dsql_sql_dialect_read(dsql_span_of(text), dialect))
        return true;
    (void)dsql_err_set(err, DSQL_INVALID, "--dialect=%s is no month or day since 2026-01",
                       dsql_shown_str(text).text);
    dsql_err_hint(err, "such as 2026-08, which is its end, or 2026-08-25");
    return false;
}

static bool check_names(const struct dsql_local_options *options, struct dsql_err *err)
{
    bool is_host = !options->host[0] || dsql_endpoint_is_host(dsql_span_of(options->host));
    if (!is_host || !dsql_endpoint_is_region(dsql_span_of(options->region))) {
        (void)dsql_err_set(err, DSQL_INVALID,
                           "the endpoint must be a host name and the region one like us-east-1");
        return false;
    }
    if (dsql_local_is_arn(dsql_span_of(options->arn)))
        return true;
    (void)dsql_err_set(err, DSQL_INVALID, "--arn=%s is no ARN of an IAM user or role",
                       dsql_shown_str(options->arn).text);
    dsql_err_hint(err, "such as arn:aws:iam::123456789012:role/app");
    return false;
}

enum dsql_rc dsql_local_read_options(const struct dsql_args *args, int64_t default_port,
                                     struct dsql_local_options *options, struct dsql_err *err)
{
    int64_t port = default_port;
    dsql_local_options_default(options);
    bool ok =
        !dsql_args_number(args, "port", 0, 65535, &port, err) &&
        !dsql_args_text(args, "endpoint", options->host, sizeof(options->host), err) &&
        !dsql_args_text(args, "region", options->region, sizeof(options->region), err) &&
        !dsql_args_text(args, "arn", options->arn, sizeof(options->arn), err) &&
        !dsql_args_text(args, "fault", options->faults, sizeof(options->faults), err) &&
        !dsql_args_number(args, "rate", 1, 100000, &options->rate, err) &&
        !dsql_args_number(args, "burst", 1, 100000, &options->burst, err) &&
        !dsql_args_number(args, "max-connections", 1, 100000, &options->open_max, err) &&
        !dsql_args_number(args, "max-logins", 1, 100000, &options->logins_max, err) &&
        !dsql_args_duration(args, "login-time", DSQL_MS, DSQL_H, &options->login_limit_ns, err) &&
        !dsql_args_duration(args, "lifetime", DSQL_MS, 24 * DSQL_H, &options->lifetime_ns, err) &&
        !dsql_args_duration(args, "transaction-age", DSQL_MS, 24 * DSQL_H, &options->limits.age_ns,
                            err) &&
        !dsql_args_number(args, "time-scale", 1, 100000, &options->time_scale, err) &&
        chance_option(args, "stale-catalogue", &options->stale.chance, err) &&
        chance_option(args, "stale-own", &options->stale.own, err) &&
        !dsql_args_duration(args, "stale-delay", 0, DSQL_H, &options->stale.delay_ns, err) &&
        dialect_option(args, &options->dialect, err) && check_names(options, err) &&
        check_faults(options, err) && keys_option(args, &options->keys, err);
    options->port = (uint16_t)port;
    options->no_wall = dsql_args_has(args, "no-wall");
    const char *roots = getenv("SSL_CERT_FILE"); /* the caller's own are to stay trusted */
    options->roots = roots && access(roots, R_OK) == 0 ? roots : dsql_roots_bundle();
    return ok ? DSQL_OK : DSQL_INVALID;
}
