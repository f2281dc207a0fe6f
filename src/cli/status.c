#include "cli/status_state.h"

#include <stdlib.h>

#include "base/lock.h"

static void copy_text(char *out, const char *text)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, out, DSQL_STATUS_TEXT_MAX);
    dsql_strbuf_add_str(&sb, text);
}

enum dsql_rc dsql_status_new(const struct dsql_status_options *options, struct dsql_status **status)
{
    struct dsql_status *made = calloc(1, sizeof(*made));
    if (!made)
        return DSQL_NO_MEMORY;
    made->options = *options;
    copy_text(made->title, options->title);
    copy_text(made->endpoint, options->endpoint);
    copy_text(made->user, options->user);
    made->options.title = made->options.endpoint = made->options.user = NULL;
    made->operation = options->operation
                          ? dsql_metrics_operation(options->metrics, options->operation)
                          : DSQL_OPERATION_OTHER;
    made->started = dsql_clock_mono(options->clock);
    (void)pthread_mutex_init(&made->lock, NULL);
    *status = made;
    return DSQL_OK;
}

void dsql_status_destroy(struct dsql_status *status)
{
    if (!status)
        return;
    (void)pthread_mutex_destroy(&status->lock);
    free(status);
}

/* Outcomes other than COMMIT. `errors` counts tries, and a conflict is usually none of them: it is
 * run again, and an outcome only once that was given up. */
static uint64_t failed_transactions(const struct dsql_status *status)
{
    const struct dsql_metrics *m = status->options.metrics;
    struct dsql_series errors = DSQL_SERIES(errors, .operation = status->operation);
    uint64_t sum = dsql_counter_value(m, DSQL_SERIES(tx_exhausted, .operation = status->operation));
    for (size_t i = 0; i < dsql_label_value_count(DSQL_LABEL_ERROR_TYPE); i++) {
        errors.value = (int)i;
        if (errors.value != DSQL_ERROR_TYPE_RETRYABLE)
            sum += dsql_counter_value(m, errors);
    }
    return sum;
}

static struct dsql_status_counts count(const struct dsql_status *status,
                                       const struct dsql_pool_stats *pool)
{
    const struct dsql_metrics *m = status->options.metrics;
    uint64_t ended = dsql_hist_count(
        dsql_histogram_of(m, DSQL_SERIES(operation_duration, .operation = status->operation)));
    uint64_t failed = failed_transactions(status), discards = 0;
    for (size_t i = 0; i < DSQL_DISCARDS; i++)
        discards += pool->discards[i];
    return (struct dsql_status_counts){
        .checkouts = pool->checkouts,
        .empties = pool->empties,
        .opens = pool->opens,
        .discards = discards,
        .commits = ended > failed ? ended - failed : 0,
        .conflicts =
            dsql_counter_value(m, DSQL_SERIES(tx_conflicts, .operation = status->operation)),
    };
}

