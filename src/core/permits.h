/*
 * The connects a process may make: a token bucket whose rate yields when the service says 53400
 * (rate exceeded) and recovers when it does not: halved at most once a second, then raised by a
 * tenth of the full rate each second. After a refusal the bucket is empty and nothing is given for
 * a pause that doubles with each refusal in a row, from 1 s to 30 s; a connect that succeeds ends
 * the row.
 *
 * Invariants: (PE1) never more than the bucket at its full rate would give; (PE2) rate_min <= rate
 * <= full rate; (PE3) time that goes back adds nothing. Single-threaded.
 */
#ifndef DSQL_CORE_PERMITS_H
#define DSQL_CORE_PERMITS_H

#include "core/bucket.h"

enum {
    DSQL_PERMITS_RATE_MAX = 1000, /* a second */
    DSQL_PERMITS_BURST_MAX = 1000,
};

struct dsql_permits {
    struct dsql_bucket bucket; /* in thousandths of a permit */
    int64_t full_rate;         /* thousandths a second */
    struct dsql_mono cut_at;   /* when the rate was lowered last */
    struct dsql_mono raised_at;
    struct dsql_mono paused_until;
    unsigned refusals; /* in a row */
    uint64_t throttled;
};

/* Full. 1 <= rate, burst <= their maxima. */
void dsql_permits_init(struct dsql_permits *permits, int64_t rate, int64_t burst,
                       struct dsql_mono now);

/* Other limits from now on; what is in it stays, as far as it fits. */
void dsql_permits_resize(struct dsql_permits *permits, int64_t rate, int64_t burst,
                         struct dsql_mono now);

/* Takes one, or says in *wait_ns when to ask again. */
bool dsql_permits_take(struct dsql_permits *permits, struct dsql_mono now, int64_t *wait_ns);

/* The service said 53400. */
void dsql_permits_throttled(struct dsql_permits *permits, struct dsql_mono now);

/* A connect succeeded. */
void dsql_permits_opened(struct dsql_permits *permits, struct dsql_mono now);

/* Permits a second at best, and in effect; how many are there now. */
int64_t dsql_permits_full_rate(const struct dsql_permits *permits);
double dsql_permits_rate(struct dsql_permits *permits, struct dsql_mono now);
int64_t dsql_permits_level(struct dsql_permits *permits, struct dsql_mono now);

#endif
