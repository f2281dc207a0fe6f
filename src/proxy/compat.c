#include "proxy/compat.h"

#include "proxy/sql_words.h"

enum { NAME_MAX_BYTES = 64, VALUE_MAX_BYTES = 256 };

/* Aurora DSQL takes no other encoding: to set it changes nothing. */
#define DOES_NOTHING    "SET client_encoding TO 'UTF8'"
#define RESETS_NOTHING  "RESET client_encoding"
#define BEGIN_READ_ONLY "BEGIN READ ONLY"

/* Parameters that the service refuses, with the values that change no result; NULL: any value. */
static const struct {
    const char *name;
    const char *values; /* in lower case, separated by '|' */
} harmless[] = {
    {"array_nulls", "on|true|1"},
    {"bytea_output", "hex"},
    {"check_function_bodies", NULL},
    {"client_min_messages", NULL},
    {"default_table_access_method", "heap"},
    {"default_tablespace", "|default"},
    {"default_toast_compression", NULL},
    {"default_transaction_isolation", "repeatable read"},
    {"default_transaction_read_only", "off|false|0"},
    {"escape_string_warning", NULL},
    {"geqo", NULL},
    {"idle_in_transaction_session_timeout", NULL},
    {"idle_session_timeout", NULL},
    {"jit", NULL},
    {"lc_messages", NULL},
    {"lc_monetary", "c"},
    {"lc_numeric", "c"},
    {"lc_time", "c"},
    {"lock_timeout", NULL},
    {"maintenance_work_mem", NULL},
    {"plan_cache_mode", NULL},
    {"quote_all_identifiers", "off|false|0"},
    {"row_security", NULL},
    {"session_replication_role", "origin"},
    {"standard_conforming_strings", "on|true|1"},
    {"statement_timeout", NULL},
    {"synchronize_seqscans", NULL},
    {"synchronous_commit", NULL},
    {"temp_buffers", NULL},
    {"transaction_timeout", NULL},
    {"transform_null_equals", "off|false|0"},
    {"work_mem", NULL},
    {"xmloption", NULL},
};

bool dsql_compat_is_harmless(struct dsql_span name, struct dsql_span value)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(harmless); i++) {
        if (!dsql_span_eq_nocase(name, dsql_span_of(harmless[i].name)))
            continue;
        if (!harmless[i].values)
            return true;
        const char *at = harmless[i].values, *end;
        do {
            end = strchrnul(at, '|');
            if (dsql_span_eq_nocase(value, (struct dsql_span){at, (size_t)(end - at)}))
                return true;
            at = end + 1;
        } while (*end);
        return false;
    }
    return false;
}

/* A literal between quotes, or one word; without its quotes. False where it is more than that. */
static bool take_value(struct dsql_span *text, struct dsql_span *value)
{
    *text = dsql_sql_skip_blanks(*text);
    size_t i = 0;
    if (text->len > 0 && text->ptr[0] == '\'') {
        const char *end = memchr(text->ptr + 1, '\'', text->len - 1);
        if (!end)
            return false;
        *value = (struct dsql_span){text->ptr + 1, (size_t)(end - text->ptr - 1)};
        *text = dsql_span_from(*text, value->len + 2);
        return (text->len == 0 || text->ptr[0] != '\'') && !memchr(value->ptr, '\\', value->len);
    }
    while (i < text->len && (dsql_sql_is_word(text->ptr[i]) || text->ptr[i] == '-'))
        i++;
    *value = dsql_span_first(*text, i);
    *text = dsql_span_from(*text, i);
    return i > 0;
}

static bool is_harmless_name(const char *name)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(harmless); i++)
        if (strcmp(name, harmless[i].name) == 0)
            return true;
    return false;
}

/* SET [SESSION | LOCAL] name { = | TO } { value | DEFAULT }, and nothing behind. */
static bool is_harmless_set(struct dsql_span text)
{
    char name[NAME_MAX_BYTES];
    struct dsql_span rest, value;
    if (!dsql_sql_begins(text, "set", &text))
        return false;
    if (dsql_sql_begins(text, "session", &rest) || dsql_sql_begins(text, "local", &rest))
        text = rest;
    if (!dsql_sql_take_name(&text, name, sizeof(name)))
        return false;
    text = dsql_sql_skip_blanks(text);
    if (text.len > 0 && text.ptr[0] == '=')
        text = dsql_span_from(text, 1);
    else if (!dsql_sql_begins(text, "to", &text))
        return false;
    if (dsql_sql_begins(text, "default", &rest) && dsql_sql_is_end(rest))
        return is_harmless_name(name); /* as RESET */
    return take_value(&text, &value) && dsql_sql_is_end(text) &&
           dsql_compat_is_harmless(dsql_span_of(name), value);
}

static bool is_harmless_reset(struct dsql_span text)
{
    char name[NAME_MAX_BYTES];
    return dsql_sql_begins(text, "reset", &text) && dsql_sql_take_name(&text, name, sizeof(name)) &&
           dsql_sql_is_end(text) && is_harmless_name(name);
}

