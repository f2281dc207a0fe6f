/*
 * Rules for ALTER TABLE: which of its many commands pass, which are looked at more closely, and
 * under which words the others are refused.
 */
#include "local/rules/sql_rules.h"

static void check_add_column(struct dsql_sql_judge *judge, struct dsql_tree command)
{
    struct dsql_tree column = dsql_tree_as(dsql_tree_get(command, "def"), "ColumnDef");
    if (dsql_tree_get(column, "constraints").ptr)
        dsql_sql_judge_unsupported(judge, "ALTER TABLE ADD COLUMN with constraint not supported");
    dsql_sql_check_column(judge, column);
}

/* CHECK and FOREIGN KEY come in as NOT VALID and are validated by a job; UNIQUE adopts an index. */
static void check_add_constraint(struct dsql_sql_judge *judge, struct dsql_tree command)
{
    struct dsql_tree constraint = dsql_tree_as(dsql_tree_get(command, "def"), "Constraint");
    struct dsql_tree type = dsql_tree_get(constraint, "contype");
    bool check =
        dsql_tree_is(type, "CONSTR_CHECK") && dsql_sql_judge_has(judge, DSQL_SQL_NOT_VALID_SINCE);
    bool foreign = dsql_tree_is(type, "CONSTR_FOREIGN") &&
                   dsql_sql_judge_has(judge, DSQL_SQL_FOREIGN_KEY_SINCE);
    if ((check || foreign) && dsql_tree_true(dsql_tree_get(constraint, "skip_validation")))
        return;
    if (dsql_tree_is(type, "CONSTR_UNIQUE") && dsql_tree_get(constraint, "indexname").ptr &&
        dsql_sql_judge_has(judge, DSQL_SQL_UNIQUE_USING_INDEX_SINCE))
        return;
    dsql_sql_judge_unsupported(judge, "unsupported ALTER TABLE ADD CONSTRAINT statement");
}

static void check_validate(struct dsql_sql_judge *judge, struct dsql_tree command)
{
    dsql_sql_judge_name(judge, dsql_tree_get(command, "name"));
    if (!judge->async || !dsql_sql_judge_has(judge, DSQL_SQL_NOT_VALID_SINCE))
        dsql_sql_judge_unsupported(judge, "unsupported ALTER TABLE VALIDATE CONSTRAINT statement");
}

static void check_add_identity(struct dsql_sql_judge *judge, struct dsql_tree command)
{
    dsql_sql_check_identity(judge, dsql_tree_as(dsql_tree_get(command, "def"), "Constraint"));
}

/* Since when a command passes: a feature, or one of these. */
enum { ALWAYS = DSQL_SQL_FEATURE_COUNT, NEVER };

/* The names are those of PostgreSQL's own messages, which the service uses wherever an answer was
 * recorded. A command that is in no row is refused without naming it. */
