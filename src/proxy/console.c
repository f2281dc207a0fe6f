/*
 * The virtual database `dsql` (`pgbouncer` too): SHOW and a few commands in PgBouncer's words, with
 * its columns, so that its exporters work. Simple queries only. Each name of a table's columns
 * needs one cell, in the same order; a column of our own goes to the end.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "dsql/version.h"
#include "net/listen.h"
#include "pgwire/put_backend.h"
#include "proxy/proxy.h"

enum { COLUMNS_MAX = 24, TEXT = 25, INT8 = 20, CELLS = 4096 };

/* A result under way: the cells of one row in one buffer. */
struct table {
    struct dsql_strbuf *out;
    struct dsql_strbuf cells;
    char memory[CELLS];
    size_t ends[COLUMNS_MAX];
    size_t count;
    int64_t rows;
};

static void put_columns(struct dsql_strbuf *out, const char *names)
{
    struct dsql_pg_column columns[COLUMNS_MAX];
    struct dsql_span rest = dsql_span_of(names), name;
    size_t count = 0;
    while (rest.len > 0) { /* a name that ends with # is that of a number */
        (void)dsql_span_cut(rest, ',', &name, &rest);
        bool number = name.ptr[name.len - 1] == '#';
        assert(count < COLUMNS_MAX);
        columns[count++] = (struct dsql_pg_column){
            .name = dsql_span_first(name, name.len - number),
            .type = number ? INT8 : TEXT,
            .type_len = number ? 8 : -1,
            .type_mod = -1,
        };
    }
    dsql_pg_put_row_description(out, columns, count);
}

static void begin(struct table *table, struct dsql_client *client, const char *names)
{
    *table = (struct table){.out = &client->out.bytes};
    dsql_strbuf_init(&table->cells, table->memory, sizeof(table->memory));
    put_columns(table->out, names);
}

static void end_cell(struct table *table)
{
    assert(table->count < COLUMNS_MAX);
    table->ends[table->count++] = table->cells.len;
}

static void text(struct table *table, const char *value)
{
    dsql_strbuf_add_str(&table->cells, value);
    end_cell(table);
}

static void number(struct table *table, int64_t value)
{
    dsql_strbuf_add_i64(&table->cells, value);
    end_cell(table);
}

static void numbers(struct table *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        number(table, 0);
}

static void end_row(struct table *table)
{
    struct dsql_pg_value values[COLUMNS_MAX];
    size_t at = 0;
    for (size_t i = 0; i < table->count; i++) {
        values[i] = (struct dsql_pg_value){
            .bytes = {table->memory + at, table->ends[i] - at},
        };
        at = table->ends[i];
    }
    dsql_pg_put_data_row(table->out, values, table->count);
    dsql_strbuf_clear(&table->cells);
    table->count = 0;
    table->rows++;
}

static int64_t read_count(const _Atomic uint64_t *count)
{
    return (int64_t)atomic_load_explicit(count, memory_order_relaxed);
}

static int64_t since_us(const struct dsql_client *client, struct dsql_mono then)
{
    return dsql_mono_since(dsql_clock_mono(client->proxy->options.clock), then) / 1000;
}

/* -- SHOW. */

static void show_pools(struct dsql_client *client, struct table *table)
{
    struct dsql_proxy *proxy = client->proxy;
    begin(table, client,
          "database,user,cl_active#,cl_waiting#,cl_active_cancel_req#,cl_waiting_cancel_req#,"
          "sv_active#,sv_active_cancel#,sv_being_canceled#,sv_idle#,sv_used#,sv_tested#,sv_login#,"
          "maxwait#,maxwait_us#,pool_mode");
    for (size_t i = 0; i < proxy->role_count; i++) {
        const struct dsql_proxy_role *role = &proxy->roles[i];
        struct dsql_pool_stats stats;
        int64_t active = 0, waiting = 0, waited = 0;
        dsql_pool_stats(role->pool, &stats);
        for (const struct dsql_client *at = proxy->clients; at; at = at->next) {
            if (at->role != role)
                continue;
            bool waits = at->waits || at->parked;
            waiting += waits;
            active += !waits;
        }
        if (role->wait_first)
            waited = since_us(client, role->wait_first->waits_since);
        text(table, role->pool->options.connection.database);
        text(table, role->pool->options.connection.user);
        number(table, active);
        number(table, waiting);
        numbers(table, 2);
        number(table, stats.in_use);
        numbers(table, 2);
        number(table, stats.ready);
        numbers(table, 2);
        number(table, stats.opening);
        number(table, waited / 1000000);
        number(table, waited % 1000000);
        text(table, "transaction");
        end_row(table);
    }
}

