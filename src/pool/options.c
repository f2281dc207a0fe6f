/* What a pool is told: defaults, the environment, and whether it makes sense. */
#include "pool/options.h"

#include <string.h>
#include <unistd.h>

#include "aws/endpoint.h"
#include "base/shown.h"
#include "config/config.h"
#include "core/permits.h"
#include "core/slots.h"

#define CONNECT_TIMEOUT_NS (10 * DSQL_S)
#define DRAIN_TIMEOUT_NS   (10 * DSQL_S)

static void copy(char *to, size_t size, const char *from)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, to, size);
    dsql_strbuf_add_str(&sb, from);
}

static enum dsql_budget_kind budget_kind(const struct dsql_config *c)
{
    if (strcmp(c->budget, "blocks") == 0)
        return DSQL_BUDGET_BLOCKS;
    if (strcmp(c->budget, "leases") == 0)
        return DSQL_BUDGET_LEASES;
    return c->budget[0] == '\0' && (c->lease_enabled || c->limiter_enabled) ? DSQL_BUDGET_LEASES
                                                                            : DSQL_BUDGET_LOCAL;
}

static void from_config(struct dsql_pool_options *o, const struct dsql_config *c)
{
    *o = (struct dsql_pool_options){
        .token_duration_ns = c->token_duration_ns,
        .mode = c->reservoir_enabled ? DSQL_POOL_RESERVOIR : DSQL_POOL_STANDARD,
        .max_open = c->max_open,
        .target_ready = c->reservoir_enabled ? c->target_ready : c->max_open,
        .low_watermark = c->low_watermark,
        .base_lifetime_ns = c->reservoir_enabled ? c->base_lifetime_ns : c->max_conn_lifetime_ns,
        .lifetime_jitter_ns = c->lifetime_jitter_ns,
        .guard_window_ns = c->guard_window_ns,
        .initial_fill_timeout_ns = c->initial_fill_timeout_ns,
        .inflight_limit = c->inflight_limit,
        .empty_wait_ns = c->empty_wait_ns,
        .connect_timeout_ns =
            c->reservoir_enabled ? CONNECT_TIMEOUT_NS : c->keeper_connect_timeout_ns,
        .warmup_connect_timeout_ns = c->warmup_connect_timeout_ns,
        .permit_wait_ns = c->permit_wait_ns,
        .permit_backoff_ns = c->permit_backoff_ns,
        .drain_timeout_ns = DRAIN_TIMEOUT_NS,
        .warmup_target = c->warmup_target,
        .warmup_max_retries = c->warmup_max_retries,
        .warmup_retry_backoff_ns = c->warmup_retry_backoff_ns,
        .warmup_max_backoff_ns = c->warmup_max_backoff_ns,
        .keeper_tick_ns = c->keeper_tick_ns,
        .keeper_max_per_tick = c->keeper_max_per_tick,
        .rate = c->rate,
        .burst = c->burst,
        .staggered_startup_ns = c->staggered_startup ? c->staggered_startup_max_delay_ns : 0,
        .cluster_rate = c->cluster_rate,
        .cluster_burst = c->cluster_burst,
        .cluster_connections = c->cluster_connections,
        .cluster_headroom = c->cluster_headroom,
        .budget_ttl_ns = c->budget_ttl_ns,
        .fallback_after_ns = c->fallback_after_ns,
        .fallback_processes = c->fallback_processes,
    };
    copy(o->endpoint, sizeof(o->endpoint), c->endpoint);
    copy(o->hostaddr, sizeof(o->hostaddr), c->hostaddr);
    copy(o->region, sizeof(o->region), c->region);
    copy(o->user, sizeof(o->user), c->user);
    copy(o->database, sizeof(o->database), c->database);
    copy(o->ca_file, sizeof(o->ca_file), c->ca_file);
    copy(o->service, sizeof(o->service), c->service);
    copy(o->trace, sizeof(o->trace), c->trace);
    o->budget = budget_kind(c);
    if (o->budget != DSQL_BUDGET_LOCAL && c->lease_enabled)
        copy(o->lease_table, sizeof(o->lease_table), c->lease_table);
    if (o->budget == DSQL_BUDGET_LEASES && c->limiter_enabled)
        copy(o->limiter_table, sizeof(o->limiter_table), c->limiter_table);
}

