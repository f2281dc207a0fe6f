#include "local/module/module.h"

#include "local/module/dialect.h"
#include "local/module/indexes.h"
#include "local/process/first_sql.h"

#include <access/sysattr.h>
#include <access/table.h>
#include <catalog/namespace.h>
#include <catalog/pg_class.h>
#include <catalog/pg_type.h>
#include <nodes/parsenodes.h>
#include <utils/guc.h>
#include <utils/guc_tables.h>
#include <utils/lsyscache.h>
#include <utils/rel.h>
#include <utils/relcache.h>

static char *session_id; /* of the client that this process serves */

/* A number that no one may set has itself for its limits. */
static void widen(const char *name, int value)
{
    struct config_generic **all = get_guc_variables();
    for (int i = 0; i < GetNumConfigOptions(); i++)
        if (strcmp(all[i]->name, name) == 0)
            ((struct config_int *)all[i])->max = value;
}

static void say_version(void)
{
    widen("server_version_num", DSQL_LOCAL_SERVER_VERSION_NUM);
    SetConfigOption("server_version", DSQL_LOCAL_SERVER_VERSION, PGC_INTERNAL, PGC_S_OVERRIDE);
    SetConfigOption("server_version_num", CppAsString2(DSQL_LOCAL_SERVER_VERSION_NUM), PGC_INTERNAL,
                    PGC_S_OVERRIDE);
}

/* The service has text search but no configuration, and the one it takes by default is english. */
static void say_text_search(void)
{
    SetConfigOption("default_text_search_config", "english", PGC_POSTMASTER, PGC_S_OVERRIDE);
}

/* Refuses to drop a column of the primary key; PostgreSQL would drop the key with it. */
static void check_drop_column(const RangeVar *table, const char *column)
{
    Oid relation = RangeVarGetRelid(table, NoLock, true);
    if (!OidIsValid(relation) || get_rel_relkind(relation) != RELKIND_RELATION)
        return; /* PostgreSQL says what is wrong */
    Relation rel = table_open(relation, AccessShareLock);
    Bitmapset *key = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_PRIMARY_KEY);
    AttrNumber number = get_attnum(relation, column);
    bool is_key = bms_is_member(number - FirstLowInvalidHeapAttributeNumber, key);
    table_close(rel, NoLock);
    if (is_key)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("cannot drop primary key column %s", column)));
}

/* The storage that the column's type has by itself. */
static char *default_storage(const RangeVar *table, const char *column)
{
    Oid relation = RangeVarGetRelid(table, NoLock, true);
    Oid type =
        OidIsValid(relation) ? get_atttype(relation, get_attnum(relation, column)) : InvalidOid;
    switch (OidIsValid(type) ? get_typstorage(type) : TYPSTORAGE_PLAIN) {
    case TYPSTORAGE_EXTENDED:
        return pstrdup("extended");
    case TYPSTORAGE_EXTERNAL:
        return pstrdup("external");
    case TYPSTORAGE_MAIN:
        return pstrdup("main");
    default:
        return pstrdup("plain"); /* PostgreSQL says it if there is no such column */
    }
}

/* ALL would name the triggers of foreign keys too, which are a superuser's; there are no others. */
static void change_command(const RangeVar *table, AlterTableCmd *command)
{
    if (command->subtype == AT_DropColumn)
        check_drop_column(table, command->name);
    else if (command->subtype == AT_SetStorage &&
             strcmp(strVal(command->def), DSQL_LOCAL_DEFAULT_STORAGE) == 0)
        command->def = (Node *)makeString(default_storage(table, command->name));
    else if (command->subtype == AT_EnableTrigAll)
        command->subtype = AT_EnableTrigUser;
    else if (command->subtype == AT_DisableTrigAll)
        command->subtype = AT_DisableTrigUser;
}

PlannedStmt *dsql_dialect_statement(PlannedStmt *statement)
{
    ListCell *cell;
    bool index = IsA(statement->utilityStmt, IndexStmt);
    if (!index && !IsA(statement->utilityStmt, AlterTableStmt))
        return statement;
    PlannedStmt *changed = copyObject(statement);
    if (index) {
        dsql_indexes_name_method((IndexStmt *)changed->utilityStmt);
        return changed;
    }
    const AlterTableStmt *alter = (AlterTableStmt *)changed->utilityStmt;
    foreach (cell, alter->cmds) {
        change_command(alter->relation, lfirst_node(AlterTableCmd, cell));
    }
    return changed;
}

void dsql_dialect_init(void)
{
    say_version();
    say_text_search();
    DefineCustomStringVariable(
        "dsql.session_id", "What sys.current_session_id() answers.", NULL, &session_id, "",
        PGC_USERSET, GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_DISALLOW_IN_FILE, NULL, NULL, NULL);
}
