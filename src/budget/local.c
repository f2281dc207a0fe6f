/*
 * The budget of a process that shares with nobody: permits from one bucket for each endpoint,
 * whoever in the process connects there; slots are what is wanted.
 *
 * The first handle of an endpoint decides rate and burst. A bucket outlives its handles: opening a
 * pool anew is no way to a full one. `lock` guards the buckets; no other lock is taken while it is
 * held.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "budget/budget.h"
#include "core/permits.h"

enum { ENDPOINTS_MAX = 32 };

struct bucket {
    unsigned handles;
    int64_t burst;
    double rate_limit;
    struct dsql_permits permits;
    char endpoint[256];
};

struct local {
    struct dsql_budget budget;
    struct bucket *bucket;
    int64_t wanted, used;
    bool draining;
};
static_assert(offsetof(struct local, budget) == 0, "local_of() casts");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bucket buckets[ENDPOINTS_MAX];

static struct local *local_of(struct dsql_budget *budget)
{
    return (struct local *)budget;
}

/* Its buckets are copies, and each process has its own budget; only the lock may be held. */
void dsql_budget_local_after_fork(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void want(struct dsql_budget *budget, int64_t n)
{
    local_of(budget)->wanted = n;
}

static int64_t slots(struct dsql_budget *budget)
{
    const struct local *local = local_of(budget);
    return local->draining ? 0 : local->wanted;
}

static bool permit(struct dsql_budget *budget, struct dsql_mono now, int64_t *wait_ns)
{
    pthread_mutex_lock(&lock);
    bool taken = dsql_permits_take(&local_of(budget)->bucket->permits, now, wait_ns);
    pthread_mutex_unlock(&lock);
    return taken;
}

static void used(struct dsql_budget *budget, int64_t n)
{
    local_of(budget)->used = n;
}

static void opened(struct dsql_budget *budget, struct dsql_mono now)
{
    pthread_mutex_lock(&lock);
    dsql_permits_opened(&local_of(budget)->bucket->permits, now);
    pthread_mutex_unlock(&lock);
}

static void throttled(struct dsql_budget *budget, struct dsql_mono now)
{
    pthread_mutex_lock(&lock);
    dsql_permits_throttled(&local_of(budget)->bucket->permits, now);
    pthread_mutex_unlock(&lock);
}

static void refused_full(struct dsql_budget *budget, struct dsql_mono now)
{
    (void)budget; /* there is no cap to read again; the opener backs off */
    (void)now;
}

static void status(struct dsql_budget *budget, struct dsql_mono now, struct dsql_budget_status *out)
{
    struct local *local = local_of(budget);
    struct bucket *bucket = local->bucket;
    *out = (struct dsql_budget_status){
        .kind = DSQL_BUDGET_LOCAL,
        .slots = slots(budget),
        .used = local->used,
        .rate_limit = bucket->rate_limit,
        .burst = bucket->burst,
        .fleet_used = -1,
        .fleet_limit = -1,
    };
    pthread_mutex_lock(&lock);
    out->rate = dsql_permits_rate(&bucket->permits, now);
    out->permits = dsql_permits_level(&bucket->permits, now);
    out->throttled = bucket->permits.throttled;
    pthread_mutex_unlock(&lock);
}

static void drain(struct dsql_budget *budget)
{
    local_of(budget)->draining = true;
}

/* With the lock held: the endpoint's bucket, or one that nobody uses. */
static struct bucket *find(const char *endpoint)
{
    struct bucket *free_one = NULL;
    for (size_t i = 0; i < DSQL_COUNT_OF(buckets); i++) {
        if (strcmp(buckets[i].endpoint, endpoint) == 0)
            return &buckets[i];
        if (buckets[i].handles == 0 && (!free_one || free_one->endpoint[0] != '\0'))
            free_one = &buckets[i];
    }
    return free_one;
}

/* With the lock held, for the first handle: its settings hold, but what was used up stays so. */
static void set_up(struct bucket *bucket, const struct dsql_budget_options *options)
{
    struct dsql_mono now = dsql_clock_mono(options->clock);
    if (strcmp(bucket->endpoint, options->endpoint) == 0)
        dsql_permits_resize(&bucket->permits, options->rate, options->burst, now);
    else
        dsql_permits_init(&bucket->permits, options->rate, options->burst, now);
    memcpy(bucket->endpoint, options->endpoint, strlen(options->endpoint) + 1);
    bucket->burst = options->burst;
    bucket->rate_limit = (double)options->rate;
}

static void destroy(struct dsql_budget *budget)
{
    struct local *local = local_of(budget);
    pthread_mutex_lock(&lock);
    local->bucket->handles--;
    pthread_mutex_unlock(&lock);
    free(local);
}

static const struct dsql_budget_ops ops = {
    want, slots, permit, used, opened, throttled, refused_full, status, drain, destroy,
};

enum dsql_rc dsql_budget_local(const struct dsql_budget_options *options,
                               struct dsql_budget **budget, struct dsql_err *err)
{
    if (options->rate < 1 || options->rate > DSQL_PERMITS_RATE_MAX || options->burst < 1 ||
        options->burst > DSQL_PERMITS_BURST_MAX ||
        strlen(options->endpoint) >= sizeof(((struct bucket *)NULL)->endpoint))
        return dsql_err_set(err, DSQL_INVALID,
                            "connects a second and at once must be from 1 to %d and %d",
                            DSQL_PERMITS_RATE_MAX, DSQL_PERMITS_BURST_MAX);
    struct local *local = calloc(1, sizeof(*local));
    if (!local)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    local->budget.ops = &ops;
    pthread_mutex_lock(&lock);
    local->bucket = find(options->endpoint);
    if (local->bucket && local->bucket->handles++ == 0)
        set_up(local->bucket, options);
    pthread_mutex_unlock(&lock);
    if (!local->bucket) {
        free(local);
        return dsql_err_set(err, DSQL_LIMIT, "this process uses %d endpoints already",
                            ENDPOINTS_MAX);
    }
    *budget = &local->budget;
    return DSQL_OK;
}
