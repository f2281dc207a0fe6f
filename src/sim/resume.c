/* A process that begins where a recorded pool was: its keeper, its clock, and its connections. */
#include "base/least.h"
#include "sim/origin.h"
#include "sim/world.h"

bool dsql_sim_resume_is_due(const struct dsql_sim_process *process)
{
    return process->world->scenario->origin && process->lives == 1;
}

void dsql_sim_resume_clock(struct dsql_sim_process *process)
{
    const struct dsql_sim_origin *origin = process->world->scenario->origin;
    if (origin)
        process->mono_base_ns = origin->now.ns;
}

/* A scenario has no fields for the standard mode: its settings stay those of the recording. */
enum dsql_rc dsql_sim_resume_keeper(struct dsql_sim_process *process,
                                    const struct dsql_keeper_config *config)
{
    const struct dsql_keeper *recorded = &process->world->scenario->origin->keeper;
    const struct dsql_keeper_config *was = &recorded->config;
    struct dsql_keeper_config mixed = *config;
    mixed.tick_ns = was->tick_ns;
    mixed.tick_max = was->tick_max;
    mixed.warmup = (uint32_t)dsql_least(was->warmup, config->max_open);
    mixed.warmup_tries = was->warmup_tries;
    mixed.warmup_timeout_ns = was->warmup_timeout_ns;
    mixed.warmup_backoff_ns = was->warmup_backoff_ns;
    mixed.warmup_backoff_max_ns = was->warmup_backoff_max_ns;
    enum dsql_rc rc = dsql_keeper_resume(&process->keeper, recorded, &mixed);
    process->keeper.rng = dsql_rng_split(&process->rng); /* each seed is another future */
    return rc;
}

/* The cluster holds it since `age_ns`. */
static void hold(struct dsql_sim_conn *conn, int64_t age_ns)
{
    struct dsql_sim_world *world = conn->process->world;
    world->cluster.open++;
    world->cluster.peak = dsql_most(world->cluster.peak, world->cluster.open);
    conn->at_cluster = true;
    conn->hung_up = false;
    conn->verdict = DSQL_SIM_OPENED;
    conn->born = dsql_mono_add(world->kernel.now, -age_ns);
    dsql_sim_after(&world->kernel, &conn->fate,
                   dsql_most(0, world->scenario->cluster.lifetime_ns - age_ns));
}

/* How long the connect still takes; its beginning is known. */
static void go_on_connecting(struct dsql_sim_conn *conn, int64_t since_ns)
{
    struct dsql_sim_world *world = conn->process->world;
    const struct dsql_sim_cluster *model = &world->scenario->cluster;
    int64_t takes_ns = dsql_sim_draw_latency(&world->cluster.rng, model->connect_latency_ns,
                                             model->connect_tail_ns);
    hold(conn, 0);
    dsql_sim_after(&world->kernel, &conn->answer, dsql_most(0, takes_ns - since_ns));
}

/* Which connections callers had is not recorded: all that are open begin as ready ones. */
static void take_over(struct dsql_sim_process *process, uint32_t slot)
{
    struct dsql_slot *item = &process->keeper.slots.items[slot];
    struct dsql_mono now = dsql_sim_process_now(process);
    switch (item->state) {
    case DSQL_SLOT_EMPTY:
        break;
    case DSQL_SLOT_OPENING:
        if (item->given_up)
            dsql_keeper_abandoned(&process->keeper, slot);
        else
            go_on_connecting(&process->conns[slot], dsql_mono_since(now, item->began));
        break;
    case DSQL_SLOT_OPEN:
        item->began = item->life.born;
        hold(&process->conns[slot], dsql_most(0, dsql_mono_since(now, item->life.born)));
        dsql_ready_set_put(&process->ready, slot);
        break;
    case DSQL_SLOT_CLOSING:
        if (!process->conns[slot].at_cluster) /* closing it was begun already */
            dsql_keeper_closed(&process->keeper, slot);
        break;
    }
}

void dsql_sim_resume_conns(struct dsql_sim_process *process)
{
    struct dsql_slots *slots = &process->keeper.slots;
    for (uint32_t i = slots->first_discarded; i != DSQL_SLOT_NONE; i = slots->items[i].next)
        hold(&process->conns[i], 0);
    for (uint32_t i = 0; i < slots->capacity; i++)
        take_over(process, i);
    dsql_sim_record_connections(process->world);
    dsql_sim_check_open(process);
}
