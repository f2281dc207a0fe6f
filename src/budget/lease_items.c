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
    copy(lease->lease.id, sizeof(lease->lease.id), id + 1);
    copy(lease->lease.owner, sizeof(lease->lease.owner), owner ? owner : "");
    lease->lease.renewed = owner && strlen(owner) == 16 && strlen(id + 1) == DSQL_LEASE_HEX &&
                           dsql_ddb_get_number(item, "beat", &lease->lease.beat);
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

bool dsql_lease_read_counter(const json_t *item, struct dsql_lease_counter *counter)
{
    *counter = (struct dsql_lease_counter){0};
    if (!dsql_ddb_get_number(item, "active", &counter->active))
        return false;
    (void)dsql_ddb_get_number(item, "updated_ms", &counter->updated_ms);
    (void)dsql_ddb_get_number(item, "libdsql", &counter->ours);
    (void)dsql_ddb_get_number(item, "conn_limit", &counter->limit);
    return true;
}

json_t *dsql_lease_recount(const char *table, const char *endpoint,
                           const struct dsql_lease_counter *seen, int64_t active, int64_t ours,
                           int64_t now_ms)
{
    json_t *body = dsql_budget_key(table, DSQL_LEASE_COUNTER_PREFIX, endpoint, "");
    json_t *rest = json_pack(
        "{s:s,s:s,s:{s:o,s:o,s:o,s:o,s:o}}", "UpdateExpression",
        "SET active = :count, libdsql = :ours, updated_ms = :now", "ConditionExpression",
        "active = :active AND updated_ms = :updated", "ExpressionAttributeValues", ":count",
        dsql_ddb_number(active), ":ours", dsql_ddb_number(ours), ":now", dsql_ddb_number(now_ms),
        ":active", dsql_ddb_number(seen->active), ":updated", dsql_ddb_number(seen->updated_ms));
    if (!body || !rest || json_object_update(body, rest)) {
        json_decref(body);
        body = NULL;
    }
    json_decref(rest);
    return body;
}

/* -- Requests. */

static json_t *merged(json_t *key, json_t *rest)
{
    if (!key || !rest || json_object_update(key, rest)) {
        json_decref(key);
        key = NULL;
    }
    json_decref(rest);
    return key;
}

static json_t *counter_part(const struct dsql_lease_place *p, int64_t add)
{
    json_t *now_ms = dsql_ddb_number(p->now.ns / DSQL_MS);
    json_t *key = dsql_budget_key(p->table, DSQL_LEASE_COUNTER_PREFIX, p->endpoint, "");
    json_t *rest;
    if (add > 0)
        rest = json_pack(
            "{s:s,s:s,s:{s:o,s:o,s:o,s:o,s:o}}", "UpdateExpression",
            "SET active = if_not_exists(active, :zero) + :n, "
            "libdsql = if_not_exists(libdsql, :zero) + :n, conn_limit = :limit, updated_ms = :now",
            "ConditionExpression", "attribute_not_exists(active) OR active <= :most",
            "ExpressionAttributeValues", ":zero", dsql_ddb_number(0), ":n", dsql_ddb_number(add),
            ":most", dsql_ddb_number(p->connections - p->headroom - add), ":limit",
            dsql_ddb_number(p->connections - p->headroom), ":now", now_ms);
    else
        rest = json_pack("{s:s,s:s,s:{s:o,s:o}}", "UpdateExpression",
                         "SET active = active - :n, libdsql = if_not_exists(libdsql, :n) - :n, "
                         "updated_ms = :now",
                         "ConditionExpression", "attribute_exists(active) AND active >= :n",
                         "ExpressionAttributeValues", ":n", dsql_ddb_number(-add), ":now", now_ms);
    return json_pack("{s:o}", "Update", merged(key, rest));
}

static json_t *lease_key(const struct dsql_lease_place *p, const char *id)
{
    char suffix[DSQL_LEASE_HEX + 2];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, suffix, sizeof(suffix));
    dsql_strbuf_addf(&sb, "#%s", id);
    return dsql_budget_key(p->table, DSQL_LEASE_PREFIX, p->endpoint, suffix);
}