void dsql_pool_options_default(struct dsql_pool_options *options)
{
    struct dsql_config config;
    dsql_config_defaults(&config);
    from_config(options, &config);
}

enum dsql_rc dsql_pool_options_env(struct dsql_pool_options *options, struct dsql_err *err)
{
    struct dsql_config config;
    struct dsql_config_report report;
    dsql_config_load(&config, &report, (const char *const *)environ);
    if (report.source[DSQL_SETTING_log_level].variable)
        dsql_log_set_level_by_setting(config.log_level);
    dsql_config_log(&report, dsql_log_default());
    if (dsql_config_has_error(&report)) {
        dsql_pool_options_default(options);
        for (size_t i = 0; i < report.finding_count; i++)
            if (report.findings[i].kind == DSQL_FINDING_ERROR)
                return dsql_err_set(err, DSQL_INVALID, "%s", report.findings[i].message);
        return dsql_err_set(err, DSQL_INVALID, "the settings contradict each other");
    }
    from_config(options, &config);
    return DSQL_OK;
}

static void at_most(int64_t *value, int64_t most)
{
    if (*value > most)
        *value = most;
}

/* As src/config/rules.c has it for a pace that nobody chose. */
static int64_t keeper_pace(int64_t max_open)
{
    int64_t per_tick = (max_open + 119) / 120;
    return per_tick < 10 ? per_tick : 10;
}

static void follow(int64_t *value, int64_t before, int64_t now)
{
    if (*value == before)
        *value = now;
}

void dsql_pool_options_resize(struct dsql_pool_options *options, int64_t max_open)
{
    int64_t before = options->max_open;
    options->max_open = max_open;
    follow(&options->target_ready, before, max_open);
    follow(&options->low_watermark, before, max_open);
    follow(&options->warmup_target, before, max_open);
    follow(&options->keeper_max_per_tick, keeper_pace(before), keeper_pace(max_open));
}

void dsql_pool_options_limit_age(struct dsql_pool_options *options, int64_t max_age_ns)
{
    if (options->base_lifetime_ns + options->lifetime_jitter_ns / 2 <= max_age_ns)
        return;
    at_most(&options->lifetime_jitter_ns, max_age_ns / 4);
    options->base_lifetime_ns = max_age_ns - options->lifetime_jitter_ns / 2;
    at_most(&options->guard_window_ns,
            (options->base_lifetime_ns - options->lifetime_jitter_ns / 2) / 2);
}

static enum dsql_rc check_range(const char *name, int64_t value, int64_t low, int64_t high,
                                struct dsql_err *err)
{
    if (value >= low && value <= high)
        return DSQL_OK;
    return dsql_err_set(err, DSQL_INVALID, "the option %s is %lld, not from %lld to %lld", name,
                        (long long)value, (long long)low, (long long)high);
}

