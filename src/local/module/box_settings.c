/*
 * Settings. What PostgreSQL lets everybody change in a session and the service does not becomes a
 * superuser's: so it is refused wherever a setting can be written (SET, set_config, ALTER ROLE, a
 * function's SET clause, the startup packet), by PostgreSQL itself.
 */
#include "local/module/module.h"

#include "local/module/box.h"

#include <utils/guc.h>
#include <utils/guc_tables.h>

/* Those of sql_set.c, and what PostgreSQL itself sets on behalf of a client. */
static const char *const everybodys[] = {
    "application_name",
    "client_encoding",
    "datestyle",
    "extra_float_digits",
    "intervalstyle",
    "timezone",
    "search_path",
    "enable_bitmapscan",
    "enable_hashjoin",
    "enable_indexonlyscan",
    "enable_indexscan",
    "enable_material",
    "enable_mergejoin",
    "enable_nestloop",
    "enable_seqscan",
    "role",
    "session_authorization", /* at login; to others only by a superuser */
    "transaction_isolation", /* BEGIN */
    "transaction_read_only",
    "transaction_deferrable",
    "work_mem", /* while a foreign key is validated */
    "hash_mem_multiplier",
};

static bool is_everybodys(const char *name)
{
    for (size_t i = 0; i < lengthof(everybodys); i++)
        if (pg_strcasecmp(everybodys[i], name) == 0)
            return true;
    return false;
}

/* An index does not know what a transaction has deleted: a plan that believes it is never made. */
static bool keep_off(bool *value, void **extra, GucSource source)
{
    *value = false;
    return true;
}

void dsql_box_settings_init(void)
{
    struct config_generic **all = get_guc_variables();
    for (int i = 0; i < GetNumConfigOptions(); i++) {
        if (all[i]->context == PGC_USERSET && !is_everybodys(all[i]->name))
            all[i]->context = PGC_SUSET;
        if (strcmp(all[i]->name, "enable_indexonlyscan") == 0)
            ((struct config_bool *)all[i])->check_hook = keep_off;
    }
}
