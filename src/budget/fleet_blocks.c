/* The protocol `blocks` on DynamoDB. */
#include <stdio.h>
#include <stdlib.h>

#include "budget/fleet.h"
#include "budget/registry_codec.h"
#include "core/blocks.h"

struct blocks {
    struct dsql_fleet_protocol protocol;
    struct dsql_blocks core;
    const struct dsql_clock *clock;
    char table[256], endpoint[300];
    struct dsql_registry view; /* of the answer being read */
    uint64_t throttled;
};
static_assert(offsetof(struct blocks, protocol) == 0, "of() casts");

static struct blocks *of(struct dsql_fleet_protocol *p)
{
    return (struct blocks *)p;
}

static void want(struct dsql_fleet_protocol *p, int64_t n)
{
    dsql_blocks_want(&of(p)->core, n);
}
static void used(struct dsql_fleet_protocol *p, int64_t n)
{
    dsql_blocks_used(&of(p)->core, n);
}
static int64_t slots(struct dsql_fleet_protocol *p, struct dsql_mono now)
{
    return dsql_blocks_slots(&of(p)->core, now);
}
static bool permit(struct dsql_fleet_protocol *p, struct dsql_mono now, int64_t *wait_ns)
{
    return dsql_blocks_permit(&of(p)->core, now, wait_ns);
}
static void throttled(struct dsql_fleet_protocol *p, struct dsql_mono now)
{
    of(p)->throttled++;
    dsql_blocks_throttled(&of(p)->core, now);
}
static void refused_full(struct dsql_fleet_protocol *p, struct dsql_mono now)
{
    dsql_blocks_refused_full(&of(p)->core, now);
}
static void drain(struct dsql_fleet_protocol *p, bool draining)
{
    dsql_blocks_drain(&of(p)->core, draining);
}
static bool left(const struct dsql_fleet_protocol *p)
{
    return ((const struct blocks *)p)->core.left;
}
static int64_t due_ns(struct dsql_fleet_protocol *p, struct dsql_mono now)
{
    return dsql_blocks_due_ns(&of(p)->core, now);
}

static bool next(struct dsql_fleet_protocol *p, struct dsql_mono now, const char **operation,
                 json_t **body)
{
    struct blocks *b = of(p);
    struct dsql_registry_op op;
    if (!dsql_blocks_next(&b->core, now, dsql_nonce(), &op))
        return false;
    op.block.seen_ms = dsql_clock_wall(b->clock).ns / DSQL_MS;
    *operation = "UpdateItem";
    *body = dsql_registry_request(b->table, b->endpoint, &op);
    return true;
}

static enum dsql_rc answer(struct dsql_fleet_protocol *p, struct dsql_mono now,
                           const struct dsql_ddb_reply *reply, struct dsql_err *err)
{
    struct blocks *b = of(p);
    enum dsql_rc rc = DSQL_OK;
    enum dsql_blocks_outcome outcome = DSQL_BLOCKS_LOST;
    if (reply->kind == DSQL_DDB_OK) {
        outcome = DSQL_BLOCKS_APPLIED;
        rc = dsql_registry_read(json_object_get(reply->body, "Attributes"), &b->view, err);
    } else if (reply->kind == DSQL_DDB_CONDITION) {
        outcome = DSQL_BLOCKS_REFUSED;
        rc = dsql_registry_read(reply->item, &b->view, err);
    }
    if (rc)
        outcome = DSQL_BLOCKS_LOST;
    enum dsql_rc told = dsql_blocks_answer(&b->core, now, outcome, &b->view);
    return rc ? rc : told;
}

static void status(struct dsql_fleet_protocol *p, struct dsql_mono now,
                   struct dsql_budget_status *status)
{
    const struct blocks *b = of(p);
    int64_t rate = b->core.known ? b->core.view.rate : b->core.config.rate * DSQL_PERMIT;
    status->kind = DSQL_BUDGET_BLOCKS;
    status->slots = dsql_blocks_slots(&b->core, now);
    status->used = b->core.used;
    status->rate = (double)rate / DSQL_PERMIT;
    status->rate_limit = (double)b->core.config.rate;
    status->burst = b->core.config.burst;
    status->permits = dsql_blocks_permits(&b->core, now);
    status->fleet_used = b->core.known ? dsql_registry_sum(&b->core.view, DSQL_SLOTS) : -1;
    status->fleet_limit = b->core.config.connections;
    status->throttled = b->throttled;
}

static void destroy(struct dsql_fleet_protocol *p)
{
    struct blocks *b = of(p);
    dsql_blocks_fini(&b->core);
    dsql_registry_fini(&b->view);
    free(b);
}

static const struct dsql_fleet_ops ops = {
    want, used,   slots, permit, throttled, refused_full, drain,
    left, due_ns, next,  answer, status,    destroy,
};

enum dsql_rc dsql_fleet_blocks(const struct dsql_budget_options *options, const char *endpoint,
                               struct dsql_fleet_protocol **protocol, struct dsql_err *err)
{
    struct dsql_blocks_config config = {
        .connections = options->cluster_connections,
        .headroom = options->cluster_headroom,
        .rate = options->cluster_rate,
        .burst = options->cluster_burst,
        .ttl_ns = options->ttl_ns,
    };
    struct dsql_rng rng = dsql_rng_from_os();
    struct blocks *b = calloc(1, sizeof(*b));
    if (!b)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    (void)snprintf(config.id, sizeof(config.id), "%016llx", (unsigned long long)dsql_nonce());
    (void)snprintf(config.name, sizeof(config.name), "%s", options->service);
    (void)snprintf(b->table, sizeof(b->table), "%s", dsql_fleet_table(options));
    (void)snprintf(b->endpoint, sizeof(b->endpoint), "%s", endpoint);
    b->protocol.ops = &ops;
    b->clock = options->clock;
    dsql_blocks_init(&b->core, &config, rng, dsql_clock_mono(options->clock));
    int64_t beat_ns = dsql_blocks_beat_ns(config.ttl_ns);
    b->protocol.timeout_ns = beat_ns < 4 * DSQL_S ? beat_ns / 2 + 100 * DSQL_MS : 2 * DSQL_S;
    *protocol = &b->protocol;
    return DSQL_OK;
}
