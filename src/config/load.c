/* Reading the environment into the table's fields, one setting at a time. */
#include "config/load.h"

#include "base/duration.h"

static const struct dsql_span prefix = {"DSQL_", 5};
static const struct dsql_span of_local = {"DSQL_LOCAL_", 11}; /* what `dsql local` tells its own */

/* What env says about each name, taken down in one pass: the own names of all settings, then the
 * aliases. The last word on a name counts; an empty one counts as unset. */
struct given {
    struct dsql_span values[DSQL_SETTING_COUNT + DSQL_SETTING_ALIAS_COUNT];
    struct dsql_span unknown[DSQL_FINDINGS_MAX];
    size_t unknown_count; /* unknown variables, also those that did not fit the list */
};

void dsql_config_find(struct dsql_config_loading *loading, enum dsql_finding_kind kind,
                      struct dsql_span variable, const char *fmt, ...)
{
    struct dsql_config_report *report = loading->report;
    report->found[kind]++;
    if (report->finding_count == DSQL_FINDINGS_MAX) {
        report->findings_dropped++;
        return;
    }
    struct dsql_finding *finding = &report->findings[report->finding_count++];
    finding->kind = kind;
    struct dsql_strbuf name, message;
    dsql_strbuf_init(&name, finding->variable, sizeof(finding->variable));
    dsql_strbuf_add_str(&name, dsql_shown(variable).text);
    dsql_strbuf_init(&message, finding->message, sizeof(finding->message));
    dsql_strbuf_add_str(&message, finding->variable);
    va_list args;
    va_start(args, fmt);
    dsql_strbuf_vaddf(&message, fmt, args);
    va_end(args);
}

bool dsql_config_is_chosen(const struct dsql_config_loading *loading, enum dsql_setting setting)
{
    return loading->report->source[setting].variable != NULL;
}

/* The spellings Go's strconv.ParseBool accepts, so that both readers of a shared environment agree.
 */
static bool parse_bool(struct dsql_span s, bool *out)
{
    static const char *const yes[] = {"1", "t", "T", "true", "True", "TRUE"};
    static const char *const no[] = {"0", "f", "F", "false", "False", "FALSE"};
    for (size_t i = 0; i < DSQL_COUNT_OF(yes); i++) {
        if (dsql_span_eq(s, dsql_span_of(yes[i])) || dsql_span_eq(s, dsql_span_of(no[i]))) {
            *out = dsql_span_eq(s, dsql_span_of(yes[i]));
            return true;
        }
    }
    return false;
}

static bool is_printable(struct dsql_span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~')
            return false;
    return true;
}

static bool is_port(struct dsql_span s, int64_t least)
{
    int64_t number;
    return s.len > 0 && s.len <= 5 && s.ptr[0] != '+' && dsql_span_to_i64(s, &number) &&
           number >= least && number <= 65535;
}

/* A name or an address; names are not looked up here. Underscores are in no host name by the book
 * and in many by daily life. */
static bool is_host(struct dsql_span s, bool in_brackets)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || c == '_' || (c == ':' && in_brackets);
        if (!ok)
            return false;
    }
    return s.len > 0 && s.len <= 253;
}

/* host:port or [v6]:port. A program that connects may leave the port out; one that listens may
 * leave the choice to the system, with port 0. */
static bool is_address(struct dsql_span s, bool listens)
{
    struct dsql_span host, port;
    bool in_brackets = s.len > 0 && s.ptr[0] == '[', has_port;
    if (in_brackets) {
        if (!dsql_span_cut(dsql_span_from(s, 1), ']', &host, &port))
            return false;
        has_port = port.len > 0;
        if (has_port && port.ptr[0] != ':')
            return false;
        port = dsql_span_from(port, has_port ? 1 : 0);
    } else {
        has_port = dsql_span_cut(s, ':', &host, &port);
    }
    return s.len < DSQL_CONFIG_TEXT_MAX && is_host(host, in_brackets) &&
           (has_port ? is_port(port, listens ? 0 : 1) : !listens);
}

/* How a value was read: as it stands, moved to an end of the range, or not at all. */
enum fit { FITS, BELOW, ABOVE, UNREADABLE };

/* A value that must be positive and is not says nothing about what was meant. */
static enum fit fit_i64(int64_t value, int64_t lowest, int64_t highest)
{
    if (value < lowest)
        return value <= 0 && lowest > 0 ? UNREADABLE : BELOW;
    return value > highest ? ABOVE : FITS;
}

