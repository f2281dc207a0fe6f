/* `dsql budget`: the fleet's budget in DynamoDB, for the person who runs the fleet. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "budget/fleet.h"
#include "budget/table.h"
#include "cli/cluster.h"
#include "cli/commands.h"
#include "config/config.h"

#define CALL_TIMEOUT_NS (5 * DSQL_S)

struct place {
    struct dsql_budget_table table;
    struct dsql_credentials *credentials;
    char endpoint[300], region[DSQL_REGION_MAX + 1], name[DSQL_CONFIG_TEXT_MAX];
    struct dsql_config config;
};

static enum dsql_rc find_cluster(const struct dsql_args *args, struct place *place,
                                 struct dsql_err *err)
{
    const char *given = dsql_args_get(args, "endpoint"), *region = dsql_args_get(args, "region");
    struct dsql_span text = dsql_span_of(given ? given : place->config.endpoint);
    struct dsql_cluster cluster;
    if (text.len == 0) {
        (void)dsql_err_set(err, DSQL_INVALID, "no endpoint: whose budget?");
        dsql_err_hint(err, "give --endpoint or set DSQL_ENDPOINT");
        return DSQL_INVALID;
    }
    enum dsql_rc rc = dsql_cluster_find(text, dsql_span_of(region ? region : place->config.region),
                                        &cluster, err);
    if (rc)
        return rc;
    char whole[300];
    (void)snprintf(whole, sizeof(whole), "%s:%s", cluster.endpoint.host, cluster.port);
    dsql_fleet_endpoint(whole, place->endpoint, sizeof(place->endpoint));
    (void)snprintf(place->region, sizeof(place->region), "%s", cluster.endpoint.region);
    return DSQL_OK;
}

static enum dsql_rc find_table(const struct dsql_args *args, struct place *place,
                               struct dsql_err *err)
{
    const char *given = dsql_args_get(args, "table");
    (void)snprintf(place->name, sizeof(place->name), "%s",
                   given ? given : dsql_config_budget_table(&place->config));
    if (place->name[0] != '\0')
        return DSQL_OK;
    (void)dsql_err_set(err, DSQL_INVALID, "no table");
    dsql_err_hint(err, "give --table or set DSQL_DISTRIBUTED_CONN_LEASE_TABLE");
    return DSQL_INVALID;
}

static void place_fini(struct place *place)
{
    dsql_ddb_destroy(place->table.ddb);
    dsql_credentials_destroy(place->credentials);
}

static enum dsql_rc place_init(const struct dsql_args *args, struct place *place,
                               struct dsql_err *err)
{
    struct dsql_config_report report;
    memset(place, 0, sizeof(*place));
    dsql_config_load(&place->config, &report, (const char *const *)environ);
    enum dsql_rc rc = find_cluster(args, place, err);
    if (!rc)
        rc = find_table(args, place, err);
    const struct dsql_credentials_options credentials = {.region = place->region};
    if (!rc)
        rc = dsql_credentials_new(&credentials, &place->credentials, err);
    const struct dsql_ddb_options ddb = {
        .region = place->region,
        .url = dsql_ddb_url((const char *const *)environ),
        .credentials = place->credentials,
        .clock = &dsql_clock_system,
        .timeout_ns = CALL_TIMEOUT_NS,
        .attempts = 4,
        .cancel_fd = -1,
    };
    if (!rc)
        rc = dsql_ddb_new(&ddb, &place->table.ddb, err);
    place->table.region = place->region;
    place->table.table = place->name;
    place->table.endpoint = place->endpoint;
    return rc;
}

/* -- Setup. */

static enum dsql_rc setup_table(const struct place *place, const char *name, bool json,
                                struct dsql_err *err)
{
    struct dsql_budget_table table = place->table;
    bool created = false;
    table.table = name;
    enum dsql_rc rc = dsql_budget_setup(&table, &created, err);
    if (!rc && json) {
        fputs("{\"table\": ", stdout);
        dsql_print_json(dsql_span_of(name));
        printf(", \"region\": \"%s\", \"created\": %s}\n", place->region,
               created ? "true" : "false");
    } else if (!rc) {
        printf("table %s in %s: %s\n", name, place->region,
               created ? "made, with TTL on ttl_epoch" : "is there");
    }
    return rc;
}