static json_t *put_part(const struct dsql_lease_place *p, const char *id, int64_t beat)
{
    json_t *key = lease_key(p, id);
    json_t *item = json_incref(json_object_get(key, "Key"));
    json_t *rest =
        json_pack("{s:o,s:o,s:o,s:o,s:o}", "ttl_epoch",
                  dsql_ddb_number(p->now.ns / DSQL_S + DSQL_LEASE_TTL_S), "service_name",
                  dsql_ddb_string(p->service), "created_ms", dsql_ddb_number(p->now.ns / DSQL_MS),
                  "owner", dsql_ddb_string(p->owner), "beat", dsql_ddb_number(beat));
    json_decref(key);
    return json_pack("{s:{s:s,s:o,s:s}}", "Put", "TableName", p->table, "Item", merged(item, rest),
                     "ConditionExpression", "attribute_not_exists(pk)");
}

static json_t *renew_part(const struct dsql_lease_place *p, const char *id, int64_t was,
                          int64_t beat)
{
    json_t *rest =
        json_pack("{s:s,s:s,s:{s:s},s:{s:o,s:o,s:o,s:o}}", "UpdateExpression",
                  "SET ttl_epoch = :ttl, beat = :beat, #o = :owner", "ConditionExpression",
                  "beat = :was OR beat = :beat", "ExpressionAttributeNames", "#o", "owner",
                  "ExpressionAttributeValues", ":owner", dsql_ddb_string(p->owner), ":ttl",
                  dsql_ddb_number(p->now.ns / DSQL_S + DSQL_LEASE_TTL_S), ":beat",
                  dsql_ddb_number(beat), ":was", dsql_ddb_number(was));
    return json_pack("{s:o}", "Update", merged(lease_key(p, id), rest));
}

static json_t *delete_part(const struct dsql_lease_place *p, const char *id, int64_t was,
                           int64_t beat)
{
    json_t *rest = json_pack("{s:s,s:{s:o,s:o}}", "ConditionExpression",
                             "beat = :was OR beat = :beat", "ExpressionAttributeValues", ":was",
                             dsql_ddb_number(was), ":beat", dsql_ddb_number(beat));
    return json_pack("{s:o}", "Delete", merged(lease_key(p, id), rest));
}

/* DynamoDB carries out a transaction once for each token, for ten minutes, if it is the same to the
 * byte; a copy is answered as the first was. */
struct token {
    char text[33];
};
static struct token token_of(const struct dsql_leases_op *op)
{
    struct token token = {0};
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, token.text, sizeof(token.text));
    dsql_strbuf_addf(&sb, "%016llx%.16s", (unsigned long long)op->mark, op->ids[0]);
    return token;
}

static json_t *transaction(const struct dsql_lease_place *p, const struct dsql_leases_op *op)
{
    json_t *parts = json_array();
    bool ok = parts != NULL;
    if (op->kind == DSQL_LEASES_ACQUIRE)
        ok = ok && !json_array_append_new(parts, counter_part(p, op->count));
    else if (op->kind != DSQL_LEASES_RENEW)
        ok = ok && !json_array_append_new(parts, counter_part(p, -op->count));
    for (int64_t i = 0; ok && i < op->count; i++)
        ok = !json_array_append_new(
            parts, op->kind == DSQL_LEASES_ACQUIRE ? put_part(p, op->ids[i], op->beat)
                   : op->kind == DSQL_LEASES_RENEW ? renew_part(p, op->ids[i], op->was[i], op->beat)
                   : op->kind == DSQL_LEASES_REAP
                       ? delete_part(p, op->ids[i], op->beat, op->beat)
                       : delete_part(p, op->ids[i], op->was[i], op->beat));
    if (ok)
        return json_pack("{s:o,s:s}", "TransactItems", parts, "ClientRequestToken",
                         token_of(op).text);
    json_decref(parts);
    return NULL;
}

