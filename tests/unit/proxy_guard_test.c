/*
 * A client's settings are put in place in front of what it sends (proxy/guard.h): in one round
 * trip, and never does a statement run under another client's settings, wherever the server fails.
 *
 * Two clients, "a" and "b", take turns on connections that this file serves. Each has its name as
 * application_name, and in its statements: the server compares. Each scenario is run with a fault
 * of each kind at each message that a server acts on.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pgwire/backend.h"
#include "pgwire/put_backend.h"
#include "pgwire/put_frontend.h"
#include "support/fake_pool.h"
#include "support/test.h"
#include "support/test_clock.h"

enum { SERVERS = 8, CLIENTS = 2, TURNS = 12, BOX = 1 << 20, NAMES = 16, TEXT_MAX = 2048 };

enum fault {
    NO_FAULT,
    STALE,       /* 40001: the same goes well the next time */
    DENIED,      /* 42501: it does not */
    UNCOMMITTED, /* the end of the transaction fails, which undoes its settings */
    GOODBYE,     /* FATAL, and the end of the connection */
    LOST_BEFORE, /* the connection ends, and the message was not carried out */
    LOST_AFTER,  /* it was carried out, and no answer since the last write comes */
    FAULTS
};

struct server {
    struct fake_conn conn;
    struct dsql_pg_framer in;
    struct dsql_strbuf out;
    char application_name; /* in force */
    char before;           /* and before the transaction that is open */
    char names[NAMES][DSQL_SERVER_NAME_MAX];
    size_t name_count;
    char text[TEXT_MAX]; /* of the unnamed statement */
    enum dsql_pg_tx tx;
    bool skipping, copying, ended;
};

struct client {
    int far;
    struct dsql_pg_framer in;
    char name;
    unsigned sent_ends;        /* queries and Syncs */
    unsigned readies;          /* their answers */
    unsigned runs, heard;      /* INSERTs that were run, and told of as done */
    unsigned unrun;            /* how often it was told 40001: nothing was run */
    bool unknown, lost, ended; /* what it was told: 08007, 08006, the end */
};

static struct world {
    struct dsql_proxy proxy;
    struct dsql_pool pool;
    struct manual_clock clock;
    struct dsql_log log;
    struct dsql_pg_limits limits;
    struct server servers[SERVERS];
    struct client clients[CLIENTS];
    enum fault fault;
    unsigned fault_at, acted; /* messages that servers have acted on */
    unsigned fault_times;     /* that come one after another */
} w;

/* -- Servers. */

static struct fake_conn *take(void)
{
    for (size_t i = 0; i < SERVERS; i++)
        if (!w.servers[i].conn.lent)
            return &w.servers[i].conn;
    return NULL;
}

static void returned(struct fake_conn *conn)
{
    const struct server *server = DSQL_CONTAINER_OF(conn, struct server, conn);
    assert_true(server->tx == DSQL_PG_IDLE && !server->skipping);
}

static void server_begin(struct server *server)
{
    *server = (struct server){.tx = DSQL_PG_IDLE, .application_name = 'v', .before = 'v'};
    fake_conn_begin(&server->conn);
    dsql_pg_framer_init(&server->in, &w.limits);
    dsql_strbuf_init_heap(&server->out, BOX);
}

static void server_end(struct server *server)
{
    fake_conn_end(&server->conn);
    dsql_pg_framer_fini(&server->in);
    dsql_strbuf_fini(&server->out);
}

static bool serve(struct server *server);

/* What was sent is carried out nevertheless. */
static void discarded(struct fake_conn *conn)
{
    struct server *server = DSQL_CONTAINER_OF(conn, struct server, conn);
    (void)serve(server);
    server_end(server);
    server_begin(server);
}

static void say_error(struct server *server, const char *severity, const char *sqlstate)
{
    const struct dsql_pg_report report = {.severity = dsql_span_of(severity),
                                          .severity_plain = dsql_span_of(severity),
                                          .sqlstate = dsql_span_of(sqlstate),
                                          .message = DSQL_SPAN("no")};
    dsql_pg_put_error(&server->out, &report);
    if (server->tx == DSQL_PG_IN_TX)
        server->tx = DSQL_PG_FAILED_TX;
    if (server->tx == DSQL_PG_IDLE)
        server->application_name = server->before;
}

