#include "proxy/statements.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "proxy/settings.h"
#include "proxy/sql_names.h"
#include "proxy/sql_words.h"

static uint64_t hash_more(uint64_t hash, struct dsql_span bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        hash = (hash ^ (unsigned char)bytes.ptr[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_of(struct dsql_span bytes)
{
    return hash_more(UINT64_C(0xcbf29ce484222325), bytes);
}

uint64_t dsql_name_hash(struct dsql_span name)
{
    return hash_of(name);
}

struct dsql_span dsql_statement_text(const struct dsql_statement *statement)
{
    return (struct dsql_span){statement->bytes, statement->text_len};
}

static struct dsql_span types_of(const struct dsql_statement *statement)
{
    return (struct dsql_span){statement->bytes + statement->text_len, statement->types_len};
}

enum { SQL_MAX = 16 << 20, NOT_SQL = -1 };

static struct dsql_statement *make(struct dsql_statements *all, const struct dsql_pg_parse *parse,
                                   uint64_t hash, int64_t name_at)
{
    struct dsql_statement *made =
        calloc(1, sizeof(*made) + parse->query.len + parse->types.raw.len);
    if (!made)
        return NULL;
    made->refs = 1;
    made->all = all;
    made->hash = hash;
    made->sql = name_at != NOT_SQL;
    made->name_at = made->sql ? (size_t)name_at : 0;
    made->text_len = parse->query.len;
    made->types_len = parse->types.raw.len;
    made->type_count = parse->types.count;
    if (made->text_len > 0)
        memcpy(made->bytes, parse->query.ptr, made->text_len);
    if (made->types_len > 0)
        memcpy(made->bytes + made->text_len, parse->types.raw.ptr, made->types_len);
    struct dsql_span text = dsql_statement_text(made);
    made->sets = dsql_settings_may_change(text);
    made->sets_hidden = dsql_settings_are_hidden(text);
    made->commits = dsql_sql_ends(text);
    made->names = !made->sql && dsql_sql_has_names(text);
    made->deallocates_all = dsql_sql_is_deallocate_all(text);
    struct dsql_settings_reset reset;
    made->resets = dsql_settings_are_reset(dsql_statement_text(made), &reset);
    made->may_commit = dsql_sql_may_commit(dsql_statement_text(made));
    (void)snprintf(made->server_name, sizeof(made->server_name), "dsql proxy %016llu",
                   (unsigned long long)++all->made);
    struct dsql_statement **bucket = &all->buckets[hash % DSQL_STATEMENT_BUCKETS];
    made->next = *bucket;
    *bucket = made;
    all->count++;
    return made;
}

static struct dsql_statement *get(struct dsql_statements *all, const struct dsql_pg_parse *parse,
                                  int64_t name_at)
{
    uint64_t hash = hash_more(hash_of(parse->query), parse->types.raw);
    for (struct dsql_statement *at = all->buckets[hash % DSQL_STATEMENT_BUCKETS]; at; at = at->next)
        if (at->hash == hash && dsql_span_eq(dsql_statement_text(at), parse->query) &&
            dsql_span_eq(types_of(at), parse->types.raw) &&
            name_at == (at->sql ? (int64_t)at->name_at : NOT_SQL))
            return dsql_statement_ref(at);
    return make(all, parse, hash, name_at);
}

struct dsql_statement *dsql_statement_get(struct dsql_statements *all,
                                          const struct dsql_pg_parse *parse)
{
    return get(all, parse, NOT_SQL);
}

struct dsql_statement *dsql_statement_get_sql(struct dsql_statements *all, struct dsql_span head,
                                              struct dsql_span tail)
{
    struct dsql_strbuf text;
    dsql_strbuf_init_heap(&text, SQL_MAX);
    dsql_strbuf_add(&text, head);
    dsql_strbuf_add(&text, tail);
    struct dsql_statement *found =
        text.cut ? NULL
                 : get(all, &(struct dsql_pg_parse){.query = dsql_strbuf_span(&text)},
                       (int64_t)head.len);
    dsql_strbuf_fini(&text);
    return found;
}

void dsql_statement_put_name(struct dsql_strbuf *sql, struct dsql_span name)
{
    dsql_strbuf_add_char(sql, '"');
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '"')
            dsql_strbuf_add_char(sql, '"');
        dsql_strbuf_add_char(sql, name.ptr[i]);
    }
    dsql_strbuf_add_char(sql, '"');
}

void dsql_statement_put_sql(struct dsql_strbuf *sql, const struct dsql_statement *statement,
                            struct dsql_span name)
{
    struct dsql_span text = dsql_statement_text(statement);
    dsql_strbuf_add(sql, dsql_span_first(text, statement->name_at));
    dsql_strbuf_add(sql, name);
    dsql_strbuf_add(sql, dsql_span_from(text, statement->name_at));
}

struct dsql_statement *dsql_statement_ref(struct dsql_statement *statement)
{
    if (statement)
        statement->refs++;
    return statement;
}

void dsql_statement_unref(struct dsql_statement *statement)
{
    if (!statement || --statement->refs > 0)
        return;
    struct dsql_statement **at = &statement->all->buckets[statement->hash % DSQL_STATEMENT_BUCKETS];
    while (*at != statement)
        at = &(*at)->next;
    *at = statement->next;
    statement->all->count--;
    free(statement);
}

struct dsql_pg_parse dsql_statement_parse(const struct dsql_statement *statement,
                                          struct dsql_span name)
{
    return (struct dsql_pg_parse){.name = name,
                                  .query = dsql_statement_text(statement),
                                  .types = {statement->type_count, types_of(statement)}};
}

struct dsql_definition *dsql_definition_new(struct dsql_statement *statement, struct dsql_span name,
                                            struct dsql_span spelled)
{
    struct dsql_definition *made = malloc(sizeof(*made) + name.len + spelled.len);
    if (!made)
        return NULL;
    made->refs = 1;
    made->statement = dsql_statement_ref(statement);
    made->executes = NULL;
    made->under = NULL;
    made->spelled_len = spelled.len;
    made->name_len = name.len;
    if (name.len > 0)
        memcpy(made->name, name.ptr, name.len);
    if (spelled.len > 0)
        memcpy(made->name + name.len, spelled.ptr, spelled.len);
    return made;
}

struct dsql_definition *dsql_definition_ref(struct dsql_definition *definition)
{
    if (definition)
        definition->refs++;
    return definition;
}

void dsql_definition_unref(struct dsql_definition *definition)
{
    if (!definition || --definition->refs > 0)
        return;
    dsql_statement_unref(definition->statement);
    dsql_definition_unref(definition->executes); /* which executes nothing: see there */
    dsql_settings_unref(definition->under);
    free(definition);
}

struct dsql_span dsql_definition_name(const struct dsql_definition *definition)
{
    return (struct dsql_span){definition->name, definition->name_len};
}

struct dsql_span dsql_definition_spelled(const struct dsql_definition *definition)
{
    return (struct dsql_span){definition->name + definition->name_len, definition->spelled_len};
}

struct dsql_renames *dsql_renames_new(size_t room)
{
    struct dsql_renames *made = calloc(1, sizeof(*made) + room * sizeof(made->of[0]));
    if (made)
        made->refs = 1;
    return made;
}

void dsql_renames_add(struct dsql_renames *renames, const struct dsql_renamed *renamed)
{
    renames->of[renames->count] = *renamed;
    renames->of[renames->count++].definition = dsql_definition_ref(renamed->definition);
}

struct dsql_renames *dsql_renames_ref(struct dsql_renames *renames)
{
    if (renames)
        renames->refs++;
    return renames;
}

void dsql_renames_unref(struct dsql_renames *renames)
{
    if (!renames || --renames->refs > 0)
        return;
    for (size_t i = 0; i < renames->count; i++)
        dsql_definition_unref(renames->of[i].definition);
    free(renames);
}

size_t dsql_renames_place(const struct dsql_renames *renames, size_t place)
{
    size_t longer = 0, shorter = 0;
    for (size_t i = 0; i < renames->count && place > renames->of[i].end; i++) {
        longer += renames->of[i].len;
        shorter += renames->of[i].was;
    }
    return place + shorter - longer;
}

struct dsql_definition *dsql_definitions_find(const struct dsql_definitions *names,
                                              struct dsql_span name)
{
    for (size_t i = 0; i < names->count; i++)
        if (dsql_span_eq(dsql_definition_name(names->of[i]), name))
            return names->of[i];
    return NULL;
}

bool dsql_definitions_add(struct dsql_definitions *names, struct dsql_definition *definition)
{
    if (!DSQL_GROW(names->of, names->cap, names->count + 1))
        return false;
    names->of[names->count++] = dsql_definition_ref(definition);
    return true;
}

void dsql_definitions_remove(struct dsql_definitions *names,
                             const struct dsql_definition *definition)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->of[i] != definition)
            continue;
        struct dsql_definition *gone = names->of[i];
        names->of[i] = names->of[--names->count];
        dsql_definition_unref(gone);
        return;
    }
}

