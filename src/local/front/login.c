/* Logging in: the startup packet, room for one more, the token, and which identity may have which
 * role. */
#include <stdio.h>

#include "base/rng.h"
#include "base/shown.h"
#include "local/front/front.h"
#include "local/front/rewrite.h"
#include "local/process/first_sql.h"
#include "local/rules/sql_set.h"
#include "pgwire/frontend.h"
#include "pgwire/put_backend.h"
#include "pgwire/put_frontend.h"
#include "pgwire/startup.h"

enum { PARAMS_MAX = 64 };

static const char full[] = "Unable to accept connection, too many open connections.";
static const char too_fast[] = "Unable to accept connection, rate exceeded.";
static const char denied[] = "unable to accept connection, access denied";

/* What the service reports after login, as recorded; what follows the session is added to it. Of
 * those with a mark the value is the one in force, which the startup packet or the role may set. */
static const struct {
    struct dsql_span name, value;
    bool in_force;
} parameters[] = {
    {{"server_version", 14},
     {DSQL_LOCAL_SERVER_VERSION, sizeof(DSQL_LOCAL_SERVER_VERSION) - 1},
     false},
    {{"server_encoding", 15}, {"UTF8", 4}, false},
    {{"client_encoding", 15}, {"UTF8", 4}, true},
    {{"DateStyle", 9}, {"ISO, MDY", 8}, true},
    {{"IntervalStyle", 13}, {"postgres", 8}, true},
    {{"TimeZone", 8}, {"UTC", 3}, true},
    {{"integer_datetimes", 17}, {"on", 2}, false},
    {{"standard_conforming_strings", 27}, {"on", 2}, false},
    {{"is_superuser", 12}, {"off", 3}, false},
    {{"default_transaction_read_only", 29}, {"off", 3}, false},
    {{"in_hot_standby", 14}, {"off", 3}, false},
};

/* A backslash before each byte at which PostgreSQL would split. */
static void add_escaped(struct dsql_strbuf *out, struct dsql_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(" \t\n\v\f\r\\", text.ptr[i]))
            dsql_strbuf_add_char(out, '\\');
        dsql_strbuf_add_char(out, text.ptr[i]);
    }
}

/* Checks the settings of the startup parameter `options`, and writes anew what PostgreSQL shall
 * get: it reads nothing but what was judged. */
static bool take_options(struct dsql_span options, struct dsql_strbuf *out,
                         struct dsql_sql_refusal *refusal)
{
    struct dsql_pg_param setting;
    char memory[DSQL_PG_STARTUP_MOST];
    struct dsql_strbuf word;
    dsql_strbuf_init(&word, memory, sizeof(memory));
    while (dsql_pg_options_next(&options, &word, &setting)) {
        if (dsql_span_eq(setting.name, DSQL_SPAN("amzn_cluster_id")))
            continue;
        if (!dsql_sql_setting_check_startup(setting.name, refusal))
            return false;
        if (dsql_sql_setting(setting.name) == DSQL_SQL_SETTING_FRONT)
            continue;
        dsql_strbuf_add(out, DSQL_SPAN(" -c "));
        add_escaped(out, setting.name);
        if (!setting.value.ptr)
            continue; /* PostgreSQL says that it needs one */
        dsql_strbuf_add_char(out, '=');
        add_escaped(out, setting.value);
    }
    return true;
}

static bool is_name(struct dsql_span s, const char *name)
{
    return dsql_span_eq(s, dsql_span_of(name));
}