/* Averages over a period are not kept: they are 0. */
static void totals(struct dsql_client *client, struct table *table)
{
    const struct dsql_proxy *proxy = client->proxy;
    text(table, proxy->roles[0].pool->options.connection.database);
    number(table, read_count(&proxy->counts.transactions));
    number(table, read_count(&proxy->counts.statements));
    number(table, read_count(&proxy->counts.received));
    number(table, read_count(&proxy->counts.sent));
    number(table, read_count(&proxy->counts.lent_us));
    number(table, read_count(&proxy->counts.answering_us));
    number(table, read_count(&proxy->counts.waited_us));
}

static void show_stats(struct dsql_client *client, struct table *table)
{
    begin(table, client,
          "database,total_xact_count#,total_query_count#,total_received#,total_sent#,"
          "total_xact_time#,total_query_time#,total_wait_time#,avg_xact_count#,avg_query_count#,"
          "avg_recv#,avg_sent#,avg_xact_time#,avg_query_time#,avg_wait_time#");
    totals(client, table);
    numbers(table, 7);
    end_row(table);
}

#define STATS_COLUMNS                                                                              \
    "database,xact_count#,query_count#,bytes_received#,bytes_sent#,xact_time#,query_time#,wait_time#"

static void show_stats_totals(struct dsql_client *client, struct table *table)
{
    begin(table, client, STATS_COLUMNS);
    totals(client, table);
    end_row(table);
}

static void show_stats_averages(struct dsql_client *client, struct table *table)
{
    begin(table, client, STATS_COLUMNS);
    text(table, client->proxy->roles[0].pool->options.connection.database);
    numbers(table, 7);
    end_row(table);
}

static void show_databases(struct dsql_client *client, struct table *table)
{
    const struct dsql_proxy *proxy = client->proxy;
    begin(table, client,
          "name,host,port#,database,force_user,pool_size#,min_pool_size#,reserve_pool#,pool_mode,"
          "max_connections#,current_connections#,paused#,disabled#");
    const struct dsql_pool_options *o = &proxy->roles[0].pool->options;
    int64_t size = 0, open = 0;
    for (size_t i = 0; i < proxy->role_count; i++) {
        struct dsql_pool_stats stats;
        dsql_pool_stats(proxy->roles[i].pool, &stats);
        size += stats.max_open;
        open += stats.ready + stats.in_use;
    }
    text(table, o->connection.database);
    text(table, o->connection.endpoint);
    number(table, o->connection.port ? o->connection.port : 5432);
    text(table, o->connection.database);
    text(table, "");
    number(table, size);
    numbers(table, 2);
    text(table, "transaction");
    number(table, size);
    number(table, open);
    number(table, proxy->paused);
    number(table, 0);
    end_row(table);
}

static void show_users(struct dsql_client *client, struct table *table)
{
    const struct dsql_proxy *proxy = client->proxy;
    begin(table, client, "name,pool_mode");
    for (size_t i = 0; i < proxy->role_count; i++) {
        text(table, proxy->roles[i].pool->options.connection.user);
        text(table, "");
        end_row(table);
    }
    for (size_t i = 0; i < proxy->users.count; i++) {
        text(table, proxy->users.users[i].name);
        text(table, "");
        end_row(table);
    }
}

