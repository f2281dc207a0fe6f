#include "proxy/settings.h"

#include <stdlib.h>

#include "proxy/sql_words.h"

/* client_encoding, datestyle, extra_float_digits, intervalstyle, timezone; search_path behind. */
enum { LITERALS_FIRST = DSQL_PARAMETER_CLIENT_ENCODING, LITERALS_END = 6 };

static const char *const names[DSQL_PARAMETERS] = {
    "application_name",     "client_encoding",   "datestyle",
    "extra_float_digits",   "intervalstyle",     "timezone",
    "search_path",          "enable_bitmapscan", "enable_hashjoin",
    "enable_indexonlyscan", "enable_indexscan",  "enable_material",
    "enable_mergejoin",     "enable_nestloop",   "enable_seqscan",
};

const char *dsql_parameter_name(size_t i)
{
    return names[i];
}

size_t dsql_parameter_find(struct dsql_span name)
{
    size_t i = 0;
    while (i < DSQL_PARAMETERS && !dsql_span_eq_nocase(name, dsql_span_of(names[i])))
        i++;
    return i;
}

bool dsql_settings_may_change(struct dsql_span text)
{
    return dsql_sql_mentions(text, "set_config") || dsql_sql_mentions(text, "pg_settings") ||
           dsql_sql_mentions(text, "u&\"");
}

bool dsql_settings_are_hidden(struct dsql_span text)
{
    return dsql_sql_mentions(text, "enable_batched_nestloop") ||
           dsql_sql_mentions(text, "disable_sync_create_index");
}

struct dsql_settings *dsql_settings_ref(struct dsql_settings *settings)
{
    if (settings)
        settings->refs++;
    return settings;
}

void dsql_settings_unref(struct dsql_settings *settings)
{
    if (!settings || --settings->refs > 0)
        return;
    for (size_t i = 0; i < DSQL_PARAMETERS; i++)
        free(settings->values[i]);
    free(settings);
}

