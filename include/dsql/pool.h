/*
 * The connection pool: a connection to Aurora DSQL in nanoseconds, opened ahead of need and never
 * faster than the cluster's budget allows.
 *
 *     struct dsql_pool_options options;
 *     struct dsql_pool *pool;
 *     struct dsql_conn *conn;
 *     struct dsql_err err;
 *     if (dsql_pool_options_env(&options, &err) || dsql_pool_open(&options, &pool, &err))
 *         ...;
 *     if (dsql_pool_checkout(pool, DSQL_SECONDS(5), &conn, &err) == DSQL_OK) {
 *         PGresult *result = PQexec(dsql_conn_pg(conn), "select 1");
 *         PQclear(result);
 *         dsql_pool_return(conn);
 *     }
 *     dsql_pool_close(pool);
 *
 * A process has one pool for each endpoint, port, user and database: opening it again with the same
 * options, or with the option `share`, gives the same pool (unless that one drains), and each open
 * needs its close.
 *
 * Every function may be called from any thread. A connection is used by one thread at a time. After
 * fork() the child must not use the pool: checkout answers DSQL_CLOSED there and every other call
 * does nothing; the child may open a pool of its own.
 *
 * What a pool does with its connections:
 *
 * - It keeps target_ready of them open. While callers wait it opens one more for each, up to
 *   max_open. Those stay until they are old and are not replaced then.
 * - The end of a connection is set when it is opened: the base lifetime plus or minus half the
 *   jitter. In the guard window before its end it is not handed out. Its successor is opened
 *   shortly before, and the connection is closed when the successor is there. If max_open are
 *   open, it is closed when its successor's permit is there: the number of ready connections falls
 *   by one for a handshake if target_ready equals max_open, and not at all if it is smaller.
 * - A connection that the server closes while it is idle is noticed and never handed out. After
 *   the machine was suspended this takes up to a second; a checkout in that second may get one
 *   that the server has closed.
 * - Callers that wait are served in the order in which they came.
 */
#ifndef DSQL_POOL_H
#define DSQL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dsql/defs.h"
#include "dsql/duration.h"
#include "dsql/err.h"
#include "dsql/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pg_conn PGconn; /* as libpq-fe.h declares it */

struct dsql_pool;
struct dsql_conn;
struct dsql_credentials;
struct dsql_clock;

enum dsql_pool_mode {
    DSQL_POOL_STANDARD,  /* a warm-up before the pool is handed out, then a keeper each second */
    DSQL_POOL_RESERVOIR, /* refilled continuously; the budget is the only throttle */
};

/* Who counts the connects and the open connections of the cluster. */
enum dsql_budget_kind {
    DSQL_BUDGET_LOCAL,  /* this process, for itself */
    DSQL_BUDGET_LEASES, /* a fleet, in DynamoDB: counters and one item for each connection */
    DSQL_BUDGET_BLOCKS, /* a fleet, in DynamoDB: each process owns a block of slots */
};

/* Durations are nanoseconds, such as DSQL_SECONDS(5). Call dsql_pool_options_default() or
 * dsql_pool_options_env() first; then change what differs. */
struct dsql_pool_options {
    size_t size; /* of this struct as the program knows it; set by the two functions */
    enum dsql_pool_mode mode;

    struct {
        char endpoint[256]; /* host name, host:port or 26-character id; required */
        int port;           /* 0: the endpoint's, or 5432 */
        char hostaddr[64];  /* connect to this numeric address instead of resolving the name */
        char region[64];    /* empty: from the endpoint's name */
        char user[64];
        char database[64];
        char ca_file[256]; /* trusted roots; empty: the Amazon roots of the system's bundle */
        int64_t token_duration_ns;
        int64_t connect_timeout_ns;
    } connection;

    struct {                   /* what is more than max_open means max_open */
        int64_t max_open;      /* ready, in use and opening together; at most 10,000 */
        int64_t target_ready;  /* connections to keep; more are opened while callers wait */
        int64_t low_watermark; /* dsql_pool_open() waits until so many are ready (reservoir mode) */
        int64_t initial_fill_timeout_ns; /* dsql_pool_open() waits at most so long */
        int64_t inflight_limit;          /* opens at once; raised when handshakes are slow */
    } sizing;

