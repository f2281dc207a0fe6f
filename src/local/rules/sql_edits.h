/*
 * A text that was made from another one by edits: pieces taken out, others put in their place. The
 * edits know which place of the made text stands for which of the one they began with, so that an
 * error points at what the client wrote.
 *
 * Rule: (E1) the edits are in the order of the text they began with and do not overlap.
 */
#ifndef DSQL_LOCAL_SQL_EDITS_H
#define DSQL_LOCAL_SQL_EDITS_H

#include "base/span.h"

/* Instead of `len` bytes at `at` stands `put`. */
struct dsql_sql_edit {
    size_t at, len;
    char *put; /* terminated */
};

/* All zero is none. */
struct dsql_sql_edits {
    struct dsql_sql_edit *list;
    size_t count, cap;
};

void dsql_sql_edits_fini(struct dsql_sql_edits *edits);

/* Adds one; what is only put in stands before what is taken out at the same place. Fails with
 * DSQL_NO_MEMORY, or with DSQL_INVALID if it overlaps another: then nothing has changed. */
DSQL_MUST_USE enum dsql_rc dsql_sql_edits_add(struct dsql_sql_edits *edits, size_t at, size_t len,
                                              const char *put);

/* The edit that takes something out at that place; NULL if there is none. */
struct dsql_sql_edit *dsql_sql_edits_find(const struct dsql_sql_edits *edits, size_t at);

/* The text with all edits, terminated; the caller frees it. NULL is out of memory. */
char *dsql_sql_edits_apply(const struct dsql_sql_edits *edits, struct dsql_span text, size_t *len);

/* Where a place of the made text is in the one the edits began with: what was put in is where it
 * was put. *inside, unless NULL, is the edit that put it in; NULL if the place is not changed. */
size_t dsql_sql_edits_place(const struct dsql_sql_edits *edits, size_t at,
                            const struct dsql_sql_edit **inside);

#endif
