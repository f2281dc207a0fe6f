/* clang-format off */
/*
 * What depends on more than one setting. A value that was not chosen follows silently; a chosen one that has
 * to give way is reported. After these rules:
 *
 *   (CR1) low_watermark <= target_ready <= max_open, warmup_target <= max_open, max_idle == max_open
 *   (CR2) the shortest lifetime, base - jitter/2, is at least twice the guard window and positive
 *   (CR3) the longest lifetime, base + jitter/2, ends before the service's hour minus the guard window
 *   (CR4) no longest delay is shorter than the first one
 *   (CR5) what is shared has a table, or the report has an error
 *   (CR6) the budget is of a known kind, or the report has an error; its headroom leaves a connection
 */
/* clang-format on */
#include "base/duration.h"
#include "config/load.h"

/* The service closes every connection at this age. */
#define SERVICE_LIFETIME_NS DSQL_H

static void adjusted(struct dsql_config_loading *l, enum dsql_setting setting, const char *why)
{
    if (!dsql_config_is_chosen(l, setting)) {
        l->report->source[setting].origin = DSQL_ORIGIN_DERIVED;
        return;
    }
    char memory[DSQL_CONFIG_TEXT_MAX];
    struct dsql_strbuf value;
    dsql_strbuf_init(&value, memory, sizeof(memory));
    dsql_config_value(l->config, setting, &value);
    dsql_config_find(l, DSQL_FINDING_ADJUSTED, dsql_span_of(l->report->source[setting].variable),
                     " %s; using %s", why, memory);
    l->report->source[setting].origin = DSQL_ORIGIN_ADJUSTED;
}

/* Counts that follow DSQL_POOL_MAX_OPEN until they are set. */
static void follow(struct dsql_config_loading *l, enum dsql_setting setting, int64_t *field,
                   int64_t value)
{
    if (!dsql_config_is_chosen(l, setting))
        *field = value;
}

static void at_most(struct dsql_config_loading *l, enum dsql_setting setting, int64_t *field,
                    int64_t highest, const char *why)
{
    if (*field > highest) {
        *field = highest;
        adjusted(l, setting, why);
    }
}

static void at_least(struct dsql_config_loading *l, enum dsql_setting setting, int64_t *field,
                     int64_t lowest, const char *why)
{
    if (*field < lowest) {
        *field = lowest;
        adjusted(l, setting, why);
    }
}

static void size_rules(struct dsql_config_loading *l)
{
    struct dsql_config *c = l->config;
    int64_t per_tick = (c->max_open + 119) / 120;
    follow(l, DSQL_SETTING_max_idle, &c->max_idle, c->max_open);
    follow(l, DSQL_SETTING_warmup_target, &c->warmup_target, c->max_open);
    follow(l, DSQL_SETTING_low_watermark, &c->low_watermark, c->max_open);
    follow(l, DSQL_SETTING_target_ready, &c->target_ready, c->max_open);
    follow(l, DSQL_SETTING_keeper_max_per_tick, &c->keeper_max_per_tick,
           per_tick < 10 ? per_tick : 10);
    /* A target below max_open lowers a default watermark instead of being overruled by it. */
    if (dsql_config_is_chosen(l, DSQL_SETTING_target_ready) && c->low_watermark > c->target_ready)
        follow(l, DSQL_SETTING_low_watermark, &c->low_watermark, c->target_ready);

    at_most(l, DSQL_SETTING_max_idle, &c->max_idle, c->max_open, "is more than DSQL_POOL_MAX_OPEN");
    at_least(l, DSQL_SETTING_max_idle, &c->max_idle, c->max_open,
             "is less than DSQL_POOL_MAX_OPEN, and the pool does not shrink");
    at_most(l, DSQL_SETTING_warmup_target, &c->warmup_target, c->max_open,
            "is more than DSQL_POOL_MAX_OPEN");
    at_most(l, DSQL_SETTING_low_watermark, &c->low_watermark, c->max_open,
            "is more than DSQL_POOL_MAX_OPEN");
    at_most(l, DSQL_SETTING_target_ready, &c->target_ready, c->max_open,
            "is more than DSQL_POOL_MAX_OPEN");
    at_least(l, DSQL_SETTING_target_ready, &c->target_ready, c->low_watermark,
             "is less than DSQL_RESERVOIR_LOW_WATERMARK");
}

