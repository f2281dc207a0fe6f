/*
 * What writes leave behind: counters, which are only ever inserted, and tombstones that have ended.
 *
 * A compaction is one statement: it deletes exactly the counters it read and inserts their sum, so
 * that the sum of all of them is the same in every snapshot. Writers insert rows of their own and
 * never meet it. Two compactors that take the same rows conflict, and one of them has done the work
 * for both; they begin at random ids, so that this is rare.
 */
#include "base/rng.h"
#include "pool/pool.h"
#include "visibility/keys.h"
#include "visibility/visibility.h"

enum {
    ROWS_MAX = 1000,        /* of a transaction; the service takes 3,000 */
    TRANSACTIONS_MAX = 200, /* of one call */
    CONFLICTS_MAX = 3,      /* of one group of counters: another process is at it */
};

static const unsigned char first_id[16],
    last_id[16] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

struct group { /* of counters that have one sum */
    struct dsql_span namespace_id, division, count_keyword;
    int64_t status;
};

struct compaction {
    struct dsql_visibility *visibility;
    struct dsql_tx_policy reads, writes;
    struct dsql_visibility_compacted *out;
    int transactions;
    struct dsql_err *err;
};

static const uint32_t page_types[] = {DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_INT2,
                                      DSQL_OID_TEXT, DSQL_OID_UUID, DSQL_OID_INT8};
static const struct dsql_stmt page_stmt = {
    .name = "visibility_counts_page",
    .sql = "SELECT namespace_id, division, status, count_keyword FROM visibility_counts "
           "WHERE (namespace_id, division, status, count_keyword, id) > ($1, $2, $3, $4, $5) "
           "ORDER BY namespace_id, division, status, count_keyword, id LIMIT $6",
    .types = page_types,
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
};

/* $5: the id to begin at; $6: how many; $7: the sum's. */
static const uint32_t merge_types[] = {DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_INT2, DSQL_OID_TEXT,
                                       DSQL_OID_UUID, DSQL_OID_INT8, DSQL_OID_UUID};
static const struct dsql_stmt merge_stmt = {
    .name = "visibility_counts_merge",
    .sql = "WITH taken AS (SELECT id FROM visibility_counts WHERE namespace_id = $1 "
           "AND division = $2 AND status = $3 AND count_keyword = $4 AND id >= $5 "
           "ORDER BY id LIMIT $6), "
           "gone AS (DELETE FROM visibility_counts c USING taken t WHERE c.namespace_id = $1 "
           "AND c.division = $2 AND c.status = $3 AND c.count_keyword = $4 AND c.id = t.id "
           "RETURNING c.delta), "
           "merged AS (INSERT INTO visibility_counts "
           "(namespace_id, division, status, count_keyword, id, delta) "
           "SELECT $1, $2, $3, $4, $7, sum(delta) FROM gone HAVING sum(delta) <> 0 RETURNING 1) "
           "SELECT count(*) FROM gone",
    .types = merge_types,
    .flags = DSQL_STMT_PREPARE,
};

static const uint32_t sweep_types[] = {DSQL_OID_INT2, DSQL_OID_INT8, DSQL_OID_INT8};
static const struct dsql_stmt sweep_stmt = {
    .name = "visibility_sweep",
    .sql = "WITH ended AS (SELECT namespace_id, run_id FROM executions_visibility "
           "WHERE bucket = $1 AND deleted_until IS NOT NULL AND deleted_until <= $2 "
           "ORDER BY deleted_until LIMIT $3), "
           "gone AS (DELETE FROM executions_visibility v USING ended e "
           "WHERE v.namespace_id = e.namespace_id AND v.run_id = e.run_id "
           "AND v.deleted_until <= $2 RETURNING 1) "
           "SELECT count(*) FROM gone",
    .types = sweep_types,
    .flags = DSQL_STMT_PREPARE,
};

struct call {
    const struct dsql_stmt *stmt;
    const struct dsql_param *params;
    size_t count;
    struct dsql_rows *rows;
};