    struct { /* a connection lives for base +/- jitter/2 */
        int64_t base_ns;
        int64_t jitter_ns;
        int64_t guard_window_ns; /* a connection is not handed out so shortly before its end */
    } lifetime;

    int64_t empty_wait_ns;    /* how long a checkout without a limit of its own waits */
    int64_t drain_timeout_ns; /* how long dsql_pool_close() waits for connections in use */

    struct { /* of standard mode: the warm-up, then the keeper */
        int64_t warmup_target, warmup_max_retries;
        int64_t warmup_retry_backoff_ns, warmup_max_backoff_ns;
        int64_t warmup_connect_timeout_ns; /* in place of connection.connect_timeout_ns */
        int64_t keeper_tick_ns, keeper_max_per_tick;
    } standard;

    struct {
        enum dsql_budget_kind kind;
        int64_t rate, burst;       /* connects of this process: a second, and at once */
        int64_t permit_wait_ns;    /* no permit for so long is a refill failure */
        int64_t permit_backoff_ns; /* the first wait after such a failure; doubles, to a second */
        int64_t staggered_startup_ns; /* wait up to so long before the first connect; 0: do not */
        /* DynamoDB tables of a fleet. LEASES: where connections, and where connects are counted;
         * what has none is not shared. BLOCKS has everything in lease_table. */
        char lease_table[256], limiter_table[256];
        int64_t cluster_rate; /* connects a second of the whole fleet */
        int64_t cluster_burst;
        int64_t cluster_connections;
        int64_t cluster_headroom;   /* connections of the cluster that the fleet leaves unused */
        int64_t ttl_ns;             /* a process silent for so long loses its share to others */
        int64_t fallback_after_ns;  /* the fleet's table is away so long: take a share; 0: never */
        int64_t fallback_processes; /* how many processes share evenly in that case */
        char service[64];           /* the owner's name in a fleet's budget */
    } budget;

    /* Take the pool that this process has open for the same endpoint, port, user and database as it
     * is. Without it, opening such a pool with other options fails. */
    bool share;
    char trace[256]; /* a file that what the opener decides is recorded in, for 'dsql sim replay';
                        empty: not recorded */

    struct dsql_metrics *metrics;         /* NULL: not recorded; must outlive the pool */
    struct dsql_credentials *credentials; /* NULL: found as AWS users expect. They may be destroyed
                                             once dsql_pool_close() has returned */
    const struct dsql_clock *clock;       /* NULL: the machine's. For the library's own tests */
};

/* Fills *options with the defaults of 'dsql help config'; the endpoint is empty. */
static inline void dsql_pool_options_default(struct dsql_pool_options *options);

/*
 * The defaults changed by the environment ('dsql help config'). Values that cannot be used are
 * adjusted and logged; DSQL_INVALID if the settings contradict each other. *options holds the
 * defaults then. DSQL_LOG_LEVEL, if set, is put in force unless the program called
 * dsql_log_set_level().
 */
DSQL_MUST_USE static inline enum dsql_rc dsql_pool_options_env(struct dsql_pool_options *options,
                                                               struct dsql_err *err);

/* What dsql_pool_options_default() calls: a program says how large its struct is, so that it goes
 * on working with a later libdsql whose struct has more members at its end. */
DSQL_API void dsql_pool_options_default_sized(struct dsql_pool_options *options, size_t size);

/* What dsql_pool_options_env() calls, with the size of the program's struct likewise. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_pool_options_env_sized(struct dsql_pool_options *options,
                                                                size_t size, struct dsql_err *err);

/* As declared above. */
static inline void dsql_pool_options_default(struct dsql_pool_options *options)
{
    dsql_pool_options_default_sized(options, sizeof(*options));
}

