#include "proxy/settings.h"

#include <stdlib.h>

#include "proxy/sql_words.h"

static const char *const names[DSQL_SETTINGS] = {
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
    while (i < DSQL_SETTINGS && !dsql_span_eq_nocase(name, dsql_span_of(names[i])))
        i++;
    return i;
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
    for (size_t i = 0; i < DSQL_SETTINGS; i++)
        free(settings->values[i]);
    free(settings);
}

static bool set(struct dsql_settings *settings, size_t i, struct dsql_span value)
{
    settings->values[i] = strndup(value.len ? value.ptr : "", value.len);
    return settings->values[i] != NULL;
}

struct dsql_settings *dsql_settings_of_row(struct dsql_pg_values row)
{
    struct dsql_settings *made = row.count == DSQL_SETTINGS ? calloc(1, sizeof(*made)) : NULL;
    struct dsql_pg_value value;
    bool ok = made != NULL;
    if (ok)
        made->refs = 1;
    for (size_t i = 0; ok && dsql_pg_values_next(&row, &value); i++)
        ok = set(made, i, value.is_null ? DSQL_SPAN("") : value.bytes);
    if (!ok)
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
    for (size_t i = 0; ok && i < DSQL_SETTINGS; i++)
        ok = set(made, i, i == at ? value : dsql_span_of(settings->values[i]));
    if (!ok)
        dsql_settings_unref(made);
    return ok ? made : NULL;
}

bool dsql_settings_eq(const struct dsql_settings *a, const struct dsql_settings *b)
{
    for (size_t i = 0; a != b && i < DSQL_SETTINGS; i++)
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
    for (size_t i = 0; i < DSQL_SETTINGS; i++)
        dsql_strbuf_addf(sql, "%spg_catalog.current_setting('%s')", i ? ", " : "select ", names[i]);
}

void dsql_settings_put_change(struct dsql_strbuf *sql, const struct dsql_settings *from,
                              const struct dsql_settings *to)
{
    bool any = false;
    for (size_t i = 0; i < DSQL_SETTINGS; i++) {
        if (from == to || (from && strcmp(from->values[i], to->values[i]) == 0))
            continue;
        dsql_strbuf_addf(sql, "%spg_catalog.set_config('%s', ", any ? ", " : "select ", names[i]);
        add_literal(sql, to->values[i]);
        dsql_strbuf_add_str(sql, ", false)");
        any = true;
    }
}