static int setup(const struct dsql_args *args)
{
    struct place place;
    struct dsql_err err;
    bool json = dsql_args_has(args, "json");
    enum dsql_rc rc = place_init(args, &place, &err);
    if (!rc)
        rc = setup_table(&place, place.name, json, &err);
    const char *limiter = place.config.limiter_table;
    bool second = !dsql_args_get(args, "table") && place.config.limiter_enabled &&
                  strcmp(place.config.budget, "blocks") != 0 && limiter[0] != '\0' &&
                  strcmp(limiter, place.name) != 0;
    if (!rc && second)
        rc = setup_table(&place, limiter, json, &err);
    place_fini(&place);
    return rc ? dsql_complain(&err) : DSQL_EXIT_OK;
}

/* -- Status. */

static double age_s(int64_t seen_ms)
{
    return ((double)dsql_clock_wall(&dsql_clock_system).ns / 1e6 - (double)seen_ms) / 1000;
}

/* The limit as the processes wrote it into the table: that of this environment says nothing. */
static void print_json_limit(int64_t limit)
{
    if (limit > 0)
        printf("\"limit\": %lld", (long long)limit);
    else
        fputs("\"limit\": null", stdout);
}

static void status_json(const struct place *place, const struct dsql_registry *r,
                        const struct dsql_lease_survey *leases)
{
    fputs("{\"endpoint\": ", stdout);
    dsql_print_json(dsql_span_of(place->endpoint));
    fputs(", \"table\": ", stdout);
    dsql_print_json(dsql_span_of(place->name));
    if (r->exists) {
        fputs(",\n \"blocks\": {", stdout);
        print_json_limit(r->limit);
        printf(", \"slots\": %lld, \"flow\": %.3f, \"rate\": %.3f, \"pot\": %lld, "
               "\"purses\": %lld, \"version\": %lld, \"owners\": [",
               (long long)dsql_registry_sum(r, DSQL_SLOTS),
               (double)dsql_registry_sum(r, DSQL_FLOW) / DSQL_PERMIT, (double)r->rate / DSQL_PERMIT,
               (long long)r->pot, (long long)dsql_registry_purses(r), (long long)r->version);
        for (size_t i = 0; i < r->count; i++) {
            const struct dsql_block *b = &r->blocks[i];
            const struct dsql_part *slots = &b->of[DSQL_SLOTS], *flow = &b->of[DSQL_FLOW];
            printf("%s\n  {\"id\": \"%s\", \"name\": ", i ? "," : "", b->id);
            dsql_print_json(dsql_span_of(b->name));
            printf(", \"slots\": %lld, \"want\": %lld, \"flow\": %.3f, \"flow_want\": %.3f, "
                   "\"purse\": %lld, \"beat\": %lld, \"ttl_ms\": %lld, \"age_s\": %.1f}",
                   (long long)slots->has, (long long)slots->wants, (double)flow->has / DSQL_PERMIT,
                   (double)flow->wants / DSQL_PERMIT, (long long)b->purse, (long long)b->beat,
                   (long long)b->ttl_ms, age_s(b->seen_ms));
        }
        fputs("]}", stdout);
    }
    if (leases->exists || leases->leases > 0) {
        fputs(",\n \"leases\": {", stdout);
        print_json_limit(leases->counter.limit);
        printf(", \"active\": %lld, \"others\": %lld, \"counted\": %lld, \"renewed\": %lld, "
               "\"expired\": %lld}",
               (long long)leases->counter.active, (long long)dsql_lease_others(leases),
               (long long)leases->leases, (long long)leases->renewed, (long long)leases->expired);
    }
    fputs("}\n", stdout);
}

/* "7 of 12", as far as the table says it. */
struct amount {
    char text[64];
};
static struct amount amount_of(int64_t n, int64_t limit)
{
    struct amount amount;
    if (limit > 0)
        (void)snprintf(amount.text, sizeof(amount.text), "%lld of %lld", (long long)n,
                       (long long)limit);
    else
        (void)snprintf(amount.text, sizeof(amount.text), "%lld", (long long)n);
    return amount;
}

static void blocks_plain(const struct dsql_registry *r)
{
    printf("\nblocks: %s slots taken; %.1f of %.1f connects/s handed out; permits: "
           "%lld in the pot, up to %lld in hand\n",
           amount_of(dsql_registry_sum(r, DSQL_SLOTS), r->limit).text,
           (double)dsql_registry_sum(r, DSQL_FLOW) / DSQL_PERMIT, (double)r->rate / DSQL_PERMIT,
           (long long)r->pot, (long long)dsql_registry_purses(r));
    printf("  %-16s  %-20s %6s %6s %7s %7s %8s %8s\n", "OWNER", "SERVICE", "SLOTS", "WANTS",
           "FLOW/S", "PERMITS", "BEAT", "SEEN");
    for (size_t i = 0; i < r->count; i++) {
        const struct dsql_block *b = &r->blocks[i];
        printf("  %-16s  %-20.20s %6lld %6lld %7.2f %7lld %8lld %6.1fs\n", b->id, b->name,
               (long long)b->of[DSQL_SLOTS].has, (long long)b->of[DSQL_SLOTS].wants,
               (double)b->of[DSQL_FLOW].has / DSQL_PERMIT, (long long)b->purse, (long long)b->beat,
               age_s(b->seen_ms));
    }
}

