/* One call of an operation, between the files of this folder. */
#ifndef DSQL_TEMPORAL_CALL_H
#define DSQL_TEMPORAL_CALL_H

#include "temporal/large.h"
#include "temporal/ops.h"
#include "temporal/pack.h"
#include "temporal/store.h"

enum {
    DSQL_CALL_EXTRA_MAX = 2,
    DSQL_CALL_PARAMS_INLINE = 32,
    DSQL_CALL_TEXT_INLINE = 512,
    DSQL_CALL_BYTES_MAX = 2 << 20, /* of inputs that share a statement */
    DSQL_CALL_PORTION = 1000       /* rows that are deleted at once; a transaction takes 3,000 */
};

struct dsql_call {
    struct dsql_store *store;
    struct dsql_store_tx *tx; /* NULL on the pool, until its own transaction has begun */
    bool alone;               /* on the pool: every answer is waited for */
    enum dsql_op id;
    const struct dsql_op_info *op;
    const struct dsql_param *values; /* the caller's */
    struct dsql_param *params;       /* as the statement wants them, with room for the extra ones */
    size_t count;                    /* inputs */
    const struct dsql_op_statement *statement; /* the one that is meant */
    size_t before; /* what the transaction had queued before this call */
    struct dsql_result *result;
    struct dsql_err *err;
    struct dsql_large *larges; /* the call's large values, in the order of the inputs */
    size_t large_count;
    void *packs;   /* memory of what shares rows, or an array */
    size_t spared; /* inputs that need no row of their own */
    bool clears;   /* the parts of what it replaces or deletes are deleted before */
    bool whole;    /* on the pool, and yet a transaction of several statements */
    bool marked;   /* the result holds tickets */

    void *heap; /* used when the room below is too small */
    struct dsql_param own_params[DSQL_CALL_PARAMS_INLINE + DSQL_CALL_EXTRA_MAX];
    char own_text[DSQL_CALL_TEXT_INLINE];
};

/* values.c: fills params from the caller's values: checks them, encodes keys. fini afterwards. */
DSQL_MUST_USE enum dsql_rc dsql_call_convert(struct dsql_call *call,
                                             const struct dsql_param *values);
/* pack.c: inputs with consecutive ids share a row from now on; `count` is that of the rows. */
DSQL_MUST_USE enum dsql_rc dsql_call_pack(struct dsql_call *call);
/* gather.c: all inputs are one from now on, whose last field is an array of theirs. */
DSQL_MUST_USE enum dsql_rc dsql_call_gather(struct dsql_call *call);
/* Whether two parameters are equal. */
bool dsql_call_same(const struct dsql_param *a, const struct dsql_param *b);
/* The tokens that a write expects, into their place behind its fields. */
DSQL_MUST_USE enum dsql_rc dsql_call_convert_tokens(struct dsql_call *call,
                                                    const struct dsql_param *tokens);
void dsql_call_fini(struct dsql_call *call);

/* choice.c: sets call->statement. */
DSQL_MUST_USE enum dsql_rc dsql_call_choose(struct dsql_call *call);

/* result.c: what was there before is gone; rows are added behind. */
void dsql_result_clear(struct dsql_result *result, size_t columns);
DSQL_MUST_USE enum dsql_rc dsql_result_add(struct dsql_call *call, const struct dsql_rows *rows);
/* The number in a column of the only row, changed in place. */
void dsql_result_patch(struct dsql_result *result, size_t column, int64_t value);

/* call.c: whether the failure that it met is that of an earlier call's statement. */
bool dsql_call_met_anothers(const struct dsql_call *call);
/* Runs a query of the operation with its extra parameters in place; the caller frees *rows. */
DSQL_MUST_USE enum dsql_rc dsql_call_query(struct dsql_call *call,
                                           const struct dsql_op_statement *statement,
                                           struct dsql_rows **rows);
/* Which of the statement's forms takes the inputs from this one on: by_size[it]. What a statement
 * names once is the same in all of its inputs. */
size_t dsql_call_size(const struct dsql_call *call, size_t from);
/* The chosen statement in the form that fits: whether it looks for large values by itself, or they
 * were cleared away before. */
const struct dsql_stmt *dsql_call_form(const struct dsql_call *call, size_t size);
const struct dsql_stmt *dsql_call_raising_form(const struct dsql_call *call);
/* Whether a failure is that of a statement that met a large value: nothing was applied, and it is
 * to be run again with `clears`. */
bool dsql_call_met_large(const struct dsql_call *call, enum dsql_rc rc, const struct dsql_err *err);
/* Runs all inputs of a statement that changes rows. */
DSQL_MUST_USE enum dsql_rc dsql_call_exec(struct dsql_call *call);
/* Adds the rows to the result, remembers the token of a lock, and minds `one`. */
DSQL_MUST_USE enum dsql_rc dsql_call_finish_query(struct dsql_call *call,
                                                  const struct dsql_rows *rows);

/* describe.c: a fence in words, and their memory. values are the tokens. */
struct dsql_described {
    struct dsql_fence fence;
    char key[256], token[128];
};
void dsql_call_describe(const struct dsql_call *call, const struct dsql_param *values,
                        struct dsql_described *out);

/* special.c: the operations that are more than a statement. */
DSQL_MUST_USE enum dsql_rc dsql_call_special(struct dsql_call *call);
/* Of buffered events: new ids where the caller gave none; whether it gave none; and the ids that
 * were read, which the next ones must be above. */
DSQL_MUST_USE enum dsql_rc dsql_call_draw_ids(struct dsql_call *call);
bool dsql_call_drew_ids(const struct dsql_call *call);
void dsql_call_see_ids(struct dsql_call *call, const struct dsql_rows *rows);

#endif
