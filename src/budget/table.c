#include "budget/table.h"

#include "budget/registry_codec.h"

enum { WAITS_MAX = 120 };

/* Calls, and takes the body. The kinds in `also` are answers too: then *reply says so. */
static enum dsql_rc call(const struct dsql_budget_table *t, const char *operation, json_t *body,
                         unsigned also, struct dsql_ddb_reply *reply, struct dsql_err *err)
{
    if (!body) {
        *reply = (struct dsql_ddb_reply){.kind = DSQL_DDB_LOST};
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    enum dsql_rc rc = dsql_ddb_call(t->ddb, operation, body, reply, err);
    json_decref(body);
    if (rc || reply->kind == DSQL_DDB_OK || (also >> reply->kind & 1))
        return rc;
    return dsql_ddb_explain(t->region, reply, t->table, err);
}

static enum dsql_rc wait_for_table(const struct dsql_budget_table *t, struct dsql_err *err)
{
    for (int i = 0; i < WAITS_MAX; i++) {
        struct dsql_ddb_reply reply;
        enum dsql_rc rc = call(t, "DescribeTable", json_pack("{s:s}", "TableName", t->table),
                               1u << DSQL_DDB_NO_TABLE, &reply, err);
        const json_t *table = json_object_get(reply.body, "Table");
        const char *status = json_string_value(json_object_get(table, "TableStatus"));
        const json_t *keys = json_object_get(table, "KeySchema");
        const char *key =
            json_string_value(json_object_get(json_array_get(keys, 0), "AttributeName"));
        bool active = status && (strcmp(status, "ACTIVE") == 0 || strcmp(status, "UPDATING") == 0);
        bool ours = json_array_size(keys) == 1 && key && strcmp(key, "pk") == 0;
        dsql_ddb_reply_fini(&reply);
        if (rc)
            return rc;
        if (active && !ours) {
            (void)dsql_err_set(err, DSQL_INVALID, "table %s has another key than pk", t->table);
            dsql_err_hint(err, "name a table of its own for the budget");
            return DSQL_INVALID;
        }
        if (active)
            return DSQL_OK;
        dsql_clock_sleep(dsql_ddb_clock(t->ddb), DSQL_S / 2);
    }
    return dsql_err_set(err, DSQL_TIMEOUT, "table %s is still being made", t->table);
}

enum dsql_rc dsql_budget_ttl(const struct dsql_budget_table *t, bool *on, struct dsql_err *err)
{
    struct dsql_ddb_reply reply;
    enum dsql_rc rc =
        call(t, "DescribeTimeToLive", json_pack("{s:s}", "TableName", t->table), 0, &reply, err);
    const char *status = json_string_value(
        json_object_get(json_object_get(reply.body, "TimeToLiveDescription"), "TimeToLiveStatus"));
    if (!rc)
        *on = status && strncmp(status, "ENABL", 5) == 0;
    dsql_ddb_reply_fini(&reply);
    return rc;
}

static enum dsql_rc set_ttl(const struct dsql_budget_table *t, struct dsql_err *err)
{
    struct dsql_ddb_reply reply;
    bool on = false;
    enum dsql_rc rc = dsql_budget_ttl(t, &on, err);
    if (rc || on)
        return rc;
    rc = call(t, "UpdateTimeToLive",
              json_pack("{s:s,s:{s:b,s:s}}", "TableName", t->table, "TimeToLiveSpecification",
                        "Enabled", 1, "AttributeName", "ttl_epoch"),
              0, &reply, err);
    dsql_ddb_reply_fini(&reply);
    return rc;
}

enum dsql_rc dsql_budget_setup(const struct dsql_budget_table *t, bool *created,
                               struct dsql_err *err)
{
    struct dsql_ddb_reply reply;
    enum dsql_rc rc = call(t, "CreateTable",
                           json_pack("{s:s,s:[{s:s,s:s}],s:[{s:s,s:s}],s:s}", "TableName", t->table,
                                     "AttributeDefinitions", "AttributeName", "pk", "AttributeType",
                                     "S", "KeySchema", "AttributeName", "pk", "KeyType", "HASH",
                                     "BillingMode", "PAY_PER_REQUEST"),
                           1u << DSQL_DDB_IN_USE, &reply, err);
    bool made = reply.kind == DSQL_DDB_OK;
    dsql_ddb_reply_fini(&reply);
    if (!rc)
        rc = wait_for_table(t, err);
    if (!rc)
        rc = set_ttl(t, err);
    if (!rc)
        *created = made;
    return rc;
}

static enum dsql_rc get_item(const struct dsql_budget_table *t, const char *prefix,
                             struct dsql_ddb_reply *reply, struct dsql_err *err)
{
    json_t *body = dsql_budget_key(t->table, prefix, t->endpoint, "");
    if (body && json_object_set_new(body, "ConsistentRead", json_true())) {
        json_decref(body);
        body = NULL;
    }
    return call(t, "GetItem", body, 0, reply, err);
}

enum dsql_rc dsql_budget_registry(const struct dsql_budget_table *t, struct dsql_registry *registry,
                                  struct dsql_err *err)
{
    struct dsql_ddb_reply reply;
    enum dsql_rc rc = get_item(t, DSQL_REGISTRY_PREFIX, &reply, err);
    if (!rc)
        rc = dsql_registry_read(json_object_get(reply.body, "Item"), registry, err);
    dsql_ddb_reply_fini(&reply);
    return rc;
}

enum dsql_rc dsql_budget_release(const struct dsql_budget_table *t, const char *owner,
                                 struct dsql_err *err)
{
    struct dsql_registry registry = {0};
    enum dsql_rc rc = dsql_budget_registry(t, &registry, err);
    const struct dsql_block *block = rc ? NULL : dsql_registry_find(&registry, owner);
    if (!rc && !block) {
        rc = dsql_err_set(err, DSQL_NOT_FOUND, "no owner %.32s", owner);
        dsql_err_hint(err, "'dsql budget status' lists the owners");
    }
    if (block) {
        struct dsql_registry_op op = {
            .kind = DSQL_REGISTRY_LEAVE, .block = *block, .beat_old = block->beat};
        struct dsql_ddb_reply reply;
        rc = call(t, "UpdateItem", dsql_registry_request(t->table, t->endpoint, &op),
                  1u << DSQL_DDB_CONDITION, &reply, err);
        if (!rc && reply.kind == DSQL_DDB_CONDITION)
            rc = dsql_registry_read(reply.item, &registry, err);
        /* Without the owner: a try before this one was carried out, and its answer was lost. */
        if (!rc && reply.kind == DSQL_DDB_CONDITION && dsql_registry_find(&registry, owner)) {
            rc = dsql_err_set(err, DSQL_CONDITION_FAILED, "owner %.32s is alive: it just beat",
                              owner);
            dsql_err_hint(err, "stop that process, or try again to take its connections anyway");
        }
        dsql_ddb_reply_fini(&reply);
    }
    dsql_registry_fini(&registry);
    return rc;
}

static enum dsql_rc read_counter(const struct dsql_budget_table *t,
                                 struct dsql_lease_survey *survey, struct dsql_err *err)
{
    struct dsql_ddb_reply reply;
    enum dsql_rc rc = get_item(t, DSQL_LEASE_COUNTER_PREFIX, &reply, err);
    if (!rc)
        survey->exists =
            dsql_lease_read_counter(json_object_get(reply.body, "Item"), &survey->counter);
    dsql_ddb_reply_fini(&reply);
    return rc;
}

static void count_leases(const json_t *items, struct dsql_wall now,
                         struct dsql_lease_survey *survey)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        struct dsql_lease_item lease;
        if (!dsql_lease_read(json_array_get(items, i), &lease))
            continue;
        survey->leases++;
        survey->renewed += lease.lease.renewed;
        survey->expired += lease.ttl_epoch < now.ns / DSQL_S;
    }
}

