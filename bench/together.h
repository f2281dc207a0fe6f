/* How long several threads need for the same work at the same time. */
#ifndef DSQL_BENCH_TOGETHER_H
#define DSQL_BENCH_TOGETHER_H

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"

enum { TOGETHER_MAX = 64 };

/* Each thread reads the clock itself: a thread that waits outside may be scheduled late. */
struct together_thread {
    pthread_t id;
    pthread_barrier_t *start;
    void (*work)(void);
    struct dsql_mono from, to;
};

static void *together_run(void *arg)
{
    struct together_thread *me = arg;
    pthread_barrier_wait(me->start);
    me->from = dsql_clock_mono(&dsql_clock_system);
    me->work();
    me->to = dsql_clock_mono(&dsql_clock_system);
    return NULL;
}

/* Nanoseconds from the first thread's start to the last one's end; TOGETHER_MAX threads at most. */
static double together_ns(unsigned count, void (*work)(void))
{
    struct together_thread threads[TOGETHER_MAX];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, count);
    for (unsigned i = 0; i < count; i++) {
        threads[i] = (struct together_thread){.start = &start, .work = work};
        if (pthread_create(&threads[i].id, NULL, together_run, &threads[i]) != 0)
            abort();
    }
    struct dsql_mono from = {INT64_MAX}, to = {INT64_MIN};
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i].id, NULL);
        from = dsql_mono_before(threads[i].from, from) ? threads[i].from : from;
        to = dsql_mono_before(to, threads[i].to) ? threads[i].to : to;
    }
    pthread_barrier_destroy(&start);
    return (double)dsql_mono_since(to, from);
}

#endif
