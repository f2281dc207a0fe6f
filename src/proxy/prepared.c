#include "proxy/prepared.h"

#include "pgwire/put_frontend.h"
#include "proxy/proxy.h"
#include "proxy/sql_words.h"

enum { SQL_MAX = 17 << 20 }; /* a message has 10 MiB, and its names become longer */

/* Of the statement that a made text needs, and of the proxy's own portal. */
static const char made_name[] = "dsql proxy sql";

static struct dsql_strbuf *out_of(struct dsql_client *client)
{
    return &client->server->out.bytes;
}

static void expect_hidden(struct dsql_client *client, enum dsql_answer_kind kind)
{
    dsql_relay_expect(client, (struct dsql_answer){.kind = kind, .purpose = DSQL_FOR_PREPARE});
}

void dsql_prepared_put_close(struct dsql_client *client, const char *name)
{
    dsql_pg_put_close(out_of(client), DSQL_PG_STATEMENT, dsql_span_of(name));
    expect_hidden(client, DSQL_ANSWER_CLOSE);
}

/* -- Contexts. */

static bool is_unsure(const struct dsql_client *client)
{
    return client->settings_dirty || client->settings_unread || client->may_set;
}

void dsql_prepared_may_set(struct dsql_client *client, struct dsql_span text)
{
    client->may_set = client->may_set || dsql_sql_may_set(text);
}

/* Odd numbers are hashes of settings. Even ones are the clients' own. */
static uint64_t known_context(const struct dsql_client *client, const struct dsql_settings *under)
{
    const struct dsql_settings *now = client->settings;
    uint64_t literals = under ? under->literals : now->literals;
    return (literals * UINT64_C(0x9e3779b97f4a7c15) ^ now->names) | 1;
}

/* In which context the client prepares now. */
static uint64_t context_now(struct dsql_client *client, const struct dsql_settings *under)
{
    if (!is_unsure(client))
        return known_context(client, under);
    if (client->own_context == 0)
        client->own_context = client->proxy->own_contexts += 2;
    return client->own_context;
}

/* Whether what was prepared in that context is what the client means. Behind a SET of its own it
 * may be that of before: the server looks at search_path, and keeps literals. */
static bool is_meant(const struct dsql_client *client, const struct dsql_settings *under,
                     uint64_t context)
{
    return context == known_context(client, under) ||
           (is_unsure(client) && context == client->own_context);
}

/* Another statement may have to give way. What prepares this one is preceded by a Close: that costs
 * nothing and makes sure of its name. */
static void note(struct dsql_client *client, struct dsql_statement *statement, uint64_t context)
{
    struct dsql_statement *gone = dsql_cache_add(&client->server->cache, statement, context);
    if (gone)
        dsql_prepared_put_close(client, gone->server_name);
    dsql_statement_unref(gone);
    dsql_prepared_put_close(client, statement->server_name);
}

static struct dsql_settings *settings_now(const struct dsql_client *client)
{
    return is_unsure(client) ? NULL : dsql_settings_ref(client->settings);
}

void dsql_prepared_define(struct dsql_client *client, struct dsql_definition *definition)
{
    dsql_settings_unref(definition->under);
    definition->under = settings_now(client);
    if (!client->at_home)
        note(client, definition->statement, context_now(client, NULL));
}

void dsql_prepared_define_unnamed(struct dsql_client *client, struct dsql_statement *statement)
{
    client->unnamed = dsql_statement_ref(statement);
    dsql_settings_unref(client->unnamed_under);
    client->unnamed_under = settings_now(client);
    client->server->unnamed = dsql_statement_ref(statement);
    client->server->unnamed_context = context_now(client, NULL);
}

/* -- Statements of the protocol. */

struct dsql_span dsql_prepared_name(const struct dsql_client *client,
                                    const struct dsql_definition *definition)
{
    return client->at_home ? dsql_definition_name(definition)
                           : dsql_span_of(definition->statement->server_name);
}

