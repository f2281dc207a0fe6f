/* dsql/retry.h: the policy of core with a clock, randomness and a lock. */
#include "dsql/retry.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "config/config.h"
#include "core/retry.h"
#include "tx/tx_internal.h"

struct dsql_retry_budget {
    const struct dsql_clock *clock;
    pthread_mutex_t lock;
    struct dsql_retry_allowance allowance;
};

enum { PROCESS_RATE = 10, PROCESS_BURST = 500 };
static const double PROCESS_RATIO = 1.0;

static void budget_init(struct dsql_retry_budget *budget, double ratio, int64_t rate, int64_t burst,
                        const struct dsql_clock *clock)
{
    budget->clock = dsql_clock_or_boot(clock);
    pthread_mutex_init(&budget->lock, NULL);
    dsql_retry_allowance_init(&budget->allowance, ratio, rate, burst,
                              dsql_clock_mono(budget->clock));
}

enum dsql_rc dsql_retry_budget_make(double ratio, int64_t rate, int64_t burst,
                                    const struct dsql_clock *clock,
                                    struct dsql_retry_budget **budget)
{
    if (!dsql_retry_allowance_valid(ratio, rate, burst))
        return DSQL_INVALID;
    struct dsql_retry_budget *b = malloc(sizeof(*b));
    if (!b)
        return DSQL_NO_MEMORY;
    budget_init(b, ratio, rate, burst, clock);
    *budget = b;
    return DSQL_OK;
}

enum dsql_rc dsql_retry_budget_new(double ratio, int64_t rate, int64_t burst,
                                   struct dsql_retry_budget **budget)
{
    return dsql_retry_budget_make(ratio, rate, burst, NULL, budget);
}

void dsql_retry_budget_destroy(struct dsql_retry_budget *budget)
{
    if (!budget)
        return;
    pthread_mutex_destroy(&budget->lock);
    free(budget);
}

static struct dsql_retry_budget process_budget;

static void process_budget_init(void)
{
    budget_init(&process_budget, PROCESS_RATIO, PROCESS_RATE, PROCESS_BURST, NULL);
}

struct dsql_retry_budget *dsql_retry_budget_process(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, process_budget_init);
    return &process_budget;
}

void dsql_retry_policy_default(struct dsql_retry_policy *policy)
{
    *policy = (struct dsql_retry_policy){
        .max_retries = 5,
        .base_delay_ns = 100 * DSQL_MS,
        .max_delay_ns = 5 * DSQL_S,
        .jitter = 0.25,
        .budget = dsql_retry_budget_process(),
        .conflict_alert = 100,
    };
}

enum dsql_rc dsql_retry_policy_env(struct dsql_retry_policy *policy, struct dsql_err *err)
{
    dsql_retry_policy_default(policy);
    struct dsql_config *config = malloc(sizeof(*config));
    struct dsql_config_report *report = malloc(sizeof(*report));
    enum dsql_rc rc = DSQL_OK;
    if (config && report) {
        dsql_config_load(config, report, (const char *const *)environ);
        policy->max_retries = (int)config->retry_max;
        policy->base_delay_ns = config->retry_base_delay_ns;
        policy->max_delay_ns = config->retry_max_delay_ns;
        policy->jitter = config->retry_jitter;
        policy->conflict_alert = config->conflict_alert;
    } else {
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "no memory to read the settings");
    }
    free(config);
    free(report);
    return rc;
}

const char *dsql_retry_end_name(enum dsql_retry_end end)
{
    static const char *const names[] = {
        [DSQL_RETRY_NOT_OVER] = "not over",   [DSQL_RETRY_NOT_RETRYABLE] = "not retryable",
        [DSQL_RETRY_EXHAUSTED] = "exhausted", [DSQL_RETRY_NO_TIME] = "no time",
        [DSQL_RETRY_NO_BUDGET] = "no budget",
    };
    return (size_t)end < DSQL_COUNT_OF(names) ? names[end] : "?";
}

void dsql_retry_init(struct dsql_retry *retry, const struct dsql_retry_policy *policy)
{
    *retry = (struct dsql_retry){0};
    struct dsql_retry_budget *budget = policy->budget;
    if (!budget)
        return;
    dsql_lock(&budget->lock);
    dsql_retry_allowance_earn(&budget->allowance);
    dsql_unlock(&budget->lock);
}

struct dsql_retry_decision dsql_retry_next(struct dsql_retry *retry,
                                           const struct dsql_retry_policy *policy, enum dsql_rc rc,
                                           int64_t elapsed_ns, int64_t deadline_ns)
{
    /* Not at the start: most operations never get here, and the kernel is asked. */
    if (retry->random == 0)
        dsql_random_bytes(&retry->random, sizeof(retry->random));
    struct dsql_rng rng = dsql_rng_seeded(retry->random);
    retry->random = dsql_rng_next(&rng);

    struct dsql_retry_budget *budget = policy->budget;
    if (!budget)
        return dsql_retry_decide(retry, policy, rc, elapsed_ns, deadline_ns, &rng, NULL,
                                 (struct dsql_mono){0});
    dsql_lock(&budget->lock);
    struct dsql_retry_decision decision =
        dsql_retry_decide(retry, policy, rc, elapsed_ns, deadline_ns, &rng, &budget->allowance,
                          dsql_clock_mono(budget->clock));
    dsql_unlock(&budget->lock);
    return decision;
}
