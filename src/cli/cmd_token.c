/* `dsql token`: a token for Aurora DSQL, signed with the credentials that AWS's chain finds. */
#include <stdlib.h>
#include <unistd.h>

#include "aws/amz_time.h"
#include "aws/token.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/shown.h"
#include "cli/cluster.h"
#include "cli/commands.h"
#include "cli/fetch_keys.h"
#include "config/config.h"

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

/* As the pool decides it: by the role, which is DSQL_USER unless an option says otherwise. */
static enum dsql_rc find_action(const struct dsql_args *args, const struct dsql_config *config,
                                enum dsql_token_action *action, struct dsql_err *err)
{
    const char *user = dsql_args_get(args, "user");
    enum dsql_token_action found = dsql_token_action_of(given_or(args, "user", config->user));
    if (!dsql_args_has(args, "admin")) {
        *action = found;
        return DSQL_OK;
    }
    if (user && found != DSQL_TOKEN_CONNECT_ADMIN)
        return dsql_err_set(err, DSQL_INVALID, "--admin and --user=%s contradict each other",
                            dsql_shown_str(user).text);
    *action = DSQL_TOKEN_CONNECT_ADMIN;
    return DSQL_OK;
}

static enum dsql_rc make_order(const struct dsql_args *args, const struct dsql_config *config,
                               struct dsql_cluster *cluster, struct dsql_token_order *order,
                               struct dsql_err *err)
{
    struct dsql_span host = given_or(args, "endpoint", config->endpoint);
    if (host.len == 0) {
        (void)dsql_err_set(err, DSQL_INVALID, "no endpoint");
        dsql_err_hint(err, "give --endpoint or set DSQL_ENDPOINT%s",
                      getenv("DSQL_ENDPOINT") || getenv("CLUSTER_ENDPOINT")
                          ? "; 'dsql config' says what is wrong with the one that is set"
                          : "");
        return DSQL_INVALID;
    }
    enum dsql_rc rc =
        dsql_cluster_find(host, given_or(args, "region", config->region), cluster, err);
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
    order->host = dsql_span_of(cluster->endpoint.host);
    order->region = dsql_span_of(cluster->endpoint.region);
    return DSQL_OK;
}

static enum dsql_rc make_token(const struct dsql_args *args, const struct dsql_config *config,
                               struct dsql_secret *token, struct dsql_err *err)
{
    struct dsql_cluster cluster;
    struct dsql_token_order order = {.host = DSQL_SPAN("")};
    struct dsql_keys keys = {0};
    enum dsql_rc rc = find_action(args, config, &order.action, err);
    if (!rc)
        rc = make_order(args, config, &cluster, &order, err);
    if (!rc)
        rc = dsql_fetch_keys(dsql_args_get(args, "profile"), cluster.endpoint.region, &keys, err);
    if (!rc) {
        order.keys = dsql_keys_view(&keys);
        rc = dsql_token_mint(&order, token, err);
    }
    dsql_keys_fini(&keys);
    return rc;
}

static int run(const struct dsql_args *args)
{
    struct dsql_config config;
    struct dsql_config_report report;
    struct dsql_secret token = {0};
    struct dsql_err err;
    int status = DSQL_EXIT_OK;
    dsql_config_load(&config, &report, (const char *const *)environ);
    dsql_complain_of_settings(&report);
    if (make_token(args, &config, &token, &err))
        status = dsql_complain(&err);
    else
        printf("%s\n", dsql_secret_reveal(&token).ptr);
    dsql_secret_fini(&token);
    return status;
}

static const struct dsql_option options[] = {
    {"endpoint", 0, "HOST", "the cluster's host name or 26-character id (DSQL_ENDPOINT)"},
    {"region", 0, "REGION", "AWS region; needed when the host name does not tell it (DSQL_REGION)"},
    {"user", 0, "ROLE",
     "the role it is for (DSQL_USER, which is admin): admin gets DbConnectAdmin, every other one "
     "DbConnect"},
    {"admin", 0, NULL, "for the role admin, whatever DSQL_USER says"},
    {"profile", 0, "NAME", "use this profile of ~/.aws/config, before any keys in the environment"},
    {"expires", 0, "SECONDS",
     "how long it is valid: seconds, or a duration such as 15m (DSQL_TOKEN_DURATION)"},
    {"at", 0, "TIME", "date it as of 20240827T000000Z instead of now"},
};

const struct dsql_command dsql_cmd_token = {
    .name = "token",
    .summary = "print an IAM token, the password for Aurora DSQL",
    .text =
        "Signs a token and prints it. The AWS credentials are looked for as AWS's own tools do: in "
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, in the profile that "
        "AWS_PROFILE names, in a web identity, a container's or an instance's role. Signing itself "
        "needs no network. Use it as a password:\n"
        "\n"
        "    export PGPASSWORD=$(dsql token --endpoint HOST)\n"
        "    psql -h HOST -U admin postgres\n"
        "\n"
        "A token is needed only to open a connection; an open one outlives it.",
    DSQL_COMMAND_OPTIONS(options),
    .run = run,
};