static enum dsql_rc run_call(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct call *call = arg;
    dsql_rows_free(call->rows);
    call->rows = NULL;
    return dsql_tx_query(tx, call->stmt, call->params, call->count, &call->rows, err);
}

static enum dsql_rc ask(struct compaction *c, struct call *call,
                        const struct dsql_tx_policy *policy)
{
    c->transactions++;
    enum dsql_rc rc =
        dsql_tx_run(c->visibility->pool, "CompactVisibility", run_call, call, policy, c->err);
    if (rc) {
        dsql_rows_free(call->rows);
        call->rows = NULL;
    }
    return rc;
}

/* Runs a statement that says how many rows it removed: 0 where another process did. What became of
 * it when no answer came does not matter, since it was applied as a whole or not at all. */
static enum dsql_rc remove_rows(struct compaction *c, struct call *call, int64_t *removed)
{
    *removed = 0;
    enum dsql_rc rc = ask(c, call, &c->writes);
    if (dsql_rc_class(rc) == DSQL_CLASS_RETRY || rc == DSQL_COMMIT_UNKNOWN) {
        c->out->conflicts++;
        return DSQL_OK;
    }
    if (!rc && !dsql_rows_i64(call->rows, 0, 0, removed))
        rc = dsql_err_set(c->err, DSQL_PROTOCOL,
                          "the cluster does not say how many rows it changed");
    dsql_rows_free(call->rows);
    return rc;
}

static bool has_time(const struct compaction *c)
{
    return c->transactions < TRANSACTIONS_MAX;
}

static enum dsql_rc merge(struct compaction *c, const struct group *group,
                          const unsigned char from[16], int64_t *removed)
{
    unsigned char id[16];
    dsql_random_bytes(id, sizeof(id));
    const struct dsql_param params[] = {
        dsql_text_n(group->namespace_id.ptr, group->namespace_id.len),
        dsql_text_n(group->division.ptr, group->division.len),
        dsql_i16((int16_t)group->status),
        dsql_text_n(group->count_keyword.ptr, group->count_keyword.len),
        dsql_uuid(from),
        dsql_i64(ROWS_MAX),
        dsql_uuid(id),
    };
    struct call call = {&merge_stmt, params, DSQL_COUNT_OF(params), NULL};
    enum dsql_rc rc = remove_rows(c, &call, removed);
    c->out->counters += *removed;
    return rc;
}

/* A group with at least two counters, until there is one or none. Portions begin at random ids
 * until one is not full; the next begins at the first id, and when that is not full either, it was
 * all. */
static enum dsql_rc merge_group(struct compaction *c, const struct group *group)
{
    unsigned char from[16];
    enum dsql_rc rc = DSQL_OK;
    int64_t removed = ROWS_MAX, before = c->out->conflicts;
    bool whole = false;
    while (!rc && has_time(c) && !whole && c->out->conflicts < before + CONFLICTS_MAX) {
        bool from_first = removed < ROWS_MAX;
        dsql_random_bytes(from, sizeof(from));
        rc = merge(c, group, from_first ? first_id : from, &removed);
        whole = from_first && removed < ROWS_MAX;
    }
    return rc;
}

static bool read_group(const struct dsql_rows *rows, size_t row, struct group *group)
{
    struct dsql_span *const texts[] = {&group->namespace_id, &group->division, NULL,
                                       &group->count_keyword};
    for (size_t column = 0; column < DSQL_COUNT_OF(texts); column++)
        if (texts[column])
            texts[column]->ptr = dsql_rows_bytes(rows, row, column, &texts[column]->len);
    return dsql_rows_i64(rows, row, 2, &group->status);
}

static bool same_group(const struct group *a, const struct group *b)
{
    return a->status == b->status && dsql_span_eq(a->namespace_id, b->namespace_id) &&
           dsql_span_eq(a->division, b->division) &&
           dsql_span_eq(a->count_keyword, b->count_keyword);
}

