/*
 * `dsql proxy` between clients and servers that say anything. Sockets are real, the pool is not:
 * three connections that are lent in turn, wrapped at link time (cmake/tests.cmake).
 *
 * Byte 0 of an input is the mode, byte 1 the seed of what the server decides. Then come steps: a
 * byte for the client and what happens, a byte for how much, and bytes where there are some.
 *
 * With the model (mode bit 2 clear) the server does what PostgreSQL does with messages, and fails
 * some of them; with mode bit 4 connections are lost, with what they said last or without. Checked
 * then: (F1) a statement of the proxy's own names is there when it is used, and is not there when
 * it is prepared; (F2) no client hears such a name; (F3) a Sync at the end is answered with
 * ReadyForQuery, as the last thing, and no answer is outstanding then; (F4) a statement of a
 * client's runs under the settings that the client was told of, or began with.
 *
 * For F4 a SET sets parameters by chance, and undoes nothing when its transaction fails. With
 * retries it sets none: which run of a transaction a client was told of is not followed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/link.h"
#include "pgwire/backend.h"
#include "pgwire/put_backend.h"
#include "pgwire/put_frontend.h"
#include "proxy/proxy.h"
#include "support/fake_pool.h"
#include "support/fuzz.h"
#include "support/manual_clock.h"

enum { CLIENTS = 3, SERVERS = 3, NAMES = 256, PORTALS = 8, STEPS = 400, BOX = 1 << 22 };
/* What a statement says that has set something. */
#define SETS "SELECT 2"

enum { SQL_MAX = 4096, UNTOLD = 256 };
enum { MODE_RETRIES = 1, MODE_STRICT = 2, MODE_WILD = 4, MODE_LOGIN = 8, MODE_LOSES = 16 };

/* A server: the far end of a connection that the pool lends. */
struct settings {
    char of[DSQL_PARAMETERS];
};

struct server {
    struct fake_conn conn;
    struct dsql_pg_framer in;
    struct dsql_strbuf out;
    char names[NAMES][DSQL_SERVER_NAME_MAX];
    size_t name_count;
    enum dsql_pg_tx tx;
    bool skipping, copying, copying_simple;
    bool lost;                /* it does nothing more */
    uint64_t number;          /* no other one has it */
    struct settings settings; /* in force */
    struct settings before;   /* while others are in place for a PREPARE */
    bool under;
    char unnamed[SQL_MAX];   /* the proxy's own text, if that is the unnamed statement */
    bool unnamed_bound;      /* the portal without a name is of that */
    struct dsql_strbuf made; /* the text of the statement that the proxy makes of a client's */
    struct portal {
        char name[DSQL_SERVER_NAME_MAX];
        struct dsql_strbuf text; /* of such a statement; empty: another one */
    } portals[PORTALS];
    size_t portal_count;
};

struct client {
    struct dsql_client *is; /* NULL: gone */
    int far;
    struct dsql_pg_framer heard;
    bool garbled; /* what it sent can't be followed */
    char last;    /* the type of the message that it heard last */
    bool got_ready;
    uint64_t number;             /* of the server at which its last statement was run */
    struct settings told;        /* by SETs that it was told of, */
    struct settings committed;   /* and by those of transactions that have ended */
    struct settings run[UNTOLD]; /* by SETs that it was not told of yet */
    size_t run_count;
};

static struct world {
    struct dsql_proxy proxy;
    struct dsql_pool pool;
    struct manual_clock clock;
    struct dsql_log log;
    struct server servers[SERVERS];
    struct client clients[CLIENTS];
    struct dsql_pg_limits limits;
    uint64_t servers_begun;
    uint32_t random;
    uint8_t mode;
} w;

static unsigned chance(unsigned n)
{
    w.random = w.random * 1103515245 + 12345;
    return (w.random >> 16) % n;
}

/* -- The pool. */

static void server_begin(struct server *server)
{
    *server = (struct server){.tx = DSQL_PG_IDLE, .number = ++w.servers_begun};
    fake_conn_begin(&server->conn);
    memset(server->settings.of, 'v', DSQL_PARAMETERS);
    dsql_pg_framer_init(&server->in, &w.limits);
    dsql_strbuf_init_heap(&server->out, BOX);
    dsql_strbuf_init_heap(&server->made, BOX);
    for (size_t i = 0; i < PORTALS; i++)
        dsql_strbuf_init_heap(&server->portals[i].text, BOX);
}

static void server_end(struct server *server)
{
    fake_conn_end(&server->conn);
    dsql_pg_framer_fini(&server->in);
    dsql_strbuf_fini(&server->out);
    dsql_strbuf_fini(&server->made);
    for (size_t i = 0; i < PORTALS; i++)
        dsql_strbuf_fini(&server->portals[i].text);
}

