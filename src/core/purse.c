#include "core/purse.h"

/* Thousandths a second are units a microsecond. */
static_assert(DSQL_PURSE_ONE / 1000 == DSQL_S / DSQL_US, "units");

int64_t dsql_purse_by(const struct dsql_purse *purse, int64_t flow, int64_t most,
                      struct dsql_mono now)
{
    int64_t full = most * DSQL_PURSE_ONE, passed_us = dsql_mono_since(now, purse->at) / DSQL_US;
    if (purse->amount >= full)
        return full;
    if (passed_us <= 0 || flow <= 0)
        return purse->amount;
    if (passed_us > (full - purse->amount) / flow)
        return full;
    return purse->amount + passed_us * flow;
}

void dsql_purse_fill(struct dsql_purse *purse, int64_t flow, int64_t most, struct dsql_mono now)
{
    purse->amount = dsql_purse_by(purse, flow, most, now);
    if (dsql_mono_before(purse->at, now))
        purse->at = now;
}

int64_t dsql_purse_wait_ns(const struct dsql_purse *purse, int64_t flow, int64_t most,
                           struct dsql_mono now)
{
    int64_t missing = DSQL_PURSE_ONE - dsql_purse_by(purse, flow, most, now);
    if (missing <= 0)
        return 0;
    if (most < 1 || flow <= 0)
        return INT64_MAX;
    return (missing / flow + 1) * DSQL_US;
}
