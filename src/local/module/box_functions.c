/*
 * Functions of PostgreSQL's own that read or write files, signal or promote the server, look at its
 * configuration, or take what all sessions share. PostgreSQL grants few of them to everybody; here
 * no grant helps. They are found by the names of their C functions, which no statement can change,
 * and remembered as one flag for each built-in.
 */
#include "local/module/module.h"

#include "local/module/box.h"

#include <utils/fmgrtab.h>
#include <utils/memutils.h>

enum reach { INSIDE, OUTSIDE, OTHER_SESSIONS };

static const struct {
    const char *name; /* ends in *: all that begin so */
    enum reach reach;
} rules[] = {
    {"pg_read_*", OUTSIDE},
    {"pg_ls_*", OUTSIDE},
    {"pg_stat_file*", OUTSIDE},
    {"be_lo*", OUTSIDE}, /* lo_import, lo_export and all other large objects, which the service has
                            not either */
    {"pg_reload_conf", OUTSIDE},
    {"pg_rotate_logfile*", OUTSIDE},
    {"pg_current_logfile*", OUTSIDE},
    {"pg_promote", OUTSIDE},
    {"pg_switch_wal", OUTSIDE},
    {"pg_create_*", OUTSIDE}, /* restore points and replication slots */
    {"pg_backup_*", OUTSIDE},
    {"pg_wal_replay_*", OUTSIDE},
    {"pg_copy_*", OUTSIDE}, /* of replication slots */
    {"pg_drop_replication_slot", OUTSIDE},
    {"pg_replication_*", OUTSIDE},
    {"pg_logical_*", OUTSIDE},
    {"pg_physical_*", OUTSIDE},
    {"pg_export_snapshot", OUTSIDE}, /* writes a file */
    {"pg_log_backend_memory_contexts", OUTSIDE},
    {"pg_hba_file_rules", OUTSIDE},
    {"pg_ident_file_mappings", OUTSIDE},
    {"show_all_file_settings", OUTSIDE},
    {"pg_config", OUTSIDE},
    {"pg_control_*", OUTSIDE},
    {"pg_import_system_collations", OUTSIDE}, /* runs `locale` */
    {"pg_extension_config_dump", OUTSIDE},
    {"pg_available_extension*", OUTSIDE},
    {"pg_nextoid", OUTSIDE},
    {"pg_stop_making_pinned_objects", OUTSIDE},
    {"pg_stat_reset*", OUTSIDE},
    {"pg_stat_have_stats", OUTSIDE},
    {"pg_get_backend_memory_contexts", OUTSIDE},
    {"pg_get_shmem_allocations", OUTSIDE},
    {"pg_show_replication_origin_status", OUTSIDE},
    {"binary_upgrade_*", OUTSIDE},
    {"brin_summarize_*", OUTSIDE},
    {"brin_desummarize_*", OUTSIDE},
    {"gin_clean_pending_list", OUTSIDE},
    /* All sessions share the table of locks: when one of them fills it, no client can log in. */
    {"pg_advisory_*", OUTSIDE},
    {"pg_try_advisory_*", OUTSIDE},
    /* The endpoint's own session ends statements that wait for DDL. */
    {"pg_cancel_backend", OTHER_SESSIONS},
    {"pg_terminate_backend", OTHER_SESSIONS},
};

static uint8 *reaches; /* by OID */

static bool matches(const char *pattern, const char *name)
{
    size_t len = strcspn(pattern, "*");
    return strncmp(pattern, name, len) == 0 && (pattern[len] == '*' || name[len] == '\0');
}

void dsql_box_functions_init(void)
{
    reaches = MemoryContextAllocZero(TopMemoryContext, (Size)fmgr_last_builtin_oid + 1);
    for (int i = 0; i < fmgr_nbuiltins; i++)
        for (size_t k = 0; k < lengthof(rules); k++)
            if (matches(rules[k].name, fmgr_builtins[i].funcName))
                reaches[fmgr_builtins[i].foid] = rules[k].reach;
}

void dsql_box_check_function(Oid function)
{
    if (function > fmgr_last_builtin_oid || reaches[function] == INSIDE)
        return;
    if (reaches[function] == OTHER_SESSIONS && dsql_box_is_endpoint())
        return;
    dsql_box_refuse(fmgr_builtins[fmgr_builtin_oid_index[function]].funcName);
}
