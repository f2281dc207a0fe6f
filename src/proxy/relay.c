/* A client's messages on their way to the server. */
#include "proxy/proxy.h"

#include "pgwire/put_backend.h"
#include "pgwire/put_frontend.h"
#include "proxy/compat.h"
#include "proxy/prepared.h"
#include "proxy/sql_words.h"

enum { SQL_MAX = 17 << 20 }; /* a message has 10 MiB, and its names become longer */

static struct dsql_strbuf *out_of(struct dsql_client *client)
{
    return &client->server->out.bytes;
}

/* Without memory for an entry the stream can't be followed: the connection is given up. */
void dsql_relay_expect(struct dsql_client *client, struct dsql_answer entry)
{
    entry.late = dsql_replay_is_late(client);
    if (entry.purpose == DSQL_FOR_CLIENT && client->asked_at.ns == 0)
        client->asked_at = dsql_clock_mono(client->proxy->options.clock);
    if (!dsql_answers_push(&client->answers, entry))
        out_of(client)->cut = true;
}

void dsql_relay_hidden_query(struct dsql_client *client, struct dsql_span sql,
                             enum dsql_answer_purpose purpose)
{
    dsql_pg_put_query(out_of(client), sql);
    dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_QUERY, .purpose = purpose});
    dsql_statement_unref(client->server->unnamed); /* a simple query drops it */
    client->server->unnamed = NULL;
}

void dsql_relay_hidden_sync(struct dsql_client *client)
{
    assert(!client->guard); /* G1 */
    dsql_pg_put_sync(out_of(client));
    dsql_relay_expect(client,
                      (struct dsql_answer){.kind = DSQL_ANSWER_SYNC, .purpose = DSQL_FOR_PREPARE});
}

void dsql_relay_settings(struct dsql_client *client, bool read_back)
{
    struct dsql_server *server = client->server;
    struct dsql_strbuf sql;
    dsql_strbuf_init_heap(&sql, SQL_MAX);
    if (!read_back || client->state == DSQL_CLIENT_CHECKING)
        dsql_settings_put_change(&sql, server->settings, client->settings);
    if (sql.len > 0) {
        out_of(client)->cut |= sql.cut;
        dsql_relay_hidden_query(client, dsql_strbuf_span(&sql), DSQL_FOR_CHANGE);
        dsql_settings_unref(server->settings);
        server->settings = dsql_settings_ref(client->settings);
    }
    dsql_strbuf_clear(&sql);
    if (read_back) {
        dsql_settings_put_read(&sql);
        out_of(client)->cut |= sql.cut;
        dsql_relay_hidden_query(client, dsql_strbuf_span(&sql), DSQL_FOR_READ);
    }
    dsql_strbuf_fini(&sql);
}

bool dsql_relay_is_changing(const struct dsql_client *client)
{
    return client->guard || (client->answers.count > 0 &&
                             dsql_answers_at(&client->answers, 0)->purpose == DSQL_FOR_CHANGE);
}

/* Puts the client's settings in place; false: the message has to wait until they are. The second
 * time the server refuses them nothing is sent behind them. */
static bool place_settings(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    if (!client->settings_due)
        return true;
    client->settings_due = false;
    if (client->server->settings && dsql_settings_eq(client->server->settings, client->settings))
        return true;
    if (client->tries_failed == 0 && dsql_guard_begin(client, piece))
        return true;
    dsql_relay_settings(client, false);
    return false;
}

static void note_text(struct dsql_client *client, bool sets, bool sets_hidden)
{
    client->settings_dirty = client->settings_dirty || sets;
    client->pinned = client->pinned || sets_hidden;
}

static void count_compat(struct dsql_client *client, const struct dsql_compat *compat)
{
    for (size_t i = 0; i < DSQL_COMPAT_KINDS; i++)
        atomic_fetch_add_explicit(&client->proxy->counts.compat[i], compat->kinds[i],
                                  memory_order_relaxed);
}

/* A transaction becomes read-only while BEGIN is all that it has seen: it begins again. */
static bool begin_again(struct dsql_client *client)
{
    if (!client->begun || client->tx != DSQL_PG_IN_TX || client->answers.count > 0)
        return false;
    dsql_relay_hidden_query(client, DSQL_SPAN("ROLLBACK"), DSQL_FOR_PREPARE);
    return true;
}

