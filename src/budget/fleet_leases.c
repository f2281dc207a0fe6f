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
    const struct dsql_clock *clock;
    char table[256], endpoint[300], service[64];
    json_t *from; /* where the last page of the scan ended */
    int64_t active;
    uint64_t throttled;
};
static_assert(offsetof(struct leases, protocol) == 0, "of() casts");

static struct leases *of(struct dsql_fleet_protocol *p)
{
    return (struct leases *)p;
}
static struct dsql_wall wall(const struct leases *l)
{
    return dsql_clock_wall(l->clock);
}

static void want(struct dsql_fleet_protocol *p, int64_t n)
{
    dsql_leases_want(&of(p)->core, n);
}
static void used(struct dsql_fleet_protocol *p, int64_t n)
{
    dsql_leases_used(&of(p)->core, n);
}
static int64_t slots(struct dsql_fleet_protocol *p, struct dsql_mono now)
{
    return dsql_leases_slots(&of(p)->core, now);
}
static bool permit(struct dsql_fleet_protocol *p, struct dsql_mono now, int64_t *wait_ns)
{
    (void)now;
    *wait_ns = DSQL_S; /* whoever brings one wakes the pool */
    return dsql_leases_permit(&of(p)->core, wall(of(p)));
}
static void throttled(struct dsql_fleet_protocol *p, struct dsql_mono now)
{
    (void)now;
    of(p)->throttled++;
    dsql_leases_throttled(&of(p)->core, wall(of(p)));
}
static void refused_full(struct dsql_fleet_protocol *p, struct dsql_mono now)
{
    (void)p; /* the counter is asked for each lease anyway */
    (void)now;
}
static void drain(struct dsql_fleet_protocol *p, bool draining)
{
    dsql_leases_drain(&of(p)->core, draining);
}
static bool left(const struct dsql_fleet_protocol *p)
{
    return ((const struct leases *)p)->core.left;
}
static int64_t due_ns(struct dsql_fleet_protocol *p, struct dsql_mono now)
{
    return dsql_leases_due_ns(&of(p)->core, now, wall(of(p)));
}

static bool next(struct dsql_fleet_protocol *p, struct dsql_mono now, const char **operation,
                 json_t **body)
{
    struct leases *l = of(p);
    bool again = l->core.repeat;
    if (!dsql_leases_next(&l->core, now, wall(l), dsql_nonce(), &l->op))
        return false;
    if (!again)
        l->made = wall(l);
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

static enum dsql_rc answer(struct dsql_fleet_protocol *p, struct dsql_mono now,
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
    if (l->op.kind == DSQL_LEASES_LOOK && told.exists)
        l->active = told.active;
    enum dsql_rc rc = dsql_leases_answer(&l->core, now, wall(l), &told);
    free(found);
    return rc;
}

static void status(struct dsql_fleet_protocol *p, struct dsql_mono now,
                   struct dsql_budget_status *status)
{
    const struct leases *l = of(p);
    status->kind = DSQL_BUDGET_LEASES;
    status->slots = dsql_leases_slots(&l->core, now);
    status->used = l->core.used;
    status->rate = status->rate_limit = (double)l->core.config.rate;
    status->burst = l->core.config.rate;
    status->permits = l->core.permits;
    if (!l->core.config.connects_only) {
        status->fleet_used = l->active; /* as of the last survey */
        status->fleet_limit = l->core.config.connections;
    }
    status->throttled = l->throttled;
}

static void destroy(struct dsql_fleet_protocol *p)
{
    struct leases *l = of(p);
    dsql_leases_fini(&l->core);
    json_decref(l->from);
    free(l);
}

static const struct dsql_fleet_ops ops = {
    want, used,   slots, permit, throttled, refused_full, drain,
    left, due_ns, next,  answer, status,    destroy,
};

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
    l->clock = options->clock;
    l->active = -1;
    if (dsql_leases_init(&l->core, &config, rng, dsql_clock_mono(options->clock))) {
        free(l);
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    *protocol = &l->protocol;
    return DSQL_OK;
}
