/* `dsql token`: a token for Aurora DSQL, made from the keys in the environment. */
#include <stdlib.h>
#include <unistd.h>

#include "aws/amz_time.h"
#include "aws/endpoint.h"
#include "aws/token.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/shown.h"
#include "cli/commands.h"
#include "config/config.h"

static struct dsql_span span_or_empty(const char *text)
{
    return dsql_span_of(text ? text : "");
}

/* The option, or the setting of the same meaning. */
static struct dsql_span given_or(const struct dsql_args *args, const char *option,
                                 const char *setting)
{
    const char *given = dsql_args_get(args, option);
    return dsql_span_of(given ? given : setting);
}

/* "900" or "15m". */
static bool parse_expires(struct dsql_span text, int64_t *seconds)
{
    int64_t ns;
    if (dsql_span_to_i64(text, seconds))
        return true;
    if (!dsql_duration_parse(text, &ns))
        return false;
    *seconds = ns / DSQL_S;
    return true;
}

/* Whether somebody said that the role is admin; the default alone does not. */
static bool is_for_admin(const struct dsql_args *args, const struct dsql_config *config,
                         const struct dsql_config_report *report)
{
    return dsql_args_has(args, "admin") ||
           (report->source[DSQL_SETTING_user].variable &&
            dsql_token_action_of(dsql_span_of(config->user)) == DSQL_TOKEN_CONNECT_ADMIN);
}

static enum dsql_rc make_order(const struct dsql_args *args, const struct dsql_config *config,
                               struct dsql_endpoint *endpoint, struct dsql_token_order *order,
                               struct dsql_err *err)
{
    struct dsql_span host = given_or(args, "endpoint", config->endpoint), port;
    if (host.len == 0) {
        (void)dsql_err_set(err, DSQL_INVALID, "no endpoint");
        dsql_err_hint(err,
                      "give --endpoint or set DSQL_ENDPOINT; 'dsql config' says what was wrong "
                      "with the one that is set");
        return DSQL_INVALID;
    }
    dsql_span_cut(host, ':', &host, &port); /* a token is for a host, whatever the port */
    enum dsql_rc rc =
        dsql_endpoint_parse(host, given_or(args, "region", config->region), endpoint, err);
    if (rc)
        return rc;
    const char *expires = dsql_args_get(args, "expires"), *at = dsql_args_get(args, "at");
    order->expires_s = config->token_duration_ns / DSQL_S;
    if (expires && !parse_expires(dsql_span_of(expires), &order->expires_s))
        return dsql_err_set(err, DSQL_INVALID,
                            "--expires=%s is no number of seconds and no duration",
                            dsql_shown_str(expires).text);
    order->at = dsql_clock_wall(&dsql_clock_system);
    if (at && !dsql_amz_time_parse(dsql_span_of(at), &order->at))
        return dsql_err_set(err, DSQL_INVALID, "--at=%s is no time; write it as 20240827T000000Z",
                            dsql_shown_str(at).text);
    order->host = dsql_span_of(endpoint->host);
    order->region = dsql_span_of(endpoint->region);
    return DSQL_OK;
}

static enum dsql_rc read_keys(struct dsql_secret *secret, struct dsql_secret *session,
                              struct dsql_sigv4_keys *keys, struct dsql_err *err)
{
    keys->access_key_id = span_or_empty(getenv("AWS_ACCESS_KEY_ID"));
    struct dsql_span secret_text = span_or_empty(getenv("AWS_SECRET_ACCESS_KEY"));
    if (keys->access_key_id.len == 0 || secret_text.len == 0) {
        (void)dsql_err_set(err, DSQL_DENIED, "no AWS credentials in the environment");
        dsql_err_hint(err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and "
                           "AWS_SESSION_TOKEN for temporary ones");
        return DSQL_DENIED;
    }
    if (dsql_secret_set(secret, secret_text) ||
        dsql_secret_set(session, span_or_empty(getenv("AWS_SESSION_TOKEN"))))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    keys->secret_access_key = secret;
    keys->session_token = session;
    return DSQL_OK;
}

static int run(const struct dsql_args *args)
{
    struct dsql_config config;
    struct dsql_config_report report;
    struct dsql_endpoint endpoint;
    struct dsql_token_order order = {0};
    struct dsql_secret secret = {0}, session = {0}, token = {0};
    struct dsql_err err;
    int status = DSQL_EXIT_OK;
    dsql_config_load(&config, &report, (const char *const *)environ);
    dsql_config_log(&report, dsql_log_default());
    order.action =
        is_for_admin(args, &config, &report) ? DSQL_TOKEN_CONNECT_ADMIN : DSQL_TOKEN_CONNECT;
    if (make_order(args, &config, &endpoint, &order, &err) ||
        read_keys(&secret, &session, &order.keys, &err) || dsql_token_mint(&order, &token, &err))
        status = dsql_complain(&err);
    else
        printf("%s\n", dsql_secret_reveal(&token).ptr);
    dsql_secret_fini(&secret);
    dsql_secret_fini(&session);
    dsql_secret_fini(&token);
    return status;
}

static const struct dsql_option options[] = {
    {"endpoint", 0, "HOST", "the cluster's host name or 26-character id (DSQL_ENDPOINT)"},
    {"region", 0, "REGION", "AWS region; needed when the host name does not tell it (DSQL_REGION)"},
    {"admin", 0, NULL,
     "for the role admin (DbConnectAdmin), as with DSQL_USER=admin, instead of any "
     "other (DbConnect)"},
    {"expires", 0, "SECONDS",
     "how long it is valid: seconds, or a duration such as 15m (DSQL_TOKEN_DURATION)"},
    {"at", 0, "TIME", "date it as of 20240827T000000Z instead of now"},
};

const struct dsql_command dsql_cmd_token = {
    .name = "token",
    .operands = "",
    .summary = "print an IAM token, the password for Aurora DSQL",
    .text =
        "Signs a token with the keys in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, for temporary "
        "keys, AWS_SESSION_TOKEN, and prints it. No network is involved. Use it as a password:\n"
        "\n"
        "    export PGPASSWORD=$(dsql token --admin --endpoint HOST)\n"
        "    psql -h HOST -U admin postgres\n"
        "\n"
        "A token is needed only to open a connection; an open one outlives it.",
    .options = options,
    .option_count = DSQL_COUNT_OF(options),
    .run = run,
};
