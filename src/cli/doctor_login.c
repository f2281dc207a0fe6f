/*
 * Who we are and whether the cluster lets us in: credentials, token, a connection by way of the
 * pool itself, and the clocks, without which no token is valid.
 */
#include <libpq-fe.h>
#include <stdlib.h>

#include "aws/credentials.h"
#include "aws/http.h"
#include "aws/token.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/shown.h"
#include "cli/doctor.h"
#include "dsql/pool.h"

/* AWS allows tokens dated five minutes ahead; long before, something is wrong. */
#define SKEW_WARN_NS (30 * DSQL_S)
#define SKEW_FAIL_NS (5 * DSQL_M)

enum { DATE_BODY_MAX = 64 << 10, SOON_S = 300 };

static void check_credentials(struct dsql_doctor *doctor)
{
    struct dsql_credentials_info info = {0};
    struct dsql_err err = {0};
    const struct dsql_credentials_options options = {
        .region = doctor->has_endpoint ? doctor->endpoint.region : NULL};
    enum dsql_rc rc = dsql_credentials_new(&options, &doctor->credentials, &err);
    if (!rc)
        rc = dsql_credentials_check(doctor->credentials, doctor->timeout_ns, &info, &err);
    if (rc) {
        dsql_doctor_say_error(doctor, DSQL_FOUND_CREDENTIALS_NONE, &err);
        dsql_credentials_destroy(doctor->credentials);
        doctor->credentials = NULL;
        return;
    }
    char left_memory[DSQL_DURATION_TEXT_MAX] = "";
    struct dsql_strbuf left;
    int64_t left_s = info.expires_unix_s - dsql_clock_wall(&dsql_clock_system).ns / DSQL_S;
    bool soon = info.expires_unix_s && left_s < SOON_S;
    dsql_strbuf_init(&left, left_memory, sizeof(left_memory));
    dsql_duration_format(&left, left_s * DSQL_S);
    dsql_doctor_say(doctor, soon ? DSQL_FOUND_CREDENTIALS_END_SOON : DSQL_FOUND_CREDENTIALS_OK,
                    "%s, key %s, %s%s%s", info.provider, info.access_key_id,
                    info.has_session_token ? "temporary" : "long-term",
                    info.expires_unix_s ? ", valid for " : "",
                    info.expires_unix_s ? left_memory : "");
}

static void check_token(struct dsql_doctor *doctor)
{
    if (!doctor->has_endpoint || !doctor->credentials) {
        dsql_doctor_say(doctor, DSQL_FOUND_TOKEN_SKIPPED, "needs %s",
                        doctor->has_endpoint ? "credentials" : "an endpoint");
        return;
    }
    struct dsql_keys keys = {0};
    struct dsql_secret token = {0};
    struct dsql_err err = {0};
    enum dsql_rc rc = dsql_credentials_get(doctor->credentials, doctor->timeout_ns, &keys, &err);
    struct dsql_token_order order = {
        .host = dsql_span_of(doctor->endpoint.host),
        .region = dsql_span_of(doctor->endpoint.region),
        .action = dsql_token_action_of(dsql_span_of(doctor->config.user)),
        .at = dsql_clock_wall(&dsql_clock_system),
        .expires_s = doctor->config.token_duration_ns / DSQL_S,
    };
    if (!rc) {
        order.keys = dsql_keys_view(&keys);
        rc = dsql_token_mint(&order, &token, &err);
    }
    doctor->has_token = !rc;
    if (rc)
        dsql_doctor_say_error(doctor, DSQL_FOUND_TOKEN_FAILED, &err);
    else
        dsql_doctor_say(doctor, DSQL_FOUND_TOKEN_OK, "%s for the role %s, %zu bytes",
                        dsql_token_action_name(order.action),
                        dsql_shown_str(doctor->config.user).text, dsql_secret_reveal(&token).len);
    dsql_secret_fini(&token);
    dsql_keys_fini(&keys);
}

/* -- Clock. */

