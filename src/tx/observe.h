/* What transactions tell the metrics and the log. */
#ifndef DSQL_TX_OBSERVE_H
#define DSQL_TX_OBSERVE_H

#include "base/time.h"
#include "dsql/err.h"
#include "dsql/retry.h"

struct dsql_metrics;
struct dsql_operation;

struct dsql_observer {
    struct dsql_metrics *metrics; /* NULL: nothing is recorded */
    char name[64];                /* of the operation, for the log */
    unsigned operation;
    const struct dsql_clock *clock;
    struct dsql_mono began;
    int64_t conflict_alert;
    struct dsql_operation *within; /* what it is a part of; NULL for an operation by itself */
};

void dsql_observe_begin(struct dsql_observer *observer, struct dsql_metrics *metrics,
                        const char *operation, int64_t conflict_alert,
                        const struct dsql_clock *clock);

/* A transaction that is a part of an operation: what happens to it is the operation's, which begins
 * and ends by itself. */
void dsql_observe_part(struct dsql_observer *observer, struct dsql_operation *within);

/* A try ended; err says how if rc is not DSQL_OK. */
void dsql_observe_try(const struct dsql_observer *observer, enum dsql_rc rc,
                      const struct dsql_err *err);
void dsql_observe_round_trips(const struct dsql_observer *observer, unsigned round_trips);

/* The operation is run again: `retries` counts this one. */
void dsql_observe_retry(const struct dsql_observer *observer, enum dsql_rc rc, int retries,
                        int64_t wait_ns);
void dsql_observe_give_up(const struct dsql_observer *observer, enum dsql_retry_end why);

enum dsql_settled { DSQL_SETTLED_APPLIED, DSQL_SETTLED_NOT_APPLIED, DSQL_SETTLED_NOT };
/* A commit's outcome was unknown, and what became of it. */
void dsql_observe_unknown(const struct dsql_observer *observer, enum dsql_settled settled);

/* The operation is over. */
void dsql_observe_end(const struct dsql_observer *observer, int tries);

#endif
