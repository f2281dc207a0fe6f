/* The server's answers on their way to the client. */
#include "core/classify.h"
#include "pgwire/backend.h"
#include "pgwire/put_backend.h"
#include "proxy/proxy.h"

enum { TEXT_MAX = 1 << 20 };

/* The unnamed statement is gone if its Parse failed, and the one before if it was skipped. What the
 * server has then may be another client's: it is not known. */
static void undo_unnamed(struct dsql_client *client, struct dsql_answer *entry, bool failed)
{
    if (client->server) {
        dsql_statement_unref(client->server->unnamed);
        client->server->unnamed = NULL;
    }
    if (entry->purpose == DSQL_FOR_CLIENT) {
        dsql_statement_unref(client->unnamed);
        client->unnamed = failed ? NULL : dsql_statement_ref(entry->statement);
        dsql_settings_unref(client->unnamed_under);
        client->unnamed_under = NULL;
    }
}

/* What the message was to do is not done: it failed, or was skipped. */
static void undo(struct dsql_client *client, struct dsql_answer *entry, bool failed)
{
    if (entry->effect == DSQL_EFFECT_DEFINED) {
        dsql_definitions_remove(&client->names, entry->definition);
        if (client->server)
            dsql_cache_remove(&client->server->cache, entry->definition->statement);
    } else if (entry->effect == DSQL_EFFECT_HOME) {
        client->at_home = false;
        if (client->server) /* some of its own names may be there */
            client->server->doubtful = true;
    } else if (entry->effect == DSQL_EFFECT_CLOSED &&
               !dsql_definitions_find(&client->names, dsql_definition_name(entry->definition)) &&
               !dsql_definitions_add(&client->names, entry->definition)) {
        client->out.bytes.cut = true;
    }
    if (entry->unnamed)
        undo_unnamed(client, entry, failed);
    else if (entry->statement && client->server)
        dsql_cache_remove(&client->server->cache, entry->statement);
}

void dsql_reply_drop(struct dsql_client *client, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;)
        undo(client, dsql_answers_at(&client->answers, i), i == 0);
    for (uint32_t i = 0; i < n; i++) {
        struct dsql_answer entry = dsql_answers_pop(&client->answers);
        dsql_answer_release(&entry);
    }
}

/* The next message is answered. */
static void done(struct dsql_client *client)
{
    struct dsql_answer entry = dsql_answers_pop(&client->answers);
    dsql_answer_release(&entry);
}

/* The text with every server name replaced by the client's. */
static void add_renamed(struct dsql_strbuf *out, struct dsql_span text, struct dsql_span from,
                        struct dsql_span to)
{
    const char *found;
    while (text.len > 0 && (found = memmem(text.ptr, text.len, from.ptr, from.len)) != NULL) {
        size_t before = (size_t)(found - text.ptr);
        dsql_strbuf_add(out, dsql_span_first(text, before));
        dsql_strbuf_add(out, to);
        text = dsql_span_from(text, before + from.len);
    }
    dsql_strbuf_add(out, text);
}

/* A field of an error, with the client's names and places. */
static void add_field(struct dsql_strbuf *out, const struct dsql_answer *entry, char code,
                      struct dsql_span value)
{
    const struct dsql_renames *renames = entry->renames;
    int64_t place;
    if (renames && code == 'P' && dsql_span_to_i64(value, &place) && place > 0) {
        dsql_strbuf_add_u64(out, dsql_renames_place(renames, (size_t)place));
        return;
    }
    const struct dsql_definition *definition = entry->definition;
    struct dsql_span all = value;
    for (size_t i = 0; renames && i < renames->count; i++) {
        const struct dsql_definition *one = renames->of[i].definition;
        struct dsql_span name = dsql_span_of(one->statement->server_name);
        if (memmem(all.ptr, all.len, name.ptr, name.len))
            definition = one;
    }
    if (definition)
        add_renamed(out, value, dsql_span_of(definition->statement->server_name),
                    dsql_definition_name(definition));
    else
        dsql_strbuf_add(out, value);
}

