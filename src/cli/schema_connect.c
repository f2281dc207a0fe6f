/* A connection for `dsql schema`: to the endpoint if one is given or set, otherwise wherever psql
 * would go. The password is a token made with AWS's credentials. */
#include <libpq-fe.h>
#include <stdlib.h>
#include <unistd.h>

#include "aws/token.h"
#include "base/clock.h"
#include "base/shown.h"
#include "cli/cluster.h"
#include "cli/command.h"
#include "cli/fetch_keys.h"
#include "cli/schema_connect.h"
#include "config/config.h"
#include "pool/pool.h"

enum { PARAMETERS_MAX = 12 };

struct parameters {
    const char *names[PARAMETERS_MAX], *values[PARAMETERS_MAX];
    size_t count;
};

static void add(struct parameters *p, const char *name, const char *value)
{
    assert(p->count < PARAMETERS_MAX - 1);
    p->names[p->count] = name;
    p->values[p->count++] = value;
}

static const char *env_or_empty(const char *name)
{
    const char *text = getenv(name);
    return text ? text : "";
}

/* A token from the credentials that AWS's chain finds; an empty one where psql has a password and
 * there are no keys beside it. */
static enum dsql_rc make_token(const struct dsql_endpoint *endpoint, const char *user,
                               struct dsql_secret *token, struct dsql_err *err)
{
    struct dsql_keys keys = {0};
    struct dsql_token_order order = {
        .action = dsql_token_action_of(dsql_span_of(user)),
        .host = dsql_span_of(endpoint->host),
        .region = dsql_span_of(endpoint->region),
        .at = dsql_clock_wall(&dsql_clock_system),
        .expires_s = 900,
    };
    if (env_or_empty("PGPASSWORD")[0] && !env_or_empty("AWS_ACCESS_KEY_ID")[0])
        return DSQL_OK;
    enum dsql_rc rc = dsql_fetch_keys(NULL, endpoint->region, &keys, err);
    if (!rc) {
        order.keys = dsql_keys_view(&keys);
        rc = dsql_token_mint(&order, token, err);
    }
    dsql_keys_fini(&keys);
    return rc;
}

static enum dsql_rc open_connection(const struct parameters *p, PGconn **conn, struct dsql_err *err)
{
    PGconn *opened = PQconnectdbParams(p->names, p->values, 0);
    if (!opened)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (PQstatus(opened) == CONNECTION_OK) {
        PQsetErrorVerbosity(opened, PQERRORS_DEFAULT);
        *conn = opened;
        return DSQL_OK;
    }
    struct dsql_connect_report report;
    dsql_connect_explain(opened, false, 0, &report);
    PQfinish(opened);
    (void)dsql_err_set(err, report.rc, "%s", report.message);
    dsql_err_hint(err, "%s",
                  report.hint[0]
                      ? report.hint
                      : "--endpoint, DSQL_ENDPOINT or psql's own variables (PGHOST, "
                        "...) say where to connect, AWS's credentials with which identity");
    return report.rc;
}

/* psql would try a server on this machine, which is never meant. */
static enum dsql_rc refuse_nowhere(struct dsql_err *err)
{
    (void)dsql_err_set(err, DSQL_INVALID, "which cluster?");
    dsql_err_hint(err, "give --endpoint or set DSQL_ENDPOINT; PGHOST or PGSERVICE do as well, and "
                       "'dsql local exec -- dsql schema apply' has one of its own");
    return DSQL_INVALID;
}

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg, (void)result; /* "already exists, skipping" is what we expect */
}

enum dsql_rc dsql_schema_connect(const char *endpoint_text, const char *region, const char *user,
                                 PGconn **conn, struct dsql_err *err)
{
    struct dsql_config config;
    struct dsql_config_report report;
    struct dsql_cluster cluster;
    struct dsql_secret token = {0};
    struct parameters p = {.count = 0};
    struct dsql_span host;
    enum dsql_rc rc = DSQL_OK;
    dsql_config_load(&config, &report, (const char *const *)environ);
    dsql_complain_of_settings(&report);
    host = dsql_span_of(endpoint_text ? endpoint_text : config.endpoint);
    if (!user)
        user = config.user;
    if (host.len == 0 && !env_or_empty("PGHOST")[0] && !env_or_empty("PGHOSTADDR")[0] &&
        !env_or_empty("PGSERVICE")[0])
        return refuse_nowhere(err);
    if (host.len > 0) {
        rc = dsql_cluster_find(host, dsql_span_of(region ? region : config.region), &cluster, err);
        if (!rc)
            rc = make_token(&cluster.endpoint, user, &token, err);
        if (rc)
            return rc;
        /* psql's variables may speak of another host. */
        if (strcmp(env_or_empty("PGHOST"), cluster.endpoint.host) != 0)
            (void)unsetenv("PGHOSTADDR");
        add(&p, "host", cluster.endpoint.host);
        add(&p, "port", cluster.port);
        add(&p, "user", user);
        add(&p, "dbname", "postgres");
        add(&p, "sslmode", "verify-full");
        if (!getenv("PGSSLROOTCERT"))
            add(&p, "sslrootcert", "/etc/ssl/certs/ca-certificates.crt");
        if (dsql_secret_reveal(&token).len > 0)
            add(&p, "password", dsql_secret_reveal(&token).ptr);
    }
    add(&p, "fallback_application_name", "dsql schema");
    add(&p, "gssencmode", "disable");
    add(&p, "connect_timeout", "30");
    rc = open_connection(&p, conn, err);
    dsql_secret_fini(&token);
    if (!rc)
        (void)PQsetNoticeReceiver(*conn, ignore_notice, NULL);
    return rc;
}
