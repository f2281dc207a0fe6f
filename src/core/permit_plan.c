#include "core/permit_plan.h"

#include "base/least.h"

enum {
    PER_MILLE = 1000,
    UPKEEP_PART = 4,      /* of the rate, to replace connections with */
    POT_PART = 8,         /* of the rate, to fill the pot with */
    PATIENCE_S = 5,       /* what comes within so long is worth no request */
    UNITS_A_SECOND = 500, /* written by a hurried fleet: half of what one partition can */
};

/* Connects it would make now. */
static int64_t needed(const struct dsql_blocks *b, struct dsql_mono now)
{
    if (b->need.draining || !b->need.active)
        return 0; /* an owner that does not ask would only keep permits from others */
    int64_t n = dsql_least(b->need.want, dsql_blocks_slots(b, now)) - b->need.used;
    return dsql_most(n, b->need.asked);
}

/* Whether what it has is not enough soon: connections are replaced one by one and ahead of time, so
 * no caller waits when one of many comes a moment later. */
bool dsql_permit_plan_hurried(const struct dsql_blocks *b, struct dsql_mono now)
{
    int64_t need = needed(b, now), have = dsql_blocks_permits(b, now);
    int64_t soon = dsql_blocks_sure_purse(b) > 0
                       ? PATIENCE_S * dsql_blocks_flow_in_effect(b) / DSQL_PERMIT
                       : 0;
    return need > have && (b->need.hurrying || need > have + soon || need * 4 > b->need.want);
}

/* A part of the whole that goes with its slots; a small fleet does not take all of it. */
static int64_t part_of(const struct dsql_blocks *b, int64_t whole)
{
    int64_t all = dsql_most(dsql_registry_sum(&b->view, DSQL_SLOTS),
                            dsql_most(1, (b->config.connections - b->config.headroom) / 4));
    return whole * b->held.slots / all;
}

/* To replace connections with: several times what that takes, by its slots or by experience. */
static int64_t upkeep_flow(const struct dsql_blocks *b)
{
    int64_t part = part_of(b, dsql_blocks_full_rate(b) / UPKEEP_PART);
    int64_t seen = 4 * b->need.opens_per_beat * 1000 / dsql_most(1, b->beat_ns / DSQL_MS);
    return b->need.draining ? 0 : dsql_most(part, dsql_least(seen, 4 * part));
}

/* Whether more connects are wanted than there are, if it wants so many itself. */
static bool is_crowded(const struct dsql_blocks *b, int64_t wants)
{
    int64_t wanted = wants - dsql_blocks_own(b)->of[DSQL_FLOW].wants;
    for (size_t i = 0; i < b->view.count; i++)
        wanted += b->view.blocks[i].of[DSQL_FLOW].wants;
    return wanted > dsql_blocks_full_rate(b);
}

/* One owner of the fleet fills the pot while no owner lacks anything. */
static bool fills_pot(const struct dsql_blocks *b, int64_t wants)
{
    return dsql_blocks_own(b) == b->view.blocks && !b->need.draining && !is_crowded(b, wants);
}

static int64_t free_purse(const struct dsql_blocks *b)
{
    return b->config.burst - dsql_registry_purses(&b->view) - b->view.pot;
}

/* At least one for each owner, as long as that leaves a fifth of the burst to hurried ones. */
static int64_t upkeep_purse(const struct dsql_blocks *b)
{
    int64_t most_in_all = b->config.burst * 4 / 5;
    int64_t others = dsql_registry_purses(&b->view) - dsql_blocks_own(b)->purse;
    if (b->need.draining || b->held.slots == 0)
        return 0;
    if ((int64_t)b->view.count > most_in_all && others >= most_in_all)
        return 0;
    return dsql_most(1, part_of(b, b->config.burst / 2));
}