static enum dsql_rc check_ranges(const struct dsql_pool_options *o, struct dsql_err *err)
{
    const int64_t day_ns = 24 * DSQL_H;
    const struct {
        const char *name;
        int64_t value, low, high;
    } ranges[] = {
        {"port", o->port, 0, 65535},
        {"mode", o->mode, DSQL_POOL_STANDARD, DSQL_POOL_RESERVOIR},
        {"token_duration_ns", o->token_duration_ns, DSQL_S, 168 * DSQL_H},
        {"max_open", o->max_open, 1, DSQL_SLOTS_MAX},
        {"target_ready", o->target_ready, 0, INT64_MAX},
        {"low_watermark", o->low_watermark, 0, INT64_MAX},
        {"base_lifetime_ns", o->base_lifetime_ns, DSQL_MS, DSQL_H},
        {"lifetime_jitter_ns", o->lifetime_jitter_ns, 0, o->base_lifetime_ns},
        {"guard_window_ns", o->guard_window_ns, 0, o->base_lifetime_ns - o->lifetime_jitter_ns / 2},
        {"initial_fill_timeout_ns", o->initial_fill_timeout_ns, 0, day_ns},
        {"inflight_limit", o->inflight_limit, 1, 1000},
        {"empty_wait_ns", o->empty_wait_ns, 0, day_ns},
        {"connect_timeout_ns", o->connect_timeout_ns, DSQL_MS, day_ns},
        {"warmup_connect_timeout_ns", o->warmup_connect_timeout_ns, DSQL_MS, day_ns},
        {"permit_wait_ns", o->permit_wait_ns, 0, day_ns},
        {"permit_backoff_ns", o->permit_backoff_ns, 1, day_ns},
        {"drain_timeout_ns", o->drain_timeout_ns, 0, day_ns},
        {"warmup_target", o->warmup_target, 0, INT64_MAX},
        {"warmup_max_retries", o->warmup_max_retries, 0, 1000},
        {"warmup_retry_backoff_ns", o->warmup_retry_backoff_ns, 1, day_ns},
        {"warmup_max_backoff_ns", o->warmup_max_backoff_ns, o->warmup_retry_backoff_ns, day_ns},
        {"keeper_tick_ns", o->keeper_tick_ns, DSQL_MS, day_ns},
        {"keeper_max_per_tick", o->keeper_max_per_tick, 1, DSQL_SLOTS_MAX},
        {"rate", o->rate, 1, DSQL_PERMITS_RATE_MAX},
        {"burst", o->burst, 1, DSQL_PERMITS_BURST_MAX},
        {"fallback_after_ns", o->fallback_after_ns, 0, day_ns},
        {"fallback_processes", o->fallback_processes, 1, 1000000},
        {"staggered_startup_ns", o->staggered_startup_ns, 0, day_ns},
    };
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; !rc && i < DSQL_COUNT_OF(ranges); i++)
        rc = check_range(ranges[i].name, ranges[i].value, ranges[i].low, ranges[i].high, err);
    return rc;
}

enum dsql_rc dsql_options_check(struct dsql_pool_options *o, struct dsql_target *target,
                                struct dsql_err *err)
{
    enum dsql_rc rc = check_ranges(o, err);
    if (rc)
        return rc;
    if (o->user[0] == '\0' || o->database[0] == '\0')
        return dsql_err_set(err, DSQL_INVALID, "the pool has no user or no database");
    struct dsql_span host, port;
    int64_t number = o->port ? o->port : 5432;
    dsql_span_cut(dsql_span_of(o->endpoint), ':', &host, &port);
    if (host.len == 0) {
        (void)dsql_err_set(err, DSQL_INVALID, "no endpoint");
        dsql_err_hint(err, "set DSQL_ENDPOINT, or the option endpoint; 'dsql local' has one");
        return DSQL_INVALID;
    }
    if (port.len > 0 && !o->port &&
        (!dsql_span_to_i64(port, &number) || number < 1 || number > 65535))
        return dsql_err_set(err, DSQL_INVALID, "%s is no port", dsql_shown(port).text);
    struct dsql_endpoint endpoint;
    rc = dsql_endpoint_parse(host, dsql_span_of(o->region), &endpoint, err);
    if (rc)
        return rc;
    at_most(&o->target_ready, o->max_open);
    at_most(&o->low_watermark, o->target_ready);
    at_most(&o->warmup_target, o->target_ready);
    *target = (struct dsql_target){.port = (int)number};
    copy(target->host, sizeof(target->host), endpoint.host);
    copy(target->region, sizeof(target->region), endpoint.region);
    return DSQL_OK;
}