static void show_lists(struct dsql_client *client, struct table *table)
{
    const struct dsql_proxy *proxy = client->proxy;
    int64_t ready = 0, in_use = 0;
    for (size_t i = 0; i < proxy->role_count; i++) {
        struct dsql_pool_stats stats;
        dsql_pool_stats(proxy->roles[i].pool, &stats);
        ready += stats.ready;
        in_use += stats.in_use;
    }
    const struct {
        const char *name;
        int64_t items;
    } lists[] = {
        {"databases", 1},
        {"users", (int64_t)(proxy->role_count + proxy->users.count)},
        {"pools", (int64_t)proxy->role_count},
        {"free_clients", 0},
        {"used_clients", (int64_t)(proxy->client_count - proxy->login_count)},
        {"login_clients", (int64_t)proxy->login_count},
        {"free_servers", ready},
        {"used_servers", in_use},
        {"dns_names", 0},
        {"dns_zones", 0},
        {"dns_queries", 0},
        {"dns_pending", 0},
    };
    begin(table, client, "list,items#");
    for (size_t i = 0; i < DSQL_COUNT_OF(lists); i++) {
        text(table, lists[i].name);
        number(table, lists[i].items);
        end_row(table);
    }
}

static void put_address(struct table *table, int fd, bool peer)
{
    struct sockaddr_storage at = {0};
    socklen_t len = sizeof(at);
    char shown[INET6_ADDRSTRLEN] = "unix";
    int failed = fd < 0 || (peer ? getpeername(fd, (struct sockaddr *)&at, &len)
                                 : getsockname(fd, (struct sockaddr *)&at, &len));
    if (!failed && at.ss_family == AF_INET)
        (void)inet_ntop(AF_INET, &((struct sockaddr_in *)&at)->sin_addr, shown, sizeof(shown));
    else if (!failed && at.ss_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&at)->sin6_addr, shown, sizeof(shown));
    text(table, shown);
    number(table, dsql_address_port((struct sockaddr *)&at));
}

static const char *state_of(const struct dsql_client *client)
{
    if (client->waits || client->parked)
        return "waiting";
    return client->server || client->console ? "active" : "idle";
}

#define SOCKETS                                                                                    \
    "type,user,database,state,addr,port#,local_addr,local_port#,connect_time,request_time,wait#,"  \
    "wait_us#,close_needed#,ptr,link,remote_pid#,tls,application_name,prepared_statements#"

/* A moment by the wall clock, as PgBouncer writes it; empty for none. */
static void put_moment(struct table *table, const struct dsql_clock *clock, struct dsql_mono at)
{
    char memory[40];
    struct dsql_strbuf iso;
    struct dsql_moment now = dsql_clock_moment(clock);
    dsql_strbuf_init(&iso, memory, sizeof(memory));
    dsql_wall_format(&iso, dsql_wall_add(now.wall, dsql_mono_since(at, now.mono)));
    if (at.ns != 0)
        dsql_strbuf_addf(&table->cells, "%.10s %.8s UTC", memory, memory + 11);
    end_cell(table);
}

static void put_socket(struct table *table, const char *type, const char *user,
                       const struct dsql_client *client, const char *state, int fd)
{
    const struct dsql_clock *clock = client->proxy->options.clock;
    bool is_client = *type == 'C';
    int64_t waited = is_client && client->waits ? since_us(client, client->waits_since) : 0;
    text(table, type);
    text(table, user);
    text(table, client->console ? "dsql" : "postgres");
    text(table, state);
    put_address(table, fd, true);
    put_address(table, fd, false);
    put_moment(table, clock, is_client ? client->began : client->server->began);
    put_moment(table, clock, client->lent_at);
    number(table, waited / 1000000);
    number(table, waited % 1000000);
    number(table, 0);
}

