/*
 * The texts of the catalogue, ready to be prepared: for each statement of each operation one for
 * one input, for MULTI ones more for 2, 4, ... inputs at once, and for GUARDED ones the form that
 * fails when it hits no row. Made once for a store; read by all threads.
 */
#ifndef DSQL_TEMPORAL_STATEMENTS_H
#define DSQL_TEMPORAL_STATEMENTS_H

#include "temporal/ops.h"

enum { DSQL_SIZES = 6 }; /* 1 to 32 inputs */

struct dsql_statement {
    struct dsql_stmt by_size[DSQL_SIZES]; /* [i] takes 1 << i inputs */
    struct dsql_stmt guarded;             /* sql is NULL if there is none */
    size_t extra;                         /* parameters behind those of the fields */
    uint32_t shared; /* bit i: field i stands outside the braces, once for all inputs */
    /* Known without asking: each input is a row that is inserted or replaced. */
    bool counts_inputs;
};

struct dsql_statements {
    struct dsql_statement of[DSQL_OP_COUNT][DSQL_OP_STATEMENTS_MAX];
    void *memory;
};

DSQL_MUST_USE enum dsql_rc dsql_statements_init(struct dsql_statements *statements,
                                                struct dsql_err *err);
void dsql_statements_fini(struct dsql_statements *statements);

/* The text for `inputs` inputs: what stands between braces is repeated, its parameters counted on.
 */
struct dsql_strbuf;
void dsql_statements_expand(struct dsql_strbuf *out, const char *text, size_t fields,
                            size_t inputs);

#endif