/* Replaces what the service refuses for no harm; the text as it is to be sent. */
static struct dsql_span made_compatible(struct dsql_client *client, struct dsql_span text,
                                        struct dsql_strbuf *memory, const char **tag)
{
    struct dsql_compat compat;
    *tag = NULL;
    if (client->proxy->options.strict || dsql_compat_replace(text, true, memory, &compat) == 0 ||
        memory->cut)
        return text;
    if (compat.read_only && !begin_again(client))
        return text;
    count_compat(client, &compat);
    *tag = compat.tag;
    return dsql_strbuf_span(memory);
}

static bool is_begin(struct dsql_span text)
{
    struct dsql_span rest;
    if (!dsql_sql_begins(text, "begin", &rest) && !dsql_sql_begins(text, "start", &rest))
        return false;
    return !memchr(rest.ptr, ';', rest.len) || dsql_sql_is_end(rest);
}

/* What the client began with is not what the pool's connection began with: behind a RESET comes
 * what puts the client's defaults in place. False: all is well. made: what goes to the server so
 * far, or empty. */
static bool mend_reset(struct dsql_client *client, struct dsql_settings_reset reset,
                       struct dsql_span text, struct dsql_strbuf *made)
{
    struct dsql_strbuf change;
    dsql_strbuf_init_heap(&change, SQL_MAX);
    dsql_settings_put_reset(&change, client->role->base, client->initial, reset);
    bool any = change.len > 0;
    if (any) {
        if (made->len == 0)
            dsql_strbuf_add(made, text);
        while (made->len > 0 && dsql_sql_is_end((struct dsql_span){made->ptr + made->len - 1, 1}))
            made->len--;                              /* blanks and semicolons */
        dsql_strbuf_addf(made, "\n; %s", change.ptr); /* a comment at its end ends with the line */
    }
    made->cut |= change.cut;
    dsql_strbuf_fini(&change);
    return any;
}

static void relay_query(struct dsql_client *client, struct dsql_span asked)
{
    struct dsql_strbuf sql, memory;
    const char *tag;
    dsql_strbuf_init_heap(&memory, SQL_MAX);
    struct dsql_span text = made_compatible(client, asked, &memory, &tag), rest;
    struct dsql_names_plan plan = {0};
    struct dsql_settings_reset reset;
    bool names = dsql_sql_has_names(text);
    if (names)
        plan = dsql_prepared_plan(client, text);
    struct dsql_answer entry = {
        .kind = DSQL_ANSWER_QUERY,
        .tag = tag,
        .begins = is_begin(asked),
        .may_commit = client->tx == DSQL_PG_IDLE
                          ? dsql_sql_may_commit(text)
                          : dsql_sql_ends(text) || plan.commits || (names && client->at_home),
    };
    if (entry.may_commit)
        dsql_replay_decisive(client);
    dsql_strbuf_init_heap(&sql, SQL_MAX);
    note_text(client, dsql_settings_may_change(text), dsql_settings_are_hidden(text));
    dsql_prepared_drop_unnamed(client, &entry);
    if (plan.kind != DSQL_NAMES_NOTHING && !client->at_home)
        dsql_prepared_make_query(client, &plan, text, &sql, &entry);
    else if (plan.kind == DSQL_NAMES_DEALLOCATE)
        dsql_prepared_close(client, plan.definition, &entry);
    else if (dsql_sql_begins(text, "deallocate", &rest))
        entry.effect = DSQL_EFFECT_ALL;
    if (plan.resets || dsql_settings_are_reset(text, &reset))
        entry.cut = mend_reset(client, plan.resets ? plan.reset : reset, text, &sql);
    out_of(client)->cut |= sql.cut;
    dsql_pg_put_query(out_of(client), sql.len > 0 ? dsql_strbuf_span(&sql) : text);
    dsql_relay_expect(client, entry);
    dsql_prepared_may_set(client, text);
    client->segment_open = client->segment_commits = false;
    dsql_portals_forget(&client->portals, DSQL_SPAN(""));
    dsql_strbuf_fini(&sql);
    dsql_strbuf_fini(&memory);
}