static void done(struct server *server, const char *tag)
{
    dsql_pg_put_command_complete(&server->out, dsql_span_of(tag));
}

static bool has(struct dsql_span text, const char *what)
{
    return memmem(text.ptr, text.len, what, strlen(what)) != NULL;
}

/* The value behind the first of these words. */
static char value_behind(struct dsql_span text, const char *what)
{
    const char *at = memmem(text.ptr, text.len, what, strlen(what));
    return at ? at[strlen(what)] : '\0';
}

/* A client's INSERT: 'X' in it is the client's name. */
static void insert(struct server *server, struct dsql_span text)
{
    char name = value_behind(text, "insert ");
    assert_int_equal(name, server->application_name); /* the point of it all */
    w.clients[name == 'a' ? 0 : 1].runs++;
    done(server, "INSERT 0 1");
}

static void put_settings(struct server *server)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(&server->out, DSQL_PG_BE_DATA_ROW);
    dsql_pg_msg_count(&msg, DSQL_PARAMETERS);
    for (size_t i = 0; i < DSQL_PARAMETERS; i++)
        dsql_pg_msg_value(&msg, (struct dsql_pg_value){
                                    .bytes = i == DSQL_PARAMETER_APPLICATION_NAME
                                                 ? (struct dsql_span){&server->application_name, 1}
                                                 : DSQL_SPAN("v")});
    dsql_pg_msg_end(&msg);
}

/* False: an error. */
static bool run(struct server *server, struct dsql_span text)
{
    char checked =
        value_behind(text, "current_setting('application_name') operator(pg_catalog.=) '");
    char set = value_behind(text, "set_config('application_name', '");
    if (has(text, "insert")) {
        insert(server, text);
    } else if (has(text, "set to ")) {
        server->application_name = value_behind(text, "set to ");
        done(server, "SET");
    } else if (dsql_span_starts(text, DSQL_SPAN("select pg_catalog.current_setting"))) {
        put_settings(server);
        done(server, "SELECT 1");
    } else if (has(text, "begin")) {
        server->tx = DSQL_PG_IN_TX;
        done(server, "BEGIN");
    } else if (has(text, "commit")) {
        server->tx = DSQL_PG_IDLE;
        done(server, "COMMIT");
    } else if (has(text, "copy")) {
        struct dsql_pg_msg msg = dsql_pg_msg_begin(&server->out, DSQL_PG_BE_COPY_IN);
        dsql_pg_msg_u8(&msg, 0);
        dsql_pg_msg_u16(&msg, 0);
        dsql_pg_msg_end(&msg);
        server->copying = true;
    } else if (checked && checked != server->application_name) {
        say_error(server, "ERROR", "22012");
        return false;
    } else {
        server->application_name = set ? set : server->application_name;
        done(server, "SELECT 1");
    }
    return true;
}

static size_t name_at(const struct server *server, struct dsql_span name)
{
    size_t i = 0;
    while (i < server->name_count && !dsql_span_eq(name, dsql_span_of(server->names[i])))
        i++;
    return i;
}

static bool do_parse(struct server *server, const struct dsql_pg_parse *parse)
{
    if (parse->name.len == 0) {
        (void)snprintf(server->text, TEXT_MAX, "%.*s", (int)parse->query.len, parse->query.ptr);
    } else if (name_at(server, parse->name) < server->name_count) {
        say_error(server, "ERROR", "42P05");
        return false;
    } else {
        assert_true(server->name_count < NAMES); /* guards are closed */
        memcpy(server->names[server->name_count++], parse->name.ptr, parse->name.len);
    }
    dsql_pg_put_empty(&server->out, DSQL_PG_BE_PARSE_COMPLETE);
    return true;
}