void dsql_definitions_clear(struct dsql_definitions *names)
{
    while (names->count > 0)
        dsql_definition_unref(names->of[--names->count]);
}

void dsql_definitions_fini(struct dsql_definitions *names)
{
    dsql_definitions_clear(names);
    free(names->of);
    *names = (struct dsql_definitions){0};
}

static struct dsql_cached *find(struct dsql_statement_cache *cache,
                                const struct dsql_statement *statement)
{
    for (size_t i = 0; i < cache->count; i++)
        if (cache->of[i].statement == statement)
            return &cache->of[i];
    return NULL;
}

const struct dsql_cached *dsql_cache_use(struct dsql_statement_cache *cache,
                                         const struct dsql_statement *statement)
{
    struct dsql_cached *found = find(cache, statement);
    if (found)
        found->used = ++cache->clock;
    return found;
}

struct dsql_statement *dsql_cache_add(struct dsql_statement_cache *cache,
                                      struct dsql_statement *statement, uint64_t context)
{
    struct dsql_statement *gone = NULL;
    struct dsql_cached *at = find(cache, statement);
    if (!at && cache->count < DSQL_CACHE_STATEMENTS) {
        at = &cache->of[cache->count++];
        at->statement = dsql_statement_ref(statement);
    } else if (!at) {
        at = &cache->of[0];
        for (size_t i = 1; i < cache->count; i++)
            if (cache->of[i].used < at->used)
                at = &cache->of[i];
        gone = at->statement;
        at->statement = dsql_statement_ref(statement);
    }
    at->context = context;
    at->used = ++cache->clock;
    return gone;
}

void dsql_cache_remove(struct dsql_statement_cache *cache, const struct dsql_statement *statement)
{
    struct dsql_cached *at = find(cache, statement);
    if (!at)
        return;
    struct dsql_statement *gone = at->statement;
    *at = cache->of[--cache->count];
    dsql_statement_unref(gone);
}

void dsql_cache_clear(struct dsql_statement_cache *cache)
{
    while (cache->count > 0)
        dsql_statement_unref(cache->of[--cache->count].statement);
}