/* Runs a statement of the proxy's own in the client's transaction. The last entry is given. */
static void put_hidden_sql(struct dsql_client *client, struct dsql_span sql,
                           struct dsql_answer last)
{
    const struct dsql_pg_bind bind = {.portal = dsql_span_of(made_name),
                                      .statement = dsql_span_of(made_name)};
    dsql_prepared_put_close(client, made_name);
    dsql_pg_put_parse(out_of(client),
                      &(struct dsql_pg_parse){.name = bind.statement, .query = sql});
    dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_PARSE,
                                                   .purpose = DSQL_FOR_PREPARE,
                                                   .renames = dsql_renames_ref(last.renames)});
    dsql_pg_put_close(out_of(client), DSQL_PG_PORTAL, bind.portal);
    expect_hidden(client, DSQL_ANSWER_CLOSE);
    dsql_pg_put_bind(out_of(client), &bind);
    expect_hidden(client, DSQL_ANSWER_BIND);
    dsql_pg_put_execute(out_of(client), bind.portal, 0);
    last.kind = DSQL_ANSWER_EXECUTE;
    last.purpose = DSQL_FOR_PREPARE;
    dsql_relay_expect(client, last);
}

/* In the client's transaction: if that fails, the server takes them back. */
static void put_literals(struct dsql_client *client, const struct dsql_settings *from,
                         const struct dsql_settings *to)
{
    struct dsql_strbuf sql;
    dsql_strbuf_init_heap(&sql, SQL_MAX);
    dsql_settings_put_literals(&sql, from, to);
    out_of(client)->cut |= sql.cut;
    put_hidden_sql(client, dsql_strbuf_span(&sql), (struct dsql_answer){0});
    dsql_strbuf_fini(&sql);
}

/* The settings with which a text's literals were read take the place of those in force; true if
 * they are others. */
static bool begin_under(struct dsql_client *client, const struct dsql_settings *under)
{
    if (!under || is_unsure(client) || under->literals == client->settings->literals)
        return false;
    put_literals(client, client->settings, under);
    return true;
}

static void end_under(struct dsql_client *client, const struct dsql_settings *under)
{
    put_literals(client, under, client->settings);
}

static size_t quoted_chars(struct dsql_span name)
{
    size_t quotes = 2;
    for (size_t i = 0; i < name.len; i++)
        quotes += name.ptr[i] == '"';
    return dsql_sql_chars(name) + quotes;
}

/* The names of a PREPARE; NULL if memory is short: then places are the server's. */
static struct dsql_renames *renames_of(struct dsql_definition *definition, size_t chars)
{
    const struct dsql_statement *statement = definition->statement;
    struct dsql_renames *renames = dsql_renames_new(1);
    struct dsql_span head = dsql_span_first(dsql_statement_text(statement), statement->name_at);
    struct dsql_renamed one = {.definition = definition, .len = chars};
    one.was = dsql_sql_chars(dsql_definition_spelled(definition));
    one.end = dsql_sql_chars(head) + one.len;
    if (renames)
        dsql_renames_add(renames, &one);
    return renames;
}

/* Prepares a statement of SQL on the connection under a name that is spelled so. */
static void put_prepare(struct dsql_client *client, struct dsql_definition *definition,
                        struct dsql_span name)
{
    struct dsql_strbuf sql;
    dsql_strbuf_init_heap(&sql, SQL_MAX);
    dsql_statement_put_sql(&sql, definition->statement, name);
    out_of(client)->cut |= sql.cut;
    put_hidden_sql(client, dsql_strbuf_span(&sql),
                   (struct dsql_answer){.definition = dsql_definition_ref(definition),
                                        .statement = dsql_statement_ref(definition->statement),
                                        .renames = renames_of(definition, dsql_sql_chars(name))});
    dsql_strbuf_fini(&sql);
}

static void put_parse(struct dsql_client *client, struct dsql_definition *definition,
                      struct dsql_span name)
{
    struct dsql_pg_parse parse = dsql_statement_parse(definition->statement, name);
    dsql_pg_put_parse(out_of(client), &parse);
    dsql_relay_expect(client,
                      (struct dsql_answer){.kind = DSQL_ANSWER_PARSE,
                                           .purpose = DSQL_FOR_PREPARE,
                                           .definition = dsql_definition_ref(definition),
                                           .statement = dsql_statement_ref(definition->statement)});
}