static void do_close(struct server *server, struct dsql_span name)
{
    size_t at = name_at(server, name);
    if (at < server->name_count) {
        memmove(server->names[at], server->names[--server->name_count], sizeof(server->names[at]));
        memset(server->names[server->name_count], 0, sizeof(server->names[at]));
    }
    dsql_pg_put_empty(&server->out, DSQL_PG_BE_CLOSE_COMPLETE);
}

static bool do_describe(struct server *server, const struct dsql_pg_target *target)
{
    if (target->name.len > 0 && name_at(server, target->name) == server->name_count) {
        say_error(server, "ERROR", "26000");
        return false;
    }
    struct dsql_pg_msg msg = dsql_pg_msg_begin(&server->out, DSQL_PG_BE_PARAMETER_DESCRIPTION);
    dsql_pg_msg_count(&msg, 0);
    dsql_pg_msg_end(&msg);
    dsql_pg_put_empty(&server->out, DSQL_PG_BE_NO_DATA);
    return true;
}

static bool do_extended(struct server *server, const struct dsql_pg_fe *msg)
{
    switch ((int)msg->type) {
    case DSQL_PG_FE_PARSE:
        return do_parse(server, &msg->parse);
    case DSQL_PG_FE_BIND:
        dsql_pg_put_empty(&server->out, DSQL_PG_BE_BIND_COMPLETE);
        return true;
    case DSQL_PG_FE_DESCRIBE:
        return do_describe(server, &msg->target);
    case DSQL_PG_FE_CLOSE:
        do_close(server, msg->target.name);
        return true;
    default:
        return run(server, dsql_span_of(server->text));
    }
}

static void end_segment(struct server *server)
{
    server->skipping = false;
    if (server->tx == DSQL_PG_IDLE)
        server->before = server->application_name;
    dsql_pg_put_ready(&server->out, server->tx);
}

static bool do_copy(struct server *server, const struct dsql_pg_piece *piece)
{
    if (!server->copying)
        return piece->type == DSQL_PG_FE_COPY_DATA || piece->type == DSQL_PG_FE_COPY_DONE;
    if (piece->type == DSQL_PG_FE_COPY_DONE) {
        server->copying = false;
        insert(server, DSQL_SPAN("insert b"));
        end_segment(server);
    }
    return true;
}

/* Carries a message out; uncommitted: but for the end of its transaction. */
static void act(struct server *server, const struct dsql_pg_fe *msg, bool uncommitted)
{
    bool query = msg->type == DSQL_PG_FE_QUERY;
    if (query)
        (void)run(server, msg->query);
    else if (msg->type != DSQL_PG_FE_SYNC)
        server->skipping = !do_extended(server, msg);
    if (server->copying)
        return;
    if (uncommitted && (query || msg->type == DSQL_PG_FE_SYNC) && server->tx == DSQL_PG_IDLE)
        say_error(server, "ERROR", "40001");
    if (query || msg->type == DSQL_PG_FE_SYNC)
        end_segment(server);
}

/* A message that is not skipped. */
static void do_message(struct server *server, const struct dsql_pg_fe *msg)
{
    bool query = msg->type == DSQL_PG_FE_QUERY, sync = msg->type == DSQL_PG_FE_SYNC;
    unsigned at = w.acted++;
    enum fault fault = at >= w.fault_at && at - w.fault_at < w.fault_times ? w.fault : NO_FAULT;
    if (fault == GOODBYE)
        say_error(server, "FATAL", "57P01");
    server->ended = fault == GOODBYE || fault == LOST_BEFORE;
    if (server->ended)
        return;
    if ((fault == STALE || fault == DENIED) && !sync) {
        say_error(server, "ERROR", fault == STALE ? "40001" : "42501");
        server->skipping = !query;
        if (query)
            end_segment(server);
        return;
    }
    act(server, msg, fault == UNCOMMITTED);
    if (fault == LOST_AFTER) {
        server->ended = true;
        dsql_strbuf_clear(&server->out);
    }
}

