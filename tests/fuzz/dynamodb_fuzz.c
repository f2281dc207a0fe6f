/* DynamoDB's answers: any status and body, read as far as the budget reads them. */
#include "aws/dynamodb.h"
#include "budget/lease_items.h"
#include "budget/registry_codec.h"
#include "support/fuzz.h"

static void read_item(const json_t *item)
{
    struct dsql_registry registry = {0};
    struct dsql_lease_item lease;
    struct dsql_err err;
    if (dsql_registry_read(item, &registry, &err) == DSQL_OK && registry.count > 0) {
        assert(dsql_registry_sum(&registry, DSQL_SLOTS) >= 0 &&
               dsql_registry_purses(&registry) >= 0);
        assert(dsql_registry_share(&registry, DSQL_FLOW, 0, 100) <=
               registry.blocks[0].of[DSQL_FLOW].wants);
    }
    dsql_registry_fini(&registry);
    (void)dsql_lease_read(item, &lease);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 400, 403, 500, 503};
    static const enum dsql_leases_kind kinds[] = {DSQL_LEASES_ACQUIRE, DSQL_LEASES_RENEW,
                                                  DSQL_LEASES_LOOK};
    if (size == 0)
        return 0;
    struct dsql_ddb_reply reply;
    struct dsql_err err;
    dsql_ddb_reply_read(&reply, statuses[data[0] % DSQL_COUNT_OF(statuses)],
                        (struct dsql_span){(const char *)data + 1, size - 1});
    read_item(json_object_get(reply.body, "Attributes"));
    read_item(json_object_get(reply.body, "Item"));
    read_item(reply.item);
    for (size_t i = 0; i < DSQL_COUNT_OF(kinds); i++) {
        struct dsql_leases_op op = {.kind = kinds[i], .count = DSQL_LEASES_BATCH};
        struct dsql_leases_answer answer;
        dsql_lease_answer(&op, &reply, &answer);
    }
    (void)dsql_ddb_explain("us-east-1", &reply, "t", &err);
    dsql_ddb_reply_fini(&reply);
    return 0;
}