enum dsql_rc dsql_budget_leases(const struct dsql_budget_table *t, struct dsql_wall now,
                                struct dsql_lease_survey *survey, struct dsql_err *err)
{
    struct dsql_lease_survey found = {0};
    json_t *from = NULL;
    enum dsql_rc rc = read_counter(t, &found, err);
    do {
        struct dsql_ddb_reply reply = {.kind = DSQL_DDB_LOST};
        if (!rc)
            rc = call(t, "Scan", dsql_lease_scan(t->table, t->endpoint, from), 0, &reply, err);
        json_decref(from);
        from = NULL;
        if (!rc) {
            count_leases(json_object_get(reply.body, "Items"), now, &found);
            from = json_incref(json_object_get(reply.body, "LastEvaluatedKey"));
        }
        dsql_ddb_reply_fini(&reply);
    } while (!rc && from);
    if (!rc)
        *survey = found;
    return rc;
}

int64_t dsql_lease_others(const struct dsql_lease_survey *survey)
{
    int64_t ours = survey->counter.ours > 0 ? survey->counter.ours : 0;
    return survey->counter.active > ours ? survey->counter.active - ours : 0;
}

enum dsql_rc dsql_budget_recount(const struct dsql_budget_table *t,
                                 const struct dsql_lease_survey *survey, int64_t others,
                                 struct dsql_wall now, struct dsql_err *err)
{
    struct dsql_ddb_reply reply;
    int64_t active = survey->renewed + others, now_ms = now.ns / DSQL_MS;
    enum dsql_rc rc = call(t, "UpdateItem",
                           dsql_lease_recount(t->table, t->endpoint, &survey->counter, active,
                                              survey->renewed, now_ms),
                           1u << DSQL_DDB_CONDITION, &reply, err);
    if (!rc && reply.kind == DSQL_DDB_CONDITION) {
        struct dsql_lease_survey found = {0};
        rc = read_counter(t, &found, err);
        /* As we would have set it: a try before this one was carried out, its answer was lost. */
        if (!rc && (found.counter.active != active || found.counter.updated_ms != now_ms))
            rc = dsql_err_set(err, DSQL_CONDITION_FAILED,
                              "the counter has changed meanwhile; nothing was repaired");
    }
    dsql_ddb_reply_fini(&reply);
    return rc;
}
