/*
 * Rules for what may occur anywhere in a statement, at any depth: one pass over all keys of its
 * tree.
 */
#include "local/rules/sql_rules.h"
#include "local/rules/sql_type.h"

/* Functions that Aurora DSQL does not have. A name that ends in * stands for all that begin so. */
static const struct {
    const char *name;
    const char *sqlstate, *behind; /* the message is: function, the name, and this */
} missing_functions[] = {
    {"pg_advisory_*", "0A000", " not supported"},
    {"pg_try_advisory_*", "0A000", " not supported"},
    {"pg_backend_pid", "0A000", " not supported"},
    {"inet_server_addr", "42883", "() does not exist"},
};

/* Types that are refused in expressions too, called by name. Whether the others are is not
 * recorded. */
static const char *const refused_types[] = {"line", "circle"};

struct call {
    char schema[DSQL_SQL_NAME_MAX], name[DSQL_SQL_NAME_MAX];
    struct dsql_tree args;
};

static bool matches(const char *pattern, const char *name)
{
    size_t len = strcspn(pattern, "*");
    return strncmp(pattern, name, len) == 0 && (pattern[len] == '*' || name[len] == '\0');
}

static void read_part(struct dsql_tree string, char *memory)
{
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, memory, DSQL_SQL_NAME_MAX);
    dsql_tree_text(dsql_tree_string(string), &text);
}

static void read_call(struct dsql_tree func_call, struct call *call)
{
    struct dsql_tree first = dsql_tree_first(dsql_tree_get(func_call, "funcname"));
    struct dsql_tree second = dsql_tree_next(first);
    read_part(second.ptr ? first : second, call->schema);
    read_part(second.ptr ? second : first, call->name);
    call->args = dsql_tree_get(func_call, "args");
}

static void check_missing_function(struct dsql_sql_judge *judge, const struct call *call)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(missing_functions); i++)
        if (matches(missing_functions[i].name, call->name))
            dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, missing_functions[i].sqlstate,
                                  "function %s%s", call->name, missing_functions[i].behind);
}

static void refuse_type(struct dsql_sql_judge *judge, const char *name)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(refused_types); i++)
        if (strcmp(refused_types[i], name) == 0)
            dsql_sql_judge_unsupported(judge, "datatype %s not supported", name);
}

static void check_cast(struct dsql_sql_judge *judge, struct dsql_tree cast)
{
    struct dsql_sql_type type;
    dsql_sql_type_read(dsql_tree_get(cast, "typeName"), &type);
    if (type.use == DSQL_SQL_TYPE_REFUSED)
        refuse_type(judge, type.shown);
}

/* set_config(name, value, is_local) is SET by another name. A name that is no literal is not
 * judged. */
static void check_set_config(struct dsql_sql_judge *judge, const struct call *call)
{
    if (strcmp(call->name, "set_config") != 0)
        return;
    struct dsql_tree name = dsql_tree_first(call->args);
    struct dsql_tree local = dsql_tree_next(dsql_tree_next(name));
    struct dsql_tree truth = dsql_tree_get(dsql_tree_as(local, "A_Const"), "boolval");
    bool is_local = dsql_tree_true(dsql_tree_get(truth, "boolval"));
    if (!is_local)
        judge->stmt->flags |= DSQL_SQL_SETS;
    if (dsql_sql_literal(name).ptr)
        dsql_sql_check_setting(judge, dsql_sql_literal(name), is_local, true);
}

static void check_call(struct dsql_sql_judge *judge, struct dsql_tree func_call)
{
    struct call call;
    read_call(func_call, &call);
    if (call.schema[0] != '\0' && strcmp(call.schema, "pg_catalog") != 0)
        return;
    check_missing_function(judge, &call);
    refuse_type(judge, call.name);
    check_set_config(judge, &call);
}

static void check_locking(struct dsql_sql_judge *judge, struct dsql_tree clause)
{
    struct dsql_tree strength = dsql_tree_get(clause, "strength");
    bool has_share = dsql_sql_judge_has(judge, DSQL_SQL_KEY_SHARE_SINCE);
    if (dsql_tree_is(strength, "LCS_FORUPDATE"))
        judge->stmt->flags |= DSQL_SQL_FOR_UPDATE;
    else if (has_share && dsql_tree_is(strength, "LCS_FORKEYSHARE"))
        judge->stmt->flags |= DSQL_SQL_FOR_KEY_SHARE;
    else
        dsql_sql_judge_unsupported(judge,
                                   "locking clauses other than FOR UPDATE%s are not supported",
                                   has_share ? "/FOR KEY SHARE" : "");
}

/* column = value, one or several of them with AND. Whether the columns are those of the key, only
 * the catalogue knows. */
