#include "local/rules/sql_lex.h"

/* The character at an offset, '\0' behind the end. */
static char peek(const struct dsql_sql_lexer *lx, size_t at)
{
    return at < lx->text.len ? lx->text.ptr[at] : '\0';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes of multi-byte characters count as letters. */
static bool is_ident_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_ident(char c)
{
    return is_ident_start(c) || is_digit(c) || c == '$';
}

static bool is_op(char c)
{
    return c != '\0' && strchr("~!@#^&|`?+-*/%<>=", c) != NULL;
}

static bool starts_line_comment(const struct dsql_sql_lexer *lx, size_t at)
{
    return peek(lx, at) == '-' && peek(lx, at + 1) == '-';
}

static bool starts_comment(const struct dsql_sql_lexer *lx, size_t at)
{
    return starts_line_comment(lx, at) || (peek(lx, at) == '/' && peek(lx, at + 1) == '*');
}

static size_t skip_line(const struct dsql_sql_lexer *lx, size_t at)
{
    while (at < lx->text.len && lx->text.ptr[at] != '\n' && lx->text.ptr[at] != '\r')
        at++;
    return at;
}

/* Behind a nested comment; false if it does not end. */
static bool skip_block(const struct dsql_sql_lexer *lx, size_t *at)
{
    size_t depth = 0, i = *at;
    while (i + 1 < lx->text.len) {
        char a = lx->text.ptr[i], b = lx->text.ptr[i + 1];
        if (a == '/' && b == '*') {
            depth++;
            i += 2;
        } else if (a == '*' && b == '/') {
            i += 2;
            if (--depth == 0) {
                *at = i;
                return true;
            }
        } else {
            i++;
        }
    }
    return false;
}

/* False if a comment does not end. */
static bool skip_blank(struct dsql_sql_lexer *lx)
{
    for (;;) {
        if (lx->at < lx->text.len && is_space(lx->text.ptr[lx->at]))
            lx->at++;
        else if (starts_line_comment(lx, lx->at))
            lx->at = skip_line(lx, lx->at);
        else if (!starts_comment(lx, lx->at))
            return true;
        else if (!skip_block(lx, &lx->at))
            return false;
    }
}

/* A string goes on behind white space that holds a line end (and perhaps line comments): gives
 * where the next part's quote stands, or false. */
static bool continues(const struct dsql_sql_lexer *lx, size_t *at)
{
    bool line_end = false;
    size_t i = *at;
    for (;; i++) {
        if (starts_line_comment(lx, i))
            i = skip_line(lx, i);
        char c = peek(lx, i);
        if (c == '\n' || c == '\r')
            line_end = true;
        else if (!is_space(c))
            break;
    }
    if (!line_end || peek(lx, i) != '\'')
        return false;
    *at = i;
    return true;
}

/* From the opening quote to behind the closing one; false if there is none. A doubled quote needs
 * no care here: it looks like an end followed by a start. */
static bool skip_quoted(const struct dsql_sql_lexer *lx, size_t *at, char quote, bool backslashes)
{
    size_t i = *at + 1;
    for (; i < lx->text.len; i++) {
        char c = lx->text.ptr[i];
        if (c == '\\' && backslashes) {
            i++;
        } else if (c == quote && peek(lx, i + 1) == quote) {
            i++;
        } else if (c == quote) {
            i++;
            if (quote == '"' || !continues(lx, &i)) {
                *at = i;
                return true;
            }
        }
    }
    return false;
}

/* $tag$ ... $tag$; false if this is no dollar quote, and *broken if it does not end. */
static bool skip_dollar(const struct dsql_sql_lexer *lx, size_t *at, bool *broken)
{
    size_t i = *at + 1;
    if (is_ident_start(peek(lx, i)))
        while (peek(lx, i) != '$' && is_ident(peek(lx, i)))
            i++;
    if (peek(lx, i) != '$')
        return false;
    struct dsql_span delimiter = {lx->text.ptr + *at, i + 1 - *at};
    struct dsql_span rest = dsql_span_from(lx->text, i + 1);
    const char *end = memmem(rest.ptr, rest.len, delimiter.ptr, delimiter.len);
    *broken = !end;
    if (end)
        *at = (size_t)(end - lx->text.ptr) + delimiter.len;
    return true;
}

static struct dsql_sql_token token(struct dsql_sql_lexer *lx, enum dsql_sql_token_kind kind,
                                   size_t end)
{
    struct dsql_span text = {lx->text.ptr + lx->at, end - lx->at};
    lx->at = end;
    return (struct dsql_sql_token){kind, text};
}

static struct dsql_sql_token broken(struct dsql_sql_lexer *lx)
{
    return token(lx, DSQL_SQL_TOKEN_BROKEN, lx->text.len);
}

static struct dsql_sql_token lex_quoted(struct dsql_sql_lexer *lx, size_t quote_at)
{
    char quote = peek(lx, quote_at), prefix = peek(lx, lx->at);
    bool backslashes = prefix == 'e' || prefix == 'E';
    size_t end = quote_at;
    if (!skip_quoted(lx, &end, quote, backslashes))
        return broken(lx);
    return token(lx, quote == '"' ? DSQL_SQL_TOKEN_QUOTED : DSQL_SQL_TOKEN_STRING, end);
}

/* E'', B'', X'', N'', U&'' and U&"": where the quote stands, or 0. */
static size_t prefixed_quote(const struct dsql_sql_lexer *lx)
{
    char c = peek(lx, lx->at), next = peek(lx, lx->at + 1);
    if (next == '\'' && strchr("eEbBxXnN", c))
        return lx->at + 1;
    char third = peek(lx, lx->at + 2);
    if ((c == 'u' || c == 'U') && next == '&' && (third == '\'' || third == '"'))
        return lx->at + 2;
    return 0;
}

static struct dsql_sql_token lex_word(struct dsql_sql_lexer *lx)
{
    size_t end = prefixed_quote(lx);
    if (end > 0)
        return lex_quoted(lx, end);
    for (end = lx->at + 1; is_ident(peek(lx, end));)
        end++;
    return token(lx, DSQL_SQL_TOKEN_WORD, end);
}

static struct dsql_sql_token lex_dollar(struct dsql_sql_lexer *lx)
{
    size_t end = lx->at;
    bool unended = false;
    if (skip_dollar(lx, &end, &unended))
        return unended ? broken(lx) : token(lx, DSQL_SQL_TOKEN_STRING, end);
    for (end = lx->at + 1; is_digit(peek(lx, end));)
        end++;
    return token(lx, end > lx->at + 1 ? DSQL_SQL_TOKEN_PARAM : DSQL_SQL_TOKEN_PUNCT, end);
}

static struct dsql_sql_token lex_op(struct dsql_sql_lexer *lx)
{
    size_t end = lx->at + 1;
    while (is_op(peek(lx, end)) && !starts_comment(lx, end))
        end++;
    return token(lx, DSQL_SQL_TOKEN_OP, end);
}

static struct dsql_sql_token lex_run(struct dsql_sql_lexer *lx, enum dsql_sql_token_kind kind,
                                     bool (*belongs)(char))
{
    size_t end = lx->at + 1;
    while (belongs(peek(lx, end)))
        end++;
    return token(lx, kind, end);
}

static bool is_number(char c)
{
    return is_digit(c) || is_ident_start(c) || c == '.';
}

static bool is_colon(char c)
{
    return c == ':';
}

struct dsql_sql_token dsql_sql_lex(struct dsql_sql_lexer *lx)
{
    if (!skip_blank(lx))
        return broken(lx);
    char c = peek(lx, lx->at);
    if (lx->at >= lx->text.len)
        return token(lx, DSQL_SQL_TOKEN_END, lx->at);
    if (c == '\'' || c == '"')
        return lex_quoted(lx, lx->at);
    if (is_ident_start(c))
        return lex_word(lx);
    if (is_digit(c))
        return lex_run(lx, DSQL_SQL_TOKEN_NUMBER, is_number);
    if (c == '$')
        return lex_dollar(lx);
    if (c == ':')
        return lex_run(lx, DSQL_SQL_TOKEN_OP, is_colon);
    if (is_op(c))
        return lex_op(lx);
    return token(lx, DSQL_SQL_TOKEN_PUNCT, lx->at + 1);
}