static void status_plain(const struct place *place, const struct dsql_registry *r,
                         const struct dsql_lease_survey *leases)
{
    printf("budget of %s in table %s (%s)\n", place->endpoint, place->name, place->region);
    if (r->exists)
        blocks_plain(r);
    if (leases->exists || leases->leases > 0)
        printf(
            "\nleases: the counter says %s, %lld of them held by other programs (the Go plugin); "
            "there are %lld items, %lld of them renewed, %lld past their ttl_epoch\n",
            amount_of(leases->counter.active, leases->counter.limit).text,
            (long long)dsql_lease_others(leases), (long long)leases->leases,
            (long long)leases->renewed, (long long)leases->expired);
    if (!r->exists && !leases->exists && leases->leases == 0)
        printf("\nno process has used it for this cluster yet%s\n",
               dsql_config_shares(&place->config)
                   ? ""
                   : "; they do when DSQL_BUDGET is blocks, or leases");
}

static int status(const struct dsql_args *args)
{
    struct place place;
    struct dsql_err err;
    struct dsql_registry registry = {0};
    struct dsql_lease_survey leases = {0};
    enum dsql_rc rc = place_init(args, &place, &err);
    if (!rc)
        rc = dsql_budget_registry(&place.table, &registry, &err);
    if (!rc)
        rc = dsql_budget_leases(&place.table, dsql_clock_wall(&dsql_clock_system), &leases, &err);
    if (!rc && dsql_args_has(args, "json"))
        status_json(&place, &registry, &leases);
    else if (!rc)
        status_plain(&place, &registry, &leases);
    dsql_registry_fini(&registry);
    place_fini(&place);
    return rc ? dsql_complain(&err) : DSQL_EXIT_OK;
}

/* -- Release, repair. */

static int release(const struct dsql_args *args)
{
    struct place place;
    struct dsql_err err;
    enum dsql_rc rc = place_init(args, &place, &err);
    if (!rc)
        rc = dsql_budget_release(&place.table, args->operands[0], &err);
    if (!rc && dsql_args_has(args, "json")) {
        fputs("{\"released\": ", stdout);
        dsql_print_json(dsql_span_of(args->operands[0]));
        fputs("}\n", stdout);
    } else if (!rc) {
        printf("owner %s has no slots any more; if it lives, it joins again with what is free\n",
               args->operands[0]);
    }
    place_fini(&place);
    return rc ? dsql_complain(&err) : DSQL_EXIT_OK;
}

/* Twice, with the counter before and after: whether a process came or went while it was counted. */
static enum dsql_rc count_twice(const struct place *place, struct dsql_wall now,
                                struct dsql_lease_survey *survey, bool *steady,
                                struct dsql_err *err)
{
    struct dsql_lease_survey first = {0};
    enum dsql_rc rc = dsql_budget_leases(&place->table, now, &first, err);
    if (!rc)
        rc = dsql_budget_leases(&place->table, now, survey, err);
    *steady = first.counter.active == survey->counter.active &&
              first.counter.updated_ms == survey->counter.updated_ms &&
              first.leases == survey->leases;
    return rc;
}

static void repair_plain(const struct dsql_lease_survey *found, int64_t right, bool steady,
                         bool repaired, bool gone)
{
    int64_t others = dsql_lease_others(found);
    printf("leases: the counter says %lld: %lld for libdsql, which has %lld, and %lld for other "
           "programs (the Go plugin)%s\n",
           (long long)found->counter.active, (long long)(found->counter.active - others),
           (long long)found->renewed, (long long)others,
           !found->exists || found->counter.active == right ? "; nothing to repair"
           : repaired                                       ? "; repaired"
           : !steady ? "; leases come and go, so nothing was decided: try again"
                     : "; --apply corrects it");
    if (others > 0 && !gone)
        puts("What other programs hold cannot be counted. When none of them runs any more: "
             "--plugin-gone");
}