static struct fake_conn *take_conn(void)
{
    for (size_t i = 0, at = chance(SERVERS); i < SERVERS; i++, at = (at + 1) % SERVERS)
        if (!w.servers[at].conn.lent)
            return &w.servers[at].conn;
    return NULL;
}

static void returned(struct fake_conn *conn)
{
    const struct server *server = DSQL_CONTAINER_OF(conn, struct server, conn);
    if (!(w.mode & MODE_WILD)) /* X2: nothing is under way on it */
        assert(server->tx == DSQL_PG_IDLE && !server->skipping && !server->copying);
}

static void discarded(struct fake_conn *conn)
{
    struct server *server = DSQL_CONTAINER_OF(conn, struct server, conn);
    server_end(server);
    server_begin(server);
}

/* -- The model of a server. */

static bool is_of_settings(struct dsql_span text)
{
    return dsql_span_starts(text, DSQL_SPAN("select pg_catalog.")) ||
           dsql_span_starts(text, DSQL_SPAN("select 1 operator"));
}

static bool is_proxys(struct dsql_span name)
{
    return dsql_span_starts(name, DSQL_SPAN("dsql proxy"));
}

static size_t name_at(const struct server *server, struct dsql_span name)
{
    size_t i = 0;
    while (i < server->name_count && !dsql_span_eq(name, dsql_span_of(server->names[i])))
        i++;
    return i;
}

static void say_error(struct server *server, const char *what, struct dsql_span name)
{
    char message[200];
    (void)snprintf(message, sizeof(message), "prepared statement \"%.*s\" %s", (int)name.len,
                   name.len ? name.ptr : "", what);
    const struct dsql_pg_report report = {.severity = DSQL_SPAN("ERROR"),
                                          .severity_plain = DSQL_SPAN("ERROR"),
                                          .sqlstate =
                                              chance(3) ? DSQL_SPAN("42601") : DSQL_SPAN("40001"),
                                          .message = dsql_span_of(message)};
    dsql_pg_put_error(&server->out, &report);
    if (server->under)
        server->settings = server->before;
    server->under = false;
    if (server->tx == DSQL_PG_IN_TX)
        server->tx = DSQL_PG_FAILED_TX;
}

static bool fails(struct server *server)
{
    if (chance(10) > 0)
        return false;
    say_error(server, "is not liked", DSQL_SPAN("x"));
    return true;
}

/* False: an error. A text that was parsed once can be parsed again. */
static bool do_parse(struct server *server, const struct dsql_pg_parse *parse)
{
    size_t at = name_at(server, parse->name);
    bool there = parse->name.len > 0 && at < server->name_count;
    bool ends = dsql_span_eq(parse->query, DSQL_SPAN("rollback")) ||
                dsql_span_eq(parse->query, DSQL_SPAN("commit"));
    if (dsql_span_eq(parse->query, DSQL_SPAN("insert")) ||
        (server->tx == DSQL_PG_FAILED_TX && !ends)) {
        say_error(server, "is not liked", DSQL_SPAN("x"));
        return false;
    }
    if (there || server->name_count == NAMES) {
        say_error(server, "already exists", parse->name);
        return false;
    }
    if (parse->name.len == 0) {
        bool ours = is_of_settings(parse->query);
        assert(parse->query.len < SQL_MAX || !ours);
        (void)snprintf(server->unnamed, SQL_MAX, "%.*s", ours ? (int)parse->query.len : 0,
                       parse->query.len ? parse->query.ptr : "");
    }
    if (dsql_span_eq(parse->name, DSQL_SPAN("dsql proxy sql"))) {
        dsql_strbuf_clear(&server->made);
        dsql_strbuf_add(&server->made, parse->query);
    }
    if (parse->name.len > 0 && parse->name.len < DSQL_SERVER_NAME_MAX)
        memcpy(server->names[server->name_count++], parse->name.ptr, parse->name.len);
    dsql_pg_put_empty(&server->out, DSQL_PG_BE_PARSE_COMPLETE);
    return true;
}

static void forget(struct server *server, struct dsql_span name)
{
    size_t at = name_at(server, name);
    if (at == server->name_count)
        return;
    memmove(server->names[at], server->names[--server->name_count], sizeof(server->names[at]));
    memset(server->names[server->name_count], 0, sizeof(server->names[at]));
}

/* Of a name in the text of a query: what it means may have failed to be prepared in front of it. */
static bool is_known(struct server *server, struct dsql_span name)
{
    bool there = name.len == 0 || name_at(server, name) < server->name_count;
    if (!there)
        say_error(server, "does not exist", name);
    return there;
}

