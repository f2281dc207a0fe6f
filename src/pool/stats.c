/* What the pool says about itself: counts, the registry of connections, the latest errors. */
#include <string.h>

#include "base/least.h"
#include "base/lock.h"
#include "pool/pool.h"

/* The values of the metric's label are in the order of the public enum, whose names they are. */
#define SAME(name) static_assert((int)DSQL_DISCARD_##name == (int)DSQL_DISCARD_REASON_##name, #name)
SAME(INSUFFICIENT_LIFETIME);
SAME(EXPIRED_ON_CHECKOUT);
SAME(EXPIRED_ON_RETURN);
SAME(EXPIRED_ON_SCAN);
SAME(EXPIRING_SOON_ON_SCAN);
SAME(RESERVOIR_FULL);
SAME(SERVER_CLOSED);
SAME(BROKEN);
SAME(DIRTY_RETURN);
SAME(DRAIN);
#undef SAME

const char *dsql_discard_name(enum dsql_discard reason)
{
    bool known = (unsigned)reason < DSQL_DISCARDS;
    return known ? dsql_label_value(DSQL_LABEL_DISCARD_REASON, (size_t)reason) : "?";
}

/* The values of the label `class` are in the order of core's classes. */
#define SAME(name, text)                                                                           \
    static_assert((int)DSQL_CONNECT_##name == (int)DSQL_CONNECT_CLASS_##name, text);
DSQL_CONNECT_TABLE(SAME)
#undef SAME

const char *dsql_conn_state_name(enum dsql_conn_state state)
{
    static const char *const names[] = {"empty", "opening", "ready", "in use", "closing"};
    return (unsigned)state < DSQL_COUNT_OF(names) ? names[state] : "?";
}

void dsql_stats_note_failure(struct dsql_pool *pool, const struct dsql_connect_report *report,
                             struct dsql_mono now)
{
    struct dsql_pool_error error = {.rc = report->rc, .count = 1, .age_ns = now.ns};
    memcpy(error.sqlstate, report->sqlstate, sizeof(error.sqlstate));
    memcpy(error.message, report->message, sizeof(error.message));
    memcpy(error.hint, report->hint, sizeof(error.hint));
    size_t at = 0;
    while (at < pool->tally.error_count &&
           (pool->tally.errors[at].rc != error.rc ||
            strcmp(pool->tally.errors[at].message, error.message) != 0))
        at++;
    if (at < pool->tally.error_count)
        error.count += pool->tally.errors[at].count;
    else if (pool->tally.error_count < DSQL_POOL_ERRORS)
        pool->tally.error_count++;
    else
        at--;
    memmove(&pool->tally.errors[1], &pool->tally.errors[0], at * sizeof(error));
    pool->tally.errors[0] = error;
    pool->tally.failures++;
    if (pool->metrics)
        dsql_counter_add(pool->metrics, DSQL_SERIES(connect_failures, .value = (int)report->cls),
                         1);
}

/* Seconds that passed without an open are zero. */
static void move_seconds(struct dsql_pool *pool, struct dsql_mono now)
{
    int64_t second = now.ns / DSQL_S;
    for (int64_t n = second - pool->tally.second; n > 0 && n <= DSQL_POOL_SECONDS; n--)
        pool->tally.opens_by_second[(second - n + 1) % DSQL_POOL_SECONDS] = 0;
    if (second - pool->tally.second > DSQL_POOL_SECONDS)
        memset(pool->tally.opens_by_second, 0, sizeof(pool->tally.opens_by_second));
    pool->tally.second = second;
}

void dsql_stats_note_open(struct dsql_pool *pool, struct dsql_mono now)
{
    move_seconds(pool, now);
    pool->tally.opens_by_second[pool->tally.second % DSQL_POOL_SECONDS]++;
    pool->tally.opens++;
    if (pool->metrics)
        dsql_counter_add(pool->metrics, DSQL_SERIES(reservoir_refills), 1);
}

/* With state_lock held. */
static uint64_t count_uses(const struct dsql_pool *pool)
{
    uint64_t uses = pool->tally.uses_gone;
    for (int64_t i = 0; i < pool->options.sizing.max_open; i++)
        uses += dsql_conn_uses(&pool->conns[i]);
    return uses;
}

void dsql_stats_sample(struct dsql_pool *pool)
{
    struct dsql_metrics *m = pool->metrics;
    if (!m)
        return;
    struct dsql_allowance_status budget;
    struct dsql_mono now = dsql_clock_mono(pool->clock);
    dsql_lock(&pool->state_lock);
    int64_t ready = dsql_ready_set_count(&pool->fast.ready);
    int64_t open = pool->keeper.slots.open - pool->discarded.count;
    uint64_t uses = count_uses(pool);
    dsql_budget_status(pool->budget, now, &budget);
    dsql_unlock(&pool->state_lock);
    ready = dsql_least(ready, open);
    dsql_gauge_set(m, DSQL_SERIES(reservoir_size), ready);
    dsql_gauge_set(m, DSQL_SERIES(reservoir_target), pool->options.sizing.target_ready);
    dsql_gauge_set(m, DSQL_SERIES(pool_max_open), pool->options.sizing.max_open);
    dsql_gauge_set(m, DSQL_SERIES(pool_open), open);
    dsql_gauge_set(m, DSQL_SERIES(pool_in_use), open - ready);
    dsql_gauge_set(m, DSQL_SERIES(pool_idle), ready);
    dsql_gauge_set(m, DSQL_SERIES(budget_slots), budget.slots);
    dsql_gauge_set(m, DSQL_SERIES(budget_permits), budget.permits);
    dsql_gauge_set(m, DSQL_SERIES(budget_rate), (int64_t)(budget.rate + 0.5));
    dsql_gauge_set(m, DSQL_SERIES(budget_rate_limit), (int64_t)(budget.rate_limit + 0.5));
    dsql_gauge_set(m, DSQL_SERIES(budget_problem), budget.problem[0] != '\0');
    dsql_gauge_set(m, DSQL_SERIES(clock_ahead), budget.clock_ahead_s);
    if (budget.fleet_used >= 0)
        dsql_gauge_set(m, DSQL_SERIES(lease_active), budget.fleet_used);
    if (budget.fleet_limit >= 0)
        dsql_gauge_set(m, DSQL_SERIES(lease_limit), budget.fleet_limit);
    dsql_counter_add(m, DSQL_SERIES(reservoir_checkouts), uses - pool->opener.uses_reported);
    pool->opener.uses_reported = uses;
}

void dsql_pool_stats(struct dsql_pool *pool, struct dsql_pool_stats *stats)
{
    *stats = (struct dsql_pool_stats){0};
    if (pool->fork_generation != dsql_fork_generation)
        return;
    struct dsql_mono now = dsql_clock_mono(pool->clock);
    struct dsql_allowance_status budget;
    dsql_lock(&pool->state_lock);
    const struct dsql_keeper *k = &pool->keeper;
    const struct dsql_slots *s = &k->slots;
    int64_t ready = dsql_ready_set_count(&pool->fast.ready), open = s->open - pool->discarded.count;
    *stats = (struct dsql_pool_stats){
        .mode = pool->options.mode,
        .draining = pool->ending.draining,
        .max_open = pool->options.sizing.max_open,
        .target = pool->options.sizing.target_ready,
        .slots = k->granted,
        .ready = ready < open ? ready : open,
        .opening = s->opening,
        .closing = s->closing + pool->discarded.count,
        .empty = pool->options.sizing.max_open - dsql_slots_held(s),
        .checkouts = count_uses(pool),
        .opens = pool->tally.opens,
        .open_failures = pool->tally.failures,
        .attempts = pool->tally.attempts,
        .inflight_limit = dsql_keeper_inflight(k),
        .handshake_ns = k->handshake_ns,
        .retry_in_ns = dsql_refill_wait_ns(&k->refill, now),
        .error_count = pool->tally.error_count,
    };
    stats->in_use = open - stats->ready;
    memcpy(stats->discards, pool->tally.discards, sizeof(stats->discards));
    move_seconds(pool, now);
    for (int64_t i = 0; i < DSQL_POOL_SECONDS && i <= pool->tally.second; i++)
        stats->opens_per_second[i] =
            pool->tally.opens_by_second[(pool->tally.second - i) % DSQL_POOL_SECONDS];
    memcpy(stats->errors, pool->tally.errors, sizeof(stats->errors));
    dsql_budget_status(pool->budget, now, &budget);
    dsql_unlock(&pool->state_lock);
    for (size_t i = 0; i < stats->error_count; i++)
        stats->errors[i].age_ns = now.ns - stats->errors[i].age_ns;
    stats->waiting = atomic_load_explicit(&pool->fast.attention, memory_order_relaxed) &
                     ~(DSQL_POOL_CLOSED | DSQL_POOL_RECALL);
    stats->waits = atomic_load_explicit(&pool->line.waits, memory_order_relaxed);
    stats->empties = atomic_load_explicit(&pool->line.empties, memory_order_relaxed);
    struct dsql_pulse_state pulse;
    dsql_pulse_read(&pool->pulse, now, &pulse);
    stats->unanswered_ns = pulse.unanswered_ns;
    stats->answer_age_ns = pulse.answer_age_ns;
    memcpy(stats->failure, pulse.failure, sizeof(stats->failure));
    stats->rate = budget.rate;
    stats->rate_limit = budget.rate_limit;
    stats->burst = budget.burst;
    stats->permits = budget.permits;
}

size_t dsql_pool_connections(struct dsql_pool *pool, struct dsql_conn_info *infos, size_t n)
{
    static const enum dsql_conn_state states[] = {
        [DSQL_SLOT_EMPTY] = DSQL_CONN_EMPTY,
        [DSQL_SLOT_OPENING] = DSQL_CONN_OPENING,
        [DSQL_SLOT_OPEN] = DSQL_CONN_READY,
        [DSQL_SLOT_CLOSING] = DSQL_CONN_CLOSING,
    };
    size_t count = 0;
    if (pool->fork_generation != dsql_fork_generation)
        return 0;
    struct dsql_mono now = dsql_clock_mono(pool->clock);
    dsql_lock(&pool->state_lock);
    for (uint32_t i = 0; i < pool->keeper.slots.capacity; i++) {
        const struct dsql_slot *slot = &pool->keeper.slots.items[i];
        const struct dsql_conn *conn = &pool->conns[i];
        if (slot->state == DSQL_SLOT_EMPTY)
            continue;
        if (count < n) {
            bool open = slot->state != DSQL_SLOT_OPENING;
            int64_t left_ns = open ? dsql_mono_since(slot->life.usable_until, now) : 0;
            infos[count] = (struct dsql_conn_info){
                .slot = i,
                .state = states[slot->state],
                .backend_pid = open ? conn->backend_pid : 0,
                .age_ns = dsql_mono_since(now, open ? slot->life.born : slot->began),
                .left_ns = left_ns > 0 ? left_ns : 0,
                .uses = dsql_conn_uses(conn),
            };
            if (slot->state == DSQL_SLOT_OPEN && !dsql_ready_set_has(&pool->fast.ready, i))
                infos[count].state = DSQL_CONN_IN_USE;
        }
        count++;
    }
    dsql_unlock(&pool->state_lock);
    return count;
}
