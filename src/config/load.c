/* Reading the environment into the table's fields, one setting at a time. */
#include "config/load.h"

#include "base/duration.h"

/* Values are shown in messages up to here; the rest is cut. */
enum { SHOWN_MAX = 48 };

static const struct dsql_span prefix = {"DSQL_", 5};

void dsql_config_find(struct dsql_config_loading *loading, enum dsql_finding_kind kind,
                      struct dsql_span variable, const char *fmt, ...)
{
    struct dsql_config_report *report = loading->report;
    if (report->finding_count == DSQL_FINDINGS_MAX) {
        report->findings_dropped++;
        return;
    }
    struct dsql_finding *finding = &report->findings[report->finding_count++];
    finding->kind = kind;
    struct dsql_strbuf name, message;
    dsql_strbuf_init(&name, finding->variable, sizeof(finding->variable));
    dsql_strbuf_add(&name, variable);
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

/* The value of a variable; the last one wins if env holds it twice. False when unset or empty. */
static bool get(const char *const *env, const char *variable, struct dsql_span *value)
{
    struct dsql_span wanted = dsql_span_of(variable), name, rest;
    bool found = false;
    for (; *env; env++) {
        if (dsql_span_cut(dsql_span_of(*env), '=', &name, &rest) && dsql_span_eq(name, wanted)) {
            *value = dsql_span_trim(rest);
            found = value->len > 0;
        }
    }
    return found;
}

/* What the user wrote, for a message: printable and not too long. */
static const char *shown(struct dsql_span value, char (*memory)[SHOWN_MAX + 8])
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, *memory, sizeof(*memory));
    for (size_t i = 0; i < value.len && i < SHOWN_MAX; i++)
        dsql_strbuf_add_char(&sb, value.ptr[i] >= ' ' && value.ptr[i] <= '~' ? value.ptr[i] : '?');
    if (value.len > SHOWN_MAX)
        dsql_strbuf_add_str(&sb, "...");
    return *memory;
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

/* host, host:port or [v6]:port. Names are not looked up here. */
static bool is_address(struct dsql_span s)
{
    struct dsql_span host, port;
    if (s.len > 0 && s.ptr[0] == '[') {
        if (!dsql_span_cut(s, ']', &host, &port))
            return false;
        host = dsql_span_from(host, 1);
        if (port.len > 0 && port.ptr[0] != ':')
            return false;
        port = port.len ? dsql_span_from(port, 1) : DSQL_SPAN("1");
    } else if (!dsql_span_cut(s, ':', &host, &port)) {
        port = DSQL_SPAN("1");
    } else if (memchr(host.ptr, '[', host.len)) {
        return false;
    }
    int64_t number;
    if (host.len == 0 || host.len > 253 || !dsql_span_to_i64(port, &number) || number < 1 ||
        number > 65535 || port.ptr[0] == '+')
        return false;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || (c == ':' && s.ptr[0] == '[');
        if (!ok)
            return false;
    }
    return true;
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

static int64_t bound_i64(const char *text, enum dsql_setting_type type)
{
    int64_t value = 0;
    bool ok = type == DSQL_SETTING_DURATION ? dsql_duration_parse(dsql_span_of(text), &value)
                                            : dsql_span_to_i64(dsql_span_of(text), &value);
    assert(ok); /* the table is ours */
    return value;
}

static enum fit read_i64(const struct dsql_setting_info *info, struct dsql_span s, int64_t *out)
{
    int64_t value, lowest = bound_i64(info->lowest, info->type),
                   highest = bound_i64(info->highest, info->type);
    bool ok = info->type == DSQL_SETTING_DURATION ? dsql_duration_parse(s, &value)
                                                  : dsql_span_to_i64(s, &value);
    enum fit fit = ok ? fit_i64(value, lowest, highest) : UNREADABLE;
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
    bool ok = info->type == DSQL_SETTING_ADDRESS
                  ? s.len == 0 || is_address(s)
                  : s.len >= (size_t)bound_i64(info->lowest, DSQL_SETTING_INT) &&
                        s.len <= (size_t)bound_i64(info->highest, DSQL_SETTING_INT) &&
                        is_printable(s);
    if (!ok || s.len >= DSQL_CONFIG_TEXT_MAX)
        return UNREADABLE;
    copy_text(out, s);
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
    case DSQL_SETTING_ADDRESS:
        return read_text(info, s, at);
    case DSQL_SETTING_LEVEL:
        return dsql_log_level_parse(s, at) ? FITS : UNREADABLE;
    }
    return UNREADABLE;
}