/* As declared above. */
static inline enum dsql_rc dsql_pool_options_env(struct dsql_pool_options *options,
                                                 struct dsql_err *err)
{
    return dsql_pool_options_env_sized(options, sizeof(*options), err);
}

/*
 * Makes it a pool of max_open connections: target, watermark and warm-up that were as large as the
 * pool stay as large as the pool, and the keeper's pace follows the size unless it was chosen.
 */
DSQL_API void dsql_pool_options_resize(struct dsql_pool_options *options, int64_t max_open);

/* Lets no connection get older than max_age_ns; lifetime, jitter and guard window shrink if they
 * must. */
DSQL_API void dsql_pool_options_limit_age(struct dsql_pool_options *options, int64_t max_age_ns);

/*
 * Opens the pool, or gives the one this process already has. Waits for the initial fill or the
 * warm-up, at most their time limits, and less when every attempt is refused for a reason that
 * waiting does not mend; a pool that is not full by then is a warning in the log, not a failure.
 * The options are copied; the caller closes the pool. Fails with DSQL_INVALID (the message names
 * the option; also when this process has the pool open with other options), DSQL_NO_MEMORY or
 * DSQL_IO (no threads, no descriptors).
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_pool_open(const struct dsql_pool_options *options,
                                                   struct dsql_pool **pool, struct dsql_err *err);

/*
 * A connection that is idle, outside its guard window and not known to be closed. If none is ready,
 * waits its turn for at most wait_ns; negative is options.empty_wait_ns, 0 not at all. When
 * something is ready: no lock, no system call, no allocation.
 *
 * DSQL_EMPTY: nothing became ready in time; the message holds the last reason why a connection
 * could not be opened. DSQL_CLOSED: the pool is closing or this is a forked child.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_pool_checkout(struct dsql_pool *pool, int64_t wait_ns,
                                                       struct dsql_conn **conn,
                                                       struct dsql_err *err);

/* The pool's: neither PQfinish() nor PQreset() it. Valid until it is returned or discarded; a call
 * with a handle that was given back ends the program, as below. */
DSQL_API PGconn *dsql_conn_pg(const struct dsql_conn *conn);

/*
 * Gives it back. One that is broken, inside a transaction, in pipeline mode, has results unread or
 * is too old is closed instead. What else was changed in it (PQsetnonblocking(), a notice
 * processor, SET) stays for the next caller. NULL is fine.
 *
 * A handle belongs to one checkout and ends here. Giving it back a second time is a defect of the
 * program and ends it with an assertion, also when another caller has checked the connection out
 * since: two callers never share one. (A handle carries the number of its checkout modulo 64, so
 * one that is exactly a multiple of 64 checkouts of the slot old passes.)
 */
DSQL_API void dsql_pool_return(struct dsql_conn *conn);

/* Why a connection was closed. The order is that of the metric's label `reason`, DISCARD_REASON in
 * src/metrics/labels.def. */
enum dsql_discard {
    DSQL_DISCARD_INSUFFICIENT_LIFETIME, /* inside its guard window */
    DSQL_DISCARD_EXPIRED_ON_CHECKOUT,
    DSQL_DISCARD_EXPIRED_ON_RETURN,
    DSQL_DISCARD_EXPIRED_ON_SCAN,
    DSQL_DISCARD_EXPIRING_SOON_ON_SCAN, /* replaced, or inside its guard window */
    DSQL_DISCARD_RESERVOIR_FULL,        /* the budget has shrunk */
    DSQL_DISCARD_SERVER_CLOSED,
    DSQL_DISCARD_BROKEN,       /* a caller discarded it, or returned it after its end */
    DSQL_DISCARD_DIRTY_RETURN, /* returned inside a transaction or with results unread */
    DSQL_DISCARD_DRAIN,
    DSQL_DISCARDS /* how many reasons there are */
};

/* "broken" for DSQL_DISCARD_BROKEN; "?" for a number that is no reason. Static storage. */
DSQL_API const char *dsql_discard_name(enum dsql_discard reason);

