/*
 * The counters of a namespace against its rows, in one snapshot: rows are counted portion by
 * portion inside one transaction. A correction is one counter more, the difference of that
 * snapshot; writes that happen meanwhile bring their own counters along, and it stays right. Two
 * repairs at once would correct twice: each locks the row of the schema's version, and the later
 * one is run again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/rng.h"
#include "base/shown.h"
#include "visibility/check.h"

enum { PORTION = 10000 };

static const uint32_t after_types[] = {DSQL_OID_TEXT};
static const struct dsql_stmt next_namespace_stmt = {
    .name = "visibility_check_namespace",
    .sql = "SELECT (SELECT namespace_id FROM executions_visibility WHERE namespace_id > $1 "
           "ORDER BY namespace_id LIMIT 1), (SELECT namespace_id FROM visibility_counts "
           "WHERE namespace_id > $1 ORDER BY namespace_id LIMIT 1)",
    .types = after_types,
    .flags = DSQL_STMT_READ,
};
static const struct dsql_stmt lock_stmt = {
    .name = "visibility_repair_counts",
    .sql = "SELECT curr_version FROM visibility_schema_version WHERE version_partition = 0 "
           "AND db_name = current_database() FOR UPDATE",
};
static const struct dsql_stmt sums_stmt = {
    .name = "visibility_check_sums",
    .sql = "SELECT division, status, count_keyword, CAST(sum(delta) AS BIGINT) "
           "FROM visibility_counts WHERE namespace_id = $1 GROUP BY 1, 2, 3",
    .types = after_types,
    .flags = DSQL_STMT_READ,
};

/* Groups of one portion of runs, each with the last run id in it; tombstones are a group with a
 * division of NULL. */
static const uint32_t portion_types[] = {DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_INT8};
static const struct dsql_stmt portion_stmt = {
    .name = "visibility_check_portion",
    .sql = "SELECT division, status, count_keyword, count(*), max(run_id) FROM ("
           "SELECT division, status, count_keyword, run_id FROM executions_visibility "
           "WHERE namespace_id = $1 AND run_id > $2 ORDER BY run_id LIMIT $3) AS portion "
           "GROUP BY 1, 2, 3",
    .types = portion_types,
    .flags = DSQL_STMT_READ,
};

static const uint32_t insert_types[] = {DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_INT2,
                                        DSQL_OID_TEXT, DSQL_OID_UUID, DSQL_OID_INT8};
static const struct dsql_stmt insert_stmt = {
    .name = "visibility_repair_count",
    .sql = "INSERT INTO visibility_counts (namespace_id, division, status, count_keyword, id, "
           "delta) VALUES ($1, $2, $3, $4, $5, $6)",
    .types = insert_types,
};

struct group {
    char *division, *count_keyword;
    int64_t status;
    int64_t runs, counted;
};

struct counts {
    struct dsql_vis_check *check;
    char *namespace_id;
    struct group *groups;
    size_t count, room;
};

static void clear(struct counts *counts)
{
    for (size_t i = 0; i < counts->count; i++) {
        free(counts->groups[i].division);
        free(counts->groups[i].count_keyword);
    }
    counts->count = 0;
}

static char *copy(struct dsql_span text)
{
    return strndup(text.ptr ? text.ptr : "", text.len);
}

/* The group of a row of an answer; NULL without memory. */
static struct group *group_of(struct counts *counts, const struct dsql_rows *rows, size_t row)
{
    struct dsql_span division = dsql_vis_cell(rows, row, 0), keyword = dsql_vis_cell(rows, row, 2);
    int64_t status = 0;
    (void)dsql_rows_i64(rows, row, 1, &status);
    for (size_t i = 0; i < counts->count; i++) {
        struct group *group = &counts->groups[i];
        if (group->status == status &&
            dsql_vis_compare(dsql_span_of(group->division), division) == 0 &&
            dsql_vis_compare(dsql_span_of(group->count_keyword), keyword) == 0)
            return group;
    }
    if (!DSQL_GROW(counts->groups, counts->room, counts->count + 1))
        return NULL;
    struct group *made = &counts->groups[counts->count++];
    *made = (struct group){copy(division), copy(keyword), status, 0, 0};
    return made->division && made->count_keyword ? made : NULL;
}

static enum dsql_rc no_memory(struct dsql_err *err)
{
    return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
}

static enum dsql_rc read_sums(struct counts *counts, struct dsql_tx *tx, struct dsql_err *err)
{
    const struct dsql_param params[] = {dsql_text(counts->namespace_id)};
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_tx_query(tx, &sums_stmt, params, 1, &rows, err);
    for (size_t i = 0; !rc && i < dsql_rows_count(rows); i++) {
        struct group *group = group_of(counts, rows, i);
        if (!group)
            rc = no_memory(err);
        else
            (void)dsql_rows_i64(rows, i, 3, &group->counted);
    }
    dsql_rows_free(rows);
    return rc;
}

