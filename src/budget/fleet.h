/*
 * The part of a ledger that is counted in a table: one thread that carries the requests of core's
 * allowance to DynamoDB and the answers back. What is decided is decided in core; what is here is
 * the way there, and what a person is told.
 */
#ifndef DSQL_BUDGET_FLEET_H
#define DSQL_BUDGET_FLEET_H

#include "aws/dynamodb.h"
#include "budget/ledger.h"

struct dsql_fleet_protocol;

/* How an allowance's requests look in DynamoDB: called with the ledger's lock held, never blocks.
 */
struct dsql_fleet_ops {
    /* A request to send: the operation, and its body which becomes the caller's. */
    bool (*next)(struct dsql_fleet_protocol *p, struct dsql_moment now, const char **operation,
                 json_t **body);
    /* What became of it. A failure that a person should know of is put into *err. */
    enum dsql_rc (*answer)(struct dsql_fleet_protocol *p, struct dsql_moment now,
                           const struct dsql_ddb_reply *reply, struct dsql_err *err);
    void (*destroy)(struct dsql_fleet_protocol *p);
};

struct dsql_fleet_protocol {
    const struct dsql_fleet_ops *ops;
    struct dsql_allowance *allowance;
    int64_t timeout_ns; /* for one request */
};

/* Where a fleet with these options counts: lease_table, or limiter_table if only connects are
 * shared. */
bool dsql_fleet_connects_only(const struct dsql_budget_options *options);
const char *dsql_fleet_table(const struct dsql_budget_options *options);

/* endpoint is the fleet's name of the cluster: see dsql_fleet_endpoint(). */
DSQL_MUST_USE enum dsql_rc dsql_fleet_blocks(const struct dsql_budget_options *options,
                                             const char *endpoint,
                                             struct dsql_fleet_protocol **protocol,
                                             struct dsql_err *err);

DSQL_MUST_USE enum dsql_rc dsql_fleet_leases(const struct dsql_budget_options *options,
                                             const char *endpoint,
                                             struct dsql_fleet_protocol **protocol,
                                             struct dsql_err *err);

/* The host name alone for the usual port, so that it is the same as in other programs' items. */
void dsql_fleet_endpoint(const char *endpoint, char *name, size_t size);

/* Whether the options of a fleet make sense. */
DSQL_MUST_USE enum dsql_rc dsql_fleet_check(const struct dsql_budget_options *options,
                                            struct dsql_err *err);

/* Gives the ledger its allowance, its fallback and a thread. On failure ledger->fleet may be set,
 * and is the caller's to destroy. */
DSQL_MUST_USE enum dsql_rc dsql_fleet_new(const struct dsql_budget_options *options,
                                          struct dsql_ledger *ledger,
                                          struct dsql_credentials *credentials,
                                          struct dsql_err *err);
/* Frees a fleet whose thread has ended or never started. NULL is fine. */
void dsql_fleet_destroy(struct dsql_fleet *fleet);

/* Has the thread give everything back, and waits until it has ended. Takes the ledger's lock. */
void dsql_fleet_stop(struct dsql_fleet *fleet);

/* With the ledger's lock held: requests are signed with these from now on; they are held. */
void dsql_fleet_sign_as(struct dsql_fleet *fleet, struct dsql_credentials *credentials);

/* With the ledger's lock held: what it knows of the table. */
void dsql_fleet_status(const struct dsql_fleet *fleet, struct dsql_allowance_status *status);

#endif