static void put_definition(struct dsql_client *client, struct dsql_definition *definition)
{
    struct dsql_statement *statement = definition->statement;
    if (!statement->sql) {
        put_parse(client, definition, dsql_span_of(statement->server_name));
        return;
    }
    char memory[DSQL_SERVER_NAME_MAX + 3];
    struct dsql_strbuf name;
    dsql_strbuf_init(&name, memory, sizeof(memory));
    dsql_statement_put_name(&name, dsql_span_of(statement->server_name));
    put_prepare(client, definition, dsql_strbuf_span(&name));
}

void dsql_prepared_need(struct dsql_client *client, struct dsql_definition *definition)
{
    const struct dsql_settings *under = definition->under;
    const struct dsql_cached *there =
        client->at_home ? NULL : dsql_cache_use(&client->server->cache, definition->statement);
    if (client->at_home || (there && is_meant(client, under, there->context)))
        return;
    note(client, definition->statement, context_now(client, under));
    bool other = begin_under(client, under);
    put_definition(client, definition);
    if (other)
        end_under(client, under);
}

static void parse_unnamed_again(struct dsql_client *client)
{
    struct dsql_pg_parse parse = dsql_statement_parse(client->unnamed, DSQL_SPAN(""));
    bool other = begin_under(client, client->unnamed_under);
    dsql_pg_put_parse(out_of(client), &parse);
    dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_PARSE,
                                                   .purpose = DSQL_FOR_PREPARE,
                                                   .unnamed = true});
    if (other)
        end_under(client, client->unnamed_under);
}

/* It is the server's own; it is parsed again where another client's is. */
void dsql_prepared_need_unnamed(struct dsql_client *client)
{
    struct dsql_server *server = client->server;
    if (!client->unnamed) {
        dsql_prepared_put_close(client, ""); /* what is there may be another client's */
        dsql_statement_unref(server->unnamed);
        server->unnamed = NULL;
        return;
    }
    if (server->unnamed == client->unnamed &&
        is_meant(client, client->unnamed_under, server->unnamed_context))
        return;
    parse_unnamed_again(client);
    dsql_statement_unref(server->unnamed);
    server->unnamed = dsql_statement_ref(client->unnamed);
    server->unnamed_context = context_now(client, client->unnamed_under);
}

void dsql_prepared_close(struct dsql_client *client, struct dsql_definition *definition,
                         struct dsql_answer *entry)
{
    entry->effect = DSQL_EFFECT_CLOSED;
    entry->definition = dsql_definition_ref(definition);
    dsql_definitions_remove(&client->names, definition);
}

/* DEALLOCATE takes the shared statement off the server. Another name of the client may mean the
 * same statement, and is used before the answer comes: the statement is prepared again then. */
static void deallocate(struct dsql_client *client, struct dsql_definition *definition,
                       struct dsql_answer *entry)
{
    dsql_prepared_close(client, definition, entry);
    dsql_cache_remove(&client->server->cache, entry->definition->statement);
}

void dsql_prepared_drop_unnamed(struct dsql_client *client, struct dsql_answer *entry)
{
    entry->unnamed = client->unnamed != NULL;
    entry->statement = client->unnamed;
    client->unnamed = NULL;
    dsql_statement_unref(client->server->unnamed);
    client->server->unnamed = NULL;
}

/* -- What a text means to do. */

