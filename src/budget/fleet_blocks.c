/* The protocol `blocks` on DynamoDB. */
#include <stdio.h>
#include <stdlib.h>

#include "budget/fleet.h"
#include "budget/registry_codec.h"
#include "core/blocks.h"

struct blocks {
    struct dsql_fleet_protocol protocol;
    struct dsql_blocks core;
    char table[256], endpoint[300];
    struct dsql_registry view; /* of the answer being read */
};
static_assert(offsetof(struct blocks, protocol) == 0, "of() casts");

static struct blocks *of(struct dsql_fleet_protocol *p)
{
    return (struct blocks *)p;
}

static bool next(struct dsql_fleet_protocol *p, struct dsql_moment now, const char **operation,
                 json_t **body)
{
    struct blocks *b = of(p);
    struct dsql_registry_op op;
    if (!dsql_blocks_next(&b->core, now.mono, dsql_nonce(), &op))
        return false;
    op.block.seen_ms = now.wall.ns / DSQL_MS;
    *operation = "UpdateItem";
    *body = dsql_registry_request(b->table, b->endpoint, &op);
    return true;
}

static enum dsql_rc answer(struct dsql_fleet_protocol *p, struct dsql_moment now,
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
    enum dsql_rc told = dsql_blocks_answer(&b->core, now.mono, outcome, &b->view);
    return rc ? rc : told;
}

static void destroy(struct dsql_fleet_protocol *p)
{
    struct blocks *b = of(p);
    dsql_allowance_fini(&b->core.allowance);
    dsql_registry_fini(&b->view);
    free(b);
}

static const struct dsql_fleet_ops ops = {.next = next, .answer = answer, .destroy = destroy};

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
    b->protocol.allowance = &b->core.allowance;
    dsql_blocks_init(&b->core, &config, rng, dsql_clock_mono(options->clock));
    int64_t beat_ns = dsql_blocks_beat_ns(config.ttl_ns);
    b->protocol.timeout_ns = beat_ns < 4 * DSQL_S ? beat_ns / 2 + 100 * DSQL_MS : 2 * DSQL_S;
    *protocol = &b->protocol;
    return DSQL_OK;
}
