/*
 * What a pool is told: defaults, the environment, and whether it makes sense. All translations of
 * options are here: from the settings, and into what keeper and budget are told.
 */
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
        .connection.token_duration_ns = c->token_duration_ns,
        .mode = c->reservoir_enabled ? DSQL_POOL_RESERVOIR : DSQL_POOL_STANDARD,
        .sizing.max_open = c->max_open,
        .sizing.target_ready = c->reservoir_enabled ? c->target_ready : c->max_open,
        .sizing.low_watermark = c->low_watermark,
        .lifetime.base_ns = c->reservoir_enabled ? c->base_lifetime_ns : c->max_conn_lifetime_ns,
        .lifetime.jitter_ns = c->lifetime_jitter_ns,
        .lifetime.guard_window_ns = c->guard_window_ns,
        .sizing.initial_fill_timeout_ns = c->initial_fill_timeout_ns,
        .sizing.inflight_limit = c->inflight_limit,
        .empty_wait_ns = c->empty_wait_ns,
        .connection.connect_timeout_ns =
            c->reservoir_enabled ? CONNECT_TIMEOUT_NS : c->keeper_connect_timeout_ns,
        .standard.warmup_connect_timeout_ns = c->warmup_connect_timeout_ns,
        .budget.permit_wait_ns = c->permit_wait_ns,
        .budget.permit_backoff_ns = c->permit_backoff_ns,
        .drain_timeout_ns = DRAIN_TIMEOUT_NS,
        .standard.warmup_target = c->warmup_target,
        .standard.warmup_max_retries = c->warmup_max_retries,
        .standard.warmup_retry_backoff_ns = c->warmup_retry_backoff_ns,
        .standard.warmup_max_backoff_ns = c->warmup_max_backoff_ns,
        .standard.keeper_tick_ns = c->keeper_tick_ns,
        .standard.keeper_max_per_tick = c->keeper_max_per_tick,
        .budget.rate = c->rate,
        .budget.burst = c->burst,
        .budget.staggered_startup_ns = c->staggered_startup ? c->staggered_startup_max_delay_ns : 0,
        .budget.cluster_rate = c->cluster_rate,
        .budget.cluster_burst = c->cluster_burst,
        .budget.cluster_connections = c->cluster_connections,
        .budget.cluster_headroom = c->cluster_headroom,
        .budget.ttl_ns = c->budget_ttl_ns,
        .budget.fallback_after_ns = c->fallback_after_ns,
        .budget.fallback_processes = c->fallback_processes,
    };
    copy(o->connection.endpoint, sizeof(o->connection.endpoint), c->endpoint);
    copy(o->connection.hostaddr, sizeof(o->connection.hostaddr), c->hostaddr);
    copy(o->connection.region, sizeof(o->connection.region), c->region);
    copy(o->connection.user, sizeof(o->connection.user), c->user);
    copy(o->connection.database, sizeof(o->connection.database), c->database);
    copy(o->connection.ca_file, sizeof(o->connection.ca_file), c->ca_file);
    copy(o->budget.service, sizeof(o->budget.service), c->service);
    copy(o->trace, sizeof(o->trace), c->trace);
    o->budget.kind = budget_kind(c);
    if (o->budget.kind != DSQL_BUDGET_LOCAL && c->lease_enabled)
        copy(o->budget.lease_table, sizeof(o->budget.lease_table), c->lease_table);
    if (o->budget.kind == DSQL_BUDGET_LEASES && c->limiter_enabled)
        copy(o->budget.limiter_table, sizeof(o->budget.limiter_table), c->limiter_table);
}

/* Gives a program as much of the options as it has room for; what only it knows is zero. */
static void give(const struct dsql_pool_options *own, struct dsql_pool_options *options,
                 size_t size)
{
    memset(options, 0, size);
    memcpy(options, own, size < sizeof(*own) ? size : sizeof(*own));
    options->size = size;
}

void dsql_pool_options_default_sized(struct dsql_pool_options *options, size_t size)
{
    struct dsql_config config;
    struct dsql_pool_options own;
    dsql_config_defaults(&config);
    from_config(&own, &config);
    give(&own, options, size);
}