static bool is_there(struct server *server, struct dsql_span name)
{
    bool there = is_known(server, name);
    /* F1. A guard is not there where settings are not in place. */
    assert(there || !is_proxys(name) || dsql_span_starts(name, DSQL_SPAN("dsql proxy guard")));
    return there;
}

/* The row that answers dsql_settings_put_read(). */
static void put_settings(struct server *server)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(&server->out, DSQL_PG_BE_DATA_ROW);
    dsql_pg_msg_count(&msg, DSQL_PARAMETERS);
    for (size_t i = 0; i < DSQL_PARAMETERS; i++)
        dsql_pg_msg_value(&msg, (struct dsql_pg_value){.bytes = {&server->settings.of[i], 1}});
    dsql_pg_msg_end(&msg);
}

static void listen_to(struct client *client);

/* Whose connection it is; NULL: of none whose settings are followed. */
static struct client *client_of(const struct server *server)
{
    const struct dsql_server *known = server->conn.instance;
    for (size_t i = 0; !(w.mode & (MODE_WILD | MODE_LOGIN)) && known && i < CLIENTS; i++)
        if (w.clients[i].is == known->client && known->client)
            return &w.clients[i];
    return NULL;
}

/* A statement of a client's is run: F4. */
static void note_run(struct server *server, bool sets)
{
    struct client *client = client_of(server);
    if (!client)
        return;
    listen_to(client);
    if (client->number != server->number) { /* what it was not told of before is lost */
        client->number = server->number;
        client->told = client->committed;
        client->run_count = 0;
    }
    const struct settings *wanted =
        client->run_count > 0 ? &client->run[client->run_count - 1] : &client->told;
    assert(memcmp(wanted, &server->settings, sizeof(*wanted)) == 0);
    if (!sets || w.mode & MODE_RETRIES)
        return;
    server->settings.of[chance(DSQL_PARAMETERS)] = (char)('a' + chance(3));
    assert(client->run_count < UNTOLD);
    client->run[client->run_count++] = server->settings;
}

/* What a client hears of its settings. */
static void note_heard(struct client *client, const struct dsql_pg_piece *piece)
{
    bool sets = piece->type == DSQL_PG_BE_COMMAND_COMPLETE &&
                dsql_span_eq(piece->body, (struct dsql_span){SETS, sizeof(SETS)});
    if (sets && client->run_count > 0) {
        client->told = client->run[0];
        memmove(client->run, client->run + 1, --client->run_count * sizeof(client->run[0]));
    }
    if (piece->type == DSQL_PG_BE_ERROR && memmem(piece->body.ptr, piece->body.len, "C0800", 5))
        client->told = client->committed;
    if (piece->type == DSQL_PG_BE_READY && piece->body.len == 1 &&
        piece->body.ptr[0] == DSQL_PG_IDLE)
        client->committed = client->told;
}

/* Calls `each` for every "_setting('NAME'" and "_config('NAME'" of a text with the value behind it.
 * The values of the model have one letter. */
static bool each_setting(struct dsql_span text, struct server *server,
                         bool (*each)(struct server *server, size_t i, char value))
{
    bool all = true;
    for (size_t i = 0; i < DSQL_PARAMETERS; i++) {
        char name[64];
        int len = snprintf(name, sizeof(name), "('%s'", dsql_parameter_name(i));
        const char *at = memmem(text.ptr, text.len, name, (size_t)len);
        const char *end = text.ptr + text.len;
        const char *quote = at ? memchr(at + len, '\'', (size_t)(end - at - len)) : NULL;
        assert(!at || (quote && quote + 2 < end && quote[2] == '\''));
        all = (!at || each(server, i, quote[1])) && all;
    }
    return all;
}

static bool set_one(struct server *server, size_t i, char value)
{
    server->settings.of[i] = value;
    return true;
}

static bool is_one(struct server *server, size_t i, char value)
{
    return server->settings.of[i] == value;
}

/* A statement of the proxy's about settings; false: an error. */
static bool run_settings(struct server *server, struct dsql_span text)
{
    bool checks = dsql_span_starts(text, DSQL_SPAN("select 1 operator"));
    bool reads = dsql_span_starts(text, DSQL_SPAN("select pg_catalog.current_setting"));
    if (fails(server))
        return false;
    if (checks && !each_setting(text, server, is_one)) {
        say_error(server, "is by zero", DSQL_SPAN("x"));
        return false;
    }
    if (reads)
        put_settings(server);
    else if (!checks)
        (void)each_setting(text, server, set_one);
    dsql_pg_put_command_complete(&server->out, DSQL_SPAN("SELECT 1"));
    return true;
}

