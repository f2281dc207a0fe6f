/*
 * What the flight recorder costs the opener: the same turns of a keeper with and without it, in one
 * run, best of several rounds. Nothing of it is on the way of a checkout or a return.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "pool/trace.h"

enum { ROUNDS = 5, TURNS = 20000, SLOTS = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t calls;

static struct dsql_keeper_reply tell(struct dsql_trace *trace, struct dsql_keeper *keeper,
                                     struct dsql_keeper_call call)
{
    struct dsql_keeper_reply reply;
    calls++;
    dsql_trace_call(trace, keeper, &call, &reply);
    return reply;
}

static void answer(struct dsql_trace *trace, struct dsql_keeper *keeper,
                   const struct dsql_keeper_step *step)
{
    if (step->what == DSQL_KEEPER_SLOTS)
        (void)tell(trace, keeper,
                   (struct dsql_keeper_call){
                       .kind = DSQL_KEEPER_CALL_SLOTS, .count = SLOTS, .rate = 1000});
    else if (step->what == DSQL_KEEPER_PERMIT)
        (void)tell(trace, keeper,
                   (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_PERMIT, .yes = true});
    else if (step->what == DSQL_KEEPER_PREPARE)
        (void)tell(trace, keeper,
                   (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_PREPARED, .yes = true});
    else if (step->what == DSQL_KEEPER_CLAIM || step->what == DSQL_KEEPER_TAKE)
        (void)tell(trace, keeper,
                   (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_CLAIMED, .slot = step->slot});
}

/* Connections of 100 ms that are opened, replaced and closed, with a turn each millisecond. */
static void turn(struct dsql_trace *trace, struct dsql_keeper *keeper, struct dsql_mono now)
{
    struct dsql_keeper_step steps[4 * SLOTS];
    size_t count = 0;
    pthread_mutex_lock(&lock);
    (void)tell(trace, keeper, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_TURN, .now = now});
    do {
        steps[count] =
            tell(trace, keeper, (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_NEXT}).step;
        answer(trace, keeper, &steps[count]);
    } while (steps[count++].what != DSQL_KEEPER_SLEEP && count < DSQL_COUNT_OF(steps));
    for (size_t i = 0; i < count; i++) {
        struct dsql_keeper_call call = {.slot = steps[i].slot, .now = now};
        call.kind =
            steps[i].what == DSQL_KEEPER_OPEN ? DSQL_KEEPER_CALL_OPENED : DSQL_KEEPER_CALL_CLOSED;
        if (steps[i].what == DSQL_KEEPER_OPEN || steps[i].what == DSQL_KEEPER_CLOSE)
            (void)tell(trace, keeper, call);
    }
    pthread_mutex_unlock(&lock);
}

/* Nanoseconds for each call of the keeper. */
static double measure(struct dsql_trace *trace, struct dsql_keeper *keeper)
{
    calls = 0;
    struct dsql_mono began = dsql_clock_mono(&dsql_clock_system);
    for (int64_t i = 0; i < TURNS; i++)
        turn(trace, keeper, dsql_mono_add(keeper->now, DSQL_MS));
    return (double)dsql_mono_since(dsql_clock_mono(&dsql_clock_system), began) / (double)calls;
}

int main(void)
{
    char path[] = "/tmp/dsql-bench-XXXXXX";
    double best[2] = {1e9, 1e9};
    struct dsql_err err;
    const struct dsql_keeper_config config = {
        .max_open = SLOTS,
        .target = SLOTS / 2,
        .lifetime = {100 * DSQL_MS, 50 * DSQL_MS, 10 * DSQL_MS},
        .inflight_limit = SLOTS,
        .connect_timeout_ns = DSQL_S,
        .permit_backoff_ns = 1,
    };
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0 || unlink(path) != 0)
        return 1;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        struct dsql_keeper keeper;
        struct dsql_trace *trace = NULL;
        bool traced = i % 2 == 1;
        if (dsql_keeper_init(&keeper, &config, dsql_rng_seeded(1), (struct dsql_mono){DSQL_H}) ||
            (traced && dsql_trace_open(path, SLOTS, &dsql_clock_system, &lock, &trace, &err)))
            return 1;
        double ns = measure(trace, &keeper);
        best[traced] = ns < best[traced] ? ns : best[traced];
        dsql_trace_close(trace, &keeper);
        dsql_keeper_fini(&keeper);
    }
    char old[sizeof(path) + 4];
    (void)snprintf(old, sizeof(old), "%s.old", path);
    (void)unlink(path);
    (void)unlink(old);
    printf("a call of the keeper: %.0f ns, recorded %.0f ns (%.1f times)\n", best[0], best[1],
           best[1] / best[0]);
    return 0;
}
