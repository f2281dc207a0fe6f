/*
 * Temporal's visibility on Aurora DSQL: one row for each run, its search attributes as postings,
 * and counters, kept in step by one statement for each write. `dsql schema apply` brings the tables
 * in; docs/visibility.md explains them. Lists and counts are in dsql/visibility_query.h.
 *
 *     struct dsql_visibility *visibility;
 *     rc = dsql_visibility_open(pool, NULL, &visibility, &err);
 *     rc = dsql_visibility_record(visibility, DSQL_VISIBILITY_CLOSED, &record, NULL, NULL, &err);
 *
 * Order of arrival: a record with an older version never replaces a newer one. A deleted run leaves
 * a tombstone for a while, so that a record that comes late does not bring it back. A write that is
 * made twice changes nothing the second time; a write whose outcome is unknown is therefore made
 * again by the library.
 *
 * A handle is safe from any thread. err may be NULL everywhere, and so may a policy: the handle's.
 */
#ifndef DSQL_VISIBILITY_H
#define DSQL_VISIBILITY_H

#include "dsql/slice.h"
#include "dsql/tx.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dsql_visibility;

struct dsql_visibility_options {
    struct dsql_tx_policy policy; /* of calls that bring none of their own */
    int64_t tombstone_ns;         /* how long a deleted run stays deleted */
};

/* The default policy with two reconnects; tombstones of 24 hours. */
DSQL_API void dsql_visibility_options_default(struct dsql_visibility_options *options);

/* The pool must outlive the handle. options may be NULL. Asks the cluster nothing. */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_visibility_open(struct dsql_pool *pool, const struct dsql_visibility_options *options,
                     struct dsql_visibility **visibility, struct dsql_err *err);

/* Frees it; the pool stays open. No call may be under way. NULL is fine. */
DSQL_API void dsql_visibility_close(struct dsql_visibility *visibility);

/* As dsql_store_verify_schema() in dsql/temporal.h, for the tables of visibility. */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_visibility_verify_schema(struct dsql_visibility *visibility, int64_t wait_ns,
                              struct dsql_err *err);

/* -- Writes. */

/* The types of search attributes, with Temporal's numbers. */
enum dsql_visibility_type {
    DSQL_VISIBILITY_TEXT = 1,
    DSQL_VISIBILITY_KEYWORD = 2,
    DSQL_VISIBILITY_INT = 3,
    DSQL_VISIBILITY_DOUBLE = 4,
    DSQL_VISIBILITY_BOOL = 5,
    DSQL_VISIBILITY_DATETIME = 6,
    DSQL_VISIBILITY_KEYWORD_LIST = 7,
};

/* A search attribute. Its values are texts: an INT and a DOUBLE in decimal, a BOOL as true or
 * false, a DATETIME in UTC with nanoseconds, 2006-01-02T15:04:05.000000000Z. A KEYWORD_LIST has any
 * number of values, every other type has one. */
struct dsql_visibility_attribute {
    struct dsql_slice name;
    enum dsql_visibility_type type;
    const struct dsql_slice *values;
    size_t count;
};

#define DSQL_VISIBILITY_OPEN INT64_MIN /* the close time of an open run */

/* What is known of a run. Times are microseconds since 1970. */
struct dsql_visibility_record {
    struct dsql_slice namespace_id, run_id;
    int64_t version; /* a later record has a greater one */
    int32_t status;  /* Temporal's number */
    int64_t start_us, execution_us;
    int64_t close_us; /* DSQL_VISIBILITY_OPEN for an open run */
    struct dsql_slice workflow_id, workflow_type, task_queue;
    struct dsql_slice root_workflow_id, root_run_id;
    struct dsql_slice parent_workflow_id, parent_run_id; /* a pointer of NULL for none */
    struct dsql_slice memo, encoding;                    /* a memo pointer of NULL for none */
    /* DSQL_NULL_I64 for what is not known. */
    int64_t execution_duration_ns, history_length, history_size_bytes, state_transition_count;
    const struct dsql_visibility_attribute *attributes;
    size_t attribute_count;
};