static void copy_text(char *to, struct dsql_span s)
{
    memcpy(to, s.ptr, s.len);
    to[s.len] = '\0';
}

static bool is_number(enum dsql_setting_type type)
{
    return type == DSQL_SETTING_INT || type == DSQL_SETTING_DURATION;
}

static bool parse_i64(enum dsql_setting_type type, struct dsql_span s, int64_t *out)
{
    return type == DSQL_SETTING_DURATION ? dsql_duration_parse(s, out) : dsql_span_to_i64(s, out);
}

static int64_t bound_i64(enum dsql_setting_type type, const char *text)
{
    int64_t value = 0;
    bool ok = parse_i64(type, dsql_span_of(text), &value);
    assert(ok); /* the table is ours */
    return value;
}

static enum fit read_i64(const struct dsql_setting_info *info, struct dsql_span s, int64_t *out)
{
    int64_t value;
    if (!parse_i64(info->type, s, &value))
        return UNREADABLE;
    int64_t lowest = bound_i64(info->type, info->lowest),
            highest = bound_i64(info->type, info->highest);
    enum fit fit = fit_i64(value, lowest, highest);
    if (fit != UNREADABLE)
        *out = fit == BELOW ? lowest : fit == ABOVE ? highest : value;
    return fit;
}

static enum fit read_f64(const struct dsql_setting_info *info, struct dsql_span s, double *out)
{
    double value, lowest, highest;
    bool ok = dsql_span_to_f64(dsql_span_of(info->lowest), &lowest) &&
              dsql_span_to_f64(dsql_span_of(info->highest), &highest);
    assert(ok);
    if (!dsql_span_to_f64(s, &value))
        return UNREADABLE;
    *out = value < lowest ? lowest : value > highest ? highest : value;
    return value < lowest ? BELOW : value > highest ? ABOVE : FITS;
}

static enum fit read_text(const struct dsql_setting_info *info, struct dsql_span s, char *out)
{
    if (s.len < (size_t)bound_i64(DSQL_SETTING_INT, info->lowest) ||
        s.len > (size_t)bound_i64(DSQL_SETTING_INT, info->highest) || !is_printable(s))
        return UNREADABLE;
    assert(s.len < DSQL_CONFIG_TEXT_MAX); /* no maximum in the table is beyond it */
    copy_text(out, s);
    return FITS;
}

static enum fit read_address(struct dsql_span s, char *out)
{
    if (s.len > 0 && !is_address(s, false))
        return UNREADABLE;
    copy_text(out, s);
    return FITS;
}

static enum fit read_listen(struct dsql_span s, char *out)
{
    static const struct dsql_span off = {"off", 3}, loopback = {"127.0.0.1", 9};
    bool port_only = s.len > 0 && s.ptr[0] == ':' && is_port(dsql_span_from(s, 1), 0);
    if (dsql_span_eq_nocase(s, off)) {
        copy_text(out, off);
    } else if (port_only) {
        copy_text(out, loopback);
        copy_text(out + loopback.len, s);
    } else if (is_address(s, true)) {
        copy_text(out, s);
    } else {
        return UNREADABLE;
    }
    return FITS;
}

/* Stores the value of a setting; leaves the field alone when the text can't be read. */
static enum fit read_value(struct dsql_config *config, enum dsql_setting setting,
                           struct dsql_span s)
{
    const struct dsql_setting_info *info = &dsql_settings[setting];
    void *at = (char *)config + info->offset;
    switch (info->type) {
    case DSQL_SETTING_BOOL:
        return parse_bool(s, at) ? FITS : UNREADABLE;
    case DSQL_SETTING_INT:
    case DSQL_SETTING_DURATION:
        return read_i64(info, s, at);
    case DSQL_SETTING_FRACTION:
        return read_f64(info, s, at);
    case DSQL_SETTING_TEXT:
        return read_text(info, s, at);
    case DSQL_SETTING_ADDRESS:
        return read_address(s, at);
    case DSQL_SETTING_LISTEN:
        return read_listen(s, at);
    case DSQL_SETTING_LEVEL:
        return dsql_log_level_parse(s, at) ? FITS : UNREADABLE;
    }
    return UNREADABLE;
}

/* A number's range is not looked at: every load comes here for every setting, and a test has seen
 * that the table's defaults lie in their ranges. */