static uint64_t hash_of(const struct dsql_settings *settings, size_t from, size_t to)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = from; i < to; i++) {
        const char *value = settings->values[i];
        assert(value);
        for (size_t at = 0, end = strlen(value) + 1; at < end; at++)
            hash = (hash ^ (unsigned char)value[at]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* All values are there. */
static void note_hashes(struct dsql_settings *settings)
{
    settings->literals = hash_of(settings, LITERALS_FIRST, LITERALS_END);
    settings->names = hash_of(settings, LITERALS_END, DSQL_PARAMETERS);
}

static bool set(struct dsql_settings *settings, size_t i, struct dsql_span value)
{
    settings->values[i] = strndup(value.len ? value.ptr : "", value.len);
    return settings->values[i] != NULL;
}

struct dsql_settings *dsql_settings_of_row(struct dsql_pg_values row)
{
    struct dsql_settings *made = row.count == DSQL_PARAMETERS ? calloc(1, sizeof(*made)) : NULL;
    struct dsql_pg_value value;
    bool ok = made != NULL;
    if (ok)
        made->refs = 1;
    for (size_t i = 0; ok && i < DSQL_PARAMETERS; i++)
        ok = dsql_pg_values_next(&row, &value) &&
             set(made, i, value.is_null ? DSQL_SPAN("") : value.bytes);
    if (ok)
        note_hashes(made);
    else
        dsql_settings_unref(made);
    return ok ? made : NULL;
}

struct dsql_settings *dsql_settings_with(const struct dsql_settings *settings, size_t at,
                                         struct dsql_span value)
{
    struct dsql_settings *made = calloc(1, sizeof(*made));
    bool ok = made != NULL;
    if (ok)
        made->refs = 1;
    for (size_t i = 0; ok && i < DSQL_PARAMETERS; i++)
        ok = set(made, i, i == at ? value : dsql_span_of(settings->values[i]));
    if (ok)
        note_hashes(made);
    else
        dsql_settings_unref(made);
    return ok ? made : NULL;
}

bool dsql_settings_eq(const struct dsql_settings *a, const struct dsql_settings *b)
{
    for (size_t i = 0; a != b && i < DSQL_PARAMETERS; i++)
        if (strcmp(a->values[i], b->values[i]) != 0)
            return false;
    return true;
}

static void add_literal(struct dsql_strbuf *sql, const char *text)
{
    bool escapes = strchr(text, '\\') != NULL;
    dsql_strbuf_add_str(sql, escapes ? " E'" : "'");
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            dsql_strbuf_add_char(sql, *text);
        dsql_strbuf_add_char(sql, *text);
    }
    dsql_strbuf_add_char(sql, '\'');
}

void dsql_settings_put_read(struct dsql_strbuf *sql)
{
    for (size_t i = 0; i < DSQL_PARAMETERS; i++)
        dsql_strbuf_addf(sql, "%spg_catalog.current_setting('%s')", i ? ", " : "select ", names[i]);
}

/* The first one begins the statement. */
static void add_setting(struct dsql_strbuf *sql, size_t i, const char *value, bool local)
{
    dsql_strbuf_addf(sql, "%spg_catalog.set_config('%s', ", sql->len > 0 ? ", " : "select ",
                     names[i]);
    add_literal(sql, value);
    dsql_strbuf_addf(sql, ", %s)", local ? "true" : "false");
}

static bool changes(const struct dsql_settings *from, const struct dsql_settings *to, size_t i)
{
    return from != to && (!from || strcmp(from->values[i], to->values[i]) != 0);
}

void dsql_settings_put_change(struct dsql_strbuf *sql, const struct dsql_settings *from,
                              const struct dsql_settings *to)
{
    assert(sql->len == 0);
    for (size_t i = 0; i < DSQL_PARAMETERS; i++)
        if (changes(from, to, i))
            add_setting(sql, i, to->values[i], false);
}

void dsql_settings_put_literals(struct dsql_strbuf *sql, const struct dsql_settings *from,
                                const struct dsql_settings *to)
{
    assert(sql->len == 0);
    for (size_t i = LITERALS_FIRST; i < LITERALS_END; i++)
        if (changes(from, to, i))
            add_setting(sql, i, to->values[i], false);
}

void dsql_settings_put_check(struct dsql_strbuf *sql, const struct dsql_settings *from,
                             const struct dsql_settings *to)
{
    const char *joint = "";
    assert(sql->len == 0);
    /* Operators by their full names: the search_path in force may be anybody's. */
    dsql_strbuf_add_str(sql, "select 1 operator(pg_catalog./) case when ");
    for (size_t i = 0; i < DSQL_PARAMETERS; i++) {
        if (!changes(from, to, i))
            continue;
        dsql_strbuf_addf(sql, "%spg_catalog.current_setting('%s') operator(pg_catalog.=) ", joint,
                         names[i]);
        add_literal(sql, to->values[i]);
        joint = " and ";
    }
    assert(*joint);
    dsql_strbuf_add_str(sql, " then 1 else 0 end");
}

/* A parameter's name; SET and RESET know the time zone by two words, too. */
static size_t take_parameter(struct dsql_span *text, bool *zone)
{
    char name[64];
    struct dsql_span rest;
    *zone = dsql_sql_begins(*text, "time", &rest) && dsql_sql_begins(rest, "zone", &rest);
    if (*zone) {
        *text = rest;
        return dsql_parameter_find(DSQL_SPAN("timezone"));
    }
    return dsql_sql_take_name(text, name, sizeof(name)) ? dsql_parameter_find(dsql_span_of(name))
                                                        : DSQL_PARAMETERS;
}

/* What follows the name in SET. */
static bool is_default(struct dsql_span text, bool zone)
{
    struct dsql_span rest;
    if (zone && dsql_sql_begins(text, "local", &rest))
        return dsql_sql_is_end(rest);
    if (!zone && !dsql_sql_begins(text, "to", &rest)) {
        text = dsql_sql_skip_blanks(text);
        if (!dsql_span_starts(text, DSQL_SPAN("=")))
            return false;
        rest = dsql_span_from(text, 1);
    }
    return dsql_sql_begins(zone ? text : rest, "default", &rest) && dsql_sql_is_end(rest);
}

bool dsql_settings_are_reset(struct dsql_span text, struct dsql_settings_reset *reset)
{
    struct dsql_span rest;
    bool zone;
    *reset = (struct dsql_settings_reset){.which = DSQL_PARAMETERS};
    if (dsql_sql_is_reset_all(text))
        return true;
    if (dsql_sql_begins(text, "reset", &rest)) {
        reset->which = take_parameter(&rest, &zone);
        return reset->which < DSQL_PARAMETERS && dsql_sql_is_end(rest);
    }
    if (!dsql_sql_begins(text, "set", &rest))
        return false;
    reset->local = dsql_sql_begins(rest, "local", &rest);
    if (!reset->local)
        (void)dsql_sql_begins(rest, "session", &rest);
    reset->which = take_parameter(&rest, &zone);
    return reset->which < DSQL_PARAMETERS && is_default(rest, zone);
}

void dsql_settings_put_reset(struct dsql_strbuf *sql, const struct dsql_settings *base,
                             const struct dsql_settings *initial, struct dsql_settings_reset reset)
{
    assert(sql->len == 0);
    for (size_t i = 0; i < DSQL_PARAMETERS; i++) {
        /* A connection's default of this one is the pool's name. */
        bool differs = i == DSQL_PARAMETER_APPLICATION_NAME ||
                       strcmp(base->values[i], initial->values[i]) != 0;
        if (differs && (reset.which == i || reset.which == DSQL_PARAMETERS))
            add_setting(sql, i, initial->values[i], reset.local);
    }
}