/* Reads what has come; false: nothing. */
static bool collect(struct server *server, struct dsql_strbuf *bytes)
{
    char chunk[4096];
    ssize_t n;
    size_t before = bytes->len;
    while ((n = recv(server->conn.far, chunk, sizeof(chunk), 0)) > 0)
        dsql_strbuf_add(bytes, (struct dsql_span){chunk, (size_t)n});
    return bytes->len > before;
}

static void send_all(int fd, struct dsql_span bytes)
{
    if (bytes.len > 0)
        (void)!send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
}

static bool serve(struct server *server)
{
    struct dsql_strbuf bytes;
    struct dsql_pg_piece piece;
    struct dsql_pg_fe msg;
    struct dsql_err err;
    dsql_strbuf_init_heap(&bytes, BOX);
    bool any = collect(server, &bytes);
    struct dsql_span in = dsql_strbuf_span(&bytes);
    while (!server->ended) {
        assert_int_equal(dsql_pg_framer_next(&server->in, &in, &piece, &err), DSQL_OK);
        if (!piece.ready)
            break;
        bool ignored = piece.type == DSQL_PG_FE_FLUSH || piece.type == DSQL_PG_FE_TERMINATE;
        if (do_copy(server, &piece) || ignored ||
            (server->skipping && piece.type != DSQL_PG_FE_SYNC))
            continue;
        assert_int_equal(dsql_pg_fe_parse(piece.type, piece.body, &msg, &err), DSQL_OK);
        do_message(server, &msg);
    }
    send_all(server->conn.far, dsql_strbuf_span(&server->out));
    dsql_strbuf_fini(&server->out);
    dsql_strbuf_init_heap(&server->out, BOX);
    if (server->ended)
        (void)shutdown(server->conn.far, SHUT_RDWR);
    dsql_strbuf_fini(&bytes);
    return any;
}

/* -- Clients. */

static void hear(struct client *client, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_be msg;
    struct dsql_err err;
    client->readies += piece->type == DSQL_PG_BE_READY;
    if (piece->type != DSQL_PG_BE_COMMAND_COMPLETE && piece->type != DSQL_PG_BE_ERROR)
        return;
    assert_int_equal(dsql_pg_be_parse(piece->type, piece->body, &msg, &err), DSQL_OK);
    if (piece->type == DSQL_PG_BE_COMMAND_COMPLETE) {
        client->heard += dsql_span_starts(msg.tag, DSQL_SPAN("INSERT"));
        return;
    }
    client->unknown |= dsql_span_eq(msg.report.sqlstate, DSQL_SPAN("08007"));
    client->lost |= dsql_span_eq(msg.report.sqlstate, DSQL_SPAN("08006"));
    client->unrun += dsql_span_eq(msg.report.sqlstate, DSQL_SPAN("40001")) &&
                     dsql_span_starts(msg.report.message, DSQL_SPAN("the client's settings"));
}

static bool listen_to(struct client *client)
{
    char chunk[4096];
    struct dsql_pg_piece piece;
    struct dsql_err err;
    ssize_t n;
    bool any = false;
    while (!client->ended && (n = recv(client->far, chunk, sizeof(chunk), 0)) >= 0) {
        struct dsql_span in = {chunk, (size_t)n};
        any = true;
        client->ended = n == 0;
        while (dsql_pg_framer_next(&client->in, &in, &piece, &err) == DSQL_OK && piece.ready)
            hear(client, &piece);
    }
    return any;
}

/* Until nobody says anything. */
static void settle(void)
{
    bool any = true;
    while (any) {
        any = false;
        for (int i = 0; i < TURNS; i++)
            dsql_proxy_turn(&w.proxy, 0);
        for (size_t i = 0; i < SERVERS; i++)
            any |= serve(&w.servers[i]);
        for (int i = 0; i < TURNS; i++)
            dsql_proxy_turn(&w.proxy, 0);
        for (size_t i = 0; i < CLIENTS; i++)
            any |= listen_to(&w.clients[i]);
    }
}