static void say_skew(struct dsql_doctor *doctor, int64_t ahead_ns, const char *whose)
{
    int64_t off_ns = ahead_ns < 0 ? -ahead_ns : ahead_ns;
    enum dsql_diagnosis finding = off_ns >= SKEW_FAIL_NS   ? DSQL_FOUND_CLOCK_WRONG
                                  : off_ns >= SKEW_WARN_NS ? DSQL_FOUND_CLOCK_OFF
                                                           : DSQL_FOUND_CLOCK_OK;
    dsql_doctor_say(doctor, finding, "%lld.%lld s %s the clock of %s", (long long)(off_ns / DSQL_S),
                    (long long)(off_ns % DSQL_S / (100 * DSQL_MS)),
                    ahead_ns < 0 ? "behind" : "ahead of", whose);
}

/* The database's clock, read half a round trip ago. */
static bool ask_database(struct dsql_doctor *doctor, PGconn *pg)
{
    struct dsql_wall before = dsql_clock_wall(&dsql_clock_system);
    PGresult *result = PQexec(pg, "select (extract(epoch from clock_timestamp()) * 1000)::bigint");
    struct dsql_wall after = dsql_clock_wall(&dsql_clock_system);
    int64_t theirs_ms = 0;
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1 &&
              dsql_span_to_i64(dsql_span_of(PQgetvalue(result, 0, 0)), &theirs_ms);
    PQclear(result);
    if (ok)
        say_skew(doctor, before.ns + (after.ns - before.ns) / 2 - theirs_ms * DSQL_MS,
                 "the cluster");
    return ok;
}

/* Whether the endpoint is one of AWS's, whose other services then can be asked. */
static bool is_in_aws(const struct dsql_doctor *doctor)
{
    return doctor->has_endpoint && doctor->endpoint.cluster_id[0] != '\0';
}

/* The Date header of the region's STS; needs no credentials. */
static bool ask_sts(struct dsql_doctor *doctor)
{
    const char *given = getenv("AWS_ENDPOINT_URL_STS");
    if (!is_in_aws(doctor) && (!given || !given[0]))
        return false;
    char url[DSQL_CONFIG_TEXT_MAX];
    struct dsql_strbuf body;
    struct dsql_http *http = NULL;
    struct dsql_http_response response = {0};
    struct dsql_err err;
    (void)snprintf(url, sizeof(url), given && given[0] ? "%s" : "https://sts.%s.amazonaws.com/",
                   given && given[0] ? given : doctor->endpoint.region);
    dsql_strbuf_init_heap(&body, DATE_BODY_MAX);
    const struct dsql_http_request request = {
        .method = "GET", .url = url, .timeout_ns = doctor->timeout_ns, .cancel_fd = -1};
    bool told = dsql_http_new(&http, &err) == DSQL_OK &&
                dsql_http_send(http, &request, &body, &response, &err) == DSQL_OK &&
                response.date.ns != 0;
    if (told) /* the date has whole seconds: half of one is the best guess */
        say_skew(doctor, dsql_clock_wall(&dsql_clock_system).ns - response.date.ns - DSQL_S / 2,
                 "AWS STS");
    dsql_http_destroy(http);
    dsql_strbuf_fini(&body);
    return told;
}

/* -- Connect. */

/* What a refusal says about its cause. */
static const struct refusal {
    const char *text; /* in the hint or the message */
    enum dsql_diagnosis finding;
} refusals[] = {
    {"Signature expired", DSQL_FOUND_CONNECT_PAST},
    {"not yet current", DSQL_FOUND_CONNECT_FUTURE},
    {"security token included in the request is expired", DSQL_FOUND_CONNECT_SESSION_ENDED},
    {"security token included in the request is invalid", DSQL_FOUND_CONNECT_UNKNOWN_KEY},
    {"signature we calculated does not match", DSQL_FOUND_CONNECT_WRONG_SECRET},
    {"scoped to a valid region", DSQL_FOUND_CONNECT_OTHER_REGION},
    {"not authorized to", DSQL_FOUND_CONNECT_NOT_ALLOWED},
    {"rate exceeded", DSQL_FOUND_CONNECT_THROTTLED},
    {"too many open connections", DSQL_FOUND_CONNECT_FULL},
    {"waking up", DSQL_FOUND_CONNECT_WAKING},
};

static enum dsql_diagnosis find_refusal(const struct dsql_pool_error *error)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(refusals); i++)
        if (strcasestr(error->hint, refusals[i].text) ||
            strcasestr(error->message, refusals[i].text))
            return refusals[i].finding;
    return DSQL_FOUND_CONNECT_REFUSED;
}

