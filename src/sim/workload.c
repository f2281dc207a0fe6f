/* The callers of a process: they arrive, check out or wait their turn, hold, and give back. */
#include <stdlib.h>

#include "sim/world.h"

static void give_back(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_conn *conn = arg;
    struct dsql_sim_process *process = conn->process;
    (void)kernel;
    if (dsql_sim_process_is_paused(process, &conn->hold))
        return;
    process->in_use--;
    dsql_sim_record_held(process);
    if (conn->hung_up) /* the caller found the connection closed */
        dsql_sim_process_discard(process, conn, DSQL_DISCARD_BROKEN);
    else
        dsql_sim_workload_offer(process, conn);
}

static void hold(struct dsql_sim_process *process, struct dsql_sim_conn *conn)
{
    const struct dsql_sim_workload *workload = &process->service->workload;
    process->counts.checkouts++;
    process->in_use++;
    dsql_sim_record_held(process);
    dsql_sim_check_checkout(process, conn);
    dsql_sim_event_init(&conn->hold, give_back, conn);
    dsql_sim_after(&process->world->kernel, &conn->hold,
                   workload->hold_ns +
                       dsql_rng_between(&process->rng, 0, workload->hold_jitter_ns));
}

static void rest(struct dsql_sim_process *process, struct dsql_sim_caller *caller)
{
    dsql_sim_cancel(&process->world->kernel, &caller->tired);
    dsql_queue_leave(&caller->node);
    caller->next_free = process->first_free;
    process->first_free = caller;
}

static void note_wait(struct dsql_sim_process *process, const struct dsql_sim_caller *caller)
{
    int64_t waited_ns = dsql_mono_since(process->world->kernel.now, caller->since);
    if (waited_ns > process->counts.longest_wait_ns)
        process->counts.longest_wait_ns = waited_ns;
}

static void give_up(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_caller *caller = arg;
    struct dsql_sim_process *process = caller->process;
    (void)kernel;
    if (dsql_sim_process_is_paused(process, &caller->tired))
        return;
    note_wait(process, caller);
    rest(process, caller);
    process->counts.empties++;
    dsql_sim_check_empty(process);
}

void dsql_sim_workload_offer(struct dsql_sim_process *process, struct dsql_sim_conn *conn)
{
    struct dsql_queue_node *first = dsql_queue_first(&process->waiting);
    bool draining = process->life == DSQL_SIM_DRAINS;
    enum dsql_discard why;
    if (!dsql_sim_process_may_serve(process, conn, DSQL_DISCARD_EXPIRED_ON_RETURN, &why)) {
        dsql_sim_process_discard(process, conn, why);
        return;
    }
    if (dsql_handout_is_called_back(draining, process->recall > 0, &why)) {
        process->recall -= process->recall > 0;
        dsql_sim_process_discard(process, conn, why);
        return;
    }
    if (!first) {
        dsql_ready_set_put(&process->ready, conn->slot);
        return;
    }
    struct dsql_sim_caller *caller = DSQL_CONTAINER_OF(first, struct dsql_sim_caller, node);
    dsql_sim_check_served(process, caller);
    note_wait(process, caller);
    rest(process, caller);
    hold(process, conn);
}

static void wait_in_line(struct dsql_sim_process *process)
{
    const struct dsql_sim_workload *workload = &process->service->workload;
    struct dsql_sim_kernel *kernel = &process->world->kernel;
    int64_t asked_ns = workload->max_wait_ns > 0 ? workload->max_wait_ns : -1;
    int64_t patience_ns = dsql_keeper_patience(&process->keeper.config, asked_ns);
    struct dsql_sim_caller *caller = process->first_free;
    if (caller) {
        process->first_free = caller->next_free;
    } else {
        caller = calloc(1, sizeof(*caller));
        if (!caller) {
            kernel->no_memory = true;
            return;
        }
        caller->process = process;
        caller->next_made = process->callers;
        process->callers = caller;
        dsql_sim_event_init(&caller->tired, give_up, caller);
    }
    caller->since = kernel->now;
    caller->ticket = process->tickets++;
    process->counts.waits++;
    dsql_queue_join(&process->waiting, &caller->node);
    dsql_sim_after(kernel, &caller->tired, patience_ns);
    dsql_sim_process_wake(process);
}

static void check_out(struct dsql_sim_process *process)
{
    uint32_t slot;
    enum dsql_discard why;
    while (!dsql_queue_first(&process->waiting) &&
           (slot = dsql_ready_set_take(&process->ready, &process->hint)) != DSQL_READY_NONE) {
        struct dsql_sim_conn *conn = &process->conns[slot];
        if (dsql_sim_process_may_serve(process, conn, DSQL_DISCARD_EXPIRED_ON_CHECKOUT, &why)) {
            hold(process, conn);
            return;
        }
        dsql_sim_process_discard(process, conn, why);
    }
    wait_in_line(process);
}

static void arrive(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_process *process = arg;
    const struct dsql_sim_workload *workload = &process->service->workload;
    if (dsql_sim_process_is_paused(process, &process->arrival))
        return;
    for (int64_t i = 0; i < workload->burst; i++) {
        if (process->in_use + (int64_t)process->waiting.count < workload->max_in_use)
            check_out(process);
    }
    dsql_sim_after(kernel, &process->arrival, workload->interval_ns);
}

void dsql_sim_workload_start(struct dsql_sim_process *process)
{
    const struct dsql_sim_workload *workload = &process->service->workload;
    dsql_sim_event_init(&process->arrival, arrive, process);
    if (workload->interval_ns > 0) {
        dsql_sim_after(&process->world->kernel, &process->arrival,
                       dsql_rng_between(&process->rng, 0, workload->interval_ns));
    }
}

void dsql_sim_workload_stop(struct dsql_sim_process *process)
{
    struct dsql_queue_node *node;
    dsql_sim_cancel(&process->world->kernel, &process->arrival);
    while ((node = dsql_queue_first(&process->waiting)))
        rest(process, DSQL_CONTAINER_OF(node, struct dsql_sim_caller, node));
}