/* Adds one portion; *last becomes its last run id, or NULL at the end. */
static enum dsql_rc add_portion(struct counts *counts, const struct dsql_rows *rows, char **last,
                                struct dsql_err *err)
{
    struct dsql_span end = {"", 0};
    int64_t total = 0, number = 0;
    for (size_t i = 0; i < dsql_rows_count(rows); i++) {
        struct dsql_span run = dsql_vis_cell(rows, i, 4);
        (void)dsql_rows_i64(rows, i, 3, &number);
        total += number;
        if (dsql_vis_compare(run, end) > 0)
            end = run;
        if (dsql_rows_is_null(rows, i, 0)) /* tombstones, and rows that the check tells of */
            continue;
        struct group *group = group_of(counts, rows, i);
        if (!group)
            return no_memory(err);
        group->runs += number;
    }
    free(*last);
    *last = total < PORTION ? NULL : copy(end);
    return total < PORTION || *last ? DSQL_OK : no_memory(err);
}

static enum dsql_rc count_runs(struct counts *counts, struct dsql_tx *tx, struct dsql_err *err)
{
    char *last = strdup("");
    enum dsql_rc rc = last ? DSQL_OK : no_memory(err);
    while (!rc && last) {
        const struct dsql_param params[] = {dsql_text(counts->namespace_id), dsql_text(last),
                                            dsql_i64(PORTION)};
        struct dsql_rows *rows = NULL;
        rc = dsql_tx_query(tx, &portion_stmt, params, 3, &rows, err);
        if (!rc)
            rc = add_portion(counts, rows, &last, err);
        dsql_rows_free(rows);
    }
    free(last);
    return rc;
}

static enum dsql_rc correct(struct counts *counts, struct dsql_tx *tx, struct dsql_err *err)
{
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; !rc && i < counts->count; i++) {
        const struct group *group = &counts->groups[i];
        unsigned char id[16];
        if (group->runs == group->counted)
            continue;
        dsql_random_bytes(id, sizeof(id));
        const struct dsql_param params[] = {
            dsql_text(counts->namespace_id),
            dsql_text(group->division),
            dsql_i16((int16_t)group->status),
            dsql_text(group->count_keyword),
            dsql_uuid(id),
            dsql_i64(group->runs - group->counted),
        };
        rc = dsql_tx_defer(tx, &insert_stmt, params, DSQL_COUNT_OF(params), err);
    }
    return rc;
}

static enum dsql_rc compare_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct counts *counts = arg;
    bool repairs = counts->check->repairs;
    clear(counts);
    enum dsql_rc rc = repairs ? dsql_tx_exec(tx, &lock_stmt, NULL, 0, NULL, err) : DSQL_OK;
    if (!rc)
        rc = read_sums(counts, tx, err);
    if (!rc)
        rc = count_runs(counts, tx, err);
    return rc || !repairs ? rc : correct(counts, tx, err);
}

static void tell(struct counts *counts)
{
    for (size_t i = 0; i < counts->count; i++) {
        const struct group *group = &counts->groups[i];
        char detail[256];
        if (group->runs == group->counted)
            continue;
        (void)snprintf(detail, sizeof(detail),
                       "division '%.60s', status %lld, keyword '%.60s': %lld counted, %lld runs",
                       dsql_shown_str(group->division).text, (long long)group->status,
                       dsql_shown_str(group->count_keyword).text, (long long)group->counted,
                       (long long)group->runs);
        dsql_vis_report(counts->check, "counter", dsql_span_of(counts->namespace_id),
                        (struct dsql_span){"", 0}, detail, counts->check->repairs);
    }
}

struct next {
    const char *after;
    char *found; /* NULL at the end */
};

static enum dsql_rc next_body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct next *next = arg;
    const struct dsql_param params[] = {dsql_text(next->after)};
    struct dsql_rows *rows = NULL;
    free(next->found);
    next->found = NULL;
    enum dsql_rc rc = dsql_tx_query(tx, &next_namespace_stmt, params, 1, &rows, err);
    struct dsql_span a = dsql_vis_cell(rows, 0, 0), b = dsql_vis_cell(rows, 0, 1);
    if (!a.ptr || (b.ptr && dsql_vis_compare(b, a) < 0))
        a = b;
    if (!rc && a.ptr && !(next->found = copy(a)))
        rc = no_memory(err);
    dsql_rows_free(rows);
    return rc;
}

enum dsql_rc dsql_vis_check_counts(struct dsql_vis_check *check)
{
    struct dsql_pool *pool = check->visibility->pool;
    struct counts counts = {.check = check};
    struct next next = {.after = ""};
    enum dsql_rc rc;
    while (
        !(rc = dsql_tx_run(pool, "CheckVisibility", next_body, &next, &check->reads, check->err)) &&
        next.found) {
        free(counts.namespace_id);
        counts.namespace_id = next.found;
        next = (struct next){.after = counts.namespace_id};
        check->out->namespaces++;
        rc =
            dsql_tx_run(pool, check->repairs ? "RepairVisibility" : "CheckVisibility", compare_body,
                        &counts, check->repairs ? &check->writes : &check->reads, check->err);
        if (rc)
            break;
        tell(&counts);
    }
    free(next.found);
    free(counts.namespace_id);
    clear(&counts);
    free(counts.groups);
    return rc;
}
