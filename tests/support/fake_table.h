/*
 * A table for tests of one fleet's threads and failures: it keeps the blocks that are written to
 * it, grants whatever is asked without looking at conditions, and fails on request in the ways of
 * DynamoDB that its local servers don't know. What the protocol makes of a real one is for
 * tests/integ.
 */
#ifndef DSQL_TESTS_FAKE_TABLE_H
#define DSQL_TESTS_FAKE_TABLE_H

#include <jansson.h>

#include "budget/budget.h"
#include "support/http_server.h"

enum fake_table_mood {
    FAKE_TABLE_WELL,
    FAKE_TABLE_DENIES,
    FAKE_TABLE_MISSING,
    FAKE_TABLE_ELSEWHERE, /* the request was signed for another region */
    FAKE_TABLE_HANGS_UP,
    FAKE_TABLE_ILL,
    FAKE_TABLE_MOODS
};

struct fake_table {
    struct http_server server;
    pthread_mutex_t lock;
    json_t *owners;
    _Atomic enum fake_table_mood mood;
    char signer[64]; /* the access key id of the last request */
};

/* Starts it and points this process's AWS settings there. */
void fake_table_start(struct fake_table *table);
void fake_table_stop(struct fake_table *table);

size_t fake_table_owners(struct fake_table *table);

/* Whether the last request was signed with this access key. */
bool fake_table_signed_by(struct fake_table *table, const char *access_key_id);

/* Every block is gone, as if somebody had deleted the item. */
void fake_table_forget(struct fake_table *table);

/* For a budget of the kind blocks on it. */
void fake_table_options(struct dsql_budget_options *options);

#endif
