/* Opening, draining and closing pools; the list of this process; fork. */
#include "pool/pool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lock.h"
#include "pool/options.h"
#include "pool/roots.h"
#include "pool/visitors.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* taken while holding nothing */
static struct dsql_pool *pools;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The child has the parent's memory but not its threads: it forgets the parent's pools. */
static void after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    list_lock = fresh;
    pools = NULL;
    dsql_budget_after_fork();
}

static void start_once(void)
{
    dsql_fork_watch(after_fork);
}

static bool is_of_this_process(const struct dsql_pool *pool)
{
    return pool->fork_generation == dsql_fork_generation;
}

/* -- Making and unmaking. */

static void wake_opener(void *arg)
{
    dsql_opener_wake(arg);
}

static void choose_trust(struct dsql_pool *pool)
{
    if (pool->options.connection.ca_file[0] != '\0') {
        (void)snprintf(pool->target.ca_path, sizeof(pool->target.ca_path), "%s",
                       pool->options.connection.ca_file);
        return;
    }
    const char *bundle = dsql_roots_bundle();
    if (dsql_roots_make(bundle, &pool->target.ca_fd, pool->target.ca_path,
                        sizeof(pool->target.ca_path)) > 0)
        return;
    (void)snprintf(pool->target.ca_path, sizeof(pool->target.ca_path), "%s",
                   bundle ? bundle : "/etc/ssl/certs/ca-certificates.crt");
    dsql_log(dsql_log_default(), DSQL_EVENT_POOL_TRUST,
             DSQL_F("bundle", (const char *)pool->target.ca_path));
}

static void init_locks(struct dsql_pool *pool)
{
    dsql_clock_cond_init(&pool->progress);
    /* Neither can fail on Linux. */
    (void)pthread_mutex_init(&pool->state_lock, NULL);
    (void)pthread_mutex_init(&pool->line.lock, NULL);
    dsql_pulse_init(&pool->pulse);
}

static enum dsql_rc init_slots(struct dsql_pool *pool, struct dsql_err *err)
{
    struct dsql_mono now = dsql_clock_mono(pool->clock);
    struct dsql_keeper_config config = dsql_options_keeper(&pool->options);
    size_t size = config.max_open * sizeof(*pool->conns);
    pool->conns = aligned_alloc(DSQL_CACHE_LINE, size);
    if (!pool->conns || dsql_keeper_init(&pool->keeper, &config, dsql_rng_from_os(), now) ||
        dsql_ready_set_init(&pool->fast.ready, config.max_open))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    memset((void *)pool->conns, 0, size);
    for (uint32_t i = 0; i < config.max_open; i++) {
        pool->conns[i].pool = pool;
        pool->conns[i].slot = i;
        pool->conns[i].fd = -1;
    }
    return DSQL_OK;
}

static enum dsql_rc find_credentials(struct dsql_pool *pool, struct dsql_credentials **credentials,
                                     struct dsql_err *err)
{
    enum dsql_rc rc = DSQL_OK;
    *credentials = pool->options.credentials;
    if (*credentials)
        return rc;
    const struct dsql_credentials_options options = {.region = pool->target.region};
    rc = dsql_credentials_new(&options, &pool->target.credentials, err);
    *credentials = pool->target.credentials;
    return rc;
}

static enum dsql_rc open_budget(struct dsql_pool *pool, struct dsql_credentials *credentials,
                                struct dsql_err *err)
{
    char endpoint[300];
    (void)snprintf(endpoint, sizeof(endpoint), "%s:%d", pool->target.host, pool->target.port);
    struct dsql_budget_options budget = dsql_options_budget(&pool->options);
    budget.endpoint = endpoint;
    budget.region = pool->target.region;
    budget.credentials = credentials;
    budget.log = dsql_log_default();
    budget.clock = pool->clock;
    budget.wake = wake_opener;
    budget.wake_arg = pool;
    return dsql_budget_open(&budget, &pool->budget, err);
}