static bool is_equality(struct dsql_tree where, int depth)
{
    enum { DEPTH_MAX = 16 };
    struct dsql_tree both = dsql_tree_as(where, "BoolExpr"), one = dsql_tree_as(where, "A_Expr");
    if (both.ptr && dsql_tree_is(dsql_tree_get(both, "boolop"), "AND_EXPR") && depth < DEPTH_MAX) {
        struct dsql_tree args = dsql_tree_get(both, "args");
        for (struct dsql_tree e = dsql_tree_first(args); e.ptr; e = dsql_tree_next(e))
            if (!is_equality(e, depth + 1))
                return false;
        return true;
    }
    struct dsql_tree name = dsql_tree_string(dsql_tree_first(dsql_tree_get(one, "name")));
    bool left = dsql_tree_as(dsql_tree_get(one, "lexpr"), "ColumnRef").ptr != NULL;
    bool right = dsql_tree_as(dsql_tree_get(one, "rexpr"), "ColumnRef").ptr != NULL;
    return dsql_tree_is(dsql_tree_get(one, "kind"), "AEXPR_OP") && dsql_tree_is(name, "=") &&
           left != right;
}

/* Before September 2026 FOR UPDATE wanted one table and its key. */
static void check_for_update(struct dsql_sql_judge *judge, struct dsql_tree select)
{
    struct dsql_tree from = dsql_tree_get(select, "fromClause");
    if (!dsql_tree_get(select, "lockingClause").ptr)
        return;
    if (dsql_tree_count(from) != 1 || !dsql_tree_as(dsql_tree_first(from), "RangeVar").ptr)
        dsql_sql_judge_unsupported(
            judge, "locking clause such as FOR UPDATE can be applied on a single table");
    else if (!is_equality(dsql_tree_get(select, "whereClause"), 0))
        dsql_sql_judge_unsupported(judge,
                                   "locking clause such as FOR UPDATE can be applied only on "
                                   "tables with equality predicates on the key");
}

static void note_write(struct dsql_sql_judge *judge)
{
    switch (judge->stmt->kind) {
    case DSQL_SQL_SELECT:
    case DSQL_SQL_DML:
    case DSQL_SQL_COPY_OUT:
        judge->stmt->flags |= DSQL_SQL_WRITES;
        break;
    case DSQL_SQL_EXPLAIN:
        if (judge->stmt->flags & DSQL_SQL_EXPLAIN_RUNS)
            judge->stmt->flags |= DSQL_SQL_WRITES;
        break;
    case DSQL_SQL_PREPARE:
        judge->stmt->flags |= DSQL_SQL_INNER_WRITES;
        break;
    case DSQL_SQL_OTHER: /* the others hold no statement that runs: a function's body does not */
    case DSQL_SQL_DDL:
    case DSQL_SQL_BEGIN:
    case DSQL_SQL_COMMIT:
    case DSQL_SQL_ROLLBACK:
    case DSQL_SQL_SET:
    case DSQL_SQL_SHOW:
    case DSQL_SQL_COPY_IN:
    case DSQL_SQL_EXECUTE:
    case DSQL_SQL_DEALLOCATE:
    case DSQL_SQL_CALL:
    case DSQL_SQL_IAM_GRANT:
    case DSQL_SQL_IAM_REVOKE:
        break;
    }
}

/* This is asked for every key of a large INSERT, hence in place and length first. */
static inline bool key_is(const struct dsql_tree_walk *walk, const char *key)
{
    return walk->key.len == strlen(key) && memcmp(walk->key.ptr, key, walk->key.len) == 0;
}

void dsql_sql_check_query(struct dsql_sql_judge *judge, struct dsql_tree node)
{
    struct dsql_tree schema = {NULL}; /* of a RangeVar: stands right before its relname */
    for (struct dsql_tree_walk w = dsql_tree_walk(node); dsql_tree_step(&w);) {
        if (key_is(&w, "FuncCall"))
            check_call(judge, w.value);
        else if (key_is(&w, "TypeCast"))
            check_cast(judge, w.value);
        else if (key_is(&w, "LockingClause"))
            check_locking(judge, w.value);
        else if (key_is(&w, "RangeTableSample"))
            dsql_sql_judge_unsupported(judge, "TABLESAMPLE clause not supported");
        else if (key_is(&w, "intoClause"))
            dsql_sql_judge_unsupported(judge, "unsupported statement: CreateTableAs");
        else if (key_is(&w, "InsertStmt") || key_is(&w, "UpdateStmt") || key_is(&w, "DeleteStmt"))
            note_write(judge);
        else if (key_is(&w, "relname"))
            dsql_sql_judge_table(judge, schema, w.value);
        schema.ptr = key_is(&w, "schemaname") ? w.value.ptr : NULL;
    }
    if ((judge->stmt->flags & DSQL_SQL_FOR_UPDATE) &&
        !dsql_sql_judge_has(judge, DSQL_SQL_FOR_UPDATE_SINCE))
        for (struct dsql_tree_walk w = dsql_tree_walk(node); dsql_tree_step(&w);)
            if (key_is(&w, "SelectStmt"))
                check_for_update(judge, w.value);
}
