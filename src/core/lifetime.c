#include "core/lifetime.h"

/* A successor is opened when a sixteenth of the usable life is left, at most this much. */
#define LEAD_MAX_NS (15 * DSQL_S)

struct dsql_lifespan dsql_lifetime_draw(const struct dsql_lifetime *lifetime, struct dsql_mono born,
                                        struct dsql_rng *rng)
{
    assert(lifetime->base_ns >= 1 && lifetime->guard_ns >= 0);
    assert(lifetime->jitter_ns >= 0 && lifetime->jitter_ns / 2 <= lifetime->base_ns);
    int64_t half_ns = lifetime->jitter_ns / 2;
    int64_t life_ns = lifetime->base_ns + dsql_rng_between(rng, -half_ns, half_ns);
    int64_t longest_ns = DSQL_SERVICE_LIFETIME_NS - lifetime->guard_ns;
    if (longest_ns < 0)
        longest_ns = 0;
    if (life_ns > longest_ns)
        life_ns = longest_ns;
    int64_t usable_ns = life_ns > lifetime->guard_ns ? life_ns - lifetime->guard_ns : 0;
    int64_t lead_ns = usable_ns / 16 < LEAD_MAX_NS ? usable_ns / 16 : LEAD_MAX_NS;
    return (struct dsql_lifespan){
        .born = born,
        .replace_at = dsql_mono_add(born, usable_ns - lead_ns),
        .usable_until = dsql_mono_add(born, usable_ns),
        .dies_at = dsql_mono_add(born, life_ns),
    };
}
