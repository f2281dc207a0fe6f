/*
 * PostgreSQL 16's grammar in front of PostgreSQL 15's: makes from a text that 15 does not accept
 * one that it does.
 *
 *     0x1F, 0o17, 0b11, 1_000             the same number in decimal
 *     FROM (SELECT ...), FROM (VALUES ...)    gets an alias
 *     CREATE STATISTICS ON, ... (kinds) ON    gets a name for which the module chooses another
 *     GRANT role TO role WITH ...         ADMIN as 15 writes it; INHERIT and SET where they are
 *                                         true, which is what 15 does
 *     SYSTEM_USER                         a function of that name
 *     columns that 16's catalogue has     what they are in 15: daticurules of pg_database,
 *                                         collicurules of pg_collation, inherit_option and
 *                                         set_option of pg_auth_members, which 16's psql asks for
 *     JSON_OBJECT, JSON_ARRAY, IS JSON    functions of the module; not FORMAT, not UNIQUE, no
 *                                         subquery in JSON_ARRAY
 *
 * Nothing is looked at before the parser has refused the text, or one of the words stands in it
 * that 15 takes for a column (dsql_sql_pg16_is_word): what 15 accepts costs nothing. What stands in
 * strings, quoted names and comments is never touched.
 */
#ifndef DSQL_LOCAL_SQL_PG16_H
#define DSQL_LOCAL_SQL_PG16_H

#include "local/rules/sql_edits.h"
#include "local/rules/sql_lex.h"
#include "local/rules/sql_shorten.h"
#include "local/rules/sql_tree.h"

enum {
    /* As many aliases are added one by one: each takes the parser another pass. */
    DSQL_SQL_ALIASES_MAX = 64,
    DSQL_SQL_IS_JSON_MAX = 64, /* as many IS JSON are looked for in a text */
};

/* How far a text has come. All zero at first. */
struct dsql_sql_pg16 {
    struct dsql_sql_edits edits; /* of the text as it was sent */
    bool read;                   /* the words have been looked at */
    size_t aliases;
    size_t is_json[DSQL_SQL_IS_JSON_MAX]; /* where IS stands whose operand is not found yet */
    size_t is_json_count;
};

void dsql_sql_pg16_fini(struct dsql_sql_pg16 *pg16);

/*
 * The parser has refused the text as it is with the edits so far, at `place` of the sent text.
 * *added: there are more edits now, and the parser may be asked again. Fails with DSQL_NO_MEMORY
 * only.
 */
DSQL_MUST_USE enum dsql_rc dsql_sql_pg16_refused(struct dsql_sql_pg16 *pg16, struct dsql_span sent,
                                                 const char *message, size_t place, bool *added);

/* SYSTEM_USER, or a column that 16's catalogue has. */
bool dsql_sql_pg16_is_word(struct dsql_sql_token token);

/* The parser has accepted it. `statements` is its tree, whose places are in the shortened text;
 * words: there is one of dsql_sql_pg16_is_word(). */
DSQL_MUST_USE enum dsql_rc dsql_sql_pg16_parsed(struct dsql_sql_pg16 *pg16, struct dsql_span sent,
                                                bool words, const struct dsql_sql_short *shortened,
                                                struct dsql_tree statements, bool *added);

#endif
