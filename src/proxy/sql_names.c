#include "proxy/sql_names.h"

#include <ctype.h>

#include "proxy/sql_words.h"

/* Words that name nothing without quotes: PostgreSQL's reserved ones, and those of functions and
 * types. */
static const char reserved[] =
    " all analyse analyze and any array as asc asymmetric authorization binary both case cast check"
    " collate collation column concurrently constraint create cross current_catalog current_date"
    " current_role current_schema current_time current_timestamp current_user default deferrable"
    " desc distinct do else end except false fetch for foreign freeze from full grant group having"
    " ilike in initially inner intersect into is isnull join lateral leading left like limit"
    " localtime localtimestamp natural not notnull null offset on only or order outer overlaps"
    " placing primary references returning right select session_user similar some symmetric"
    " system_user table tablesample then to trailing true union unique user using variadic verbose"
    " when where window with ";

bool dsql_sql_has_names(struct dsql_span text)
{
    static const char *const words[] = {"prepare", "execute", "deallocate"};
    for (size_t i = 0; i + 7 <= text.len; i++) {
        char second = (char)(text.ptr[i + 1] | 0x20);
        if (second != 'r' && second != 'x' && second != 'e')
            continue;
        for (size_t k = 0; k < DSQL_COUNT_OF(words); k++) {
            size_t len = strlen(words[k]);
            if (i + len <= text.len &&
                dsql_span_eq_nocase((struct dsql_span){text.ptr + i, len}, dsql_span_of(words[k])))
                return true;
        }
    }
    return false;
}

size_t dsql_sql_chars(struct dsql_span text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xC0) != 0x80;
    return count;
}

/* -- Tokens. */

struct token {
    size_t at, len; /* len 0: the end */
    bool word;      /* without quotes */
    bool name;      /* a word, or between double quotes */
};

static char peek(const struct dsql_sql_names *names, size_t at)
{
    return at < names->text.len ? names->text.ptr[at] : '\0';
}

/* Behind the quote that closes the one at `at`; the end of the text if there is none. */
static size_t behind_quote(const struct dsql_sql_names *names, size_t at, bool escapes)
{
    char quote = names->text.ptr[at];
    for (size_t i = at + 1; i < names->text.len; i++) {
        char c = names->text.ptr[i];
        if (c == quote && peek(names, i + 1) != quote)
            return i + 1;
        i += c == quote || (escapes && c == '\\');
    }
    return names->text.len;
}

/* Behind a text between dollar quotes; `at` if there is none. */
static size_t behind_dollar(const struct dsql_sql_names *names, size_t at)
{
    size_t i = at + 1;
    while (dsql_sql_is_word(peek(names, i)) && peek(names, i) != '$')
        i++;
    if (peek(names, i) != '$' || isdigit((unsigned char)peek(names, at + 1)))
        return at;
    size_t len = i + 1 - at;
    struct dsql_span rest = dsql_span_from(names->text, i + 1);
    const char *end = rest.len > 0 ? memmem(rest.ptr, rest.len, names->text.ptr + at, len) : NULL;
    return end ? (size_t)(end - names->text.ptr) + len : names->text.len;
}

static struct token next_token(struct dsql_sql_names *names)
{
    struct dsql_span rest = dsql_sql_skip_blanks(dsql_span_from(names->text, names->at));
    size_t at = names->text.len - rest.len, i = at;
    char c = peek(names, at);
    bool word = rest.len > 0 && dsql_sql_is_word(c) && c != '$' && !isdigit((unsigned char)c);
    if (rest.len == 0) {
        names->at = at;
        return (struct token){.at = at};
    }
    while (dsql_sql_is_word(peek(names, i)) && (word || peek(names, i) != '$'))
        i++;
    bool prefix = word && i == at + 1 && peek(names, i) == '\'';
    if (prefix)
        i = behind_quote(names, i, tolower((unsigned char)c) == 'e');
    else if (c == '\'' || c == '"')
        i = behind_quote(names, at, false);
    else if (c == '$')
        i = behind_dollar(names, at);
    names->at = i > at ? i : at + 1;
    return (struct token){.at = at,
                          .len = names->at - at,
                          .word = word && !prefix,
                          .name = (word && !prefix) || c == '"'};
}

static bool is(const struct dsql_sql_names *names, struct token token, const char *word)
{
    return token.word &&
           dsql_span_eq_nocase((struct dsql_span){names->text.ptr + token.at, token.len},
                               dsql_span_of(word));
}

