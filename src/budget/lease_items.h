/*
 * The items of the protocol `leases`, in the format of the Go plugin, and the requests on them:
 *
 *   dsqllease_counter#<endpoint>     active, updated_ms; from us also libdsql, how many of
 *                                    `active` are ours, and conn_limit, for people
 *   dsqllease#<endpoint>#<id>        ttl_epoch, service_name, created_ms; ours also have owner
 *                                    and beat
 *   dsqlconnect#<endpoint>#<second>  count, updated_at_ms, ttl_epoch
 *
 * Every function that makes a request answers NULL when memory runs out.
 */
#ifndef DSQL_BUDGET_LEASE_ITEMS_H
#define DSQL_BUDGET_LEASE_ITEMS_H

#include <jansson.h>

#include "aws/dynamodb.h"
#include "core/leases.h"

#define DSQL_LEASE_COUNTER_PREFIX "dsqllease_counter#"
#define DSQL_LEASE_PREFIX         "dsqllease#"
#define DSQL_LEASE_CONNECT_PREFIX "dsqlconnect#"

enum { DSQL_LEASE_TTL_S = 180 };

struct dsql_lease_item {
    struct dsql_lease_found lease; /* other programs' longer ids are cut: only ours are acted on */
    int64_t ttl_epoch, created_ms;
};

/* False if it is no lease. */
bool dsql_lease_read(const json_t *item, struct dsql_lease_item *lease);

/* The table and owner of the items, and the clock that dates them. */
struct dsql_lease_place {
    const char *table, *endpoint, *service, *owner;
    int64_t connections, headroom, rate; /* of the cluster */
    struct dsql_wall now;
    json_t *from; /* SCAN: where the page before ended; NULL for the first */
};

/* The operation's name in *name, and its body. */
json_t *dsql_lease_request(const struct dsql_lease_place *place, const struct dsql_leases_op *op,
                           const char **name);

/* What an answer means for the operation. The page of a SCAN is not read here. */
void dsql_lease_answer(const struct dsql_leases_op *op, const struct dsql_ddb_reply *reply,
                       struct dsql_leases_answer *answer);

/* A page of the leases of an endpoint; from is where the page before ended, or NULL. */
json_t *dsql_lease_scan(const char *table, const char *endpoint, json_t *from);

/* The counter as it stands in the table. */
struct dsql_lease_counter {
    int64_t active, updated_ms;
    int64_t ours; /* of `active`; what is more belongs to other programs */
    int64_t
        limit; /* what our last acquisition compared with; 0: no process of libdsql has acquired */
};

/* False if it is none. */
bool dsql_lease_read_counter(const json_t *item, struct dsql_lease_counter *counter);

/* Sets the counter to `active`, of which `ours`, if it has not changed since `seen`. */
json_t *dsql_lease_recount(const char *table, const char *endpoint,
                           const struct dsql_lease_counter *seen, int64_t active, int64_t ours,
                           int64_t now_ms);

#endif
