/*
 * A statement that is being written: its text, its parameters and their types. A parameter has the
 * type of what it is compared with: the service reads a whole table where they differ.
 *
 * Texts of parameters point to the expression, or to memory of this statement.
 */
#ifndef DSQL_VISIBILITY_SQL_H
#define DSQL_VISIBILITY_SQL_H

#include "base/strbuf.h"
#include "dsql/stmt.h"
#include "visibility/attribute.h"
#include "visibility/keys.h"

enum { DSQL_VIS_MADE_SIZE = 32, DSQL_VIS_PARAMS_MAX = 8192, DSQL_VIS_SQL_MAX = 2 << 20 };

struct dsql_vis_sql {
    struct dsql_strbuf text;
    struct dsql_param *params;
    uint32_t *types;
    size_t count, cap;
    char (*made)[DSQL_VIS_MADE_SIZE]; /* texts that stand for values, see dsql_vis_posted() */
    size_t made_count, made_cap;
    char *behind; /* what dsql_vis_behind() made */
    bool failed;  /* memory ran out, or it has too many parameters */
};

/* values: of how many a text may have to be made. fini frees it. */
void dsql_vis_sql_init(struct dsql_vis_sql *sql, size_t values);
void dsql_vis_sql_fini(struct dsql_vis_sql *sql);

/* Adds a parameter and answers its number, from 1; "$n" is written by dsql_vis_ref(). */
size_t dsql_vis_param(struct dsql_vis_sql *sql, uint32_t oid, struct dsql_param value);
void dsql_vis_ref(struct dsql_strbuf *text, size_t number);
size_t dsql_vis_text_param(struct dsql_vis_sql *sql, struct dsql_span text);

/* A value as the postings have it: see keys.h. Its memory is the value's, or the statement's. */
struct dsql_span dsql_vis_posted(struct dsql_vis_sql *sql, enum dsql_vis_type type,
                                 const struct dsql_vis_value *value);
/* Whether the posting of that value may be that of others too, since it was cut. */
bool dsql_vis_is_cut(enum dsql_vis_type type, const struct dsql_vis_value *value);

/* The first text behind all that begin with a prefix; false if there is none. Once a statement. */
bool dsql_vis_behind(struct dsql_vis_sql *sql, struct dsql_span prefix, struct dsql_span *out);

/* Microseconds since 1970, rounded down. */
int64_t dsql_vis_micros(const struct dsql_vis_value *time);

/* Writes the condition of a node, in parentheses, over a row or a position with that alias. */
void dsql_vis_filter(struct dsql_vis_sql *sql, struct dsql_strbuf *text,
                     const struct dsql_vis_expr *expr, size_t node, const char *alias);
/* Whether a position is enough for that. */
bool dsql_vis_is_narrow(const struct dsql_vis_expr *expr, size_t node);

/* DSQL_INVALID for a comparison that the tables can't answer: an attribute under another type. */
DSQL_MUST_USE enum dsql_rc dsql_vis_check(const struct dsql_vis_expr *expr, struct dsql_err *err);

#endif
