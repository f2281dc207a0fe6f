/* What-if: a fleet described by a few numbers, run on paper with several seeds, and what to change.
 */
#ifndef DSQL_SIM_PLAN_H
#define DSQL_SIM_PLAN_H

#include "sim/report.h"

enum { DSQL_SIM_ADVICE_MAX = 8 };

struct dsql_sim_question {
    int64_t processes, connections_each;
    int64_t lifetime_ns, jitter_ns, guard_ns;
    int64_t rate, burst, cap; /* of the fleet's budget */
    int64_t latency_ns, stagger_ns;
    int64_t runs; /* seeds */
    uint64_t seed;
};

struct dsql_sim_answer {
    int64_t wanted;     /* connections of the fleet */
    bool by_arithmetic; /* the numbers alone refuse the fleet: nothing was run, what follows is 0 */
    int64_t full_ns;    /* until the last process is at its target, the worst run; -1: never */
    double start_peak;  /* connects in a second while it starts, at most */
    double steady, steady_peak; /* connects a second after that: on average, at most */
    double share;               /* of the rate, that the steady ones take */
    int64_t peak_connections;
    double refused;   /* part of the runs in which the cluster said 53400 */
    double throttled; /* part of the requests that DynamoDB refused for being too many, at most */
    char advice[DSQL_SIM_ADVICE_MAX][400];
    size_t advice_count;
};

/* Whether every process reached its target, in every run. */
static inline bool dsql_sim_plan_fits(const struct dsql_sim_answer *answer)
{
    return answer->full_ns >= 0;
}

/* `told` is called after each run with how many are done; may be NULL. */
DSQL_MUST_USE enum dsql_rc dsql_sim_plan(const struct dsql_sim_question *question,
                                         void (*told)(int64_t done, int64_t of),
                                         struct dsql_sim_answer *answer, struct dsql_err *err);

#endif