struct dsql_names_plan dsql_prepared_plan(const struct dsql_client *client, struct dsql_span text)
{
    struct dsql_names_plan plan = {0};
    struct dsql_sql_names names = {.text = text};
    struct dsql_sql_name at;
    bool home = false;
    size_t changes = 0;
    while ((at = dsql_sql_names_next(&names)).use != DSQL_SQL_NAMES_END) {
        struct dsql_definition *found =
            at.clear ? dsql_definitions_find(&client->names, dsql_span_of(at.name)) : NULL;
        bool known = found || (!at.clear && client->names.count > 0);
        switch (at.use) {
        case DSQL_SQL_PREPARES:
            plan.kind = DSQL_NAMES_PREPARE;
            plan.name = at;
            plan.definition = found;
            home |= !at.clear;
            changes++;
            break;
        case DSQL_SQL_EXECUTES:
            home |= known && (!found || found->statement->names);
            plan.executes += found != NULL;
            plan.commits |= found && found->statement->commits;
            plan.definition = found ? found : plan.definition;
            break;
        case DSQL_SQL_MAY_EXECUTE:
            home |= known;
            break;
        case DSQL_SQL_DEALLOCATES:
            plan.kind = known ? DSQL_NAMES_DEALLOCATE : plan.kind;
            plan.definition = found ? found : plan.definition;
            home |= known && !found;
            changes += known;
            break;
        case DSQL_SQL_DEALLOCATES_ALL:
            changes += client->names.count > 0;
            break;
        case DSQL_SQL_LISTS:
            home = true;
            break;
        case DSQL_SQL_NAMES_END:
            break;
        }
    }
    plan.resets =
        plan.definition && plan.executes == 1 && names.statements == 1 &&
        dsql_settings_are_reset(dsql_statement_text(plan.definition->statement), &plan.reset);
    if (home || (changes > 0 && names.statements > 1))
        plan.kind = DSQL_NAMES_HOME;
    else if (plan.executes > 0)
        plan.kind = DSQL_NAMES_EXECUTE;
    return plan;
}

/* -- Moving in. */

/* A statement that executes another one is prepared behind it. apart: each by itself, so that one
 * that can't be prepared any more keeps none of the others away. */
static void prepare_own(struct dsql_client *client, bool executing, bool apart)
{
    for (size_t i = 0; i < client->names.count; i++) {
        struct dsql_definition *definition = client->names.of[i];
        if (definition->statement->names != executing)
            continue;
        if (definition->statement->sql)
            put_prepare(client, definition, dsql_definition_spelled(definition));
        else
            put_parse(client, definition, dsql_definition_name(definition));
        if (apart)
            dsql_relay_hidden_sync(client);
    }
}

static void move_in(struct dsql_client *client, bool query)
{
    struct dsql_server *server = client->server;
    bool syncs = query && !client->segment_open, apart = syncs && client->tx == DSQL_PG_IDLE;
    assert(client->answers.count == 0);
    dsql_replay_copy(client); /* what it leaves there is not undone by a rollback */
    put_hidden_sql(client, DSQL_SPAN("DEALLOCATE ALL"), (struct dsql_answer){0});
    dsql_cache_clear(&server->cache);
    dsql_statement_unref(server->unnamed);
    server->unnamed = NULL;
    prepare_own(client, false, apart);
    prepare_own(client, true, apart);
    dsql_pg_put_close(out_of(client), DSQL_PG_STATEMENT, dsql_span_of(made_name));
    dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_CLOSE,
                                                   .purpose = DSQL_FOR_PREPARE,
                                                   .effect = DSQL_EFFECT_HOME});
    if (syncs)
        dsql_relay_hidden_sync(client);
    else
        dsql_pg_put_flush(out_of(client));
    client->at_home = true;
}

/* The text that a message runs, if it may have names in it. */
static bool text_of(const struct dsql_client *client, const struct dsql_pg_fe *msg,
                    struct dsql_span *text)
{
    if (msg->type == DSQL_PG_FE_QUERY) {
        *text = msg->query;
        return dsql_sql_has_names(*text);
    }
    bool describes = msg->type == DSQL_PG_FE_DESCRIBE && msg->target.object == DSQL_PG_STATEMENT;
    if (msg->type != DSQL_PG_FE_BIND && !describes)
        return false;
    struct dsql_span name = describes ? msg->target.name : msg->bind.statement;
    const struct dsql_definition *definition = dsql_definitions_find(&client->names, name);
    const struct dsql_statement *statement = definition ? definition->statement : NULL;
    if (name.len == 0)
        statement = client->unnamed;
    if (!statement || !statement->names)
        return false;
    *text = dsql_statement_text(statement);
    return true;
}

