/* /status.json: what the page draws. Times are seconds unless a name says otherwise. */
#include "base/lock.h"
#include "cli/status_state.h"
#include "dsql/version.h"

static void add_text(struct dsql_strbuf *sb, const char *key, const char *text)
{
    dsql_strbuf_addf(sb, "\"%s\": ", key);
    dsql_strbuf_add_json(sb, dsql_span_of(text));
}

static void add_number(struct dsql_strbuf *sb, const char *key, double value)
{
    dsql_strbuf_addf(sb, "\"%s\": ", key);
    dsql_strbuf_add_f64(sb, value);
}

static double seconds(int64_t ns)
{
    int64_t ms = ns / DSQL_MS; /* more digits say nothing */
    return (double)ms / 1000.0;
}

static void add_pool(struct dsql_strbuf *sb, const struct dsql_pool_stats *pool)
{
    const struct {
        const char *key;
        int64_t value;
    } rows[] = {
        {"max_open", pool->max_open},
        {"target", pool->target},
        {"slots", pool->slots},
        {"ready", pool->ready},
        {"in_use", pool->in_use},
        {"opening", pool->opening},
        {"closing", pool->closing},
        {"waiting", pool->waiting},
        {"inflight_limit", pool->inflight_limit},
    };
    dsql_strbuf_add_str(sb, "  \"pool\": {");
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++)
        dsql_strbuf_addf(sb, "%s\"%s\": %lld", i ? ", " : "", rows[i].key,
                         (long long)rows[i].value);
    dsql_strbuf_add_str(sb, ", ");
    add_number(sb, "handshake_s", seconds(pool->handshake_ns));
    dsql_strbuf_add_str(sb, "},\n  \"budget\": {");
    add_number(sb, "rate", pool->rate);
    dsql_strbuf_add_str(sb, ", ");
    add_number(sb, "rate_limit", pool->rate_limit);
    dsql_strbuf_addf(sb, ", \"burst\": %lld, \"permits\": %lld, ", (long long)pool->burst,
                     (long long)pool->permits);
    add_number(sb, "retry_in_s", seconds(pool->retry_in_ns));
    dsql_strbuf_add_str(sb, "},\n");
}

static void add_totals(struct dsql_strbuf *sb, const struct dsql_status_totals *totals,
                       const struct dsql_pool_stats *pool)
{
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"checkouts", totals->checkouts},       {"waits", totals->waits},
        {"empties", totals->empties},           {"opens", totals->opens},
        {"open_failures", pool->open_failures}, {"opens_peak", totals->opens_peak},
        {"commits", totals->commits},           {"conflicts", totals->conflicts},
        {"exhausted", totals->exhausted},       {"failed", totals->failed},
    };
    dsql_strbuf_add_str(sb, "  \"totals\": {");
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++)
        dsql_strbuf_addf(sb, "%s\"%s\": %llu", i ? ", " : "", rows[i].key,
                         (unsigned long long)rows[i].value);
    dsql_strbuf_addf(sb,
                     "},\n  \"latency_ns\": {\"p50\": %llu, \"p99\": %llu, \"p999\": %llu, "
                     "\"max\": %llu},\n  \"discards\": {",
                     (unsigned long long)totals->p50_ns, (unsigned long long)totals->p99_ns,
                     (unsigned long long)totals->p999_ns, (unsigned long long)totals->max_ns);
    for (size_t i = 0; i < DSQL_DISCARDS; i++)
        dsql_strbuf_addf(sb, "%s\"%s\": %llu", i ? ", " : "",
                         dsql_label_value(DSQL_LABEL_DISCARD_REASON, i),
                         (unsigned long long)totals->discards[i]);
    dsql_strbuf_add_str(sb, "},\n");
}

static void add_ages(struct dsql_strbuf *sb, const struct dsql_status_view *view)
{
    dsql_strbuf_add_str(sb, "  \"ages\": {");
    add_number(sb, "lifetime_s", seconds(view->lifetime_ns));
    dsql_strbuf_add_str(sb, ", ");
    add_number(sb, "guard_s", seconds(view->guard_ns));
    dsql_strbuf_add_str(sb, ", \"counts\": [");
    for (size_t i = 0; i < DSQL_STATUS_AGE_BINS; i++)
        dsql_strbuf_addf(sb, "%s%u", i ? ", " : "", view->ages[i]);
    dsql_strbuf_add_str(sb, "]},\n");
}

