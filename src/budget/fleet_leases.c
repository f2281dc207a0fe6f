/* The protocol `leases` on DynamoDB. */
#include <stdio.h>
#include <stdlib.h>

#include "budget/fleet.h"
#include "budget/lease_items.h"

struct leases {
    struct dsql_fleet_protocol protocol;
    struct dsql_leases core;
    struct dsql_leases_op op; /* under way */
    struct dsql_wall made;    /* when it was first sent: a repetition is the same to the byte */
    char table[256], endpoint[300], service[64];
    json_t *from; /* where the last page of the scan ended */
};
static_assert(offsetof(struct leases, protocol) == 0, "of() casts");

static struct leases *of(struct dsql_fleet_protocol *p)
{
    return (struct leases *)p;
}

static bool next(struct dsql_fleet_protocol *p, struct dsql_moment now, const char **operation,
                 json_t **body)
{
    struct leases *l = of(p);
    bool again = l->core.request.repeat;
    if (!dsql_leases_next(&l->core, now, dsql_nonce(), &l->op))
        return false;
    if (!again)
        l->made = now.wall;
    const struct dsql_lease_place place = {
        .table = l->table,
        .endpoint = l->endpoint,
        .service = l->service,
        .owner = l->core.config.owner,
        .connections = l->core.config.connections,
        .headroom = l->core.config.headroom,
        .rate = l->core.config.rate,
        .now = l->made,
        .from = l->from,
    };
    *body = dsql_lease_request(&place, &l->op, operation);
    return true;
}

static enum dsql_rc read_page(struct leases *l, const struct dsql_ddb_reply *reply,
                              struct dsql_leases_answer *answer, struct dsql_lease_found **found)
{
    const json_t *items = json_object_get(reply->body, "Items");
    size_t count = json_array_size(items);
    *found = calloc(count ? count : 1, sizeof(**found));
    if (!*found)
        return DSQL_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct dsql_lease_item item;
        if (dsql_lease_read(json_array_get(items, i), &item))
            (*found)[answer->found_count++] = item.lease;
    }
    json_decref(l->from);
    l->from = json_incref(json_object_get(reply->body, "LastEvaluatedKey"));
    answer->found = *found;
    answer->last = !l->from;
    return DSQL_OK;
}

static enum dsql_rc answer(struct dsql_fleet_protocol *p, struct dsql_moment now,
                           const struct dsql_ddb_reply *reply, struct dsql_err *err)
{
    struct leases *l = of(p);
    struct dsql_leases_answer told;
    struct dsql_lease_found *found = NULL;
    (void)err;
    dsql_lease_answer(&l->op, reply, &told);
    if (l->op.kind == DSQL_LEASES_SCAN && told.outcome == DSQL_LEASES_OK &&
        read_page(l, reply, &told, &found))
        told.outcome = DSQL_LEASES_LOST;
    if (l->op.kind != DSQL_LEASES_SCAN || told.outcome != DSQL_LEASES_OK) {
        json_decref(l->from);
        l->from = NULL;
    }
    enum dsql_rc rc = dsql_leases_answer(&l->core, now, &told);
    free(found);
    return rc;
}

static void destroy(struct dsql_fleet_protocol *p)
{
    struct leases *l = of(p);
    dsql_allowance_fini(&l->core.allowance);
    json_decref(l->from);
    free(l);
}

static const struct dsql_fleet_ops ops = {.next = next, .answer = answer, .destroy = destroy};

enum dsql_rc dsql_fleet_leases(const struct dsql_budget_options *options, const char *endpoint,
                               struct dsql_fleet_protocol **protocol, struct dsql_err *err)
{
    struct dsql_leases_config config = {
        .connections = options->cluster_connections,
        .headroom = options->cluster_headroom,
        .rate = options->cluster_rate,
        .ttl_ns = DSQL_LEASE_TTL_S * DSQL_S,
        .connects_only = dsql_fleet_connects_only(options),
    };
    struct dsql_rng rng = dsql_rng_from_os();
    struct leases *l = calloc(1, sizeof(*l));
    if (!l)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    (void)snprintf(config.owner, sizeof(config.owner), "%016llx", (unsigned long long)dsql_nonce());
    (void)snprintf(l->table, sizeof(l->table), "%s", dsql_fleet_table(options));
    (void)snprintf(l->endpoint, sizeof(l->endpoint), "%s", endpoint);
    (void)snprintf(l->service, sizeof(l->service), "%s", options->service);
    l->protocol.ops = &ops;
    l->protocol.timeout_ns = 2 * DSQL_S;
    l->protocol.allowance = &l->core.allowance;
    if (dsql_leases_init(&l->core, &config, rng, dsql_clock_mono(options->clock))) {
        free(l);
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    *protocol = &l->protocol;
    return DSQL_OK;
}