static const struct {
    const char *command;
    const char *called; /* refused as "unsupported ALTER TABLE <this> statement" */
    int since;
    dsql_sql_check_fn *check;
} commands[] = {
    {"AT_AddColumn", "ADD COLUMN", ALWAYS, check_add_column},
    {"AT_AddConstraint", "ADD CONSTRAINT", ALWAYS, check_add_constraint},
    {"AT_ValidateConstraint", "VALIDATE CONSTRAINT", ALWAYS, check_validate},
    {"AT_AddIdentity", "ALTER COLUMN ... ADD IDENTITY", DSQL_SQL_ALTER_COLUMN_SINCE,
     check_add_identity},
    {"AT_SetIdentity", "ALTER COLUMN ... SET", DSQL_SQL_SEQUENCE_SINCE, NULL},
    {"AT_DropIdentity", "ALTER COLUMN ... DROP IDENTITY", DSQL_SQL_SEQUENCE_SINCE, NULL},
    {"AT_DropColumn", "DROP COLUMN", DSQL_SQL_DROP_COLUMN_SINCE, NULL},
    {"AT_ColumnDefault", "ALTER COLUMN ... SET DEFAULT", DSQL_SQL_ALTER_COLUMN_SINCE, NULL},
    {"AT_DropNotNull", "ALTER COLUMN ... DROP NOT NULL", DSQL_SQL_ALTER_COLUMN_SINCE, NULL},
    {"AT_DropExpression", "ALTER COLUMN ... DROP EXPRESSION", DSQL_SQL_ALTER_COLUMN_SINCE, NULL},
    {"AT_DropConstraint", "DROP CONSTRAINT", DSQL_SQL_ALTER_COLUMN_SINCE, NULL},
    {"AT_AlterConstraint", "ALTER CONSTRAINT", DSQL_SQL_FOREIGN_KEY_SINCE, NULL},
    {"AT_SetStorage", "ALTER COLUMN ... SET STORAGE", DSQL_SQL_STORAGE_SINCE, NULL},
    {"AT_ChangeOwner", "OWNER TO", ALWAYS, NULL},
    {"AT_AlterColumnType", "ALTER COLUMN ... SET DATA TYPE", NEVER, NULL},
    {"AT_SetStatistics", "ALTER COLUMN ... SET STATISTICS", NEVER, NULL},
    {"AT_SetNotNull", "ALTER COLUMN ... SET NOT NULL", NEVER, NULL},
    {"AT_SetOptions", "ALTER COLUMN ... SET", NEVER, NULL},
    {"AT_ResetOptions", "ALTER COLUMN ... RESET", NEVER, NULL},
    {"AT_SetCompression", "ALTER COLUMN ... SET COMPRESSION", NEVER, NULL},
    {"AT_ClusterOn", "CLUSTER ON", NEVER, NULL},
    {"AT_DropCluster", "SET WITHOUT CLUSTER", NEVER, NULL},
    {"AT_SetLogged", "SET LOGGED", NEVER, NULL},
    {"AT_SetUnLogged", "SET UNLOGGED", NEVER, NULL},
    {"AT_SetAccessMethod", "SET ACCESS METHOD", NEVER, NULL},
    {"AT_SetTableSpace", "SET TABLESPACE", NEVER, NULL},
    {"AT_SetRelOptions", "SET", NEVER, NULL},
    {"AT_ResetRelOptions", "RESET", NEVER, NULL},
    {"AT_AddInherit", "INHERIT", NEVER, NULL},
    {"AT_DropInherit", "NO INHERIT", NEVER, NULL},
    {"AT_AttachPartition", "ATTACH PARTITION", NEVER, NULL},
    {"AT_DetachPartition", "DETACH PARTITION", NEVER, NULL},
    {"AT_EnableRowSecurity", "ENABLE ROW SECURITY", NEVER, NULL},
    {"AT_DisableRowSecurity", "DISABLE ROW SECURITY", NEVER, NULL},
    {"AT_ForceRowSecurity", "FORCE ROW SECURITY", NEVER, NULL},
    {"AT_NoForceRowSecurity", "NO FORCE ROW SECURITY", NEVER, NULL},
    {"AT_ReplicaIdentity", "REPLICA IDENTITY", NEVER, NULL},
    {"AT_AlterColumnGenericOptions", "ALTER COLUMN ... OPTIONS", NEVER, NULL},
    {"AT_GenericOptions", "OPTIONS", NEVER, NULL},
    {"AT_DropOids", "SET WITHOUT OIDS", NEVER, NULL},
    {"AT_AddOf", "OF", NEVER, NULL},
    {"AT_DropOf", "NOT OF", NEVER, NULL},
    {"AT_DetachPartitionFinalize", "DETACH PARTITION ... FINALIZE", NEVER, NULL},
    {"AT_EnableAlwaysTrig", "ENABLE ALWAYS TRIGGER", NEVER, NULL},
    {"AT_EnableReplicaTrig", "ENABLE REPLICA TRIGGER", NEVER, NULL},
    {"AT_EnableRule", "ENABLE RULE", NEVER, NULL},
    {"AT_EnableAlwaysRule", "ENABLE ALWAYS RULE", NEVER, NULL},
    {"AT_EnableReplicaRule", "ENABLE REPLICA RULE", NEVER, NULL},
    {"AT_DisableRule", "DISABLE RULE", NEVER, NULL},
    {"AT_EnableTrig", "ENABLE TRIGGER", NEVER, NULL},
    {"AT_DisableTrig", "DISABLE TRIGGER", NEVER, NULL},
    /* These four pass and do nothing: there are no triggers. */
    {"AT_EnableTrigAll", "ENABLE TRIGGER ALL", ALWAYS, NULL},
    {"AT_DisableTrigAll", "DISABLE TRIGGER ALL", ALWAYS, NULL},
    {"AT_EnableTrigUser", "ENABLE TRIGGER USER", ALWAYS, NULL},
    {"AT_DisableTrigUser", "DISABLE TRIGGER USER", ALWAYS, NULL},
};

static bool is_there(const struct dsql_sql_judge *judge, int since)
{
    return since == ALWAYS ||
           (since != NEVER && dsql_sql_judge_has(judge, (enum dsql_sql_feature)since));
}

static void check_command(struct dsql_sql_judge *judge, struct dsql_tree command)
{
    struct dsql_tree subtype = dsql_tree_get(command, "subtype");
    for (size_t i = 0; i < DSQL_COUNT_OF(commands); i++) {
        if (!dsql_tree_is(subtype, commands[i].command))
            continue;
        if (!is_there(judge, commands[i].since))
            dsql_sql_judge_unsupported(judge, "unsupported ALTER TABLE %s statement",
                                       commands[i].called);
        else if (commands[i].check)
            commands[i].check(judge, command);
        return;
    }
    dsql_sql_judge_unsupported(judge, "unsupported ALTER TABLE statement");
}

/* ALTER VIEW, INDEX, SEQUENCE and TYPE are written as ALTER TABLE in the tree. */
void dsql_sql_check_alter_table(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree object = dsql_tree_get(stmt, "objtype");
    if (dsql_tree_is(object, "OBJECT_TYPE"))
        dsql_sql_judge_unsupported(judge, "ALTER TYPE not supported");
    if (!dsql_tree_is(object, "OBJECT_TABLE"))
        return;
    struct dsql_tree list = dsql_tree_get(stmt, "cmds");
    for (struct dsql_tree e = dsql_tree_first(list); e.ptr; e = dsql_tree_next(e))
        check_command(judge, dsql_tree_as(e, "AlterTableCmd"));
}
