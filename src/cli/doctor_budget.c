/* The fleet's budget: its table can be reached, is there, and who shares it. */
#include <unistd.h>

#include "budget/fleet.h"
#include "budget/table.h"
#include "cli/doctor.h"

static void say_failure(struct dsql_doctor *doctor, const struct dsql_err *err)
{
    /* A process writes and never reads: it may be allowed what it needs and this not. */
    if (err->rc == DSQL_DENIED)
        dsql_doctor_say(doctor, DSQL_FOUND_BUDGET_DENIED, "%s", err->message);
    else
        dsql_doctor_say_error(doctor, DSQL_FOUND_BUDGET_FAILED, err);
}

static void say_blocks(struct dsql_doctor *doctor, const struct dsql_registry *r)
{
    if (!r->exists) {
        dsql_doctor_say(doctor, DSQL_FOUND_BUDGET_OK,
                        "table %s is there; it has no entry for this cluster yet",
                        dsql_config_budget_table(&doctor->config));
        return;
    }
    int64_t slots = dsql_registry_sum(r, DSQL_SLOTS);
    int64_t limit = r->limit > 0 ? r->limit : doctor->config.cluster_connections;
    bool slowed = r->rate < doctor->config.cluster_rate * DSQL_PERMIT;
    dsql_doctor_say(doctor,
                    slots > limit ? DSQL_FOUND_BUDGET_OVER
                    : slowed      ? DSQL_FOUND_BUDGET_SLOWED
                                  : DSQL_FOUND_BUDGET_OK,
                    "table %s: %zu processes hold %lld of %lld connections, %.1f connects/s",
                    dsql_config_budget_table(&doctor->config), r->count, (long long)slots,
                    (long long)limit, (double)r->rate / DSQL_PERMIT);
}

static void say_leases(struct dsql_doctor *doctor, const struct dsql_lease_survey *leases, bool ttl)
{
    /* How many leases the plugin should have is unknown. */
    bool wrong =
        leases->exists && leases->counter.active - dsql_lease_others(leases) != leases->renewed;
    dsql_doctor_say(doctor,
                    !ttl    ? DSQL_FOUND_BUDGET_NO_TTL
                    : wrong ? DSQL_FOUND_BUDGET_DRIFT
                            : DSQL_FOUND_BUDGET_OK,
                    "table %s: the counter says %lld, there are %lld leases; TTL is %s",
                    dsql_config_budget_table(&doctor->config), (long long)leases->counter.active,
                    (long long)leases->leases, ttl ? "on" : "off");
}

/* With `leases` the connects may have a table of their own. */
static enum dsql_rc look_at_limiter(const struct dsql_doctor *doctor,
                                    const struct dsql_budget_table *leases, bool *ttl,
                                    struct dsql_err *err)
{
    struct dsql_budget_table limiter = *leases;
    limiter.table = doctor->config.limiter_table;
    if (!doctor->config.limiter_enabled || strcmp(limiter.table, leases->table) == 0)
        return DSQL_OK;
    return dsql_budget_ttl(&limiter, ttl, err);
}

static void look(struct dsql_doctor *doctor, const struct dsql_budget_table *table)
{
    struct dsql_registry registry = {0};
    struct dsql_lease_survey leases = {0};
    struct dsql_err err = {0};
    bool blocks = strcmp(doctor->config.budget, "blocks") == 0, ttl = false;
    enum dsql_rc rc;
    if (blocks) {
        rc = dsql_budget_registry(table, &registry, &err);
    } else {
        rc = dsql_budget_leases(table, dsql_clock_wall(&dsql_clock_system), &leases, &err);
        if (!rc)
            rc = dsql_budget_ttl(table, &ttl, &err);
        if (!rc && ttl)
            rc = look_at_limiter(doctor, table, &ttl, &err);
    }
    if (rc)
        say_failure(doctor, &err);
    else if (blocks)
        say_blocks(doctor, &registry);
    else
        say_leases(doctor, &leases, ttl);
    dsql_registry_fini(&registry);
}

void dsql_doctor_budget(struct dsql_doctor *doctor)
{
    struct dsql_credentials *credentials = NULL;
    struct dsql_err err = {0};
    char whole[300], name[300];
    const struct dsql_config *config = &doctor->config;
    if (!dsql_config_shares(config)) {
        dsql_doctor_say(doctor, DSQL_FOUND_BUDGET_LOCAL,
                        "local: this process counts for itself (DSQL_BUDGET)");
        return;
    }
    if (!doctor->has_endpoint || dsql_config_budget_table(&doctor->config)[0] == '\0') {
        dsql_doctor_say(doctor, DSQL_FOUND_BUDGET_SKIPPED, "needs %s",
                        doctor->has_endpoint ? "a table" : "an endpoint");
        return;
    }
    (void)snprintf(whole, sizeof(whole), "%s:%u", doctor->endpoint.host, doctor->port);
    dsql_fleet_endpoint(whole, name, sizeof(name));
    const struct dsql_credentials_options who = {.region = doctor->endpoint.region};
    struct dsql_budget_table table = {.region = doctor->endpoint.region,
                                      .table = dsql_config_budget_table(&doctor->config),
                                      .endpoint = name};
    enum dsql_rc rc = dsql_credentials_new(&who, &credentials, &err);
    const struct dsql_ddb_options options = {
        .region = table.region,
        .url = dsql_ddb_url((const char *const *)environ),
        .credentials = credentials,
        .clock = &dsql_clock_system,
        .timeout_ns = doctor->timeout_ns,
        .attempts = 1,
        .cancel_fd = -1,
    };
    if (!rc)
        rc = dsql_ddb_new(&options, &table.ddb, &err);
    if (rc)
        say_failure(doctor, &err);
    else
        look(doctor, &table);
    dsql_ddb_destroy(table.ddb);
    dsql_credentials_destroy(credentials);
}