/* An error carries the names that the client knows, and places in the text that it sent. */
static void put_error(struct dsql_strbuf *out, const struct dsql_answer *entry,
                      const struct dsql_pg_piece *piece)
{
    struct dsql_strbuf body;
    struct dsql_span rest = piece->body, value;
    if (!entry || (!entry->definition && !entry->renames)) {
        dsql_strbuf_add(out, piece->raw);
        return;
    }
    dsql_strbuf_init_heap(&body, TEXT_MAX);
    while (rest.len > 0 && rest.ptr[0] != '\0') {
        char code = rest.ptr[0];
        dsql_strbuf_add_char(&body, code);
        dsql_span_cut(dsql_span_from(rest, 1), '\0', &value, &rest);
        add_field(&body, entry, code, value);
        dsql_strbuf_add_char(&body, '\0');
    }
    dsql_strbuf_add_char(&body, '\0');
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, piece->type);
    dsql_pg_msg_bytes(&msg, dsql_strbuf_span(&body));
    dsql_pg_msg_end(&msg);
    out->cut |= body.cut;
    dsql_strbuf_fini(&body);
}

/* What an error that comes now is about. */
enum error_of {
    OF_CLIENT,  /* something of the client's, or what is put in front of it in its segment */
    OF_NEED,    /* what the client's query needs, in a segment of its own right in front of it */
    OF_NOTHING, /* something of the proxy's own that the client can do without */
};

static enum error_of error_of(const struct dsql_answers *answers)
{
    uint32_t i = 0;
    if (answers->count == 0 || dsql_answers_at(answers, 0)->purpose != DSQL_FOR_PREPARE ||
        dsql_answers_at(answers, 0)->kind == DSQL_ANSWER_QUERY)
        return OF_CLIENT;
    while (i < answers->count && dsql_answers_at(answers, i)->purpose == DSQL_FOR_PREPARE &&
           dsql_answers_at(answers, i)->kind != DSQL_ANSWER_SYNC)
        i++;
    if (i == answers->count || dsql_answers_at(answers, i)->purpose != DSQL_FOR_PREPARE)
        return OF_CLIENT;
    bool query =
        i + 1 < answers->count && dsql_answers_at(answers, i + 1)->kind == DSQL_ANSWER_QUERY;
    return query ? OF_NEED : OF_NOTHING;
}

/* A query whose need failed fails in words of the need: those that the client would hear without
 * the proxy. */
static void tell_error(struct dsql_server *server, const struct dsql_answer *next,
                       const struct dsql_pg_piece *piece)
{
    struct dsql_client *client = server->client;
    enum error_of of = error_of(&client->answers);
    bool told = of == OF_CLIENT && next && next->kind == DSQL_ANSWER_QUERY;
    if (of == OF_NEED) {
        put_error(&server->need, next, piece);
    } else if (told && server->need.len > 0) {
        dsql_strbuf_add(&client->out.bytes, dsql_strbuf_span(&server->need));
        dsql_strbuf_fini(&server->need);
    } else if (of == OF_CLIENT) {
        put_error(&client->out.bytes, next, piece);
    }
    client->out.bytes.cut |= server->need.cut;
}

bool dsql_reply_is_fatal(const struct dsql_pg_piece *piece)
{
    struct dsql_pg_be msg;
    struct dsql_err err;
    return !dsql_pg_be_parse(DSQL_PG_BE_ERROR, piece->body, &msg, &err) &&
           (dsql_span_eq(msg.report.severity_plain, DSQL_SPAN("FATAL")) ||
            dsql_span_eq(msg.report.severity_plain, DSQL_SPAN("PANIC")));
}

bool dsql_reply_may_go_again(const struct dsql_pg_piece *piece)
{
    char sqlstate[8], message[256];
    struct dsql_strbuf text;
    struct dsql_pg_be msg;
    struct dsql_err err;
    if (dsql_pg_be_parse(piece->type, piece->body, &msg, &err))
        return false;
    dsql_strbuf_init(&text, sqlstate, sizeof(sqlstate));
    dsql_strbuf_add(&text, msg.report.sqlstate);
    dsql_strbuf_init(&text, message, sizeof(message));
    dsql_strbuf_add(&text, msg.report.message);
    enum dsql_rc rc = dsql_classify(DSQL_PHASE_STATEMENT, sqlstate, message, NULL).rc;
    return dsql_rc_class(rc) == DSQL_CLASS_RETRY;
}

