#include "local/module/module.h"

#include "local/module/dialect.h"
#include "local/module/indexes.h"
#include "local/process/first_sql.h"

#include <access/htup_details.h>
#include <access/sysattr.h>
#include <access/table.h>
#include <catalog/namespace.h>
#include <catalog/pg_class.h>
#include <catalog/pg_constraint.h>
#include <catalog/pg_type.h>
#include <nodes/parsenodes.h>
#include <parser/parse_type.h>
#include <utils/guc.h>
#include <utils/guc_tables.h>
#include <utils/lsyscache.h>
#include <utils/rel.h>
#include <utils/relcache.h>
#include <utils/syscache.h>

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

/* NUMERIC without a size is NUMERIC(18,6) as a column's type. */
static void size_numeric(const ColumnDef *column)
{
    enum { PRECISION = 18, SCALE = 6 };
    TypeName *type = column->typeName;
    if (!type || type->typmods || type->arrayBounds || type->pct_type || !type->names)
        return;
    if (strcmp(strVal(llast(type->names)), "numeric") != 0)
        return;
    const int sizes[] = {PRECISION, SCALE};
    for (size_t i = 0; i < lengthof(sizes); i++) {
        A_Const *size = makeNode(A_Const);
        size->val.ival.type = T_Integer;
        size->val.ival.ival = sizes[i];
        size->location = -1;
        type->typmods = lappend(type->typmods, size);
    }
}

/* A column that can be compressed says with what: lz4, which is what is done by default, too. */
static void say_compression(ColumnDef *column)
{
#ifdef USE_LZ4
    Type type = column->typeName ? LookupTypeName(NULL, column->typeName, NULL, true) : NULL;
    if (!type)
        return; /* PostgreSQL says what is wrong */
    if (!column->compression && TypeIsToastable(typeTypeId(type)))
        column->compression = pstrdup("lz4");
    ReleaseSysCache(type);
#endif
}

static void change_column(ColumnDef *column)
{
    size_numeric(column);
    say_compression(column);
}

static void change_columns(const CreateStmt *table)
{
    ListCell *cell;
    foreach (cell, table->tableElts) {
        if (IsA(lfirst(cell), ColumnDef))
            change_column(lfirst_node(ColumnDef, cell));
    }
}

/* Refuses to drop the primary key. */
static void check_drop_constraint(const RangeVar *table, const char *constraint)
{
    Oid relation = RangeVarGetRelid(table, NoLock, true);
    Oid found =
        OidIsValid(relation) ? get_relation_constraint_oid(relation, constraint, true) : InvalidOid;
    HeapTuple row = SearchSysCache1(CONSTROID, ObjectIdGetDatum(found));
    if (!HeapTupleIsValid(row))
        return; /* PostgreSQL says what is wrong */
    bool is_key = ((Form_pg_constraint)GETSTRUCT(row))->contype == CONSTRAINT_PRIMARY;
    ReleaseSysCache(row);
    if (is_key)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("unsupported ALTER TABLE DROP CONSTRAINT statement")));
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
    else if (command->subtype == AT_DropConstraint)
        check_drop_constraint(table, command->name);
    else if (command->subtype == AT_AddColumn)
        change_column(castNode(ColumnDef, command->def));
    else if (command->subtype == AT_SetStorage &&
             strcmp(strVal(command->def), DSQL_LOCAL_DEFAULT_STORAGE) == 0)
        command->def = (Node *)makeString(default_storage(table, command->name));
    else if (command->subtype == AT_EnableTrigAll)
        command->subtype = AT_EnableTrigUser;
    else if (command->subtype == AT_DisableTrigAll)
        command->subtype = AT_DisableTrigUser;
}

/* Statistics without a name, which PostgreSQL 16 has: 15 chooses one too, if it is asked to. */
static void forget_name(CreateStatsStmt *statistics)
{
    if (list_length(statistics->defnames) == 1 &&
        strcmp(strVal(linitial(statistics->defnames)), DSQL_LOCAL_UNNAMED_STATISTICS) == 0)
        statistics->defnames = NIL;
}

PlannedStmt *dsql_dialect_statement(PlannedStmt *statement)
{
    ListCell *cell;
    NodeTag tag = nodeTag(statement->utilityStmt);
    if (tag != T_IndexStmt && tag != T_CreateStmt && tag != T_AlterTableStmt &&
        tag != T_CreateStatsStmt)
        return statement;
    PlannedStmt *changed = copyObject(statement);
    if (tag == T_CreateStatsStmt) {
        forget_name((CreateStatsStmt *)changed->utilityStmt);
        return changed;
    }
    if (tag == T_IndexStmt) {
        dsql_indexes_check_keys((IndexStmt *)changed->utilityStmt);
        dsql_indexes_name_method((IndexStmt *)changed->utilityStmt);
        return changed;
    }
    if (tag == T_CreateStmt) {
        change_columns((CreateStmt *)changed->utilityStmt);
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
