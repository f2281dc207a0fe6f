#include "proxy/sql_words.h"

#include <ctype.h>

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool dsql_sql_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Behind a comment of the form that nests; the end of the text if it is not closed. */
static struct dsql_span skip_nested(struct dsql_span text)
{
    size_t depth = 0, i = 0;
    while (i + 1 < text.len) {
        bool opens = text.ptr[i] == '/' && text.ptr[i + 1] == '*';
        bool closes = text.ptr[i] == '*' && text.ptr[i + 1] == '/';
        depth += opens;
        depth -= closes;
        i += opens || closes ? 2 : 1;
        if (closes && depth == 0)
            return dsql_span_from(text, i);
    }
    return dsql_span_from(text, text.len);
}

struct dsql_span dsql_sql_skip_blanks(struct dsql_span text)
{
    for (;;) {
        while (text.len > 0 && is_blank(text.ptr[0]))
            text = dsql_span_from(text, 1);
        if (dsql_span_starts(text, DSQL_SPAN("--"))) {
            while (text.len > 0 && text.ptr[0] != '\n' && text.ptr[0] != '\r')
                text = dsql_span_from(text, 1);
        } else if (dsql_span_starts(text, DSQL_SPAN("/*"))) {
            text = skip_nested(text);
        } else {
            return text;
        }
    }
}

bool dsql_sql_begins(struct dsql_span text, const char *word, struct dsql_span *rest)
{
    size_t len = strlen(word);
    text = dsql_sql_skip_blanks(text);
    if (text.len < len || !dsql_span_eq_nocase(dsql_span_first(text, len), dsql_span_of(word)) ||
        (text.len > len && dsql_sql_is_word(text.ptr[len])))
        return false;
    *rest = dsql_span_from(text, len);
    return true;
}

bool dsql_sql_mentions(struct dsql_span text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++)
        if (tolower((unsigned char)text.ptr[i]) == word[0] &&
            dsql_span_eq_nocase((struct dsql_span){text.ptr + i, len}, dsql_span_of(word)))
            return true;
    return false;
}

bool dsql_sql_may_set(struct dsql_span text)
{
    struct dsql_span rest;
    if (dsql_sql_begins(text, "set", &rest) || dsql_sql_begins(text, "reset", &rest))
        return true;
    const char *ends = text.len > 0 ? memchr(text.ptr, ';', text.len) : NULL;
    return ends && !dsql_sql_is_end(dsql_span_from(text, (size_t)(ends - text.ptr))) &&
           dsql_sql_mentions(text, "set");
}

bool dsql_sql_is_end(struct dsql_span text)
{
    do {
        text = dsql_sql_skip_blanks(text);
        if (text.len == 0)
            return true;
        if (text.ptr[0] != ';')
            return false;
        text = dsql_span_from(text, 1);
    } while (true);
}

bool dsql_sql_take_name(struct dsql_span *text, char *name, size_t size)
{
    size_t n = 0, i = 0;
    *text = dsql_sql_skip_blanks(*text);
    bool quoted = text->len > 0 && text->ptr[0] == '"';
    for (i = quoted; i < text->len && n + 1 < size; i++) {
        char c = text->ptr[i];
        if (quoted && c == '"') {
            if (i + 1 == text->len || text->ptr[i + 1] != '"')
                break;
            i++;
        } else if (!quoted && !dsql_sql_is_word(c)) {
            break;
        }
        name[n++] = quoted ? c : (char)tolower((unsigned char)c);
    }
    bool closed = !quoted || (i < text->len && text->ptr[i] == '"');
    name[n] = '\0';
    *text = dsql_span_from(*text, quoted && closed ? i + 1 : i);
    return n > 0 && closed;
}

bool dsql_sql_is_deallocate_all(struct dsql_span text)
{
    struct dsql_span rest;
    if (!dsql_sql_begins(text, "deallocate", &rest))
        return false;
    (void)dsql_sql_begins(rest, "prepare", &rest);
    return dsql_sql_begins(rest, "all", &rest) && dsql_sql_is_end(rest);
}

bool dsql_sql_is_reset_all(struct dsql_span text)
{
    struct dsql_span rest;
    return dsql_sql_begins(text, "reset", &rest) && dsql_sql_begins(rest, "all", &rest) &&
           dsql_sql_is_end(rest);
}

bool dsql_sql_ends(struct dsql_span text)
{
    return dsql_sql_mentions(text, "commit") || dsql_sql_mentions(text, "end");
}

bool dsql_sql_may_commit(struct dsql_span text)
{
    static const char *const harmless[] = {"begin", "start", "show", "rollback", "abort"};
    struct dsql_span rest;
    for (size_t i = 0; i < DSQL_COUNT_OF(harmless); i++)
        if (dsql_sql_begins(text, harmless[i], &rest))
            return dsql_sql_ends(rest) || memchr(rest.ptr, ';', rest.len) != NULL;
    return true;
}
