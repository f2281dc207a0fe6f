#include "proxy/proxy.h"

#include <unistd.h>

#include "net/tls.h"
#include "pgwire/put.h"

enum { CLIENT_MESSAGE = 10 << 20, SERVER_MESSAGE = 1 << 30, GREETING_MAX = 1024 };

#define FIRST_WAIT_NS (30 * DSQL_S)

/* In the order in which the service reports them. */
static const char *const reported[DSQL_PROXY_REPORTED] = {
    "server_version",        "server_encoding",
    "client_encoding",       "DateStyle",
    "IntervalStyle",         "TimeZone",
    "integer_datetimes",     "standard_conforming_strings",
    "is_superuser",          "default_transaction_read_only",
    "in_hot_standby",        "application_name",
    "session_authorization",
};

/* The values of a row that libpq read, as a row of the wire. */
static struct dsql_settings *settings_of(const PGresult *result)
{
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQnfields(result) != DSQL_PARAMETERS)
        return NULL;
    struct dsql_strbuf raw;
    dsql_strbuf_init_heap(&raw, 1 << 20);
    struct dsql_pg_msg msg = dsql_pg_msg_begin(&raw, 0);
    for (int i = 0; i < DSQL_PARAMETERS; i++) {
        /* Who names no application has none, whatever the pool calls itself. */
        struct dsql_span value = i == DSQL_PARAMETER_APPLICATION_NAME
                                     ? DSQL_SPAN("")
                                     : dsql_span_of(PQgetvalue(result, 0, i));
        dsql_pg_msg_value(&msg, (struct dsql_pg_value){.bytes = value});
    }
    dsql_pg_msg_end(&msg);
    const struct dsql_pg_values row = {DSQL_PARAMETERS, dsql_span_from(dsql_strbuf_span(&raw), 4)};
    struct dsql_settings *settings = raw.cut ? NULL : dsql_settings_of_row(row);
    dsql_strbuf_fini(&raw);
    return settings;
}

/* What a fresh connection is like. */
static enum dsql_rc read_base(struct dsql_proxy_role *role, struct dsql_err *err)
{
    struct dsql_conn *conn;
    struct dsql_strbuf sql;
    enum dsql_rc rc = dsql_pool_checkout(role->pool, FIRST_WAIT_NS, &conn, err);
    if (rc)
        return rc;
    PGconn *pg = dsql_conn_pg(conn);
    for (size_t i = 0; i < DSQL_PROXY_REPORTED; i++) {
        const char *value = PQparameterStatus(pg, reported[i]);
        dsql_strbuf_init_heap(&role->greeting[i], GREETING_MAX);
        if (value && i != 11)
            dsql_strbuf_addf(&role->greeting[i], "%s=%s", reported[i], value);
    }
    dsql_strbuf_init_heap(&sql, 1 << 16);
    dsql_settings_put_read(&sql);
    PGresult *result = PQexec(pg, sql.ptr);
    role->base = settings_of(result);
    if (!role->base)
        rc = dsql_err_set(err, DSQL_LOST, "the settings of a connection can't be read: %.200s",
                          PQresultErrorMessage(result));
    PQclear(result);
    dsql_strbuf_fini(&sql);
    result = PQexec(pg, dsql_setters_sql); /* what can't be asked is taken as none */
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        role->proxy->setters.there |= *PQgetvalue(result, 0, 0) == 't';
    else
        dsql_log(role->proxy->log, DSQL_EVENT_PROXY_NO_CATALOGUE,
                 DSQL_F("detail", (const char *)PQresultErrorMessage(result)));
    PQclear(result);
    dsql_pool_return(conn);
    return rc;
}

