#include "temporal/ops.h"

const struct dsql_op_info *dsql_op_info(enum dsql_op op)
{
    assert((unsigned)op < DSQL_OP_COUNT);
    return &dsql_ops[op];
}

const char *dsql_op_name(enum dsql_op op)
{
    return (unsigned)op < DSQL_OP_COUNT ? dsql_ops[op].name : "?";
}

enum dsql_op dsql_op_find(const char *name)
{
    unsigned op = 0;
    while (op < DSQL_OP_COUNT && strcmp(dsql_ops[op].name, name) != 0)
        op++;
    return (enum dsql_op)op;
}

size_t dsql_op_fields(enum dsql_op op)
{
    return (unsigned)op < DSQL_OP_COUNT ? dsql_ops[op].given_count : 0;
}

size_t dsql_op_columns(enum dsql_op op)
{
    return (unsigned)op < DSQL_OP_COUNT ? dsql_ops[op].column_count : 0;
}
