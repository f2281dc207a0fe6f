#include "proxy/guard.h"

#include <stdio.h>
#include <stdlib.h>

#include "pgwire/put_frontend.h"
#include "proxy/proxy.h"
#include "proxy/sql_words.h"

enum { SQL_MAX = 1 << 20 };

/* The most that is added to what is held: one message, part of another, and the part itself. */
enum { HELD_MAX = 48 << 20 };

struct dsql_guard {
    struct dsql_strbuf sent; /* the client's part */
    bool closed;             /* nothing more of the client's is sent before the answer */
    bool flushed;            /* the answer comes without the client's Sync */
    bool refused;
    bool hopeless; /* the connection would not take the settings the next time either */
};

static struct dsql_strbuf *out_of(struct dsql_client *client)
{
    return &client->server->out.bytes;
}

static void expect(struct dsql_client *client, enum dsql_answer_kind kind)
{
    dsql_relay_expect(client, (struct dsql_answer){.kind = kind, .purpose = DSQL_FOR_GUARD});
}

/* -- Sending. */

static void put_check(struct dsql_client *client, const struct dsql_settings *from,
                      struct dsql_span name)
{
    struct dsql_strbuf sql;
    const struct dsql_pg_bind bind = {.portal = DSQL_SPAN(""), .statement = DSQL_SPAN("")};
    dsql_strbuf_init_heap(&sql, SQL_MAX);
    dsql_settings_put_check(&sql, from, client->settings);
    out_of(client)->cut |= sql.cut;
    dsql_pg_put_parse(out_of(client), &(struct dsql_pg_parse){.query = dsql_strbuf_span(&sql)});
    expect(client, DSQL_ANSWER_PARSE);
    dsql_pg_put_bind(out_of(client), &bind);
    expect(client, DSQL_ANSWER_BIND);
    dsql_pg_put_execute(out_of(client), bind.portal, 0);
    expect(client, DSQL_ANSWER_EXECUTE);
    dsql_pg_put_parse(out_of(client),
                      &(struct dsql_pg_parse){.name = name, .query = DSQL_SPAN("select 1")});
    expect(client, DSQL_ANSWER_PARSE);
    dsql_pg_put_sync(out_of(client));
    expect(client, DSQL_ANSWER_SYNC);
    dsql_strbuf_fini(&sql);
}

/* A DEALLOCATE needs a Sync of the proxy's in front of it: G1. */
static bool fits(const struct dsql_pg_piece *piece)
{
    struct dsql_span rest;
    return piece->first && piece->last && piece->raw.len <= DSQL_GUARD_BYTES &&
           !(piece->type == DSQL_PG_FE_QUERY && dsql_sql_begins(piece->body, "deallocate", &rest));
}

bool dsql_guard_begin(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    struct dsql_server *server = client->server;
    struct dsql_guard *guard = fits(piece) ? calloc(1, sizeof(*guard)) : NULL;
    char memory[DSQL_SERVER_NAME_MAX];
    if (!guard)
        return false;
    assert(!client->guard && client->tx == DSQL_PG_IDLE && client->answers.count == 0);
    dsql_strbuf_init_heap(&guard->sent, DSQL_GUARD_BYTES + 1);
    (void)snprintf(memory, sizeof(memory), "dsql proxy guard %llu",
                   (unsigned long long)++server->guards); /* G2 */
    struct dsql_span name = dsql_span_of(memory);
    struct dsql_settings *from = dsql_settings_ref(server->settings);
    dsql_relay_settings(client, false);
    put_check(client, from, name);
    dsql_settings_unref(from);
    dsql_pg_put_describe(out_of(client), DSQL_PG_STATEMENT, name);
    expect(client, DSQL_ANSWER_DESCRIBE);
    dsql_pg_put_close(out_of(client), DSQL_PG_STATEMENT, name);
    expect(client, DSQL_ANSWER_CLOSE);
    client->guard = guard;
    return true;
}

static bool is_copy(char type)
{
    return type == DSQL_PG_FE_COPY_DATA || type == DSQL_PG_FE_COPY_DONE ||
           type == DSQL_PG_FE_COPY_FAIL;
}

/* What waits now may be what the client ends its part with: the answer must not wait for that. */
static void wait_for_answer(struct dsql_client *client)
{
    struct dsql_guard *guard = client->guard;
    if (!guard->closed && !guard->flushed)
        dsql_pg_put_flush(out_of(client));
    guard->flushed = true;
}