static void set_default(struct dsql_config *config, enum dsql_setting setting)
{
    const struct dsql_setting_info *info = &dsql_settings[setting];
    struct dsql_span text = dsql_span_of(info->default_text);
    if (text.len > 0 && text.ptr[0] == '@')
        return; /* rules.c derives it */
    void *at = (char *)config + info->offset;
    bool ok = is_number(info->type) ? parse_i64(info->type, text, at)
                                    : read_value(config, setting, text) == FITS;
    assert(ok);
}

static bool follows_another(enum dsql_setting setting)
{
    return dsql_settings[setting].default_text[0] == '@';
}

static void report_unfit(struct dsql_config_loading *loading, enum dsql_setting setting,
                         enum fit fit, struct dsql_span variable, struct dsql_span value)
{
    char range_memory[64], used_memory[DSQL_CONFIG_TEXT_MAX];
    struct dsql_strbuf range, used;
    dsql_strbuf_init(&range, range_memory, sizeof(range_memory));
    dsql_setting_range(setting, &range);
    if (dsql_settings[setting].type == DSQL_SETTING_ADDRESS) {
        /* Going on without it, or with another one, can't be what was meant. */
        dsql_config_find(loading, DSQL_FINDING_ERROR, variable, "=%s can't be used (it takes %s)",
                         dsql_shown(value).text, range.ptr);
        return;
    }
    dsql_strbuf_init(&used, used_memory, sizeof(used_memory));
    if (follows_another(setting) && fit == UNREADABLE)
        dsql_strbuf_add_str(&used, dsql_setting_default(setting));
    else
        dsql_config_value(loading->config, setting, &used);
    const char *what = fit == BELOW   ? "is too small"
                       : fit == ABOVE ? "is too large"
                                      : "can't be used";
    dsql_config_find(loading, DSQL_FINDING_ADJUSTED, variable, "=%s %s (it takes %s); using %s",
                     dsql_shown(value).text, what, range.ptr, used.len ? used.ptr : "none");
}

/* Takes down what env holds. */
static void take_env(struct given *given, const char *const *env)
{
    struct dsql_span name, value;
    for (; *env; env++) {
        if (!dsql_span_cut(dsql_span_of(*env), '=', &name, &value))
            continue;
        bool ours = dsql_span_starts(name, prefix) && !dsql_span_starts(name, of_local);
        for (size_t i = 0; i < DSQL_SETTING_ALIAS_COUNT && !ours; i++)
            if (dsql_span_eq(name, dsql_span_of(dsql_setting_aliases[i].variable)))
                given->values[DSQL_SETTING_COUNT + i] = dsql_span_trim(value);
        enum dsql_setting setting = ours ? dsql_setting_find(name) : DSQL_SETTING_COUNT;
        if (setting < DSQL_SETTING_COUNT)
            given->values[setting] = dsql_span_trim(value);
        else if (ours && given->unknown_count++ < DSQL_FINDINGS_MAX)
            given->unknown[given->unknown_count - 1] = name;
    }
}

/* The value of a setting and the name it stands under: its own, else the first alias that has one.
 * NULL if it is not given. */
static const char *choose(const struct given *given, enum dsql_setting setting,
                          struct dsql_span *value)
{
    *value = given->values[setting];
    if (value->len > 0)
        return dsql_settings[setting].variable;
    for (size_t i = 0; i < DSQL_SETTING_ALIAS_COUNT; i++) {
        *value = given->values[DSQL_SETTING_COUNT + i];
        if (dsql_setting_aliases[i].setting == setting && value->len > 0)
            return dsql_setting_aliases[i].variable;
    }
    return NULL;
}

static void load_one(struct dsql_config_loading *loading, enum dsql_setting setting,
                     const struct given *given)
{
    struct dsql_span value;
    const char *variable = choose(given, setting, &value);
    set_default(loading->config, setting);
    loading->report->source[setting].origin =
        follows_another(setting) ? DSQL_ORIGIN_DERIVED : DSQL_ORIGIN_DEFAULT;
    if (!variable)
        return;
    enum fit fit = read_value(loading->config, setting, value);
    bool follows = fit == UNREADABLE && follows_another(setting);
    loading->report->source[setting].variable = follows ? NULL : variable;
    loading->report->source[setting].origin = follows       ? DSQL_ORIGIN_DERIVED
                                              : fit == FITS ? DSQL_ORIGIN_ENV
                                                            : DSQL_ORIGIN_ADJUSTED;
    if (fit != FITS)
        report_unfit(loading, setting, fit, dsql_span_of(variable), value);
}

/* A number of edits that two names are at least apart, by which letters they have and not where:
 * cheap, and enough to see that most names need no closer look. Letters alike but for their case
 * share a counter. */
