/* Aurora DSQL as far as a pool can see it: connects a second, connections in all, an age at which
 * it closes them, and whatever the scenario does to it. */
#include "sim/world.h"

static const struct {
    const char *name;
    struct dsql_connect_failure failure;
} verdicts[DSQL_SIM_VERDICTS] = {
    [DSQL_SIM_OPENED] = {"opened", {0}},
    [DSQL_SIM_THROTTLED] = {"53400",
                            {.sqlstate = "53400",
                             .message = "unable to accept connection, rate exceeded"}},
    [DSQL_SIM_FULL] = {"53300",
                       {.sqlstate = "53300",
                        .message = "unable to accept connection, too many connections"}},
    [DSQL_SIM_DENIED] = {"08006",
                         {.sqlstate = "08006",
                          .message = "unable to accept connection, access denied"}},
    [DSQL_SIM_REFUSED] = {"refused", {.message = "Connection refused"}},
    [DSQL_SIM_TIMED_OUT] = {"timeout", {.message = "timeout expired"}},
};

const char *dsql_sim_verdict_name(enum dsql_sim_verdict verdict)
{
    return verdicts[verdict].name;
}

struct dsql_connect_failure dsql_sim_verdict_failure(enum dsql_sim_verdict verdict)
{
    return verdicts[verdict].failure;
}

static bool strikes(struct dsql_sim_world *world, const struct dsql_sim_fault *fault)
{
    return fault->active > 0 && dsql_rng_unit(&world->cluster.rng) < fault->fraction;
}

static enum dsql_sim_verdict judge(struct dsql_sim_world *world)
{
    struct dsql_sim_cluster_state *cluster = &world->cluster;
    if (strikes(world, &cluster->refuse))
        return DSQL_SIM_REFUSED;
    if (strikes(world, &cluster->stall))
        return DSQL_SIM_TIMED_OUT;
    if (!dsql_bucket_take(&cluster->bucket, 1, world->kernel.now) ||
        strikes(world, &cluster->throttle))
        return DSQL_SIM_THROTTLED;
    if (strikes(world, &cluster->deny))
        return DSQL_SIM_DENIED;
    if (cluster->open >= world->scenario->cluster.connections)
        return DSQL_SIM_FULL;
    return DSQL_SIM_OPENED;
}

enum dsql_sim_verdict dsql_sim_cluster_connect(struct dsql_sim_world *world, int64_t *latency_ns)
{
    const struct dsql_sim_cluster *model = &world->scenario->cluster;
    struct dsql_sim_cluster_state *cluster = &world->cluster;
    enum dsql_sim_verdict verdict = judge(world);
    *latency_ns =
        dsql_sim_draw_latency(&cluster->rng, model->connect_latency_ns, model->connect_tail_ns);
    if (verdict == DSQL_SIM_TIMED_OUT)
        *latency_ns = INT64_MAX;
    if (verdict == DSQL_SIM_OPENED) {
        cluster->open++;
        if (cluster->open > cluster->peak)
            cluster->peak = cluster->open;
        dsql_sim_record_connections(world);
        dsql_sim_check_held(world);
    }
    return verdict;
}

void dsql_sim_cluster_close(struct dsql_sim_world *world)
{
    assert(world->cluster.open > 0);
    world->cluster.open--;
    dsql_sim_record_connections(world);
}

void dsql_sim_cluster_drop(struct dsql_sim_world *world, double fraction)
{
    for (size_t i = 0; i < world->process_count; i++) {
        struct dsql_sim_process *process = &world->processes[i];
        for (uint32_t slot = 0; slot < process->keeper.slots.capacity; slot++) {
            struct dsql_sim_conn *conn = &process->conns[slot];
            if (conn->at_cluster && dsql_rng_unit(&world->cluster.rng) < fraction)
                dsql_sim_after(&world->kernel, &conn->fate, 0);
        }
    }
}
