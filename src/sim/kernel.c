#include "sim/kernel.h"

static struct dsql_sim_event *event_of(struct dsql_heap_node *node)
{
    return DSQL_CONTAINER_OF(node, struct dsql_sim_event, node);
}

static bool event_less(const struct dsql_heap_node *a, const struct dsql_heap_node *b)
{
    const struct dsql_sim_event *x = DSQL_CONTAINER_OF(a, const struct dsql_sim_event, node);
    const struct dsql_sim_event *y = DSQL_CONTAINER_OF(b, const struct dsql_sim_event, node);
    return x->at.ns != y->at.ns ? x->at.ns < y->at.ns : x->order < y->order;
}

void dsql_sim_kernel_init(struct dsql_sim_kernel *kernel, uint64_t seed)
{
    *kernel = (struct dsql_sim_kernel){.rng = dsql_rng_seeded(seed)};
    dsql_heap_init(&kernel->events, event_less);
}

void dsql_sim_kernel_fini(struct dsql_sim_kernel *kernel)
{
    dsql_heap_fini(&kernel->events);
}

void dsql_sim_at(struct dsql_sim_kernel *kernel, struct dsql_sim_event *event, struct dsql_mono at)
{
    event->at = dsql_mono_before(at, kernel->now) ? kernel->now : at;
    event->order = kernel->asked++;
    if (dsql_heap_node_is_in(&event->node))
        dsql_heap_update(&kernel->events, &event->node);
    else if (dsql_heap_push(&kernel->events, &event->node) != DSQL_OK)
        kernel->no_memory = true;
}

void dsql_sim_after(struct dsql_sim_kernel *kernel, struct dsql_sim_event *event, int64_t ns)
{
    dsql_sim_at(kernel, event, dsql_mono_add(kernel->now, ns));
}

void dsql_sim_cancel(struct dsql_sim_kernel *kernel, struct dsql_sim_event *event)
{
    if (dsql_heap_node_is_in(&event->node))
        dsql_heap_remove(&kernel->events, &event->node);
}

void dsql_sim_run(struct dsql_sim_kernel *kernel, struct dsql_mono until)
{
    struct dsql_heap_node *node;
    while ((node = dsql_heap_peek(&kernel->events)) && !kernel->no_memory) {
        struct dsql_sim_event *event = event_of(node);
        if (dsql_mono_before(until, event->at))
            break;
        dsql_heap_remove(&kernel->events, node);
        kernel->now = event->at;
        kernel->happened++;
        event->fn(kernel, event->arg);
    }
    if (dsql_mono_before(kernel->now, until))
        kernel->now = until;
}
