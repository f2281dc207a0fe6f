/*
 * The DynamoDB API: JSON 1.0 over HTTPS, signed. One call at a time over connections that stay
 * open; a client belongs to one thread. It knows operations and errors, not what the items mean.
 *
 * An answer is one of a few kinds, decided here and nowhere else. What matters to a protocol on top
 * is whether the call was carried out: DSQL_DDB_OK yes; CONDITION, CANCELLED, THROTTLED, NO_TABLE,
 * IN_USE, DENIED, EXPIRED, INVALID no; of UNAVAILABLE and LOST it is unknown.
 */
#ifndef DSQL_AWS_DYNAMODB_H
#define DSQL_AWS_DYNAMODB_H

#include <jansson.h>

#include "aws/credentials.h"
#include "base/rng.h"

/* clang-format off */
#define DSQL_DDB_TABLE(X)                                                                          \
    X(OK,          "ok")                                                                           \
    X(CONDITION,   "a condition did not hold")                                                     \
    X(CANCELLED,   "the transaction was cancelled")                                                \
    X(THROTTLED,   "DynamoDB throttles this table")                                                \
    X(NO_TABLE,    "there is no such table")                                                       \
    X(IN_USE,      "the table exists already, or is being changed")                                \
    X(DENIED,      "access denied")                                                                \
    X(EXPIRED,     "the credentials have expired")                                                 \
    X(INVALID,     "DynamoDB does not accept the request")                                         \
    X(UNAVAILABLE, "DynamoDB failed")                                                              \
    X(LOST,        "DynamoDB cannot be reached")
/* clang-format on */

enum dsql_ddb_kind {
#define DSQL_DDB_MEMBER(name, text) DSQL_DDB_##name,
    DSQL_DDB_TABLE(DSQL_DDB_MEMBER)
#undef DSQL_DDB_MEMBER
        DSQL_DDB_KINDS
};

/* "THROTTLED" for DSQL_DDB_THROTTLED. Static storage. */
const char *dsql_ddb_kind_name(enum dsql_ddb_kind kind);

/* Why one part of a transaction was refused. */
enum dsql_ddb_reason {
    DSQL_DDB_NONE, /* not this part */
    DSQL_DDB_FAILED,
    DSQL_DDB_CONFLICT, /* another transaction was at the item */
    DSQL_DDB_TOO_FAST, /* throttled */
    DSQL_DDB_OTHER,
};
enum { DSQL_DDB_PARTS_MAX = 100 };

struct dsql_ddb_reply {
    enum dsql_ddb_kind kind;
    json_t *body;        /* of an answer with 200; NULL otherwise */
    json_t *item;        /* CONDITION: the item as it is, if asked for and there is one; borrowed */
    size_t reason_count; /* CANCELLED */
    enum dsql_ddb_reason reasons[DSQL_DDB_PARTS_MAX];
    json_t *failure;       /* what was said instead of a body */
    char message[256];     /* what went wrong, in DynamoDB's words */
    char hint[256];        /* what helps, if it went wrong before DynamoDB was asked; else empty */
    struct dsql_wall date; /* what DynamoDB's clock said, in whole seconds; 0 if it did not */
};
void dsql_ddb_reply_fini(struct dsql_ddb_reply *reply);

/* Reads what DynamoDB answered. Never fails: what is no answer is UNAVAILABLE. */
void dsql_ddb_reply_read(struct dsql_ddb_reply *reply, int status, struct dsql_span body);

struct dsql_ddb;

struct dsql_ddb_options {
    const char *region;
    const char *url;                      /* NULL: AWS's own for the region */
    struct dsql_credentials *credentials; /* held */
    const struct dsql_clock *clock;
    int64_t timeout_ns;
    unsigned attempts; /* tries for what throttling and failures of the server stop; at least 1 */
    int cancel_fd;     /* readable: stop waiting for anything; -1 for none */
};

/* The place from AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL of an environment; NULL if neither
 * is set. Points into it. */
const char *dsql_ddb_url(const char *const *environment);

DSQL_MUST_USE enum dsql_rc dsql_ddb_new(const struct dsql_ddb_options *options,
                                        struct dsql_ddb **ddb, struct dsql_err *err);
void dsql_ddb_destroy(struct dsql_ddb *ddb); /* NULL is fine */

/* The clock of its options. */
const struct dsql_clock *dsql_ddb_clock(const struct dsql_ddb *ddb);

/* From now on calls are signed with these credentials, which it holds. */
void dsql_ddb_use(struct dsql_ddb *ddb, struct dsql_credentials *credentials);

/*
 * Calls an operation ("UpdateItem") with a body, which stays the caller's. *reply says what became
 * of it, also when it could not be sent; the caller calls dsql_ddb_reply_fini(). DSQL_NO_MEMORY and
 * DSQL_CANCELLED fail the call itself, and then *reply is of kind LOST.
 */
DSQL_MUST_USE enum dsql_rc dsql_ddb_call(struct dsql_ddb *ddb, const char *operation, json_t *body,
                                         struct dsql_ddb_reply *reply, struct dsql_err *err);

/* A failed reply as an error with what to do next; table and region for its words. */
enum dsql_rc dsql_ddb_explain(const char *region, const struct dsql_ddb_reply *reply,
                              const char *table, struct dsql_err *err);

/* Attribute values: {"N": "5"}, {"S": "x"}. NULL when memory runs out. */
json_t *dsql_ddb_number(int64_t value);
json_t *dsql_ddb_string(const char *value);
/* False if it is missing or of another type. */
bool dsql_ddb_get_number(const json_t *attributes, const char *name, int64_t *value);
const char *dsql_ddb_get_string(const json_t *attributes, const char *name);

#endif