enum dsql_rc dsql_pool_options_env_sized(struct dsql_pool_options *options, size_t size,
                                         struct dsql_err *err)
{
    struct dsql_config config;
    struct dsql_config_report report;
    dsql_config_load(&config, &report, (const char *const *)environ);
    if (report.source[DSQL_SETTING_log_level].variable)
        dsql_log_set_level_by_setting(config.log_level);
    dsql_config_log(&report, dsql_log_default());
    if (dsql_config_has_error(&report)) {
        dsql_pool_options_default_sized(options, size);
        for (size_t i = 0; i < report.finding_count; i++)
            if (report.findings[i].kind == DSQL_FINDING_ERROR)
                return dsql_err_set(err, DSQL_INVALID, "%s", report.findings[i].message);
        return dsql_err_set(err, DSQL_INVALID, "the settings contradict each other");
    }
    struct dsql_pool_options own;
    from_config(&own, &config);
    give(&own, options, size);
    return DSQL_OK;
}

enum dsql_rc dsql_options_take(const struct dsql_pool_options *given,
                               struct dsql_pool_options *options, struct dsql_err *err)
{
    if (given->size < sizeof(given->size) + sizeof(given->mode)) {
        (void)dsql_err_set(err, DSQL_INVALID, "the options of the pool have no size");
        dsql_err_hint(err, "call dsql_pool_options_default() or dsql_pool_options_env() first");
        return DSQL_INVALID;
    }
    const unsigned char *bytes = (const unsigned char *)given;
    for (size_t i = sizeof(*options); i < given->size; i++)
        if (bytes[i])
            return dsql_err_set(err, DSQL_INVALID,
                                "the program sets an option that this libdsql does not have");
    dsql_pool_options_default(options);
    memcpy(options, given, given->size < sizeof(*options) ? given->size : sizeof(*options));
    options->size = sizeof(*options);
    return DSQL_OK;
}

/* -- What two openers of one pool may disagree about. */

#define MEMBER(name, kind)                                                                         \
    {                                                                                              \
#name, kind, offsetof(struct dsql_pool_options, name)                                      \
    }
#define NUMBER(name) MEMBER(name, MEMBER_I64)
#define TEXT(name)   MEMBER(name, MEMBER_TEXT)

static const struct member {
    const char *name;
    enum { MEMBER_I64, MEMBER_ENUM, MEMBER_TEXT, MEMBER_POINTER } kind;
    size_t offset;
} members[] = {
    MEMBER(mode, MEMBER_ENUM),
    TEXT(connection.hostaddr),
    TEXT(connection.region),
    TEXT(connection.ca_file),
    NUMBER(connection.token_duration_ns),
    NUMBER(connection.connect_timeout_ns),
    NUMBER(sizing.max_open),
    NUMBER(sizing.target_ready),
    NUMBER(sizing.low_watermark),
    NUMBER(sizing.initial_fill_timeout_ns),
    NUMBER(sizing.inflight_limit),
    NUMBER(lifetime.base_ns),
    NUMBER(lifetime.jitter_ns),
    NUMBER(lifetime.guard_window_ns),
    NUMBER(empty_wait_ns),
    NUMBER(drain_timeout_ns),
    NUMBER(standard.warmup_target),
    NUMBER(standard.warmup_max_retries),
    NUMBER(standard.warmup_retry_backoff_ns),
    NUMBER(standard.warmup_max_backoff_ns),
    NUMBER(standard.warmup_connect_timeout_ns),
    NUMBER(standard.keeper_tick_ns),
    NUMBER(standard.keeper_max_per_tick),
    MEMBER(budget.kind, MEMBER_ENUM),
    NUMBER(budget.rate),
    NUMBER(budget.burst),
    NUMBER(budget.permit_wait_ns),
    NUMBER(budget.permit_backoff_ns),
    NUMBER(budget.staggered_startup_ns),
    TEXT(budget.lease_table),
    TEXT(budget.limiter_table),
    NUMBER(budget.cluster_rate),
    NUMBER(budget.cluster_burst),
    NUMBER(budget.cluster_connections),
    NUMBER(budget.cluster_headroom),
    NUMBER(budget.ttl_ns),
    NUMBER(budget.fallback_after_ns),
    NUMBER(budget.fallback_processes),
    TEXT(budget.service),
    TEXT(trace),
    MEMBER(metrics, MEMBER_POINTER),
    MEMBER(credentials, MEMBER_POINTER),
    MEMBER(clock, MEMBER_POINTER),
};

static int64_t number_at(const struct member *member, const char *options)
{
    if (member->kind == MEMBER_ENUM)
        return *(const int *)(const void *)(options + member->offset);
    return *(const int64_t *)(const void *)(options + member->offset);
}

static const void *pointer_at(const struct member *member, const char *options)
{
    return *(const void *const *)(const void *)(options + member->offset);
}

