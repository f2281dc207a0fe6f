/*
 * The world of a scenario: processes, each on src/core itself, and the cluster they connect to.
 *
 *     world.c       puts it together, lets it run, lets the scenario's events happen
 *     cluster.c     Aurora DSQL as far as a pool can see it: limits, errors, lifetimes, faults
 *     process.c     a process: carries out what core's keeper says, in virtual time
 *     resume.c      a process that begins where a recorded pool was
 *     workload.c    its callers: arrivals, checkouts, waiting, holding, returning
 *     budget_*.c    its part of the budget: its own, or a fleet's through a table
 *     post.c        requests to the table and their answers, whatever the protocol
 *     dynamodb.c    the table's manners: latency, refusals, answers that get lost
 *     checks.c      what must hold, looked at while it runs
 *     record.c      what is kept for charts and summaries
 *
 * A connection has two ends. The cluster's is `at_cluster`; the process's is the slot's state. They
 * differ while an answer is under way and while a process stands still.
 */
#ifndef DSQL_SIM_WORLD_H
#define DSQL_SIM_WORLD_H

#include "base/queue.h"
#include "core/bucket.h"
#include "core/connect_error.h"
#include "core/keeper.h"
#include "core/permits.h"
#include "core/ready_set.h"
#include "core/registry.h"
#include "sim/kernel.h"
#include "sim/scenario.h"

struct dsql_sim_world;
struct dsql_sim_process;

/* The shortest, and an exponential with this mean on top; the same on every machine. */
int64_t dsql_sim_draw_latency(struct dsql_rng *rng, int64_t shortest_ns, int64_t tail_ns);

/* -- The cluster. */

enum dsql_sim_verdict {
    DSQL_SIM_OPENED,
    DSQL_SIM_THROTTLED, /* 53400 */
    DSQL_SIM_FULL,      /* 53300 */
    DSQL_SIM_DENIED,    /* 08006 */
    DSQL_SIM_REFUSED,   /* no server listens */
    DSQL_SIM_TIMED_OUT,
    DSQL_SIM_VERDICTS
};
const char *dsql_sim_verdict_name(enum dsql_sim_verdict verdict);

/* A fault that has begun and not ended; several may overlap. */
struct dsql_sim_fault {
    unsigned active;
    double fraction; /* the fraction of the fault that began last */
};

struct dsql_sim_cluster_state {
    struct dsql_bucket bucket;
    struct dsql_rng rng;
    int64_t open, peak;
    struct dsql_sim_fault refuse, stall, throttle, deny;
};

/* A connect arrives: what comes of it, and after how long the process learns it; INT64_MAX: never.
 * If OPENED, the connection counts from now on. */
enum dsql_sim_verdict dsql_sim_cluster_connect(struct dsql_sim_world *world, int64_t *latency_ns);
void dsql_sim_cluster_close(struct dsql_sim_world *world);
/* Closes each of its connections with this probability. */
void dsql_sim_cluster_drop(struct dsql_sim_world *world, double fraction);

/* What libpq would have said of it. */
struct dsql_connect_failure dsql_sim_verdict_failure(enum dsql_sim_verdict verdict);

/* -- A process. */

struct dsql_sim_conn {
    struct dsql_sim_process *process;
    uint32_t slot;
    enum dsql_sim_verdict verdict;
    bool at_cluster;              /* the cluster counts it */
    bool hung_up;                 /* the cluster has closed it, and the process has not noticed */
    struct dsql_mono born;        /* by the world's clock */
    struct dsql_sim_event answer; /* the connect's end reaches the process */
    struct dsql_sim_event fate;   /* the cluster closes it */
    struct dsql_sim_event hold;   /* the caller gives the connection back */
};

/* A call that waits for a connection. */
struct dsql_sim_caller {
    struct dsql_queue_node node;
    struct dsql_sim_process *process;
    struct dsql_mono since; /* by the world's clock */
    uint64_t ticket;        /* in the order of arrival */
    struct dsql_sim_event tired;
    struct dsql_sim_caller *next_free, *next_made;
};