static enum dsql_rc init_opener_parts(struct dsql_pool *pool, struct dsql_credentials *credentials,
                                      struct dsql_err *err)
{
    const struct dsql_token_cache_options tokens = {
        .credentials = credentials,
        .host = pool->target.host,
        .region = pool->target.region,
        .user = pool->options.connection.user,
        .duration_ns = pool->options.connection.token_duration_ns,
        .clock = pool->clock,
        .wake = wake_opener,
        .wake_arg = pool,
    };
    if (pool->options.connection.hostaddr[0] == '\0' &&
        dsql_resolver_new(pool->target.host, wake_opener, pool, &pool->opener.resolver))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    return dsql_token_cache_new(&tokens, &pool->opener.tokens, err);
}

static enum dsql_rc init_parts(struct dsql_pool *pool, struct dsql_err *err)
{
    struct dsql_credentials *credentials = NULL;
    enum dsql_rc rc = init_slots(pool, err);
    if (!rc)
        rc = find_credentials(pool, &credentials, err);
    if (!rc)
        rc = open_budget(pool, credentials, err);
    return rc ? rc : init_opener_parts(pool, credentials, err);
}

/* A pool that can't be recorded works all the same: the log says why. */
static void start_trace(struct dsql_pool *pool)
{
    struct dsql_err err = {0};
    const char *path = pool->options.trace;
    if (path[0] == '\0')
        return;
    if (dsql_trace_open(path, (uint32_t)pool->options.sizing.max_open, pool->clock,
                        &pool->state_lock, &pool->trace, &err))
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_TRACE_FAILED,
                 DSQL_F("endpoint", (const char *)pool->target.key),
                 DSQL_F("detail", (const char *)err.message));
    else
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_TRACE,
                 DSQL_F("endpoint", (const char *)pool->target.key), DSQL_F("file", path));
}

/* Callers that still have a connection may tell the keeper of it later: unrecorded. */
static void stop_trace(struct dsql_pool *pool)
{
    dsql_lock(&pool->state_lock);
    struct dsql_trace *trace = pool->trace;
    pool->trace = NULL;
    dsql_unlock(&pool->state_lock);
    dsql_trace_close(trace, &pool->keeper);
}

/* Whatever it has of others: threads, descriptors, its part of the budget, the caller's
 * credentials. The opener has ended or never started. */
static void give_back(struct dsql_pool *pool)
{
    stop_trace(pool);
    dsql_token_cache_destroy(pool->opener.tokens);
    dsql_budget_destroy(pool->budget);
    dsql_credentials_destroy(pool->target.credentials);
    dsql_resolver_destroy(pool->opener.resolver);
    if (pool->target.ca_fd >= 0)
        (void)close(pool->target.ca_fd);
    if (pool->opener.epoll >= 0)
        (void)close(pool->opener.epoll);
    if (pool->opener.event >= 0)
        (void)close(pool->opener.event);
}

/* What is left is memory. */
static void fini(struct dsql_pool *pool)
{
    dsql_keeper_fini(&pool->keeper);
    dsql_ready_set_fini(&pool->fast.ready);
    pthread_cond_destroy(&pool->progress);
    pthread_mutex_destroy(&pool->state_lock);
    pthread_mutex_destroy(&pool->line.lock);
    dsql_pulse_fini(&pool->pulse);
    free(pool->conns);
    free(pool);
}

void dsql_pool_free(struct dsql_pool *pool)
{
    dsql_visitors_wait(pool);
    assert(pool->listed.handles == 0 && dsql_pool_has_no_owner(pool));
    fini(pool);
}

static void make_key(char *key, size_t size, const struct dsql_pool_options *options,
                     const struct dsql_target *target)
{
    (void)snprintf(key, size, "%.255s:%d/%.63s?user=%.63s", target->host, target->port,
                   options->connection.database, options->connection.user);
}