/* Whether the client's statement is not on its connection as the client means it. */
static bool is_missing(const struct dsql_client *client, const struct dsql_definition *definition)
{
    const struct dsql_cached *there = dsql_cache_use(&client->server->cache, definition->statement);
    return definition->under && !(there && is_meant(client, definition->under, there->context));
}

static bool misses_any(const struct dsql_client *client)
{
    for (size_t i = 0; i < client->names.count; i++)
        if (is_missing(client, client->names.of[i]))
            return true;
    return client->unnamed && client->unnamed_under &&
           !(client->server->unnamed == client->unnamed &&
             is_meant(client, client->unnamed_under, client->server->unnamed_context));
}

/* Whether the message may need a statement that has to be prepared with settings of before a SET
 * whose effect is not known yet, but will be when what is under way is answered. */
static bool must_wait(const struct dsql_client *client, const struct dsql_pg_fe *msg)
{
    bool settles = client->tx == DSQL_PG_IDLE && !client->answers.skipping;
    if (!is_unsure(client) || client->at_home || client->segment_open ||
        dsql_replay_is_running(client) || (client->answers.count == 0 && !settles))
        return false;
    bool uses = msg->type == DSQL_PG_FE_BIND || msg->type == DSQL_PG_FE_DESCRIBE ||
                msg->type == DSQL_PG_FE_PARSE ||
                (msg->type == DSQL_PG_FE_QUERY && dsql_sql_has_names(msg->query));
    return uses && misses_any(client);
}

bool dsql_prepared_admits(struct dsql_client *client, const struct dsql_pg_fe *msg)
{
    struct dsql_span text;
    if (client->answers.count == 0) /* what may have set something is answered, or was dropped */
        client->may_set = false;
    if (must_wait(client, msg)) {
        if (client->answers.count > 0)
            dsql_pg_put_flush(out_of(client)); /* as below */
        return false;
    }
    if (client->at_home || !text_of(client, msg, &text))
        return true;
    bool query = msg->type == DSQL_PG_FE_QUERY;
    struct dsql_names_plan plan = dsql_prepared_plan(client, text);
    if (plan.kind != DSQL_NAMES_HOME && !query)
        return true;
    if (client->answers.count > 0) { /* they say what state the transaction is in */
        dsql_pg_put_flush(
            out_of(client)); /* a guard and what is no Sync's have none by themselves */
        return false;
    }
    if (plan.kind == DSQL_NAMES_HOME && client->tx != DSQL_PG_FAILED_TX)
        move_in(client, query);
    return true;
}

/* -- Made texts. */

static struct dsql_definition *executed(const struct dsql_client *client,
                                        const struct dsql_sql_name *at)
{
    return at->use == DSQL_SQL_EXECUTES && at->clear
               ? dsql_definitions_find(&client->names, dsql_span_of(at->name))
               : NULL;
}

static size_t count_executes(struct dsql_span text)
{
    struct dsql_sql_names names = {.text = text};
    struct dsql_sql_name at;
    size_t count = 0;
    while ((at = dsql_sql_names_next(&names)).use != DSQL_SQL_NAMES_END)
        count += at.use == DSQL_SQL_EXECUTES;
    return count;
}

