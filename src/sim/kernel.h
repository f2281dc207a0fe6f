/*
 * sim: the fleet on paper. A world of processes, a cluster and a DynamoDB, in virtual time; every
 * process runs src/core itself. No threads, no clocks, no sockets.
 *
 *     kernel.c      events in their order
 *     world.h       the parts of a run: world.c, cluster.c, process.c, workload.c, budget_*.c,
 *                   post.c, dynamodb.c, latency.c, checks.c, record.c
 *     scenario.c    a scenario, with shape.c, shape_set.c, library.c; draw.c draws one
 *     summary.c     what a run says, with assertions.c, html.c, chart.c
 *     plan.c        what-if, from a few numbers
 *     replay.c      a recording done again, with replay_page.c
 *     origin.c      a run that begins in a recording, with resume.c, origin_report.c
 *
 * This header is the kernel: events that happen one after the other, in the order of their times
 * and, at one time, in the order they were asked for. The same seed gives the same run, to the last
 * bit: nothing here looks at an address, a clock or a hash.
 */
#ifndef DSQL_SIM_KERNEL_H
#define DSQL_SIM_KERNEL_H

#include "base/heap.h"
#include "base/rng.h"
#include "base/time.h"

struct dsql_sim_kernel;

/* What happens. It may ask for this event again, and for others. */
typedef void dsql_sim_fn(struct dsql_sim_kernel *kernel, void *arg);

/* An event is a member of the thing that it happens to, and stays in place while it is asked for.
 */
struct dsql_sim_event {
    struct dsql_heap_node node;
    struct dsql_mono at;
    uint64_t order;
    dsql_sim_fn *fn;
    void *arg;
};

struct dsql_sim_kernel {
    struct dsql_mono now;
    struct dsql_heap events;
    uint64_t asked;    /* events asked for so far */
    uint64_t happened; /* events that came so far */
    struct dsql_rng rng;
    bool no_memory; /* an event could not be kept: the run is worth nothing */
};

void dsql_sim_kernel_init(struct dsql_sim_kernel *kernel, uint64_t seed);
void dsql_sim_kernel_fini(struct dsql_sim_kernel *kernel);

static inline void dsql_sim_event_init(struct dsql_sim_event *event, dsql_sim_fn *fn, void *arg)
{
    *event = (struct dsql_sim_event){.fn = fn, .arg = arg};
}

/* Whether it is asked for. */
static inline bool dsql_sim_event_is_due(const struct dsql_sim_event *event)
{
    return dsql_heap_node_is_in(&event->node);
}

/* fn is called at `at`, or now if that has passed; an event that is asked for already moves. */
void dsql_sim_at(struct dsql_sim_kernel *kernel, struct dsql_sim_event *event, struct dsql_mono at);
void dsql_sim_after(struct dsql_sim_kernel *kernel, struct dsql_sim_event *event, int64_t ns);

/* Takes the event back. Fine if it was not asked for. */
void dsql_sim_cancel(struct dsql_sim_kernel *kernel, struct dsql_sim_event *event);

/* Lets everything up to `until` happen; then it is `until`. */
void dsql_sim_run(struct dsql_sim_kernel *kernel, struct dsql_mono until);

#endif
