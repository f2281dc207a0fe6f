/*
 * The writes: one statement each, a transaction by itself.
 *
 * What a write changes besides the row follows from the row before and after, in the same snapshot:
 * postings that no longer hold go, the others come, and counters get -1 for what the run was and +1
 * for what it is. Two writes of one run both change its row, so that the database lets one of them
 * through and the other is made again on what the first left. A write that changes no row (an older
 * version, a run that is deleted) changes nothing else either: everything hangs on `put`.
 *
 * A tombstone is a state of the same row, not a row of another table: a record and a delete of a
 * run that is not there yet would not conflict, and both would win.
 */
#include "base/rng.h"
#include "visibility/attributes.h"
#include "visibility/keys.h"
#include "visibility/visibility.h"

enum {
    MEMO_PARTS_MAX = 7, /* beside the one in the row: a transaction takes 10 MiB */
    MEMO_MAX = (1 + MEMO_PARTS_MAX) * DSQL_VIS_MEMO_PART,
};

/* clang-format off */

/* The columns that are NULL in a tombstone, in the order of the parameters from $5 on. */
#define COLUMNS(X)                                                                              \
    X(division) X(status) X(close_inv) X(start_inv) X(execution_time)                           \
    X(workflow_id) X(workflow_type_name) X(task_queue) X(root_workflow_id) X(root_run_id)       \
    X(encoding) X(count_keyword)                                                                \
    X(execution_duration) X(history_length) X(history_size_bytes) X(state_transition_count)     \
    X(parent_workflow_id) X(parent_run_id) X(memo) X(search_attributes)

#define NAME(column)    ", " #column
#define REPLACE(column) ", " #column " = excluded." #column
#define EMPTY(column)   ", " #column " = NULL"

#define OLD                                                                                     \
    "old AS ("                                                                                  \
        "SELECT division, status, count_keyword, "                                              \
            "octet_length(memo) = " DSQL_VIS_MEMO_PART_SQL " AS goes_on "                       \
        "FROM executions_visibility "                                                           \
        "WHERE namespace_id = $1 AND run_id = $2 AND deleted_until IS NULL)"

#define INSERT_COUNT                                                                            \
    "INSERT INTO visibility_counts (namespace_id, division, status, count_keyword, id, delta) "

/* Only where there may be parts: most writes look for none. */
#define DROP_MEMOS(put)                                                                         \
    "dropped AS ("                                                                              \
        "DELETE FROM visibility_memos m USING old o" put " "                                    \
        "WHERE o.goes_on AND m.namespace_id = $1 AND m.run_id = $2 RETURNING 1), "

/* Parts $31 to $37, NULL for none. */
#define KEEP_MEMOS                                                                              \
    "parts AS ("                                                                                \
        "SELECT n.part, n.data FROM (VALUES (CAST(1 AS SMALLINT), $31), (2, $32), (3, $33), "   \
            "(4, $34), (5, $35), (6, $36), (7, $37)) AS n (part, data) "                        \
        "WHERE n.data IS NOT NULL), "                                                           \
    "kept AS ("                                                                                 \
        "INSERT INTO visibility_memos (namespace_id, run_id, part, data) "                      \
        "SELECT $1, $2, n.part, n.data FROM parts n, put "                                      \
        "ON CONFLICT (namespace_id, run_id, part) DO UPDATE SET data = excluded.data "          \
        "RETURNING 1), "                                                                        \
    "dropped AS ("                                                                              \
        "DELETE FROM visibility_memos m USING put "                                             \
        "WHERE m.namespace_id = $1 AND m.run_id = $2 "                                          \
            "AND NOT EXISTS (SELECT 1 FROM parts n WHERE n.part = m.part) RETURNING 1), "

