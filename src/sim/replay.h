/*
 * A recording of a pool's keeper (core/keeper_trace.h), done again: the keeper is made of the
 * recording's first snapshot, is told what it was told then, and has to say what it said then, to
 * the byte. The snapshots in between have to equal what the keeper has become by itself. The replay
 * ends at the first difference.
 *
 * What callers did without a lock is not replayed: it is in the recording as what the opener found.
 */
#ifndef DSQL_SIM_REPLAY_H
#define DSQL_SIM_REPLAY_H

#include "core/keeper_trace.h"

/* A call that was made again, and its reply. */
struct dsql_sim_replay_event {
    uint64_t number;       /* of the record, from 1 on */
    uint64_t segment;      /* of the recording, from 1 on */
    struct dsql_mono at;   /* since the beginning of the recording */
    struct dsql_mono base; /* that beginning, on the keeper's clock */
    const struct dsql_keeper_call *call;
    const struct dsql_keeper_reply *reply;
    const struct dsql_keeper *keeper; /* after it */
    bool gap;                         /* a part of the recording is missing before */
};
typedef void dsql_sim_replay_fn(void *arg, const struct dsql_sim_replay_event *event);

struct dsql_sim_replay {
    uint64_t records, decisions, turns; /* decisions: records whose reply was compared */
    uint64_t segments, gaps;
    bool closed;                          /* the recording was ended, not cut off */
    struct dsql_wall began;               /* the first snapshot */
    struct dsql_mono base, last;          /* the first moment and the last, on the keeper's clock */
    char version[DSQL_TRACE_VERSION_MAX]; /* of the program that recorded last */
    struct dsql_keeper_config config;     /* of the pool */
    bool differs;
    char difference[600]; /* which decision, what was recorded and what the keeper says now */
};

/*
 * Replays the bytes of a file; `watch` may be NULL. DSQL_OK, and replay->differs says whether a
 * decision was another one; DSQL_INVALID if this is no recording, or is damaged: everything before
 * the damage was replayed; DSQL_NO_MEMORY.
 */
DSQL_MUST_USE enum dsql_rc dsql_sim_replay(struct dsql_span file, dsql_sim_replay_fn *watch,
                                           void *arg, struct dsql_sim_replay *replay,
                                           struct dsql_err *err);

/* A moment of a recording: after so many records, in this segment. */
struct dsql_sim_replay_moment {
    uint64_t segment, records;
};
/* The keeper at a moment that lies between two turns; *keeper has to be finished. The recording was
 * replayed without a difference. DSQL_NO_MEMORY; DSQL_INVALID: there is no such moment. */
DSQL_MUST_USE enum dsql_rc dsql_sim_replay_keeper(struct dsql_span file,
                                                  struct dsql_sim_replay_moment moment,
                                                  struct dsql_keeper *keeper, struct dsql_err *err);

/* A call and its reply in a person's words: "open slot 3: fewer than the target". */
void dsql_sim_replay_describe(struct dsql_strbuf *sb, const struct dsql_sim_replay_event *event);

#endif
