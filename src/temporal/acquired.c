#include "temporal/acquired.h"

#include "base/lock.h"

void dsql_acquired_init(struct dsql_acquired *acquired)
{
    *acquired = (struct dsql_acquired){.places = {{0}}};
    (void)pthread_mutex_init(&acquired->lock, NULL);
}

void dsql_acquired_fini(struct dsql_acquired *acquired)
{
    (void)pthread_mutex_destroy(&acquired->lock);
}

enum dsql_label_value dsql_acquired_note(struct dsql_acquired *acquired, int32_t shard,
                                         struct dsql_mono now)
{
    dsql_lock(&acquired->lock);
    size_t at = (uint32_t)shard % DSQL_ACQUIRED_PLACES;
    bool known = acquired->places[at].times > 0 && acquired->places[at].shard == shard;
    if (!known || dsql_mono_since(now, acquired->places[at].since) > DSQL_ACQUIRED_WINDOW_NS) {
        acquired->places[at].shard = shard;
        acquired->places[at].times = 0;
        acquired->places[at].since = now;
    }
    int32_t times = ++acquired->places[at].times;
    dsql_unlock(&acquired->lock);
    if (times == 1)
        return DSQL_ACQUIRED_FIRST;
    return times < DSQL_ACQUIRED_MANY ? DSQL_ACQUIRED_FEW : DSQL_ACQUIRED_OFTEN;
}