/* Whether there are setters: now and then there are. */
static bool run_ask(struct server *server)
{
    if (fails(server))
        return false;
    struct dsql_pg_msg msg = dsql_pg_msg_begin(&server->out, DSQL_PG_BE_DATA_ROW);
    dsql_pg_msg_count(&msg, 1);
    dsql_pg_msg_value(&msg, (struct dsql_pg_value){.bytes = {chance(2) ? "t" : "f", 1}});
    dsql_pg_msg_end(&msg);
    dsql_pg_put_command_complete(&server->out, DSQL_SPAN("SELECT 1"));
    return true;
}

static void put_copy(struct server *server, uint8_t type)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(&server->out, type);
    dsql_pg_msg_u8(&msg, 0);
    dsql_pg_msg_u16(&msg, 0);
    dsql_pg_msg_end(&msg);
}

/* What a portal of the proxy's own text runs; NULL: it is of another one. */
static struct portal *portal_of(struct server *server, struct dsql_span name)
{
    for (size_t i = 0; i < server->portal_count; i++)
        if (dsql_span_eq(dsql_span_of(server->portals[i].name), name))
            return &server->portals[i];
    return NULL;
}

static void note_bind(struct server *server, const struct dsql_pg_bind *bind)
{
    bool made = dsql_span_eq(bind->statement, DSQL_SPAN("dsql proxy sql"));
    struct portal *portal = portal_of(server, bind->portal);
    if (!portal && made && bind->portal.len < DSQL_SERVER_NAME_MAX &&
        server->portal_count < PORTALS) {
        portal = &server->portals[server->portal_count++];
        if (bind->portal.len > 0)
            memcpy(portal->name, bind->portal.ptr, bind->portal.len);
    }
    if (!portal)
        return;
    dsql_strbuf_clear(&portal->text);
    if (made)
        dsql_strbuf_add(&portal->text, dsql_strbuf_span(&server->made));
}

/* PREPARE, and EXECUTE once or several times; false: an error. */
static bool run_names(struct server *server, struct dsql_span text)
{
    struct dsql_sql_names names = {.text = text};
    struct dsql_sql_name at;
    while ((at = dsql_sql_names_next(&names)).use != DSQL_SQL_NAMES_END) {
        struct dsql_span name = dsql_span_of(at.name);
        if (at.use == DSQL_SQL_EXECUTES && !is_known(server, name))
            return false;
        if (at.use == DSQL_SQL_EXECUTES)
            dsql_pg_put_command_complete(&server->out, DSQL_SPAN("SELECT 1"));
        if (at.use != DSQL_SQL_PREPARES)
            continue;
        if (name_at(server, name) < server->name_count || server->name_count == NAMES ||
            name.len >= DSQL_SERVER_NAME_MAX) {
            say_error(server, "already exists", name);
            return false;
        }
        memcpy(server->names[server->name_count++], name.ptr, name.len);
        dsql_pg_put_command_complete(&server->out, DSQL_SPAN("PREPARE"));
    }
    return true;
}

static bool run(struct server *server, struct dsql_span text, bool prepares);

/* The proxy puts other settings in place for one PREPARE, and those of before behind it. An error
 * takes them back. */
static bool run_literals(struct server *server, struct dsql_span text)
{
    bool ends = server->under;
    if (!server->under)
        server->before = server->settings;
    server->under = true;
    bool ran = run(server, text, true);
    server->under = server->under && !(ran && ends);
    return ran;
}

/* A command of a query or a portal; false: an error, or COPY goes on. prepares: what was prepared
 * once, and can be again. */