static void add_errors(struct dsql_strbuf *sb, const struct dsql_pool_stats *pool)
{
    dsql_strbuf_add_str(sb, "  \"errors\": [");
    for (size_t i = 0; i < pool->error_count; i++) {
        const struct dsql_pool_error *error = &pool->errors[i];
        dsql_strbuf_add_str(sb, i ? ",\n    {" : "\n    {");
        add_text(sb, "message", error->message);
        dsql_strbuf_add_str(sb, ", ");
        add_text(sb, "hint", error->hint);
        dsql_strbuf_add_str(sb, ", ");
        add_text(sb, "sqlstate", error->sqlstate);
        dsql_strbuf_addf(sb, ", \"count\": %llu, ", (unsigned long long)error->count);
        add_number(sb, "age_s", seconds(error->age_ns));
        dsql_strbuf_add_char(sb, '}');
    }
    dsql_strbuf_add_str(sb, "],\n");
}

static const struct {
    const char *name;
    size_t offset;
} columns[] = {
#define COLUMN(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct dsql_status_sample, name)                                           \
    }
    COLUMN(ready),     COLUMN(in_use),  COLUMN(opening),  COLUMN(opens),
    COLUMN(checkouts), COLUMN(empties), COLUMN(discards), COLUMN(commits),
    COLUMN(conflicts), COLUMN(p50_ns),  COLUMN(p99_ns),
#undef COLUMN
};

/* One array for each column, oldest first. */
static void add_history(struct dsql_strbuf *sb, struct dsql_status *status)
{
    dsql_lock(&status->lock);
    uint64_t end = status->samples;
    uint64_t begin = end > DSQL_STATUS_HISTORY ? end - DSQL_STATUS_HISTORY : 0;
    dsql_strbuf_addf(sb, "  \"history\": {\"length\": %d", DSQL_STATUS_HISTORY);
    for (size_t c = 0; c < DSQL_COUNT_OF(columns); c++) {
        dsql_strbuf_addf(sb, ",\n    \"%s\": [", columns[c].name);
        for (uint64_t i = begin; i < end; i++) {
            const char *sample = (const char *)&status->history[i % DSQL_STATUS_HISTORY];
            const void *cell = sample + columns[c].offset;
            dsql_strbuf_addf(sb, "%s%llu", i > begin ? "," : "",
                             (unsigned long long)*(const uint64_t *)cell);
        }
        dsql_strbuf_add_char(sb, ']');
    }
    dsql_unlock(&status->lock);
    dsql_strbuf_add_str(sb, "}\n");
}

void dsql_page_status_json(void *arg, struct dsql_httpd_reply *reply)
{
    struct dsql_status *status = arg;
    struct dsql_status_view view = {0};
    struct dsql_status_totals totals;
    struct dsql_strbuf *sb = &reply->body;
    status->options.look(status->options.look_arg, &view);
    dsql_status_totals(status, &totals);
    reply->type = "application/json";
    dsql_strbuf_add_str(sb, "{\n  ");
    add_text(sb, "title", status->title);
    dsql_strbuf_add_str(sb, ", ");
    add_text(sb, "version", dsql_version());
    dsql_strbuf_add_str(sb, ",\n  ");
    add_text(sb, "endpoint", status->endpoint);
    dsql_strbuf_add_str(sb, ", ");
    add_text(sb, "user", status->user);
    dsql_strbuf_add_str(sb, ",\n  ");
    add_text(sb, "state", dsql_status_state(&view));
    dsql_strbuf_add_str(sb, ", ");
    add_text(sb, "mode", view.pool.mode == DSQL_POOL_RESERVOIR ? "reservoir" : "standard");
    dsql_strbuf_add_str(sb, ", ");
    add_number(sb, "uptime_s", seconds(totals.elapsed_ns));
    dsql_strbuf_addf(sb, ", \"transactions\": %s,\n", status->options.operation ? "true" : "false");
    add_pool(sb, &view.pool);
    add_totals(sb, &totals, &view.pool);
    add_ages(sb, &view);
    add_errors(sb, &view.pool);
    add_history(sb, status);
    dsql_strbuf_add_str(sb, "}\n");
}
