/*
 * The budget of `leases` whose connections and connects are counted in different places: each of
 * the two in a table of its own, or in none. One half answers for the slots, the other for the
 * permits; both are budgets like any other and know nothing of each other, so that a table that is
 * away holds up only its own half.
 */
#include <stdlib.h>

#include "budget/budget.h"
#include "budget/fleet.h"

struct split {
    struct dsql_budget budget;
    struct dsql_budget *slots, *permits;
};
static_assert(offsetof(struct split, budget) == 0, "split_of() casts");

static struct split *split_of(struct dsql_budget *budget)
{
    return (struct split *)budget;
}

/* The half of the permits draws as many at once as are missing, so both halves know the numbers. */
static void want(struct dsql_budget *budget, int64_t n)
{
    struct split *s = split_of(budget);
    s->slots->ops->want(s->slots, n);
    s->permits->ops->want(s->permits, n);
}

static void used(struct dsql_budget *budget, int64_t n)
{
    struct split *s = split_of(budget);
    s->slots->ops->used(s->slots, n);
    s->permits->ops->used(s->permits, n);
}

static int64_t slots(struct dsql_budget *budget)
{
    struct split *s = split_of(budget);
    return s->slots->ops->slots(s->slots);
}

static bool permit(struct dsql_budget *budget, struct dsql_mono now, int64_t *wait_ns)
{
    struct split *s = split_of(budget);
    return s->permits->ops->permit(s->permits, now, wait_ns);
}

static void opened(struct dsql_budget *budget, struct dsql_mono now)
{
    struct split *s = split_of(budget);
    s->permits->ops->opened(s->permits, now);
}

static void throttled(struct dsql_budget *budget, struct dsql_mono now)
{
    struct split *s = split_of(budget);
    s->permits->ops->throttled(s->permits, now);
}

static void refused_full(struct dsql_budget *budget, struct dsql_mono now)
{
    struct split *s = split_of(budget);
    s->slots->ops->refused_full(s->slots, now);
}

static void status(struct dsql_budget *budget, struct dsql_mono now, struct dsql_budget_status *out)
{
    struct split *s = split_of(budget);
    struct dsql_budget_status of_slots;
    s->slots->ops->status(s->slots, now, &of_slots);
    s->permits->ops->status(s->permits, now, out);
    out->kind = DSQL_BUDGET_LEASES;
    out->slots = of_slots.slots;
    out->fleet_used = of_slots.fleet_used;
    out->fleet_limit = of_slots.fleet_limit;
    if (of_slots.clock_ahead_s != 0)
        out->clock_ahead_s = of_slots.clock_ahead_s;
    if (of_slots.problem[0] != '\0')
        memcpy(out->problem, of_slots.problem, sizeof(out->problem));
}

static void drain(struct dsql_budget *budget)
{
    struct split *s = split_of(budget);
    s->slots->ops->drain(s->slots);
    s->permits->ops->drain(s->permits);
}

static void destroy(struct dsql_budget *budget)
{
    struct split *s = split_of(budget);
    if (s->permits)
        s->permits->ops->destroy(s->permits);
    if (s->slots)
        s->slots->ops->destroy(s->slots);
    free(s);
}

static const struct dsql_budget_ops ops = {
    want, slots, permit, used, opened, throttled, refused_full, status, drain, destroy,
};

static enum dsql_rc open_half(const struct dsql_budget_options *options, const char *table,
                              struct dsql_budget **half, struct dsql_err *err)
{
    return (table[0] == '\0' ? dsql_budget_local : dsql_budget_fleet)(options, half, err);
}

enum dsql_rc dsql_budget_split(const struct dsql_budget_options *options,
                               struct dsql_budget **budget, struct dsql_err *err)
{
    struct dsql_budget_options connections = *options, connects = *options;
    struct split *s = calloc(1, sizeof(*s));
    if (!s)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    s->budget.ops = &ops;
    connections.limiter_table = "";
    connects.lease_table = "";
    enum dsql_rc rc = open_half(&connections, connections.lease_table, &s->slots, err);
    if (!rc)
        rc = open_half(&connects, connects.limiter_table, &s->permits, err);
    if (rc) {
        destroy(&s->budget);
        return rc;
    }
    *budget = &s->budget;
    return DSQL_OK;
}
