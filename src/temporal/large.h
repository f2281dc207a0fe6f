/*
 * Values that do not fit a column of the service. Such a value is *large*: it goes into rows of
 * large_values, its *parts*, in the transaction that writes its row. In the row's column stands a
 * *ticket*, which names the parts, and the encoding beside it begins with a *mark*, which no
 * encoding of Temporal's does.
 *
 * (LA1) Parts are never changed, and their id is drawn at random for each write. So a reader of
 *      a ticket reads the value that stood there, or finds that parts are missing; never a mixture.
 * (LA2) A row that holds a ticket is changed or deleted only behind a statement that deletes its
 *      parts (`clear` of the catalogue), in the same transaction. What does not do that first fails
 *      where it meets a mark: the common form of every statement looks at the mark by itself, which
 *      costs nothing, and is run again in the other form if it has met one.
 *
 * Nothing here knows of connections but the two functions at the end.
 */
#ifndef DSQL_TEMPORAL_LARGE_H
#define DSQL_TEMPORAL_LARGE_H

#include "temporal/ops.h"

enum {
    /* A column takes 1 MiB and a row 2 MiB: two columns of this size and their key fit. */
    DSQL_LARGE_PART = 900000,
    DSQL_LARGE_STUB_SIZE = 24, /* the id, and the length in the network's order */
    DSQL_LARGE_MARK_MAX = 16   /* the width of an encoding's column */
};

/* The SQLSTATE of a statement that met a mark: it takes the encoding for a number. */
#define DSQL_LARGE_SQLSTATE "22P02"

/* -- Writing. */

/* One large value of a call. */
struct dsql_large {
    struct dsql_id id;
    struct dsql_span value; /* the caller's */
    size_t input;           /* which of the call's inputs it belongs to */
    char ticket[DSQL_LARGE_STUB_SIZE], mark[DSQL_LARGE_MARK_MAX];
    size_t mark_len;
};

/* Whether a field or column holds values that may be large: its encoding follows it. */
bool dsql_large_may_be(const struct dsql_op_field *fields, size_t count, size_t at);

/* Fills ticket and mark; id and value are there. encoding.ptr may be NULL, which is none. False if
 * the encoding leaves no room for the mark. */
bool dsql_large_describe(struct dsql_large *large, struct dsql_span encoding);

bool dsql_large_is_marked(struct dsql_span encoding);
size_t dsql_large_parts(const struct dsql_large *large);
struct dsql_span dsql_large_part(const struct dsql_large *large, size_t number);

/* The statement that adds a part, with its parameters: id, number, bytes. */
enum { DSQL_LARGE_PART_PARAMS = 3 };
extern const struct dsql_stmt dsql_large_insert;
void dsql_large_part_params(const struct dsql_large *large, size_t number,
                            struct dsql_param params[DSQL_LARGE_PART_PARAMS]);
/* The statement that takes all parts of a value away, with its id for a parameter. */
extern const struct dsql_stmt dsql_large_delete;

/* -- Reading. */

/* A value that is put together. */
struct dsql_large_ref {
    struct dsql_id id;
    unsigned char *bytes;
    size_t len, have;
    int64_t next; /* the part that comes next */
};

/* All that some results wait for. Zero it before its first use; fini frees it. */
struct dsql_large_set {
    struct dsql_large_ref *refs;
    size_t count, cap;
};
void dsql_large_set_fini(struct dsql_large_set *set);

/* Adds what the tickets of a result name. DSQL_PROTOCOL for a ticket that is none. */
DSQL_MUST_USE enum dsql_rc dsql_large_find(const struct dsql_op_info *op,
                                           const struct dsql_result *result,
                                           struct dsql_large_set *set, struct dsql_err *err);

/* Takes one part. They come in their order; what does not belong is left alone. */
void dsql_large_take(struct dsql_large_set *set, const struct dsql_id *id, int64_t number,
                     struct dsql_span bytes);
bool dsql_large_is_whole(const struct dsql_large_set *set);

/* Puts the values in the place of their tickets. */
DSQL_MUST_USE enum dsql_rc dsql_large_join(const struct dsql_op_info *op,
                                           struct dsql_result *result,
                                           const struct dsql_large_set *set, struct dsql_err *err);

/* -- On a connection: reads the parts in one round trip. */

struct dsql_store;
DSQL_MUST_USE enum dsql_rc dsql_large_fetch_in(struct dsql_tx *tx, struct dsql_large_set *set,
                                               struct dsql_err *err);
/* In a transaction of its own, and so of another snapshot: parts may be missing by then. */
DSQL_MUST_USE enum dsql_rc dsql_large_fetch(struct dsql_store *store, struct dsql_large_set *set,
                                            const struct dsql_tx_policy *policy,
                                            struct dsql_err *err);

#endif