static bool take_char(struct dsql_span *text, char c)
{
    *text = dsql_sql_skip_blanks(*text);
    bool there = text->len > 0 && text->ptr[0] == c;
    if (there)
        *text = dsql_span_from(*text, 1);
    return there;
}

/* pgAdmin's: FROM pg_show_all_settings() WHERE name = 'the parameter'. */
static bool is_where_name(struct dsql_span text, struct dsql_span name)
{
    struct dsql_span value;
    return dsql_sql_begins(text, "from", &text) &&
           dsql_sql_begins(text, "pg_show_all_settings", &text) && take_char(&text, '(') &&
           take_char(&text, ')') && dsql_sql_begins(text, "where", &text) &&
           dsql_sql_begins(text, "name", &text) && take_char(&text, '=') &&
           take_value(&text, &value) && dsql_span_eq(value, name) && dsql_sql_is_end(text);
}

/* SELECT [pg_catalog.]set_config('name', 'value', false): *value is what it would return. */
static bool is_harmless_set_config(struct dsql_span text, struct dsql_span *value)
{
    struct dsql_span name, local, rest;
    if (!dsql_sql_begins(text, "select", &text))
        return false;
    if (dsql_sql_begins(text, "pg_catalog", &rest) && take_char(&rest, '.'))
        text = rest;
    if (!dsql_sql_begins(text, "set_config", &text) || !take_char(&text, '(') ||
        !take_value(&text, &name) || !take_char(&text, ',') || !take_value(&text, value) ||
        !take_char(&text, ',') || !take_value(&text, &local) || !take_char(&text, ')'))
        return false;
    return (dsql_sql_is_end(text) || is_where_name(text, name)) &&
           dsql_compat_is_harmless(name, *value);
}

/* SELECT pg_advisory_unlock_all(): there are no advisory locks. */
static bool is_unlock_all(struct dsql_span text)
{
    return dsql_sql_begins(text, "select", &text) &&
           dsql_sql_begins(text, "pg_advisory_unlock_all", &text) && take_char(&text, '(') &&
           take_char(&text, ')') && dsql_sql_is_end(text);
}

static bool is_unlisten_all(struct dsql_span text)
{
    return dsql_sql_begins(text, "unlisten", &text) && take_char(&text, '*') &&
           dsql_sql_is_end(text);
}

/* CLOSE ALL: outside a transaction there are no cursors, and the service has none inside. */
static bool is_close_all(struct dsql_span text)
{
    return dsql_sql_begins(text, "close", &text) && dsql_sql_begins(text, "all", &text) &&
           dsql_sql_is_end(text);
}

/* The modes behind SET TRANSACTION; false where one of them would change a result. */
static bool are_harmless_modes(struct dsql_span text, bool *read_only)
{
    struct dsql_span rest;
    bool any = false;
    while (!dsql_sql_is_end(text)) {
        if (any)
            (void)take_char(&text, ',');
        any = true;
        if (dsql_sql_begins(text, "isolation", &rest)) {
            if (!dsql_sql_begins(rest, "level", &rest) ||
                !dsql_sql_begins(rest, "repeatable", &rest) ||
                !dsql_sql_begins(rest, "read", &rest))
                return false;
        } else if (dsql_sql_begins(text, "read", &rest)) {
            bool only = dsql_sql_begins(rest, "only", &rest);
            if (!only && !dsql_sql_begins(rest, "write", &rest))
                return false;
            *read_only = only;
        } else if (dsql_sql_begins(text, "not", &rest)) {
            if (!dsql_sql_begins(rest, "deferrable", &rest))
                return false;
        } else if (!dsql_sql_begins(text, "deferrable", &rest)) {
            return false;
        }
        text = rest;
    }
    return any;
}

/* SET TRANSACTION with modes that a transaction has anyway. */
static bool is_harmless_transaction(struct dsql_span text)
{
    bool read_only = false;
    return dsql_sql_begins(text, "set", &text) && dsql_sql_begins(text, "transaction", &text) &&
           are_harmless_modes(text, &read_only) && !read_only;
}

/* LOCK TABLE ... IN ACCESS SHARE MODE: a lock that stops DDL only. */
static bool is_harmless_lock(struct dsql_span text)
{
    struct dsql_span rest;
    if (!dsql_sql_begins(text, "lock", &text))
        return false;
    for (; text.len > 0; text = dsql_span_from(text, 1))
        if ((text.ptr[0] == ' ' || text.ptr[0] == '\n') && dsql_sql_begins(text, "in", &rest) &&
            dsql_sql_begins(rest, "access", &rest) && dsql_sql_begins(rest, "share", &rest) &&
            dsql_sql_begins(rest, "mode", &rest))
            return dsql_sql_is_end(rest);
    return false;
}

/* Up to and with the next semicolon that is not inside quotes or a comment. False where quotes are
 * used in a way that is not followed here. */
