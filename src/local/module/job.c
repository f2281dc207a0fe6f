/*
 * dsql_run_job(ddl, slow, fails): what stands in for CREATE INDEX ASYNC and ALTER TABLE ASYNC
 * ... VALIDATE CONSTRAINT. Every client may call it, with any argument: the text must be exactly
 * one such statement, which runs with the caller's rights and nothing more. All that the job's row
 * says is read from the statement. The row is written as the superuser, by statements that are
 * fixed here; nothing that can be called from SQL writes one.
 */
#include "local/module/module.h"

#include "local/module/job.h"
#include "local/process/base32_id.h"
#include "local/process/first_sql.h"

#include <access/htup_details.h>
#include <access/relation.h>
#include <access/table.h>
#include <access/xact.h>
#include <catalog/indexing.h>
#include <catalog/namespace.h>
#include <catalog/pg_authid.h>
#include <catalog/pg_class.h>
#include <catalog/pg_index.h>
#include <catalog/pg_type.h>
#include <executor/spi.h>
#include <fmgr.h>
#include <miscadmin.h>
#include <nodes/parsenodes.h>
#include <parser/parser.h>
#include <tcop/dest.h>
#include <tcop/utility.h>
#include <utils/acl.h>
#include <utils/builtins.h>
#include <utils/inval.h>
#include <utils/lsyscache.h>
#include <utils/rel.h>
#include <utils/relcache.h>
#include <utils/resowner.h>
#include <utils/snapmgr.h>
#include <utils/syscache.h>
#include <utils/timestamp.h>

struct job {
    const char *kind, *tag;
    RangeVar *table;
    IndexStmt *index; /* of a build */
};

/* How a job ends. */
struct ending {
    Oid object;          /* the index, or the table */
    Oid built;           /* an index that is not to be valid yet */
    bool fails;          /* its build fails, later */
    const char *details; /* why the job has failed, at once */
};

static struct job read_job(const char *ddl)
{
    List *statements = raw_parser(ddl, RAW_PARSE_DEFAULT);
    Node *first = list_length(statements) == 1 ? linitial_node(RawStmt, statements)->stmt : NULL;
    if (first && IsA(first, IndexStmt))
        return (struct job){"INDEX_BUILD", "CREATE INDEX", ((IndexStmt *)first)->relation,
                            (IndexStmt *)first};
    if (first && IsA(first, AlterTableStmt)) {
        const AlterTableStmt *alter = (AlterTableStmt *)first;
        if (alter->objtype == OBJECT_TABLE && list_length(alter->cmds) == 1 &&
            linitial_node(AlterTableCmd, alter->cmds)->subtype == AT_ValidateConstraint)
            return (struct job){"VALIDATE_CONSTRAINT", "ALTER TABLE", alter->relation, NULL};
    }
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("a job is one CREATE INDEX or one VALIDATE CONSTRAINT")));
}

/* The indexes of the table; none if it is not there: then the statement says so. */
static List *indexes_of(const RangeVar *table, Oid *relation)
{
    List *indexes = NIL;
    *relation = RangeVarGetRelid(table, NoLock, true);
    Relation rel = OidIsValid(*relation) ? try_relation_open(*relation, AccessShareLock) : NULL;
    if (rel && rel->rd_rel->relkind == RELKIND_RELATION)
        indexes = list_copy(RelationGetIndexList(rel));
    if (rel)
        relation_close(rel, AccessShareLock);
    return indexes;
}

static void make_id(char *id)
{
    unsigned char bytes[DSQL_BASE32_ID_BYTES];
    if (!pg_strong_random(bytes, sizeof(bytes)))
        ereport(ERROR, (errmsg("no randomness")));
    dsql_base32_id(bytes, id);
}

PGDLLEXPORT Datum dsql_job_id(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_job_id);
Datum dsql_job_id(PG_FUNCTION_ARGS)
{
    char id[DSQL_BASE32_ID_LEN + 1];
    make_id(id);
    PG_RETURN_TEXT_P(cstring_to_text(id));
}