static void put_statement(struct dsql_strbuf *out, const char *text)
{
    const struct dsql_pg_bind bind = {.portal = DSQL_SPAN(""), .statement = DSQL_SPAN("")};
    dsql_pg_put_parse(out, &(struct dsql_pg_parse){.query = dsql_span_of(text)});
    dsql_pg_put_bind(out, &bind);
    dsql_pg_put_execute(out, bind.portal, 0);
}

/* -- The world. */

static void drop_line(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg;
    (void)level;
    (void)line;
    (void)len;
}

static void world_begin(void)
{
    fake_pool = (struct fake_pool){take, returned, discarded};
    manual_clock_init(&w.clock, (struct dsql_wall){0});
    dsql_log_init(&w.log, &w.clock.clock, drop_line, NULL);
    const struct dsql_proxy_options options = {.clients_max = 10, .clock = &w.clock.clock};
    fake_proxy_begin(&w.proxy, &options, &w.pool, &w.log);
    dsql_pg_limits_session(&w.limits, DSQL_PG_FRONTEND, 1 << 20);
    for (size_t i = 0; i < SERVERS; i++)
        server_begin(&w.servers[i]);
    for (size_t i = 0; i < CLIENTS; i++) {
        char name = (char)('a' + i);
        struct client *client = &w.clients[i];
        *client = (struct client){.name = name};
        struct dsql_client *made = fake_client_begin(&w.proxy, &client->far);
        struct dsql_settings *settings = dsql_settings_with(
            w.proxy.roles[0].base, DSQL_PARAMETER_APPLICATION_NAME, (struct dsql_span){&name, 1});
        fake_client_admit(made, settings);
        dsql_settings_unref(settings);
        dsql_pg_framer_init(&client->in, &w.proxy.server_limits);
    }
    w.acted = 0;
}

static void world_end(void)
{
    dsql_proxy_close(&w.proxy);
    for (size_t i = 0; i < CLIENTS; i++) {
        close(w.clients[i].far);
        dsql_pg_framer_fini(&w.clients[i].in);
    }
    for (size_t i = 0; i < SERVERS; i++)
        server_end(&w.servers[i]);
    dsql_proxy_fini(&w.proxy);
}

static void say(struct client *client, const struct dsql_strbuf *out, unsigned ends)
{
    client->sent_ends += ends;
    send_all(client->far, dsql_strbuf_span(out));
}

/* -- What client b says, once a's settings are on the connection. */

struct scenario {
    const char *name;
    void (*say)(struct client *client);
    unsigned inserts;
    unsigned skipped; /* queries that are not answered after an error */
    bool leaves;
};

/* A statement that runs under the client's own settings only. */
static struct dsql_span text_of(const struct client *client)
{
    return client->name == 'a' ? DSQL_SPAN("insert a") : DSQL_SPAN("insert b");
}

static void say_query(struct client *client)
{
    STRBUF(out, 1024);
    dsql_pg_put_query(&out, text_of(client));
    say(client, &out, 1);
}

static void say_extended(struct client *client)
{
    STRBUF(out, 1024);
    put_statement(&out, "insert b");
    dsql_pg_put_sync(&out);
    say(client, &out, 1);
}

/* Its part of the message behind has come when the answers come. */
static void say_with_flush(struct client *client)
{
    STRBUF(out, 1024);
    put_statement(&out, "insert b");
    dsql_pg_put_flush(&out);
    size_t whole = out.len;
    dsql_pg_put_sync(&out);
    send_all(client->far, dsql_span_first(dsql_strbuf_span(&out), whole + 2));
    settle();
    client->sent_ends++;
    send_all(client->far, dsql_span_from(dsql_strbuf_span(&out), whole + 2));
}

static void say_transaction(struct client *client)
{
    STRBUF(out, 1024);
    dsql_pg_put_query(&out, DSQL_SPAN("begin"));
    dsql_pg_put_query(&out, DSQL_SPAN("insert b"));
    dsql_pg_put_query(&out, DSQL_SPAN("commit"));
    say(client, &out, 3);
}

static void say_pipeline(struct client *client)
{
    STRBUF(out, 1024);
    for (int i = 0; i < 3; i++) {
        put_statement(&out, "insert b");
        dsql_pg_put_sync(&out);
    }
    dsql_pg_put_query(&out, DSQL_SPAN("insert b"));
    say(client, &out, 4);
}

