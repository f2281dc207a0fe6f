/* Writes encoded expressions, as the Temporal adapter does: see src/visibility/expr.h. */
#ifndef DSQL_TESTS_VIS_EXPR_H
#define DSQL_TESTS_VIS_EXPR_H

#include "base/strbuf.h"
#include "visibility/expr.h"

enum { VIS_EXPR_MAX = 65536 };

struct vis_expr {
    struct dsql_strbuf out;
    char memory[VIS_EXPR_MAX];
};

/* Begins with the version; nodes follow, each before its children. */
void vis_begin(struct vis_expr *e);
void vis_and(struct vis_expr *e, unsigned children);
void vis_or(struct vis_expr *e, unsigned children);
void vis_not(struct vis_expr *e);
/* So many values follow. */
void vis_compare(struct vis_expr *e, enum dsql_vis_op op, enum dsql_vis_type type, const char *name,
                 unsigned values);
void vis_number(struct vis_expr *e, int64_t value);
void vis_real(struct vis_expr *e, double value);
void vis_bool(struct vis_expr *e, bool value);
void vis_time(struct vis_expr *e, int64_t seconds, uint32_t nanos);
void vis_text(struct vis_expr *e, struct dsql_span text);

/* A comparison with one text, with one number. */
void vis_is(struct vis_expr *e, const char *name, const char *text);
void vis_status(struct vis_expr *e, int64_t status);
/* TemporalNamespaceDivision IS NULL, which Temporal adds to most queries. */
void vis_no_division(struct vis_expr *e);

struct dsql_span vis_bytes(const struct vis_expr *e);

#endif
