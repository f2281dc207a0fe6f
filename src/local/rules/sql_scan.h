/*
 * The scanner that goes before the parser. It cuts a query string into statements, finds the forms
 * that Aurora DSQL understands and PostgreSQL 15's grammar does not, and makes from the text one
 * that the grammar accepts:
 *
 *     CREATE [UNIQUE] INDEX ASYNC ...                    ASYNC is blanked out
 *     ALTER TABLE ASYNC t VALIDATE CONSTRAINT c          ASYNC is blanked out
 *     AWS IAM GRANT role TO 'arn', REVOKE ... FROM       the whole statement is blanked out
 *     column ... STORAGE PLAIN|MAIN|..., of PostgreSQL 16   the two words are blanked out
 *
 * The new text has the length of the old one, so that every error position stays right.
 */
#ifndef DSQL_LOCAL_SQL_SCAN_H
#define DSQL_LOCAL_SQL_SCAN_H

#include "base/span.h"

enum dsql_sql_mark_kind {
    DSQL_SQL_MARK_INDEX_ASYNC,
    DSQL_SQL_MARK_INDEX_USING, /* CREATE INDEX with an access method, which the tree does not tell
                                */
    DSQL_SQL_MARK_VALIDATE_ASYNC,
    DSQL_SQL_MARK_IAM_GRANT,
    DSQL_SQL_MARK_IAM_REVOKE,
};

/* Something found in a statement. */
struct dsql_sql_mark {
    enum dsql_sql_mark_kind kind;
    size_t offset, len;         /* the statement, for the IAM forms; else where the word stands */
    struct dsql_span role, arn; /* of the IAM forms, as written, quotes included */
};

struct dsql_sql_scan {
    char *text;                  /* the new text, terminated; NULL if nothing had to change */
    struct dsql_sql_mark *marks; /* in the order of the text */
    size_t mark_count, mark_cap;
    size_t statements; /* how many there are, empty ones not counted */
    bool too_deep;     /* nested so deeply that no parser should be asked */
    bool new_words;    /* a word of sql_pg16.h stands somewhere */
};

/* Statements may nest this deep, in parentheses and in operators that follow each other. Beyond
 * about 30,000 libpg_query would overrun an 8 MiB stack; PostgreSQL's own limit (54001) comes
 * earlier. */
enum { DSQL_SQL_DEPTH_MAX = 5000 };

/* Fails with DSQL_NO_MEMORY only. The spans in *scan point into text. */
DSQL_MUST_USE enum dsql_rc dsql_sql_scan(struct dsql_span text, struct dsql_sql_scan *scan);
void dsql_sql_scan_fini(struct dsql_sql_scan *scan);

/* Takes an identifier or a plain string out of its quotes; an identifier without quotes becomes
 * lower case. The caller frees it; NULL is out of memory. */
char *dsql_sql_unquote(struct dsql_span token);

#endif
