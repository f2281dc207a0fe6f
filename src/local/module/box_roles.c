/*
 * Roles. PostgreSQL 15 lets a role with CREATEROLE, as admin is, hand out membership in every
 * role that is no superuser, those that reach files and programs among them. Here roles of
 * PostgreSQL's own (pg_*), ours (dsql_*) and superusers are neither given nor taken, nor changed,
 * and no role gets an attribute that reaches beyond the database.
 */
#include "local/module/module.h"

#include "local/module/box.h"

#include <miscadmin.h>
#include <nodes/value.h>
#include <utils/acl.h>

static void check_name(const char *name)
{
    Oid role = get_role_oid(name, true);
    if (strncmp(name, "pg_", 3) == 0 || strncmp(name, "dsql_", 5) == 0 ||
        (OidIsValid(role) && superuser_arg(role)))
        dsql_box_refuse("a change of a role of the system's");
}

static void check_role(const RoleSpec *role)
{
    if (role && role->roletype == ROLESPEC_CSTRING)
        check_name(role->rolename);
}

static void check_list(List *roles)
{
    ListCell *cell;
    foreach (cell, roles) {
        check_role(lfirst_node(RoleSpec, cell));
    }
}

static void check_options(List *options)
{
    static const char *const attributes[] = {"superuser", "isreplication", "bypassrls", "createdb"};
    static const char *const members[] = {"addroleto", "rolemembers", "adminmembers"};
    ListCell *cell;
    foreach (cell, options) {
        const DefElem *option = lfirst_node(DefElem, cell);
        for (size_t i = 0; i < lengthof(attributes); i++)
            if (strcmp(option->defname, attributes[i]) == 0 && boolVal(option->arg))
                dsql_box_refuse("a role with such an attribute");
        for (size_t i = 0; i < lengthof(members); i++)
            if (strcmp(option->defname, members[i]) == 0)
                check_list((List *)option->arg);
    }
}

static void check_grant(const GrantRoleStmt *statement)
{
    ListCell *cell;
    foreach (cell, statement->granted_roles) {
        const AccessPriv *role = lfirst_node(AccessPriv, cell);
        if (role->priv_name)
            check_name(role->priv_name);
    }
    check_list(statement->grantee_roles);
    check_role(statement->grantor);
}

/* admin is the role that everything hangs on: it keeps its name and its attributes. */
static void check_is_not_admin(const char *name)
{
    if (name && strcmp(name, "admin") == 0)
        dsql_box_refuse("a change of the role admin");
}

static void check_drop(const DropRoleStmt *statement)
{
    ListCell *cell;
    check_list(statement->roles);
    foreach (cell, statement->roles) {
        check_is_not_admin(lfirst_node(RoleSpec, cell)->rolename);
    }
}

/* ALTER GROUP ... ADD USER is this too: it changes who is a member, not the role. */
static void check_alter(const AlterRoleStmt *statement)
{
    const DefElem *first = statement->options ? linitial_node(DefElem, statement->options) : NULL;
    check_role(statement->role);
    check_options(statement->options);
    if (!first || strcmp(first->defname, "rolemembers") != 0)
        check_is_not_admin(statement->role->rolename);
}

/* A role that others get at login: PostgreSQL would only look then. */
static void check_alter_set(const AlterRoleSetStmt *statement)
{
    const char *name = statement->setstmt->name; /* NULL for RESET ALL */
    check_role(statement->role);
    if (name && (strcmp(name, "role") == 0 || strcmp(name, "session_authorization") == 0))
        dsql_box_refuse("ALTER ROLE ... SET role");
}

void dsql_box_check_roles(Node *statement)
{
    switch (nodeTag(statement)) {
    case T_GrantRoleStmt:
        check_grant((GrantRoleStmt *)statement);
        break;
    case T_CreateRoleStmt:
        check_name(((CreateRoleStmt *)statement)->role);
        check_options(((CreateRoleStmt *)statement)->options);
        break;
    case T_AlterRoleStmt:
        check_alter((AlterRoleStmt *)statement);
        break;
    case T_AlterRoleSetStmt:
        check_alter_set((AlterRoleSetStmt *)statement);
        break;
    case T_DropRoleStmt:
        check_drop((DropRoleStmt *)statement);
        break;
    case T_RenameStmt:
        if (((RenameStmt *)statement)->renameType == OBJECT_ROLE) {
            check_name(((RenameStmt *)statement)->subname);
            check_name(((RenameStmt *)statement)->newname);
            check_is_not_admin(((RenameStmt *)statement)->subname);
        }
        break;
    case T_AlterOwnerStmt:
        check_role(((AlterOwnerStmt *)statement)->newowner);
        break;
    case T_ReassignOwnedStmt:
        check_list(((ReassignOwnedStmt *)statement)->roles);
        check_role(((ReassignOwnedStmt *)statement)->newrole);
        break;
    case T_DropOwnedStmt:
        check_list(((DropOwnedStmt *)statement)->roles);
        break;
    case T_CreateSchemaStmt:
        check_role(((CreateSchemaStmt *)statement)->authrole);
        break;
    case T_AlterDefaultPrivilegesStmt:
        break; /* PostgreSQL asks for membership, which can't be had */
    default:
        break;
    }
}
