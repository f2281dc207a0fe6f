#include "base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    assert(!failed); /* these clocks exist on every Linux */
    return now.tv_sec * DSQL_S + now.tv_nsec;
}

static struct dsql_mono system_mono(const struct dsql_clock *self)
{
    (void)self;
    return (struct dsql_mono){read_ns(CLOCK_MONOTONIC)};
}

static struct dsql_mono system_mono_coarse(const struct dsql_clock *self)
{
    (void)self;
    return (struct dsql_mono){read_ns(CLOCK_MONOTONIC_COARSE)};
}

static struct dsql_wall system_wall(const struct dsql_clock *self)
{
    (void)self;
    return (struct dsql_wall){read_ns(CLOCK_REALTIME)};
}

const struct dsql_clock dsql_clock_system = {system_mono, system_mono_coarse, system_wall};

static struct dsql_mono boot_mono(const struct dsql_clock *self)
{
    (void)self;
    return (struct dsql_mono){read_ns(CLOCK_BOOTTIME)};
}

const struct dsql_clock dsql_clock_boot = {boot_mono, boot_mono, system_wall};

static const struct dsql_manual_clock *manual_of(const struct dsql_clock *self)
{
    return (const struct dsql_manual_clock *)(const void *)self;
}
static_assert(offsetof(struct dsql_manual_clock, clock) == 0, "manual_of() casts");

static struct dsql_mono manual_mono(const struct dsql_clock *self)
{
    return manual_of(self)->now;
}

static struct dsql_wall manual_wall(const struct dsql_clock *self)
{
    return manual_of(self)->wall_now;
}

void dsql_manual_clock_init(struct dsql_manual_clock *manual, struct dsql_wall start)
{
    *manual = (struct dsql_manual_clock){
        .clock = {manual_mono, manual_mono, manual_wall},
        .wall_now = start,
    };
}

void dsql_manual_clock_advance(struct dsql_manual_clock *manual, int64_t ns)
{
    assert(ns >= 0);
    manual->now = dsql_mono_add(manual->now, ns);
    manual->wall_now = dsql_wall_add(manual->wall_now, ns);
}

void dsql_manual_clock_step_wall(struct dsql_manual_clock *manual, int64_t ns)
{
    manual->wall_now = dsql_wall_add(manual->wall_now, ns);
}