static const uint32_t record_types[] = {
    DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_INT8, DSQL_OID_INT2, /* the run, version, bucket */
    DSQL_OID_TEXT, DSQL_OID_INT2, DSQL_OID_INT8, DSQL_OID_INT8, DSQL_OID_INT8, /* $5: COLUMNS */
    DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_TEXT,
    DSQL_OID_TEXT, DSQL_OID_TEXT,
    DSQL_OID_INT8, DSQL_OID_INT8, DSQL_OID_INT8, DSQL_OID_INT8,
    DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_BYTEA, DSQL_OID_JSONB,
    DSQL_OID_TEXT_ARRAY, DSQL_OID_TEXT_ARRAY, /* $25: the postings */
    DSQL_OID_BOOL,                            /* $27: only if there is no such run */
    DSQL_OID_INT8,                            /* $28: now */
    DSQL_OID_UUID, DSQL_OID_UUID,             /* $29: ids of counters */
    DSQL_OID_BYTEA, DSQL_OID_BYTEA, DSQL_OID_BYTEA, DSQL_OID_BYTEA, /* $31: KEEP_MEMOS */
    DSQL_OID_BYTEA, DSQL_OID_BYTEA, DSQL_OID_BYTEA,
};

#define RECORD(memos)                                                                           \
    "WITH " OLD ", "                                                                            \
    "put AS ("                                                                                  \
        "INSERT INTO executions_visibility AS v "                                               \
            "(namespace_id, run_id, _version, bucket" COLUMNS(NAME) ") "                        \
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, "\
            "$19, $20, $21, $22, $23, $24) "                                                    \
        "ON CONFLICT (namespace_id, run_id) DO UPDATE SET "                                     \
            "deleted_until = NULL, _version = excluded._version" COLUMNS(REPLACE) " "           \
        "WHERE (v.deleted_until IS NULL AND NOT $27 AND v._version < excluded._version) "       \
            "OR v.deleted_until <= $28 "                                                        \
        "RETURNING v.run_id), "                                                                 \
    "gone AS ("                                                                                 \
        "DELETE FROM visibility_postings p "                                                    \
        "WHERE p.namespace_id = $1 AND p.run_id = $2 AND EXISTS (SELECT 1 FROM put) "           \
            "AND NOT EXISTS (SELECT 1 FROM unnest($25, $26) AS n (attribute, value) "           \
                "WHERE n.attribute = p.attribute AND n.value = p.value) "                       \
        "RETURNING 1), "                                                                        \
    "posted AS ("                                                                               \
        "INSERT INTO visibility_postings AS p "                                                 \
            "(namespace_id, run_id, attribute, value, bucket, close_inv, start_inv) "           \
        "SELECT $1, $2, n.attribute, n.value, "                                                 \
            "CASE WHEN n.attribute = '" DSQL_VISIBILITY_MANY "' THEN 0 ELSE $4 END, $7, $8 "    \
        "FROM unnest($25, $26) AS n (attribute, value) WHERE EXISTS (SELECT 1 FROM put) "       \
        "ON CONFLICT (namespace_id, run_id, attribute, value) DO UPDATE "                       \
            "SET close_inv = excluded.close_inv, start_inv = excluded.start_inv "               \
        "WHERE p.close_inv <> excluded.close_inv OR p.start_inv <> excluded.start_inv "         \
        "RETURNING 1), "                                                                        \
    memos                                                                                       \
    "counted AS ("                                                                              \
        INSERT_COUNT                                                                            \
        "SELECT $1, c.division, c.status, c.count_keyword, c.id, c.delta FROM ("                \
            "SELECT $5 AS division, $6 AS status, $16 AS count_keyword, $29 AS id, "            \
                "CAST(1 AS BIGINT) AS delta FROM put "                                          \
            "UNION ALL "                                                                        \
            "SELECT o.division, o.status, o.count_keyword, $30, -1 FROM old o, put) AS c "      \
        "WHERE NOT EXISTS (SELECT 1 FROM old o "                                                \
            "WHERE o.division = $5 AND o.status = $6 AND o.count_keyword = $16) "               \
        "RETURNING 1) "                                                                         \
    "SELECT count(*) FROM put"

static const struct dsql_stmt record_stmt = {
    .name = "visibility_record",
    .sql = RECORD(DROP_MEMOS(", put")),
    .types = record_types,
    .flags = DSQL_STMT_PREPARE,
};

/* Of a run whose memo goes on. */
static const struct dsql_stmt record_long_stmt = {
    .name = "visibility_record_long",
    .sql = RECORD(KEEP_MEMOS),
    .types = record_types,
    .flags = DSQL_STMT_PREPARE,
};

static const uint32_t delete_types[] = {
    DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_INT2, /* the run, bucket */
    DSQL_OID_INT8,                               /* $4: deleted_until */
    DSQL_OID_UUID,                               /* $5: id of a counter */
};

