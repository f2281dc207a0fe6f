/* One run: its row against its postings and the parts of its memo, and what mends it. */
#include <stdio.h>

#include "base/shown.h"
#include "visibility/check.h"
#include "visibility/keys.h"

struct dsql_span dsql_vis_cell(const struct dsql_rows *rows, size_t row, size_t column)
{
    struct dsql_span text = {NULL, 0};
    text.ptr = dsql_rows_bytes(rows, row, column, &text.len);
    return text;
}

int dsql_vis_compare(struct dsql_span a, struct dsql_span b)
{
    size_t least = a.len < b.len ? a.len : b.len;
    int order = least > 0 ? memcmp(a.ptr, b.ptr, least) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

int dsql_vis_compare_keys(struct dsql_span ns_a, struct dsql_span run_a, struct dsql_span ns_b,
                          struct dsql_span run_b)
{
    int order = dsql_vis_compare(ns_a, ns_b);
    return order ? order : dsql_vis_compare(run_a, run_b);
}

void dsql_vis_run_read(const struct dsql_rows *rows, size_t row, struct dsql_vis_run *run)
{
    *run = (struct dsql_vis_run){
        .namespace_id = dsql_vis_cell(rows, row, 0),
        .run_id = dsql_vis_cell(rows, row, 1),
        .there = true,
        .deleted = !dsql_rows_is_null(rows, row, 3),
        .division = dsql_vis_cell(rows, row, 4),
        .count_keyword = dsql_vis_cell(rows, row, 8),
        .json = dsql_vis_cell(rows, row, 9),
    };
    (void)dsql_rows_i64(rows, row, 2, &run->bucket);
    run->has_status = dsql_rows_i64(rows, row, 5, &run->status);
    run->has_times = dsql_rows_i64(rows, row, 6, &run->close_inv) &&
                     dsql_rows_i64(rows, row, 7, &run->start_inv);
    run->has_memo = dsql_rows_i64(rows, row, 10, &run->memo_len);
}

static void say(struct dsql_vis_verdict *verdict, const char *kind, const char *what,
                struct dsql_span name)
{
    verdict->kind = kind;
    (void)snprintf(verdict->detail, sizeof(verdict->detail), "%s%s%.100s", what,
                   name.len ? " " : "", dsql_shown(name).text);
}

/* The postings of `names` and `values`, one after the other. */
struct expected {
    const char *name, *value;
    size_t left;
};

static struct expected expected_of(const struct dsql_visibility_attributes *attributes)
{
    enum { HEAD = 20 };
    size_t head = attributes->postings > 0 ? HEAD : 0;
    return (struct expected){attributes->names.ptr + head, attributes->values.ptr + head,
                             attributes->postings};
}

static struct dsql_span member(const char *at)
{
    const unsigned char *bytes = (const unsigned char *)at;
    uint32_t len =
        (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    return (struct dsql_span){at + 4, len};
}

static void next_expected(struct expected *expected)
{
    expected->left--;
    expected->name += 4 + member(expected->name).len;
    expected->value += 4 + member(expected->value).len;
}

static bool is_in_place(const struct dsql_vis_run *run, const struct dsql_rows *rows, size_t row)
{
    int64_t bucket = -1, close_inv = 0, start_inv = 0;
    bool many = dsql_span_eq(dsql_vis_cell(rows, row, 2), DSQL_SPAN(DSQL_VISIBILITY_MANY));
    return dsql_rows_i64(rows, row, 4, &bucket) && dsql_rows_i64(rows, row, 5, &close_inv) &&
           dsql_rows_i64(rows, row, 6, &start_inv) && bucket == (many ? 0 : run->bucket) &&
           close_inv == run->close_inv && start_inv == run->start_inv;
}

static void judge_postings(const struct dsql_vis_run *run, const struct dsql_vis_some *postings,
                           const struct dsql_visibility_attributes *attributes,
                           struct dsql_vis_verdict *verdict)
{
    struct expected expected = expected_of(attributes);
    size_t at = postings->from;
    while (!verdict->kind && (at < postings->to || expected.left > 0)) {
        struct dsql_span attribute = dsql_vis_cell(postings->rows, at, 2);
        int order = at == postings->to ? 1 : expected.left == 0 ? -1 : 0;
        if (order == 0)
            order = dsql_vis_compare_keys(attribute, dsql_vis_cell(postings->rows, at, 3),
                                          member(expected.name), member(expected.value));
        if (order > 0)
            say(verdict, "missing posting", "of", member(expected.name));
        else if (order < 0)
            say(verdict, "wrong posting", "a value that the run does not have, of", attribute);
        else if (!is_in_place(run, postings->rows, at))
            say(verdict, "wrong posting", "other times or another bucket than the run, of",
                attribute);
        at++;
        if (expected.left > 0)
            next_expected(&expected);
    }
}

static bool same(struct dsql_span found, struct dsql_span wanted)
{
    return found.ptr && dsql_span_eq(found, wanted);
}

static void judge_row(const struct dsql_vis_run *run,
                      const struct dsql_visibility_attributes *attributes,
                      struct dsql_vis_verdict *verdict)
{
    struct dsql_span none = {"", 0};
    if (!run->has_status || !run->has_times) {
        say(verdict, "row", "no status or no times", none);
        verdict->hopeless = true;
    } else if (run->bucket != dsql_visibility_bucket(run->run_id)) {
        say(verdict, "row", "another bucket than the run id's", none);
    } else if (!same(run->division, attributes->division)) {
        say(verdict, "row", "another division than among its attributes", none);
    } else if (!same(run->count_keyword, attributes->count_keyword)) {
        say(verdict, "row", "another count_keyword than among its attributes", none);
    }
}

/* A memo that fills its column may go on: parts from 1 on, all but the last one whole. */
static bool is_whole_memo(const struct dsql_vis_some *parts)
{
    int64_t before = DSQL_VIS_MEMO_PART;
    for (size_t at = parts->from; at < parts->to; at++) {
        int64_t part = 0, len = 0;
        if (!dsql_rows_i64(parts->rows, at, 2, &part) || !dsql_rows_i64(parts->rows, at, 3, &len) ||
            part != (int64_t)(at - parts->from) + 1 || before != DSQL_VIS_MEMO_PART || len < 1)
            return false;
        before = len;
    }
    return true;
}

static void judge_memo(const struct dsql_vis_run *run, const struct dsql_vis_some *parts,
                       struct dsql_vis_verdict *verdict)
{
    const struct dsql_span none = {"", 0};
    bool goes_on = run->has_memo && run->memo_len == DSQL_VIS_MEMO_PART;
    verdict->has_wrong_parts = !goes_on && parts->from < parts->to;
    verdict->has_wrong_memo = goes_on && !is_whole_memo(parts);
    if (verdict->kind)
        return;
    if (verdict->has_wrong_parts)
        say(verdict, "orphaned memo parts", "of a run whose memo has none", none);
    else if (verdict->has_wrong_memo)
        say(verdict, "memo", "parts are missing or wrong", none);
}

static void judge_dead(const struct dsql_vis_run *run, const struct dsql_vis_some *postings,
                       const struct dsql_vis_some *parts, struct dsql_vis_verdict *verdict)
{
    const struct dsql_span none = {"", 0};
    const char *whose = run->there ? "of a deleted run" : "of no run";
    bool has_values = run->division.ptr || run->has_status || run->json.ptr || run->has_times ||
                      run->count_keyword.ptr || run->has_memo;
    if (postings->from < postings->to)
        say(verdict, "orphaned postings", whose, none);
    else if (parts->from < parts->to)
        say(verdict, "orphaned memo parts", whose, none);
    else if (has_values)
        say(verdict, "tombstone", "values of a deleted run", none);
}

static int64_t time_of(int64_t inverted)
{
    return inverted == INT64_MIN ? INT64_MIN : -inverted;
}

enum dsql_rc dsql_vis_judge(const struct dsql_vis_run *run, const struct dsql_vis_some *postings,
                            const struct dsql_vis_some *parts,
                            struct dsql_visibility_attributes *expected,
                            struct dsql_vis_verdict *verdict, struct dsql_err *err)
{
    *verdict = (struct dsql_vis_verdict){0};
    bool live = run->there && !run->deleted;
    const char *mark =
        live ? dsql_visibility_mark(time_of(run->start_inv), time_of(run->close_inv)) : NULL;
    enum dsql_rc rc = dsql_vis_attributes_of_json(live ? run->json : (struct dsql_span){NULL, 0},
                                                  mark, expected, err);
    if (rc)
        return rc;
    if (!live) {
        judge_dead(run, postings, parts, verdict);
        return DSQL_OK;
    }
    judge_row(run, expected, verdict);
    if (!verdict->kind)
        judge_postings(run, postings, expected, verdict);
    judge_memo(run, parts, verdict);
    return DSQL_OK;
}

/* -- Mending. */

static const uint32_t key_types[] = {DSQL_OID_TEXT, DSQL_OID_TEXT};
static const struct dsql_stmt lock_run_stmt = {
    .name = "visibility_repair_lock",
    .sql = "SELECT " DSQL_VIS_RUN_COLUMNS " FROM executions_visibility "
           "WHERE namespace_id = $1 AND run_id = $2 FOR UPDATE",
    .types = key_types,
};
static const struct dsql_stmt postings_stmt = {
    .name = "visibility_repair_postings",
    .sql = "SELECT " DSQL_VIS_POSTING_COLUMNS " FROM visibility_postings "
           "WHERE namespace_id = $1 AND run_id = $2 ORDER BY attribute, value",
    .types = key_types,
};

static const struct dsql_stmt parts_stmt = {
    .name = "visibility_repair_parts",
    .sql = "SELECT " DSQL_VIS_PART_COLUMNS " FROM visibility_memos "
           "WHERE namespace_id = $1 AND run_id = $2 ORDER BY part",
    .types = key_types,
};

/* $3: bucket; $4: division; $5: count_keyword. */
static const uint32_t row_types[] = {DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_INT2, DSQL_OID_TEXT,
                                     DSQL_OID_TEXT};
static const struct dsql_stmt mend_row_stmt = {
    .name = "visibility_repair_row",
    .sql = "UPDATE executions_visibility SET bucket = $3, division = $4, count_keyword = $5 "
           "WHERE namespace_id = $1 AND run_id = $2",
    .types = row_types,
};

/* $3 and $4: the postings that there should be; $5: bucket; $6 and $7: times. */
static const uint32_t posting_types[] = {DSQL_OID_TEXT,       DSQL_OID_TEXT, DSQL_OID_TEXT_ARRAY,
                                         DSQL_OID_TEXT_ARRAY, DSQL_OID_INT2, DSQL_OID_INT8,
                                         DSQL_OID_INT8};
static const struct dsql_stmt mend_postings_stmt = {
    .name = "visibility_repair_post",
    .sql = "WITH gone AS (DELETE FROM visibility_postings p "
           "WHERE p.namespace_id = $1 AND p.run_id = $2 "
           "AND NOT EXISTS (SELECT 1 FROM unnest($3, $4) AS n (attribute, value) "
           "WHERE n.attribute = p.attribute AND n.value = p.value) RETURNING 1) "
           "INSERT INTO visibility_postings "
           "(namespace_id, run_id, attribute, value, bucket, close_inv, start_inv) "
           "SELECT $1, $2, n.attribute, n.value, "
           "CASE WHEN n.attribute = '" DSQL_VISIBILITY_MANY "' THEN 0 ELSE $5 END, $6, $7 "
           "FROM unnest($3, $4) AS n (attribute, value) "
           "ON CONFLICT (namespace_id, run_id, attribute, value) DO UPDATE SET "
           "bucket = excluded.bucket, close_inv = excluded.close_inv, "
           "start_inv = excluded.start_inv",
    .types = posting_types,
};
static const struct dsql_stmt drop_postings_stmt = {
    .name = "visibility_repair_drop",
    .sql = "DELETE FROM visibility_postings WHERE namespace_id = $1 AND run_id = $2",
    .types = key_types,
};

static const struct dsql_stmt drop_memos_stmt = {
    .name = "visibility_repair_memos",
    .sql = "DELETE FROM visibility_memos WHERE namespace_id = $1 AND run_id = $2",
    .types = key_types,
};

static const struct dsql_stmt forget_memo_stmt = {
    .name = "visibility_repair_memo",
    .sql = "UPDATE executions_visibility SET memo = NULL WHERE namespace_id = $1 AND run_id = $2",
    .types = key_types,
};

/* A tombstone that ends at once: a record of the same run conflicts with it, and would otherwise
 * lose the postings that are deleted here because no run has them. $3: bucket; $4: deleted_until.
 */
static const uint32_t tomb_types[] = {DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_INT2, DSQL_OID_INT8};
static const struct dsql_stmt tomb_stmt = {
    .name = "visibility_repair_tomb",
    .sql = "INSERT INTO executions_visibility (namespace_id, run_id, _version, bucket, "
           "deleted_until) VALUES ($1, $2, 0, $3, $4)",
    .types = tomb_types,
};
static const struct dsql_stmt empty_stmt = {
    .name = "visibility_repair_empty",
    .sql =
        "UPDATE executions_visibility SET division = NULL, status = NULL, close_inv = NULL, "
        "start_inv = NULL, execution_time = NULL, workflow_id = NULL, workflow_type_name = NULL, "
        "task_queue = NULL, root_workflow_id = NULL, root_run_id = NULL, encoding = NULL, "
        "count_keyword = NULL, execution_duration = NULL, history_length = NULL, "
        "history_size_bytes = NULL, state_transition_count = NULL, parent_workflow_id = NULL, "
        "parent_run_id = NULL, memo = NULL, search_attributes = NULL "
        "WHERE namespace_id = $1 AND run_id = $2",
    .types = key_types,
};

struct mend {
    struct dsql_visibility *visibility;
    struct dsql_span namespace_id, run_id;
    bool repaired;
};

static struct dsql_param text_param(struct dsql_span text)
{
    return dsql_text_n(text.ptr ? text.ptr : "", text.len);
}

/* What is left of a memo without its parts can't be read, and neither can a list that has it. */
static enum dsql_rc mend_memo(struct dsql_tx *tx, const struct dsql_param *key,
                              const struct dsql_vis_verdict *verdict, struct dsql_err *err)
{
    enum dsql_rc rc = DSQL_OK;
    if (verdict->has_wrong_memo)
        rc = dsql_tx_defer(tx, &forget_memo_stmt, key, 2, err);
    if (!rc && (verdict->has_wrong_memo || verdict->has_wrong_parts))
        rc = dsql_tx_defer(tx, &drop_memos_stmt, key, 2, err);
    return rc;
}

static enum dsql_rc mend_live(struct dsql_tx *tx, const struct dsql_param *key,
                              const struct dsql_vis_run *run,
                              const struct dsql_visibility_attributes *expected,
                              const struct dsql_vis_verdict *verdict, struct dsql_err *err)
{
    int16_t bucket = dsql_visibility_bucket(run->run_id);
    const struct dsql_param row[] = {key[0], key[1], dsql_i16(bucket),
                                     text_param(expected->division),
                                     text_param(expected->count_keyword)};
    const struct dsql_param postings[] = {
        key[0],
        key[1],
        dsql_raw(expected->names.ptr, expected->names.len),
        dsql_raw(expected->values.ptr, expected->values.len),
        dsql_i16(bucket),
        dsql_i64(run->close_inv),
        dsql_i64(run->start_inv),
    };
    enum dsql_rc rc = dsql_tx_defer(tx, &mend_row_stmt, row, DSQL_COUNT_OF(row), err);
    if (!rc)
        rc = dsql_tx_defer(tx, &mend_postings_stmt, postings, DSQL_COUNT_OF(postings), err);
    return rc ? rc : mend_memo(tx, key, verdict, err);
}

static enum dsql_rc mend_dead(struct dsql_tx *tx, const struct mend *mend,
                              const struct dsql_param *key, bool there, struct dsql_err *err)
{
    const struct dsql_param tomb[] = {key[0], key[1],
                                      dsql_i16(dsql_visibility_bucket(mend->run_id)),
                                      dsql_i64(dsql_visibility_now_us(mend->visibility))};
    enum dsql_rc rc = there ? dsql_tx_defer(tx, &empty_stmt, key, 2, err)
                            : dsql_tx_defer(tx, &tomb_stmt, tomb, DSQL_COUNT_OF(tomb), err);
    if (!rc)
        rc = dsql_tx_defer(tx, &drop_memos_stmt, key, 2, err);
    return rc ? rc : dsql_tx_defer(tx, &drop_postings_stmt, key, 2, err);
}

/* A run with what is beside it, as it is while its row is locked. */
struct found {
    struct dsql_rows *row, *postings, *parts;
};

static enum dsql_rc find(struct dsql_tx *tx, const struct dsql_param *key, struct found *found,
                         struct dsql_err *err)
{
    enum dsql_rc rc = dsql_tx_query(tx, &lock_run_stmt, key, 2, &found->row, err);
    if (!rc)
        rc = dsql_tx_query(tx, &postings_stmt, key, 2, &found->postings, err);
    return rc ? rc : dsql_tx_query(tx, &parts_stmt, key, 2, &found->parts, err);
}

static enum dsql_rc mend_found(struct dsql_tx *tx, struct mend *mend, const struct dsql_param *key,
                               const struct found *found, struct dsql_err *err)
{
    struct dsql_vis_run run = {.namespace_id = mend->namespace_id, .run_id = mend->run_id};
    struct dsql_vis_some postings = {found->postings, 0, dsql_rows_count(found->postings)},
                         parts = {found->parts, 0, dsql_rows_count(found->parts)};
    struct dsql_visibility_attributes expected = {0};
    struct dsql_vis_verdict verdict;
    if (dsql_rows_count(found->row) > 0)
        dsql_vis_run_read(found->row, 0, &run);
    enum dsql_rc rc = dsql_vis_judge(&run, &postings, &parts, &expected, &verdict, err);
    if (!rc && !verdict.hopeless) {
        if (verdict.kind)
            rc = run.there && !run.deleted ? mend_live(tx, key, &run, &expected, &verdict, err)
                                           : mend_dead(tx, mend, key, run.there, err);
        mend->repaired = !rc;
    }
    dsql_visibility_attributes_fini(&expected);
    return rc;
}

static enum dsql_rc mend_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct mend *mend = arg;
    const struct dsql_param key[] = {text_param(mend->namespace_id), text_param(mend->run_id)};
    struct found found = {0};
    mend->repaired = false;
    enum dsql_rc rc = find(tx, key, &found, err);
    if (!rc)
        rc = mend_found(tx, mend, key, &found, err);
    dsql_rows_free(found.row);
    dsql_rows_free(found.postings);
    dsql_rows_free(found.parts);
    return rc;
}

enum dsql_rc dsql_vis_mend(struct dsql_vis_check *check, struct dsql_span namespace_id,
                           struct dsql_span run_id, bool *repaired)
{
    struct mend mend = {check->visibility, namespace_id, run_id, false};
    enum dsql_rc rc = dsql_tx_run(check->visibility->pool, "RepairVisibility", mend_body, &mend,
                                  &check->writes, check->err);
    *repaired = mend.repaired;
    return rc;
}
