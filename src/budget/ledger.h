/*
 * A ledger: one allowance of core's for one cluster, and the *shares* that the pools of this
 * process have in it. The allowance sees the sum of what its shares say, and its slots are divided
 * among them. A ledger that is counted in a table has a fleet (fleet.h): the thread that carries
 * the allowance's requests there.
 *
 * Locks: `ledgers_lock` (ledger.c) guards the list of ledgers. A ledger's `lock` guards the rest of
 * it and is taken while holding ledgers_lock, never the other way round; `wake_lock` guards the
 * list of shares while pools are woken, and is taken before lock. None of the first two is held
 * during a request or while a pool is woken.
 */
#ifndef DSQL_BUDGET_LEDGER_H
#define DSQL_BUDGET_LEDGER_H

#include <pthread.h>

#include "budget/budget.h"
#include "core/fallback.h"
#include "core/solo.h"

struct dsql_fleet;
struct dsql_ledger;

struct dsql_share {
    struct dsql_ledger *ledger;
    struct dsql_share *next;
    int64_t want, used;
    bool draining;
    void (*wake)(void *arg);
    void *wake_arg;
    /* Only a fleet's ledger uses these two. */
    struct dsql_credentials *credentials;     /* of its pool; held */
    struct dsql_credentials *own_credentials; /* the pool's, if the pool made them itself */
};

struct dsql_ledger {
    struct dsql_ledger *next;
    unsigned share_count;
    char key[600];
    pthread_mutex_t lock, wake_lock;
    pthread_cond_t changed; /* something was said: there may be a request */
    const struct dsql_clock *clock;
    struct dsql_allowance *allowance;
    struct dsql_share *shares; /* the youngest first */
    struct dsql_fallback fallback;
    struct dsql_fleet *fleet; /* NULL: this process is on its own, and `solo` is its allowance */
    struct dsql_solo solo;
};

/* A share of a ledger that is counted in a table, or of this process's own. */
DSQL_MUST_USE enum dsql_rc dsql_share_open(const struct dsql_budget_options *options,
                                           bool in_a_table, struct dsql_share **share,
                                           struct dsql_err *err);
void dsql_share_close(struct dsql_share *share);

/* The calls of budget.h. */
void dsql_share_tell(struct dsql_share *share, int64_t want, int64_t used, bool draining);
int64_t dsql_share_slots(struct dsql_share *share, struct dsql_mono now);
bool dsql_share_permit(struct dsql_share *share, struct dsql_mono now, int64_t *wait_ns);
/* A connect ended: dsql_allowance_opened, _throttled or _refused_full. */
void dsql_share_note(struct dsql_share *share, struct dsql_mono now,
                     void (*what)(struct dsql_allowance *allowance, struct dsql_moment now));
void dsql_share_status(struct dsql_share *share, struct dsql_mono now,
                       struct dsql_allowance_status *status);

/* In the child of a fork(). */
void dsql_ledgers_after_fork(void);

#endif