/* NULL if it can't be made; *rc and *err say why. */
static struct dsql_pool *make(const struct dsql_pool_options *options,
                              const struct dsql_target *target, enum dsql_rc *rc,
                              struct dsql_err *err)
{
    struct dsql_pool *pool = aligned_alloc(DSQL_CACHE_LINE, sizeof(*pool));
    if (!pool) {
        *rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
        return NULL;
    }
    memset((void *)pool, 0, sizeof(*pool));
    pool->options = *options;
    pool->metrics = options->metrics;
    pool->clock = dsql_clock_or_boot(options->clock);
    pool->fork_generation = dsql_fork_generation;
    pool->target.ca_fd = pool->opener.epoll = pool->opener.event = -1;
    pool->listed.handles = 1;
    pool->target.port = target->port;
    memcpy(pool->target.host, target->host, sizeof(pool->target.host));
    memcpy(pool->target.region, target->region, sizeof(pool->target.region));
    (void)snprintf(pool->target.port_text, sizeof(pool->target.port_text), "%d", pool->target.port);
    make_key(pool->target.key, sizeof(pool->target.key), options, target);
    init_locks(pool);
    *rc = dsql_opener_init(pool, err);
    if (!*rc)
        *rc = init_parts(pool, err);
    if (!*rc) {
        choose_trust(pool);
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_STARTED,
                 DSQL_F("endpoint", (const char *)pool->target.key),
                 DSQL_F("mode", options->mode == DSQL_POOL_RESERVOIR ? "reservoir" : "standard"),
                 DSQL_F("max_open", options->sizing.max_open),
                 DSQL_F("target", options->sizing.target_ready),
                 DSQL_F("low_watermark", options->sizing.low_watermark),
                 DSQL_F("lifetime_ms", options->lifetime.base_ns / DSQL_MS),
                 DSQL_F("guard_ms", options->lifetime.guard_window_ns / DSQL_MS),
                 DSQL_F("rate", options->budget.rate), DSQL_F("burst", options->budget.burst));
        int64_t delay_ns = dsql_mono_since(pool->keeper.start_at, pool->keeper.now);
        if (delay_ns > 0)
            dsql_log(dsql_log_default(), DSQL_EVENT_POOL_STAGGERED,
                     DSQL_F("endpoint", (const char *)pool->target.key),
                     DSQL_F("wait_ms", delay_ns / DSQL_MS));
        start_trace(pool);
        enum dsql_rc started = dsql_opener_start(pool, err);
        *rc = started;
    }
    if (*rc) {
        give_back(pool);
        fini(pool);
        return NULL;
    }
    return pool;
}

/* -- Waiting for the first connections. */

/* Until something changed, at most until the deadline; false for the latter. state_lock is held. */
static bool wait_for_progress(struct dsql_pool *pool, struct dsql_mono deadline)
{
    return dsql_clock_wait(pool->clock, &pool->progress, &pool->state_lock, deadline);
}

static bool is_filled(const struct dsql_pool *pool)
{
    if (pool->options.mode == DSQL_POOL_STANDARD)
        return dsql_keeper_is_warm(&pool->keeper);
    return pool->keeper.slots.open >= pool->options.sizing.low_watermark;
}

