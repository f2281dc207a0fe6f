#include "support/manual_clock.h"

#include "base/defs.h"

enum { LOOK_MS = 1 };

static const struct manual_clock *manual_of(const struct dsql_clock *self)
{
    return DSQL_CONTAINER_OF(self, const struct manual_clock, clock);
}

static struct dsql_mono mono(const struct dsql_clock *self)
{
    return manual_of(self)->now;
}

static struct dsql_wall wall(const struct dsql_clock *self)
{
    return manual_of(self)->wall_now;
}

static bool has_come(const struct dsql_clock *self, struct dsql_mono until)
{
    return until.ns != INT64_MAX && !dsql_mono_before(mono(self), until);
}

/* The machine's time at which a wait looks at the clock again. */
static struct dsql_mono next_look(void)
{
    return dsql_mono_add(dsql_clock_mono(&dsql_clock_system), LOOK_MS * DSQL_MS);
}

static bool wait_cond(const struct dsql_clock *self, pthread_cond_t *cond, pthread_mutex_t *lock,
                      struct dsql_mono until)
{
    bool signalled = false;
    while (!signalled && !has_come(self, until))
        signalled = dsql_clock_wait(&dsql_clock_system, cond, lock, next_look());
    return signalled;
}

static bool wait_value(const struct dsql_clock *self, _Atomic uint32_t *at, uint32_t value,
                       struct dsql_mono until)
{
    bool changed = false;
    while (!changed && !has_come(self, until))
        changed = dsql_clock_wait_value(&dsql_clock_system, at, value, next_look());
    return changed;
}

static int wait_poll(const struct dsql_clock *self, struct pollfd *fds, nfds_t count,
                     struct dsql_mono until)
{
    int ready = poll(fds, count, 0);
    while (ready == 0 && !has_come(self, until))
        ready = poll(fds, count, LOOK_MS);
    return ready;
}

static const struct dsql_clock_waits waits = {
    .cond = wait_cond, .value = wait_value, .poll = wait_poll};

void manual_clock_init(struct manual_clock *manual, struct dsql_wall start)
{
    manual->clock =
        (struct dsql_clock){.mono = mono, .mono_coarse = mono, .wall = wall, .waits = &waits};
    manual->now = (struct dsql_mono){0};
    manual->wall_now = start;
}

void manual_clock_advance(struct manual_clock *manual, int64_t ns)
{
    assert(ns >= 0);
    manual->wall_now = dsql_wall_add(manual->wall_now, ns);
    manual->now = dsql_mono_add(manual->now, ns);
}

void manual_clock_step_wall(struct manual_clock *manual, int64_t ns)
{
    manual->wall_now = dsql_wall_add(manual->wall_now, ns);
}
