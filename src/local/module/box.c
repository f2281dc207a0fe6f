#include "local/module/module.h"

#include "local/module/box.h"

#include <catalog/pg_class.h>
#include <miscadmin.h>
#include <nodes/value.h>
#include <parser/parser.h>
#include <tcop/utility.h>

/* Whether sessions are confined: not in single-user mode. */
static bool is_closed(void)
{
    return IsPostmasterEnvironment;
}

bool dsql_box_is_endpoint(void)
{
    return MyProcPort && superuser_arg(GetAuthenticatedUserId()) && superuser();
}

void dsql_box_refuse(const char *what)
{
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("permission denied: %s is not possible in dsql local", what)));
}

/* The statements that the front lets pass: no others are meant to get here. */
static bool is_known(NodeTag tag)
{
    static const NodeTag known[] = {
        T_TransactionStmt,
        T_VariableSetStmt,
        T_VariableShowStmt,
        T_CopyStmt,
        T_PrepareStmt,
        T_ExecuteStmt,
        T_DeallocateStmt,
        T_CallStmt,
        T_ExplainStmt,
        T_VacuumStmt,
        T_ConstraintsSetStmt,
        T_CreateStmt,
        T_AlterTableStmt,
        T_IndexStmt,
        T_ViewStmt,
        T_CreateSchemaStmt,
        T_CreateSeqStmt,
        T_AlterSeqStmt,
        T_CreateDomainStmt,
        T_AlterDomainStmt,
        T_CreateFunctionStmt,
        T_AlterFunctionStmt,
        T_DropStmt,
        T_RenameStmt,
        T_GrantStmt,
        T_GrantRoleStmt,
        T_AlterDefaultPrivilegesStmt,
        T_CreateRoleStmt,
        T_AlterRoleStmt,
        T_AlterRoleSetStmt,
        T_DropRoleStmt,
        T_DropOwnedStmt,
        T_ReassignOwnedStmt,
        T_AlterOwnerStmt,
        T_AlterObjectSchemaStmt,
        T_CommentStmt,
        T_CreateStatsStmt,
        T_AlterStatsStmt,
    };
    for (size_t i = 0; i < lengthof(known); i++)
        if (known[i] == tag)
            return true;
    return false;
}

/* What is temporary is found before what has its name in the catalogue. */
static void check_relation(const RangeVar *relation)
{
    if (relation->relpersistence == RELPERSISTENCE_TEMP ||
        (relation->schemaname && strncmp(relation->schemaname, "pg_temp", 7) == 0))
        dsql_box_refuse("a temporary relation");
}

/* A table of the heap takes no part in the comparison at COMMIT: a session that writes there waits
 * for others.
 */
static void check_table(const CreateStmt *table)
{
    check_relation(table->relation);
    if (table->accessMethod)
        dsql_box_refuse("CREATE TABLE ... USING");
    if (table->tablespacename)
        dsql_box_refuse("TABLESPACE");
}

static void check_alter_table(const AlterTableStmt *statement)
{
    ListCell *cell;
    foreach (cell, statement->cmds) {
        const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
        if (command->subtype == AT_SetAccessMethod)
            dsql_box_refuse("SET ACCESS METHOD");
        if (command->subtype == AT_SetTableSpace)
            dsql_box_refuse("SET TABLESPACE");
    }
}

/* PostgreSQL asks for more only when it runs; what can't be right is refused where it is written.
 */
static void check_set(const VariableSetStmt *statement)
{
    if (statement->kind == VAR_SET_VALUE && strcmp(statement->name, "session_authorization") == 0)
        dsql_box_refuse("SET SESSION AUTHORIZATION");
}

static void check_body(const char *body)
{
    ListCell *cell;
    check_stack_depth(); /* a body may make a function */
    foreach (cell, raw_parser(body, RAW_PARSE_DEFAULT)) {
        Node *statement = lfirst_node(RawStmt, cell)->stmt;
        switch (nodeTag(statement)) {
        case T_SelectStmt:
        case T_InsertStmt:
        case T_UpdateStmt:
        case T_DeleteStmt:
            break;
        default:
            dsql_box_check_statement(statement);
        }
    }
}

/* Only LANGUAGE sql: the body is then text that comes through here again when it runs. */
static void check_function(const CreateFunctionStmt *statement)
{
    const char *language = "sql";
    List *as = NIL;
    ListCell *cell;
    foreach (cell, statement->options) {
        const DefElem *option = lfirst_node(DefElem, cell);
        if (strcmp(option->defname, "language") == 0)
            language = strVal(option->arg);
        else if (strcmp(option->defname, "as") == 0)
            as = (List *)option->arg;
        else if (strcmp(option->defname, "support") == 0 ||
                 strcmp(option->defname, "transform") == 0)
            dsql_box_refuse("such a function");
    }
    if (pg_strcasecmp(language, "sql") != 0)
        dsql_box_refuse("a function that is not in LANGUAGE sql");
    if (list_length(as) == 1)
        check_body(strVal(linitial(as)));
}

void dsql_box_check_statement(Node *statement)
{
    if (!is_closed())
        return;
    if (!is_known(nodeTag(statement)))
        dsql_box_refuse(GetCommandTagName(CreateCommandTag(statement)));
    switch (nodeTag(statement)) {
    case T_CopyStmt:
        if (((CopyStmt *)statement)->filename || ((CopyStmt *)statement)->is_program)
            dsql_box_refuse("COPY with a file or program");
        break;
    case T_VariableSetStmt:
        check_set((VariableSetStmt *)statement);
        break;
    case T_VacuumStmt:
        if (((VacuumStmt *)statement)->is_vacuumcmd && !dsql_box_is_endpoint())
            dsql_box_refuse("VACUUM");
        break;
    case T_CreateStmt:
        check_table((CreateStmt *)statement);
        break;
    case T_ViewStmt:
        check_relation(((ViewStmt *)statement)->view);
        break;
    case T_CreateSeqStmt:
        check_relation(((CreateSeqStmt *)statement)->sequence);
        break;
    case T_AlterTableStmt:
        check_alter_table((AlterTableStmt *)statement);
        break;
    case T_IndexStmt:
        if (((IndexStmt *)statement)->tableSpace)
            dsql_box_refuse("TABLESPACE");
        break;
    case T_CreateFunctionStmt:
        check_function((CreateFunctionStmt *)statement);
        break;
    default:
        dsql_box_check_roles(statement);
    }
}

void dsql_box_init(void)
{
    if (!is_closed())
        return;
    dsql_box_functions_init();
    dsql_box_objects_init();
    dsql_box_settings_init();
}