/* Settings could not be put in place or read: a client that logs in hears why. */
static void login_failed(struct dsql_server *server, const struct dsql_pg_piece *piece)
{
    struct dsql_client *client = server->client;
    struct dsql_pg_be msg;
    struct dsql_err err;
    if (dsql_reply_may_go_again(piece) && ++client->tries_failed < DSQL_PROXY_TRIES) {
        client->settings_dirty = true;
        return;
    }
    server->doubtful = true;
    if (dsql_pg_be_parse(piece->type, piece->body, &msg, &err))
        return;
    msg.report.severity = msg.report.severity_plain = DSQL_SPAN("FATAL");
    dsql_pg_put_error(&client->out.bytes, &msg.report);
    client->state = DSQL_CLIENT_CLOSING;
}

/* What could not be put in place is tried again, here or on another connection. What could not be
 * read is read again, behind what the client has sent meanwhile. */
static void settings_failed(struct dsql_server *server, const struct dsql_pg_piece *piece)
{
    struct dsql_client *client = server->client;
    bool reads = dsql_answers_head(&client->answers)->purpose == DSQL_FOR_READ;
    if (!reads) { /* what is in force is not known */
        dsql_settings_unref(server->settings);
        server->settings = NULL;
    }
    if (client->state == DSQL_CLIENT_CHECKING)
        login_failed(server, piece);
    else if (!reads && dsql_reply_may_go_again(piece))
        client->change_failed = true; /* until its ReadyForQuery */
    else if (reads && (++client->tries_failed < DSQL_PROXY_TRIES || client->answers.count > 1))
        client->settings_dirty = true;
    else
        dsql_server_lose(server);
}

static void take_error(struct dsql_server *server, const struct dsql_pg_piece *piece)
{
    struct dsql_client *client = server->client;
    struct dsql_answer *next = dsql_answers_head(&client->answers);
    client->answers.copying = false;
    if (dsql_guard_error(server, piece))
        return;
    if (next && (next->purpose == DSQL_FOR_CHANGE || next->purpose == DSQL_FOR_READ)) {
        settings_failed(server, piece);
        return;
    }
    if (next && next->purpose == DSQL_FOR_ASK)
        return; /* asked again later; what was known stays */
    tell_error(server, next, piece);
    if (next && next->late)
        dsql_replay_error(client, piece->body);
    if (next && next->kind == DSQL_ANSWER_QUERY)
        undo(client, next, true); /* it stays until its ReadyForQuery */
    client->fatal_seen = client->fatal_seen || dsql_reply_is_fatal(piece);
    bool skips;
    uint32_t n = dsql_answers_dropped(&client->answers, &skips);
    dsql_reply_drop(client, n);
    client->answers.skipping = client->answers.skipping || (n > 0 && skips);
}

/* What a command says of itself in its tag. */
static void note_tag(struct dsql_client *client, const struct dsql_answer *next,
                     struct dsql_span tag)
{
    dsql_replay_tag(client, tag);
    client->creates |=
        dsql_span_starts(tag, DSQL_SPAN("CREATE")) || dsql_span_starts(tag, DSQL_SPAN("ALTER"));
    if (dsql_span_eq(tag, DSQL_SPAN("SET")) || dsql_span_eq(tag, DSQL_SPAN("RESET"))) {
        client->settings_dirty = true;
    } else if (dsql_span_eq(tag, DSQL_SPAN("PREPARE"))) {
        client->server->doubtful |= next->refused;
        client->pinned |= next->effect != DSQL_EFFECT_DEFINED && !client->at_home;
    } else if (dsql_span_eq(tag, DSQL_SPAN("DEALLOCATE ALL"))) {
        client->settings_dirty |= client->at_home; /* what it has run there was not followed */
        client->at_home = false;
        dsql_definitions_clear(&client->names);
        dsql_cache_clear(&client->server->cache);
    } else if (dsql_span_eq(tag, DSQL_SPAN("DEALLOCATE")) && next->definition) {
        dsql_cache_remove(&client->server->cache, next->definition->statement);
    }
}