static json_t *connect_request(const struct dsql_lease_place *p, const struct dsql_leases_op *op)
{
    char suffix[32];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, suffix, sizeof(suffix));
    dsql_strbuf_addf(&sb, "#%lld", (long long)op->second);
    json_t *rest =
        json_pack("{s:s,s:{s:s},s:{s:o,s:o,s:o}}", "UpdateExpression",
                  "SET updated_at_ms = :nowms, ttl_epoch = :ttl ADD #cnt :n",
                  "ExpressionAttributeNames", "#cnt", "count", "ExpressionAttributeValues", ":n",
                  dsql_ddb_number(op->count), ":nowms", dsql_ddb_number(p->now.ns / DSQL_MS),
                  ":ttl", dsql_ddb_number(p->now.ns / DSQL_S + DSQL_LEASE_TTL_S));
    json_t *body =
        merged(dsql_budget_key(p->table, DSQL_LEASE_CONNECT_PREFIX, p->endpoint, suffix), rest);
    if (body && op->kind == DSQL_LEASES_CONNECT &&
        (json_object_set_new(body, "ConditionExpression",
                             json_string("attribute_not_exists(#cnt) OR #cnt <= :most")) ||
         json_object_set_new(json_object_get(body, "ExpressionAttributeValues"), ":most",
                             dsql_ddb_number(p->rate - op->count)))) {
        json_decref(body);
        return NULL;
    }
    return body;
}

json_t *dsql_lease_request(const struct dsql_lease_place *p, const struct dsql_leases_op *op,
                           const char **name)
{
    json_t *body;
    switch (op->kind) {
    case DSQL_LEASES_ACQUIRE:
    case DSQL_LEASES_RELEASE:
    case DSQL_LEASES_RENEW:
    case DSQL_LEASES_REAP:
        *name = "TransactWriteItems";
        return transaction(p, op);
    case DSQL_LEASES_CONNECT:
    case DSQL_LEASES_SLOW:
        *name = "UpdateItem";
        return connect_request(p, op);
    case DSQL_LEASES_LOOK:
        *name = "GetItem";
        body = dsql_budget_key(p->table, DSQL_LEASE_COUNTER_PREFIX, p->endpoint, "");
        if (body && json_object_set_new(body, "ConsistentRead", json_true())) {
            json_decref(body);
            body = NULL;
        }
        return body;
    case DSQL_LEASES_SCAN:
        *name = "Scan";
        return dsql_lease_scan(p->table, p->endpoint, p->from);
    case DSQL_LEASES_RECOUNT:
        *name = "UpdateItem";
        return dsql_lease_recount(
            p->table, p->endpoint,
            &(struct dsql_lease_counter){.active = op->active, .updated_ms = op->updated_ms},
            op->count, op->ours, p->now.ns / DSQL_MS);
    }
    return NULL;
}

/* -- Answers. */

/* The first part of a transaction is the counter's, but for renewals. */
static void read_cancelled(const struct dsql_leases_op *op, const struct dsql_ddb_reply *reply,
                           struct dsql_leases_answer *answer)
{
    size_t first = op->kind == DSQL_LEASES_RENEW ? 0 : 1;
    answer->outcome = DSQL_LEASES_CONFLICT;
    if (first == 1 && reply->reason_count > 0 && reply->reasons[0] == DSQL_DDB_FAILED)
        answer->outcome = DSQL_LEASES_REFUSED;
    for (size_t i = first; i < reply->reason_count && i - first < DSQL_LEASES_BATCH; i++) {
        if (reply->reasons[i] != DSQL_DDB_FAILED)
            continue;
        answer->missing[i - first] = true;
        answer->outcome = DSQL_LEASES_MISSING;
    }
}

void dsql_lease_answer(const struct dsql_leases_op *op, const struct dsql_ddb_reply *reply,
                       struct dsql_leases_answer *answer)
{
    *answer = (struct dsql_leases_answer){.outcome = DSQL_LEASES_LOST};
    if (reply->kind == DSQL_DDB_CANCELLED) {
        read_cancelled(op, reply, answer);
    } else if (reply->kind == DSQL_DDB_CONDITION) {
        answer->outcome = DSQL_LEASES_REFUSED;
    } else if (reply->kind == DSQL_DDB_OK) {
        struct dsql_lease_counter counter;
        answer->outcome = DSQL_LEASES_OK;
        answer->exists = dsql_lease_read_counter(json_object_get(reply->body, "Item"), &counter);
        answer->active = counter.active;
        answer->updated_ms = counter.updated_ms;
        answer->ours = counter.ours;
    }
}
