/*
 * Settings. What PostgreSQL lets everybody change in a session and the service does not becomes a
 * superuser's: so it is refused wherever a setting can be written (SET, set_config, ALTER ROLE, a
 * function's SET clause, the startup packet), by PostgreSQL itself.
 */
#include "local/module/module.h"

#include "local/module/box.h"

#include <fmgr.h>
#include <miscadmin.h>
#include <utils/builtins.h>
#include <utils/guc.h>
#include <utils/guc_tables.h>

/* Those of sql_set.c. */
static const char *const clients[] = {
    "application_name", "client_encoding",
    "datestyle",        "extra_float_digits",
    "intervalstyle",    "timezone",
    "search_path",      "enable_bitmapscan",
    "enable_hashjoin",  "enable_indexonlyscan",
    "enable_indexscan", "enable_material",
    "enable_mergejoin", "enable_nestloop",
    "enable_seqscan",   "role",
};

/* What PostgreSQL itself sets on behalf of a client. */
static const char *const on_behalf[] = {
    "session_authorization", /* at login; to others only by a superuser */
    "transaction_isolation", /* BEGIN */
    "transaction_read_only",
    "transaction_deferrable",
    "default_transaction_read_only", /* SET SESSION CHARACTERISTICS */
    "work_mem",                      /* while a foreign key is validated */
    "hash_mem_multiplier",
};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pg_strcasecmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_clients(const char *name)
{
    return is_one_of(name, clients, lengthof(clients));
}

static bool is_everybodys(const char *name)
{
    return is_clients(name) || is_one_of(name, on_behalf, lengthof(on_behalf));
}

/* The front's settings, and what it keeps for itself. */
static bool is_front(const char *name)
{
    return pg_strncasecmp(name, "dsql.", strlen("dsql.")) == 0 ||
           pg_strcasecmp(name, "disable_sync_create_index") == 0;
}

PGDLLEXPORT Datum dsql_set_config(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_set_config);
/* set_config(), in the service's words. A name that stands in the statement is judged by the front,
 * one that is computed or stands in a function is judged here. */
Datum dsql_set_config(PG_FUNCTION_ARGS)
{
    const char *name = PG_ARGISNULL(0) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(0));
    bool local = !PG_ARGISNULL(2) && PG_GETARG_BOOL(2);
    bool mine = is_front(name) || (is_clients(name) && (local || pg_strcasecmp(name, "role") != 0));
    if (!PG_ARGISNULL(0) && !superuser() && !mine)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("setting configuration parameter \"%s\" not supported", name)));
    return set_config_by_name(fcinfo);
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
