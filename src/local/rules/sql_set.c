#include "local/rules/sql_set.h"

static const struct {
    const char *name;
    enum dsql_sql_setting how;
} settings[] = {
    {"application_name", DSQL_SQL_SETTING_ACCEPTED},
    {"client_encoding", DSQL_SQL_SETTING_ACCEPTED},
    {"datestyle", DSQL_SQL_SETTING_ACCEPTED},
    {"extra_float_digits", DSQL_SQL_SETTING_ACCEPTED},
    {"intervalstyle", DSQL_SQL_SETTING_ACCEPTED},
    {"timezone", DSQL_SQL_SETTING_ACCEPTED},
    {"search_path", DSQL_SQL_SETTING_ACCEPTED},
    {"enable_bitmapscan", DSQL_SQL_SETTING_ACCEPTED},
    {"enable_hashjoin", DSQL_SQL_SETTING_ACCEPTED},
    {"enable_indexonlyscan", DSQL_SQL_SETTING_ACCEPTED},
    {"enable_indexscan", DSQL_SQL_SETTING_ACCEPTED},
    {"enable_material", DSQL_SQL_SETTING_ACCEPTED},
    {"enable_mergejoin", DSQL_SQL_SETTING_ACCEPTED},
    {"enable_nestloop", DSQL_SQL_SETTING_ACCEPTED},
    {"enable_seqscan", DSQL_SQL_SETTING_ACCEPTED},
    {"dsql.enable_batched_nestloop", DSQL_SQL_SETTING_FRONT},
    {"disable_sync_create_index", DSQL_SQL_SETTING_FRONT},
    {"role", DSQL_SQL_SETTING_LOCAL_ONLY},
};

enum dsql_sql_setting dsql_sql_setting(struct dsql_span name)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(settings); i++)
        if (dsql_span_eq_nocase(name, dsql_span_of(settings[i].name)))
            return settings[i].how;
    return DSQL_SQL_SETTING_REFUSED;
}

void dsql_sql_setting_refuse(struct dsql_span name, struct dsql_sql_refusal *refusal)
{
    enum { SHOWN_MAX = 128 }; /* of a name of the client's */
    if (name.len > SHOWN_MAX)
        name.len = SHOWN_MAX;
    dsql_sql_refuse(refusal, "0A000", "setting configuration parameter \"%.*s\" not supported",
                    DSQL_SPAN_ARG(name));
}

bool dsql_sql_setting_check_startup(struct dsql_span name, struct dsql_sql_refusal *refusal)
{
    switch (dsql_sql_setting(name)) {
    case DSQL_SQL_SETTING_ACCEPTED:
    case DSQL_SQL_SETTING_FRONT:
        return true;
    case DSQL_SQL_SETTING_REFUSED:
    case DSQL_SQL_SETTING_LOCAL_ONLY:
        break;
    }
    dsql_sql_setting_refuse(name, refusal);
    return false;
}