static void show_clients(struct dsql_client *client, struct table *table)
{
    begin(table, client, SOCKETS);
    for (const struct dsql_client *at = client->proxy->clients; at; at = at->next) {
        if (at->state != DSQL_CLIENT_ACTIVE)
            continue;
        put_socket(table, "C", at->user, at, state_of(at), at->watch.fd);
        dsql_strbuf_addf(&table->cells, "%p", (const void *)at);
        end_cell(table);
        if (at->server)
            dsql_strbuf_addf(&table->cells, "%p", (const void *)at->server);
        end_cell(table);
        number(table, 0);
        text(table, at->ssl ? SSL_get_version(at->ssl) : "");
        text(table, at->settings ? at->settings->values[DSQL_PARAMETER_APPLICATION_NAME] : "");
        number(table, (int64_t)at->names.count);
        end_row(table);
    }
}

/* Those that are lent; the pool's idle ones are counted in SHOW POOLS. */
static void show_servers(struct dsql_client *client, struct table *table)
{
    begin(table, client, SOCKETS);
    for (const struct dsql_client *at = client->proxy->clients; at; at = at->next) {
        if (!at->server)
            continue;
        put_socket(table, "S", at->role->pool->options.connection.user, at, "active",
                   at->server->watch.fd);
        dsql_strbuf_addf(&table->cells, "%p", (const void *)at->server);
        end_cell(table);
        dsql_strbuf_addf(&table->cells, "%p", (const void *)at);
        end_cell(table);
        number(table, PQbackendPID(dsql_conn_pg(at->server->conn)));
        text(table, at->server->ssl ? SSL_get_version(at->server->ssl) : "");
        text(table, "");
        number(table, (int64_t)at->server->cache.count);
        end_row(table);
    }
}

static void show_config(struct dsql_client *client, struct table *table)
{
    const struct dsql_proxy_options *o = &client->proxy->options;
    const struct {
        const char *key;
        int64_t value, standard;
    } rows[] = {
        {"listen_port", o->port, 6432},
        {"max_client_conn", o->clients_max, 10000},
        {"max_user_client_connections", o->user_clients_max, 0},
        {"max_user_connections", 0, 0},
        {"client_login_timeout", o->login_ns / DSQL_S, 30},
        {"query_wait_timeout", o->wait_ns / DSQL_S, 30},
    };
    begin(table, client, "key,value,default,changeable");
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        text(table, rows[i].key);
        number(table, rows[i].value);
        number(table, rows[i].standard);
        text(table, "no");
        end_row(table);
    }
    const char *const texts[][2] = {{"pool_mode", "transaction"},
                                    {"listen_addr", o->address[0] ? o->address : "127.0.0.1"},
                                    {"auth_type", o->users_file[0] ? "scram-sha-256" : "peer"},
                                    {"auth_file", o->users_file},
                                    {"unix_socket_dir", o->socket_folder}};
    for (size_t i = 0; i < DSQL_COUNT_OF(texts); i++) {
        text(table, texts[i][0]);
        text(table, texts[i][1]);
        text(table, "");
        text(table, "no");
        end_row(table);
    }
}

static void show_version(struct dsql_client *client, struct table *table)
{
    begin(table, client, "version");
    dsql_strbuf_addf(&table->cells, "dsql proxy %s", dsql_version());
    end_cell(table);
    end_row(table);
}

static void show_help(struct dsql_client *client, struct table *table)
{
    begin(table, client, "command");
    text(table, "SHOW POOLS | CLIENTS | SERVERS | STATS | STATS_TOTALS | STATS_AVERAGES | CONFIG | "
                "DATABASES | USERS | LISTS | VERSION | HELP; PAUSE; RESUME; RELOAD");
    end_row(table);
}

static const struct {
    const char *what;
    void (*show)(struct dsql_client *client, struct table *table);
} shows[] = {
    {"pools", show_pools},
    {"stats", show_stats},
    {"databases", show_databases},
    {"users", show_users},
    {"lists", show_lists},
    {"clients", show_clients},
    {"servers", show_servers},
    {"config", show_config},
    {"version", show_version},
    {"stats_totals", show_stats_totals},
    {"stats_averages", show_stats_averages},
    {"help", show_help},
};

/* -- Commands. */