static bool run(struct server *server, struct dsql_span text, bool prepares)
{
    static const char *const tags[] = {"SELECT 1", "INSERT 0 1", "UPDATE 1", "SHOW",       "SET",
                                       "RESET",    "PREPARE",    "EXPLAIN",  "CREATE VIEW"};
    if (is_of_settings(text))
        return run_settings(server, text);
    if (dsql_span_eq(text, dsql_span_of(dsql_setters_sql)))
        return run_ask(server);
    if (dsql_span_eq_nocase(text, DSQL_SPAN("rollback")) ||
        dsql_span_eq_nocase(text, DSQL_SPAN("commit"))) {
        server->tx = DSQL_PG_IDLE;
        dsql_pg_put_command_complete(&server->out, DSQL_SPAN("COMMIT"));
        return true;
    }
    if (server->tx == DSQL_PG_FAILED_TX || (!prepares && fails(server))) {
        if (server->tx == DSQL_PG_FAILED_TX)
            say_error(server, "is ignored", DSQL_SPAN("x"));
        return false;
    }
    bool sets = dsql_span_starts(text, DSQL_SPAN("select set_config"));
    if (!prepares) /* with settings of before, perhaps */
        note_run(server, sets);
    if (sets) {
        dsql_pg_put_command_complete(&server->out, DSQL_SPAN(SETS));
    } else if (dsql_span_starts(text, DSQL_SPAN("DEALLOCATE \""))) {
        struct dsql_span name = dsql_span_from(text, 12);
        name.len--;
        if (!is_known(server, name))
            return false;
        forget(server, name);
        dsql_pg_put_command_complete(&server->out, DSQL_SPAN("DEALLOCATE"));
    } else if (dsql_span_starts(text, DSQL_SPAN("prepare")) ||
               dsql_span_starts(text, DSQL_SPAN("execute"))) {
        return run_names(server, text);
    } else if (dsql_span_eq_nocase(text, DSQL_SPAN("deallocate all"))) {
        server->name_count = 0;
        memset(server->names, 0, sizeof(server->names));
        dsql_pg_put_command_complete(&server->out, DSQL_SPAN("DEALLOCATE ALL"));
    } else if (dsql_span_eq(text, DSQL_SPAN("begin"))) {
        server->tx = DSQL_PG_IN_TX;
        dsql_pg_put_command_complete(&server->out, DSQL_SPAN("BEGIN"));
    } else if (dsql_span_starts(text, DSQL_SPAN("copy"))) {
        put_copy(server, DSQL_PG_BE_COPY_IN);
        server->copying = true;
        return false;
    } else {
        dsql_pg_put_command_complete(&server->out, dsql_span_of(tags[chance(DSQL_COUNT_OF(tags))]));
    }
    return true;
}

static void end_segment(struct server *server)
{
    server->skipping = false;
    for (size_t i = 0; server->tx == DSQL_PG_IDLE && i < server->portal_count; i++)
        dsql_strbuf_clear(&server->portals[i].text); /* portals end with the transaction */
    dsql_pg_put_ready(&server->out, server->tx);
}

static void do_query(struct server *server, struct dsql_span text)
{
    server->unnamed[0] = '\0';
    server->unnamed_bound = false;
    (void)run(server, text, false);
    server->copying_simple = server->copying;
    if (!server->copying)
        end_segment(server);
}

/* A message of the extended protocol; false: an error, the rest up to Sync is skipped. */
static bool do_extended(struct server *server, const struct dsql_pg_fe *msg)
{
    switch ((int)msg->type) {
    case DSQL_PG_FE_PARSE:
        return do_parse(server, &msg->parse);
    case DSQL_PG_FE_BIND:
        if (!is_there(server, msg->bind.statement) ||
            (!is_proxys(msg->bind.portal) && fails(server)))
            return false;
        note_bind(server, &msg->bind);
        if (msg->bind.portal.len == 0)
            server->unnamed_bound = msg->bind.statement.len == 0 && server->unnamed[0];
        dsql_pg_put_empty(&server->out, DSQL_PG_BE_BIND_COMPLETE);
        return true;
    case DSQL_PG_FE_DESCRIBE:
        if (msg->target.object == DSQL_PG_STATEMENT && !is_there(server, msg->target.name))
            return false;
        if (msg->target.object == DSQL_PG_STATEMENT) {
            struct dsql_pg_msg none =
                dsql_pg_msg_begin(&server->out, DSQL_PG_BE_PARAMETER_DESCRIPTION);
            dsql_pg_msg_count(&none, 0);
            dsql_pg_msg_end(&none);
        }
        dsql_pg_put_empty(&server->out, DSQL_PG_BE_NO_DATA);
        return true;
    case DSQL_PG_FE_CLOSE:
        if (msg->target.object == DSQL_PG_STATEMENT)
            forget(server, msg->target.name);
        dsql_pg_put_empty(&server->out, DSQL_PG_BE_CLOSE_COMPLETE);
        return true;
    default:
        if (msg->execute.portal.len == 0 && server->unnamed_bound)
            return run_settings(server, dsql_span_of(server->unnamed));
        struct portal *portal = portal_of(server, msg->execute.portal);
        if (portal && portal->text.len > 0) {
            struct dsql_span text = dsql_strbuf_span(&portal->text);
            bool literals = dsql_span_eq(msg->execute.portal, DSQL_SPAN("dsql proxy sql")) &&
                            dsql_span_starts(text, DSQL_SPAN("select pg_catalog.set_config"));
            bool ran = literals ? run_literals(server, text)
                                : run(server, text, is_proxys(msg->execute.portal));
            if (!dsql_span_starts(text, DSQL_SPAN("execute")))
                dsql_strbuf_clear(&portal->text); /* a command is run once */
            return ran;
        }
        return run(server,
                   dsql_span_eq(msg->execute.portal, DSQL_SPAN("b")) ? DSQL_SPAN("copy")
                                                                     : DSQL_SPAN("select"),
                   false) ||
               server->copying;
    }
}

