/*
 * config: the one table of settings. Environment in, a valid configuration out, always, plus a
 * report of everything that was not as it should be. Prints itself for `dsql config`, `dsql help
 * config` and the reference docs. It does not read the environment on its own and logs nothing.
 * settings.def has the rows, table.c makes the table of them, load.c reads, rules.c says what
 * depends on several settings.
 */
#ifndef DSQL_CONFIG_CONFIG_H
#define DSQL_CONFIG_CONFIG_H

#include "base/log.h"
#include "base/shown.h"
#include "base/strbuf.h"

enum { DSQL_CONFIG_TEXT_MAX = 256 };

struct dsql_config {
#define FIELD_BOOL(name)                                                      bool name;
#define FIELD_INT(name)                                                       int64_t name;
#define FIELD_DURATION(name)                                                  int64_t name##_ns;
#define FIELD_FRACTION(name)                                                  double name;
#define FIELD_TEXT(name)                                                      char name[DSQL_CONFIG_TEXT_MAX];
#define FIELD_ADDRESS(name)                                                   char name[DSQL_CONFIG_TEXT_MAX];
#define FIELD_LISTEN(name)                                                    char name[DSQL_CONFIG_TEXT_MAX];
#define FIELD_LEVEL(name)                                                     enum dsql_log_level name;
#define DSQL_SETTING(field, type, variable, def, lowest, highest, group, doc) FIELD_##type(field)
#include "config/settings.def"
#undef DSQL_SETTING
};

enum dsql_setting {
#define DSQL_SETTING(field, type, variable, def, lowest, highest, group, doc) DSQL_SETTING_##field,
#include "config/settings.def"
#undef DSQL_SETTING
    DSQL_SETTING_COUNT
};

enum dsql_setting_type {
    DSQL_SETTING_BOOL,
    DSQL_SETTING_INT,
    DSQL_SETTING_DURATION,
    DSQL_SETTING_FRACTION,
    DSQL_SETTING_TEXT,
    DSQL_SETTING_ADDRESS, /* where to connect to; one that can't be used is an error */
    DSQL_SETTING_LISTEN,  /* where to listen: "host:port", or "off" */
    DSQL_SETTING_LEVEL,
};

struct dsql_setting_info {
    const char *field;
    enum dsql_setting_type type;
    const char *variable;
    size_t variable_len;
    const char *default_text; /* starts with '@' when it follows another setting */
    const char *lowest, *highest;
    const char *group;
    const char *doc;
    size_t offset; /* of the field in struct dsql_config */
};
extern const struct dsql_setting_info dsql_settings[DSQL_SETTING_COUNT];

/* Other names a setting is read from when its own is not set, in this order. */
struct dsql_setting_alias {
    enum dsql_setting setting;
    const char *variable;
};
enum { DSQL_SETTING_ALIAS_COUNT = 7 };
extern const struct dsql_setting_alias dsql_setting_aliases[DSQL_SETTING_ALIAS_COUNT];

/* Where a value came from. */
enum dsql_origin {
    DSQL_ORIGIN_DEFAULT,
    DSQL_ORIGIN_DERIVED,  /* follows another setting */
    DSQL_ORIGIN_ENV,      /* as the variable says */
    DSQL_ORIGIN_ADJUSTED, /* the variable was unusable; a finding says why */
};
const char *dsql_origin_name(enum dsql_origin origin);

enum dsql_finding_kind {
    DSQL_FINDING_ADJUSTED, /* another value is used */
    DSQL_FINDING_UNKNOWN,  /* a DSQL_* variable that is no setting */
    DSQL_FINDING_ERROR,    /* nothing may start with this configuration */
    DSQL_FINDING_KIND_COUNT
};
const char *dsql_finding_name(enum dsql_finding_kind kind);

struct dsql_finding {
    enum dsql_finding_kind kind;
    char variable[sizeof(struct dsql_shown)];
    char message[320]; /* the whole story, variable included */
};

enum { DSQL_FINDINGS_MAX = 64 };

struct dsql_config_report {
    struct {
        enum dsql_origin origin;
        const char *variable; /* the name it was read from; NULL if none. Static storage. */
    } source[DSQL_SETTING_COUNT];
    struct dsql_finding findings[DSQL_FINDINGS_MAX];
    size_t finding_count;
    size_t findings_dropped;               /* beyond the room there is */
    size_t found[DSQL_FINDING_KIND_COUNT]; /* how many of each kind, dropped ones included */
};

/*
 * Reads every setting from env, a list of "NAME=value" that ends with NULL (like environ). Nothing
 * of env is kept. *config is valid afterwards whatever env held, unless the report has an ERROR:
 * then each value is in its range, but the combination can't be used.
 */
void dsql_config_load(struct dsql_config *config, struct dsql_config_report *report,
                      const char *const *env);

/* The defaults alone. */
void dsql_config_defaults(struct dsql_config *config);

/* Whether there is an ERROR, even one that the report had no room for. */
bool dsql_config_has_error(const struct dsql_config_report *report);

/* The table of the fleet's budget, which two variables can name: that of the connections, if they
 * are shared; may be empty. */
const char *dsql_config_budget_table(const struct dsql_config *config);

/* Whether connections or connects are shared with a fleet. */
bool dsql_config_shares(const struct dsql_config *config);

/* Writes one line for each finding; of each kind that some were dropped of, a last one with their
 * number. */
void dsql_config_log(const struct dsql_config_report *report, struct dsql_log *log);

/* The value of a setting, as it would be written in the environment. */
void dsql_config_value(const struct dsql_config *config, enum dsql_setting setting,
                       struct dsql_strbuf *sb);

/* The setting whose own name or alias this is; DSQL_SETTING_COUNT if none. */
enum dsql_setting dsql_setting_find(struct dsql_span variable);

/* The setting's default as people read it: "11m", "(unset)", "DSQL_POOL_MAX_OPEN". */
const char *dsql_setting_default(enum dsql_setting setting);

/* The permitted values as people read them: "10s to 1h", "true or false". */
void dsql_setting_range(enum dsql_setting setting, struct dsql_strbuf *sb);

#endif