/* Counters in the order of their key; those of one group stand together. */
static enum dsql_rc merge_page(struct compaction *c, const struct dsql_rows *rows)
{
    size_t count = dsql_rows_count(rows);
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0, next; !rc && i < count && has_time(c); i = next) {
        struct group group = {0}, other = {0};
        if (!read_group(rows, i, &group))
            return dsql_err_set(c->err, DSQL_PROTOCOL, "a counter without a status");
        for (next = i + 1; next < count && read_group(rows, next, &other); next++)
            if (!same_group(&group, &other))
                break;
        if (next > i + 1)
            rc = merge_group(c, &group);
    }
    return rc;
}

static enum dsql_rc merge_counters(struct compaction *c)
{
    struct group after = {{"", 0}, {"", 0}, {"", 0}, INT16_MIN};
    struct dsql_rows *page = NULL;
    enum dsql_rc rc = DSQL_OK;
    size_t count;
    do {
        const struct dsql_param params[] = {
            dsql_text_n(after.namespace_id.ptr, after.namespace_id.len),
            dsql_text_n(after.division.ptr, after.division.len),
            dsql_i16((int16_t)after.status),
            dsql_text_n(after.count_keyword.ptr, after.count_keyword.len),
            dsql_uuid(last_id),
            dsql_i64(ROWS_MAX),
        };
        struct call call = {&page_stmt, params, DSQL_COUNT_OF(params), NULL};
        rc = ask(c, &call, &c->reads);
        dsql_rows_free(page); /* the parameters were in it */
        page = call.rows;
        count = dsql_rows_count(page);
        if (!rc)
            rc = merge_page(c, page);
        if (!rc && count > 0)
            (void)read_group(page, count - 1, &after);
    } while (!rc && count == ROWS_MAX && has_time(c));
    dsql_rows_free(page);
    return rc;
}

static enum dsql_rc sweep(struct compaction *c)
{
    struct dsql_rng rng = dsql_rng_from_os();
    int64_t shift = dsql_rng_between(&rng, 0, DSQL_VISIBILITY_BUCKETS - 1);
    enum dsql_rc rc = DSQL_OK;
    for (int i = 0; !rc && i < DSQL_VISIBILITY_BUCKETS; i++) {
        const struct dsql_param params[] = {
            dsql_i16((int16_t)((i + shift) % DSQL_VISIBILITY_BUCKETS)),
            dsql_i64(dsql_visibility_now_us(c->visibility)),
            dsql_i64(ROWS_MAX),
        };
        int64_t removed = ROWS_MAX;
        while (!rc && removed == ROWS_MAX && has_time(c)) {
            struct call call = {&sweep_stmt, params, DSQL_COUNT_OF(params), NULL};
            rc = remove_rows(c, &call, &removed);
            c->out->tombstones += removed;
        }
    }
    return rc;
}

enum dsql_rc dsql_visibility_compact(struct dsql_visibility *visibility,
                                     const struct dsql_tx_policy *policy,
                                     struct dsql_visibility_compacted *compacted,
                                     struct dsql_err *err)
{
    struct dsql_visibility_compacted own = {0};
    struct compaction c = {.visibility = visibility,
                           .reads = policy ? *policy : visibility->options.policy,
                           .out = compacted ? compacted : &own,
                           .err = err};
    *c.out = (struct dsql_visibility_compacted){0};
    c.reads.single = true;
    c.reads.read_only = false;
    c.reads.settle = NULL;
    c.writes = c.reads;
    c.writes.retry.max_retries = 0; /* a compaction that conflicts has been overtaken */
    enum dsql_rc rc = merge_counters(&c);
    if (!rc)
        rc = sweep(&c);
    c.out->more = !has_time(&c);
    if (!rc && !c.out->more && visibility->pool->metrics)
        rc = dsql_visibility_measure(visibility, &c.reads, err);
    return rc;
}