static void plan_flow(const struct dsql_blocks *b, int64_t need, struct dsql_permit_plan *plan)
{
    const struct dsql_block *own = dsql_blocks_own(b);
    size_t index = (size_t)(own - b->view.blocks);
    int64_t all = dsql_blocks_full_rate(b), room = all - dsql_registry_sum(&b->view, DSQL_FLOW);
    int64_t wants = upkeep_flow(b);
    plan->fills_pot = !plan->hurried && fills_pot(b, wants);
    if (plan->hurried) /* in half a second */
        wants =
            dsql_most(wants, dsql_least(all, 2 * dsql_least(need, b->config.rate) * DSQL_PERMIT));
    else if (plan->fills_pot && (free_purse(b) > 0 || b->held.purse_most > upkeep_purse(b)))
        wants += all / POT_PART;
    struct dsql_stake stake = dsql_registry_stake(&b->view, DSQL_FLOW, index, wants, all);
    int64_t raise = dsql_least(room, stake.share - b->held.flow);
    plan->wants = wants;
    plan->flow = b->held.flow;
    if (raise > (plan->hurried ? b->held.flow / 64 : b->held.flow)) /* less is worth no conflict */
        plan->flow += raise;
    else if (wants < b->held.flow / 2)
        plan->flow = wants;
    else if (stake.others_lack > room && stake.share < b->held.flow)
        plan->flow = stake.share;
}

static void plan_purse(const struct dsql_blocks *b, int64_t need, int64_t have,
                       struct dsql_permit_plan *plan)
{
    int64_t burst = b->config.burst, owners = dsql_most(1, (int64_t)b->view.count);
    int64_t keep = upkeep_purse(b), lack = plan->hurried ? need - have : 0;
    int64_t batch = dsql_most(1, dsql_most(burst / 4, burst / owners));
    if (plan->hurried)
        keep = dsql_most(dsql_most(1, keep),
                         dsql_least(need, dsql_most(have, plan->flow / 2 / DSQL_PERMIT)));
    plan->purse = b->held.purse_most;
    plan->draw =
        dsql_least(batch, dsql_least(b->view.pot, dsql_most(lack, keep - b->held.purse_most)));
    if (plan->draw > 0) {
        plan->purse += plan->draw;
    } else if (plan->fills_pot) { /* what flows in beyond its own goes into the pot */
        plan->give = dsql_most(0, have - keep);
        plan->purse -= plan->give;
        keep = plan->purse + dsql_most(0, free_purse(b));
    } else if (keep < b->held.purse_most) {
        plan->purse = keep;
        plan->give = dsql_most(0, have - keep);
    }
    if (plan->purse < keep) /* room without permits */
        plan->purse += dsql_least(dsql_most(0, free_purse(b)), keep - plan->purse);
    int64_t enough = dsql_least(lack, dsql_most(1, dsql_least(batch, b->config.rate / 4)));
    if (plan->hurried && plan->draw >= lack)
        plan->flow = dsql_least(plan->flow, b->held.flow); /* that is enough */
    plan->urgent = plan->hurried && (plan->draw >= enough || plan->flow > b->held.flow);
    int64_t much = is_crowded(b, plan->wants) ? 100 : 16;
    plan->surplus = dsql_most(b->held.flow - plan->flow, b->held.told_flow - plan->wants) >
                        dsql_blocks_full_rate(b) / much ||
                    b->held.purse_most - plan->purse > burst / 16;
}

struct dsql_permit_plan dsql_permit_plan_now(const struct dsql_blocks *b, struct dsql_mono now)
{
    struct dsql_permit_plan plan = {.hurried = dsql_permit_plan_hurried(b, now)};
    int64_t need = needed(b, now), have = dsql_blocks_permits(b, now);
    plan_flow(b, need, &plan);
    plan_purse(b, need, have, &plan);
    if (b->throttle.pending || dsql_mono_before(now, b->throttle.until))
        plan.urgent = false;
    return plan;
}

/* How often a hurried owner looks: the larger the fleet, the more each look costs the one item. */
int64_t dsql_permit_plan_brisk_ns(const struct dsql_blocks *b)
{
    int64_t owners = (int64_t)b->view.count, units = 1 + owners * DSQL_OWNER_BYTES / 1024;
    int64_t ns = dsql_most(DSQL_S, owners * units * DSQL_S / UNITS_A_SECOND);
    return dsql_least(b->beat_ns, ns - ns / 4 * b->pace.jitter / PER_MILLE);
}
