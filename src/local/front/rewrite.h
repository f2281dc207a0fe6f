/*
 * What goes to PostgreSQL in the place of a statement: of one that it does not know, and of one
 * that is refused. A refused statement becomes one that PostgreSQL itself refuses, and whose error
 * message repeats the words to use: dsql_rewrite_words() finds them there again. So nothing has to
 * be remembered in between.
 */
#ifndef DSQL_LOCAL_REWRITE_H
#define DSQL_LOCAL_REWRITE_H

#include "base/strbuf.h"
#include "local/fault/builds.h"
#include "local/rules/sql_stmt.h"
#include "pgwire/report.h"

/* The text in quotes, as a literal. */
void dsql_rewrite_literal(struct dsql_strbuf *sb, struct dsql_span text);

/* A statement that fails when it is analysed. */
void dsql_rewrite_refusal(struct dsql_strbuf *sb, const struct dsql_sql_refusal *refusal);

/* In the place of COMMIT: fails when it runs, and the transaction is rolled back and over. */
void dsql_rewrite_failed_commit(struct dsql_strbuf *sb, const struct dsql_sql_refusal *refusal);

/* The words in an error that one of those two caused; false if it has another cause. */
bool dsql_rewrite_words(const struct dsql_pg_report *report, struct dsql_pg_report *words);

/* Whether it is CREATE INDEX ASYNC. */
bool dsql_rewrite_is_build(const struct dsql_sql_script *script, const struct dsql_sql_stmt *stmt);

/* Text in the place of a statement that PostgreSQL does not know, or knows otherwise; the answer
 * has the same shape. False, and nothing added, for all others. fate is that of an index build. */
bool dsql_rewrite_statement(struct dsql_strbuf *sb, bool sync_index, struct dsql_build_fate fate,
                            const struct dsql_sql_script *script, const struct dsql_sql_stmt *stmt);

#endif
