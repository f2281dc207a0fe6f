#include "local/module/module.h"

#include "local/module/adjudicate.h"
#include "local/module/box.h"
#include "local/module/catalog.h"
#include "local/module/dialect.h"
#include "local/module/explain.h"
#include "local/module/indexes.h"
#include "local/module/job.h"

#include <executor/executor.h>
#include <fmgr.h>
#include <miscadmin.h>
#include <nodes/execnodes.h>
#include <nodes/nodeFuncs.h>
#include <storage/ipc.h>
#include <tcop/utility.h>
#include <utils/guc.h>

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

int dsql_row_limit = 3000;
int dsql_size_limit = 10;
int dsql_log_entries = 1 << 19;

static shmem_request_hook_type previous_request;
static shmem_startup_hook_type previous_startup;
static ProcessUtility_hook_type previous_utility;
static ExecutorStart_hook_type previous_start;
static int ddl_depth;

bool dsql_in_ddl(void)
{
    return ddl_depth > 0;
}

static void on_request(void)
{
    if (previous_request)
        previous_request();
    dsql_log_request();
}

static void on_startup(void)
{
    if (previous_startup)
        previous_startup();
    dsql_log_attach();
}

static void on_utility(PlannedStmt *asked, const char *text, bool read_only_tree,
                       ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *env,
                       DestReceiver *receiver, QueryCompletion *completion)
{
    PlannedStmt *const statement = dsql_dialect_statement(asked);
    dsql_box_check_statement(statement->utilityStmt);
    bool ddl = GetCommandLogLevel(statement->utilityStmt) == LOGSTMT_DDL;
    ProcessUtility_hook_type next = previous_utility ? previous_utility : standard_ProcessUtility;
    if (ddl)
        dsql_catalog_touch();
    ddl_depth += ddl;
    PG_TRY();
    {
        bool lends = dsql_indexes_looks_for_btree(statement->utilityStmt);
        if (lends)
            dsql_indexes_lend_name();
        next(statement, text, read_only_tree, context, params, env, receiver, completion);
        if (lends)
            dsql_indexes_take_back_name();
    }
    PG_FINALLY();
    {
        ddl_depth -= ddl;
    }
    PG_END_TRY();
    if (IsA(statement->utilityStmt, VacuumStmt) &&
        !((const VacuumStmt *)statement->utilityStmt)->is_vacuumcmd)
        dsql_job_analyzed((const VacuumStmt *)statement->utilityStmt);
}

/* A bitmap scan that needs no column may count rows without looking at them; it must look. */
static bool look_at_rows(PlanState *state, void *unused)
{
    if (!state)
        return false;
    if (IsA(state, BitmapHeapScanState))
        ((BitmapHeapScanState *)state)->can_skip_fetch = false;
    return planstate_tree_walker(state, look_at_rows, unused);
}

static void on_start(QueryDesc *query, int flags)
{
    if (previous_start)
        previous_start(query, flags);
    else
        standard_ExecutorStart(query, flags);
    (void)look_at_rows(query->planstate, NULL);
}

static void define_settings(void)
{
    DefineCustomIntVariable("dsql.row_limit", "Rows a transaction may change.", NULL,
                            &dsql_row_limit, 3000, 0, INT_MAX, PGC_POSTMASTER, 0, NULL, NULL, NULL);
    DefineCustomIntVariable("dsql.size_limit", "MiB a transaction may write.", NULL,
                            &dsql_size_limit, 10, 0, INT_MAX / 2, PGC_POSTMASTER, 0, NULL, NULL,
                            NULL);
    DefineCustomIntVariable("dsql.log_entries", "Room in the log of what was committed.", NULL,
                            &dsql_log_entries, 1 << 19, 64, 1 << 26, PGC_POSTMASTER, 0, NULL, NULL,
                            NULL);
    /* Other processes don't know what this one remembers, and an index does not know it either. */
    static const char *const fixed[][2] = {{"max_parallel_workers_per_gather", "0"},
                                           {"max_parallel_maintenance_workers", "0"},
                                           {"enable_indexonlyscan", "off"}};
    for (size_t i = 0; i < lengthof(fixed); i++)
        SetConfigOption(fixed[i][0], fixed[i][1], PGC_POSTMASTER, PGC_S_OVERRIDE);
#ifdef USE_LZ4
    /* The service takes 214 MiB of one character as a value, which is what LZ4 makes small enough.
     */
    SetConfigOption("default_toast_compression", "lz4", PGC_POSTMASTER, PGC_S_OVERRIDE);
#endif
    /* Often, for tables are small and change all the time; unless the configuration says more. */
    SetConfigOption("autovacuum_naptime", "10s", PGC_POSTMASTER, PGC_S_DYNAMIC_DEFAULT);
}

void _PG_init(void)
{
    if (!process_shared_preload_libraries_in_progress)
        return;
    dsql_gate_init();
    define_settings();
    dsql_box_init();
    dsql_dialect_init();
    dsql_explain_init();
    dsql_catalog_init();
    dsql_table_am_init();
    dsql_commit_init();
    previous_request = shmem_request_hook;
    shmem_request_hook = on_request;
    previous_startup = shmem_startup_hook;
    shmem_startup_hook = on_startup;
    previous_utility = ProcessUtility_hook;
    ProcessUtility_hook = on_utility;
    previous_start = ExecutorStart_hook;
    ExecutorStart_hook = on_start;
}
