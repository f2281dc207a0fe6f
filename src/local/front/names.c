#include "local/front/names.h"

#include <stdlib.h>

#include "pgwire/put_frontend.h"

struct dsql_named {
    struct dsql_named *next;
    struct dsql_sql_script *script;
    enum dsql_pg_object object;
    size_t len, parse_len;
    char name[]; /* and behind it the Parse */
};

static struct dsql_named **find(struct dsql_named **at, enum dsql_pg_object object,
                                struct dsql_span name)
{
    while (*at && ((*at)->object != object ||
                   !dsql_span_eq((struct dsql_span){(*at)->name, (*at)->len}, name)))
        at = &(*at)->next;
    return at;
}

static void unlink_at(struct dsql_named **at)
{
    struct dsql_named *gone = *at;
    *at = gone->next;
    dsql_sql_script_unref(gone->script);
    free(gone);
}

enum dsql_rc dsql_names_set(struct dsql_names *names, enum dsql_pg_object object,
                            struct dsql_span name, struct dsql_sql_script *script,
                            struct dsql_span parse)
{
    dsql_names_drop(names, object, name);
    struct dsql_named *named = malloc(sizeof(*named) + name.len + parse.len);
    if (!named) {
        dsql_sql_script_unref(script);
        return DSQL_NO_MEMORY;
    }
    named->next = names->first;
    named->script = script;
    named->object = object;
    named->len = name.len;
    if (name.len > 0)
        memcpy(named->name, name.ptr, name.len);
    named->parse_len = parse.len;
    if (parse.len > 0)
        memcpy(named->name + name.len, parse.ptr, parse.len);
    names->first = named;
    return DSQL_OK;
}

struct dsql_sql_script *dsql_names_get(const struct dsql_names *names, enum dsql_pg_object object,
                                       struct dsql_span name)
{
    struct dsql_named *first = names->first;
    struct dsql_named *found = *find(&first, object, name);
    return found ? found->script : NULL;
}

void dsql_names_drop(struct dsql_names *names, enum dsql_pg_object object, struct dsql_span name)
{
    struct dsql_named **at = find(&names->first, object, name);
    if (*at)
        unlink_at(at);
}

void dsql_names_drop_all(struct dsql_names *names, enum dsql_pg_object object)
{
    struct dsql_named **at = &names->first;
    while (*at) {
        if ((*at)->object == object)
            unlink_at(at);
        else
            at = &(*at)->next;
    }
}

uint32_t dsql_names_replay(const struct dsql_names *names, struct dsql_strbuf *out)
{
    uint32_t count = 0;
    for (const struct dsql_named *at = names->first; at; at = at->next) {
        if (at->parse_len == 0)
            continue;
        dsql_strbuf_add(out, (struct dsql_span){at->name + at->len, at->parse_len});
        dsql_pg_put_sync(out);
        count++;
    }
    return count;
}
