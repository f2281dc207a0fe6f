/* Each process for itself: core's permits, and no cap. */
#include <stdlib.h>

#include "sim/world.h"

struct local {
    struct dsql_sim_allowance allowance;
    struct dsql_permits permits;
    int64_t wanted;
};

static struct local *local_of(struct dsql_sim_allowance *allowance)
{
    return DSQL_CONTAINER_OF(allowance, struct local, allowance);
}

static void local_want(struct dsql_sim_allowance *allowance, int64_t n)
{
    local_of(allowance)->wanted = n;
}

static int64_t local_slots(struct dsql_sim_allowance *allowance)
{
    return local_of(allowance)->wanted;
}

static bool local_permit(struct dsql_sim_allowance *allowance, struct dsql_mono now,
                         int64_t *wait_ns)
{
    return dsql_permits_take(&local_of(allowance)->permits, now, wait_ns);
}

static double local_rate(struct dsql_sim_allowance *allowance, struct dsql_mono now)
{
    return dsql_permits_rate(&local_of(allowance)->permits, now);
}

static void local_used(struct dsql_sim_allowance *allowance, int64_t n)
{
    (void)allowance;
    (void)n;
}

static void local_opened(struct dsql_sim_allowance *allowance, struct dsql_mono now)
{
    dsql_permits_opened(&local_of(allowance)->permits, now);
}

static void local_throttled(struct dsql_sim_allowance *allowance, struct dsql_mono now)
{
    dsql_permits_throttled(&local_of(allowance)->permits, now);
}

static void local_full(struct dsql_sim_allowance *allowance, struct dsql_mono now)
{
    (void)allowance;
    (void)now;
}

static void local_drain(struct dsql_sim_allowance *allowance)
{
    (void)allowance;
}

static void local_destroy(struct dsql_sim_allowance *allowance)
{
    free(local_of(allowance));
}

static const struct dsql_sim_allowance_ops local_ops = {
    .want = local_want,
    .slots = local_slots,
    .permit = local_permit,
    .rate = local_rate,
    .used = local_used,
    .opened = local_opened,
    .throttled = local_throttled,
    .full = local_full,
    .drain = local_drain,
    .destroy = local_destroy,
};

struct dsql_sim_allowance *dsql_sim_allowance_local(struct dsql_sim_process *process)
{
    const struct dsql_sim_budget *budget = &process->world->scenario->budget;
    struct local *local = calloc(1, sizeof *local);
    if (!local)
        return NULL;
    local->allowance.ops = &local_ops;
    dsql_permits_init(&local->permits, budget->rate, budget->burst, dsql_sim_process_now(process));
    return &local->allowance;
}