static uint64_t grown(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* What `now` recorded on top of `before`, which then becomes `now`. */
static void take_delta(const struct dsql_hist *now, struct dsql_hist *before,
                       struct dsql_hist *delta)
{
    uint64_t max = 0;
    for (size_t i = 0; i < DSQL_HIST_BUCKETS; i++) {
        uint64_t count = atomic_load_explicit(&now->counts[i], memory_order_relaxed);
        uint64_t seen = atomic_load_explicit(&before->counts[i], memory_order_relaxed);
        atomic_store_explicit(&delta->counts[i], count - seen, memory_order_relaxed);
        atomic_store_explicit(&before->counts[i], count, memory_order_relaxed);
        if (count > seen)
            max = dsql_hist_bucket_high(i);
    }
    atomic_store_explicit(&delta->max, max, memory_order_relaxed);
}

struct dsql_status_sample dsql_status_sample(struct dsql_status *status)
{
    struct dsql_status_view view = {0};
    status->options.look(status->options.look_arg, &view);
    struct dsql_status_counts now = count(status, &view.pool);
    dsql_lock(&status->lock);
    const struct dsql_status_counts *last = &status->last;
    take_delta(dsql_histogram_of(status->options.metrics, DSQL_SERIES(reservoir_checkout_latency)),
               &status->last_latency, &status->delta);
    struct dsql_status_sample sample = {
        .ready = (uint64_t)view.pool.ready,
        .in_use = (uint64_t)view.pool.in_use,
        .opening = (uint64_t)view.pool.opening,
        .opens = grown(now.opens, last->opens),
        .checkouts = grown(now.checkouts, last->checkouts),
        .empties = grown(now.empties, last->empties),
        .discards = grown(now.discards, last->discards),
        .commits = grown(now.commits, last->commits),
        .conflicts = grown(now.conflicts, last->conflicts),
        .p50_ns = dsql_hist_quantile(&status->delta, 0.5),
        .p99_ns = dsql_hist_quantile(&status->delta, 0.99),
    };
    status->last = now;
    status->history[status->samples++ % DSQL_STATUS_HISTORY] = sample;
    if (sample.opens > status->opens_peak)
        status->opens_peak = sample.opens;
    dsql_unlock(&status->lock);
    return sample;
}

void dsql_status_totals(struct dsql_status *status, struct dsql_status_totals *totals)
{
    const struct dsql_metrics *m = status->options.metrics;
    const struct dsql_hist *latency = dsql_histogram_of(m, DSQL_SERIES(reservoir_checkout_latency));
    struct dsql_status_view view = {0};
    status->options.look(status->options.look_arg, &view);
    struct dsql_status_counts now = count(status, &view.pool);
    dsql_lock(&status->lock);
    uint64_t opens_peak = status->opens_peak;
    dsql_unlock(&status->lock);
    *totals = (struct dsql_status_totals){
        .elapsed_ns = dsql_mono_since(dsql_clock_mono(status->options.clock), status->started),
        .checkouts = now.checkouts,
        .waits = view.pool.waits,
        .empties = now.empties,
        .opens = now.opens,
        .commits = now.commits,
        .conflicts = now.conflicts,
        .exhausted =
            dsql_counter_value(m, DSQL_SERIES(tx_exhausted, .operation = status->operation)),
        .failed = failed_transactions(status),
        .p50_ns = dsql_hist_quantile(latency, 0.5),
        .p99_ns = dsql_hist_quantile(latency, 0.99),
        .p999_ns = dsql_hist_quantile(latency, 0.999),
        .max_ns = dsql_hist_max(latency),
        .opens_peak = opens_peak,
    };
    for (size_t i = 0; i < DSQL_DISCARDS; i++)
        totals->discards[i] = view.pool.discards[i];
}

const char *dsql_status_state(const struct dsql_status_view *view)
{
    const struct dsql_pool_stats *pool = &view->pool;
    if (pool->draining)
        return "draining";
    if (pool->unanswered_ns > DSQL_STATUS_SILENCE_NS)
        return "unanswered";
    /* Some are always being replaced. */
    return 10 * (pool->ready + pool->in_use) >= 9 * pool->target ? "ready" : "filling";
}

size_t dsql_status_age_bin(int64_t age_ns, int64_t lifetime_ns)
{
    if (age_ns <= 0 || lifetime_ns <= 0)
        return 0;
    double part = (double)age_ns / (double)lifetime_ns * DSQL_STATUS_AGE_BINS;
    return part < DSQL_STATUS_AGE_BINS ? (size_t)part : DSQL_STATUS_AGE_BINS - 1;
}

bool dsql_status_is_ready(void *arg, struct dsql_strbuf *why)
{
    struct dsql_status *status = arg;
    struct dsql_status_view view = {0};
    status->options.look(status->options.look_arg, &view);
    int64_t open = view.pool.ready + view.pool.in_use;
    dsql_strbuf_addf(why, "the pool is %s, %lld of %lld connections are open",
                     dsql_status_state(&view), (long long)open, (long long)view.pool.target);
    bool silent = view.pool.unanswered_ns > DSQL_STATUS_SILENCE_NS;
    if (silent)
        dsql_strbuf_addf(why, ", and nothing was answered for %lld s",
                         (long long)(view.pool.unanswered_ns / DSQL_S));
    const char *error = view.pool.error_count > 0 ? view.pool.errors[0].message : "";
    if (silent && view.pool.failure[0])
        error = view.pool.failure;
    if (error[0])
        dsql_strbuf_addf(why, "; last error: %s", error);
    return !view.pool.draining && open > 0 && !silent;
}