/* A name that the client has already: the server says so, or what else is wrong with the text,
 * under its own name for it. */
static void refuse_parse(struct dsql_client *client, struct dsql_definition *definition,
                         const struct dsql_pg_parse *parse)
{
    struct dsql_pg_parse out = *parse;
    dsql_prepared_need(client, definition);
    out.name = dsql_prepared_name(client, definition);
    dsql_pg_put_parse(out_of(client), &out);
    dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_PARSE,
                                                   .refused = !client->at_home,
                                                   .definition = dsql_definition_ref(definition)});
}

static void parse_unnamed(struct dsql_client *client, const struct dsql_pg_parse *parse,
                          struct dsql_statement *statement)
{
    struct dsql_answer entry = {.kind = DSQL_ANSWER_PARSE};
    dsql_prepared_drop_unnamed(client, &entry);
    entry.unnamed = true;
    dsql_prepared_define_unnamed(client, statement);
    dsql_definition_unref(client->unnamed_executes);
    client->unnamed_executes = dsql_definition_ref(dsql_prepared_executes(client, statement));
    dsql_pg_put_parse(out_of(client), parse);
    dsql_relay_expect(client, entry);
}

static void parse_named(struct dsql_client *client, const struct dsql_pg_parse *parse,
                        struct dsql_statement *statement)
{
    struct dsql_definition *definition = dsql_definition_new(statement, parse->name, DSQL_SPAN(""));
    if (definition) /* itself it can't: its name is not known to it */
        definition->executes = dsql_definition_ref(dsql_prepared_executes(client, statement));
    if (!definition || !dsql_definitions_add(&client->names, definition)) {
        out_of(client)->cut = true;
        dsql_definition_unref(definition);
        return;
    }
    dsql_prepared_define(client, definition);
    struct dsql_pg_parse out = *parse;
    out.name = dsql_prepared_name(client, definition);
    dsql_pg_put_parse(out_of(client), &out);
    dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_PARSE,
                                                   .effect = DSQL_EFFECT_DEFINED,
                                                   .definition = definition,
                                                   .statement = dsql_statement_ref(statement)});
}

static void parse_statement(struct dsql_client *client, const struct dsql_pg_parse *parse)
{
    struct dsql_definition *there =
        parse->name.len > 0 ? dsql_definitions_find(&client->names, parse->name) : NULL;
    if (there) {
        refuse_parse(client, there, parse);
        return;
    }
    struct dsql_statement *statement = dsql_statement_get(&client->proxy->statements, parse);
    if (!statement)
        out_of(client)->cut = true;
    else if (parse->name.len > 0)
        parse_named(client, parse, statement);
    else
        parse_unnamed(client, parse, statement);
    dsql_statement_unref(statement);
}

static void relay_parse(struct dsql_client *client, const struct dsql_pg_parse *asked)
{
    struct dsql_pg_parse made = *asked;
    struct dsql_strbuf memory;
    struct dsql_compat compat;
    dsql_strbuf_init_heap(&memory, SQL_MAX);
    if (!client->proxy->options.strict &&
        dsql_compat_replace(asked->query, false, &memory, &compat) > 0 && !memory.cut) {
        count_compat(client, &compat);
        made.query = dsql_strbuf_span(&memory);
    }
    parse_statement(client, &made);
    dsql_strbuf_fini(&memory);
}

/* What a statement that is bound may do when its portal is run. One that is not known, at home, may
 * do anything. */
static void note_bound(struct dsql_client *client, const struct dsql_statement *statement)
{
    bool known = statement != NULL;
    if (!known && !client->at_home)
        return;
    note_text(client, !known || statement->sets, known && statement->sets_hidden);
    client->segment_commits |=
        !known || (client->tx == DSQL_PG_IDLE ? statement->may_commit : statement->commits);
    if (known)
        dsql_prepared_may_set(client, dsql_statement_text(statement));
    if (client->segment_commits)
        dsql_replay_decisive(client);
}

/* The statement that a name of the client's means, or NULL. */
static const struct dsql_statement *statement_of(const struct dsql_client *client,
                                                 struct dsql_span name,
                                                 struct dsql_definition **definition)
{
    *definition = name.len > 0 ? dsql_definitions_find(&client->names, name) : NULL;
    if (name.len == 0)
        return client->unnamed;
    return *definition ? (*definition)->statement : NULL;
}