static bool is_char(const struct dsql_sql_names *names, struct token token, char c)
{
    return token.len == 1 && names->text.ptr[token.at] == c;
}

/* The token that follows, which stays. */
static struct token look(const struct dsql_sql_names *names)
{
    struct dsql_sql_names ahead = *names;
    return next_token(&ahead);
}

/* -- Names. */

static bool is_reserved(const char *word)
{
    char between[DSQL_PREPARED_NAME_MAX + 2];
    size_t len = strlen(word);
    between[0] = ' ';
    memcpy(between + 1, word, len);
    between[len + 1] = ' ';
    return memmem(reserved, sizeof(reserved) - 1, between, len + 2) != NULL;
}

/* Takes the next token as a name; false, and nothing is taken: it is none. */
static bool take(struct dsql_sql_names *names, struct dsql_sql_name *found)
{
    struct dsql_sql_names ahead = *names;
    struct token token = next_token(&ahead);
    struct dsql_span text = {names->text.ptr + token.at, token.len};
    if (!token.name)
        return false;
    found->clear = dsql_sql_take_name(&text, found->name, sizeof(found->name)) && text.len == 0;
    if (token.word && found->clear && is_reserved(found->name))
        return false;
    for (size_t i = 0; token.word && i < token.len; i++) /* folded by the rules of a language */
        found->clear = found->clear && (unsigned char)names->text.ptr[token.at + i] < 0x80;
    /* U&"...": escapes. */
    found->clear = found->clear && !(token.word && peek(&ahead, ahead.at) == '&' &&
                                     peek(&ahead, ahead.at + 1) == '"');
    found->at = token.at;
    found->len = token.len;
    *names = ahead;
    return true;
}

static bool take_deallocated(struct dsql_sql_names *names, struct dsql_sql_name *found)
{
    struct dsql_sql_names before = *names;
    if (is(names, look(names), "all")) {
        (void)next_token(names);
        found->use = DSQL_SQL_DEALLOCATES_ALL;
        return true;
    }
    found->use = DSQL_SQL_DEALLOCATES;
    if (!is(names, look(names), "prepare"))
        return take(names, found);
    (void)next_token(names);
    if (is(names, look(names), "all"))
        return take_deallocated(names, found);
    if (take(names, found))
        return true;
    *names = before; /* the name is "prepare" */
    return take(names, found);
}

/* EXPLAIN [ANALYZE] [VERBOSE] [(options)]: whether the token belongs to that. */
static bool is_explain(struct dsql_sql_names *names, struct token token)
{
    if (names->explains && is_char(names, token, '(')) {
        while (token.len > 0 && !is_char(names, token, ')'))
            token = next_token(names);
        return true;
    }
    return names->explains && (is(names, token, "analyze") || is(names, token, "analyse") ||
                               is(names, token, "verbose"));
}

/* Whether the token, a word, and what follows are a name. */
static bool begins_name(struct dsql_sql_names *names, struct token token, bool first,
                        struct dsql_sql_name *found)
{
    if (first && is(names, token, "prepare")) {
        found->use = DSQL_SQL_PREPARES;
        return take(names, found);
    }
    if (first && is(names, token, "deallocate"))
        return take_deallocated(names, found);
    if (is(names, token, "execute")) {
        found->use = first || names->explains ? DSQL_SQL_EXECUTES : DSQL_SQL_MAY_EXECUTE;
        return take(names, found);
    }
    found->use = DSQL_SQL_LISTS;
    return is(names, token, "pg_prepared_statements") || is(names, token, "pg_prepared_statement");
}

struct dsql_sql_name dsql_sql_names_next(struct dsql_sql_names *names)
{
    struct dsql_sql_name found = {.use = DSQL_SQL_NAMES_END};
    for (;;) {
        struct token token = next_token(names);
        if (token.len == 0)
            return (struct dsql_sql_name){.use = DSQL_SQL_NAMES_END};
        if (is_char(names, token, ';')) {
            names->begun = names->explains = false;
            continue;
        }
        bool first = !names->begun;
        names->begun = true;
        names->statements += first;
        if (token.name &&
            names->text.ptr[token.at] == '"') { /* a name between quotes may be the view's */
            token.word = true;
            token.at++;
            token.len -= 2;
            first = false;
            if (!is(names, token, "pg_prepared_statements") &&
                !is(names, token, "pg_prepared_statement"))
                continue;
        }
        if (begins_name(names, token, first, &found)) {
            names->explains = false;
            return found;
        }
        names->explains = first ? is(names, token, "explain") : is_explain(names, token);
    }
}
