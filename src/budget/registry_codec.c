#include "budget/registry_codec.h"

#include <ctype.h>

#include "aws/dynamodb.h"

enum { EXPRESSION_MAX = 2048 };

/* The parts of an UpdateItem while they are put together. */
struct update {
    json_t *names, *values;
    char set_memory[EXPRESSION_MAX], remove_memory[EXPRESSION_MAX], if_memory[EXPRESSION_MAX];
    struct dsql_strbuf set, remove, condition;
    bool failed;
};

static void update_init(struct update *u)
{
    u->names = json_object();
    u->values = json_object();
    u->failed = !u->names || !u->values;
    dsql_strbuf_init(&u->set, u->set_memory, sizeof(u->set_memory));
    dsql_strbuf_init(&u->remove, u->remove_memory, sizeof(u->remove_memory));
    dsql_strbuf_init(&u->condition, u->if_memory, sizeof(u->if_memory));
}

static void name(struct update *u, const char *alias, const char *text)
{
    if (json_object_set_new(u->names, alias, json_string(text)))
        u->failed = true;
}

static void value(struct update *u, const char *alias, json_t *json)
{
    if (json_object_set_new(u->values, alias, json))
        u->failed = true;
}

static void number(struct update *u, const char *alias, int64_t n)
{
    value(u, alias, dsql_ddb_number(n));
}

static void add(struct dsql_strbuf *sb, const char *between, const char *text)
{
    if (sb->len > 0)
        dsql_strbuf_add_str(sb, between);
    dsql_strbuf_add_str(sb, text);
}

static void set(struct update *u, const char *text)
{
    add(&u->set, ", ", text);
}

static void require(struct update *u, const char *text)
{
    add(&u->condition, " AND ", text);
}

static json_t *block_value(const struct dsql_block *b)
{
    const struct dsql_part *slots = &b->of[DSQL_SLOTS], *flow = &b->of[DSQL_FLOW];
    return json_pack("{s:{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}}", "M", "s",
                     dsql_ddb_number(slots->has), "w", dsql_ddb_number(slots->wants), "f",
                     dsql_ddb_number(flow->has), "g", dsql_ddb_number(flow->wants), "p",
                     dsql_ddb_number(b->purse), "b", dsql_ddb_number(b->beat), "t",
                     dsql_ddb_number(b->ttl_ms), "n", dsql_ddb_string(b->name), "m",
                     dsql_ddb_number(b->seen_ms));
}

static void open_parts(struct update *u, const struct dsql_registry_op *op)
{
    name(u, "#v", "version");
    name(u, "#p", "pot");
    name(u, "#r", "rate");
    name(u, "#l", "limit");
    value(u, ":empty", json_pack("{s:{}}", "M"));
    number(u, ":zero", 0);
    number(u, ":pot", op->pot_new);
    number(u, ":rate", op->rate_new);
    number(u, ":limit", op->limit);
    set(u, "#o = if_not_exists(#o, :empty), #v = if_not_exists(#v, :zero), "
           "#p = if_not_exists(#p, :pot), #r = if_not_exists(#r, :rate), "
           "#l = if_not_exists(#l, :limit)");
}

static void own_parts(struct update *u, const struct dsql_registry_op *op)
{
    name(u, "#i", op->block.id);
    if (op->kind == DSQL_REGISTRY_JOIN) {
        /* Without an item there is nothing to put the block into: that is a refusal, not an error.
         */
        require(u, "attribute_exists(#o) AND attribute_not_exists(#o.#i)");
        name(u, "#l", "limit");
        number(u, ":limit", op->limit);
        set(u, "#l = :limit");
    } else {
        name(u, "#b", "b");
        number(u, ":bo", op->beat_old);
        require(u, "#o.#i.#b = :bo");
    }
    if (op->kind == DSQL_REGISTRY_LEAVE) {
        add(&u->remove, ", ", "#o.#i");
    } else if (op->set_block) {
        value(u, ":block", block_value(&op->block));
        set(u, "#o.#i = :block");
    } else {
        name(u, "#m", "m");
        number(u, ":bn", op->block.beat);
        number(u, ":m", op->block.seen_ms);
        set(u, "#o.#i.#b = :bn, #o.#i.#m = :m");
    }
}