static void wait_until_filled(struct dsql_pool *pool)
{
    struct dsql_mono began = dsql_clock_mono(pool->clock);
    dsql_lock(&pool->state_lock);
    int64_t delay_ns = dsql_mono_since(pool->keeper.start_at, dsql_clock_mono(pool->clock));
    struct dsql_mono deadline = dsql_mono_add(began, pool->options.sizing.initial_fill_timeout_ns +
                                                         (delay_ns > 0 ? delay_ns : 0));
    bool standard = pool->options.mode == DSQL_POOL_STANDARD;
    /* Nothing came and nothing will: waiting longer only keeps the program from saying so. */
    while (!is_filled(pool) && !dsql_keeper_is_hopeless(&pool->keeper) && !pool->ending.draining) {
        if (wait_for_progress(pool, deadline))
            continue;
        if (!standard || pool->tally.attempts == 0)
            break;
        /* A warm-up ends by its own limits, once the budget has let it begin. */
        deadline = (struct dsql_mono){INT64_MAX};
    }
    int64_t open = pool->keeper.slots.open;
    uint64_t created = pool->tally.opens, failed = pool->tally.failures;
    int64_t wanted =
        standard ? pool->options.standard.warmup_target : pool->options.sizing.low_watermark;
    bool hopeless = dsql_keeper_is_hopeless(&pool->keeper);
    struct dsql_pool_error last =
        pool->tally.error_count > 0 ? pool->tally.errors[0] : (struct dsql_pool_error){0};
    struct dsql_allowance_status budget = {0};
    dsql_budget_status(pool->budget, dsql_clock_mono(pool->clock), &budget);
    dsql_unlock(&pool->state_lock);
    int64_t took_ns = dsql_mono_since(dsql_clock_mono(pool->clock), began);
    if (open >= wanted)
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_FILLED,
                 DSQL_F("endpoint", (const char *)pool->target.key), DSQL_F("open", open),
                 DSQL_F("created", created), DSQL_F("failed", failed),
                 DSQL_F("ms", took_ns / DSQL_MS));
    else
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_NOT_FILLED,
                 DSQL_F("endpoint", (const char *)pool->target.key), DSQL_F("open", open),
                 DSQL_F("wanted", wanted), DSQL_F("created", created), DSQL_F("failed", failed),
                 DSQL_F("ms", took_ns / DSQL_MS), DSQL_F("gave_up", hopeless),
                 DSQL_F("detail", last.message[0] ? (const char *)last.message
                                                  : (const char *)budget.problem));
    if (standard && !hopeless)
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_KEEPER,
                 DSQL_F("endpoint", (const char *)pool->target.key),
                 DSQL_F("tick_ms", pool->keeper.config.tick_ns / DSQL_MS),
                 DSQL_F("per_tick", (int64_t)pool->keeper.config.tick_max));
}

/* -- The list. */

/* With list_lock held: the pool that a new handle shares; a pool that drains is passed over. */
static struct dsql_pool *find(const char *key)
{
    struct dsql_pool *pool = pools;
    while (pool && ((atomic_load_explicit(&pool->fast.attention, memory_order_seq_cst) &
                     DSQL_POOL_CLOSED) ||
                    strcmp(pool->target.key, key) != 0))
        pool = pool->listed.next;
    return pool;
}

/* With list_lock held: one more handle of an open pool, if the options allow it. */
static enum dsql_rc join(struct dsql_pool *pool, const struct dsql_pool_options *options,
                         struct dsql_err *err)
{
    char difference[256];
    if (dsql_options_differ(&pool->options, options, difference, sizeof(difference))) {
        if (!options->share) {
            (void)dsql_err_set(err, DSQL_INVALID, "a pool of %s is open with other options: %s",
                               pool->target.key, difference);
            dsql_err_hint(err, "open it with the same options, or set the option share to take "
                               "the open pool as it is");
            return DSQL_INVALID;
        }
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_SHARED,
                 DSQL_F("endpoint", (const char *)pool->target.key),
                 DSQL_F("difference", (const char *)difference));
    }
    pool->listed.handles++;
    return DSQL_OK;
}