static void say_query_behind(struct client *client)
{
    STRBUF(out, 1024);
    dsql_pg_put_parse(&out,
                      &(struct dsql_pg_parse){.name = DSQL_SPAN("s"), .query = DSQL_SPAN("x")});
    dsql_pg_put_query(&out, DSQL_SPAN("insert b"));
    dsql_pg_put_sync(&out);
    say(client, &out, 2);
}

static void say_copy(struct client *client)
{
    STRBUF(out, 1024);
    dsql_pg_put_query(&out, DSQL_SPAN("copy"));
    dsql_pg_put_text(&out, DSQL_PG_FE_COPY_DATA, DSQL_SPAN("row"));
    dsql_pg_put_empty(&out, DSQL_PG_FE_COPY_DONE);
    say(client, &out, 1);
}

static void say_much(struct client *client)
{
    struct dsql_strbuf out;
    dsql_strbuf_init_heap(&out, BOX);
    for (int i = 0; i < 3; i++) {
        char text[DSQL_GUARD_BYTES / 2] = "insert b";
        memset(text + 8, ' ', sizeof(text) - 9);
        put_statement(&out, text);
    }
    dsql_pg_put_sync(&out);
    say(client, &out, 1);
    dsql_strbuf_fini(&out);
}

static void say_and_leave(struct client *client)
{
    STRBUF(out, 1024);
    dsql_pg_put_query(&out, DSQL_SPAN("insert b"));
    dsql_pg_put_empty(&out, DSQL_PG_FE_TERMINATE);
    say(client, &out, 1);
    (void)shutdown(client->far, SHUT_WR);
}

static const struct scenario scenarios[] = {
    {"a query", say_query, 1, 0, false},
    {"extended", say_extended, 1, 0, false},
    {"with a flush", say_with_flush, 1, 0, false},
    {"a transaction", say_transaction, 1, 0, false},
    {"a pipeline", say_pipeline, 4, 0, false},
    {"a query behind a Parse", say_query_behind, 1, 1, false},
    {"copy", say_copy, 1, 0, false},
    {"much", say_much, 3, 0, false},
    {"and leaves", say_and_leave, 1, 0, true},
};

/* Query; Parse, Bind, Execute, Parse, Sync; Describe, Close: counted from 0. */
enum { LAST_OF_GUARD = 7 };

static void check(const struct client *client, const struct scenario *scenario)
{
    assert_true(client->heard <= client->runs);
    assert_true(client->runs <= scenario->inserts);
    if (client->unrun == client->sent_ends)
        assert_int_equal(client->runs, 0);
    if (client->runs > client->heard)
        assert_true(client->unknown || client->lost || client->ended);
    if (client->ended)
        return;
    assert_true(client->readies <= client->sent_ends);
    assert_true(client->readies + scenario->skipped >= client->sent_ends);
}

/* Client b says something on a connection with a's settings, while a fault comes so many times from
 * the at-th message on; true: the fault came. */
static bool try_scenario(const struct scenario *scenario, enum fault fault, unsigned at,
                         unsigned times)
{
    struct client *a = &w.clients[0], *b = &w.clients[1];
    world_begin();
    w.fault = NO_FAULT;
    say_query(a);
    settle();
    assert_int_equal(a->heard, 1);
    w.fault = fault;
    w.fault_at = at;
    w.fault_times = times;
    w.acted = 0;
    scenario->say(b);
    settle();
    bool came = w.acted > at;
    check(b, scenario);
    bool early = times == 1 && at <= LAST_OF_GUARD;
    bool mends = fault == NO_FAULT || (early && (fault == STALE || fault == GOODBYE));
    if (mends) /* nothing that b notices */
        assert_int_equal(b->runs, scenario->inserts);
    if (mends && !scenario->leaves)
        assert_int_equal(b->heard, scenario->inserts);
    w.fault = NO_FAULT;
    for (int i = 0; i < 2; i++) { /* whoever is there goes on, with its own settings */
        struct client *client = i ? b : a;
        unsigned before = client->heard;
        client->sent_ends = client->readies;
        if (client->ended || scenario->leaves)
            continue;
        say_query(client);
        settle();
        assert_int_equal(client->heard, before + 1);
        assert_int_equal(client->readies, client->sent_ends);
    }
    world_end();
    return came;
}