/* Gives a connection back to be closed, because the caller does not trust it any more. The pool
 * counts it as DSQL_DISCARD_BROKEN and opens another one. NULL is fine. */
DSQL_API void dsql_pool_discard(struct dsql_conn *conn);

enum { DSQL_POOL_ERRORS = 8, DSQL_POOL_SECONDS = 60 };

/* A reason why connections could not be opened; equal ones are one entry. */
struct dsql_pool_error {
    enum dsql_rc rc;
    char sqlstate[6];
    char message[256], hint[256];
    uint64_t count;
    int64_t age_ns; /* since it happened last */
};

struct dsql_pool_stats {
    enum dsql_pool_mode mode;
    bool draining;
    int64_t max_open, target, slots;                /* slots: what the budget lets it hold */
    int64_t ready, in_use, opening, closing, empty; /* connections by state; the sum is max_open */
    int64_t waiting;                                /* callers that wait for a connection */
    uint64_t checkouts, empties, waits;
    uint64_t opens, open_failures, attempts;
    uint64_t discards[DSQL_DISCARDS];
    int64_t inflight_limit; /* in effect */
    int64_t handshake_ns;   /* of a connection, smoothed */
    double rate;            /* connects a second in effect: lower after SQLSTATE 53400 */
    double rate_limit;      /* the full one */
    int64_t burst, permits; /* permits: connects it could make now */
    int64_t retry_in_ns;    /* until the next attempt is made, after failures; 0: at once */
    uint32_t opens_per_second[DSQL_POOL_SECONDS];    /* [0] is the running second */
    struct dsql_pool_error errors[DSQL_POOL_ERRORS]; /* the latest first */
    size_t error_count;
    /* Of transactions on the pool (dsql/tx.h): since when the database has answered none of those
     * that asked it, 0 if it answers; since its last answer, -1 if there was none; and how the
     * latest try failed since then, empty if none did. */
    int64_t unanswered_ns, answer_age_ns;
    char failure[256];
};

/* What the pool holds and has done, counted at one moment. Takes the pool's lock for a moment: for
 * a status page, not for every request. All zero in a forked child. */
DSQL_API void dsql_pool_stats(struct dsql_pool *pool, struct dsql_pool_stats *stats);

enum dsql_conn_state {
    DSQL_CONN_EMPTY,
    DSQL_CONN_OPENING,
    DSQL_CONN_READY,
    DSQL_CONN_IN_USE,
    DSQL_CONN_CLOSING,
};

/* "in use" for DSQL_CONN_IN_USE; "?" for a number that is no state. Static storage. */
DSQL_API const char *dsql_conn_state_name(enum dsql_conn_state state);

/* One physical connection. */
struct dsql_conn_info {
    uint32_t slot;
    enum dsql_conn_state state;
    int backend_pid;
    int64_t age_ns;  /* since it was opened; for one that is opening, since that began */
    int64_t left_ns; /* until its guard window begins; 0 once inside */
    uint64_t uses;   /* checkouts */
};

/* Fills at most n entries with the connections that are not EMPTY; answers how many there are. As
 * dsql_pool_stats() for its lock and for a forked child. */
DSQL_API size_t dsql_pool_connections(struct dsql_pool *pool, struct dsql_conn_info *infos,
                                      size_t n);

/*
 * Stops opening, hands unused budget back, closes what is idle, refuses checkouts and waits until
 * the connections in use came back: DSQL_OK, or DSQL_TIMEOUT after wait_ns (negative:
 * options.drain_timeout_ns). It concerns every handle of the pool, each of which still has to be
 * closed. A dsql_pool_open() of the endpoint from then on makes a new pool.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_pool_drain(struct dsql_pool *pool, int64_t wait_ns);

/*
 * The counterpart of dsql_pool_open(). The last one drains the pool and frees it; connections still
 * in use after options.drain_timeout_ns have their sockets shut down, and their callers must still
 * return them. No other call but returns and discards may be under way on the last handle. NULL is
 * fine.
 */
DSQL_API void dsql_pool_close(struct dsql_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
