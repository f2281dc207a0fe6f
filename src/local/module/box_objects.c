/*
 * A second look behind box.c, at what happens to the catalogue and not at the statement that asks
 * for it: functions in other languages than SQL, and objects of kinds that no client has. Rows of
 * the catalogue need none: PostgreSQL lets only a superuser write them, and clients have no way to
 * become one.
 */
#include "local/module/module.h"

#include "local/module/box.h"

#include <access/genam.h>
#include <access/htup_details.h>
#include <access/table.h>
#include <catalog/indexing.h>
#include <catalog/objectaccess.h>
#include <catalog/pg_am.h>
#include <catalog/pg_cast.h>
#include <catalog/pg_conversion.h>
#include <catalog/pg_database.h>
#include <catalog/pg_event_trigger.h>
#include <catalog/pg_extension.h>
#include <catalog/pg_foreign_data_wrapper.h>
#include <catalog/pg_foreign_server.h>
#include <catalog/pg_language.h>
#include <catalog/pg_largeobject.h>
#include <catalog/pg_opclass.h>
#include <catalog/pg_operator.h>
#include <catalog/pg_opfamily.h>
#include <catalog/pg_proc.h>
#include <catalog/pg_publication.h>
#include <catalog/pg_subscription.h>
#include <catalog/pg_tablespace.h>
#include <catalog/pg_transform.h>
#include <catalog/pg_user_mapping.h>
#include <miscadmin.h>
#include <utils/fmgroids.h>
#include <utils/snapmgr.h>

static object_access_hook_type previous_access;

static bool is_closed_class(Oid class_id)
{
    static const Oid closed[] = {
        AccessMethodRelationId,  CastRelationId,         ConversionRelationId,
        DatabaseRelationId,      EventTriggerRelationId, ExtensionRelationId,
        LanguageRelationId,      LargeObjectRelationId,  ForeignDataWrapperRelationId,
        OperatorRelationId,      UserMappingRelationId,  ForeignServerRelationId,
        OperatorClassRelationId, PublicationRelationId,  OperatorFamilyRelationId,
        SubscriptionRelationId,  TableSpaceRelationId,   TransformRelationId,
    };
    for (size_t i = 0; i < lengthof(closed); i++)
        if (closed[i] == class_id)
            return true;
    return false;
}

/* Reads the row of a function that this very command has written. */
static void check_written_function(Oid function)
{
    Relation procs = table_open(ProcedureRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_proc_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(function));
    SysScanDesc scan = systable_beginscan(procs, ProcedureOidIndexId, true, SnapshotSelf, 1, &key);
    HeapTuple row = systable_getnext(scan);
    bool good = HeapTupleIsValid(row) && ((Form_pg_proc)GETSTRUCT(row))->prolang == SQLlanguageId &&
                !superuser_arg(((Form_pg_proc)GETSTRUCT(row))->proowner);
    systable_endscan(scan);
    table_close(procs, AccessShareLock);
    if (!good)
        dsql_box_refuse("such a function");
}

static void on_access(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id, void *arg)
{
    if (previous_access)
        previous_access(access, class_id, object_id, sub_id, arg);
    switch (access) {
    case OAT_FUNCTION_EXECUTE:
        dsql_box_check_function(object_id);
        break;
    case OAT_POST_CREATE:
    case OAT_POST_ALTER:
        if (is_closed_class(class_id))
            dsql_box_refuse("a change of the system");
        if (class_id == ProcedureRelationId)
            check_written_function(object_id);
        break;
    case OAT_DROP:
        if (is_closed_class(class_id))
            dsql_box_refuse("a change of the system");
        break;
    case OAT_NAMESPACE_SEARCH:
    case OAT_TRUNCATE:
        break;
    }
}

void dsql_box_objects_init(void)
{
    previous_access = object_access_hook;
    object_access_hook = on_access;
}