static void done(struct dsql_client *client, const char *tag)
{
    dsql_pg_put_command_complete(&client->out.bytes, dsql_span_of(tag));
}

/* Those that wait because of PAUSE go on. */
static void resume(struct dsql_proxy *proxy)
{
    proxy->paused = false;
    for (struct dsql_client *at = proxy->clients, *next; at; at = next) {
        next = at->next;
        if (!at->parked)
            continue;
        at->parked = false;
        dsql_server_unpark(at);
    }
}

void dsql_console_turn(struct dsql_proxy *proxy)
{
    if (!proxy->pausing || read_count(&proxy->counts.lent) > 0)
        return;
    proxy->pausing = false;
    for (struct dsql_client *at = proxy->clients, *next; at; at = next) {
        next = at->next;
        if (!at->awaits_pause)
            continue;
        at->awaits_pause = false;
        done(at, "PAUSE");
        dsql_pg_put_ready(&at->out.bytes, DSQL_PG_IDLE);
        dsql_client_resume(at);
        dsql_client_flush(at);
    }
}

/* False: the answer comes later. */
static bool command(struct dsql_client *client, struct dsql_span word)
{
    struct dsql_proxy *proxy = client->proxy;
    struct dsql_err err;
    if (!client->may_command) {
        dsql_client_error(client, "ERROR", "42501", "only who started the proxy may do that",
                          "Connect by the Unix socket or loopback as that user, or as root.");
    } else if (dsql_span_eq_nocase(word, DSQL_SPAN("pause"))) {
        proxy->paused = proxy->pausing = client->awaits_pause = true;
        return false;
    } else if (dsql_span_eq_nocase(word, DSQL_SPAN("resume"))) {
        resume(proxy);
        done(client, "RESUME");
    } else if (dsql_proxy_reload(proxy, &err)) {
        dsql_client_error(client, "ERROR", "F0000", err.message, err.hint);
    } else {
        done(client, "RELOAD");
    }
    return true;
}

static void show(struct dsql_client *client, struct dsql_span what)
{
    struct table table;
    for (size_t i = 0; i < DSQL_COUNT_OF(shows); i++) {
        if (!dsql_span_eq_nocase(what, dsql_span_of(shows[i].what)))
            continue;
        shows[i].show(client, &table);
        done(client, "SHOW");
        return;
    }
    dsql_client_error(client, "ERROR", "42601", "there is no such SHOW", "SHOW HELP lists them.");
}

static bool answer(struct dsql_client *client, struct dsql_span query)
{
    struct dsql_span word, rest;
    while (query.len > 0 && (query.ptr[query.len - 1] == ';' || query.ptr[query.len - 1] <= ' '))
        query.len--;
    query = dsql_span_trim(query);
    (void)dsql_span_cut(query, ' ', &word, &rest);
    if (query.len == 0)
        dsql_pg_put_empty_query(&client->out.bytes);
    else if (dsql_span_eq_nocase(word, DSQL_SPAN("show")))
        show(client, dsql_span_trim(rest));
    else if (dsql_span_eq_nocase(word, DSQL_SPAN("pause")) ||
             dsql_span_eq_nocase(word, DSQL_SPAN("resume")) ||
             dsql_span_eq_nocase(word, DSQL_SPAN("reload")))
        return command(client, word);
    else
        dsql_client_error(client, "ERROR", "42601", "this database has no such command",
                          "SHOW HELP lists them.");
    return true;
}

bool dsql_console(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    if (client->awaits_pause)
        return false;
    if (piece->type == DSQL_PG_FE_TERMINATE) {
        client->state = DSQL_CLIENT_CLOSING;
    } else if (piece->type != DSQL_PG_FE_QUERY) {
        dsql_client_fatal(client, "08P01", "this database takes simple queries only", "");
    } else {
        struct dsql_span query = piece->body;
        query.len -= query.len > 0; /* its terminator */
        if (answer(client, query))
            dsql_pg_put_ready(&client->out.bytes, DSQL_PG_IDLE);
    }
    return true;
}