enum dsql_rc dsql_proxy_open(struct dsql_proxy *proxy, const struct dsql_proxy_options *options,
                             struct dsql_pool *const *pools, size_t pool_count,
                             struct dsql_log *log, struct dsql_err *err)
{
    *proxy = (struct dsql_proxy){
        .options = *options,
        .log = log,
        .loopback = {.fd = -1},
        .local = {.fd = -1},
        .wake = {.fd = -1},
        .gone_lock = PTHREAD_MUTEX_INITIALIZER,
    };
    dsql_pg_limits_session(&proxy->client_limits, DSQL_PG_FRONTEND, CLIENT_MESSAGE);
    dsql_pg_limits_set(&proxy->login_limits, DSQL_PG_FE_PASSWORD, DSQL_SCRAM_MESSAGE_MAX,
                       DSQL_SCRAM_MESSAGE_MAX);
    dsql_pg_limits_session(&proxy->server_limits, DSQL_PG_BACKEND, SERVER_MESSAGE);
    enum dsql_rc rc = dsql_loop_init(&proxy->loop, options->clock, err);
    if (rc)
        return rc;
    assert(pool_count > 0 && pool_count <= DSQL_PROXY_ROLES);
    proxy->role_count = pool_count;
    proxy->setters.asked_at = dsql_clock_mono(options->clock);
    for (size_t i = 0; i < pool_count; i++)
        proxy->roles[i] = (struct dsql_proxy_role){.proxy = proxy, .pool = pools[i]};
    dsql_server_init(proxy);
    for (size_t i = 0; !rc && i < pool_count; i++)
        rc = read_base(&proxy->roles[i], err);
    if (!rc)
        rc = dsql_proxy_reload(proxy, err);
    if (!rc)
        rc = dsql_entry_open(proxy, err);
    if (rc)
        dsql_proxy_close(proxy);
    return rc;
}

enum dsql_rc dsql_proxy_reload(struct dsql_proxy *proxy, struct dsql_err *err)
{
    const struct dsql_proxy_options *o = &proxy->options;
    struct dsql_users users = {0};
    SSL_CTX *tls = NULL;
    enum dsql_rc rc = o->users_file[0] ? dsql_users_load(o->users_file, &users, err) : DSQL_OK;
    if (!rc && o->certificate[0])
        rc = dsql_tls_context(o->certificate, o->key[0] ? o->key : o->certificate, &tls, err);
    if (rc) {
        dsql_users_fini(&users);
        return rc;
    }
    dsql_users_fini(&proxy->users);
    SSL_CTX_free(proxy->tls);
    proxy->users = users;
    proxy->tls = tls;
    return DSQL_OK;
}

void dsql_proxy_turn(struct dsql_proxy *proxy, int64_t wait_ns)
{
    dsql_loop_turn(&proxy->loop, proxy->served ? 0 : wait_ns);
    while (proxy->served)
        dsql_server_serve(proxy);
    dsql_server_free_gone(proxy);
    dsql_console_turn(proxy);
}

static void send_away(struct dsql_client *client)
{
    if (client->state <= DSQL_CLIENT_LOGIN ||
        (client->state == DSQL_CLIENT_ACTIVE && !client->waits &&
         (!client->server || client->pinned || client->at_home) && client->answers.count == 0 &&
         client->tx == DSQL_PG_IDLE && !dsql_replay_is_running(client))) {
        dsql_client_fatal(client, "57P01", "terminating connection due to administrator command",
                          "The proxy is ending; connect again.");
        dsql_client_flush(client);
    }
}

bool dsql_proxy_drain(struct dsql_proxy *proxy)
{
    dsql_entry_close(proxy);
    proxy->draining = true;
    for (struct dsql_client *at = proxy->clients, *next; at; at = next) {
        next = at->next;
        send_away(at);
    }
    return proxy->client_count == 0;
}

void dsql_proxy_close(struct dsql_proxy *proxy)
{
    dsql_entry_close(proxy);
    for (struct dsql_client *at = proxy->clients, *next; at; at = next) {
        next = at->next;
        if (at->server)
            at->server->doubtful = true; /* its answers will not be read */
        dsql_client_close(at);
    }
    assert(proxy->client_count == 0);
    for (size_t i = 0; i < proxy->role_count; i++)
        dsql_loop_stop(&proxy->loop, &proxy->roles[i].wait_timer);
    dsql_loop_turn(&proxy->loop, 0);
}

void dsql_proxy_fini(struct dsql_proxy *proxy)
{
    dsql_server_free_gone(proxy);
    dsql_loop_close(&proxy->wake);
    dsql_users_fini(&proxy->users);
    SSL_CTX_free(proxy->tls);
    dsql_loop_fini(&proxy->loop);
    for (size_t i = 0; i < proxy->role_count; i++) {
        dsql_settings_unref(proxy->roles[i].base);
        for (size_t k = 0; k < DSQL_PROXY_REPORTED; k++)
            dsql_strbuf_fini(&proxy->roles[i].greeting[k]);
    }
    assert(proxy->statements.count == 0);
}