bool dsql_guard_holds(struct dsql_client *client, struct dsql_span bytes)
{
    const struct dsql_guard *guard = client->guard;
    if (!guard || bytes.len == 0 || !dsql_pg_framer_is_between(&client->in) ||
        !(guard->closed || is_copy(bytes.ptr[0])))
        return false;
    wait_for_answer(client);
    return true;
}

bool dsql_guard_holds_message(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    const struct dsql_guard *guard = client->guard;
    if (!guard || (!guard->closed && guard->sent.len + piece->raw.len <= DSQL_GUARD_BYTES))
        return false;
    wait_for_answer(client);
    return true;
}

bool dsql_guard_is_closed(const struct dsql_client *client)
{
    return client->guard && client->guard->closed;
}

void dsql_guard_note(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    struct dsql_guard *guard = client->guard;
    if (!guard)
        return;
    dsql_strbuf_add(&guard->sent, piece->raw);
    out_of(client)->cut |= guard->sent.cut;
    guard->closed = piece->type == DSQL_PG_FE_SYNC || piece->type == DSQL_PG_FE_QUERY ||
                    piece->type == DSQL_PG_FE_FUNCTION_CALL;
}

/* -- Answers. */

/* The client's part is skipped up to its Sync, or one of ours: behind that it can be sent again. */
static void refuse(struct dsql_server *server)
{
    struct dsql_client *client = server->client;
    struct dsql_guard *guard = client->guard;
    bool skips;
    dsql_reply_drop(client, dsql_answers_dropped(&client->answers, &skips));
    guard->refused = guard->closed = true;
    if (guard->hopeless) {
        dsql_server_lose(server);
        return;
    }
    if (client->answers.count == 0) {
        dsql_pg_put_sync(out_of(client));
        expect(client, DSQL_ANSWER_SYNC);
    }
    dsql_answers_head(&client->answers)->purpose = DSQL_FOR_GUARD;
}

bool dsql_guard_error(struct dsql_server *server, const struct dsql_pg_piece *piece)
{
    struct dsql_client *client = server->client;
    struct dsql_guard *guard = client->guard;
    const struct dsql_answer *next = dsql_answers_head(&client->answers);
    if (!guard || !next)
        return false;
    dsql_settings_unref(server->settings); /* what is in force is not known */
    server->settings = NULL;
    if (dsql_reply_is_fatal(piece)) {
        guard->refused = true; /* G3 */
        dsql_server_lose(server);
    } else if (next->purpose == DSQL_FOR_CHANGE) {
        guard->hopeless = !dsql_reply_may_go_again(piece);
    } else if (next->kind == DSQL_ANSWER_DESCRIBE || next->kind == DSQL_ANSWER_CLOSE) {
        refuse(server);
    } else {
        bool skips;
        dsql_reply_drop(client, dsql_answers_dropped(&client->answers, &skips));
    }
    return true;
}

void dsql_guard_passed(struct dsql_client *client)
{
    struct dsql_server *server = client->server;
    if (!server->settings)
        server->settings = dsql_settings_ref(client->settings);
    client->tries_failed = 0;
    dsql_guard_free(client);
}

void dsql_guard_ready(struct dsql_client *client)
{
    if (!client->guard || !client->guard->refused || client->answers.count > 0)
        return;
    client->tries_failed++;
    dsql_guard_put_back(client);
}

bool dsql_guard_is_unspent(const struct dsql_client *client, bool may_have_committed)
{
    return client->guard && (client->guard->refused || !may_have_committed);
}

void dsql_guard_put_back(struct dsql_client *client)
{
    struct dsql_strbuf held;
    assert(client->answers.count == 0);
    dsql_strbuf_init_heap(&held, HELD_MAX);
    dsql_strbuf_add(&held, dsql_strbuf_span(&client->guard->sent));
    dsql_pg_framer_unread(&client->in, &held);
    dsql_strbuf_add(&held, dsql_strbuf_span(&client->held));
    held.cut |= client->held.cut;
    dsql_strbuf_fini(&client->held);
    client->held = held;
    dsql_guard_free(client);
    dsql_replay_free(client); /* its record begins with the part */
    dsql_portals_fini(&client->portals);
    client->segment_open = client->segment_commits = client->settings_dirty = false;
    client->pinned = false; /* a client that was would have kept its connection */
    client->answers.skipping = client->answers.copying = false;
    client->settings_due = true;
}

void dsql_guard_free(struct dsql_client *client)
{
    if (client->guard)
        dsql_strbuf_fini(&client->guard->sent);
    free(client->guard);
    client->guard = NULL;
}