/* What COPY reads; true: it was for it. */
static bool do_copy(struct server *server, uint8_t type)
{
    if (!server->copying)
        return type == DSQL_PG_FE_COPY_DATA || type == DSQL_PG_FE_COPY_DONE ||
               type == DSQL_PG_FE_COPY_FAIL;
    if (type == DSQL_PG_FE_COPY_DATA || type == DSQL_PG_FE_SYNC || type == DSQL_PG_FE_FLUSH)
        return true;
    server->copying = false;
    bool done = type == DSQL_PG_FE_COPY_DONE && !fails(server);
    if (done)
        dsql_pg_put_command_complete(&server->out, DSQL_SPAN("COPY 1"));
    else if (type != DSQL_PG_FE_COPY_DONE)
        say_error(server, "ends COPY", DSQL_SPAN("x"));
    if (server->copying_simple)
        end_segment(server);
    else
        server->skipping = !done;
    return true;
}

static void do_message(struct server *server, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_fe msg;
    struct dsql_err err;
    if (do_copy(server, piece->type))
        return;
    if (piece->type == DSQL_PG_FE_SYNC) {
        end_segment(server);
    } else if (server->skipping || piece->type == DSQL_PG_FE_FLUSH ||
               piece->type == DSQL_PG_FE_TERMINATE) {
        return;
    } else if (dsql_pg_fe_parse(piece->type, piece->body, &msg, &err) ||
               msg.type == DSQL_PG_FE_FUNCTION_CALL) {
        say_error(server, "can't be read", DSQL_SPAN("x"));
        server->skipping =
            piece->type != DSQL_PG_FE_QUERY && piece->type != DSQL_PG_FE_FUNCTION_CALL;
        if (!server->skipping)
            end_segment(server);
    } else if (msg.type == DSQL_PG_FE_QUERY) {
        server->copying_simple = false;
        do_query(server, msg.query);
    } else {
        server->skipping = !do_extended(server, &msg);
        server->copying_simple = false;
    }
}

static void send_all(int fd, struct dsql_span bytes)
{
    if (bytes.len > 0)
        (void)!send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
}

/* Reads what the proxy sent, and answers in the model's way or not at all. */
static void serve(struct server *server)
{
    char chunk[4096];
    struct dsql_pg_piece piece;
    struct dsql_err err;
    ssize_t n;
    while ((n = recv(server->conn.far, chunk, sizeof(chunk), 0)) > 0) {
        struct dsql_span in = {chunk, (size_t)n};
        while (!(w.mode & MODE_WILD) && !server->lost &&
               !dsql_pg_framer_next(&server->in, &in, &piece, &err) && piece.ready) {
            do_message(server, &piece);
            server->lost = w.mode & MODE_LOSES && chance(30) == 0;
        }
    }
    /* What it said last may be lost with it. */
    if (!server->lost || chance(2))
        send_all(server->conn.far, dsql_strbuf_span(&server->out));
    dsql_strbuf_clear(&server->out);
    if (server->lost)
        (void)shutdown(server->conn.far, SHUT_RDWR);
}

/* -- Clients. */

static bool is_gone(const struct client *client)
{
    for (const struct dsql_client *at = w.proxy.clients; at; at = at->next)
        if (at == client->is)
            return at->state >= DSQL_CLIENT_CLOSING;
    return true;
}

static void client_begin(struct client *client)
{
    int far;
    struct dsql_client *made = fake_client_begin(&w.proxy, &far);
    *client = (struct client){.is = made, .far = far};
    memset(client->told.of, 'v', DSQL_PARAMETERS);
    client->committed = client->told;
    dsql_pg_framer_init(&client->heard, &w.proxy.server_limits);
    made->known = !(w.mode & MODE_LOGIN) || chance(2);
    if (!(w.mode & MODE_LOGIN))
        fake_client_admit(made, made->proxy->roles[0].base);
}

static void client_end(struct client *client)
{
    close(client->far);
    dsql_pg_framer_fini(&client->heard);
}

