/* The table itself, and how it reads and prints. Loading is in load.c. */
#include "config/config.h"

#include "base/duration.h"

/* clang-format off */
#define OFFSET_BOOL(name)     offsetof(struct dsql_config, name)
#define OFFSET_INT(name)      offsetof(struct dsql_config, name)
#define OFFSET_DURATION(name) offsetof(struct dsql_config, name##_ns)
#define OFFSET_FRACTION(name) offsetof(struct dsql_config, name)
#define OFFSET_TEXT(name)     offsetof(struct dsql_config, name)
#define OFFSET_ADDRESS(name)  offsetof(struct dsql_config, name)
#define OFFSET_LISTEN(name)   offsetof(struct dsql_config, name)
#define OFFSET_LEVEL(name)    offsetof(struct dsql_config, name)
/* clang-format on */

#define GROUP_CONNECTION   "Connection"
#define GROUP_POOL         "Pool"
#define GROUP_RESERVOIR    "Reservoir"
#define GROUP_BUDGET       "Budget"
#define GROUP_TRANSACTIONS "Transactions"
#define GROUP_REPORTING    "Reporting"

const struct dsql_setting_info dsql_settings[DSQL_SETTING_COUNT] = {
#define DSQL_SETTING(field, type, variable, def, lowest, highest, group, doc)                      \
    {#field,  DSQL_SETTING_##type, variable, sizeof(variable) - 1, def, lowest,                    \
     highest, GROUP_##group,       doc,      OFFSET_##type(field)},
#include "config/settings.def"
#undef DSQL_SETTING
};

const struct dsql_setting_alias dsql_setting_aliases[DSQL_SETTING_ALIAS_COUNT] = {
    {DSQL_SETTING_endpoint, "CLUSTER_ENDPOINT"}, {DSQL_SETTING_region, "AWS_REGION"},
    {DSQL_SETTING_region, "AWS_DEFAULT_REGION"}, {DSQL_SETTING_region, "REGION"},
    {DSQL_SETTING_database, "PGDATABASE"},       {DSQL_SETTING_hostaddr, "PGHOSTADDR"},
    {DSQL_SETTING_ca_file, "PGSSLROOTCERT"},
};

const char *dsql_origin_name(enum dsql_origin origin)
{
    static const char *const names[] = {"default", "derived", "environment", "adjusted"};
    assert((unsigned)origin < DSQL_COUNT_OF(names));
    return names[origin];
}

const char *dsql_finding_name(enum dsql_finding_kind kind)
{
    static const char *const names[] = {"adjusted", "unknown", "error"};
    assert((unsigned)kind < DSQL_COUNT_OF(names));
    return names[kind];
}

enum dsql_setting dsql_setting_find(struct dsql_span variable)
{
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        const struct dsql_setting_info *info = &dsql_settings[i];
        if (dsql_span_eq(variable, (struct dsql_span){info->variable, info->variable_len}))
            return (enum dsql_setting)i;
    }
    for (size_t i = 0; i < DSQL_SETTING_ALIAS_COUNT; i++)
        if (dsql_span_eq(variable, dsql_span_of(dsql_setting_aliases[i].variable)))
            return dsql_setting_aliases[i].setting;
    return DSQL_SETTING_COUNT;
}

void dsql_config_value(const struct dsql_config *config, enum dsql_setting setting,
                       struct dsql_strbuf *sb)
{
    const struct dsql_setting_info *info = &dsql_settings[setting];
    const void *at = (const char *)config + info->offset;
    switch (info->type) {
    case DSQL_SETTING_BOOL:
        dsql_strbuf_add_str(sb, *(const bool *)at ? "true" : "false");
        break;
    case DSQL_SETTING_INT:
        dsql_strbuf_add_i64(sb, *(const int64_t *)at);
        break;
    case DSQL_SETTING_DURATION:
        dsql_duration_format(sb, *(const int64_t *)at);
        break;
    case DSQL_SETTING_FRACTION:
        dsql_strbuf_add_f64(sb, *(const double *)at);
        break;
    case DSQL_SETTING_TEXT:
    case DSQL_SETTING_ADDRESS:
    case DSQL_SETTING_LISTEN:
        dsql_strbuf_add_str(sb, at);
        break;
    case DSQL_SETTING_LEVEL:
        dsql_strbuf_add_str(sb, dsql_log_level_name(*(const enum dsql_log_level *)at));
        break;
    }
}

const char *dsql_setting_default(enum dsql_setting setting)
{
    const char *text = dsql_settings[setting].default_text;
    if (text[0] == '\0')
        return "(unset)";
    return text[0] == '@' ? text + 1 : text;
}

void dsql_setting_range(enum dsql_setting setting, struct dsql_strbuf *sb)
{
    const struct dsql_setting_info *info = &dsql_settings[setting];
    switch (info->type) {
    case DSQL_SETTING_BOOL:
        dsql_strbuf_add_str(sb, "true or false");
        break;
    case DSQL_SETTING_INT:
    case DSQL_SETTING_DURATION:
    case DSQL_SETTING_FRACTION:
        if (dsql_span_eq(dsql_span_of(info->lowest), dsql_span_of(info->highest)))
            dsql_strbuf_addf(sb, "%s", info->lowest);
        else
            dsql_strbuf_addf(sb, "%s to %s", info->lowest, info->highest);
        break;
    case DSQL_SETTING_TEXT:
        dsql_strbuf_addf(sb, "at most %s characters", info->highest);
        break;
    case DSQL_SETTING_ADDRESS:
        dsql_strbuf_add_str(sb, "host or host:port");
        break;
    case DSQL_SETTING_LISTEN:
        dsql_strbuf_add_str(sb, "host:port, :port or off");
        break;
    case DSQL_SETTING_LEVEL:
        dsql_strbuf_add_str(sb, "error, warn, info, debug");
        break;
    }
}
