/* What the proxy has counted, for /metrics. */
#include "metrics/metrics.h"
#include "proxy/proxy.h"

static uint64_t news(const _Atomic uint64_t *count, uint64_t *known)
{
    uint64_t now = atomic_load_explicit(count, memory_order_relaxed);
    uint64_t more = now - *known;
    *known = now;
    return more;
}

void dsql_proxy_sample(struct dsql_proxy *proxy, struct dsql_metrics *metrics)
{
    const struct dsql_proxy_counts *c = &proxy->counts;
    struct dsql_proxy_sample *k = &proxy->sampled;
    uint64_t waiting = atomic_load_explicit(&c->waiting, memory_order_relaxed);
    uint64_t lent = atomic_load_explicit(&c->lent, memory_order_relaxed);
    dsql_gauge_set(metrics, DSQL_SERIES(proxy_clients), (int64_t)proxy->client_count);
    dsql_gauge_set(metrics, DSQL_SERIES(proxy_logins), (int64_t)proxy->login_count);
    dsql_gauge_set(metrics, DSQL_SERIES(proxy_waiting), (int64_t)waiting);
    dsql_gauge_set(metrics, DSQL_SERIES(proxy_lent), (int64_t)lent);
    dsql_counter_add(metrics, DSQL_SERIES(proxy_accepted), news(&c->accepted, &k->accepted));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_refused), news(&c->refused, &k->refused));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_transactions),
                     news(&c->transactions, &k->transactions));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_statements), news(&c->statements, &k->statements));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_waits), news(&c->waits, &k->waits));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_timeouts), news(&c->timeouts, &k->timeouts));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_lost), news(&c->lost, &k->lost));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_unknown), news(&c->unknown, &k->unknown));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_retries), news(&c->retries, &k->retries));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_retried), news(&c->retried, &k->retried));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_conflicts), news(&c->conflicts, &k->conflicts));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_received), news(&c->received, &k->received));
    dsql_counter_add(metrics, DSQL_SERIES(proxy_sent), news(&c->sent, &k->sent));
    for (int i = 0; i < DSQL_COMPAT_KINDS; i++)
        dsql_counter_add(metrics, DSQL_SERIES(proxy_compat, .value = i),
                         news(&c->compat[i], &k->compat[i]));
}
