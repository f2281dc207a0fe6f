/*
 * The reconciler of `leases` on a real server of the DynamoDB API, in virtual time: of two owners
 * one dies with its leases and without a word; the other goes on for MINUTES, and prints what the
 * counter says and how many leases there are then.
 *
 *     lease_reconcile TABLE ENDPOINT MINUTES     the address is in AWS_ENDPOINT_URL_DYNAMODB
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "budget/fleet.h"
#include "budget/table.h"

enum { HELD_BY_THE_DEAD = 5, HELD_BY_THE_LIVING = 3 };

static int64_t now_ns = 1000 * DSQL_S;

static struct dsql_mono virtual_mono(const struct dsql_clock *self)
{
    (void)self;
    return (struct dsql_mono){now_ns};
}

static struct dsql_wall virtual_wall(const struct dsql_clock *self)
{
    (void)self;
    return (struct dsql_wall){INT64_C(1800000000) * DSQL_S + now_ns};
}

static const struct dsql_clock virtual = {
    .mono = virtual_mono, .mono_coarse = virtual_mono, .wall = virtual_wall};
static struct dsql_ddb *ddb;

static void must(bool ok, const struct dsql_err *err)
{
    if (ok)
        return;
    fprintf(stderr, "lease_reconcile: %s\n", err->message);
    exit(2);
}

/* Lets an owner say what it has to say until then. */
static void run_until(struct dsql_fleet_protocol *p, int64_t end_ns)
{
    struct dsql_err err = {0};
    while (now_ns < end_ns) {
        const char *operation;
        json_t *body;
        struct dsql_ddb_reply reply;
        if (!p->ops->next(p, dsql_clock_moment(&virtual), &operation, &body)) {
            int64_t due_ns = dsql_allowance_due_ns(p->allowance, dsql_clock_moment(&virtual));
            now_ns += due_ns < 10 * DSQL_MS ? 10 * DSQL_MS : due_ns > DSQL_S ? DSQL_S : due_ns;
            continue;
        }
        must(dsql_ddb_call(ddb, operation, body, &reply, &err) == DSQL_OK, &err);
        json_decref(body);
        now_ns += 5 * DSQL_MS;
        (void)p->ops->answer(p, dsql_clock_moment(&virtual), &reply, &err);
        must(reply.kind == DSQL_DDB_OK || reply.kind == DSQL_DDB_CANCELLED ||
                 reply.kind == DSQL_DDB_CONDITION,
             &(struct dsql_err){.message = "an operation failed"});
        dsql_ddb_reply_fini(&reply);
    }
}

static struct dsql_fleet_protocol *owner_with(const struct dsql_budget_options *options,
                                              const char *endpoint, int64_t leases)
{
    struct dsql_fleet_protocol *p = NULL;
    struct dsql_err err = {0};
    must(dsql_fleet_leases(options, endpoint, &p, &err) == DSQL_OK, &err);
    dsql_allowance_want(p->allowance, leases);
    run_until(p, now_ns + 10 * DSQL_S);
    dsql_allowance_used(p->allowance,
                        dsql_allowance_slots(p->allowance, dsql_clock_moment(&virtual)));
    return p;
}

int main(int argc, char **argv)
{
    struct dsql_credentials *credentials;
    struct dsql_err err = {0};
    struct dsql_lease_survey survey = {0};
    int64_t minutes = 0;
    if (argc != 4 || !dsql_span_to_i64(dsql_span_of(argv[3]), &minutes))
        return 2;
    must(dsql_credentials_new(NULL, &credentials, &err) == DSQL_OK, &err);
    const struct dsql_ddb_options place = {.region = "us-east-1",
                                           .url = dsql_ddb_url((const char *const *)environ),
                                           .credentials = credentials,
                                           .clock = &dsql_clock_system,
                                           .timeout_ns = 10 * DSQL_M,
                                           .attempts = 3,
                                           .cancel_fd = -1};
    must(dsql_ddb_new(&place, &ddb, &err) == DSQL_OK, &err);
    const struct dsql_budget_options options = {.kind = DSQL_BUDGET_LEASES,
                                                .service = "test",
                                                .lease_table = argv[1],
                                                .cluster_rate = 100,
                                                .cluster_connections = 100,
                                                .clock = &virtual};
    struct dsql_fleet_protocol *dead = owner_with(&options, argv[2], HELD_BY_THE_DEAD);
    struct dsql_fleet_protocol *living = owner_with(&options, argv[2], HELD_BY_THE_LIVING);
    const struct dsql_budget_table table = {
        .ddb = ddb, .region = "us-east-1", .table = argv[1], .endpoint = argv[2]};
    must(dsql_budget_leases(&table, virtual_wall(NULL), &survey, &err) == DSQL_OK, &err);
    printf("before: active=%lld leases=%lld\n", (long long)survey.counter.active,
           (long long)survey.leases);
    dead->ops->destroy(dead); /* nothing is given back */
    run_until(living, now_ns + minutes * DSQL_M);
    must(dsql_budget_leases(&table, virtual_wall(NULL), &survey, &err) == DSQL_OK, &err);
    printf("after: active=%lld leases=%lld\n", (long long)survey.counter.active,
           (long long)survey.leases);
    living->ops->destroy(living);
    dsql_ddb_destroy(ddb);
    dsql_credentials_destroy(credentials);
    return 0;
}
