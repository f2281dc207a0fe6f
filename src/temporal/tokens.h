/*
 * What a transaction has read under a lock: for each row the token (range_id, db_record_version and
 * next_event_id, run_id) that a later write of that row must still find. Single-threaded, as the
 * transaction is; a transaction locks few rows, so a list will do.
 *
 * Invariant: of one row there is at most one entry, the newest.
 */
#ifndef DSQL_TEMPORAL_TOKENS_H
#define DSQL_TEMPORAL_TOKENS_H

#include "temporal/ops.h"

struct dsql_row_token {
    struct dsql_param values[DSQL_OP_TOKENS_MAX]; /* pointers lead into bytes */
    unsigned char bytes[DSQL_OP_TOKENS_MAX][16];
};

struct dsql_row_token_entry {
    enum dsql_fence_what what;
    unsigned char *key;
    size_t key_len;
    struct dsql_row_token token;
};

struct dsql_row_tokens {
    struct dsql_row_token_entry *entries;
    size_t count, cap;
};

void dsql_row_tokens_fini(struct dsql_row_tokens *tokens);

/* Copies a number or 16 bytes into the token. */
void dsql_row_token_set(struct dsql_row_token *token, size_t i, const struct dsql_param *value);

/* The token of the row that the first `keys` parameters name; NULL if there is none. */
const struct dsql_row_token *dsql_row_tokens_find(const struct dsql_row_tokens *tokens,
                                                  enum dsql_fence_what what,
                                                  const struct dsql_param *params, size_t keys);

/* Remembers it, in place of an older one. */
DSQL_MUST_USE enum dsql_rc dsql_row_tokens_remember(struct dsql_row_tokens *tokens,
                                                    enum dsql_fence_what what,
                                                    const struct dsql_param *params, size_t keys,
                                                    const struct dsql_row_token *token);

#endif
