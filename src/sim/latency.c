#include "sim/world.h"

/* Exponential with mean 1, by comparisons alone (von Neumann), so that no library's logarithm has a
 * say in it. */
static double draw_exponential(struct dsql_rng *rng)
{
    for (int whole = 0;; whole++) {
        double first = dsql_rng_unit(rng), last = first, next = dsql_rng_unit(rng);
        bool odd = true;
        while (next < last) {
            odd = !odd;
            last = next;
            next = dsql_rng_unit(rng);
        }
        if (odd)
            return whole + first;
    }
}

int64_t dsql_sim_draw_latency(struct dsql_rng *rng, int64_t shortest_ns, int64_t tail_ns)
{
    return shortest_ns + (int64_t)(draw_exponential(rng) * (double)tail_ns);
}
