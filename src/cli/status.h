/*
 * What the status page shows: a pool now, and its last two minutes second by second. The owner
 * calls dsql_status_sample() once a second; the pages may be asked for at any time, from another
 * thread.
 *
 * The pool's state comes by way of `look`; latencies and transactions come from the metrics.
 */
#ifndef DSQL_CLI_STATUS_H
#define DSQL_CLI_STATUS_H

#include "base/clock.h"
#include "cli/httpd.h"
#include "dsql/pool.h"
#include "metrics/metrics.h"

enum {
    DSQL_STATUS_HISTORY = 120, /* samples kept */
    DSQL_STATUS_AGE_BINS = 24,
    DSQL_STATUS_TEXT_MAX = 256,
};

/* A pool whose transactions have waited so long for any answer is not ready. */
#define DSQL_STATUS_SILENCE_NS (10 * DSQL_S)

/* A pool at one moment. */
struct dsql_status_view {
    struct dsql_pool_stats pool;
    int64_t lifetime_ns,
        guard_ns; /* the longest life, and its last part, which is not handed out */
    uint32_t ages[DSQL_STATUS_AGE_BINS]; /* connections by age, in equal parts of lifetime_ns */
};

/* "filling", "ready", "unanswered", "draining". Static storage. */
const char *dsql_status_state(const struct dsql_status_view *view);

/* The part of the ages that an age belongs to. */
size_t dsql_status_age_bin(int64_t age_ns, int64_t lifetime_ns);

/* One second of it. */
struct dsql_status_sample {
    uint64_t ready, in_use, opening;                                  /* at its end */
    uint64_t opens, checkouts, empties, discards, commits, conflicts; /* in it */
    uint64_t p50_ns, p99_ns; /* of its checkouts; 0 if there was none */
};

struct dsql_status_options {
    const char *title;    /* copied: what this process is, "dsql up" */
    const char *endpoint; /* copied: host:port */
    const char *user;     /* copied */
    struct dsql_metrics *metrics;
    const char *operation; /* whose transactions are shown; NULL if none are */
    void (*look)(void *arg, struct dsql_status_view *view);
    void *look_arg;
    const struct dsql_clock *clock;
};

struct dsql_status;

DSQL_MUST_USE enum dsql_rc dsql_status_new(const struct dsql_status_options *options,
                                           struct dsql_status **status);
void dsql_status_destroy(struct dsql_status *status);

/* Looks, remembers, and returns what the second since the last call brought. */
struct dsql_status_sample dsql_status_sample(struct dsql_status *status);

/* Everything since the start, for a summary. */
struct dsql_status_totals {
    int64_t elapsed_ns;
    uint64_t checkouts, waits, empties, opens, commits, conflicts, exhausted, failed;
    uint64_t discards[DSQL_DISCARDS];
    uint64_t p50_ns, p99_ns, p999_ns, max_ns;
    uint64_t opens_peak; /* the most opens of any sampled second */
};
void dsql_status_totals(struct dsql_status *status, struct dsql_status_totals *totals);

/* Pages; arg is the struct dsql_status *. */
dsql_httpd_page_fn dsql_page_status_html; /* at "/" */
dsql_httpd_page_fn dsql_page_status_json; /* at "/status.json" */

/* For dsql_readiness: ready while the pool holds a connection, the database answers its
 * transactions and it is not draining. */
bool dsql_status_is_ready(void *status, struct dsql_strbuf *why);

#endif
