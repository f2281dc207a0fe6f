#include "base/clock.h"
#include "base/clock_epoll.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The longest wait in one part; a wait without an end has many parts. */
#define PART_NS (INT64_C(365) * 24 * DSQL_H)

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

const struct dsql_clock dsql_clock_system = {
    .mono = system_mono, .mono_coarse = system_mono_coarse, .wall = system_wall};

static struct dsql_mono boot_mono(const struct dsql_clock *self)
{
    (void)self;
    return (struct dsql_mono){read_ns(CLOCK_BOOTTIME)};
}

const struct dsql_clock dsql_clock_boot = {
    .mono = boot_mono, .mono_coarse = boot_mono, .wall = system_wall};

const struct dsql_clock *dsql_clock_or_boot(const struct dsql_clock *clock)
{
    return clock ? clock : &dsql_clock_boot;
}

/* -- Waiting in the machine's time. */

static int64_t left_ns(const struct dsql_clock *clock, struct dsql_mono until)
{
    int64_t ns = until.ns == INT64_MAX ? PART_NS : dsql_mono_since(until, dsql_clock_mono(clock));
    return ns < 0 ? 0 : ns < PART_NS ? ns : PART_NS;
}

/* The moment ns from now, as the kernel has it for conditions and futexes. */
static struct timespec kernel_time(int64_t ns)
{
    int64_t at_ns = read_ns(CLOCK_MONOTONIC) + ns;
    return (struct timespec){.tv_sec = (time_t)(at_ns / DSQL_S), .tv_nsec = at_ns % DSQL_S};
}

void dsql_clock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    /* None of these fails on Linux. */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

static bool machine_cond(const struct dsql_clock *self, pthread_cond_t *cond, pthread_mutex_t *lock,
                         struct dsql_mono until)
{
    const struct timespec at = kernel_time(left_ns(self, until));
    return pthread_cond_timedwait(cond, lock, &at) != ETIMEDOUT || until.ns == INT64_MAX;
}

static bool machine_value(const struct dsql_clock *self, _Atomic uint32_t *at, uint32_t value,
                          struct dsql_mono until)
{
    const struct timespec end = kernel_time(left_ns(self, until));
    long rc = syscall(SYS_futex, at, FUTEX_WAIT_BITSET_PRIVATE, value, &end, NULL,
                      FUTEX_BITSET_MATCH_ANY);
    return rc == 0 || errno != ETIMEDOUT || until.ns == INT64_MAX;
}

static int machine_poll(const struct dsql_clock *self, struct pollfd *fds, nfds_t count,
                        struct dsql_mono until)
{
    int64_t ns = left_ns(self, until);
    const struct timespec wait = {.tv_sec = (time_t)(ns / DSQL_S), .tv_nsec = ns % DSQL_S};
    return ppoll(fds, count, until.ns == INT64_MAX ? NULL : &wait, NULL);
}

static const struct dsql_clock_waits machine_waits = {
    .cond = machine_cond, .value = machine_value, .poll = machine_poll};

static const struct dsql_clock_waits *waits_of(const struct dsql_clock *clock)
{
    return clock->waits ? clock->waits : &machine_waits;
}

bool dsql_clock_wait(const struct dsql_clock *clock, pthread_cond_t *cond, pthread_mutex_t *lock,
                     struct dsql_mono until)
{
    return waits_of(clock)->cond(clock, cond, lock, until);
}

bool dsql_clock_wait_value(const struct dsql_clock *clock, _Atomic uint32_t *at, uint32_t value,
                           struct dsql_mono until)
{
    return waits_of(clock)->value(clock, at, value, until);
}

void dsql_clock_wake_value(_Atomic uint32_t *at)
{
    (void)syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

int dsql_clock_poll(const struct dsql_clock *clock, struct pollfd *fds, nfds_t count,
                    struct dsql_mono until)
{
    return waits_of(clock)->poll(clock, fds, count, until);
}

/* -1 with ENOSYS or EPERM where the kernel (before Linux 5.11) or a sandbox does not know it. */
static int machine_epoll(const struct dsql_clock *clock, int epoll, struct epoll_event *events,
                         int max, struct dsql_mono until)
{
    int64_t ns = left_ns(clock, until);
    const struct timespec wait = {.tv_sec = (time_t)(ns / DSQL_S), .tv_nsec = ns % DSQL_S};
    return epoll_pwait2(epoll, events, max, until.ns == INT64_MAX ? NULL : &wait, NULL);
}

int dsql_clock_epoll(const struct dsql_clock *clock, int epoll, struct epoll_event *events, int max,
                     struct dsql_mono until)
{
    if (waits_of(clock) == &machine_waits) {
        int count = machine_epoll(clock, epoll, events, max, until);
        if (count >= 0 || (errno != ENOSYS && errno != EPERM))
            return count;
    }
    /* In two steps: until there is something, then what it is. */
    struct pollfd any = {.fd = epoll, .events = POLLIN};
    int ready = dsql_clock_poll(clock, &any, 1, until);
    return ready > 0 ? epoll_wait(epoll, events, max, 0) : ready;
}

void dsql_clock_sleep(const struct dsql_clock *clock, int64_t ns)
{
    struct dsql_mono until = dsql_mono_add(dsql_clock_mono(clock), ns);
    while (dsql_mono_before(dsql_clock_mono(clock), until))
        (void)dsql_clock_poll(clock, NULL, 0, until);
}
