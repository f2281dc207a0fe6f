#include "budget/budget.h"

#include <stdlib.h>
#include <string.h>

#include "budget/ledger.h"

/* `slots` and `permits` are the same share, unless connections and connects are counted in two
 * tables. Then they are two independent shares, so that an absent table stops only its half. Both
 * are told `want` and `used`: the permits' share draws as many permits as connections are missing.
 */
struct dsql_budget {
    struct dsql_share *slots, *permits;
    int64_t want, used;
    bool draining;
};

static void tell(struct dsql_budget *b)
{
    dsql_share_tell(b->slots, b->want, b->used, b->draining);
    if (b->permits != b->slots)
        dsql_share_tell(b->permits, b->want, b->used, b->draining);
}

void dsql_budget_want(struct dsql_budget *b, int64_t n)
{
    b->want = n;
    tell(b);
}

void dsql_budget_used(struct dsql_budget *b, int64_t n)
{
    b->used = n;
    tell(b);
}

void dsql_budget_drain(struct dsql_budget *b)
{
    b->draining = true;
    tell(b);
}

int64_t dsql_budget_slots(struct dsql_budget *b, struct dsql_mono now)
{
    return dsql_share_slots(b->slots, now);
}

bool dsql_budget_permit(struct dsql_budget *b, struct dsql_mono now, int64_t *wait_ns)
{
    return dsql_share_permit(b->permits, now, wait_ns);
}

void dsql_budget_opened(struct dsql_budget *b, struct dsql_mono now)
{
    dsql_share_note(b->permits, now, dsql_allowance_opened);
}

void dsql_budget_throttled(struct dsql_budget *b, struct dsql_mono now)
{
    dsql_share_note(b->permits, now, dsql_allowance_throttled);
}

void dsql_budget_refused_full(struct dsql_budget *b, struct dsql_mono now)
{
    dsql_share_note(b->slots, now, dsql_allowance_refused_full);
}

void dsql_budget_status(struct dsql_budget *b, struct dsql_mono now,
                        struct dsql_allowance_status *out)
{
    struct dsql_allowance_status of_slots;
    dsql_share_status(b->permits, now, out);
    if (b->slots == b->permits)
        return;
    dsql_share_status(b->slots, now, &of_slots);
    out->slots = of_slots.slots;
    out->fleet_used = of_slots.fleet_used;
    out->fleet_limit = of_slots.fleet_limit;
    if (of_slots.clock_ahead_s != 0)
        out->clock_ahead_s = of_slots.clock_ahead_s;
    if (of_slots.problem[0] != '\0')
        memcpy(out->problem, of_slots.problem, sizeof(out->problem));
}

void dsql_budget_destroy(struct dsql_budget *b)
{
    if (!b)
        return;
    if (b->permits && b->permits != b->slots)
        dsql_share_close(b->permits);
    if (b->slots)
        dsql_share_close(b->slots);
    free(b);
}

/* `leases` whose connections and connects are counted in different places: each in a table of its
 * own, or in none. */
static bool is_split(const struct dsql_budget_options *o)
{
    return o->kind == DSQL_BUDGET_LEASES && o->lease_table && o->limiter_table &&
           strcmp(o->lease_table, o->limiter_table) != 0;
}

static enum dsql_rc open_shares(struct dsql_budget *b, const struct dsql_budget_options *options,
                                struct dsql_err *err)
{
    if (!is_split(options)) {
        enum dsql_rc rc =
            dsql_share_open(options, options->kind != DSQL_BUDGET_LOCAL, &b->slots, err);
        b->permits = b->slots;
        return rc;
    }
    struct dsql_budget_options connections = *options, connects = *options;
    connections.limiter_table = "";
    connects.lease_table = "";
    enum dsql_rc rc =
        dsql_share_open(&connections, connections.lease_table[0] != '\0', &b->slots, err);
    return rc ? rc
              : dsql_share_open(&connects, connects.limiter_table[0] != '\0', &b->permits, err);
}

enum dsql_rc dsql_budget_open(const struct dsql_budget_options *options,
                              struct dsql_budget **budget, struct dsql_err *err)
{
    if (options->kind > DSQL_BUDGET_BLOCKS)
        return dsql_err_set(err, DSQL_INVALID, "no such budget: %d", (int)options->kind);
    struct dsql_budget *b = calloc(1, sizeof(*b));
    if (!b)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    enum dsql_rc rc = open_shares(b, options, err);
    if (rc) {
        dsql_budget_destroy(b);
        return rc;
    }
    *budget = b;
    return DSQL_OK;
}

void dsql_budget_after_fork(void)
{
    dsql_ledgers_after_fork();
}