static const struct dsql_stmt delete_stmt = {
    .name = "visibility_delete",
    .sql =
    "WITH " OLD ", "
    "put AS ("
        "INSERT INTO executions_visibility (namespace_id, run_id, _version, bucket, deleted_until) "
        "VALUES ($1, $2, 0, $3, $4) "
        "ON CONFLICT (namespace_id, run_id) DO UPDATE SET "
            "deleted_until = excluded.deleted_until" COLUMNS(EMPTY) " "
        "RETURNING 1), "
    "gone AS ("
        "DELETE FROM visibility_postings WHERE namespace_id = $1 AND run_id = $2 RETURNING 1), "
    DROP_MEMOS("")
    "counted AS ("
        INSERT_COUNT
        "SELECT $1, o.division, o.status, o.count_keyword, $5, -1 FROM old o RETURNING 1) "
    "SELECT count(*) FROM old",
    .types = delete_types,
    .flags = DSQL_STMT_PREPARE,
};

/* clang-format on */

struct write {
    const struct dsql_stmt *stmt;
    const struct dsql_param *params;
    size_t count;
    bool applied;
};

static enum dsql_rc run_write(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct write *write = arg;
    struct dsql_rows *rows = NULL;
    int64_t changed = 0;
    enum dsql_rc rc = dsql_tx_query(tx, write->stmt, write->params, write->count, &rows, err);
    if (!rc && !dsql_rows_i64(rows, 0, 0, &changed))
        rc = dsql_err_set(err, DSQL_PROTOCOL, "the cluster does not say how many rows it changed");
    write->applied = changed > 0;
    dsql_rows_free(rows);
    return rc;
}

static enum dsql_rc make_write(struct dsql_visibility *visibility, const char *operation,
                               const struct dsql_tx_policy *policy, struct write *write,
                               bool *applied, struct dsql_err *err)
{
    struct dsql_tx_policy its = dsql_visibility_write_policy(visibility, policy);
    enum dsql_rc rc = dsql_tx_run(visibility->pool, operation, run_write, write, &its, err);
    if (!rc && applied)
        *applied = write->applied;
    return rc;
}

/* A text that is never NULL. */
static struct dsql_param text(struct dsql_slice slice)
{
    return dsql_text_n(slice.ptr ? slice.ptr : "", slice.ptr ? slice.len : 0);
}

static struct dsql_param text_or_null(struct dsql_slice slice)
{
    return slice.ptr ? dsql_text_n(slice.ptr, slice.len) : dsql_null();
}

static struct dsql_param span_text(struct dsql_span span)
{
    return dsql_text_n(span.ptr, span.len);
}

static struct dsql_param number_or_null(int64_t value)
{
    return value == DSQL_NULL_I64 ? dsql_null() : dsql_i64(value);
}

static struct dsql_param array(const struct dsql_strbuf *bytes)
{
    return dsql_raw(bytes->ptr, bytes->len);
}

static struct dsql_param memo_part(struct dsql_slice memo, size_t part)
{
    size_t from = part * DSQL_VIS_MEMO_PART;
    if (!memo.ptr || (part > 0 && from >= memo.len))
        return dsql_null();
    size_t left = memo.len - from;
    return dsql_bytes((const char *)memo.ptr + from,
                      left < DSQL_VIS_MEMO_PART ? left : DSQL_VIS_MEMO_PART);
}

static enum dsql_rc check_id(const char *what, struct dsql_slice id, struct dsql_err *err)
{
    if (id.ptr && id.len > 0)
        return DSQL_OK;
    return dsql_err_set(err, DSQL_INVALID, "a run without a %s", what);
}

static enum dsql_rc check_ids(struct dsql_slice namespace_id, struct dsql_slice run_id,
                              struct dsql_err *err)
{
    enum dsql_rc rc = check_id("namespace id", namespace_id, err);
    return rc ? rc : check_id("run id", run_id, err);
}

static enum dsql_rc check_record(const struct dsql_visibility_record *record, struct dsql_err *err)
{
    enum dsql_rc rc = check_ids(record->namespace_id, record->run_id, err);
    if (!rc && record->memo.ptr && record->memo.len > MEMO_MAX)
        rc = dsql_err_set(err, DSQL_TOO_LARGE, "a memo of %zu bytes; a write takes %d",
                          record->memo.len, MEMO_MAX);
    if (!rc && (record->status < 0 || record->status > INT16_MAX))
        rc = dsql_err_set(err, DSQL_INVALID, "%d is no status", (int)record->status);
    return rc;
}