/* Adds the text with the server's names of what it executes: that definition, unless it is NULL. */
static struct dsql_renames *put_executes(const struct dsql_client *client, struct dsql_span text,
                                         struct dsql_definition *all, struct dsql_strbuf *sql)
{
    struct dsql_sql_names names = {.text = text};
    struct dsql_sql_name at;
    struct dsql_renames *renames = dsql_renames_new(count_executes(text));
    size_t from = 0, chars = 0;
    while ((at = dsql_sql_names_next(&names)).use != DSQL_SQL_NAMES_END) {
        struct dsql_definition *found = executed(client, &at);
        if (all && at.use == DSQL_SQL_EXECUTES)
            found = all;
        if (!found)
            continue;
        struct dsql_span server_name = dsql_span_of(found->statement->server_name);
        struct dsql_span between = dsql_span_first(dsql_span_from(text, from), at.at - from);
        struct dsql_span spelled = {text.ptr + at.at, at.len};
        struct dsql_renamed one = {.definition = found, .was = dsql_sql_chars(spelled)};
        one.len = quoted_chars(server_name);
        one.end = chars += dsql_sql_chars(between) + one.len;
        dsql_strbuf_add(sql, between);
        dsql_statement_put_name(sql, server_name);
        if (renames)
            dsql_renames_add(renames, &one);
        from = at.at + at.len;
    }
    dsql_strbuf_add(sql, dsql_span_from(text, from));
    return renames;
}

/* What the text executes is prepared on the connection, and may change settings. */
static void need_executed(struct dsql_client *client, struct dsql_span text)
{
    struct dsql_sql_names names = {.text = text};
    struct dsql_sql_name at;
    while ((at = dsql_sql_names_next(&names)).use != DSQL_SQL_NAMES_END) {
        struct dsql_definition *found = executed(client, &at);
        if (!found)
            continue;
        if (client->tx != DSQL_PG_FAILED_TX) /* where it is refused unseen */
            dsql_prepared_need(client, found);
        client->settings_dirty |= found->statement->sets;
        client->pinned |= found->statement->sets_hidden;
    }
}

/* The definition that a PREPARE makes, which the client has not got; NULL if memory is short. */
static struct dsql_definition *
definition_of(struct dsql_client *client, const struct dsql_sql_name *name, struct dsql_span text)
{
    struct dsql_span spelled = {text.ptr + name->at, name->len};
    struct dsql_statement *statement =
        dsql_statement_get_sql(&client->proxy->statements, dsql_span_first(text, name->at),
                               dsql_span_from(text, name->at + name->len));
    struct dsql_definition *made =
        statement ? dsql_definition_new(statement, dsql_span_of(name->name), spelled) : NULL;
    dsql_statement_unref(statement);
    return made;
}

/* Adds the PREPARE under the server's name for the definition. That may be the one of another text
 * that the client has under this name: the server says so then, or what is wrong with the text. */
static struct dsql_renames *put_made_prepare(struct dsql_definition *definition,
                                             const struct dsql_sql_name *name,
                                             struct dsql_span text, struct dsql_strbuf *sql)
{
    struct dsql_span head = dsql_span_first(text, name->at);
    struct dsql_span spelled = {text.ptr + name->at, name->len};
    struct dsql_span server_name = dsql_span_of(definition->statement->server_name);
    struct dsql_renames *renames = dsql_renames_new(1);
    struct dsql_renamed one = {.definition = definition, .was = dsql_sql_chars(spelled)};
    one.len = quoted_chars(server_name);
    one.end = dsql_sql_chars(head) + one.len;
    dsql_strbuf_add(sql, head);
    dsql_statement_put_name(sql, server_name);
    dsql_strbuf_add(sql, dsql_span_from(text, name->at + name->len));
    if (renames)
        dsql_renames_add(renames, &one);
    return renames;
}

/* The name is the client's once the entry is answered. */
static void define(struct dsql_client *client, struct dsql_definition *definition,
                   struct dsql_answer *entry)
{
    if (!dsql_definitions_add(&client->names, definition)) {
        out_of(client)->cut = true;
        return;
    }
    dsql_prepared_define(client, definition);
    entry->effect = DSQL_EFFECT_DEFINED;
    entry->definition = dsql_definition_ref(definition);
}

