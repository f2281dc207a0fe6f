/*
 * The registry's operations on a real server of the DynamoDB API against dsql_registry_apply():
 * random ones, half of them with conditions that don't hold, must have the same outcome and leave
 * the same item. The address is in AWS_ENDPOINT_URL_DYNAMODB.
 *
 *     registry_diff TABLE SEED COUNT
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aws/dynamodb.h"
#include "budget/registry_codec.h"

static struct dsql_rng rng;

static int64_t pick(int64_t low, int64_t high)
{
    return dsql_rng_between(&rng, low, high);
}

static struct dsql_registry_op any_op(const struct dsql_registry *r)
{
    struct dsql_registry_op op = {.kind = (enum dsql_registry_kind)pick(0, 3)};
    if (pick(0, 2) > 0)
        op.kind = DSQL_REGISTRY_UPDATE;
    (void)snprintf(op.block.id, sizeof(op.block.id), "%016llx", (unsigned long long)pick(0, 3));
    (void)snprintf(op.block.name, sizeof(op.block.name), "name %lld", (long long)pick(0, 9));
    const struct dsql_block *own = dsql_registry_find(r, op.block.id);
    op.beat_old = own && pick(0, 5) ? own->beat : pick(0, 9);
    op.block.beat = pick(0, 1000);
    op.block.of[DSQL_SLOTS] = (struct dsql_part){pick(0, 9), pick(0, 9)};
    op.block.of[DSQL_FLOW] = (struct dsql_part){pick(0, 9000), pick(0, 9000)};
    op.block.purse = pick(0, 9);
    op.block.ttl_ms = 1000;
    op.block.seen_ms = pick(0, 99999);
    op.set_block = op.kind == DSQL_REGISTRY_JOIN || pick(0, 1);
    op.grow = pick(0, 1);
    op.version_old = r->version - (pick(0, 5) == 0);
    op.pot_add = pick(0, 2) ? pick(-3, 5) : 0;
    if (pick(0, 3) == 0)
        op.pot_add = -(r->pot + pick(-1, 1));
    op.set_rate = pick(0, 3) == 0;
    op.empty_pot = pick(0, 5) == 0;
    op.rate_old = r->rate + (pick(0, 3) == 0);
    op.rate_new = pick(1000, 100000);
    op.pot_new = 7;
    op.limit = pick(1, 99);
    for (size_t i = 0; op.kind == DSQL_REGISTRY_UPDATE && i < r->count && op.remove_count < 1;
         i++) {
        if (strcmp(r->blocks[i].id, op.block.id) == 0 || pick(0, 9) > 0)
            continue;
        memcpy(op.remove[0].id, r->blocks[i].id, sizeof(r->blocks[i].id));
        op.remove[op.remove_count++].beat = r->blocks[i].beat + (pick(0, 2) == 0);
    }
    return op;
}

static bool same_block(const struct dsql_block *a, const struct dsql_block *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->name, b->name) == 0 &&
           memcmp(a->of, b->of, sizeof(a->of)) == 0 && a->purse == b->purse && a->beat == b->beat &&
           a->ttl_ms == b->ttl_ms && a->seen_ms == b->seen_ms;
}

static bool same(const struct dsql_registry *a, const struct dsql_registry *b)
{
    bool ok = a->exists == b->exists && a->version == b->version && a->pot == b->pot &&
              a->rate == b->rate && a->limit == b->limit && a->count == b->count;
    for (size_t i = 0; ok && i < a->count; i++)
        ok = same_block(&a->blocks[i], &b->blocks[i]);
    return ok;
}

int main(int argc, char **argv)
{
    struct dsql_credentials *credentials;
    struct dsql_ddb *ddb;
    struct dsql_err err = {0};
    struct dsql_registry model = {0}, real = {0};
    int64_t seed = 1, count = 1;
    if (argc != 4 || !dsql_span_to_i64(dsql_span_of(argv[2]), &seed) ||
        !dsql_span_to_i64(dsql_span_of(argv[3]), &count))
        return 2;
    rng = dsql_rng_seeded((uint64_t)seed);
    struct dsql_ddb_options options = {.region = "us-east-1",
                                       .url = dsql_ddb_url((const char *const *)environ),
                                       .clock = &dsql_clock_system,
                                       .timeout_ns = 10 * DSQL_M,
                                       .attempts = 1,
                                       .cancel_fd = -1};
    if (dsql_credentials_new(NULL, &credentials, &err))
        return 2;
    options.credentials = credentials;
    if (dsql_ddb_new(&options, &ddb, &err))
        return 2;
    int64_t done = 0, applied_count = 0;
    for (; done < count; done++) {
        struct dsql_registry_op op = any_op(&model);
        struct dsql_ddb_reply reply;
        bool applied;
        json_t *body = dsql_registry_request(argv[1], "diff", &op);
        if (!body || dsql_ddb_call(ddb, "UpdateItem", body, &reply, &err) ||
            dsql_registry_apply(&model, &op, &applied)) {
            fprintf(stderr, "no answer: %s\n", err.message);
            return 1;
        }
        bool answered = reply.kind == DSQL_DDB_OK || reply.kind == DSQL_DDB_CONDITION;
        const json_t *item =
            reply.kind == DSQL_DDB_OK ? json_object_get(reply.body, "Attributes") : reply.item;
        applied_count += applied;
        if (!answered || applied != (reply.kind == DSQL_DDB_OK) ||
            dsql_registry_read(item, &real, &err) || !same(&model, &real)) {
            char *text = json_dumps(body, 0);
            fprintf(stderr, "operation %lld: %s, but %s; %s %s\n%s\n", (long long)done,
                    applied ? "applied" : "refused", dsql_ddb_kind_name(reply.kind), reply.message,
                    err.message, text);
            return 1;
        }
        json_decref(body);
        dsql_ddb_reply_fini(&reply);
    }
    printf("%lld operations, %lld applied: the same\n", (long long)done, (long long)applied_count);
    dsql_registry_fini(&model);
    dsql_registry_fini(&real);
    dsql_ddb_destroy(ddb);
    dsql_credentials_destroy(credentials);
    return 0;
}