static bool member_differs(const struct member *member, const char *open, const char *asked,
                           struct dsql_strbuf *sb)
{
    if (member->kind == MEMBER_POINTER) {
        if (pointer_at(member, open) == pointer_at(member, asked))
            return false;
        dsql_strbuf_addf(sb, "%s is another one", member->name);
    } else if (member->kind == MEMBER_TEXT) {
        if (strcmp(open + member->offset, asked + member->offset) == 0)
            return false;
        dsql_strbuf_addf(sb, "%s is '%s' there and '%s' here", member->name, open + member->offset,
                         asked + member->offset);
    } else {
        if (number_at(member, open) == number_at(member, asked))
            return false;
        dsql_strbuf_addf(sb, "%s is %lld there and %lld here", member->name,
                         (long long)number_at(member, open), (long long)number_at(member, asked));
    }
    return true;
}

bool dsql_options_differ(const struct dsql_pool_options *open,
                         const struct dsql_pool_options *asked, char *difference, size_t size)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, difference, size);
    for (size_t i = 0; i < DSQL_COUNT_OF(members); i++)
        if (member_differs(&members[i], (const char *)open, (const char *)asked, &sb))
            return true;
    return false;
}

static void at_most(int64_t *value, int64_t most)
{
    if (*value > most)
        *value = most;
}

/* The default pace, as src/config/rules.c has it. */
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
    int64_t before = options->sizing.max_open;
    options->sizing.max_open = max_open;
    follow(&options->sizing.target_ready, before, max_open);
    follow(&options->sizing.low_watermark, before, max_open);
    follow(&options->standard.warmup_target, before, max_open);
    follow(&options->standard.keeper_max_per_tick, keeper_pace(before), keeper_pace(max_open));
}

void dsql_pool_options_limit_age(struct dsql_pool_options *options, int64_t max_age_ns)
{
    if (options->lifetime.base_ns + options->lifetime.jitter_ns / 2 <= max_age_ns)
        return;
    at_most(&options->lifetime.jitter_ns, max_age_ns / 4);
    options->lifetime.base_ns = max_age_ns - options->lifetime.jitter_ns / 2;
    at_most(&options->lifetime.guard_window_ns,
            (options->lifetime.base_ns - options->lifetime.jitter_ns / 2) / 2);
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
        {"connection.port", o->connection.port, 0, 65535},
        {"mode", o->mode, DSQL_POOL_STANDARD, DSQL_POOL_RESERVOIR},
        {"connection.token_duration_ns", o->connection.token_duration_ns, DSQL_S, 168 * DSQL_H},
        {"sizing.max_open", o->sizing.max_open, 1, DSQL_SLOTS_MAX},
        {"sizing.target_ready", o->sizing.target_ready, 0, INT64_MAX},
        {"sizing.low_watermark", o->sizing.low_watermark, 0, INT64_MAX},
        {"lifetime.base_ns", o->lifetime.base_ns, DSQL_MS, DSQL_H},
        {"lifetime.jitter_ns", o->lifetime.jitter_ns, 0, o->lifetime.base_ns},
        {"lifetime.guard_window_ns", o->lifetime.guard_window_ns, 0,
         o->lifetime.base_ns - o->lifetime.jitter_ns / 2},
        {"sizing.initial_fill_timeout_ns", o->sizing.initial_fill_timeout_ns, 0, day_ns},
        {"sizing.inflight_limit", o->sizing.inflight_limit, 1, 1000},
        {"empty_wait_ns", o->empty_wait_ns, 0, day_ns},
        {"connection.connect_timeout_ns", o->connection.connect_timeout_ns, DSQL_MS, day_ns},
        {"standard.warmup_connect_timeout_ns", o->standard.warmup_connect_timeout_ns, DSQL_MS,
         day_ns},
        {"budget.permit_wait_ns", o->budget.permit_wait_ns, 0, day_ns},
        {"budget.permit_backoff_ns", o->budget.permit_backoff_ns, 1, day_ns},
        {"drain_timeout_ns", o->drain_timeout_ns, 0, day_ns},
        {"standard.warmup_target", o->standard.warmup_target, 0, INT64_MAX},
        {"standard.warmup_max_retries", o->standard.warmup_max_retries, 0, 1000},
        {"standard.warmup_retry_backoff_ns", o->standard.warmup_retry_backoff_ns, 1, day_ns},
        {"standard.warmup_max_backoff_ns", o->standard.warmup_max_backoff_ns,
         o->standard.warmup_retry_backoff_ns, day_ns},
        {"standard.keeper_tick_ns", o->standard.keeper_tick_ns, DSQL_MS, day_ns},
        {"standard.keeper_max_per_tick", o->standard.keeper_max_per_tick, 1, DSQL_SLOTS_MAX},
        {"budget.rate", o->budget.rate, 1, DSQL_PERMITS_RATE_MAX},
        {"budget.burst", o->budget.burst, 1, DSQL_PERMITS_BURST_MAX},
        {"budget.fallback_after_ns", o->budget.fallback_after_ns, 0, day_ns},
        {"budget.fallback_processes", o->budget.fallback_processes, 1, 1000000},
        {"budget.staggered_startup_ns", o->budget.staggered_startup_ns, 0, day_ns},
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
    if (o->connection.user[0] == '\0' || o->connection.database[0] == '\0')
        return dsql_err_set(err, DSQL_INVALID, "the pool has no user or no database");
    struct dsql_span host, port;
    int64_t number = o->connection.port ? o->connection.port : 5432;
    dsql_span_cut(dsql_span_of(o->connection.endpoint), ':', &host, &port);
    if (host.len == 0) {
        (void)dsql_err_set(err, DSQL_INVALID, "no endpoint");
        dsql_err_hint(err, "set DSQL_ENDPOINT, or the option endpoint; 'dsql local' has one");
        return DSQL_INVALID;
    }
    if (port.len > 0 && !o->connection.port &&
        (!dsql_span_to_i64(port, &number) || number < 1 || number > 65535))
        return dsql_err_set(err, DSQL_INVALID, "%s is no port", dsql_shown(port).text);
    struct dsql_endpoint endpoint;
    rc = dsql_endpoint_parse(host, dsql_span_of(o->connection.region), &endpoint, err);
    if (rc)
        return rc;
    at_most(&o->sizing.target_ready, o->sizing.max_open);
    at_most(&o->sizing.low_watermark, o->sizing.target_ready);
    at_most(&o->standard.warmup_target, o->sizing.target_ready);
    *target = (struct dsql_target){.port = (int)number};
    copy(target->host, sizeof(target->host), endpoint.host);
    copy(target->region, sizeof(target->region), endpoint.region);
    return DSQL_OK;
}