/* The portal does more than its statement's text says to the server. */
static void note_portal(struct dsql_client *client, const struct dsql_statement *statement,
                        const struct dsql_names_plan *plan, struct dsql_span portal)
{
    struct dsql_bound bound = {.use = DSQL_BOUND_RESETS};
    dsql_portals_forget(&client->portals, portal);
    bool deallocates = client->at_home && plan->kind == DSQL_NAMES_DEALLOCATE;
    if (!statement ||
        !(statement->deallocates_all || statement->resets || plan->resets || deallocates))
        return;
    bound.resets = plan->reset;
    if (deallocates) {
        bound.use = DSQL_BOUND_DEALLOCATES;
        bound.definition = dsql_definition_ref(plan->definition);
    } else if (statement->deallocates_all)
        bound.use = DSQL_BOUND_DEALLOCATES_ALL;
    else if (!plan->resets &&
             !dsql_settings_are_reset(dsql_statement_text(statement), &bound.resets))
        return;
    out_of(client)->cut |= !dsql_portals_add(&client->portals, portal, bound);
}

static void relay_bind(struct dsql_client *client, const struct dsql_pg_bind *bind,
                       struct dsql_span raw)
{
    struct dsql_definition *definition;
    const struct dsql_statement *statement = statement_of(client, bind->statement, &definition);
    struct dsql_names_plan plan = {0};
    struct dsql_pg_bind out = *bind;
    /* With another number of values it fails, and the server says of which statement. */
    if (statement && statement->names && client->tx != DSQL_PG_FAILED_TX &&
        bind->values.count == statement->type_count)
        plan = dsql_prepared_plan(client, dsql_statement_text(statement));
    client->segment_commits |= plan.commits || (statement && statement->names && client->at_home);
    note_bound(client, statement);
    if (bind->statement.len == 0)
        dsql_prepared_need_unnamed(client);
    note_portal(client, statement, &plan, bind->portal);
    if (plan.kind != DSQL_NAMES_NOTHING && !client->at_home) {
        dsql_prepared_bind(client, &plan, statement, bind);
        return;
    }
    if (definition) {
        dsql_prepared_need(client, definition);
        out.statement = dsql_prepared_name(client, definition);
        dsql_pg_put_bind(out_of(client), &out);
    } else {
        dsql_strbuf_add(out_of(client), raw);
    }
    dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_BIND,
                                                   .definition = dsql_definition_ref(definition)});
}

static void relay_describe(struct dsql_client *client, const struct dsql_pg_target *target,
                           struct dsql_span raw)
{
    bool portal = target->object != DSQL_PG_STATEMENT;
    struct dsql_definition *definition = NULL;
    const struct dsql_statement *statement =
        portal ? NULL : statement_of(client, target->name, &definition);
    struct dsql_definition *executes = definition ? definition->executes : client->unnamed_executes;
    if (!portal && target->name.len == 0)
        dsql_prepared_need_unnamed(client);
    if (definition)
        dsql_prepared_need(client, definition);
    if (statement && statement->names && executes && !client->at_home) {
        dsql_prepared_describe(client, statement, executes);
        return;
    }
    if (definition)
        dsql_pg_put_describe(out_of(client), DSQL_PG_STATEMENT,
                             dsql_prepared_name(client, definition));
    else
        dsql_strbuf_add(out_of(client), raw);
    dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_DESCRIBE,
                                                   .definition = dsql_definition_ref(definition)});
}

/* The shared statement stays; the server closes a name that it does not know, and says it is done.
 */
static void relay_close(struct dsql_client *client, const struct dsql_pg_target *target,
                        struct dsql_span raw)
{
    struct dsql_answer entry = {.kind = DSQL_ANSWER_CLOSE};
    if (target->object == DSQL_PG_PORTAL) {
        dsql_portals_forget(&client->portals, target->name);
    } else if (target->name.len == 0) {
        dsql_prepared_drop_unnamed(client, &entry);
    } else {
        struct dsql_definition *there = dsql_definitions_find(&client->names, target->name);
        if (there)
            dsql_prepared_close(client, there, &entry);
    }
    dsql_strbuf_add(out_of(client), raw);
    dsql_relay_expect(client, entry);
}

