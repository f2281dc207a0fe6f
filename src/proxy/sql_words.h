/*
 * What the relay wants to know of a statement's text without parsing it. Comments and blanks in
 * front are skipped. Where a text is not understood the answer is the careful one.
 */
#ifndef DSQL_PROXY_SQL_WORDS_H
#define DSQL_PROXY_SQL_WORDS_H

#include "base/span.h"

/* A character of which words consist. */
bool dsql_sql_is_word(char c);
struct dsql_span dsql_sql_skip_blanks(struct dsql_span text);
/* Whether there is nothing but blanks, comments and semicolons. */
bool dsql_sql_is_end(struct dsql_span text);
/* Takes an identifier off the text: folded to lower case, or as it stands between quotes. */
bool dsql_sql_take_name(struct dsql_span *text, char *name, size_t size);

/* Whether the text begins with this word, in any case of letters; the rest is what follows it. */
bool dsql_sql_begins(struct dsql_span text, const char *word, struct dsql_span *rest);

/* Whether the word occurs anywhere in the text, in any case of letters. */
bool dsql_sql_mentions(struct dsql_span text, const char *word);

/* Whether the text may be or have a SET or RESET. */
bool dsql_sql_may_set(struct dsql_span text);

/* Whether the text is one statement DEALLOCATE [PREPARE] ALL. */
bool dsql_sql_is_deallocate_all(struct dsql_span text);

/* Whether the text is one statement RESET ALL. */
bool dsql_sql_is_reset_all(struct dsql_span text);

/* Whether the text may end a transaction that is open. */
bool dsql_sql_ends(struct dsql_span text);

/* Whether the end of what begins with this text can commit something. */
bool dsql_sql_may_commit(struct dsql_span text);

#endif