/* The settings as the server has them. */
static void take_row(struct dsql_server *server, const struct dsql_pg_piece *piece)
{
    struct dsql_client *client = server->client;
    struct dsql_pg_be msg;
    struct dsql_err err;
    dsql_strbuf_add(&server->row, piece->body);
    if (!piece->last)
        return;
    struct dsql_settings *read = NULL;
    if (!server->row.cut &&
        !dsql_pg_be_parse(piece->type, dsql_strbuf_span(&server->row), &msg, &err))
        read = dsql_settings_of_row(msg.row);
    dsql_strbuf_fini(&server->row);
    if (client->state == DSQL_CLIENT_CHECKING && client->settings_dirty) {
        dsql_settings_unref(read); /* they are not the client's: those were not put in place */
        return;
    }
    if (!read) {
        server->doubtful = server->unreadable = true;
        return;
    }
    client->tries_failed = 0;
    client->settings_unread = false;
    client->own_context = 0;
    dsql_settings_unref(client->settings);
    client->settings = dsql_settings_ref(read);
    dsql_settings_unref(server->settings);
    server->settings = read;
}

/* Something of the proxy's own is done. */
static void hidden_ready(struct dsql_server *server, enum dsql_answer_purpose purpose)
{
    struct dsql_client *client = server->client;
    bool checking = client->state == DSQL_CLIENT_CHECKING;
    if (purpose == DSQL_FOR_GUARD)
        dsql_guard_ready(client);
    else if (purpose == DSQL_FOR_CHANGE && client->guard)
        return; /* which tells whether they are in force */
    else if (purpose == DSQL_FOR_CHANGE && client->change_failed)
        dsql_server_change_failed(server);
    else if (purpose == DSQL_FOR_CHANGE && client->state == DSQL_CLIENT_ACTIVE)
        client->tries_failed = 0;
    else if (purpose == DSQL_FOR_READ && checking && !server->doubtful && !client->settings_dirty)
        dsql_entry_welcome(client);
    else if (purpose == DSQL_FOR_READ && !checking && server->unreadable)
        dsql_server_lose(server);
}

static void take_ready(struct dsql_server *server, const struct dsql_pg_piece *piece)
{
    struct dsql_client *client = server->client;
    const struct dsql_answer *next = dsql_answers_head(&client->answers);
    if (!next)
        return;
    enum dsql_answer_purpose purpose = next->purpose;
    if (purpose == DSQL_FOR_CLIENT)
        dsql_strbuf_fini(&server->need);
    bool begins = next->begins && client->tx == DSQL_PG_IDLE;
    done(client);
    if (client->answers.count == 0) {
        dsql_server_note_answered(client);
        client->may_set = false;
    }
    client->answers.copying = false;
    client->tx = piece->body.len == 1 ? (enum dsql_pg_tx)piece->body.ptr[0] : client->tx;
    client->begun = begins && client->tx == DSQL_PG_IN_TX;
    if (client->tx == DSQL_PG_IDLE && client->answers.count == 0 && !client->segment_open)
        dsql_portals_fini(&client->portals);
    if (purpose != DSQL_FOR_CLIENT) {
        hidden_ready(server, purpose);
        return;
    }
    dsql_strbuf_add(&client->out.bytes, piece->raw);
    if (client->tx == DSQL_PG_IDLE)
        dsql_setters_ended(client);
    client->settings_unread |= client->settings_dirty && client->tx == DSQL_PG_IDLE;
}

/* Which kind of outstanding message this is the last answer to. */
static bool ends(uint8_t type, enum dsql_answer_kind kind)
{
    switch (kind) {
    case DSQL_ANSWER_PARSE:
        return type == DSQL_PG_BE_PARSE_COMPLETE;
    case DSQL_ANSWER_BIND:
        return type == DSQL_PG_BE_BIND_COMPLETE;
    case DSQL_ANSWER_DESCRIBE:
        return type == DSQL_PG_BE_ROW_DESCRIPTION || type == DSQL_PG_BE_NO_DATA;
    case DSQL_ANSWER_EXECUTE:
        return type == DSQL_PG_BE_COMMAND_COMPLETE || type == DSQL_PG_BE_EMPTY_QUERY ||
               type == DSQL_PG_BE_PORTAL_SUSPENDED;
    case DSQL_ANSWER_CLOSE:
        return type == DSQL_PG_BE_CLOSE_COMPLETE;
    case DSQL_ANSWER_SYNC:
    case DSQL_ANSWER_QUERY:
    case DSQL_ANSWER_COPY_END:
        break;
    }
    return false;
}

