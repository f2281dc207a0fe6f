#include "support/config_check.h"

#include "base/duration.h"

static bool in_range(const struct dsql_config *config, const struct dsql_setting_info *info)
{
    const void *at = (const char *)config + info->offset;
    struct dsql_span lowest = dsql_span_of(info->lowest), highest = dsql_span_of(info->highest);
    int64_t low = 0, high = 0;
    double from = 0, to = 0;
    switch (info->type) {
    case DSQL_SETTING_INT:
        return dsql_span_to_i64(lowest, &low) && dsql_span_to_i64(highest, &high) &&
               *(const int64_t *)at >= low && *(const int64_t *)at <= high;
    case DSQL_SETTING_DURATION:
        return dsql_duration_parse(lowest, &low) && dsql_duration_parse(highest, &high) &&
               *(const int64_t *)at <= high && *(const int64_t *)at >= 0 &&
               /* rules.c may go below the lowest value a user may choose, never to nothing */
               (*(const int64_t *)at >= low || *(const int64_t *)at > 0);
    case DSQL_SETTING_FRACTION:
        return dsql_span_to_f64(lowest, &from) && dsql_span_to_f64(highest, &to) &&
               *(const double *)at >= from && *(const double *)at <= to;
    case DSQL_SETTING_TEXT:
        return dsql_span_to_i64(lowest, &low) && dsql_span_to_i64(highest, &high) &&
               strlen(at) >= (size_t)low && strlen(at) <= (size_t)high;
    case DSQL_SETTING_ADDRESS:
        return strlen(at) < DSQL_CONFIG_TEXT_MAX;
    case DSQL_SETTING_BOOL:
        return *(const unsigned char *)at <= 1;
    case DSQL_SETTING_LEVEL:
        return *(const enum dsql_log_level *)at <= DSQL_LOG_DEBUG;
    }
    return false;
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
        if (!in_range(c, &dsql_settings[i]))
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
    if (lacks_table && !dsql_config_has_error(report) && report->findings_dropped == 0)
        return "C5: a shared budget without a table";
    return sources_agree(report) ? NULL : "sources do not agree with origins";
}
