#include "support/config_check.h"

#include "base/duration.h"

/* The table's bounds as numbers, read once: the fuzz target comes here for every input. */
struct bounds {
    int64_t low, high;
};

static const struct bounds *bounds_of(enum dsql_setting setting)
{
    static struct bounds all[DSQL_SETTING_COUNT];
    static bool known;
    for (size_t i = 0; i < DSQL_SETTING_COUNT && !known; i++) {
        const struct dsql_setting_info *info = &dsql_settings[i];
        struct dsql_span lowest = dsql_span_of(info->lowest), highest = dsql_span_of(info->highest);
        bool ok = true;
        if (info->type == DSQL_SETTING_INT || info->type == DSQL_SETTING_TEXT)
            ok = dsql_span_to_i64(lowest, &all[i].low) && dsql_span_to_i64(highest, &all[i].high);
        else if (info->type == DSQL_SETTING_DURATION)
            ok = dsql_duration_parse(lowest, &all[i].low) &&
                 dsql_duration_parse(highest, &all[i].high);
        assert(ok);
    }
    known = true;
    return &all[setting];
}

static bool in_range(const struct dsql_config *config, enum dsql_setting setting)
{
    const struct dsql_setting_info *info = &dsql_settings[setting];
    const struct bounds *bounds = bounds_of(setting);
    const void *at = (const char *)config + info->offset;
    switch (info->type) {
    case DSQL_SETTING_INT:
    case DSQL_SETTING_DURATION:
        return *(const int64_t *)at >= bounds->low && *(const int64_t *)at <= bounds->high;
    case DSQL_SETTING_FRACTION:
        return *(const double *)at >= 0 && *(const double *)at <= 1;
    case DSQL_SETTING_TEXT:
        return strlen(at) >= (size_t)bounds->low && strlen(at) <= (size_t)bounds->high;
    case DSQL_SETTING_ADDRESS:
        return strlen(at) < DSQL_CONFIG_TEXT_MAX;
    case DSQL_SETTING_LISTEN:
        return strlen(at) >= 3 && strlen(at) < DSQL_CONFIG_TEXT_MAX;
    case DSQL_SETTING_BOOL:
        return *(const unsigned char *)at <= 1;
    case DSQL_SETTING_LEVEL:
        return *(const enum dsql_log_level *)at <= DSQL_LOG_DEBUG;
    }
    return false;
}

/* Messages are for one line of a terminal, whatever the environment holds. */
static bool is_one_line(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

static bool findings_agree(const struct dsql_config_report *report)
{
    size_t found = 0, kept[DSQL_FINDING_KIND_COUNT] = {0};
    for (size_t i = 0; i < report->finding_count; i++) {
        kept[report->findings[i].kind]++;
        if (!report->findings[i].variable[0] || !is_one_line(report->findings[i].variable) ||
            !report->findings[i].message[0] || !is_one_line(report->findings[i].message))
            return false;
    }
    for (size_t i = 0; i < DSQL_FINDING_KIND_COUNT; i++) {
        found += report->found[i];
        if (report->found[i] < kept[i])
            return false;
    }
    return found == report->finding_count + report->findings_dropped;
}

static bool sources_agree(const struct dsql_config_report *report)
{
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        bool from_user = report->source[i].origin == DSQL_ORIGIN_ENV ||
                         report->source[i].origin == DSQL_ORIGIN_ADJUSTED;
        if (from_user != (report->source[i].variable != NULL))
            return false;
    }
    return true;
}

const char *config_check(const struct dsql_config *c, const struct dsql_config_report *report)
{
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++)
        if (!in_range(c, (enum dsql_setting)i))
            return dsql_settings[i].variable;
    int64_t shortest_ns = c->base_lifetime_ns - c->lifetime_jitter_ns / 2;
    int64_t longest_ns = c->base_lifetime_ns + c->lifetime_jitter_ns / 2;
    if (c->max_idle != c->max_open || c->low_watermark > c->target_ready ||
        c->target_ready > c->max_open || c->warmup_target > c->max_open)
        return "C1: sizes";
    if (shortest_ns <= 0 || c->guard_window_ns > shortest_ns / 2)
        return "C2: shortest lifetime and guard window";
    if (longest_ns > DSQL_H - c->guard_window_ns)
        return "C3: longest lifetime";
    if (c->warmup_max_backoff_ns < c->warmup_retry_backoff_ns ||
        c->retry_max_delay_ns < c->retry_base_delay_ns)
        return "C4: delays";
    bool lacks_table =
        (c->lease_enabled && !c->lease_table[0]) || (c->limiter_enabled && !c->limiter_table[0]);
    if (lacks_table && !dsql_config_has_error(report))
        return "C5: a shared budget without a table";
    if (!findings_agree(report))
        return "findings that do not fit on a line, or are counted wrong";
    return sources_agree(report) ? NULL : "sources do not agree with origins";
}