enum dsql_rc dsql_pool_open(const struct dsql_pool_options *given, struct dsql_pool **out,
                            struct dsql_err *err)
{
    struct dsql_target target;
    struct dsql_pool_options options;
    enum dsql_rc rc = dsql_options_take(given, &options, err);
    if (!rc)
        rc = dsql_options_check(&options, &target, err);
    if (rc)
        return rc;
    pthread_once(&once, start_once);
    char key[sizeof(((struct dsql_pool *)NULL)->target.key)];
    make_key(key, sizeof(key), &options, &target);
    dsql_lock(&list_lock);
    struct dsql_pool *pool = find(key);
    bool is_new = !pool;
    if (pool) {
        rc = join(pool, &options, err);
    } else {
        pool = make(&options, &target, &rc, err);
        if (pool) {
            pool->listed.next = pools;
            pools = pool;
        }
    }
    dsql_unlock(&list_lock);
    if (rc)
        return rc;
    if (is_new)
        wait_until_filled(pool);
    *out = pool;
    return DSQL_OK;
}

/* -- Ending. */

static void begin_drain(struct dsql_pool *pool)
{
    atomic_fetch_or_explicit(&pool->fast.attention, DSQL_POOL_CLOSED, memory_order_seq_cst);
    dsql_lock(&pool->state_lock);
    if (!pool->ending.draining) {
        pool->ending.draining = true;
        dsql_budget_drain(pool->budget);
    }
    dsql_unlock(&pool->state_lock);
    dsql_waiters_send_away(pool, NULL);
    dsql_opener_wake(pool);
}

/* Whether everything came back in time. */
static bool drain(struct dsql_pool *pool, int64_t wait_ns)
{
    begin_drain(pool);
    struct dsql_mono deadline = dsql_mono_add(dsql_clock_mono(pool->clock), wait_ns);
    dsql_lock(&pool->state_lock);
    while (dsql_slots_held(&pool->keeper.slots) > 0 && wait_for_progress(pool, deadline))
        continue;
    bool empty = dsql_slots_held(&pool->keeper.slots) == 0;
    dsql_unlock(&pool->state_lock);
    return empty;
}

enum dsql_rc dsql_pool_drain(struct dsql_pool *pool, int64_t wait_ns)
{
    if (!is_of_this_process(pool))
        return DSQL_CLOSED;
    return drain(pool, wait_ns < 0 ? pool->options.drain_timeout_ns : wait_ns) ? DSQL_OK
                                                                               : DSQL_TIMEOUT;
}

static void say_goodbye(struct dsql_pool *pool)
{
    struct dsql_pool_stats stats;
    dsql_pool_stats(pool, &stats);
    dsql_log(dsql_log_default(), DSQL_EVENT_POOL_CLOSED,
             DSQL_F("endpoint", (const char *)pool->target.key),
             DSQL_F("checkouts", stats.checkouts), DSQL_F("empties", stats.empties),
             DSQL_F("opens", stats.opens), DSQL_F("failures", stats.open_failures),
             DSQL_F("in_use", stats.in_use));
}

void dsql_pool_close(struct dsql_pool *pool)
{
    if (!pool || !is_of_this_process(pool))
        return;
    dsql_lock(&list_lock);
    assert(pool->listed.handles > 0); /* closed more often than opened? */
    bool last = --pool->listed.handles == 0;
    for (struct dsql_pool **at = &pools; last && *at; at = &(*at)->listed.next) {
        if (*at == pool) {
            *at = pool->listed.next;
            break;
        }
    }
    dsql_unlock(&list_lock);
    if (!last)
        return;
    (void)drain(pool, pool->options.drain_timeout_ns);
    dsql_opener_stop(pool);
    say_goodbye(pool);
    /* Callers that were sent away may still be inside the pool, and a return from before the opener
     * stopped may still be about to wake the opener. Returns that come later need the memory only.
     */
    while (atomic_load_explicit(&pool->line.inside, memory_order_acquire) > 0)
        sched_yield();
    dsql_visitors_wait(pool);
    give_back(pool);
    dsql_lock(&pool->state_lock);
    pool->ending.closed = true;
    bool unused = dsql_pool_has_no_owner(pool);
    dsql_unlock(&pool->state_lock);
    if (unused)
        dsql_pool_free(pool);
}
