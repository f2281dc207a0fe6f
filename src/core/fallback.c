#include "core/fallback.h"

#include "base/least.h"

void dsql_fallback_init(struct dsql_fallback *f, const struct dsql_fallback_config *config,
                        struct dsql_mono now)
{
    *f = (struct dsql_fallback){.after_ns = config->after_ns, .since = now};
    if (f->after_ns == 0)
        return;
    assert(config->processes > 0);
    f->share = dsql_most(1, config->connections / config->processes);
    int64_t rate = dsql_most(1, config->rate / config->processes);
    dsql_permits_init(&f->permits, dsql_least(rate, DSQL_PERMITS_RATE_MAX), 1, now);
}

void dsql_fallback_tell(struct dsql_fallback *f, bool away, struct dsql_mono now)
{
    if (away && !f->away)
        f->since = now;
    f->away = away;
}

bool dsql_fallback_holds(const struct dsql_fallback *f, struct dsql_mono now)
{
    return f->after_ns > 0 && f->away && dsql_mono_since(now, f->since) >= f->after_ns;
}

int64_t dsql_fallback_slots(const struct dsql_fallback *f, int64_t granted, struct dsql_mono now)
{
    return dsql_fallback_holds(f, now) ? dsql_most(granted, f->share) : granted;
}

bool dsql_fallback_permit(struct dsql_fallback *f, struct dsql_mono now, int64_t *wait_ns)
{
    int64_t own_wait_ns;
    if (!dsql_fallback_holds(f, now))
        return false;
    if (dsql_permits_take(&f->permits, now, &own_wait_ns))
        return true;
    *wait_ns = dsql_least(*wait_ns, own_wait_ns);
    return false;
}
