/*
 * temporal: Temporal's persistence, a table method at a time. The catalogue (catalog.txt) as a
 * table, which cmake/catalog.py makes of it, and one executor for all of it (call.c); what no table
 * can say is in special.c.
 *
 * An operation of Temporal's stores, such as UpdateWorkflowExecution, is not written here: it is
 * composed of these methods in Go, by Temporal's own store under a plan
 * (integrations/temporal/dsql/plan.go), and comes here as one script (script.c).
 *
 *     ops.c        what an operation is            choice.c    which of its statements is meant
 *     values.c     inputs to parameters            result.c    rows to results
 *     tokens.c     what a transaction remembers    describe.c  a fence in words
 *     store.c      the handle, the probe, transactions
 *     script.c     many calls as one transaction in one round trip
 *     large*.c     values that do not fit a column; schema_deep.c compares them with their parts
 *     pack.c       many tasks in one row           gather.c    many inputs as one array
 *     key.c        bytes and long ids in keys      acquired.c  shards that are acquired anew
 */
#ifndef DSQL_TEMPORAL_TABLE_H
#define DSQL_TEMPORAL_TABLE_H

#include "base/span.h"
#include "dsql/temporal.h"
#include "temporal/catalog.h"

enum dsql_op_kind { DSQL_KIND_EXEC, DSQL_KIND_ONE, DSQL_KIND_MANY, DSQL_KIND_EXPECT };

enum dsql_op_flag { /* see the catalogue */
                    DSQL_FLAG_MULTI = 1,
                    DSQL_FLAG_QUEUED = 2,
                    DSQL_FLAG_COUNTED = 4,
                    DSQL_FLAG_SPECIAL = 8,
                    DSQL_FLAG_PACKS = 16,
                    DSQL_FLAG_UNPACKS = 32,
                    DSQL_FLAG_GATHERS = 64,
};

enum dsql_op_type {
    DSQL_COLUMN_I4,
    DSQL_COLUMN_I8,
    DSQL_COLUMN_BOOL,
    DSQL_COLUMN_TIME,
    DSQL_COLUMN_TEXT,
    DSQL_COLUMN_BYTES,
    DSQL_COLUMN_KEY,
    DSQL_COLUMN_ID, /* of inputs; in rows it is text */
    DSQL_COLUMN_UUID,
};

enum dsql_fence_mode { DSQL_FENCE_NONE, DSQL_FENCE_LOCKS, DSQL_FENCE_CHECKS, DSQL_FENCE_EXPECTS };

struct dsql_op_field {
    const char *name;
    enum dsql_op_type type;
    bool nullable;
    size_t full; /* the field of the whole id, where this one is sent in its short form; 0: none */
    size_t offset; /* in the struct of the input or of the row */
};

struct dsql_op_when {
    enum {
        DSQL_WHEN_ALWAYS,
        DSQL_WHEN_KEY_SHARE, /* the store locks shards FOR KEY SHARE */
        DSQL_WHEN_NULL,
        DSQL_WHEN_SET,
        DSQL_WHEN_TRUE, /* not NULL, and not 0 */
        DSQL_WHEN_EQUALS,
    } test;
    size_t field;
    int64_t value;
};

enum {
    DSQL_SIZES = 6, /* 1 to 32 inputs */
    DSQL_OP_WHENS_MAX = 2,
    DSQL_OP_TOKENS_MAX = 2
};

struct dsql_op_statement {
    struct dsql_stmt
        by_size[DSQL_SIZES];  /* [i] takes 1 << i inputs; without text if there is none */
    struct dsql_stmt raising; /* fails when it hits no row; without text if there is none */
    /* Where rows with large values may be replaced or deleted (large.h): the two above fail when
     * they meet one. `clear` deletes the parts of those rows; behind it these do not look. */
    struct dsql_stmt clear, plain[DSQL_SIZES], plain_raising;
    size_t extra;    /* parameters behind those of the fields */
    uint32_t shared; /* bit i: field i stands outside the braces, once for all inputs */
    bool one;        /* no row is DSQL_NOT_FOUND */
    struct dsql_op_when when[DSQL_OP_WHENS_MAX]; /* all must hold */
};

struct dsql_op_info {
    const char *name;
    enum dsql_op_kind kind;
    unsigned flags;
    struct {
        enum dsql_fence_mode mode;
        enum dsql_fence_what what;
        size_t keys, tokens;
    } fence;
    const struct dsql_op_field *fields, *columns;
    size_t field_count, column_count;
    size_t given_count; /* fields that a caller gives; behind them are those of whole ids */
    const struct dsql_op_statement *statements; /* the first whose conditions hold is meant */
    size_t statement_count;                     /* 0: always in portions */
    const struct dsql_op_statement *portion; /* deletes as many rows as its last parameter says */
    const struct dsql_op_statement *then;    /* a second step, with what the first has found */
    const char *otherwise;                   /* what is wrong when no condition holds */
    size_t input_size, row_size;             /* of its structs */
};
extern const struct dsql_op_info dsql_ops[DSQL_OP_COUNT];

/* What a fence protects: its name in errors, and the query that finds it by its key, whose fields
 * come first in both. */
struct dsql_entity {
    const char *name;
    enum dsql_op read;
};
extern const struct dsql_entity dsql_entities[];

/* op is one. */
const struct dsql_op_info *dsql_op_info(enum dsql_op op);

#endif
