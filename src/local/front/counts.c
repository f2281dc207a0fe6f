#include "local/front/counts.h"

#include <stddef.h>
#include <stdio.h>

static const struct {
    const char *name, *help;
    size_t offset;
} rows[] = {
#define ROW(field, help)                                                                           \
    {                                                                                              \
#field, help, offsetof(struct dsql_local_counts, field)                                    \
    }
    ROW(accepted, "connections that were made"),
    ROW(admitted, "connections that were let in"),
    ROW(closed, "connections that have ended"),
    ROW(expired, "connections closed at their age"),
    ROW(statements, "statements"),
    ROW(statements_refused, "statements that were refused"),
    ROW(cancels_ignored, "requests to cancel"),
    ROW(rests, "pauses in taking connections, for want of descriptors or memory"),
    ROW(conflicts_oc000, "transactions that conflicted with another one, injected ones included"),
    ROW(conflicts_oc001, "transactions that a change of the schema ended"),
#undef ROW
};

const char *dsql_local_refusal_name(enum dsql_local_refusal refusal)
{
    static const char *const names[DSQL_LOCAL_REFUSALS] = {
        [DSQL_LOCAL_NO_TLS] = "no_tls",     [DSQL_LOCAL_NO_SNI] = "no_sni",
        [DSQL_LOCAL_PROTOCOL] = "protocol", [DSQL_LOCAL_PARAMETER] = "parameter",
        [DSQL_LOCAL_RATE] = "rate",         [DSQL_LOCAL_FULL] = "full",
        [DSQL_LOCAL_TOKEN] = "token",       [DSQL_LOCAL_FAULT] = "fault",
    };
    assert((unsigned)refusal < DSQL_COUNT_OF(names));
    return names[refusal];
}

static bool ends_with(struct dsql_span text, struct dsql_span end)
{
    return text.len >= end.len && dsql_span_eq(dsql_span_from(text, text.len - end.len), end);
}

void dsql_local_count_error(struct dsql_local_counts *counts, struct dsql_span message)
{
    counts->conflicts_oc000 += ends_with(message, DSQL_SPAN("(OC000)"));
    counts->conflicts_oc001 += ends_with(message, DSQL_SPAN("(OC001)"));
}

static uint64_t value_of(const struct dsql_local_sight *sight, size_t row)
{
    const void *at = (const char *)&sight->counts + rows[row].offset;
    return *(const uint64_t *)at;
}

static uint64_t all_struck(const struct dsql_local_sight *sight)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < DSQL_FAULT_COUNT; i++)
        sum += sight->struck[i];
    return sum;
}

/* "refused_token", which is a name in lines and logs. */
struct refused_name {
    char text[32];
};

static struct refused_name refused_name(size_t refusal)
{
    struct refused_name name;
    (void)snprintf(name.text, sizeof(name.text), "refused_%s",
                   dsql_local_refusal_name((enum dsql_local_refusal)refusal));
    return name;
}

void dsql_local_sight_lines(const struct dsql_local_sight *sight, struct dsql_strbuf *out)
{
    dsql_strbuf_addf(out, "open=%zu\nlogging_in=%zu\n", sight->open, sight->logging_in);
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++)
        dsql_strbuf_addf(out, "%s=%llu\n", rows[i].name, (unsigned long long)value_of(sight, i));
    dsql_strbuf_addf(out, "faults=%llu\n", (unsigned long long)all_struck(sight));
    for (size_t i = 0; i < DSQL_LOCAL_REFUSALS; i++)
        dsql_strbuf_addf(out, "%s=%llu\n", refused_name(i).text,
                         (unsigned long long)sight->counts.refused[i]);
}

void dsql_local_sight_log(const struct dsql_local_sight *sight, struct dsql_log *log)
{
    struct refused_name names[DSQL_LOCAL_REFUSALS];
    struct dsql_field fields[2 + DSQL_COUNT_OF(rows) + DSQL_LOCAL_REFUSALS];
    size_t count = 0;
    fields[count++] = DSQL_F("open", sight->open);
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++)
        fields[count++] = DSQL_F(rows[i].name, value_of(sight, i));
    fields[count++] = DSQL_F("faults", all_struck(sight));
    for (size_t i = 0; i < DSQL_LOCAL_REFUSALS; i++) {
        names[i] = refused_name(i);
        fields[count++] = DSQL_F((const char *)names[i].text, sight->counts.refused[i]);
    }
    dsql_log_fields(log, DSQL_EVENT_LOCAL_SEEN, fields, count);
}

static void add_head(struct dsql_strbuf *out, const char *name, const char *end, const char *type,
                     const char *help)
{
    dsql_strbuf_addf(out, "# HELP dsql_local_%s%s %s\n# TYPE dsql_local_%s%s %s\n", name, end, help,
                     name, end, type);
}

void dsql_local_sight_metrics(const struct dsql_local_sight *sight, struct dsql_strbuf *out)
{
    add_head(out, "open", "", "gauge", "connections that are open");
    dsql_strbuf_addf(out, "dsql_local_open %zu\n", sight->open);
    add_head(out, "logging_in", "", "gauge", "connections before login");
    dsql_strbuf_addf(out, "dsql_local_logging_in %zu\n", sight->logging_in);
    add_head(out, "backends", "", "gauge", "sessions at PostgreSQL");
    dsql_strbuf_addf(out, "dsql_local_backends %zu\n", sight->backends);
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        add_head(out, rows[i].name, "_total", "counter", rows[i].help);
        dsql_strbuf_addf(out, "dsql_local_%s_total %llu\n", rows[i].name,
                         (unsigned long long)value_of(sight, i));
    }
    add_head(out, "refused", "_total", "counter", "connections not taken, by reason");
    for (size_t i = 0; i < DSQL_LOCAL_REFUSALS; i++)
        dsql_strbuf_addf(out, "dsql_local_refused_total{reason=\"%s\"} %llu\n",
                         dsql_local_refusal_name((enum dsql_local_refusal)i),
                         (unsigned long long)sight->counts.refused[i]);
    add_head(out, "faults", "_total", "counter", "faults that struck as asked, by name");
    for (size_t i = 0; i < DSQL_FAULT_COUNT; i++)
        if (dsql_fault_infos[i].kind != DSQL_FAULT_LASTING)
            dsql_strbuf_addf(out, "dsql_local_faults_total{fault=\"%s\"} %llu\n",
                             dsql_fault_infos[i].name, (unsigned long long)sight->struck[i]);
}