static void make_prepare(struct dsql_client *client, const struct dsql_names_plan *plan,
                         struct dsql_span text, struct dsql_strbuf *sql, struct dsql_answer *entry)
{
    struct dsql_definition *definition = plan->definition;
    entry->refused = definition != NULL;
    if (definition) {
        dsql_prepared_need(client, definition);
        entry->definition = dsql_definition_ref(definition);
        entry->renames = put_made_prepare(definition, &plan->name, text, sql);
        return;
    }
    definition = definition_of(client, &plan->name, text);
    if (definition) {
        define(client, definition, entry);
        entry->renames = put_made_prepare(definition, &plan->name, text, sql);
    }
    out_of(client)->cut |= !definition;
    dsql_definition_unref(definition);
}

/* DEALLOCATE needs the name only: what it means may be gone, and can't be prepared again. */
static void need_name(struct dsql_client *client, const struct dsql_definition *definition)
{
    const struct dsql_statement *statement = definition->statement;
    if (dsql_cache_use(&client->server->cache, statement))
        return;
    dsql_prepared_put_close(client, statement->server_name);
    dsql_pg_put_parse(out_of(client), &(struct dsql_pg_parse){
                                          .name = dsql_span_of(statement->server_name),
                                          .query = DSQL_SPAN("select 1"),
                                      });
    expect_hidden(client, DSQL_ANSWER_PARSE);
}

static void put_deallocate(struct dsql_strbuf *sql, const struct dsql_definition *definition)
{
    dsql_strbuf_add_str(sql, "DEALLOCATE ");
    dsql_statement_put_name(sql, dsql_span_of(definition->statement->server_name));
}

/* In front of a simple query what it needs has its own Sync, which must not end what the client has
 * not ended. In a transaction that has failed the server refuses all of it unseen. */
void dsql_prepared_make_query(struct dsql_client *client, const struct dsql_names_plan *plan,
                              struct dsql_span text, struct dsql_strbuf *sql,
                              struct dsql_answer *entry)
{
    uint32_t before = client->answers.count;
    bool failed = client->tx == DSQL_PG_FAILED_TX;
    if (plan->kind == DSQL_NAMES_PREPARE && !failed) {
        make_prepare(client, plan, text, sql, entry);
    } else if (plan->kind == DSQL_NAMES_EXECUTE) {
        need_executed(client, text);
        entry->renames = put_executes(client, text, NULL, sql);
    } else if (plan->kind == DSQL_NAMES_DEALLOCATE) {
        if (!failed)
            need_name(client, plan->definition);
        put_deallocate(sql, plan->definition);
        deallocate(client, plan->definition, entry);
    }
    if (client->answers.count > before && !client->segment_open)
        dsql_relay_hidden_sync(client);
}

/* -- Portals. */

/* Prepares the made text as a statement of its own. */
static void parse_made(struct dsql_client *client, const struct dsql_statement *statement,
                       const struct dsql_strbuf *sql, struct dsql_renames *renames)
{
    struct dsql_pg_parse parse = dsql_statement_parse(statement, dsql_span_of(made_name));
    parse.query = dsql_strbuf_span(sql);
    out_of(client)->cut |= sql->cut;
    dsql_prepared_put_close(client, made_name);
    dsql_pg_put_parse(out_of(client), &parse);
    dsql_relay_expect(client, (struct dsql_answer){.kind = DSQL_ANSWER_PARSE,
                                                   .purpose = DSQL_FOR_PREPARE,
                                                   .renames = dsql_renames_ref(renames)});
}

