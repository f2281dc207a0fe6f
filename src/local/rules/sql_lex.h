/*
 * PostgreSQL's lexical rules, as far as one must know them to find where a statement ends: quotes
 * of all kinds, dollar quotes, nested comments, E'' strings and strings that continue on the next
 * line. Comments and white space are skipped. standard_conforming_strings is always on: Aurora DSQL
 * refuses to set it.
 */
#ifndef DSQL_LOCAL_SQL_LEX_H
#define DSQL_LOCAL_SQL_LEX_H

#include "base/span.h"

enum dsql_sql_token_kind {
    DSQL_SQL_TOKEN_END,
    DSQL_SQL_TOKEN_WORD,   /* an identifier or keyword without quotes */
    DSQL_SQL_TOKEN_QUOTED, /* "an identifier in quotes" */
    DSQL_SQL_TOKEN_STRING, /* 'a string' of any kind, prefix included */
    DSQL_SQL_TOKEN_NUMBER,
    DSQL_SQL_TOKEN_PARAM,  /* $1 */
    DSQL_SQL_TOKEN_OP,     /* a run of operator characters, or of colons */
    DSQL_SQL_TOKEN_PUNCT,  /* any other character */
    DSQL_SQL_TOKEN_BROKEN, /* a quote or comment that never ends; nothing follows */
};

struct dsql_sql_token {
    enum dsql_sql_token_kind kind;
    struct dsql_span text;
};

/* Copy one to look ahead. */
struct dsql_sql_lexer {
    struct dsql_span text;
    size_t at;
};

struct dsql_sql_token dsql_sql_lex(struct dsql_sql_lexer *lexer);

static inline bool dsql_sql_token_is(struct dsql_sql_token token, const char *keyword)
{
    return token.kind == DSQL_SQL_TOKEN_WORD &&
           dsql_span_eq_nocase(token.text, dsql_span_of(keyword));
}

static inline bool dsql_sql_token_is_punct(struct dsql_sql_token token, char c)
{
    return token.kind == DSQL_SQL_TOKEN_PUNCT && token.text.ptr[0] == c;
}

static inline bool dsql_sql_token_is_name(struct dsql_sql_token token)
{
    return token.kind == DSQL_SQL_TOKEN_WORD || token.kind == DSQL_SQL_TOKEN_QUOTED;
}

#endif
