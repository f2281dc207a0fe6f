#include "local/module/module.h"

#include "local/module/indexes.h"
#include "local/process/first_sql.h"

#include <access/htup_details.h>
#include <access/relation.h>
#include <access/table.h>
#include <access/xact.h>
#include <catalog/index.h>
#include <catalog/indexing.h>
#include <catalog/namespace.h>
#include <catalog/pg_am.h>
#include <catalog/pg_attribute.h>
#include <catalog/pg_class.h>
#include <catalog/pg_constraint.h>
#include <catalog/pg_index.h>
#include <catalog/pg_type.h>
#include <commands/defrem.h>
#include <fmgr.h>
#include <lib/stringinfo.h>
#include <nodes/nodeFuncs.h>
#include <parser/parse_expr.h>
#include <parser/parse_node.h>
#include <parser/parse_relation.h>
#include <storage/lmgr.h>
#include <utils/builtins.h>
#include <utils/lsyscache.h>
#include <utils/syscache.h>

PG_FUNCTION_INFO_V1(dsql_get_indexdef);
PG_FUNCTION_INFO_V1(dsql_get_indexdef_column);
PG_FUNCTION_INFO_V1(dsql_get_constraintdef);

void dsql_indexes_name_method(IndexStmt *statement)
{
    if (statement->accessMethod && strcmp(statement->accessMethod, DEFAULT_INDEX_TYPE) == 0)
        statement->accessMethod = pstrdup(DSQL_LOCAL_INDEX_METHOD);
}

static bool may_be_in_key(Oid type)
{
    switch (getBaseType(type)) {
    case BYTEAOID:
    case JSONOID:
    case JSONBOID:
    case INTERVALOID:
    case TIMETZOID:
        return false;
    default:
        return true; /* the others that PostgreSQL can't compare are its own to refuse */
    }
}

/* Of an expression that PostgreSQL has not looked at yet: if it finds fault with it, it says so
 * here. */
static Oid type_of_expression(Relation table, Node *expression)
{
    ParseState *parse = make_parsestate(NULL);
    ParseNamespaceItem *item =
        addRangeTableEntryForRelation(parse, table, AccessShareLock, NULL, false, true);
    addNSItemToQuery(parse, item, false, true, true);
    Oid type = exprType(transformExpr(parse, copyObject(expression), EXPR_KIND_INDEX_EXPRESSION));
    free_parsestate(parse);
    return type;
}

/* Of a column that is not there: none, PostgreSQL says so. */
static Oid type_of_element(Relation table, const IndexElem *element)
{
    if (element->expr)
        return type_of_expression(table, element->expr);
    AttrNumber number = get_attnum(RelationGetRelid(table), element->name);
    return number > 0 ? get_atttype(RelationGetRelid(table), number) : InvalidOid;
}

void dsql_indexes_check_keys(const IndexStmt *statement)
{
    ListCell *cell;
    Oid oid = RangeVarGetRelid(statement->relation, NoLock, true);
    Relation table = OidIsValid(oid) ? try_relation_open(oid, AccessShareLock) : NULL;
    foreach (cell, table && !statement->transformed ? statement->indexParams : NIL) {
        Oid type = type_of_element(table, lfirst_node(IndexElem, cell));
        if (OidIsValid(type) && !may_be_in_key(type))
            ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                            errmsg("datatype %s is not supported in a key", format_type_be(type))));
    }
    if (table)
        relation_close(table, AccessShareLock);
}

bool dsql_indexes_looks_for_btree(const Node *statement)
{
    ListCell *cell;
    if (!IsA(statement, AlterTableStmt))
        return false;
    foreach (cell, ((const AlterTableStmt *)statement)->cmds) {
        const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
        if (command->subtype == AT_AddConstraint && command->def && IsA(command->def, Constraint) &&
            ((const Constraint *)command->def)->indexname)
            return true;
    }
    return false;
}

/* The name of the method that is listed as btree, while PostgreSQL's own has that name. */
#define LISTED_BTREE_MEANWHILE "btree_meanwhile"

static void rename_method(Oid method, const char *name)
{
    Relation methods = table_open(AccessMethodRelationId, RowExclusiveLock);
    HeapTuple row = SearchSysCacheCopy1(AMOID, ObjectIdGetDatum(method));
    if (!HeapTupleIsValid(row))
        ereport(ERROR, (errmsg("there is no access method for indexes")));
    (void)namestrcpy(&((Form_pg_am)GETSTRUCT(row))->amname, name);
    CatalogTupleUpdate(methods, &row->t_self, row);
    heap_freetuple(row);
    table_close(methods, RowExclusiveLock);
    CommandCounterIncrement();
}