static void set_default(struct dsql_config *config, enum dsql_setting setting)
{
    const char *text = dsql_settings[setting].default_text;
    if (text[0] == '@')
        return; /* rules.c derives it */
    enum fit fit = read_value(config, setting, dsql_span_of(text));
    assert(fit == FITS);
}

static void report_unfit(struct dsql_config_loading *loading, enum dsql_setting setting,
                         enum fit fit, struct dsql_span variable, struct dsql_span value)
{
    char text[SHOWN_MAX + 8], range_memory[64], used_memory[DSQL_CONFIG_TEXT_MAX];
    struct dsql_strbuf range, used;
    dsql_strbuf_init(&range, range_memory, sizeof(range_memory));
    dsql_setting_range(setting, &range);
    dsql_strbuf_init(&used, used_memory, sizeof(used_memory));
    if (dsql_settings[setting].default_text[0] == '@' && fit == UNREADABLE)
        dsql_strbuf_add_str(&used, dsql_setting_default(setting));
    else
        dsql_config_value(loading->config, setting, &used);
    const char *what = fit == BELOW   ? "is too small"
                       : fit == ABOVE ? "is too large"
                                      : "can't be used";
    dsql_config_find(loading, DSQL_FINDING_ADJUSTED, variable, "=%s %s (it takes %s); using %s",
                     shown(value, &text), what, range.ptr, used.len ? used.ptr : "none");
}

static void load_one(struct dsql_config_loading *loading, enum dsql_setting setting,
                     const char *const *env)
{
    const char *variable = dsql_settings[setting].variable;
    struct dsql_span value;
    bool found = get(env, variable, &value);
    for (size_t i = 0; i < dsql_setting_alias_count && !found; i++) {
        if (dsql_setting_aliases[i].setting == setting) {
            variable = dsql_setting_aliases[i].variable;
            found = get(env, variable, &value);
        }
    }
    set_default(loading->config, setting);
    loading->report->source[setting].origin =
        dsql_settings[setting].default_text[0] == '@' ? DSQL_ORIGIN_DERIVED : DSQL_ORIGIN_DEFAULT;
    if (!found)
        return;
    enum fit fit = read_value(loading->config, setting, value);
    bool follows = fit == UNREADABLE && dsql_settings[setting].default_text[0] == '@';
    loading->report->source[setting].variable = follows ? NULL : variable;
    loading->report->source[setting].origin = follows       ? DSQL_ORIGIN_DERIVED
                                              : fit == FITS ? DSQL_ORIGIN_ENV
                                                            : DSQL_ORIGIN_ADJUSTED;
    if (fit != FITS)
        report_unfit(loading, setting, fit, dsql_span_of(variable), value);
}

static void report_unknown(struct dsql_config_loading *loading, struct dsql_span variable)
{
    size_t best = SIZE_MAX;
    const char *nearest = NULL;
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        size_t distance = dsql_span_distance(variable, dsql_span_of(dsql_settings[i].variable));
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
    memset(config, 0, sizeof(*config));
    memset(report, 0, sizeof(*report));
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++)
        load_one(&loading, (enum dsql_setting)i, env);
    dsql_config_apply_rules(&loading);

    struct dsql_span name, value;
    for (; *env; env++)
        if (dsql_span_cut(dsql_span_of(*env), '=', &name, &value) &&
            dsql_span_starts(name, prefix) && dsql_setting_find(name) == DSQL_SETTING_COUNT)
            report_unknown(&loading, name);
}

void dsql_config_defaults(struct dsql_config *config)
{
    struct dsql_config_report report;
    const char *const no_env[] = {NULL};
    dsql_config_load(config, &report, no_env);
}

bool dsql_config_has_error(const struct dsql_config_report *report)
{
    for (size_t i = 0; i < report->finding_count; i++)
        if (report->findings[i].kind == DSQL_FINDING_ERROR)
            return true;
    return false;
}

void dsql_config_log(const struct dsql_config_report *report, struct dsql_log *log)
{
    static const enum dsql_event events[] = {
        [DSQL_FINDING_ADJUSTED] = DSQL_EVENT_CONFIG_ADJUSTED,
        [DSQL_FINDING_UNKNOWN] = DSQL_EVENT_CONFIG_UNKNOWN,
        [DSQL_FINDING_ERROR] = DSQL_EVENT_CONFIG_ERROR,
    };
    for (size_t i = 0; i < report->finding_count; i++)
        dsql_log(log, events[report->findings[i].kind],
                 DSQL_F("variable", (const char *)report->findings[i].variable),
                 DSQL_F("detail", (const char *)report->findings[i].message));
}
