/* DynamoDB's manners. What is in the table, and what a request does to it, is core's registry. */
#include "sim/world.h"

/* What the item takes beside its owners; a unit writes a kilobyte. */
enum { ITEM_BYTES = 200, UNIT_BYTES = 1024 };

/* A write costs by the size of the whole item, also one that is refused; a partition has so many
 * units a second, and an item is in one. */
static bool partition_is_busy(struct dsql_sim_world *world)
{
    int64_t bytes = ITEM_BYTES + DSQL_OWNER_BYTES * (int64_t)world->table.registry.count;
    int64_t units = (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
    return world->scenario->dynamodb.write_units > 0 &&
           !dsql_bucket_take(&world->table.units, units, world->kernel.now);
}

uint64_t dsql_sim_nonce(struct dsql_sim_world *world)
{
    return dsql_rng_next(&world->table.nonces);
}

enum dsql_sim_fortune dsql_sim_dynamodb_draw(struct dsql_sim_world *world, int64_t *one_way_ns)
{
    const struct dsql_sim_dynamodb *model = &world->scenario->dynamodb;
    const struct dsql_sim_fault *throttle = &world->dynamodb_throttle;
    struct dsql_rng *rng = &world->table.rng;
    *one_way_ns = dsql_sim_draw_latency(rng, model->latency_ns, model->tail_ns) / 2;
    double luck = dsql_rng_unit(rng);
    if (world->dynamodb_outage.active > 0)
        return DSQL_SIM_UNREACHABLE;
    if (throttle->active > 0 && dsql_rng_unit(rng) < throttle->fraction)
        return DSQL_SIM_NOT_DONE;
    if (partition_is_busy(world)) {
        world->table.throttled++;
        return DSQL_SIM_NOT_DONE;
    }
    if (luck < model->loss)
        return DSQL_SIM_UNHEARD;
    return luck < model->loss + model->conflict + model->throttle ? DSQL_SIM_NOT_DONE
                                                                  : DSQL_SIM_ANSWERED;
}
