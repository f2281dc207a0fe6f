/*
 * Statements on their way whose text was edited (rules/sql_edits.h): an error that PostgreSQL has
 * with one of them points at the edited text, and the client is told where that is in its own.
 */
#ifndef DSQL_LOCAL_PLACES_H
#define DSQL_LOCAL_PLACES_H

#include "local/rules/sql_stmt.h"

/* All zero at first. */
struct dsql_places {
    struct dsql_place {
        uint64_t number; /* the message's in the pipeline (pipeline.h) */
        struct dsql_sql_script *script;
    } * list; /* in the order of the numbers */
    size_t count, cap;
};

void dsql_places_fini(struct dsql_places *places);

/* The message of that number has the script's text, or runs it. Does nothing for a script without
 * edits. False without memory. */
DSQL_MUST_USE bool dsql_places_sent(struct dsql_places *places, uint64_t number,
                                    struct dsql_sql_script *script);

/* The script of that message; NULL if it has no edits. Messages with lower numbers are forgotten.
 */
const struct dsql_sql_script *dsql_places_find(struct dsql_places *places, uint64_t number);

#endif
