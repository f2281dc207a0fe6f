/* The fleet's budget, where there is one: whether its table can be read, and what is taken. */
#include <unistd.h>

#include "base/clock.h"
#include "base/shown.h"
#include "budget/fleet.h"
#include "budget/table.h"
#include "cli/doctor.h"
#include "dsql/pool.h"

static enum dsql_rc look(struct dsql_doctor *doctor, const char *table, int64_t *slots,
                         struct dsql_err *err)
{
    char whole[DSQL_CONFIG_TEXT_MAX + 8], name[DSQL_CONFIG_TEXT_MAX + 8];
    (void)snprintf(whole, sizeof(whole), "%s:%u", doctor->endpoint.host, doctor->port);
    dsql_fleet_endpoint(whole, name, sizeof(name));
    const struct dsql_ddb_options options = {
        .region = doctor->endpoint.region,
        .url = dsql_ddb_url((const char *const *)environ),
        .credentials = doctor->credentials,
        .clock = &dsql_clock_system,
        .timeout_ns = doctor->timeout_ns,
        .attempts = 1,
        .cancel_fd = -1,
    };
    struct dsql_budget_table where = {
        .region = doctor->endpoint.region, .table = table, .endpoint = name};
    struct dsql_registry registry = {0};
    enum dsql_rc rc = dsql_ddb_new(&options, &where.ddb, err);
    if (!rc)
        rc = dsql_budget_registry(&where, &registry, err);
    if (!rc)
        *slots = dsql_registry_sum(&registry, DSQL_SLOTS);
    dsql_registry_fini(&registry);
    dsql_ddb_destroy(where.ddb);
    return rc;
}

void dsql_doctor_budget(struct dsql_doctor *doctor)
{
    struct dsql_pool_options options;
    struct dsql_err err = {0};
    int64_t slots = 0;
    if (dsql_pool_options_env(&options, &err) || options.budget == DSQL_BUDGET_LOCAL)
        return; /* the settings were judged before; and whoever shares nothing needs no table */
    if (!doctor->has_endpoint || !doctor->credentials) {
        dsql_doctor_say(doctor, DSQL_FOUND_BUDGET_SKIPPED, "needs %s",
                        doctor->has_endpoint ? "credentials" : "an endpoint");
        return;
    }
    enum dsql_rc rc = look(doctor, options.budget_table, &slots, &err);
    if (rc == DSQL_DENIED)
        dsql_doctor_say(doctor, DSQL_FOUND_BUDGET_UNREADABLE, "%s", err.message);
    else if (rc)
        dsql_doctor_say_error(doctor, DSQL_FOUND_BUDGET_FAILED, &err);
    else if (options.budget == DSQL_BUDGET_LEASES)
        dsql_doctor_say(doctor, DSQL_FOUND_BUDGET_OK, "the table %s can be read",
                        dsql_shown_str(options.budget_table).text);
    else
        dsql_doctor_say(doctor, DSQL_FOUND_BUDGET_OK,
                        "the table %s can be read; %lld of %lld slots are taken",
                        dsql_shown_str(options.budget_table).text, (long long)slots,
                        (long long)(options.cluster_connections - options.cluster_headroom));
}