/* A portal that resets was run: the same behind it, in the extended protocol. */
static void mend_reset_portal(struct dsql_client *client, struct dsql_settings_reset resets)
{
    static const char name[] = "dsql proxy reset";
    struct dsql_strbuf sql;
    struct dsql_answer entry = {.purpose = DSQL_FOR_PREPARE};
    const struct dsql_pg_bind bind = {.portal = dsql_span_of(name),
                                      .statement = dsql_span_of(name)};
    dsql_strbuf_init_heap(&sql, SQL_MAX);
    dsql_settings_put_reset(&sql, client->role->base, client->initial, resets);
    out_of(client)->cut |= sql.cut;
    if (sql.len > 0) {
        dsql_prepared_put_close(client, name);
        dsql_pg_put_parse(out_of(client), &(struct dsql_pg_parse){.name = bind.statement,
                                                                  .query = dsql_strbuf_span(&sql)});
        entry.kind = DSQL_ANSWER_PARSE;
        dsql_relay_expect(client, entry);
        dsql_pg_put_close(out_of(client), DSQL_PG_PORTAL, bind.portal);
        entry.kind = DSQL_ANSWER_CLOSE;
        dsql_relay_expect(client, entry);
        dsql_pg_put_bind(out_of(client), &bind);
        entry.kind = DSQL_ANSWER_BIND;
        dsql_relay_expect(client, entry);
        dsql_pg_put_execute(out_of(client), bind.portal, 0);
        entry.kind = DSQL_ANSWER_EXECUTE;
        dsql_relay_expect(client, entry);
    }
    dsql_strbuf_fini(&sql);
}

static void relay_execute(struct dsql_client *client, const struct dsql_pg_execute *execute,
                          struct dsql_span raw)
{
    struct dsql_answer entry = {.kind = DSQL_ANSWER_EXECUTE};
    struct dsql_settings_reset resets;
    enum dsql_bound_use use = dsql_prepared_execute(client, execute->portal, &entry, &resets);
    dsql_strbuf_add(out_of(client), raw);
    if (use == DSQL_BOUND_DEALLOCATES_ALL)
        dsql_pg_put_flush(out_of(client)); /* its answer is waited for, and comes without a Sync */
    dsql_relay_expect(client, entry);
    if (use == DSQL_BOUND_RESETS)
        mend_reset_portal(client, resets);
}

static void relay_sync(struct dsql_client *client, struct dsql_span raw)
{
    dsql_strbuf_add(out_of(client), raw);
    if (!client->answers.copying)
        dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_SYNC,
                                                       .may_commit = client->segment_commits});
    if (!client->answers.copying)
        client->segment_open = client->segment_commits = false;
    client->answers.skipping = false;
}

static void relay_copy(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    dsql_strbuf_add(out_of(client), piece->raw);
    if (piece->type == DSQL_PG_FE_COPY_DATA)
        return;
    uint32_t count = client->answers.count;
    if (client->answers.copying)
        client->answers.copying = false;
    else if (count > 0 && /* one mark is enough, however often the client says it */
             dsql_answers_at(&client->answers, count - 1)->kind != DSQL_ANSWER_COPY_END)
        dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_COPY_END});
}

/* A message that can't be read: the server says what is wrong with it. */
static void relay_unreadable(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    bool whole = piece->type == DSQL_PG_FE_QUERY || piece->type == DSQL_PG_FE_FUNCTION_CALL ||
                 piece->type == DSQL_PG_FE_SYNC;
    if (whole) /* its error is followed by ReadyForQuery */
        client->segment_open = client->segment_commits = client->answers.skipping = false;
    dsql_strbuf_add(out_of(client), piece->raw);
    dsql_relay_expect(
        client, (struct dsql_answer){.kind = whole ? DSQL_ANSWER_QUERY : DSQL_ANSWER_EXECUTE});
}