static bool cut_statement(struct dsql_span *text, struct dsql_span *statement)
{
    char quote = 0;
    size_t i = 0;
    for (; i < text->len; i++) {
        char c = text->ptr[i];
        bool comment = i + 1 < text->len && ((c == '-' && text->ptr[i + 1] == '-') ||
                                             (c == '/' && text->ptr[i + 1] == '*'));
        if (quote) {
            quote = c == quote ? 0 : quote;
        } else if (c == '$' || c == '\\' || comment) {
            return false;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == ';') {
            i++;
            break;
        }
    }
    *statement = dsql_span_first(*text, i);
    *text = dsql_span_from(*text, i);
    return quote == 0 && !memchr(statement->ptr, '\\', statement->len);
}

static void count(struct dsql_compat *compat, enum dsql_compat_kind kind)
{
    compat->replaced++;
    compat->kinds[kind]++;
}

static void replace_one(struct dsql_span statement, bool simple, struct dsql_strbuf *out,
                        struct dsql_compat *compat)
{
    struct dsql_span value;
    if (is_harmless_set(statement)) {
        dsql_strbuf_add_str(out, DOES_NOTHING);
        count(compat, DSQL_COMPAT_KIND_SET);
    } else if (is_harmless_reset(statement)) {
        dsql_strbuf_add_str(out, RESETS_NOTHING);
        count(compat, DSQL_COMPAT_KIND_RESET);
    } else if (is_harmless_set_config(statement, &value)) {
        dsql_strbuf_add_str(out, "SELECT '");
        dsql_strbuf_add(out, value);
        dsql_strbuf_add_str(out, "'::text AS set_config");
        count(compat, DSQL_COMPAT_KIND_SET_CONFIG);
    } else if (is_unlock_all(statement)) {
        dsql_strbuf_add_str(out, "SELECT ''::text AS pg_advisory_unlock_all");
        count(compat, DSQL_COMPAT_KIND_UNLOCK);
    } else if (is_harmless_transaction(statement)) {
        dsql_strbuf_add_str(out, DOES_NOTHING);
        count(compat, DSQL_COMPAT_KIND_TRANSACTION);
    } else if (simple && is_unlisten_all(statement)) {
        dsql_strbuf_add_str(out, DOES_NOTHING);
        count(compat, DSQL_COMPAT_KIND_UNLISTEN);
    } else if (simple && is_close_all(statement)) {
        dsql_strbuf_add_str(out, DOES_NOTHING);
        count(compat, DSQL_COMPAT_KIND_CLOSE);
    } else {
        dsql_strbuf_add(out, statement);
        return;
    }
    dsql_strbuf_add_str(out, ";");
}

/* What is replaced only alone: it needs another command tag, or a transaction of another kind. */
static bool replace_alone(struct dsql_span text, struct dsql_strbuf *out,
                          struct dsql_compat *compat)
{
    struct dsql_span rest;
    if (dsql_sql_begins(text, "set", &rest) && dsql_sql_begins(rest, "transaction", &rest)) {
        if (!are_harmless_modes(rest, &compat->read_only))
            return false;
        compat->tag = compat->read_only ? "SET" : NULL;
        dsql_strbuf_add_str(out, compat->read_only ? BEGIN_READ_ONLY : DOES_NOTHING);
        count(compat, DSQL_COMPAT_KIND_TRANSACTION);
        return true;
    }
    if (is_harmless_lock(text)) {
        compat->tag = "LOCK TABLE";
        count(compat, DSQL_COMPAT_KIND_LOCK);
    } else if (is_unlisten_all(text)) {
        compat->tag = "UNLISTEN";
        count(compat, DSQL_COMPAT_KIND_UNLISTEN);
    } else if (is_close_all(text)) {
        compat->tag = "CLOSE CURSOR ALL";
        count(compat, DSQL_COMPAT_KIND_CLOSE);
    } else {
        return false;
    }
    dsql_strbuf_add_str(out, DOES_NOTHING);
    return true;
}

static bool may_begin(struct dsql_span text)
{
    static const char *const words[] = {"set",   "reset",  "lock",  "unlisten",
                                        "close", "select", "begin", "start"};
    struct dsql_span rest;
    for (size_t i = 0; i < DSQL_COUNT_OF(words); i++) {
        if (!dsql_sql_begins(text, words[i], &rest))
            continue;
        if (strcmp(words[i], "select") == 0)
            return dsql_sql_mentions(rest, "set_config") ||
                   dsql_sql_mentions(rest, "pg_advisory_unlock_all");
        bool begins = strcmp(words[i], "begin") == 0 || strcmp(words[i], "start") == 0;
        return !begins || memchr(rest.ptr, ';', rest.len) != NULL;
    }
    return false;
}

unsigned dsql_compat_replace(struct dsql_span text, bool simple, struct dsql_strbuf *out,
                             struct dsql_compat *compat)
{
    struct dsql_span statement;
    *compat = (struct dsql_compat){0};
    if (!may_begin(text))
        return 0;
    if (simple && replace_alone(text, out, compat))
        return compat->replaced;
    *compat = (struct dsql_compat){0};
    while (!dsql_sql_is_end(text)) {
        text = dsql_sql_skip_blanks(text);
        if (!cut_statement(&text, &statement))
            return compat->replaced = 0;
        replace_one(statement, simple, out, compat);
    }
    return compat->replaced;
}