/* Checks the parameters and keeps what PostgreSQL shall get. */
static bool take_parameters(struct dsql_session *session, const struct dsql_pg_startup *startup,
                            struct dsql_span user, struct dsql_sql_refusal *refusal)
{
    struct dsql_pg_param kept[PARAMS_MAX + 1], param; /* one for the options */
    struct dsql_pg_params rest = startup->params;
    size_t count = 0;
    char memory[3 * DSQL_PG_STARTUP_MOST];
    struct dsql_strbuf options;
    dsql_strbuf_init(&options, memory, sizeof(memory));
    kept[count++] = dsql_local_secret_param(&session->front->pg->secrets.client);
    /* Once each, as judged here: PostgreSQL must not choose another of two users. */
    kept[count++] = (struct dsql_pg_param){DSQL_SPAN("user"), user};
    kept[count++] = (struct dsql_pg_param){DSQL_SPAN("database"), DSQL_SPAN("postgres")};
    while (dsql_pg_params_next(&rest, &param)) {
        if (dsql_pg_param_is_option(param) || is_name(param.name, "user") ||
            is_name(param.name, "database"))
            continue;
        if (is_name(param.name, "options")) {
            dsql_strbuf_clear(&options); /* the last one counts */
            if (!take_options(param.value, &options, refusal))
                return false;
            continue;
        } else if (!dsql_sql_setting_check_startup(param.name, refusal)) {
            return false;
        }
        if (dsql_sql_setting(param.name) == DSQL_SQL_SETTING_FRONT)
            continue;
        if (count == PARAMS_MAX) {
            dsql_sql_refuse(refusal, "08P01", "too many parameters in the startup packet");
            return false;
        }
        /* What else can be set may change what is reported. */
        session->presets = session->presets || !is_name(param.name, "application_name");
        kept[count++] = param;
    }
    if (options.len > 0)
        kept[count++] = (struct dsql_pg_param){DSQL_SPAN("options"), dsql_strbuf_span(&options)};
    session->presets = session->presets || options.len > 0;
    struct dsql_strbuf out;
    dsql_strbuf_init_heap(&out, sizeof(memory) + DSQL_PG_STARTUP_MOST);
    dsql_pg_put_startup(&out, kept, count);
    session->startup_len = out.len;
    session->startup = dsql_strbuf_take(&out);
    if (!session->startup)
        dsql_sql_refuse(refusal, "53200", "out of memory");
    return session->startup != NULL;
}

