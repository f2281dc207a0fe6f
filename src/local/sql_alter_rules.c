/*
 * Rules for ALTER TABLE: which of its many commands pass, which are looked at more closely, and
 * under which words the others are refused.
 */
#include "local/sql_rules.h"

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
    bool late = dsql_tree_is(type, "CONSTR_CHECK") || dsql_tree_is(type, "CONSTR_FOREIGN");
    if (late && dsql_tree_true(dsql_tree_get(constraint, "skip_validation")))
        return;
    if (dsql_tree_is(type, "CONSTR_UNIQUE") && dsql_tree_get(constraint, "indexname").ptr)
        return;
    dsql_sql_judge_unsupported(judge, "unsupported ALTER TABLE ADD CONSTRAINT statement");
}

static void check_validate(struct dsql_sql_judge *judge, struct dsql_tree command)
{
    dsql_sql_judge_name(judge, dsql_tree_get(command, "name"));
    if (!judge->async)
        dsql_sql_judge_unsupported(judge, "unsupported ALTER TABLE VALIDATE CONSTRAINT statement");
}

static void check_add_identity(struct dsql_sql_judge *judge, struct dsql_tree command)
{
    dsql_sql_check_identity(judge, dsql_tree_as(dsql_tree_get(command, "def"), "Constraint"));
}

/* A command that is in no row is refused without naming it. */
static const struct {
    const char *command;
    const char *refused; /* "unsupported ALTER TABLE <this> statement"; NULL passes */
    dsql_sql_check_fn *check;
} commands[] = {
    {"AT_AddColumn", NULL, check_add_column},
    {"AT_AddConstraint", NULL, check_add_constraint},
    {"AT_ValidateConstraint", NULL, check_validate},
    {"AT_AddIdentity", NULL, check_add_identity},
    {"AT_SetIdentity", NULL, NULL},
    {"AT_DropIdentity", NULL, NULL},
    {"AT_DropColumn", NULL, NULL},
    {"AT_ColumnDefault", NULL, NULL},
    {"AT_DropNotNull", NULL, NULL},
    {"AT_DropExpression", NULL, NULL},
    {"AT_DropConstraint", NULL, NULL},
    {"AT_SetStorage", NULL, NULL},
    {"AT_ChangeOwner", NULL, NULL},
    {"AT_AlterColumnType", "ALTER COLUMN ... SET DATA TYPE", NULL},
    {"AT_SetStatistics", "ALTER COLUMN ... SET STATISTICS", NULL},
    {"AT_SetNotNull", "ALTER COLUMN ... SET NOT NULL", NULL},
    {"AT_SetOptions", "ALTER COLUMN ... SET", NULL},
    {"AT_ResetOptions", "ALTER COLUMN ... RESET", NULL},
    {"AT_SetCompression", "ALTER COLUMN ... SET COMPRESSION", NULL},
    {"AT_AlterConstraint", "ALTER CONSTRAINT", NULL},
    {"AT_ClusterOn", "CLUSTER ON", NULL},
    {"AT_DropCluster", "SET WITHOUT CLUSTER", NULL},
    {"AT_SetLogged", "SET LOGGED", NULL},
    {"AT_SetUnLogged", "SET UNLOGGED", NULL},
    {"AT_SetAccessMethod", "SET ACCESS METHOD", NULL},
    {"AT_SetTableSpace", "SET TABLESPACE", NULL},
    {"AT_SetRelOptions", "SET", NULL},
    {"AT_ResetRelOptions", "RESET", NULL},
    {"AT_AddInherit", "INHERIT", NULL},
    {"AT_DropInherit", "NO INHERIT", NULL},
    {"AT_AttachPartition", "ATTACH PARTITION", NULL},
    {"AT_DetachPartition", "DETACH PARTITION", NULL},
    {"AT_EnableRowSecurity", "ENABLE ROW LEVEL SECURITY", NULL},
    {"AT_DisableRowSecurity", "DISABLE ROW LEVEL SECURITY", NULL},
    {"AT_ForceRowSecurity", "FORCE ROW LEVEL SECURITY", NULL},
    {"AT_NoForceRowSecurity", "NO FORCE ROW LEVEL SECURITY", NULL},
    {"AT_ReplicaIdentity", "REPLICA IDENTITY", NULL},
    {"AT_EnableTrig", "ENABLE TRIGGER", NULL},
    {"AT_DisableTrig", "DISABLE TRIGGER", NULL},
    {"AT_EnableTrigAll", NULL, NULL}, /* these four pass and do nothing: there are no triggers */
    {"AT_DisableTrigAll", NULL, NULL},
    {"AT_EnableTrigUser", NULL, NULL},
    {"AT_DisableTrigUser", NULL, NULL},
};

static void check_command(struct dsql_sql_judge *judge, struct dsql_tree command)
{
    struct dsql_tree subtype = dsql_tree_get(command, "subtype");
    for (size_t i = 0; i < DSQL_COUNT_OF(commands); i++) {
        if (!dsql_tree_is(subtype, commands[i].command))
            continue;
        if (commands[i].refused)
            dsql_sql_judge_unsupported(judge, "unsupported ALTER TABLE %s statement",
                                       commands[i].refused);
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
