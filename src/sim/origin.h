/*
 * A simulation that begins where a recorded pool was (core/keeper_trace.h): the keeper at a moment
 * of the recording, and a scenario whose cluster, budget and callers are fitted to it. Everything
 * after that moment is a model: sim/origin_report.c says so, with what a recording can't tell.
 *
 * What a recording tells: the pool's settings; how long each connect took and how it ended; permits
 * and their rate; callers that waited, at every turn; and of some connections, when the keeper
 * looked at them, whether they were in use and when they came back. Checkouts take no lock and are
 * not recorded, so callers are known by these samples only.
 */
#ifndef DSQL_SIM_ORIGIN_H
#define DSQL_SIM_ORIGIN_H

#include "core/keeper.h"
#include "sim/replay.h"
#include "sim/scenario.h"

/* What the pool went through in a stretch of the recording. */
struct dsql_sim_stretch {
    uint64_t connects, opens, failures;
    uint64_t discards[DSQL_DISCARDS];
    uint32_t most_waiting; /* callers, at a turn */
};

struct dsql_sim_fit {
    uint64_t connects; /* that succeeded: the next two are theirs */
    int64_t shortest_ns, mean_ns;
    uint64_t failures;     /* connects that failed, which are not repeated */
    uint64_t hang_ups;     /* connections that the server closed, likewise */
    double rate;           /* connects a second that the budget allowed, at most */
    int64_t burst;         /* permits that were used at once beyond the rate, at most */
    int64_t granted;       /* slots, last */
    uint64_t looks;        /* at connections, the first at each */
    uint64_t looks_in_use; /* of these, at one that a caller had */
    double in_use;         /* connections in callers' hands, on average; -1: not known */
    double waiting;        /* callers that waited, on average */
    int64_t hold_ns;       /* how long one that was in use stayed away then; -1: not known */
    int64_t most_callers;  /* in use and waiting at once, at most */
};

struct dsql_sim_origin {
    char file[DSQL_SHAPE_TEXT_MAX];
    char version[DSQL_TRACE_VERSION_MAX];
    struct dsql_keeper keeper;
    struct dsql_mono now;    /* the moment, on the keeper's clock */
    struct dsql_wall began;  /* the recording */
    int64_t at_ns;           /* the moment, since the recording began */
    int64_t rest_ns;         /* the recording goes on for so long after it, or until its drain */
    struct dsql_sim_fit fit; /* to the whole recording */
    struct dsql_sim_stretch after;  /* what was recorded after the moment */
    struct dsql_sim_stretch before; /* what was recorded up to the moment */
};

/*
 * Reads the recording `file`, whose bytes are given, and makes a scenario of one service with one
 * process that begins there. at_ns: so long after the recording began, or -1: at its last snapshot.
 * On success *scenario points to *origin, and both have to be finished. DSQL_INVALID: no recording,
 * damaged, other decisions than this program's, or nothing to begin from; DSQL_NO_MEMORY.
 */
DSQL_MUST_USE enum dsql_rc dsql_sim_origin_read(struct dsql_span bytes, const char *file,
                                                int64_t at_ns, struct dsql_sim_origin *origin,
                                                struct dsql_sim_scenario *scenario,
                                                struct dsql_err *err);
void dsql_sim_origin_fini(struct dsql_sim_origin *origin);

#endif