static void fit_into_lifetime(struct dsql_config_loading *l)
{
    struct dsql_config *c = l->config;
    at_most(l, DSQL_SETTING_lifetime_jitter, &c->lifetime_jitter_ns, c->base_lifetime_ns,
            "is more than DSQL_RESERVOIR_BASE_LIFETIME and would leave connections no life");
    int64_t shortest_ns = c->base_lifetime_ns - c->lifetime_jitter_ns / 2;
    at_most(l, DSQL_SETTING_guard_window, &c->guard_window_ns, shortest_ns / 2,
            "is more than half of the shortest lifetime; connections would be discarded unused");
}

static void lifetime_rules(struct dsql_config_loading *l)
{
    struct dsql_config *c = l->config;
    fit_into_lifetime(l);
    /* Cutting only the longest lifetimes would bunch them at the limit: all of them move down. */
    int64_t longest_base_ns = SERVICE_LIFETIME_NS - c->guard_window_ns - c->lifetime_jitter_ns / 2;
    at_most(l, DSQL_SETTING_base_lifetime, &c->base_lifetime_ns, longest_base_ns,
            "plus half the jitter and the guard window is more than the 60m the service allows");
    fit_into_lifetime(l); /* a shorter base leaves less room; C3 only gains by it */
}

static void delay_rules(struct dsql_config_loading *l)
{
    struct dsql_config *c = l->config;
    at_least(l, DSQL_SETTING_warmup_max_backoff, &c->warmup_max_backoff_ns,
             c->warmup_retry_backoff_ns, "is less than DSQL_POOL_WARMUP_RETRY_BACKOFF");
    at_least(l, DSQL_SETTING_retry_max_delay, &c->retry_max_delay_ns, c->retry_base_delay_ns,
             "is less than DSQL_RETRY_BASE_DELAY");
}

static void need_table(struct dsql_config_loading *l, bool enabled, const char *table,
                       enum dsql_setting table_setting, enum dsql_setting switch_setting)
{
    if (enabled && table[0] == '\0')
        dsql_config_find(l, DSQL_FINDING_ERROR, dsql_span_of(dsql_settings[table_setting].variable),
                         " is not set but %s is true; name the DynamoDB table or turn it off",
                         dsql_settings[switch_setting].variable);
}

/* What was chosen has no effect; the caller has set what holds. */
static void ignored(struct dsql_config_loading *l, enum dsql_setting setting, const char *why)
{
    const char *variable = l->report->source[setting].variable;
    l->report->source[setting].origin = variable ? DSQL_ORIGIN_ADJUSTED : DSQL_ORIGIN_DERIVED;
    if (variable)
        dsql_config_find(l, DSQL_FINDING_ADJUSTED, dsql_span_of(variable), " is ignored: %s", why);
}

static void follow_table(struct dsql_config_loading *l, enum dsql_setting setting, char *table,
                         const char *other)
{
    if (table[0] != '\0' || other[0] == '\0')
        return;
    memcpy(table, other, DSQL_CONFIG_TEXT_MAX);
    l->report->source[setting].origin = DSQL_ORIGIN_DERIVED;
}

/* A budget that was asked for by its name may have its table in either variable. */
static void one_table_at_least(struct dsql_config_loading *l)
{
    struct dsql_config *c = l->config;
    follow_table(l, DSQL_SETTING_lease_table, c->lease_table, c->limiter_table);
    follow_table(l, DSQL_SETTING_limiter_table, c->limiter_table, c->lease_table);
    if (c->lease_table[0] == '\0')
        dsql_config_find(l, DSQL_FINDING_ERROR,
                         dsql_span_of(dsql_settings[DSQL_SETTING_lease_table].variable),
                         " is not set but DSQL_BUDGET is %s; name the DynamoDB table", c->budget);
}

