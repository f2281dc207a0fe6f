#include "core/refresh.h"

#include "core/backoff.h"

/* Inside the window before the end in which a new one is fetched. A wall clock that was set back
 * before `got` only makes the value seem younger. */
static bool is_due(const struct dsql_refresh *refresh, struct dsql_wall wall)
{
    if (refresh->unwanted)
        return true;
    if (refresh->expires.ns == 0)
        return false;
    int64_t lifetime_ns = refresh->expires.ns - refresh->got.ns;
    int64_t ahead_ns =
        lifetime_ns / 4 < DSQL_REFRESH_AHEAD_NS ? lifetime_ns / 4 : DSQL_REFRESH_AHEAD_NS;
    return wall.ns >= refresh->expires.ns - ahead_ns;
}

struct dsql_refresh_need dsql_refresh_need(const struct dsql_refresh *refresh,
                                           struct dsql_mono mono, struct dsql_wall wall)
{
    bool serve = refresh->held && dsql_refresh_is_valid(refresh->expires, wall);
    bool wanted = !serve || is_due(refresh, wall);
    bool may = !refresh->fetching && !dsql_mono_before(mono, refresh->next);
    return (struct dsql_refresh_need){
        .serve = serve,
        .fetch = wanted && may,
        .wait = !serve && (may || refresh->fetching),
    };
}

void dsql_refresh_begin(struct dsql_refresh *refresh)
{
    assert(!refresh->fetching); /* R1 */
    refresh->fetching = true;
}

bool dsql_refresh_succeeded(struct dsql_refresh *refresh, struct dsql_mono mono,
                            struct dsql_wall wall, struct dsql_wall expires)
{
    assert(refresh->fetching);
    bool ends_a_row = refresh->failures > 0;
    *refresh = (struct dsql_refresh){
        .held = true,
        .got = wall,
        .expires = expires,
        /* What is refused again at once, or never was valid, is not fetched in a tight loop. */
        .next = dsql_mono_add(mono, DSQL_REFRESH_BACKOFF_NS),
    };
    return ends_a_row;
}

bool dsql_refresh_failed(struct dsql_refresh *refresh, struct dsql_mono mono, struct dsql_rng *rng)
{
    assert(refresh->fetching);
    static const struct dsql_backoff backoff = {
        .base_ns = DSQL_REFRESH_BACKOFF_NS,
        .cap_ns = DSQL_REFRESH_BACKOFF_MAX_NS,
        .jitter = 0.25, /* the processes of a fleet do not ask in step */
    };
    refresh->fetching = false;
    if (refresh->failures < 1000)
        refresh->failures++;
    refresh->next = dsql_mono_add(mono, dsql_backoff_ns(&backoff, refresh->failures, rng));
    return refresh->failures == 1;
}

void dsql_refresh_refused(struct dsql_refresh *refresh)
{
    refresh->unwanted = true;
}