static void shared_parts(struct update *u, const struct dsql_registry_op *op)
{
    if (op->grow) {
        name(u, "#v", "version");
        number(u, ":v", op->version_old);
        number(u, ":one", 1);
        require(u, "#v = :v");
        set(u, "#v = #v + :one");
    }
    if (op->pot_add != 0 || op->empty_pot)
        name(u, "#p", "pot");
    if (op->pot_add < 0) {
        number(u, ":pm", -op->pot_add);
        require(u, "#p >= :pm");
    }
    if (op->empty_pot) {
        number(u, ":none", 0);
        set(u, "#p = :none");
    } else if (op->pot_add != 0) {
        number(u, ":pa", op->pot_add);
        set(u, "#p = #p + :pa");
    }
    if (op->set_rate) {
        name(u, "#r", "rate");
        number(u, ":ro", op->rate_old);
        number(u, ":rn", op->rate_new);
        require(u, "#r = :ro");
        set(u, "#r = :rn");
    }
}

static void remove_parts(struct update *u, const struct dsql_registry_op *op)
{
    for (size_t i = 0; i < op->remove_count; i++) {
        char alias[8], beat[8], text[64];
        struct dsql_strbuf sb;
        name(u, "#b", "b");
        dsql_strbuf_init(&sb, alias, sizeof(alias));
        dsql_strbuf_addf(&sb, "#d%zu", i);
        dsql_strbuf_init(&sb, beat, sizeof(beat));
        dsql_strbuf_addf(&sb, ":d%zu", i);
        name(u, alias, op->remove[i].id);
        number(u, beat, op->remove[i].beat);
        dsql_strbuf_init(&sb, text, sizeof(text));
        dsql_strbuf_addf(&sb, "#o.%s.#b = %s", alias, beat);
        require(u, text);
        dsql_strbuf_init(&sb, text, sizeof(text));
        dsql_strbuf_addf(&sb, "#o.%s", alias);
        add(&u->remove, ", ", text);
    }
}

json_t *dsql_budget_key(const char *table, const char *prefix, const char *endpoint,
                        const char *suffix)
{
    char key[512];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, key, sizeof(key));
    dsql_strbuf_addf(&sb, "%s%s%s", prefix, endpoint, suffix);
    return json_pack("{s:s,s:{s:{s:s}}}", "TableName", table, "Key", "pk", "S", key);
}

static bool put_text(json_t *request, const char *key, const struct dsql_strbuf *sb)
{
    return !sb->cut &&
           (sb->len == 0 || json_object_set_new(request, key, json_string(sb->ptr)) == 0);
}

json_t *dsql_registry_request(const char *table, const char *endpoint,
                              const struct dsql_registry_op *op)
{
    struct update u;
    char memory[2 * EXPRESSION_MAX + 16];
    struct dsql_strbuf expression;
    update_init(&u);
    name(&u, "#o", "owners");
    if (op->kind == DSQL_REGISTRY_OPEN) {
        open_parts(&u, op);
    } else {
        own_parts(&u, op);
        shared_parts(&u, op);
        remove_parts(&u, op);
    }
    dsql_strbuf_init(&expression, memory, sizeof(memory));
    dsql_strbuf_addf(&expression, "%s%s%s%s%s", u.set.len ? "SET " : "", u.set.ptr,
                     u.set.len && u.remove.len ? " " : "", u.remove.len ? "REMOVE " : "",
                     u.remove.ptr);
    json_t *request = dsql_budget_key(table, DSQL_REGISTRY_PREFIX, endpoint, "");
    bool ok = request && !u.failed && !u.set.cut && !u.remove.cut &&
              put_text(request, "UpdateExpression", &expression) &&
              put_text(request, "ConditionExpression", &u.condition) &&
              !json_object_set(request, "ExpressionAttributeNames", u.names) &&
              !json_object_set(request, "ExpressionAttributeValues", u.values) &&
              !json_object_set_new(request, "ReturnValues", json_string("ALL_NEW")) &&
              !json_object_set_new(request, "ReturnValuesOnConditionCheckFailure",
                                   json_string("ALL_OLD"));
    json_decref(u.names);
    json_decref(u.values);
    if (ok)
        return request;
    json_decref(request);
    return NULL;
}

