/*
 * Where the numbers live. Each metric has a place in one of two kinds of block, both arrays of
 * 64-bit cells: one block of the process, and one for each operation. A block is made whole before
 * anybody can see it and lives as long as the registry, so recording needs no more than an acquire
 * load.
 *
 * A hot counter is spread over SHARDS cache lines; a thread adds to its own.
 */
#include "metrics/registry.h"

#include <stdlib.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/utf8.h"

enum { SHARDS = 8, LINE_CELLS = DSQL_CACHE_LINE / sizeof(uint64_t) };

static_assert(sizeof(struct dsql_hist) % sizeof(uint64_t) == 0, "a histogram is whole cells");

static size_t cells_of(const struct dsql_metric_info *info)
{
    if (info->type == DSQL_TYPE_HISTOGRAM)
        return sizeof(struct dsql_hist) / sizeof(uint64_t);
    return dsql_label_value_count(info->label) * (info->hot ? SHARDS * LINE_CELLS : 1);
}

/* Every metric starts on a cache line of its own, so that no two of them slow each other down. */
static void lay_out(struct dsql_metrics *m)
{
    for (size_t i = 0; i < DSQL_METRIC_COUNT; i++) {
        const struct dsql_metric_info *info = &dsql_metric_infos[i];
        size_t *next = info->by_operation ? &m->operation_cells : &m->process_cells;
        m->place[i] = (struct dsql_metric_place){
            .at = (uint32_t)*next,
            .value_count = (uint16_t)dsql_label_value_count(info->label),
            .stride = info->hot ? SHARDS * LINE_CELLS : 1,
            .by_operation = info->by_operation,
            .hot = info->hot,
            .type = (uint8_t)info->type,
        };
        *next += (cells_of(info) + LINE_CELLS - 1) / LINE_CELLS * LINE_CELLS;
    }
}

static void *new_block(size_t cells)
{
    size_t bytes = cells * sizeof(uint64_t); /* a multiple of the line by lay_out() */
    void *block = aligned_alloc(DSQL_CACHE_LINE, bytes);
    if (block)
        memset(block, 0, bytes);
    return block;
}

static void copy_name(char *to, size_t cap, const char *from)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, to, cap);
    dsql_strbuf_add_str(&sb, from);
}

/* As much as fits in whole characters; a byte that is not UTF-8 becomes U+FFFD. */
static void copy_utf8(char *to, size_t cap, const char *from)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, to, cap);
    for (struct dsql_span s = dsql_span_of(from); s.len > 0;) {
        size_t n = dsql_utf8_len(s);
        struct dsql_span c = n ? dsql_span_first(s, n) : DSQL_SPAN("\xef\xbf\xbd");
        if (c.len > cap - 1 - sb.len)
            break;
        dsql_strbuf_add(&sb, c);
        s = dsql_span_from(s, n ? n : 1);
    }
}

enum dsql_rc dsql_metrics_new(const char *service, struct dsql_metrics **metrics)
{
    if (!service)
        return DSQL_INVALID;
    struct dsql_metrics *m = calloc(1, sizeof(*m));
    if (!m)
        return DSQL_NO_MEMORY;
    lay_out(m);
    copy_utf8(m->service, sizeof(m->service), service);
    copy_name(m->operations[DSQL_OPERATION_OTHER].name, sizeof(m->operations[0].name), "other");
    m->process_block = new_block(m->process_cells);
    m->operations[DSQL_OPERATION_OTHER].block = new_block(m->operation_cells);
    m->operation_count = 1;
    if (!m->process_block || !m->operations[DSQL_OPERATION_OTHER].block ||
        pthread_mutex_init(&m->lock, NULL) != 0) {
        free(m->process_block);
        free(m->operations[DSQL_OPERATION_OTHER].block);
        free(m);
        return DSQL_NO_MEMORY;
    }
    *metrics = m;
    return DSQL_OK;
}

void dsql_metrics_destroy(struct dsql_metrics *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < DSQL_OPERATIONS_MAX; i++)
        free(m->operations[i].block);
    free(m->process_block);
    free(m->runs);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

void dsql_metrics_set_runs(struct dsql_metrics *m, struct dsql_metric_runs *runs, size_t count)
{
    dsql_lock(&m->lock);
    struct dsql_metric_runs *before = m->runs;
    m->runs = runs;
    m->run_count = count;
    dsql_unlock(&m->lock);
    free(before);
}

/* A name that needs no escaping anywhere. */
static void clean_name(char *to, const char *from)
{
    size_t n = 0;
    for (; n < DSQL_OPERATION_NAME_MAX && from[n]; n++) {
        char c = from[n];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        to[n] = ok ? c : '_';
    }
    to[n] = '\0';
}