static void relay_message(struct dsql_client *client, const struct dsql_pg_fe *msg,
                          const struct dsql_pg_piece *piece)
{
    switch (msg->type) {
    case DSQL_PG_FE_QUERY:
        relay_query(client, msg->query);
        return;
    case DSQL_PG_FE_PARSE:
        relay_parse(client, &msg->parse);
        return;
    case DSQL_PG_FE_BIND:
        relay_bind(client, &msg->bind, piece->raw);
        return;
    case DSQL_PG_FE_DESCRIBE:
        relay_describe(client, &msg->target, piece->raw);
        return;
    case DSQL_PG_FE_CLOSE:
        relay_close(client, &msg->target, piece->raw);
        return;
    case DSQL_PG_FE_EXECUTE:
        relay_execute(client, &msg->execute, piece->raw);
        return;
    case DSQL_PG_FE_FUNCTION_CALL:
        dsql_replay_decisive(client);
        dsql_strbuf_add(out_of(client), piece->raw);
        dsql_relay_expect(client,
                          (struct dsql_answer){.kind = DSQL_ANSWER_QUERY, .may_commit = true});
        return;
    case DSQL_PG_FE_SYNC:
        relay_sync(client, piece->raw);
        return;
    case DSQL_PG_FE_FLUSH:
        dsql_replay_flush(client);
        dsql_strbuf_add(out_of(client), piece->raw);
        return;
    case DSQL_PG_FE_TERMINATE:
    case DSQL_PG_FE_COPY_DATA:
    case DSQL_PG_FE_COPY_DONE:
    case DSQL_PG_FE_COPY_FAIL:
    case DSQL_PG_FE_PASSWORD:
        dsql_strbuf_add(out_of(client), piece->raw);
        return;
    }
}

static bool is_copy(uint8_t type)
{
    return type == DSQL_PG_FE_COPY_DATA || type == DSQL_PG_FE_COPY_DONE ||
           type == DSQL_PG_FE_COPY_FAIL;
}

/* What needs no connection to be answered; true if that was all. */
static bool answer_alone(struct dsql_client *client, uint8_t type)
{
    if (client->answers.skipping && type != DSQL_PG_FE_SYNC)
        return true; /* as the server does after an error */
    if (client->server)
        return false;
    if (type == DSQL_PG_FE_SYNC) {
        client->answers.skipping = client->segment_open = client->segment_commits = false;
        dsql_pg_put_ready(&client->out.bytes, DSQL_PG_IDLE);
        return true;
    }
    return is_copy(type) || type == DSQL_PG_FE_FLUSH;
}

bool dsql_relay(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_fe msg;
    struct dsql_err err;
    if (piece->type == DSQL_PG_FE_TERMINATE) {
        client->state = DSQL_CLIENT_CLOSING;
        return true;
    }
    if (client->guard ? dsql_guard_holds_message(client, piece) : dsql_relay_is_changing(client))
        return false;
    if (answer_alone(client, piece->type))
        return true;
    bool ends_copy = client->answers.copying && piece->type != DSQL_PG_FE_SYNC &&
                     piece->type != DSQL_PG_FE_FLUSH; /* what is not data ends it as an error */
    if (is_copy(piece->type) || ends_copy) {
        relay_copy(client, piece);
        return true;
    }
    bool names = piece->type != DSQL_PG_FE_SYNC && piece->type != DSQL_PG_FE_FLUSH;
    if (!dsql_replay_admits(client, piece->type) ||
        (names && dsql_answers_are_uncertain(&client->answers)) ||
        client->answers.count >= DSQL_ANSWERS_MAX || !dsql_server_need(client) ||
        !place_settings(client, piece))
        return false;
    bool unreadable = dsql_pg_fe_parse(piece->type, piece->body, &msg, &err) != DSQL_OK;
    if (!unreadable && !dsql_prepared_admits(client, &msg))
        return false;
    if (piece->type != DSQL_PG_FE_SYNC && piece->type != DSQL_PG_FE_QUERY &&
        piece->type != DSQL_PG_FE_FUNCTION_CALL && piece->type != DSQL_PG_FE_FLUSH)
        client->segment_open = true;
    if (unreadable)
        relay_unreadable(client, piece);
    else
        relay_message(client, &msg, piece);
    dsql_replay_note(client, piece);
    dsql_guard_note(client, piece);
    return true;
}