/* Refusals by a fault that is set. */
static bool is_struck(struct dsql_session *session)
{
    static const struct {
        enum dsql_fault fault;
        const char *sqlstate, *message;
    } strikes[] = {
        {DSQL_FAULT_FULL, "53300", full},
        {DSQL_FAULT_THROTTLE, "53400", too_fast},
        {DSQL_FAULT_WAKING, "08006",
         "unable to accept connection, waking up cluster, please retry later"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(strikes); i++) {
        if (!dsql_faults_strike(&session->front->faults, strikes[i].fault))
            continue;
        dsql_session_fatal(session, DSQL_LOCAL_FAULT, strikes[i].sqlstate, strikes[i].message, "");
        return true;
    }
    return false;
}

/* Whether the cluster has room: both limits are the whole endpoint's. */
static bool admit(struct dsql_session *session)
{
    struct dsql_front *front = session->front;
    if (is_struck(session))
        return false;
    if ((int64_t)front->open >= front->options->open_max) {
        dsql_session_fatal(session, DSQL_LOCAL_FULL, "53300", full, "");
        return false;
    }
    struct dsql_mono now = dsql_front_now(front);
    if (!dsql_bucket_take(&front->bucket, 1, now)) {
        dsql_session_fatal(session, DSQL_LOCAL_RATE, "53400", too_fast, "");
        return false;
    }
    session->admitted = true;
    front->open++;
    front->admissions[front->counts.admitted++ % DSQL_ADMISSIONS_MAX] = now.ns;
    return true;
}

static void begin_login(struct dsql_session *session, const struct dsql_pg_startup *startup)
{
    unsigned char id[DSQL_BASE32_ID_BYTES];
    dsql_random_bytes(id, sizeof(id));
    dsql_base32_id(id, session->id);
    struct dsql_span user = DSQL_SPAN(""), database = DSQL_SPAN("");
    struct dsql_sql_refusal refusal;
    struct dsql_strbuf name, wrong;
    char wrong_memory[192];
    (void)dsql_pg_params_get(startup->params, DSQL_SPAN("user"), &user);
    if (!dsql_pg_params_get(startup->params, DSQL_SPAN("database"), &database))
        database = user;
    dsql_strbuf_init(&name, session->user, sizeof(session->user));
    dsql_strbuf_add(&name, user);
    dsql_strbuf_init(&wrong, wrong_memory, sizeof(wrong_memory));
    dsql_strbuf_addf(&wrong, "database \"%s\" does not exist", dsql_shown(database).text);

    if (!SSL_get_servername(session->ssl, TLSEXT_NAMETYPE_host_name))
        dsql_session_fatal(session, DSQL_LOCAL_NO_SNI, "08006",
                           "unable to accept connection, sni was not received", "");
    else if (user.len == 0)
        dsql_session_fatal(session, DSQL_LOCAL_PARAMETER, "28000",
                           "no PostgreSQL user name specified in startup packet", "");
    else if (!is_name(database, "postgres"))
        dsql_session_fatal(session, DSQL_LOCAL_PARAMETER, "3D000", wrong.ptr, "");
    else if (!take_parameters(session, startup, user, &refusal))
        dsql_session_fatal(session, DSQL_LOCAL_PARAMETER, refusal.sqlstate, refusal.message, "");
    else if (admit(session)) {
        if (dsql_pg_startup_must_negotiate(startup, 0))
            dsql_pg_put_negotiate_version(&session->to_client.bytes, 0, startup);
        dsql_pg_put_auth_cleartext(&session->to_client.bytes);
        session->state = DSQL_SESSION_PASSWORD;
        dsql_pg_framer_expect(&session->from_client, &session->front->login_limits);
    }
}

void dsql_login_startup(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_startup startup;
    struct dsql_err err;
    if (dsql_pg_startup_parse(piece->body, &startup, &err))
        dsql_session_fatal(session, DSQL_LOCAL_PROTOCOL, err.sqlstate, err.message, "");
    else if (startup.kind == DSQL_PG_STARTUP_MESSAGE)
        begin_login(session, &startup);
    else if (startup.kind == DSQL_PG_CANCEL_REQUEST) {
        session->front->counts.cancels_ignored++;
        dsql_session_close(session);
    } else
        dsql_session_drop(session, "a request for encryption inside the encryption");
}

/* The values in force; none: the defaults of the service. */
static void greet(struct dsql_session *session, struct dsql_pg_values in_force)
{
    struct dsql_strbuf *out = &session->to_client.bytes;
    dsql_pg_put_auth_ok(out);
    for (size_t i = 0; i < DSQL_COUNT_OF(parameters); i++) {
        struct dsql_pg_value value;
        bool has_value = parameters[i].in_force && dsql_pg_values_next(&in_force, &value);
        dsql_pg_put_parameter_status(out, parameters[i].name,
                                     has_value ? value.bytes : parameters[i].value);
    }
    dsql_pg_put_parameter_status(out, DSQL_SPAN("session_authorization"),
                                 dsql_span_of(session->user));
}

static void welcome(struct dsql_session *session)
{
    struct dsql_front *front = session->front;
    struct dsql_strbuf *out = &session->to_client.bytes;
    uint32_t key[2];
    dsql_random_bytes(key, sizeof(key));
    dsql_pg_put_key_data(out, key[0] & INT32_MAX, key[1]);
    dsql_pg_put_ready(out, DSQL_PG_IDLE);
    session->state = DSQL_SESSION_ACTIVE;
    dsql_queue_leave(&session->login);
    uint64_t id;
    memcpy(&id, session->id, sizeof(id));
    dsql_stale_session_init(&session->stale, &front->stale, id);
    dsql_pg_framer_expect(&session->from_client, &front->client_limits);
    dsql_loop_move(&front->loop, &session->life,
                   front->options->lifetime_ns / front->options->time_scale);
}

/* What PostgreSQL knows: the values in force, as a row; none if the role is not let in. A role
 * other than admin must be mapped to who signed the token. */
static void ask(struct dsql_session *session, bool is_admin)
{
    char memory[1024];
    struct dsql_strbuf sql;
    session->state = DSQL_SESSION_ROLE;
    if (!dsql_backend_need(session))
        return;
    dsql_strbuf_init(&sql, memory, sizeof(memory));
    const char *before = "select ";
    for (size_t i = 0; i < DSQL_COUNT_OF(parameters); i++) {
        if (!parameters[i].in_force)
            continue;
        dsql_strbuf_addf(&sql, "%scurrent_setting('%.*s')", before,
                         DSQL_SPAN_ARG(parameters[i].name));
        before = ", ";
    }
    if (!is_admin) {
        dsql_strbuf_add_str(&sql, " from sys.iam_pg_role_mappings where pg_role_name = "
                                  "session_user and arn = ");
        dsql_rewrite_literal(&sql, dsql_span_of(session->front->options->arn));
    }
    dsql_pg_put_query(&session->backend->out.bytes, dsql_strbuf_span(&sql));
    session->backend->hidden++;
}

void dsql_login_row(struct dsql_session *session, struct dsql_pg_values in_force)
{
    if (!session->mapped)
        greet(session, in_force);
    session->mapped = true;
}

void dsql_login_mapped(struct dsql_session *session)
{
    char hint[400];
    if (session->mapped) {
        welcome(session);
        dsql_backend_rest(session);
        return;
    }
    (void)snprintf(hint, sizeof(hint), "User: %s is not authorized to access this resource",
                   session->front->options->arn);
    dsql_session_fatal(session, DSQL_LOCAL_TOKEN, "08006", denied, hint);
}

/* A login needs no session at PostgreSQL where no setting was changed. */
static void let_in(struct dsql_session *session)
{
    if (session->presets || session->front->backends.generation > 0) {
        ask(session, true);
    } else {
        greet(session, (struct dsql_pg_values){0});
        welcome(session);
    }
}

/* Whether a fault that is set refuses a good token. */
static bool is_denied(struct dsql_session *session)
{
    struct dsql_faults *faults = &session->front->faults;
    char hint[400] = "";
    if (dsql_faults_strike(faults, DSQL_FAULT_DENY))
        (void)snprintf(hint, sizeof(hint), "User: %s is not authorized to perform: dsql:%s",
                       session->front->options->arn,
                       dsql_token_action_name(dsql_token_action_of(dsql_span_of(session->user))));
    else if (dsql_faults_strike(faults, DSQL_FAULT_EXPIRE))
        (void)snprintf(hint, sizeof(hint), "Signature expired: by request");
    if (hint[0])
        dsql_session_fatal(session, DSQL_LOCAL_FAULT, "08006", denied, hint);
    return hint[0];
}

void dsql_login_password(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    const struct dsql_front *front = session->front;
    const struct dsql_token_verifier verifier = {
        .keyring = &front->keyring,
        .host = dsql_span_of(front->options->host),
        .also = DSQL_SPAN("localhost"),
        .region = dsql_span_of(front->options->region),
        .skew_ns = DSQL_TOKEN_SKEW_DEFAULT_NS,
    };
    struct dsql_pg_fe msg;
    struct dsql_err err;
    if (dsql_pg_fe_parse(piece->type, piece->body, &msg, &err) || msg.password.len == 0)
        dsql_session_fatal(session, DSQL_LOCAL_TOKEN, "08P01", "invalid password packet size", "");
    else if (dsql_token_verify(&verifier, msg.password, dsql_span_of(session->user),
                               dsql_clock_wall(front->options->clock), NULL, &err))
        dsql_session_fatal(session, DSQL_LOCAL_TOKEN, err.sqlstate[0] ? err.sqlstate : "53200",
                           err.message, err.hint);
    else if (is_denied(session))
        return;
    else if (is_name(dsql_span_of(session->user), "admin"))
        let_in(session);
    else if (is_name(dsql_span_of(session->user), DSQL_LOCAL_SUPERUSER))
        dsql_login_mapped(session); /* no client may have it */
    else
        ask(session, false);
}
