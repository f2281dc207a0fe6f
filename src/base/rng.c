#include "base/rng.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* An odd increment whose bits change often enough; the rule is that of the SplitMix paper. */
static uint64_t mix_gamma(uint64_t z)
{
    z = (z ^ (z >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    z = (z ^ (z >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    z = (z ^ (z >> 33)) | 1;
    return __builtin_popcountll(z ^ (z >> 1)) < 24 ? z ^ UINT64_C(0xaaaaaaaaaaaaaaaa) : z;
}

static uint64_t seeded_next(struct dsql_rng *self)
{
    self->state += self->gamma;
    return mix(self->state);
}

static struct dsql_rng seeded_split(struct dsql_rng *self)
{
    struct dsql_rng child = *self;
    child.state = seeded_next(self);
    self->state += self->gamma;
    child.gamma = mix_gamma(self->state);
    return child;
}

struct dsql_rng dsql_rng_seeded(uint64_t seed)
{
    return (struct dsql_rng){
        .next = seeded_next,
        .split = seeded_split,
        .state = seed,
        .gamma = UINT64_C(0x9e3779b97f4a7c15),
    };
}

struct dsql_rng dsql_rng_from_os(void)
{
    uint64_t seed;
    dsql_random_bytes(&seed, sizeof(seed));
    return dsql_rng_seeded(seed);
}

uint64_t dsql_rng_below(struct dsql_rng *rng, uint64_t bound)
{
    assert(bound >= 1);
    /* The high half of a 128-bit product is even over the bound once the few low halves that would
     * favour some numbers are drawn again. */
    unsigned __int128 product = (unsigned __int128)dsql_rng_next(rng) * bound;
    if ((uint64_t)product < bound) {
        uint64_t unfair = (0 - bound) % bound;
        while ((uint64_t)product < unfair)
            product = (unsigned __int128)dsql_rng_next(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

int64_t dsql_rng_between(struct dsql_rng *rng, int64_t low, int64_t high)
{
    assert(low <= high);
    uint64_t width = (uint64_t)high - (uint64_t)low;
    uint64_t offset = width == UINT64_MAX ? dsql_rng_next(rng) : dsql_rng_below(rng, width + 1);
    return (int64_t)((uint64_t)low + offset);
}

double dsql_rng_unit(struct dsql_rng *rng)
{
    return (double)(dsql_rng_next(rng) >> 11) * 0x1p-53;
}

uint64_t dsql_nonce(void)
{
    struct timespec wall = {0}, mono = {0};
    uint64_t bits;
    dsql_random_bytes(&bits, sizeof(bits));
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    (void)clock_gettime(CLOCK_MONOTONIC, &mono);
    struct dsql_rng rng = dsql_rng_seeded(bits ^ (uint64_t)getpid() << 40);
    rng.state ^= dsql_rng_next(&rng) + (uint64_t)wall.tv_nsec;
    rng.state ^= dsql_rng_next(&rng) + (uint64_t)wall.tv_sec;
    rng.state ^= dsql_rng_next(&rng) + (uint64_t)mono.tv_nsec;
    return dsql_rng_next(&rng);
}

void dsql_random_bytes(void *out, size_t len)
{
    unsigned char *at = out;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        /* With no flags it waits for the pool at boot and then fails only when a signal comes. */
        assert(got > 0 || errno == EINTR);
        if (got > 0) {
            at += got;
            len -= (size_t)got;
        }
    }
}
