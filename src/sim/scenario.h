/*
 * A scenario: a fleet, the cluster and DynamoDB it lives with, what happens to them, and what must
 * hold. Read from YAML; the fields, their ranges and their defaults are the tables in scenario.c.
 */
#ifndef DSQL_SIM_SCENARIO_H
#define DSQL_SIM_SCENARIO_H

#include "base/time.h"
#include "sim/shape.h"

enum dsql_sim_budget_kind { DSQL_SIM_LOCAL, DSQL_SIM_LEASES, DSQL_SIM_BLOCKS };

struct dsql_sim_cluster {
    int64_t rate, burst, connections;
    int64_t lifetime_ns;
    int64_t connect_latency_ns, connect_tail_ns;
};

struct dsql_sim_budget {
    int kind;            /* enum dsql_sim_budget_kind */
    int64_t rate, burst; /* of the fleet; with `local`, of each process */
    int64_t connections, headroom;
    int64_t ttl_ns;
};

struct dsql_sim_pool {
    int64_t target_ready, low_watermark;
    int64_t max_open; /* 0: the target */
    int64_t permit_wait_ns, permit_backoff_ns;
    int64_t base_lifetime_ns, lifetime_jitter_ns, guard_window_ns;
    int64_t inflight_limit, staggered_startup_ns, empty_wait_ns, connect_timeout_ns;
};

struct dsql_sim_dynamodb {
    int64_t latency_ns, tail_ns;
    int64_t write_units;
    double conflict, throttle, loss, repeat;
    int64_t late_ns;
};

struct dsql_sim_clocks {
    int64_t offset_ns; /* wall clocks differ by up to so much */
    int64_t drift_ppm; /* every clock runs fast or slow by up to so many millionths */
};

struct dsql_sim_workload {
    int64_t interval_ns; /* between two arrivals; 0: no workload */
    int64_t burst;       /* checkouts of one arrival */
    int64_t hold_ns, hold_jitter_ns;
    int64_t max_in_use;
    int64_t max_wait_ns; /* 0: the pool's emptyWait */
};

struct dsql_sim_service {
    char name[DSQL_SHAPE_TEXT_MAX];
    int64_t count;
    int64_t target_ready; /* 0: the pool's */
    int64_t start_ns, start_step_ns;
    struct dsql_sim_workload workload;
    size_t line;
};

enum dsql_sim_what {
    DSQL_SIM_DROP,         /* the cluster closes a fraction of its connections */
    DSQL_SIM_REFUSE,       /* the cluster cannot be reached */
    DSQL_SIM_STALL,        /* connects hang */
    DSQL_SIM_THROTTLE,     /* a fraction of the connects is refused with 53400 */
    DSQL_SIM_DDB_OUTAGE,   /* DynamoDB does not answer */
    DSQL_SIM_DDB_THROTTLE, /* DynamoDB refuses a fraction of the requests */
    DSQL_SIM_TOKEN,        /* no token can be made */
    DSQL_SIM_DENY,         /* tokens are refused: 08006 */
    DSQL_SIM_CLOCK,        /* wall clocks jump by `step` */
    DSQL_SIM_CRASH,        /* processes die, and start again after `for` */
    DSQL_SIM_STOP,         /* processes are drained, and start again after `for` */
    DSQL_SIM_PAUSE,        /* processes stand still for `for` */
    DSQL_SIM_RESTART,      /* one after the other, `every`: drained and started again */
    DSQL_SIM_COPY,         /* processes are replaced by copies of another of their service */
};

struct dsql_sim_happening {
    int64_t at_ns, for_ns, every_ns;
    int what;                          /* enum dsql_sim_what */
    char service[DSQL_SHAPE_TEXT_MAX]; /* "": all */
    int64_t count;                     /* processes; 0: all of them */
    int64_t times;
    double fraction;
    int64_t step_ns;
    size_t line;
};

struct dsql_sim_asserts {
    int64_t max_connects_per_sec; /* 0: not asserted; likewise below */
    int64_t converge_within_ns, stable_for_ns;
    bool zero_empty_events;
    bool cap_never_exceeded, guard_never_violated;
    int64_t no_waiter_starved_ns;
    int64_t recover_within_ns;
    double ready_never_below; /* fraction of the target, once converged */
};

struct dsql_sim_origin;

struct dsql_sim_scenario {
    char name[DSQL_SHAPE_TEXT_MAX], about[DSQL_SHAPE_TEXT_MAX];
    int64_t duration_ns, sample_ns, seed;
    struct dsql_sim_cluster cluster;
    struct dsql_sim_budget budget;
    struct dsql_sim_pool pool;
    struct dsql_sim_dynamodb dynamodb;
    struct dsql_sim_clocks clocks;
    struct dsql_shape_list services;   /* struct dsql_sim_service */
    struct dsql_shape_list happenings; /* struct dsql_sim_happening */
    struct dsql_sim_asserts asserts;
    char changes[DSQL_SHAPE_TEXT_MAX];    /* settings of the command line, as they were given */
    const struct dsql_sim_origin *origin; /* where it begins; NULL: with nothing open */
};

extern const struct dsql_shape dsql_sim_scenario_shape;

/* Reads and checks what no single field can tell: at least one service, names used that exist, a
 * guard window that leaves something of a lifetime. */
DSQL_MUST_USE enum dsql_rc dsql_sim_scenario_read(struct dsql_span text, const char *file,
                                                  struct dsql_sim_scenario *scenario,
                                                  struct dsql_err *err);
/* Changes a field, given as "pool.targetReady=80"; of a list, in each entry. The scenario is to be
 * checked when all are changed. */
DSQL_MUST_USE enum dsql_rc dsql_sim_scenario_set(struct dsql_sim_scenario *scenario,
                                                 const char *setting, struct dsql_err *err);
/* What reading checks too; `file` is for messages. */
DSQL_MUST_USE enum dsql_rc dsql_sim_scenario_check(const struct dsql_sim_scenario *scenario,
                                                   const char *file, struct dsql_err *err);
void dsql_sim_scenario_fini(struct dsql_sim_scenario *scenario);

#endif