void dsql_prepared_bind(struct dsql_client *client, const struct dsql_names_plan *plan,
                        const struct dsql_statement *statement, const struct dsql_pg_bind *bind)
{
    struct dsql_span text = dsql_statement_text(statement);
    struct dsql_bound bound = {.use = DSQL_BOUND_RUNS};
    struct dsql_pg_bind out = *bind;
    struct dsql_strbuf sql;
    dsql_strbuf_init_heap(&sql, SQL_MAX);
    out.statement = dsql_span_of(made_name);
    if (plan->kind == DSQL_NAMES_EXECUTE) {
        need_executed(client, text);
        bound.renames = put_executes(client, text, NULL, &sql);
        bound.use = plan->resets ? DSQL_BOUND_RESETS : DSQL_BOUND_RUNS;
        bound.resets = plan->reset;
    } else {
        bool prepares = plan->kind == DSQL_NAMES_PREPARE;
        bound.use = prepares ? DSQL_BOUND_PREPARES : DSQL_BOUND_DEALLOCATES;
        bound.definition = plan->definition ? dsql_definition_ref(plan->definition)
                                            : definition_of(client, &plan->name, text);
        if (!bound.definition)
            out_of(client)->cut = true;
        else if (prepares)
            bound.renames = put_made_prepare(bound.definition, &plan->name, text, &sql);
        else
            put_deallocate(&sql, bound.definition);
        if (plan->definition && prepares)
            dsql_prepared_need(client, plan->definition);
        else if (plan->definition)
            need_name(client, plan->definition);
    }
    parse_made(client, statement, &sql, bound.renames);
    dsql_pg_put_bind(out_of(client), &out);
    dsql_relay_expect(client,
                      (struct dsql_answer){.kind = DSQL_ANSWER_BIND,
                                           .definition = dsql_definition_ref(bound.definition),
                                           .renames = dsql_renames_ref(bound.renames)});
    out_of(client)->cut |= !dsql_portals_add(&client->portals, bind->portal, bound);
    dsql_strbuf_fini(&sql);
}

struct dsql_definition *dsql_prepared_executes(const struct dsql_client *client,
                                               const struct dsql_statement *statement)
{
    if (!statement->names)
        return NULL;
    struct dsql_names_plan plan = dsql_prepared_plan(client, dsql_statement_text(statement));
    return plan.kind == DSQL_NAMES_EXECUTE && plan.executes == 1 ? plan.definition : NULL;
}

void dsql_prepared_describe(struct dsql_client *client, const struct dsql_statement *statement,
                            struct dsql_definition *executes)
{
    struct dsql_span text = dsql_statement_text(statement);
    struct dsql_strbuf sql;
    dsql_strbuf_init_heap(&sql, SQL_MAX);
    const struct dsql_definition *known =
        dsql_definitions_find(&client->names, dsql_definition_name(executes));
    dsql_prepared_need(client, executes);
    struct dsql_renames *renames = put_executes(client, text, executes, &sql);
    parse_made(client, statement, &sql, renames);
    if (!known) { /* by now it is gone, and the server says so */
        dsql_prepared_put_close(client, executes->statement->server_name);
        dsql_cache_remove(&client->server->cache, executes->statement);
    }
    dsql_pg_put_describe(out_of(client), DSQL_PG_STATEMENT, dsql_span_of(made_name));
    dsql_relay_expect(client,
                      (struct dsql_answer){.kind = DSQL_ANSWER_DESCRIBE, .renames = renames});
    dsql_strbuf_fini(&sql);
}

/* The client may have got another statement of that name since Bind: it is refused then. */
static void run_prepare(struct dsql_client *client, struct dsql_definition *definition,
                        struct dsql_answer *entry)
{
    struct dsql_definition *there =
        dsql_definitions_find(&client->names, dsql_definition_name(definition));
    if (!there) {
        define(client, definition, entry);
        return;
    }
    entry->refused = true;
    entry->definition = dsql_definition_ref(there);
    dsql_prepared_need(client, definition);
}

enum dsql_bound_use dsql_prepared_execute(struct dsql_client *client, struct dsql_span portal,
                                          struct dsql_answer *entry,
                                          struct dsql_settings_reset *resets)
{
    struct dsql_bound bound;
    if (!dsql_portals_take(&client->portals, portal, &bound))
        return DSQL_BOUND_RUNS;
    enum dsql_bound_use use = bound.use;
    if (use == DSQL_BOUND_PREPARES)
        run_prepare(client, bound.definition, entry);
    else if (use == DSQL_BOUND_DEALLOCATES)
        deallocate(client, bound.definition, entry);
    else if (use == DSQL_BOUND_DEALLOCATES_ALL)
        entry->effect = DSQL_EFFECT_ALL;
    *resets = bound.resets;
    entry->renames = dsql_renames_ref(bound.renames);
    dsql_bound_release(&bound);
    return use;
}