void dsql_indexes_lend_name(void)
{
    /* Two at once would find each other's row changed. */
    LockDatabaseObject(AccessMethodRelationId, BTREE_AM_OID, 0, ExclusiveLock);
    rename_method(get_am_oid(DEFAULT_INDEX_TYPE, false), LISTED_BTREE_MEANWHILE);
    rename_method(BTREE_AM_OID, DEFAULT_INDEX_TYPE);
}

void dsql_indexes_take_back_name(void)
{
    rename_method(BTREE_AM_OID, DSQL_LOCAL_INDEX_METHOD);
    rename_method(get_am_oid(LISTED_BTREE_MEANWHILE, false), DEFAULT_INDEX_TYPE);
}

static bool is_in_key(const FormData_pg_index *index, int number)
{
    for (int i = 0; i < index->indnkeyatts; i++)
        if (index->indkey.values[i] == number)
            return true;
    return false;
}

static int columns_of(Oid table)
{
    HeapTuple row = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
    if (!HeapTupleIsValid(row))
        return 0;
    int columns = ((const FormData_pg_class *)GETSTRUCT(row))->relnatts;
    ReleaseSysCache(row);
    return columns;
}

static void add_column(StringInfo shown, const FormData_pg_attribute *column, int before)
{
    appendStringInfo(shown, "%s%s", before == 0 ? " INCLUDE (" : ", ",
                     quote_identifier(NameStr(column->attname)));
}

/* All columns that are not in the key, as an INCLUDE; nothing if there are none. The table is not
 * locked: asking for a definition never waits. */
static void add_included(StringInfo shown, const FormData_pg_index *index)
{
    int count = 0, columns = columns_of(index->indrelid);
    for (int number = 1; number <= columns; number++) {
        HeapTuple row = SearchSysCache2(ATTNUM, ObjectIdGetDatum(index->indrelid),
                                        Int16GetDatum((int16)number));
        if (!HeapTupleIsValid(row))
            continue;
        const FormData_pg_attribute *column = (const FormData_pg_attribute *)GETSTRUCT(row);
        if (!column->attisdropped && !is_in_key(index, number))
            add_column(shown, column, count++);
        ReleaseSysCache(row);
    }
    if (count > 0)
        appendStringInfoChar(shown, ')');
}

/* The definition that PostgreSQL gives, with what the service's primary key carries. */
static Datum with_included(Oid oid, Datum definition)
{
    HeapTuple row = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(oid));
    if (!HeapTupleIsValid(row))
        return definition;
    const FormData_pg_index *index = (const FormData_pg_index *)GETSTRUCT(row);
    if (index->indisprimary) {
        StringInfoData shown;
        initStringInfo(&shown);
        appendStringInfoString(&shown, TextDatumGetCString(definition));
        add_included(&shown, index);
        definition = CStringGetTextDatum(shown.data);
    }
    ReleaseSysCache(row);
    return definition;
}

static bool exists(Oid oid)
{
    return SearchSysCacheExists1(INDEXRELID, ObjectIdGetDatum(oid));
}

/* pg_get_indexdef(oid) */
Datum dsql_get_indexdef(PG_FUNCTION_ARGS)
{
    Oid oid = PG_GETARG_OID(0);
    if (!exists(oid)) /* as PostgreSQL does */
        PG_RETURN_NULL();
    PG_RETURN_DATUM(
        with_included(oid, DirectFunctionCall1(pg_get_indexdef, ObjectIdGetDatum(oid))));
}

/* pg_get_indexdef(oid, column, pretty) */
Datum dsql_get_indexdef_column(PG_FUNCTION_ARGS)
{
    Oid oid = PG_GETARG_OID(0);
    if (!exists(oid))
        PG_RETURN_NULL();
    Datum definition = DirectFunctionCall3(pg_get_indexdef_ext, ObjectIdGetDatum(oid),
                                           PG_GETARG_DATUM(1), PG_GETARG_DATUM(2));
    PG_RETURN_DATUM(PG_GETARG_INT32(1) == 0 ? with_included(oid, definition) : definition);
}

/* pg_get_constraintdef(oid, pretty) */
Datum dsql_get_constraintdef(PG_FUNCTION_ARGS)
{
    HeapTuple row = SearchSysCache1(CONSTROID, PG_GETARG_DATUM(0));
    if (!HeapTupleIsValid(row))
        PG_RETURN_NULL();
    const FormData_pg_constraint *constraint = (const FormData_pg_constraint *)GETSTRUCT(row);
    Oid index = constraint->contype == CONSTRAINT_PRIMARY ? constraint->conindid : InvalidOid;
    ReleaseSysCache(row);
    Datum definition =
        DirectFunctionCall2(pg_get_constraintdef_ext, PG_GETARG_DATUM(0), PG_GETARG_DATUM(1));
    PG_RETURN_DATUM(OidIsValid(index) ? with_included(index, definition) : definition);
}