/* With the lock held: finds or makes the operation. If it can't, *refused says why. */
static unsigned find_or_add(struct dsql_metrics *m, const char *clean, const char **refused)
{
    unsigned count = atomic_load_explicit(&m->operation_count, memory_order_relaxed);
    for (unsigned i = 0; i < count; i++)
        if (dsql_span_eq(dsql_span_of(m->operations[i].name), dsql_span_of(clean)))
            return i;
    if (count == DSQL_OPERATIONS_MAX) {
        *refused = "full";
        return DSQL_OPERATION_OTHER;
    }
    void *block = new_block(m->operation_cells);
    if (!block) {
        *refused = "memory";
        return DSQL_OPERATION_OTHER;
    }
    copy_name(m->operations[count].name, sizeof(m->operations[count].name), clean);
    m->operations[count].block = block;
    /* Readers load the count with acquire order: what they may index is complete. */
    atomic_store_explicit(&m->operation_count, count + 1, memory_order_release);
    return count;
}

unsigned dsql_metrics_operation(struct dsql_metrics *m, const char *name)
{
    char clean[DSQL_OPERATION_NAME_MAX + 1];
    clean_name(clean, name);
    if (clean[0] == '\0')
        return DSQL_OPERATION_OTHER;
    const char *refused = NULL;
    dsql_lock(&m->lock);
    unsigned operation = find_or_add(m, clean, &refused);
    dsql_unlock(&m->lock);
    if (refused)
        dsql_log(dsql_log_default(), DSQL_EVENT_METRICS_LABEL_OVERFLOW, DSQL_F("reason", refused),
                 DSQL_F("operation", (const char *)clean), DSQL_F("limit", DSQL_OPERATIONS_MAX));
    return operation;
}

/* The first cell of a series. */
static inline void *cell(const struct dsql_metrics *m, enum dsql_metric_type type,
                         enum dsql_metric metric, unsigned operation, int value)
{
    const struct dsql_metric_place *place = &m->place[metric];
    assert(place->type == type);
    assert((unsigned)value < place->value_count);
    _Atomic uint64_t *block = m->process_block;
    if (place->by_operation) {
        assert(operation < atomic_load_explicit(&m->operation_count, memory_order_acquire));
        block = m->operations[operation].block;
    }
    return block + place->at + (size_t)(unsigned)value * place->stride;
}

/* Threads take the shards in turn. */
static size_t shard(void)
{
    static _Atomic size_t threads;
    static _Thread_local size_t mine __attribute__((tls_model("initial-exec"))) = SIZE_MAX;
    if (mine == SIZE_MAX)
        mine = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % SHARDS;
    return mine * LINE_CELLS;
}

void dsql_counter_add_at(struct dsql_metrics *m, enum dsql_metric metric, unsigned operation,
                         int value, uint64_t n)
{
    _Atomic uint64_t *at = cell(m, DSQL_TYPE_COUNTER, metric, operation, value);
    if (m->place[metric].hot)
        at += shard();
    atomic_fetch_add_explicit(at, n, memory_order_relaxed);
}

void dsql_gauge_set_at(struct dsql_metrics *m, enum dsql_metric metric, unsigned operation,
                       int value, int64_t to)
{
    _Atomic uint64_t *at = cell(m, DSQL_TYPE_GAUGE, metric, operation, value);
    atomic_store_explicit(at, (uint64_t)to, memory_order_relaxed);
}

void dsql_gauge_add_at(struct dsql_metrics *m, enum dsql_metric metric, unsigned operation,
                       int value, int64_t n)
{
    _Atomic uint64_t *at = cell(m, DSQL_TYPE_GAUGE, metric, operation, value);
    atomic_fetch_add_explicit(at, (uint64_t)n, memory_order_relaxed);
}

void dsql_histogram_record_at(struct dsql_metrics *m, enum dsql_metric metric, unsigned operation,
                              uint64_t what)
{
    dsql_hist_record(cell(m, DSQL_TYPE_HISTOGRAM, metric, operation, 0), what);
}

void dsql_histogram_record_n(struct dsql_metrics *m, enum dsql_metric metric, uint64_t what,
                             uint64_t n)
{
    dsql_hist_record_n(cell(m, DSQL_TYPE_HISTOGRAM, metric, 0, 0), what, n);
}

uint64_t dsql_counter_value(const struct dsql_metrics *m, struct dsql_series s)
{
    const _Atomic uint64_t *at = cell(m, DSQL_TYPE_COUNTER, s.metric, s.operation, s.value);
    uint64_t sum = 0;
    for (size_t i = 0; i < (m->place[s.metric].hot ? SHARDS : 1); i++)
        sum += atomic_load_explicit(at + i * LINE_CELLS, memory_order_relaxed);
    return sum;
}

int64_t dsql_gauge_value(const struct dsql_metrics *m, struct dsql_series s)
{
    const _Atomic uint64_t *at = cell(m, DSQL_TYPE_GAUGE, s.metric, s.operation, s.value);
    return (int64_t)atomic_load_explicit(at, memory_order_relaxed);
}

const struct dsql_hist *dsql_histogram_of(const struct dsql_metrics *m, struct dsql_series s)
{
    return cell(m, DSQL_TYPE_HISTOGRAM, s.metric, s.operation, s.value);
}