static void take_other(struct dsql_server *server, const struct dsql_pg_piece *piece)
{
    struct dsql_client *client = server->client;
    struct dsql_answer *next = dsql_answers_head(&client->answers);
    struct dsql_pg_be msg;
    struct dsql_err err;
    if (next && next->purpose == DSQL_FOR_READ && piece->type == DSQL_PG_BE_DATA_ROW)
        take_row(server, piece);
    if (next && next->purpose == DSQL_FOR_ASK && piece->type == DSQL_PG_BE_DATA_ROW)
        dsql_setters_answer(&client->proxy->setters, piece);
    bool reports = piece->type == DSQL_PG_BE_PARAMETER_STATUS && next && next->cut;
    bool hidden = next && !reports &&
                  (next->purpose != DSQL_FOR_CLIENT || client->state != DSQL_CLIENT_ACTIVE);
    if (!hidden && next && next->tag && piece->type == DSQL_PG_BE_COMMAND_COMPLETE)
        dsql_pg_put_command_complete(&client->out.bytes, dsql_span_of(next->tag));
    else if (!hidden)
        dsql_strbuf_add(&client->out.bytes, piece->raw);
    if (!piece->last || !next)
        return;
    if (piece->type == DSQL_PG_BE_PARAMETER_STATUS && !hidden) /* whatever has changed it */
        client->settings_dirty = true;
    if (piece->type == DSQL_PG_BE_COPY_IN)
        dsql_answers_copy_in(&client->answers);
    if (piece->type == DSQL_PG_BE_COPY_IN || piece->type == DSQL_PG_BE_COPY_OUT)
        dsql_replay_copy(client);
    if (piece->type == DSQL_PG_BE_COMMAND_COMPLETE && !hidden) {
        client->answers.copying = false;
        if (!dsql_pg_be_parse(piece->type, piece->body, &msg, &err))
            note_tag(client, next, msg.tag);
        if (next->cut)
            next->purpose = DSQL_FOR_PREPARE; /* what follows is ours, but for its end */
    }
    if (ends(piece->type, next->kind)) {
        server->doubtful = server->doubtful || next->refused;
        if (next->purpose == DSQL_FOR_GUARD && next->kind == DSQL_ANSWER_CLOSE)
            dsql_guard_passed(client);
        done(client);
    }
}

/* Marks that come next are over, without waiting for an answer that may not come. */
static void pass_marks(struct dsql_client *client)
{
    struct dsql_answer *next;
    while ((next = dsql_answers_head(&client->answers)) && next->kind == DSQL_ANSWER_COPY_END) {
        undo(client, next, false); /* of a message that COPY has read, perhaps */
        done(client);
    }
}

void dsql_reply(struct dsql_server *server, const struct dsql_pg_piece *piece)
{
    struct dsql_client *client = server->client;
    struct dsql_answer *next = dsql_answers_head(&client->answers);
    server->heard = true;
    if (next && next->cut && next->purpose == DSQL_FOR_PREPARE && piece->type == DSQL_PG_BE_READY)
        next->purpose = DSQL_FOR_CLIENT;
    const struct dsql_heard heard = {
        .before = client->out.bytes.len,
        .late = next && next->late,
        .ends = piece->type == DSQL_PG_BE_READY && next && next->purpose == DSQL_FOR_CLIENT,
    };
    if (piece->type == DSQL_PG_BE_ERROR)
        take_error(server, piece);
    else if (piece->type == DSQL_PG_BE_READY)
        take_ready(server, piece);
    else
        take_other(server, piece);
    if (server->client != client)
        return;
    pass_marks(client);
    if (client->replay)
        dsql_replay_heard(client, heard);
}