static void say_refused(struct dsql_doctor *doctor, struct dsql_pool *pool,
                        const struct dsql_err *err)
{
    struct dsql_pool_stats stats;
    dsql_pool_stats(pool, &stats);
    if (stats.error_count == 0) {
        dsql_doctor_say_error(doctor, DSQL_FOUND_CONNECT_FAILED, err);
        (void)ask_sts(doctor);
        return;
    }
    const struct dsql_pool_error *error = &stats.errors[0];
    enum dsql_diagnosis refusal = find_refusal(error);
    dsql_doctor_say(doctor, refusal, "%s%s%s", error->message, error->hint[0] ? ": " : "",
                    error->hint);
    bool told = ask_sts(doctor);
    if (!told && (refusal == DSQL_FOUND_CONNECT_PAST || refusal == DSQL_FOUND_CONNECT_FUTURE))
        dsql_doctor_say(doctor, DSQL_FOUND_CLOCK_WRONG,
                        "the cluster's clock and this machine's differ by minutes");
    else if (!told)
        dsql_doctor_say(doctor, DSQL_FOUND_CLOCK_SKIPPED, "no other clock to compare with");
}

static enum dsql_rc open_one(struct dsql_doctor *doctor, struct dsql_pool **pool,
                             struct dsql_err *err)
{
    struct dsql_pool_options options;
    enum dsql_rc rc = dsql_pool_options_env(&options, err);
    if (rc)
        return rc;
    (void)snprintf(options.connection.hostaddr, sizeof(options.connection.hostaddr), "%s",
                   doctor->hostaddr);
    options.mode = DSQL_POOL_RESERVOIR;
    options.sizing.max_open = options.sizing.target_ready = options.sizing.low_watermark = 1;
    options.sizing.initial_fill_timeout_ns = options.connection.connect_timeout_ns =
        doctor->timeout_ns;
    options.budget.staggered_startup_ns = 0;
    options.budget.kind = DSQL_BUDGET_LOCAL;
    options.credentials = doctor->credentials;
    return dsql_pool_open(&options, pool, err);
}

static void check_connect(struct dsql_doctor *doctor)
{
    if (!doctor->reachable || !doctor->has_token) {
        dsql_doctor_say(doctor, DSQL_FOUND_CONNECT_SKIPPED, "needs %s",
                        doctor->reachable ? "a token" : "an endpoint that answers");
        if (!ask_sts(doctor))
            dsql_doctor_say(doctor, DSQL_FOUND_CLOCK_SKIPPED, "no other clock to compare with");
        return;
    }
    struct dsql_pool *pool = NULL;
    struct dsql_conn *conn = NULL;
    struct dsql_err err = {0};
    struct dsql_mono before = dsql_clock_mono(&dsql_clock_system);
    enum dsql_rc rc = open_one(doctor, &pool, &err);
    if (rc) {
        dsql_doctor_say_error(doctor, DSQL_FOUND_CONNECT_FAILED, &err);
        dsql_doctor_say(doctor, DSQL_FOUND_CLOCK_SKIPPED, "needs a connection");
        return;
    }
    if (dsql_pool_checkout(pool, 0, &conn, &err)) {
        say_refused(doctor, pool, &err);
    } else {
        PGconn *pg = dsql_conn_pg(conn);
        int64_t took_ns = dsql_mono_since(dsql_clock_mono(&dsql_clock_system), before);
        const char *version = PQparameterStatus(pg, "server_version");
        dsql_doctor_say(doctor, DSQL_FOUND_CONNECT_OK, "as %s in %lld ms, server version %s",
                        dsql_shown_str(doctor->config.user).text, (long long)(took_ns / DSQL_MS),
                        version ? dsql_shown_str(version).text : "unknown");
        if (!ask_database(doctor, pg))
            dsql_doctor_say(doctor, DSQL_FOUND_CLOCK_UNTOLD, "the cluster does not tell its time");
        dsql_pool_return(conn);
    }
    dsql_pool_close(pool);
}

void dsql_doctor_login(struct dsql_doctor *doctor)
{
    check_credentials(doctor);
    check_token(doctor);
    check_connect(doctor);
    dsql_credentials_destroy(doctor->credentials);
    doctor->credentials = NULL;
}