enum dsql_sim_life { DSQL_SIM_OFF, DSQL_SIM_RUNS, DSQL_SIM_DRAINS };

struct dsql_sim_counts {
    uint64_t attempts, opens, failures[DSQL_SIM_VERDICTS], token_failures;
    uint64_t permit_failures, slot_failures; /* reports: no permit for too long; too few slots */
    uint64_t discards[DSQL_DISCARDS];
    uint64_t checkouts, empties, waits, late_empties; /* late: after it had converged */
    int64_t longest_wait_ns;
};

struct dsql_sim_sender;

struct dsql_sim_process {
    struct dsql_sim_world *world;
    const struct dsql_sim_service *service;
    size_t service_index, number; /* of the service; within it */
    unsigned lives;               /* starts so far */
    struct dsql_rng rng;
    enum dsql_sim_life life;
    struct dsql_mono paused_until; /* the world's */
    int64_t drift_ppm, mono_base_ns, wall_offset_ns;

    struct dsql_keeper keeper;
    struct dsql_ready_set ready;
    struct dsql_mono near;          /* as core/handout.h has it; its clock */
    int64_t recall;                 /* returns still to be closed */
    int64_t needed, held;           /* slots, as the budget was told last */
    struct dsql_sim_sender *sender; /* the way to DynamoDB, with the allowance */
    struct dsql_sim_conn *conns;
    struct dsql_sim_event turn, start;

    struct dsql_queue waiting;
    struct dsql_sim_caller *callers, *first_free; /* all it ever made; those at rest */
    struct dsql_sim_event arrival;
    int64_t in_use;
    int64_t recorded_open, recorded_in_use; /* what the record has of the two last */
    uint32_t hint;
    uint64_t tickets;

    bool full;                                      /* the process has as many open as it wants */
    struct dsql_mono started, converged, last_full; /* the world's; converged.ns -1: not yet */
    struct dsql_mono beat_at;      /* when the table last took something from it; the world's */
    struct dsql_mono silent_until; /* until then it is silent beyond the TTL, or recovers */
    struct dsql_sim_counts counts;
};

int64_t dsql_sim_process_target(const struct dsql_sim_process *process);
/* What its clocks say. */
struct dsql_mono dsql_sim_process_now(const struct dsql_sim_process *process);
struct dsql_moment dsql_sim_process_moment(const struct dsql_sim_process *process);
/* How long `ns` of its time are in the world's. */
int64_t dsql_sim_process_to_world(const struct dsql_sim_process *process, int64_t ns);
/* Whether it stands still; if so the event comes again when it goes on. */
bool dsql_sim_process_is_paused(struct dsql_sim_process *process, struct dsql_sim_event *event);

DSQL_MUST_USE enum dsql_rc dsql_sim_process_init(struct dsql_sim_process *process,
                                                 struct dsql_sim_world *world, size_t service_index,
                                                 size_t number);
void dsql_sim_process_fini(struct dsql_sim_process *process);
void dsql_sim_process_start(struct dsql_sim_process *process);
/* All its sockets close; it forgets everything. */
void dsql_sim_process_crash(struct dsql_sim_process *process);
/* The process dies, and its machine comes back as a copy of another's, which goes on: with all the
 * other remembers of the budget, but without connections. NULL: nothing happens. */
void dsql_sim_process_copy(struct dsql_sim_process *process, struct dsql_sim_process *of);
/* The process gives its budget back and closes what is idle; what is in use, when it comes back. */
void dsql_sim_process_drain(struct dsql_sim_process *process);
/* Has its opener look now. */
void dsql_sim_process_wake(struct dsql_sim_process *process);
/* Whether it may be handed out, or taken back, now; `expired` is the word for one that has died. */
bool dsql_sim_process_may_serve(const struct dsql_sim_process *process,
                                const struct dsql_sim_conn *conn, enum dsql_discard expired,
                                enum dsql_discard *why);
/* An open connection that no caller holds has to be closed. */
void dsql_sim_process_discard(struct dsql_sim_process *process, struct dsql_sim_conn *conn,
                              enum dsql_discard why);