/* -- Reading. */

static bool is_id(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if (!isxdigit((unsigned char)text[i]))
            return false;
    }
    return len == DSQL_OWNER_ID_LEN;
}

/* Numbers far outside of what an owner writes would overflow sums. */
static bool in_range(int64_t n)
{
    return n >= 0 && n <= INT64_C(1000000000000000);
}

static bool is_amount(int64_t n)
{
    return n >= 0 && n <= 1000000000;
}

static bool is_part(const struct dsql_part *part)
{
    return is_amount(part->has) && is_amount(part->wants);
}

static bool read_block(const char *id, const json_t *json, struct dsql_block *block)
{
    const json_t *map = json_object_get(json, "M");
    const char *text = dsql_ddb_get_string(map, "n");
    *block = (struct dsql_block){0};
    struct dsql_part *slots = &block->of[DSQL_SLOTS], *flow = &block->of[DSQL_FLOW];
    if (!is_id(id) || !dsql_ddb_get_number(map, "s", &slots->has) ||
        !dsql_ddb_get_number(map, "w", &slots->wants) ||
        !dsql_ddb_get_number(map, "f", &flow->has) ||
        !dsql_ddb_get_number(map, "g", &flow->wants) ||
        !dsql_ddb_get_number(map, "p", &block->purse) ||
        !dsql_ddb_get_number(map, "b", &block->beat) ||
        !dsql_ddb_get_number(map, "t", &block->ttl_ms))
        return false;
    (void)dsql_ddb_get_number(map, "m", &block->seen_ms);
    memcpy(block->id, id, sizeof(block->id));
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, block->name, sizeof(block->name));
    dsql_strbuf_add_str(&sb, text ? text : "");
    return is_part(slots) && is_part(flow) && is_amount(block->purse) && in_range(block->beat) &&
           in_range(block->ttl_ms) && block->ttl_ms <= 86400000;
}

static enum dsql_rc read_item(const json_t *item, struct dsql_registry *out, struct dsql_err *err)
{
    json_t *owners = json_object_get(json_object_get(item, "owners"), "M"), *value_json;
    const char *id;
    if (!json_is_object(owners) || !dsql_ddb_get_number(item, "version", &out->version) ||
        !dsql_ddb_get_number(item, "pot", &out->pot) ||
        !dsql_ddb_get_number(item, "rate", &out->rate) || !in_range(out->version) ||
        !is_amount(out->pot) || !in_range(out->rate) || json_object_size(owners) > DSQL_OWNERS_MAX)
        return dsql_err_set(err, DSQL_PROTOCOL,
                            "the registry item is not as this version writes it");
    enum dsql_rc rc = dsql_registry_reserve(out, json_object_size(owners));
    if (rc)
        return dsql_err_set(err, rc, "out of memory");
    json_object_foreach(owners, id, value_json)
    {
        if (!read_block(id, value_json, &out->blocks[out->count++]))
            return dsql_err_set(err, DSQL_PROTOCOL,
                                "an owner in the registry item is not as this version writes it");
    }
    if (!dsql_ddb_get_number(item, "limit", &out->limit) || !is_amount(out->limit))
        out->limit = 0;
    out->exists = true;
    dsql_registry_sort(out);
    return DSQL_OK;
}

enum dsql_rc dsql_registry_read(const json_t *item, struct dsql_registry *registry,
                                struct dsql_err *err)
{
    struct dsql_registry fresh = {0};
    if (!item || json_object_size(item) == 0) {
        registry->exists = false;
        registry->count = 0;
        return DSQL_OK;
    }
    enum dsql_rc rc = read_item(item, &fresh, err);
    if (!rc && dsql_registry_copy(registry, &fresh))
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    dsql_registry_fini(&fresh);
    return rc;
}
