/*
 * The registry as a DynamoDB item, and its operations as UpdateItem requests. The item's key is
 * `dsqlblocks#<endpoint>`; it has the attributes version, pot, rate, limit and owners, a
 * map from id to {s: slots, w: slots wanted, f: flow, g: flow wanted, p: purse, b: beat, t: TTL in
 * ms, n: name, m: wall clock in ms}. Short names, because the whole item is paid for with every
 * beat.
 */
#ifndef DSQL_BUDGET_REGISTRY_CODEC_H
#define DSQL_BUDGET_REGISTRY_CODEC_H

#include <jansson.h>

#include "core/registry.h"

#define DSQL_REGISTRY_PREFIX "dsqlblocks#"

/* The body of the UpdateItem; the caller's. NULL when memory runs out. */
json_t *dsql_registry_request(const char *table, const char *endpoint,
                              const struct dsql_registry_op *op);

/* {"TableName": table, "Key": {"pk": {"S": prefix + endpoint}}}; NULL when memory runs out. */
json_t *dsql_budget_key(const char *table, const char *prefix, const char *endpoint,
                        const char *suffix);

/*
 * Reads an item; NULL is one that does not exist. DSQL_PROTOCOL, with *registry as it was, if it is
 * not such an item; DSQL_NO_MEMORY.
 */
DSQL_MUST_USE enum dsql_rc dsql_registry_read(const json_t *item, struct dsql_registry *registry,
                                              struct dsql_err *err);

#endif