TEST(no_statement_runs_under_other_settings_wherever_the_server_fails)
{
    static const unsigned times[] = {1, 2, 3, 100};
    for (size_t i = 0; i < DSQL_COUNT_OF(scenarios); i++) {
        assert_false(try_scenario(&scenarios[i], NO_FAULT, UINT_MAX, 0));
        for (enum fault fault = STALE; fault < FAULTS; fault++)
            for (size_t k = 0; k < DSQL_COUNT_OF(times); k++)
                for (unsigned at = 0; try_scenario(&scenarios[i], fault, at, times[k]); at++)
                    ;
    }
}

/* The server has the statement before it has answered anything. */
TEST(settings_and_statement_are_one_round_trip)
{
    static void (*const says[])(struct client * client) = {say_query, say_extended};
    for (size_t i = 0; i < DSQL_COUNT_OF(says); i++) {
        char bytes[TEXT_MAX];
        world_begin();
        w.fault = NO_FAULT;
        say_query(&w.clients[0]);
        settle();
        says[i](&w.clients[1]);
        for (int k = 0; k < TURNS; k++)
            dsql_proxy_turn(&w.proxy, 0);
        ssize_t n = recv(w.servers[0].conn.far, bytes, sizeof(bytes), MSG_PEEK);
        assert_true(n > 0);
        assert_true(has((struct dsql_span){bytes, (size_t)n}, "insert b"));
        settle();
        assert_int_equal(w.clients[1].heard, 1);
        world_end();
    }
}

TEST(settings_that_are_refused_three_times_are_told_as_40001)
{
    struct client *b = &w.clients[1];
    world_begin();
    w.fault = NO_FAULT;
    say_query(&w.clients[0]);
    settle();
    w.fault = STALE;
    w.fault_at = w.acted = 0;
    w.fault_times = 1000;
    say_transaction(b);
    settle();
    assert_int_equal(b->unrun, 3); /* what comes behind runs no more than the first */
    assert_int_equal(b->runs, 0);
    assert_int_equal(b->readies, 3);
    w.fault = NO_FAULT;
    say_extended(b);
    settle();
    assert_int_equal(b->heard, 1);
    assert_int_equal(b->readies, 4);
    world_end();
}

/* A SET was told as done, and the connection is lost while the settings are read back: the client
 * has them, or hears that its session is gone. */
TEST(settings_that_can_not_be_read_back_end_the_client)
{
    struct client *b = &w.clients[1];
    unsigned ended = 0;
    for (enum fault fault = STALE; fault < FAULTS; fault++)
        for (unsigned at = LAST_OF_GUARD + 2; at < LAST_OF_GUARD + 4; at++)
            for (unsigned times = 1; times < 5; times++) {
                STRBUF(out, 64);
                world_begin();
                w.fault = fault;
                w.fault_at = at;
                w.fault_times = times;
                dsql_pg_put_query(&out, DSQL_SPAN("set to z"));
                say(b, &out, 1);
                settle();
                assert_int_equal(b->readies, 1);
                assert_true(!b->ended || b->lost);
                ended += b->ended;
                w.fault = NO_FAULT;
                dsql_strbuf_clear(&out);
                dsql_pg_put_query(&out, DSQL_SPAN("insert z"));
                say(b, &out, 1);
                settle();
                assert_int_equal(b->heard, !b->ended);
                world_end();
            }
    assert_true(ended > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_statement_runs_under_other_settings_wherever_the_server_fails),
        cmocka_unit_test(settings_and_statement_are_one_round_trip),
        cmocka_unit_test(settings_that_are_refused_three_times_are_told_as_40001),
        cmocka_unit_test(settings_that_can_not_be_read_back_end_the_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
