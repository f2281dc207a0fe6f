/* Comparing rows, postings and counters, between the files of this folder. */
#ifndef DSQL_VISIBILITY_CHECK_H
#define DSQL_VISIBILITY_CHECK_H

#include "base/span.h"
#include "visibility/attributes.h"
#include "visibility/visibility.h"

struct dsql_vis_check {
    struct dsql_visibility *visibility;
    const struct dsql_visibility_watch *watch; /* NULL for none */
    struct dsql_tx_policy reads, writes;
    bool repairs;
    struct dsql_visibility_checked *out;
    struct dsql_err *err;
};

/* Tells of one thing, and counts it. */
void dsql_vis_report(struct dsql_vis_check *check, const char *kind, struct dsql_span namespace_id,
                     struct dsql_span run_id, const char *detail, bool repaired);

/* The columns that a run is compared by, as the statements here select them. */
#define DSQL_VIS_RUN_COLUMNS                                                                       \
    "namespace_id, run_id, bucket, deleted_until, division, status, close_inv, start_inv, "        \
    "count_keyword, CAST(search_attributes AS TEXT), octet_length(memo)"
#define DSQL_VIS_POSTING_COLUMNS                                                                   \
    "namespace_id, run_id, attribute, value, bucket, close_inv, start_inv"
#define DSQL_VIS_PART_COLUMNS "namespace_id, run_id, part, octet_length(data)"

struct dsql_vis_run {
    struct dsql_span namespace_id, run_id;
    int64_t bucket, status, close_inv, start_inv;
    bool there, deleted;
    bool has_status, has_times, has_memo;
    int64_t memo_len;                               /* in the row */
    struct dsql_span division, count_keyword, json; /* a pointer of NULL for NULL */
};

void dsql_vis_run_read(const struct dsql_rows *rows, size_t row, struct dsql_vis_run *run);

/* What one run has in another table: rows [from, to) of an answer, in the order of their keys. */
struct dsql_vis_some {
    const struct dsql_rows *rows;
    size_t from, to;
};

/* What is wrong with one run; kind is NULL if nothing is. */
struct dsql_vis_verdict {
    const char *kind;
    char detail[160];
    bool hopeless;        /* nothing here can mend it */
    bool has_wrong_parts; /* no part of a memo belongs to the run */
    bool has_wrong_memo;  /* parts are missing: what is left is no memo */
};

/* Compares a run with its postings and the parts of its memo. `expected` is what its attributes
 * should be posted as; fini it in any case. */
DSQL_MUST_USE enum dsql_rc dsql_vis_judge(const struct dsql_vis_run *run,
                                          const struct dsql_vis_some *postings,
                                          const struct dsql_vis_some *parts,
                                          struct dsql_visibility_attributes *expected,
                                          struct dsql_vis_verdict *verdict, struct dsql_err *err);

/* Mends one run in a transaction of its own. *repaired: whether it was, or needed it no more. */
DSQL_MUST_USE enum dsql_rc dsql_vis_mend(struct dsql_vis_check *check,
                                         struct dsql_span namespace_id, struct dsql_span run_id,
                                         bool *repaired);

/* Compares, and mends, the counters of every namespace. */
DSQL_MUST_USE enum dsql_rc dsql_vis_check_counts(struct dsql_vis_check *check);

/* The attributes of a row's JSON object as a record has them. Types follow from the JSON, from
 * the names that Temporal gives preallocated attributes, and from DSQL_VISIBILITY_TYPES. fini in
 * any case. */
DSQL_MUST_USE enum dsql_rc dsql_vis_attributes_of_json(struct dsql_span json, const char *mark,
                                                       struct dsql_visibility_attributes *out,
                                                       struct dsql_err *err);

/* < 0, 0, > 0, by bytes, as the database sorts. */
int dsql_vis_compare(struct dsql_span a, struct dsql_span b);
int dsql_vis_compare_keys(struct dsql_span ns_a, struct dsql_span run_a, struct dsql_span ns_b,
                          struct dsql_span run_b);

struct dsql_span dsql_vis_cell(const struct dsql_rows *rows, size_t row, size_t column);

#endif