/* Whether it begins now where a recorded pool was. */
bool dsql_sim_resume_is_due(const struct dsql_sim_process *process);
/* If it ever does: its clock goes on from that moment. */
void dsql_sim_resume_clock(struct dsql_sim_process *process);
/* The recorded keeper, with these settings; and, when the process runs, its connections. */
DSQL_MUST_USE enum dsql_rc dsql_sim_resume_keeper(struct dsql_sim_process *process,
                                                  const struct dsql_keeper_config *config);
void dsql_sim_resume_conns(struct dsql_sim_process *process);

/* -- Its callers. */

void dsql_sim_workload_start(struct dsql_sim_process *process);
void dsql_sim_workload_stop(struct dsql_sim_process *process);
/* An open connection that no caller holds goes to the longest waiter, or to the ready set. */
void dsql_sim_workload_offer(struct dsql_sim_process *process, struct dsql_sim_conn *conn);

/* -- The budget. */

/* A process starts: core's allowance, and its end of the line to the table. NULL: no memory. */
struct dsql_sim_sender *dsql_sim_budget_local(struct dsql_sim_process *process);
struct dsql_sim_sender *dsql_sim_budget_leases(struct dsql_sim_process *process);
struct dsql_sim_sender *dsql_sim_budget_blocks(struct dsql_sim_process *process);
/* The process that an owner's id belongs to, or NULL if that life of it is over. */
struct dsql_sim_process *dsql_sim_owner_process(struct dsql_sim_world *world, const char *id);

/* DynamoDB: whether a request gets through, and how long one way takes. */
enum dsql_sim_fortune {
    DSQL_SIM_ANSWERED,
    DSQL_SIM_UNHEARD,    /* the request was carried out, and the answer never arrives */
    DSQL_SIM_NOT_DONE,   /* refused: throttled, or a conflict */
    DSQL_SIM_UNREACHABLE /* no answer, and nothing was done */
};
enum dsql_sim_fortune dsql_sim_dynamodb_draw(struct dsql_sim_world *world, int64_t *one_way_ns);

/* What a fleet shares in the table. */
struct dsql_sim_table {
    struct dsql_rng rng;
    struct dsql_rng nonces; /* what dsql_nonce() gives a process */
    struct dsql_registry registry;
    struct dsql_sim_letter *letters;     /* requests under way */
    struct dsql_bucket units;            /* of the partition */
    struct dsql_sim_lease_table *leases; /* of the protocol `leases`; NULL: not in use */
    uint64_t requests, throttled, repeats;
};
uint64_t dsql_sim_nonce(struct dsql_sim_world *world);
void dsql_sim_lease_table_free(struct dsql_sim_lease_table *table);
void dsql_sim_table_fini(struct dsql_sim_table *table);

/* -- What must hold. */

enum { DSQL_SIM_FAILURES_MAX = 16 };

struct dsql_sim_failure {
    struct dsql_mono at;
    const char *check; /* "assertZeroEmptyEvents", or "always" for what holds in every world */
    char text[200];
};

struct dsql_sim_checks {
    double connect_level; /* a bucket of its own, from the other side */
    double copied;        /* connects that copies of a process may make beyond it */
    struct dsql_mono connect_at;
    int64_t shortest_life_ns, longest_life_ns; /* of connections opened */
    uint64_t lives;
    struct dsql_sim_failure failures[DSQL_SIM_FAILURES_MAX];
    size_t failure_count; /* also counts failures that did not fit the list */
};

void dsql_sim_check_connect(struct dsql_sim_world *world);
void dsql_sim_check_held(struct dsql_sim_world *world);
/* The table has taken a request of this owner. */
void dsql_sim_check_beat(struct dsql_sim_process *process);
/* Both copies of a process may use what it had until both have written. */
void dsql_sim_check_copied(struct dsql_sim_process *process, struct dsql_sim_process *of,
                           double permits);