static size_t least_distance(struct dsql_span a, struct dsql_span b)
{
    int counts[32] = {0};
    size_t only_a = 0, only_b = 0;
    for (size_t i = 0; i < a.len; i++)
        counts[a.ptr[i] & 31]++;
    for (size_t i = 0; i < b.len; i++)
        counts[b.ptr[i] & 31]--;
    for (size_t i = 0; i < DSQL_COUNT_OF(counts); i++) {
        only_a += counts[i] > 0 ? (size_t)counts[i] : 0;
        only_b += counts[i] < 0 ? (size_t)-counts[i] : 0;
    }
    return only_a > only_b ? only_a : only_b;
}

static void report_unknown(struct dsql_config_loading *loading, struct dsql_span variable)
{
    size_t best = SIZE_MAX;
    const char *nearest = NULL;
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        struct dsql_span name = {dsql_settings[i].variable, dsql_settings[i].variable_len};
        size_t at_least = least_distance(variable, name);
        if (at_least >= best || !dsql_span_is_near(variable, at_least))
            continue;
        size_t distance = dsql_span_distance(variable, name);
        if (distance < best) {
            best = distance;
            nearest = dsql_settings[i].variable;
        }
    }
    if (nearest && dsql_span_is_near(variable, best))
        dsql_config_find(loading, DSQL_FINDING_UNKNOWN, variable,
                         " is no setting and has no effect; did you mean %s?", nearest);
    else
        dsql_config_find(loading, DSQL_FINDING_UNKNOWN, variable,
                         " is no setting and has no effect; see `dsql help config`");
}

void dsql_config_load(struct dsql_config *config, struct dsql_config_report *report,
                      const char *const *env)
{
    struct dsql_config_loading loading = {config, report};
    struct given given = {.unknown_count = 0};
    memset(config, 0, sizeof(*config));
    memset(report, 0, sizeof(*report));
    take_env(&given, env);
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++)
        load_one(&loading, (enum dsql_setting)i, &given);
    dsql_config_apply_rules(&loading);

    size_t kept = given.unknown_count < DSQL_FINDINGS_MAX ? given.unknown_count : DSQL_FINDINGS_MAX;
    for (size_t i = 0; i < kept; i++)
        report_unknown(&loading, given.unknown[i]);
    report->findings_dropped += given.unknown_count - kept;
    report->found[DSQL_FINDING_UNKNOWN] += given.unknown_count - kept;
}

void dsql_config_defaults(struct dsql_config *config)
{
    struct dsql_config_report report;
    const char *const no_env[] = {NULL};
    dsql_config_load(config, &report, no_env);
}

const char *dsql_config_budget_table(const struct dsql_config *config)
{
    bool connects_only = config->limiter_enabled && !config->lease_enabled;
    return connects_only || config->lease_table[0] == '\0' ? config->limiter_table
                                                           : config->lease_table;
}

bool dsql_config_shares(const struct dsql_config *config)
{
    return config->budget[0] ? strcmp(config->budget, "local") != 0
                             : config->lease_enabled || config->limiter_enabled;
}

bool dsql_config_has_error(const struct dsql_config_report *report)
{
    return report->found[DSQL_FINDING_ERROR] > 0;
}

void dsql_config_log(const struct dsql_config_report *report, struct dsql_log *log)
{
    static const enum dsql_event events[DSQL_FINDING_KIND_COUNT] = {
        [DSQL_FINDING_ADJUSTED] = DSQL_EVENT_CONFIG_ADJUSTED,
        [DSQL_FINDING_UNKNOWN] = DSQL_EVENT_CONFIG_UNKNOWN,
        [DSQL_FINDING_ERROR] = DSQL_EVENT_CONFIG_ERROR,
    };
    size_t dropped[DSQL_FINDING_KIND_COUNT];
    memcpy(dropped, report->found, sizeof(dropped));
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct dsql_finding *finding = &report->findings[i];
        dropped[finding->kind]--;
        dsql_log(log, events[finding->kind], DSQL_F("variable", (const char *)finding->variable),
                 DSQL_F("detail", (const char *)finding->message));
    }
    for (size_t kind = 0; kind < DSQL_FINDING_KIND_COUNT; kind++)
        if (dropped[kind] > 0)
            dsql_log(log, events[kind], DSQL_F("dropped", dropped[kind]),
                     DSQL_F("detail", "further findings of this kind, beyond the room there is"));
}
