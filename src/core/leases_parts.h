/*
 * What leases.c, which holds a process's state and makes its requests, leases_answer.c, which takes
 * the answers, and leases_survey.c, the reconciler, share.
 */
#ifndef DSQL_CORE_LEASES_PARTS_H
#define DSQL_CORE_LEASES_PARTS_H

#include "core/leases.h"

static inline int64_t dsql_leases_second_of(struct dsql_wall wall)
{
    return wall.ns / DSQL_S;
}

/* The place of a lease among those held; their count if it is not held. */
size_t dsql_leases_place_of(const struct dsql_leases *l, const char *id);

/* Ends a survey: when the next one is due. */
void dsql_leases_plan_survey(struct dsql_leases *l, struct dsql_mono now);

/* Answers to a survey: a page of leases; the counter before and after the scan. */
void dsql_leases_scanned(struct dsql_leases *l, struct dsql_mono now,
                         const struct dsql_leases_answer *answer);
void dsql_leases_looked(struct dsql_leases *l, struct dsql_mono now,
                        const struct dsql_leases_answer *answer);

/* The leases of reap are deleted: that is no news of their owner. */
void dsql_leases_took_away(struct dsql_leases_survey *survey);

#endif