static int16_t bucket_of(struct dsql_slice run_id)
{
    return dsql_visibility_bucket((struct dsql_span){run_id.ptr, run_id.len});
}

/* Negative, so that the later comes first. The smallest number stays for open runs. */
static int64_t inverted(int64_t time_us)
{
    return time_us == INT64_MIN ? INT64_MIN : -time_us;
}

enum dsql_rc dsql_visibility_record(struct dsql_visibility *visibility,
                                    enum dsql_visibility_write write,
                                    const struct dsql_visibility_record *record,
                                    const struct dsql_tx_policy *policy, bool *applied,
                                    struct dsql_err *err)
{
    struct dsql_visibility_attributes made;
    unsigned char ids[2][16];
    enum dsql_rc rc = check_record(record, err);
    if (rc)
        return rc;
    rc = dsql_visibility_attributes_init(&made, record->attributes, record->attribute_count,
                                         dsql_visibility_mark(record->start_us, record->close_us),
                                         err);
    if (!rc) {
        dsql_random_bytes(ids, sizeof(ids));
        const struct dsql_param params[] = {
            text(record->namespace_id),
            text(record->run_id),
            dsql_i64(record->version),
            dsql_i16(bucket_of(record->run_id)),
            span_text(made.division),
            dsql_i16((int16_t)record->status),
            dsql_i64(inverted(record->close_us)),
            dsql_i64(inverted(record->start_us)),
            dsql_i64(record->execution_us),
            text(record->workflow_id),
            text(record->workflow_type),
            text(record->task_queue),
            text(record->root_workflow_id),
            text(record->root_run_id),
            text(record->encoding),
            span_text(made.count_keyword),
            number_or_null(record->execution_duration_ns),
            number_or_null(record->history_length),
            number_or_null(record->history_size_bytes),
            number_or_null(record->state_transition_count),
            text_or_null(record->parent_workflow_id),
            text_or_null(record->parent_run_id),
            memo_part(record->memo, 0),
            made.json.len > 0 ? dsql_text(made.json.ptr) : dsql_null(),
            array(&made.names),
            array(&made.values),
            dsql_bool(write == DSQL_VISIBILITY_STARTED),
            dsql_i64(dsql_visibility_now_us(visibility)),
            dsql_uuid(ids[0]),
            dsql_uuid(ids[1]),
            memo_part(record->memo, 1),
            memo_part(record->memo, 2),
            memo_part(record->memo, 3),
            memo_part(record->memo, 4),
            memo_part(record->memo, 5),
            memo_part(record->memo, 6),
            memo_part(record->memo, 7),
        };
        static_assert(DSQL_COUNT_OF(params) == DSQL_COUNT_OF(record_types), "each has a type");
        bool goes_on = record->memo.len > DSQL_VIS_MEMO_PART;
        struct write its = {.stmt = goes_on ? &record_long_stmt : &record_stmt,
                            .params = params,
                            .count = DSQL_COUNT_OF(params) - (goes_on ? 0 : MEMO_PARTS_MAX)};
        rc = make_write(visibility, "RecordVisibility", policy, &its, applied, err);
    }
    dsql_visibility_attributes_fini(&made);
    return rc;
}

enum dsql_rc dsql_visibility_delete(struct dsql_visibility *visibility,
                                    struct dsql_slice namespace_id, struct dsql_slice run_id,
                                    const struct dsql_tx_policy *policy, bool *applied,
                                    struct dsql_err *err)
{
    unsigned char id[16];
    enum dsql_rc rc = check_ids(namespace_id, run_id, err);
    if (rc)
        return rc;
    dsql_random_bytes(id, sizeof(id));
    const struct dsql_param params[] = {
        text(namespace_id),
        text(run_id),
        dsql_i16(bucket_of(run_id)),
        dsql_i64(dsql_visibility_now_us(visibility) + visibility->options.tombstone_ns / DSQL_US),
        dsql_uuid(id),
    };
    struct write its = {&delete_stmt, params, DSQL_COUNT_OF(params), false};
    return make_write(visibility, "DeleteVisibility", policy, &its, applied, err);
}
