#include "base/hist.h"

enum { SUB = 1 << DSQL_HIST_SUB_BITS };

static uint64_t load(const _Atomic uint64_t *cell)
{
    return atomic_load_explicit(cell, memory_order_relaxed);
}

size_t dsql_hist_bucket(uint64_t value)
{
    if (value > DSQL_HIST_MAX)
        value = DSQL_HIST_MAX;
    if (value < SUB)
        return (size_t)value;
    /* The leading bit names the power of two, the SUB_BITS after it the part. */
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - DSQL_HIST_SUB_BITS;
    return ((size_t)shift << DSQL_HIST_SUB_BITS) + (size_t)(value >> shift);
}

uint64_t dsql_hist_bucket_low(size_t bucket)
{
    assert(bucket < DSQL_HIST_BUCKETS);
    if (bucket < (size_t)2 * SUB)
        return bucket;
    unsigned shift = (unsigned)(bucket >> DSQL_HIST_SUB_BITS) - 1;
    return (uint64_t)(SUB + (bucket & (SUB - 1))) << shift;
}

uint64_t dsql_hist_bucket_high(size_t bucket)
{
    return bucket + 1 < DSQL_HIST_BUCKETS ? dsql_hist_bucket_low(bucket + 1) - 1 : DSQL_HIST_MAX;
}

void dsql_hist_record(struct dsql_hist *hist, uint64_t value)
{
    dsql_hist_record_n(hist, value, 1);
}

void dsql_hist_record_n(struct dsql_hist *hist, uint64_t value, uint64_t n)
{
    /* The counters carry no message between threads, so relaxed order is enough. */
    atomic_fetch_add_explicit(&hist->counts[dsql_hist_bucket(value)], n, memory_order_relaxed);
    atomic_fetch_add_explicit(&hist->sum, n * value, memory_order_relaxed);
    uint64_t max = load(&hist->max);
    while (value > max && !atomic_compare_exchange_weak_explicit(
                              &hist->max, &max, value, memory_order_relaxed, memory_order_relaxed))
        continue;
}

uint64_t dsql_hist_count(const struct dsql_hist *hist)
{
    uint64_t count = 0;
    for (size_t i = 0; i < DSQL_HIST_BUCKETS; i++)
        count += load(&hist->counts[i]);
    return count;
}

uint64_t dsql_hist_sum(const struct dsql_hist *hist)
{
    return load(&hist->sum);
}

uint64_t dsql_hist_max(const struct dsql_hist *hist)
{
    return load(&hist->max);
}

uint64_t dsql_hist_quantile(const struct dsql_hist *hist, double q)
{
    assert(q >= 0 && q <= 1);
    uint64_t count = dsql_hist_count(hist);
    if (count == 0)
        return 0;
    /* The rank of the wanted value, counted from 1: the smallest that q of all do not exceed. */
    double exact = q * (double)count * (1 - 1e-12); /* 0.07 * 100 is a little more than 7 */
    uint64_t rank = (uint64_t)exact;
    if ((double)rank < exact)
        rank++;
    if (rank < 1)
        rank = 1;
    size_t i = 0;
    uint64_t seen = load(&hist->counts[i]);
    while (seen < rank) {
        assert(i + 1 <
               DSQL_HIST_BUCKETS); /* counts never fall: their sum is at least as large now */
        seen += load(&hist->counts[++i]);
    }
    uint64_t low = dsql_hist_bucket_low(i), high = dsql_hist_bucket_high(i);
    uint64_t middle = low + (high - low) / 2, max = dsql_hist_max(hist);
    uint64_t found = q < 1 && middle < max ? middle : max;
    return found > low ? found : low; /* the maximum may lag behind the counts */
}

uint64_t dsql_hist_count_upto(const struct dsql_hist *hist, uint64_t value)
{
    uint64_t count = 0;
    for (size_t i = 0; i < DSQL_HIST_BUCKETS && dsql_hist_bucket_high(i) <= value; i++)
        count += load(&hist->counts[i]);
    return count;
}
