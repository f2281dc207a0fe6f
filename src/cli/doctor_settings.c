/* What can be said without asking anybody: settings, and how they fit the service and this machine.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "base/duration.h"
#include "cli/doctor.h"

/* The service's own, per cluster. */
enum { CLUSTER_RATE = 100, CLUSTER_CONNECTIONS = 10000 };

/* What a process needs besides its connections. */
enum { OTHER_DESCRIPTORS = 64 };

#define SHORT_LIFETIME_NS (20 * DSQL_M)

static const char *duration(int64_t ns, char (*memory)[DSQL_DURATION_TEXT_MAX])
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, *memory, sizeof(*memory));
    dsql_duration_format(&sb, ns);
    return *memory;
}

void dsql_doctor_settings(struct dsql_doctor *doctor)
{
    const struct dsql_config_report *report = &doctor->report;
    size_t given = 0;
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++)
        given += report->source[i].variable != NULL;
    for (size_t i = 0; i < report->finding_count; i++) {
        bool error = report->findings[i].kind == DSQL_FINDING_ERROR;
        dsql_doctor_say(doctor, error ? DSQL_FOUND_SETTINGS_WRONG : DSQL_FOUND_SETTINGS_ADJUSTED,
                        "%s", report->findings[i].message);
    }
    if (report->finding_count == 0)
        dsql_doctor_say(doctor, DSQL_FOUND_SETTINGS_OK, "%zu from the environment, %zu defaults",
                        given, (size_t)DSQL_SETTING_COUNT - given);
}

/* Connects a second that keep the pool as it is, and the share of the budget they take. */
static void check_churn(struct dsql_doctor *doctor)
{
    const struct dsql_config *c = &doctor->config;
    char memory[DSQL_DURATION_TEXT_MAX];
    int64_t lifetime_ns = c->reservoir_enabled ? c->base_lifetime_ns : c->max_conn_lifetime_ns;
    double churn = (double)c->max_open * (double)DSQL_S / (double)lifetime_ns;
    if (churn > 0.5 * (double)c->rate)
        dsql_doctor_say(
            doctor, DSQL_FOUND_LIMITS_CHURN,
            "replacing %lld connections every %s takes %.1f connects a second of the %lld "
            "this process may make: little is left for recovery",
            (long long)c->max_open, duration(lifetime_ns, &memory), churn, (long long)c->rate);
    else if (c->reservoir_enabled && lifetime_ns < SHORT_LIFETIME_NS)
        dsql_doctor_say(doctor, DSQL_FOUND_LIMITS_LIFETIME,
                        "DSQL_RESERVOIR_BASE_LIFETIME is %s: the fleet opens each connection %lld "
                        "times as often as it has to",
                        duration(lifetime_ns, &memory), (long long)(55 * DSQL_M / lifetime_ns));
}

void dsql_doctor_limits(struct dsql_doctor *doctor)
{
    const struct dsql_config *c = &doctor->config;
    struct rlimit files;
    bool known = getrlimit(RLIMIT_NOFILE, &files) == 0;
    if (known && files.rlim_cur != RLIM_INFINITY &&
        files.rlim_cur < (rlim_t)c->max_open + OTHER_DESCRIPTORS)
        dsql_doctor_say(doctor, DSQL_FOUND_LIMITS_FILES,
                        "this process may open %llu files, and DSQL_POOL_MAX_OPEN is %lld",
                        (unsigned long long)files.rlim_cur, (long long)c->max_open);
    check_churn(doctor);
    dsql_doctor_say(
        doctor, DSQL_FOUND_LIMITS_OK,
        "at most %lld of the cluster's %d connections, %lld of its %d connects a second; "
        "full in about %lld s",
        (long long)c->max_open, CLUSTER_CONNECTIONS, (long long)c->rate, CLUSTER_RATE,
        (long long)(c->max_open > c->burst ? (c->max_open - c->burst) / c->rate + 1 : 1));
}

void dsql_doctor_endpoint(struct dsql_doctor *doctor)
{
    const struct dsql_config *c = &doctor->config;
    struct dsql_err err = {0};
    struct dsql_span host, port_text;
    int64_t port = 5432;
    if (c->endpoint[0] == '\0') {
        dsql_doctor_say(doctor, DSQL_FOUND_ENDPOINT_NONE, "no endpoint");
        return;
    }
    if (dsql_span_cut(dsql_span_of(c->endpoint), ':', &host, &port_text))
        (void)dsql_span_to_i64(port_text, &port);
    if (dsql_endpoint_parse(host, dsql_span_of(c->region), &doctor->endpoint, &err)) {
        dsql_doctor_say_error(doctor, DSQL_FOUND_ENDPOINT_WRONG, &err);
        return;
    }
    doctor->port = (unsigned)port;
    doctor->has_endpoint = true;
    dsql_doctor_say(doctor, DSQL_FOUND_ENDPOINT_OK, "%s port %u, region %s%s%s",
                    doctor->endpoint.host, doctor->port, doctor->endpoint.region,
                    doctor->endpoint.cluster_id[0] ? ", cluster " : "",
                    doctor->endpoint.cluster_id);
}