/* The table has taken a request that takes this owner's block away. */
void dsql_sim_check_taken(struct dsql_sim_world *world, const char *owner_id);
void dsql_sim_check_open(struct dsql_sim_process *process); /* the number of open ones changed */
void dsql_sim_check_birth(struct dsql_sim_process *process, const struct dsql_sim_conn *conn);
void dsql_sim_check_checkout(struct dsql_sim_process *process, const struct dsql_sim_conn *conn);
void dsql_sim_check_served(struct dsql_sim_process *process, const struct dsql_sim_caller *caller);
void dsql_sim_check_empty(struct dsql_sim_process *process);
void dsql_sim_check_sample(struct dsql_sim_world *world);
void dsql_sim_check_end(struct dsql_sim_world *world);
void dsql_sim_fail(struct dsql_sim_world *world, const char *check, const char *fmt, ...)
    DSQL_PRINTF(3, 4);

/* -- What is kept. */

/* A number that is followed between two samples. */
struct dsql_sim_level {
    int64_t now;
    int64_t low, high; /* since the sample before, or since the start */
};

struct dsql_sim_sample {
    struct dsql_mono at;
    struct dsql_sim_level connections;           /* as the cluster counts them */
    uint64_t attempts, opens, empties, requests; /* so far; `requests` went to DynamoDB */
    uint64_t discards[DSQL_DISCARDS];
};

struct dsql_sim_mark {
    struct dsql_mono at;
    const char *text; /* the scenario's word for it */
    char where[64];
};

struct dsql_sim_record {
    struct dsql_sim_sample *samples;
    struct dsql_sim_level *open, *in_use; /* samples x services */
    size_t sample_count, sample_cap, services;
    /* The levels of the sample to come. */
    struct dsql_sim_level connections;
    struct dsql_sim_level *service_open, *service_in_use;
    struct dsql_sim_mark *marks;
    size_t mark_count, mark_cap;
    uint64_t peak_requests; /* to DynamoDB, likewise */
    uint64_t peak_sample;   /* connects between two samples, at most */
};

DSQL_MUST_USE enum dsql_rc dsql_sim_record_init(struct dsql_sim_record *record,
                                                const struct dsql_sim_scenario *scenario);
void dsql_sim_record_fini(struct dsql_sim_record *record);
void dsql_sim_record_sample(struct dsql_sim_world *world);
/* The cluster's number of connections, a process's open ones or those in use have changed. A
 * process that is off holds none. */
void dsql_sim_record_connections(struct dsql_sim_world *world);
void dsql_sim_record_held(struct dsql_sim_process *process);
void dsql_sim_record_mark(struct dsql_sim_world *world, const char *text, const char *where);

/* -- All of it. */

struct dsql_sim_occurrence {
    struct dsql_sim_world *world;
    const struct dsql_sim_happening *happening;
    struct dsql_sim_event begin, end, deadline;
    int64_t times_left;
    size_t next; /* restart: the process whose turn it is */
    struct dsql_mono over;
};

struct dsql_sim_world {
    const struct dsql_sim_scenario *scenario;
    uint64_t seed;
    struct dsql_sim_kernel kernel;
    struct dsql_sim_cluster_state cluster;
    struct dsql_sim_fault token_failure, dynamodb_outage, dynamodb_throttle;
    struct dsql_sim_process *processes;
    size_t process_count;
    struct dsql_sim_occurrence *occurrences;
    struct dsql_mono quiet_from; /* when the last of those that began is over */
    struct dsql_sim_event sample;
    struct dsql_sim_checks checks;
    struct dsql_sim_record record;
    struct dsql_sim_table table;
};

DSQL_MUST_USE enum dsql_rc dsql_sim_world_init(struct dsql_sim_world *world,
                                               const struct dsql_sim_scenario *scenario,
                                               uint64_t seed, struct dsql_err *err);
void dsql_sim_world_fini(struct dsql_sim_world *world);

/* Lets it run on for a while, at most to the scenario's end; false once that is reached. */
bool dsql_sim_world_advance(struct dsql_sim_world *world, int64_t ns);

/* Sums over all processes. */
void dsql_sim_world_counts(const struct dsql_sim_world *world, struct dsql_sim_counts *counts);

#endif
