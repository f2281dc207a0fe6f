#include "core/solo.h"

static struct dsql_solo *of(struct dsql_allowance *a)
{
    return DSQL_CONTAINER_OF(a, struct dsql_solo, allowance);
}

static void want(struct dsql_allowance *a, int64_t n)
{
    of(a)->want = n;
}

static void used(struct dsql_allowance *a, int64_t n)
{
    of(a)->used = n;
}

static int64_t slots(const struct dsql_allowance *a, struct dsql_moment now)
{
    const struct dsql_solo *s = DSQL_CONTAINER_OF(a, const struct dsql_solo, allowance);
    (void)now;
    return s->draining ? 0 : s->want;
}

static bool permit(struct dsql_allowance *a, struct dsql_moment now, int64_t *wait_ns)
{
    return dsql_permits_take(&of(a)->permits, now.mono, wait_ns);
}

static double rate(struct dsql_allowance *a, struct dsql_moment now)
{
    return dsql_permits_rate(&of(a)->permits, now.mono);
}

static void opened(struct dsql_allowance *a, struct dsql_moment now)
{
    dsql_permits_opened(&of(a)->permits, now.mono);
}

static void throttled(struct dsql_allowance *a, struct dsql_moment now)
{
    dsql_permits_throttled(&of(a)->permits, now.mono);
}

static void drain(struct dsql_allowance *a, bool draining)
{
    of(a)->draining = draining;
}

static void status(struct dsql_allowance *a, struct dsql_moment now,
                   struct dsql_allowance_status *status)
{
    struct dsql_solo *s = of(a);
    status->slots = slots(a, now);
    status->used = s->used;
    status->rate = rate(a, now);
    status->rate_limit = (double)dsql_permits_full_rate(&s->permits);
    status->burst = s->burst;
    status->permits = dsql_permits_level(&s->permits, now.mono);
    status->throttled = s->permits.throttled;
}

static const struct dsql_allowance_ops ops = {
    .want = want,
    .used = used,
    .slots = slots,
    .permit = permit,
    .rate = rate,
    .opened = opened,
    .throttled = throttled,
    .drain = drain,
    .status = status,
};

void dsql_solo_init(struct dsql_solo *s, int64_t per_second, int64_t burst, struct dsql_mono now)
{
    *s = (struct dsql_solo){.allowance.ops = &ops, .burst = burst};
    dsql_permits_init(&s->permits, per_second, burst, now);
}

void dsql_solo_resize(struct dsql_solo *s, int64_t per_second, int64_t burst, struct dsql_mono now)
{
    s->burst = burst;
    dsql_permits_resize(&s->permits, per_second, burst, now);
}

bool dsql_solo_is_rested(struct dsql_solo *s, struct dsql_mono now)
{
    return dsql_permits_level(&s->permits, now) == s->burst &&
           dsql_permits_rate(&s->permits, now) >= (double)dsql_permits_full_rate(&s->permits);
}