enum dsql_visibility_write {
    DSQL_VISIBILITY_STARTED, /* inserts the run unless it is there */
    DSQL_VISIBILITY_UPSERT,  /* inserts it, or replaces an older version */
    DSQL_VISIBILITY_CLOSED,  /* inserts the closed run, or replaces an older version */
};

/*
 * Writes a record, in one round trip. *applied (may be NULL): whether it changed anything; false
 * where the run is there (STARTED), as new or newer, or deleted. DSQL_INVALID for a value that is
 * not of its type or no UTF-8, DSQL_TOO_LARGE for a memo above 8 MiB.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_visibility_record(struct dsql_visibility *visibility, enum dsql_visibility_write write,
                       const struct dsql_visibility_record *record,
                       const struct dsql_tx_policy *policy, bool *applied, struct dsql_err *err);

/* Deletes a run, known or not, in one round trip. *applied (may be NULL): whether there was one. */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_visibility_delete(struct dsql_visibility *visibility,
                                                           struct dsql_slice namespace_id,
                                                           struct dsql_slice run_id,
                                                           const struct dsql_tx_policy *policy,
                                                           bool *applied, struct dsql_err *err);

/* -- Upkeep. */

struct dsql_visibility_compacted {
    int64_t counters;   /* rows of counters that were replaced by their sums */
    int64_t tombstones; /* that had ended and are gone */
    int64_t conflicts;  /* with another process at the same rows: nothing is lost */
    bool more;          /* there was more than one call does */
};

/*
 * Replaces counters by their sums and removes tombstones that have ended, in transactions of at
 * most 1,000 rows. To be called every now and then, by any number of processes at once: they begin
 * at random places. Lists and counts are right without it, but counts read every counter of a
 * namespace. One call does at most 200 transactions. If nothing is left to do, and the pool has
 * metrics, the gauges dsql_visibility_runs are set from the counters.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_visibility_compact(struct dsql_visibility *visibility, const struct dsql_tx_policy *policy,
                        struct dsql_visibility_compacted *compacted, struct dsql_err *err);

/* -- Looking for damage. */

/* One thing that is not as it should be: of each run at most one, the first that is found; a repair
 * mends all of that run that can be mended. Pointers live during the call. */
struct dsql_visibility_finding {
    /* "row": a column that does not follow from the others; "tombstone": values of a deleted run;
     * "missing posting", "wrong posting", "orphaned postings": of no run; "memo": one whose parts
     * are not all there, which a repair takes away; "orphaned memo parts": of no memo; "counter":
     * not the number of runs */
    const char *kind;
    struct dsql_slice namespace_id;
    struct dsql_slice run_id; /* empty for a counter */
    const char *detail;
    bool repaired;
};

/* Told of each finding, and every now and then how far it got; both may be NULL. */
struct dsql_visibility_watch {
    void (*see)(void *arg, const struct dsql_visibility_finding *finding);
    void (*progress)(void *arg, int64_t runs, int64_t postings);
    void *arg;
};

struct dsql_visibility_checked {
    int64_t runs, tombstones, postings, namespaces;
    int64_t findings, repaired;
};

/*
 * Compares rows, postings, parts of memos and counters, each run in one snapshot and each
 * namespace's counters in one, while everybody goes on: what is found is damage, never a write that
 * is under way. Rows and what is beside them are read 100 runs a transaction. A namespace's runs
 * are counted 10,000 at a time in one transaction, which the service ends after 5 minutes. watch
 * and checked may be NULL.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_visibility_check(struct dsql_visibility *visibility,
                                                          const struct dsql_visibility_watch *watch,
                                                          const struct dsql_tx_policy *policy,
                                                          struct dsql_visibility_checked *checked,
                                                          struct dsql_err *err);

/* Does what dsql_visibility_check() does, and mends what it finds, run by run: the row counts,
 * postings and counters follow it. Conflicts with writes are run again by the policy. */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_visibility_repair(struct dsql_visibility *visibility,
                       const struct dsql_visibility_watch *watch,
                       const struct dsql_tx_policy *policy, struct dsql_visibility_checked *checked,
                       struct dsql_err *err);

#ifdef __cplusplus
}
#endif
#endif
