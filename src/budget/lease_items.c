#include "budget/lease_items.h"

#include "aws/dynamodb.h"
#include "budget/registry_codec.h"

static void copy(char *to, size_t size, const char *from)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, to, size);
    dsql_strbuf_add_str(&sb, from);
}

bool dsql_lease_read(const json_t *item, struct dsql_lease_item *lease)
{
    const char *pk = dsql_ddb_get_string(item, "pk");
    const char *owner = dsql_ddb_get_string(item, "owner");
    const char *id = pk ? strrchr(pk, '#') : NULL;
    *lease = (struct dsql_lease_item){0};
    if (!id || !dsql_ddb_get_number(item, "ttl_epoch", &lease->ttl_epoch))
        return false;
    (void)dsql_ddb_get_number(item, "created_ms", &lease->created_ms);
    copy(lease->id, sizeof(lease->id), id + 1);
    copy(lease->owner, sizeof(lease->owner), owner ? owner : "");
    lease->renewed = dsql_ddb_get_number(item, "beat", &lease->beat) && owner;
    return true;
}

json_t *dsql_lease_scan(const char *table, const char *endpoint, json_t *from)
{
    char prefix[512];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, prefix, sizeof(prefix));
    dsql_strbuf_addf(&sb, "%s%s#", DSQL_LEASE_PREFIX, endpoint);
    json_t *body = json_pack("{s:s,s:b,s:s,s:{s:{s:s}}}", "TableName", table, "ConsistentRead", 1,
                             "FilterExpression", "begins_with(pk, :prefix)",
                             "ExpressionAttributeValues", ":prefix", "S", prefix);
    if (body && from && json_object_set(body, "ExclusiveStartKey", from)) {
        json_decref(body);
        return NULL;
    }
    return body;
}

json_t *dsql_lease_recount(const char *table, const char *endpoint, int64_t active,
                           int64_t updated_ms, int64_t count, int64_t now_ms)
{
    json_t *body = dsql_budget_key(table, DSQL_LEASE_COUNTER_PREFIX, endpoint, "");
    json_t *rest =
        json_pack("{s:s,s:s,s:{s:o,s:o,s:o,s:o}}", "UpdateExpression",
                  "SET active = :count, updated_ms = :now", "ConditionExpression",
                  "active = :active AND updated_ms = :updated", "ExpressionAttributeValues",
                  ":count", dsql_ddb_number(count), ":now", dsql_ddb_number(now_ms), ":active",
                  dsql_ddb_number(active), ":updated", dsql_ddb_number(updated_ms));
    if (!body || !rest || json_object_update(body, rest)) {
        json_decref(body);
        body = NULL;
    }
    json_decref(rest);
    return body;
}