/* The index is there, and no query may use it, or not yet. like: the index that was asked for, of
 * which this one had to be built as one that is not unique. */
static void mark_not_valid(Oid index, const IndexStmt *like)
{
    Relation rows = table_open(IndexRelationId, RowExclusiveLock);
    HeapTuple row = SearchSysCacheCopy1(INDEXRELID, ObjectIdGetDatum(index));
    if (!HeapTupleIsValid(row))
        elog(ERROR, "an index that was just built is gone");
    ((Form_pg_index)GETSTRUCT(row))->indisvalid = false;
    if (like) {
        ((Form_pg_index)GETSTRUCT(row))->indisunique = true;
        ((Form_pg_index)GETSTRUCT(row))->indnullsnotdistinct = like->nulls_not_distinct;
    }
    CatalogTupleUpdate(rows, &row->t_self, row);
    CacheInvalidateRelcacheByRelid(((Form_pg_index)GETSTRUCT(row))->indrelid);
    heap_freetuple(row);
    table_close(rows, RowExclusiveLock);
}

/* schema.name */
static Datum qualified(Oid relation)
{
    return CStringGetTextDatum(quote_qualified_identifier(
        get_namespace_name(get_rel_namespace(relation)), get_rel_name(relation)));
}

/* Statements with nothing in them to be looked up by name but tables of sys. What is done has no
 * name any more, what is not has no time of a change. */
static void write_rows(const struct job *job, const char *id, const struct ending *ending)
{
    static const char jobs[] = "insert into sys.jobs values ($1, $2, $3, $4, $5, $6, $7,"
                               " date_trunc('second', $8), date_trunc('second', $9))";
    static const char builds[] = "insert into sys.dsql_builds values ($1, $2, $3, $4)";
    Oid types[] = {TEXTOID, TEXTOID, TEXTOID,        TEXTOID,       OIDOID,
                   OIDOID,  TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID};
    bool waits = OidIsValid(ending->built);
    const char *status = waits ? "submitted" : ending->details ? "failed" : "completed";
    Datum values[] = {
        CStringGetTextDatum(id),
        CStringGetTextDatum(status),
        ending->details ? CStringGetTextDatum(ending->details) : (Datum)0,
        CStringGetTextDatum(job->kind),
        ObjectIdGetDatum(RelationRelationId),
        ObjectIdGetDatum(ending->object),
        waits ? qualified(ending->object) : (Datum)0,
        TimestampTzGetDatum(GetCurrentTransactionStartTimestamp()),
        TimestampTzGetDatum(GetCurrentTimestamp()),
    };
    const char *nulls = waits ? "  n     n" : ending->details ? "      n  " : "  n   n  ";
    if (SPI_execute_with_args(jobs, lengthof(types), types, values, nulls, false, 0) !=
        SPI_OK_INSERT)
        elog(ERROR, "the job could not be written");
    if (!waits)
        return;
    Oid build_types[] = {TEXTOID, OIDOID, TIMESTAMPTZOID, BOOLOID};
    Datum build_values[] = {values[0], ObjectIdGetDatum(ending->built), values[8],
                            BoolGetDatum(ending->fails)};
    if (SPI_execute_with_args(builds, lengthof(build_types), build_types, build_values, NULL, false,
                              0) != SPI_OK_INSERT)
        elog(ERROR, "the build could not be written");
    mark_not_valid(ending->built, NULL);
}

/* An error undoes the change of user too. */
static void record(const struct job *job, const char *id, const struct ending *ending)
{
    Oid user;
    int context;
    GetUserIdAndSecContext(&user, &context);
    SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID,
                           context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
    write_rows(job, id, ending);
    SetUserIdAndSecContext(user, context);
}