static void listen_to(struct client *client)
{
    static char chunk[1 << 16];
    struct dsql_pg_piece piece;
    struct dsql_err err;
    ssize_t n;
    while ((n = recv(client->far, chunk, sizeof(chunk), 0)) > 0) {
        struct dsql_span in = {chunk, (size_t)n};
        while (!(w.mode & (MODE_WILD | MODE_LOGIN)) &&
               !dsql_pg_framer_next(&client->heard, &in, &piece, &err) && piece.ready) {
            client->last = (char)piece.type;
            note_heard(client, &piece);
            client->got_ready |= piece.type == DSQL_PG_BE_READY;
            if (piece.type == DSQL_PG_BE_ERROR && !client->garbled) /* F2 */
                assert(!memmem(piece.body.ptr, piece.body.len, "dsql proxy", 10));
        }
    }
}

/* A message from a menu; the byte says which, with which name and text. */
static void put_from_menu(struct dsql_strbuf *out, uint8_t what, uint8_t how)
{
    static const char *const texts[] = {"select $1",
                                        "begin",
                                        "commit",
                                        "rollback",
                                        "set jit to on",
                                        "deallocate a",
                                        "deallocate all",
                                        "select set_config('a', 'b', false)",
                                        "reset all",
                                        "insert",
                                        "copy t",
                                        "set transaction read only",
                                        "prepare x as select",
                                        "select 1; commit",
                                        "lock table t in access share mode",
                                        "",
                                        "prepare a as select",
                                        "execute a",
                                        "execute a; execute x",
                                        "select 1; prepare y as select"};
    static const char *const names[] = {"", "a", "b", "dsql"};
    struct dsql_span text = dsql_span_of(texts[how % DSQL_COUNT_OF(texts)]),
                     name = dsql_span_of(names[how / 16 % 4]);
    const struct dsql_pg_bind bind = {.portal = dsql_span_of(names[how / 64]), .statement = name};
    switch (what % 11) {
    case 0:
        dsql_pg_put_query(out, text);
        break;
    case 1:
    case 2:
        dsql_pg_put_parse(out, &(struct dsql_pg_parse){.name = name, .query = text});
        break;
    case 3:
        dsql_pg_put_bind(out, &bind);
        break;
    case 4:
        dsql_pg_put_execute(out, bind.portal, how % 2);
        break;
    case 5:
        dsql_pg_put_describe(out, how % 2 ? DSQL_PG_STATEMENT : DSQL_PG_PORTAL, name);
        break;
    case 6:
        dsql_pg_put_close(out, how % 2 ? DSQL_PG_STATEMENT : DSQL_PG_PORTAL, name);
        break;
    case 7:
    case 8:
        dsql_pg_put_sync(out);
        break;
    case 9:
        dsql_pg_put_flush(out);
        break;
    case 10:
        dsql_pg_put_text(out, how % 2 ? DSQL_PG_FE_COPY_FAIL : DSQL_PG_FE_COPY_DATA, name);
        if (how & 2)
            dsql_pg_put_empty(out, DSQL_PG_FE_COPY_DONE);
        break;
    }
}

/* -- The world. */

static void drop_line(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg;
    (void)level;
    (void)line;
    (void)len;
}

static void world_begin(uint8_t mode, uint8_t seed)
{
    static const char users[] = "\"app\" \"secret\"\n";
    struct dsql_err err;
    struct dsql_proxy *proxy = &w.proxy;
    w.mode = mode;
    w.random = seed;
    fake_pool = (struct fake_pool){take_conn, returned, discarded};
    manual_clock_init(&w.clock, (struct dsql_wall){0});
    (void)snprintf(w.pool.options.connection.user, sizeof(w.pool.options.connection.user), "app");
    dsql_log_init(&w.log, &w.clock.clock, drop_line, NULL);
    const struct dsql_proxy_options options = {.clients_max = 10,
                                               .strict = mode & MODE_STRICT,
                                               .retries = mode & MODE_RETRIES ? 2 : 0,
                                               .login_ns = DSQL_S,
                                               .clock = &w.clock.clock,
                                               .operators = "app"};
    fake_proxy_begin(proxy, &options, &w.pool, &w.log);
    if (mode & MODE_LOGIN)
        memcpy(proxy->options.users_file, "users", 5);
    dsql_pg_limits_set(&proxy->login_limits, DSQL_PG_FE_PASSWORD, DSQL_SCRAM_MESSAGE_MAX,
                       DSQL_SCRAM_MESSAGE_MAX);
    dsql_pg_limits_session(&w.limits, DSQL_PG_FRONTEND, 1 << 20);
    bool failed =
        dsql_users_parse((struct dsql_span){users, sizeof(users) - 1}, &proxy->users, &err);
    assert(!failed);
    for (size_t i = 0; i < SERVERS; i++)
        server_begin(&w.servers[i]);
    for (size_t i = 0; i < CLIENTS; i++)
        client_begin(&w.clients[i]);
}