static void blocks_rules(struct dsql_config_loading *l)
{
    static const char why[] = "DSQL_BUDGET=blocks shares connects and connections, in one item";
    struct dsql_config *c = l->config;
    c->lease_enabled = c->limiter_enabled = true;
    ignored(l, DSQL_SETTING_lease_enabled, why);
    ignored(l, DSQL_SETTING_limiter_enabled, why);
    one_table_at_least(l);
    if (strcmp(c->lease_table, c->limiter_table) != 0) {
        memcpy(c->limiter_table, c->lease_table, sizeof(c->limiter_table));
        ignored(l, DSQL_SETTING_limiter_table, why);
    }
}

/* A switch that was not set is on. */
static void leases_rules(struct dsql_config_loading *l)
{
    struct dsql_config *c = l->config;
    const struct {
        enum dsql_setting setting;
        bool *on;
    } switches[] = {{DSQL_SETTING_lease_enabled, &c->lease_enabled},
                    {DSQL_SETTING_limiter_enabled, &c->limiter_enabled}};
    for (size_t i = 0; i < DSQL_COUNT_OF(switches); i++) {
        if (dsql_config_is_chosen(l, switches[i].setting))
            continue;
        *switches[i].on = true;
        l->report->source[switches[i].setting].origin = DSQL_ORIGIN_DERIVED;
    }
    one_table_at_least(l);
    if (!c->lease_enabled && !c->limiter_enabled)
        dsql_config_find(l, DSQL_FINDING_ERROR, DSQL_SPAN("DSQL_BUDGET"),
                         " is leases but %s and %s are false; turn one of them on, or set local",
                         dsql_settings[DSQL_SETTING_lease_enabled].variable,
                         dsql_settings[DSQL_SETTING_limiter_enabled].variable);
}

static void local_rules(struct dsql_config_loading *l)
{
    static const char why[] = "DSQL_BUDGET=local shares nothing";
    struct dsql_config *c = l->config;
    if (c->lease_enabled)
        ignored(l, DSQL_SETTING_lease_enabled, why);
    if (c->limiter_enabled)
        ignored(l, DSQL_SETTING_limiter_enabled, why);
    c->lease_enabled = c->limiter_enabled = false;
}

static void budget_rules(struct dsql_config_loading *l)
{
    struct dsql_config *c = l->config;
    struct dsql_span kind = dsql_span_of(c->budget);
    if (dsql_span_eq(kind, DSQL_SPAN("blocks")))
        blocks_rules(l);
    else if (dsql_span_eq(kind, DSQL_SPAN("leases")))
        leases_rules(l);
    else if (dsql_span_eq(kind, DSQL_SPAN("local")))
        local_rules(l);
    else if (kind.len > 0)
        dsql_config_find(l, DSQL_FINDING_ERROR, DSQL_SPAN("DSQL_BUDGET"),
                         " is %s; it can be local, blocks or leases", dsql_shown(kind).text);
    else {
        need_table(l, c->lease_enabled, c->lease_table, DSQL_SETTING_lease_table,
                   DSQL_SETTING_lease_enabled);
        need_table(l, c->limiter_enabled, c->limiter_table, DSQL_SETTING_limiter_table,
                   DSQL_SETTING_limiter_enabled);
    }
    at_most(l, DSQL_SETTING_cluster_headroom, &c->cluster_headroom, c->cluster_connections - 1,
            "leaves nothing of DSQL_DISTRIBUTED_CONN_LIMIT");
}

void dsql_config_apply_rules(struct dsql_config_loading *l)
{
    size_rules(l);
    lifetime_rules(l);
    delay_rules(l);
    budget_rules(l);
}
