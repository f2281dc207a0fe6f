/*
 * temporal: Temporal's persistence. The catalogue (dsql/temporal_ops.def) as a table, and one
 * executor for all of it (call.c); what no table can say is in special.c.
 *
 *     ops        what an operation is                 statements  their texts, ready to be prepared
 *     choice     which statement is meant             values      inputs to parameters, rows to
 * results tokens     what a transaction remembers         store       the handle, the probe,
 * transactions
 */
#ifndef DSQL_TEMPORAL_OPS_H
#define DSQL_TEMPORAL_OPS_H

#include "base/span.h"
#include "dsql/temporal.h"

enum dsql_op_kind { DSQL_KIND_EXEC, DSQL_KIND_ONE, DSQL_KIND_MANY };

enum dsql_op_flag { /* see the catalogue */
                    DSQL_OP_MULTI = 1,
                    DSQL_OP_QUEUED = 2,
                    DSQL_OP_GUARDED = 4,
                    DSQL_OP_BATCH = 8,
                    DSQL_OP_SPECIAL = 16,
                    DSQL_OP_EXPECTS = 32,
};

enum dsql_op_type {
    DSQL_OP_I4,
    DSQL_OP_I8,
    DSQL_OP_BOOL,
    DSQL_OP_TIME,
    DSQL_OP_TEXT,
    DSQL_OP_BYTES,
    DSQL_OP_KEY,
    DSQL_OP_UUID,
    DSQL_OP_TYPES,
};

enum dsql_fence_mode { DSQL_FENCE_NONE, DSQL_FENCE_LOCK, DSQL_FENCE_CHECK, DSQL_FENCE_OWN };
enum dsql_fence_what {
    DSQL_FENCED_NOTHING,
    DSQL_FENCED_SHARD,
    DSQL_FENCED_EXECUTION,
    DSQL_FENCED_CURRENT,
    DSQL_FENCED_TASK_QUEUE,
    DSQL_FENCED_USER_DATA,
    DSQL_FENCED_NAMESPACE_METADATA,
    DSQL_FENCED_CLUSTER_METADATA,
    DSQL_FENCED_QUEUE_METADATA,
    DSQL_FENCED_NEXUS_TABLE,
    DSQL_FENCED_NEXUS_ENDPOINT,
};

enum dsql_choice {
    DSQL_CHOICE_FIRST,         /* there is but one */
    DSQL_CHOICE_SHARD_LOCK,    /* by the lock that the store uses */
    DSQL_CHOICE_ARCHETYPE,     /* by archetype_id, the fourth field */
    DSQL_CHOICE_HISTORY,       /* forward, reverse, metadata only */
    DSQL_CHOICE_PORTION,       /* whole inside a transaction, in portions outside */
    DSQL_CHOICE_LIMITED,       /* always in portions, up to the last field */
    DSQL_CHOICE_VERSION,       /* by version, the first field */
    DSQL_CHOICE_TASK_QUEUES,   /* by version, and one, a window of hashes, or one hash */
    DSQL_CHOICE_THIRD_IS_ZERO, /* insert if the third field, the expected version, is 0 */
    DSQL_CHOICE_NAMESPACE,     /* by id, by name, or a page */
};

struct dsql_op_field {
    struct dsql_span name;
    enum dsql_op_type type;
    bool nullable;
};

enum { DSQL_OP_STATEMENTS_MAX = 6, DSQL_OP_FIELDS_MAX = 16, DSQL_OP_TOKENS_MAX = 2 };

struct dsql_op_info {
    const char *name;
    enum dsql_op_kind kind;
    unsigned flags;
    struct {
        enum dsql_fence_mode mode;
        enum dsql_fence_what what;
        size_t keys, tokens;
    } fence;
    enum dsql_choice choice;
    const char *fields_text, *columns_text; /* "I4 shard_id;I8 range_id;" */
    const struct dsql_op_field *fields, *columns;
    size_t field_count, column_count;
    const char *statements[DSQL_OP_STATEMENTS_MAX];
    size_t input_size, row_size; /* of its structs */
};

/* op is one. */
const struct dsql_op_info *dsql_op_info(enum dsql_op op);

/* PostgreSQL's OID of the type of a parameter. */
uint32_t dsql_op_oid(enum dsql_op_type type);

/* Where a field is in the struct that holds these fields one after the other; *end is its size so
 * far. */
size_t dsql_op_place(const struct dsql_op_field *field, size_t *end);

#endif