/* Until nobody says anything. */
static void settle(void)
{
    for (int i = 0; i < 6; i++) {
        manual_clock_advance(&w.clock, DSQL_S);
        dsql_proxy_turn(&w.proxy, 0);
        for (size_t k = 0; k < SERVERS; k++)
            serve(&w.servers[k]);
        for (size_t k = 0; k < CLIENTS; k++)
            listen_to(&w.clients[k]);
    }
}

static void world_end(void)
{
    dsql_proxy_close(&w.proxy);
    for (size_t i = 0; i < CLIENTS; i++)
        client_end(&w.clients[i]);
    for (size_t i = 0; i < SERVERS; i++)
        server_end(&w.servers[i]);
    dsql_proxy_fini(&w.proxy);
}

/* The proxy asks something for itself, behind the client's transaction. */
static bool is_asking(const struct client *client)
{
    const struct dsql_answer *next = dsql_answers_head(&client->is->answers);
    return next && (next->purpose == DSQL_FOR_READ || next->purpose == DSQL_FOR_ASK);
}

/* Queries that wait for each other are answered one at a time. */
static void settle_all(const struct client *client, bool answered)
{
    settle();
    for (int i = 0; i < STEPS && !is_gone(client) &&
                    (client->is->held.len > 0 || dsql_replay_is_running(client->is) ||
                     is_asking(client) || (answered && client->is->answers.count > 0));
         i++)
        settle();
}

/* F3 */
static void check_end(struct client *client)
{
    struct dsql_strbuf out;
    if (client->garbled || is_gone(client) || (w.mode & (MODE_WILD | MODE_LOGIN)))
        return;
    dsql_strbuf_init_heap(&out, BOX);
    dsql_pg_put_text(&out, DSQL_PG_FE_COPY_FAIL, DSQL_SPAN("end"));
    dsql_pg_put_sync(&out);
    settle_all(client, false);
    client->got_ready = false;
    send_all(client->far, dsql_strbuf_span(&out));
    dsql_strbuf_fini(&out);
    settle_all(client, true);
    if (is_gone(client))
        return;
    assert(client->got_ready && client->last == DSQL_PG_BE_READY);
    assert(client->is->answers.count == 0 && client->is->held.len == 0);
    assert(!client->is->server || client->is->tx != DSQL_PG_IDLE || client->is->pinned ||
           client->is->at_home);
}

static struct dsql_span take(struct dsql_span *rest, size_t n)
{
    struct dsql_span taken = dsql_span_first(*rest, n < rest->len ? n : rest->len);
    *rest = dsql_span_from(*rest, taken.len);
    return taken;
}

/* What happens to a client: bytes, messages of the menu, words of its server, an end. */
static void step(struct dsql_span *rest)
{
    struct dsql_span head = take(rest, 2);
    if (head.len < 2)
        return;
    uint8_t what = (uint8_t)head.ptr[0], many = (uint8_t)head.ptr[1];
    struct client *client = &w.clients[what % CLIENTS];
    struct server *server = &w.servers[what / 4 % SERVERS];
    struct dsql_strbuf out;
    dsql_strbuf_init_heap(&out, BOX);
    switch (what / 32) {
    case 0:
        client->garbled = true;
        dsql_strbuf_add(&out, take(rest, many));
        send_all(client->far, dsql_strbuf_span(&out));
        break;
    case 1:
        if (w.mode & MODE_WILD)
            send_all(server->conn.far, take(rest, many));
        break;
    case 2:
        (void)shutdown(many % 2 ? server->conn.far : client->far, many & 2 ? SHUT_RDWR : SHUT_WR);
        client->garbled |= many % 2 == 0;
        break;
    default:
        for (size_t i = 0; i < many % 16u + 1; i++) {
            struct dsql_span two = take(rest, 2);
            if (two.len == 2)
                put_from_menu(&out, (uint8_t)two.ptr[0], (uint8_t)two.ptr[1]);
        }
        send_all(client->far, dsql_strbuf_span(&out));
        break;
    }
    if (what & 16)
        settle();
    dsql_strbuf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct dsql_span rest = {(const char *)data + 2, size - 2};
    world_begin(data[0], data[1]);
    for (int i = 0; i < STEPS && rest.len > 0; i++)
        step(&rest);
    settle();
    for (size_t i = 0; i < CLIENTS; i++)
        check_end(&w.clients[i]);
    world_end();
    return 0;
}
