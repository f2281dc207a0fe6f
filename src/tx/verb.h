/*
 * What a statement is by its first words, as far as a transaction has to know before it sends it.
 * Blanks, comments and empty statements before them are skipped, as PostgreSQL does.
 */
#ifndef DSQL_TX_VERB_H
#define DSQL_TX_VERB_H

enum dsql_verb {
    DSQL_VERB_OTHER,
    /* INSERT, UPDATE, DELETE, MERGE. Only a statement that begins with WITH can change other rows
     * than those it counts: when these count none they changed none. */
    DSQL_VERB_COUNTED,
    DSQL_VERB_CONTROL, /* begins or ends a transaction */
    DSQL_VERB_COPY,
    DSQL_VERB_FORGET, /* the session drops all its prepared statements */
};

enum dsql_verb dsql_verb_of(const char *sql);

#endif