void dsql_job_analyzed(const VacuumStmt *statement)
{
    const struct job job = {"ANALYZE", "ANALYZE", NULL, NULL};
    ListCell *cell;
    /* ANALYZE may have ended the snapshot that was there. */
    PushActiveSnapshot(GetTransactionSnapshot());
    SPI_connect();
    foreach (cell, statement->rels) {
        char id[DSQL_BASE32_ID_LEN + 1];
        Oid table = RangeVarGetRelid(lfirst_node(VacuumRelation, cell)->relation, NoLock, true);
        if (!OidIsValid(table) || !pg_class_ownercheck(table, GetUserId()))
            continue; /* it was not analyzed */
        make_id(id);
        record(&job, id, &(struct ending){.object = table});
    }
    SPI_finish();
    PopActiveSnapshot();
}

/* By this the front finds errors whose place is not the client's business. */
static void add_context(void *unused)
{
    errcontext("dsql_run_job");
}

/* What the table's rows can do to a job, and not to its statement. The catalogue's rows fail the
 * statement: somebody else makes an index of that name. */
static bool fails_the_job(const ErrorData *error)
{
    bool of_rows = error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION ||
                   error->sqlerrcode == ERRCODE_CHECK_VIOLATION ||
                   error->sqlerrcode == ERRCODE_FOREIGN_KEY_VIOLATION;
    return of_rows && error->schema_name && strcmp(error->schema_name, "pg_catalog") != 0;
}

/* Runs the statement; or says why its job fails, which has changed nothing then. */
static const char *run(const char *ddl)
{
    MemoryContext memory = CurrentMemoryContext;
    ResourceOwner owner = CurrentResourceOwner;
    ErrorData *volatile error = NULL;
    BeginInternalSubTransaction(NULL);
    PG_TRY();
    {
        if (SPI_execute(ddl, false, 0) != SPI_OK_UTILITY)
            elog(ERROR, "the job could not be run");
        ReleaseCurrentSubTransaction();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(memory);
        error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(memory);
    CurrentResourceOwner = owner;
    if (error && !fails_the_job(error))
        ReThrowError(error);
    return error ? error->message : NULL;
}

/* A unique index over rows that are not: it stays, and is enforced, but not valid. It is built as
 * one that is not unique, for PostgreSQL would not build it otherwise. */
static void build_failed_index(const struct job *job, const char *ddl)
{
    PlannedStmt *statement = makeNode(PlannedStmt);
    IndexStmt *index = copyObject(job->index);
    index->unique = false;
    index->nulls_not_distinct = false;
    statement->commandType = CMD_UTILITY;
    statement->utilityStmt = (Node *)index;
    statement->stmt_location = -1;
    ProcessUtility(statement, ddl, false, PROCESS_UTILITY_QUERY, NULL, NULL, None_Receiver, NULL);
}

PGDLLEXPORT Datum dsql_run_job(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_run_job);
Datum dsql_run_job(PG_FUNCTION_ARGS)
{
    char *ddl = text_to_cstring(PG_GETARG_TEXT_PP(0));
    bool slow = PG_GETARG_BOOL(1), fails = PG_GETARG_BOOL(2);
    char id[DSQL_BASE32_ID_LEN + 1];
    Oid relation, same;
    ErrorContextCallback context = {.previous = error_context_stack, .callback = add_context};
    error_context_stack = &context;
    struct job job = read_job(ddl);
    List *before = indexes_of(job.table, &relation);
    SPI_connect();
    const char *details = run(ddl);
    if (details && job.index) {
        details = "found duplicate key(s) while validating index uniqueness";
        build_failed_index(&job, ddl);
    }
    CommandCounterIncrement();
    List *added = list_difference_oid(indexes_of(job.table, &same), before);
    Oid index = added && same == relation ? linitial_oid(added) : InvalidOid;
    if (details && OidIsValid(index))
        mark_not_valid(index, job.index);
    make_id(id);
    record(&job, id,
           &(struct ending){.object = OidIsValid(index) ? index : relation,
                            .built = !details && (slow || fails) ? index : InvalidOid,
                            .fails = fails,
                            .details = details});
    SPI_finish();
    ereport(NOTICE, (errmsg_internal(DSQL_LOCAL_TAG_NOTICE "%s", job.tag)));
    error_context_stack = context.previous;
    PG_RETURN_TEXT_P(cstring_to_text(id));
}
