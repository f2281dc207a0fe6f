/*
 * When a transaction that failed may be run again, and after which wait. dsql_tx_run() follows this
 * policy by itself; a caller that re-runs its transactions asks it directly:
 *
 *     struct dsql_retry retry;
 *     dsql_retry_init(&retry, &policy);
 *     while ((rc = my_transaction()) != DSQL_OK) {
 *         struct dsql_retry_decision d = dsql_retry_next(&retry, &policy, rc, elapsed_ns, -1);
 *         if (!d.again)
 *             return rc; // d.why says why
 *         sleep_for(d.wait_ns);
 *     }
 *
 * Only what certainly was not applied is run again: the two conflicts (SQLSTATE 40001) and, if the
 * policy says so, a connection that died or a server that was not there before COMMIT was sent. A
 * condition that failed and a commit whose outcome is unknown never are.
 */
#ifndef DSQL_RETRY_H
#define DSQL_RETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dsql/defs.h"
#include "dsql/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Limits the retries of many operations together, so that a hot row does not multiply the load:
 * each operation that begins adds `ratio` retries, each second adds `rate` more, and at most
 * `burst` retries are saved. Safe from any thread.
 */
struct dsql_retry_budget;

/* 0 <= ratio <= 100; 1 <= rate, burst <= 1000000. The caller destroys it, after the last operation
 * whose policy names it. Fails with DSQL_INVALID and DSQL_NO_MEMORY. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_retry_budget_new(double ratio, int64_t rate, int64_t burst,
                                                          struct dsql_retry_budget **budget);

/* Frees it; no policy in use may name it any more. NULL is fine. */
DSQL_API void dsql_retry_budget_destroy(struct dsql_retry_budget *budget);

/* The one that default policies share in a process: a retry for each operation, 10 a second more,
 * 500 saved at most. Never destroyed. */
DSQL_API struct dsql_retry_budget *dsql_retry_budget_process(void);

struct dsql_retry_policy {
    int max_retries;       /* 5; 0 for one try only */
    int64_t base_delay_ns; /* 100 ms; doubles with each retry */
    int64_t max_delay_ns;  /* 5 s */
    double jitter;         /* 0.25: the part of each wait that is random */
    /* 0. How many of the retries may follow a connection that was lost, or a server that was not
     * available, before COMMIT was sent. */
    int reconnects;
    struct dsql_retry_budget *budget; /* the process's; NULL for no limit */
    /* 100. Conflicts a minute, of all operations of the process, above which the log warns; 0 for
     * never. */
    int64_t conflict_alert;
};

/* The values above. */
DSQL_API void dsql_retry_policy_default(struct dsql_retry_policy *policy);

/* The policy that the environment sets: DSQL_RETRY_MAX_RETRIES and the other DSQL_RETRY_ settings
 * of `dsql help config`. Values that cannot be used are adjusted. DSQL_NO_MEMORY. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_retry_policy_env(struct dsql_retry_policy *policy,
                                                          struct dsql_err *err);

/* How far one operation got. Plain memory of the caller's, used by one thread at a time. */
struct dsql_retry {
    int retries;     /* made so far */
    int reconnects;  /* of them, after a lost connection */
    bool refreshed;  /* the retry at once after OC001 was used */
    uint64_t random; /* where its jitter comes from */
};

enum dsql_retry_end {
    DSQL_RETRY_NOT_OVER,      /* run it again */
    DSQL_RETRY_NOT_RETRYABLE, /* the outcome is none that may be repeated */
    DSQL_RETRY_EXHAUSTED,     /* max_retries were made */
    DSQL_RETRY_NO_TIME,       /* the wait would pass the deadline */
    DSQL_RETRY_NO_BUDGET,     /* all operations together have used up their retries */
};

/* "exhausted" for DSQL_RETRY_EXHAUSTED. Static storage. */
DSQL_API const char *dsql_retry_end_name(enum dsql_retry_end end);

struct dsql_retry_decision {
    bool again;
    /* The first OC001: a retry on the same connection refreshes that session's catalogue, and
     * normally passes. */
    bool same_connection;
    int64_t wait_ns;
    enum dsql_retry_end why;
};

/* An operation begins: it counts for the policy's budget. */
DSQL_API void dsql_retry_init(struct dsql_retry *retry, const struct dsql_retry_policy *policy);

/*
 * A try ended with rc, elapsed_ns after the operation began; deadline_ns counts from there too, and
 * is negative if there is none. When the answer is to try again, that try is counted.
 */
DSQL_API struct dsql_retry_decision dsql_retry_next(struct dsql_retry *retry,
                                                    const struct dsql_retry_policy *policy,
                                                    enum dsql_rc rc, int64_t elapsed_ns,
                                                    int64_t deadline_ns);

#ifdef __cplusplus
}
#endif
#endif
