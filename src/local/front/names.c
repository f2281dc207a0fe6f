#include "local/front/names.h"

#include <stdlib.h>

#include "pgwire/put_frontend.h"

struct dsql_named {
    struct dsql_named *next;
    struct dsql_sql_script *script;
    uint64_t hash, number;
    size_t len, parse_len;
    char name[]; /* and behind it the Parse */
};

static struct dsql_named_set *set_of(struct dsql_names *names, enum dsql_pg_object object)
{
    return object == DSQL_PG_PORTAL ? &names->portals : &names->statements;
}

/* FNV-1a. */
static uint64_t hash_of(struct dsql_span name)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char)name.ptr[i]) * 0x100000001b3;
    return hash;
}

static struct dsql_named **list_of(struct dsql_named_set *set, uint64_t hash)
{
    return set->many ? &set->many[hash & (set->lists - 1)]
                     : &set->few[hash % DSQL_COUNT_OF(set->few)];
}

static size_t lists_in(const struct dsql_named_set *set)
{
    return set->many ? set->lists : DSQL_COUNT_OF(set->few);
}

static struct dsql_named **find(struct dsql_named_set *set, struct dsql_span name, uint64_t hash)
{
    struct dsql_named **at = list_of(set, hash);
    while (*at && ((*at)->hash != hash ||
                   !dsql_span_eq((struct dsql_span){(*at)->name, (*at)->len}, name)))
        at = &(*at)->next;
    return at;
}

static void unlink_at(struct dsql_named_set *set, struct dsql_named **at)
{
    struct dsql_named *gone = *at;
    *at = gone->next;
    set->count--;
    dsql_sql_script_unref(gone->script);
    free(gone);
}

/* Four times as many lists. Without memory for them the lists just grow longer. */
static void grow(struct dsql_named_set *set)
{
    enum { FACTOR = 4 };
    const size_t lists = lists_in(set);
    struct dsql_named **old = set->many ? set->many : set->few;
    struct dsql_named **many = calloc(lists * FACTOR, sizeof(struct dsql_named *));
    if (!many)
        return;
    for (size_t i = 0; i < lists; i++)
        for (struct dsql_named *at = old[i], *next; at; at = next) {
            struct dsql_named **list = &many[at->hash & (lists * FACTOR - 1)];
            next = at->next;
            at->next = *list;
            *list = at;
        }
    if (set->many)
        free(old);
    memset(set->few, 0, sizeof(set->few));
    set->many = many;
    set->lists = lists * FACTOR;
}

enum dsql_rc dsql_names_set(struct dsql_names *names, enum dsql_pg_object object,
                            struct dsql_span name, struct dsql_sql_script *script,
                            struct dsql_span parse, uint64_t number)
{
    dsql_names_drop(names, object, name);
    struct dsql_named_set *set = set_of(names, object);
    struct dsql_named *named = malloc(sizeof(*named) + name.len + parse.len);
    if (!named) {
        dsql_sql_script_unref(script);
        return DSQL_NO_MEMORY;
    }
    if (++set->count > lists_in(set))
        grow(set);
    named->hash = hash_of(name);
    struct dsql_named **list = list_of(set, named->hash);
    named->next = *list;
    named->script = script;
    named->number = names->newest = number;
    named->len = name.len;
    if (name.len > 0)
        memcpy(named->name, name.ptr, name.len);
    named->parse_len = parse.len;
    if (parse.len > 0)
        memcpy(named->name + name.len, parse.ptr, parse.len);
    *list = named;
    return DSQL_OK;
}

struct dsql_sql_script *dsql_names_get(struct dsql_names *names, enum dsql_pg_object object,
                                       struct dsql_span name)
{
    struct dsql_named *found = *find(set_of(names, object), name, hash_of(name));
    return found ? found->script : NULL;
}

void dsql_names_drop(struct dsql_names *names, enum dsql_pg_object object, struct dsql_span name)
{
    struct dsql_named_set *set = set_of(names, object);
    struct dsql_named **at = find(set, name, hash_of(name));
    if (*at)
        unlink_at(set, at);
}

void dsql_names_drop_all(struct dsql_names *names, enum dsql_pg_object object)
{
    struct dsql_named_set *set = set_of(names, object);
    struct dsql_named **lists = set->many ? set->many : set->few;
    for (size_t i = 0; set->count > 0; i++)
        while (lists[i])
            unlink_at(set, &lists[i]);
    free(set->many);
    set->many = NULL;
    set->lists = 0;
}

void dsql_names_undo(struct dsql_names *names, uint64_t first, uint64_t end)
{
    struct dsql_named_set *set = &names->statements;
    if (first >= end || names->newest < first)
        return;
    struct dsql_named **lists = set->many ? set->many : set->few;
    for (size_t i = 0; i < lists_in(set); i++)
        for (struct dsql_named **at = &lists[i]; *at;)
            if ((*at)->number >= first && (*at)->number < end)
                unlink_at(set, at);
            else
                at = &(*at)->next;
}

uint32_t dsql_names_replay(const struct dsql_names *names, struct dsql_strbuf *out)
{
    uint32_t count = 0;
    const struct dsql_named_set *set = &names->statements;
    struct dsql_named *const *lists = set->many ? set->many : set->few;
    for (size_t i = 0; i < lists_in(set); i++)
        for (const struct dsql_named *at = lists[i]; at; at = at->next) {
            if (at->parse_len == 0)
                continue;
            dsql_strbuf_add(out, (struct dsql_span){at->name + at->len, at->parse_len});
            dsql_pg_put_sync(out);
            count++;
        }
    return count;
}