static int repair(const struct dsql_args *args)
{
    struct place place;
    struct dsql_err err;
    struct dsql_lease_survey found = {0};
    bool apply = dsql_args_has(args, "apply"), gone = dsql_args_has(args, "plugin-gone");
    bool repaired = false, steady = false;
    enum dsql_rc rc = place_init(args, &place, &err);
    struct dsql_wall now = dsql_clock_wall(&dsql_clock_system);
    if (!rc)
        rc = count_twice(&place, now, &found, &steady, &err);
    int64_t others = gone ? 0 : dsql_lease_others(&found), right = found.renewed + others;
    if (!rc && apply && found.exists && found.counter.active != right && steady) {
        rc = dsql_budget_recount(&place.table, &found, others, now, &err);
        repaired = !rc;
    }
    if (!rc && dsql_args_has(args, "json"))
        printf("{\"active\": %lld, \"right\": %lld, \"others\": %lld, \"counted\": %lld, "
               "\"renewed\": %lld, \"steady\": %s, \"repaired\": %s}\n",
               (long long)found.counter.active, (long long)right,
               (long long)dsql_lease_others(&found), (long long)found.leases,
               (long long)found.renewed, steady ? "true" : "false", repaired ? "true" : "false");
    else if (!rc)
        repair_plain(&found, right, steady, repaired, gone);
    place_fini(&place);
    return rc ? dsql_complain(&err) : DSQL_EXIT_OK;
}

/* clang-format off */
#define SHARED_OPTIONS                                                                             \
    {"table", 't', "NAME", "the DynamoDB table (DSQL_DISTRIBUTED_CONN_LEASE_TABLE)"},              \
    {"endpoint", 0, "NAME", "the cluster whose budget it is (DSQL_ENDPOINT)"},                     \
    {"region", 0, "REGION", "AWS region, if the endpoint's name does not tell"},                   \
    {"json", 0, NULL, "print JSON for machines"}
/* clang-format on */

static const struct dsql_option shared_options[] = {SHARED_OPTIONS};
static const struct dsql_option repair_options[] = {
    SHARED_OPTIONS,
    {"apply", 0, NULL, "correct what is wrong; without it, it is only said"},
    {"plugin-gone", 0, NULL, "no process of the Go plugin runs any more: it holds nothing"},
};

const struct dsql_command dsql_cmd_budget = {
    .name = "budget",
    .summary = "one connection budget for a whole fleet",
    .text = "Makes, shows and mends the DynamoDB table in which the processes of a fleet share the "
            "connections of one cluster. docs/budget.md explains it.\n"
            "\n"
            "    dsql budget setup --table connections --endpoint HOST\n"
            "    dsql budget status --table connections --endpoint HOST",
};

const struct dsql_command dsql_cmd_budget_setup = {
    .name = "budget setup",
    .summary = "make the DynamoDB table of a fleet's budget",
    .text =
        "Makes the table with the key pk, billed on demand, and turns on TTL for the attribute\n"
        "ttl_epoch; with DSQL_DISTRIBUTED_RATE_LIMITER_TABLE set, that one too. What is there\n"
        "already stays as it is, so it may be run again. docs/budget.md\n"
        "explains the protocols, deploy/ has the same as Terraform and an IAM policy.",
    DSQL_COMMAND_OPTIONS(shared_options),
    .run = setup,
};

const struct dsql_command dsql_cmd_budget_status = {
    .name = "budget status",
    .summary = "show who holds how much of a cluster's connections",
    .text =
        "Prints the owners of blocks with their slots, what they want, the connects a second that\n"
        "flow to them, the permits they may have in hand and when they were last heard of by their\n"
        "own clocks; and, if the table is shared with\n"
        "processes that use leases, what the counter says and how many items there are.",
    DSQL_COMMAND_OPTIONS(shared_options),
    .run = status,
};

const struct dsql_command dsql_cmd_budget_release = {
    .name = "budget release",
    .operands = "OWNER",
    .summary = "take the slots of a dead owner away now",
    .text = "The others would do the same within two TTLs. An owner that lives finds out with its\n"
            "next beat, joins again with what is free by then and closes the rest.",
    .operands_min = 1,
    .operands_max = 1,
    DSQL_COMMAND_OPTIONS(shared_options),
    .run = release,
};

const struct dsql_command dsql_cmd_budget_repair = {
    .name = "budget repair",
    .summary = "recount the leases and correct the counter",
    .text =
        "With leases, a process that crashes leaves the counter too high until the others find it\n"
        "silent. This counts the items twice and says what is wrong; with --apply it corrects the\n"
        "counter, if it has not changed meanwhile. What the Go plugin's processes hold stays as it\n"
        "is: DynamoDB deletes their items while the connections live. Blocks have no counter that\n"
        "could be wrong.",
    DSQL_COMMAND_OPTIONS(repair_options),
    .run = repair,
};