struct dsql_keeper_config dsql_options_keeper(const struct dsql_pool_options *o)
{
    bool standard = o->mode == DSQL_POOL_STANDARD;
    return (struct dsql_keeper_config){
        .max_open = (uint32_t)o->sizing.max_open,
        .target = (uint32_t)o->sizing.target_ready,
        .lifetime = {o->lifetime.base_ns, o->lifetime.jitter_ns, o->lifetime.guard_window_ns},
        .start_delay_ns = o->budget.staggered_startup_ns,
        .inflight_limit = o->sizing.inflight_limit,
        .connect_timeout_ns = o->connection.connect_timeout_ns,
        .empty_wait_ns = o->empty_wait_ns,
        .permit_wait_ns = o->budget.permit_wait_ns,
        .permit_backoff_ns = o->budget.permit_backoff_ns,
        .tick_ns = standard ? o->standard.keeper_tick_ns : 0,
        .tick_max = (uint32_t)o->standard.keeper_max_per_tick,
        .warmup = standard ? (uint32_t)o->standard.warmup_target : 0,
        .warmup_tries = (uint32_t)o->standard.warmup_max_retries + 1,
        .warmup_timeout_ns = o->standard.warmup_connect_timeout_ns,
        .warmup_backoff_ns = o->standard.warmup_retry_backoff_ns,
        .warmup_backoff_max_ns = o->standard.warmup_max_backoff_ns,
    };
}

struct dsql_budget_options dsql_options_budget(const struct dsql_pool_options *o)
{
    return (struct dsql_budget_options){
        .kind = o->budget.kind,
        .service = o->budget.service,
        .rate = o->budget.rate,
        .burst = o->budget.burst,
        .lease_table = o->budget.lease_table,
        .limiter_table = o->budget.limiter_table,
        .cluster_rate = o->budget.cluster_rate,
        .cluster_burst = o->budget.cluster_burst,
        .cluster_connections = o->budget.cluster_connections,
        .cluster_headroom = o->budget.cluster_headroom,
        .ttl_ns = o->budget.ttl_ns,
        .fallback_after_ns = o->budget.fallback_after_ns,
        .fallback_processes = o->budget.fallback_processes,
        .metrics = o->metrics,
    };
}
